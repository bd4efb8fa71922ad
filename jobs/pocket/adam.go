package pocket

import (
	"math"
)

// The constants of Adam (Kingma and Ba 2015, algorithm 1). The second moment forgets faster than usual because a run
// has tens of steps, not thousands.
const (
	adamBeta1 = 0.9
	adamBeta2 = 0.99
	adamEps   = 1e-6
)

// adam is the optimiser's state: steps taken, first and second moment per feature.
type adam struct {
	T int       `json:"t"`
	M []float64 `json:"m"`
	V []float64 `json:"v"`
}

func newAdam(n int) *adam { return &adam{M: make([]float64, n), V: make([]float64, n)} }

// ascend moves w along the gradient g. A coordinate that no gradient has touched yet stays where it is.
func (a *adam) ascend(w, g []float64, rate float64) {
	a.T++
	c1, c2 := 1-math.Pow(adamBeta1, float64(a.T)), 1-math.Pow(adamBeta2, float64(a.T))
	for i, x := range g {
		if x == 0 && a.M[i] == 0 {
			continue
		}
		a.M[i] = adamBeta1*a.M[i] + (1-adamBeta1)*x
		a.V[i] = adamBeta2*a.V[i] + (1-adamBeta2)*x*x
		w[i] += rate * (a.M[i] / c1) / (math.Sqrt(a.V[i]/c2) + adamEps)
	}
}
