package ingest

import (
	"bufio"
	"fmt"
	"io"
)

// jsonValues cuts a stream into JSON values: the elements of one array, the members of one object, or values one after
// the other. It keeps one value in memory.
type jsonValues struct {
	r       *bufio.Reader
	max     int
	line    int  // of the byte read last
	members bool // an object is not one value: its members are
	open    byte // bracket around the values, 0 for none
	begun   bool
	first   bool // no element yet
	buf     []byte
}

func newJSONValues(r io.Reader, limit int, members bool) *jsonValues {
	return &jsonValues{members: members, r: bufio.NewReaderSize(r, 64<<10), max: limit, line: 1}
}

// broken says that the stream as a whole is no JSON: nothing after it can be read.
type broken struct {
	line int
	msg  string
}

func (b *broken) Error() string { return b.msg }

func (v *jsonValues) broken(format string, args ...any) error {
	return &broken{v.line, fmt.Sprintf(format, args...)}
}

func (v *jsonValues) byte() (byte, error) {
	c, err := v.r.ReadByte()
	if c == '\n' && err == nil {
		v.line++
	}
	return c, err
}

// token is the next byte that is no blank.
func (v *jsonValues) token() (byte, error) {
	for {
		c, err := v.byte()
		if err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, err
		}
	}
}

func (v *jsonValues) back(c byte) {
	v.r.UnreadByte() // follows a ReadByte, so it cannot fail
	if c == '\n' {
		v.line--
	}
}

// next is the next value with the line it begins on; key is raw, for members of an object. Both are valid until the
// following call. The error is io.EOF at the end, *broken, or what reading gave.
func (v *jsonValues) next() (key, value []byte, line int, err error) {
	v.buf = v.buf[:0]
	c, err := v.token()
	if !v.begun && err == nil {
		v.begun = true
		if c == 0xef { // byte order mark
			if rest, _ := v.r.Peek(2); string(rest) == "\xbb\xbf" {
				v.r.Discard(2)
				c, err = v.token()
			}
		}
		if err == nil && (c == '[' || c == '{' && v.members) {
			v.open, v.first = c, true
			c, err = v.token()
		}
	}
	if err == io.EOF && v.open != 0 {
		return nil, nil, 0, v.broken("expected %q at the end, found the end of the file: it is cut off", v.open+2)
	}
	if err != nil {
		return nil, nil, 0, err
	}
	if v.open != 0 {
		if c == v.open+2 { // ] or }
			if c, err = v.token(); err == nil {
				return nil, nil, 0, v.broken("expected the end of the file, found %q", c)
			}
			v.open = 0
			return nil, nil, 0, err
		}
		if !v.first {
			if c != ',' {
				return nil, nil, 0, v.broken("expected \",\" or %q, found %q", v.open+2, c)
			}
			if c, err = v.token(); err != nil {
				return nil, nil, 0, v.cut(err)
			}
		}
		v.first = false
	}
	if v.open == '{' {
		if c != '"' {
			return nil, nil, 0, v.broken("expected a key in quotes, found %q", c)
		}
		if err := v.string(); err != nil {
			return nil, nil, 0, err
		}
		if c, err = v.token(); err != nil || c != ':' {
			return nil, nil, 0, v.broken("expected \":\" after the key %s, found %q", v.buf, c)
		}
		if c, err = v.token(); err != nil {
			return nil, nil, 0, v.cut(err)
		}
	}
	n := len(v.buf)
	line = v.line
	if err := v.value(c); err != nil {
		return nil, nil, 0, err
	}
	return v.buf[:n], v.buf[n:], line, nil
}

func (v *jsonValues) cut(err error) error {
	if err == io.EOF {
		return v.broken("expected a value, found the end of the file: it is cut off")
	}
	return err
}

func (v *jsonValues) add(c byte) error {
	if len(v.buf) >= v.max {
		return v.broken("expected values of at most %d bytes, found a longer one", v.max)
	}
	v.buf = append(v.buf, c)
	return nil
}

// string reads up to the closing quote; the opening one is read.
func (v *jsonValues) string() error {
	if err := v.add('"'); err != nil {
		return err
	}
	for escaped := false; ; {
		c, err := v.byte()
		if err != nil {
			return v.cut(err)
		}
		if err := v.add(c); err != nil {
			return err
		}
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			return nil
		}
	}
}

// value reads a value that begins with c.
func (v *jsonValues) value(c byte) error {
	depth := 0
	for {
		switch c {
		case '"':
			if err := v.string(); err != nil {
				return err
			}
		case '{', '[':
			depth++
			if err := v.add(c); err != nil {
				return err
			}
		case '}', ']', ',':
			if depth == 0 {
				return v.broken("expected a value, found %q", c)
			}
			if c != ',' {
				depth--
			}
			if err := v.add(c); err != nil {
				return err
			}
		default:
			if depth == 0 {
				return v.scalar(c)
			}
			if err := v.add(c); err != nil {
				return err
			}
		}
		if depth == 0 {
			return nil
		}
		var err error
		if c, err = v.byte(); err != nil {
			return v.cut(err)
		}
	}
}

// scalar reads a number, true, false or null.
func (v *jsonValues) scalar(c byte) error {
	for {
		if err := v.add(c); err != nil {
			return err
		}
		var err error
		c, err = v.byte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch c {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			v.back(c)
			return nil
		}
	}
}

// eachJSON hands every value of in to parse; line numbers are those a value begins on.
func (r *run) eachJSON(in *input, members bool, parse func(key, value []byte) error) error {
	v := newJSONValues(in.r, r.opt.MaxLine, members)
	for {
		key, value, line, err := v.next()
		if err == io.EOF {
			return nil
		}
		if b, ok := err.(*broken); ok {
			r.stats.Lines++
			return r.broken(in, b)
		}
		if err != nil {
			return r.readError(in, v.line, err)
		}
		if err := r.line(); err != nil {
			return err
		}
		err = parse(key, value)
		if f, ok := err.(*fault); ok {
			text := value
			if len(key) > 0 {
				text = append(append(append([]byte(nil), key...), ':'), value...)
			}
			err = r.bad(in, line, text, false, f)
		}
		if err != nil {
			return err
		}
	}
}
