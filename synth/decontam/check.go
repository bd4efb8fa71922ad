package decontam

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/quarry-rl/quarry/synth/near"
)

// Rule says why a question counts as coming from a benchmark. Rules are reason codes: they are stored.
type Rule string

// The rules.
const (
	RuleGram   Rule = "contaminated_text"   // a run of 13 words, 8 when either question has fewer than 40, 20 characters of Chinese
	RuleAnswer Rule = "contaminated_answer" // same answer, and half of the question's entities
	RuleNear   Rule = "contaminated_near"   // estimated Jaccard similarity of the shingles >= 0.5
	RulePages  Rule = "contaminated_pages"  // same set of evidence pages
)

// Match is a question of a benchmark that the checked one seems to come from.
type Match struct {
	Rule       Rule    `json:"rule"`
	Benchmark  string  `json:"benchmark"`
	Question   int     `json:"question"` // its place in the file, from 1
	Similarity float64 `json:"similarity,omitempty"`
}

// leastSimilarity is what MinHash must estimate; the standard error of the estimate is 0.044 there.
const leastSimilarity = 0.5

// Bands of the byte signatures: a pair of similarity 0.5 is looked at with chance 0.996.
const (
	bandRows = 3
	bands    = permutations / bandRows
)

// finder looks questions up. All maps lead to places in questions.
type finder struct {
	lengths []int // of n-grams in grams
	grams   map[uint64][]int32
	long    map[uint64][]int32
	answers map[uint64][]int32
	pages   map[uint64][]int32
	bands   map[uint32][]int32 // band number and bytes
	signers sync.Pool
}

func newFinder(b *Benchmark) *finder {
	f := &finder{grams: map[uint64][]int32{}, long: map[uint64][]int32{}, answers: map[uint64][]int32{}, pages: map[uint64][]int32{}, bands: map[uint32][]int32{}}
	f.signers.New = func() any { return newSigner(b.salt) }
	for i := range b.questions {
		h := &b.questions[i]
		q := int32(i)
		if n := h.gram(); !slices.Contains(f.lengths, n) {
			f.lengths = append(f.lengths, n)
		}
		for _, x := range h.grams {
			f.grams[x] = append(f.grams[x], q)
		}
		for _, x := range h.long {
			f.long[x] = append(f.long[x], q)
		}
		for _, x := range h.answers {
			f.answers[x] = append(f.answers[x], q)
		}
		if h.pages != 0 {
			f.pages[h.pages] = append(f.pages[h.pages], q)
		}
		for band := range bands {
			k := bandKey(h.sig[:], band)
			f.bands[k] = append(f.bands[k], q)
		}
	}
	slices.Sort(f.lengths)
	return f
}

func bandKey(sig []byte, band int) uint32 {
	at := band * bandRows
	return binary.LittleEndian.Uint32([]byte{sig[at], sig[at+1], sig[at+2], byte(band)})
}

// Check lists the questions of the benchmark that it seems to come from, by their place, then by rule; nil when none.
func (b *Benchmark) Check(it Item) []Match {
	w := word(it.Text)
	found := map[int32]map[Rule]float64{}
	add := func(q int32, r Rule, similarity float64) {
		if found[q] == nil {
			found[q] = map[Rule]float64{}
		}
		found[q][r] = similarity
	}
	b.text(&w, add)
	b.answer(&it, add)
	b.near(&w, add)
	if p := pageSet(it.Pages); p != "" {
		for _, q := range b.pages[max(1, b.salt.hash(kindPages, p))] {
			add(q, RulePages, 0)
		}
	}
	var out []Match
	for q, rules := range found {
		for r, s := range rules {
			out = append(out, Match{Rule: r, Benchmark: b.Name, Question: int(q) + 1, Similarity: s})
		}
	}
	slices.SortFunc(out, func(a, b Match) int { return cmp.Or(cmp.Compare(a.Question, b.Question), cmp.Compare(a.Rule, b.Rule)) })
	return out
}

func (b *Benchmark) text(w *wording, add func(int32, Rule, float64)) {
	short := len(w.tokens) < longWords
	for _, n := range b.lengths {
		w.grams(n, func(g string) {
			for _, q := range b.grams[b.salt.hash(kindGram, g)] {
				h := &b.questions[q]
				if h.whole() && len(w.tokens) != int(h.tokens) || !h.cjk && h.tokens >= longWords && !short {
					continue // of two long ones only the long n-grams count
				}
				add(q, RuleGram, 0)
			}
		})
	}
	if len(b.long) > 0 && !short {
		w.grams(gramLong, func(g string) {
			for _, q := range b.long[b.salt.hash(kindGram, g)] {
				add(q, RuleGram, 0)
			}
		})
	}
}

func (b *Benchmark) answer(it *Item, add func(int32, Rule, float64)) {
	answers := b.salt.hashes(kindAnswer, surfaces(it.Answers))
	var own []uint64 // hashed only when an answer agrees
	for _, a := range answers {
		for _, q := range b.answers[a] {
			if own == nil {
				if own = b.salt.hashes(kindEntity, entities(it)); len(own) == 0 {
					return
				}
			}
			both := 0
			for _, e := range b.questions[q].entities {
				if _, ok := slices.BinarySearch(own, e); ok {
					both++
				}
			}
			if both > 0 && 2*both >= len(own) {
				add(q, RuleAnswer, 0)
			}
		}
	}
}

func (b *Benchmark) near(w *wording, add func(int32, Rule, float64)) {
	if len(w.tokens) == 0 {
		return
	}
	s := b.signers.Get().(*signer)
	defer b.signers.Put(s)
	var buf [permutations]byte
	sig := s.sign(buf[:0], w)
	seen := map[int32]bool{}
	for band := range bands {
		for _, q := range b.bands[bandKey(sig, band)] {
			if seen[q] {
				continue
			}
			seen[q] = true
			if sim := near.ByteSimilarity(sig, b.questions[q].sig[:]); sim >= leastSimilarity {
				add(q, RuleNear, sim)
			}
		}
	}
}
