package ingest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"
)

// The files of an OpenKE folder; valid and test are optional.
const (
	entityIDs   = "entity2id.txt"
	relationIDs = "relation2id.txt"
	trainIDs    = "train2id.txt"
	validIDs    = "valid2id.txt"
	testIDs     = "test2id.txt"
)

// openKE reads a folder of OpenKE: two tables of name and number, then triples of numbers in the order head, tail,
// relation. The first line of each file is the count of the lines after it.
func (r *run) openKE(dir string) error {
	entities, err := r.numbered(filepath.Join(dir, entityIDs))
	if err != nil {
		return err
	}
	relations, err := r.numbered(filepath.Join(dir, relationIDs))
	if err != nil {
		return err
	}
	for _, name := range []string{trainIDs, validIDs, testIDs} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil && name != trainIDs {
			continue
		}
		if err := r.counted(path, func(line []byte) error {
			f := bytes.Fields(line)
			if len(f) != 3 {
				return faultf("expected head, tail and relation as three numbers, found %d columns", len(f))
			}
			var got [3][]byte
			for i, table := range [3][][]byte{entities, entities, relations} {
				n, err := strconv.ParseUint(string(f[i]), 10, 31)
				if err != nil || int(n) >= len(table) || table[n] == nil {
					return faultf("column %d: expected a number below %d of the tables, found %q", i+1, len(table), f[i])
				}
				got[i] = table[n]
			}
			return r.triple(got[0], got[2], got[1])
		}); err != nil {
			return err
		}
	}
	return nil
}

// numbered reads a table of names and numbers. The number is the last word: names may hold blanks.
func (r *run) numbered(path string) ([][]byte, error) {
	var table [][]byte
	err := r.counted(path, func(line []byte) error {
		line = bytes.TrimRight(line, " \t")
		i := bytes.LastIndexAny(line, " \t")
		if i < 0 {
			return faultf("expected a name, a tab and a number, found one column")
		}
		name := bytes.TrimRight(line[:i], " \t")
		n, err := strconv.ParseUint(string(line[i+1:]), 10, 31)
		switch {
		case err != nil:
			return faultf("expected a number in the last column, found %q", line[i+1:])
		case len(name) == 0 || !utf8.Valid(name):
			return faultf("expected a name in UTF-8, found %q", name)
		case int(n) > len(table)+1<<20: // a table has no such gaps; do not make room for them
			return faultf("expected numbers from 0 without gaps, found %d after %d names", n, len(table))
		}
		for int(n) >= len(table) {
			table = append(table, nil)
		}
		if table[n] != nil {
			return faultf("expected each number once, found %d again", n)
		}
		table[n] = bytes.Clone(name)
		return nil
	})
	return table, err
}

// counted reads a file whose first line is the count of the others.
func (r *run) counted(path string, parse func([]byte) error) error {
	f, err := r.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r.stats.Files++
	in := &input{name: path, r: f}
	want, got, last := int64(-1), int64(0), 0
	err = r.each(in, func(n int, line []byte) error {
		last = n
		if want < 0 {
			c, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 62)
			if err != nil || c < 0 {
				want = 0
				return faultf("expected the count of the lines below, found %q", line)
			}
			want = c
			return nil
		}
		got++
		return parse(line)
	})
	if err == nil && want >= 0 && got != want {
		err = r.bad(in, last, nil, false, faultf("expected %d lines after the first, found %d: the file is cut off, or is of another format", want, got))
	}
	return err
}
