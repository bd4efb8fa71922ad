package dpo

import "math"

// Loss is -log sigmoid(margin) with margin = beta * ((chosen - rejected) - (refChosen - refRejected)), where the
// arguments are summed log-probabilities of the sampled tokens of each side under the policy and the frozen reference
// (Rafailov et al. 2023, equation 7). coef is beta * sigmoid(-margin): d loss / d chosen = -coef and
// d loss / d rejected = +coef. Stable for any finite margin; an argument that is not finite gives NaN or Inf.
func Loss(beta, chosen, rejected, refChosen, refRejected float64) (loss, margin, coef float64) {
	margin = beta * ((chosen - rejected) - (refChosen - refRejected))
	e := math.Exp(-math.Abs(margin)) // never overflows
	loss = max(-margin, 0) + math.Log1p(e)
	if margin >= 0 {
		coef = beta * e / (1 + e)
	} else {
		coef = beta / (1 + e)
	}
	return loss, margin, coef
}
