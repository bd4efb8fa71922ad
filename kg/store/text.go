package store

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// NoPassage stands for no sentence: of evidence that is a whole document, and of a statement without provenance.
const NoPassage = math.MaxUint32

// Passage is the unit of search: one sentence with its document's title.
type Passage struct {
	Doc      uint32
	Sentence int // in its document, from 0
	Start    int // byte offset in the document's text
	Title    string
	Text     string
}

// Evidence is a byte range of a document's text that carries an edge.
type Evidence struct {
	Doc     uint32
	Passage uint32 // the sentence, or the one in which the range starts; NoPassage for a whole document
	Span           // empty when the document's text is not known
}

// Qualified is a set of qualifiers that hold together, as one statement gave them.
type Qualified struct {
	Doc        uint32 // that says so, or csr.NoDoc
	Qualifiers []Qualifier
}

// Documents is the number of documents, those that only statements name included.
func (g *Graph) Documents() int { return g.documents() }

// Passages is the number of sentences.
func (g *Graph) Passages() int { return g.passages() }

// DocumentID is the source's identifier of document d.
func (g *Graph) DocumentID(d uint32) string { return string(piece(g.docID, g.docIDOff, d)) }

// Title of document d, "" when the source gave none.
func (g *Graph) Title(d uint32) string { return g.stringAt(cell(g.docTitle, d)) }

// URL is where a citation of document d points, "" when unknown.
func (g *Graph) URL(d uint32) string { return g.stringAt(cell(g.docURL, d)) }

// DocumentByID finds a document by its source's identifier.
func (g *Graph) DocumentByID(id string) (d uint32, ok bool) {
	return byID(g.docByID, g.docID, g.docIDOff, id)
}

// Document is document d with its sentences.
func (g *Graph) Document(d uint32) Document {
	doc := Document{ID: g.DocumentID(d), Title: g.Title(d), URL: g.URL(d)}
	lo, hi := g.PassagesOf(d)
	for p := lo; p < hi; p++ {
		doc.Sentences = append(doc.Sentences, string(g.sentence(p)))
	}
	return doc
}

// PassagesOf are the numbers of d's sentences, from lo to below hi.
func (g *Graph) PassagesOf(d uint32) (lo, hi uint32) {
	if int(d) >= g.documents() {
		return 0, 0
	}
	return g.docFirst[d], g.docFirst[d+1]
}

// textOf is the text of document d in place.
func (g *Graph) textOf(d uint32) []byte {
	lo, hi := g.PassagesOf(d)
	if lo >= hi || int(hi) > g.passages() {
		return nil
	}
	from, end := g.pasOff[lo], g.pasOff[hi]
	if from >= end || end > uint64(len(g.text)) {
		return nil
	}
	return g.text[from : end-1 : end-1]
}

func (g *Graph) sentence(p uint32) []byte {
	s := piece(g.text, g.pasOff, p)
	return s[:max(len(s)-1, 0)] // without the byte that parts it from the next
}

// docOf is the document of passage p.
func (g *Graph) docOf(p uint32) uint32 {
	return uint32(sort.Search(g.documents(), func(d int) bool { return g.docFirst[d+1] > p }))
}

// Passage is sentence p of the graph; the zero value when there is none.
func (g *Graph) Passage(p uint32) Passage {
	if int(p) >= g.passages() {
		return Passage{}
	}
	return g.passage(p, g.docOf(p))
}

func (g *Graph) passage(p, d uint32) Passage {
	first, _ := g.PassagesOf(d)
	if int(first) > g.passages() {
		return Passage{}
	}
	return Passage{Doc: d, Sentence: int(p - first), Start: int(g.pasOff[p] - g.pasOff[first]), Title: g.Title(d), Text: string(g.sentence(p))}
}

// AllPassages are all sentences in order: what a search index is built from.
func (g *Graph) AllPassages() iter.Seq2[uint32, Passage] {
	return func(yield func(uint32, Passage) bool) {
		for d := range uint32(g.documents()) {
			lo, hi := g.PassagesOf(d)
			for p := lo; p < hi && int(p) < g.passages(); p++ {
				if !yield(p, g.passage(p, d)) {
					return
				}
			}
		}
	}
}

