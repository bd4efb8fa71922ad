package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestSecondRunIsRefused starts a run as a process of its own and stops it while it holds the state directory: its
// engine never answers.
func TestSecondRunIsRefused(t *testing.T) {
	w := newWorkdir(t)
	asked := make(chan struct{})
	once := sync.OnceFunc(func() { close(asked) })
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		once()
		<-r.Context().Done()
	}))
	defer silent.Close()
	var out bytes.Buffer
	first := exec.Command("quarry", "run", "small.yaml", "--state-dir", "state", "--endpoint", silent.URL)
	first.Dir, first.Stderr = w.dir, &out
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- first.Wait() }()
	select {
	case <-asked:
	case err := <-ended:
		t.Fatalf("the first run ended by itself: %v\n%s", err, &out)
	}
	code, stdout, stderr := w.run("run", "small.yaml", "--state-dir", "state", "-o", "json")
	if code != 4 || stdout != "" {
		t.Errorf("code %d, stdout %q", code, stdout)
	}
	pid := first.Process.Pid
	for _, want := range []string{fmt.Sprintf("process %d", pid), "hint: ", fmt.Sprintf("kill %d", pid), "state/runs/small"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr does not say %q:\n%s", want, stderr)
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Errorf("the first run ended by itself:\n%s", &out)
	}

	// The kernel has freed the lock: the same command goes on.
	docs := filepath.Join("data", "docs.jsonl")
	w.write(docs, string(w.read(docs)[:100]))
	if code, _, stderr := w.run("run", "small.yaml", "--state-dir", "state"); code != 2 || !strings.Contains(stderr, "docs.jsonl:1: ") {
		t.Errorf("after the kill: code %d\n%s", code, stderr)
	}
}

func TestReadOnlyStateDirectory(t *testing.T) {
	w := newWorkdir(t)
	for _, dir := range []string{filepath.Dir(w.dir), w.dir} { // test folders are for their owner only
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	state := w.path("state")
	if err := os.Mkdir(state, 0o555); err != nil {
		t.Fatal(err)
	}
	var code int
	var stdout, stderr string
	done := make(chan struct{})
	go func() { // a thread of its own whose file system identity is not root's; it ends with the goroutine
		defer close(done)
		runtime.LockOSThread()
		if os.Getuid() == 0 {
			_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 65534, 0, 0)
		}
		code, stdout, stderr = w.run("run", "small.yaml", "--state-dir", "state", "-o", "json")
	}()
	<-done
	if code != 2 || stdout != "" || !strings.Contains(stderr, "no permission to write") || !strings.Contains(stderr, "hint: ") || !strings.Contains(stderr, "state") {
		t.Errorf("code %d, stdout %q, stderr %s", code, stdout, stderr)
	}
	if left, err := os.ReadDir(state); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
