package walk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

func pattern(n, answer int, arcs ...[2]int) Pattern {
	q := Pattern{Vertices: make([]uint32, n), Constant: make([]bool, n), Answer: answer}
	for i := range q.Vertices {
		q.Vertices[i] = uint32(i)
	}
	for _, a := range arcs {
		q.Arcs = append(q.Arcs, Arc{From: a[0], To: a[1]})
	}
	return q
}

func TestClassify(t *testing.T) {
	var complete4, grid [][2]int
	for i := range 4 {
		for j := range i {
			complete4 = append(complete4, [2]int{i, j})
		}
	}
	for i := range 9 {
		if i%3 < 2 {
			grid = append(grid, [2]int{i, i + 1})
		}
		if i < 6 {
			grid = append(grid, [2]int{i, i + 3})
		}
	}
	for _, tc := range []struct {
		name string
		q    Pattern
		want Class
	}{
		{"one hop", pattern(2, 1, [2]int{0, 1}), Class{Chain, 1}},
		{"chain", pattern(4, 3, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}), Class{Chain, 1}},
		{"chain asked at its anchor's end", pattern(4, 0, [2]int{0, 1}, [2]int{2, 1}, [2]int{2, 3}), Class{Chain, 1}},
		{"two statements on one hop", pattern(3, 2, [2]int{0, 1}, [2]int{1, 0}, [2]int{1, 2}), Class{Chain, 1}},
		{"two branches", pattern(4, 1, [2]int{0, 1}, [2]int{2, 1}, [2]int{3, 2}), Class{Star, 1}},
		{"star", pattern(6, 5, [2]int{0, 5}, [2]int{1, 5}, [2]int{2, 3}, [2]int{3, 5}, [2]int{4, 5}), Class{Star, 1}},
		{"fork beside the answer", pattern(4, 0, [2]int{1, 0}, [2]int{2, 1}, [2]int{3, 1}), Class{Tree, 1}},
		{"forks at the answer and elsewhere", pattern(6, 0, [2]int{1, 0}, [2]int{2, 0}, [2]int{3, 0}, [2]int{4, 3}, [2]int{5, 3}), Class{Tree, 1}},
		{"triangle", pattern(3, 0, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}), Class{Cycle, 2}},
		{"ring of six", pattern(6, 2, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}, [2]int{3, 4}, [2]int{4, 5}, [2]int{5, 0}), Class{Cycle, 2}},
		{"triangle with a tail", pattern(4, 3, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}, [2]int{2, 3}), Class{Cycle, 2}},
		{"two triangles at a vertex", pattern(5, 0, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 0}, [2]int{0, 3}, [2]int{3, 4}, [2]int{4, 0}), Class{Cycle, 2}},
		{"ring with a chord", pattern(4, 0, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}, [2]int{3, 0}, [2]int{0, 2}), Class{Cycle, 2}},
		{"three ways from anchor to answer", pattern(5, 4, [2]int{0, 1}, [2]int{0, 2}, [2]int{0, 3}, [2]int{1, 4}, [2]int{2, 4}, [2]int{3, 4}), Class{Cycle, 2}},
		{"all four joined", pattern(4, 0, complete4...), Class{Cycle, 3}},
		{"grid of nine", pattern(9, 0, grid...), Class{Cycle, 3}},
	} {
		got, err := Classify(tc.q)
		if err != nil || got != tc.want {
			t.Errorf("%s: %v, %v, want %v", tc.name, got, err, tc.want)
		}
		slices.Reverse(tc.q.Arcs)
		if again, err := Classify(tc.q); err != nil || again != got {
			t.Errorf("%s: the order of arcs changes %v to %v, %v", tc.name, got, again, err)
		}
	}
	for name, q := range map[string]Pattern{
		"empty": {}, "one vertex": pattern(1, 0), "two parts": pattern(4, 0, [2]int{0, 1}, [2]int{2, 3}), "loop": pattern(2, 0, [2]int{0, 1}, [2]int{1, 1}),
		"arc outside": pattern(2, 0, [2]int{0, 2}), "answer outside": pattern(2, 2, [2]int{0, 1}), "too large": pattern(65, 0),
		"no marks": {Vertices: []uint32{1, 2}, Arcs: []Arc{{From: 0, To: 1}}},
	} {
		if _, err := Classify(q); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Treewidth by trying every order of elimination agrees on random graphs of up to 6 vertices.
func TestTreewidth(t *testing.T) {
	width := func(adj []uint64) int {
		best := len(adj)
		var try func(adj []uint64, gone uint64, w int)
		try = func(adj []uint64, gone uint64, w int) {
			if gone == 1<<len(adj)-1 {
				best = min(best, w)
				return
			}
			for v := range adj {
				if gone>>v&1 == 1 {
					continue
				}
				next, row, degree := slices.Clone(adj), adj[v]&^gone, 0
				for u := range adj {
					if row>>u&1 == 1 {
						next[u] |= row &^ (1 << u)
						degree++
					}
				}
				try(next, gone|1<<v, max(w, degree))
			}
		}
		try(adj, 0, 0)
		return best
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "n")
		var arcs [][2]int
		for i := 1; i < n; i++ {
			arcs = append(arcs, [2]int{i, rapid.IntRange(0, i-1).Draw(t, "parent")})
		}
		for range rapid.IntRange(0, 8).Draw(t, "more") {
			if a, b := rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b"); a != b {
				arcs = append(arcs, [2]int{a, b})
			}
		}
		q := pattern(n, 0, arcs...)
		got, err := Classify(q)
		adj, err2 := q.adjacency()
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if want := min(width(adj), 3); got.Treewidth != want {
			t.Fatalf("treewidth %d, want %d", got.Treewidth, want)
		}
	})
}

