package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// Finish writes GraphFile and then ManifestFile into dir, which must exist, each whole or not at all; the builder is
// spent, also after an error. Errors are invalid (no statement, a span outside a document that came after it), canceled,
// and those of internal/atomicfile.
func (b *Builder) Finish(ctx context.Context, dir string) (Manifest, error) {
	defer b.Close()
	if b.edges.n == 0 {
		return Manifest{}, refuse("graph", "no statement was added", "check that the source holds statements of the format it was read as")
	}
	m := Manifest{Schema: Schema, File: GraphFile, Sources: b.sources}
	m.Counts.Statements = b.edges.n
	for _, t := range []*table{b.ents, b.rels, b.docs, b.strs, b.types} {
		t.seal()
	}
	a := &arrays{}
	for _, step := range []func(*arrays) error{b.shape, b.labels, b.citations, b.indices} {
		if err := step(a); err != nil {
			return Manifest{}, err
		}
		if ctx.Err() != nil {
			return Manifest{}, &quarry.Error{Op: "kg build", Kind: quarry.KindCanceled, Msg: "stopped", Err: context.Cause(ctx), Hint: "run the same command again"}
		}
	}
	m.Counts.fill(a)
	err := write(ctx, dir, a, map[string]func(io.Writer) error{
		"ent.id": b.ents.writeBytes, "rel.id": b.rels.writeBytes, "doc.id": b.docs.writeBytes, "type": b.types.writeBytes, "str": b.strs.writeBytes,
		"text": b.writeText,
	}, &m)
	if err != nil {
		return Manifest{}, err
	}
	err = b.Close()
	*b = Builder{}
	return m, err
}

// shape makes the arrays of numbers: csr, evidence and qualifiers.
func (b *Builder) shape(a *arrays) error {
	b.document = pad(b.document, b.docs.len())
	if uint64(len(b.ends))+uint64(len(b.document)) > math.MaxUint32 {
		return refuse("documents", "more documents and sentences than a graph can number", "split the source")
	}
	edges := b.edges.flat()
	if len(b.sets) == 0 && b.docs.len() == 0 { // else the statements are needed in the order in which they came
		b.edges = list[csr.Edge]{}
	}
	g, err := csr.New(b.ents.len(), b.rels.len(), edges)
	if err != nil {
		return err
	}
	a.off, a.out, a.targets, a.steps, a.inEdges, a.edgeDoc = g.Off, g.Out, g.Targets, g.Steps, g.InEdges, g.Docs
	a.docFirst, a.pasOff = b.numberPassages()
	if err := b.evidence(a, g); err != nil {
		return err
	}
	b.qualifiers(a, g)
	b.edges = list[csr.Edge]{}
	return nil
}

// numberPassages lays the texts out by document: each sentence is followed by one byte, and what follows the last one
// ends the document.
func (b *Builder) numberPassages() (first []uint32, off []uint64) {
	first, off = make([]uint32, 1, len(b.document)+1), make([]uint64, 1, len(b.ends)+1)
	at := uint64(0)
	for i := range b.document {
		d := &b.document[i]
		for _, end := range b.ends[d.first:d.end] {
			off = append(off, at+uint64(end)+1)
		}
		first = append(first, uint32(len(off)-1))
		at = off[len(off)-1]
	}
	return first, off
}

// find is the edge of a statement that the graph has.
func find(g *csr.Graph, e csr.Edge) uint32 {
	lo, hi := g.By(e.Subject, csr.Along(int(e.Relation)))
	i, _ := slices.BinarySearch(g.Targets[lo:hi], e.Object)
	return g.Out[e.Subject] + lo + uint32(i) - g.Off[e.Subject]
}

type span struct{ edge, doc, start, end uint32 }

