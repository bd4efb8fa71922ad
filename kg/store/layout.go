package store

import "github.com/quarry-rl/quarry/kg/csr"

// The file (docs/formats/graph.md): a head, the sections of arrays.columns in that order, each at a multiple of align
// with zeros between, a table of their places and digests, a tail with the digest of head and table.
const (
	magic     = "QUARRYKG"
	endMagic  = "QKGRAPH\n"
	version   = 1
	align     = 64
	headLen   = 64 // magic, u32 version, zeros
	entryLen  = 64 // name in 16 bytes, u64 offset, u64 length, SHA-256 of the section
	tailLen   = 64 // u64 file size, u32 sections, u32 version, endMagic, 8 zeros, SHA-256 of head, table and these 32 bytes
	nameBytes = 16
)

// arrays are the sections. Names in Off hold one position more than there are items; columns of strings and types are
// empty when all their items are 0, which is "".
type arrays struct {
	off, out, targets, inEdges, edgeDoc []uint32
	steps                               []csr.Step

	entIDOff                  []uint64
	entID                     []byte
	entName, entZH, entDesc   []uint32 // strings
	entType                   []uint32 // types
	aliasOff, alias           []uint32
	mentionOff, mention       []uint32 // documents
	entByID, entByName        index
	relIDOff                  []uint64
	relID                     []byte
	relLabel, relZH, relDesc  []uint32
	relByID, relByName        index
	typeOff                   []uint64
	types                     []byte
	docIDOff                  []uint64
	docID                     []byte
	docTitle, docURL          []uint32
	docFirst                  []uint32 // passages docFirst[d] to docFirst[d+1]
	docSHA                    []byte   // 32 of each
	docByID                   index
	pasOff                    []uint64 // text[pasOff[p] : pasOff[p+1]-1] is passage p
	text                      []byte
	evOff, ev                 []uint32 // of each edge: passages, or passages+d for document d as a whole
	spanEdge, spanDoc         []uint32 // evidence that is no whole sentence, by edge
	spanStart, spanEnd        []uint32
	qualEdge, qualDoc         []uint32 // sets of qualifiers, by edge
	qualOff, qualProp, qualTo []uint32
	strOff                    []uint64
	str                       []byte
}

// column is one section: a pointer to its slice.
type column struct {
	name string
	data any // *[]byte, *[]uint32, *[]uint64 or *[]csr.Step
}

// columns are all sections in the order of the file.
func (a *arrays) columns() []column {
	return []column{
		{"csr.off", &a.off}, {"csr.out", &a.out}, {"csr.targets", &a.targets}, {"csr.steps", &a.steps}, {"csr.in", &a.inEdges}, {"csr.docs", &a.edgeDoc},
		{"ent.id.off", &a.entIDOff}, {"ent.id", &a.entID}, {"ent.name", &a.entName}, {"ent.zh", &a.entZH}, {"ent.desc", &a.entDesc}, {"ent.type", &a.entType},
		{"ent.alias.off", &a.aliasOff}, {"ent.alias", &a.alias}, {"ent.doc.off", &a.mentionOff}, {"ent.doc", &a.mention},
		{"ent.id.hash", &a.entByID.hash}, {"ent.id.num", &a.entByID.num}, {"ent.name.hash", &a.entByName.hash}, {"ent.name.num", &a.entByName.num},
		{"rel.id.off", &a.relIDOff}, {"rel.id", &a.relID}, {"rel.label", &a.relLabel}, {"rel.zh", &a.relZH}, {"rel.desc", &a.relDesc},
		{"rel.id.hash", &a.relByID.hash}, {"rel.id.num", &a.relByID.num}, {"rel.name.hash", &a.relByName.hash}, {"rel.name.num", &a.relByName.num},
		{"type.off", &a.typeOff}, {"type", &a.types},
		{"doc.id.off", &a.docIDOff}, {"doc.id", &a.docID}, {"doc.title", &a.docTitle}, {"doc.url", &a.docURL}, {"doc.first", &a.docFirst}, {"doc.sha256", &a.docSHA},
		{"doc.id.hash", &a.docByID.hash}, {"doc.id.num", &a.docByID.num},
		{"pas.off", &a.pasOff}, {"text", &a.text},
		{"ev.off", &a.evOff}, {"ev", &a.ev},
		{"span.edge", &a.spanEdge}, {"span.doc", &a.spanDoc}, {"span.start", &a.spanStart}, {"span.end", &a.spanEnd},
		{"qual.edge", &a.qualEdge}, {"qual.doc", &a.qualDoc}, {"qual.off", &a.qualOff}, {"qual.prop", &a.qualProp}, {"qual.value", &a.qualTo},
		{"str.off", &a.strOff}, {"str", &a.str},
	}
}

func (a *arrays) graph() *csr.Graph {
	return &csr.Graph{Off: a.off, Out: a.out, Targets: a.targets, Steps: a.steps, InEdges: a.inEdges, Docs: a.edgeDoc, Rels: a.relations()}
}

func (a *arrays) entities() int  { return len(a.off) - 1 }
func (a *arrays) edges() int     { return len(a.edgeDoc) }
func (a *arrays) relations() int { return len(a.relIDOff) - 1 }
func (a *arrays) documents() int { return len(a.docFirst) - 1 }
func (a *arrays) passages() int  { return len(a.pasOff) - 1 }
func (a *arrays) strings() int   { return len(a.strOff) - 1 }

// piece is item i of a text section; "" when the offsets lead outside, which Fsck reports.
func piece(text []byte, off []uint64, i uint32) []byte {
	if int64(i)+1 >= int64(len(off)) {
		return nil
	}
	lo, hi := off[i], off[i+1]
	if lo > hi || hi > uint64(len(text)) {
		return nil
	}
	return text[lo:hi:hi]
}

// cell is item i of a column that is empty when all its items are 0.
func cell(column []uint32, i uint32) uint32 {
	if int64(i) >= int64(len(column)) {
		return 0
	}
	return column[i]
}

// row is list i.
func row(off, items []uint32, i uint32) []uint32 {
	if int64(i)+1 >= int64(len(off)) {
		return nil
	}
	lo, hi := off[i], off[i+1]
	if lo > hi || int64(hi) > int64(len(items)) {
		return nil
	}
	return items[lo:hi:hi]
}

func (a *arrays) stringAt(i uint32) string { return string(piece(a.str, a.strOff, i)) }
