package agent

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/sglang"
	"github.com/quarry-rl/quarry/rollout/tokens"
	"github.com/quarry-rl/quarry/rollout/world"
)

// TestContinuation cuts a failed episode before its second turn, adds a hint, and goes on from the exact tokens.
func TestContinuation(t *testing.T) {
	parent := run(t, &scripted{texts: []string{search("a"), search("b"), "<answer>wrong</answer>"}}, fullTask(), params())
	cut := parent.Thread.Turns[1].Start - len(tokens.AssistantOpen())
	suffix := tokens.UserThenAssistant("Hint: look at the author.")
	task := fullTask()
	task.Kind, task.Messages, task.ParentEpisode, task.PivotTurn, task.CallsSpent = quarry.TaskPivot, nil, "e1", 1, 1
	task.Prefix = slices.Concat(parent.Thread.IDs[:cut], suffix)
	task.HintStart, task.HintLen = cut, len(suffix)-len(tokens.AssistantOpen())

	eng := &scripted{texts: []string{search("c"), "<answer>right</answer>"}}
	ep := run(t, eng, task, params())
	if !slices.Equal(eng.reqs[0].InputIDs, task.Prefix) || ep.Thread.PromptLen != len(task.Prefix) {
		t.Error("the continuation was not sent its prefix")
	}
	if slices.Max(ep.Thread.Mask[:len(task.Prefix)]) != 0 || slices.Max(ep.Thread.Versions[:len(task.Prefix)]) != -1 {
		t.Error("prefix or hint would be trained on")
	}
	if ep.ParentEpisode != "e1" || ep.PivotTurn != 1 || ep.HintStart != cut || ep.HintLen != task.HintLen || ep.Kind != quarry.TaskPivot {
		t.Errorf("lineage %q %d %d %d", ep.ParentEpisode, ep.PivotTurn, ep.HintStart, ep.HintLen)
	}
	want := append(slices.Clone(parent.Messages[:4]),
		quarry.Message{Role: "user", Content: "Hint: look at the author."},
		quarry.Message{Role: "assistant", ToolCalls: []quarry.ToolCall{{ID: "call_2", Name: "search", Arguments: `{"query": "c"}`}}},
		quarry.Message{Role: "tool", Content: "[1] c\nAbout c.\nSearches left: 0", ToolCallID: "call_2", Name: "search"},
		quarry.Message{Role: "assistant", Content: "<answer>right</answer>"})
	if d := cmp.Diff(want, ep.Messages); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}

	// The turns of the prefix count: one of four is gone.
	over := run(t, &scripted{texts: []string{search("c"), search("d"), search("e")}}, task, params())
	if over.End != quarry.EndMaxTurns || len(over.Thread.Turns) != 3 {
		t.Errorf("ended %q after %d turns, want max_turns after 3", over.End, len(over.Thread.Turns))
	}
	task.Budget.Turns = 1
	if _, err := Run(t.Context(), eng, world.NewSession(shelf(), task), task, params()); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("a prefix that spends all turns: %v", err)
	}
}

// TestAnyEpisodeReplays: whatever a policy writes, byte rubbish and special tokens included, the record is exact.
func TestAnyEpisodeReplays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.OneOf(rapid.Just(search("a")), rapid.String(), rapid.Just("<answer>x</answer>"), rapid.Just("<tool_call>\n{}\n</tool_call>"))
		eng := &scripted{texts: rapid.SliceOfN(form, budget.Turns, budget.Turns).Draw(t, "texts")}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "noise"), 1))
		eng.change = func(_ int, r *sglang.GenerateResult) error {
			if n := len(r.OutputIDs) - 1; n > 0 && rng.IntN(4) == 0 {
				r.OutputIDs[rng.IntN(n)] = int32(rng.IntN(int(tokens.ImEnd)))
			}
			return nil
		}
		task, p := fullTask(), params()
		p.ContextLimit = rapid.IntRange(1100, 3000).Draw(t, "limit")
		ep, err := Run(context.Background(), eng, world.NewSession(shelf(), task), task, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckEpisode(ep); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCheckEpisodeFindsDamage(t *testing.T) {
	damage := map[string]func(*quarry.Episode){
		"id changed":          func(e *quarry.Episode) { e.Thread.IDs[e.Thread.PromptLen] = 'x' },
		"prompt changed":      func(e *quarry.Episode) { e.Thread.IDs[3] = 'x' },
		"tool token trained":  func(e *quarry.Episode) { e.Thread.Mask[e.Thread.Turns[0].End+5] = 1 },
		"message changed":     func(e *quarry.Episode) { e.Messages[3].Content += " " },
		"message missing":     func(e *quarry.Episode) { e.Messages = e.Messages[:4] },
		"no messages":         func(e *quarry.Episode) { e.Messages, e.Tools = nil, nil },
		"event changed":       func(e *quarry.Episode) { e.Thread.Turns[0].Events[0].Output = "other" },
		"event missing":       func(e *quarry.Episode) { e.Thread.Turns[0].Events = nil },
		"tools missing":       func(e *quarry.Episode) { e.Tools = nil },
		"hint after a prompt": func(e *quarry.Episode) { e.HintStart, e.HintLen = e.Thread.PromptLen, 1 },
		"turn dropped":        func(e *quarry.Episode) { e.Thread.Turns = e.Thread.Turns[1:] },
	}
	for name, f := range damage {
		ep := run(t, &scripted{texts: []string{search("a"), "<answer>x</answer>"}}, fullTask(), params())
		f(ep)
		err := CheckEpisode(ep)
		if quarry.KindOf(err) != quarry.KindCorrupt || !strings.Contains(err.Error(), "episode e1") {
			t.Errorf("%s: error %v, want a corrupt one that names the episode", name, err)
		}
	}
}
