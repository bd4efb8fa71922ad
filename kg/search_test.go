package kg

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry/kg/english"
)

var loadWiki = sync.OnceValues(func() (*Graph, error) { return Load("../examples/wiki") })

// wiki is the shipped data; a graph is read-only, so the tests share it.
func wiki(t testing.TB) *Graph {
	t.Helper()
	g, err := loadWiki()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestStats(t *testing.T) {
	want := Stats{Documents: 1000, Passages: 8076, Entities: 16248, Relations: 96, Edges: 33042, WithText: 14457, Statements: 25095,
		ByType: map[string]int{"TIME": 3660, "LOC": 3321, "PER": 2946, "MISC": 2712, "ORG": 2385, "NUM": 1224},
		Shared: 865, MaxDegree: 1819, Analyser: "english/1"}
	if d := gocmp.Diff(want, wiki(t).Stats()); d != "" {
		t.Errorf("stats of examples/wiki (-want +got):\n%s", d)
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

// naive scores every passage by the formula of BM25, term by term, with nothing shared with the index but the terms.
func naive(ps []Passage, query string) []float64 {
	docs := make([][]string, len(ps))
	total := 0
	for i, p := range ps {
		docs[i] = english.Terms(p.Title + " " + p.Text)
		total += len(docs[i])
	}
	n := float64(len(ps))
	avg := float64(total) / n
	count := func(terms []string, t string) (c float64) {
		for _, x := range terms {
			if x == t {
				c++
			}
		}
		return c
	}
	scores := make([]float64, len(ps))
	for _, t := range english.Terms(query) {
		df := 0.0
		for _, d := range docs {
			if slices.Contains(d, t) {
				df++
			}
		}
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		for i, d := range docs {
			tf := count(d, t)
			scores[i] += idf * tf * (0.9 + 1) / (tf + 0.9*(1-0.4+0.4*float64(len(d))/avg))
		}
	}
	return scores
}

// TestSearchIsBM25 compares order and hits with the naive formula on random small corpora.
func TestSearchIsBM25(t *testing.T) {
	word := rapid.SampledFrom([]string{"river", "rivers", "bridge", "old", "Lum", "Ana", "1950", "the", "of", "singer", "sings", "é"})
	sentence := rapid.Map(rapid.SliceOfN(word, 1, 9), func(w []string) string { return strings.Join(w, " ") })
	rapid.Check(t, func(t *rapid.T) {
		var ps []Passage
		for _, text := range rapid.SliceOfN(sentence, 1, 30).Draw(t, "sentences") {
			ps = append(ps, Passage{Title: word.Draw(t, "title"), Text: text})
		}
		query, k := sentence.Draw(t, "query"), rapid.IntRange(1, 40).Draw(t, "k")
		scores := naive(ps, query)
		var want []int
		for i, s := range scores {
			if s > 0 {
				want = append(want, i)
			}
		}
		got := NewIndex(ps).Search(query, k)
		if len(got) != min(k, len(want)) {
			t.Fatalf("%d hits for k %d, %d passages share a term", len(got), k, len(want))
		}
		slices.SortFunc(want, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
		for i, p := range got {
			if math.Abs(scores[p]-scores[want[i]]) > 1e-9 {
				t.Fatalf("hit %d is passage %d with %.12f, naive has %d with %.12f", i, p, scores[p], want[i], scores[want[i]])
			}
			if i > 0 && (scores[p] > scores[got[i-1]]+1e-9 || scores[p] == scores[got[i-1]] && sameText(ps, p, got[i-1]) && p < got[i-1]) {
				t.Fatalf("hits %v are out of order: score descending, then passage number", got)
			}
		}
	})
}

func sameText(ps []Passage, a, b int) bool {
	return ps[a].Title == ps[b].Title && ps[a].Text == ps[b].Text
}

func TestSearchEdges(t *testing.T) {
	same := make([]Passage, 5)
	for i := range same {
		same[i] = Passage{Title: "Lum", Text: "a town"}
	}
	ix := NewIndex(same)
	for _, tc := range []struct {
		query string
		k     int
		want  []int
	}{
		{"town", 3, []int{0, 1, 2}},
		{"town", math.MaxInt, []int{0, 1, 2, 3, 4}},
		{"town", 0, nil},
		{"town", -1, nil},
		{"the of", 3, []int{}},
		{"", 3, []int{}},
		{"unknown", 3, []int{}},
	} {
		if d := gocmp.Diff(tc.want, ix.Search(tc.query, tc.k)); d != "" {
			t.Errorf("%q, %d (-want +got):\n%s", tc.query, tc.k, d)
		}
	}
	if got := NewIndex(nil).Search("town", 3); len(got) != 0 {
		t.Errorf("an empty index finds %v", got)
	}
	if got := NewIndex([]Passage{{Title: "the", Text: "of"}}).Search("town", 3); len(got) != 0 {
		t.Errorf("an index without terms finds %v", got)
	}
}

// TestSearchConcurrently wants the same hits from many goroutines as from one, again and again.
func TestSearchConcurrently(t *testing.T) {
	g := wiki(t)
	queries := make([]string, 60)
	want := make([][]int, len(queries))
	for i := range queries {
		queries[i] = fmt.Sprintf("%s %s", g.Docs[i*16].Title, []string{"born", "located country", "member band"}[i%3])
		if want[i] = g.Search(queries[i], 5); len(want[i]) == 0 {
			t.Fatalf("nothing for %q", queries[i])
		}
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := range queries {
				i := (n*7 + w*13) % len(queries)
				if got := g.Search(queries[i], 5); !slices.Equal(got, want[i]) {
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
		if _, err := Load("../examples/wiki"); err != nil {
			b.Fatal(err)
		}
	}
}
