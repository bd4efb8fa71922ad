package ingest

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// headers lists what the columns of a header line may be called, in lower case.
var headers = [3][]string{
	{"head", "h", "subject", "s", "source", "src", "from", "head_id", "subject_id"},
	{"relation", "r", "predicate", "p", "rel", "edge", "relation_id", "property", "type"},
	{"tail", "t", "object", "o", "target", "dst", "to", "tail_id", "object_id"},
}

// columnOf tells by a header which part of a statement a column holds: 0 subject, 1 predicate, 2 object; -1 is none.
func columnOf(name string) int {
	name = strings.ToLower(strings.TrimSpace(name))
	for i, h := range headers {
		if slices.Contains(h, name) {
			return i
		}
	}
	return -1
}

// tripleFile reads lines of three columns.
type tripleFile struct {
	sep    byte
	order  [3]int // column of subject, predicate, object
	begun  bool
	cells  [][]byte
	quoted []byte // holds cells that had doubled quotes
}

func (r *run) readTriples(in *input) error {
	t := &tripleFile{sep: r.opt.Separator, order: [3]int{0, 1, 2}}
	if r.opt.Columns == HeadTailRelation {
		t.order = [3]int{0, 2, 1}
	}
	csv := extension(in.name) == ".csv"
	return r.each(in, func(_ int, line []byte) error {
		if !utf8.Valid(line) {
			return faultf("expected UTF-8, found other bytes")
		}
		if t.sep == 0 {
			t.sep = separator(line, csv)
		}
		if err := t.split(line); err != nil {
			return err
		}
		if !t.begun {
			t.begun = true
			if t.header() {
				return nil
			}
		}
		for _, c := range t.cells {
			if len(c) == 0 {
				return faultf("expected three values, found an empty one")
			}
		}
		return r.triple(t.cells[t.order[0]], t.cells[t.order[1]], t.cells[t.order[2]])
	})
}

// separator looks at the first line. Blanks part columns only where there is nothing else: names hold blanks.
func separator(line []byte, csv bool) byte {
	switch {
	case csv && bytes.IndexByte(line, ',') >= 0:
		return ','
	case bytes.IndexByte(line, '\t') >= 0:
		return '\t'
	case bytes.Count(line, []byte(",")) == 2:
		return ','
	case len(bytes.Fields(line)) == 3:
		return ' '
	}
	return '\t'
}

func (t *tripleFile) split(line []byte) error {
	t.cells = t.cells[:0]
	switch t.sep {
	case ' ':
		for len(line) > 0 {
			n := 0
			for n < len(line) && line[n] != ' ' && line[n] != '\t' {
				n++
			}
			if n > 0 {
				t.cells = append(t.cells, line[:n:n])
			}
			line = line[min(n+1, len(line)):]
		}
	case ',':
		if err := t.csv(line); err != nil {
			return err
		}
	default:
		for {
			i := bytes.IndexByte(line, t.sep)
			if i < 0 {
				break
			}
			t.cells = append(t.cells, line[:i:i])
			line = line[i+1:]
		}
		t.cells = append(t.cells, line)
	}
	if n := len(t.cells); n != 3 {
		name := map[byte]string{'\t': "tabs", ',': "commas", ' ': "blanks"}[t.sep]
		if name == "" {
			name = "the separator"
		}
		if n > 3 {
			return faultf("expected 3 columns parted by %s, found %d: a name that holds the separator cannot be told from two columns (put it in quotes in a CSV file, or use another format)", name, n)
		}
		return faultf("expected 3 columns parted by %s, found %d", name, n)
	}
	return nil
}

// csv splits by commas; a cell in quotes may hold commas, and quotes that are doubled (RFC 4180, but for line breaks).
func (t *tripleFile) csv(line []byte) error {
	t.quoted = t.quoted[:0]
	for {
		if len(line) == 0 || line[0] != '"' {
			i := bytes.IndexByte(line, ',')
			if i < 0 {
				t.cells = append(t.cells, line)
				return nil
			}
			t.cells = append(t.cells, line[:i:i])
			line = line[i+1:]
			continue
		}
		at := len(t.quoted)
		line = line[1:]
		for {
			i := bytes.IndexByte(line, '"')
			if i < 0 {
				return faultf("expected a closing quote, found the end of the line: line breaks within a cell are not read")
			}
			t.quoted = append(t.quoted, line[:i]...)
			if line = line[i+1:]; len(line) == 0 || line[0] != '"' {
				break
			}
			t.quoted = append(t.quoted, '"')
			line = line[1:]
		}
		t.cells = append(t.cells, t.quoted[at:len(t.quoted):len(t.quoted)])
		if len(line) == 0 {
			return nil
		}
		if line[0] != ',' {
			return faultf("expected a comma after the closing quote, found %q", line[:1])
		}
		line = line[1:]
	}
}

// header says whether the line names the columns, and takes their order from it.
func (t *tripleFile) header() bool {
	order := [3]int{-1, -1, -1}
	for i, c := range t.cells {
		part := columnOf(string(c))
		if part < 0 || order[part] >= 0 {
			return false
		}
		order[part] = i
	}
	t.order = order
	return true
}
