package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// keyed is the writer stage under a key of its own.
func keyed(name string, seed uint64) Stage {
	s := writer("a.txt", fmt.Sprint(seed))
	s.Name, s.Seed = name, seed
	return s
}

// age sets when a stage was last used.
func age(t *testing.T, rec Record, hours int) {
	t.Helper()
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(filepath.Join(rec.Dir, stageName), at, at); err != nil {
		t.Fatal(err)
	}
}

func TestPruneKeepsTheCurrentAndTheLastUsed(t *testing.T) {
	dir := t.TempDir()
	r := open(t, dir, nil)
	recs := map[string]Record{}
	for _, name := range []string{"synth", "rl"} {
		for seed := range uint64(4) {
			rec := exec1(t, r, keyed(name, seed))
			age(t, rec, 10-int(seed))
			recs[fmt.Sprint(name, seed)] = rec
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = open(t, dir, nil)
	exec1(t, r, keyed("synth", 1)) // cached, and used now
	exec1(t, r, keyed("rl", 0))
	age(t, recs["rl0"], 99) // a clock that went back does not remove what this run used
	removed, err := r.Prune(2)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range []string{"synth0", "synth2", "rl1", "rl2"} {
		want = append(want, recs[name].Dir)
		if _, err := os.Stat(recs[name].Dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	slices.Sort(want)
	if d := cmp.Diff(want, removed); d != "" {
		t.Error(d)
	}
	for _, s := range []Stage{keyed("synth", 1), keyed("synth", 3), keyed("rl", 0), keyed("rl", 3)} {
		if rec := exec1(t, r, s); !rec.Cached {
			t.Errorf("%s of seed %d was lost", s.Name, s.Seed)
		}
	}
	if removed, err := r.Prune(2); err != nil || len(removed) != 0 {
		t.Errorf("a second time: %v, %v", removed, err)
	}
}

// What quarry did not make, or did not finish, or a newer one made, is not its to remove.
func TestPruneLeavesWhatIsNotItsOwn(t *testing.T) {
	r := open(t, t.TempDir(), nil)
	current := exec1(t, r, keyed("synth", 0))
	mine := map[string]func(dir string) error{
		"unfinished":    func(d string) error { return os.Remove(filepath.Join(d, stageName)) },
		"newer":         func(d string) error { return edit(d, `"schema": 2`, `"schema": 3`) },
		"torn":          func(d string) error { return os.Truncate(filepath.Join(d, stageName), 30) },
		"renamed":       func(d string) error { return os.Rename(d, d+"-kept") },
		"of a name":     func(d string) error { return edit(d, `"name": "synth"`, `"name": "sft"`) },
		"a link":        func(d string) error { return errors.Join(os.Rename(d, d+".d"), os.Symlink(d+".d", d)) },
		"a bare folder": func(d string) error { return errors.Join(os.RemoveAll(d), os.Mkdir(d, 0o755)) },
		"a file":        func(d string) error { return errors.Join(os.RemoveAll(d), os.WriteFile(d, nil, 0o644)) },
	}
	seed := uint64(1)
	for name, change := range mine {
		s := keyed("synth", seed)
		seed++
		if err := change(exec1(t, r, s).Dir); err != nil {
			t.Fatal(name, err)
		}
	}
	r.used = map[string]bool{current.Dir: true} // as the next command has it
	before := list(t, r)
	removed, err := r.Prune(1)
	if d := cmp.Diff(before, list(t, r)); d != "" || err != nil || len(removed) != 0 {
		t.Errorf("removed %v, %v: %s", removed, err, d)
	}
	if err := os.WriteFile(filepath.Join(r.path, stagesDir, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	old := exec1(t, r, keyed("synth", seed))
	delete(r.used, old.Dir)
	if removed, err := r.Prune(1); err != nil || !slices.Equal(removed, []string{old.Dir}) {
		t.Errorf("removed %v, %v", removed, err)
	}
}

func list(t *testing.T, r *RunDir) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join(r.path, stagesDir), func(path string, _ fs.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bulky is a resumable stage of many files: its removal takes a while.
func bulky(seed uint64) Stage {
	s := keyed("rl", seed)
	s.Resumable = true
	s.Run = func(_ context.Context, dir string) (Result, error) {
		for i := range 1000 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644); err != nil {
				return Result{}, err
			}
		}
		return Result{Files: []string{"."}}, nil
	}
	return s
}

// A process killed while it removes a stage leaves nothing that a resumable stage would take for its own work.
func TestKillWhileRemoving(t *testing.T) {
	for part, again := range map[string]Stage{"prune": bulky(0), "spoilt": bulky(1)} {
		t.Run(part, func(t *testing.T) {
			dir := t.TempDir()
			r := open(t, dir, nil)
			records := []Record{exec1(t, r, bulky(0)), exec1(t, r, bulky(1))}
			age(t, records[0], 5)
			if part == "spoilt" { // what does not verify is wiped, and that can be cut short too
				if err := edit(records[1].Dir, `"digest": "`, `"digest": "0`); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			victim := map[string]Record{"prune": records[0], "spoilt": records[1]}[part]
			cmd := child(t, part, dir)
			for err := error(nil); err == nil; { // until the removal is under way
				_, err = os.Lstat(filepath.Join(victim.Dir, stageName))
			}
			kill(t, cmd)
			left := half(t, dir)
			r = open(t, dir, nil)
			if n := half(t, dir); len(n) != 0 {
				t.Errorf("%v was not swept", n)
			}
			var seen int
			run := again.Run
			again.Run = func(ctx context.Context, d string) (Result, error) {
				entries, err := os.ReadDir(d)
				if err != nil {
					return Result{}, err
				}
				seen = len(entries)
				return run(ctx, d)
			}
			if rec := exec1(t, r, again); rec.Cached || seen != 0 {
				t.Errorf("cached %v, begun on %d files of the half-removed stage (left %v)", rec.Cached, seen, left)
			}
		})
	}
}

// half lists the stages that are being removed.
func half(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, stagesDir))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".rl-") {
			out = append(out, e.Name())
		}
	}
	return out
}
