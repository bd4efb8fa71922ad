package synth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/english"
	"github.com/quarry-rl/quarry/kg/ingest"
)

// examples/wiki with the questions of the demo's settings from fewer walks, made once for all tests here.
var (
	shippedSpace = sync.OnceValues(func() (*Space, error) {
		g, err := kg.Load(context.Background(), "../examples/wiki")
		if err != nil {
			return nil, err
		}
		return NewSpace(context.Background(), g, english.Load(), wikiOptions())
	})
	shippedResult = sync.OnceValues(func() (*Result, error) {
		s, err := shippedSpace()
		if err != nil {
			return nil, err
		}
		return s.synthesise(context.Background())
	})
)

// space is a copy of the shared one with changed options; only those that certify hops must stay.
func space(t testing.TB, change func(*Options)) *Space {
	t.Helper()
	shared, err := shippedSpace()
	if err != nil {
		t.Fatal(err)
	}
	s := *shared
	change(&s.o)
	return &s
}

func wikiOptions() Options {
	return Options{Seed: 3, Walks: 3000, CrossBias: 4, Shapes: []Shape{{3, 1}, {3, 0}, {2, 2}, {2, 1}}, K: 3, CertTop: 2, MaxAlone: 2, MaxFanout: 3,
		HubDocs: 20, PerAnswer: 6, PerAnchor: 5, CrossShare: 0.45, Concurrency: 2,
		SplitShares: map[quarry.Split]float64{quarry.SplitTrain: 0.5, quarry.SplitTier: 0.15, quarry.SplitHeldout: 0.35},
		Limits:      map[quarry.Split]int{quarry.SplitTrain: 40}}
}

func wiki(t testing.TB) (*kg.Graph, *Result) {
	t.Helper()
	res, err := shippedResult()
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Questions) < 100 {
		t.Fatalf("only %d questions: too few to say anything", len(res.Questions))
	}
	return space(t, func(*Options) {}).g, res
}

func TestLedger(t *testing.T) {
	_, res := wiki(t)
	o := wikiOptions()
	type walk struct{ hops, n int }
	lines, ids := map[walk]Entry{}, map[string]quarry.Question{}
	for _, e := range res.Ledger {
		if _, twice := lines[walk{e.Hops, e.Walk}]; twice {
			t.Errorf("two lines for walk %d of %d hops", e.Walk, e.Hops)
		}
		lines[walk{e.Hops, e.Walk}] = e
	}
	if len(lines) != 2*o.Walks {
		t.Errorf("%d lines for %d walks of 2 and of 3 hops", len(lines), o.Walks)
	}
	walks, accepted, rejected := Funnel(res.Ledger)
	sum := accepted
	for _, n := range rejected {
		sum += n
	}
	if walks != sum || accepted != len(res.Questions) {
		t.Errorf("%d walks in, %d accepted + rejected, %d questions of %d accepted", walks, sum, len(res.Questions), accepted)
	}
	for _, q := range res.Questions {
		if _, twice := ids[q.ID]; twice {
			t.Errorf("two questions %s", q.ID)
		}
		ids[q.ID] = q
		var id WalkID
		if err := json.Unmarshal(q.Walk, &id); err != nil {
			t.Fatal(err)
		}
		want := Entry{Hops: q.Hops(), Walk: id.Number, State: StateAccepted, Shape: id.Shape, ID: q.ID}
		if d := gocmp.Diff(want, lines[walk{q.Hops(), id.Number}]); d != "" || id.Seed != o.Seed {
			t.Errorf("ledger line of %s (-want +got):\n%s", q.ID, d)
		}
		if got := (Shape{q.Hops(), len(q.Conditions)}).String(); got != id.Shape {
			t.Errorf("%s has the shape %s, its walk says %s", q.ID, got, id.Shape)
		}
	}
	early := []string{ReasonDeadEnd, ReasonDuplicate, ReasonStraddles, ReasonHubAnswer, ReasonHubInside, ReasonAmbiguous, ReasonOneQuery, ReasonUnreachable}
	late := []string{ReasonOneQuery, ReasonConditions, ReasonNotUnique, ReasonWording, ReasonLeak, ReasonCapped, ReasonSplitFull, ReasonCrossShare}
	for _, e := range res.Ledger {
		switch {
		case e.State == StateAccepted && (e.Reason != "" || e.Shape == "" || ids[e.ID].ID == ""):
		case e.State == StateRejected && e.ID == "" && slices.Contains(early, e.Reason) && e.Shape == "":
			continue
		case e.State == StateRejected && e.ID == "" && slices.Contains(late, e.Reason) && e.Shape != "":
			continue
		case e.State == StateAccepted:
			continue
		}
		t.Errorf("ledger line %+v", e)
	}
}

