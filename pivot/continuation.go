package pivot

import (
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
)

// Bridge knows the tokens between turns. rollout/tokens has both.
type Bridge interface {
	// UserThenAssistant is a user message, closed, followed by AssistantOpen.
	UserThenAssistant(text string) []int32
	// AssistantOpen is what stands before every sampled turn.
	AssistantOpen() []int32
}

// Continuation makes the task that goes on from p. Its prefix is the parent episode's tokens before the assistant
// opening of the pivot turn, the hint as a user message, and the opening again; the hint's range is its message without
// that opening, so that taking it out gives the parent's tokens back up to the turn's first sampled one. At turn 0 that
// is the prompt with the hint after it. A pivot without a hint gives a prefix without one.
//
// The budget stays the parent task's: turns in the prefix and CallsSpent count against it. CallsSpent are the calls
// before the pivot that cost one, succeeded or failed.
//
// Errors: KindInvalid when task, episode and pivot do not belong together or no turn is left, KindCorrupt when the
// episode's tokens have no assistant opening before the turn, KindInternal when the bridge contradicts itself.
func Continuation(parent quarry.Task, ep *quarry.Episode, p quarry.Pivot, bridge Bridge) (quarry.Task, error) {
	subject := fmt.Sprintf("episode %s turn %d", ep.ID, p.Turn)
	fail := func(kind quarry.Kind, hint, format string, args ...any) (quarry.Task, error) {
		return quarry.Task{}, &quarry.Error{Op: "continuation", Kind: kind, Subject: subject, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	switch {
	case p.EpisodeID != ep.ID || ep.TaskID != parent.ID:
		return fail(quarry.KindInvalid, "pass the episode's own task and pivot", "pivot of %q, episode of task %q, task %q", p.EpisodeID, ep.TaskID, parent.ID)
	case parent.Kind == quarry.TaskPivot || ep.Kind == quarry.TaskPivot:
		return fail(quarry.KindInvalid, "locate pivots in full episodes only", "the parent is a continuation itself")
	case p.Turn < 0 || p.Turn >= len(ep.Thread.Turns):
		return fail(quarry.KindInvalid, "locate the pivot again", "the episode has %d turns", len(ep.Thread.Turns))
	case p.Turn >= parent.Budget.Turns:
		return fail(quarry.KindInvalid, "raise budget.turns of the task", "no turn is left of %d", parent.Budget.Turns)
	}
	open := bridge.AssistantOpen()
	ids, start := ep.Thread.IDs, ep.Thread.Turns[p.Turn].Start
	cut := start - len(open)
	if cut < 0 || start > len(ids) || !slices.Equal(ids[cut:start], open) {
		return fail(quarry.KindCorrupt, "check the episode's record", "no assistant opening stands before token %d", start)
	}
	after := open
	if p.Hint != "" {
		after = bridge.UserThenAssistant(p.Hint)
		if len(after) <= len(open) || !slices.Equal(after[len(after)-len(open):], open) {
			return fail(quarry.KindInternal, "", "the bridge's user message does not end with its assistant opening")
		}
	}
	task := parent
	task.ID = fmt.Sprintf("%s/pivot-%d", ep.ID, p.Turn)
	task.Kind = quarry.TaskPivot
	task.Prefix = append(slices.Clone(ids[:cut]), after...)
	task.ParentEpisode, task.PivotTurn = ep.ID, p.Turn
	task.HintStart, task.HintLen = cut, len(after)-len(open)
	task.CallsSpent = 0
	for _, t := range ep.Thread.Turns[:p.Turn] {
		for _, ev := range t.Events {
			if ev.Status == quarry.ToolOK || ev.Status == quarry.ToolFailed {
				task.CallsSpent++
			}
		}
	}
	return task, nil
}
