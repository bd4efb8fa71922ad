package icepop

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func close(a, b, tol float64) bool { return math.Abs(a-b) <= tol*max(1, math.Abs(b)) }

func TestRatioAndWeightGolden(t *testing.T) {
	for _, tt := range []struct{ current, rollout, r, w float64 }{
		{-1, -1, 1, 1},
		{-0.5, -1.5, 2.718281828459045, 2.718281828459045},
		{-0.1, -1.8, 5.47394739, 0},
		{-2.0, -1.2, 0.44932896, 0},
		{0, -700, math.Exp(20), 0},
		{-700, 0, math.Exp(-20), 0},
		{math.Inf(-1), 0, math.Exp(-20), 0},
	} {
		r := Ratio(tt.current, tt.rollout)
		if w := Weight(r, 0.5, 5); !close(r, tt.r, 1e-8) || !close(w, tt.w, 1e-8) {
			t.Errorf("(%v, %v): r %.17g w %v, want %v %v", tt.current, tt.rollout, r, w, tt.r, tt.w)
		}
	}
	if r := Ratio(math.NaN(), 0); !math.IsNaN(r) || Weight(r, 0.5, 5) != 0 {
		t.Error("NaN must stay NaN and weigh 0")
	}
	if r := Ratio(math.Inf(-1), math.Inf(-1)); !math.IsNaN(r) {
		t.Errorf("-Inf against -Inf is %v", r)
	}
}

// What looks like exactly 0.5 comes out just below it and is masked, what looks like 5 is kept. The arithmetic is fixed
// to float64, subtract, exponentiate, compare with <=; the last bit of the exponential is math.Exp's (a C library gives
// 4.999999999999999 for the second).
func TestFloatBoundaryTrap(t *testing.T) {
	low, high := Ratio(math.Log(0.5)-1, -1), Ratio(math.Log(5)-2, -2)
	if low != 0.49999999999999994 || Weight(low, 0.5, 5) != 0 {
		t.Errorf("low %.17g weighs %v", low, Weight(low, 0.5, 5))
	}
	if high < 4.999999999999999 || high > 5 || Weight(high, 0.5, 5) != high {
		t.Errorf("high %.17g weighs %v", high, Weight(high, 0.5, 5))
	}
	for r, want := range map[float64]float64{0.5: 0.5, 5: 5, 0.499999: 0, 5.000001: 0} {
		if w := Weight(r, 0.5, 5); w != want {
			t.Errorf("weight of %v is %v", r, w)
		}
	}
}

func row(logRatios ...float32) Row {
	r := Row{}
	for _, l := range logRatios {
		r.Current, r.Rollout, r.Mask = append(r.Current, l-1), append(r.Rollout, -1), append(r.Mask, 1)
	}
	return r
}

func TestDiagnosticsGolden(t *testing.T) {
	r := row(0, 1, 1.7, -0.8)
	r.Entropic = []bool{false, true, false, true}
	c, err := Correct([]Row{r}, DefaultBounds())
	if err != nil {
		t.Fatal(err)
	}
	s := c.All
	if s.Tokens != 4 || s.MaskedLow != 1 || s.MaskedHigh != 1 || s.NaN != 0 || s.MaskedFraction() != 0.5 {
		t.Errorf("counts %+v", s)
	}
	for name, v := range map[string][2]float64{
		"k1": {s.K1, -0.475}, "k3": {s.K3, 0.93539}, "chi2": {s.Chi2, 8.63876}, "ess": {s.ESS, 0.41201}, "mean |l|": {s.MeanAbsLog, 0.875},
		"p50": {s.P50, (1 + math.E) / 2}, "p01": {s.P01, 0.44932896 + 0.03*(1-0.44932896)}, "p99": {s.P99, math.E + 0.97*(5.47394739-math.E)},
	} {
		if !close(v[0], v[1], 2e-5) {
			t.Errorf("%s = %v, want %v", name, v[0], v[1])
		}
	}
	e := c.Entropic
	if e.Tokens != 2 || e.MaskedLow != 1 || e.MaskedHigh != 0 || !close(e.K1, -0.1, 1e-6) || !close(e.ESS, 0.5, 1e-6) {
		t.Errorf("entropic %+v", e)
	}
	if w := c.Weights[0]; w[0] != 1 || !close(w[1], math.E, 1e-6) || w[2] != 0 || w[3] != 0 {
		t.Errorf("weights %v", w)
	}
}

