package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// writer is a stage that writes one file.
func writer(name, content string) Stage {
	return Stage{Name: "write", Logic: 1, Spec: map[string]any{"n": 1}, Seed: 7, Inputs: []Input{{"kg", "aa"}},
		Run: func(_ context.Context, dir string) (Result, error) {
			err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666)
			return Result{Files: []string{name}, Facts: map[string]int{"bytes": len(content)}}, err
		}}
}

func open(t *testing.T, path string, log *slog.Logger) *RunDir {
	t.Helper()
	r, err := Open(t.Context(), path, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func exec1(t *testing.T, r *RunDir, s Stage) Record {
	t.Helper()
	rec, err := r.Exec(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestCacheHitEqualsTheRun(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	runs := 0
	s := writer("a.txt", "hello")
	write := s.Run
	s.Run = func(ctx context.Context, dir string) (Result, error) { runs++; return write(ctx, dir) }
	first, second := exec1(t, r, s), exec1(t, r, s)
	if runs != 1 || first.Cached || !second.Cached {
		t.Fatalf("%d runs, cached %v then %v", runs, first.Cached, second.Cached)
	}
	second.Cached = false
	if d := cmp.Diff(first, second); d != "" {
		t.Error(d)
	}
	if string(first.Facts) != `{"bytes":5}` {
		t.Errorf("facts %s", first.Facts)
	}
}

// Later stages use the facts, so they are keyed by them: equal files with other facts are another result.
func TestDigestCoversFacts(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	digests := map[string]any{}
	for _, facts := range []any{nil, map[string]int{"n": 1}, map[string]int{"n": 2}, "<n>"} {
		s := writer("a.txt", "hello")
		s.Spec = facts
		write := s.Run
		s.Run = func(ctx context.Context, dir string) (Result, error) {
			res, err := write(ctx, dir)
			res.Facts = facts
			return res, err
		}
		rec := exec1(t, r, s)
		if was, ok := digests[rec.Digest]; ok {
			t.Errorf("facts %v have the digest of %v", facts, was)
		}
		digests[rec.Digest] = facts
		if again := exec1(t, r, s); !again.Cached || again.Digest != rec.Digest {
			t.Errorf("facts %v: not taken again", facts)
		}
	}
}

func TestBadStage(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	for name, edit := range map[string]func(*Stage){
		"name with a slash": func(s *Stage) { s.Name = "../x" },
		"empty name":        func(s *Stage) { s.Name = "" },
		"spec":              func(s *Stage) { s.Spec = func() {} },
		"input twice":       func(s *Stage) { s.Inputs = []Input{{"a", "1"}, {"a", "2"}} },
		"input digest":      func(s *Stage) { s.Inputs = []Input{{"a", ""}} },
	} {
		s := writer("a", "a")
		edit(&s)
		if _, err := r.Exec(t.Context(), s); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	outside := writer("a", "a")
	outside.Run = func(context.Context, string) (Result, error) { return Result{Files: []string{"../lock"}}, nil }
	if _, err := r.Exec(t.Context(), outside); quarry.KindOf(err) != quarry.KindInternal {
		t.Errorf("a result outside: %v", err)
	}
	missing := writer("a", "a")
	missing.Run = func(context.Context, string) (Result, error) { return Result{Files: []string{"none"}}, nil }
	if _, err := r.Exec(t.Context(), missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a result that is not there: %v", err)
	}
}

func TestDigestFollowsContentOnly(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	digest := func(seed uint64, name, content string) string {
		s := writer(name, content)
		s.Seed = seed
		return exec1(t, r, s).Digest
	}
	if digest(1, "a", "x") != digest(2, "a", "x") {
		t.Error("same content, another digest")
	}
	if digest(3, "a", "y") == digest(1, "a", "x") || digest(4, "b", "x") == digest(1, "a", "x") {
		t.Error("another content or name, same digest")
	}
	tree := writer("a", "x")
	tree.Seed = 5
	tree.Run = func(_ context.Context, dir string) (Result, error) {
		err := os.MkdirAll(filepath.Join(dir, "ds", "data"), 0o777)
		for _, n := range []string{"ds/manifest.json", "ds/data/0.parquet"} {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, n), []byte(n), 0o666))
		}
		return Result{Files: []string{"ds", "ds/manifest.json"}}, err
	}
	rec := exec1(t, r, tree)
	f, err := readStage(rec.Dir, "write", rec.Key)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Files) != 2 || f.Files[0].Path != "ds/data/0.parquet" || f.Files[1].Path != "ds/manifest.json" {
		t.Errorf("files %+v", f.Files)
	}
}

// edit changes text of a stage.json.
func edit(dir, from, to string) error {
	file := filepath.Join(dir, stageName)
	b, err := os.ReadFile(file)
	if err == nil && !bytes.Contains(b, []byte(from)) {
		err = fmt.Errorf("no %s in %s", from, b)
	}
	return errors.Join(err, os.WriteFile(file, bytes.Replace(b, []byte(from), []byte(to), 1), 0o666))
}

func TestUntrustedResultRunsAgain(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"corrupted file":       func(d string) error { return os.WriteFile(filepath.Join(d, "a.txt"), []byte("hellO"), 0o666) },
		"missing file":         func(d string) error { return os.Remove(filepath.Join(d, "a.txt")) },
		"truncated stage.json": func(d string) error { return os.Truncate(filepath.Join(d, stageName), 40) },
		"no schema":            func(d string) error { return os.WriteFile(filepath.Join(d, stageName), []byte("{}"), 0o666) },
		"a link for a file": func(d string) error {
			return errors.Join(os.Rename(filepath.Join(d, "a.txt"), filepath.Join(d, "b")), os.Symlink("b", filepath.Join(d, "a.txt")))
		},
		"edited digest": func(d string) error { return edit(d, `"digest": "`, `"digest": "0`) },
		"edited facts": func(d string) error {
			return edit(d, `"bytes": 5
  }`, `"bytes": 6
  }`)
		},
		"removed facts": func(d string) error { return edit(d, `"facts"`, `"fact"`) },
		"older schema":  func(d string) error { return edit(d, `"schema": 2`, `"schema": 1`) },
	} {
		for _, resumable := range []bool{false, true} {
			var log bytes.Buffer
			r := open(t, t.TempDir(), slog.New(slog.NewTextHandler(&log, nil)))
			s := writer("a.txt", "hello")
			s.Resumable = resumable
			rec := exec1(t, r, s)
			if err := errors.Join(os.WriteFile(filepath.Join(rec.Dir, "stray"), nil, 0o666), spoil(rec.Dir)); err != nil {
				t.Fatal(err)
			}
			again := exec1(t, r, s)
			if again.Cached || again.Digest != rec.Digest {
				t.Errorf("%s: cached %v, digest %s", name, again.Cached, again.Digest)
			}
			if !strings.Contains(log.String(), "not trusted") {
				t.Errorf("%s: the log does not say so:\n%s", name, &log)
			}
			if _, err := os.Stat(filepath.Join(rec.Dir, "stray")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the directory was not emptied", name)
			}
		}
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	s := writer("a.txt", "hello")
	rec := exec1(t, r, s)
	file := filepath.Join(rec.Dir, stageName)
	newer := []byte(`{"schema": 3, "name": ["another", "shape"]}`)
	if err := os.WriteFile(file, newer, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := r.Exec(t.Context(), s)
	if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "schema 3") || !strings.Contains(err.Error(), file) ||
		quarry.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadFile(file); err != nil || !bytes.Equal(left, newer) {
		t.Errorf("the newer file was touched: %s, %v", left, err)
	}
}

func TestCanceledIsNotDone(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	s := writer("a.txt", "hello")
	write := s.Run
	s.Run = func(ctx context.Context, dir string) (Result, error) { cancel(); return write(ctx, dir) }
	if _, err := r.Exec(ctx, s); quarry.KindOf(err) != quarry.KindCanceled || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := r.Exec(ctx, s); quarry.KindOf(err) != quarry.KindCanceled {
		t.Fatalf("got %v", err)
	}
	if rec := exec1(t, r, s); rec.Cached {
		t.Error("a canceled stage was marked as done")
	}
}

func TestKillBeforeStageJSON(t *testing.T) {
	for part, wantStray := range map[string]bool{"stuck": false, "stuck-resumable": true} {
		dir := t.TempDir()
		kill(t, child(t, part, dir))
		r := open(t, dir, nil)
		s := writer("a.txt", "half")
		s.Resumable = wantStray
		rec := exec1(t, r, s)
		if rec.Cached {
			t.Errorf("%s: half a stage was trusted", part)
		}
		_, err := os.Stat(filepath.Join(rec.Dir, "stray"))
		if (err == nil) != wantStray {
			t.Errorf("%s: the killed run's file: %v", part, err)
		}
	}
}

// Temporary files that a killed run left are not results of the run that resumes.
func TestResumeSweepsTemporaries(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	s := Stage{Name: "weights", Resumable: true}
	attempt := 0
	s.Run = func(_ context.Context, dir string) (Result, error) {
		attempt++
		sub := filepath.Join(dir, "rl")
		if err := errors.Join(os.MkdirAll(sub, 0o777), os.WriteFile(filepath.Join(sub, "w1"), nil, 0o666)); err != nil {
			return Result{}, err
		}
		if attempt == 1 {
			_, err := atomicfile.Create(filepath.Join(sub, "w2")) // never committed
			return Result{}, errors.Join(err, errors.New("killed"))
		}
		return Result{Files: []string{"rl"}}, nil
	}
	if _, err := r.Exec(t.Context(), s); err == nil {
		t.Fatal("the first attempt succeeded")
	}
	rec := exec1(t, r, s)
	if f, err := readStage(rec.Dir, rec.Name, rec.Key); err != nil || len(f.Files) != 1 || f.Files[0].Path != "rl/w1" {
		t.Errorf("files %+v, %v", f.Files, err)
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	first := child(t, "hold", dir)
	_, err := Open(t.Context(), dir, nil)
	if quarry.KindOf(err) != quarry.KindConflict || !strings.Contains(err.Error(), fmt.Sprintf("process %d", first.Process.Pid)) ||
		!strings.Contains(quarry.HintOf(err), fmt.Sprintf("kill %d", first.Process.Pid)) {
		t.Fatalf("got %v, hint %q", err, quarry.HintOf(err))
	}
	kill(t, first)
	r := open(t, dir, nil)
	pid, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil || string(pid) != fmt.Sprintf("%d\n", os.Getpid()) {
		t.Errorf("lock holds %q, %v", pid, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, nil)
}

func TestStageTwiceAtOnce(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	s := writer("a.txt", "hello")
	write := s.Run
	s.Run = func(ctx context.Context, dir string) (Result, error) {
		if _, err := r.Exec(ctx, s); quarry.KindOf(err) != quarry.KindConflict {
			t.Errorf("got %v", err)
		}
		return write(ctx, dir)
	}
	exec1(t, r, s)
}

func wantHint(t *testing.T, err error, kind quarry.Kind, hint string) {
	t.Helper()
	if quarry.KindOf(err) != kind || !strings.Contains(quarry.HintOf(err), hint) {
		t.Errorf("%v: kind %s, want %s; hint %q, want %q in it", err, quarry.KindOf(err), kind, quarry.HintOf(err), hint)
	}
}
