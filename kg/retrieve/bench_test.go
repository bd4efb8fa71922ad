package retrieve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// wikiDocs are the sentences of the shipped data, and a query of each document's title.
func wikiDocs(b *testing.B) (docs []Document, queries []string) {
	b.Helper()
	f, err := os.Open(filepath.Join("..", "..", "examples", "wiki", "docs.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Buffer(nil, 1<<20); s.Scan(); {
		var d struct {
			ID, Title string
			Sents     []string
		}
		if err := json.Unmarshal(s.Bytes(), &d); err != nil {
			b.Fatal(err)
		}
		for i, text := range d.Sents {
			docs = append(docs, Document{ID: fmt.Sprintf("%s#%d", d.ID, i), Title: d.Title, Text: text})
		}
		queries = append(queries, "When was "+d.Title+" founded or born, and where?")
	}
	return docs, queries
}

// BenchmarkLoopback is requests of one query, the best 3 passages, over loopback: server, corpus and client in one process.
func BenchmarkLoopback(b *testing.B) {
	docs, queries := wikiDocs(b)
	base := serve(b, Handler(newShelf(b, docs), ServerOptions{}))
	for _, shape := range Shapes() {
		b.Run(string(shape), func(b *testing.B) {
			c, err := NewClient(base, ClientOptions{Shape: shape})
			if err != nil {
				b.Fatal(err)
			}
			b.SetParallelism(8)
			b.ReportAllocs()
			b.RunParallel(func(p *testing.PB) {
				for i := 0; p.Next(); i++ {
					if got, err := c.Search(b.Context(), queries[i%len(queries)], 3); err != nil || len(got) != 3 {
						b.Errorf("%d documents, %v", len(got), err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
