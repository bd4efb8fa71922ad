// Package certify proves questions on a knowledge graph: it counts the answers of a pattern, chooses the conditions that
// make a walk's end its only answer without giving it away, and records what is known of the result: necessity of the
// path, independence of branches, rivals, dispersion of evidence, acquisition pressure, validity in time.
//
// Everything is by numbers of kg/csr; the same graph, walk and options give the same result. Choosers and solvers hold
// scratch space and are for one goroutine each; an Index is shared.
package certify

import (
	"fmt"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// MaxHops is the longest walk that is certified.
const MaxHops = 10

// Hop is one step of a walk: the edge taken, by which step, and where it leads.
type Hop struct {
	Step csr.Step
	Edge uint32
	To   uint32
}

// Walk is a completed walk: from the anchor, which the question names, to the answer, the last hop's end.
type Walk struct {
	Anchor uint32
	Hops   []Hop
}

// Answer is where the walk ends.
func (w Walk) Answer() uint32 { return w.Hops[len(w.Hops)-1].To }

// At is vertex i: 0 is the anchor, len(Hops) the answer.
func (w Walk) At(i int) uint32 {
	if i == 0 {
		return w.Anchor
	}
	return w.Hops[i-1].To
}

// Check says what is wrong with a walk: length, a step that is not in the graph, an edge that is another statement's, a
// vertex that comes twice.
func (w Walk) Check(g *csr.Graph) error {
	bad := func(format string, args ...any) error {
		return &quarry.Error{Op: "certify", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("walk from entity %d", w.Anchor), Msg: fmt.Sprintf(format, args...),
			Hint: "draw the walk from the graph it is certified on"}
	}
	if len(w.Hops) < 1 || len(w.Hops) > MaxHops {
		return bad("%d hops; 1 to %d are certified", len(w.Hops), MaxHops)
	}
	if int(w.Anchor) >= g.Entities() {
		return bad("the graph has %d entities", g.Entities())
	}
	for i, h := range w.Hops {
		if int(h.To) >= g.Entities() || int(h.Edge) >= g.Edges() {
			return bad("hop %d is outside the graph", i+1)
		}
		from, to := w.At(i), h.To
		if h.Step.Inverse() {
			from, to = to, from
		}
		if e := g.Edge(h.Edge); e.Subject != from || e.Object != to || int(e.Relation) != h.Step.Relation() {
			return bad("hop %d: edge %d is %d -%d-> %d", i+1, h.Edge, e.Subject, e.Relation, e.Object)
		}
		for j := range i + 1 {
			if w.At(j) == h.To {
				return bad("entity %d stands at places %d and %d", h.To, j, i+1)
			}
		}
	}
	return nil
}