// checkPattern holds a drawn pattern to its shape and rules, without the search's help.
func checkPattern(t interface{ Fatalf(string, ...any) }, g *csr.Graph, q Pattern, shape Shape, hops, branches int, r *Rules) {
	c, err := Classify(q)
	if err != nil || c.Shape != shape && !(shape == Tree && c.Shape == Chain) || len(q.Arcs) != hops {
		t.Fatalf("%d hops, %v, %v, want a %s of %d: %+v", len(q.Arcs), c, err, shape, hops, q)
	}
	joined, uses, docs := map[[2]int]bool{}, map[int]int{}, map[uint32]bool{}
	for _, a := range q.Arcs {
		checkChain(t, g, Path{q.Vertices[a.From], []Hop{{a.Step, a.Edge, q.Vertices[a.To], a.Doc}}})
		joined[[2]int{a.From, a.To}], joined[[2]int{a.To, a.From}] = true, true
		uses[a.Step.Relation()]++
		docs[a.Doc] = true
		if want := g.Docs[a.Edge]; r.DocOf == nil && a.Doc != want || r.DocOf != nil && a.Doc != r.DocOf(a.Edge) {
			t.Fatalf("arc %v, the graph's document is %d", a, want)
		}
		if a.Doc == csr.NoDoc && !r.Undocumented {
			t.Fatalf("arc %v has no document", a)
		}
	}
	delete(docs, csr.NoDoc)
	for rel, n := range uses {
		if r.MaxRelation > 0 && n > r.MaxRelation || r.Weights != nil && r.Weights[rel] == 0 {
			t.Fatalf("relation %d %d times", rel, n)
		}
	}
	if len(docs) < r.MinDocs || len(uses) < r.MinRelations {
		t.Fatalf("%d documents, %d relations", len(docs), len(uses))
	}
	for i, v := range q.Vertices {
		may := r.Inside
		if i == q.Answer {
			may = r.Answer
		} else if q.Constant[i] {
			may = r.Anchor
		} else if r.MaxDegree > 0 && g.Degree(v) > r.MaxDegree {
			t.Fatalf("inner vertex %d has degree %d", v, g.Degree(v))
		}
		if may != nil && !may(v) {
			t.Fatalf("vertex %d may not have its role", v)
		}
		for j := range i {
			if v == q.Vertices[j] || r.NoShortcuts && !joined[[2]int{i, j}] && g.Adjacent(v, q.Vertices[j]) {
				t.Fatalf("vertices %d and %d are equal or joined", i, j)
			}
		}
	}
	constants := 0
	for _, c := range q.Constant {
		if c {
			constants++
		}
	}
	paths, covered := q.Paths(), map[uint32]bool{}
	for _, p := range paths {
		checkChain(t, g, p)
		if p.End() != q.Vertices[q.Answer] {
			t.Fatalf("%v does not lead to the answer", p)
		}
		for _, h := range p.Hops {
			covered[h.Edge] = true
		}
	}
	want, from := branches, branches
	switch shape {
	case Chain:
		want, from = 1, 1
	case Tree:
		want, from = len(paths), len(paths)
	case Cycle:
		want, from = 2, 1
		if d := len(paths[0].Hops) - len(paths[1].Hops); len(paths) != 2 || d < -1 || d > 1 {
			t.Fatalf("the constant is not half-way round: %v", paths)
		}
	}
	if q.Constant[q.Answer] || len(paths) != want || constants != from || len(covered) != hops {
		t.Fatalf("%d paths from %d constants over %d of %d statements: %+v", len(paths), constants, len(covered), hops, q)
	}
}

func dense() *csr.Graph {
	r := rand.New(rand.NewPCG(5, 6))
	var es []csr.Edge
	for range 1200 {
		es = append(es, csr.Edge{Subject: uint32(r.IntN(300)), Object: uint32(r.IntN(300)), Relation: uint16(r.IntN(20)), Doc: uint32(r.IntN(90))})
	}
	return must(csr.New(300, 20, es))
}

