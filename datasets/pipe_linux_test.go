package datasets

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarry-rl/quarry"
)

// A named pipe in place of a manifest, a shard or a questions file is refused, where it once hung the reader.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	writeDataset(t, dir, "ds", Options{}, q1Rows(3))
	ds := must(Open(filepath.Join(dir, "ds")))(t)
	for _, name := range []string{ds.Manifest.Files[0].Path, manifestName} { // the manifest is read first, so it goes last
		path := filepath.Join(dir, "ds", name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Fatal(err)
		}
		refusesPipe(t, path, func() error { _, err := Open(filepath.Join(dir, "ds")); return err })
	}
	path := filepath.Join(dir, "questions.jsonl")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	refusesPipe(t, path, func() error { _, err := ReadQuestionsJSONL(path); return err })
}

func refusesPipe(t *testing.T, path string, read func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- read() }()
	select {
	case err := <-done:
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), path+": is a named pipe") || quarry.HintOf(err) == "" {
			t.Errorf("%v, hint %q", err, quarry.HintOf(err))
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: waits for a writer", path)
	}
}
