package store

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry/kg/csr"
)

// csr checks the shape: the rows, and that every edge stands in the row of its subject and in that of its object.
func (c *checker) csr() {
	g := c.g
	ascending(c, "csr.off", g.off)
	ascending(c, "csr.out", g.out)
	c.below("csr.targets", g.targets, g.Entities())
	c.below("csr.in", g.inEdges, g.Edges())
	for i, s := range g.steps {
		if s.Relation() >= g.Rels {
			c.fault("csr.steps", item(i), "relation %d, expected below %d", s.Relation(), g.Rels)
			break
		}
	}
	for e, d := range g.edgeDoc {
		if d != csr.NoDoc && int64(d) >= int64(g.documents()) {
			c.fault("csr.docs", item(e), "document %d, expected below %d", d, g.documents())
			break
		}
	}
	if !c.sound("csr.off", "csr.out") {
		return
	}
	for v := range g.Entities() {
		if g.off[v+1]-g.off[v] < g.out[v+1]-g.out[v] {
			c.fault("csr.out", item(v+1), "%d edges leave entity %d, its row has %d", g.out[v+1]-g.out[v], v, g.off[v+1]-g.off[v])
			return
		}
	}
	if c.sound("csr.targets", "csr.in", "csr.steps") {
		c.rows()
	}
}

func (c *checker) rows() {
	g := c.g
	place := func(p, v uint32) string { return fmt.Sprintf("half-edge %d of entity %d", p, v) }
	for v := range uint32(g.Entities()) {
		outs := g.out[v+1] - g.out[v]
		for p := g.off[v]; p < g.off[v+1]; p++ {
			step, w := g.steps[p], g.targets[p]
			if p > g.off[v] && cmp.Or(cmp.Compare(g.steps[p-1], step), cmp.Compare(g.targets[p-1], w)) >= 0 {
				c.fault("csr.targets", place(p, v), "step %d to %d after step %d to %d: not sorted", step, w, g.steps[p-1], g.targets[p-1])
				return
			}
			if inverse := p-g.off[v] >= outs; step.Inverse() != inverse {
				c.fault("csr.steps", place(p, v), "inverse is %v, expected %v by section csr.out", step.Inverse(), inverse)
				return
			}
			if !step.Inverse() {
				continue
			}
			// rows are strictly sorted, so the m half-edges that lead back are m different edges, if each is one
			e := g.EdgeAt(v, p)
			if e < g.out[w] || e >= g.out[w+1] {
				c.fault("csr.in", place(p, v), "edge %d, expected one of entity %d, %d to below %d", e, w, g.out[w], g.out[w+1])
				return
			}
			if q := g.off[w] + e - g.out[w]; g.targets[q] != v || g.steps[q] != step.Reverse() {
				c.fault("csr.in", place(p, v), "edge %d leads from %d by %d to %d, expected by %d to %d", e, w, g.steps[q], g.targets[q], step.Reverse(), v)
				return
			}
		}
	}
}

// evidence checks what carries the edges: in range, sorted, each once, and the edge's document the lowest of it.
func (c *checker) evidence() {
	g := c.g
	ascending(c, "ev.off", g.evOff)
	c.below("ev", g.ev, g.passages()+g.documents())
	c.below("span.edge", g.spanEdge, g.Edges())
	c.below("span.doc", g.spanDoc, g.documents())
	if !c.sound("ev.off", "ev", "span.edge", "span.doc", "doc.first", "pas.off", "csr.docs") {
		return
	}
	for i := range g.spanEdge {
		if size := len(g.textOf(g.spanDoc[i])); g.spanStart[i] >= g.spanEnd[i] || int(g.spanEnd[i]) > size {
			c.fault("span.end", item(i), "span %d to %d of a document of %d bytes", g.spanStart[i], g.spanEnd[i], size)
			return
		}
		if i > 0 && slices.Compare(g.spanAt(i-1), g.spanAt(i)) >= 0 {
			c.fault("span.edge", item(i), "not sorted by edge, document, start and end")
			return
		}
	}
	at := 0
	for e := range uint32(g.Edges()) {
		lowest := uint32(csr.NoDoc)
		list := row(g.evOff, g.ev, e)
		for i, v := range list {
			if i > 0 && list[i-1] >= v {
				c.fault("ev", fmt.Sprintf("edge %d", e), "%d after %d: not sorted", v, list[i-1])
				return
			}
			if int(v) < g.passages() {
				if i == 0 { // the first sentence is of the lowest document
					lowest = g.docOf(v)
				}
			} else {
				lowest = min(lowest, v-uint32(g.passages()))
			}
		}
		for ; at < len(g.spanEdge) && g.spanEdge[at] == e; at++ {
			lowest = min(lowest, g.spanDoc[at])
		}
		if g.edgeDoc[e] != lowest {
			c.fault("csr.docs", fmt.Sprintf("edge %d", e), "document %d, its evidence begins with document %d", g.edgeDoc[e], lowest)
			return
		}
	}
}

func (g *Graph) spanAt(i int) []uint32 {
	return []uint32{g.spanEdge[i], g.spanDoc[i], g.spanStart[i], g.spanEnd[i]}
}

func (c *checker) qualifiers() {
	g := c.g
	ascending(c, "qual.off", g.qualOff)
	c.below("qual.edge", g.qualEdge, g.Edges())
	for i, d := range g.qualDoc {
		if d != csr.NoDoc && int64(d) >= int64(g.documents()) {
			c.fault("qual.doc", item(i), "document %d, expected below %d", d, g.documents())
			return
		}
		if i > 0 && cmp.Or(cmp.Compare(g.qualEdge[i-1], g.qualEdge[i]), cmp.Compare(g.qualDoc[i-1], d)) > 0 {
			c.fault("qual.edge", item(i), "not sorted by edge and document")
			return
		}
	}
}
