package tiers

import "math"

// confidence of the intervals.
const confidence = 0.95

// ClopperPearson is the exact 95 % interval of a success rate after x successes in k trials: each end is where the
// binomial tail beyond x is 2.5 %. No trial gives (0, 1), counts that make no sense give NaN.
func ClopperPearson(x, k int) (lo, hi float64) {
	if x < 0 || k < x {
		return math.NaN(), math.NaN()
	}
	const tail = (1 - confidence) / 2
	hi = 1
	if x > 0 {
		lo = crossing(func(p float64) bool { return AtLeast(x, k, p) < tail })
	}
	if x < k {
		hi = crossing(func(p float64) bool { return AtLeast(x+1, k, p) < 1-tail })
	}
	return lo, hi
}

// crossing is the point of [0, 1] where below turns from true to false, to 12 digits.
func crossing(below func(float64) bool) float64 {
	lo, width := 0.0, 1.0
	for width > 1e-12 {
		width /= 2
		if below(lo + width) {
			lo += width
		}
	}
	return lo + width/2
}

// AtLeast is the probability of x or more successes in k trials of rate p.
func AtLeast(x, k int, p float64) float64 {
	switch {
	case x <= 0:
		return 1
	case x > k || p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	if float64(x) <= p*float64(k) { // the smaller tail is summed: no cancellation
		return 1 - AtLeast(k-x+1, k, 1-p)
	}
	term := math.Exp(choose(k, x) + float64(x)*math.Log(p) + float64(k-x)*math.Log1p(-p))
	sum := 0.0
	for i := x; i <= k && term > 0; i++ {
		sum += term
		term *= float64(k-i) / float64(i+1) * p / (1 - p)
	}
	return min(sum, 1)
}

// FisherAbove is Fisher's exact test, one-sided: how likely, with all totals given, are x1 or more of the successes in
// the first group of k1, when x1+x2 of k1+k2 are successes. Small means that the first group's rate is higher.
func FisherAbove(x1, k1, x2, k2 int) float64 {
	if x1 < 0 || x2 < 0 || k1 < x1 || k2 < x2 {
		return math.NaN()
	}
	successes := x1 + x2
	sum := 0.0
	for x := x1; x <= min(k1, successes); x++ {
		if successes-x > k2 {
			continue
		}
		sum += math.Exp(choose(k1, x) + choose(k2, successes-x) - choose(k1+k2, successes))
	}
	return min(sum, 1)
}

// choose is the logarithm of the binomial coefficient.
func choose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}
