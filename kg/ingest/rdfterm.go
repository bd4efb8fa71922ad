package ingest

import (
	"bytes"
	"unicode/utf8"
)

// iri reads from < to >.
func (x *rdfScanner) iri(into *[]byte) bool {
	from := x.i + 1
	i := from
	for i < len(x.b) && classes[x.b[i]]&inIRI != 0 {
		i++
	}
	if i < len(x.b) && x.b[i] == '>' {
		*into = x.b[from:i:i]
		x.i = i + 1
		return x.absolute(*into, from)
	}
	return x.iriEscaped(into, from, i)
}

// iriEscaped goes on at i, where a byte stands that is neither plain nor the end.
func (x *rdfScanner) iriEscaped(into *[]byte, from, i int) bool {
	at := len(x.scratch)
	x.scratch = append(x.scratch, x.b[from:i]...)
	for i < len(x.b) {
		switch c := x.b[i]; {
		case c == '>':
			*into = x.scratch[at:len(x.scratch):len(x.scratch)]
			x.i = i + 1
			return x.absolute(*into, from)
		case c == '\\' && i+1 < len(x.b) && (x.b[i+1] == 'u' || x.b[i+1] == 'U'):
			x.i = i
			r, n, ok := x.codePoint(i)
			if !ok {
				return false
			}
			if r < 0x80 && classes[r]&inIRI == 0 {
				return x.fail("expected an IRI, found an escape of %q, which no IRI may hold", r)
			}
			x.scratch = utf8.AppendRune(x.scratch, r)
			i += n
		case classes[c]&inIRI != 0:
			x.scratch = append(x.scratch, c)
			i++
		case c == '<' && i == from:
			x.i = i
			return x.fail("expected an IRI, found a quoted triple (RDF-star), which is not read")
		default:
			x.i = i
			return x.fail("expected an IRI up to \">\", found %s, which no IRI may hold (write it as %%XX or \\uXXXX)", x.found())
		}
	}
	x.i = from - 1
	return x.fail("expected \">\" at the end of the IRI, found the end of the line")
}

// absolute checks for a scheme.
func (x *rdfScanner) absolute(iri []byte, from int) bool {
	if len(iri) > 0 && classes[iri[0]]&alpha != 0 {
		for _, c := range iri[1:] {
			if c == ':' {
				return true
			}
			if classes[c]&alnum == 0 && c != '+' && c != '-' && c != '.' {
				break
			}
		}
	}
	x.i = from - 1
	return x.fail("expected an absolute IRI such as <http://...>, found %s", x.found())
}

func (x *rdfScanner) blankNode(into *[]byte) bool {
	if x.i+1 >= len(x.b) || x.b[x.i+1] != ':' {
		return x.fail("expected _: and a label, found %s", x.found())
	}
	from := x.i + 2
	i := from
	for i < len(x.b) && classes[x.b[i]]&inName != 0 {
		i++
	}
	for i > from && x.b[i-1] == '.' { // ends the statement
		i--
	}
	if i == from || x.b[from] == '-' || x.b[from] == '.' {
		return x.fail("expected a label after _:, found %s", x.found())
	}
	*into = x.b[from:i:i]
	x.i = i
	return true
}

// literal reads a quoted string with its language or type.
func (x *rdfScanner) literal(t *term) bool {
	t.kind, t.lang, t.datatype = literalTerm, nil, nil
	open := x.i
	from := open + 1
	end := bytes.IndexByte(x.b[from:], '"')
	if end < 0 {
		return x.fail("expected a closing quote, found the end of the line")
	}
	text := x.b[from : from+end : from+end]
	if bytes.IndexByte(text, '\\') >= 0 {
		if !x.textEscaped(&text, from) {
			return false
		}
	} else {
		x.i = from + end + 1
	}
	if i := bytes.IndexByte(text, '\r'); i >= 0 && bytes.IndexByte(x.b[from:x.i-1], '\r') >= 0 {
		x.i = open
		return x.fail("expected a string on one line, found a CR in it (write it as \\r)")
	}
	t.value = text
	if x.i < len(x.b) && x.b[x.i] == '@' {
		return x.language(t)
	}
	if x.i+1 < len(x.b) && x.b[x.i] == '^' && x.b[x.i+1] == '^' {
		x.i += 2
		if x.i == len(x.b) || x.b[x.i] != '<' {
			return x.fail("expected a datatype in < > after ^^, found %s", x.found())
		}
		return x.iri(&t.datatype)
	}
	return true
}

