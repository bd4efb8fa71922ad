package rewards

import (
	"fmt"
	"math"

	"github.com/quarry-rl/quarry"
)

// sumTolerance is how far coefficients may be from summing to 1.
const sumTolerance = 1e-9

// CheckCoefficients refuses coefficients outside [0, 1] or not summing to 1 within 1e-9 (KindInvalid). The report's
// own bound of 0.5 is not enforced: its published start and end break it.
func CheckCoefficients(c quarry.Coefficients) error {
	sum := 0.0
	for _, w := range weights(c) {
		if !(w.value >= 0 && w.value <= 1) {
			return &quarry.Error{Op: "coefficients", Kind: quarry.KindInvalid, Subject: w.name,
				Msg: fmt.Sprintf("%v is not between 0 and 1", w.value), Hint: "set each coefficient to a share of 1"}
		}
		sum += w.value
	}
	if math.Abs(sum-1) > sumTolerance {
		return &quarry.Error{Op: "coefficients", Kind: quarry.KindInvalid, Subject: "tool+format+prm+orm",
			Msg: fmt.Sprintf("sum is %v, must be 1", sum), Hint: "change one coefficient so that the four sum to 1"}
	}
	return nil
}

// weight is one named coefficient.
type weight struct {
	name  string
	value float64
}

// weights lists coefficients in the order of terms.
func weights(c quarry.Coefficients) [4]weight {
	return [4]weight{{"tool", c.Tool}, {"format", c.Format}, {"prm", c.PRM}, {"orm", c.ORM}}
}

// Total is R = orm*ORM + prm*PRM + tool*Tool + format*Format (MindDR report; Tool and Format are already means over
// turns). A component of weight 0 is not looked at. An unscored component of positive weight makes the total unscored,
// but for a question without entities: then PRM is left out and the other weights are scaled to sum to 1.
func Total(card quarry.Scorecard, c quarry.Coefficients) quarry.Score {
	parts, reason := terms(card, c)
	if reason != "" {
		return quarry.Unscored(reason)
	}
	return quarry.ScoreOf(parts[0] + parts[1] + parts[2] + parts[3])
}

// terms are the weighted components in the order tool, format, PRM, ORM, or the reason why there is no total.
func terms(card quarry.Scorecard, c quarry.Coefficients) ([4]float64, string) {
	scores := [4]quarry.Score{card.Tool, card.Format, card.PRM, card.ORM}
	w := weights(c)
	if c.PRM > 0 && !card.PRM.Scored && card.PRM.Reason == ReasonNoEntities {
		rest := c.Tool + c.Format + c.ORM
		if rest <= 0 {
			return [4]float64{}, "prm: " + ReasonNoEntities
		}
		w[2].value = 0
		for i := range w {
			w[i].value /= rest
		}
	}
	var out [4]float64
	for i, s := range scores {
		switch {
		case w[i].value == 0:
		case !s.Scored:
			return [4]float64{}, w[i].name + ": " + s.Reason
		default:
			out[i] = w[i].value * s.Value
		}
		if math.IsNaN(out[i]) || math.IsInf(out[i], 0) {
			return [4]float64{}, w[i].name + ": " + ReasonNotFinite
		}
	}
	return out, ""
}

// Shares is how much of the variance of a batch's totals each component explains. They sum to 1; one is negative when
// its component moves against the total.
type Shares struct {
	Tool   float64 `json:"tool"`
	Format float64 `json:"format"`
	PRM    float64 `json:"prm"`
	ORM    float64 `json:"orm"`
}

// EffectiveWeights are the covariance shares cov(weighted component, total) / var(total) over the cards that have a
// total; nil when fewer than two have one or all totals are equal. Nominal weights say little: at the start the tool
// term spans 0.18 and PRM 0.1.
func EffectiveWeights(cards []quarry.Scorecard, c quarry.Coefficients) *Shares {
	var rows [][4]float64
	var totals []float64
	var mean [4]float64
	total, low, high := 0.0, math.Inf(1), math.Inf(-1)
	for _, card := range cards {
		parts, reason := terms(card, c)
		if reason != "" {
			continue
		}
		sum := parts[0] + parts[1] + parts[2] + parts[3]
		rows, totals = append(rows, parts), append(totals, sum)
		for i, v := range parts {
			mean[i] += v
		}
		total += sum
		low, high = min(low, sum), max(high, sum)
	}
	if len(rows) < 2 || high == low {
		return nil
	}
	n := float64(len(rows))
	total /= n
	var cov [4]float64
	variance := 0.0
	for j, parts := range rows {
		d := totals[j] - total
		variance += d * d
		for i, v := range parts {
			cov[i] += (v - mean[i]/n) * d
		}
	}
	return &Shares{Tool: cov[0] / variance, Format: cov[1] / variance, PRM: cov[2] / variance, ORM: cov[3] / variance}
}

// Advantages centres the totals of one group on the mean of its scored members, without dividing by the deviation
// (MindDR preset). Unscored members get 0 and do not enter the mean: the caller leaves them out of the loss by their
// Scored flag. nEffective counts the scored ones. The group is informative when at least two are scored and they are
// not all equal (exact float64 test); otherwise every advantage is exactly 0.
func Advantages(totals []quarry.Score) (advantages []float64, nEffective int, informative bool) {
	advantages = make([]float64, len(totals))
	low, high := math.Inf(1), math.Inf(-1)
	base, sum := 0.0, 0.0
	for _, s := range totals {
		if !usable(s) {
			continue
		}
		if nEffective == 0 {
			base = s.Value
		}
		nEffective++
		sum += s.Value - base // around the first value: a common offset does not cost precision
		low, high = min(low, s.Value), max(high, s.Value)
	}
	if nEffective < 2 || low == high {
		return advantages, nEffective, false
	}
	mean := sum / float64(nEffective)
	for i, s := range totals {
		if usable(s) {
			advantages[i] = (s.Value - base) - mean
		}
	}
	return advantages, nEffective, true
}

// usable says whether a score may enter a baseline.
func usable(s quarry.Score) bool {
	return s.Scored && !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0)
}
