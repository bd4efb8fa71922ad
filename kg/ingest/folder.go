package ingest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quarry-rl/quarry/kg/store"
)

// The files of a data folder (docs/formats/kg-folder.md).
const (
	DocsFile      = "docs.jsonl"
	EntitiesFile  = "entities.jsonl"
	TriplesFile   = "triples.tsv"
	RelationsFile = "relations.tsv"
)

func entityTypes() []string { return []string{"PER", "LOC", "ORG", "MISC", TypeTime, TypeNum} }

// dataFolder is what later files of a data folder refer to.
type dataFolder struct {
	r         *run
	sentences map[string][]store.Span // of each document
	entities  map[string]bool
	relations map[string]bool
}

func (r *run) folder(dir string) error {
	g := &dataFolder{r, map[string][]store.Span{}, map[string]bool{}, map[string]bool{}}
	for _, step := range []struct {
		file  string
		parse func([]byte) error
	}{{DocsFile, g.document}, {EntitiesFile, g.entity}, {RelationsFile, g.relation}, {TriplesFile, g.triple}} {
		f, err := r.open(filepath.Join(dir, step.file))
		if err != nil {
			return err
		}
		r.stats.Files++
		err = r.each(&input{name: f.f.Name(), r: f}, func(_ int, line []byte) error {
			if !utf8.Valid(line) {
				return faultf("expected UTF-8, found other bytes")
			}
			return step.parse(line)
		})
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *dataFolder) document(line []byte) error {
	var d struct {
		ID    string   `json:"id"`
		Title string   `json:"title"`
		URL   string   `json:"url"`
		Sents []string `json:"sents"`
	}
	if err := json.Unmarshal(line, &d); err != nil {
		return faultf("expected an object with id, title and sents: %v", err)
	}
	if err := distinctKeys(line); err != nil {
		return err
	}
	if err := cmp.Or(oneLine("id", d.ID), oneLine("title", d.Title), oneLine("url", d.URL)); err != nil {
		return err
	}
	if d.ID == "" || d.Title == "" || len(d.Sents) == 0 {
		return faultf("expected id, title and sents, found one of them missing or empty")
	}
	if _, ok := g.sentences[d.ID]; ok {
		return faultf("expected each document once, found %q again", d.ID)
	}
	spans := make([]store.Span, len(d.Sents))
	at := 0
	for i, s := range d.Sents {
		if s == "" {
			return faultf("sents[%d]: expected a sentence, found an empty one", i)
		}
		if err := oneLine(fmt.Sprintf("sents[%d]", i), s); err != nil {
			return err
		}
		spans[i] = store.Span{Start: at, End: at + len(s)}
		at += len(s) + 1
	}
	g.sentences[d.ID] = spans
	return g.r.document(&store.Document{ID: d.ID, Title: d.Title, URL: d.URL, Sentences: d.Sents})
}

func (g *dataFolder) entity(line []byte) error {
	var e struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		NameZH      string   `json:"name_zh"`
		Type        string   `json:"type"`
		Aliases     []string `json:"aliases"`
		Description string   `json:"description"`
		Docs        []string `json:"docs"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return faultf("expected an object with id, name and type: %v", err)
	}
	if err := distinctKeys(line); err != nil {
		return err
	}
	if e.ID == "" || e.Name == "" || e.Type == "" {
		return faultf("expected id, name and type, found one of them missing or empty")
	}
	if !slices.Contains(entityTypes(), e.Type) {
		return faultf("type: expected one of %s, found %q", strings.Join(entityTypes(), ", "), e.Type)
	}
	if g.entities[e.ID] {
		return faultf("expected each entity once, found %q again", e.ID)
	}
	for i, d := range e.Docs {
		if _, ok := g.sentences[d]; !ok {
			return faultf("docs[%d]: expected an id of %s, found %q", i, DocsFile, d)
		}
	}
	docs := slices.Sorted(slices.Values(e.Docs))
	for i := 1; i < len(docs); i++ {
		if docs[i] == docs[i-1] {
			return faultf("docs: expected each document once, found %q again", docs[i])
		}
	}
	if err := cmp.Or(oneLine("id", e.ID), oneLine("name", e.Name), oneLine("name_zh", e.NameZH), oneLine("description", e.Description)); err != nil {
		return err
	}
	for i, text := range e.Aliases {
		if err := oneLine(fmt.Sprintf("aliases[%d]", i), text); err != nil {
			return err
		}
	}
	g.entities[e.ID] = true
	return g.r.entity(&store.Entity{ID: e.ID, Name: e.Name, NameZH: e.NameZH, Aliases: e.Aliases, Type: e.Type, Description: e.Description, Docs: e.Docs})
}

// distinctKeys refuses an object in which a key stands twice: which of the values counts would be the reader's choice.
// Case makes no difference, as in decoding.
func distinctKeys(line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	if _, err := d.Token(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if low := strings.ToLower(key); seen[low] {
			return faultf("expected each key once, found %q again", key)
		} else {
			seen[low] = true
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

// oneLine refuses what would break a line of results, or steer a terminal.
func oneLine(field, text string) error {
	if strings.IndexFunc(text, unicode.IsControl) >= 0 {
		return faultf("%s: expected one line of text, found a line break, NUL or another control character", field)
	}
	return nil
}

func (g *dataFolder) relation(line []byte) error {
	f := strings.Split(string(line), "\t")
	if len(f) < 2 || len(f) > 4 {
		return faultf("expected 2 to 4 columns (id, label, label in Chinese, description), found %d", len(f))
	}
	for i, what := range []string{"an id", "a label"} {
		if f[i] == "" {
			return faultf("column %d: expected %s, found none", i+1, what)
		}
	}
	if g.relations[f[0]] {
		return faultf("expected each relation once, found %q again", f[0])
	}
	g.relations[f[0]] = true
	f = append(f, "", "")
	return g.r.relation(&store.Relation{ID: f[0], Label: f[1], LabelZH: f[2], Description: f[3]})
}

func (g *dataFolder) triple(line []byte) error {
	f := strings.Split(string(line), "\t")
	if len(f) != 5 {
		return faultf("expected 5 columns (subject, relation, object, document, evidence), found %d", len(f))
	}
	for i, known := range []map[string]bool{g.entities, g.relations, g.entities} {
		if !known[f[i]] {
			return faultf("column %d: expected an id of %s, found %q", i+1, []string{EntitiesFile, RelationsFile, EntitiesFile}[i], f[i])
		}
	}
	spans, ok := g.sentences[f[3]]
	if !ok {
		return faultf("column 4: expected an id of %s, found %q", DocsFile, f[3])
	}
	s := &store.Statement{Subject: f[0], Predicate: f[1], Object: f[2]}
	if f[4] != "" { // without evidence no text carries it
		s.Doc = f[3]
		for _, n := range strings.Split(f[4], ",") {
			k, err := strconv.ParseUint(n, 10, 31)
			if err != nil || int(k) >= len(spans) {
				return faultf("column 5: expected sentence numbers from 0 to %d, found %q", len(spans)-1, n)
			}
			s.Spans = append(s.Spans, spans[k])
		}
	}
	return g.r.statement(s)
}
