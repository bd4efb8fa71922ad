package ingest

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// jscan pulls through one JSON value in memory and passes over what nobody asks for at the speed of a byte scan; of
// what it passes over it checks quotes and brackets only. After the first fault every method is a no-op.
type jscan struct {
	b       []byte
	i       int
	fresh   bool   // just inside a bracket: no comma comes first
	scratch []byte // of decoded strings; grows during the line
	f       *fault
}

func (s *jscan) fail(format string, args ...any) {
	if s.f == nil {
		s.f = &fault{s.i + 1, fmt.Sprintf(format, args...)}
	}
}

func (s *jscan) found() string {
	if s.i >= len(s.b) {
		return "the end"
	}
	return fmt.Sprintf("%q", s.b[s.i:min(len(s.b), s.i+16)])
}

func (s *jscan) blanks() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

func (s *jscan) is(c byte) bool {
	s.blanks()
	return s.f == nil && s.i < len(s.b) && s.b[s.i] == c
}

func (s *jscan) null() bool {
	if s.is('n') && bytes.HasPrefix(s.b[s.i:], []byte("null")) {
		s.i += 4
		return true
	}
	return false
}

// object enters an object. Null and an empty array, which PHP writes for an empty map, are passed over: false.
func (s *jscan) object() bool {
	if s.null() {
		return false
	}
	if s.is('[') {
		at := s.i
		s.i++
		if s.is(']') {
			s.i++
			return false
		}
		s.i = at
	}
	return s.enter('{', "an object")
}

// array enters an array; null is passed over. An empty object stands for an empty array likewise.
func (s *jscan) array() bool {
	if s.null() {
		return false
	}
	return s.enter('[', "an array")
}

func (s *jscan) enter(open byte, what string) bool {
	if !s.is(open) {
		s.fail("expected %s, found %s", what, s.found())
		return false
	}
	s.i++
	s.fresh = true
	return true
}

// more goes to the next element, or leaves at the closing bracket.
func (s *jscan) more(end byte) bool {
	if s.is(end) {
		s.i++
		s.fresh = false
		return false
	}
	if !s.fresh {
		if !s.is(',') {
			s.fail("expected \",\" or %q, found %s", end, s.found())
			return false
		}
		s.i++
	}
	s.fresh = false
	return s.f == nil
}

// key reads a key and its colon.
func (s *jscan) key() []byte {
	k := s.str()
	if !s.is(':') {
		s.fail("expected \":\", found %s", s.found())
		return nil
	}
	s.i++
	return k
}

// text reads a string; null is "".
func (s *jscan) text() []byte {
	if s.null() {
		return nil
	}
	return s.str()
}

// str reads a string. The result is part of the input, or of scratch when there are escapes.
func (s *jscan) str() []byte {
	if !s.is('"') {
		s.fail("expected a string, found %s", s.found())
		return nil
	}
	open := s.i
	s.i++
	from := s.i
	for i := from; i < len(s.b); i++ {
		switch s.b[i] {
		case '"':
			s.i = i + 1
			return s.b[from:i:i]
		case '\\':
			return s.escaped(open, i)
		}
	}
	s.i = open
	s.fail("expected a closing quote, found the end")
	return nil
}

// escaped goes on with the string that began at open, at its first backslash.
func (s *jscan) escaped(open, i int) []byte {
	at := len(s.scratch)
	s.scratch = append(s.scratch, s.b[open+1:i]...)
	for i < len(s.b) {
		c := s.b[i]
		if c == '"' {
			s.i = i + 1
			return s.scratch[at:len(s.scratch):len(s.scratch)]
		}
		if c != '\\' {
			s.scratch = append(s.scratch, c)
			i++
			continue
		}
		s.i = i
		if i+1 == len(s.b) {
			break
		}
		if e := bytes.IndexByte([]byte(`"\/bfnrt`), s.b[i+1]); e >= 0 {
			s.scratch = append(s.scratch, "\"\\/\b\f\n\r\t"[e])
			i += 2
			continue
		}
		v, ok := hex(s.b, i+2, 4)
		if s.b[i+1] != 'u' || !ok {
			s.fail("expected a JSON escape, found %s", s.found())
			return nil
		}
		i += 6
		r := rune(v)
		if v >= 0xd800 && v < 0xe000 {
			r = utf8.RuneError
			if v < 0xdc00 && i+1 < len(s.b) && s.b[i] == '\\' && s.b[i+1] == 'u' {
				if low, ok := hex(s.b, i+2, 4); ok && low >= 0xdc00 && low < 0xe000 {
					r = rune(0x10000 + (v-0xd800)<<10 + low - 0xdc00)
					i += 6
				}
			}
		}
		s.scratch = utf8.AppendRune(s.scratch, r)
	}
	s.i = open
	s.fail("expected a closing quote, found the end")
	return nil
}

// raw passes over a value and returns its bytes.
func (s *jscan) raw() []byte {
	s.blanks()
	from := s.i
	s.skip()
	if s.f != nil {
		return nil
	}
	return s.b[from:s.i]
}

// skip passes over a value.
func (s *jscan) skip() {
	s.blanks()
	if s.f != nil {
		return
	}
	from, depth := s.i, 0
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case '"':
			if !s.skipString() {
				return
			}
		case '{', '[':
			depth++
			s.i++
		case '}', ']':
			if depth == 0 { // no value at all, or a number that the bracket ends
				if s.i == from {
					s.fail("expected a value, found %s", s.found())
				}
				return
			}
			depth--
			s.i++
		case ',':
			if depth == 0 {
				if s.i == from {
					s.fail("expected a value, found %s", s.found())
				}
				return
			}
			s.i++
			continue
		default:
			s.i++
			continue
		}
		if depth == 0 {
			s.fresh = false
			return
		}
	}
	if depth > 0 || s.i == from {
		s.fail("expected the end of a value, found the end")
	}
}

func (s *jscan) skipString() bool {
	open := s.i
	s.i++
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			s.i = open
			s.fail("expected a closing quote, found the end")
			return false
		}
		s.i += n + 1
		slashes := 0
		for j := s.i - 2; j > open && s.b[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
	}
}

// end checks that nothing follows.
func (s *jscan) end() {
	if s.blanks(); s.i < len(s.b) {
		s.fail("expected the end, found %s", s.found())
	}
}
