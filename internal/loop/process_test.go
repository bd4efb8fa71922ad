package loop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/datasets"
)

// The policy needs nothing of this process: served from another one, it plays the same episodes token for token.
func TestPolicyFromAnotherProcess(t *testing.T) {
	weights := filepath.Join(shared(t, "sft"), WeightsFile)
	url, _ := startServe(t, weights)
	var played [2][]*quarry.Episode
	for i, endpoint := range []string{"", url} {
		e := newEnv(t, endpoint, nil)
		eng, err := e.StartEngine(t.Context(), weights, 1)
		if err != nil {
			t.Fatal(err)
		}
		played[i], err = e.Sample(t.Context(), eng, questions(t, "filter", HeldoutFile)[:4], 3, 1, "process")
		if err != nil {
			t.Fatal(err)
		}
		if err := eng.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(played[0], played[1]); diff != "" {
		t.Errorf("embedded and served episodes differ:\n%s", diff)
	}
}

// afterStep calls f once, when a step is done.
type afterStep struct {
	step int
	f    func()
}

func (p *afterStep) Update(done, _ int, _ string) {
	if done == p.step {
		p.f()
	}
}

// An engine that dies in the middle of a run ends it with an error that says so and leaves nothing half-written; with
// an engine back the same run goes on.
func TestEngineDies(t *testing.T) {
	parent := filepath.Join(shared(t, "dpo"), WeightsFile)
	change := func(s *configs.Run) { s.RL.Steps, s.RL.Groups, s.RL.GroupSize, s.Concurrency = 3, 3, 2, 16 }
	url, kill := startServe(t, parent)
	slowDown(t, url, "0.0005") // turns are under way when it dies
	e := newEnv(t, url, change)
	e.Progress = &afterStep{1, kill}
	dir := t.TempDir()
	_, err := e.RL(t.Context(), rlRun(t, e, dir))
	if quarry.KindOf(err) != quarry.KindUnavailable || quarry.HintOf(err) == "" {
		t.Fatalf("kind %q, hint %q: %v", quarry.KindOf(err), quarry.HintOf(err), err)
	}
	batches, err := os.ReadDir(filepath.Join(dir, "t1"))
	if err != nil || len(batches) == 0 {
		t.Fatalf("%d batches (%v)", len(batches), err)
	}
	before := map[string]string{}
	for _, b := range batches {
		path := filepath.Join(dir, "t1", b.Name())
		before[b.Name()] = digest(t, path)
		if len(rows[datasets.T1](t, path)) == 0 {
			t.Errorf("%s is empty", path)
		}
	}
	url, _ = startServe(t, parent)
	e = newEnv(t, url, change)
	f, err := e.RL(t.Context(), rlRun(t, e, dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Steps) != 3 || f.Conservation != 0 {
		t.Fatalf("%d steps, conservation %d", len(f.Steps), f.Conservation)
	}
	for name, d := range before {
		if got := digest(t, filepath.Join(dir, "t1", name)); got != d {
			t.Errorf("batch %s changed after the restart", name)
		}
	}
	if d := f.Steps[0].T1Digest; d != before["batch-0001"] {
		t.Errorf("the first step's record has %s, its batch %s", d, before["batch-0001"])
	}
}

// An endpoint where nobody listens, or that cannot read the weights, says so before anything is written.
func TestEndpointRefused(t *testing.T) {
	weights := filepath.Join(shared(t, "sft"), WeightsFile)
	url, kill := startServe(t, weights)
	e := newEnv(t, url, nil)
	if _, err := e.StartEngine(t.Context(), filepath.Join(t.TempDir(), "none.json"), 1); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
		t.Errorf("missing weights: %v", err)
	}
	kill()
	if _, err := e.StartEngine(t.Context(), weights, 1); quarry.KindOf(err) != quarry.KindUnavailable || quarry.HintOf(err) == "" {
		t.Errorf("dead engine: %v", err)
	}
}
