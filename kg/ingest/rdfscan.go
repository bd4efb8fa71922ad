package ingest

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// termKind tells the terms of RDF apart; 0 is no term.
type termKind uint8

const (
	iriTerm termKind = iota + 1
	blankTerm
	literalTerm
)

// term is a decoded term. Its slices are parts of the line, or of the scanner's scratch where there were escapes.
type term struct {
	kind     termKind
	value    []byte // IRI without brackets, blank node label without "_:", or text
	lang     []byte // of a literal, as written
	datatype []byte // IRI of a literal's type; empty with lang and for plain strings
}

// quad is a statement; g has kind 0 in the default graph.
type quad struct{ s, p, o, g term }

// rdfScanner reads lines of N-Triples and N-Quads (RDF 1.1, W3C recommendations of 2014). It is lenient in one point:
// blank node labels may hold any letter beyond ASCII. It does not allocate except for escapes.
type rdfScanner struct {
	b       []byte
	i       int
	scratch []byte
	fault   *fault

	before []byte               // the subject of the statement before: statements of one subject stand together
	known  [1024]knownPredicate // predicates that are known to be good IRIs, by a cheap hash
	slot   *knownPredicate      // of the statement's predicate
}

// knownPredicate is a predicate with what its statements are for, once that was looked up.
type knownPredicate struct {
	iri    []byte
	use    use
	sorted bool
}

// byte classes
const (
	inIRI  = 1 << iota // may stand between < and >
	inName             // ASCII letter or digit, or _ : - . (a blank node's label)
	alpha
	alnum
	space
)

// classes is a compiled table.
var classes = func() (t [256]uint8) {
	for c := range 256 {
		if c > 0x20 && !bytes.ContainsRune([]byte("<>\"{}|^`\\"), rune(c)) || c >= 0x80 {
			t[c] |= inIRI
		}
		letter, digit := c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9'
		if letter && c < 0x80 {
			t[c] |= alpha | alnum | inName
		}
		if digit {
			t[c] |= alnum | inName
		}
		if c == '_' || c == ':' || c == '-' || c == '.' || c >= 0x80 {
			t[c] |= inName
		}
	}
	t[' '] |= space
	t['\t'] |= space
	return t
}()

// start begins a line.
func (x *rdfScanner) start(line []byte) bool {
	x.b, x.i, x.scratch, x.fault = line, 0, x.scratch[:0], nil
	if !utf8.Valid(line) {
		for i := 0; i < len(line); {
			r, n := utf8.DecodeRune(line[i:])
			if r == utf8.RuneError && n == 1 {
				x.i = i
				return x.fail("expected UTF-8, found byte 0x%02x", line[i])
			}
			i += n
		}
	}
	return true
}

func (x *rdfScanner) fail(format string, args ...any) bool {
	if x.fault == nil {
		x.fault = &fault{x.i + 1, fmt.Sprintf(format, args...)}
	}
	return false
}

// found describes what stands at the scanner's place.
func (x *rdfScanner) found() string {
	if x.i >= len(x.b) {
		return "the end of the line"
	}
	rest := x.b[x.i:]
	if len(rest) > 24 {
		n := 24
		for n > 0 && !utf8.RuneStart(rest[n]) {
			n--
		}
		rest = rest[:n]
	}
	return fmt.Sprintf("%q", rest)
}

func (x *rdfScanner) blanks() {
	for x.i < len(x.b) && classes[x.b[x.i]]&space != 0 {
		x.i++
	}
}

