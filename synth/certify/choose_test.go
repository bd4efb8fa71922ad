package certify

import (
	"math"
	"slices"
	"testing"

	"github.com/quarry-rl/quarry/kg/csr"
)

// randomWalks draws walks on small skewed graphs with sets.
func randomWalks(t *testing.T, f func(x *Index, w Walk)) {
	for item := range 60 {
		r := stream(21, item)
		n := 40 + r.IntN(80)
		g := skewed(t, uint64(item), n, 5*n, 6)
		var sets [][]uint32
		for range 4 {
			var set []uint32
			for v := range uint32(n) {
				if r.IntN(4) == 0 {
					set = append(set, v)
				}
			}
			sets = append(sets, set)
		}
		x := mustIndex(t, g, sets)
		for k := range 40 {
			if w, ok := drawWalk(g, stream(uint64(item), k), 1+r.IntN(5), nil); ok {
				f(x, w)
			}
		}
	}
}

// must is for what cannot fail in a test.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// What is chosen is proven again atom by atom with the general solver, and what is not chosen is not there.
func TestChooseIsExactAndProven(t *testing.T) {
	accepted, reasons := 0, map[Reason]int{}
	var h, free *Chooser
	var s *Solver
	var last *Index
	randomWalks(t, func(x *Index, w Walk) {
		if x != last {
			last, s = x, NewSolver(x)
			h, free = NewChooser(x, Options{Looks: math.MaxInt, PerPlace: 6, Pool: 24}), NewChooser(x, Options{Looks: math.MaxInt, PerPlace: 6, Pool: 24})
		}
		c := h.Choose(w)
		reasons[c.Reason]++
		all := free.Exhaust(w, Ready)
		if (c.Reason == "") != (all.Reason == "") || len(c.Conditions) != len(all.Conditions) {
			t.Fatalf("%+v: the search gives %+v, trying all %+v", w, c, all)
		}
		if c.Reason != "" {
			return
		}
		accepted++
		q := Question(w, c.Conditions)
		if a := must(s.AnswerSet(q, 0)); !slices.Equal(a, []uint32{w.Answer()}) {
			t.Fatalf("%+v under %+v: answers %v", w, c.Conditions, a)
		}
		for i := range q.Len() {
			if must(s.Count(q.Without(i), 2)) < 2 {
				t.Fatalf("%+v under %+v: atom %d is not needed", w, c.Conditions, i)
			}
		}
		for place := 1; place <= len(w.Hops); place++ {
			alone := Query{Vars: q.Vars, Answer: place - 1}
			for _, k := range c.Conditions {
				if k.Place == place {
					one := Question(Walk{Hops: w.Hops}, []Condition{k})
					alone.Atoms, alone.Members = append(alone.Atoms, one.Atoms[len(w.Hops):]...), append(alone.Members, one.Members...)
				}
			}
			if n := must(s.Count(alone, 0)); n < 5 {
				t.Fatalf("%+v under %+v: the conditions on place %d alone leave %d", w, c.Conditions, place, n)
			}
		}
		for _, k := range c.Conditions {
			if k.Place < len(w.Hops) {
				continue
			}
			one := Question(w, []Condition{k})
			pair := Query{
				Vars: q.Vars, Answer: q.Answer, Atoms: one.Atoms[len(w.Hops)-1:], Members: one.Members}
			if n := must(s.Count(pair, 0)); n < 5 {
				t.Fatalf("%+v: the last step and %+v leave %d", w, k, n)
			}
		}
		if p := h.x.Path(w); !p.N0 || !p.N1 {
			t.Fatalf("%+v: %+v", w, p)
		}
	})
	if accepted < 100 || reasons[Shortcut] < 50 || reasons[Several] < 50 || reasons[Needless] < 10 {
		t.Errorf("too few of a kind: %d accepted, %v", accepted, reasons)
	}
}

// The counts of a certificate are those of the general solver.
func TestCertificateCounts(t *testing.T) {
	accepted := 0
	randomWalks(t, func(x *Index, w Walk) {
		h, s := NewChooser(x, Options{Plain: true}), NewSolver(x)
		c := h.Choose(w)
		if c.Reason != "" {
			return
		}
		accepted++
		cert := must(h.Certify(w, c.Conditions))
		q := Question(w, c.Conditions)
		count := func(q Query) int { return must(s.Count(q, CountLimit)) }
		if cert.Answers != count(q) || cert.PathAnswers != count(Question(w, nil)) {
			t.Fatalf("%+v: %+v, not %d and %d", w, cert, count(q), count(Question(w, nil)))
		}
		needed := true
		edges := len(w.Hops)
		for i, k := range c.Conditions {
			at := edges
			if k.Set >= 0 {
				at = len(q.Atoms) + slices.Index(q.Members, Member{k.Place - 1, k.Set})
			} else {
				edges++
			}
			n := count(q.Without(at))
			if cert.Without[i] != n {
				t.Fatalf("%+v without %+v: %d, not %d", w, k, cert.Without[i], n)
			}
			needed = needed && n > 1
		}
		if free := count(q.Without(0)) > 1; free != cert.Free || cert.Necessity.N3 != (free && needed && cert.Leaf >= 5) {
			t.Fatalf("%+v: free is %v, %+v", w, free, cert)
		}
		if r := must(s.Rivals(q, w.Answer(), 1)); (r.Margin == 1) != (cert.Margin == 1) {
			t.Fatalf("%+v: margin %+v, certificate %+v", w, r, cert)
		}
	})
	if accepted < 100 {
		t.Errorf("only %d walks", accepted)
	}
}

