package near

import (
	"fmt"
	"math"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Options of the pass. The zero value is not valid: begin with Default.
type Options struct {
	Permutations int     // values of a signature
	Bands        int     // b: a pair is a candidate when one band agrees; more bands, more candidates
	Rows         int     // r: values of a band; more rows, fewer candidates. Bands*Rows <= Permutations
	Jaccard      float64 // exact similarity of the shingle sets that confirms a candidate
	Seed         uint64
	Skip         []Rule // rules that are not applied
}

// Default is 128 permutations in 16 bands of 8 rows and 0.7 to confirm.
func Default() Options { return Options{Permutations: 128, Bands: 16, Rows: 8, Jaccard: 0.7} }

// Threshold is t = (1/b)^(1/r), the similarity around which the curve of Candidate is steepest.
func (o Options) Threshold() float64 { return math.Pow(1/float64(o.Bands), 1/float64(o.Rows)) }

// Candidate is the chance that a pair of similarity s becomes a candidate: 1 - (1 - s^r)^b.
func (o Options) Candidate(s float64) float64 {
	return 1 - math.Pow(1-math.Pow(s, float64(o.Rows)), float64(o.Bands))
}

// String shows bands, rows, the computed threshold and the curve, for plans and error messages.
func (o Options) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "b=%d bands x r=%d rows, t=%.2f, P(candidate) at s", o.Bands, o.Rows, o.Threshold())
	for _, s := range []float64{.5, .6, .7, .8, .9} {
		fmt.Fprintf(&b, " %.1f: %.2f", s, o.Candidate(s))
	}
	return b.String()
}

const maxPermutations = 1 << 12

// Validate refuses settings that cannot work; its errors show the threshold and the curve. Bands and rows the wrong way
// round are caught by the chance to find a pair of just the confirming similarity, which must be one half at least.
func (o Options) Validate() error {
	bad := func(subject, msg, hint string) error {
		return &quarry.Error{Op: "near-duplicates", Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: hint}
	}
	switch {
	case o.Permutations < 1 || o.Permutations > maxPermutations:
		return bad(fmt.Sprintf("permutations %d", o.Permutations), fmt.Sprintf("expected 1 to %d", maxPermutations), "128 is the default")
	case o.Bands < 1 || o.Rows < 1 || o.Bands > o.Permutations || o.Rows > o.Permutations || o.Bands*o.Rows > o.Permutations:
		return bad(fmt.Sprintf("bands %d, rows %d", o.Bands, o.Rows), fmt.Sprintf("expected both at least 1 and bands x rows at most %d permutations", o.Permutations),
			"16 bands of 8 rows use 128 permutations")
	case !(o.Jaccard > 0 && o.Jaccard <= 1):
		return bad(fmt.Sprintf("jaccard %v", o.Jaccard), "expected more than 0 and at most 1", "0.7 is the default")
	}
	for _, r := range o.Skip {
		if !r.known() {
			return bad(fmt.Sprintf("skip %q", r), fmt.Sprintf("expected one of %v", rules), "")
		}
	}
	if p := o.Candidate(o.Jaccard); p < 0.5 {
		return bad(fmt.Sprintf("bands %d, rows %d", o.Bands, o.Rows), fmt.Sprintf("pairs of similarity %.2f would be found with chance %.2f only (%v)", o.Jaccard, p, o),
			"more bands or fewer rows find more; were they swapped?")
	}
	return nil
}
