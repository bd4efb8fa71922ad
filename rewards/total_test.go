package rewards

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func card(tool, format, prm, orm float64) quarry.Scorecard {
	return quarry.Scorecard{Tool: quarry.ScoreOf(tool), Format: quarry.ScoreOf(format), PRM: quarry.ScoreOf(prm), ORM: quarry.ScoreOf(orm)}
}

func TestTotal(t *testing.T) {
	start, end := quarry.Coefficients{Tool: .6, Format: .3, PRM: .1}, quarry.Coefficients{PRM: .3, ORM: .7}
	right, wrong := card(.05, .1, .4, 1), card(.05, .1, .4, 0)
	with := func(c quarry.Scorecard, f func(*quarry.Scorecard)) quarry.Scorecard { f(&c); return c }
	for _, tt := range []struct {
		name string
		card quarry.Scorecard
		c    quarry.Coefficients
		want quarry.Score
	}{
		{"start, right", right, start, quarry.ScoreOf(.10)},
		{"start, wrong", wrong, start, quarry.ScoreOf(.10)},
		{"end, right", right, end, quarry.ScoreOf(.82)},
		{"end, wrong", wrong, end, quarry.ScoreOf(.12)},
		{"no outcome at weight 0", with(right, func(c *quarry.Scorecard) { c.ORM = quarry.Unscored(ReasonInfra) }), start, quarry.ScoreOf(.10)},
		{"no outcome", with(right, func(c *quarry.Scorecard) { c.ORM = quarry.Unscored(ReasonInfra) }), end, quarry.Unscored("orm: infra_failure")},
		{"no entities", with(right, func(c *quarry.Scorecard) { c.PRM = quarry.Unscored(ReasonNoEntities) }), end, quarry.ScoreOf(1)},
		{"no entities at the start", with(right, func(c *quarry.Scorecard) { c.PRM = quarry.Unscored(ReasonNoEntities) }), start, quarry.ScoreOf((.6*.05 + .3*.1) / .9)},
		{"nothing but entities", with(right, func(c *quarry.Scorecard) { c.PRM = quarry.Unscored(ReasonNoEntities) }), quarry.Coefficients{PRM: 1}, quarry.Unscored("prm: no_entities")},
		{"PRM broken otherwise", with(right, func(c *quarry.Scorecard) { c.PRM = quarry.Unscored(ReasonUnknownMode) }), end, quarry.Unscored("prm: unknown_mode")},
		{"no turn", with(right, func(c *quarry.Scorecard) { c.Tool = quarry.Unscored(ReasonNoTurns) }), start, quarry.Unscored("tool: no_turns")},
		{"NaN", with(right, func(c *quarry.Scorecard) { c.ORM.Value = math.NaN() }), end, quarry.Unscored("orm: not_finite")},
		{"NaN at weight 0", with(right, func(c *quarry.Scorecard) { c.ORM.Value = math.NaN() }), start, quarry.ScoreOf(.10)},
	} {
		got := Total(tt.card, tt.c)
		if got.Scored != tt.want.Scored || got.Reason != tt.want.Reason || !near(got.Value, tt.want.Value) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestCheckCoefficients(t *testing.T) {
	for _, p := range DefaultSchedule().Phases {
		if err := CheckCoefficients(p.Coefficients); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []quarry.Coefficients{{}, {Tool: 1.1, Format: -.1}, {ORM: 1 - 1e-8}, {ORM: math.NaN()}, {ORM: math.Inf(1)}, {PRM: .6, ORM: .6}} {
		if err := CheckCoefficients(c); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestEffectiveWeights(t *testing.T) {
	c := quarry.Coefficients{Tool: .25, PRM: .25, ORM: .5}
	// Tool is constant, so it explains nothing; PRM and ORM are uncorrelated: shares 1/16 to 1/4.
	cards := []quarry.Scorecard{card(.1, 9, 0, 0), card(.1, 9, 0, 1), card(.1, 9, 1, 0), card(.1, 9, 1, 1)}
	got := EffectiveWeights(cards, c)
	if got == nil || !near(got.Tool, 0) || !near(got.Format, 0) || !near(got.PRM, .2) || !near(got.ORM, .8) {
		t.Errorf("%+v", got)
	}
	if got := EffectiveWeights(cards[:1], c); got != nil {
		t.Errorf("one card: %+v", got)
	}
	if got := EffectiveWeights([]quarry.Scorecard{cards[0], cards[0], {}}, c); got != nil {
		t.Errorf("equal totals: %+v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		var cards []quarry.Scorecard
		v := rapid.Float64Range(-1, 1)
		for range rapid.IntRange(0, 8).Draw(t, "n") {
			cards = append(cards, card(v.Draw(t, "tool"), v.Draw(t, "format"), v.Draw(t, "prm"), v.Draw(t, "orm")))
		}
		if s := EffectiveWeights(cards, quarry.Coefficients{Tool: .1, Format: .2, PRM: .3, ORM: .4}); s != nil &&
			math.Abs(s.Tool+s.Format+s.PRM+s.ORM-1) > 1e-6 {
			t.Fatalf("%+v does not sum to 1", s)
		}
	})
}

func scores(vs ...float64) (out []quarry.Score) {
	for _, v := range vs {
		out = append(out, quarry.ScoreOf(v))
	}
	return out
}

func TestAdvantages(t *testing.T) {
	no := quarry.Unscored("infra_failure")
	for _, tt := range []struct {
		name        string
		totals      []quarry.Score
		want        []float64
		n           int
		informative bool
	}{
		{"3 of 8 right", scores(1, 0, 0, 1, 0, 0, 1, 0), []float64{.625, -.375, -.375, .625, -.375, -.375, .625, -.375}, 8, true},
		{"all right", scores(1, 1, 1), []float64{0, 0, 0}, 3, false},
		{"constant and not exact in binary", scores(.7, .7, .7, .7, .7, .7, .7), make([]float64, 7), 7, false},
		{"unscored stay out", []quarry.Score{quarry.ScoreOf(1), no, quarry.ScoreOf(0), no}, []float64{.5, 0, -.5, 0}, 2, true},
		{"one scored", []quarry.Score{quarry.ScoreOf(1), no}, []float64{0, 0}, 1, false},
		{"none scored", []quarry.Score{no, no}, []float64{0, 0}, 0, false},
		{"one", scores(1), []float64{0}, 1, false},
		{"none", nil, []float64{}, 0, false},
		{"NaN is not scored", scores(math.NaN(), 1, 0, math.Inf(1)), []float64{0, .5, -.5, 0}, 2, true},
	} {
		got, n, informative := Advantages(tt.totals)
		if diff := cmp.Diff(tt.want, got); diff != "" || n != tt.n || informative != tt.informative {
			t.Errorf("%s: n %d informative %v %s", tt.name, n, informative, diff)
		}
	}
}

func TestAdvantageProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var totals []quarry.Score
		for range rapid.IntRange(0, 16).Draw(t, "n") {
			s := quarry.ScoreOf(rapid.Float64Range(-1, 1).Draw(t, "total"))
			if rapid.IntRange(0, 4).Draw(t, "lost") == 0 {
				s = quarry.Unscored(ReasonInfra)
			}
			totals = append(totals, s)
		}
		a, n, informative := Advantages(totals)
		sum, shift := 0.0, rapid.Float64Range(-100, 100).Draw(t, "shift")
		shifted := make([]quarry.Score, len(totals))
		reversed := make([]quarry.Score, len(totals))
		for i, s := range totals {
			sum += a[i]
			if !s.Scored && a[i] != 0 {
				t.Fatal("an unscored member has an advantage")
			}
			reversed[len(totals)-1-i] = s
			shifted[i] = s
			if s.Scored {
				shifted[i].Value += shift
			}
		}
		if math.Abs(sum) > 1e-9 {
			t.Fatalf("sum %v", sum)
		}
		b, m, _ := Advantages(shifted)
		c, k, again := Advantages(reversed)
		if n != m || n != k || informative != again {
			t.Fatal("counts depend on shift or order")
		}
		for i := range a {
			if math.Abs(a[i]-b[i]) > 1e-9 || math.Abs(a[i]-c[len(a)-1-i]) > 1e-9 {
				t.Fatalf("member %d: %v, shifted %v, reversed %v", i, a[i], b[i], c[len(a)-1-i])
			}
		}
	})
}
