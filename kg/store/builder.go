package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// Builder gathers records in any order and writes the graph they make. It is not safe for concurrent use.
//
// Entities, relations and documents are numbered in order of first appearance, in a record of their own or in a
// statement: the same records in the same order give the same bytes. Of repeated records of one entity the first name,
// Chinese name, type and description that are not empty stay; later names become aliases, and aliases are united in
// order of appearance. Relations likewise, without aliases. A document may be repeated with the same sentences only.
//
// Memory: 16 B a statement, 12 a span, 4 a sentence, 32 to 40 and its bytes a distinct string, and all text unless Spill
// was called. Finish takes up to 70 B a statement more while it sorts.
type Builder struct {
	ents, rels, docs *table // by id
	strs, types      *table // "" is number 0

	entity   []entityRow
	relation []relationRow
	document []documentRow
	ends     []uint32 // of each sentence in its document's text
	aliases  pairs
	mentions pairs // entities and the documents that name them
	repack   int   // number of aliases at which doubles are dropped

	edges   list[csr.Edge] // as they came
	cites   list[cite]     // by statement
	texts   texts
	sets    []qualSet // by statement
	quals   []uint32  // property and value in turn
	sources []Source

	subject, predicate known // of the statement before: sources are often sorted
}

// known is an id that was numbered; text is the table's own.
type known struct {
	number uint32
	text   []byte
}

type entityRow struct{ name, zh, typ, desc uint32 }

type relationRow struct{ label, zh, desc uint32 }

type documentRow struct {
	title, url uint32
	at         int64  // of its text in texts
	size       uint32 // of its text in bytes
	first, end uint32 // in ends
	given      bool   // by a record; the others are only named by statements
	sha        [sha256.Size]byte
}

// cite is a span of the document of a statement.
type cite struct{ stmt, start, end uint32 }

// qualSet is a range of quals.
type qualSet struct{ stmt, first, end uint32 }

// NewBuilder starts an empty graph.
func NewBuilder() *Builder {
	return &Builder{ents: newTable(), rels: newTable(), docs: newTable(), strs: newPool(), types: newPool(), repack: 1 << 20, texts: texts{limit: inMemory}}
}

// Spill lets the texts of documents go to a temporary file in dir, which should be on the disk that the graph goes to,
// once they are more than 64 MiB. The file is removed by Finish or Close.
func (b *Builder) Spill(dir string) { b.texts.dir = dir }

// Close gives up an unfinished build; after Finish it does nothing.
func (b *Builder) Close() error { return b.texts.close() }

// AddSource notes in the manifest what the records were read from.
func (b *Builder) AddSource(s Source) { b.sources = append(b.sources, s) }

// Triple adds a statement without document and qualifiers. It does not keep the slices. Errors are invalid: an empty
// id, one that is not UTF-8 or longer than MaxText, more relations or statements than a graph holds.
func (b *Builder) Triple(s, p, o []byte) error { return b.edge(s, p, o, csr.NoDoc) }

func (b *Builder) edge(s, p, o []byte, doc uint32) error {
	if len(s) == 0 || len(p) == 0 || len(o) == 0 {
		return refuse("statement "+cut(s)+" "+cut(p)+" "+cut(o), "subject, predicate or object is empty", "give all three ids")
	}
	if b.edges.n == math.MaxUint32/2 {
		return refuse("statements", "more than a graph holds, 2147483647", "split the source")
	}
	if !bytes.Equal(b.predicate.text, p) {
		if b.rels.len() == csr.MaxRelations && !b.rels.has(p) {
			return refuse("relation "+cut(p), fmt.Sprintf("one more than a graph holds, %d", csr.MaxRelations), "drop relations that no question uses")
		}
		if bad := b.predicate.intern(b.rels, p); bad != "" {
			return refuse("relation "+cut(p), bad, "give a shorter id in UTF-8")
		}
	}
	if !bytes.Equal(b.subject.text, s) {
		if bad := b.subject.intern(b.ents, s); bad != "" {
			return refuse("entity "+cut(s), bad, "give a shorter id in UTF-8")
		}
	}
	on, bad := b.ents.intern(o)
	if bad != "" {
		return refuse("entity "+cut(o), bad, "give a shorter id in UTF-8")
	}
	b.edges.add(csr.Edge{Subject: b.subject.number, Object: on, Relation: uint16(b.predicate.number), Doc: doc})
	return nil
}

