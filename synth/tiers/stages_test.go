package tiers

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func panelOnly(p PanelRule, tiers ...string) Rules {
	return Rules{Name: "test", Tiers: tiers, Retries: 2, Panel: &p}
}

func mixed(k int) PanelRule {
	return PanelRule{Ask: Ask{Steps: []int{k}, Quorum: k, Temperature: 1}, MinRight: 1, MinWrong: 1, MaxLow: 1}
}

// The chance that a question of known rate passes a mixed test of one tier, against the published table.
func TestMixedTable(t *testing.T) {
	const n = 600
	ps := []float64{.02, .05, .1, .3, .5, .9}
	for k, row := range map[int][]float64{2: {.04, .10, .18, .42, .50, .18}, 4: {.08, .19, .34, .75, .88, .34}, 8: {.15, .34, .57, .94, .99, .57}, 16: {.28, .56, .82, 1, 1, .82}} {
		for i, p := range ps {
			want := 1 - math.Pow(p, float64(k)) - math.Pow(1-p, float64(k))
			if math.Abs(want-row[i]) > .0075 {
				t.Errorf("k %d p %v: the table says %v, the binomial %v", k, p, row[i], want)
			}
			got := share(t, n, panelOnly(mixed(k), "policy"), model(uint64(k), func(Attempt) float64 { return p }))
			near(t, fmt.Sprintf("k %d p %v", k, p), got, want, n)
		}
	}
}

// A panel of n models tried once each keeps what is mixed, for all 2^n vectors of outcomes.
func TestPanelVectors(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for n := 1; n <= len(names); n++ {
		for v := range 1 << n {
			right := map[string]int{}
			for i, name := range names[:n] {
				right["full "+name] = v >> i & 1
			}
			d, made := drive(t, panelOnly(mixed(1), names[:n]...), item("q"), counted(right))
			if want := v != 0 && v != 1<<n-1; (d.State == Kept) != want || len(made) != n {
				t.Errorf("%d models, outcomes %b: %s %s after %d attempts", n, v, d.State, d.Reason, len(made))
			}
			if v == 0 && d.Reason != ReasonNever || v == 1<<n-1 && d.Reason != ReasonAlways {
				t.Errorf("outcomes %b: %s", v, d.Reason)
			}
		}
	}
}

// outcomeOf is the exact distribution of a tier's (right, attempts) when it is sampled by the steps 4, 8, 16 while its
// interval spans the bound.
func outcomeOf(p, bound float64) map[[2]int]float64 {
	now, final := map[[2]int]float64{{0, 0}: 1}, map[[2]int]float64{}
	for _, k := range []int{4, 8, 16} {
		next := map[[2]int]float64{}
		for at, w := range now {
			for x := 0; x <= k-at[1]; x++ {
				next[[2]int{at[0] + x, k}] += w * pascal(x, k-at[1], p)
			}
		}
		now = map[[2]int]float64{}
		for at, w := range next {
			lo, hi := ClopperPearson(at[0], at[1])
			if k < 16 && bound > 0 && lo < bound && bound < hi {
				now[at] += w
			} else {
				final[at] += w
			}
		}
	}
	return final
}

// The whole rule of apodex with sequential sampling keeps the share that enumeration of all outcomes gives.
func TestSpreadMatrix(t *testing.T) {
	const n = 300
	r := preset(t, "apodex", "low", "mid", "top")
	r.Oracle, r.Closed, r.Single, r.Search = nil, nil, nil, false
	for i, c := range [][3]float64{{0, .3, .8}, {.1, .1, .1}, {.5, .7, .9}, {.02, .02, .3}, {.9, .95, 1}, {.6, .3, .3}, {0, 0, .05}, {.7, .75, .8}} {
		want := 0.0
		low, mid, top := outcomeOf(c[0], .75), outcomeOf(c[1], 0), outcomeOf(c[2], .25)
		for a, wa := range low {
			for b, wb := range mid {
				for z, wz := range top {
					right, all := a[0]+b[0]+z[0], a[1]+b[1]+z[1]
					if right > 0 && right < all && 4*z[0] >= z[1] && 4*a[0] <= 3*a[1] && FisherAbove(a[0], a[1], b[0], b[1]) >= .05 &&
						FisherAbove(a[0], a[1], z[0], z[1]) >= .05 && FisherAbove(b[0], b[1], z[0], z[1]) >= .05 {
						want += wa * wb * wz
					}
				}
			}
		}
		rate := map[string]float64{"low": c[0], "mid": c[1], "top": c[2]}
		got := share(t, n, r, model(uint64(100+i), func(a Attempt) float64 { return rate[a.Tier] }))
		near(t, fmt.Sprint(c), got, want, n)
	}
}

