package dpo

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func TestLossGolden(t *testing.T) {
	tests := []struct {
		name                     string
		beta, c, r, rc, rr       float64
		wantLoss, margin, wantCo float64
	}{
		{"policy is the reference", 0.1, -3, -5, -3, -5, math.Ln2, 0, 0.05},
		{"in favour", 0.5, -1, -5, -2, -2, 0.12692801104297252, 2, 0.5 * 0.11920292202211755},
		{"against", 0.5, -5, -1, -2, -2, 2.1269280110429727, -2, 0.5 * 0.8807970779778823},
		{"beta 1, margin 1", 1, -1, -2, -3, -3, 0.31326168751822286, 1, 0.2689414213699951},
		{"far in favour", 1, 0, -800, 0, 0, 0, 800, 0},
		{"far against", 1, -800, 0, 0, 0, 800, -800, 1},
	}
	for _, tt := range tests {
		loss, margin, coef := Loss(tt.beta, tt.c, tt.r, tt.rc, tt.rr)
		if math.Abs(loss-tt.wantLoss) > 1e-12 || math.Abs(margin-tt.margin) > 1e-12 || math.Abs(coef-tt.wantCo) > 1e-12 {
			t.Errorf("%s: loss %.17g margin %v coef %.17g", tt.name, loss, margin, coef)
		}
	}
	if loss, _, _ := Loss(1, math.NaN(), 0, 0, 0); !math.IsNaN(loss) {
		t.Errorf("NaN became %v", loss)
	}
}

func TestLossGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		beta := rapid.Float64Range(0.01, 2).Draw(t, "beta")
		x := rapid.SliceOfN(rapid.Float64Range(-20, 0), 4, 4).Draw(t, "logps")
		const h = 1e-5
		at := func(dc, dr float64) float64 {
			l, _, _ := Loss(beta, x[0]+dc, x[1]+dr, x[2], x[3])
			return l
		}
		_, _, coef := Loss(beta, x[0], x[1], x[2], x[3])
		if d := (at(h, 0) - at(-h, 0)) / (2 * h); math.Abs(d+coef) > 1e-6 {
			t.Fatalf("d/d chosen %v, want %v", d, -coef)
		}
		if d := (at(0, h) - at(0, -h)) / (2 * h); math.Abs(d-coef) > 1e-6 {
			t.Fatalf("d/d rejected %v, want %v", d, coef)
		}
	})
}

func call(q string, s quarry.ToolStatus) quarry.Turn {
	return quarry.Turn{FormatOK: true, Finish: "stop", Events: []quarry.ToolEvent{{Name: "search", Arguments: `{"query":"` + q + `"}`, Status: s}}}
}

func episode(sample int, orm float64, turns ...quarry.Turn) *quarry.Episode {
	return &quarry.Episode{ID: fmt.Sprint("e", sample), TaskID: "t", Sample: sample, Kind: quarry.TaskFull, Answered: true, End: quarry.EndFinalAnswer,
		Thread:    quarry.Thread{IDs: []int32{1, 2, 3}, Mask: []int8{0, 1, 1}, PromptLen: 1, Turns: append(turns, quarry.Turn{FormatOK: true, Finish: "stop"})},
		Scorecard: &quarry.Scorecard{ORM: quarry.ScoreOf(orm)}}
}

