package certify

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// plain answers a query by trying every binding against the list of edges.
func plain(es []csr.Edge, n int, sets [][]uint32, q Query) []uint32 {
	have := map[csr.Edge]bool{}
	for _, e := range es {
		e.Doc = 0
		have[e] = true
	}
	bind := make([]uint32, q.Vars)
	holds := func() bool {
		at := func(t Term) uint32 {
			if t.Variable {
				return bind[t.N]
			}
			return t.N
		}
		for _, a := range q.Atoms {
			s, o := at(a.From), at(a.To)
			if a.Step.Inverse() {
				s, o = o, s
			}
			if !have[csr.Edge{Subject: s, Object: o, Relation: uint16(a.Step.Relation())}] {
				return false
			}
		}
		for _, m := range q.Members {
			if !slices.Contains(sets[m.Set], bind[m.Var]) {
				return false
			}
		}
		return true
	}
	found := map[uint32]bool{}
	var rec func(v int)
	rec = func(v int) {
		if v == q.Vars {
			if holds() {
				found[bind[q.Answer]] = true
			}
			return
		}
		for y := range uint32(n) {
			bind[v] = y
			rec(v + 1)
		}
	}
	rec(0)
	var out []uint32
	for y := range found {
		out = append(out, y)
	}
	slices.Sort(out)
	return out
}

type smallCase struct {
	n    int
	es   []csr.Edge
	sets [][]uint32
	q    Query
}

func drawCase(r *rand.Rand) smallCase {
	c := smallCase{n: 2 + r.IntN(6)}
	rels := 1 + r.IntN(3)
	for range r.IntN(4 * c.n) {
		c.es = append(c.es, csr.Edge{Subject: uint32(r.IntN(c.n)), Object: uint32(r.IntN(c.n)), Relation: uint16(r.IntN(rels)), Doc: csr.NoDoc})
	}
	for range 2 {
		var set []uint32
		for v := range uint32(c.n) {
			if r.IntN(2) == 0 {
				set = append(set, v)
			}
		}
		c.sets = append(c.sets, set)
	}
	c.q = Query{Vars: 1 + r.IntN(4)}
	c.q.Answer = r.IntN(c.q.Vars)
	term := func() Term {
		if r.IntN(4) == 0 {
			return Const(uint32(r.IntN(c.n)))
		}
		return Var(r.IntN(c.q.Vars))
	}
	for range r.IntN(6) {
		step := csr.Along(r.IntN(rels))
		if r.IntN(2) == 0 {
			step = step.Reverse()
		}
		c.q.Atoms = append(c.q.Atoms, Atom{From: term(), Step: step, To: term()})
	}
	for range r.IntN(3) {
		c.q.Members = append(c.q.Members, Member{Var: r.IntN(c.q.Vars), Set: r.IntN(2)})
	}
	if len(c.es) == 0 {
		c.q.Atoms = nil
	}
	return c
}

// 10,000 random patterns on random graphs: chains, trees, cycles, loops, several components, entities and sets.
func TestSolverAgreesWithBruteForce(t *testing.T) {
	nonEmpty, several := 0, 0
	for item := range 10000 {
		c := drawCase(stream(11, item))
		g := mustGraph(t, c.n, 3, slices.Clone(c.es))
		s := NewSolver(mustIndex(t, g, c.sets))
		want := plain(c.es, c.n, c.sets, c.q)
		for range 2 { // the second time on used scratch space
			got, err := s.AnswerSet(c.q, 0)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("case %d: %v, brute force finds %v\n%+v", item, got, want, c)
			}
		}
		for limit := 1; limit <= 2; limit++ {
			got, _ := s.AnswerSet(c.q, limit)
			if !slices.Equal(got, want[:min(limit, len(want))]) {
				t.Fatalf("case %d: the lowest %d are %v of %v\n%+v", item, limit, got, want, c)
			}
		}
		// an atom less is a weakening
		if n := c.q.Len(); n > 0 {
			less, _ := s.AnswerSet(c.q.Without(item%n), 0)
			for _, v := range want {
				if !slices.Contains(less, v) {
					t.Fatalf("case %d: %d is an answer, but not without atom %d", item, v, item%n)
				}
			}
		}
		if len(want) > 0 {
			nonEmpty++
		}
		if len(want) > 1 {
			several++
		}
	}
	if nonEmpty < 3000 || several < 1500 {
		t.Errorf("only %d cases have answers, %d several", nonEmpty, several)
	}
}

