package obfuscate

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/synth/certify"
	"github.com/quarry-rl/quarry/synth/wording"
)

// TestEveryChangeOnlyAdds: on random graphs, whatever an operator does to a question, the answers and the entities that
// satisfy the atom alone are still there, by trying every binding; and an answer of the question without the atom is one
// of the weakened question without it.
func TestEveryChangeOnlyAdds(t *testing.T) {
	seen := map[Operator]int{}
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		n := 8 + r.IntN(20)
		g := dense(t, r, n, n*4, 3)
		w := weakener(t, g, mixed(r, n), wording.English)
		sets := w.cat.Sets
		q, path, ok := question(r, g, 1+r.IntN(2), r.IntN(4))
		if !ok {
			return
		}
		if r.IntN(3) == 0 { // a member whose set another one may hold
			if in := w.x.SetsOf(path[1]); len(in) > 0 {
				q.Members = append(q.Members, certify.Member{Var: 0, Set: int(in[r.IntN(len(in))])})
			}
		}
		before := brute(g, sets, q)
		cs := split(q)
		for _, op := range Operators() {
			for i := range cs {
				list := w.changes(cs, i, op, room{answer: uint32(r.IntN(n)), hidden: map[uint32]bool{}})
				for _, c := range list[:min(len(list), 3)] {
					seen[op]++
					s := &search{w: w, q: q, cs: cs, gone: make([]bool, len(cs))}
					weak, was := build(q.Vars, q.Answer, s.with(c))
					if len(was) != weak.Vars-q.Vars {
						rt.Fatalf("%s: %d variables stand for %d entities", op, weak.Vars-q.Vars, len(was))
					}
					after := brute(g, sets, weak)
					if !subset(before, after) {
						rt.Fatalf("%s of atom %d: %v became %v\n%+v\n%+v", op, i, before, after, q, weak)
					}
					if got, err := w.s.AnswerSet(weak, 0); err != nil || !slices.Equal(got, after) {
						rt.Fatalf("%s: the solver finds %v, trying all %v (%v)", op, got, after, err)
					}
					var from []clause
					for _, j := range c.from {
						from = append(from, cs[j])
					}
					a, err1 := w.alone(from)
					b, err2 := w.alone([]clause{c.to})
					if err1 != nil || err2 != nil || a > b {
						rt.Fatalf("%s: %d entities alone became %d (%v %v)", op, a, b, err1, err2)
					}
				}
			}
		}
	})
	for _, op := range Operators() {
		if seen[op] == 0 {
			t.Errorf("%s was never tried", op)
		}
	}
	t.Log(seen)
}

// unique draws questions with one answer.
func unique(r *rand.Rand, w *Weakener, hops, conds int) (certify.Query, []uint32) {
	for {
		q, path, ok := question(r, w.x.G, hops, conds)
		if !ok {
			continue
		}
		if got, err := w.s.AnswerSet(q, 2); err == nil && len(got) == 1 && got[0] == path[hops] {
			return q, path
		}
	}
}

