// Package sft says which episodes may be imitated and what imitation minimises. Pure: no I/O, no clock.
package sft

import (
	"fmt"
	"math"

	"github.com/quarry-rl/quarry"
)

// Reasons why an episode is not trained on.
const (
	ReasonHinted        = "hinted"          // a continuation of a pivot: its context holds a hint
	ReasonEnvironment   = "environment"     // infra, judge or timeout failure, or cancelled
	ReasonUnscored      = "unscored"        // no outcome
	ReasonWrong         = "wrong"           // not the right answer
	ReasonNoFinalAnswer = "no_final_answer" // did not end by answering
	ReasonFailedCall    = "failed_call"     // a call failed, was refused, or its provider failed
	ReasonMalformedTurn = "malformed_turn"  // a turn is neither one call nor one answer
)

// Select splits episodes into those that may be trained on, in their order, and a count of the others by the first
// reason that holds; kept plus rejected is everything. An episode is kept when its scorecard says it is right, it ended
// with its final answer, no call failed and every turn is well formed.
func Select(episodes []*quarry.Episode) (kept []*quarry.Episode, rejected map[string]int) {
	rejected = map[string]int{}
	for _, ep := range episodes {
		if reason := reject(ep); reason != "" {
			rejected[reason]++
		} else {
			kept = append(kept, ep)
		}
	}
	return kept, rejected
}

func reject(ep *quarry.Episode) string {
	switch {
	case ep.Kind == quarry.TaskPivot || ep.HintLen > 0:
		return ReasonHinted
	case ep.Failure != quarry.FailNone && ep.Failure != quarry.FailPolicy, ep.End == quarry.EndCancelled:
		return ReasonEnvironment
	case ep.Scorecard == nil || !ep.Scorecard.ORM.Scored:
		return ReasonUnscored
	case ep.Scorecard.ORM.Value != 1:
		return ReasonWrong
	case !ep.Answered || ep.End != quarry.EndFinalAnswer || len(ep.Thread.Turns) == 0:
		return ReasonNoFinalAnswer
	}
	for _, t := range ep.Thread.Turns {
		for _, ev := range t.Events {
			if ev.Status != quarry.ToolOK {
				return ReasonFailedCall
			}
		}
	}
	for _, t := range ep.Thread.Turns {
		if !t.FormatOK || t.Finish != "stop" {
			return ReasonMalformedTurn
		}
	}
	return ""
}

// Mean is the unit that the loss is averaged over.
type Mean string

// The units.
const (
	MeanTurn  Mean = "turn"  // every turn counts alike in number, so longer turns weigh more; the default
	MeanToken Mean = "token" // every token counts alike
)

// Loss is the negative log-likelihood of turns, each the log-probabilities of its sampled tokens: summed over all
// tokens and divided by the number of turns (MeanTurn) or of tokens (MeanToken). Turns are those of the whole data, not
// of a part of it. weight is -d loss / d logp, the same for every token. Nothing to average, an empty turn, a value
// that is not finite or an unknown unit is KindInvalid.
func Loss(turns [][]float64, mean Mean) (loss, weight float64, err error) {
	tokens, sum := 0, 0.0
	for i, turn := range turns {
		if len(turn) == 0 {
			return 0, 0, invalid(fmt.Sprintf("turn %d", i), "drop the episode", "no token")
		}
		for t, l := range turn {
			if math.IsNaN(l) || math.IsInf(l, 0) {
				return 0, 0, invalid(fmt.Sprintf("turn %d token %d", i, t), "drop the episode: the policy cannot produce it",
					"log-probability %v", l)
			}
			sum += l
		}
		tokens += len(turn)
	}
	weight, err = unit(mean, len(turns), tokens)
	return -sum * weight, weight, err
}

// TokenWeights gives, for every token of every thread, its weight -d loss / d logp under Loss: equal on sampled tokens,
// 0 elsewhere. Turn ranges that do not cover exactly the tokens with mask 1 are KindCorrupt.
func TokenWeights(threads []*quarry.Thread, mean Mean) ([][]float64, error) {
	turns, tokens := 0, 0
	for i, th := range threads {
		n, err := sampled(th)
		if err != nil {
			return nil, &quarry.Error{Op: "sft", Kind: quarry.KindCorrupt, Subject: fmt.Sprintf("thread %d", i), Err: err,
				Hint: "drop the episode"}
		}
		turns, tokens = turns+len(th.Turns), tokens+n
	}
	w, err := unit(mean, turns, tokens)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(threads))
	for i, th := range threads {
		out[i] = make([]float64, len(th.IDs))
		for t, m := range th.Mask {
			if m == 1 {
				out[i][t] = w
			}
		}
	}
	return out, nil
}

// sampled counts a thread's trained tokens after checking that mask and turns agree.
func sampled(th *quarry.Thread) (int, error) {
	if len(th.Mask) != len(th.IDs) {
		return 0, fmt.Errorf("mask %d for %d tokens", len(th.Mask), len(th.IDs))
	}
	masked, end := 0, 0
	for _, m := range th.Mask {
		if m == 1 {
			masked++
		}
	}
	covered := 0
	for i, t := range th.Turns {
		if t.Start < end || t.End <= t.Start || t.End > len(th.IDs) {
			return 0, fmt.Errorf("turn %d covers [%d, %d) of %d tokens after %d", i, t.Start, t.End, len(th.IDs), end)
		}
		end = t.End
		for _, m := range th.Mask[t.Start:t.End] {
			if m != 1 {
				return 0, fmt.Errorf("turn %d holds a token with mask %d", i, m)
			}
			covered++
		}
	}
	if covered != masked {
		return 0, fmt.Errorf("%d tokens with mask 1, %d within turns", masked, covered)
	}
	return masked, nil
}

func unit(mean Mean, turns, tokens int) (float64, error) {
	if turns == 0 || tokens == 0 {
		return 0, invalid("data", "widen the selection of expert episodes", "nothing to train on")
	}
	switch mean {
	case "", MeanTurn:
		return 1 / float64(turns), nil
	case MeanToken:
		return 1 / float64(tokens), nil
	}
	return 0, invalid("mean", "use turn or token", "%q is unknown", mean)
}

func invalid(subject, hint, format string, args ...any) error {
	return &quarry.Error{Op: "sft", Kind: quarry.KindInvalid, Subject: subject, Msg: fmt.Sprintf(format, args...), Hint: hint}
}
