package walk

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// keeps says by brute force whether a complete path keeps the rules; it shares nothing with the search.
func keeps(g *csr.Graph, r *Rules, p Path) bool {
	vs := []uint32{p.Anchor}
	uses, docs := map[int]int{}, map[uint32]bool{}
	for _, h := range p.Hops {
		if slices.Contains(vs, h.Target) {
			return false
		}
		vs = append(vs, h.Target)
		uses[h.Step.Relation()]++
		if h.Doc != csr.NoDoc {
			docs[h.Doc] = true
		} else if !r.Undocumented {
			return false
		}
		if r.Weights != nil && r.Weights[h.Step.Relation()] == 0 {
			return false
		}
	}
	for _, n := range uses {
		if r.MaxRelation > 0 && n > r.MaxRelation {
			return false
		}
	}
	if len(uses) < r.MinRelations || len(docs) < r.MinDocs || len(docs) != p.Documents() {
		return false
	}
	for i, v := range vs {
		may := r.Inside
		switch i {
		case 0:
			may = r.Anchor
		case len(vs) - 1:
			may = r.Answer
		default:
			if r.MaxDegree > 0 && g.Degree(v) > r.MaxDegree {
				return false
			}
		}
		if may != nil && !may(v) {
			return false
		}
		for j := range max(i-1, 0) {
			if r.NoShortcuts && g.Adjacent(v, vs[j]) {
				return false
			}
		}
	}
	return true
}

// exists says whether any path of so many hops from p on keeps the rules.
func exists(g *csr.Graph, r *Rules, p Path, hops int) bool {
	if len(p.Hops) == hops {
		return keeps(g, r, p)
	}
	for half := g.Off[p.End()]; half < g.Off[p.End()+1]; half++ {
		h := hopAt(g, p.End(), half)
		if r.DocOf != nil {
			h.Doc = r.DocOf(h.Edge)
		}
		if exists(g, r, Path{p.Anchor, append(slices.Clone(p.Hops), h)}, hops) {
			return true
		}
	}
	return false
}

func drawRules(t *rapid.T, g *csr.Graph, hops int) Rules {
	odd := func(name string) func(uint32) bool {
		if rapid.IntRange(0, 3).Draw(t, name) > 0 {
			return nil
		}
		m := rapid.Uint32Range(2, 4).Draw(t, name+" of")
		return func(v uint32) bool { return v%m != 0 }
	}
	r := Rules{Seed: rapid.Uint64().Draw(t, "seed"), Undocumented: rapid.Bool().Draw(t, "undocumented"), NoShortcuts: rapid.Bool().Draw(t, "no shortcuts"),
		Beta: rapid.SampledFrom([]float64{0, 1, 8, 0.25, math.Inf(1)}).Draw(t, "beta"), MinDocs: rapid.IntRange(0, min(hops, 3)).Draw(t, "docs"),
		MaxRelation: rapid.IntRange(0, 2).Draw(t, "relation"), MinRelations: rapid.IntRange(0, min(hops, 2)).Draw(t, "relations"),
		MaxDegree: rapid.SampledFrom([]int{0, 0, 4}).Draw(t, "degree"), Anchor: odd("anchor"), Inside: odd("inside"), Answer: odd("answer"), Backtracks: math.MaxInt}
	if rapid.Bool().Draw(t, "weigh") {
		r.Weights = rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 3}), g.Rels, g.Rels).Draw(t, "weights")
	}
	if rapid.Bool().Draw(t, "own documents") {
		r.DocOf = func(e uint32) uint32 { return e % 3 }
	}
	return r
}

// With backtracks without end, a walk is complete exactly when brute force finds any, and keeps all rules.
func TestConstrainedAgreesWithBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := graphs(7, 3, []uint32{csr.NoDoc, 0, 1, 2}).Draw(t, "graph")
		hops := rapid.IntRange(1, 4).Draw(t, "hops")
		r := drawRules(t, g, hops)
		c, err := NewConstrained(g, hops, r)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 4 {
			p, why := c.Walk(n)
			if why == Complete {
				checkChain(t, g, p)
				if len(p.Hops) != hops || !keeps(g, &r, p) {
					t.Fatalf("%v does not keep the rules", p)
				}
				continue
			}
			if may := r.Anchor == nil || r.Anchor(p.Anchor); why == Budget || len(p.Hops) > 0 || (why == Start) == may {
				t.Fatalf("%v ends with %q", p, why)
			}
			if why != Start && exists(g, &r, Path{Anchor: p.Anchor}, hops) {
				t.Fatalf("no walk from %d, says %q, but there is one", p.Anchor, why)
			}
		}
	})
}

