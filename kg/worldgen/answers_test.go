package worldgen

import (
	"slices"
	"testing"

	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/kg/walk"
	"github.com/quarry-rl/quarry/synth/certify"
)

// told is a world as it was told, by ids: what the graph and its solver are compared with.
type told map[[2]string][]string // from entity and step, "+born_in" or "-born_in", to entities

func (r *records) told() told {
	out := told{}
	for _, s := range r.statements {
		along, back := [2]string{s.Subject, "+" + s.Predicate}, [2]string{s.Object, "-" + s.Predicate}
		out[along] = append(out[along], s.Object)
		out[back] = append(out[back], s.Subject)
	}
	return out
}

// arc is a condition between two vertices of a pattern.
type arc struct {
	from, to int
	step     string
}

// answers tries every way to bind the vertices that are not named, arc by arc; an arc's from is bound before it.
func (t told) answers(bound []string, arcs []arc, answer int, found map[string]bool) {
	if len(arcs) == 0 {
		found[bound[answer]] = true
		return
	}
	a := arcs[0]
	next := t[[2]string{bound[a.from], a.step}]
	if bound[a.to] != "" {
		if slices.Contains(next, bound[a.to]) {
			t.answers(bound, arcs[1:], answer, found)
		}
		return
	}
	for _, v := range next {
		bound[a.to] = v
		t.answers(bound, arcs[1:], answer, found)
	}
	bound[a.to] = ""
}

// Questions of every shape have the answers that the statements as they were told give.
func TestAnswers(t *testing.T) {
	o := Options{Seed: 21, Documents: 1200}
	_, r := generate(t, o)
	_, g := built(t, o)
	world := r.told()
	x, err := certify.NewIndex(g.Graph, nil, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	solver := certify.NewSolver(x)
	for _, c := range []struct {
		shape          walk.Shape
		hops, branches int
	}{{walk.Chain, 1, 0}, {walk.Chain, 2, 0}, {walk.Chain, 3, 0}, {walk.Star, 2, 2}, {walk.Star, 4, 2}, {walk.Star, 3, 3}, {walk.Tree, 4, 0}, {walk.Cycle, 4, 0}} {
		draw, err := walk.NewTopology(g.Graph, c.shape, c.hops, c.branches, walk.Rules{Seed: 4, Backtracks: 200, MaxDegree: 60})
		if err != nil {
			t.Fatal(err)
		}
		drawn, single := 0, 0
		for n := range 60 {
			p, why := draw.Draw(n)
			if why != walk.Complete {
				continue
			}
			drawn++
			q, bound, arcs := asked(g, p)
			got, err := solver.AnswerSet(q, 0)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, v := range got {
				ids = append(ids, g.ID(v))
			}
			found := map[string]bool{}
			world.answers(bound, arcs, p.Answer, found)
			if len(found) != len(ids) || !found[g.ID(p.Vertices[p.Answer])] {
				t.Fatalf("%s %d: solver has %d answers, the statements give %d", c.shape, n, len(ids), len(found))
			}
			for _, id := range ids {
				if !found[id] {
					t.Fatalf("%s %d: %s is no answer", c.shape, n, id)
				}
			}
			if len(ids) == 1 {
				single++
			}
		}
		if drawn < 20 {
			t.Errorf("%s of %d: only %d drawn", c.shape, c.hops, drawn)
		}
		t.Logf("%s of %d hops: %d drawn, %d with one answer", c.shape, c.hops, drawn, single)
	}
}

// asked is a pattern as a query, and for the check: what is bound at first, and arcs such that each leaves a bound vertex.
func asked(g *store.Graph, p walk.Pattern) (certify.Query, []string, []arc) {
	q := certify.Query{Vars: len(p.Vertices), Answer: p.Answer}
	bound := make([]string, len(p.Vertices))
	term := func(i int) certify.Term {
		if p.Constant[i] {
			return certify.Const(p.Vertices[i])
		}
		return certify.Var(i)
	}
	known := slices.Clone(p.Constant)
	for i, v := range p.Vertices {
		if p.Constant[i] {
			bound[i] = g.ID(v)
		}
	}
	name := func(s csr.Step) string {
		if s.Inverse() {
			return "-" + g.RelationID(s.Relation())
		}
		return "+" + g.RelationID(s.Relation())
	}
	for _, a := range p.Arcs {
		q.Atoms = append(q.Atoms, certify.Atom{From: term(a.From), Step: a.Step, To: term(a.To)})
	}
	var arcs []arc
	for left := slices.Clone(p.Arcs); len(left) > 0; {
		i := slices.IndexFunc(left, func(a walk.Arc) bool { return known[a.From] || known[a.To] })
		a := left[i]
		left = slices.Delete(left, i, i+1)
		if known[a.From] {
			arcs = append(arcs, arc{a.From, a.To, name(a.Step)})
		} else {
			arcs = append(arcs, arc{a.To, a.From, name(a.Step.Reverse())})
		}
		known[a.From], known[a.To] = true, true
	}
	return q, bound, arcs
}

// A planted question: which city is twinned with the birthplace of one person, and the birthplace of another.
func TestPlanted(t *testing.T) {
	w, r := generate(t, Options{Seed: 8, Documents: 2000})
	world := r.told()
	_, g := built(t, Options{Seed: 8, Documents: 2000})
	x, err := certify.NewIndex(g.Graph, nil, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	solver := certify.NewSolver(x)
	at := func(id string) uint32 {
		v, ok := g.EntityByID(id)
		if !ok {
			t.Fatalf("no %s", id)
		}
		return v
	}
	born, _ := g.RelationByID("born_in")
	twinned, _ := g.RelationByID("twinned_with")
	planted := 0
	for n := 0; n < w.count(city) && planted < 50; n++ {
		a := EntityID(w.first[city] + n)
		for j := range twinRounds { // the plan knows the twins without reading a statement
			o, _, ok := w.twin(n, j)
			b := EntityID(w.first[city] + o)
			if !ok || len(world[[2]string{a, "-born_in"}]) == 0 || len(world[[2]string{b, "-born_in"}]) == 0 {
				continue
			}
			one, other := world[[2]string{a, "-born_in"}][0], world[[2]string{b, "-born_in"}][0]
			q := certify.Query{Vars: 2, Answer: 1, Atoms: []certify.Atom{
				{From: certify.Const(at(one)), Step: csr.Along(born), To: certify.Var(0)},
				{From: certify.Var(0), Step: csr.Along(twinned), To: certify.Var(1)},
				{From: certify.Const(at(other)), Step: csr.Along(born), To: certify.Var(1)},
			}}
			got, err := solver.AnswerSet(q, 0)
			if err != nil || len(got) != 1 || g.ID(got[0]) != b {
				t.Fatalf("%s and %s: %v, %v, want %s", one, other, got, err, b)
			}
			planted++
		}
	}
	if planted < 50 {
		t.Errorf("only %d planted", planted)
	}
}
