package loop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/datasets"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/rollout/pocket"
)

// stageLog keeps what a run says of each stage.
type stageLog struct {
	silent
	name string
	said []string
}

func (l *stageLog) Stage(name string) { l.name = name }
func (l *stageLog) Done(note string) {
	l.said = append(l.said, fmt.Sprintf("%s cached %v", l.name, strings.HasSuffix(note, "(cached)")))
}
func (l *stageLog) Fail(string) { l.said = append(l.said, l.name+" failed") }

// runAt runs small on a copy of the shared state with an engine elsewhere.
func runAt(t *testing.T, state, endpoint string) ([]string, error) {
	t.Helper()
	spec, err := small()
	if err != nil {
		t.Fatal(err)
	}
	l := &stageLog{}
	_, err = Run(t.Context(), Options{Spec: spec, Data: os.Getenv(corpusEnv), StateDir: state, Endpoint: endpoint, Version: "test", Command: "demo-small", Log: quiet(), Progress: l})
	return l.said, err
}

func copyState(t *testing.T) string {
	t.Helper()
	state := t.TempDir()
	if err := os.CopyFS(state, os.DirFS(os.Getenv(runEnv))); err != nil {
		t.Fatal(err)
	}
	return state
}

// The stages of a run are keyed by the model that answers, not by where: the embedded engine, and the same engine at
// any address with whatever weights it happens to have, find each other's results.
func TestSameModelElsewhereIsCached(t *testing.T) {
	state := copyState(t)
	for _, weights := range []string{filepath.Join(shared(t, "sft"), WeightsFile), filepath.Join(shared(t, "dpo"), WeightsFile)} {
		url, kill := startServe(t, weights)
		said, err := runAt(t, state, url)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, name := range []string{"kg", "synth", "filter", "sft", "dpo", "rl", "pivot", "report"} {
			want = append(want, name+" cached true")
		}
		if d := cmp.Diff(want, said); d != "" {
			t.Errorf("%s: %s", url, d)
		}
		kill()
	}
}

// modelServer answers what it serves and nothing else.
func modelServer(t *testing.T, info string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/model_info" {
			_, _ = io.WriteString(w, info)
			return
		}
		http.Error(w, "no weights of yours", http.StatusBadRequest)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestAnotherModelIsNotCached(t *testing.T) {
	for name, info := range map[string]string{
		"another feature set": `{"model_path":"p","tokenizer_path":"byte/1","model_type":"quarry-pocket","architectures":["pocket/0"],"weight_version":"1"}`,
		"another tokenizer":   `{"model_path":"p","tokenizer_path":"byte/2","model_type":"quarry-pocket","architectures":["pocket/1"],"weight_version":"1"}`,
		"a language model":    `{"model_path":"q","tokenizer_path":"Qwen/Qwen3-4B","model_type":"qwen3","architectures":["Qwen3ForCausalLM"],"weight_version":"default"}`,
	} {
		state := copyState(t)
		said, err := runAt(t, state, modelServer(t, info))
		// What asks no engine is still good; the filter begins anew and meets an engine that refuses.
		if want := []string{"kg cached true", "synth cached true", "filter failed"}; !slices.Equal(said, want) || quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v, %v", name, said, err)
		}
	}
	if _, err := runAt(t, copyState(t), modelServer(t, `{"model_path":"p"}`)); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
		t.Errorf("a nameless model: %v", err)
	}
}

// An engine that is exchanged under a run is refused before it is given weights.
func TestExchangedEngineIsRefused(t *testing.T) {
	weights := filepath.Join(shared(t, "sft"), WeightsFile)
	e := newEnv(t, "", nil)
	served, err := e.Served(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.Model = &served
	e.Endpoint = modelServer(t, `{"tokenizer_path":"Qwen/Qwen3-4B","model_type":"qwen3","architectures":["Qwen3ForCausalLM"]}`)
	if _, err := e.StartEngine(t.Context(), weights, 1); quarry.KindOf(err) != quarry.KindConflict || quarry.HintOf(err) == "" || !strings.Contains(err.Error(), "Qwen3") {
		t.Errorf("%v", err)
	}
	e.Endpoint, _ = startServe(t, weights)
	eng, err := e.StartEngine(t.Context(), weights, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
}

// The rows of a batch name the model and the engine that answered.
func TestBatchesNameWhatWasServed(t *testing.T) {
	for _, rs := range t1Rows(t) {
		for _, r := range rs {
			if r.ModelID != pocket.FeatureSetName+" byte/1" || r.Engine != "quarry-pocket" {
				t.Fatalf("row %s is of model %q, engine %q", r.ID, r.ModelID, r.Engine)
			}
		}
	}
	qwen := Model{Type: "qwen3", Architectures: []string{"Qwen3ForCausalLM"}, Tokenizer: "Qwen/Qwen3-4B"}
	if qwen.ID() != "Qwen3ForCausalLM Qwen/Qwen3-4B" || qwen.Engine() != "sglang" {
		t.Errorf("%q, %q", qwen.ID(), qwen.Engine())
	}
	// A server in front of the embedded engine that calls itself something else is what stands in the rows.
	weights := filepath.Join(shared(t, "dpo"), WeightsFile)
	at, _ := startServe(t, weights)
	proxy := posing(t, at)
	e := newEnv(t, proxy, nil)
	e.Spec.RL.Steps, e.Spec.RL.Groups, e.Spec.RL.GroupSize = 1, 2, 2
	dir := t.TempDir()
	f, err := e.RL(t.Context(), rlRun(t, e, dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[datasets.T1](t, filepath.Join(dir, f.Steps[0].T1)) {
		if r.ModelID != "Qwen3ForCausalLM byte/1" || r.Engine != "sglang" {
			t.Fatalf("row %s is of model %q, engine %q", r.ID, r.ModelID, r.Engine)
		}
	}
}

// posing is an engine that passes everything on and says that it serves a language model.
func posing(t *testing.T, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Path != "/model_info" {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		body = bytes.Replace(bytes.Replace(body, []byte("quarry-pocket"), []byte("qwen3"), 1), []byte(pocket.FeatureSetName), []byte("Qwen3ForCausalLM"), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		return err
	}
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	return srv.URL
}

// The optimiser's state is a part of the weights that RL made: neither a phase that goes on from them nor a resumed one
// begins a new one without a word.
func TestMissingOptimiserStateIsRefused(t *testing.T) {
	e := newEnv(t, "", func(s *configs.Run) { s.RL.Steps, s.RL.Groups, s.RL.GroupSize, s.RL.Overproduction = 3, 2, 2, 0 })
	dir := t.TempDir()
	run := rlRun(t, e, dir)
	ctx, cancel := context.WithCancel(t.Context())
	e.Progress = &afterStep{1, cancel}
	if _, err := e.RL(ctx, run); quarry.KindOf(err) != quarry.KindCanceled {
		t.Fatal(err)
	}
	e.Progress = silent{}
	start, err := pocket.LoadWeights(run.Parent, e.Reader.Features())
	if err != nil {
		t.Fatal(err)
	}
	made := run.weights(start.Version + 1)
	if err := os.Remove(trainer.StatePath(made)); err != nil {
		t.Fatal(err)
	}
	next := run
	next.Dir, next.Parent, next.Fresh = t.TempDir(), made, false
	for name, r := range map[string]RLRun{"resumed": run, "the next phase": next} {
		_, err := e.RL(t.Context(), r)
		if quarry.KindOf(err) != quarry.KindCorrupt || !strings.Contains(err.Error(), trainer.StatePath(made)) || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, quarry.HintOf(err))
		}
	}
}
