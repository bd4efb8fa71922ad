package ingest

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quarry-rl/quarry/kg/store"
)

// The relation of a pair without predicate, and the qualifiers that keep what the graph has no place for.
const (
	RelationStatement = "statement" // from an entity to the TEXT of what is said of it
	QualStatement     = "statement" // wording of the statement where it is not the span's
	QualSection       = "section"   // of the document
)

// pair is a line of (entity, statement) records, the unit of the Apodex 1.0 report (docs/formats/sources.md).
type pair struct {
	Entity     thing             `json:"entity"`
	Statement  string            `json:"statement"`
	Subject    thing             `json:"subject"`
	Predicate  thing             `json:"predicate"`
	Object     thing             `json:"object"`
	DocID      string            `json:"doc_id"`
	Title      string            `json:"title"`
	URL        string            `json:"url"`
	Section    string            `json:"section"`
	Passage    string            `json:"passage"`
	Span       *pairSpan         `json:"span"`
	Qualifiers map[string]string `json:"qualifiers"`
}

type pairSpan struct {
	Text  string `json:"text"`
	Start *int   `json:"start"`
	End   *int   `json:"end"`
}

// thing is an id, or an object with an id and names.
type thing struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	NameZH      string   `json:"name_zh"`
	Label       string   `json:"label"`
	LabelZH     string   `json:"label_zh"`
	Aliases     []string `json:"aliases"`
	Type        string   `json:"type"`
	Description string   `json:"description"`
	object      bool
}

// UnmarshalJSON accepts both forms.
func (t *thing) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &t.ID)
	}
	type plain thing
	if err := json.Unmarshal(b, (*plain)(t)); err != nil {
		return err
	}
	t.Name, t.NameZH = first(t.Name, t.Label), first(t.NameZH, t.LabelZH)
	t.ID, t.object = first(t.ID, t.Name), true
	if t.ID == "" {
		return errors.New("an object without id and name")
	}
	return nil
}

// pairReader collects a document from adjacent lines and sends it before its statements.
type pairReader struct {
	known map[string]bool // documents that were sent
	told  bool            // RelationStatement was sent

	doc        store.Document
	length     int            // of the document's text so far
	passages   map[string]int // where they begin in it
	statements []store.Statement
}

func (r *run) readPairs(in *input) error {
	if r.pairs == nil {
		r.pairs = &pairReader{known: map[string]bool{}}
	}
	x := r.pairs
	err := r.each(in, func(_ int, line []byte) error {
		var p pair
		if err := json.Unmarshal(line, &p); err != nil {
			return faultf("expected an object with entity, statement, doc_id and passage: %v", err)
		}
		if !utf8.Valid(line) {
			return faultf("expected UTF-8, found other bytes")
		}
		start, end, f := p.check()
		if f != nil {
			return f
		}
		if x.known[p.DocID] && x.doc.ID != p.DocID {
			return faultf("doc_id %q came before, then others: expected the lines of a document together (sort by doc_id)", p.DocID)
		}
		return x.add(r, &p, start, end)
	})
	if err != nil {
		return err
	}
	return x.flush(r)
}

var timePattern = regexp.MustCompile(`^-?\d{4,}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?$`)

// check returns the span's place in the passage.
func (p *pair) check() (start, end int, f *fault) {
	spo := 0
	for _, id := range []string{p.Subject.ID, p.Predicate.ID, p.Object.ID} {
		if id != "" {
			spo++
		}
	}
	switch {
	case spo != 0 && spo != 3:
		return 0, 0, faultf("expected subject, predicate and object together or none, found %d of them", spo)
	case spo == 0 && p.Entity.ID == "":
		return 0, 0, faultf("expected an entity, or subject, predicate and object, found neither")
	case p.Statement == "":
		return 0, 0, faultf("expected a statement, found none")
	case p.DocID == "":
		return 0, 0, faultf("expected a doc_id, found none")
	case strings.TrimSpace(p.Passage) == "":
		return 0, 0, faultf("expected a passage, found none")
	}
	for k, v := range p.Qualifiers {
		if (k == store.QualStart || k == store.QualEnd || k == store.QualAt) && !timePattern.MatchString(v) {
			return 0, 0, faultf("qualifier %s: expected YYYY, YYYY-MM or YYYY-MM-DD, found %q", k, v)
		}
	}
	text := p.Statement
	if p.Span != nil {
		if (p.Span.Start == nil) != (p.Span.End == nil) {
			return 0, 0, faultf("span: expected start and end together, found one of them")
		}
		if p.Span.Start != nil {
			s, e := *p.Span.Start, *p.Span.End
			if s < 0 || e <= s || e > len(p.Passage) || !utf8.RuneStart(p.Passage[s]) || e < len(p.Passage) && !utf8.RuneStart(p.Passage[e]) {
				return 0, 0, faultf("span: expected byte offsets of whole characters within the passage of %d bytes, found %d to %d", len(p.Passage), s, e)
			}
			if p.Span.Text != "" && p.Passage[s:e] != p.Span.Text {
				return 0, 0, faultf("span: expected %q, as the passage has it there, found %q", clip([]byte(p.Passage[s:e])), clip([]byte(p.Span.Text)))
			}
			return s, e, nil
		}
		if p.Span.Text == "" {
			return 0, 0, faultf("span: expected text, or start and end, found neither")
		}
		text = p.Span.Text
	}
	if start = strings.Index(p.Passage, text); start < 0 {
		what := "span.text"
		if p.Span == nil {
			what = "a statement without span"
		}
		return 0, 0, faultf("expected %s to stand in the passage word for word, found no %q there", what, clip([]byte(text)))
	}
	return start, start + len(text), nil
}

