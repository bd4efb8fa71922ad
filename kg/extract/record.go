package extract

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
)

const (
	maxName      = 200
	maxStatement = 1024 // what kg/ingest takes as a text
	maxSpan      = 2000
)

// record is a line of statements.jsonl: the keys of kg/ingest, then those that Verify needs and kg/ingest ignores.
type record struct {
	Entity     entity            `json:"entity"`
	Statement  string            `json:"statement"`
	Subject    string            `json:"subject,omitempty"`
	Predicate  *predicate        `json:"predicate,omitempty"`
	Object     *entity           `json:"object,omitempty"`
	DocID      string            `json:"doc_id"`
	Title      string            `json:"title"`
	URL        string            `json:"url,omitempty"`
	Section    string            `json:"section,omitempty"`
	Passage    string            `json:"passage"`
	Span       span              `json:"span"`
	Qualifiers map[string]string `json:"qualifiers,omitempty"`

	Grounding string `json:"grounding"`
	Mention   string `json:"mention,omitempty"`
	PassageAt int    `json:"passage_at"` // byte of the document's text
	ShownFrom int    `json:"shown_from"` // likewise: where the text that the teacher saw begins
	SHA256    string `json:"source_sha256"`
}

type entity struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Type    string   `json:"type,omitempty"`
}

type predicate struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

type span struct {
	Text  string `json:"text"`
	Start int    `json:"start"` // bytes of the passage
	End   int    `json:"end"`
}

var (
	timePattern   = regexp.MustCompile(`^-?\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?$`)
	numberPattern = regexp.MustCompile(`^-?\d+(\.\d+)?$`)
)

// judge makes a record of a candidate of the part of passage p that was asked about, or says why there is none.
func (o *Options) judge(s *source, p, asked passage, c *candidate) (r *record, reason string) {
	c.tidy()
	bare := c.Predicate == "" && c.Object.Name == ""
	switch {
	case c.Subject.Name == "" || c.Statement == "" || c.Span == "" || !bare && (c.Predicate == "" || c.Object.Name == ""):
		return nil, Incomplete
	case max(len(c.Subject.Name), len(c.Object.Name), len(c.Predicate), len(c.Subject.Type), len(c.Object.Type)) > maxName || len(c.Statement) > maxStatement || len(c.Span) > maxSpan:
		return nil, TooLong
	case !strings.Contains(s.doc.Text, c.Span):
		return nil, SpanMissing
	}
	places := find(s.doc.Text, c.Span, asked.Start, asked.End)
	if len(places) == 0 {
		return nil, SpanOutside
	}
	r = &record{Statement: c.Statement, DocID: s.doc.ID, Title: label(s.doc.Title, s.doc.ID), URL: s.doc.URL, Section: s.doc.Section,
		Passage: s.doc.Text[p.Start:p.End], PassageAt: p.Start, ShownFrom: asked.context, SHA256: s.sha}
	r.Entity = s.entity(&c.Subject)
	if !bare {
		object := s.entity(&c.Object)
		if object.ID == r.Entity.ID {
			return nil, SelfLoop
		}
		if r.Predicate = o.predicate(c.Predicate); r.Predicate == nil {
			return nil, UnknownRelation
		}
		r.Subject, r.Object = r.Entity.ID, &object
	}
	for _, at := range places { // the first place that carries everything; else the reason at the first
		why := r.settle(s, at, c)
		if why == "" {
			return r, ""
		}
		if reason == "" {
			reason = why
		}
	}
	return nil, reason
}

func (c *candidate) tidy() {
	for _, v := range []*string{&c.Subject.Name, &c.Object.Name, &c.Predicate, &c.Statement, &c.Mention, &c.Start, &c.End, &c.At, &c.Method} {
		*v = strings.Join(strings.Fields(*v), " ")
	}
	c.Subject.Type, c.Object.Type = strings.ToUpper(strings.TrimSpace(c.Subject.Type)), strings.ToUpper(strings.TrimSpace(c.Object.Type))
}

// settle fixes the place of the span and what depends on it.
func (r *record) settle(s *source, at store.Span, c *candidate) (reason string) {
	if r.Grounding = s.ground(at, r.ShownFrom, r.Entity.Name, r.Entity.Aliases, c.Mention); r.Grounding == "" {
		return SubjectMissing
	}
	if r.Mention = ""; r.Grounding == ByPronoun {
		r.Mention = c.Mention
	}
	if r.Object != nil && !s.objectAt(at, r.ShownFrom, r.Object) {
		return ObjectMissing
	}
	if r.Qualifiers, reason = s.qualifiers(at, r.ShownFrom, c); reason != "" {
		return reason
	}
	r.Span = span{Text: c.Span, Start: at.Start - r.PassageAt, End: at.End - r.PassageAt}
	return ""
}

func (s *source) objectAt(at store.Span, shownFrom int, o *entity) bool {
	if o.ID == o.Type+":"+o.Name && (o.Type == store.TypeTime || o.Type == store.TypeNumber) {
		return s.groundValue(at, o.Type, o.Name)
	}
	return s.ground(at, shownFrom, o.Name, o.Aliases, "") != ""
}

