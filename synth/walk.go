package synth

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// rng derives the stream of one item, so that results do not depend on concurrency.
func rng(seed uint64, kind string, n int) *rand.Rand {
	h := seed*0x9e3779b97f4a7c15 + uint64(n)
	for _, c := range []byte(kind) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return rand.New(rand.NewPCG(h, seed^uint64(n)<<32))
}

// walk draws walk number n of a length: one of the starts, then hops weighted by the cross-document bias, no vertex
// twice, stepping back from dead ends. ok is false when the start leads nowhere. The same (seed, length, n) always
// gives the same walk.
func (s *Space) walk(starts []int, length, n int) (path []hop, ok bool) {
	if len(starts) == 0 {
		return nil, false
	}
	r := rng(s.o.Seed, "walk"+strconv.Itoa(length), n)
	return s.extend(r, nil, starts[r.IntN(len(starts))], length)
}

func (s *Space) extend(r *rand.Rand, path []hop, at, length int) ([]hop, bool) {
	if len(path) == length {
		return path, true
	}
	hs := s.hops[at]
	weights := make([]float64, len(hs))
	for i := range hs {
		weights[i] = s.weight(path, &hs[i])
	}
	for {
		pick := draw(r, weights)
		if pick < 0 {
			return path, false
		}
		if p, ok := s.extend(r, append(path[:len(path):len(path)], hs[pick]), hs[pick].to, length); ok {
			return p, true
		}
		weights[pick] = 0
	}
}

// draw picks an index by weight; -1 when nothing has any.
func draw(r *rand.Rand, weights []float64) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	if total == 0 {
		return -1
	}
	pick, u := -1, r.Float64()*total
	for i, w := range weights {
		if w == 0 {
			continue
		}
		pick = i
		if u -= w; u < 0 {
			break
		}
	}
	return pick
}

// weight is 0 for a vertex the walk has been at.
func (s *Space) weight(path []hop, h *hop) float64 {
	if len(path) == 0 {
		return 1
	}
	if h.to == path[0].from {
		return 0
	}
	for i := range path {
		if path[i].to == h.to {
			return 0
		}
	}
	if h.doc != path[len(path)-1].doc {
		return s.o.CrossBias
	}
	return 1
}

func pathKey(path []hop) string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(path[0].from))
	for i := range path {
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(path[i].to))
		b.WriteByte('/')
		b.WriteString(strconv.Itoa(path[i].phrase.ID))
	}
	return b.String()
}

func crossesDocuments(path []hop) bool {
	for i := range path {
		if path[i].doc != path[0].doc {
			return true
		}
	}
	return false
}