// Every shape at every size, under rules.
func TestTopologies(t *testing.T) {
	g := dense()
	for _, shape := range []Shape{Chain, Star, Tree, Cycle} {
		for hops := map[Shape]int{Chain: 1, Star: 2, Tree: 3, Cycle: 3}[shape]; hops <= MaxHops; hops++ {
			for branches := 2; branches <= 4; branches++ {
				if shape != Star && branches > 2 || branches > hops {
					continue
				}
				r := Rules{Seed: 3, Beta: 4, MinDocs: min(3, hops), MaxRelation: 3, MaxDegree: 30, NoShortcuts: hops < 7, Backtracks: 2000,
					Inside: func(v uint32) bool { return v%10 != 0 }, Answer: func(v uint32) bool { return v%7 != 0 }, Anchor: func(v uint32) bool { return v%11 != 0 }}
				top, err := NewTopology(g, shape, hops, branches, r)
				if err != nil {
					t.Fatal(err)
				}
				complete := 0
				for n := range 60 {
					q, why := top.Draw(n)
					if why != Complete {
						if len(q.Vertices) != 0 {
							t.Fatalf("%s with %v", why, q)
						}
						continue
					}
					complete++
					checkPattern(t, g, q, shape, hops, branches, &r)
				}
				if complete < 20 {
					t.Errorf("%s of %d hops: %d of 60 complete", shape, hops, complete)
				}
			}
		}
	}
}

// With backtracks without end a triangle is found wherever brute force finds one.
func TestCyclesAgreeWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := graphs(7, 3, []uint32{csr.NoDoc, 0, 1, 2}).Draw(t, "graph")
		r := drawRules(t, g, 3)
		r.NoShortcuts = rapid.Bool().Draw(t, "chords")
		r.Starts = []uint32{rapid.Uint32Range(0, uint32(g.Entities()-1)).Draw(t, "answer")}
		top, err := NewTopology(g, Cycle, 3, 0, r)
		if err != nil {
			t.Fatal(err)
		}
		q, why := top.Draw(rapid.IntRange(0, 100).Draw(t, "n"))
		if why == Complete {
			checkPattern(t, g, q, Cycle, 3, 0, &r)
			return
		}
		v := r.Starts[0]
		if may := r.Answer == nil || r.Answer(v); (why == Start) == may || why == Budget {
			t.Fatalf("ends with %q", why)
		}
		if why != Start && triangle(g, &r, v) {
			t.Fatalf("%q, but there is a triangle at %d", why, v)
		}
	})
}

// The same for stars, whose hops start in one row.
func TestStarsAgreeWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := graphs(7, 3, []uint32{csr.NoDoc, 0, 1, 2}).Draw(t, "graph")
		hops := rapid.IntRange(2, 3).Draw(t, "hops")
		r := drawRules(t, g, hops)
		r.Starts = []uint32{rapid.Uint32Range(0, uint32(g.Entities()-1)).Draw(t, "answer")}
		top, err := NewTopology(g, Star, hops, hops, r)
		if err != nil {
			t.Fatal(err)
		}
		q, why := top.Draw(rapid.IntRange(0, 100).Draw(t, "n"))
		v := r.Starts[0]
		switch {
		case why == Complete:
			checkPattern(t, g, q, Star, hops, hops, &r)
		case (why == Start) == (r.Answer == nil || r.Answer(v)) || why == Budget:
			t.Fatalf("ends with %q", why)
		case why != Start && star(g, &r, v, nil, hops):
			t.Fatalf("%q, but there is a star at %d", why, v)
		}
	})
}

// star says whether rays can be completed to so many that keep the rules.
func star(g *csr.Graph, r *Rules, v uint32, rays []Hop, hops int) bool {
	if len(rays) < hops {
		for half := g.Off[v]; half < g.Off[v+1]; half++ {
			h := hopAt(g, v, half)
			if r.DocOf != nil {
				h.Doc = r.DocOf(h.Edge)
			}
			if star(g, r, v, append(slices.Clone(rays), h), hops) {
				return true
			}
		}
		return false
	}
	uses, p := map[int]int{}, Path{v, rays}
	for i, h := range rays {
		rel := h.Step.Relation()
		if uses[rel]++; r.MaxRelation > 0 && uses[rel] > r.MaxRelation || r.Weights != nil && r.Weights[rel] == 0 || h.Doc == csr.NoDoc && !r.Undocumented ||
			h.Target == v || r.Anchor != nil && !r.Anchor(h.Target) {
			return false
		}
		for _, k := range rays[:i] {
			if h.Target == k.Target || r.NoShortcuts && g.Adjacent(h.Target, k.Target) {
				return false
			}
		}
	}
	return len(uses) >= r.MinRelations && p.Documents() >= r.MinDocs
}

