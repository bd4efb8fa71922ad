package store

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// wiki is the demo's folder (docs/formats/kg-folder.md) as records.
func wiki(t *testing.T) []Record {
	t.Helper()
	read := func(name string) [][]byte {
		data, err := os.ReadFile(filepath.Join("..", "..", "examples", "wiki", name))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	}
	var out []Record
	docs := map[string][]string{}
	for _, line := range read("docs.jsonl") {
		var d struct {
			ID, Title string
			Sents     []string
		}
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		docs[d.ID] = d.Sents
		out = append(out, Record{Document: &Document{ID: d.ID, Title: d.Title, Sentences: d.Sents}})
	}
	for _, line := range read("entities.jsonl") {
		var e Entity
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, Record{Entity: &e})
	}
	for _, line := range read("triples.tsv") {
		f := strings.Split(string(line), "\t")
		s := Statement{Subject: f[0], Predicate: f[1], Object: f[2]}
		for n := range strings.SplitSeq(f[4], ",") {
			k, err := strconv.Atoi(n)
			if err != nil {
				continue // known, but not in the text
			}
			at := 0
			for _, sent := range docs[f[3]][:k] {
				at += len(sent) + 1
			}
			s.Doc, s.Spans = f[3], append(s.Spans, Span{at, at + len(docs[f[3]][k])})
		}
		out = append(out, Record{Statement: &s})
	}
	return out
}

// The demo has the counts that its own format page gives, and every statement is the sentence it claims to be.
func TestWiki(t *testing.T) {
	g := build(t, t.TempDir(), wiki(t))
	defer g.Close()
	sound(t, g)
	s := g.Stats()
	check(t, "entities", s.Entities, 16248)
	check(t, "relations", s.Relations, 96)
	check(t, "documents", s.Documents, 1000)
	check(t, "passages", s.Passages, 8076)
	check(t, "edges", s.Edges, 33042)
	check(t, "edges with evidence", s.WithText, 14457)
	check(t, "statements with evidence", s.Evidence, 25095)
	check(t, "types", s.ByType, map[string]int{"LOC": 3321, "PER": 2946, "MISC": 2712, "ORG": 2385, "TIME": 3660, "NUM": 1224})
	for e := range uint32(g.Edges()) {
		for _, ev := range g.Evidence(e) {
			st, p := g.Statement(e, ev.Passage), g.Passage(ev.Passage)
			if st.Text != p.Text || st.Start != p.Start || st.Doc != g.DocumentID(p.Doc) || len(st.TextSHA256) != 64 {
				t.Fatalf("edge %d: %+v by %+v", e, st, p)
			}
		}
	}
}

// The format page names every section in the order of the file.
func TestFormatPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "formats", "graph.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "| section | type |")
	for _, c := range (&arrays{}).columns() {
		_, after, ok := strings.Cut(rest, "`"+c.name+"`")
		if !ok {
			t.Fatalf("section %s is missing, or not in the order of the file", c.name)
		}
		rest = after
	}
}
