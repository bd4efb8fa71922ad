package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quarry-rl/quarry/internal/report"
)

func TestVary(t *testing.T) {
	spec := `{"name":"demo","seed":1,"budget":{"big":12345678901234567890},"rl":{"steps":16,"advantage":"normal"},"eval":{"attempts":4,"every":2}}`
	for _, tc := range []struct {
		advantage, want string
	}{
		{normal, `{"name":"demo","seed":7,"budget":{"big":12345678901234567890},"rl":{"steps":16,"advantage":"normal"},"eval":{"attempts":4,"every":2}}`},
		{flipped, `{"name":"demo","seed":7,"budget":{"big":12345678901234567890},"rl":{"steps":16,"advantage":"flipped"},"eval":{"attempts":4,"every":1000000}}`},
	} {
		got, err := vary([]byte(spec), 7, tc.advantage)
		if err != nil || !sameJSON(t, got, []byte(tc.want)) {
			t.Errorf("%s: %s, %v", tc.advantage, got, err)
		}
	}
	for _, bad := range []string{`{`, `{"seed":1,"rl":{"advantage":"normal"}}`, `{"seed":1,"rl":{"advantage":"flipped"},"eval":{"every":2}}`, `{"rl":{"advantage":"normal"},"eval":{"every":2}}`} {
		if got, err := vary([]byte(bad), 1, normal); err == nil {
			t.Errorf("%s gives %s", bad, got)
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	parsed := make([]any, 2)
	for i, src := range [][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(src))
		d.UseNumber()
		if err := d.Decode(&parsed[i]); err != nil {
			t.Fatal(err)
		}
	}
	return reflect.DeepEqual(parsed[0], parsed[1])
}

func TestSameStart(t *testing.T) {
	stages := func(rl string, cached ...bool) report.Doc {
		d := report.Doc{}
		for i, name := range []string{"kg", "sft", "rl", "report"} {
			s := report.Stage{Name: name, Digest: name, Cached: cached[i]}
			if i >= 2 {
				s.Digest += rl
			}
			d.Stages = append(d.Stages, s)
		}
		return d
	}
	truth := stages("true", false, false, false, false)
	other := stages("flipped", true, true, false, false)
	other.Stages[1].Digest = "another sft"
	for name, tc := range map[string]struct {
		control report.Doc
		want    bool
	}{
		"from the cache":      {stages("flipped", true, true, false, false), true},
		"sft computed again":  {stages("flipped", true, false, false, false), false},
		"other weights":       {other, false},
		"rl is the true run":  {stages("true", true, true, true, true), false},
		"stages are missing":  {report.Doc{}, false},
		"the control resumed": {stages("flipped", true, true, true, true), true},
	} {
		if got := sameStart(truth, tc.control); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if sameStart(report.Doc{}, report.Doc{}) {
		t.Error("documents without an rl stage share a start")
	}
}

func TestCommandIsBounded(t *testing.T) {
	l := &lab{binary: "sleep", root: ".", timeout: 50 * time.Millisecond, log: io.Discard}
	began := time.Now()
	_, _, err := l.command(t.Context(), "60")
	if err == nil || !strings.Contains(err.Error(), "no end after 50ms") || time.Since(began) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	l = &lab{binary: "sh", root: ".", timeout: time.Minute, log: io.Discard}
	if _, _, err = l.command(t.Context(), "-c", "echo one >&2; echo 'error: two' >&2; exit 6"); err == nil || !strings.Contains(err.Error(), "exit status 6: one; error: two") {
		t.Errorf("%v", err)
	}
}

// TestStoppedRunsWriteNothing: a run that is stopped or killed from outside is no result, one that fails is.
func TestStoppedRunsWriteNothing(t *testing.T) {
	for _, tc := range []struct {
		run  string // what the program does when it is told to run
		code int
	}{{"exit 130", 2}, {"kill -KILL $$", 2}, {"kill -TERM $$", 2}, {"rm -f \"$0\"; exit 0", 2}, {"exit 7", 1}} {
		dir := t.TempDir()
		binary, file := filepath.Join(dir, "quarry"), filepath.Join(dir, "learn.json")
		script := "#!/bin/sh\nif [ $1 = check ]; then echo '{\"seed\":1,\"rl\":{\"advantage\":\"normal\"},\"eval\":{\"every\":2}}'; exit; fi\n" + tc.run + "\n"
		if err := os.WriteFile(binary, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"-quarry", binary, "-root", dir, "-state", filepath.Join(dir, "state"), "-json", file}, &out, &errs)
		_, err := os.Stat(file)
		if code != tc.code || (err == nil) != (tc.code == 1) {
			t.Errorf("%s: code %d, file: %v\n%s", tc.run, code, err, errs.String())
		}
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-seeds", "0"}, {"-seeds", "x"}, {"demo"}, {"-timeout", "0s"}, {"-quarry", filepath.Join(t.TempDir(), "none")}} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != 2 || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: code %d, %q, %q", args, code, out.String(), errs.String())
		}
	}
}

// TestSuiteOnTheSmallPreset runs the real program. The preset is too small to learn from, so the figures are only held
// against what must be so whatever it learns.
func TestSuiteOnTheSmallPreset(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "quarry")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "./cmd/quarry")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	state, file, page := filepath.Join(dir, "state"), filepath.Join(dir, "learn.json"), filepath.Join(dir, "page.md")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"-quarry", binary, "-root", "../..", "-preset", "demo-small", "-seeds", "1", "-state", state, "-json", file, "-markdown", page}, &out, &errs)
	src, err := os.ReadFile(file)
	if err != nil || code > 1 {
		t.Fatalf("code %d, %v\n%s%s", code, err, out.String(), errs.String())
	}
	var got results
	if err := json.Unmarshal(src, &got); err != nil {
		t.Fatal(err)
	}
	s := got.Seeds[0]
	if s.Error != "" || s.Train < 6 || s.Heldout < 5 || s.Cross <= 0 || s.Cross > 1 || s.CPU <= 0 || s.Wall <= 0 || s.Permuted.CPU <= 0 {
		t.Errorf("%+v\n%s", s, errs.String())
	}
	if !s.Flipped.SameStart || !s.Permuted.SameStart || s.Gauge != 0 || s.Flipped.Gauge != 0 || s.Permuted.Gauge != 0 {
		t.Errorf("controls start elsewhere or lose episodes: %+v", s)
	}
	// The same weights answer the same questions with the same draws; the last step's differ.
	if sft := named(s.Eval, "sft"); sft.N == 0 || s.Flipped.SFT != sft || s.Permuted.SFT != sft || s.Flipped.Last.Name != s.last().Name {
		t.Errorf("SFT of the three runs: %+v, %+v, %+v", sft, s.Flipped.SFT, s.Permuted.SFT)
	}
	if fails := got.failed(); (code == 1) != (fails > 0) {
		t.Errorf("code %d with %d failed checks", code, fails)
	}
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("the state folder is left behind: %v", err)
	}
	if src, err := os.ReadFile(page); err != nil || !strings.Contains(string(src), "preset `demo-small` with seed 1") {
		t.Errorf("page: %v\n%s", err, src)
	}
}
