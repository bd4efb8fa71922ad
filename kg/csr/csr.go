// Package csr holds the shape of a knowledge graph: who is joined to whom by which relation, in arrays that can be
// memory-mapped. Names, texts and provenance live beside it, in kg/store.
//
// Every statement is an edge and stands as two half-edges: in its subject's row, to be walked along the relation, and
// in its object's row, to be walked back. A row is sorted by (step, target), steps along before steps back, so that the
// neighbours by one step are one slice and membership is a binary search. 20 bytes a statement, 8 an entity.
package csr

import (
	"fmt"
	"math"
	"slices"

	"github.com/quarry-rl/quarry"
)

// NoDoc is the document of an edge that no text carries.
const NoDoc = math.MaxUint32

// MaxRelations is how many relations a graph can have: a step keeps one bit of its 16 for the direction.
const MaxRelations = 1 << 15

// Step is a relation with a direction.
type Step uint16

const inverse Step = 1 << 15

// Along is the step from subject to object.
func Along(relation int) Step { return Step(relation) }

// Back is the step from object to subject.
func Back(relation int) Step { return Step(relation) | inverse }

// Relation is the number of the step's relation.
func (s Step) Relation() int { return int(s &^ inverse) }

// Inverse says whether the step goes from object to subject.
func (s Step) Inverse() bool { return s&inverse != 0 }

// Reverse is the step that leads back.
func (s Step) Reverse() Step { return s ^ inverse }

// Edge is a statement by numbers.
type Edge struct {
	Subject, Object uint32
	Relation        uint16
	Doc             uint32 // a document that carries it, or NoDoc
}

// Graph is read-only and safe for concurrent use. The arrays are exported for the walkers and for the file that maps
// them; n is the number of entities, m of edges.
type Graph struct {
	Off     []uint32 // n+1: row v is half-edges Off[v] to Off[v+1]
	Out     []uint32 // n+1: edges Out[v] to Out[v+1] have subject v; in its row they come first, in the same order
	Targets []uint32 // 2m: entity a half-edge leads to
	Steps   []Step   // 2m: by which step
	InEdges []uint32 // m: edge of each half-edge that leads back, in row order
	Docs    []uint32 // m: document of an edge
	Rels    int      // number of relations
}

// Compare orders edges as a graph numbers them: by subject, relation, object.
func Compare(a, b Edge) int {
	switch {
	case a.Subject != b.Subject:
		return order(a.Subject, b.Subject)
	case a.Relation != b.Relation:
		return order(a.Relation, b.Relation)
	}
	return order(a.Object, b.Object)
}

func order[T uint16 | uint32](a, b T) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// New builds a graph. It sorts edges in place; of equal (subject, relation, object) the one with the lowest document stays.
func New(entities, relations int, edges []Edge) (*Graph, error) {
	if relations > MaxRelations {
		return nil, tooMany("relations", relations, MaxRelations)
	}
	if entities >= math.MaxUint32 || uint64(len(edges)) > math.MaxUint32/2 {
		return nil, tooMany("entities or statements", max(entities, len(edges)), math.MaxUint32/2)
	}
	for i, e := range edges {
		if int(e.Subject) >= entities || int(e.Object) >= entities || int(e.Relation) >= relations {
			return nil, &quarry.Error{Op: "kg", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("edge %d", i),
				Msg: fmt.Sprintf("%d -%d-> %d is outside %d entities and %d relations", e.Subject, e.Relation, e.Object, entities, relations)}
		}
	}
	sortRows(entities, edges)
	edges = slices.CompactFunc(edges, func(a, b Edge) bool { return Compare(a, b) == 0 })
	return build(entities, relations, edges), nil
}

func tooMany(what string, n, most int) error {
	return &quarry.Error{Op: "kg", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%d %s", n, what), Msg: fmt.Sprintf("a graph holds at most %d", most),
		Hint: "split the source, or drop relations that no question uses"}
}

// sortRows sorts by Compare, then document: a counting sort by subject, then each row by itself.
func sortRows(entities int, edges []Edge) {
	start := make([]uint32, entities+1)
	for i := range edges {
		start[edges[i].Subject+1]++
	}
	for v := range entities {
		start[v+1] += start[v]
	}
	next := slices.Clone(start[:entities])
	// cycle leader: each edge moves once, without a second array
	for v := range entities {
		for next[v] < start[v+1] {
			e := edges[next[v]]
			for int(e.Subject) != v {
				to := next[e.Subject]
				next[e.Subject]++
				e, edges[to] = edges[to], e
			}
			edges[next[v]] = e
			next[v]++
		}
	}
	for v := range entities {
		slices.SortFunc(edges[start[v]:start[v+1]], func(a, b Edge) int {
			if c := Compare(a, b); c != 0 {
				return c
			}
			return order(a.Doc, b.Doc)
		})
	}
}

