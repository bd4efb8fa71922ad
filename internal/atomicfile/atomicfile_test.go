package atomicfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quarry-rl/quarry"
	"pgregory.net/rapid"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func wantError(t *testing.T, err error, kind quarry.Kind, subject string) {
	t.Helper()
	if got := quarry.KindOf(err); got != kind {
		t.Fatalf("kind %q (%v), want %q", got, err, kind)
	}
	if !strings.Contains(err.Error(), subject) {
		t.Errorf("error %q does not name %q", err, subject)
	}
	if quarry.HintOf(err) == "" {
		t.Errorf("error %q has no hint", err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	for _, s := range []string{"one", "", strings.Repeat("x", 1<<20)} {
		if err := WriteFile(path, []byte(s)); err != nil {
			t.Fatal(err)
		}
		if got := content(t, path); got != s {
			t.Fatalf("read %d bytes, want %d", len(got), len(s))
		}
		if got := names(t, dir); got != "a.txt" {
			t.Fatalf("left behind: %s", got)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o444 == 0 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
}

func TestCreateCommitAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "new")
	if got := content(t, path); got != "old" {
		t.Fatalf("visible before Commit: %q", got)
	}
	if err := f.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir) + " " + content(t, path); got != "a.txt old" {
		t.Fatalf("after Abort: %s", got)
	}
	if err := f.Commit(); quarry.KindOf(err) != quarry.KindInternal {
		t.Fatalf("Commit after Abort: %v", err)
	}
	if _, err := f.Write([]byte("x")); quarry.KindOf(err) != quarry.KindInternal {
		t.Fatalf("Write after Abort: %v", err)
	}

	f, err = Create(path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "new")
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.Abort(); err != nil {
		t.Fatalf("Abort after Commit: %v", err)
	}
	if got := content(t, path); got != "new" {
		t.Fatalf("after Commit: %q", got)
	}
}

func TestReadersSeeWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	page := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 64<<10) }
	if err := WriteFile(path, page(0)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				b, err := os.ReadFile(path)
				if err != nil || len(b) != 64<<10 || bytes.Count(b, b[:1]) != len(b) {
					t.Errorf("half a file: %d bytes, %v", len(b), err)
					return
				}
			}
		})
	}
	for i := range 100 {
		if err := WriteFile(path, page(i)); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	wg.Wait()
}

func TestDir(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "ds")
	fill := func(text string) *Dir {
		t.Helper()
		d, err := CreateDir(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(d.Path(), "data"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(filepath.Join(d.Path(), "data", "f"), []byte(text)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := fill("one")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Fatalf("visible before Commit: %v", err)
	}
	if err := d.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, filepath.Join(path, "data", "f")); got != "one" {
		t.Fatal(got)
	}

	wantError(t, fill("two").Commit(), quarry.KindExists, path)
	if got := names(t, root) + " " + content(t, filepath.Join(path, "data", "f")); got != "ds one" {
		t.Fatalf("after a refused Commit: %s", got)
	}
	if err := fill("three").Replace(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, root) + " " + content(t, filepath.Join(path, "data", "f")); got != "ds three" {
		t.Fatalf("after Replace: %s", got)
	}
	d = fill("four")
	if err := d.Abort(); err != nil {
		t.Fatal(err)
	}
	if got := names(t, root); got != "ds" {
		t.Fatalf("after Abort: %s", got)
	}
	if err := d.Commit(); quarry.KindOf(err) != quarry.KindInternal {
		t.Fatalf("Commit after Abort: %v", err)
	}
}

func TestRemoveAll(t *testing.T) {
	root := t.TempDir()
	keep := filepath.Join(root, "keep")
	for _, path := range []string{keep, filepath.Join(root, "f"), filepath.Join(root, "d", "e", "x")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(path, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("keep", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"f", "d", "link", "absent"} {
		if err := RemoveAll(filepath.Join(root, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := names(t, root) + " " + content(t, keep); got != "keep x" {
		t.Errorf("left %q", got)
	}
	wantError(t, RemoveAll(filepath.Join(keep, "below a file")), quarry.KindExists, "below a file")
}

func TestSweepTemps(t *testing.T) {
	dir := t.TempDir()
	keep := []string{"a.txt", ".hidden", ".a.quarry-tmp-", ".a.quarry-tmp-0123", ".a.quarry-tmp-zzzzzzzzzzzzzzzz", "a.quarry-tmp-0123456789abcdef"}
	for _, k := range keep {
		if err := WriteFile(filepath.Join(dir, k), nil); err != nil {
			t.Fatal(err)
		}
	}
	before := names(t, dir)
	// Abandoned, as after a kill.
	if _, err := Create(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	d, err := CreateDir(filepath.Join(dir, "c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(filepath.Join(d.Path(), "x"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	n, err := SweepTemps(dir)
	if err != nil || n != 2 {
		t.Fatalf("swept %d, %v, want 2", n, err)
	}
	if got := names(t, dir); got != before {
		t.Fatalf("left %q, want %q", got, before)
	}
	if n, err := SweepTemps(filepath.Join(dir, "absent")); n != 0 || err != nil {
		t.Fatalf("missing directory: %d, %v", n, err)
	}
}

func TestTempNameIsATemp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.StringMatching(`[a-zA-Z0-9._-]{1,255}`).Filter(func(s string) bool { return s != "." && s != ".." }).Draw(t, "base")
		name := filepath.Base(tempName(filepath.Join("dir", base)))
		if !isTemp(name) || len(name) > 255 {
			t.Fatalf("%q: isTemp %v, %d bytes", name, isTemp(name), len(name))
		}
	})
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := WriteFile(file, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		kind quarry.Kind
	}{
		"missing directory":  {filepath.Join(dir, "no", "a"), quarry.KindNotFound},
		"path is directory":  {sub, quarry.KindExists},
		"file as directory":  {filepath.Join(file, "a"), quarry.KindExists},
		"name with NUL byte": {filepath.Join(dir, "a\x00b"), quarry.KindInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, WriteFile(c.path, []byte("x")), c.kind, c.path)
			if got := names(t, dir); got != "file sub" {
				t.Fatalf("left behind: %s", got)
			}
		})
	}
}
