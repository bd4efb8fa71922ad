package store

import (
	"slices"

	"github.com/quarry-rl/quarry"
)

// The types of entities that are values: a walk may end at them, and they are never merged across documents.
const (
	TypeTime   = "TIME"
	TypeNumber = "NUM"
)

// ID is the source's identifier of entity e.
func (g *Graph) ID(e uint32) string { return string(piece(g.entID, g.entIDOff, e)) }

// Name is the preferred label of e, its ID when the source gave none.
func (g *Graph) Name(e uint32) string {
	if s := cell(g.entName, e); s != 0 {
		return g.stringAt(s)
	}
	return g.ID(e)
}

// NameZH is the Chinese label of e, "" when the source gave none.
func (g *Graph) NameZH(e uint32) string { return g.stringAt(cell(g.entZH, e)) }

// Aliases are the other surface forms of e in order of appearance; neither Name nor NameZH is among them.
func (g *Graph) Aliases(e uint32) []string {
	var out []string
	for _, s := range row(g.aliasOff, g.alias, e) {
		out = append(out, g.stringAt(s))
	}
	return out
}

// Type is the source's class of e, "" when it gave none.
func (g *Graph) Type(e uint32) string { return g.TypeName(g.TypeNo(e)) }

// TypeNo is the number of e's type: 0 for none, else 1 to Types()-1.
func (g *Graph) TypeNo(e uint32) uint32 { return cell(g.entType, e) }

// Types is the number of types, "" included.
func (g *Graph) Types() int { return len(g.typeOff) - 1 }

// TypeName is a type by number.
func (g *Graph) TypeName(t uint32) string { return string(piece(g.types, g.typeOff, t)) }

// Literal says whether e is a date or a number.
func (g *Graph) Literal(e uint32) bool {
	t := g.Type(e)
	return t == TypeTime || t == TypeNumber
}

// Description is what the source says about e, "" when it says nothing.
func (g *Graph) Description(e uint32) string { return g.stringAt(cell(g.entDesc, e)) }

// Named is e with the surface forms it may be matched by, NameZH among the aliases.
func (g *Graph) Named(e uint32) quarry.Named {
	n := quarry.Named{ID: g.ID(e), Name: g.Name(e)}
	if zh := g.NameZH(e); zh != "" && zh != n.Name {
		n.Aliases = append(n.Aliases, zh)
	}
	n.Aliases = append(n.Aliases, g.Aliases(e)...)
	return n
}

// Entity is all the graph says about e.
func (g *Graph) Entity(e uint32) Entity {
	ent := Entity{ID: g.ID(e), Name: g.Name(e), NameZH: g.NameZH(e), Aliases: g.Aliases(e), Type: g.Type(e), Description: g.Description(e)}
	for _, d := range row(g.mentionOff, g.mention, e) {
		ent.Docs = append(ent.Docs, g.DocumentID(d))
	}
	return ent
}

// EntityByID finds an entity by its source's identifier.
func (g *Graph) EntityByID(id string) (e uint32, ok bool) {
	return byID(g.entByID, g.entID, g.entIDOff, id)
}

func byID(x index, text []byte, off []uint64, id string) (uint32, bool) {
	for _, n := range x.candidates(bytesOf(id)) {
		if string(piece(text, off, n)) == id && id != "" {
			return n, true
		}
	}
	return 0, false
}

// EntitiesByName are the entities whose name, Chinese name or alias equals a name after quarry.Normalize, ascending.
// An ID that stands in for a name is not found here.
func (g *Graph) EntitiesByName(name string) []uint32 {
	want := quarry.Normalize(name)
	var out []uint32
	for _, e := range g.entByName.candidates(bytesOf(want)) {
		same := func(s uint32) bool { return s != 0 && quarry.Normalize(g.stringAt(s)) == want }
		if same(cell(g.entName, e)) || same(cell(g.entZH, e)) || slices.ContainsFunc(row(g.aliasOff, g.alias, e), same) {
			out = append(out, e)
		}
	}
	return out
}

// RelationID is the source's identifier of relation r.
func (g *Graph) RelationID(r int) string { return string(piece(g.relID, g.relIDOff, uint32(r))) }

// Label is the label of r, its ID when the source gave none.
func (g *Graph) Label(r int) string {
	if s := cell(g.relLabel, uint32(r)); s != 0 {
		return g.stringAt(s)
	}
	return g.RelationID(r)
}

// LabelZH is the Chinese label of r, "" when the source gave none.
func (g *Graph) LabelZH(r int) string { return g.stringAt(cell(g.relZH, uint32(r))) }

// Relation is all the graph says about r.
func (g *Graph) Relation(r int) Relation {
	return Relation{ID: g.RelationID(r), Label: g.Label(r), LabelZH: g.LabelZH(r), Description: g.stringAt(cell(g.relDesc, uint32(r)))}
}

// RelationByID finds a relation by its source's identifier.
func (g *Graph) RelationByID(id string) (r int, ok bool) {
	n, ok := byID(g.relByID, g.relID, g.relIDOff, id)
	return int(n), ok
}

// RelationsByName are the relations with a label, in English or Chinese, that equals name after quarry.Normalize, ascending.
func (g *Graph) RelationsByName(name string) []int {
	want := quarry.Normalize(name)
	var out []int
	for _, r := range g.relByName.candidates(bytesOf(want)) {
		for _, s := range []uint32{cell(g.relLabel, r), cell(g.relZH, r)} {
			if s != 0 && quarry.Normalize(g.stringAt(s)) == want {
				out = append(out, int(r))
				break
			}
		}
	}
	return out
}