// Each reason on a graph that can only fail that way.
func TestReasons(t *testing.T) {
	line := []csr.Edge{{Subject: 0, Object: 1, Relation: 0, Doc: 0}, {Subject: 1, Object: 2, Relation: 0, Doc: 0}, {Subject: 2, Object: 3, Relation: 1, Doc: 1}}
	triangle := append(slices.Clone(line[:2]), csr.Edge{Subject: 2, Object: 0, Relation: 1, Doc: 0})
	comb := []csr.Edge{{Subject: 0, Object: 1}, {Subject: 0, Object: 2}, {Subject: 0, Object: 3}, {Subject: 0, Object: 4}}
	never := func(uint32) bool { return false }
	for _, tc := range []struct {
		name  string
		edges []csr.Edge
		hops  int
		r     Rules
		want  Reason
	}{
		{"complete", line, 3, Rules{}, Complete},
		{"too long", line, 4, Rules{}, DeadEnd},
		{"no start", line, 3, Rules{Starts: []uint32{}}, Start},
		{"anchor refused", line, 3, Rules{Anchor: never}, Start},
		{"answer refused", line, 3, Rules{Answer: never}, End},
		{"inside refused", line, 3, Rules{Inside: never}, DeadEnd},
		{"hub", line, 3, Rules{MaxDegree: 1}, DeadEnd},
		{"one document", triangle, 2, Rules{MinDocs: 2}, Documents},
		{"one relation", line, 2, Rules{MinRelations: 2}, Relations},
		{"a relation twice", line, 2, Rules{MaxRelation: 1}, Relations},
		{"shortcut", triangle, 2, Rules{NoShortcuts: true}, Shortcut},
		{"documents before shortcut", append(slices.Clone(triangle), csr.Edge{Subject: 1, Object: 3}), 2, Rules{NoShortcuts: true, MinDocs: 2, Backtracks: 9}, Documents},
		{"budget", comb, 2, Rules{Backtracks: 2}, Budget},
		{"nothing to take back", comb, 2, Rules{}, DeadEnd},
		{"all taken back", comb, 2, Rules{Backtracks: 4}, DeadEnd},
		{"weight 0", line, 3, Rules{Weights: []float64{0, 1}}, DeadEnd},
	} {
		g, err := csr.New(5, 2, slices.Clone(tc.edges))
		if err != nil {
			t.Fatal(err)
		}
		if tc.r.Starts == nil {
			tc.r.Starts = []uint32{0}
		}
		c, err := NewConstrained(g, tc.hops, tc.r)
		if err != nil {
			t.Fatal(tc.name, err)
		}
		for n := range 20 {
			if p, why := c.Walk(n); why != tc.want {
				t.Fatalf("%s: walk %d ends with %q, want %q: %v", tc.name, n, why, tc.want, p)
			}
		}
	}
	undocumented, err := csr.New(2, 1, []csr.Edge{{Subject: 0, Object: 1, Doc: csr.NoDoc}})
	if err != nil {
		t.Fatal(err)
	}
	for may, want := range map[bool]Reason{false: DeadEnd, true: Complete} {
		c, err := NewConstrained(undocumented, 1, Rules{Undocumented: may})
		if err != nil {
			t.Fatal(err)
		}
		if _, why := c.Walk(0); why != want {
			t.Errorf("undocumented %v: %q", may, why)
		}
	}
}

