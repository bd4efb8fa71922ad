package jobs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarry-rl/quarry"
)

// hold takes the lock as another process does: by an open file of its own.
func hold(t *testing.T, dir string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		_, err = f.WriteString("4711\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func() { f.Close() }
}

func TestLockIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		freed, canceled time.Duration // 0 is never
		kind            quarry.Kind
		after           time.Duration // the longest wait
	}{
		"at once":        {freed: time.Nanosecond, after: lockRetry},
		"a moment later": {freed: 1900 * time.Millisecond, after: 1900*time.Millisecond + lockRetry},
		"too late":       {freed: 2100 * time.Millisecond, kind: quarry.KindConflict, after: lockPatience},
		"never":          {kind: quarry.KindConflict, after: lockPatience},
		"canceled":       {canceled: 500 * time.Millisecond, kind: quarry.KindCanceled, after: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				release := hold(t, dir)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.freed > 0 {
					time.AfterFunc(c.freed, release)
				}
				why := errors.New("a signal")
				if c.canceled > 0 {
					time.AfterFunc(c.canceled, func() { cancel(why) })
				}
				began := time.Now()
				r, err := Open(ctx, dir, nil)
				if waited := time.Since(began); quarry.KindOf(err) != c.kind || waited > c.after || waited < min(c.freed, c.after) {
					t.Fatalf("after %s: %v", waited, err)
				}
				switch c.kind {
				case "":
					if err := r.Close(); err != nil {
						t.Error(err)
					}
				case quarry.KindConflict:
					wantHint(t, err, c.kind, "kill 4711")
				case quarry.KindCanceled:
					if !errors.Is(err, why) || quarry.HintOf(err) == "" {
						t.Error(err)
					}
				}
			})
		})
	}
}

// The command that follows a SIGKILL gets the lock, without having waited for the killed process first.
func TestLockOfAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	var dead []*exec.Cmd
	for range 5 {
		cmd := child(t, "hold", dir)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		dead = append(dead, cmd)
	}
	for _, cmd := range dead {
		if st, err := cmd.Process.Wait(); err != nil || st.Success() {
			t.Errorf("child ended as %v, %v", st, err)
		}
	}
}
