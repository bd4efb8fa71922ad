package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/rollout/pocket"
)

const smallSpec = `apiVersion: quarry/v1alpha1
kind: Run
name: small
data: data
synth: {walks: 2000, cross_share: 0.2, train: 24, tier: 10, heldout: 10, min_train: 4, min_heldout: 3}
sft: {episodes: 20, epochs: 10}
dpo: {samples: 4, min_pairs: 2, epochs: 3}
rl: {steps: 1, groups: 4, group_size: 4}
pivot: {steps: 1, max_tasks: 8}
eval: {attempts: 2, every: 1, bootstrap: 200}
`

// workdir runs commands in a folder of its own.
type workdir struct {
	*testing.T
	dir  string
	vars map[string]string // environment
}

// newWorkdir has the folder data and the spec small.yaml.
func newWorkdir(t *testing.T) *workdir {
	t.Helper()
	w := &workdir{T: t, dir: t.TempDir(), vars: map[string]string{}}
	if err := wikiFolder(200, w.path("data")); err != nil {
		t.Fatal(err)
	}
	w.write("small.yaml", smallSpec)
	return w
}

func (w *workdir) path(names ...string) string {
	return filepath.Join(append([]string{w.dir}, names...)...)
}

func (w *workdir) write(name, text string) {
	w.Helper()
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *workdir) read(name string) []byte {
	w.Helper()
	if !filepath.IsAbs(name) {
		name = w.path(name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// run gives the exit code and both outputs of a command line.
func (w *workdir) run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	st := &State{Args: args, Dir: w.dir, Env: func(name string) (string, bool) { v, ok := w.vars[name]; return v, ok }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	code = Run(w.Context(), st)
	return code, out.String(), errs.String()
}

// must runs a command with -o json and decodes its document.
func (w *workdir) must(doc any, args ...string) {
	w.Helper()
	code, stdout, stderr := w.run(append(args, "-o", "json")...)
	if code != 0 {
		w.Fatalf("quarry %s: code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), doc); err != nil {
		w.Fatalf("quarry %s: %v in\n%s", strings.Join(args, " "), err, stdout)
	}
}

func (w *workdir) same(a, b string) {
	w.Helper()
	if !bytes.Equal(w.read(a), w.read(b)) {
		w.Errorf("%s and %s differ", a, b)
	}
}

// TestStagesGiveWhatTheRunGives: a stage run alone from the files of a run makes the same bytes and numbers.
func TestStagesGiveWhatTheRunGives(t *testing.T) {
	t.Parallel()
	w := newWorkdir(t)
	var doc report.Doc
	w.must(&doc, "run", "small.yaml", "--state-dir", "state")
	if len(doc.Eval) < 2 || doc.Eval[1].Name != "sft" {
		t.Fatalf("eval %+v", doc.Eval)
	}
	at := map[string]string{}
	for _, name := range []string{"kg", "synth", "filter", "sft", "rl"} {
		found, err := filepath.Glob(w.path("state", "runs", "small", "stages", name+"-*"))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", name, found, err)
		}
		at[name] = found[0]
	}

	var s synthDoc
	w.must(&s, "synth", "parts", "--kg", at["kg"], "--out", "q", "--spec", "small.yaml")
	w.same("q/questions.jsonl", filepath.Join(at["synth"], "questions.jsonl"))
	w.same("q/ledger.jsonl", filepath.Join(at["synth"], "ledger.jsonl"))
	if s.Walks != doc.Synth.Walks || s.Walks != s.Accepted+total(s.Rejected) || cmp.Diff(s.Rejected, map[string]int(doc.Synth.Rejected)) != "" {
		t.Errorf("funnel %+v, the run's %+v", s.SynthFacts, doc.Synth)
	}

	var tr trainDoc
	w.must(&tr, "train", "sft", "--data", filepath.Join(at["sft"], "s1"), "--out", "sft.json", "--spec", "small.yaml")
	w.same("sft.json", filepath.Join(at["sft"], "weights.json"))
	w.must(&tr, "train", "rl", "--data", filepath.Join(at["rl"], "t1", "batch-0001"), "--parent", filepath.Join(at["rl"], "weights", "v0002.json"), "--start", "--out", "rl.json", "--spec", "small.yaml")
	w.same("rl.json", filepath.Join(at["rl"], "weights", "v0003.json"))
	if tr.Version != 3 {
		t.Errorf("version %d", tr.Version)
	}

	var ev evalDoc
	w.must(&ev, "eval", "--kg", at["kg"], "--questions", filepath.Join(at["filter"], "heldout.jsonl"), "--weights", "sft.json", "--name", "sft", "--spec", "small.yaml")
	want := doc.Eval[1]
	got := report.Eval{Name: ev.Name, WeightsVersion: ev.Version, N: ev.N, Attempts: ev.Attempts, Success: ev.Success, Lo: ev.Lo, Hi: ev.Hi, Greedy: ev.Greedy}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(ev.PerQuestion) != ev.N || ev.Cross.N+ev.Single.N != ev.N {
		t.Errorf("eval %+v", ev)
	}

	var b struct {
		SHA256 string `json:"sha256"`
	}
	w.must(&b, "build", "rl", "--questions", filepath.Join(at["filter"], "kept.jsonl"), "--out", "r1", "--spec", "small.yaml")
	ds, err := datasets.Open(filepath.Join(at["filter"], "r1"))
	if err != nil || ds.Manifest.Digest() != b.SHA256 {
		t.Errorf("R1 %s, the run's %+v, %v", b.SHA256, ds, err)
	}
	testEndpoint(w, at["kg"], filepath.Join(at["filter"], "heldout.jsonl"), filepath.Join(at["sft"], "base.json"), "sft.json")
}

// testEndpoint rolls out with an engine of another address, which keeps its weights or loads those given.
func testEndpoint(w *workdir, kg, questions, base, trained string) {
	play := func(doc *rolloutDoc, out string, more ...string) {
		w.must(doc, append([]string{"rollout", "--kg", kg, "--questions", questions, "--samples", "2", "--out", out}, more...)...)
	}
	var here rolloutDoc
	play(&here, "embedded.jsonl", "--weights", trained)
	r := pocket.NewReader()
	for _, c := range []struct{ serves, push, out string }{{w.path(trained), "", "kept.jsonl"}, {base, trained, "pushed.jsonl"}} {
		srv, err := pocket.NewServer(pocket.Options{Enumerator: r, FeatureSet: r.Features(), WeightsPath: c.serves})
		if err != nil {
			w.Fatal(err)
		}
		url, stop, err := srv.Listen(w.Context(), "127.0.0.1:0")
		if err != nil {
			w.Fatal(err)
		}
		var there rolloutDoc
		play(&there, c.out, "--endpoint", url, "--weights", c.push)
		if err := stop(); err != nil {
			w.Error(err)
		}
		if there.Version != 1 || there.Weights != c.push || there.Episodes != here.Episodes {
			w.Errorf("%+v", there)
		}
		w.same("embedded.jsonl", c.out)
	}

	dying := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/model_info" {
			_, _ = rw.Write([]byte(`{"model_path": "m", "weight_version": "default"}`))
			return
		}
		rw.Header().Set("Content-Length", "1000") // promised, and then the connection breaks
		_, _ = rw.Write([]byte(`{"text": `))
		panic(http.ErrAbortHandler)
	}))
	defer dying.Close()
	code, stdout, stderr := w.run("rollout", "--kg", kg, "--questions", questions, "--limit", "1", "--endpoint", dying.URL, "--out", "dead.jsonl", "-o", "json")
	if code != 5 || stdout != "" || !strings.Contains(stderr, "/generate") {
		w.Errorf("code %d, stdout %q, stderr %s", code, stdout, stderr)
	}

	signals := make(chan os.Signal)
	once := sync.OnceFunc(func() { signals <- os.Interrupt })
	silent := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/model_info":
			_, _ = rw.Write([]byte(`{"model_path": "m", "weight_version": "3"}`))
		case "/generate":
			_, _ = io.Copy(io.Discard, req.Body)
			once()
			<-req.Context().Done()
		}
	}))
	defer silent.Close()
	var errs bytes.Buffer
	st := &State{Args: []string{"rollout", "--kg", kg, "--questions", questions, "--endpoint", silent.URL, "--out", "dead.jsonl"}, Dir: w.dir,
		Env: func(string) (string, bool) { return "", false }, Stdout: io.Discard, Stderr: &errs, Signals: signals}
	if code := Run(w.Context(), st); code != 130 || !strings.Contains(errs.String(), "hint: the same command again") {
		w.Errorf("interrupted: code %d, %s", code, &errs)
	}
	left, err := filepath.Glob(w.path("*dead.jsonl*"))
	if hidden, e := filepath.Glob(w.path(".dead.jsonl*")); err != nil || e != nil || len(left)+len(hidden) != 0 {
		w.Errorf("a file of no episodes was left: %v %v %v %v", left, hidden, err, e)
	}
}

