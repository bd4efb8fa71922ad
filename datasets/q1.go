package datasets

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Q1 is one synthesised question with all that is needed to recheck it. JSON columns hold the text of the noun's raw
// JSON, "null" when it has none.
type Q1 struct {
	ID          string   `parquet:"id"`
	Text        string   `parquet:"question"`
	Answer      string   `parquet:"answer"`
	Aliases     []string `parquet:"aliases,list"`
	AnswerID    string   `parquet:"answer_id,optional"` // null for literals
	Lang        string   `parquet:"lang,dict"`
	Source      string   `parquet:"source,dict"`
	Split       string   `parquet:"split,dict"` // train, tier, heldout
	License     string   `parquet:"license,dict"`
	Entities    []Entity `parquet:"entities,list"`
	Path        []Hop    `parquet:"path,list"`
	Atoms       []Atom   `parquet:"atoms,list"`
	Conditions  []Fact   `parquet:"conditions,list"`
	AnswerSet   int32    `parquet:"answer_set"` // always 1
	Certificate string   `parquet:"certificate"`
	Difficulty  string   `parquet:"difficulty"`
	Walk        string   `parquet:"walk"`
	AsOf        string   `parquet:"as_of,optional"`
}

// Entity is an entity the process reward counts.
type Entity struct {
	ID      string   `parquet:"id"`
	Name    string   `parquet:"name"`
	Aliases []string `parquet:"aliases,list"`
}

// Fact is a statement beside the path that narrows the answer, with its evidence as in Hop.
type Fact struct {
	S          string `parquet:"s"`
	P          string `parquet:"p,dict"`
	O          string `parquet:"o"`
	Doc        string `parquet:"doc"`
	Start      int32  `parquet:"start"`
	End        int32  `parquet:"end"`
	TextSHA256 string `parquet:"text_sha256"`
}

// Hop is one statement of the evidence path: a byte span of a document and the hash of its text.
type Hop struct {
	S          string `parquet:"s"`
	P          string `parquet:"p,dict"`
	O          string `parquet:"o"`
	Inverse    bool   `parquet:"inverse"`
	Doc        string `parquet:"doc"`
	Start      int32  `parquet:"start"`
	End        int32  `parquet:"end"`
	TextSHA256 string `parquet:"text_sha256"`
}

// Atom is one condition of the formal query.
type Atom struct {
	S string `parquet:"s"`
	P string `parquet:"p,dict"`
	O string `parquet:"o"`
}

// Q1FromQuestion makes a row. The sentences of the evidence are left out: document, span and hash lead back to them.
func Q1FromQuestion(q quarry.Question) Q1 {
	row := Q1{
		ID: q.ID, Text: q.Text, Answer: q.Answer, Aliases: q.Aliases, AnswerID: q.AnswerID, Lang: q.Lang, Source: q.Source,
		Split: string(q.Split), License: q.License, AnswerSet: int32Of(q.AnswerSet), Certificate: rawText(q.Certificate),
		Difficulty: rawText(q.Difficulty), Walk: rawText(q.Walk), AsOf: q.AsOf,
	}
	for _, e := range q.Entities {
		row.Entities = append(row.Entities, Entity(e))
	}
	for _, h := range q.Path {
		row.Path = append(row.Path, Hop{S: h.Subject, P: h.Predicate, O: h.Object, Inverse: h.Inverse, Doc: h.Doc,
			Start: int32Of(h.Start), End: int32Of(h.End), TextSHA256: h.TextSHA256})
	}
	for _, a := range q.Atoms {
		row.Atoms = append(row.Atoms, Atom(a))
	}
	for _, s := range q.Conditions {
		row.Conditions = append(row.Conditions, Fact{S: s.Subject, P: s.Predicate, O: s.Object, Doc: s.Doc,
			Start: int32Of(s.Start), End: int32Of(s.End), TextSHA256: s.TextSHA256})
	}
	return row
}

// Question is the inverse of Q1FromQuestion; the Text fields of the evidence are empty, and so are lists without elements.
func (r Q1) Question() quarry.Question {
	q := quarry.Question{
		ID: r.ID, Text: r.Text, Answer: r.Answer, Aliases: nonEmpty(r.Aliases), AnswerID: r.AnswerID, Lang: r.Lang,
		Source: r.Source, Split: quarry.Split(r.Split), License: r.License, AnswerSet: int(r.AnswerSet),
		Certificate: textRaw(r.Certificate), Difficulty: textRaw(r.Difficulty), Walk: textRaw(r.Walk), AsOf: r.AsOf,
	}
	for _, e := range r.Entities {
		q.Entities = append(q.Entities, quarry.Named{ID: e.ID, Name: e.Name, Aliases: nonEmpty(e.Aliases)})
	}
	for _, h := range r.Path {
		q.Path = append(q.Path, quarry.Hop{Inverse: h.Inverse, Statement: quarry.Statement{Subject: h.S, Predicate: h.P,
			Object: h.O, Doc: h.Doc, Start: int(h.Start), End: int(h.End), TextSHA256: h.TextSHA256}})
	}
	for _, a := range r.Atoms {
		q.Atoms = append(q.Atoms, quarry.Atom(a))
	}
	for _, f := range r.Conditions {
		q.Conditions = append(q.Conditions, quarry.Statement{Subject: f.S, Predicate: f.P, Object: f.O, Doc: f.Doc,
			Start: int(f.Start), End: int(f.End), TextSHA256: f.TextSHA256})
	}
	return q
}

