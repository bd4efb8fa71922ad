package icepop

import (
	"fmt"
	"math"
	"slices"

	"github.com/quarry-rl/quarry"
)

// maxLogRatio bounds the log-ratio before it is exponentiated.
const maxLogRatio = 20

// Bounds are the inclusive limits between which a ratio is kept.
type Bounds struct {
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
}

// DefaultBounds are those of the Apodex 1.0 report.
func DefaultBounds() Bounds { return Bounds{Alpha: 0.5, Beta: 5} }

// Validate refuses (KindInvalid) bounds that do not enclose 1: a policy that has not moved would be masked.
func (b Bounds) Validate() error {
	if b.Alpha > 0 && b.Alpha <= 1 && b.Beta >= 1 && !math.IsInf(b.Beta, 0) {
		return nil
	}
	return &quarry.Error{Op: "icepop", Kind: quarry.KindInvalid, Subject: "bounds",
		Msg: fmt.Sprintf("alpha %v, beta %v, must be 0 < alpha <= 1 <= beta", b.Alpha, b.Beta), Hint: "the published bounds are 0.5 and 5.0"}
}

// Ratio is r = exp(current - rollout) of natural log-probabilities, the difference clamped to +-20: subtract, then
// exponentiate, in float64. NaN stays NaN.
func Ratio(current, rollout float64) float64 { return math.Exp(clamp(current - rollout)) }

func clamp(l float64) float64 {
	if l > maxLogRatio {
		return maxLogRatio
	}
	if l < -maxLogRatio {
		return -maxLogRatio
	}
	return l
}

// Weight is r inside [alpha, beta], both ends included, and 0 outside; NaN gives 0. A token is discarded, not clipped.
func Weight(r, alpha, beta float64) float64 {
	if r >= alpha && r <= beta {
		return r
	}
	return 0
}

// Row is one sample's token arrays, all of one length. Both log-probabilities are float32 as stored, so that a policy
// that has not moved has a ratio of exactly 1.
type Row struct {
	Current  []float32 // by the policy being trained
	Rollout  []float32 // by the policy that sampled
	Mask     []int8    // 1 on tokens to train on
	Entropic []bool    // optional: tokens where the policy had a choice (entropy > 0)
}

// Correction is what the ratios of a batch say.
type Correction struct {
	Weights  [][]float64 // per row and token: ratio inside the bounds, 0 elsewhere and on mask 0
	All      Stats       // every token with mask 1
	Entropic Stats       // of those, the ones with entropy > 0; forced tokens dilute All
}

// Stats describe raw ratios, before masking. l is the clamped log-ratio, means are over the finite tokens.
type Stats struct {
	Tokens     int     `json:"tokens"`      // with mask 1
	MaskedLow  int     `json:"masked_low"`  // r < alpha
	MaskedHigh int     `json:"masked_high"` // r > beta
	NaN        int     `json:"nan"`         // log-ratio not finite: weight 0, in no statistic below
	P01        float64 `json:"p01"`         // quantiles of r, exact, linear between order statistics
	P50        float64 `json:"p50"`
	P99        float64 `json:"p99"`
	MeanAbsLog float64 `json:"mean_abs_log"` // mean |l|
	K1         float64 `json:"k1"`           // mean -l: estimates KL(rollout || current)
	K3         float64 `json:"k3"`           // mean exp(l)-1-l
	Chi2       float64 `json:"chi2"`         // mean r*r - 1
	ESS        float64 `json:"ess"`          // (sum w)^2 / (n sum w^2) over all finite tokens, masked ones included; 0 if all are masked
}

// MaskedFraction is the share of tokens that carry no gradient. It says nothing alone: with fixed bounds it can fall
// while the gap between engine and trainer grows (KPop); read it beside MeanAbsLog and K3.
func (s Stats) MaskedFraction() float64 {
	if s.Tokens == 0 {
		return 0
	}
	return float64(s.MaskedLow+s.MaskedHigh+s.NaN) / float64(s.Tokens)
}

// Correct computes weights and diagnostics of a batch. Arrays of unequal length and bad bounds are KindInvalid.
func Correct(rows []Row, b Bounds) (*Correction, error) {
	if err := b.Validate(); err != nil {
		return nil, err
	}
	total := 0
	for i, r := range rows {
		n := len(r.Mask)
		if len(r.Current) != n || len(r.Rollout) != n || r.Entropic != nil && len(r.Entropic) != n {
			return nil, &quarry.Error{Op: "icepop", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("row %d", i),
				Msg:  fmt.Sprintf("current %d, rollout %d, mask %d, entropic %d tokens", len(r.Current), len(r.Rollout), n, len(r.Entropic)),
				Hint: "score exactly the tokens of the row; never pad or drop"}
		}
		total += n
	}
	out := &Correction{Weights: make([][]float64, len(rows))}
	flat := make([]float64, total)
	all, entropic := tally{ratios: make([]float64, 0, total)}, tally{}
	for i, row := range rows {
		weights := flat[:len(row.Mask):len(row.Mask)]
		flat = flat[len(row.Mask):]
		out.Weights[i] = weights
		for t, m := range row.Mask {
			if m == 0 {
				continue
			}
			l := float64(row.Current[t]) - float64(row.Rollout[t])
			choice := row.Entropic != nil && row.Entropic[t]
			if math.IsNaN(l) || math.IsInf(l, 0) {
				all.nan++
				if choice {
					entropic.nan++
				}
				continue
			}
			l = clamp(l)
			r := math.Exp(l)
			w := Weight(r, b.Alpha, b.Beta)
			weights[t] = w
			all.add(l, r, w, b)
			if choice {
				entropic.add(l, r, w, b)
			}
		}
	}
	out.All, out.Entropic = all.stats(), entropic.stats()
	return out, nil
}

// tally sums what Stats needs.
type tally struct {
	ratios                  []float64
	low, high, nan          int
	abs, log, k3, squares   float64
	weights, squaredWeights float64
}

func (t *tally) add(l, r, w float64, b Bounds) {
	t.ratios = append(t.ratios, r)
	if r < b.Alpha {
		t.low++
	} else if r > b.Beta {
		t.high++
	}
	t.abs += math.Abs(l)
	t.log += l
	if math.Abs(l) < 1e-3 { // near 0 the difference is all rounding and can come out negative
		t.k3 += l * l * (1.0/2 + l*(1.0/6+l/24))
	} else {
		t.k3 += r - 1 - l
	}
	t.squares += r * r
	t.weights += w
	t.squaredWeights += w * w
}

func (t *tally) stats() Stats {
	s := Stats{Tokens: len(t.ratios) + t.nan, MaskedLow: t.low, MaskedHigh: t.high, NaN: t.nan}
	if len(t.ratios) == 0 {
		return s
	}
	n := float64(len(t.ratios))
	s.MeanAbsLog, s.K3, s.Chi2 = t.abs/n, t.k3/n, t.squares/n-1
	if t.log != 0 {
		s.K1 = -t.log / n
	}
	if t.squaredWeights > 0 {
		s.ESS = t.weights * t.weights / (n * t.squaredWeights)
	}
	slices.Sort(t.ratios)
	s.P01, s.P50, s.P99 = quantile(t.ratios, 0.01), quantile(t.ratios, 0.5), quantile(t.ratios, 0.99)
	return s
}

// quantile interpolates linearly between order statistics of sorted, which is not empty.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