// A judge who errs in 5 % of his ballots gives an impossible question a success in 34 % of cases; two successes hardly ever.
func TestJudgeNoise(t *testing.T) {
	const n = 2000
	impossible := script(func(*Item, Attempt) Outcome { return Outcome{Answer: "no idea"} })
	noisy := judge(func(b Ballot) Vote {
		if draw(9, b.Item.Question.ID, b.Attempt, fmt.Sprint(b.N)) < .05 {
			return Yes
		}
		return No
	})
	one := judge(func(b Ballot) Vote { b.N = 0; return noisy(b) }) // three times the same vote
	r := panelOnly(mixed(8), "policy")
	pass := func(p float64, least int) float64 { return AtLeast(least, 8, p) }
	near(t, "one vote", share(t, n, r, Judged{impossible, one}), pass(.05, 1), n)
	if p := pass(.05, 1); math.Round(p*100) != 34 {
		t.Errorf("1 of 8 false successes: %v, want 0.34", p)
	}
	near(t, "one vote, two successes", share(t, n, r.NoisyJudge(), Judged{impossible, one}), pass(.05, 2), n)
	three := 3*.05*.05*.95 + .05*.05*.05
	near(t, "three votes", share(t, n, r, Judged{impossible, noisy}), pass(three, 1), n)
	near(t, "three votes, two successes", share(t, n, r.NoisyJudge(), Judged{impossible, noisy}), pass(three, 2), n)
	d, _ := drive(t, r, item("q1"), Judged{impossible, noisy})
	x := d.Difficulty.Tiers[0]
	if x.Judged != 8 || x.Yes+x.No != 24 || x.Agreement < 2./3 || x.Agreement > 1 {
		t.Errorf("votes are not recorded: %+v", x)
	}
}

func TestClosedBookShare(t *testing.T) {
	const n = 500
	for i, p := range []float64{0, .02, .05, 1. / 8, .3, .7} {
		r := preset(t, "apodex", "a", "b", "c")
		r.Oracle, r.Single, r.Panel = nil, nil, nil
		r.Closed.Steps = []int{4, 8}
		m := model(uint64(i), func(a Attempt) float64 {
			if a.Mode != ModeClosed || a.Tier != "c" {
				t.Errorf("closed book asks %+v", a)
			}
			return p
		})
		near(t, fmt.Sprintf("strict %v", p), share(t, n, r, m), 1-AtLeast(1, 8, p), n)
		r.Closed.Strict = false
		near(t, fmt.Sprintf("tau %v", p), share(t, n, r, m), 1-AtLeast(2, 8, p), n)
		r.Closed.Tau = .5
		near(t, fmt.Sprintf("tau .5, %v", p), share(t, n, r, m), 1-AtLeast(5, 8, p), n)
	}
}