// evidence sorts what carries each edge: whole sentences and whole documents into one array, other spans beside it.
func (b *Builder) evidence(a *arrays, g *csr.Graph) error {
	var plain []uint64 // edge, then passage
	var spans []span
	next := 0 // of the cites
	cited := func(i int) bool { return next < b.cites.n && b.cites.at(next).stmt == uint32(i) }
	for i := range b.edges.n {
		s := *b.edges.at(i)
		if s.Doc == csr.NoDoc {
			continue
		}
		e := find(g, s)
		if !cited(i) {
			plain = append(plain, uint64(e)<<32|uint64(len(b.ends))+uint64(s.Doc))
		}
		for ; cited(i); next++ {
			c := b.cites.at(next)
			d := &b.document[s.Doc]
			if c.end > d.size {
				return refuse("statement "+cut(b.ents.bytes(s.Subject))+" "+cut(b.rels.bytes(uint32(s.Relation)))+" "+cut(b.ents.bytes(s.Object)),
					fmt.Sprintf("span %d to %d is outside document %s, which has %d bytes", c.start, c.end, cut(b.docs.bytes(s.Doc)), d.size),
					"give the document's text, or spans that lie in it")
			}
			ends := b.ends[d.first:d.end]
			k, _ := slices.BinarySearch(ends, c.end)
			if k < len(ends) && ends[k] == c.end && (k == 0 && c.start == 0 || k > 0 && ends[k-1]+1 == c.start) {
				plain = append(plain, uint64(e)<<32|uint64(a.docFirst[s.Doc])+uint64(k))
			} else {
				spans = append(spans, span{e, s.Doc, c.start, c.end})
			}
		}
	}
	b.cites = list[cite]{}
	slices.Sort(plain)
	plain = slices.Compact(plain)
	if uint64(len(plain)) > math.MaxUint32 {
		return refuse("evidence", "more than a graph holds, 4294967295 items", "split the source")
	}
	if len(plain) > 0 {
		a.evOff, a.ev = make([]uint32, g.Edges()+1), make([]uint32, len(plain))
		for i, v := range plain {
			a.evOff[v>>32+1] = uint32(i + 1)
			a.ev[i] = uint32(v)
		}
		for e := range g.Edges() { // edges without evidence end where the one before ends
			a.evOff[e+1] = max(a.evOff[e+1], a.evOff[e])
		}
	}
	slices.SortFunc(spans, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.edge, y.edge), cmp.Compare(x.doc, y.doc), cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end))
	})
	for _, s := range slices.Compact(spans) {
		a.spanEdge, a.spanDoc = append(a.spanEdge, s.edge), append(a.spanDoc, s.doc)
		a.spanStart, a.spanEnd = append(a.spanStart, s.start), append(a.spanEnd, s.end)
	}
	return nil
}

// qualifiers sorts the sets by edge, then document, then order of appearance, and drops equal ones of one document.
func (b *Builder) qualifiers(a *arrays, g *csr.Graph) {
	type set struct{ edge, doc, first, end uint32 }
	sets := make([]set, len(b.sets))
	for i, s := range b.sets {
		e := *b.edges.at(int(s.stmt))
		sets[i] = set{find(g, e), e.Doc, s.first, s.end}
	}
	slices.SortStableFunc(sets, func(x, y set) int { return cmp.Or(cmp.Compare(x.edge, y.edge), cmp.Compare(x.doc, y.doc)) })
	seen := map[string]bool{} // of one edge and document
	for i, s := range sets {
		if i > 0 && (s.edge != sets[i-1].edge || s.doc != sets[i-1].doc) {
			clear(seen)
		}
		own := b.quals[s.first:s.end]
		if key := string(raw(own)); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		if len(a.qualOff) == 0 {
			a.qualOff = append(a.qualOff, 0)
		}
		a.qualEdge, a.qualDoc = append(a.qualEdge, s.edge), append(a.qualDoc, s.doc)
		for i := 0; i < len(own); i += 2 {
			a.qualProp, a.qualTo = append(a.qualProp, own[i]), append(a.qualTo, own[i+1])
		}
		a.qualOff = append(a.qualOff, uint32(len(a.qualProp)))
	}
	b.sets, b.quals = nil, nil
}

