package rewards

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func TestPassRate(t *testing.T) {
	rate, right, n := PassRate([]quarry.Score{quarry.ScoreOf(1), quarry.ScoreOf(0), quarry.Unscored("x"), quarry.ScoreOf(1), quarry.ScoreOf(1)})
	if rate != .75 || right != 3 || n != 4 {
		t.Errorf("%v %d %d", rate, right, n)
	}
	if rate, _, n := PassRate(nil); rate != 0 || n != 0 {
		t.Errorf("%v %d", rate, n)
	}
}

// Reference values: R's binom package (binom.wilson, binom.exact), closed forms where n successes or none.
func TestBinomialIntervals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		f      func(int, int, float64) (float64, float64)
		x, n   int
		lo, hi float64
	}{
		{"wilson", Wilson, 5, 10, 0.2365931, 0.7634069},
		{"wilson", Wilson, 0, 10, 0, 0.2775328},
		{"wilson", Wilson, 10, 10, 0.7224672, 1},
		{"exact", ClopperPearson, 5, 10, 0.1870860, 0.8129140},
		{"exact", ClopperPearson, 0, 10, 0, 1 - math.Pow(.025, .1)},
		{"exact", ClopperPearson, 10, 10, math.Pow(.025, .1), 1},
		{"exact", ClopperPearson, 1, 4, 0.0063094, 0.8058796},
		{"wilson", Wilson, 0, 0, 0, 1},
		{"exact", ClopperPearson, 0, 0, 0, 1},
	} {
		lo, hi := tt.f(tt.x, tt.n, .95)
		if math.Abs(lo-tt.lo) > 1e-6 || math.Abs(hi-tt.hi) > 1e-6 {
			t.Errorf("%s(%d, %d) = %.7f %.7f, want %.7f %.7f", tt.name, tt.x, tt.n, lo, hi, tt.lo, tt.hi)
		}
		for _, bad := range [][2]int{{-1, 4}, {5, 4}} {
			if lo, hi := tt.f(bad[0], bad[1], .95); !math.IsNaN(lo) || !math.IsNaN(hi) {
				t.Errorf("%s%v = %v %v", tt.name, bad, lo, hi)
			}
		}
		if lo, _ := tt.f(1, 2, 1); !math.IsNaN(lo) {
			t.Errorf("%s at confidence 1: %v", tt.name, lo)
		}
	}
}

// The exact interval's bounds are where the binomial tail is 2.5 %, computed here by summing it.
func TestClopperPearsonByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		x := rapid.IntRange(0, n).Draw(t, "x")
		lo, hi := ClopperPearson(x, n, .95)
		tail := func(p float64, from, to int) float64 {
			sum := 0.0
			for k := from; k <= to; k++ {
				a, _ := math.Lgamma(float64(n + 1))
				b, _ := math.Lgamma(float64(k + 1))
				c, _ := math.Lgamma(float64(n - k + 1))
				sum += math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
			}
			return sum
		}
		if x > 0 && math.Abs(tail(lo, x, n)-.025) > 1e-7 {
			t.Fatalf("P(X >= %d | %v) = %v", x, lo, tail(lo, x, n))
		}
		if x < n && math.Abs(tail(hi, 0, x)-.025) > 1e-7 {
			t.Fatalf("P(X <= %d | %v) = %v", x, hi, tail(hi, 0, x))
		}
		wlo, whi := Wilson(x, n, .95)
		if p := float64(x) / float64(n); wlo > p || whi < p || lo > p || hi < p {
			t.Fatalf("%d of %d outside its intervals", x, n)
		}
	})
}

func TestStudentT(t *testing.T) {
	for df, want := range map[float64]float64{1: 12.7062047, 2: 4.3026527, 4: 2.7764451, 9: 2.2621572, 30: 2.0422725, 1000: 1.9623391} {
		if got := studentT(.975, df); math.Abs(got-want) > 1e-5 {
			t.Errorf("t(.975, %v) = %.7f, want %.7f", df, got, want)
		}
	}
}

func TestPairedDiffCI(t *testing.T) {
	mean, lo, hi, err := PairedDiffCI([]float64{.5, .6, .7, .6, .6}, []float64{.4, .4, .4, .4, .4}, .95)
	half := 2.7764451 * math.Sqrt(.02/4/5)
	if err != nil || !near(mean, .2) || math.Abs(lo-(.2-half)) > 1e-6 || math.Abs(hi-(.2+half)) > 1e-6 {
		t.Errorf("%v [%v, %v] %v, half width %v", mean, lo, hi, err, half)
	}
	if mean, lo, hi, err = PairedDiffCI([]float64{1, 2}, []float64{0, 1}, .95); err != nil || mean != 1 || lo != 1 || hi != 1 {
		t.Errorf("constant difference: %v [%v, %v] %v", mean, lo, hi, err)
	}
	for _, tt := range []struct {
		a, b []float64
		conf float64
	}{{[]float64{1}, []float64{1}, .95}, {[]float64{1, 2}, []float64{1}, .95}, {[]float64{1, 2}, []float64{1, 2}, 1}, {[]float64{1, math.NaN()}, []float64{1, 2}, .95}} {
		if _, _, _, err := PairedDiffCI(tt.a, tt.b, tt.conf); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%v: %v", tt, err)
		}
	}
}

func TestBootstrapCI(t *testing.T) {
	values := make([]float64, 200)
	for i := range values {
		values[i] = float64(i % 2)
	}
	lo, hi := BootstrapCI(values, 7, 4000)
	if want := 1.96 * math.Sqrt(.25/200); math.Abs(lo-(.5-want)) > .01 || math.Abs(hi-(.5+want)) > .01 {
		t.Errorf("[%v, %v], normal half width %v", lo, hi, want)
	}
	if lo2, hi2 := BootstrapCI(values, 7, 4000); lo2 != lo || hi2 != hi {
		t.Error("the same seed gives another interval")
	}
	varied := make([]float64, 50) // few ties, so that another draw shows
	for i := range varied {
		varied[i] = math.Sqrt(float64(i))
	}
	lo7, hi7 := BootstrapCI(varied, 7, 100)
	if lo8, hi8 := BootstrapCI(varied, 8, 100); lo8 == lo7 && hi8 == hi7 {
		t.Error("the seed is not used")
	}
	if lo, hi := BootstrapCI([]float64{.3}, 1, 10); lo != .3 || hi != .3 {
		t.Errorf("one question: [%v, %v]", lo, hi)
	}
	if lo, _ := BootstrapCI(nil, 1, 10); !math.IsNaN(lo) {
		t.Errorf("no question: %v", lo)
	}
	if lo, _ := BootstrapCI(values, 1, 0); !math.IsNaN(lo) {
		t.Errorf("no resample: %v", lo)
	}
}
