package atomicfile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/quarry-rl/quarry"
)

// limitEnv tells a child process of the test binary which file to write under a file size limit.
const limitEnv = "ATOMICFILE_TEST_LIMIT"

func TestMain(m *testing.M) {
	if path := os.Getenv(limitEnv); path != "" {
		writeUnderLimit(path)
		return
	}
	os.Exit(m.Run())
}

func writeUnderLimit(path string) {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 8 << 10, Max: 8 << 10}); err != nil {
		fmt.Println("setrlimit:", err)
		return
	}
	err := WriteFile(path, bytes.Repeat([]byte("n"), 64<<10))
	fmt.Printf("%s|%v|%s", quarry.KindOf(err), err, quarry.HintOf(err))
}

func TestFileSizeLimit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), limitEnv+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	if !strings.HasPrefix(string(out), "invalid|") || !strings.Contains(string(out), path) || !strings.Contains(string(out), "ulimit") {
		t.Fatalf("child said %s", out)
	}
	if got := names(t, dir) + " " + content(t, path); got != "a old" {
		t.Fatalf("after a failed write: %s", got)
	}
}

// The kernel's own full device stands behind the temporary file: the error is a real ENOSPC.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	f := &File{f: full, path: path, tmp: filepath.Join(dir, ".a"+tmpMark+"0123456789abcdef")}
	if err := os.WriteFile(f.tmp, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte("x"))
	wantError(t, err, quarry.KindUnavailable, path)
	if !strings.Contains(quarry.HintOf(err), "free space on the file system of "+dir) {
		t.Errorf("hint %q", quarry.HintOf(err))
	}
	wantError(t, f.Commit(), quarry.KindUnavailable, path)
	if got := names(t, dir); got != "" {
		t.Fatalf("left behind: %s", got)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "ro")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	for d, mode := range map[string]os.FileMode{filepath.Dir(parent): 0o755, parent: 0o755, dir: 0o555} {
		if err := os.Chmod(d, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	var errFile, errDir error
	unprivileged(func() {
		errFile = WriteFile(path, []byte("new"))
		_, errDir = CreateDir(filepath.Join(dir, "d"))
	})
	wantError(t, errFile, quarry.KindInvalid, path)
	wantError(t, errDir, quarry.KindInvalid, filepath.Join(dir, "d"))
	if !strings.Contains(quarry.HintOf(errFile), "chmod u+w "+dir) {
		t.Errorf("hint %q", quarry.HintOf(errFile))
	}
	if got := names(t, dir) + " " + content(t, path); got != "a old" {
		t.Fatalf("after a refused write: %s", got)
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
