package pipeline

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/decontam"
)

func questionsIn(t *testing.T, dir string) []quarry.Question {
	t.Helper()
	var out []quarry.Question
	d := json.NewDecoder(bytes.NewReader(must[[]byte](t)(os.ReadFile(filepath.Join(dir, QuestionsFile)))))
	for d.More() {
		var q quarry.Question
		if err := d.Decode(&q); err != nil {
			t.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

// benchmark is a file on disk, read as the command line reads it.
func benchmark(t *testing.T, name string, rows ...map[string]any) *decontam.Benchmark {
	t.Helper()
	var b bytes.Buffer
	for _, r := range rows {
		b.Write(must[[]byte](t)(json.Marshal(r)))
		b.WriteByte('\n')
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return must[*decontam.Benchmark](t)(decontam.Load(t.Context(), path))
}

// Questions of the demo are planted into benchmarks, each in a way that one rule finds; all are rejected for it, and for
// nothing else, and the rest of the ledger adds up.
func TestPlantedBenchmarks(t *testing.T) {
	g := wiki(t)
	o := Options{Seed: 3, MaxWalks: 700, Wording: "plain"}
	clean := t.TempDir()
	base := must[Report](t)(Run(t.Context(), g, clean, o, Hooks{Writer: plain{}}))
	qs := questionsIn(t, clean)
	if len(qs) < 5 || base.Rejected[BenchmarkText]+base.Rejected[BenchmarkPages] != 0 {
		t.Fatalf("%d questions: %+v", len(qs), base.Rejected)
	}
	titles := map[string]string{}
	for d := range uint32(g.Documents()) {
		titles[g.DocumentID(d)] = g.Title(d)
	}
	names := func(q *quarry.Question) []string {
		path, _ := g.EntityByID(q.Path[0].From())
		out := []string{g.Name(path)}
		for _, c := range q.Conditions {
			for _, id := range []string{c.Subject, c.Object} {
				if v, ok := g.EntityByID(id); ok && strings.Contains(q.Text, g.Name(v)) {
					out = append(out, g.Name(v))
				}
			}
		}
		return out
	}
	other := "Name the one that every reader of this newspaper has been looking for since last summer, if you can."
	tests := []struct {
		want Reason
		row  func(q *quarry.Question) map[string]any
	}{
		{BenchmarkText, func(q *quarry.Question) map[string]any {
			return map[string]any{"question": "Here it comes: " + q.Text, "answer": "nobody"}
		}},
		{BenchmarkNear, func(q *quarry.Question) map[string]any { // every seventh word is another, so that no run of 8 is left
			w := strings.Fields(q.Text)
			for i := 6; i < len(w); i += 7 {
				w[i] = "x"
			}
			return map[string]any{"question": strings.Join(w, " "), "answer": "nobody"}
		}},
		{BenchmarkAnswer, func(q *quarry.Question) map[string]any {
			return map[string]any{"question": other, "answer": q.Answer, "entities": names(q)}
		}},
		{BenchmarkPages, func(q *quarry.Question) map[string]any {
			var pages []string
			for _, d := range q.Docs() {
				pages = append(pages, titles[d])
			}
			slices.Reverse(pages)
			return map[string]any{"question": other, "answer": "nobody", "pages": pages}
		}},
	}
	for _, test := range tests {
		t.Run(string(test.want), func(t *testing.T) {
			var rows []map[string]any
			planted := map[string]bool{}
			for i := range qs {
				if i%2 == 0 {
					rows = append(rows, test.row(&qs[i]))
					planted[qs[i].ID] = true
				}
			}
			o := o
			o.Benchmarks = []*decontam.Benchmark{benchmark(t, "planted.jsonl", rows...)}
			dir := t.TempDir()
			r := must[Report](t)(Run(t.Context(), g, dir, o, Hooks{Writer: plain{}}))
			checkReport(t, r)
			for _, q := range questionsIn(t, dir) {
				if planted[q.ID] {
					t.Errorf("%s came through: %s", q.ID, q.Text)
				}
			}
			walk := map[int]bool{}
			for i := range qs {
				var id WalkID
				if err := json.Unmarshal(qs[i].Walk, &id); err != nil {
					t.Fatal(err)
				}
				walk[id.Number] = planted[qs[i].ID]
			}
			sure := 0
			err := Entries(dir, func(e Entry) error {
				if walk[e.Walk] && (e.Stage != StageDecontam || !strings.HasPrefix(string(e.Reason), "contaminated_")) {
					t.Errorf("walk %d was planted: %s, %s, %s", e.Walk, e.State, e.Stage, e.Reason)
				}
				if walk[e.Walk] && e.Reason == test.want && strings.HasPrefix(e.Detail, "planted.jsonl question ") {
					sure++
				}
				return nil
			})
			if err != nil || sure < len(planted)/2 {
				t.Errorf("%d of %d planted ones are found by %s: %v", sure, len(planted), test.want, err)
			}
		})
	}
}

// A folder is for its benchmarks, in any order, and a run that goes on leaves the bytes of one that was not cut off.
func TestBenchmarksAreSettings(t *testing.T) {
	g := facts(t, base()...)
	o := plantOptions(t, g)
	o.MaxWalks = 60
	h := Hooks{Writer: plain{}}
	dir := t.TempDir()
	r := must[Report](t)(Run(t.Context(), g, dir, o, h))
	q := questionsIn(t, dir)[0]
	a := benchmark(t, "a.jsonl", map[string]any{"question": q.Text, "answer": q.Answer})
	b := benchmark(t, "b.jsonl", map[string]any{"question": "What else is there to be known about the world?", "answer": "much"})

	if _, err := Run(t.Context(), g, dir, func() Options { o := o; o.Benchmarks = []*decontam.Benchmark{a}; return o }(), h); quarry.KindOf(err) != quarry.KindConflict || !strings.Contains(err.Error(), "benchmarks") {
		t.Errorf("a benchmark on a folder without one: %v", err)
	}
	o.Benchmarks = []*decontam.Benchmark{a, b}
	whole, parts := t.TempDir(), t.TempDir()
	full := must[Report](t)(Run(t.Context(), g, whole, o, h))
	checkReport(t, full)
	if r.Accepted != 1 || full.Accepted != 0 || full.Rejected[BenchmarkText] != 1+r.Rejected[SameText] || full.Rejected[SameText] != 0 {
		t.Errorf("without: %d, %+v; with: %d, %+v", r.Accepted, r.Rejected, full.Accepted, full.Rejected)
	}
	o.Benchmarks = []*decontam.Benchmark{b, a}
	for _, walks := range []int{7, 31, 60} {
		o.MaxWalks, o.Concurrency = walks, walks
		r = must[Report](t)(Run(t.Context(), g, parts, o, h))
	}
	if r.Digest != full.Digest {
		t.Errorf("in parts, the other way round: %s, at once %s", r.Digest, full.Digest)
	}
	o.Benchmarks = []*decontam.Benchmark{a}
	if _, err := Run(t.Context(), g, parts, o, h); quarry.KindOf(err) != quarry.KindConflict || !strings.Contains(err.Error(), `benchmarks was "a.jsonl `) {
		t.Errorf("other benchmarks: %v", err)
	}
	if says, do := Explain(BenchmarkPages); says == "" || do == "" {
		t.Error("a reason is not explained")
	}
}
