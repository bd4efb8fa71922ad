package kg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestStats(t *testing.T) {
	want := Stats{Documents: 1000, Passages: 8076, Entities: 16248, Relations: 96, Edges: 33042, WithText: 14457, Statements: 25095,
		ByType: map[string]int{"TIME": 3660, "LOC": 3321, "PER": 2946, "MISC": 2712, "ORG": 2385, "NUM": 1224},
		Shared: 865, MaxDegree: 1819, Analyser: "quarry/1"}
	if d := cmp.Diff(want, wiki(t).Stats()); d != "" {
		t.Errorf("stats of examples/wiki (-want +got):\n%s", d)
	}
}

// TestGraphIsItsFolder compares a graph with a plain reading of the files it was built from.
func TestGraphIsItsFolder(t *testing.T) {
	hand := folderOf(t, small())
	g, err := Load(t.Context(), hand)
	if err != nil {
		t.Fatal(err)
	}
	for dir, g := range map[string]*Graph{wikiData: wiki(t), hand: g} {
		if d := cmp.Diff(readPlain(t, dir), asPlain(t, g), cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-folder +graph):\n%.4000s", dir, d)
		}
		if !slices.IsSortedFunc(g.Edges, func(a, b Edge) int {
			return slices.Compare([]int{a.Subject, a.Relation, a.Object}, []int{b.Subject, b.Relation, b.Object})
		}) {
			t.Errorf("%s: edges are out of order", dir)
		}
		for i, d := range g.Docs {
			if n, ok := g.Doc(d.ID); !ok || n != i {
				t.Fatalf("document %s is %d, %v", d.ID, n, ok)
			}
		}
		for i, e := range g.Entities {
			if n, ok := g.Entity(e.ID); !ok || n != i {
				t.Fatalf("entity %s is %d, %v", e.ID, n, ok)
			}
		}
		for i, r := range g.Relations {
			if n, ok := g.Relation(r.ID); !ok || n != i {
				t.Fatalf("relation %s is %d, %v", r.ID, n, ok)
			}
		}
	}
	if _, ok := g.Entity("none"); ok {
		t.Error("there is no entity of this id")
	}
}

// TestForms: line ends and empty lines make no difference.
func TestForms(t *testing.T) {
	want := asPlain(t, load(t, small()))
	for name, change := range map[string]func(string) string{
		"CRLF":                func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"no final line break": func(s string) string { return strings.TrimSuffix(s, "\n") },
		"empty lines":         func(s string) string { return "\n" + strings.ReplaceAll(s, "\n", "\n\n") },
	} {
		files := small()
		for f, text := range files {
			files[f] = change(text)
		}
		if d := cmp.Diff(want, asPlain(t, load(t, files))); d != "" {
			t.Errorf("%s (-as it is +changed):\n%s", name, d)
		}
	}
}

func load(t testing.TB, files map[string]string) *Graph {
	t.Helper()
	g, err := Load(context.Background(), folderOf(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestEvidence: what carries an edge are sentences, ascending, each once, however the source says it.
func TestEvidence(t *testing.T) {
	// e1 is found by words of the second sentence, then by those of the first, then by the second as a whole
	const line = `{"entity":{"id":"a","name":"Ann"},"subject":"a","predicate":{"id":"P19"},"object":"Bern","doc_id":"d1","title":"Ann","passage":"Ann is from Bern. She left Bern.","statement":"Bern",%s}` + "\n"
	text := fmt.Sprintf(line, `"span":{"start":27,"end":31}`) + fmt.Sprintf(line, `"span":{"start":12,"end":16}`) + fmt.Sprintf(line, `"span":{"text":"She left Bern."}`)
	g, err := Load(t.Context(), folderOf(t, map[string]string{"x.jsonl": text})+"/x.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(g.Edges, func(e Edge) bool { return g.Relations[e.Relation].ID == "P19" })
	if i < 0 || !slices.Equal(g.Edges[i].Evidence, []int{0, 1}) {
		t.Errorf("edges %+v of passages %+v", g.Edges, g.Passages)
	}
}

// TestProvenance re-reads the text of any statement from its document and hashes it.
func TestProvenance(t *testing.T) {
	g := wiki(t)
	var carried []int
	for i := range g.Edges {
		if len(g.Edges[i].Evidence) > 0 {
			carried = append(carried, i)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(carried).Draw(t, "edge")
		p := rapid.SampledFrom(g.Edges[e].Evidence).Draw(t, "passage")
		s := g.Statement(e, p)
		d, ok := g.Doc(s.Doc)
		if !ok {
			t.Fatalf("document %q is not in the graph", s.Doc)
		}
		text := strings.Join(g.Docs[d].Sentences, " ")
		if got := text[s.Start:s.End]; got != s.Text || got != g.Docs[d].Sentences[g.Passages[p].Sentence] {
			t.Fatalf("bytes %d to %d of %s are %q, the statement says %q", s.Start, s.End, s.Doc, got, s.Text)
		}
		if sum := sha256.Sum256([]byte(text[s.Start:s.End])); hex.EncodeToString(sum[:]) != s.TextSHA256 {
			t.Fatalf("hash %s is not that of %q", s.TextSHA256, s.Text)
		}
		edge := &g.Edges[e]
		if s.Subject != g.Entities[edge.Subject].ID || s.Predicate != g.Relations[edge.Relation].ID || s.Object != g.Entities[edge.Object].ID {
			t.Fatalf("statement %+v is not edge %+v", s, edge)
		}
		bare := g.Statement(e, -1)
		if bare.Doc != "" || bare.Text != "" || bare.TextSHA256 != "" || bare.Subject != s.Subject {
			t.Fatalf("statement without evidence has provenance: %+v", bare)
		}
	})
}

// TestSearchConcurrently wants the same hits from many goroutines as from one, again and again.
func TestSearchConcurrently(t *testing.T) {
	g := wiki(t)
	queries := make([]string, 60)
	want := make([][]int, len(queries))
	for i := range queries {
		queries[i] = fmt.Sprintf("%s %s", g.Docs[i*16].Title, []string{"born", "located country", "member band"}[i%3])
		if want[i] = g.Search(queries[i], 20); len(want[i]) == 0 {
			t.Fatalf("nothing for %q", queries[i])
		}
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := range queries {
				i := (n*7 + w*13) % len(queries)
				if got := g.Search(queries[i], 20); !slices.Equal(got, want[i]) {
					t.Errorf("%q: %v in one goroutine of many, %v alone", queries[i], got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkSearch is one search of the demo's kind, k 3, with queries of entity names and words of a phrase.
func BenchmarkSearch(b *testing.B) {
	g := wiki(b)
	var queries []string
	for i := range g.Edges {
		queries = append(queries, g.Entities[g.Edges[i].Subject].Name+" "+g.Relations[g.Edges[i].Relation].Label)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		g.Search(queries[n%len(queries)], 3)
		n += 97
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(b.Context(), wikiData); err != nil {
			b.Fatal(err)
		}
	}
}
