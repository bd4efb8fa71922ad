package loop

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/rollout/agent"
	"github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

// t1Rows reads every T1 batch of the shared run's two RL phases, with the weights folder of each.
func t1Rows(t *testing.T) map[string][]datasets.T1 {
	t.Helper()
	out := map[string][]datasets.T1{}
	for _, stage := range []string{"rl", "pivot"} {
		dir := shared(t, stage)
		batches, err := filepath.Glob(filepath.Join(dir, "t1", "batch-*"))
		if err != nil || len(batches) == 0 {
			t.Fatalf("%d batches in %s (%v)", len(batches), dir, err)
		}
		for _, b := range batches {
			out[dir] = append(out[dir], rows[datasets.T1](t, b)...)
		}
	}
	return out
}

// span is one sampled turn: ids[start:end].
type span struct{ start, end int }

// turns are the assistant turns after the prompt, found in the ids by ChatML alone.
func turns(ids []int32, prompt int) []span {
	open := tokens.AssistantOpen()
	var out []span
	for i := prompt; i < len(ids); i++ {
		if i < len(open) || !slices.Equal(ids[i-len(open):i], open) {
			continue
		}
		end := i
		for end < len(ids) && ids[end] != tokens.ImEnd {
			end++
		}
		out = append(out, span{i, min(end+1, len(ids))})
	}
	return out
}

// Mask 1 stands on assistant turns after the prompt and nowhere else: not on what tools and users say.
func TestMaskCoversSampledTurnsOnly(t *testing.T) {
	for _, rs := range t1Rows(t) {
		for _, r := range rs {
			want := make([]int8, len(r.IDs))
			for _, s := range turns(r.IDs, int(r.PromptLen)) {
				for i := s.start; i < s.end; i++ {
					want[i] = 1
				}
			}
			if !slices.Equal(want, r.Mask) {
				t.Fatalf("row %s: the mask is not that of its assistant turns", r.ID)
			}
			for i, m := range r.Mask {
				if (m == 0) != (r.WeightVersions[i] < 0) || m == 0 && r.BehavLogprobs[i] != 0 {
					t.Fatalf("row %s token %d: mask %d, version %d, logprob %v", r.ID, i, m, r.WeightVersions[i], r.BehavLogprobs[i])
				}
			}
		}
	}
}

// Each sampled token, scored over HTTP under the version its span names, has the log-probability it was stored with.
func TestRescoringIsTokenExact(t *testing.T) {
	e := newEnv(t, "", nil)
	checked := 0
	for dir, rs := range t1Rows(t) {
		checked += rescore(t, e, dir, rs)
	}
	if checked < 2000 {
		t.Fatalf("only %d tokens were scored", checked)
	}
}

// rescore compares the rows of an RL phase with what a server says under each of their versions, and counts tokens.
func rescore(t *testing.T, e *Env, dir string, rs []datasets.T1) (checked int) {
	t.Helper()
	versions := map[int32]bool{}
	for _, r := range rs {
		if r.Temperature != 1 {
			t.Fatalf("row %s was sampled at %v; the wire scores at 1", r.ID, r.Temperature)
		}
		for _, v := range r.WeightVersions {
			versions[v] = v >= 0
		}
	}
	first := rs[0].MinVersion
	eng, err := e.StartEngine(t.Context(), (&RLRun{Dir: dir}).weights(int(first)), int(first))
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	for v, sampled := range versions {
		if !sampled {
			continue
		}
		if err := eng.UpdateWeights(t.Context(), (&RLRun{Dir: dir}).weights(int(v)), versionLabel(int(v))); err != nil {
			t.Fatal(err)
		}
		for _, r := range rs {
			for _, s := range turns(r.IDs, int(r.PromptLen)) {
				if !slices.Contains(r.WeightVersions[s.start:s.end], v) {
					continue
				}
				got, err := eng.ScoreAtT1(t.Context(), r.IDs[:s.end], s.start)
				if err != nil {
					t.Fatal(err)
				}
				for i, lp := range got {
					if r.WeightVersions[s.start+i] != v {
						continue
					}
					checked++
					if want := float64(r.BehavLogprobs[s.start+i]); !closeTo(lp, want) {
						t.Fatalf("row %s token %d under version %d: scored %v, stored %v", r.ID, s.start+i, v, lp, want)
					}
				}
			}
		}
	}
	return checked
}

func closeTo(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

// wiretap passes requests on and keeps the input ids that the engine was sent.
type wiretap struct {
	proxy *httputil.ReverseProxy
	mu    sync.Mutex
	sent  map[string]int // ids as JSON: how often
}

func (w *wiretap) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	var g struct {
		IDs json.RawMessage `json:"input_ids"`
	}
	if json.Unmarshal(body, &g) == nil && g.IDs != nil {
		w.mu.Lock()
		w.sent[string(g.IDs)]++
		w.mu.Unlock()
	}
	req.Body = io.NopCloser(strings.NewReader(string(body)))
	w.proxy.ServeHTTP(rw, req)
}

// The thread of an episode is what went over the wire: each turn's prompt is the ids before it, to the last one. Away
// from T=1 the stored log-probabilities are those of the byte tree at that temperature.
func TestThreadsAreWhatTheServerWasSent(t *testing.T) {
	weights := filepath.Join(shared(t, "sft"), WeightsFile)
	back, _ := startServe(t, weights)
	target, err := url.Parse(back)
	if err != nil {
		t.Fatal(err)
	}
	tap := &wiretap{proxy: httputil.NewSingleHostReverseProxy(target), sent: map[string]int{}}
	front := httptest.NewServer(tap)
	defer front.Close()
	e := newEnv(t, front.URL, nil)
	eng, err := e.StartEngine(t.Context(), weights, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	const temperature = 0.7
	eps, err := e.Sample(t.Context(), eng, questions(t, "filter", HeldoutFile), 2, temperature, "wire")
	if err != nil {
		t.Fatal(err)
	}
	w, err := pocket.LoadWeights(weights, e.Reader.Features())
	if err != nil {
		t.Fatal(err)
	}
	for _, ep := range eps {
		if err := agent.CheckEpisode(ep); err != nil {
			t.Fatal(err)
		}
		for _, turn := range ep.Thread.Turns {
			key, err := json.Marshal(ep.Thread.IDs[:turn.Start])
			if err != nil {
				t.Fatal(err)
			}
			if tap.sent[string(key)] == 0 {
				t.Fatalf("episode %s: the engine never got the %d ids before token %d", ep.ID, turn.Start, turn.Start)
			}
			tap.sent[string(key)]--
		}
		checkTree(t, e, w, ep)
	}
	for ids, n := range tap.sent {
		if n != 0 {
			t.Errorf("the engine was sent %d bytes of ids that no episode holds", len(ids))
		}
	}
}

func checkTree(t *testing.T, e *Env, w *pocket.Weights, ep *quarry.Episode) {
	t.Helper()
	for _, turn := range ep.Thread.Turns {
		choices, err := e.Reader.Enumerate(ep.Thread.IDs[:turn.Start], w.Guesses)
		if err != nil {
			t.Fatal(err)
		}
		lps, err := pocket.NewTree(choices, w.W).LogProbs(ep.Thread.IDs[turn.Start:turn.End], ep.Temperature)
		if err != nil {
			t.Fatal(err)
		}
		for i, lp := range lps {
			if stored := float64(ep.Thread.Logprobs[turn.Start+i]); !closeTo(lp, stored) {
				t.Fatalf("episode %s token %d at T=%v: tree %v, stored %v", ep.ID, turn.Start+i, ep.Temperature, lp, stored)
			}
		}
	}
}
