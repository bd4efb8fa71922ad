package resolve

import "github.com/quarry-rl/quarry/kg/store"

// FromGraph reads the entities of a graph, as kg build made it before any resolution. Memory: about 60 B a half-edge.
func FromGraph(g *store.Graph) []Entity {
	out := make([]Entity, g.Entities())
	for v := range out {
		n := uint32(v)
		e := &out[v]
		e.ID, e.Name, e.Type, e.Aliases = g.ID(n), g.Name(n), g.Type(n), g.Aliases(n)
		if zh := g.NameZH(n); zh != "" {
			e.Aliases = append(e.Aliases, zh)
		}
		for _, d := range g.DocsOf(n) {
			e.Docs = append(e.Docs, g.DocumentID(d))
		}
		for p := g.Off[n]; p < g.Off[n+1]; p++ {
			to, step := g.Targets[p], g.Steps[p]
			e.Facts = append(e.Facts, Fact{Relation: g.RelationID(step.Relation()), Back: step.Inverse(), Value: g.Name(to), Literal: g.Literal(to)})
		}
	}
	return out
}