func TestClosedBookBaseRate(t *testing.T) {
	for _, c := range []struct {
		class  AnswerClass
		strict bool
		right  int
		want   string
		asked  int
	}{
		{AnswerClass{Size: 2, Majority: .6}, true, 0, ReasonFewAnswers, 0}, // yes or no: not even asked
		{AnswerClass{Size: 19}, true, 0, ReasonFewAnswers, 0},
		{AnswerClass{Size: 20}, true, 0, "", 8},
		{AnswerClass{}, true, 0, "", 8}, // open
		{AnswerClass{}, true, 1, ReasonClosed, 4},
		{AnswerClass{Size: 190, Majority: .3}, true, 1, ReasonGuess, 4},   // strict all the same, but said
		{AnswerClass{Size: 190, Majority: .01}, true, 1, ReasonClosed, 4}, // P(>= 1 of 4) = 0.039
		{AnswerClass{Size: 190, Majority: .3}, false, 2, "", 8},           // 2 of 8 is what guessing gives
		{AnswerClass{Size: 190, Majority: .3}, false, 3, ReasonGuess, 4},
		{AnswerClass{Size: 190, Majority: .3}, false, 8, ReasonClosed, 4},
		{AnswerClass{Size: 190, Majority: .05}, false, 1, "", 8}, // tau counts where it is higher
		{AnswerClass{Size: 190, Majority: .05}, false, 2, ReasonGuess, 4},
	} {
		r := Rules{Tiers: []string{"m"}, Closed: closedBook()}
		r.Closed.Strict = c.strict
		it := item("q")
		it.Answers = c.class
		d, made := drive(t, r, it, counted(map[string]int{"closed_book m": c.right}))
		if d.Reason != c.want && !(c.want == ReasonGuess && c.class.Majority == .05 && d.Reason == ReasonClosed) || len(made) != c.asked {
			t.Errorf("%+v strict %v, %d right: %q after %d attempts, want %q after %d: %s", c.class, c.strict, c.right, d.Reason, len(made), c.want, c.asked, d.Detail)
		}
	}
	d, _ := drive(t, Rules{Tiers: []string{"m"}, Closed: closedBook()}, item("q"), counted(nil))
	if cb := d.Difficulty.Closed; cb == nil || cb.Scored != 8 || math.Abs(cb.Hi-.3694) > 1e-3 {
		t.Errorf("0 of 8: %+v", d.Difficulty.Closed)
	}
}

func TestPresets(t *testing.T) {
	all := []string{"low", "mid", "top"}
	type c struct {
		right map[string]int // successes come first
		want  string         // reason, "" is kept
		asked int
	}
	for name, cases := range map[string][]c{
		"deepdive":   {{nil, "", 4}, {map[string]int{"full top": 1}, ReasonFewWrong, 4}, {map[string]int{"full top": 4}, ReasonAlways, 4}},
		"websailor":  {{nil, "", 8}, {map[string]int{"full top": 7}, "", 8}, {map[string]int{"full top": 8}, ReasonAlways, 8}},
		"tongyi":     {{nil, ReasonNever, 8}, {map[string]int{"full top": 1}, "", 8}, {map[string]int{"full top": 7}, "", 8}, {map[string]int{"full top": 8}, ReasonAlways, 8}},
		"openseeker": {{map[string]int{"oracle top": 1}, "", 2}, {nil, ReasonOracle, 1}, {map[string]int{"oracle top": 1, "closed_book top": 1}, ReasonClosed, 2}},
		"apodex": {
			{nil, ReasonOracle, 3},
			{map[string]int{"oracle top": 2}, ReasonOracle, 4}, // 2 of 4
			{map[string]int{"oracle top": 4, "closed_book top": 1}, ReasonClosed, 3 + 4},
			{map[string]int{"oracle top": 4, "single_query top": 1}, ReasonSingle, 3 + 8 + 2},
			{map[string]int{"oracle top": 4}, ReasonNever, 3 + 8 + 4 + 16},
			{map[string]int{"oracle top": 4, "full top": 3}, ReasonTop, 3 + 8 + 4 + 16},
			{map[string]int{"oracle top": 4, "full top": 4}, "", 3 + 8 + 4 + 4 + 4 + 4},
			{map[string]int{"oracle top": 4, "full top": 9, "full mid": 2, "full low": 1}, "", 3 + 8 + 4 + 4 + 4 + 8},
			{map[string]int{"oracle top": 4, "full top": 16, "full mid": 4, "full low": 16}, ReasonAlways, 3 + 8 + 4 + 4 + 4 + 16},
			{map[string]int{"oracle top": 4, "full top": 16, "full mid": 2, "full low": 13}, ReasonLow, 3 + 8 + 4 + 4 + 4 + 16},
			{map[string]int{"oracle top": 4, "full top": 4, "full mid": 0, "full low": 12}, ReasonPathologic, 3 + 8 + 4 + 4 + 4 + 16},
		},
	} {
		for _, x := range cases {
			d, made := drive(t, preset(t, name, all...), item("q"), counted(x.right))
			if d.Reason != x.want || (x.want == "") != (d.State == Kept) || len(made) != x.asked {
				t.Errorf("%s %v: %s %q after %d attempts, want %q after %d (%s)", name, x.right, d.State, d.Reason, len(made), x.want, x.asked, d.Detail)
			}
		}
		r := preset(t, name, all...)
		most := 0
		for _, n := range r.MostAttempts() {
			most += n
		}
		for _, x := range cases {
			if x.asked > most {
				t.Errorf("%s: %d attempts, %d were announced as the most", name, x.asked, most)
			}
		}
	}
	if !slices.Equal(PresetNames(), func() (names []string) {
		for n := range presets() {
			names = append(names, n)
		}
		slices.Sort(names)
		return names
	}()) {
		t.Error("names and presets differ")
	}
}