func TestWeakenKeepsOneAnswer(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	g := dense(t, r, 60, 260, 4)
	w := weakener(t, g, mixed(r, 60), wording.English)
	kept, reverted, reached := 0, map[string]int{}, 0
	for item := range uint64(150) {
		q, path := unique(r, w, 2, 4)
		answer := path[2]
		o := Options{Seed: 9, Item: item, Target: 6, Hidden: path, Keep: []int{0}}
		got, err := w.Weaken(q, answer, o)
		if err != nil {
			t.Fatal(err)
		}
		if all := brute(g, w.cat.Sets, smaller(got.Query)); len(all) != 1 || all[0] != answer {
			t.Fatalf("item %d: answers %v, want %d", item, all, answer)
		}
		sum := 0.0
		touched := map[int]bool{}
		for _, s := range got.Steps {
			if !s.Kept {
				reverted[s.Reason]++
				continue
			}
			kept++
			sum += s.Bits
			if s.Answers != 1 || s.After < s.Before || math.Abs(s.Bits-math.Log2(float64(s.After)/float64(s.Before))) > 1e-9 {
				t.Fatalf("%+v", s)
			}
			for _, a := range s.Atoms {
				if a == 0 || touched[a] {
					t.Fatalf("item %d: atom %d again or although it is to be kept: %+v", item, a, got.Steps)
				}
				touched[a] = true
			}
		}
		if math.Abs(sum-got.Bits) > 1e-9 || got.Reached != (sum >= 6) || got.Margin < 1 {
			t.Fatalf("item %d: %+v", item, got)
		}
		if got.Reached {
			reached++
		}
		rv, err := w.s.Rivals(got.Query, answer, 1)
		if err != nil || rv.Margin != got.Margin {
			t.Fatalf("item %d: margin %d, rivals say %d (%v)", item, got.Margin, rv.Margin, err)
		}
		for _, a := range got.Query.Atoms[1:] {
			for _, x := range []certify.Term{a.From, a.To} {
				if !x.Variable && slices.Contains(path[1:], x.N) {
					t.Fatalf("item %d names %d of the path %v", item, x.N, path)
				}
			}
		}
		again, err := w.Weaken(q, answer, o)
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Fatalf("item %d: twice the same gives two results", item)
		}
	}
	t.Log(kept, "kept", reverted, "reverted", reached, "reached")
	if kept == 0 || reverted[SeveralAnswers] == 0 || reached == 0 {
		t.Error("the search was not put to work")
	}
}

// smaller is a query without variables that nothing is said of, which dropped atoms leave behind: they may be anything.
func smaller(q certify.Query) certify.Query {
	used := map[uint32]bool{uint32(q.Answer): true}
	for _, a := range q.Atoms {
		for _, t := range []certify.Term{a.From, a.To} {
			if t.Variable {
				used[t.N] = true
			}
		}
	}
	to, n := map[uint32]uint32{}, uint32(0)
	for v := range uint32(q.Vars) {
		if used[v] {
			to[v] = n
			n++
		}
	}
	out := certify.Query{Vars: int(n), Answer: int(to[uint32(q.Answer)])}
	for _, a := range q.Atoms {
		for _, t := range []*certify.Term{&a.From, &a.To} {
			if t.Variable {
				t.N = to[t.N]
			}
		}
		out.Atoms = append(out.Atoms, a)
	}
	for _, m := range q.Members {
		out.Members = append(out.Members, certify.Member{Var: int(to[uint32(m.Var)]), Set: m.Set})
	}
	return out
}

// planted: 0 is the answer, a person born in city 1 (like 2), on date 4 (2 in the same decade: 5), who plays for team 6;
// 3 was born in city 7 on date 4.
func planted(t *testing.T) *Weakener {
	m := made{[]string{"Ann", "Paris", "Bob", "Cyd", "1 May 1953", "2 May 1958", "Reds", "Rome", "France"},
		[]string{"PER", "LOC", "PER", "PER", "TIME", "TIME", "ORG", "LOC", "LOC"}}
	e := func(s, r, o int) csr.Edge {
		return csr.Edge{Subject: uint32(s), Relation: uint16(r), Object: uint32(o), Doc: csr.NoDoc}
	}
	g := graph(t, 9, 4, []csr.Edge{e(0, 0, 1), e(2, 0, 1), e(3, 0, 7), e(0, 1, 4), e(2, 1, 5), e(3, 1, 4), e(0, 2, 6), e(2, 2, 6), e(1, 3, 8)})
	return weakener(t, g, m, wording.English)
}