func TestPaths(t *testing.T) {
	g, res := wiki(t)
	o := wikiOptions()
	part := map[string]quarry.Split{} // of a document
	for _, q := range res.Questions {
		var cert Certificate
		if err := json.Unmarshal(q.Certificate, &cert); err != nil {
			t.Fatal(err)
		}
		text := " " + quarry.Normalize(q.Text) + " "
		seen := map[string]bool{q.Path[0].From(): true}
		for i, h := range q.Path {
			if i > 0 && h.From() != q.Path[i-1].To() {
				t.Errorf("%s: hop %d starts at %s, the one before ends at %s", q.ID, i, h.From(), q.Path[i-1].To())
			}
			if seen[h.To()] {
				t.Errorf("%s: %s is visited twice", q.ID, h.To())
			}
			seen[h.To()] = true
			n, ok := g.Doc(h.Doc)
			if !ok || strings.Join(g.Docs[n].Sentences, " ")[h.Start:h.End] != h.Text {
				t.Errorf("%s: hop %d has not the text of its span", q.ID, i)
			}
			if s, ok := part[h.Doc]; ok && s != q.Split {
				t.Errorf("%s: document %s serves %s and %s", q.ID, h.Doc, s, q.Split)
			}
			part[h.Doc] = q.Split
			rank := slices.IndexFunc(g.Search(cert.Queries[i], o.K), func(p int) bool {
				return g.Docs[g.Passages[p].Doc].ID == h.Doc && g.Passages[p].Text == h.Text
			})
			if rank+1 != cert.Ranks[i] || rank < 0 || rank >= o.CertTop {
				t.Errorf("%s: the evidence of hop %d comes up at rank %d, the certificate says %d", q.ID, i, rank+1, cert.Ranks[i])
			}
			e, _ := g.Entity(h.To())
			ent := &g.Entities[e]
			if len(ent.Docs) > o.HubDocs {
				t.Errorf("%s: %s is in %d documents", q.ID, ent.Name, len(ent.Docs))
			}
			for _, name := range append([]string{ent.Name}, ent.Aliases...) {
				if n := quarry.Normalize(name); len(n) >= 3 && strings.Contains(text, " "+n+" ") {
					t.Errorf("%q names %q", q.Text, name)
				}
			}
			if q.Entities[i].ID != h.To() {
				t.Errorf("%s: entity %d is %s, the hop reaches %s", q.ID, i, q.Entities[i].ID, h.To())
			}
		}
		if q.AnswerID != q.Path[len(q.Path)-1].To() {
			t.Errorf("%s: the path does not end at the answer", q.ID)
		}
		if cert.Cross != (len(q.Docs()) > 1) {
			t.Errorf("%s: cross_document is %v with documents %v", q.ID, cert.Cross, q.Docs())
		}
	}
}

