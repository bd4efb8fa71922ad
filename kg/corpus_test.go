package kg

import (
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/retrieve"
)

// TestServed asks a graph over loopback in every shape: each finds the passage a search finds, and pages are found by the
// URL of a document and, where it has none, by its id.
func TestServed(t *testing.T) {
	m, err := OpenMapped(built(t, folderOf(t, small())))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	srv := httptest.NewServer(retrieve.Handler(m.Corpus(), retrieve.ServerOptions{}))
	defer srv.Close()
	const lum = "https://wiki.example/Lum"
	for _, shape := range retrieve.Shapes() {
		c, err := retrieve.NewClient(srv.URL, retrieve.ClientOptions{Shape: shape, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		found, err := c.SearchAll(t.Context(), []string{"who sings", "a town"}, 1)
		if err != nil || len(found) != 2 || len(found[0]) != 1 || len(found[1]) != 1 {
			t.Fatalf("%s: %+v, %v", shape, found, err)
		}
		for i, want := range []retrieve.Document{{ID: "d0", Title: "Ana Ro", Text: "She sings .", URL: "doc:d0"}, {ID: "d1", Title: "Lum", Text: "Lum is a town .", URL: lum}} {
			got := found[i][0]
			if got.Title != want.Title || got.Text != want.Text || got.URL != "" && got.URL != want.URL || shape != retrieve.R1Searcher && got.ID != "" && got.ID != want.ID {
				t.Errorf("%s: %+v, want %+v", shape, got, want)
			}
		}
		if shape != retrieve.ASearcher && shape != retrieve.OpenResearcher {
			continue // these have no pages
		}
		for url, want := range map[string]retrieve.Page{
			lum:      {Title: "Lum", Text: "Lum is a town . Ana Ro grew up there ."},
			"doc:d0": {Title: "Ana Ro", Text: "Ana Ro was born in Lum . She sings ."},
			"doc:d1": {Title: "Lum", Text: "Lum is a town . Ana Ro grew up there ."},
		} {
			if page, err := c.Page(t.Context(), url); err != nil || page != want {
				t.Errorf("%s: page %s is %+v, %v", shape, url, page, err)
			}
		}
		for _, url := range []string{"doc:d7", "d0", "doc:", "https://wiki.example/Vell"} {
			if page, err := c.Page(t.Context(), url); quarry.KindOf(err) != quarry.KindNotFound {
				t.Errorf("%s: page %s is %+v, %v", shape, url, page, err)
			}
		}
	}
}

// TestServedLikeInMemory: what the server finds in the shipped data is what an episode's search finds, and the counts agree.
func TestServedLikeInMemory(t *testing.T) {
	g := wiki(t)
	m, err := OpenMapped(built(t, wikiData))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if s, want := m.Stats(), g.Stats(); s.WithText != want.WithText || s.Shared != want.Shared || s.MaxDegree != want.MaxDegree || !maps.Equal(s.ByType, want.ByType) {
		t.Errorf("mapped %+v, in memory %+v", s, want)
	}
	srv := httptest.NewServer(retrieve.Handler(m.Corpus(), retrieve.ServerOptions{}))
	defer srv.Close()
	c, err := retrieve.NewClient(srv.URL, retrieve.ClientOptions{Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	var queries []string
	for i := 0; i < len(g.Docs); i += 50 {
		queries = append(queries, g.Docs[i].Title+" born")
	}
	all, err := c.SearchAll(t.Context(), queries, 3)
	if err != nil || len(all) != len(queries) {
		t.Fatalf("%d answers, %v", len(all), err)
	}
	for i, q := range queries {
		want := g.Search(q, 3)
		var got, texts []string
		for _, d := range all[i] {
			got = append(got, d.ID+" "+d.Text)
		}
		for _, p := range want {
			texts = append(texts, g.Docs[g.Passages[p].Doc].ID+" "+g.Passages[p].Text)
		}
		if len(want) == 0 || strings.Join(got, "\n") != strings.Join(texts, "\n") {
			t.Errorf("%q: %q served, %q in memory", q, got, texts)
		}
	}
}
