package kg

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
)

// small is a whole graph folder: two documents, three entities, one triple in each of two sentences.
func small() map[string]string {
	return map[string]string{
		DocsFile: `{"id":"d0","title":"Ana Ro","sents":["Ana Ro was born in Lum .","She sings ."]}
{"id":"d1","title":"Lum","sents":["Lum is a town .","Ana Ro grew up there ."]}
`,
		EntitiesFile: `{"id":"e0","name":"Ana Ro","type":"PER","aliases":["Ana"],"docs":["d0","d1"]}
{"id":"e1","name":"Lum","type":"LOC","aliases":[],"docs":["d0","d1"]}
{"id":"e2","name":"1950","type":"TIME","aliases":[],"docs":[]}
`,
		RelationsFile: "P19\tplace of birth\t出生地\twhere a person was born\nP569\tdate of birth\n",
		TriplesFile:   "e0\tP19\te1\td0\t0\ne0\tP569\te2\td0\t\ne0\tP19\te1\td1\t0,1\n",
	}
}

func writeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"as it is":            func(s string) string { return s },
		"CRLF":                func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"no final line break": func(s string) string { return strings.TrimSuffix(s, "\n") },
		"empty lines":         func(s string) string { return "\n" + strings.ReplaceAll(s, "\n", "\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			files := small()
			for f, text := range files {
				files[f] = change(text)
			}
			g, err := Load(writeFolder(t, files))
			if err != nil {
				t.Fatal(err)
			}
			want := []Edge{
				{Subject: 0, Object: 1, Relation: 0, Evidence: []int{0, 2, 3}}, // two lines, one statement
				{Subject: 0, Object: 2, Relation: 1},
			}
			if d := cmp.Diff(want, g.Edges); d != "" {
				t.Errorf("edges (-want +got):\n%s", d)
			}
			if d := cmp.Diff(Passage{Doc: 0, Sentence: 1, Start: 25, Title: "Ana Ro", Text: "She sings ."}, g.Passages[1]); d != "" {
				t.Errorf("passage (-want +got):\n%s", d)
			}
			if d := cmp.Diff(Relation{ID: "P19", Label: "place of birth", LabelZH: "出生地", Description: "where a person was born"}, g.Relations[0]); d != "" {
				t.Errorf("relation (-want +got):\n%s", d)
			}
			if n, ok := g.Entity("e1"); !ok || g.Entities[n].Name != "Lum" {
				t.Errorf("entity e1 is %d, %v", n, ok)
			}
			if n, ok := g.Doc("d1"); !ok || n != 1 {
				t.Errorf("document d1 is %d, %v", n, ok)
			}
			if _, ok := g.Relation("P20"); ok {
				t.Error("an unknown relation is found")
			}
			if !g.Entities[2].Literal() || g.Entities[0].Literal() {
				t.Error("a date is a literal, a person is none")
			}
			if !g.Hub(0, 1) || g.Hub(0, 2) {
				t.Error("Hub: an entity of 2 documents is more than 1 and not more than 2")
			}
		})
	}
}

