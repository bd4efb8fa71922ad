package near_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/near"
)

func TestThreshold(t *testing.T) {
	for _, tc := range []struct {
		b, r int
		t    float64
		at   map[float64]float64
	}{
		{16, 8, .71, map[float64]float64{.5: .06, .6: .24, .7: .61, .8: .95, .9: 1}},
		{20, 13, .79, map[float64]float64{.7: .18, .8: .68, .9: .997}},
		{32, 4, .42, nil},
	} {
		o := near.Options{Bands: tc.b, Rows: tc.r}
		if math.Abs(o.Threshold()-tc.t) > .005 {
			t.Errorf("%v: threshold %v", o, o.Threshold())
		}
		for s, p := range tc.at {
			if math.Abs(o.Candidate(s)-p) > .006 {
				t.Errorf("%v: P(%v) = %v, want %v", o, s, o.Candidate(s), p)
			}
		}
	}
	if s := near.Default().String(); s != "b=16 bands x r=8 rows, t=0.71, P(candidate) at s 0.5: 0.06 0.6: 0.24 0.7: 0.61 0.8: 0.95 0.9: 1.00" {
		t.Error(s)
	}
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*near.Options)
		want   string
	}{
		"swapped":         {func(o *near.Options) { o.Bands, o.Rows = 8, 16 }, "t=0.88"},
		"too many values": {func(o *near.Options) { o.Bands = 17 }, "at most 128"},
		"overflow":        {func(o *near.Options) { o.Bands, o.Rows = math.MaxInt/2, 4 }, "at most 128"},
		"no bands":        {func(o *near.Options) { o.Bands = 0 }, "at least 1"},
		"similarity":      {func(o *near.Options) { o.Jaccard = 1.5 }, "at most 1"},
		"not a number":    {func(o *near.Options) { o.Jaccard = math.NaN() }, "at most 1"},
		"permutations":    {func(o *near.Options) { o.Permutations = 0 }, "permutations 0"},
		"rule":            {func(o *near.Options) { o.Skip = []near.Rule{"txt"} }, `"txt"`},
	} {
		o := near.Default()
		tc.change(&o)
		err := o.Validate()
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := near.Default().Validate(); err != nil {
		t.Error(err)
	}
}

// candidateRate is the share of n random pairs of similarity s of which a band agrees.
func candidateRate(o near.Options, r *rand.Rand, s float64, n int) float64 {
	const all = 200
	common := int(math.Round(s * all))
	hit := 0
	h := near.NewHasher(o.Permutations, r.Uint64())
	sigA, sigB := make([]uint64, h.Size()), make([]uint64, h.Size())
	for i := range n {
		if i%20 == 0 { // so that one draw of permutations does not decide
			h = near.NewHasher(o.Permutations, r.Uint64())
		}
		a, b := []uint64{}, []uint64{}
		for j := range all {
			x := r.Uint64()
			switch {
			case j < common:
				a, b = append(a, x), append(b, x)
			case j%2 == 0:
				a = append(a, x)
			default:
				b = append(b, x)
			}
		}
		h.Sign(sigA, a)
		h.Sign(sigB, b)
		for band := range o.Bands {
			equal := true
			for v := band * o.Rows; v < (band+1)*o.Rows; v++ {
				equal = equal && sigA[v] == sigB[v]
			}
			if equal {
				hit++
				break
			}
		}
	}
	return float64(hit) / float64(n)
}

func TestCurve(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 900
	rate := map[[2]int]map[float64]float64{}
	for _, br := range [][2]int{{16, 8}, {8, 8}, {16, 4}, {32, 4}} {
		o := near.Options{Permutations: 128, Bands: br[0], Rows: br[1]}
		rate[br] = map[float64]float64{}
		for _, s := range []float64{.3, .5, .6, .7, .8, .9} {
			p := o.Candidate(s)
			got := candidateRate(o, r, s, n)
			rate[br][s] = got
			if sigma := math.Sqrt(p * (1 - p) / n); math.Abs(got-p) > 3*sigma+1e-3 {
				t.Errorf("%v: at s=%v rate %.4f, want %.4f within 3 sigma (%.4f)", o, s, got, p, 3*sigma)
			}
		}
	}
	for _, s := range []float64{.6, .7} { // the trap of documentation with bands and rows swapped
		if rate[[2]int{16, 8}][s] <= rate[[2]int{8, 8}][s] || rate[[2]int{32, 4}][s] <= rate[[2]int{16, 4}][s] {
			t.Errorf("s=%v: more bands do not raise the rate: %v", s, rate)
		}
		if rate[[2]int{16, 8}][s] >= rate[[2]int{16, 4}][s] {
			t.Errorf("s=%v: more rows do not lower the rate: %v", s, rate)
		}
	}
}

func TestByteSimilarity(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	h := near.NewHasher(1024, 9)
	for _, s := range []float64{0, .25, .5, .75, 1} {
		var a, b []uint64
		for i := range 400 {
			x := r.Uint64()
			switch {
			case float64(i) < s*400:
				a, b = append(a, x), append(b, x)
			case i%2 == 0:
				a = append(a, x)
			default:
				b = append(b, x)
			}
		}
		sig := make([]uint64, h.Size())
		h.Sign(sig, a)
		ba := h.Bytes(nil, sig)
		h.Sign(sig, b)
		bb := h.Bytes(nil, sig)
		if got := near.ByteSimilarity(ba, bb); math.Abs(got-s) > 3.5*math.Sqrt(.25/1024) {
			t.Errorf("similarity %v estimated as %v", s, got)
		}
	}
	if near.ByteSimilarity(nil, nil) != 0 || near.ByteSimilarity([]byte{1}, []byte{1, 2}) != 0 {
		t.Error("signatures of different length were compared")
	}
}

// TestPairs compares with all pairs by the definition: nothing false is confirmed, and what is missed is what the curve allows.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var texts []string
	for range 150 {
		q := question(r)
		texts = append(texts, q)
		if r.IntN(2) == 0 {
			texts = append(texts, edited(r, q, r.IntN(5)))
		}
	}
	o := near.Default()
	pairs, err := near.Pairs(texts, o)
	if err != nil {
		t.Fatal(err)
	}
	found := map[[2]int]float64{}
	for i, p := range pairs {
		if p.A >= p.B || i > 0 && !(pairs[i-1].A < p.A || pairs[i-1].A == p.A && pairs[i-1].B < p.B) {
			t.Fatalf("not ascending: %v", pairs)
		}
		found[[2]int{p.A, p.B}] = p.Similarity
	}
	want, got := 0., 0
	sets := make([]map[string]bool, len(texts))
	for i, text := range texts {
		sets[i] = shingles(text)
	}
	for i := range texts {
		for j := i + 1; j < len(texts); j++ {
			s := jaccard(sets[i], sets[j])
			sim, ok := found[[2]int{i, j}]
			if ok && (s < o.Jaccard || math.Abs(s-sim) > 1e-12) {
				t.Errorf("pair %d %d: similarity %v given as %v", i, j, s, sim)
			}
			if s >= .8 {
				want += o.Candidate(s)
				if ok {
					got++
				}
			}
		}
	}
	if want < 25 || float64(got) < .95*want {
		t.Errorf("found %d pairs of s >= 0.8, expected %.1f", got, want)
	}
	if _, err := near.Pairs(texts, near.Options{}); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("zero options: %v", err)
	}
}