func TestCorrectEdges(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	one := Row{Current: []float32{-1}, Rollout: []float32{-1}, Mask: []int8{1}}
	masked := Row{Current: []float32{nan, inf}, Rollout: []float32{1, nan}, Mask: []int8{0, 0}}
	for name, tt := range map[string]struct {
		rows []Row
		want Stats
	}{
		"no row":                  {nil, Stats{}},
		"NaN on masked positions": {[]Row{masked, one}, Stats{Tokens: 1, P01: 1, P50: 1, P99: 1, ESS: 1}},
		"NaN on a trained one":    {[]Row{one, {Current: []float32{nan, -inf}, Rollout: []float32{-1, -1}, Mask: []int8{1, 1}}}, Stats{Tokens: 3, NaN: 2, P01: 1, P50: 1, P99: 1, ESS: 1}},
		"only NaN":                {[]Row{{Current: []float32{nan}, Rollout: []float32{-1}, Mask: []int8{1}}}, Stats{Tokens: 1, NaN: 1}},
	} {
		c, err := Correct(tt.rows, DefaultBounds())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, c.All); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for _, ws := range c.Weights {
			for _, w := range ws {
				if math.IsNaN(w) {
					t.Errorf("%s: weight NaN", name)
				}
			}
		}
	}
	c, err := Correct([]Row{row(3, 4)}, DefaultBounds())
	if err != nil || c.All.ESS != 0 || c.All.MaskedFraction() != 1 {
		t.Errorf("all masked: %+v %v", c.All, err)
	}
	for name, bad := range map[string]Row{
		"current":  {Current: []float32{1}, Rollout: []float32{1, 2}, Mask: []int8{1, 1}},
		"mask":     {Current: []float32{1}, Rollout: []float32{1}, Mask: []int8{1, 1}},
		"entropic": {Current: []float32{1}, Rollout: []float32{1}, Mask: []int8{1}, Entropic: []bool{}},
	} {
		if _, err := Correct([]Row{bad}, DefaultBounds()); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, b := range []Bounds{{}, {0, 5}, {2, 5}, {0.5, 0.9}, {5, 0.5}, {math.NaN(), 5}, {0.5, math.NaN()}, {0.5, math.Inf(1)}} {
		if _, err := Correct(nil, b); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("bounds %v accepted", b)
		}
	}
}

// Wider bounds keep every token that narrower ones keep, and what is kept is the ratio itself.
func TestMaskIsMonotoneInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Ratio(rapid.Float64Range(-30, 0).Draw(t, "current"), rapid.Float64Range(-30, 0).Draw(t, "rollout"))
		a := rapid.Float64Range(0.01, 1).Draw(t, "alpha")
		b := rapid.Float64Range(1, 50).Draw(t, "beta")
		narrow := Weight(r, a, b)
		wide := Weight(r, a*rapid.Float64Range(0.1, 1).Draw(t, "lower"), b*rapid.Float64Range(1, 10).Draw(t, "higher"))
		if narrow != 0 && wide != narrow || narrow != 0 && narrow != r || wide != 0 && wide != r {
			t.Fatalf("r %v narrow %v wide %v", r, narrow, wide)
		}
	})
}