// labels makes the columns of entities and relations. An alias that is the name already is none.
func (b *Builder) labels(a *arrays) error {
	n := b.ents.len()
	a.entName = project(b.entity, n, func(e entityRow) uint32 { return e.name })
	a.entZH = project(b.entity, n, func(e entityRow) uint32 { return e.zh })
	a.entDesc = project(b.entity, n, func(e entityRow) uint32 { return e.desc })
	a.entType = project(b.entity, n, func(e entityRow) uint32 { return e.typ })
	kept := b.aliases[:0]
	for _, p := range b.aliases {
		e := &b.entity[p.of]
		if p.item == e.name || p.item == e.zh || e.name == 0 && string(b.strs.bytes(p.item)) == string(b.ents.bytes(p.of)) {
			continue
		}
		kept = append(kept, p)
	}
	if len(kept) > 0 {
		a.aliasOff, a.alias = kept.rows(n, b.strs.len())
	}
	if len(b.mentions) > 0 {
		a.mentionOff, a.mention = b.mentions.rows(n, b.docs.len())
		for v := range n {
			slices.Sort(a.mention[a.mentionOff[v]:a.mentionOff[v+1]])
		}
	}
	b.aliases, b.mentions, b.entity = nil, nil, nil
	n = b.rels.len()
	a.relLabel = project(b.relation, n, func(r relationRow) uint32 { return r.label })
	a.relZH = project(b.relation, n, func(r relationRow) uint32 { return r.zh })
	a.relDesc = project(b.relation, n, func(r relationRow) uint32 { return r.desc })
	return nil
}

func (b *Builder) citations(a *arrays) error {
	n := b.docs.len()
	a.docTitle = project(b.document, n, func(d documentRow) uint32 { return d.title })
	a.docURL = project(b.document, n, func(d documentRow) uint32 { return d.url })
	for i := range b.document {
		d := &b.document[i]
		if !d.given {
			d.sha = sha256.Sum256(nil)
		}
		a.docSHA = append(a.docSHA, d.sha[:]...)
	}
	a.entIDOff, a.relIDOff, a.docIDOff = b.ents.offsets(), b.rels.offsets(), b.docs.offsets()
	a.strOff, a.typeOff = b.strs.offsets(), b.types.offsets()
	return nil
}

// indices makes what names and ids are found by.
func (b *Builder) indices(a *arrays) error {
	byID := func(t *table) index {
		k := make(keys, 0, t.len())
		for n := range uint32(t.len()) {
			k = k.add(t.bytes(n), n)
		}
		return k.index()
	}
	a.entByID, a.relByID, a.docByID = byID(b.ents), byID(b.rels), byID(b.docs)
	a.entByName = names(b.ents.len(), b.strs.string, a.aliasOff, a.alias, a.entName, a.entZH)
	a.relByName = names(b.rels.len(), b.strs.string, nil, nil, a.relLabel, a.relZH)
	return nil
}

// names is the index by name of n entities, or of relations, which have no aliases.
func names(n int, text func(uint32) string, aliasOff, alias []uint32, columns ...[]uint32) index {
	var k keys
	for v := range uint32(n) {
		for _, c := range columns {
			if s := cell(c, v); s != 0 {
				k = k.addName(text(s), v)
			}
		}
		for _, s := range row(aliasOff, alias, v) {
			k = k.addName(text(s), v)
		}
	}
	return k.index()
}

func (b *Builder) writeText(w io.Writer) error {
	var line []byte
	for i := range b.document {
		d := &b.document[i]
		if d.first == d.end {
			continue
		}
		var err error
		if line, err = b.texts.read(line, d.at, int(d.size)); err != nil {
			return err
		}
		line = append(line, '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// project is one column of n rows; nil when all of it is 0.
func project[T any](rows []T, n int, field func(T) uint32) []uint32 {
	column := make([]uint32, n)
	any := false
	for i := range min(n, len(rows)) {
		column[i] = field(rows[i])
		any = any || column[i] != 0
	}
	if !any {
		return nil
	}
	return column
}

func pad[T any](rows []T, n int) []T { return append(rows, make([]T, n-len(rows))...) }