func build(n, relations int, edges []Edge) *Graph {
	m := len(edges)
	g := &Graph{Off: make([]uint32, n+1), Out: make([]uint32, n+1), Targets: make([]uint32, 2*m), Steps: make([]Step, 2*m),
		InEdges: make([]uint32, m), Docs: make([]uint32, m), Rels: relations}
	in := make([]uint32, n+1)
	for i := range edges {
		g.Out[edges[i].Subject+1]++
		in[edges[i].Object+1]++
	}
	for v := range n {
		g.Out[v+1] += g.Out[v]
		in[v+1] += in[v]
		g.Off[v+1] = g.Out[v+1] + in[v+1]
	}
	// edges come by subject, so each object's edges arrive by subject; only the relation is left to sort by
	next := slices.Clone(in[:n])
	for i := range edges {
		e := &edges[i]
		p := g.Off[e.Subject] + uint32(i) - g.Out[e.Subject]
		g.Targets[p], g.Steps[p], g.Docs[i] = e.Object, Along(int(e.Relation)), e.Doc
		g.InEdges[next[e.Object]] = uint32(i)
		next[e.Object]++
	}
	for v := range n {
		row := g.InEdges[in[v]:in[v+1]]
		slices.SortStableFunc(row, func(a, b uint32) int { return order(edges[a].Relation, edges[b].Relation) })
		p := g.Off[v] + g.Out[v+1] - g.Out[v]
		for i, e := range row {
			g.Targets[p+uint32(i)], g.Steps[p+uint32(i)] = edges[e].Subject, Back(int(edges[e].Relation))
		}
	}
	return g
}

// Entities is the number of entities.
func (g *Graph) Entities() int { return len(g.Off) - 1 }

// Edges is the number of distinct statements.
func (g *Graph) Edges() int { return len(g.Docs) }

// Degree is the number of half-edges of v.
func (g *Graph) Degree(v uint32) int { return int(g.Off[v+1] - g.Off[v]) }

// EdgeAt is the edge of half-edge p in row v.
func (g *Graph) EdgeAt(v, p uint32) uint32 {
	i, out := p-g.Off[v], g.Out[v+1]-g.Out[v]
	if i < out {
		return g.Out[v] + i
	}
	return g.InEdges[g.Off[v]-g.Out[v]+i-out]
}

// Edge is statement e.
func (g *Graph) Edge(e uint32) Edge {
	s := uint32(g.subject(e))
	p := g.Off[s] + e - g.Out[s]
	return Edge{Subject: s, Object: g.Targets[p], Relation: uint16(g.Steps[p]), Doc: g.Docs[e]}
}

func (g *Graph) subject(e uint32) int {
	lo, hi := 0, len(g.Out)-1 // the last v with Out[v] <= e
	for hi-lo > 1 {
		if mid := int(uint(lo+hi) >> 1); g.Out[mid] <= e {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// By is the range of half-edges of v with one step.
func (g *Graph) By(v uint32, s Step) (lo, hi uint32) {
	end := g.Off[v+1]
	lo = g.lower(g.Off[v], end, s)
	if s == math.MaxUint16 {
		return lo, end
	}
	return lo, g.lower(lo, end, s+1)
}

func (g *Graph) lower(lo, hi uint32, s Step) uint32 {
	for lo < hi {
		if mid := lo + (hi-lo)/2; g.Steps[mid] < s {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Neighbours are the entities that one step reaches from v, ascending; part of the graph, not to be changed.
func (g *Graph) Neighbours(v uint32, s Step) []uint32 {
	lo, hi := g.By(v, s)
	return g.Targets[lo:hi:hi]
}

// Leads says whether a step leads from v to w.
func (g *Graph) Leads(v uint32, s Step, w uint32) bool {
	_, ok := slices.BinarySearch(g.Neighbours(v, s), w)
	return ok
}

// Adjacent says whether any statement joins v and w.
func (g *Graph) Adjacent(v, w uint32) bool {
	if g.Degree(v) > g.Degree(w) {
		v, w = w, v
	}
	return slices.Contains(g.Targets[g.Off[v]:g.Off[v+1]], w)
}
