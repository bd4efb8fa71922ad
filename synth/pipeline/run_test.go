package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/synth/near"
)

// dense is a random graph without texts in which a good share of walks become questions.
func dense(t testing.TB) *kg.Mapped {
	r := rand.New(rand.NewPCG(1, 2))
	var out []store.Record
	for range 700 {
		out = append(out, store.Record{Statement: &store.Statement{Subject: fmt.Sprintf("n%d", r.IntN(120)), Predicate: fmt.Sprintf("r%d", r.IntN(6)), Object: fmt.Sprintf("n%d", r.IntN(120))}})
	}
	return small(t, out...)
}

func denseOptions() Options {
	return Options{Seed: 3, Hops: 3, Leaf: 3, MaxWalks: 120, Concurrency: 1, Skip: []near.Rule{"text"}}
}

func bothFiles(t testing.TB, dir string) [2][]byte {
	t.Helper()
	return [2][]byte{must[[]byte](t)(os.ReadFile(filepath.Join(dir, LedgerFile))), must[[]byte](t)(os.ReadFile(filepath.Join(dir, QuestionsFile)))}
}

func equal(t testing.TB, what string, a, b [2][]byte) {
	t.Helper()
	for i, name := range []string{LedgerFile, QuestionsFile} {
		if !bytes.Equal(a[i], b[i]) {
			t.Fatalf("%s: %s differs: %d and %d bytes", what, name, len(a[i]), len(b[i]))
		}
	}
}

func TestSameBytesAtAnyConcurrency(t *testing.T) {
	g := wiki(t)
	var first [2][]byte
	for _, c := range []int{1, 64} {
		dir := t.TempDir()
		r := must[Report](t)(Run(t.Context(), g, dir, Options{Seed: 7, MaxWalks: 700, Concurrency: c}, Hooks{Writer: plain{}}))
		checkReport(t, r)
		if r.Accepted < 3 {
			t.Fatalf("%d accepted of %d", r.Accepted, r.Walks)
		}
		files := bothFiles(t, dir)
		if c == 1 {
			first = files
		}
		equal(t, fmt.Sprint("concurrency ", c), first, files)
	}
}

// Going on with more to find leaves what one run for all of it leaves, and stops exactly there.
func TestAcceptStopsExactlyAndGoesOn(t *testing.T) {
	g, o := dense(t), denseOptions()
	o.MaxWalks = 10_000
	inSteps, atOnce := t.TempDir(), t.TempDir()
	for _, n := range []int{1, 2, 17, 40} {
		o.Accept = n
		r := must[Report](t)(Run(t.Context(), g, inSteps, o, Hooks{Writer: plain{}}))
		if r.Accepted != n || r.Stop != StopAccepted {
			t.Fatalf("%d accepted, stopped for %q", r.Accepted, r.Stop)
		}
		checkReport(t, r)
		last := Entry{}
		must[int](t)(0, Entries(inSteps, func(e Entry) error { last = e; return nil }))
		if last.State != Accepted {
			t.Fatalf("the last line is %+v", last)
		}
	}
	a := must[Report](t)(Run(t.Context(), g, atOnce, o, Hooks{Writer: plain{}}))
	equal(t, "in steps and at once", bothFiles(t, inSteps), bothFiles(t, atOnce))
	b := must[Report](t)(Run(t.Context(), g, atOnce, o, Hooks{Writer: plain{}}))
	if a.Digest != b.Digest || a.Walks != b.Walks {
		t.Fatalf("a finished run went on: %+v, %+v", a, b)
	}
}

func TestOtherStops(t *testing.T) {
	g := dense(t)
	costly := written(func(d *Draft) (Wording, error) {
		w, err := plain{}.Write(context.Background(), d)
		w.Cost = Cost{Calls: 1, OutputTokens: 10}
		return w, err
	})
	never := written(func(*Draft) (Wording, error) { return Wording{Reason: "no"}, nil })
	for _, test := range []struct {
		name   string
		set    func(o *Options)
		writer Writer
		want   Stop
		check  func(r Report) bool
	}{
		{"walks", func(o *Options) { o.MaxWalks = 33 }, plain{}, StopWalks, func(r Report) bool { return r.Walks == 33 }},
		{"calls", func(o *Options) { o.MaxWalks, o.Budget.Calls = 9000, 50 }, costly, StopCost, func(r Report) bool { return r.Cost.Calls == 50 }},
		{"tokens", func(o *Options) { o.MaxWalks, o.Budget.OutputTokens = 9000, 101 }, costly, StopCost, func(r Report) bool { return r.Cost.OutputTokens == 110 }},
		{"nothing found", func(o *Options) { o.MaxWalks, o.Patience = 90000, 300 }, never, StopExhausted, func(r Report) bool { return r.Walks == 300 && r.Accepted == 0 }},
		{"walked out", func(o *Options) { o.MaxWalks, o.Patience, o.PerAnswer = 90000, 300, 1 }, plain{}, StopExhausted, func(r Report) bool { return r.Walks < 90000 && r.Accepted > 10 && r.Rejected[AnswerCap] > 0 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := denseOptions()
			test.set(&o)
			r := must[Report](t)(Run(t.Context(), g, t.TempDir(), o, Hooks{Writer: test.writer}))
			if r.Stop != test.want || !test.check(r) {
				t.Fatalf("%+v", r)
			}
			checkReport(t, r)
		})
	}
}