// fan is 0 -> 1 in document 0, then 1 -> 2.. in documents i%4, so that a quarter of the second hops does not cross.
func fan(t *testing.T, n int) *csr.Graph {
	t.Helper()
	es := []csr.Edge{{Subject: 0, Object: 1, Relation: 2, Doc: 0}}
	for i := range n {
		e := csr.Edge{Subject: 1, Object: uint32(2 + i), Relation: uint16(i % 2), Doc: uint32(i % 4)}
		if i%3 == 0 {
			e.Subject, e.Object = e.Object, e.Subject
		}
		es = append(es, e)
	}
	g, err := csr.New(n+2, 3, es)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Second hops have exactly the share base times beta says, whether the row is short or long, drawn from by rejection or
// read in full; first hops are uniform whatever beta is.
func TestConstrainedShares(t *testing.T) {
	const draws = 100_000
	for _, n := range []int{7, 60, 300} {
		g := fan(t, n)
		for _, beta := range []float64{0, 1, 0.3, 3, 1000, math.Inf(1)} {
			for _, weights := range [][]float64{nil, {1, 2, 1}, {0.001, 1, 1}} {
				r := Rules{Seed: 4, Starts: []uint32{0}, Beta: beta, Weights: weights}
				c, err := NewConstrained(g, 2, r)
				if err != nil {
					t.Fatal(err)
				}
				shares := make([]float64, n)
				for i := range shares {
					w := 1.0
					if weights != nil {
						w = weights[i%2]
					}
					crosses := i%4 != 0
					switch {
					case math.IsInf(beta, 1) && !crosses:
						w = 0
					case crosses && beta > 0 && !math.IsInf(beta, 1):
						w *= beta
					}
					shares[i] = w
				}
				counts := make([]int, n)
				for k := range draws / 5 {
					p, why := c.Walk(k)
					if why != Complete {
						t.Fatal(why)
					}
					counts[p.End()-2]++
				}
				pool(counts, shares)
				chi2(t, fmt.Sprintf("row %d, beta %v, weights %v", n, beta, weights), counts, shares)
			}
		}
	}
	g := wheel(t, 50, func(i int) uint32 { return uint32(i % 4) })
	for _, beta := range []float64{1, 8, math.Inf(1)} {
		c, err := NewConstrained(g, 1, Rules{Seed: 9, Starts: []uint32{0}, Beta: beta})
		if err != nil {
			t.Fatal(err)
		}
		counts, ones := make([]int, 50), make([]float64, 50)
		for k := range draws {
			p, _ := c.Walk(k)
			counts[p.End()-1]++
			ones[p.End()-1] = 1
		}
		chi2(t, fmt.Sprintf("first hop at beta %v", beta), counts, ones)
	}
}

// pool adds choices of an expectation below 5 to the first one that has more, as a chi-square needs.
func pool(counts []int, shares []float64) {
	total, sum := 0, 0.0
	for i := range counts {
		total += counts[i]
		sum += shares[i]
	}
	big := slices.Index(shares, slices.Max(shares))
	for i := range counts {
		if shares[i] > 0 && float64(total)*shares[i]/sum < 5 {
			counts[big] += counts[i]
			shares[big] += shares[i]
			counts[i], shares[i] = 0, 0
		}
	}
}

// The bias at 1 changes no walk, more of it crosses more, and without bound it crosses whenever it can.
func TestBeta(t *testing.T) {
	g := skewed()
	at := func(beta float64, n int) (j float64, paths []Path) {
		c, err := NewConstrained(g, 4, Rules{Seed: 2, Beta: beta, Backtracks: 20, DocOf: func(e uint32) uint32 { return g.Docs[e] / 512 }})
		if err != nil {
			t.Fatal(err)
		}
		for k := range n {
			if p, why := c.Walk(k); why == Complete {
				j += float64(p.Crossings())
				paths = append(paths, p)
			}
		}
		return j / float64(len(paths)), paths
	}
	_, none := at(0, 1000)
	if _, one := at(1, 1000); !reflect.DeepEqual(none, one) {
		t.Error("beta 1 changes walks")
	}
	last := 0.0
	for _, beta := range []float64{0.1, 1, 2, 4, 8, 32, math.Inf(1)} {
		j, _ := at(beta, 4000)
		if j < last {
			t.Errorf("beta %v crosses %.4f times a walk, less than %.4f", beta, j, last)
		}
		last = j
	}
	if last < 2.99 {
		t.Errorf("an unbounded beta crosses %.4f of 3 times on a graph of many documents", last)
	}
}

// The current document outlasts a hop without one, and a further branch leaves that of the branch before.
func TestCurrentDocument(t *testing.T) {
	g, err := csr.New(5, 1, []csr.Edge{{Subject: 0, Object: 1, Doc: 0}, {Subject: 1, Object: 2, Doc: csr.NoDoc}, {Subject: 2, Object: 3, Doc: 0}, {Subject: 2, Object: 4, Doc: 1}})
	if err != nil {
		t.Fatal(err)
	}
	r := Rules{Starts: []uint32{0}, Beta: math.Inf(1), Undocumented: true}
	c, err := NewConstrained(g, 3, r)
	if err != nil {
		t.Fatal(err)
	}
	hub := wheel(t, 9, func(i int) uint32 { return uint32(i % 2) })
	star, err := NewTopology(hub, Star, 2, 2, r)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 200 {
		if p, why := c.Walk(n); why != Complete || p.End() != 4 || p.Crossings() != 1 {
			t.Fatalf("walk %d does not cross: %v %s", n, p, why)
		}
		if q, why := star.Draw(n); why != Complete || q.Arcs[0].Doc == q.Arcs[1].Doc {
			t.Fatalf("star %d stays in a document: %v %s", n, q, why)
		}
	}
}

// Walks are named by seed and number in ledgers, so the streams may not change.
func TestWalksAreForEver(t *testing.T) {
	g := fan(t, 40)
	c, err := NewConstrained(g, 2, Rules{Seed: 42, Beta: 8})
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewUniform(g, 42, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	top, err := NewTopology(g, Star, 3, 3, Rules{Seed: 42, Starts: []uint32{1}})
	if err != nil {
		t.Fatal(err)
	}
	var b Batch
	f.Fill(&b, 0, 3)
	got := ""
	for n := range 3 {
		p, _ := c.Walk(n)
		q, _ := top.Draw(n)
		got += fmt.Sprintln(p, b.Starts[n], b.Path(g, n).End(), q.Vertices)
	}
	const want = `{14 [{0 31 1 0} {1 20 21 3}]} 20 13 [1 12 30 40]
{29 [{1 36 1 3} {0 5 16 2}]} 25 28 [1 2 6 7]
{6 [{32768 2 1 0} {32770 0 0 0}]} 30 33 [1 9 6 4]
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestHardDocs(t *testing.T) {
	for hops, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 9: 5, 10: 6} {
		if got := HardDocs(hops); got != want || got != int(math.Ceil(float64(hops+1)/2)) {
			t.Errorf("%d hops: %d, want %d", hops, got, want)
		}
	}
}

func TestConstrainedRun(t *testing.T) {
	g := skewed()
	c, err := NewConstrained(g, 10, Rules{Seed: 1, Beta: 8, MinDocs: 6, MaxRelation: 2, MaxDegree: 300, NoShortcuts: true, Backtracks: 3})
	if err != nil {
		t.Fatal(err)
	}
	run := func(first, count, concurrency int) (out string, complete int) {
		next := first
		err := c.Run(t.Context(), first, count, concurrency, func(n int, p Path, why Reason) {
			if n != next {
				t.Fatalf("walk %d after %d", n, next-1)
			}
			next++
			if why == Complete {
				complete++
			}
			out += fmt.Sprintln(n, p, why)
		})
		if err != nil {
			t.Fatal(err)
		}
		return out, complete
	}
	one, complete := run(0, 400, 1)
	if many, _ := run(0, 400, 64); one != many {
		t.Error("64 goroutines give other walks than one")
	}
	if part, _ := run(0, 150, 3); one[:len(part)] != part {
		t.Error("fewer walks give other walks")
	}
	if complete == 0 {
		t.Error("no walk is complete")
	}
}

func TestRulesRefuse(t *testing.T) {
	g := wheel(t, 3, noDoc)
	for name, c := range map[string]struct {
		hops int
		r    Rules
	}{
		"no hops": {0, Rules{}}, "too many hops": {11, Rules{}}, "negative beta": {2, Rules{Beta: -1}}, "undefined beta": {2, Rules{Beta: math.NaN()}},
		"more documents than hops": {2, Rules{MinDocs: 3}}, "negative documents": {2, Rules{MinDocs: -1}}, "more relations than hops": {2, Rules{MinRelations: 3}},
		"negative cap": {2, Rules{MaxDegree: -1}}, "weights of another graph": {2, Rules{Weights: []float64{1}}},
		"weight undefined": {2, Rules{Weights: []float64{1, 1, math.NaN()}}}, "weight infinite": {2, Rules{Weights: []float64{1, 1, math.Inf(1)}}},
		"start outside": {2, Rules{Starts: []uint32{9}}},
	} {
		if _, err := NewConstrained(g, c.hops, c.r); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
