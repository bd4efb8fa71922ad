package jobs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/quarry-rl/quarry"
)

func TestFileInTheWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), filepath.Join(file, "runs"), nil)
	wantHint(t, err, quarry.KindExists, "QUARRY_STATE_DIR")
}

// The error of a stage that meets a full disk is a real one: the kernel's full device.
func TestFullDisk(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	s := writer("a", "a")
	write := s.Run
	s.Run = func(context.Context, string) (Result, error) {
		return Result{}, os.WriteFile("/dev/full", []byte("x"), 0o666)
	}
	_, err := r.Exec(t.Context(), s)
	wantHint(t, err, quarry.KindUnavailable, "free space")
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the cause is lost: %v", err)
	}
	s.Run = write
	if exec1(t, r, s).Cached {
		t.Error("a failed stage was marked as done")
	}
}

func TestReadOnlyStateDirectory(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "ro")
	r := open(t, dir, nil)
	for d, mode := range map[string]os.FileMode{filepath.Dir(parent): 0o755, parent: 0o755, dir: 0o555,
		filepath.Join(dir, stagesDir): 0o555, filepath.Join(dir, lockName): 0o444} {
		if err := os.Chmod(d, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, stagesDir), 0o755); _ = os.Chmod(dir, 0o755) })
	var stage, lock, fresh error
	unprivileged(func() {
		_, stage = r.Exec(t.Context(), writer("a", "a"))
		_, lock = Open(t.Context(), dir, nil)
		_, fresh = Open(t.Context(), filepath.Join(dir, "new"), nil)
	})
	wantHint(t, stage, quarry.KindInvalid, "writable")
	wantHint(t, lock, quarry.KindInvalid, "QUARRY_STATE_DIR")
	wantHint(t, fresh, quarry.KindInvalid, "QUARRY_STATE_DIR")
}

func TestStageErrorKeepsItsKindAndHint(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	s := writer("a", "a")
	for _, want := range []struct {
		err  error
		kind quarry.Kind
		hint string
	}{
		{&quarry.Error{Op: "synth", Kind: quarry.KindGate, Msg: "12 questions, 150 needed", Hint: "raise synth.walks"},
			quarry.KindGate, "raise synth.walks"},
		{errors.New("a bug"), quarry.KindInternal, ""},
	} {
		s.Run = func(context.Context, string) (Result, error) { return Result{}, want.err }
		_, err := r.Exec(t.Context(), s)
		wantHint(t, err, want.kind, want.hint)
	}
}

// unprivileged runs f on a thread of its own whose file system identity is not root's, and lets the thread end.
func unprivileged(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		}
		f()
	}()
	<-done
}
