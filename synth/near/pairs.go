package near

import "slices"

// index finds earlier texts that share a band with a new one. Texts are numbered in the order they are put.
type index struct {
	o     Options
	h     *Hasher
	texts []string            // normal
	sizes []uint32            // distinct shingles of each text
	heads []map[uint64]uint32 // by band: key -> last text with it, + 1
	next  []uint32            // text*bands + band -> the text before with the same key, + 1
	seen  []uint32            // by text: round in which it was last a candidate
	round uint32
	other []uint64 // scratch: shingles of a candidate
}

func newIndex(o Options, h *Hasher) *index {
	ix := &index{o: o, h: h, heads: make([]map[uint64]uint32, o.Bands)}
	for b := range ix.heads {
		ix.heads[b] = map[uint64]uint32{}
	}
	return ix
}

// sketch is a text ready to be looked up; it does not depend on any index.
type sketch struct {
	normal   string
	shingles []uint64
	bands    []uint64 // key of each band
	set      shingleSet
}

// sketcher makes sketches; it holds scratch space and is for one goroutine.
type sketcher struct {
	o   Options
	h   *Hasher
	sig []uint64
}

func newSketcher(o Options, h *Hasher) *sketcher {
	return &sketcher{o: o, h: h, sig: make([]uint64, h.Size())}
}

// sketch fills s for a normal text, using its space again.
func (k *sketcher) sketch(s *sketch, normal string) {
	s.normal = normal
	s.shingles = k.h.Shingles(s.shingles[:0], normal)
	s.set.fill(s.shingles)
	k.h.Sign(k.sig, s.shingles)
	s.bands = s.bands[:0]
	for b := range k.o.Bands {
		key := uint64(b)
		for _, v := range k.sig[b*k.o.Rows : (b+1)*k.o.Rows] {
			key = mix(key ^ v)
		}
		s.bands = append(s.bands, key)
	}
}

// candidates calls f with every text of the index that shares a band, each once.
func (ix *index) candidates(s *sketch, f func(text uint32)) {
	ix.round++
	for b, key := range s.bands {
		for t := ix.heads[b][key]; t != 0; t = ix.next[int(t-1)*ix.o.Bands+b] {
			if ix.seen[t-1] != ix.round {
				ix.seen[t-1] = ix.round
				f(t - 1)
			}
		}
	}
}

// similarity is the exact Jaccard similarity of s and a text of the index; 0 when their sizes alone keep it below
// Options.Jaccard.
func (ix *index) similarity(s *sketch, text uint32) float64 {
	a, b := s.set.n, int(ix.sizes[text])
	if float64(min(a, b)) < ix.o.Jaccard*float64(max(a, b)) {
		return 0
	}
	ix.other = ix.h.Shingles(ix.other[:0], ix.texts[text])
	both := s.set.common(ix.other)
	return float64(both) / float64(a+b-both)
}

// put adds a text and returns its number.
func (ix *index) put(s *sketch) uint32 {
	t := uint32(len(ix.texts))
	ix.texts, ix.seen, ix.sizes = append(ix.texts, s.normal), append(ix.seen, 0), append(ix.sizes, uint32(s.set.n))
	for b, key := range s.bands {
		ix.next = append(ix.next, ix.heads[b][key])
		ix.heads[b][key] = t + 1
	}
	return t
}

// Pair is two texts by their indices, A < B, with the exact similarity of their shingle sets.
type Pair struct {
	A, B       int
	Similarity float64
}

// Pairs lists all confirmed near-duplicate pairs, ascending. Many alike texts make many pairs: for what to keep, Set
// is linear where this is not.
func Pairs(texts []string, o Options) ([]Pair, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	h := NewHasher(o.Permutations, o.Seed)
	ix, k := newIndex(o, h), newSketcher(o, h)
	var s sketch
	var out []Pair
	for i, text := range texts {
		k.sketch(&s, Normal(text))
		ix.candidates(&s, func(t uint32) {
			if sim := ix.similarity(&s, t); sim >= o.Jaccard {
				out = append(out, Pair{A: int(t), B: i, Similarity: sim})
			}
		})
		ix.put(&s)
	}
	slices.SortFunc(out, func(a, b Pair) int {
		if a.A != b.A {
			return a.A - b.A
		}
		return a.B - b.B
	})
	return out, nil
}
