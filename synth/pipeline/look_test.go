package pipeline

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/synth/certify"
)

// Forward hops of the demo are found at k = 5 with the name and the relation's label in at least 85 %, and none is found
// whose document is not in the index.
func TestReachabilityOfTheDemo(t *testing.T) {
	g := wiki(t)
	s := must[*Space](t)(NewSpace(g, Options{K: 5, Queries: 1}, Hooks{Writer: plain{}}))
	w := <-s.workers
	hops, found, back, foundBack := 0, 0, 0, 0
	for e := uint32(0); int(e) < g.Edges(); e += 41 {
		edge := g.Edge(e)
		if edge.Doc == csr.NoDoc || g.Literal(edge.Object) {
			continue
		}
		hops++
		f := w.find(edge.Subject, certify.Hop{Step: csr.Along(int(edge.Relation)), Edge: e, To: edge.Object}, edge.Doc)
		if f.rank > 0 {
			found++
			if f.docs[f.rank-1] != edge.Doc || f.rank > 5 {
				t.Fatalf("%+v for document %d", f, edge.Doc)
			}
		}
		back++
		if w.find(edge.Object, certify.Hop{Step: csr.Back(int(edge.Relation)), Edge: e, To: edge.Subject}, edge.Doc).rank > 0 {
			foundBack++
		}
		if hops%20 == 0 {
			s.texts.search = hidden{g.Index(), g, g.DocumentID(edge.Doc)}
			if f := w.look(edge.Subject, certify.Hop{Step: csr.Along(int(edge.Relation)), Edge: e, To: edge.Object}, edge.Doc); f.rank != 0 {
				t.Fatalf("found at %d without its document", f.rank)
			}
			s.texts.search = g.Index()
		}
	}
	t.Logf("forward %d of %d, back %d of %d", found, hops, foundBack, back)
	if hops < 250 || float64(found) < 0.85*float64(hops) {
		t.Fatalf("%d of %d forward hops are found", found, hops)
	}
}

func TestWhyTellsTheStory(t *testing.T) {
	g, dir := wiki(t), t.TempDir()
	r := must[Report](t)(Run(t.Context(), g, dir, Options{Seed: 5, MaxWalks: 500}, Hooks{Writer: plain{}}))
	told, accepted := 0, ""
	var numbers []Entry
	if err := Entries(dir, func(e Entry) error { numbers = append(numbers, e); return nil }); err != nil || len(numbers) != r.Walks {
		t.Fatal(len(numbers), err)
	}
	seen := map[Reason]bool{}
	for _, e := range numbers {
		if seen[e.Reason] {
			continue
		}
		seen[e.Reason] = true
		lines := strings.Join(must[[]string](t)(Why(dir, strconv.Itoa(e.Walk))), "\n")
		told++
		if e.State == Accepted {
			accepted = e.Question
			for _, want := range []string{"accepted as " + accepted, "question: ", "answer: ", "hop 4: ", "search for hop 4: ", "certificate: 1 answer", "acquisition pressure"} {
				if !strings.Contains(lines, want) {
					t.Errorf("no %q in\n%s", want, lines)
				}
			}
			if byID := strings.Join(must[[]string](t)(Why(dir, accepted)), "\n"); byID != lines {
				t.Errorf("by id:\n%s", byID)
			}
			continue
		}
		for _, want := range []string{string(e.Reason), string(e.Stage), "because ", "here: ", "to get fewer: "} {
			if !strings.Contains(lines, want) {
				t.Errorf("no %q in\n%s", want, lines)
			}
		}
	}
	if told < 8 || accepted == "" {
		t.Fatalf("%d reasons, accepted %q", told, accepted)
	}
	for _, what := range []string{"500", "-1", "q-none", ""} {
		if _, err := Why(dir, what); quarry.KindOf(err) != quarry.KindNotFound || quarry.HintOf(err) == "" {
			t.Errorf("%q: %v", what, err)
		}
	}
	if _, err := Why(t.TempDir(), "1"); quarry.KindOf(err) != quarry.KindNotFound {
		t.Error(err)
	}
}

