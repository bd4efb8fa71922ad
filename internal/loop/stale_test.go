package loop

import (
	"bytes"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/datasets"
)

// rlRun is an RL phase from the shared run's dpo weights.
func rlRun(t *testing.T, e *Env, dir string) RLRun {
	t.Helper()
	qs := questions(t, "filter", KeptFile)
	full := e.fullTasks(qs, "rl")
	return RLRun{Name: "rl", Dir: dir, Parent: filepath.Join(shared(t, "dpo"), WeightsFile), Fresh: true, Steps: e.Spec.RL.Steps, FirstStep: 1, Questions: byID(qs),
		TaskAt: func(i int) (quarry.Task, error) { return full(i), nil }}
}

// slowDown makes an engine rest after each token, so that a trainer step falls into the middle of turns.
func slowDown(t *testing.T, url string, seconds string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/slow_down", bytes.NewReader([]byte(`{"forward_sleep_time":`+seconds+`}`)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}

// Batches made far ahead and steps that are far too long: samples grow old, turns change their weights midway, the
// mask takes tokens out, and still nothing is lost and every token has the log-probability of its own version.
func TestStaleSamplesAreMaskedAndStayExact(t *testing.T) {
	url, _ := startServe(t, filepath.Join(shared(t, "dpo"), WeightsFile))
	slowDown(t, url, "0.001")
	change := func(s *configs.Run) {
		s.Concurrency = 12
		s.RL = configs.RL{Steps: 5, Groups: 4, GroupSize: 4, LearningRate: 2, Alpha: 0.5, Beta: 5, MaxStaleness: 4, MaxVersionSpread: 4, Overproduction: 4,
			Temperature: 1, Advantage: configs.AdvantageNormal}
	}
	e := newEnv(t, url, change)
	dir := t.TempDir()
	f, err := e.RL(t.Context(), rlRun(t, e, dir))
	if err != nil {
		t.Fatal(err)
	}
	masked, stale := 0.0, int32(0)
	var rs []datasets.T1
	for _, s := range f.Steps {
		masked = max(masked, s.Train.Stats.MaskedFraction())
		stale = max(stale, s.Staleness.Max)
		if s.Staleness.Max > 4 {
			t.Errorf("step %d shipped staleness %d, the bound is 4", s.Step, s.Staleness.Max)
		}
		rs = append(rs, rows[datasets.T1](t, filepath.Join(dir, s.T1))...)
	}
	if masked <= 0 || stale < 1 { // how far beyond 1 depends on which side of the loop is faster
		t.Errorf("masked fraction %v, staleness %d: expected > 0 and at least 1", masked, stale)
	}
	if f.Conservation != 0 || f.Counts.Dispatched == 0 || f.Counts.Leased+f.Counts.Buffered+f.Counts.InFlight != 0 {
		t.Errorf("conservation %d, counts %+v", f.Conservation, f.Counts)
	}
	episodes, midTurn := 0, 0
	for _, r := range rs {
		if r.MinVersion != r.MaxVersion {
			episodes++
		}
		for _, s := range turns(r.IDs, int(r.PromptLen)) {
			if vs := r.WeightVersions[s.start:s.end]; vs[0] != vs[len(vs)-1] {
				midTurn++
			}
		}
	}
	if midTurn == 0 {
		t.Errorf("no turn changed its weights midway (%d of %d episodes mix versions): the test proves less than it should", episodes, len(rs))
	}
	rescore(t, newEnv(t, "", change), dir, rs)
}