func (s *source) qualifiers(at store.Span, shownFrom int, c *candidate) (q map[string]string, reason string) {
	q = map[string]string{}
	for _, t := range []struct{ key, value string }{{store.QualStart, c.Start}, {store.QualEnd, c.End}, {store.QualAt, c.At}} {
		switch {
		case t.value == "":
		case !timePattern.MatchString(t.value) || year(t.value) == "":
			return nil, BadTime
		case !s.groundValue(at, store.TypeTime, t.value):
			return nil, QualifierMissing
		default:
			q[t.key] = t.value
		}
	}
	if c.Start != "" && c.End != "" && later(c.Start, c.End) {
		return nil, BadTime
	}
	if c.Method != "" {
		if len(c.Method) > maxName || !says(fold(s.doc.Text[shownFrom:max(at.End, shownFrom)]+s.window(at, true)), c.Method) {
			return nil, QualifierMissing
		}
		q[store.QualMethod] = c.Method
	}
	if len(q) == 0 {
		q = nil
	}
	return q, ""
}

// later says whether time a is after b for certain, as far as both are given.
func later(a, b string) bool {
	na, nb := strings.HasPrefix(a, "-"), strings.HasPrefix(b, "-")
	if na != nb {
		return nb
	}
	ya, _, _ := strings.Cut(strings.TrimPrefix(a, "-"), "-")
	yb, _, _ := strings.Cut(strings.TrimPrefix(b, "-"), "-")
	if ya != yb {
		return (ya > yb) != na
	}
	n := min(len(a), len(b))
	return a[:n] > b[:n]
}

func (s *source) entity(e *end) entity {
	switch v := strings.ReplaceAll(strings.TrimPrefix(e.Name, "+"), ",", ""); {
	case e.Type == store.TypeTime && timePattern.MatchString(e.Name) && year(e.Name) != "":
		return entity{ID: "TIME:" + e.Name, Name: e.Name, Type: e.Type} // as kg/ingest writes dates: one in all documents
	case e.Type == store.TypeNumber && numberPattern.MatchString(v):
		return entity{ID: "NUM:" + v, Name: v, Type: e.Type}
	}
	return entity{ID: entityID(s.doc.ID, e.Type, e.Name), Name: e.Name, Aliases: s.known(e.Name, e.Aliases), Type: e.Type}
}

func (o *Options) predicate(words string) *predicate {
	n := quarry.Normalize(words)
	for _, r := range o.Relations {
		if words == r.ID || n != "" && (n == quarry.Normalize(r.Label) || n == quarry.Normalize(r.LabelZH)) {
			return &predicate{r.ID, label(r.Label, r.ID)}
		}
	}
	if n == "" || len(o.Relations) > 0 {
		return nil
	}
	return &predicate{strings.ReplaceAll(n, " ", "_"), words}
}

// Verify says whether a line of statements.jsonl holds for its document: the text is the one that was read, to the byte; the
// passage and the span stand where they are said to; the span leads to entity and object. A change of one character of the
// text makes every record of it invalid. Errors are invalid and say what does not hold; d.Text decides, with the sentences that
// it had when it was read.
func Verify(line []byte, d Document) error {
	var r record
	bad := func(format string, args ...any) error {
		return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: fmt.Sprintf("record of document %q", d.ID), Msg: fmt.Sprintf(format, args...),
			Hint: "extract the document anew"}
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return bad("expected a line of statements.jsonl: %v", err)
	}
	s := newSource(&d)
	end := r.PassageAt + len(r.Passage)
	switch {
	case r.DocID != d.ID:
		return bad("is of document %q", r.DocID)
	case r.Title == "":
		return bad("the citation has no title")
	case r.SHA256 != s.sha:
		return bad("the text has changed: expected SHA-256 %s, found %s", r.SHA256, s.sha)
	case r.PassageAt < 0 || r.ShownFrom < 0 || r.ShownFrom > end || end > len(d.Text) || !utf8.ValidString(d.Text) || d.Text[r.PassageAt:end] != r.Passage:
		return bad("the passage is not at byte %d", r.PassageAt)
	case r.Span.Start < 0 || r.Span.End <= r.Span.Start || r.Span.End > len(r.Passage) || r.Passage[r.Span.Start:r.Span.End] != r.Span.Text:
		return bad("the span %s is not in the passage at %d", strconv.Quote(r.Span.Text), r.Span.Start)
	}
	at := store.Span{Start: r.PassageAt + r.Span.Start, End: r.PassageAt + r.Span.End}
	if r.ShownFrom > at.Start {
		return bad("the span begins before the text that was shown")
	}
	if by := s.ground(at, r.ShownFrom, r.Entity.Name, r.Entity.Aliases, r.Mention); by == "" || by != r.Grounding {
		return bad("the span does not lead to %q by %s", r.Entity.Name, r.Grounding)
	}
	if r.Object != nil && !s.objectAt(at, r.ShownFrom, r.Object) {
		return bad("the span does not lead to the object %q", r.Object.Name)
	}
	return nil
}