// TestConditions: every condition is the statement of its atom about an entity on the path, with its sentence. The
// evidence lies in the question's own part of the documents; where it does not, the certificate says so and the walk
// has no such question from its own part. At most one question in ten is of that kind.
func TestConditions(t *testing.T) {
	g, res := wiki(t)
	s := space(t, func(*Options) {})
	splits := s.splits()
	conditions, elsewhere := 0, 0
	for _, q := range res.Questions {
		var cert Certificate
		var id WalkID
		if err := errors.Join(json.Unmarshal(q.Certificate, &cert), json.Unmarshal(q.Walk, &id)); err != nil {
			t.Fatal(err)
		}
		if len(q.Conditions) != len(q.Atoms)-len(q.Path) || len(cert.Parts) != len(q.Conditions) {
			t.Fatalf("%s: %d conditions with %d parts, %d atoms, %d hops", q.ID, len(q.Conditions), len(cert.Parts), len(q.Atoms), len(q.Path))
		}
		at := map[string]string{"?a": q.AnswerID} // what the variables stand for
		for i, h := range q.Path[:len(q.Path)-1] {
			at[fmt.Sprintf("?v%d", i+1)] = h.To()
		}
		own := true
		for i, c := range q.Conditions {
			conditions++
			a := q.Atoms[len(q.Path)+i]
			if want := (quarry.Atom{S: cmp.Or(at[a.S], a.S), P: a.P, O: cmp.Or(at[a.O], a.O)}); want != (quarry.Atom{S: c.Subject, P: c.Predicate, O: c.Object}) {
				t.Errorf("%s: condition %d is %+v, its atom %+v", q.ID, i, c, a)
			}
			n, ok := g.Doc(c.Doc)
			if !ok || strings.Join(g.Docs[n].Sentences, " ")[c.Start:c.End] != c.Text || fmt.Sprintf("%x", sha256.Sum256([]byte(c.Text))) != c.TextSHA256 {
				t.Fatalf("%s: condition %d has not the text of its span", q.ID, i)
			}
			if cert.Parts[i] != splits[n] {
				t.Errorf("%s: condition %d lies in %s, the certificate says %s", q.ID, i, splits[n], cert.Parts[i])
			}
			own = own && splits[n] == q.Split
		}
		if own {
			continue
		}
		elsewhere++
		shape, err := ParseShape(id.Shape)
		if err != nil {
			t.Fatal(err)
		}
		path, ok := s.walk(s.starts(shape.Hops), shape.Hops, id.Number)
		c := &candidate{number: id.Number, path: path}
		if reason := s.check(c, splits); !ok || reason != "" {
			t.Fatalf("%s: its walk is not drawn again: %v %s", q.ID, ok, reason)
		}
		if reason := s.complete(c, splits, true, shape, 0); reason != ReasonConditions && reason != ReasonNotUnique {
			t.Errorf("%s borrows evidence from another part, and could do without (%q): %s", q.ID, reason, c.text)
		}
	}
	t.Logf("%d questions, %d conditions; %d questions with evidence in another part", len(res.Questions), conditions, elsewhere)
	if elsewhere == 0 || 10*elsewhere > len(res.Questions) {
		t.Errorf("%d of %d questions have evidence in another part", elsewhere, len(res.Questions))
	}
}

func TestCaps(t *testing.T) {
	_, res := wiki(t)
	o := wikiOptions()
	total, cross := map[quarry.Split]int{}, map[quarry.Split]int{}
	answers, anchors, texts := map[string]int{}, map[string]int{}, map[string]int{}
	for _, q := range res.Questions {
		total[q.Split]++
		if len(q.Docs()) > 1 {
			cross[q.Split]++
		}
		answers[quarry.Normalize(q.Answer)]++
		anchors[q.Path[0].From()]++
		texts[q.Text]++
	}
	for split, n := range total {
		if float64(cross[split]) < o.CrossShare*float64(n) {
			t.Errorf("%s: %d of %d questions cross documents, want a share of %g", split, cross[split], n, o.CrossShare)
		}
		if limit := o.Limits[split]; limit > 0 && n != limit {
			t.Errorf("%s: %d questions with a limit of %d that can be reached", split, n, limit)
		}
	}
	if len(total) != 3 {
		t.Errorf("questions by part: %v", total)
	}
	for what, c := range map[string]struct {
		n     map[string]int
		limit int
	}{"answer": {answers, o.PerAnswer}, "start": {anchors, o.PerAnchor}, "text": {texts, 1}} {
		for k, n := range c.n {
			if n > c.limit {
				t.Errorf("%d questions with the %s %q", n, what, k)
			}
		}
	}
}