func TestAnotherSynthesisIsRefused(t *testing.T) {
	g, dir := dense(t), t.TempDir()
	must[Report](t)(Run(t.Context(), g, dir, denseOptions(), Hooks{Writer: plain{}}))
	was := bothFiles(t, dir)
	for _, test := range []struct {
		set  func(o *Options)
		says string
	}{
		{func(o *Options) { o.Seed = 4 }, `seed was "3", now "4"`},
		{func(o *Options) { o.Hops = 4 }, `hops was "3", now "4"`},
		{func(o *Options) { o.Necessity = N3 }, `necessity was "N1", now "N3"`},
		{func(o *Options) { o.Wording = "teacher" }, `wording was "", now "teacher"`},
		{func(o *Options) { o.Starts = []uint32{1, 2} }, `starts was "every entity", now "2 of them`},
	} {
		o := denseOptions()
		test.set(&o)
		_, err := Run(t.Context(), g, dir, o, Hooks{Writer: plain{}})
		if quarry.KindOf(err) != quarry.KindConflict || !strings.Contains(err.Error(), test.says) || quarry.HintOf(err) == "" {
			t.Errorf("expected a conflict with %s, got %v", test.says, err)
		}
	}
	if _, err := Run(t.Context(), facts(t, base()...), dir, denseOptions(), Hooks{Writer: plain{}}); quarry.KindOf(err) != quarry.KindConflict || !strings.Contains(err.Error(), "graph was") {
		t.Errorf("another graph: %v", err)
	}
	o := denseOptions()
	o.MaxWalks, o.Concurrency, o.Accept = 90, 4, 3 // how far to go may differ
	must[Report](t)(Run(t.Context(), g, dir, o, Hooks{Writer: plain{}}))
	equal(t, "after refusals", was, bothFiles(t, dir))
}

func TestOptionsThatCannotWork(t *testing.T) {
	g := dense(t)
	for name, set := range map[string]func(o *Options){
		"hops 11": func(o *Options) { o.Hops = 11 }, "beta -1": func(o *Options) { o.Beta = -1 }, "shape star": func(o *Options) { o.Shape = "star" },
		"lang fr": func(o *Options) { o.Lang = "fr" }, "margin 2": func(o *Options) { o.Margin, o.Necessity = 2, N3 }, "skip x": func(o *Options) { o.Skip = []near.Rule{"x"} },
		"date": func(o *Options) { o.AsOf = "May" }, "min_docs 9": func(o *Options) { o.MinDocs = 9 }, "budget calls -1": func(o *Options) { o.Budget.Calls = -1 },
	} {
		o := Options{}
		set(&o)
		dir := t.TempDir()
		_, err := Run(t.Context(), g, dir, o, Hooks{Writer: plain{}})
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if left := must[[]os.DirEntry](t)(os.ReadDir(dir)); len(left) > 0 {
			t.Errorf("%s left %v", name, left)
		}
	}
}

