package journal

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	quarry "github.com/quarry-rl/quarry"
)

// A directory that may be read but not written. Root may write anywhere, so the thread's file-system identity is
// changed for the time of the call; it is private to the thread.
func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	existing := filepath.Join(dir, "old.db")
	open(t, existing).Close()
	for p, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o555, existing: 0o444} {
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Geteuid() == 0 {
		setfsuid(t, 65534)
		defer setfsuid(t, 0)
	}
	for _, path := range []string{filepath.Join(dir, "new.db"), existing} {
		j, err := Open(path, "test", 1)
		if err == nil {
			j.Close()
		}
		wantKind(t, err, quarry.KindInvalid, path, "writable", "--state-dir")
	}
}

func setfsuid(t *testing.T, uid uintptr) {
	t.Helper()
	if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
}
