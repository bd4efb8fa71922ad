package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// A process that was killed holds its lock until the kernel has torn it down, which takes a moment when it was large.
const (
	lockPatience = 2 * time.Second
	lockRetry    = 20 * time.Millisecond
)

// acquire takes the lock of the run directory and writes this process's id into it. It waits lockPatience for a holder
// that is about to end.
func acquire(ctx context.Context, path string) (*os.File, error) {
	name := filepath.Join(path, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, stateError("lock run", path, err)
	}
	if err = flock(ctx, f); err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
		}
	}
	if err == nil {
		return f, nil
	}
	defer f.Close()
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, heldBy(path, f)
	case ctx.Err() != nil:
		return nil, &quarry.Error{Op: "lock run", Kind: quarry.KindCanceled, Subject: path, Msg: "interrupted while another run held this directory",
			Hint: "run the same command again to continue", Err: context.Cause(ctx)}
	}
	return nil, stateError("lock run", path, err)
}

// flock gives EWOULDBLOCK when another process holds the lock to the end of the patience.
func flock(ctx context.Context, f *os.File) error {
	patience := time.NewTimer(lockPatience)
	defer patience.Stop()
	for {
		held, err := atomicfile.TryLock(f)
		if !held {
			return err
		}
		select {
		case <-time.After(lockRetry):
		case <-patience.C:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
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