func TestPlantedRivalIsCaught(t *testing.T) {
	w := planted(t)
	q := certify.Query{Vars: 1, Atoms: []certify.Atom{
		{From: certify.Var(0), Step: csr.Along(0), To: certify.Const(1)},
		{From: certify.Var(0), Step: csr.Along(1), To: certify.Const(4)}}}
	// the decade alone would let 2 in
	got, err := w.Weaken(q, 0, Options{Operators: []Operator{Decade}})
	if err != nil || len(got.Steps) != 1 || got.Steps[0].Kept || got.Steps[0].Reason != SeveralAnswers || got.Steps[0].Answers != 2 || got.Bits != 0 {
		t.Fatalf("%+v %v", got, err)
	}
	if !reflect.DeepEqual(got.Query, q) {
		t.Errorf("not taken back: %+v", got.Query)
	}
	// the class of the place lets 3 in
	got, err = w.Weaken(q, 0, Options{Operators: []Operator{Class}})
	if err != nil || got.Steps[0].Kept || got.Steps[0].Reason != SeveralAnswers {
		t.Fatalf("%+v %v", got, err)
	}
	// the place as "a place in France" does not
	got, err = w.Weaken(q, 0, Options{Operators: []Operator{Nested}, Keep: []int{1}, Hidden: []uint32{2, 3}})
	if err != nil || len(got.Steps) != 2 || got.Steps[0].Reason != Weightless || !got.Steps[1].Kept || got.Query.Vars != 2 || !slices.Equal(got.Was, []uint32{1}) || len(got.Steps[1].Edges) != 1 {
		t.Fatalf("%+v %v", got, err)
	}
	for _, s := range got.Steps { // the same, where statements of no text may not be brought in
		if got, err := w.Weaken(q, 0, Options{Operators: []Operator{Nested}, Usable: func(e uint32) bool { return !slices.Contains(s.Edges, e) }, Hidden: []uint32{2, 3}}); err != nil || len(got.Steps) != 0 {
			t.Fatalf("%+v %v", got, err)
		}
	}
	if _, err := w.Weaken(certify.Query{Vars: 1, Atoms: q.Atoms[:1]}, 0, Options{}); quarry.KindOf(err) != quarry.KindGate {
		t.Errorf("two answers: %v", err)
	}
}

func TestMarginOfTwoIsKept(t *testing.T) {
	// answer 0 has atoms to 1, 2, 3; rival 4 has the one to 1. Weakening 0 -1-> 2 to its class lets 4 in by one more.
	m := made{[]string{"Ann", "Paris", "Rome", "Reds", "Bob", "Oslo"}, []string{"PER", "LOC", "LOC", "ORG", "PER", "LOC"}}
	e := func(s, r, o int) csr.Edge {
		return csr.Edge{Subject: uint32(s), Relation: uint16(r), Object: uint32(o), Doc: csr.NoDoc}
	}
	g := graph(t, 6, 3, []csr.Edge{e(0, 0, 1), e(0, 1, 2), e(0, 2, 3), e(4, 0, 1), e(4, 1, 5)})
	w := weakener(t, g, m, wording.English)
	q := certify.Query{Vars: 1}
	for i, c := range []uint32{1, 2, 3} {
		q.Atoms = append(q.Atoms, certify.Atom{From: certify.Var(0), Step: csr.Along(i), To: certify.Const(c)})
	}
	o := Options{Operators: []Operator{Class}, Keep: []int{0, 2}, Target: 1}
	got, err := w.Weaken(q, 0, o)
	if err != nil || got.Available != 2 || got.Margin != 1 || !got.Reached || len(got.Steps) != 2 || got.Steps[0].Reason != NarrowMargin || !got.Steps[1].Kept {
		t.Fatalf("the target is out of reach with a margin of 2: %+v %v", got, err)
	}
	o.Target = 0.0001
	o.Operators = []Operator{Initial, Class}
	for item := range uint64(8) { // the initial of Rome loses nothing; with the class given up for, a margin of 2 stays
		o.Item = item
		if got, err = w.Weaken(q, 0, o); err != nil {
			t.Fatal(err)
		}
		for _, s := range got.Steps {
			if s.Op == Initial && (s.Kept || s.Reason != Weightless) {
				t.Errorf("%+v", s)
			}
		}
	}
}