// A writer or a filter that fails stops the run; what came before is kept, and going on gives the bytes of a run without
// the failure.
func TestFailingHooks(t *testing.T) {
	g, o := dense(t), denseOptions()
	o.Policy = "odd answers"
	keep := judge(func(q *quarry.Question) Verdict {
		switch h := sha256.Sum256([]byte(q.ID)); h[0] % 4 {
		case 0:
			return Verdict{Reason: "closed_book", Cost: Cost{Calls: 8}}
		case 1:
			return Verdict{Quarantined: true, Reason: "quorum", Cost: Cost{Calls: 9}}
		}
		return Verdict{Difficulty: []byte(`{"right":1}`), Cost: Cost{Calls: 1}}
	})
	whole := t.TempDir()
	want := must[Report](t)(Run(t.Context(), g, whole, o, Hooks{Writer: plain{}, Filter: keep}))
	if want.Quarantined == 0 || want.Accepted == 0 || want.Rejected["policy:closed_book"] == 0 || want.Rejected["policy:quorum"] != want.Quarantined {
		t.Fatalf("%+v", want)
	}
	checkReport(t, want)
	dir := t.TempDir()
	broken := errors.New("down")
	for _, at := range []int{5, 40, 77, 119} {
		_, err := Run(t.Context(), g, dir, o, Hooks{Filter: keep, Writer: written(func(d *Draft) (Wording, error) {
			if d.Walk >= at {
				return Wording{}, broken
			}
			return plain{}.Write(t.Context(), d)
		})})
		if !errors.Is(err, broken) && at < 119 {
			t.Fatalf("writer down at %d: %v", at, err)
		}
		if r := must[Report](t)(Read(dir)); r.Walks > at+20 {
			t.Fatalf("%d walks although the writer failed at %d", r.Walks, at)
		}
		asked := 0
		_, err = Run(t.Context(), g, dir, o, Hooks{Writer: plain{}, Filter: failing{keep, &asked, broken}})
		if err != nil && !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
	got := must[Report](t)(Run(t.Context(), g, dir, o, Hooks{Writer: plain{}, Filter: keep}))
	equal(t, "after failures", bothFiles(t, whole), bothFiles(t, dir))
	if got.Digest != want.Digest || got.Cost != want.Cost {
		t.Fatalf("%+v, expected %+v", got, want)
	}
	for name, h := range map[string]Hooks{"policy": {Writer: plain{}, Filter: keep}, "index": {Writer: plain{}, Search: g.Index()}, "writer": {}} {
		if _, err := NewSpace(g, denseOptions(), h); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), name) {
			t.Errorf("no label for %s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, g, t.TempDir(), o, Hooks{Writer: plain{}, Filter: keep}); quarry.KindOf(err) != quarry.KindCanceled {
		t.Fatalf("canceled: %v", err)
	}
}

type failing struct {
	judge
	asked *int
	err   error
}

func (f failing) Filter(ctx context.Context, qs []*quarry.Question) ([]Verdict, error) {
	if *f.asked++; *f.asked > 1 {
		return nil, f.err
	}
	return f.judge.Filter(ctx, qs)
}

func questionsOf(t testing.TB, dir string) []*quarry.Question {
	t.Helper()
	var out []*quarry.Question
	for _, l := range bytes.Split(bytes.TrimSpace(bothFiles(t, dir)[1]), []byte("\n")) {
		q := &quarry.Question{}
		if err := json.Unmarshal(l, q); err != nil {
			t.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

// An accepted question is drawn again byte for byte; its sub-steps alternate, use only what is known, and its spans hash.
func TestReplay(t *testing.T) {
	g, dir := wiki(t), t.TempDir()
	o := Options{Seed: 5, MaxWalks: 6000, Accept: 10}
	s := must[*Space](t)(NewSpace(g, o, Hooks{Writer: plain{}}))
	must[Report](t)(s.Run(t.Context(), dir))
	for _, q := range questionsOf(t, dir) {
		if err := s.Replay(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		var c Certificate
		if err := json.Unmarshal(q.Certificate, &c); err != nil {
			t.Fatal(err)
		}
		known := []string{q.Path[0].From()}
		if len(c.Retrieval.Steps) != 2*len(q.Path) {
			t.Fatalf("%d steps for %d hops", len(c.Retrieval.Steps), len(q.Path))
		}
		for i, st := range c.Retrieval.Steps {
			h := q.Path[i/2]
			e, _ := g.EntityByID(h.To())
			if st.Hop != i/2+1 || st.Kind != []string{StepReason, StepRetrieve}[i%2] {
				t.Fatalf("step %d is %+v", i, st)
			}
			for _, query := range append(st.Queries, st.Query) {
				if stands(fold(query), g.Name(e)) {
					t.Fatalf("query %q names %s", query, g.Name(e))
				}
			}
			if i%2 == 0 {
				for _, k := range known {
					if !slices.Contains(st.Known, k) {
						t.Fatalf("%s is not known at step %d: %v", k, i, st.Known)
					}
				}
				if slices.Contains(st.Known, h.To()) || st.Relation != h.Predicate || st.Inverse != h.Inverse {
					t.Fatalf("step %+v for hop %+v", st, h)
				}
				known = append(known, h.To())
			} else if st.Doc != h.Doc || st.Rank < 1 || st.Rank > c.Retrieval.K || !slices.Contains(c.Retrieval.Steps[i-1].Queries, st.Query) {
				t.Fatalf("step %+v for hop %+v", st, h)
			}
			sum := sha256.Sum256([]byte(h.Text))
			if hex.EncodeToString(sum[:]) != h.TextSHA256 || h.Text == "" {
				t.Fatalf("hop %+v", h)
			}
		}
		if c.Answers != 1 || c.Retrieval.Documents < 3 || !c.Levels.N1 || c.Graph != g.Digest() {
			t.Fatalf("%+v", c)
		}
	}
	q := questionsOf(t, dir)[0]
	for what, change := range map[string]func(q *quarry.Question){
		"path": func(q *quarry.Question) { q.Path[1].Start++ },
		"certificate": func(q *quarry.Question) {
			q.Certificate = bytes.Replace(q.Certificate, []byte(`"rank":`), []byte(`"rank":1`), 1)
		},
		"question": func(q *quarry.Question) { q.Text += " " },
	} {
		p := *q
		p.Path = slices.Clone(q.Path)
		change(&p)
		if err := s.Replay(t.Context(), &p); quarry.KindOf(err) != quarry.KindCorrupt || !strings.Contains(err.Error(), what) {
			t.Errorf("changed %s: %v", what, err)
		}
	}
	o.Seed = 6
	if err := must[*Space](t)(NewSpace(g, o, Hooks{Writer: plain{}})).Replay(t.Context(), q); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("another seed: %v", err)
	}
}
