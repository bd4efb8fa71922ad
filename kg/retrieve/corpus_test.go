package retrieve

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry/kg/bm25"
)

// shelf is a corpus in memory. A page is all passages of one URL.
type shelf struct {
	*bm25.Index
	docs  []Document
	pages map[string]Page
}

func (s *shelf) Passage(n uint32) Document { return s.docs[n] }

func (s *shelf) Page(url string) (Page, bool) { p, ok := s.pages[url]; return p, ok }

func newShelf(t testing.TB, docs []Document) *shelf {
	t.Helper()
	b := bm25.New(bm25.Options{})
	s := &shelf{docs: docs, pages: map[string]Page{}}
	for _, d := range docs {
		b.Add(d.Title, d.Text)
		s.pages[d.URL] = Page{d.Title, s.pages[d.URL].Text + d.Text}
	}
	var buf bytes.Buffer
	if _, err := b.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.Index, err = bm25.FromBytes(buf.Bytes()); err != nil {
		t.Fatal(err)
	}
	return s
}

func someDocs() []Document {
	docs := []Document{
		{ID: "d0#0", Title: "Skeleton", Text: "Skeleton is a winter sport. Racers lie head first on a sled.", URL: "https://wiki/Skeleton"},
		{ID: "d1#0", Title: "北京大学", Text: "北京大学是一所大学。", URL: "https://wiki/index.php?title=PKU"},
		{ID: "d2#0", Title: `The "Racer" <1> & more`, Text: "A racer\tfrom\nMediaș raced \"twice\".", URL: "https://wiki/Racer"},
	}
	for i := range 30 {
		docs = append(docs, Document{ID: fmt.Sprintf("n%d#0", i), Title: fmt.Sprintf("Number %d", i), Text: strings.Repeat("filler ", i%5+1), URL: fmt.Sprintf("https://wiki/n%d", i)})
	}
	return docs
}

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// ask posts a body as it stands.
func ask(t testing.TB, url, body string) (status int, answer string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 405 && ct != "application/json" {
		t.Errorf("%s: content type %q", url, ct)
	}
	return resp.StatusCode, strings.TrimSpace(string(b))
}