func TestPairs(t *testing.T) {
	eps := []*quarry.Episode{episode(5, 1), episode(3, 0), episode(0, 1), episode(1, 0), episode(2, 0)}
	ids := func(ps []quarry.Pair) (out []string) {
		for _, p := range ps {
			out = append(out, p.ID+" "+p.Chosen.ID+">"+p.Rejected.ID)
		}
		return out
	}
	for _, tt := range []struct {
		name    string
		eps     []*quarry.Episode
		perTask int
		want    []string
		skipped map[string]int
	}{
		{"by sample index", eps, 9, []string{"t/0-1 e0>e1", "t/5-2 e5>e2"}, map[string]int{ReasonUnpaired: 1}},
		{"limited", eps, 1, []string{"t/0-1 e0>e1"}, map[string]int{ReasonUnpaired: 1, ReasonLimit: 2}},
		{"none wanted", eps, -1, nil, map[string]int{ReasonUnpaired: 1, ReasonLimit: 4}},
		{"all right", eps[:1], 9, nil, map[string]int{ReasonNoWrong: 1}},
		{"all wrong", eps[3:], 9, nil, map[string]int{ReasonNoRight: 2}},
		{"none", nil, 9, nil, map[string]int{}},
	} {
		pairs, skipped, err := Pairs(tt.eps, tt.perTask)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, ids(pairs)) + cmp.Diff(tt.skipped, skipped); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestFilter(t *testing.T) {
	with := func(ep *quarry.Episode, f func(*quarry.Episode)) *quarry.Episode { f(ep); return ep }
	ok := quarry.ToolOK
	for name, tt := range map[string]struct {
		ep     *quarry.Episode
		reason string
	}{
		"same query twice":    {episode(0, 1, call("a", ok), call("A!", ok), call("b", ok)), ""},
		"same query thrice":   {episode(0, 1, call("a", ok), call("A!", ok), call("a", ok)), ReasonRepetition},
		"cut turn":            {with(episode(0, 1), func(e *quarry.Episode) { e.Thread.Turns[0].Finish = "length" }), ReasonTruncated},
		"out of turns":        {with(episode(0, 0), func(e *quarry.Episode) { e.End, e.Answered = quarry.EndMaxTurns, false }), ReasonTruncated},
		"out of context":      {with(episode(0, 0), func(e *quarry.Episode) { e.End = quarry.EndContextOverflow }), ReasonTruncated},
		"failed call":         {episode(0, 1, call("a", quarry.ToolFailed)), ReasonToolError},
		"refused call":        {episode(0, 1, call("a", quarry.ToolRefused)), ReasonToolError},
		"provider's failure":  {episode(0, 1, call("a", quarry.ToolInfra)), ReasonToolError},
		"malformed":           {episode(0, 1, quarry.Turn{Finish: "stop"}), ReasonInvalid},
		"unanswered":          {with(episode(0, 0), func(e *quarry.Episode) { e.Answered = false }), ReasonInvalid},
		"unscored":            {with(episode(0, 0), func(e *quarry.Episode) { e.Scorecard.ORM = quarry.Unscored("x") }), ReasonUnscored},
		"no card":             {with(episode(0, 0), func(e *quarry.Episode) { e.Scorecard = nil }), ReasonUnscored},
		"infra":               {with(episode(0, 0), func(e *quarry.Episode) { e.Failure = quarry.FailInfra }), ReasonEnvironment},
		"continuation":        {with(episode(0, 1), func(e *quarry.Episode) { e.Kind = quarry.TaskPivot }), ReasonHinted},
		"three non-calls":     {episode(0, 1, empty(), empty(), empty()), ReasonToolError},
		"wrong, but in order": {episode(0, 0, call("a", ok)), ""},
	} {
		if got := unfit(tt.ep); got != tt.reason {
			t.Errorf("%s: %q, want %q", name, got, tt.reason)
		}
	}
}

// empty is a malformed turn as the tool gateway records it: an event that names nothing.
func empty() quarry.Turn {
	return quarry.Turn{Finish: "stop", Events: []quarry.ToolEvent{{Status: quarry.ToolFailed}}}
}

func TestPairsRefuseMixedTasks(t *testing.T) {
	a, b := episode(0, 1), episode(1, 0)
	b.TaskID = "u"
	if _, _, err := Pairs([]*quarry.Episode{a, b}, 1); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("other task: %v", err)
	}
	b.TaskID, b.Thread.IDs = "t", []int32{9, 2, 3}
	if _, _, err := Pairs([]*quarry.Episode{a, b}, 1); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("other prompt: %v", err)
	}
}

// Neither the order of arrival nor the number of steps changes which pairs are made, and no episode is lost.
func TestPairsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var eps []*quarry.Episode
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			var turns []quarry.Turn
			for k := range rapid.IntRange(0, 4).Draw(t, "steps") {
				turns = append(turns, call(fmt.Sprint(k), rapid.SampledFrom([]quarry.ToolStatus{quarry.ToolOK, quarry.ToolOK, quarry.ToolOK, quarry.ToolFailed}).Draw(t, "status")))
			}
			eps = append(eps, episode(i, float64(rapid.IntRange(0, 1).Draw(t, "right")), turns...))
		}
		perTask := rapid.IntRange(0, 4).Draw(t, "limit")
		pairs, skipped, err := Pairs(eps, perTask)
		if err != nil {
			t.Fatal(err)
		}
		total := 2 * len(pairs)
		for _, n := range skipped {
			total += n
		}
		if total != len(eps) || len(pairs) > perTask {
			t.Fatalf("%d episodes in, %d accounted for, %d pairs", len(eps), total, len(pairs))
		}
		for _, p := range pairs {
			if p.Chosen.Scorecard.ORM.Value != 1 || p.Rejected.Scorecard.ORM.Value != 0 {
				t.Fatal("not exactly one right")
			}
		}
		again, _, _ := Pairs(rapid.Permutation(eps).Draw(t, "order"), perTask)
		if diff := cmp.Diff(pairs, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