func (k *known) intern(t *table, id []byte) (bad string) {
	e, bad := t.known(id)
	if bad == "" {
		k.number, k.text = binary.LittleEndian.Uint32(e), e[headSize:headSize+len(id)]
	}
	return bad
}

// Add takes one record; nothing of it is kept but copies. Errors are those of the disk after Spill, or invalid and leave the graph without the record,
// but for ids that it named: a record with more or fewer than one field, an empty id, text that is not UTF-8 or longer
// than MaxText, a span without a document or outside one that is known, a document repeated with another text.
func (b *Builder) Add(r Record) error {
	n := 0
	for _, set := range []bool{r.Entity != nil, r.Relation != nil, r.Document != nil, r.Statement != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return refuse("record", fmt.Sprintf("%d fields set, expected one of Entity, Relation, Document, Statement", n), "give each item its own record")
	}
	switch {
	case r.Entity != nil:
		return b.addEntity(r.Entity)
	case r.Relation != nil:
		return b.addRelation(r.Relation)
	case r.Document != nil:
		return b.addDocument(r.Document)
	}
	return b.addStatement(r.Statement)
}

func (b *Builder) addEntity(e *Entity) error {
	var in interner
	var row entityRow
	row.name, row.zh, row.desc = in.put(b.strs, e.Name), in.put(b.strs, e.NameZH), in.put(b.strs, e.Description)
	row.typ = in.put(b.types, e.Type)
	if e.Name == e.ID {
		row.name = 0 // it stands in anyway, and a real name may come
	}
	aliases := make([]uint32, 0, len(e.Aliases)+2)
	for _, a := range e.Aliases {
		aliases = append(aliases, in.put(b.strs, a))
	}
	docs := make([]uint32, 0, len(e.Docs))
	for _, d := range e.Docs {
		docs = append(docs, in.id(b.docs, d))
	}
	v := in.id(b.ents, e.ID)
	if in.bad != "" {
		return refuse("entity "+cut(e.ID), in.bad, "id, name, aliases, type, description and documents are UTF-8, ids are not empty")
	}
	for _, d := range docs {
		b.mentions = append(b.mentions, pair{v, d})
	}
	b.entity = grow(b.entity, int(v))
	have := &b.entity[v]
	aliases = slices.Insert(aliases, 0, settle(&have.name, row.name), settle(&have.zh, row.zh))
	settle(&have.typ, row.typ)
	settle(&have.desc, row.desc)
	for _, a := range aliases {
		if a != 0 {
			b.aliases = append(b.aliases, pair{v, a})
		}
	}
	if len(b.aliases) > b.repack {
		b.aliases = b.aliases.distinct(b.ents.len(), b.strs.len())
		b.repack = max(b.repack, 2*len(b.aliases))
	}
	return nil
}

// settle takes the first value that is not 0 and gives back another one that comes later.
func settle(have *uint32, v uint32) (other uint32) {
	if *have == 0 {
		*have = v
	}
	if v == *have {
		return 0
	}
	return v
}

func (b *Builder) addRelation(r *Relation) error {
	if b.rels.len() == csr.MaxRelations && !b.rels.has(bytesOf(r.ID)) {
		return refuse("relation "+r.ID, fmt.Sprintf("one more than a graph holds, %d", csr.MaxRelations), "drop relations that no question uses")
	}
	var in interner
	row := relationRow{in.put(b.strs, r.Label), in.put(b.strs, r.LabelZH), in.put(b.strs, r.Description)}
	n := in.id(b.rels, r.ID)
	if in.bad != "" {
		return refuse("relation "+cut(r.ID), in.bad, "id, labels and description are UTF-8, the id is not empty")
	}
	b.relation = grow(b.relation, int(n))
	have := &b.relation[n]
	settle(&have.label, row.label)
	settle(&have.zh, row.zh)
	settle(&have.desc, row.desc)
	return nil
}

func (b *Builder) addDocument(d *Document) error {
	text := strings.Join(d.Sentences, " ")
	var in interner
	in.check(text)
	title, url := in.put(b.strs, d.Title), in.put(b.strs, d.URL)
	n := in.id(b.docs, d.ID)
	if in.bad != "" {
		return refuse("document "+cut(d.ID), in.bad, "id, title, URL and sentences are UTF-8, the id is not empty, the text has at most 64 MiB")
	}
	b.document = grow(b.document, int(n))
	have := &b.document[n]
	sha := sha256.Sum256(bytesOf(text))
	if have.given && !(have.sha == sha && b.sameSentences(have, d)) {
		return refuse("document "+cut(d.ID), "given a second time with other sentences", "give each document one id")
	}
	settle(&have.title, title)
	settle(&have.url, url)
	if have.given {
		return nil
	}
	at, err := b.texts.add(text)
	if err != nil {
		return err
	}
	have.given, have.at, have.size, have.sha, have.first = true, at, uint32(len(text)), sha, uint32(len(b.ends))
	end := 0
	for _, s := range d.Sentences {
		end += len(s)
		b.ends = append(b.ends, uint32(end))
		end++
	}
	have.end = uint32(len(b.ends))
	return nil
}

