package walk

import (
	"fmt"
	"math/bits"

	"github.com/quarry-rl/quarry/kg/csr"
)

// Arc is a statement of a pattern, walked from one vertex to another; both are indices into the pattern's vertices.
type Arc struct {
	From, To int
	Step     csr.Step
	Edge     uint32 // number of the statement in the graph
	Doc      uint32 // document that carries it, or csr.NoDoc
}

// Pattern is the subgraph behind a question. Constants are named in it, all other vertices are variables, and one of
// these is asked for. Arcs of drawn patterns lead from the constants to the answer.
type Pattern struct {
	Vertices []uint32 // entities
	Constant []bool   // by vertex
	Answer   int      // index of a vertex
	Arcs     []Arc
}

// Pattern is the path as a chain: the anchor is its constant, the end its answer.
func (p Path) Pattern() Pattern {
	q := Pattern{Vertices: []uint32{p.Anchor}, Constant: make([]bool, len(p.Hops)+1), Answer: len(p.Hops)}
	q.Constant[0] = true
	for i, h := range p.Hops {
		q.Vertices = append(q.Vertices, h.Target)
		q.Arcs = append(q.Arcs, Arc{From: i, To: i + 1, Step: h.Step, Edge: h.Edge, Doc: h.Doc})
	}
	return q
}

// Paths are the ways along the arcs from each constant to the answer, in order of vertices and arcs: one for a chain,
// one a branch for a star, one a leaf for a tree, two for a cycle.
func (q Pattern) Paths() []Path {
	var out []Path
	var hops []Hop
	var seen uint64
	var follow func(anchor, at int)
	follow = func(anchor, at int) {
		if at == q.Answer {
			out = append(out, Path{Anchor: q.Vertices[anchor], Hops: append([]Hop(nil), hops...)})
			return
		}
		seen |= 1 << at
		for _, a := range q.Arcs {
			if a.From != at || seen>>a.To&1 != 0 {
				continue
			}
			hops = append(hops, Hop{Step: a.Step, Edge: a.Edge, Target: q.Vertices[a.To], Doc: a.Doc})
			follow(anchor, a.To)
			hops = hops[:len(hops)-1]
		}
		seen &^= 1 << at
	}
	for v, c := range q.Constant {
		if c && v != q.Answer {
			follow(v, v)
		}
	}
	return out
}

// Shape is the topology class of a pattern. Shapes are stored: append only.
type Shape string

const (
	Chain Shape = "chain" // a path that ends at the answer
	Star  Shape = "star"  // paths that share nothing but the answer, at which they end
	Tree  Shape = "tree"  // no cycle, and a fork elsewhere than at the answer
	Cycle Shape = "cycle" // at least one cycle of three or more vertices
)

// Class is what Classify finds.
type Class struct {
	Shape     Shape
	Treewidth int // 1 without a cycle, 2 for a graph that series and parallel reductions take apart, 3 for 3 or more
}

// mostVertices is what a vertex set of one word holds.
const mostVertices = 64

// Classify names the shape of a connected pattern of 2 to 64 vertices. Several statements between the same two vertices
// are one edge of the shape, and constants are vertices like any other.
func Classify(q Pattern) (Class, error) {
	adj, err := q.adjacency()
	if err != nil {
		return Class{}, err
	}
	edges, forks := 0, 0
	for v, row := range adj {
		edges += bits.OnesCount64(row)
		if v != q.Answer && bits.OnesCount64(row) > 2 {
			forks++
		}
	}
	switch {
	case edges/2 >= len(adj):
		return Class{Cycle, treewidth(adj)}, nil
	case forks > 0:
		return Class{Tree, 1}, nil
	case bits.OnesCount64(adj[q.Answer]) > 1:
		return Class{Star, 1}, nil
	}
	return Class{Chain, 1}, nil
}

func (q Pattern) adjacency() ([]uint64, error) {
	n := len(q.Vertices)
	if n < 2 || n > mostVertices || len(q.Constant) != n || q.Answer < 0 || q.Answer >= n {
		return nil, invalid("pattern", fmt.Sprintf("%d vertices, %d marks of constants, answer %d: expected 2 to %d vertices, a mark each, the answer among them",
			n, len(q.Constant), q.Answer, mostVertices), "build the pattern from a path or a walk")
	}
	adj := make([]uint64, n)
	for i, a := range q.Arcs {
		if a.From < 0 || a.From >= n || a.To < 0 || a.To >= n || a.From == a.To {
			return nil, invalid(fmt.Sprintf("arc %d", i), fmt.Sprintf("leads from %d to %d, expected two of %d vertices", a.From, a.To, n), "a pattern has no statement of a vertex about itself")
		}
		adj[a.From] |= 1 << a.To
		adj[a.To] |= 1 << a.From
	}
	reached, next := uint64(1), uint64(1)
	for next != 0 {
		v := bits.TrailingZeros64(next)
		next &= next - 1
		next |= adj[v] &^ reached
		reached |= adj[v]
	}
	if bits.OnesCount64(reached) != n {
		return nil, invalid("pattern", fmt.Sprintf("%d of %d vertices hang together", bits.OnesCount64(reached), n), "classify each part by itself")
	}
	return adj, nil
}

// treewidth of a graph with a cycle: 2 exactly when taking out vertices of degree 2 or less, and joining the neighbours
// of those of degree 2, leaves nothing (Arnborg and Proskurowski 1986).
func treewidth(adj []uint64) int {
	left := len(adj)
	gone := make([]bool, len(adj))
	for {
		progress := false
		for v, row := range adj {
			if gone[v] || bits.OnesCount64(row) > 2 {
				continue
			}
			for rest := row; rest != 0; rest &= rest - 1 {
				w := bits.TrailingZeros64(rest)
				adj[w] = (adj[w] | row) &^ (1<<v | 1<<w)
			}
			gone[v], adj[v], progress = true, 0, true
			left--
		}
		if left == 0 {
			return 2
		}
		if !progress {
			return 3
		}
	}
}
