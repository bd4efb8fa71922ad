package pipeline

import (
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/synth/near"
)

// texts is the graph's documents as searches see them. Shared by all workers.
type texts struct {
	g      *kg.Mapped
	search Searcher
	docOf  []uint32 // by passage

	typeOff []uint32 // types of the entities in document d are types[typeOff[d]:typeOff[d+1]]
	types   []uint32

	mu   sync.Mutex
	freq map[string]int
}

// newTexts is nil for a graph without texts.
func newTexts(g *kg.Mapped, search Searcher) *texts {
	if g.Passages() == 0 {
		return nil
	}
	t := &texts{g: g, search: search, docOf: make([]uint32, g.Passages()), freq: map[string]int{}}
	for d := range uint32(g.Documents()) {
		lo, hi := g.PassagesOf(d)
		for p := lo; p < hi; p++ {
			t.docOf[p] = d
		}
	}
	in := make([][]uint32, g.Documents())
	for v := range uint32(g.Entities()) {
		for _, d := range g.DocsOf(v) {
			if typ := g.TypeNo(v); !slices.Contains(in[d], typ) {
				in[d] = append(in[d], typ)
			}
		}
	}
	t.typeOff = make([]uint32, 1, g.Documents()+1)
	for _, types := range in {
		slices.Sort(types)
		t.types = append(t.types, types...)
		t.typeOff = append(t.typeOff, uint32(len(t.types)))
	}
	return t
}

// rank is a result list of k distinct documents for a query, best first.
func (t *texts) rank(query string, k int, hits []bm25.Hit, docs []uint32) ([]bm25.Hit, []uint32) {
	for ask := 2 * k; ; ask *= 4 {
		hits, docs = t.search.Search(query, ask, hits[:0]), docs[:0]
		for _, h := range hits {
			if d := t.docOf[h.Passage]; !slices.Contains(docs, d) {
				if docs = append(docs, d); len(docs) == k {
					return hits, docs
				}
			}
		}
		if len(hits) < ask {
			return hits, docs
		}
	}
}

// fits says whether a document names an entity of a type. The type 0, none, fits any.
func (t *texts) fits(doc, typ uint32) bool {
	return typ == 0 || slices.Contains(t.types[t.typeOff[doc]:t.typeOff[doc+1]], typ)
}

// counted is where counting the documents of a term stops.
const counted = 4096

// frequency is how many documents hold a word, or each two characters of a Chinese one; counted in up to 4,096 passages.
// It is 0 for stop words, which searches leave out.
func (t *texts) frequency(word string) int {
	t.mu.Lock()
	n, ok := t.freq[word]
	t.mu.Unlock()
	if ok {
		return n
	}
	for i, term := range bm25.Terms(word) {
		docs := map[uint32]struct{}{}
		for _, h := range t.search.Search(term, counted, nil) {
			docs[t.docOf[h.Passage]] = struct{}{}
		}
		if i == 0 || len(docs) < n {
			n = len(docs)
		}
	}
	t.mu.Lock()
	if len(t.freq) < 1<<20 {
		t.freq[word] = n
	}
	t.mu.Unlock()
	return n
}

// keptTexts is how many folded documents a desk keeps.
const keptTexts = 4096

// desk is where one worker searches and reads: it keeps the folded texts and the hops it looked at last.
type desk struct {
	t      *texts
	folded map[uint32]string
	hops   map[hopKey]found
	hits   []bm25.Hit
	docs   []uint32
}

// Search lists the k best documents.
func (d *desk) Search(query string, k int) []int {
	d.hits, d.docs = d.t.rank(query, k, d.hits, d.docs)
	out := make([]int, len(d.docs))
	for i, doc := range d.docs {
		out[i] = int(doc)
	}
	return out
}

// Frequency is of documents that hold a term.
func (d *desk) Frequency(term string) int { return d.t.frequency(term) }

// Holds says whether a name or alias of e stands in a document, title included: as whole words, of Chinese anywhere.
func (d *desk) Holds(document int, e quarry.Named) bool {
	text := d.text(uint32(document))
	if stands(text, e.Name) {
		return true
	}
	for _, a := range e.Aliases {
		if stands(text, a) {
			return true
		}
	}
	return false
}

func (d *desk) text(doc uint32) string {
	if s, ok := d.folded[doc]; ok {
		return s
	}
	if len(d.folded) >= keptTexts {
		clear(d.folded)
	}
	all := d.t.g.Document(doc)
	s := fold(all.Title + " . " + strings.Join(all.Sentences, " "))
	d.folded[doc] = s
	return s
}

// fold is a text for finding names in: normal form, words between single blanks, one at each end.
func fold(s string) string { return " " + quarry.Normalize(norm.NFKC.String(s)) + " " }

// stands says whether a name stands in a folded text. A name of one Chinese character never does.
func stands(folded, name string) bool {
	n := quarry.Normalize(norm.NFKC.String(name))
	if strings.ContainsFunc(n, near.CJK) {
		return len([]rune(n)) > 1 && strings.Contains(folded, n)
	}
	return n != "" && strings.Contains(folded, " "+n+" ")
}
