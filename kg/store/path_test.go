package store

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// triples makes a graph of numbered entities, all of which are in it.
func triples(t failer, dir string, n int, edges [][3]int) *Graph {
	var recs []Record
	for v := range n {
		recs = append(recs, Record{Entity: &Entity{ID: fmt.Sprint("e", v)}})
	}
	for _, e := range edges {
		recs = append(recs, Record{Statement: &Statement{Subject: fmt.Sprint("e", e[0]), Predicate: fmt.Sprint("p", e[1]), Object: fmt.Sprint("e", e[2])}})
	}
	return build(t, dir, recs)
}

// Paths are as short as breadth-first search over the plain list finds, and every hop is an edge; components, degrees
// and quantiles are those of the list.
func TestPathAndHealth(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [3]int {
			return [3]int{rapid.IntRange(0, n-1).Draw(t, "s"), rapid.IntRange(0, 2).Draw(t, "p"), rapid.IntRange(0, n-1).Draw(t, "o")}
		}), 1, 14).Draw(t, "edges")
		dir, err := os.MkdirTemp(root, "g")
		if err != nil {
			t.Fatal(err)
		}
		g := triples(t, dir, n, edges)
		defer g.Close()
		var sizes []int
		for a := range n {
			dist := distances(n, edges, a)
			size := 0
			for b, d := range dist {
				if d < math.MaxInt {
					size++
				}
				for most := range 6 {
					checkPath(t, g, a, b, most, d)
				}
			}
			sizes = append(sizes, size)
		}
		checkHealth(t, g, n, edges, sizes)
	})
}

func distances(n int, edges [][3]int, from int) []int {
	dist := slices.Repeat([]int{math.MaxInt}, n)
	dist[from] = 0
	for range n {
		for _, e := range edges {
			for _, d := range [][2]int{{e[0], e[2]}, {e[2], e[0]}} {
				if dist[d[0]] < math.MaxInt {
					dist[d[1]] = min(dist[d[1]], dist[d[0]]+1)
				}
			}
		}
	}
	return dist
}

func checkPath(t *rapid.T, g *Graph, a, b, most, want int) {
	path, ok := g.Path(uint32(a), uint32(b), most)
	if ok != (want <= most) || ok && len(path) != want {
		t.Fatalf("path of %d to %d within %d: %v %v, distance %d", a, b, most, path, ok, want)
	}
	at := uint32(a)
	for _, h := range path {
		e := g.Edge(h.Edge)
		from, to := e.Subject, e.Object
		if h.Step.Inverse() {
			from, to = to, from
		}
		if from != at || to != h.To || h.Step.Relation() != int(e.Relation) {
			t.Fatalf("hop %+v from %d is not edge %+v", h, at, e)
		}
		at = h.To
	}
	if ok && at != uint32(b) {
		t.Fatalf("path ends at %d, expected %d", at, b)
	}
}

func checkHealth(t *rapid.T, g *Graph, n int, edges [][3]int, sizes []int) {
	slices.SortFunc(edges, func(a, b [3]int) int { return slices.Compare(a[:], b[:]) })
	edges = slices.Compact(edges)
	degree := make([]int, n)
	for _, e := range edges {
		degree[e[0]]++
		degree[e[2]]++
	}
	isolated, components := 0, 0.0
	for v, d := range degree {
		if d == 0 {
			isolated++
		}
		components += 1 / float64(sizes[v]) // each component of k entities is counted k times
	}
	slices.Sort(degree)
	at := func(q float64) int { return degree[int(math.Ceil(q*float64(n)))-1] }
	h := g.Health()
	want := Health{Isolated: float64(isolated) / float64(n), Largest: float64(slices.Max(sizes)) / float64(n), Components: int(math.Round(components)),
		Mean: 2 * float64(len(edges)) / float64(n), Median: at(0.5), P90: at(0.9), P99: at(0.99), Max: degree[n-1], PowerLawR2: h.PowerLawR2}
	if h != want || h.PowerLawR2 < 0 || h.PowerLawR2 > 1+1e-9 {
		t.Fatalf("health %+v, expected %+v", h, want)
	}
}

func TestPowerLaw(t *testing.T) {
	for _, c := range []struct {
		counts []int
		want   float64
	}{
		{[]int{9, 64, 32, 0, 16}, 1},               // count halves where degree doubles
		{[]int{0, 1, 1}, 0},                        // all equally often
		{[]int{5, 7}, 0},                           // one degree
		{[]int{0, 10, 1, 10}, 0.02234604148173782}, // by the textbook formula, elsewhere
	} {
		if got := logLogR2(c.counts); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v: %v, expected %v", c.counts, got, c.want)
		}
	}
}