func (r Q1) key() string { return r.ID }

func (Q1) spec() spec {
	return spec{kind: "Q1", version: 2, short: []string{"id", "lang", "source", "split", "license", "as_of"}}
}

func (r Q1) check(c *checker) {
	c.id("id", r.ID)
	c.filled("question", r.Text)
	c.filled("answer", r.Answer)
	c.texts("aliases", r.Aliases)
	c.optional("answer_id", r.AnswerID)
	c.short("lang", r.Lang)
	c.short("source", r.Source)
	c.oneOf("split", r.Split, "train", "tier", "heldout")
	c.short("license", r.License)
	for i, e := range r.Entities {
		c.enter("entities", i)
		c.filled("id", e.ID)
		c.filled("name", e.Name)
		c.texts("aliases", e.Aliases)
		c.leave()
	}
	if len(r.Path) == 0 {
		c.fail("path", note("[]"), "at least one hop with its evidence")
	}
	for i, h := range r.Path {
		c.enter("path", i)
		h.check(c)
		if i > 0 && r.Path[i-1].to() != h.from() {
			c.fail(map[bool]string{false: "s", true: "o"}[h.Inverse], h.from(), fmt.Sprintf("a hop that starts at %q, where the one before ended", r.Path[i-1].to()))
		}
		c.leave()
	}
	if len(r.Atoms) == 0 {
		c.fail("atoms", note("[]"), "at least one condition")
	}
	for i, a := range r.Atoms {
		c.enter("atoms", i)
		c.filled("s", a.S)
		c.filled("p", a.P)
		c.filled("o", a.O)
		c.leave()
	}
	if want := max(len(r.Atoms)-len(r.Path), 0); len(r.Conditions) != want {
		c.fail("conditions", note(fmt.Sprintf("%d of them", len(r.Conditions))), fmt.Sprintf("%d, one for each atom after the path's", want))
	}
	for i, f := range r.Conditions {
		c.enter("conditions", i)
		f.check(c)
		if n := len(r.Path) + i; n < len(r.Atoms) && !r.Atoms[n].says(f) {
			c.fail("", f.S+" "+f.P+" "+f.O, fmt.Sprintf("the statement of atoms[%d]", n))
		}
		c.leave()
	}
	if r.AnswerSet != 1 {
		c.fail("answer_set", r.AnswerSet, "1: an accepted question has one answer")
	}
	c.bytes += 4
	c.json("certificate", r.Certificate, "")
	c.json("difficulty", r.Difficulty, "")
	c.json("walk", r.Walk, "")
	c.short("as_of", r.AsOf)
	if r.AsOf == "" {
		c.null("as_of")
	}
}

func (h Hop) from() string {
	if h.Inverse {
		return h.O
	}
	return h.S
}

func (h Hop) to() string {
	if h.Inverse {
		return h.S
	}
	return h.O
}

func (h Hop) check(c *checker) {
	Fact{h.S, h.P, h.O, h.Doc, h.Start, h.End, h.TextSHA256}.check(c)
}

func (f Fact) check(c *checker) {
	c.filled("s", f.S)
	c.filled("p", f.P)
	c.filled("o", f.O)
	c.filled("doc", f.Doc)
	c.atLeast("start", int64(f.Start), 0)
	c.atLeast("end", int64(f.End), int64(f.Start)+1)
	c.sha256("text_sha256", f.TextSHA256)
}

// says is whether the atom is the statement with variables in place of what is asked for.
func (a Atom) says(f Fact) bool {
	fits := func(term, id string) bool { return strings.HasPrefix(term, "?") || term == id }
	return fits(a.S, f.S) && a.P == f.P && fits(a.O, f.O)
}

func (c *checker) texts(column string, list []string) {
	for i, s := range list {
		c.enter(column, i)
		c.text("", s)
		c.leave()
	}
}

// rawText is raw JSON as a text column.
func rawText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	return string(raw)
}

func textRaw(s string) json.RawMessage {
	if s == "null" || s == "" {
		return nil
	}
	return json.RawMessage(s)
}

func nonEmpty[E any](list []E) []E {
	if len(list) == 0 {
		return nil
	}
	return list
}
