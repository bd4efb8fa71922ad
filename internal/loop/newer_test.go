package loop

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/internal/journal"
	"github.com/quarry-rl/quarry/jobs"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/rollout"
	"github.com/quarry-rl/quarry/rollout/pocket"
)

// Whatever file a newer quarry wrote is refused in one way: kind invalid, and so one exit code, the file by name, and a
// hint to use the quarry that wrote it. The file stays as it is.
func TestNewerFilesAreRefusedAlike(t *testing.T) {
	e := newEnv(t, "", nil)
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dataset := func(t *testing.T, dir, from, to string) error {
		t.Helper()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(shared(t, "sft"), "s1"))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "manifest.json")
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(from)) {
			t.Fatalf("%v, %s", err, data)
		}
		write(t, path, strings.Replace(string(data), from, to, 1))
		_, err = datasets.Open(dir)
		return err
	}
	graph := func(t *testing.T, dir, file string, change func(data []byte) []byte) error {
		t.Helper()
		if err := os.CopyFS(dir, os.DirFS(shared(t, "kg"))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, file)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, string(change(data)))
		_, err = kg.Open(dir)
		if _, mapped := kg.OpenMapped(dir); quarry.KindOf(mapped) != quarry.KindOf(err) {
			t.Errorf("mapped: %v", mapped)
		}
		return err
	}
	counted := func(data []byte) []byte { data[8]++; return data } // the version in the head of both
	for name, c := range map[string]struct {
		file string
		open func(t *testing.T, dir string) error
	}{
		"journal, events": {"journal.db", func(t *testing.T, dir string) error {
			path := filepath.Join(dir, "journal.db")
			j, err := journal.Open(path, rollout.SchemaName, rollout.SchemaVersion+1)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = journal.Open(path, rollout.SchemaName, rollout.SchemaVersion)
			return err
		}},
		"stage.json": {"stage.json", func(t *testing.T, dir string) error {
			r, err := jobs.Open(t.Context(), dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			s := jobs.Stage{Name: "kg", Run: func(context.Context, string) (jobs.Result, error) { return jobs.Result{}, nil }}
			rec, err := r.Exec(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(rec.Dir, "stage.json"), `{"schema": `+strconv.Itoa(jobs.StageSchema+1)+`, "files": "another shape"}`)
			_, err = r.Exec(t.Context(), s)
			return err
		}},
		"weights": {WeightsFile, func(t *testing.T, dir string) error {
			path := filepath.Join(dir, WeightsFile)
			write(t, path, `{"schema": `+strconv.Itoa(pocket.WeightsSchema+1)+`, "feature_set": ["another shape"]}`)
			_, err := pocket.LoadWeights(path, e.Reader.Features())
			return err
		}},
		"optimiser state": {"w.json.adam.json", func(t *testing.T, dir string) error {
			out := filepath.Join(dir, "w.json")
			write(t, trainer.StatePath(out), `{"schema": `+strconv.Itoa(trainer.StateSchema+1)+`, "adam": "another shape"}`)
			rl := shared(t, "rl")
			_, err := e.Trainer.RL(t.Context(), trainer.RLJob{Data: filepath.Join(rl, "t1", "batch-0001"), Parent: filepath.Join(shared(t, "dpo"), WeightsFile), Start: true,
				Out: out, Version: 9, LearningRate: 0.1, Alpha: 0.5, Beta: 5})
			return err
		}},
		"manifest, form": {"manifest.json", func(t *testing.T, dir string) error {
			return dataset(t, filepath.Join(dir, "s1"), `"quarry.dataset/1"`, `"quarry.dataset/2"`)
		}},
		"manifest, shape": {"manifest.json", func(t *testing.T, dir string) error {
			write(t, filepath.Join(dir, "manifest.json"), `{"schema": "quarry.dataset/2", "files": "another shape"}`)
			_, err := datasets.Open(dir)
			return err
		}},
		"manifest, columns": {"manifest.json", func(t *testing.T, dir string) error {
			return dataset(t, filepath.Join(dir, "s1"), `"schema_version": `, `"schema_version": 9`)
		}},
		"graph, manifest": {store.ManifestFile, func(t *testing.T, dir string) error {
			return graph(t, dir, store.ManifestFile, func([]byte) []byte { return []byte(`{"schema": "quarry.graph/2", "counts": "another shape"}`) })
		}},
		"graph, file":  {store.GraphFile, func(t *testing.T, dir string) error { return graph(t, dir, store.GraphFile, counted) }},
		"graph, index": {kg.IndexFile, func(t *testing.T, dir string) error { return graph(t, dir, kg.IndexFile, counted) }},
		"episodes": {"episodes.jsonl", func(t *testing.T, dir string) error {
			path := filepath.Join(dir, "episodes.jsonl")
			write(t, path, `{"schema":`+strconv.Itoa(EpisodeSchema+1)+`,"id":["another shape"]}`+"\n")
			_, err := ReadEpisodes(path)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.open(t, t.TempDir())
			if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), c.file) {
				t.Errorf("kind %q: %v", quarry.KindOf(err), err)
			}
			if hint := quarry.HintOf(err); !strings.Contains(hint, "quarry") || !strings.Contains(hint, "wrote") && !strings.Contains(hint, "newer") {
				t.Errorf("hint %q", hint)
			}
		})
	}
}
