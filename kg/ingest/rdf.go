package ingest

import (
	"bytes"
	"strconv"

	"github.com/quarry-rl/quarry/kg/store"
)

// use is what a predicate's statements are for.
type use uint8

const (
	useEdge use = iota
	useName
	useAlias
	useDescription
	useType
	useRelation // says which predicate the subject describes
)

const (
	rdfNS  = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	rdfsNS = "http://www.w3.org/2000/01/rdf-schema#"
	skosNS = "http://www.w3.org/2004/02/skos/core#"
	owlNS  = "http://www.w3.org/2002/07/owl#"
)

// described lists the predicates that describe an entity and make no edges.
func described() map[string]use {
	return map[string]use{
		rdfsNS + "label":                        useName,
		skosNS + "prefLabel":                    useName,
		"http://schema.org/name":                useName,
		"https://schema.org/name":               useName,
		skosNS + "altLabel":                     useAlias,
		"http://schema.org/alternateName":       useAlias,
		"https://schema.org/alternateName":      useAlias,
		"http://xmlns.com/foaf/0.1/name":        useAlias,
		"http://schema.org/description":         useDescription,
		"https://schema.org/description":        useDescription,
		rdfsNS + "comment":                      useDescription,
		"http://purl.org/dc/terms/description":  useDescription,
		rdfNS + "type":                          useType,
		"http://wikiba.se/ontology#directClaim": useRelation,
	}
}

// maxPredicates bounds the table of predicates; a graph holds fewer.
const maxPredicates = 1 << 16

// rdfReader is the state that all N-Triples and N-Quads of a run share.
type rdfReader struct {
	scan rdfScanner
	uses map[string]use // of the predicates met

	names  [3][]byte // buffers for ids of blank nodes and literals
	prefix []byte    // of blank nodes of this file

	subject   []byte // whose description is being collected
	about     labels
	pending   bool
	relations []string // predicates the subject describes

	graph []byte // the last one, as id
	doc   string // the same
}

func (r *run) readRDF(in *input, graphs bool) error {
	x := r.rdf
	if x == nil {
		x = &rdfReader{uses: map[string]use{}}
		if !r.opt.RawRDF {
			x.uses = described()
		}
		r.rdf = x
	}
	x.prefix = append(x.prefix[:0], "_:"...)
	x.prefix = strconv.AppendInt(x.prefix, int64(in.number), 10)
	x.prefix = append(x.prefix, '.')
	if in.entries > 0 { // blank nodes are one file's own
		x.prefix = append(strconv.AppendInt(x.prefix, int64(in.entries), 10), '.')
	}
	var q quad
	err := r.each(in, func(_ int, line []byte) error {
		if !x.scan.start(line) {
			return x.scan.fault
		}
		for n := 0; x.scan.next(&q, graphs); n++ {
			if err := x.quad(r, &q); err != nil {
				return err
			}
		}
		if x.scan.fault != nil {
			return x.scan.fault
		}
		return nil
	})
	if err != nil {
		return err
	}
	return x.flush(r)
}

func (x *rdfReader) use(p []byte) use {
	k := x.scan.slot
	if k.sorted { // the slot is of p: the scanner put it there
		return k.use
	}
	u, ok := x.uses[string(p)]
	if !ok && len(x.uses) < maxPredicates {
		x.uses[string(p)] = useEdge
	}
	k.use, k.sorted = u, true
	return u
}

func (x *rdfReader) quad(r *run, q *quad) error {
	u := x.use(q.p.value)
	switch u {
	case useEdge:
		return x.edge(r, q)
	case useType, useRelation:
		if q.o.kind != iriTerm {
			return x.edge(r, q)
		}
	default:
		if q.o.kind != literalTerm {
			return x.edge(r, q)
		}
	}
	return x.describe(r, q, u)
}

