package certify

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/quarry-rl/quarry/kg/csr"
)

// Branch is one of several ways to the answer of a question.
type Branch struct {
	Vertices  []uint32 // without the answer
	Docs      []uint32 // of its statements; csr.NoDoc does not count
	Sentences []string // that carry its statements; may be left out
	Bits      float64  // log2 of the answers without the branch over those with it
}

// MaxLikeness is the highest Jaccard index of 3-grams of letters that the sentences of two branches may have.
const MaxLikeness = 0.5

// Independence says whether branches that meet at an answer stand on their own feet.
type Independence struct {
	Disjoint    bool      // (i) no vertex in two branches
	Unlinked    bool      // (ii) no statement joins vertices of different branches
	DocsApart   bool      // (iii) no document carries statements of two branches
	Informative bool      // (iv) each branch gains at least one bit
	Unlike      bool      // (v) sentences of two branches share at most MaxLikeness of their 3-grams
	Bits        []float64 // gained by each branch
}

// Holds says whether all five hold.
func (i Independence) Holds() bool {
	return i.Disjoint && i.Unlinked && i.DocsApart && i.Informative && i.Unlike
}

// Independent compares branches pair by pair. One branch alone is independent if it is informative.
func (x *Index) Independent(branches []Branch) Independence {
	in := Independence{Disjoint: true, Unlinked: true, DocsApart: true, Informative: true, Unlike: true, Bits: make([]float64, 0, len(branches))}
	for i, a := range branches {
		in.Bits = append(in.Bits, a.Bits)
		in.Informative = in.Informative && a.Bits >= 1
		for _, b := range branches[:i] {
			for _, v := range a.Vertices {
				in.Disjoint = in.Disjoint && !slices.Contains(b.Vertices, v)
				for _, w := range b.Vertices {
					in.Unlinked = in.Unlinked && !x.Joined(v, w)
				}
			}
			for _, d := range a.Docs {
				in.DocsApart = in.DocsApart && (d == csr.NoDoc || !slices.Contains(b.Docs, d))
			}
			if len(a.Sentences) > 0 && len(b.Sentences) > 0 {
				in.Unlike = in.Unlike && Likeness(a.Sentences, b.Sentences) <= MaxLikeness
			}
		}
	}
	return in
}

// Likeness is the Jaccard index of the sets of 3-grams of letters and digits, case folded, spaces and marks as one space.
// Two texts too short for a 3-gram are alike when they are the same text.
func Likeness(a, b []string) float64 {
	x, y := grams(a), grams(b)
	both := 0
	for g := range x {
		if _, ok := y[g]; ok {
			both++
		}
	}
	return float64(both) / float64(len(x)+len(y)-both)
}

func grams(sentences []string) map[string]struct{} {
	out := map[string]struct{}{}
	for _, s := range sentences {
		rs := []rune{' '}
		for _, r := range s {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
				rs = append(rs, unicode.ToLower(r))
			case rs[len(rs)-1] != ' ' && r != utf8.RuneError:
				rs = append(rs, ' ')
			}
		}
		if rs[len(rs)-1] != ' ' {
			rs = append(rs, ' ')
		}
		if len(rs) < 3 {
			out[string(rs)] = struct{}{}
		}
		for i := 0; i+3 <= len(rs); i++ {
			out[string(rs[i:i+3])] = struct{}{}
		}
	}
	if len(out) == 0 {
		out[""] = struct{}{}
	}
	return out
}
