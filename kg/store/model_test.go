package store

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// model is what a graph must say, as plain maps over the records.
type model struct {
	ents, rels, docs []string // ids in order of appearance
	entity           map[string]*Entity
	relation         map[string]*Relation
	document         map[string]*Document
	evidence         map[[3]string]map[string]bool          // "doc start end" of each edge
	quals            map[[3]string]map[string][][]Qualifier // by document
}

func see(list *[]string, id string) {
	if !slices.Contains(*list, id) {
		*list = append(*list, id)
	}
}

func first(have *string, v string) (other string) {
	if *have == "" {
		*have = v
	}
	if *have == v {
		return ""
	}
	return v
}

func newModel(records []Record) *model {
	m := &model{entity: map[string]*Entity{}, relation: map[string]*Relation{}, document: map[string]*Document{},
		evidence: map[[3]string]map[string]bool{}, quals: map[[3]string]map[string][][]Qualifier{}}
	for _, r := range records {
		switch {
		case r.Entity != nil:
			m.addEntity(r.Entity)
		case r.Relation != nil:
			see(&m.rels, r.Relation.ID)
			have := m.relation[r.Relation.ID]
			if have == nil {
				have = &Relation{ID: r.Relation.ID}
				m.relation[have.ID] = have
			}
			first(&have.Label, r.Relation.Label)
			first(&have.LabelZH, r.Relation.LabelZH)
			first(&have.Description, r.Relation.Description)
		case r.Document != nil:
			see(&m.docs, r.Document.ID)
			have := m.document[r.Document.ID]
			if have == nil {
				have = &Document{ID: r.Document.ID, Sentences: r.Document.Sentences}
				m.document[have.ID] = have
			}
			first(&have.Title, r.Document.Title)
			first(&have.URL, r.Document.URL)
		default:
			s := r.Statement
			if s.Doc != "" {
				see(&m.docs, s.Doc)
			}
			see(&m.rels, s.Predicate)
			see(&m.ents, s.Subject)
			see(&m.ents, s.Object)
		}
	}
	for _, r := range records { // once all documents are known
		if r.Statement != nil {
			m.addStatement(r.Statement)
		}
	}
	return m
}

func (m *model) addEntity(e *Entity) {
	for _, d := range e.Docs {
		see(&m.docs, d)
	}
	see(&m.ents, e.ID)
	have := m.entity[e.ID]
	if have == nil {
		have = &Entity{ID: e.ID}
		m.entity[e.ID] = have
	}
	name := e.Name
	if name == e.ID {
		name = ""
	}
	forms := append([]string{first(&have.Name, name), first(&have.NameZH, e.NameZH)}, e.Aliases...)
	for _, f := range forms {
		if f != "" {
			see(&have.Aliases, f)
		}
	}
	for _, d := range e.Docs {
		see(&have.Docs, d)
	}
	first(&have.Type, e.Type)
	first(&have.Description, e.Description)
}

func (m *model) text(doc string) string {
	if d := m.document[doc]; d != nil {
		return strings.Join(d.Sentences, " ")
	}
	return ""
}

func (m *model) addStatement(s *Statement) {
	k := [3]string{s.Subject, s.Predicate, s.Object}
	if m.evidence[k] == nil {
		m.evidence[k], m.quals[k] = map[string]bool{}, map[string][][]Qualifier{}
	}
	for _, sp := range s.Spans {
		m.evidence[k][fmt.Sprintf("%s %d %d", s.Doc, sp.Start, sp.End)] = true
	}
	if len(s.Spans) == 0 && s.Doc != "" {
		m.evidence[k][fmt.Sprintf("%s whole %d", s.Doc, len(m.text(s.Doc)))] = true
	}
	same := func(o []Qualifier) bool { return slices.Equal(o, s.Qualifiers) }
	if len(s.Qualifiers) > 0 && !slices.ContainsFunc(m.quals[k][s.Doc], same) {
		m.quals[k][s.Doc] = append(m.quals[k][s.Doc], s.Qualifiers)
	}
}

// want is an entity as the graph gives it.
func (m *model) want(id string) Entity {
	e := Entity{ID: id}
	if have := m.entity[id]; have != nil {
		e = *have
	}
	if e.Name == "" {
		e.Name = id
	}
	slices.SortFunc(e.Docs, func(a, b string) int { return cmp.Compare(slices.Index(m.docs, a), slices.Index(m.docs, b)) })
	e.Aliases = slices.DeleteFunc(slices.Clone(e.Aliases), func(a string) bool { return a == e.Name || a == e.NameZH })
	return e
}

var words = []string{"", "a", "b", "Ada", "ada!", "愛達", "The Ada", "e1", "--"}

