package kg

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// The files of a graph folder (docs/formats/kg-folder.md).
const (
	DocsFile      = "docs.jsonl"
	EntitiesFile  = "entities.jsonl"
	TriplesFile   = "triples.tsv"
	RelationsFile = "relations.tsv"
)

// StatsFile is what quarry kg build adds to a graph folder: its counts, and the version of the folder's form.
const StatsFile = "stats.json"

// Schema is the version of the folder's form that Load reads. A folder without a StatsFile is of version 1.
const Schema = 1

// Files lists what a graph folder holds.
func Files() []string { return []string{DocsFile, EntitiesFile, TriplesFile, RelationsFile} }

// EntityTypes lists the types an entity may have.
func EntityTypes() []string { return []string{"PER", "LOC", "ORG", "MISC", "TIME", "NUM"} }

const maxLine = 64 << 20 // bytes

// Load reads a graph folder. Any bad line stops it with file, line, field and what was expected.
func Load(dir string) (*Graph, error) {
	if err := checkSchema(dir); err != nil {
		return nil, err
	}
	g := newGraph()
	for _, step := range []struct {
		file string
		line func(string) error
	}{
		{DocsFile, g.addDocument},
		{EntitiesFile, g.addEntity},
		{RelationsFile, g.addRelation},
		{TriplesFile, newTripleReader(g).add},
	} {
		if err := eachLine(dir, step.file, step.line); err != nil {
			return nil, err
		}
	}
	if len(g.Docs) == 0 || len(g.Edges) == 0 {
		return nil, &quarry.Error{Op: "kg load", Kind: quarry.KindInvalid, Subject: dir, Msg: "no documents or no triples",
			Hint: "point at a folder with " + strings.Join(Files(), ", ")}
	}
	g.index = NewIndex(g.Passages)
	return g, nil
}

// checkSchema refuses a folder that a newer quarry kg build made.
func checkSchema(dir string) error {
	path := filepath.Join(dir, StatsFile)
	f, err := atomicfile.Open("kg load", path)
	if quarry.KindOf(err) == quarry.KindNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var stats struct {
		Schema int `json:"schema"`
	}
	if err := json.NewDecoder(f).Decode(&stats); err == nil && stats.Schema > Schema {
		return &quarry.Error{Op: "kg load", Kind: quarry.KindInvalid, Subject: path, Msg: fmt.Sprintf("schema %d, this quarry reads up to %d", stats.Schema, Schema),
			Hint: "use the quarry that built the folder, or build it again with this one"}
	}
	return nil
}

func newGraph() *Graph {
	return &Graph{docNo: map[string]int{}, entNo: map[string]int{}, relNo: map[string]int{}}
}

func eachLine(dir, name string, line func(string) error) error {
	path := filepath.Join(dir, name)
	f, err := atomicfile.Open("kg load", path)
	if err != nil {
		var e *quarry.Error
		if errors.As(err, &e) && e.Kind == quarry.KindNotFound {
			e.Hint = "the demo's data folder examples/wiki comes with the source: run inside a clone of the repository, or set `data:` in the spec to a folder with " + strings.Join(Files(), ", ")
		}
		return err
	}
	defer f.Close()
	return readLines(f, path, line)
}

// readLines hands each line that is not empty to line, without its line end; path is for errors.
func readLines(r io.Reader, path string, line func(string) error) error {
	bad := func(n int, msg string) error {
		return &quarry.Error{Op: "kg load", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%s:%d", path, n), Msg: msg,
			Hint: "see docs/formats/kg-folder.md for the columns"}
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 1<<16), maxLine)
	n := 0
	for sc.Scan() {
		n++
		text := strings.TrimSuffix(sc.Text(), "\r")
		if text == "" {
			continue
		}
		if !utf8.ValidString(text) {
			return bad(n, "invalid UTF-8")
		}
		if err := line(text); err != nil {
			return bad(n, err.Error())
		}
	}
	switch err := sc.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return bad(n+1, fmt.Sprintf("longer than %d MiB", maxLine>>20))
	case err != nil:
		return &quarry.Error{Op: "kg load", Kind: quarry.KindUnavailable, Subject: path, Err: err, Hint: "check that it is a file that can be read"}
	}
	return nil
}

func decode(line string, into any) error {
	if err := json.Unmarshal([]byte(line), into); err != nil {
		return fmt.Errorf("not a JSON object of the expected shape: %w", err)
	}
	return distinctKeys(line)
}