// TestDeterminism: the same for every concurrency and in every run, on a part of the documents to save time.
func TestDeterminism(t *testing.T) {
	dir := firstDocuments(t, 250)
	var results []*Result
	for _, concurrency := range []int{1, 8} {
		g, err := kg.Load(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		o := wikiOptions()
		o.Concurrency = concurrency
		res, err := Run(t.Context(), g, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Questions) < 20 {
			t.Fatalf("only %d questions", len(res.Questions))
		}
		results = append(results, res)
	}
	if d := gocmp.Diff(results[0], results[1]); d != "" {
		t.Errorf("concurrency 1 and 8 (-1 +8):\n%s", d)
	}
}

// firstDocuments is a data folder with the first n documents of examples/wiki and what is said in them.
func firstDocuments(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	in := func(id string) bool { return id < fmt.Sprintf("d%04d", n) }
	for name, keep := range map[string]func(line string) string{
		ingest.DocsFile: func(line string) string {
			var d kg.Document
			if json.Unmarshal([]byte(line), &d) != nil || !in(d.ID) {
				return ""
			}
			return line
		},
		ingest.EntitiesFile: func(line string) string {
			var e kg.Entity
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			e.Docs = slices.DeleteFunc(e.Docs, func(id string) bool { return !in(id) })
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			return string(data) + "\n"
		},
		ingest.RelationsFile: func(line string) string { return line },
		ingest.TriplesFile: func(line string) string {
			if !in(strings.Split(line, "\t")[3]) {
				return ""
			}
			return line
		},
	} {
		data, err := os.ReadFile(filepath.Join("../examples/wiki", name))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for line := range strings.Lines(string(data)) {
			b.WriteString(keep(line))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestOtherSeed gives other questions.
func TestOtherSeed(t *testing.T) {
	_, want := wiki(t)
	got, err := space(t, func(o *Options) { o.Seed = 4 }).synthesise(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, q := range want.Questions {
		ids[q.ID] = true
	}
	both := 0
	for _, q := range got.Questions {
		if ids[q.ID] {
			both++
		}
	}
	if len(got.Questions) == 0 || 2*both > len(got.Questions) {
		t.Errorf("%d of %d questions of another seed are the same", both, len(got.Questions))
	}
}

// TestMoreWalks: walk number n and what becomes of it, caps aside, is the same however many walks there are.
func TestMoreWalks(t *testing.T) {
	entries := map[int][]Entry{}
	for _, n := range []int{300, 600} {
		s := space(t, func(o *Options) { o.Walks = n })
		for _, length := range lengths(s.o.Shapes) {
			_, es, err := s.candidates(t.Context(), length, s.splits())
			if err != nil || len(es) != n {
				t.Fatalf("%d entries, %v", len(es), err)
			}
			entries[n] = append(entries[n], es[:300]...)
		}
	}
	if d := gocmp.Diff(entries[300], entries[600]); d != "" {
		t.Errorf("with 300 and with 600 walks (-300 +600):\n%s", d)
	}
}

func TestCancel(t *testing.T) {
	g, _ := wiki(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, g, wikiOptions()); quarry.KindOf(err) != quarry.KindCanceled || !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run gives %v", err)
	}
}

// BenchmarkWalk draws walks of length 3 on examples/wiki.
func BenchmarkWalk(b *testing.B) {
	s := space(b, func(*Options) {})
	starts := s.starts(3)
	steps, n := 0, 0
	for b.Loop() {
		path, _ := s.walk(starts, 3, n)
		steps += len(path)
		n++
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
}
