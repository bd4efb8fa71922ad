package kg

import (
	"path/filepath"
	"strings"

	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/retrieve"
	"github.com/quarry-rl/quarry/kg/store"
)

// Mapped is a graph folder as it lies on disk, memory-mapped: for graphs of any size. Graph and index are read-only and
// safe for concurrent use.
type Mapped struct {
	*store.Graph
	index *bm25.Index
	pages map[string]uint32 // documents by their URL
}

// OpenMapped maps a graph folder. Close it when nothing of it is used any more.
func OpenMapped(dir string) (*Mapped, error) {
	g, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	x, err := bm25.Open(filepath.Join(dir, IndexFile))
	if err == nil && x.Len() != g.Passages() {
		x.Close()
		err = otherIndex(dir)
	}
	if err != nil {
		g.Close()
		return nil, indexError(dir, err)
	}
	return &Mapped{Graph: g, index: x}, nil
}

// Close unmaps the folder.
func (m *Mapped) Close() error {
	err := m.index.Close()
	if e := m.Graph.Close(); err == nil {
		err = e
	}
	return err
}

// Index is the index of the passages.
func (m *Mapped) Index() *bm25.Index { return m.index }

// Corpus gives the passages to a retrieval server. A document without a URL of its own has "doc:" and its id.
func (m *Mapped) Corpus() retrieve.Corpus {
	m.pages = map[string]uint32{}
	for d := range uint32(m.Documents()) {
		if url := m.URL(d); url != "" {
			m.pages[url] = d
		}
	}
	return corpus{m}
}

const docURL = "doc:"

type corpus struct{ m *Mapped }

func (c corpus) Search(query string, k int, dst []bm25.Hit) []bm25.Hit {
	return c.m.index.Search(query, k, dst)
}

func (c corpus) Passage(n uint32) retrieve.Document {
	p := c.m.Graph.Passage(n)
	id := c.m.DocumentID(p.Doc)
	url := c.m.URL(p.Doc)
	if url == "" {
		url = docURL + id
	}
	return retrieve.Document{ID: id, Title: p.Title, Text: p.Text, URL: url}
}

func (c corpus) Page(url string) (retrieve.Page, bool) {
	d, ok := c.m.pages[url]
	if id, own := strings.CutPrefix(url, docURL); own && !ok {
		d, ok = c.m.DocumentByID(id)
	}
	if !ok {
		return retrieve.Page{}, false
	}
	doc := c.m.Document(d)
	return retrieve.Page{Title: doc.Title, Text: strings.Join(doc.Sentences, " ")}, true
}