// Correct agrees with the plain definitions, token by token, however the tokens are cut into rows.
func TestCorrectAgreesWithDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []Row
		var ratios []float64
		var abs, k1 float64
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			var r Row
			for range rapid.IntRange(0, 6).Draw(t, "tokens") {
				c, o := rapid.Float32Range(-9, 0).Draw(t, "current"), rapid.Float32Range(-9, 0).Draw(t, "rollout")
				m := int8(rapid.IntRange(0, 1).Draw(t, "mask"))
				r.Current, r.Rollout, r.Mask = append(r.Current, c), append(r.Rollout, o), append(r.Mask, m)
				if m == 1 {
					ratios = append(ratios, Ratio(float64(c), float64(o)))
					abs += math.Abs(float64(c) - float64(o))
					k1 -= float64(c) - float64(o)
				}
			}
			rows = append(rows, r)
		}
		got, err := Correct(rows, DefaultBounds())
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for n, r := range rows {
			for k, m := range r.Mask {
				want := 0.0
				if m == 1 {
					want = Weight(ratios[i], 0.5, 5)
					i++
				}
				if got.Weights[n][k] != want {
					t.Fatalf("row %d token %d weighs %v, want %v", n, k, got.Weights[n][k], want)
				}
			}
		}
		if n := float64(len(ratios)); n > 0 {
			if !close(got.All.MeanAbsLog, abs/n, 1e-9) || !close(got.All.K1, k1/n, 1e-9) || got.All.Tokens != len(ratios) {
				t.Fatalf("stats %+v", got.All)
			}
			if got.All.P01 < slices.Min(ratios) || got.All.P99 > slices.Max(ratios)*(1+1e-12) || got.All.K3 < 0 || got.All.ESS > 1+1e-12 {
				t.Fatalf("stats %+v", got.All)
			}
		}
	})
}