// next reads the next statement of the line into q. It is false at the end of the line and after a fault.
// A CR within a line ends a statement as LF does.
func (x *rdfScanner) next(q *quad, graphs bool) bool {
	for {
		x.blanks()
		if x.i == len(x.b) {
			return false
		}
		if c := x.b[x.i]; c == '\r' {
			x.i++
		} else if c == '#' {
			x.comment()
		} else {
			break
		}
	}
	again := x.again(&q.s)
	if !again && !x.subject(&q.s, "a subject") {
		return false
	}
	x.blanks()
	if q.p.kind = iriTerm; !x.predicate(&q.p.value) {
		return false
	}
	x.blanks()
	if !x.object(&q.o) {
		return false
	}
	x.blanks()
	q.g = term{}
	if graphs && x.i < len(x.b) && (x.b[x.i] == '<' || x.b[x.i] == '_') {
		if !x.subject(&q.g, "a graph") {
			return false
		}
		x.blanks()
	}
	if x.i == len(x.b) || x.b[x.i] != '.' {
		if !graphs && x.i < len(x.b) && x.b[x.i] == '<' {
			return x.fail("expected \".\", found a fourth term: this is N-Quads (.nq), not N-Triples")
		}
		return x.fail("expected \".\" after the object, found %s", x.found())
	}
	x.i++
	x.blanks()
	if x.i < len(x.b) && x.b[x.i] != '#' && x.b[x.i] != '\r' {
		return x.fail("expected the end of the line, found %s", x.found())
	}
	if !again && q.s.kind == iriTerm {
		x.before = append(x.before[:0], q.s.value...)
	}
	return true
}

// again reads the subject if it is that of the statement before, which is known to be a good IRI.
func (x *rdfScanner) again(t *term) bool {
	from := x.i + 1
	to := from + len(x.before)
	if len(x.before) > 0 && to < len(x.b) && x.b[x.i] == '<' && x.b[to] == '>' && string(x.b[from:to]) == string(x.before) {
		t.kind, t.value, x.i = iriTerm, x.b[from:to:to], to+1
		return true
	}
	return false
}

// predicate reads an IRI; a graph has few, so that most are known to be good.
func (x *rdfScanner) predicate(into *[]byte) bool {
	if x.i == len(x.b) || x.b[x.i] != '<' {
		return x.fail("expected a predicate in < >, found %s", x.found())
	}
	from := x.i + 1
	n := bytes.IndexByte(x.b[from:], '>')
	if n < 2 { // no absolute IRI
		return x.iri(into)
	}
	iri := x.b[from : from+n : from+n]
	h := uint32(n)
	for _, c := range iri[max(0, n-5):] { // names differ at their ends
		h = h*31 + uint32(c)
	}
	x.slot = &x.known[h%uint32(len(x.known))]
	if string(x.slot.iri) == string(iri) {
		*into, x.i = iri, from+n+1
		return true
	}
	if !x.iri(into) {
		return false
	}
	*x.slot = knownPredicate{iri: append(x.slot.iri[:0], *into...)}
	return true
}

func (x *rdfScanner) comment() {
	if n := bytes.IndexByte(x.b[x.i:], '\r'); n >= 0 {
		x.i += n
	} else {
		x.i = len(x.b)
	}
}

// subject reads an IRI or a blank node.
func (x *rdfScanner) subject(t *term, what string) bool {
	if x.i < len(x.b) {
		switch x.b[x.i] {
		case '<':
			t.kind = iriTerm
			return x.iri(&t.value)
		case '_':
			t.kind = blankTerm
			return x.blankNode(&t.value)
		case '@', 'P', 'p', 'B', 'b':
			if turtle(x.b[x.i:]) {
				return x.fail("expected %s in < > or _:, found %s: Turtle and TriG are not read, convert to N-Triples or N-Quads first", what, x.found())
			}
		}
	}
	return x.fail("expected %s in < > or _:, found %s", what, x.found())
}

func turtle(b []byte) bool {
	low := bytes.ToLower(b[:min(len(b), 8)])
	for _, k := range []string{"@prefix", "@base", "prefix", "base"} {
		if bytes.HasPrefix(low, []byte(k)) {
			return true
		}
	}
	return false
}

func (x *rdfScanner) object(t *term) bool {
	if x.i < len(x.b) && x.b[x.i] == '"' {
		return x.literal(t)
	}
	t.lang, t.datatype = nil, nil
	if x.i < len(x.b) && (x.b[x.i] == '<' || x.b[x.i] == '_') {
		return x.subject(t, "an object")
	}
	return x.fail("expected an object in < >, _: or quotes, found %s", x.found())
}
