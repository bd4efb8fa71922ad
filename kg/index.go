package kg

import (
	"math"
	"sync"

	"github.com/quarry-rl/quarry/kg/english"
)

// BM25 parameters (Lucene's k1 and b for short passages).
const (
	bm25K1 = 0.9
	bm25B  = 0.4
)

type posting struct {
	passage int32
	tf      float32
}

// Index is a BM25 index over title and sentence. Order is deterministic: score descending, then passage number.
type Index struct {
	postings map[string][]posting
	idf      map[string]float64
	norm     []float64
	scratch  sync.Pool // *accumulator
}

// accumulator is the scratch space of one search; scores are 0 between searches.
type accumulator struct {
	score   []float64 // by passage
	touched []int32   // passages with a score
}

// NewIndex builds the index.
func NewIndex(ps []Passage) *Index {
	ix := &Index{postings: map[string][]posting{}, idf: map[string]float64{}, norm: make([]float64, len(ps))}
	total := 0.0
	lens := make([]float64, len(ps))
	for i, p := range ps {
		terms := english.Terms(p.Title + " " + p.Text)
		tf := map[string]float32{}
		for _, t := range terms {
			tf[t]++
		}
		lens[i] = float64(len(terms))
		total += lens[i]
		for t, n := range tf {
			ix.postings[t] = append(ix.postings[t], posting{int32(i), n})
		}
	}
	avg := total / max(float64(len(ps)), 1)
	for i := range ps {
		ix.norm[i] = bm25K1 * (1 - bm25B + bm25B*lens[i]/avg)
	}
	for t, pl := range ix.postings {
		df := float64(len(pl))
		ix.idf[t] = math.Log(1 + (float64(len(ps))-df+0.5)/(df+0.5))
	}
	ix.scratch.New = func() any { return &accumulator{score: make([]float64, len(ps))} }
	return ix
}

// Analyser names how text became terms.
func (ix *Index) Analyser() string { return english.Analyser }

// Search returns the best k passage numbers; fewer when fewer share a term with the query. A term that stands twice in
// the query counts twice. It is safe for concurrent use.
func (ix *Index) Search(query string, k int) []int {
	if k <= 0 {
		return nil
	}
	acc := ix.scratch.Get().(*accumulator)
	for _, t := range english.Terms(query) {
		idf := ix.idf[t]
		for _, po := range ix.postings[t] {
			if acc.score[po.passage] == 0 {
				acc.touched = append(acc.touched, po.passage)
			}
			tf := float64(po.tf)
			acc.score[po.passage] += idf * tf * (bm25K1 + 1) / (tf + ix.norm[po.passage])
		}
	}
	type hit struct {
		p int
		s float64
	}
	k = min(k, len(acc.touched))
	better := func(a, b hit) bool { return a.s > b.s || a.s == b.s && a.p < b.p }
	best := make([]hit, 0, k+1)
	for _, p := range acc.touched {
		h := hit{int(p), acc.score[p]}
		acc.score[p] = 0
		if len(best) == k && !better(h, best[k-1]) {
			continue
		}
		i := len(best)
		best = append(best, h)
		for ; i > 0 && better(h, best[i-1]); i-- {
			best[i] = best[i-1]
		}
		best[i] = h
		best = best[:min(len(best), k)]
	}
	acc.touched = acc.touched[:0]
	ix.scratch.Put(acc)
	out := make([]int, len(best))
	for i, h := range best {
		out[i] = h.p
	}
	return out
}