func TestCheckMask(t *testing.T) {
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name     string
		mask     []int8
		versions []int32
		logprobs []float32
		subject  string // "" is accepted
	}{
		{"as recorded", []int8{0, 1, 1, 0}, []int32{-1, 0, 3, -1}, []float32{0, -0.5, 0, 0}, ""},
		{"empty", nil, nil, nil, ""},
		{"tool token trained on", []int8{0, 1, 1}, []int32{-1, 2, -1}, []float32{0, -1, 0}, "token 2"},
		{"log-probability outside the mask", []int8{0, 1}, []int32{-1, 2}, []float32{-1, -1}, "token 0"},
		{"sampled token left out", []int8{0, 1}, []int32{2, 2}, []float32{0, -1}, "token 0"},
		{"mask 2", []int8{2}, []int32{0}, []float32{-1}, "token 0"},
		{"NaN", []int8{1}, []int32{0}, []float32{nan}, "token 0"},
		{"NaN outside the mask", []int8{0}, []int32{-1}, []float32{nan}, "token 0"},
		{"-Inf", []int8{1}, []int32{0}, []float32{float32(math.Inf(-1))}, "token 0"},
		{"placeholder 1", []int8{1}, []int32{0}, []float32{1}, "token 0"},
		{"short versions", []int8{1}, nil, []float32{-1}, "lengths"},
		{"short logprobs", []int8{1}, []int32{0}, nil, "lengths"},
	} {
		err := CheckMask(tt.mask, tt.versions, tt.logprobs)
		if tt.subject == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		e, ok := err.(*quarry.Error)
		if !ok || e.Kind != quarry.KindCorrupt || e.Subject != tt.subject || e.Hint == "" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestObjectiveRefuses(t *testing.T) {
	for _, tt := range []struct {
		change  func(*Objective)
		subject string
	}{
		{func(o *Objective) { o.Loss = LossPPOClip }, RuleDoubleCount},
		{func(o *Objective) { o.Loss, o.ISWeight = LossPPOClip, false }, "loss"},
		{func(o *Objective) { o.Loss = "" }, "loss"},
		{func(o *Objective) { o.Ratio = "decoupled" }, "ratio"},
		{func(o *Objective) { o.Bounds = Bounds{} }, "bounds"},
	} {
		o := DefaultObjective()
		tt.change(&o)
		_, err := o.TokenScales(nil, 1)
		if e, ok := err.(*quarry.Error); !ok || e.Kind != quarry.KindInvalid || e.Subject != tt.subject || e.Hint == "" {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := DefaultObjective().Validate(); err != nil {
		t.Error(err)
	}
}

func TestTokenScales(t *testing.T) {
	samples := []Sample{
		{Weights: []float64{0, 2, 0}, Mask: []int8{0, 1, 1}, Advantage: -0.5, LossWeight: 1},
		{Weights: []float64{math.NaN(), 1}, Mask: []int8{0, 1}, Advantage: 1, LossWeight: 0.5},
	}
	got, err := DefaultObjective().TokenScales(samples, 4)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float64{{0, -0.25, 0}, {0, 0.125}}, got); diff != "" {
		t.Error(diff)
	}
	if math.Signbit(got[0][2]) {
		t.Error("a masked token has scale -0")
	}
	o := DefaultObjective()
	o.ISWeight = false
	if got, _ = o.TokenScales(samples, 4); !cmp.Equal(got, [][]float64{{0, -0.125, -0.125}, {0, 0.125}}) {
		t.Errorf("uncorrected %v", got)
	}
	for name, f := range map[string]func() error{
		"no episode": func() error { _, err := DefaultObjective().TokenScales(samples, 0); return err },
		"lengths": func() error {
			_, err := DefaultObjective().TokenScales([]Sample{{Weights: []float64{1}, LossWeight: 1}}, 1)
			return err
		},
		"advantage": func() error {
			_, err := DefaultObjective().TokenScales([]Sample{{Advantage: math.NaN(), LossWeight: 1}}, 1)
			return err
		},
	} {
		if err := f(); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The scales are the gradient, at the current policy, of mean over episodes of sum over tokens of A * r where r is kept.
func TestTokenScalesAreTheGradient(t *testing.T) {
	current, rollout := []float64{-1, -0.2, -3, -0.1}, []float64{-1.5, -0.4, -1, -2.5}
	const advantage, episodes, h = -0.7, 3, 1e-6
	mask := []int8{1, 1, 1, 1}
	weights := make([]float64, 4)
	for i := range weights {
		weights[i] = Weight(Ratio(current[i], rollout[i]), 0.5, 5)
	}
	scales, err := DefaultObjective().TokenScales([]Sample{{Weights: weights, Mask: mask, Advantage: advantage, LossWeight: 1}}, episodes)
	if err != nil {
		t.Fatal(err)
	}
	value := func(c, r float64) float64 { return advantage * Weight(Ratio(c, r), 0.5, 5) / episodes }
	for i := range current {
		d := (value(current[i]+h, rollout[i]) - value(current[i]-h, rollout[i])) / (2 * h)
		if !close(scales[0][i], d, 1e-6) {
			t.Errorf("token %d: scale %v, derivative %v", i, scales[0][i], d)
		}
	}
}

func BenchmarkCorrect(b *testing.B) {
	const rows, tokens = 64, 4096
	batch := make([]Row, rows)
	for i := range batch {
		r := Row{Current: make([]float32, tokens), Rollout: make([]float32, tokens), Mask: make([]int8, tokens)}
		for t := range tokens {
			x := float64((i*tokens+t)*2654435761%100003) / 100003
			r.Rollout[t] = float32(-3 * x)
			r.Current[t] = r.Rollout[t] + float32(0.4*math.Sin(99*x))
			r.Mask[t] = 1
		}
		batch[i] = r
	}
	for b.Loop() {
		if _, err := Correct(batch, DefaultBounds()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*rows*tokens/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}

func BenchmarkRatioAndMask(b *testing.B) {
	const n = 1 << 16
	current, rollout := make([]float64, n), make([]float64, n)
	for i := range current {
		rollout[i] = -3 * float64(i%997) / 997
		current[i] = rollout[i] + 0.4*math.Sin(float64(i))
	}
	sum := 0.0
	for b.Loop() {
		for i := range current {
			sum += Weight(Ratio(current[i], rollout[i]), 0.5, 5)
		}
	}
	if math.IsNaN(sum) {
		b.Fatal("NaN")
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mtokens/s")
}