func triangle(g *csr.Graph, r *Rules, v uint32) bool {
	found := false
	hops := func(from uint32, f func(h Hop)) {
		for half := g.Off[from]; half < g.Off[from+1]; half++ {
			h := hopAt(g, from, half)
			if r.DocOf != nil {
				h.Doc = r.DocOf(h.Edge)
			}
			f(h)
		}
	}
	hops(v, func(a Hop) {
		hops(a.Target, func(b Hop) {
			hops(b.Target, func(c Hop) {
				if c.Target != v || a.Target == v || b.Target == v || a.Target == b.Target {
					return
				}
				p := Path{v, []Hop{a, b, c}}
				uses := map[int]int{}
				for _, h := range p.Hops {
					rel := h.Step.Relation()
					if uses[rel]++; r.MaxRelation > 0 && uses[rel] > r.MaxRelation || r.Weights != nil && r.Weights[rel] == 0 || h.Doc == csr.NoDoc && !r.Undocumented {
						return
					}
				}
				if len(uses) < r.MinRelations || p.Documents() < r.MinDocs || r.MaxDegree > 0 && g.Degree(b.Target) > r.MaxDegree ||
					r.Anchor != nil && !r.Anchor(a.Target) || r.Inside != nil && !r.Inside(b.Target) {
					return
				}
				found = true
			})
		})
	})
	return found
}

func TestTopologyRun(t *testing.T) {
	g := dense()
	top, err := NewTopology(g, Star, 6, 3, Rules{Seed: 8, Beta: 2, MinDocs: 4, Backtracks: 5})
	if err != nil {
		t.Fatal(err)
	}
	run := func(concurrency int) (out []string) {
		if err := top.Run(t.Context(), 5, 500, concurrency, func(n int, q Pattern, why Reason) { out = append(out, fmt.Sprint(n, q, why)) }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if one, many := run(1), run(64); len(one) != 500 || !reflect.DeepEqual(one, many) {
		t.Error("64 goroutines give other patterns than one")
	}
}

// The hops of a star are shared out so that each way to do it is equally likely.
func TestStarBranches(t *testing.T) {
	top, err := NewTopology(dense(), Star, 6, 3, Rules{Seed: 8, Backtracks: math.MaxInt})
	if err != nil {
		t.Fatal(err)
	}
	ways := map[[3]int]int{}
	for n := range 20_000 {
		r := rng(key(1, kindPattern, n))
		p := top.plan(&r)
		lengths, b := [3]int{}, -1
		for i := 1; i <= 6; i++ {
			if p.parent[i] == 0 {
				b++
			}
			lengths[b]++
		}
		ways[lengths]++
	}
	counts, ones := []int{}, []float64{}
	for _, c := range ways {
		counts, ones = append(counts, c), append(ones, 1)
	}
	if len(ways) != 10 {
		t.Fatalf("%d ways to share 6 hops out to 3 branches, want 10", len(ways))
	}
	chi2(t, "ways to share out", counts, ones)
}

func TestTopologyRefuses(t *testing.T) {
	g := wheel(t, 3, noDoc)
	for name, f := range map[string]func() (*Topology, error){
		"unknown shape":      func() (*Topology, error) { return NewTopology(g, "ring", 3, 0, Rules{}) },
		"star of one":        func() (*Topology, error) { return NewTopology(g, Star, 3, 1, Rules{}) },
		"more than hops":     func() (*Topology, error) { return NewTopology(g, Star, 3, 4, Rules{}) },
		"small tree":         func() (*Topology, error) { return NewTopology(g, Tree, 2, 0, Rules{}) },
		"small cycle":        func() (*Topology, error) { return NewTopology(g, Cycle, 2, 0, Rules{}) },
		"too many hops":      func() (*Topology, error) { return NewTopology(g, Chain, 11, 0, Rules{}) },
		"rules out of range": func() (*Topology, error) { return NewTopology(g, Chain, 3, 0, Rules{MinDocs: 4}) },
	} {
		if _, err := f(); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPathPattern(t *testing.T) {
	p := Path{4, []Hop{{csr.Along(1), 10, 7, 0}, {csr.Back(2), 11, 9, csr.NoDoc}, {csr.Along(0), 12, 5, 0}, {csr.Along(0), 13, 6, 2}}}
	q := p.Pattern()
	if got := q.Paths(); len(got) != 1 || !reflect.DeepEqual(got[0], p) {
		t.Errorf("%v as a pattern is %v", p, got)
	}
	if c, err := Classify(q); err != nil || c != (Class{Chain, 1}) {
		t.Errorf("%v, %v", c, err)
	}
	if p.Documents() != 2 || p.Crossings() != 1 {
		t.Errorf("%d documents, %d crossings", p.Documents(), p.Crossings())
	}
}
