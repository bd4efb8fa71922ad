package pocket

import (
	"math"
	"testing"

	"github.com/quarry-rl/quarry/icepop"
)

// checkGradient compares a gradient with central differences of the objective it belongs to.
func checkGradient(t *testing.T, w, g []float64, h, tol float64, f func(w []float64) float64) {
	t.Helper()
	largest := 0.0
	for i := range w {
		want := slope(w, i, h, f)
		largest = max(largest, math.Abs(want))
		if math.Abs(g[i]-want) > tol*max(1, math.Abs(want)) {
			t.Errorf("d/d %s is %.9g, difference quotient %.9g", toySet.Names[i], g[i], want)
		}
	}
	if largest < 0.01 {
		t.Errorf("largest slope %g: nothing was tested", largest)
	}
}

func TestSFTGradient(t *testing.T) {
	set, _, err := trainer().expertTurns(t.Context(), "ds", expertRows(t, 20), []string{"white"})
	if err != nil {
		t.Fatal(err)
	}
	const l2 = 0.3
	objective := func(w []float64) float64 {
		_, loss, err := sftGradient(t.Context(), set, w, l2)
		if err != nil {
			t.Fatal(err)
		}
		n := norm(w)
		return -loss - l2/2*n*n
	}
	w := random(1, 1).W
	g, _, err := sftGradient(t.Context(), set, w, l2)
	if err != nil {
		t.Fatal(err)
	}
	checkGradient(t, w, g, 1e-5, 1e-7, objective)
}

func TestDPOGradient(t *testing.T) {
	ref := random(2, 0.3)
	set, err := trainer().pairs(t.Context(), "ds", pairRows(t, ref, 12), ref)
	if err != nil {
		t.Fatal(err)
	}
	const beta = 0.7
	objective := func(w []float64) float64 {
		_, s, err := dpoGradient(t.Context(), set, w, beta)
		if err != nil {
			t.Fatal(err)
		}
		return -s.loss
	}
	w := random(3, 1).W
	g, _, err := dpoGradient(t.Context(), set, w, beta)
	if err != nil {
		t.Fatal(err)
	}
	checkGradient(t, w, g, 1e-5, 1e-7, objective)
	if _, s, err := dpoGradient(t.Context(), set, ref.W, beta); err != nil || s.margin != 0 || math.Abs(s.loss-math.Ln2) > 1e-12 {
		t.Errorf("at the reference: %+v, %v", s, err)
	}
}

// The objective mean(sum A*w) has the gradient mean(sum A*sg(w)*grad log p) as long as no token crosses a bound. Its
// value is made of ratios rounded to float32, hence the wide step and tolerance.
func TestRLGradient(t *testing.T) {
	behave := random(4, 0.5)
	for _, temperature := range []float64{1, 0.7} {
		rows, _ := batchRows(t, behave, 1, 6, temperature, 1)
		for i := range rows {
			rows[i].LossWeight = 0.5 + float64(i%3)
		}
		set, err := trainer().sampledTurns(t.Context(), "ds", rows, behave.Guesses)
		if err != nil {
			t.Fatal(err)
		}
		objective := icepop.DefaultObjective()
		value := func(w []float64) (g []float64, res RLResult) {
			g, res, err := rlGradient(t.Context(), rows, set, w, objective)
			if err != nil {
				t.Fatal(err)
			}
			return g, res
		}
		// On policy every ratio is exactly 1.
		if _, res := value(behave.W); res.Stats.P01 != 1 || res.Stats.P99 != 1 || res.Stats.MeanAbsLog != 0 {
			t.Errorf("T=%v: ratios of unmoved weights: %+v", temperature, res.Stats)
		}
		moved := append([]float64(nil), behave.W...)
		for i, d := range random(5, 0.5).W {
			moved[i] += d
		}
		objective.Bounds = icepop.Bounds{Alpha: 0.8, Beta: 1.3}
		g, res := value(moved)
		if res.Stats.MaskedLow == 0 || res.Stats.MaskedHigh == 0 || res.Entropic.Tokens == 0 || res.Entropic.Tokens >= res.Stats.Tokens {
			t.Errorf("T=%v: %+v, entropic %+v", temperature, res.Stats, res.Entropic)
		}
		if math.Abs(res.GradNorm-norm(g)) > 1e-12 || res.Episodes != len(rows) || res.UsedEpisodes == 0 || res.UsedEpisodes > len(rows) {
			t.Errorf("T=%v: %+v", temperature, res)
		}
		// Masked tokens hold still below: their weight is 0 at w and stays 0, unless one crosses within the step.
		checkGradient(t, moved, g, 1e-3, 2e-3, func(w []float64) float64 {
			_, res := value(w)
			return res.Objective
		})
	}
}