// TestSchemasAreWhatIsWritten holds the list of quarry version against the files.
func TestSchemasAreWhatIsWritten(t *testing.T) {
	listed := map[string]string{}
	for _, s := range schemas() {
		listed[s.Name] = s.Version
	}
	dir := t.TempDir()
	check := func(name string, m datasets.Manifest, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Schema != listed["dataset"] || strconv.Itoa(m.SchemaVersion) != listed[m.Kind] {
			t.Errorf("%s: manifest %s, %s version %d; listed %s, %q", name, m.Schema, m.Kind, m.SchemaVersion, listed["dataset"], listed[m.Kind])
		}
	}
	empty[datasets.Q1](check, dir, "q1")
	empty[datasets.S1](check, dir, "s1")
	empty[datasets.D1](check, dir, "d1")
	empty[datasets.R1](check, dir, "r1")
	empty[datasets.T1](check, dir, "t1")
}

func empty[T datasets.Row](check func(string, datasets.Manifest, error), dir, name string) {
	w, err := datasets.NewWriter[T](dir, name, datasets.Options{})
	if err != nil {
		check(name, datasets.Manifest{}, err)
		return
	}
	m, err := w.Close(datasets.Meta{})
	check(name, m, err)
}

// TestAQuestionThatDoesNotFit: a question longer than the context, and one the engine refuses, are one failed episode
// each, named by id and line; the rest is played.
func TestAQuestionThatDoesNotFit(t *testing.T) {
	t.Parallel()
	w := newWorkdir(t)
	w.must(&buildDoc{}, "kg", "build", "data", "--out", "kg")
	w.must(&synthDoc{}, "synth", "parts", "--kg", "kg", "--out", "q", "--spec", "small.yaml")
	qs, err := datasets.ReadQuestionsJSONL(w.path("q", "questions.jsonl"))
	if err != nil || len(qs) < 4 {
		t.Fatalf("%d questions, %v", len(qs), err)
	}
	qs = qs[:4]
	qs[2].Text = "Who? " + strings.Repeat("and who ", 5000)
	if err := datasets.WriteQuestionsJSONL(w.path("long.jsonl"), qs); err != nil {
		t.Fatal(err)
	}
	play := []string{"rollout", "--kg", "kg", "--questions", "long.jsonl", "--out", "eps.jsonl", "--samples", "2"}
	var doc rolloutDoc
	w.must(&doc, append(play, "--weights", "untrained")...)
	if doc.Episodes != 8 || doc.Ends["context_overflow"] != 2 || len(doc.Unplayed) != 2 {
		t.Fatalf("%+v", doc)
	}
	for _, u := range doc.Unplayed {
		if u.Line != 3 || u.Question != qs[2].ID || u.Reason != "question_too_long" || !strings.Contains(u.Message, "the context limit is 32768") {
			t.Errorf("%+v", u)
		}
	}
	for _, args := range [][]string{{"score", "eps.jsonl", "--questions", "long.jsonl"}, {"pivot", "eps.jsonl", "--kg", "kg", "--questions", "long.jsonl", "--out", "tasks.jsonl"},
		{"rollout", "--kg", "kg", "--questions", "long.jsonl", "--expert", "--out", "expert.jsonl"}} {
		if code, _, stderr := w.run(args...); code != 0 {
			t.Errorf("%v after it: code %d, %s", args, code, stderr)
		}
	}

	r := pocket.NewReader()
	weights := w.path("w.json")
	if _, err := pocket.NewWeights(r.Features()).Save(weights, r.Features()); err != nil {
		t.Fatal(err)
	}
	inner, err := pocket.NewServer(pocket.Options{Enumerator: r, FeatureSet: r.Features(), WeightsPath: weights})
	if err != nil {
		t.Fatal(err)
	}
	url, stop, err := inner.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	target, err := neturl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		says   string
		all    bool
		code   int
		reason string
	}{
		{"The input (9000 tokens) is longer than the model's context length (8192 tokens).", false, 0, "question_too_long"},
		{"top_k is not supported", false, 0, "engine_refused"},
		{"top_k is not supported", true, 2, ""},
	} {
		proxy := httputil.NewSingleHostReverseProxy(target)
		srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
			if body, _ := io.ReadAll(req.Body); req.URL.Path == "/generate" && (c.all || len(body) > 60000) {
				rw.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(rw).Encode(map[string]any{"error": map[string]string{"message": c.says}})
				return
			} else {
				req.Body = io.NopCloser(bytes.NewReader(body))
			}
			proxy.ServeHTTP(rw, req)
		}))
		short := slices.Clone(qs)
		short[2].Text = "Who? " + strings.Repeat("and who ", 3000) // fits the limit of this side
		if err := datasets.WriteQuestionsJSONL(w.path("long.jsonl"), short); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := w.run(append(play, "--endpoint", srv.URL, "-o", "json")...)
		srv.Close()
		if code != c.code {
			t.Fatalf("%s: code %d, %s", c.says, code, stderr)
		}
		if code != 0 {
			if !strings.Contains(stderr, "refused all 8 episodes") || !strings.Contains(stderr, c.says) {
				t.Errorf("stderr %s", stderr)
			}
			continue
		}
		doc = rolloutDoc{}
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Unplayed) != 2 || doc.Unplayed[0].Line != 3 || doc.Unplayed[0].Reason != c.reason || !strings.Contains(doc.Unplayed[0].Message, c.says) {
			t.Errorf("%+v", doc.Unplayed)
		}
		if text := (&doc).rows(); !slices.ContainsFunc(text, func(r row) bool { return r.name == "without a chance: "+c.reason }) {
			t.Errorf("rows %v", text)
		}
	}
}

func TestMeasureNeverCountsAnUnscoredEpisode(t *testing.T) {
	card := func(s quarry.Score) *quarry.Episode { return &quarry.Episode{Scorecard: &quarry.Scorecard{ORM: s}} }
	eps := []*quarry.Episode{card(quarry.ScoreOf(1)), card(quarry.ScoreOf(0)), card(quarry.Unscored("infra")), card(quarry.ScoreOf(1)), {}}
	m := measureAll(eps).ORM
	if m.Mean == nil || *m.Mean != 2.0/3 || m.Scored != 3 || cmp.Diff(m.Unscored, report.Reasons{"infra": 1, "no_scorecard": 1}) != "" {
		t.Errorf("%+v", m)
	}
	if none := measureAll(eps[2:3]).ORM; none.Mean != nil || none.String() != "not scored: 1 infra" {
		t.Errorf("%+v", none)
	}
}