func records() *rapid.Generator[[]Record] {
	return rapid.Custom(func(t *rapid.T) []Record {
		word := rapid.SampledFrom(words)
		ent, rel := rapid.SampledFrom([]string{"e0", "e1", "e2", "e3"}), rapid.SampledFrom([]string{"r0", "r1", "r2"})
		docID := rapid.SampledFrom([]string{"d0", "d1", "d2"})
		sentences := map[string][]string{}
		var out []Record
		for _, d := range []string{"d0", "d1"} {
			sentences[d] = rapid.SliceOfN(word, 0, 4).Draw(t, d)
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				out = append(out, Record{Document: &Document{ID: d, Title: word.Draw(t, "title"), URL: word.Draw(t, "url"), Sentences: sentences[d]}})
			}
		}
		for range rapid.IntRange(0, 6).Draw(t, "entities") {
			out = append(out, Record{Entity: &Entity{ID: ent.Draw(t, "id"), Name: word.Draw(t, "name"), NameZH: word.Draw(t, "zh"),
				Aliases: rapid.SliceOfN(word, 0, 3).Draw(t, "aliases"), Type: word.Draw(t, "type"), Description: word.Draw(t, "description"),
				Docs: rapid.SliceOfN(docID, 0, 3).Draw(t, "named in")}})
		}
		for range rapid.IntRange(0, 3).Draw(t, "relations") {
			out = append(out, Record{Relation: &Relation{ID: rel.Draw(t, "id"), Label: word.Draw(t, "label"), LabelZH: word.Draw(t, "zh"), Description: word.Draw(t, "description")}})
		}
		for range rapid.IntRange(1, 12).Draw(t, "statements") {
			s := &Statement{Subject: ent.Draw(t, "s"), Predicate: rel.Draw(t, "p"), Object: ent.Draw(t, "o"), Doc: rapid.OneOf(docID, rapid.Just("")).Draw(t, "doc")}
			at := 0
			for _, sent := range sentences[s.Doc] {
				if sent != "" && rapid.Bool().Draw(t, "cited") {
					s.Spans = append(s.Spans, Span{at, at + len(sent)})
				}
				at += len(sent) + 1
			}
			if at > 1 && rapid.Bool().Draw(t, "other span") {
				from := rapid.IntRange(0, at-2).Draw(t, "from")
				s.Spans = append(s.Spans, Span{from, rapid.IntRange(from+1, at-1).Draw(t, "to")})
			}
			for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "qualifiers") {
				s.Qualifiers = append(s.Qualifiers, Qualifier{rapid.SampledFrom([]string{QualStart, QualEnd}).Draw(t, "property"), word.Draw(t, "value")})
			}
			out = append(out, Record{Statement: s})
		}
		return rapid.Permutation(out).Draw(t, "order")
	})
}

// What was added in any order is read back as the model has it.
func TestReadsBack(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		recs := records().Draw(t, "records")
		dir, err := os.MkdirTemp(root, "g")
		if err != nil {
			t.Fatal(err)
		}
		g := build(t, dir, recs)
		defer g.Close()
		sound(t, g)
		m := newModel(recs)
		if g.Entities() != len(m.ents) || g.relations() != len(m.rels) || g.Documents() != len(m.docs) || g.Edges() != len(m.evidence) {
			t.Fatalf("%+v, expected %v %v %v and %d edges", g.Manifest().Counts, m.ents, m.rels, m.docs, len(m.evidence))
		}
		compareEntities(t, g, m)
		compareRelations(t, g, m)
		compareDocuments(t, g, m)
		compareEdges(t, g, m)
	})
}

func differ(t *rapid.T, what string, got, want any) {
	if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
		t.Fatalf("%s is %s, expected %s", what, a, b)
	}
}

func compareEntities(t *rapid.T, g *Graph, m *model) {
	byName := map[string][]uint32{}
	for i, id := range m.ents {
		e, want := uint32(i), m.want(id)
		differ(t, "entity", g.Entity(e), want)
		n, ok := g.EntityByID(id)
		differ(t, "number of "+id, []any{n, ok}, []any{e, true})
		forms := append([]string{want.NameZH}, want.Aliases...)
		if want.Name != id {
			forms = append(forms, want.Name)
		}
		for _, w := range words {
			norm := quarry.Normalize(w)
			if norm != "" && slices.ContainsFunc(forms, func(f string) bool { return quarry.Normalize(f) == norm }) {
				byName[w] = append(byName[w], e)
			}
		}
	}
	for _, w := range words {
		differ(t, "entities named "+w, g.EntitiesByName(w), byName[w])
	}
	if _, ok := g.EntityByID("nobody"); ok {
		t.Fatal("found what is not there")
	}
}

func compareRelations(t *rapid.T, g *Graph, m *model) {
	for r, id := range m.rels {
		want := Relation{ID: id}
		if have := m.relation[id]; have != nil {
			want = *have
		}
		if want.Label == "" {
			want.Label = id
		}
		differ(t, "relation", g.Relation(r), want)
		n, ok := g.RelationByID(id)
		differ(t, "number of "+id, []any{n, ok}, []any{r, true})
	}
}

