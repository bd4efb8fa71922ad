package kg

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/quarry-rl/quarry/kg/ingest"
)

// small is a whole data folder: two documents, three entities, one triple in each of two sentences.
func small() map[string]string {
	return map[string]string{
		ingest.DocsFile: `{"id":"d0","title":"Ana Ro","sents":["Ana Ro was born in Lum .","She sings ."]}
{"id":"d1","title":"Lum","url":"https://wiki.example/Lum","sents":["Lum is a town .","Ana Ro grew up there ."]}
`,
		ingest.EntitiesFile: `{"id":"e0","name":"Ana Ro","type":"PER","aliases":["Ana","Ana Ro","Ana"],"docs":["d1","d0"]}
{"id":"e1","name":"Lum","type":"LOC","aliases":[],"docs":["d0"]}
{"id":"e2","name":"1950","type":"TIME","aliases":[],"docs":[]}
`,
		ingest.RelationsFile: "P19\tplace of birth\t出生地\twhere a person was born\nP569\tdate of birth\n",
		ingest.TriplesFile:   "e0\tP569\te2\td0\t\ne0\tP19\te1\td0\t0\ne0\tP19\te1\td1\t1,0\n",
	}
}

func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// built makes a graph folder.
func built(t testing.TB, sources ...string) string {
	t.Helper()
	out := t.TempDir()
	if _, _, err := Build(t.Context(), out, ingest.Options{}, sources...); err != nil {
		t.Fatal(err)
	}
	return out
}

const wikiData = "../examples/wiki"

var loadWiki = sync.OnceValues(func() (*Graph, error) { return Load(context.Background(), wikiData) })

// wiki is the shipped data; a graph is read-only, so the tests share it.
func wiki(t testing.TB) *Graph {
	t.Helper()
	g, err := loadWiki()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// plain is a data folder as anybody would read it: its lines, cut and joined, nothing checked.
type plain struct {
	Docs      []Document
	Entities  []Entity
	Relations []Relation
	Edges     map[string][]int // subject, relation and object -> passages that carry it
}

func readPlain(t testing.TB, dir string) plain {
	t.Helper()
	lines := func(name string, each func(line string)) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == '\r' }) {
			each(line)
		}
	}
	decode := func(line string, into any) {
		if err := json.Unmarshal([]byte(line), into); err != nil {
			t.Fatal(err)
		}
	}
	p := plain{Edges: map[string][]int{}}
	first, passages := map[string]int{}, 0 // first passage of each document
	lines(ingest.DocsFile, func(line string) {
		var d Document
		decode(line, &d)
		first[d.ID] = passages
		passages += len(d.Sentences)
		p.Docs = append(p.Docs, d)
	})
	at, mentions := map[string]int{}, map[string][]string{}
	lines(ingest.EntitiesFile, func(line string) {
		var e Entity
		decode(line, &e)
		var others []string
		for _, a := range e.Aliases {
			if a != e.Name && !slices.Contains(others, a) {
				others = append(others, a)
			}
		}
		e.Aliases = others
		at[e.ID], mentions[e.ID] = len(p.Entities), e.Docs
		p.Entities = append(p.Entities, e)
	})
	lines(ingest.RelationsFile, func(line string) {
		f := append(strings.Split(line, "\t"), "", "")
		p.Relations = append(p.Relations, Relation{f[0], f[1], f[2], f[3]})
	})
	lines(ingest.TriplesFile, func(line string) {
		f := strings.Split(line, "\t")
		key := strings.Join(f[:3], " ")
		for n := range strings.SplitSeq(f[4], ",") {
			p.Edges[key] = append(p.Edges[key], []int{}...)
			if n == "" {
				continue
			}
			sentence, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			p.Edges[key] = append(p.Edges[key], first[f[3]]+sentence)
			for _, end := range []string{f[0], f[2]} {
				mentions[end] = append(mentions[end], f[3])
			}
		}
	})
	for key := range p.Edges {
		slices.Sort(p.Edges[key])
		p.Edges[key] = slices.Compact(p.Edges[key])
	}
	for id, docs := range mentions {
		slices.SortFunc(docs, func(a, b string) int { return first[a] - first[b] })
		p.Entities[at[id]].Docs = slices.Compact(docs)
	}
	return p
}

// asPlain is a graph in the same form.
func asPlain(t testing.TB, g *Graph) plain {
	t.Helper()
	p := plain{g.Docs, g.Entities, g.Relations, map[string][]int{}}
	for _, e := range g.Edges {
		key := fmt.Sprintf("%s %s %s", g.Entities[e.Subject].ID, g.Relations[e.Relation].ID, g.Entities[e.Object].ID)
		if _, twice := p.Edges[key]; twice {
			t.Errorf("edge %s stands twice", key)
		}
		p.Edges[key] = e.Evidence
	}
	return p
}