// distinctKeys refuses an object in which a key stands twice: which of the values counts would be the reader's choice.
// Case makes no difference, as in decoding.
func distinctKeys(line string) error {
	d := json.NewDecoder(strings.NewReader(line))
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
		low := strings.ToLower(key)
		if seen[low] {
			return fmt.Errorf("key %q stands twice", key)
		}
		seen[low] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

// oneLine refuses what would break a line of search results or a question.
func oneLine(field, text string) error {
	if strings.IndexFunc(text, unicode.IsControl) >= 0 { // they would break a line of results, or steer a terminal
		return fmt.Errorf("field %s: line breaks, NUL and other control characters are not allowed", field)
	}
	return nil
}

func (g *Graph) addDocument(line string) error {
	var d Document
	if err := decode(line, &d); err != nil {
		return err
	}
	if d.ID == "" || d.Title == "" || len(d.Sentences) == 0 {
		return errors.New("field id, title or sents is missing or empty")
	}
	if _, dup := g.docNo[d.ID]; dup {
		return fmt.Errorf("field id: %q stands twice", d.ID)
	}
	if err := cmp.Or(oneLine("id", d.ID), oneLine("title", d.Title)); err != nil {
		return err
	}
	g.docNo[d.ID] = len(g.Docs)
	g.first = append(g.first, len(g.Passages))
	at := 0
	for i, s := range d.Sentences {
		if s == "" {
			return fmt.Errorf("field sents[%d]: empty", i)
		}
		if err := oneLine(fmt.Sprintf("sents[%d]", i), s); err != nil {
			return err
		}
		g.Passages = append(g.Passages, Passage{Doc: len(g.Docs), Sentence: i, Start: at, Title: d.Title, Text: s})
		at += len(s) + 1
	}
	g.Docs = append(g.Docs, d)
	return nil
}

func (g *Graph) addEntity(line string) error {
	var e Entity
	if err := decode(line, &e); err != nil {
		return err
	}
	if e.ID == "" || e.Name == "" || e.Type == "" {
		return errors.New("field id, name or type is missing or empty")
	}
	if _, dup := g.entNo[e.ID]; dup {
		return fmt.Errorf("field id: %q stands twice", e.ID)
	}
	if !slices.Contains(EntityTypes(), e.Type) {
		return fmt.Errorf("field type: %q is none of %s", e.Type, strings.Join(EntityTypes(), ", "))
	}
	for _, name := range append([]string{e.ID, e.Name}, e.Aliases...) {
		if err := oneLine("id, name or aliases", name); err != nil {
			return err
		}
	}
	for i, d := range e.Docs {
		if slices.Contains(e.Docs[:i], d) {
			return fmt.Errorf("field docs: %q stands twice", d)
		}
		if _, ok := g.docNo[d]; !ok {
			return fmt.Errorf("field docs: %q is not in %s", d, DocsFile)
		}
	}
	g.entNo[e.ID] = len(g.Entities)
	g.Entities = append(g.Entities, e)
	return nil
}

func (g *Graph) addRelation(line string) error {
	f := strings.Split(line, "\t")
	if len(f) < 2 || len(f) > 4 {
		return fmt.Errorf("%d columns, expected 2 to 4: relation id, label, label in Chinese, description", len(f))
	}
	if f[0] == "" || f[1] == "" {
		return errors.New("column 1 (relation id) or 2 (label) is empty")
	}
	if _, dup := g.relNo[f[0]]; dup {
		return fmt.Errorf("column 1: %q stands twice", f[0])
	}
	r := Relation{ID: f[0], Label: f[1]}
	if len(f) > 2 {
		r.LabelZH = f[2]
	}
	if len(f) > 3 {
		r.Description = f[3]
	}
	g.relNo[r.ID] = len(g.Relations)
	g.Relations = append(g.Relations, r)
	return nil
}

// tripleReader joins the lines of one triple: each names a document and its sentences that carry it.
type tripleReader struct {
	g  *Graph
	at map[[3]int]int // subject, relation, object -> edge
}

func newTripleReader(g *Graph) *tripleReader { return &tripleReader{g, map[[3]int]int{}} }

func (t *tripleReader) add(line string) error {
	g := t.g
	f := strings.Split(line, "\t")
	if len(f) != 5 {
		return fmt.Errorf("%d columns, expected 5: subject, relation, object, document, evidence sentences", len(f))
	}
	s, ok := g.entNo[f[0]]
	if !ok {
		return fmt.Errorf("column 1 (subject): %q is not in %s", f[0], EntitiesFile)
	}
	r, ok := g.relNo[f[1]]
	if !ok {
		return fmt.Errorf("column 2 (relation): %q is not in %s", f[1], RelationsFile)
	}
	o, ok := g.entNo[f[2]]
	if !ok {
		return fmt.Errorf("column 3 (object): %q is not in %s", f[2], EntitiesFile)
	}
	d, ok := g.docNo[f[3]]
	if !ok {
		return fmt.Errorf("column 4 (document): %q is not in %s", f[3], DocsFile)
	}
	key := [3]int{s, r, o}
	i, known := t.at[key]
	if !known {
		i = len(g.Edges)
		t.at[key] = i
		g.Edges = append(g.Edges, Edge{Subject: s, Relation: r, Object: o})
	}
	if f[4] == "" {
		return nil
	}
	e := &g.Edges[i]
	for _, n := range strings.Split(f[4], ",") {
		k, err := strconv.ParseUint(n, 10, 31) // no sign
		if err != nil || int(k) >= len(g.Docs[d].Sentences) {
			return fmt.Errorf("column 5 (evidence): %q is no sentence number of %s, which has %d", n, f[3], len(g.Docs[d].Sentences))
		}
		if p := g.first[d] + int(k); !slices.Contains(e.Evidence, p) {
			e.Evidence = append(e.Evidence, p)
		}
	}
	slices.Sort(e.Evidence)
	return nil
}
