package ingest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarry-rl/quarry/kg/store"
)

// docred joins the documents of all DocRED files of a run. DocRED (Yao et al., ACL 2019) gives clusters of mentions
// within a document; across documents two clusters are one entity when their longest mention, without case and leading
// article, and their type agree. Dates and numbers are of their document alone. Entities and statements are kept until
// the end, as a name depends on all documents; of the texts nothing is kept.
type docred struct {
	docs       int
	byKey      map[string]int
	entities   []*merged
	statements []store.Statement
}

// merged is an entity with its mentions.
type merged struct {
	docs  []string // that mention it
	typ   string
	count map[string]int // of each form
	order []string       // forms as they came
}

type docredDoc struct {
	Title     string            `json:"title"`
	Sents     [][]string        `json:"sents"`
	VertexSet [][]docredMention `json:"vertexSet"`
	Labels    []docredLabel     `json:"labels"`
}

type docredMention struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type docredLabel struct {
	H        *int   `json:"h"`
	T        *int   `json:"t"`
	R        string `json:"r"`
	Evidence []int  `json:"evidence"`
}

func (r *run) readDocRED(in *input) error {
	if r.docred == nil {
		r.docred = &docred{byKey: map[string]int{}}
	}
	return r.eachJSON(in, false, func(_, value []byte) error {
		var d docredDoc
		if err := json.Unmarshal(value, &d); err != nil {
			return faultf("expected a document with title, sents, vertexSet and labels: %v", err)
		}
		if f := d.check(); f != nil {
			return f
		}
		return r.docred.add(r, &d)
	})
}

func (d *docredDoc) check() *fault {
	bad := func(format string, args ...any) *fault {
		return faultf("document %q: %s", d.Title, fmt.Sprintf(format, args...))
	}
	if d.Title == "" {
		return bad("expected a title, found none")
	}
	if len(d.Sents) == 0 {
		return bad("expected sents, found none")
	}
	for i, c := range d.VertexSet {
		if len(c) == 0 || c[0].Type == "" {
			return bad("vertexSet[%d]: expected mentions with a type, found none", i)
		}
		for j, m := range c {
			if mentionName(m.Name) == "" {
				return bad("vertexSet[%d][%d]: expected a name, found %q", i, j, m.Name)
			}
		}
	}
	for i, l := range d.Labels {
		for _, end := range []*int{l.H, l.T} {
			if end == nil || *end < 0 || *end >= len(d.VertexSet) {
				return bad("labels[%d]: expected h and t from 0 to %d, found others", i, len(d.VertexSet)-1)
			}
		}
		if l.R == "" {
			return bad("labels[%d]: expected a relation r, found none", i)
		}
		for _, e := range l.Evidence {
			if e < 0 || e >= len(d.Sents) {
				return bad("labels[%d]: expected evidence from 0 to %d, found %d", i, len(d.Sents)-1, e)
			}
		}
	}
	return nil
}

func (x *docred) add(r *run, d *docredDoc) error {
	doc := &store.Document{ID: fmt.Sprintf("d%04d", x.docs), Title: d.Title}
	x.docs++
	spans := make([]store.Span, len(d.Sents))
	at := 0
	for i, tokens := range d.Sents {
		s := joinTokens(tokens)
		if s == "" { // a sentence of blanks only carries nothing
			continue
		}
		spans[i] = store.Span{Start: at, End: at + len(s)}
		at += len(s) + 1
		doc.Sentences = append(doc.Sentences, s)
	}
	if err := r.document(doc); err != nil {
		return err
	}
	local := make([]int, len(d.VertexSet))
	for i, cluster := range d.VertexSet {
		local[i] = x.entity(cluster, doc.ID)
	}
	for _, l := range d.Labels {
		s := store.Statement{Subject: entityName(local[*l.H]), Predicate: l.R, Object: entityName(local[*l.T])}
		for _, e := range l.Evidence {
			if spans[e].End > 0 {
				s.Spans = append(s.Spans, spans[e])
			}
		}
		if len(s.Spans) > 0 { // without evidence no text carries it
			s.Doc = doc.ID
		}
		x.statements = append(x.statements, s)
	}
	return nil
}

func entityName(n int) string { return fmt.Sprintf("e%05d", n) }

// entity is the number of the entity a cluster of a document mentions.
func (x *docred) entity(cluster []docredMention, doc string) int {
	longest, length := "", 0
	for _, m := range cluster {
		name := mentionName(m.Name)
		if n := utf8.RuneCountInString(name); n > length || n == length && name < longest {
			longest, length = name, n
		}
	}
	typ := cluster[0].Type
	key := ""
	if low := strings.ToLower(longest); typ != TypeTime && typ != TypeNum && utf8.RuneCountInString(low) >= 3 {
		key = typ + "\x00" + low
	}
	n, known := x.byKey[key]
	if key == "" || !known {
		n = len(x.entities)
		x.entities = append(x.entities, &merged{typ: typ, count: map[string]int{}})
		if key != "" {
			x.byKey[key] = n
		}
	}
	e := x.entities[n]
	if len(e.docs) == 0 || e.docs[len(e.docs)-1] != doc {
		e.docs = append(e.docs, doc)
	}
	for _, m := range cluster {
		name := mentionName(m.Name)
		if e.count[name] == 0 {
			e.order = append(e.order, name)
		}
		e.count[name]++
	}
	return n
}

// record names an entity by its longest mention, of equally long ones by the most frequent, then the first.
func (e *merged) record(id string) *store.Entity {
	best, length := "", 0
	for _, name := range e.order {
		if n := utf8.RuneCountInString(name); n > length || n == length && e.count[name] > e.count[best] {
			best, length = name, n
		}
	}
	out := &store.Entity{ID: id, Name: best, Type: e.typ, Docs: e.docs}
	for _, name := range e.order {
		if name != best {
			out.Aliases = append(out.Aliases, name)
		}
	}
	slices.Sort(out.Aliases)
	return out
}

// finish sends the entities, then the statements.
func (x *docred) finish(r *run) error {
	for i, e := range x.entities {
		if err := r.entity(e.record(entityName(i))); err != nil {
			return err
		}
	}
	for i := range x.statements {
		if i&0xfff == 0 {
			if err := r.canceled(); err != nil {
				return err
			}
		}
		if err := r.statement(&x.statements[i]); err != nil {
			return err
		}
	}
	return nil
}
