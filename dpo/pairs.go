// Package dpo forms preference pairs by answer correctness alone and computes their loss. Pure: no I/O, no clock.
//
// Sources: Apodex 1.0 report (pairs by correctness after a trajectory filter), Rafailov et al. 2023 (loss).
package dpo

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
)

// Reasons why an episode is in no pair.
const (
	ReasonHinted      = "hinted"         // a continuation of a pivot
	ReasonEnvironment = "environment"    // infra, judge or timeout failure, or cancelled
	ReasonUnscored    = "unscored"       // no outcome
	ReasonRepetition  = "repetition"     // the same query three times or more
	ReasonTruncated   = "truncated"      // out of tokens, context or turns
	ReasonToolError   = "tool_error"     // a call failed, was refused, or its provider failed
	ReasonInvalid     = "invalid_output" // a malformed turn or no answer
	ReasonNoRight     = "no_right"       // clean, but no clean episode of the task is right
	ReasonNoWrong     = "no_wrong"       // clean, but no clean episode of the task is wrong
	ReasonUnpaired    = "unpaired"       // clean, but no counterpart was left
	ReasonLimit       = "over_limit"     // clean, but the task has its pairs
)

// severeRepetition is how often one query makes a trajectory unfit.
const severeRepetition = 3

// Pairs matches the right and the wrong episodes of one task, in the order of their sample index, each in at most one
// pair, at most perTask pairs. Both sides pass the trajectory filter first; nothing but correctness (ORM of the
// scorecard) decides which side is chosen. Every episode is in a pair or counted under its first reason. Episodes of
// different tasks or prompts are KindInvalid.
func Pairs(episodes []*quarry.Episode, perTask int) (pairs []quarry.Pair, skipped map[string]int, err error) {
	skipped = map[string]int{}
	var right, wrong []*quarry.Episode
	for _, ep := range episodes {
		if first := episodes[0]; ep.TaskID != first.TaskID || !slices.Equal(prompt(ep), prompt(first)) {
			return nil, nil, &quarry.Error{Op: "pairs", Kind: quarry.KindInvalid, Subject: "episode " + ep.ID,
				Msg: fmt.Sprintf("its task or prompt is not that of episode %s", first.ID), Hint: "group episodes by task id"}
		}
		switch reason := unfit(ep); {
		case reason != "":
			skipped[reason]++
		case ep.Scorecard.ORM.Value == 1:
			right = append(right, ep)
		default:
			wrong = append(wrong, ep)
		}
	}
	order := func(a, b *quarry.Episode) int {
		return cmp.Or(cmp.Compare(a.Sample, b.Sample), cmp.Compare(a.ID, b.ID))
	}
	slices.SortFunc(right, order)
	slices.SortFunc(wrong, order)
	left := len(right) + len(wrong)
	possible := min(len(right), len(wrong))
	n := max(min(possible, perTask), 0)
	for i := range n {
		pairs = append(pairs, quarry.Pair{
			ID:     fmt.Sprintf("%s/%d-%d", right[i].TaskID, right[i].Sample, wrong[i].Sample),
			TaskID: right[i].TaskID, Chosen: right[i], Rejected: wrong[i],
		})
	}
	count := func(reason string, n int) {
		if n > 0 {
			skipped[reason] += n
		}
	}
	switch {
	case len(right) == 0:
		count(ReasonNoRight, left)
	case len(wrong) == 0:
		count(ReasonNoWrong, left)
	default:
		count(ReasonLimit, 2*(possible-n))
		count(ReasonUnpaired, left-2*possible)
	}
	return pairs, skipped, nil
}

func prompt(ep *quarry.Episode) []int32 {
	return ep.Thread.IDs[:min(max(ep.Thread.PromptLen, 0), len(ep.Thread.IDs))]
}

// unfit is the trajectory filter: the reason why an episode may stand on neither side of a pair.
func unfit(ep *quarry.Episode) string {
	switch {
	case ep.Kind == quarry.TaskPivot || ep.HintLen > 0:
		return ReasonHinted
	case ep.Failure != quarry.FailNone && ep.Failure != quarry.FailPolicy, ep.End == quarry.EndCancelled:
		return ReasonEnvironment
	case ep.Scorecard == nil || !ep.Scorecard.ORM.Scored:
		return ReasonUnscored
	}
	queries := map[string]int{}
	for _, ev := range ep.ToolEvents() {
		if ev.Arguments == "" { // a turn that was no call at all
			continue
		}
		key := ev.Name + "\x00" + ev.Query()
		queries[key]++
		if queries[key] >= severeRepetition {
			return ReasonRepetition
		}
	}
	if ep.End == quarry.EndTokenBudget || ep.End == quarry.EndContextOverflow || ep.End == quarry.EndMaxTurns {
		return ReasonTruncated
	}
	for _, t := range ep.Thread.Turns {
		if t.Finish == "length" {
			return ReasonTruncated
		}
	}
	for _, ev := range ep.ToolEvents() {
		if ev.Status != quarry.ToolOK {
			return ReasonToolError
		}
	}
	for _, t := range ep.Thread.Turns {
		if !t.FormatOK {
			return ReasonInvalid
		}
	}
	if !ep.Answered || len(ep.Thread.Turns) == 0 {
		return ReasonInvalid
	}
	return ""
}