// describe collects what is said of one subject on adjacent lines.
func (x *rdfReader) describe(r *run, q *quad, u use) error {
	s := x.node(&q.s, 0)
	if !x.pending || !bytes.Equal(s, x.subject) {
		if err := x.flush(r); err != nil {
			return err
		}
		x.subject, x.pending = append(x.subject[:0], s...), true
	}
	rank := rankOf(q.o.lang)
	switch u {
	case useName:
		x.about.label(q.o.value, rank)
	case useAlias:
		x.about.alias(q.o.value, rank)
	case useDescription:
		x.about.description(q.o.value, rank)
	case useRelation:
		x.relations = append(x.relations, string(q.o.value))
	case useType:
		x.class(r, string(q.o.value))
	}
	return nil
}

// class takes the first class that says something.
func (x *rdfReader) class(r *run, class string) {
	switch class {
	case owlNS + "Thing", owlNS + "NamedIndividual", rdfsNS + "Resource", skosNS + "Concept", "http://wikiba.se/ontology#Item":
		return
	case rdfNS + "Property", owlNS + "ObjectProperty", owlNS + "DatatypeProperty", owlNS + "AnnotationProperty", "http://wikiba.se/ontology#Property":
		x.about.typ = typeProperty
		return
	}
	if i := bytes.LastIndexAny([]byte(class), "/#"); i >= 0 && i+1 < len(class) {
		class = class[i+1:]
	}
	if x.about.typ != "" && x.about.typ != class {
		r.left("further type of an entity")
		return
	}
	x.about.typ = class
}

const typeProperty = "Property"

// flush sends what was collected. A subject that is a property, or was met as a predicate, names a relation.
func (x *rdfReader) flush(r *run) error {
	if !x.pending {
		return nil
	}
	id := string(x.subject)
	about, relations := x.about, x.relations
	x.pending, x.about, x.relations = false, labels{}, x.relations[:0]
	_, predicate := x.uses[id]
	if len(relations) == 0 && (predicate || about.typ == typeProperty) {
		relations = append(relations, id)
	}
	for _, p := range relations {
		if err := r.relation(about.relation(p)); err != nil {
			return err
		}
	}
	if predicate || about.typ == typeProperty { // an entity of its own would stand alone
		return nil
	}
	return r.entity(about.entity(id))
}

// node is the id of an IRI or a blank node; slot says which buffer may hold it.
func (x *rdfReader) node(t *term, slot int) []byte {
	if t.kind == iriTerm {
		return t.value
	}
	x.names[slot] = append(append(x.names[slot][:0], x.prefix...), t.value...)
	return x.names[slot]
}

const (
	maxText   = 1024 // bytes of a text that becomes an entity
	leftText  = "text of more than 1024 bytes"
	leftOther = "text in another language than English and Chinese"
	leftLit   = "literal (dropped by option)"
)

// edge sends a statement; a literal object becomes an entity of its own.
func (x *rdfReader) edge(r *run, q *quad) error {
	s := x.node(&q.s, 0)
	var o []byte
	if q.o.kind != literalTerm {
		o = x.node(&q.o, 1)
	} else {
		typ := literalType(q.o.datatype)
		value := literalValue(q.o.value, typ)
		switch {
		case r.opt.DropLiterals:
			r.left(leftLit)
			return nil
		case len(value) > maxText:
			r.left(leftText)
			return nil
		case len(q.o.lang) > 0 && rankOf(q.o.lang) == langOther:
			r.left(leftOther)
			return nil
		}
		o = append(append(append(x.names[1][:0], typ...), ':'), value...)
		if len(q.o.lang) > 0 {
			o = append(append(o, '@'), q.o.lang...)
		}
		x.names[1] = o
		if err := r.literal(o, value, typ); err != nil {
			return err
		}
	}
	if q.g.kind == 0 {
		return r.triple(s, q.p.value, o)
	}
	if g := x.node(&q.g, 2); !bytes.Equal(g, x.graph) || x.doc == "" {
		x.graph, x.doc = append(x.graph[:0], g...), string(g)
	}
	return r.statement(&store.Statement{Subject: string(s), Predicate: string(q.p.value), Object: string(o), Doc: x.doc})
}
