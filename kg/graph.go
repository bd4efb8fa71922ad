// Package kg holds a knowledge graph with the text it comes from: documents, entities, relations and statements, each
// statement bound to the sentence that carries it, and a BM25 index over the sentences.
package kg

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/bm25"
)

// Document is one text as sentences; its text is the sentences joined by one space.
type Document struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Sentences []string `json:"sents"`
}

// Entity is a node: names, coarse type (PER, LOC, ORG, MISC, TIME, NUM) and the documents that mention it.
type Entity struct {
	quarry.Named
	Type string   `json:"type"`
	Docs []string `json:"docs"`
}

// Literal says whether the entity is a date or a number: it ends walks and is never merged across documents.
func (e *Entity) Literal() bool { return e.Type == "TIME" || e.Type == "NUM" }

// Relation names a predicate.
type Relation struct {
	ID          string
	Label       string
	LabelZH     string
	Description string
}

// Passage is the unit of search: one sentence with its document's title.
type Passage struct {
	Doc      int // index into Graph.Docs
	Sentence int
	Start    int // byte offset of the sentence in the document's text
	Title    string
	Text     string
}

// Edge is a statement by index: subject, relation, object, and the passages that carry it (none: known, but not in text).
type Edge struct {
	Subject, Object int
	Relation        int
	Evidence        []int // passage numbers, ascending
}

// Analyser names how the index makes terms of text.
const Analyser = bm25.Analyser

// Graph is read-only after loading and safe for concurrent use.
type Graph struct {
	Docs      []Document
	Entities  []Entity
	Relations []Relation
	Edges     []Edge // distinct, ordered by subject, relation, object
	Passages  []Passage

	index *bm25.Index
	docNo map[string]int
	entNo map[string]int
	relNo map[string]int
}

// Doc returns the index of a document id.
func (g *Graph) Doc(id string) (int, bool) { i, ok := g.docNo[id]; return i, ok }

// Entity returns the index of an entity id.
func (g *Graph) Entity(id string) (int, bool) { i, ok := g.entNo[id]; return i, ok }

// Relation returns the index of a relation id.
func (g *Graph) Relation(id string) (int, bool) { i, ok := g.relNo[id]; return i, ok }

// Statement is edge e as carried by passage p; p < 0 gives it without provenance.
func (g *Graph) Statement(e, p int) quarry.Statement {
	ed := &g.Edges[e]
	s := quarry.Statement{Subject: g.Entities[ed.Subject].ID, Predicate: g.Relations[ed.Relation].ID, Object: g.Entities[ed.Object].ID}
	if p < 0 {
		return s
	}
	ps := &g.Passages[p]
	s.Text, s.Doc, s.Start, s.End = ps.Text, g.Docs[ps.Doc].ID, ps.Start, ps.Start+len(ps.Text)
	s.TextSHA256 = textHash(ps.Text)
	return s
}

func textHash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// Search returns the numbers of the k best passages for a query, best first; ties go to the lower number.
func (g *Graph) Search(query string, k int) []int {
	var buf [16]bm25.Hit
	hits := g.index.Search(query, k, buf[:0])
	out := make([]int, len(hits))
	for i, h := range hits {
		out[i] = int(h.Passage)
	}
	return out
}

// Hub says whether an entity stands in more than limit documents.
func (g *Graph) Hub(e, limit int) bool { return len(g.Entities[e].Docs) > limit }

// Stats are the counts `quarry kg stats` prints.
type Stats struct {
	Documents  int            `json:"documents"`
	Passages   int            `json:"passages"`
	Entities   int            `json:"entities"`
	Relations  int            `json:"relations"`
	Edges      int            `json:"edges"`
	WithText   int            `json:"edges_with_evidence"`
	Statements int            `json:"statements_with_evidence"` // an edge counts once per sentence that carries it
	ByType     map[string]int `json:"entities_by_type"`
	Shared     int            `json:"entities_in_two_or_more_documents"`
	MaxDegree  int            `json:"max_degree"`
	Analyser   string         `json:"analyser"`
}

// Stats counts the graph.
func (g *Graph) Stats() Stats {
	s := Stats{Documents: len(g.Docs), Passages: len(g.Passages), Entities: len(g.Entities), Relations: len(g.Relations),
		Edges: len(g.Edges), ByType: map[string]int{}, Analyser: bm25.Analyser}
	deg := make([]int, len(g.Entities))
	for _, e := range g.Edges {
		if len(e.Evidence) > 0 {
			s.WithText++
			s.Statements += len(e.Evidence)
		}
		deg[e.Subject]++
		deg[e.Object]++
	}
	for i := range g.Entities {
		s.ByType[g.Entities[i].Type]++
		if len(g.Entities[i].Docs) > 1 {
			s.Shared++
		}
		s.MaxDegree = max(s.MaxDegree, deg[i])
	}
	return s
}
