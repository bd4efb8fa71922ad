package ingest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry/kg/store"
)

// recorder writes each call as one line.
type recorder struct{ out []string }

func (c *recorder) Triple(s, p, o []byte) error {
	c.out = append(c.out, fmt.Sprintf("T %s|%s|%s", s, p, o))
	return nil
}

func (c *recorder) Add(rec store.Record) error {
	switch {
	case rec.Entity != nil:
		e := rec.Entity
		c.out = append(c.out, fmt.Sprintf("E %s|%s|%s|%s|%s|%s", e.ID, e.Name, e.NameZH, strings.Join(e.Aliases, ","), e.Type, e.Description))
	case rec.Relation != nil:
		r := rec.Relation
		c.out = append(c.out, fmt.Sprintf("R %s|%s|%s|%s", r.ID, r.Label, r.LabelZH, r.Description))
	case rec.Document != nil:
		d := rec.Document
		c.out = append(c.out, fmt.Sprintf("D %s|%s|%s|%s", d.ID, d.Title, d.URL, strings.Join(d.Sentences, "/")))
	case rec.Statement != nil:
		s := rec.Statement
		c.out = append(c.out, fmt.Sprintf("S %s|%s|%s|%s|%v|%v", s.Subject, s.Predicate, s.Object, s.Doc, s.Spans, s.Qualifiers))
	}
	return nil
}

func write(t testing.TB, name, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// read gives the calls for the content of one file.
func read(t testing.TB, name, data string, o Options) ([]string, Stats, error) {
	t.Helper()
	var c recorder
	stats, err := Read(context.Background(), &c, o, write(t, name, data))
	return c.out, stats, err
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("calls differ (-want +got):\n%s", d)
	}
}

// wrong checks for an error that names place and reason.
func wrong(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

// each line must be good or a bad line of a run that puts bad ones in quarantine; the counts must fit.
func feed(t *testing.T, name string, data []byte, o Options) {
	t.Helper()
	var side bytes.Buffer
	o.OnError, o.Quarantine = Quarantine, &side
	r := &run{ctx: context.Background(), sink: &recorder{}, opt: o, stats: Stats{Left: map[string]int64{}}, literals: map[string]struct{}{}}
	if r.opt.MaxLine == 0 {
		r.opt.MaxLine = 1 << 16
	}
	err := r.stream(&input{name: name, r: bytes.NewReader(data)}, 0)
	if err == nil {
		err = r.finish()
	}
	if err == nil {
		if n := int64(bytes.Count(side.Bytes(), []byte("\n"))); n != r.stats.Bad || r.stats.Bad > r.stats.Lines {
			t.Fatalf("%d lines in quarantine, %d counted, of %d", n, r.stats.Bad, r.stats.Lines)
		}
	}
}
