package kg

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarry-rl/quarry"
)

// TestPipeInPlaceOfAFile: a named pipe that nobody writes to is refused with its name, be it among the sources or in a
// graph folder, where it could hang the build or the opening.
func TestPipeInPlaceOfAFile(t *testing.T) {
	data, graph := folderOf(t, small()), built(t, folderOf(t, small()))
	tries := map[string]func() error{}
	pipe := func(from, name string, open func(dir string) error) {
		dir := t.TempDir()
		err := os.CopyFS(dir, os.DirFS(from))
		path := filepath.Join(dir, name)
		if err == nil {
			err = os.Remove(path)
		}
		if err == nil {
			err = syscall.Mkfifo(path, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		tries[path] = func() error { return open(dir) }
	}
	for name := range small() {
		pipe(data, name, func(dir string) error { _, err := Load(t.Context(), dir); return err })
	}
	for _, name := range Files() {
		for _, open := range opens {
			pipe(graph, name, open)
		}
	}
	for path, try := range tries {
		done := make(chan error, 1)
		go func() { done <- try() }()
		select {
		case err := <-done:
			if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), path+": is a named pipe") || quarry.HintOf(err) == "" {
				t.Errorf("%v, hint %q", err, quarry.HintOf(err))
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: waits for a writer", path)
		}
	}
}
