package ingest

import (
	"bytes"
	"fmt"
	"io"
)

// lines reads a stream line by line into a buffer that grows with the longest line up to a limit.
type lines struct {
	r          io.Reader
	buf        []byte
	start, end int
	max        int
	n          int // number of the line last returned, from 1
	err        error
}

const firstBuffer = 256 << 10

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: r, buf: make([]byte, min(firstBuffer, limit+2)), max: limit}
}

// tooLong is a line above the limit; the lines after it can still be read.
type tooLong struct {
	head  []byte // how it begins
	limit int
}

func (e *tooLong) Error() string {
	return fmt.Sprintf("expected a line of at most %d bytes, found a longer one", e.limit)
}

// next is the next line without its line end (LF or CRLF) and, at the start of a stream, without a byte order mark.
// It is valid until the following call. At the end the error is io.EOF.
func (l *lines) next() ([]byte, error) {
	searched := l.start
	for {
		if i := bytes.IndexByte(l.buf[searched:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : searched+i]
			l.start = searched + i + 1
			return l.give(line)
		}
		searched = l.end
		if l.err != nil {
			if l.start < l.end && l.err == io.EOF {
				line := l.buf[l.start:l.end]
				l.start = l.end
				return l.give(line)
			}
			return nil, l.err
		}
		if l.end-l.start > l.max+1 { // one more for a CR
			return nil, l.skip()
		}
		searched -= l.fill()
	}
}

// fill reads more and returns by how much the line moved to the front.
func (l *lines) fill() (moved int) {
	if l.start > 0 && (l.end == len(l.buf) || l.start == l.end) {
		moved = l.start
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-moved
	}
	if l.end == len(l.buf) {
		grown := make([]byte, min(2*len(l.buf), l.max+2))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	for empty := 0; ; empty++ {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		l.err = err
		if n > 0 || err != nil {
			return moved
		}
		if empty == 100 {
			l.err = io.ErrNoProgress
			return moved
		}
	}
}

func (l *lines) give(line []byte) ([]byte, error) {
	l.n++
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if l.n == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) > l.max {
		return nil, &tooLong{bytes.Clone(line[:min(len(line), keptOfLong)]), l.max}
	}
	return line, nil
}

const keptOfLong = 4096

// skip drops a line that is too long up to its end.
func (l *lines) skip() error {
	long := &tooLong{bytes.Clone(l.buf[l.start:min(l.end, l.start+keptOfLong)]), l.max}
	l.n++
	l.start, l.end = 0, 0
	for {
		l.fill()
		if i := bytes.IndexByte(l.buf[:l.end], '\n'); i >= 0 {
			l.start = i + 1
			return long
		}
		l.start, l.end = 0, 0
		if l.err == io.EOF {
			return long
		}
		if l.err != nil {
			return l.err
		}
	}
}

// fault is what is wrong with a line. Col counts bytes from 1; 0 is the whole line.
type fault struct {
	col int
	msg string // "expected ..., found ..."
}

func (f *fault) Error() string { return f.msg }

func faultf(format string, args ...any) *fault { return &fault{msg: fmt.Sprintf(format, args...)} }

// each hands every line that is not blank to parse. A *fault is a bad line; any other error ends it.
func (r *run) each(in *input, parse func(n int, line []byte) error) error {
	l := newLines(in.r, r.opt.MaxLine)
	for {
		line, err := l.next()
		switch err := err.(type) {
		case nil:
		case *tooLong:
			if err := r.line(); err != nil {
				return err
			}
			if err := r.bad(in, l.n, err.head, true, faultf("%s", err.Error())); err != nil {
				return err
			}
			continue
		default:
			if err == io.EOF {
				return nil
			}
			return r.readError(in, l.n+1, err)
		}
		if blank(line) {
			continue
		}
		if err := r.line(); err != nil {
			return err
		}
		err = parse(l.n, line)
		if f, ok := err.(*fault); ok {
			err = r.bad(in, l.n, line, false, f)
		}
		if err != nil {
			return err
		}
	}
}

func blank(line []byte) bool {
	for _, b := range line {
		if b != ' ' && b != '\t' {
			return false
		}
	}
	return true
}