// TestLoadRefuses replaces one line of a good folder, or appends one, and expects file, line and field in the error.
func TestLoadRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		line       int // 1-based; one past the end appends
		text       string
		want       []string
	}{
		{"truncated triple", TriplesFile, 3, "e0\tP19\te1", []string{"3 columns", "expected 5"}},
		{"too many columns", TriplesFile, 1, "e0\tP19\te1\td0\t0\tx", []string{"6 columns"}},
		{"garbled column", TriplesFile, 1, "e0 P19\te1\td0\t0\t1", []string{"column 1 (subject)", `"e0 P19"`}},
		{"unknown subject", TriplesFile, 2, "e9\tP19\te1\td0\t0", []string{"column 1 (subject)", `"e9"`, EntitiesFile}},
		{"unknown relation", TriplesFile, 2, "e0\tP20\te1\td0\t0", []string{"column 2 (relation)", `"P20"`, RelationsFile}},
		{"unknown object", TriplesFile, 2, "e0\tP19\te7\td0\t0", []string{"column 3 (object)", `"e7"`}},
		{"unknown document", TriplesFile, 2, "e0\tP19\te1\td5\t0", []string{"column 4 (document)", `"d5"`, DocsFile}},
		{"evidence out of range", TriplesFile, 2, "e0\tP19\te1\td0\t0,2", []string{"column 5 (evidence)", `"2"`, "d0, which has 2"}},
		{"negative evidence", TriplesFile, 2, "e0\tP19\te1\td0\t-1", []string{"column 5", `"-1"`}},
		{"signed evidence", TriplesFile, 2, "e0\tP19\te1\td0\t+1", []string{"column 5", `"+1"`}},
		{"evidence not a number", TriplesFile, 2, "e0\tP19\te1\td0\tone", []string{"column 5", `"one"`}},
		{"trailing comma", TriplesFile, 2, "e0\tP19\te1\td0\t1,", []string{"column 5", `""`}},
		{"huge evidence", TriplesFile, 2, "e0\tP19\te1\td0\t99999999999999999999", []string{"column 5"}},
		{"invalid UTF-8 in a triple", TriplesFile, 2, "e0\tP19\te1\td0\t\xff", []string{"invalid UTF-8"}},
		{"invalid UTF-8 in a document", DocsFile, 2, `{"id":"d1","title":"Lum","sents":["caf` + "\xe9" + ` ."]}`, []string{"invalid UTF-8"}},
		{"document twice", DocsFile, 3, `{"id":"d0","title":"x","sents":["y"]}`, []string{"field id", `"d0" stands twice`}},
		{"NUL in a sentence", DocsFile, 1, `{"id":"d0","title":"x","sents":["y","a\u0000b"]}`, []string{"sents[1]", "NUL"}},
		{"line break in a sentence", DocsFile, 1, `{"id":"d0","title":"x","sents":["a\nb"]}`, []string{"sents[0]", "line breaks"}},
		{"carriage return in a sentence", DocsFile, 1, `{"id":"d0","title":"x","sents":["a\rb"]}`, []string{"sents[0]"}},
		{"line break in a title", DocsFile, 1, `{"id":"d0","title":"x\ny","sents":["a"]}`, []string{"field title"}},
		{"empty sentence", DocsFile, 1, `{"id":"d0","title":"x","sents":["a",""]}`, []string{"sents[1]: empty"}},
		{"sentences twice", DocsFile, 2, `{"id":"d1","title":"x","sents":["a"],"sents":["b"]}`, []string{`key "sents" stands twice`}},
		{"id twice in other letters", DocsFile, 1, `{"id":"d0","title":"x","sents":["a"],"ID":"d9"}`, []string{`key "ID" stands twice`}},
		{"foreign key twice", DocsFile, 1, `{"id":"d0","title":"x","sents":["a"],"more":{"a":[1]},"more":1}`, []string{`key "more" stands twice`}},
		{"name twice", EntitiesFile, 2, `{"id":"e1","name":"x","type":"LOC","name":"y"}`, []string{`key "name" stands twice`}},
		{"no sentences", DocsFile, 1, `{"id":"d0","title":"x","sents":[]}`, []string{"sents"}},
		{"no title", DocsFile, 1, `{"id":"d0","sents":["a"]}`, []string{"title"}},
		{"torn JSON", DocsFile, 1, `{"id":"d0","title":"x","sen`, []string{"not a JSON object"}},
		{"wrong type", DocsFile, 1, `{"id":"d0","title":"x","sents":"a"}`, []string{"not a JSON object", "sents"}},
		{"two values", DocsFile, 1, `{"id":"d0","title":"x","sents":["a"]} {}`, []string{"not a JSON object"}},
		{"stray bracket", DocsFile, 1, `{"id":"d0","title":"x","sents":["a"]}}`, []string{"not a JSON object"}},
		{"entity twice", EntitiesFile, 2, `{"id":"e0","name":"x","type":"PER"}`, []string{"field id", `"e0" stands twice`}},
		{"entity without name", EntitiesFile, 2, `{"id":"e1","type":"PER"}`, []string{"name"}},
		{"entity of unknown type", EntitiesFile, 2, `{"id":"e1","name":"x","type":"PERSON"}`, []string{"field type", `"PERSON"`, "PER, LOC"}},
		{"entity in unknown document", EntitiesFile, 2, `{"id":"e1","name":"x","type":"LOC","docs":["d0","d7"]}`, []string{"field docs", `"d7"`}},
		{"entity in a document twice", EntitiesFile, 2, `{"id":"e1","name":"x","type":"LOC","docs":["d0","d0"]}`, []string{"field docs", `"d0" stands twice`}},
		{"line break in a name", EntitiesFile, 2, `{"id":"e1","name":"x\ny","type":"LOC"}`, []string{"name"}},
		{"line break in an alias", EntitiesFile, 2, `{"id":"e1","name":"x","aliases":["a\u0000"],"type":"LOC"}`, []string{"aliases"}},
		{"relation twice", RelationsFile, 3, "P19\tagain", []string{"column 1", `"P19" stands twice`}},
		{"relation without label", RelationsFile, 1, "P19", []string{"1 columns"}},
		{"relation with an empty label", RelationsFile, 1, "P19\t", []string{"empty"}},
		{"relation with five columns", RelationsFile, 1, "P19\ta\tb\tc\td", []string{"5 columns"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := small()
			lines := append(strings.Split(strings.TrimSuffix(files[tc.file], "\n"), "\n"), "")
			lines[tc.line-1] = tc.text
			files[tc.file] = strings.Join(lines, "\n")
			_, err := Load(writeFolder(t, files))
			var e *quarry.Error
			if !errors.As(err, &e) || e.Kind != quarry.KindInvalid {
				t.Fatalf("got %v, want an invalid line", err)
			}
			if place := fmt.Sprintf("%s:%d", tc.file, tc.line); !strings.HasSuffix(e.Subject, place) {
				t.Errorf("subject %q does not name %s", e.Subject, place)
			}
			for _, w := range tc.want {
				if !strings.Contains(e.Msg, w) {
					t.Errorf("message %q does not say %q", e.Msg, w)
				}
			}
			if e.Hint == "" {
				t.Error("no hint")
			}
		})
	}
}