func TestBand(t *testing.T) {
	for x := range 9 {
		r := Rules{Tiers: []string{"policy"}, Band: Band("policy")}
		d, made := drive(t, r, item("q"), counted(map[string]int{"full policy": x}))
		want := ""
		switch {
		case x == 0:
			want = ReasonBandLow
		case x > 4:
			want = ReasonBandHigh
		}
		if d.Reason != want || len(made) != 8 {
			t.Errorf("%d of 8: %q, want %q", x, d.Reason, want)
		}
	}
	for x, want := range map[int]string{1: ReasonBandLow, 2: "", 10: "", 11: ReasonBandHigh} { // bounds inclusive, rounding or not
		r := Rules{Tiers: []string{"policy"}, Band: Band("policy")}
		r.Band.Steps = []int{20}
		if d, _ := drive(t, r, item("q"), counted(map[string]int{"full policy": x})); d.Reason != want {
			t.Errorf("%d of 20: %q, want %q", x, d.Reason, want)
		}
	}
	r := panelOnly(PanelRule{Ask: Ask{Steps: []int{4, 16}, Quorum: 4, Temperature: 1}, MinRight: 1, MinWrong: 1, MinTop: .25, MaxLow: 1}, "policy")
	r.Band = Band("policy") // all 16 count, and none is made again
	if d, made := drive(t, r, item("q"), results("wrwrwrwrwrwrwrwr")); d.State != Kept || len(made) != 16 || d.Difficulty.Band.Scored != 16 {
		t.Errorf("%+v after %d attempts", d, len(made))
	}
}

// Part of a rule with three levels: the strongest tries on while nobody, or everybody, has solved the question.
func TestOpenQuestions(t *testing.T) {
	p := mixed(4)
	p.Steps, p.Quorum, p.OpenBelow, p.OpenAbove = []int{4, 8, 16}, 4, .25, .75
	for _, c := range []struct {
		top, mid, low int
		want          string
		asked         int
	}{
		{0, 0, 0, ReasonNever, 24},     // 0 of 16 is below 0.25
		{16, 16, 16, ReasonAlways, 24}, // 16 of 16 is above 0.75
		{0, 1, 0, "", 12},
		{4, 4, 3, "", 12},
		{5, 4, 4, "", 16}, // the sixth fails
		{9, 4, 4, "", 24},
	} {
		d, made := drive(t, panelOnly(p, "low", "mid", "top"), item("q"), counted(map[string]int{"full top": c.top, "full mid": c.mid, "full low": c.low}))
		if d.Reason != c.want || len(made) != c.asked {
			t.Errorf("%+v: %q after %d attempts", c, d.Reason, len(made))
		}
	}
	r := panelOnly(p, "low", "mid", "top")
	if most := r.MostAttempts(); most["top"] != 16 || most["mid"] != 4 {
		t.Errorf("most attempts %v", most)
	}
}