// A plan from a sample comes near what a run needs.
func TestPlan(t *testing.T) {
	g := dense(t)
	o := denseOptions()
	o.MaxWalks, o.Accept = 100_000, 60
	costly := written(func(d *Draft) (Wording, error) {
		w, err := plain{}.Write(t.Context(), d)
		w.Cost = Cost{Calls: 1, PromptTokens: 100, OutputTokens: 20}
		return w, err
	})
	e := must[Estimate](t)(Plan(t.Context(), g, o, Hooks{Writer: costly}, 400, PolicyGuess{}, Price{Call: 0.5, OutputTokens: 1e6}))
	r := must[Report](t)(Run(t.Context(), g, t.TempDir(), o, Hooks{Writer: costly}))
	if e.Accepted != 60 || e.Walks < r.Walks/2 || e.Walks > 2*r.Walks || e.Cost.Calls < r.Cost.Calls/2 || e.Cost.Calls > 2*r.Cost.Calls || e.Low > e.Yield || e.High < e.Yield {
		t.Fatalf("planned %+v, came %+v", e, r)
	}
	if want := 0.5*float64(e.Cost.Calls) + float64(e.Cost.OutputTokens); e.Price != want {
		t.Fatalf("price %v, expected %v", e.Price, want)
	}
	half := must[Estimate](t)(Plan(t.Context(), g, o, Hooks{Writer: plain{}}, 400, PolicyGuess{Keeps: 0.5, Cost: Cost{Calls: 10}}, Price{}))
	if half.Walks < 2*e.Walks-2 || half.Cost.Calls < 10*110 || half.Yield != e.Yield/2 {
		t.Fatalf("%+v, expected about twice the walks of %+v", half, e)
	}
}

func TestDecades(t *testing.T) {
	names := map[string]int{"13 March 1963": 1960, "1999": 1990, "2004-05-06": 2000, "-0044": 0, "-1044": 0, "12345": 0, "from 1990 to 1995": 0, "1990, 1990": 1990, "the 1960s": 1960, "0999": 0, "2100": 0, "May": 0}
	var records []store.Record
	for name := range names {
		records = append(records, store.Record{Entity: &store.Entity{ID: name, Name: name, Type: store.TypeTime}}, store.Record{Statement: &store.Statement{Subject: "who " + name, Predicate: "born", Object: name}})
	}
	records = append(records, store.Record{Entity: &store.Entity{ID: "1963", Name: "1963", Type: "WORK"}}, store.Record{Statement: &store.Statement{Subject: "1963", Predicate: "born", Object: "1999"}})
	g := small(t, records...)
	for name, want := range names {
		v, _ := g.EntityByID(name)
		if got, ok := decadeOf(g, v); ok != (want != 0) || ok && got != want {
			t.Errorf("%q is in %d, %v; expected %d", name, got, ok, want)
		}
	}
	if v, _ := g.EntityByID("1963"); true {
		if d, ok := decadeOf(g, v); ok {
			t.Errorf("a title is in the decade %d", d)
		}
	}
	sets, members := setsOf(g, 2)
	if len(sets) != 2 || sets[0].Decade != 1960 || sets[1].Decade != 1990 || len(members[0]) != 2 || len(members[1]) != 3 || !slices.IsSorted(members[1]) {
		t.Fatalf("%v %v", sets, members)
	}
}

// A decade is a condition like another: stated with its statement, and held by the atoms and a member.
func TestDecadeCondition(t *testing.T) {
	lines := []string{"Alder|planted by|Birch|d1", "Birch|grows near|Cedar|d2", "Birch|grows near|Cypress|d3", "#t1: TIME", "#t2: TIME", "#t3: TIME", "=t1: 1961", "=t2: May 1968", "=t3: 1971",
		"Cedar|felled in|t1|d4", "Dogwood|felled in|t2|d5", "Cypress|felled in|t3|d6", "Elm|felled in|t3|d7"}
	g := facts(t, lines...)
	s := must[*Space](t)(NewSpace(g, plantOptions(t, g), Hooks{Writer: plain{}}))
	for n := range 100 {
		c := must[Candidate](t)(s.Candidate(t.Context(), n))
		if c.Path != path || c.Reason == SingleQuery {
			continue
		}
		q := c.Question
		if q == nil {
			t.Fatalf("%s: %s", c.Reason, c.Detail)
		}
		if len(q.Conditions) != 1 || q.Conditions[0].Object != "id-t1" || q.Conditions[0].Doc != "d4" || q.Atoms[2] != (quarry.Atom{S: "?a", P: "felled in", O: "?d1"}) ||
			!strings.Contains(string(q.Certificate), `"members":[{"variable":"?d1","from":1960,"to":1969,"size":2}]`) || !strings.Contains(q.Text, "1960s") {
			t.Fatalf("%+v\n%s", q, q.Certificate)
		}
		return
	}
	t.Fatal("no question")
}

// A graph without texts has no retrieval certificate, and the certificate says so.
func TestWithoutTexts(t *testing.T) {
	g, dir := dense(t), t.TempDir()
	r := must[Report](t)(Run(t.Context(), g, dir, denseOptions(), Hooks{Writer: plain{}}))
	for _, q := range questionsOf(t, dir) {
		if !strings.Contains(string(q.Certificate), `"missing":"`+noTexts) || strings.Contains(string(q.Certificate), `"retrieval"`) || !strings.Contains(string(q.Certificate), `"n4":null`) {
			t.Fatalf("%s", q.Certificate)
		}
	}
	if r.Accepted == 0 || r.Certified < r.Accepted {
		t.Fatalf("%+v", r)
	}
}
