package english

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

// rows are the lines of the table, split.
func rows(t *testing.T) [][]string {
	t.Helper()
	var out [][]string
	for _, line := range strings.Split(table, "\n") {
		if line != "" && line[0] != '#' {
			out = append(out, strings.Split(line, "\t"))
		}
	}
	return out
}

// TestTable checks every line of phrases.tsv: columns, kinds, one slot a phrase, and that the lexicon finds it.
func TestTable(t *testing.T) {
	l := Load()
	seen := map[string]bool{}
	// Phrases without a content word: a search for them is the name alone.
	bare := map[string]bool{"a place in {x}": true, "a place on {x}": true, "a work from {x}": true}
	for _, f := range rows(t) {
		if len(f) != 6 {
			t.Fatalf("%v: %d columns, want 6", f, len(f))
		}
		rel := f[0]
		if seen[rel] {
			t.Errorf("%s stands twice", rel)
		}
		seen[rel] = true
		for dir, text := range f[1:3] {
			ph := l.Phrase(rel, dir == 1)
			if text == "-" {
				if ph != nil {
					t.Errorf("%s: a phrase %q for -", rel, ph.Pattern)
				}
				continue
			}
			if strings.Count(text, "{x}") != 1 || strings.ToLower(text) != text || strings.TrimSpace(text) != text {
				t.Errorf("%s: pattern %q: want one {x}, lower case, no space around", rel, text)
			}
			if ph == nil || ph.Pattern != text || len(ph.Cues) == 0 {
				t.Fatalf("%s: phrase of %q is %+v", rel, text, ph)
			}
			if ph.Query == "" && !bare[text] {
				t.Errorf("%s: %q adds nothing to a search", rel, text)
			}
			for _, w := range strings.Fields(ph.Query) {
				if Stop(w) || !ph.Cues[Stem(w)] {
					t.Errorf("%s: query word %q is a stop word or no cue", rel, w)
				}
			}
			// Every phrase is read back, as a question and as a condition, around a name it does not know.
			if got, name, ok := l.readSimple(ph.Of("Xan Oto")); !ok || got != ph || name != "Xan Oto" {
				t.Errorf("%q is read as %v around %q", ph.Of("Xan Oto"), got, name)
			}
			for n := range NFrames() {
				text := Write(Plan{Anchor: "Xan Oto", Steps: []*Phrase{ph}}, n)
				p, ok := l.Read(text)
				if !ok || p.Anchor != "Xan Oto" || len(p.Steps) != 1 || p.Steps[0] != ph || len(p.Conditions) != 0 {
					t.Errorf("%q is read as %+v", text, p)
				}
			}
		}
		for _, k := range f[4:6] {
			if _, ok := kindNames[k]; !ok {
				t.Errorf("%s: unknown kind %q", rel, k)
			}
		}
	}
	if l.Phrase("P0", false) != nil {
		t.Error("a phrase for an unknown relation")
	}
	for i, ph := range l.Phrases {
		if ph.ID != i {
			t.Errorf("phrase %d has the id %d", i, ph.ID)
		}
	}
}

// TestSharedPatterns: a pattern belongs to one relation, or to one relation forwards and to its inverses backwards.
func TestSharedPatterns(t *testing.T) {
	forward, users := map[string][]string{}, map[string]map[string]bool{}
	for _, f := range rows(t) {
		for dir, text := range f[1:3] {
			if text == "-" {
				continue
			}
			if users[text] == nil {
				users[text] = map[string]bool{}
			}
			users[text][f[0]] = true
			if dir == 0 {
				forward[text] = append(forward[text], f[0])
			}
		}
	}
	for text, rels := range users {
		if len(rels) > 1 && len(forward[text]) != 1 {
			t.Errorf("%q is said of %v, of which %v say it forwards: want one", text, rels, forward[text])
		}
	}
}

// TestPhrasesCoverTheData: of the 96 relations of the shipped data at least 70 can be asked, and the table knows no others.
func TestPhrasesCoverTheData(t *testing.T) {
	known := map[string]bool{}
	for line := range strings.Lines(readFile(t, "relations.tsv")) {
		id, _, _ := strings.Cut(line, "\t")
		known[id] = true
	}
	n := 0
	for _, f := range rows(t) {
		if !known[f[0]] {
			t.Errorf("%s is no relation of the data", f[0])
		}
		n++
	}
	if n < 70 || n > len(known) {
		t.Errorf("%d of %d relations have phrases", n, len(known))
	}
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "wiki", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

type entity struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Aliases []string `json:"aliases"`
}

