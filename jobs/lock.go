package jobs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/quarry-rl/quarry"
)

// acquire takes the lock of the run directory and writes this process's id into it.
func acquire(path string) (*os.File, error) {
	name := filepath.Join(path, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, stateError("lock run", path, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		defer f.Close()
		return nil, heldBy(path, f)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	if err != nil {
		f.Close()
		return nil, stateError("lock run", path, err)
	}
	return f, nil
}

// stateError is a run directory that cannot be used, with the setting that names it.
func stateError(op, path string, err error) error {
	e := failed(op, path, path, err)
	hint := "state_dir (QUARRY_STATE_DIR) names this directory"
	if own := quarry.HintOf(e); own != "" {
		hint = own + "; " + hint
	}
	return &quarry.Error{Op: op, Kind: quarry.KindOf(e), Subject: path, Err: errors.Unwrap(e), Hint: hint}
}

// heldBy reads who holds the lock. The id may not be written yet.
func heldBy(path string, f *os.File) error {
	var pid int
	who, stop := "another run", "wait for it to end"
	if _, err := fmt.Fscan(f, &pid); err == nil {
		who, stop = fmt.Sprintf("another run (process %d)", pid), fmt.Sprintf("wait for it to end or stop it (kill %d)", pid)
	}
	return &quarry.Error{Op: "lock run", Kind: quarry.KindConflict, Subject: path, Msg: who + " holds this directory",
		Hint: stop + ", or use another state directory (QUARRY_STATE_DIR)"}
}
