package walk

import (
	"fmt"
	"math"

	"github.com/quarry-rl/quarry/kg/csr"
)

// Rules is what a path or pattern must keep. The zero value asks for nothing but distinct vertices and documented
// statements. Predicates are called from several goroutines at once and must depend on the vertex alone.
type Rules struct {
	Seed   uint64
	Starts []uint32 // where a search may begin: anchors of chains, answers of other shapes; nil for every entity

	// Beta multiplies the weight of a statement whose document is not the current one, which is the document that led to
	// the vertex; before the first there is none and nothing is multiplied. 0 stands for 1, no bias; with infinity
	// the document changes whenever it can.
	Beta         float64
	MinDocs      int  // hard minimum of distinct documents, U(P); see HardDocs
	Undocumented bool // walk statements without a document too; they neither cross nor count

	Weights      []float64 // weight of a relation, by number; nil for 1 each, 0 keeps off it
	MaxRelation  int       // uses of one relation in either direction; 0 for any number
	MinRelations int       // hard minimum of distinct relations

	MaxDegree              int                 // half-edges of an inner vertex; 0 for any number
	Anchor, Inside, Answer func(v uint32) bool // whether v may be a constant, an inner vertex, the answer; nil for every one
	NoShortcuts            bool                // no statement, walkable or not, joins two vertices but neighbours in the pattern

	Backtracks int                      // how many vertices may be taken back before a search gives up
	DocOf      func(edge uint32) uint32 // document of a statement, when not the graph's own
}

// HardDocs is the minimum of documents that makes a path of some hops cross by force, half its vertices rounded up:
// weights alone move little where most statements of a vertex share a document.
func HardDocs(hops int) int { return (hops + 2) / 2 }

func (r *Rules) check(g *csr.Graph, hops int) error {
	switch {
	case hops < 1 || hops > MaxHops:
		return invalid("hops", fmt.Sprintf("%d, expected 1 to %d", hops, MaxHops), "ask for fewer hops")
	case !(r.Beta >= 0):
		return invalid("beta", fmt.Sprintf("%v, expected 0 or more", r.Beta), "1 is no bias, 8 a strong one")
	case r.MinDocs < 0 || r.MinDocs > hops:
		return invalid("documents", fmt.Sprintf("a minimum of %d for %d hops, expected 0 to %d", r.MinDocs, hops, hops), "a hop has one document")
	case r.MinRelations < 0 || r.MinRelations > hops:
		return invalid("relations", fmt.Sprintf("a minimum of %d for %d hops, expected 0 to %d", r.MinRelations, hops, hops), "a hop has one relation")
	case r.MaxRelation < 0 || r.MaxDegree < 0 || r.Backtracks < 0:
		return invalid("caps", fmt.Sprintf("relation %d, degree %d, backtracks %d, expected 0 or more", r.MaxRelation, r.MaxDegree, r.Backtracks), "0 is no cap")
	case r.Weights != nil && len(r.Weights) != g.Rels:
		return invalid("weights", fmt.Sprintf("%d for %d relations", len(r.Weights), g.Rels), "give one weight a relation")
	}
	for i, w := range r.Weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return invalid(fmt.Sprintf("weight of relation %d", i), fmt.Sprintf("%v, expected a finite number from 0 on", w), "0 keeps off a relation")
		}
	}
	return checkStarts(g, r.Starts)
}
