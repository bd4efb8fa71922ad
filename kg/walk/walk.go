// Package walk draws paths and small patterns from a graph: free walks by the hundred million, walks under rules that
// a question needs, and the shapes that questions of several branches have.
//
// Walk number n of a seed is always the same walk, whatever was drawn before it, beside it and in how large batches.
package walk

import "github.com/quarry-rl/quarry/kg/csr"

// MaxHops is the longest path and the largest pattern under rules, in statements.
const MaxHops = 10

// Hop is one statement of a path, in the direction it was walked.
type Hop struct {
	Step   csr.Step
	Edge   uint32 // number of the statement in the graph
	Target uint32 // entity it leads to
	Doc    uint32 // document that carries it, or csr.NoDoc
}

// Path is a chain of hops: v0 is the anchor, v1 the first hop's target, and the answer the last one's.
type Path struct {
	Anchor uint32
	Hops   []Hop
}

// End is the last vertex.
func (p Path) End() uint32 {
	if len(p.Hops) == 0 {
		return p.Anchor
	}
	return p.Hops[len(p.Hops)-1].Target
}

// Documents is U(P), how many distinct documents carry the path. Hops without one count for nothing.
func (p Path) Documents() int {
	n := 0
next:
	for i := range p.Hops {
		if p.Hops[i].Doc == csr.NoDoc {
			continue
		}
		for j := range i {
			if p.Hops[j].Doc == p.Hops[i].Doc {
				continue next
			}
		}
		n++
	}
	return n
}

// Crossings is J(P), how often the document changes along the path. Hops without one change nothing.
func (p Path) Crossings() int {
	n, at := 0, uint32(csr.NoDoc)
	for _, h := range p.Hops {
		if h.Doc == csr.NoDoc {
			continue
		}
		if at != csr.NoDoc && at != h.Doc {
			n++
		}
		at = h.Doc
	}
	return n
}

// Reason says how a walk ended. Reasons are stored in ledgers: append only.
type Reason string

// A search that found every way closed is named after the last condition that closed one, in the order of this list:
// documents before relations before shortcut before end before dead_end.
const (
	Complete  Reason = ""          // all hops are there
	Start     Reason = "start"     // no vertex to start from, or its role does not allow the one drawn
	DeadEnd   Reason = "dead_end"  // nothing left but vertices of the path, hubs, and statements that may not be walked
	End       Reason = "end"       // every vertex that could have been the answer or a constant was refused as such
	Shortcut  Reason = "shortcut"  // a statement joins vertices that are not neighbours in the pattern
	Relations Reason = "relations" // too many uses of one relation, or too few relations
	Documents Reason = "documents" // too few documents
	Budget    Reason = "budget"    // the backtracks are used up
)
