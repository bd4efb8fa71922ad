package rewards

import (
	"encoding/json"
	"strings"

	"github.com/quarry-rl/quarry"
)

// PRMMode says what counts as finding an entity. It is recorded with the rewards.
type PRMMode string

// The modes. The empty mode is PRMHardened.
const (
	// PRMHardened counts an entity when it is first seen in the return of a call that succeeded, unless the question or
	// the hint names it or the agent wrote it into this or an earlier query: then it was guessed, not found. Thoughts and
	// answers count for nothing, so listing names earns nothing.
	PRMHardened PRMMode = "hardened"
	// PRMMindDR is the published rule: a match in any thought or tool return.
	PRMMindDR PRMMode = "minddr"
)

// Prior is what a continuation of a pivot was given: the conversation before the pivot turn, and the hint. It is empty
// for a full episode.
type Prior struct {
	Messages []quarry.Message // parent's messages before the pivot turn, without the hint
	Hint     string
}

// PriorOf cuts the prior from the messages of a continuation, which hold the whole conversation: everything before
// assistant message number PivotTurn, the user message right before that one being the hint when HintLen > 0.
func PriorOf(ep *quarry.Episode) Prior {
	prior, _ := splitMessages(ep)
	return prior
}

// splitMessages gives the prior and the messages of the episode's own turns.
func splitMessages(ep *quarry.Episode) (Prior, []quarry.Message) {
	if ep.Kind != quarry.TaskPivot && ep.HintLen == 0 {
		return Prior{}, ep.Messages
	}
	cut, assistants := len(ep.Messages), 0
	for i, m := range ep.Messages {
		if m.Role != "assistant" {
			continue
		}
		if assistants == ep.PivotTurn {
			cut = i
			break
		}
		assistants++
	}
	p := Prior{Messages: ep.Messages[:cut]}
	if last := cut - 1; ep.HintLen > 0 && last >= 0 && ep.Messages[last].Role == "user" {
		p.Hint, p.Messages = ep.Messages[last].Content, ep.Messages[:last]
	}
	return p, ep.Messages[cut:]
}

// PRM is the entity coverage k/M: of the M entities, how many the episode found by the rules of mode. For a
// continuation, entities that a tool return of the prior shows are out of M, and those its hint names earn nothing.
// No entity is unscored with ReasonNoEntities.
func PRM(ep *quarry.Episode, entities []quarry.Named, question string, mode PRMMode, prior Prior) quarry.Score {
	switch mode {
	case "", PRMHardened, PRMMindDR:
	default:
		return quarry.Unscored(ReasonUnknownMode)
	}
	m := NewMatcher(entities)
	c := coverage{matcher: m, seen: make([]bool, len(entities)), barred: make([]bool, len(entities))}
	for _, msg := range prior.Messages {
		if msg.Role == "tool" {
			c.see(msg.Content)
		}
		for _, args := range calls(msg) {
			c.bar(args)
		}
	}
	total := 0
	for i := range entities {
		if !c.seen[i] {
			total++
		}
	}
	if total == 0 {
		return quarry.Unscored(ReasonNoEntities)
	}
	c.found = 0 // what the prior showed is not this episode's merit
	if mode == PRMMindDR {
		clear(c.barred)
	} else {
		c.bar(question)
	}
	c.bar(prior.Hint)
	if mode == PRMMindDR {
		_, own := splitMessages(ep)
		for _, msg := range own {
			if msg.Role == "assistant" {
				c.see(thought(msg.Content))
			}
		}
	}
	for _, ev := range ep.ToolEvents() {
		if mode == PRMMindDR {
			c.see(ev.Output)
			continue
		}
		c.bar(argumentText(ev.Arguments))
		if ev.Status == quarry.ToolOK {
			c.see(ev.Output)
		}
	}
	return quarry.ScoreOf(float64(c.found) / float64(total))
}

// coverage follows which entities were seen, and which can no longer be earned, as an episode is read in order.
type coverage struct {
	matcher *Matcher
	seen    []bool
	barred  []bool
	found   int
}

// see counts the entities that text shows for the first time.
func (c *coverage) see(text string) {
	for _, i := range c.matcher.Find(text) {
		if !c.seen[i] {
			c.seen[i] = true
			if !c.barred[i] {
				c.found++
			}
		}
	}
}

// bar takes away the entities that text names and no tool return has shown yet.
func (c *coverage) bar(text string) {
	for _, i := range c.matcher.Find(text) {
		c.barred[i] = true
	}
}

// calls are the argument texts of the tool calls a message holds, parsed or still in its content.
func calls(m quarry.Message) []string {
	if m.Role != "assistant" {
		return nil
	}
	var out []string
	for _, c := range m.ToolCalls {
		out = append(out, argumentText(c.Arguments))
	}
	rest := m.Content
	for {
		_, after, ok := strings.Cut(rest, "<tool_call>")
		if !ok {
			return out
		}
		body, tail, _ := strings.Cut(after, "</tool_call>")
		out, rest = append(out, argumentText(body)), tail
	}
}

// argumentText is the text of all values in a call's JSON arguments; arguments that are no JSON are taken as they are.
func argumentText(arguments string) string {
	var v any
	if json.Unmarshal([]byte(arguments), &v) != nil {
		return arguments
	}
	var parts []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			parts = append(parts, v)
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, x := range v {
				walk(x)
			}
		case float64:
			b, _ := json.Marshal(v)
			parts = append(parts, string(b))
		}
	}
	walk(v)
	return strings.Join(parts, " | ")
}

// thought is an assistant message without its calls and its answer.
func thought(content string) string {
	for _, tag := range []string{"tool_call", "answer"} {
		var kept strings.Builder
		rest := content
		for {
			before, after, ok := strings.Cut(rest, "<"+tag+">")
			kept.WriteString(before)
			if !ok {
				break
			}
			kept.WriteByte('\n')
			_, rest, _ = strings.Cut(after, "</"+tag+">")
		}
		content = kept.String()
	}
	return content
}
