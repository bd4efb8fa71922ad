package pocket

import (
	"bytes"
	"slices"
)

// The vocabulary "byte/1": ids 0..255 are bytes, then three special tokens.
const (
	tokenImStart = 257
	tokenImEnd   = 258
	vocabSize    = 259
)

// Candidate is one continuation of an assistant turn, without its closing <|im_end|>.
type Candidate struct {
	Text     []byte
	Features []uint16 // ids of a FeatureSet, sorted; a repeated id counts that many times
}

// Choices are all the continuations the policy can write after one context.
type Choices struct {
	Candidates []Candidate // sorted by Text as bytes, Texts distinct
}

// NewChoices sorts cands by text; of candidates with equal texts the first given stays. It takes ownership of cands
// and sorts each feature list.
func NewChoices(cands []Candidate) *Choices {
	slices.SortStableFunc(cands, func(a, b Candidate) int { return bytes.Compare(a.Text, b.Text) })
	cands = slices.CompactFunc(cands, func(a, b Candidate) bool { return bytes.Equal(a.Text, b.Text) })
	for i := range cands {
		if !slices.IsSorted(cands[i].Features) {
			slices.Sort(cands[i].Features)
		}
	}
	return &Choices{Candidates: cands}
}
