package rewards

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/quarry-rl/quarry"
)

// PassRate is the share of right outcomes among the scored ones, with its counts. The rate is 0 when n is 0.
func PassRate(orm []quarry.Score) (rate float64, right, n int) {
	for _, s := range orm {
		if !usable(s) {
			continue
		}
		n++
		if s.Value == 1 {
			right++
		}
	}
	if n == 0 {
		return 0, 0, 0
	}
	return float64(right) / float64(n), right, n
}

// Wilson is the score interval of x successes in n trials at confidence conf (0.95). No trial gives (0, 1), counts or
// confidences that make no sense give NaN.
func Wilson(x, n int, conf float64) (lo, hi float64) {
	if !sensible(x, n, conf) {
		return math.NaN(), math.NaN()
	}
	if n == 0 {
		return 0, 1
	}
	z := math.Sqrt2 * math.Erfinv(conf)
	p, m := float64(x)/float64(n), float64(n)
	centre := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	lo, hi = (centre-half)/(1+z*z/m), (centre+half)/(1+z*z/m)
	if x == 0 {
		lo = 0 // exact, free of rounding
	}
	if x == n {
		hi = 1
	}
	return max(lo, 0), min(hi, 1)
}

// ClopperPearson is the exact interval of x successes in n trials: never less coverage than conf. Bad input as Wilson.
func ClopperPearson(x, n int, conf float64) (lo, hi float64) {
	if !sensible(x, n, conf) {
		return math.NaN(), math.NaN()
	}
	tail := (1 - conf) / 2
	lo, hi = 0, 1
	if x > 0 {
		lo = bisect(func(p float64) bool { return regularizedBeta(float64(x), float64(n-x+1), p) < tail })
	}
	if x < n {
		hi = bisect(func(p float64) bool { return regularizedBeta(float64(x+1), float64(n-x), p) < 1-tail })
	}
	return lo, hi
}

func sensible(x, n int, conf float64) bool { return x >= 0 && n >= x && conf > 0 && conf < 1 }

// BootstrapCI is the 95 % percentile interval of the mean over questions, from n resamples of whole questions drawn by
// seed. Attempts at one question are not independent, so the question is the unit. No value or no resample gives NaN.
func BootstrapCI(perQuestion []float64, seed uint64, n int) (lo, hi float64) {
	if len(perQuestion) == 0 || n < 1 {
		return math.NaN(), math.NaN()
	}
	rng := rand.New(rand.NewPCG(seed, uint64(len(perQuestion))))
	means := make([]float64, n)
	for i := range means {
		sum := 0.0
		for range perQuestion {
			sum += perQuestion[rng.IntN(len(perQuestion))]
		}
		means[i] = sum / float64(len(perQuestion))
	}
	slices.Sort(means)
	return quantile(means, 0.025), quantile(means, 0.975)
}

// quantile interpolates linearly between order statistics of sorted.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// PairedDiffCI is the mean of a[i]-b[i] and its Student t interval at confidence conf; pairs are seeds. Fewer than two
// pairs, different lengths, values that are not finite and a confidence outside (0, 1) are KindInvalid.
func PairedDiffCI(a, b []float64, conf float64) (mean, lo, hi float64, err error) {
	if len(a) != len(b) || len(a) < 2 || !(conf > 0 && conf < 1) {
		return 0, 0, 0, &quarry.Error{Op: "paired difference", Kind: quarry.KindInvalid, Subject: "pairs",
			Msg: fmt.Sprintf("%d and %d values at confidence %v", len(a), len(b), conf), Hint: "give at least two pairs, one per seed"}
	}
	n := float64(len(a))
	for i := range a {
		mean += (a[i] - b[i]) / n
	}
	ss := 0.0
	for i := range a {
		d := a[i] - b[i] - mean
		ss += d * d
	}
	if math.IsNaN(ss) || math.IsInf(ss, 0) {
		return 0, 0, 0, &quarry.Error{Op: "paired difference", Kind: quarry.KindInvalid, Subject: "pairs",
			Msg: "a value is not finite", Hint: "leave the failed seed out of both lists"}
	}
	half := studentT(1-(1-conf)/2, n-1) * math.Sqrt(ss/(n-1)/n)
	return mean, mean - half, mean + half, nil
}

// studentT is the quantile of the t distribution for 0.5 <= p < 1 and df > 0, by bisection: with x = df/(df+t*t) the
// upper tail is I_x(df/2, 1/2)/2.
func studentT(p, df float64) float64 {
	x := bisect(func(x float64) bool { return regularizedBeta(df/2, 0.5, x)/2 < 1-p })
	return math.Sqrt(df * (1 - x) / x)
}

// bisect gives the point in [0, 1] where below turns from true to false.
func bisect(below func(float64) bool) float64 {
	lo, hi := 0.0, 1.0
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid == lo || mid == hi {
			break
		}
		if below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + (hi-lo)/2
}

// regularizedBeta is I_x(a, b) by its continued fraction (DLMF 8.17.22), evaluated from the far end. It converges in
// about sqrt(max(a, b)) terms on the side of the mean that it is used on.
func regularizedBeta(a, b, x float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	if x > (a+1)/(a+b+2) {
		return 1 - regularizedBeta(b, a, 1-x)
	}
	tail := 0.0
	for m := 50 + 5*int(math.Sqrt(max(a, b))); m >= 1; m-- {
		k, j := float64(m), float64(m-1)
		tail = k * (b - k) * x / ((a + 2*k - 1) * (a + 2*k)) / (1 + tail)            // d_2m
		tail = -(a + j) * (a + b + j) * x / ((a + 2*j) * (a + 2*j + 1)) / (1 + tail) // d_2m-1
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a / (1 + tail)
}
