// Package store keeps a knowledge graph on disk, memory-mapped: shape (kg/csr), names, types, descriptions, documents,
// and for each statement the sentences that carry it and its qualifiers.
package store

// Entity is a node as a source names it. ID is the source's own identifier and unique in the graph.
type Entity struct {
	ID          string
	Name        string // preferred label, English when there is one; ID stands in when empty
	NameZH      string
	Aliases     []string // other surface forms, in any language
	Type        string   // the source's class, such as PER or human; TIME and NUM are literals
	Description string
	Docs        []string // ids of documents that name it, as far as the source says so
}

// Relation is a predicate. A graph holds at most csr.MaxRelations.
type Relation struct {
	ID          string
	Label       string
	LabelZH     string
	Description string
}

// Document is one text as sentences; its text is the sentences joined by one space.
type Document struct {
	ID        string
	Title     string
	URL       string // where a citation points, "" when unknown
	Sentences []string
}

// Span is a byte range of a document's text.
type Span struct{ Start, End int }

// Qualifier narrows a statement: start, end or point in time, method, or any other property of the source.
type Qualifier struct {
	Property string // QualStart, QualEnd, QualAt, QualMethod, or the source's own id
	Value    string // times as YYYY, YYYY-MM or YYYY-MM-DD, with a leading - before the common era
}

// The properties every reader maps its own names to.
const (
	QualStart  = "start"
	QualEnd    = "end"
	QualAt     = "at"
	QualMethod = "method"
)

// Statement is one fact by ids. Entities and relations that were not added before are made with their id as name.
type Statement struct {
	Subject, Predicate, Object string
	Doc                        string // document id, "" when no text carries it
	Spans                      []Span // of the sentences that carry it; empty with Doc set means the whole document
	Qualifiers                 []Qualifier
}

// Record is one item of a source: exactly one field is set.
type Record struct {
	Entity    *Entity
	Relation  *Relation
	Document  *Document
	Statement *Statement
}