func TestErrorsAreNoVerdict(t *testing.T) {
	k4 := PanelRule{Ask: Ask{Steps: []int{4}, Quorum: 3, Temperature: 1}, MinRight: 1, MinWrong: 1, MaxLow: 1}
	for _, c := range []struct {
		results string
		state   State
		reason  string
		asked   int
	}{
		{"rwww", Kept, "", 4},
		{"eeeeeewrrr", Quarantined, ReasonQuorum, 6}, // two retries
		{"twrwr", Kept, "", 5},                       // the time-out is made up for
		{"tewwww", Rejected, ReasonNever, 6},
		{"tettww", Quarantined, ReasonQuorum, 6},     // two scored
		{"tetwwr", Kept, "", 6},                      // the retries are spent, three scored are a quorum
		{"tetwww", Rejected, ReasonNever, 6},         //
		{"wxwr", Kept, "", 4},                        // a refusal ends it, three are a quorum
		{"rxxw", Quarantined, string(ErrRefused), 4}, // the reason names it; no retry can help
		{"ttttttrrrr", Quarantined, ReasonQuorum, 6}, //
	} {
		d, made := drive(t, panelOnly(k4, "m"), item("q"), results(c.results))
		if d.State != c.state || d.Reason != c.reason || len(made) != c.asked {
			t.Errorf("%s: %s %s after %d attempts, want %s %s after %d", c.results, d.State, d.Reason, len(made), c.state, c.reason, c.asked)
		}
		failed := strings.Count(c.results[:c.asked], "t") + strings.Count(c.results[:c.asked], "e") + strings.Count(c.results[:c.asked], "x")
		x, sum := d.Difficulty.Tiers[0], 0
		for _, n := range x.Errors {
			sum += n
		}
		if sum != failed || x.Scored != c.asked-failed {
			t.Errorf("%s: %+v", c.results, x)
		}
	}
	// three of four, one unknown: the oracle does not know either
	r := Rules{Tiers: []string{"m"}, Retries: 1, Oracle: oracle()}
	for s, want := range map[string]State{"rrr": Kept, "rrwtt": Quarantined, "rwwtt": Rejected, "rrtr": Kept, "rrttt": Quarantined, "rrwtr": Kept} {
		if d, _ := drive(t, r, item("q"), results(s+"tttttt")); d.State != want {
			t.Errorf("oracle %s: %s %s %s, want %s", s, d.State, d.Reason, d.Detail, want)
		}
	}
}

func TestOrder(t *testing.T) {
	it := item("q")
	it.Search = &SearchHit{Query: "x"}
	it.Findings = []Finding{{CodeTimes, "born after death"}}
	r := preset(t, "apodex", "a", "b", "c")
	if d, made := drive(t, r, it, counted(nil)); d.Stage != StageOracle || len(made) != 3 {
		t.Errorf("%+v", d)
	}
	if d, made := drive(t, r, it, counted(map[string]int{"oracle c": 4})); d.Reason != ReasonSearch || len(made) != 3+8 {
		t.Errorf("%+v after %d", d, len(made))
	}
	r.Order = FreeFirst()
	if d, made := drive(t, r, it, counted(nil)); d.Reason != ReasonSearch || len(made) != 0 {
		t.Errorf("%+v", d)
	}
	it.Search = nil
	if d, made := drive(t, r, it, counted(nil)); d.Reason != string(CodeTimes) || d.Stage != StagePlausibility || len(made) != 0 {
		t.Errorf("%+v", d)
	}
	r.Plausibility = &PlausibilityRule{Off: []Code{CodeTimes}, Judge: &Ask{Steps: []int{1}, Quorum: 1}}
	if d, _ := drive(t, r, it, counted(nil)); d.Reason != ReasonImplausible {
		t.Errorf("%+v", d)
	}
	if d, made := drive(t, r, it, counted(map[string]int{"plausible judge": 1, "oracle c": 4, "full c": 4})); d.State != Kept || made[0].Tier != JudgeTier {
		t.Errorf("%+v", d)
	}
}