func entities(t testing.TB) []entity {
	t.Helper()
	var out []entity
	sc := bufio.NewScanner(strings.NewReader(readFile(t, "entities.jsonl")))
	for sc.Scan() {
		var e entity
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	if len(out) < 16000 {
		t.Fatalf("%d entities", len(out))
	}
	return out
}

// TestNoNamesFromTheData: the reviewed English holds no name of the shipped data but months and common nouns: no entity
// name of several words, and no name of a person, place or organisation that is not an ordinary lower-case word.
func TestNoNamesFromTheData(t *testing.T) {
	ordinary := set("academy congress senate") // common nouns that this data happens to capitalise always
	for w := range strings.FieldsFuncSeq(readFile(t, "docs.jsonl"), func(r rune) bool { return strings.ContainsRune(" \"().,:;-", r) }) {
		if w == strings.ToLower(w) {
			ordinary[w] = true
		}
	}
	isMonth := regexp.MustCompile("(?i)^" + months + "$")
	texts := map[string]string{"stop words": joined(stop), "openers": joined(openers), "prepositions": strings.Join(beforeWords, " | ")}
	for _, l := range nounClasses {
		texts["head nouns"] += strings.ReplaceAll(l, " ", " | ") + " | "
	}
	for _, f := range rows(t) {
		texts["phrases.tsv "+f[0]] = f[1] + " | " + f[2] + " | " + strings.ReplaceAll(f[3], " ", " | ")
	}
	for where, text := range texts {
		var parts []string
		for _, part := range strings.Split(text, "|") {
			parts = append(parts, strings.Join(quarry.Words(part), " "))
		}
		texts[where] = " " + strings.Join(parts, " | ") + " "
	}
	for _, e := range entities(t) {
		for _, name := range append([]string{e.Name}, e.Aliases...) {
			norm := quarry.Normalize(name)
			person := e.Type == "PER" || e.Type == "LOC" || e.Type == "ORG"
			if norm == "" || isMonth.MatchString(norm) || !strings.Contains(norm, " ") && (!person || ordinary[norm]) {
				continue
			}
			for where, text := range texts {
				if strings.Contains(text, " "+norm+" ") {
					t.Errorf("%s holds the name %q of the data", where, name)
				}
			}
		}
	}
}

func joined(words map[string]bool) string {
	var out []string
	for w := range words {
		out = append(out, w)
	}
	return strings.Join(out, " | ")
}

func TestKinds(t *testing.T) {
	types := []string{"PER", "LOC", "ORG", "MISC", "TIME", "NUM"}
	for kind, want := range map[Kind]string{PER: "PER", ACT: "PER ORG", DATE: "TIME", COUNTRY: "LOC", LOC: "LOC ORG MISC", ORG: "LOC ORG MISC", MISC: "LOC ORG MISC",
		ANY: "PER LOC ORG MISC TIME NUM"} {
		var got []string
		for _, typ := range types {
			if kind.Admits(typ) {
				got = append(got, typ)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("kind %d admits %v, want %s", kind, got, want)
		}
	}
	shapes := map[Kind]string{DATE: "11000000", PER: "00011100", ACT: "00011100", LOC: "00011101", ORG: "00011101", COUNTRY: "00011101", MISC: "01011111", ANY: "11111111"}
	for kind, want := range shapes {
		got := ""
		for s := range NShape {
			got += map[bool]string{true: "1", false: "0"}[kind.Fits(s)]
		}
		if got != want {
			t.Errorf("kind %d fits shapes %s, want %s", kind, got, want)
		}
	}
}

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"The singer released two albums": "sing releas two album",
		"She RELEASES it":                "releas",
		"released":                       "releas",
		"of the":                         "",
		"born in 1850":                   "born 1850",
		"cities, city":                   "citi city",
	} {
		if got := strings.Join(Terms(text), " "); got != want {
			t.Errorf("terms of %q are %q, want %q", text, got, want)
		}
	}
	for name, want := range map[string]int{"": 0, "xan county": 1, "lake xan": 1, "lake": 1, "xan party": 2, "university of xan": 3, "xan jr": 15, "xanian": HeadDemonym, "xan xanian": 0, "1850": 17, "xan oto": 0} {
		if got := HeadClass(name); got != want || got >= NHead {
			t.Errorf("head class of %q is %d, want %d", name, got, want)
		}
	}
}