// The same walks in any order, on fresh or used scratch space, give the same choices.
func TestChooseDoesNotRemember(t *testing.T) {
	g := skewed(t, 5, 300, 1500, 8)
	x := mustIndex(t, g, nil)
	walks := completed(g, 3, 200, 3, nil)
	used := NewChooser(x, Options{})
	var first []Choice
	for _, w := range walks {
		first = append(first, used.Choose(w))
	}
	for i, w := range slices.Backward(walks) {
		for _, h := range []*Chooser{used, NewChooser(x, Options{})} {
			if got := h.Choose(w); got.Reason != first[i].Reason || got.Looks != first[i].Looks || !slices.Equal(got.Conditions, first[i].Conditions) {
				t.Fatalf("walk %d: %+v, the first time %+v", i, got, first[i])
			}
		}
	}
}

// Options.Apart and Induced leave only questions whose walk is an induced path and whose conditions stand apart.
func TestStricterOptions(t *testing.T) {
	accepted := 0
	randomWalks(t, func(x *Index, w Walk) {
		h := NewChooser(x, Options{Apart: true, Induced: true})
		c := h.Choose(w)
		if c.Reason != "" {
			return
		}
		accepted++
		cert := must(h.Certify(w, c.Conditions))
		if !cert.Independence.Disjoint || !cert.Independence.Unlinked || cert.Necessity.Level() != 3 {
			t.Fatalf("%+v under %+v: %+v", w, c.Conditions, cert)
		}
	})
	if accepted < 30 {
		t.Errorf("only %d walks", accepted)
	}
}

// shares is what part of walks becomes questions: by the search, by trying all of its pool, by trying all of the best
// conditions (the bound), and by taking greedily the best on the answer (the baseline) or on any place.
type shares struct{ ours, same, bound, greedy, greedyAll float64 }

func measure(x *Index, walks []Walk, o Options) (s shares) {
	h := NewChooser(x, o)
	o.OnAnswer = true
	onAnswer := NewChooser(x, o)
	one := 1 / float64(len(walks))
	for _, w := range walks {
		for _, m := range []struct {
			share *float64
			c     Choice
		}{{&s.ours, h.Choose(w)}, {&s.same, h.Exhaust(w, Ready)}, {&s.bound, h.Exhaust(w, Best)},
			{&s.greedy, onAnswer.Greedy(w, Best)}, {&s.greedyAll, h.Greedy(w, Best)}} {
			if m.c.Reason == "" {
				*m.share += one
			}
		}
	}
	return s
}

// On the demo's graph the search reaches the bound and leaves the greedy choice behind.
func TestDemoShares(t *testing.T) {
	g, may, sets := demo(t)
	walks := completed(g, 1, 100, 4, may)
	for _, c := range []struct {
		name string
		sets [][]uint32
		o    Options
	}{
		{"edges, one answer and N1", nil, Options{Plain: true}},
		{"edges, N3 too", nil, Options{}},
		{"edges, types and decades, one answer and N1", sets, Options{Plain: true}},
		{"edges, types and decades, N3 too", sets, Options{}},
	} {
		s := measure(mustIndex(t, g, c.sets), walks, c.o)
		t.Logf("%-44s ours %.3f, all of its pool %.3f, bound %.3f, greedy on the answer %.3f, greedy anywhere %.3f", c.name, s.ours, s.same, s.bound, s.greedy, s.greedyAll)
		if s.ours < s.greedy || s.ours < s.greedyAll || s.ours > s.same || s.ours < 0.95*s.same || s.ours < 0.8*s.bound {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestWalkCheck(t *testing.T) {
	g := mustGraph(t, 4, 2, []csr.Edge{{Subject: 0, Object: 1}, {Subject: 2, Object: 1, Relation: 1}, {Subject: 2, Object: 0}})
	good := Walk{Anchor: 0, Hops: []Hop{{csr.Along(0), 0, 1}, {csr.Back(1), 2, 2}}}
	if err := good.Check(g); err != nil {
		t.Errorf("a walk of the graph: %v", err)
	}
	for name, w := range map[string]Walk{
		"no hops":     {},
		"anchor":      {Anchor: 9, Hops: good.Hops},
		"wrong edge":  {Hops: []Hop{{csr.Along(0), 1, 1}}},
		"direction":   {Hops: []Hop{{csr.Back(0), 0, 1}}},
		"entity":      {Hops: []Hop{{csr.Along(0), 0, 7}}},
		"edge":        {Hops: []Hop{{csr.Along(0), 7, 1}}},
		"twice":       {Hops: append(slices.Clone(good.Hops), Hop{csr.Along(0), 1, 0})},
		"too long":    {Hops: make([]Hop, MaxHops+1)},
		"wrong place": {Anchor: 1, Hops: good.Hops},
	} {
		if w.Check(g) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	h := NewChooser(mustIndex(t, g, nil), Options{})
	for _, k := range []Condition{{Place: 0, Set: NoSet}, {Place: 3, Set: NoSet}, {Place: 1, Set: 0}, {Place: 1, Step: csr.Along(1), To: 3, Set: NoSet}, {Place: 1, To: 9, Set: NoSet}} {
		if _, err := h.Certify(good, []Condition{k}); err == nil {
			t.Errorf("%+v: certified", k)
		}
	}
}