// sameSentences says whether a text that is the same is also cut the same way.
func (b *Builder) sameSentences(have *documentRow, d *Document) bool {
	if int(have.end-have.first) != len(d.Sentences) {
		return false
	}
	at := 0
	for i, s := range d.Sentences {
		if at += len(s); b.ends[int(have.first)+i] != uint32(at) {
			return false
		}
		at++
	}
	return true
}

func (b *Builder) addStatement(s *Statement) error {
	bad := func(msg, hint string) error {
		return refuse("statement "+cut(s.Subject)+" "+cut(s.Predicate)+" "+cut(s.Object), msg, hint)
	}
	if s.Doc == "" && len(s.Spans) > 0 {
		return bad("spans without a document", "set the document's id, or leave the spans out")
	}
	var in interner
	doc := uint32(csr.NoDoc)
	if s.Doc != "" {
		doc = in.id(b.docs, s.Doc)
	}
	from := len(b.quals)
	if from+2*len(s.Qualifiers) > math.MaxUint32 {
		return bad("more qualifiers than a graph can number", "split the source")
	}
	for _, q := range s.Qualifiers {
		if q.Property == "" {
			in.fail("a qualifier without property")
		}
		b.quals = append(b.quals, in.put(b.strs, q.Property), in.put(b.strs, q.Value))
	}
	if in.bad == "" {
		for _, sp := range s.Spans {
			in.fail(b.outside(doc, sp))
		}
	}
	if in.bad != "" {
		b.quals = b.quals[:from]
		return bad(in.bad, "spans are byte ranges of the document's text, qualifiers are pairs of UTF-8 text")
	}
	if err := b.edge(bytesOf(s.Subject), bytesOf(s.Predicate), bytesOf(s.Object), doc); err != nil {
		b.quals = b.quals[:from]
		return err
	}
	stmt := uint32(b.edges.n - 1)
	for _, sp := range s.Spans {
		b.cites.add(cite{stmt, uint32(sp.Start), uint32(sp.End)})
	}
	if len(b.quals) > from {
		b.sets = append(b.sets, qualSet{stmt, uint32(from), uint32(len(b.quals))})
	}
	return nil
}

// outside says what is wrong with a span; a document that is still to come is looked at by Finish.
func (b *Builder) outside(doc uint32, sp Span) string {
	if sp.Start < 0 || sp.End <= sp.Start || sp.End > MaxText {
		return fmt.Sprintf("span %d to %d is no byte range", sp.Start, sp.End)
	}
	if int(doc) < len(b.document) && b.document[doc].given && sp.End > int(b.document[doc].size) {
		return fmt.Sprintf("span %d to %d is outside document %s, which has %d bytes", sp.Start, sp.End, b.docs.string(doc), b.document[doc].size)
	}
	return ""
}

// interner numbers the strings of one record and keeps the first complaint.
type interner struct{ bad string }

func (in *interner) fail(bad string) {
	if in.bad == "" {
		in.bad = bad
	}
}

func (in *interner) put(t *table, s string) uint32 {
	n, bad := t.intern(bytesOf(s))
	in.fail(bad)
	return n
}

// id numbers an id once nothing else of the record was refused.
func (in *interner) id(t *table, s string) uint32 {
	if s == "" {
		in.fail("the id is empty")
	}
	if in.bad != "" {
		return 0
	}
	return in.put(t, s)
}

func (in *interner) check(text string) { in.fail(fault(bytesOf(text))) }

func grow[T any](rows []T, n int) []T {
	if n < len(rows) {
		return rows
	}
	return append(rows, make([]T, n+1-len(rows))...)
}

// cut keeps an error on one line of bearable length.
func cut[T string | []byte](s T) string {
	if len(s) > 80 {
		return fmt.Sprintf("%q...", s[:80])
	}
	return fmt.Sprintf("%q", s)
}

func refuse(subject, msg, hint string) error {
	return &quarry.Error{Op: "kg build", Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: hint}
}