func TestLoadWithoutFiles(t *testing.T) {
	for _, name := range Files() {
		files := small()
		delete(files, name)
		_, err := Load(writeFolder(t, files))
		if quarry.KindOf(err) != quarry.KindNotFound || !strings.Contains(err.Error(), name) || !strings.Contains(quarry.HintOf(err), "clone") {
			t.Errorf("without %s: %v, hint %q", name, err, quarry.HintOf(err))
		}
	}
	for _, name := range []string{DocsFile, TriplesFile} {
		files := small()
		maps.DeleteFunc(files, func(f, _ string) bool { return f == TriplesFile || f == name })
		files[TriplesFile] = ""
		if name == DocsFile {
			files[DocsFile], files[EntitiesFile] = "", ""
		}
		if _, err := Load(writeFolder(t, files)); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "no documents or no triples") {
			t.Errorf("empty %s: %v", name, err)
		}
	}
	dir := writeFolder(t, small())
	if err := os.Remove(filepath.Join(dir, TriplesFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, TriplesFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "is a folder") || quarry.HintOf(err) == "" {
		t.Errorf("a folder in place of a file: %v", err)
	}
}

// triplesOf writes the statements of a graph as triples.tsv.
func triplesOf(g *Graph) string {
	var b strings.Builder
	for _, e := range g.Edges {
		head := g.Entities[e.Subject].ID + "\t" + g.Relations[e.Relation].ID + "\t" + g.Entities[e.Object].ID + "\t"
		if len(e.Evidence) == 0 {
			b.WriteString(head + g.Docs[0].ID + "\t\n")
		}
		for _, p := range e.Evidence {
			b.WriteString(head + g.Docs[g.Passages[p].Doc].ID + "\t" + strconv.Itoa(g.Passages[p].Sentence) + "\n")
		}
	}
	return b.String()
}

// FuzzLoadTriples reads any bytes as triples.tsv. What is accepted is written and read back as the same statements.
func FuzzLoadTriples(f *testing.F) {
	f.Add([]byte(small()[TriplesFile]))
	f.Add([]byte("e0\tP19\te1\td0\t0,1,0\r\n\ne1\tP569\te2\td1\t"))
	f.Add([]byte("e0\tP19\te1\td0"))
	f.Add([]byte("\xff\t\t\t\t"))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(text string) (*Graph, error) {
			g := newGraph()
			files := small()
			for _, step := range []struct {
				file string
				line func(string) error
			}{{DocsFile, g.addDocument}, {EntitiesFile, g.addEntity}, {RelationsFile, g.addRelation}} {
				if err := readLines(strings.NewReader(files[step.file]), step.file, step.line); err != nil {
					t.Fatal(err)
				}
			}
			return g, readLines(strings.NewReader(text), TriplesFile, newTripleReader(g).add)
		}
		g, err := read(string(data))
		if err != nil {
			if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), TriplesFile+":") {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		again, err := read(triplesOf(g))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(g.Edges, again.Edges); d != "" {
			t.Fatalf("read, written and read (-first +second):\n%s", d)
		}
	})
}

// FuzzLoadDocs does the same for docs.jsonl; the text of an accepted document holds every passage where its span says.
func FuzzLoadDocs(f *testing.F) {
	f.Add([]byte(small()[DocsFile]))
	f.Add([]byte(`{"id":"d","title":"é","sents":["\ud800","a\u0000"]}`))
	f.Add([]byte(`{"id":"d","title":"t","sents":["a"]}}`))
	f.Add([]byte("{\"id\":\"d\xff\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := newGraph()
		if err := readLines(strings.NewReader(string(data)), DocsFile, g.addDocument); err != nil {
			if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), DocsFile+":") {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		var b strings.Builder
		for i := range g.Docs {
			line, err := json.Marshal(&g.Docs[i])
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(line, '\n'))
		}
		again := newGraph()
		if err := readLines(strings.NewReader(b.String()), DocsFile, again.addDocument); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(g.Docs, again.Docs) + cmp.Diff(g.Passages, again.Passages); d != "" {
			t.Fatalf("read, written and read (-first +second):\n%s", d)
		}
		for _, p := range g.Passages {
			if text := strings.Join(g.Docs[p.Doc].Sentences, " "); text[p.Start:p.Start+len(p.Text)] != p.Text {
				t.Fatalf("passage %q is not at byte %d of %q", p.Text, p.Start, text)
			}
		}
	})
}