// language reads @, letters, then -letters or digits any number of times.
func (x *rdfScanner) language(t *term) bool {
	from := x.i + 1
	i := from
	for i < len(x.b) && classes[x.b[i]]&alpha != 0 {
		i++
	}
	if i == from {
		return x.fail("expected a language tag such as @en, found %s", x.found())
	}
	for i+1 < len(x.b) && x.b[i] == '-' && classes[x.b[i+1]]&alnum != 0 {
		for i++; i < len(x.b) && classes[x.b[i]]&alnum != 0; i++ {
		}
	}
	t.lang = x.b[from:i:i]
	x.i = i
	return true
}

// textEscaped decodes the string that begins at from and leaves x.i after its closing quote.
func (x *rdfScanner) textEscaped(into *[]byte, from int) bool {
	at := len(x.scratch)
	for i := from; i < len(x.b); {
		n := bytes.IndexAny(x.b[i:], "\\\"")
		if n < 0 {
			break
		}
		x.scratch = append(x.scratch, x.b[i:i+n]...)
		i += n
		if x.b[i] == '"' {
			*into = x.scratch[at:len(x.scratch):len(x.scratch)]
			x.i = i + 1
			return true
		}
		x.i = i
		r, n, ok := x.escape(i)
		if !ok {
			return false
		}
		x.scratch = utf8.AppendRune(x.scratch, r)
		i += n
	}
	x.i = from - 1
	return x.fail("expected a closing quote, found the end of the line")
}

// escape decodes the escape at i; n is its length.
func (x *rdfScanner) escape(i int) (r rune, n int, ok bool) {
	if i+1 < len(x.b) {
		switch x.b[i+1] {
		case 't':
			return '\t', 2, true
		case 'b':
			return '\b', 2, true
		case 'n':
			return '\n', 2, true
		case 'r':
			return '\r', 2, true
		case 'f':
			return '\f', 2, true
		case '"', '\'', '\\':
			return rune(x.b[i+1]), 2, true
		case 'u', 'U':
			return x.codePoint(i)
		}
	}
	return 0, 0, x.fail("expected an escape \\t \\b \\n \\r \\f \\\" \\' \\\\ \\uXXXX or \\UXXXXXXXX, found %s", x.found())
}

// codePoint decodes \uXXXX or \UXXXXXXXX at i. A pair of surrogates, as programs on UTF-16 write it, is one character.
func (x *rdfScanner) codePoint(i int) (r rune, n int, ok bool) {
	digits := 4
	if x.b[i+1] == 'U' {
		digits = 8
	}
	v, ok := hex(x.b, i+2, digits)
	if !ok {
		return 0, 0, x.fail("expected %d hex digits after \\%c, found %s", digits, x.b[i+1], x.found())
	}
	if v >= 0xd800 && v < 0xdc00 && i+7 < len(x.b) && x.b[i+6] == '\\' && x.b[i+7] == 'u' && digits == 4 {
		if low, ok := hex(x.b, i+8, 4); ok && low >= 0xdc00 && low < 0xe000 {
			return rune(0x10000 + (v-0xd800)<<10 + low - 0xdc00), 12, true
		}
	}
	if v > utf8.MaxRune || v >= 0xd800 && v < 0xe000 {
		return 0, 0, x.fail("expected a Unicode character, found %s, which is none", x.b[i:i+2+digits])
	}
	return rune(v), 2 + digits, true
}

func hex(b []byte, i, digits int) (v uint32, ok bool) {
	if i+digits > len(b) {
		return 0, false
	}
	for _, c := range b[i : i+digits] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		v = v<<4 | uint32(c)
	}
	return v, true
}