func (x *pairReader) add(r *run, p *pair, start, end int) error {
	if x.doc.ID != p.DocID {
		if err := x.flush(r); err != nil {
			return err
		}
		x.doc = store.Document{ID: p.DocID}
		x.known[p.DocID] = true
		x.passages, x.length = map[string]int{}, 0
	}
	x.doc.Title, x.doc.URL = first(x.doc.Title, p.Title), first(x.doc.URL, p.URL)
	at, ok := x.passages[p.Passage]
	if !ok {
		at = x.length
		x.passages[p.Passage] = at
		x.doc.Sentences = append(x.doc.Sentences, sentencesOf(p.Passage)...)
		x.length += len(p.Passage) + 1
	}
	s := store.Statement{Subject: p.Subject.ID, Predicate: p.Predicate.ID, Object: p.Object.ID, Doc: p.DocID,
		Spans: []store.Span{{Start: at + start, End: at + end}}}
	for _, k := range slices.Sorted(maps.Keys(p.Qualifiers)) {
		s.Qualifiers = append(s.Qualifiers, store.Qualifier{Property: k, Value: p.Qualifiers[k]})
	}
	if p.Section != "" {
		s.Qualifiers = append(s.Qualifiers, store.Qualifier{Property: QualSection, Value: p.Section})
	}
	if err := x.things(r, p); err != nil {
		return err
	}
	if s.Subject == "" {
		if len(p.Statement) > maxText {
			r.left(leftText)
			return nil
		}
		text := append([]byte(TypeText+":"), p.Statement...)
		s.Subject, s.Predicate, s.Object = p.Entity.ID, RelationStatement, string(text)
		if err := x.bare(r, text, p.Statement); err != nil {
			return err
		}
	} else if p.Statement != p.Passage[start:end] {
		s.Qualifiers = append(s.Qualifiers, store.Qualifier{Property: QualStatement, Value: p.Statement})
	}
	x.statements = append(x.statements, s)
	return nil
}

// bare tells the sink of the text of a pair without subject, predicate and object.
func (x *pairReader) bare(r *run, id []byte, statement string) error {
	if !x.told {
		x.told = true
		if err := r.relation(&store.Relation{ID: RelationStatement, Label: "statement", LabelZH: "陈述", Description: "what a source says of the entity"}); err != nil {
			return err
		}
	}
	return r.literal(id, []byte(statement), TypeText)
}

// things tells the sink of what came with names.
func (x *pairReader) things(r *run, p *pair) error {
	for _, t := range []*thing{&p.Entity, &p.Subject, &p.Object} {
		if !t.object {
			continue
		}
		if err := r.entity(&store.Entity{ID: t.ID, Name: t.Name, NameZH: t.NameZH, Aliases: t.Aliases, Type: t.Type, Description: t.Description}); err != nil {
			return err
		}
	}
	if t := &p.Predicate; t.object {
		return r.relation(&store.Relation{ID: t.ID, Label: t.Name, LabelZH: t.NameZH, Description: t.Description})
	}
	return nil
}

// flush sends the document that was collected, then its statements.
func (x *pairReader) flush(r *run) error {
	if x.doc.ID == "" {
		return nil
	}
	doc, statements := x.doc, x.statements
	x.doc, x.statements = store.Document{}, x.statements[:0]
	doc.Title = first(doc.Title, doc.ID)
	if err := r.document(&doc); err != nil {
		return err
	}
	for i := range statements {
		if err := r.statement(&statements[i]); err != nil {
			return err
		}
	}
	return nil
}
