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

// TestPipeInPlaceOfAFile: a named pipe that nobody writes to is refused with its name, where it once hung the load.
func TestPipeInPlaceOfAFile(t *testing.T) {
	for _, name := range append(Files(), StatsFile) {
		dir := writeFolder(t, small())
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := Load(dir)
			done <- err
		}()
		select {
		case err := <-done:
			if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), path+": is a named pipe") || quarry.HintOf(err) == "" {
				t.Errorf("%s: %v, hint %q", name, err, quarry.HintOf(err))
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: the load hangs", name)
		}
	}
}

// TestNewerFolder: a folder that a newer quarry built is refused; a stats.json of somebody else is not ours to judge.
func TestNewerFolder(t *testing.T) {
	for text, ok := range map[string]bool{`{"schema": 1, "documents": 2}`: true, `{"schema": 2}`: false, `{"mean": 0.5}`: true, `{"schema": "theirs"}`: true, `torn`: true, ``: true} {
		files := small()
		files[StatsFile] = text
		_, err := Load(writeFolder(t, files))
		if ok != (err == nil) || err != nil && (quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "schema 2, this quarry reads up to 1") || quarry.HintOf(err) == "") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
