package sft

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func expert() *quarry.Episode {
	return &quarry.Episode{Kind: quarry.TaskFull, Answered: true, End: quarry.EndFinalAnswer,
		Scorecard: &quarry.Scorecard{ORM: quarry.ScoreOf(1)},
		Thread: quarry.Thread{Turns: []quarry.Turn{
			{FormatOK: true, Finish: "stop", Events: []quarry.ToolEvent{{Status: quarry.ToolOK}}}, {FormatOK: true, Finish: "stop"}}}}
}

func TestSelect(t *testing.T) {
	changes := []struct {
		reason string
		change func(*quarry.Episode)
	}{
		{"", func(*quarry.Episode) {}},
		{ReasonHinted, func(e *quarry.Episode) { e.Kind = quarry.TaskPivot }},
		{ReasonHinted, func(e *quarry.Episode) { e.HintLen = 4 }},
		{ReasonEnvironment, func(e *quarry.Episode) { e.Failure = quarry.FailInfra }},
		{ReasonEnvironment, func(e *quarry.Episode) { e.End = quarry.EndCancelled }},
		{ReasonUnscored, func(e *quarry.Episode) { e.Scorecard = nil }},
		{ReasonUnscored, func(e *quarry.Episode) { e.Scorecard.ORM = quarry.Unscored("judge_failure") }},
		{ReasonWrong, func(e *quarry.Episode) { e.Scorecard.ORM.Value = 0 }},
		{ReasonNoFinalAnswer, func(e *quarry.Episode) { e.Answered = false }},
		{ReasonNoFinalAnswer, func(e *quarry.Episode) { e.End = quarry.EndMaxTurns }},
		{ReasonNoFinalAnswer, func(e *quarry.Episode) { e.Thread.Turns = nil }},
		{ReasonFailedCall, func(e *quarry.Episode) { e.Thread.Turns[0].Events[0].Status = quarry.ToolFailed }},
		{ReasonFailedCall, func(e *quarry.Episode) { e.Thread.Turns[0].Events[0].Status = quarry.ToolInfra }},
		{ReasonMalformedTurn, func(e *quarry.Episode) { e.Thread.Turns[1].FormatOK = false }},
		{ReasonMalformedTurn, func(e *quarry.Episode) { e.Thread.Turns[1].Finish = "length" }},
	}
	var eps []*quarry.Episode
	want := map[string]int{}
	for _, c := range changes {
		ep := expert()
		c.change(ep)
		eps = append(eps, ep)
		if c.reason != "" {
			want[c.reason]++
		}
	}
	kept, rejected := Select(eps)
	if len(kept) != 1 || kept[0] != eps[0] {
		t.Errorf("kept %d episodes", len(kept))
	}
	if diff := cmp.Diff(want, rejected); diff != "" {
		t.Error(diff)
	}
}

func TestLoss(t *testing.T) {
	turns := [][]float64{{-1, -2}, {-3}, {-0.5, -0.5, -1}}
	for _, tt := range []struct {
		mean         Mean
		loss, weight float64
	}{{"", 8.0 / 3, 1.0 / 3}, {MeanTurn, 8.0 / 3, 1.0 / 3}, {MeanToken, 8.0 / 6, 1.0 / 6}} {
		loss, weight, err := Loss(turns, tt.mean)
		if err != nil || math.Abs(loss-tt.loss) > 1e-12 || math.Abs(weight-tt.weight) > 1e-12 {
			t.Errorf("%q: %v %v %v", tt.mean, loss, weight, err)
		}
	}
	for name, f := range map[string]func() error{
		"nothing":      func() error { _, _, err := Loss(nil, MeanTurn); return err },
		"empty turn":   func() error { _, _, err := Loss([][]float64{{-1}, {}}, MeanTurn); return err },
		"NaN":          func() error { _, _, err := Loss([][]float64{{math.NaN()}}, MeanTurn); return err },
		"impossible":   func() error { _, _, err := Loss([][]float64{{math.Inf(-1)}}, MeanTurn); return err },
		"unknown unit": func() error { _, _, err := Loss([][]float64{{-1}}, "epoch"); return err },
	} {
		if err := f(); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The weights of the tokens are the gradient of the loss over the same turns, whatever the data looks like.
func TestTokenWeightsAreTheGradient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.SampledFrom([]Mean{MeanTurn, MeanToken}).Draw(t, "mean")
		var threads []*quarry.Thread
		var turns [][]float64
		var logps [][]float64
		for range rapid.IntRange(1, 4).Draw(t, "threads") {
			th, lp := &quarry.Thread{}, []float64{}
			add := func(n int, mask int8) {
				for range n {
					th.IDs, th.Mask = append(th.IDs, 1), append(th.Mask, mask)
					lp = append(lp, rapid.Float64Range(-5, 0).Draw(t, "logp"))
				}
			}
			for range rapid.IntRange(1, 3).Draw(t, "turns") {
				add(rapid.IntRange(0, 3).Draw(t, "context"), 0)
				start := len(th.IDs)
				add(rapid.IntRange(1, 4).Draw(t, "sampled"), 1)
				th.Turns = append(th.Turns, quarry.Turn{Start: start, End: len(th.IDs)})
				turns = append(turns, lp[start:])
			}
			threads, logps = append(threads, th), append(logps, lp)
		}
		loss, weight, err := Loss(turns, mean)
		if err != nil {
			t.Fatal(err)
		}
		weights, err := TokenWeights(threads, mean)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, ws := range weights {
			for k, w := range ws {
				if (threads[i].Mask[k] == 0 && w != 0) || (threads[i].Mask[k] == 1 && w != weight) {
					t.Fatalf("thread %d token %d mask %d weight %v", i, k, threads[i].Mask[k], w)
				}
				sum -= w * logps[i][k]
			}
		}
		if math.Abs(sum-loss) > 1e-9 {
			t.Fatalf("weighted sum %v, loss %v", sum, loss)
		}
	})
}

func TestTokenWeightsRefuse(t *testing.T) {
	for name, th := range map[string]*quarry.Thread{
		"mask too short":        {IDs: []int32{1, 2}, Mask: []int8{1}, Turns: []quarry.Turn{{Start: 0, End: 1}}},
		"trains a tool token":   {IDs: []int32{1, 2}, Mask: []int8{1, 1}, Turns: []quarry.Turn{{Start: 0, End: 1}}},
		"turn over the end":     {IDs: []int32{1}, Mask: []int8{1}, Turns: []quarry.Turn{{Start: 0, End: 2}}},
		"turns overlap":         {IDs: []int32{1, 2}, Mask: []int8{1, 1}, Turns: []quarry.Turn{{Start: 0, End: 2}, {Start: 1, End: 2}}},
		"turn with masked":      {IDs: []int32{1, 2}, Mask: []int8{1, 0}, Turns: []quarry.Turn{{Start: 0, End: 2}}},
		"negative start":        {IDs: []int32{1}, Mask: []int8{1}, Turns: []quarry.Turn{{Start: -1, End: 1}}},
		"turn without a length": {IDs: []int32{1}, Mask: []int8{0}, Turns: []quarry.Turn{{Start: 0, End: 0}}},
	} {
		if _, err := TokenWeights([]*quarry.Thread{th}, MeanTurn); quarry.KindOf(err) != quarry.KindCorrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := TokenWeights(nil, MeanTurn); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("no thread: %v", err)
	}
}
