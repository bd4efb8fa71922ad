package loop

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry/internal/report"
)

// A disk that fills up during a run: in the graph's copy, in the journal of RL. The error names file and remedy, the
// stage is not marked as done, and with space again the same command ends as the uninterrupted run did.
func TestFullDisk(t *testing.T) {
	for _, k := range []struct {
		stage string // where the disk is full
		kb    string
		from  []string // stages that are there already
	}{
		{"kg", "64", nil},
		{"rl", "192", []string{"kg", "synth", "filter", "sft", "dpo"}},
	} {
		t.Run(k.stage, func(t *testing.T) {
			state := t.TempDir()
			for _, name := range k.from {
				src := shared(t, name)
				rel, err := filepath.Rel(os.Getenv(runEnv), src)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.CopyFS(filepath.Join(state, rel), os.DirFS(src)); err != nil {
					t.Fatal(err)
				}
			}
			out, err := command(t, "limited "+k.kb+" "+state).Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Fatalf("%v: %s", err, out)
			}
			var s said
			if err := json.Unmarshal(out, &s); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			if s.Kind != "invalid" && s.Kind != "unavailable" || !strings.Contains(s.Err, state) || s.Hint == "" {
				t.Errorf("%+v: expected a file under %s and a remedy", s, state)
			}
			dir := stageDir(t, state, k.stage)
			if _, err := os.Stat(filepath.Join(dir, "stage.json")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("stage %s is marked as done (%v)", k.stage, err)
			}
			if k.stage != "rl" { // its run anew costs as much as the shared one; that of rl proves the same
				wholeFiles(t, dir, shared(t, k.stage))
				return
			}
			out, err = command(t, "run "+state).Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var doc report.Doc
			if err := json.Unmarshal(out, &doc); err != nil {
				t.Fatal(err)
			}
			if doc.Gauge != 0 || len(doc.Eval) == 0 {
				t.Errorf("conservation %d, %d evaluations", doc.Gauge, len(doc.Eval))
			}
			for _, st := range doc.Stages[:len(k.from)] {
				if !st.Cached {
					t.Errorf("stage %s was run again", st.Name)
				}
			}
		})
	}
}

// wholeFiles checks that every file of dir, temporaries apart, is the whole file of the same name in want.
func wholeFiles(t *testing.T, dir, want string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") {
			t.Errorf("temporary %s was left behind", f.Name())
			continue
		}
		a, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(want, f.Name()))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not the whole file (%v)", f.Name(), err)
		}
	}
}