// Evidence is what carries an edge: whole sentences in order, then whole documents, then other spans, each once.
func (g *Graph) Evidence(edge uint32) []Evidence {
	var out []Evidence
	for _, v := range row(g.evOff, g.ev, edge) {
		if int(v) < g.passages() {
			d := g.docOf(v)
			start := int(g.pasOff[v] - g.pasOff[g.docFirst[min(int(d), g.documents()-1)]])
			out = append(out, Evidence{d, v, Span{start, start + len(g.sentence(v))}})
			continue
		}
		d := v - uint32(g.passages())
		out = append(out, Evidence{d, NoPassage, Span{0, len(g.textOf(d))}})
	}
	lo, hi := run(g.spanEdge, edge)
	for i := lo; i < hi; i++ {
		d := g.spanDoc[i]
		out = append(out, Evidence{d, g.passageAt(d, g.spanStart[i]), Span{int(g.spanStart[i]), int(g.spanEnd[i])}})
	}
	return out
}

// passageAt is the sentence of document d that holds the byte at offset start, or the one before it for a byte between two.
func (g *Graph) passageAt(d, start uint32) uint32 {
	lo, hi := g.PassagesOf(d)
	if lo >= hi || int(hi) > g.passages() {
		return NoPassage
	}
	base := g.pasOff[lo]
	return lo + uint32(sort.Search(int(hi-lo-1), func(i int) bool { return g.pasOff[lo+uint32(i)+1]-base > uint64(start) }))
}

// run is where v stands in an ascending list.
func run(list []uint32, v uint32) (lo, hi int) {
	lo, _ = slices.BinarySearch(list, v)
	for hi = lo; hi < len(list) && list[hi] == v; hi++ {
	}
	return lo, hi
}

// Qualifiers are the sets of an edge, by document, then in order of appearance. Those of one statement stay together:
// the start of one term of office does not meet the end of another.
func (g *Graph) Qualifiers(edge uint32) []Qualified {
	var out []Qualified
	lo, hi := run(g.qualEdge, edge)
	for i := lo; i < hi; i++ {
		q := Qualified{Doc: g.qualDoc[i]}
		values := row(g.qualOff, g.qualTo, uint32(i))
		for k, p := range row(g.qualOff, g.qualProp, uint32(i)) {
			q.Qualifiers = append(q.Qualifiers, Qualifier{g.stringAt(p), g.stringAt(values[k])})
		}
		out = append(out, q)
	}
	return out
}

// Statement is an edge as carried by passage p: the first evidence of the edge that lies in it, with its text, byte
// span and the SHA-256 of the text. Without evidence there, or with NoPassage, it comes without provenance.
func (g *Graph) Statement(edge, p uint32) quarry.Statement {
	if p != NoPassage {
		for _, ev := range g.Evidence(edge) {
			if ev.Passage == p {
				return g.Cited(edge, ev)
			}
		}
	}
	ed := g.Edge(edge)
	return quarry.Statement{Subject: g.ID(ed.Subject), Predicate: g.RelationID(int(ed.Relation)), Object: g.ID(ed.Object)}
}

// Cited is an edge as carried by one of its evidences.
func (g *Graph) Cited(edge uint32, ev Evidence) quarry.Statement {
	s := g.Statement(edge, NoPassage)
	s.Doc = g.DocumentID(ev.Doc)
	text := g.textOf(ev.Doc)
	if ev.Start < 0 || ev.Start >= ev.End || ev.End > len(text) {
		return s // the document has no text here
	}
	text = text[ev.Start:ev.End]
	sum := sha256.Sum256(text)
	s.Text, s.Start, s.End, s.TextSHA256 = string(text), ev.Start, ev.End, hex.EncodeToString(sum[:])
	return s
}

// DocsOf are the documents that mention entity e, as far as its record and statements say so, ascending.
func (g *Graph) DocsOf(e uint32) []uint32 {
	out := append([]uint32(nil), row(g.mentionOff, g.mention, e)...)
	for p := g.Off[e]; p < g.Off[e+1]; p++ {
		edge := g.EdgeAt(e, p)
		if g.Docs[edge] == csr.NoDoc {
			continue
		}
		last := uint32(csr.NoDoc)
		for _, v := range row(g.evOff, g.ev, edge) {
			if int(v) >= g.passages() {
				out = append(out, v-uint32(g.passages()))
			} else if lo, hi := g.PassagesOf(last); v < lo || v >= hi { // sentences of one document follow each other
				last = g.docOf(v)
				out = append(out, last)
			}
		}
		lo, hi := run(g.spanEdge, edge)
		out = append(out, g.spanDoc[lo:hi]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
