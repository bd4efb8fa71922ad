package tiers

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		x, k   int
		lo, hi float64
	}{
		{0, 8, 0, 1 - math.Pow(.025, 1./8)}, // 0.3694
		{0, 16, 0, 0.205907},                // the definition's 0.21
		{0, 32, 0, 0.108881},                // and 0.11
		{16, 16, 1 - 0.205907, 1},           //
		{0, 10, 0, 0.308498},                // published tables
		{5, 10, 0.1870860, 0.8129140},       //
		{1, 4, 0.0063094, 0.8058796},        //
		{2, 4, 0.0675860, 0.9324140},        //
		{10, 100, 0.0490047, 0.1762226},     //
		{0, 0, 0, 1},                        // nothing known
		{263, 1000, 0.2359435, 0.2914594},   // sums over many terms
	} {
		lo, hi := ClopperPearson(c.x, c.k)
		if math.Abs(lo-c.lo) > 2e-6 || math.Abs(hi-c.hi) > 2e-6 {
			t.Errorf("%d of %d: %.7f to %.7f, want %.7f to %.7f", c.x, c.k, lo, hi, c.lo, c.hi)
		}
	}
	if _, hi := ClopperPearson(0, 8); math.Round(hi*100) != 37 {
		t.Errorf("0 of 8: %v, want 0.37", hi)
	}
	for _, c := range [][2]int{{-1, 4}, {5, 4}} {
		if lo, hi := ClopperPearson(c[0], c[1]); !math.IsNaN(lo) || !math.IsNaN(hi) {
			t.Errorf("%v: %v, %v", c, lo, hi)
		}
	}
}

// pascal is the probability of exactly x of k by multiplying through Pascal's triangle.
func pascal(x, k int, p float64) float64 {
	row := []float64{1}
	for range k {
		next := make([]float64, len(row)+1)
		for i, v := range row {
			next[i] += v * (1 - p)
			next[i+1] += v * p
		}
		row = next
	}
	return row[x]
}

func TestAtLeastByPascal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 40).Draw(t, "k")
		x := rapid.IntRange(0, k+1).Draw(t, "x")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		want := 0.0
		for i := x; i <= k; i++ {
			want += pascal(i, k, p)
		}
		if got := AtLeast(x, k, p); math.Abs(got-want) > 1e-11 {
			t.Fatalf("P(>= %d of %d at %v) = %v, want %v", x, k, p, got, want)
		}
	})
}

// The interval's ends are where the tails are 2.5 %.
func TestIntervalByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 300).Draw(t, "k")
		x := rapid.IntRange(0, k).Draw(t, "x")
		lo, hi := ClopperPearson(x, k)
		if x > 0 && math.Abs(AtLeast(x, k, lo)-.025) > 1e-9 || x == 0 && lo != 0 {
			t.Fatalf("%d of %d: lo %v", x, k, lo)
		}
		if x < k && math.Abs(1-AtLeast(x+1, k, hi)-.025) > 1e-9 || x == k && hi != 1 {
			t.Fatalf("%d of %d: hi %v", x, k, hi)
		}
	})
}

func TestFisher(t *testing.T) {
	for _, c := range []struct {
		x1, k1, x2, k2 int
		want           float64
	}{
		{3, 4, 1, 4, 17. / 70}, // the lady tasting tea
		{4, 4, 0, 4, 1. / 70},
		{8, 8, 0, 8, 1. / 12870},
		{0, 4, 4, 4, 1},
		{2, 4, 2, 4, 53. / 70},
		{4, 4, 2, 8, 1. / 33}, // C(8,2)/C(12,6) + 0
		{0, 0, 3, 4, 1},
	} {
		if got := FisherAbove(c.x1, c.k1, c.x2, c.k2); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%d/%d above %d/%d: %v, want %v", c.x1, c.k1, c.x2, c.k2, got, c.want)
		}
	}
	if !math.IsNaN(FisherAbove(5, 4, 0, 4)) {
		t.Error("5 of 4 made sense")
	}
	rapid.Check(t, func(t *rapid.T) {
		k1, k2 := rapid.IntRange(0, 20).Draw(t, "k1"), rapid.IntRange(0, 20).Draw(t, "k2")
		x1, x2 := rapid.IntRange(0, k1).Draw(t, "x1"), rapid.IntRange(0, k2).Draw(t, "x2")
		sum, all := new(big.Int), new(big.Int).Binomial(int64(k1+k2), int64(x1+x2))
		for x := x1; x <= k1 && x <= x1+x2; x++ {
			part := new(big.Int).Binomial(int64(k1), int64(x))
			sum.Add(sum, part.Mul(part, new(big.Int).Binomial(int64(k2), int64(x1+x2-x))))
		}
		want, _ := new(big.Rat).SetFrac(sum, all).Float64()
		if got := FisherAbove(x1, k1, x2, k2); math.Abs(got-want) > 1e-10 {
			t.Fatalf("%d/%d above %d/%d: %v, want %v", x1, k1, x2, k2, got, want)
		}
	})
}