func TestQueryRefused(t *testing.T) {
	g := mustGraph(t, 3, 1, []csr.Edge{{Subject: 0, Object: 1}})
	s := NewSolver(mustIndex(t, g, [][]uint32{{0}}))
	for name, q := range map[string]Query{
		"no variables":     {},
		"too many":         {Vars: maxVars + 1},
		"answer":           {Vars: 1, Answer: 1},
		"relation":         {Vars: 1, Atoms: []Atom{{Var(0), csr.Along(1), Const(1)}}},
		"variable of atom": {Vars: 1, Atoms: []Atom{{Var(1), csr.Along(0), Const(1)}}},
		"entity of atom":   {Vars: 1, Atoms: []Atom{{Var(0), csr.Along(0), Const(3)}}},
		"set":              {Vars: 1, Members: []Member{{0, 1}}},
		"member":           {Vars: 1, Members: []Member{{-1, 0}}},
	} {
		if _, err := s.AnswerSet(q, 0); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIndexRefusesSets(t *testing.T) {
	g := mustGraph(t, 3, 1, nil)
	for _, sets := range [][][]uint32{{{3}}, {{1, 0}}, {{1, 1}}} {
		if _, err := NewIndex(g, sets, 5, nil); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%v: %v", sets, err)
		}
	}
	if _, err := NewIndex(g, nil, 0, nil); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("leaf 0: %v", err)
	}
}

// The margin of an answer is that of trying every entity with every choice of failing atoms.
func TestRivalsAgreeWithBruteForce(t *testing.T) {
	tested := 0
	for item := range 3000 {
		c := drawCase(stream(12, item))
		want := plain(c.es, c.n, c.sets, c.q)
		if len(want) != 1 || c.q.Len() == 0 {
			continue
		}
		tested++
		margin, best := 3, uint32(0)
		for m := 2; m >= 1; m-- {
			subsets(c.q.Len(), min(m, c.q.Len()), func(left []int) {
				q := c.q
				for i := len(left) - 1; i >= 0; i-- {
					q = q.Without(left[i])
				}
				for _, v := range plain(c.es, c.n, c.sets, q) {
					if v != want[0] && (m < margin || v < best) {
						margin, best = m, v
					}
				}
			})
		}
		if c.q.Len() == 1 && margin == 2 {
			margin = 1
		}
		got, err := NewSolver(mustIndex(t, mustGraph(t, c.n, 3, c.es), c.sets)).Rivals(c.q, want[0], 2)
		if err != nil || got.Margin != margin || margin <= 2 && (got.Best != best || len(got.Fails) != margin) {
			t.Fatalf("case %d: %+v %v, brute force finds margin %d by %d\n%+v", item, got, err, margin, best, c)
		}
	}
	if tested < 200 {
		t.Errorf("only %d cases have one answer", tested)
	}
}

// A planted entity that satisfies everything is caught among what solvers answered.
func TestPlantedRival(t *testing.T) {
	// 0 -r0-> 1, 0 -r0-> 2; both have r1 to 3, the answer alone r2 to 4
	es := []csr.Edge{{Subject: 0, Object: 1}, {Subject: 0, Object: 2}, {Subject: 1, Object: 3, Relation: 1}, {Subject: 2, Object: 3, Relation: 1}, {Subject: 1, Object: 4, Relation: 2}}
	s := NewSolver(mustIndex(t, mustGraph(t, 5, 3, es), nil))
	loose := Query{Vars: 1, Atoms: []Atom{{Const(0), csr.Along(0), Var(0)}, {Var(0), csr.Along(1), Const(3)}}}
	if full, err := s.Full(loose, 1, []uint32{1, 2, 3}); err != nil || !slices.Equal(full, []uint32{2}) {
		t.Errorf("full matches %v %v", full, err)
	}
	tight := loose
	tight.Atoms = append(slices.Clone(loose.Atoms), Atom{Var(0), csr.Along(2), Const(4)})
	if full, err := s.Full(tight, 1, []uint32{1, 2, 3}); err != nil || len(full) != 0 {
		t.Errorf("full matches %v %v", full, err)
	}
	if r, err := s.Rivals(tight, 1, 2); err != nil || r.Margin != 1 || r.Best != 2 || !slices.Equal(r.Fails, []int{2}) {
		t.Errorf("rivals %+v %v", r, err)
	}
	if r, err := s.Rivals(loose, 1, 2); err != nil || r.Margin != 0 || r.Best != 2 {
		t.Errorf("rivals of a question with two answers %+v %v", r, err)
	}
}