func compareDocuments(t *rapid.T, g *Graph, m *model) {
	var want []Passage
	for d, id := range m.docs {
		doc := Document{ID: id}
		if have := m.document[id]; have != nil {
			doc = *have
		}
		differ(t, "document", g.Document(uint32(d)), doc)
		n, ok := g.DocumentByID(id)
		differ(t, "number of "+id, []any{n, ok}, []any{d, true})
		at := 0
		for i, s := range doc.Sentences {
			want = append(want, Passage{uint32(d), i, at, doc.Title, s})
			at += len(s) + 1
		}
	}
	var got []Passage
	for p, ps := range g.AllPassages() {
		differ(t, "passage", g.Passage(p), ps)
		got = append(got, ps)
	}
	differ(t, "passages", got, want)
}

func compareEdges(t *rapid.T, g *Graph, m *model) {
	docs := map[string]map[string]bool{} // by entity
	for id, e := range m.entity {
		docs[id] = map[string]bool{}
		for _, d := range e.Docs {
			docs[id][d] = true
		}
	}
	for e := range uint32(g.Edges()) {
		ed := g.Edge(e)
		k := [3]string{g.ID(ed.Subject), g.RelationID(int(ed.Relation)), g.ID(ed.Object)}
		if m.evidence[k] == nil {
			t.Fatalf("edge %v was not added", k)
		}
		got := map[string]bool{}
		for _, ev := range g.Evidence(e) {
			id := g.DocumentID(ev.Doc)
			s := g.Cited(e, ev)
			if ev.Passage == NoPassage {
				got[fmt.Sprintf("%s whole %d", id, ev.End)] = true
			} else {
				got[fmt.Sprintf("%s %d %d", id, ev.Start, ev.End)] = true
				if ps := g.Passage(ev.Passage); ps.Doc != ev.Doc || ps.Start > ev.Start || ps.Start+len(ps.Text) < ev.Start {
					t.Fatalf("evidence %+v is said to start in %+v", ev, ps)
				}
				if at := g.Statement(e, ev.Passage); at.Doc != id || at.Text == "" {
					t.Fatalf("statement by passage %d is %+v", ev.Passage, at)
				}
			}
			if want := m.text(id)[ev.Start:ev.End]; s.Text != want || s.Doc != id || [3]string{s.Subject, s.Predicate, s.Object} != k {
				t.Fatalf("statement %+v of %v, expected text %q of %s", s, k, want, id)
			}
			for _, v := range []string{k[0], k[2]} {
				if docs[v] == nil {
					docs[v] = map[string]bool{}
				}
				docs[v][id] = true
			}
		}
		differ(t, "evidence", got, m.evidence[k])
		if len(g.Evidence(e)) != len(got) {
			t.Fatalf("evidence twice: %v", g.Evidence(e))
		}
		compareQualifiers(t, g, m, e, k)
	}
	for v := range uint32(g.Entities()) {
		got := map[string]bool{}
		for _, d := range g.DocsOf(v) {
			got[g.DocumentID(d)] = true
		}
		differ(t, "documents of an entity", got, orEmpty(docs[g.ID(v)]))
	}
}

func orEmpty(m map[string]bool) map[string]bool {
	if m == nil {
		return map[string]bool{}
	}
	return m
}

func compareQualifiers(t *rapid.T, g *Graph, m *model, e uint32, k [3]string) {
	got := map[string][][]Qualifier{}
	list := g.Qualifiers(e)
	if !slices.IsSortedFunc(list, func(a, b Qualified) int { return cmp.Compare(a.Doc, b.Doc) }) {
		t.Fatalf("qualifiers are not by document: %v", list)
	}
	for _, q := range list {
		id := ""
		if q.Doc != csr.NoDoc {
			id = g.DocumentID(q.Doc)
		}
		got[id] = append(got[id], q.Qualifiers)
	}
	differ(t, "qualifiers", got, m.quals[k])
}

// The same records in the same order give the same bytes, by either way of adding.
func TestDeterministic(t *testing.T) {
	var digests []string
	for _, fast := range []bool{false, true, true} {
		b := NewBuilder()
		for i := range 5000 {
			s, p, o := fmt.Sprintf("http://example.org/%d", i*7919%1000), fmt.Sprintf("p%d", i%17), fmt.Sprintf("http://example.org/%d", i*104729%1500)
			var err error
			if fast {
				err = b.Triple([]byte(s), []byte(p), []byte(o))
			} else {
				err = b.Add(Record{Statement: &Statement{Subject: s, Predicate: p, Object: o}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		m, err := b.Finish(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, GraphFile))
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, m.Digest+fmt.Sprint(len(data)))
	}
	if digests[0] != digests[1] || digests[1] != digests[2] {
		t.Fatal(digests)
	}
}
