// Package world holds the contract between a task and its surroundings: how a question becomes a task, and the search
// tool with its budget. A session knows the tools, the calls left and a searcher; it never holds a question or its
// answer.
package world

import (
	"encoding/json"
	"fmt"

	"github.com/quarry-rl/quarry"
)

// SearchTool is the name of the search tool.
const SearchTool = "search"

// Passages is how many passages one search returns.
const Passages = 3

// MaxQueryBytes bounds one query.
const MaxQueryBytes = 512

// TaskOptions says how a question is to be attempted.
type TaskOptions struct {
	Budget     quarry.Budget // turns, tool calls, new tokens per turn
	ClosedBook bool          // no tools at all: what the policy knows by heart; ToolCalls counts as 0
}

// BuildTask turns a question into a full task. The system message says what the agent does; the user message is the
// question's text verbatim. Nothing else of the question enters the task but its id. The task's id is made of the
// question's id, the variant and the budget, so equal ids mean equal tasks.
func BuildTask(q *quarry.Question, o TaskOptions) quarry.Task {
	t := quarry.Task{Kind: quarry.TaskFull, QuestionID: q.ID, Budget: o.Budget}
	variant, system := "search", searchSystem(o.Budget.ToolCalls)
	if o.ClosedBook {
		t.Budget.ToolCalls = 0
		variant, system = "closed", closedSystem
	} else {
		t.Tools = []quarry.Tool{SearchToolSpec()}
	}
	t.ID = fmt.Sprintf("%s.%s-t%dc%dn%d", q.ID, variant, t.Budget.Turns, t.Budget.ToolCalls, t.Budget.NewTokens)
	t.Messages = []quarry.Message{{Role: "system", Content: system}, {Role: "user", Content: q.Text}}
	return t
}

const closedSystem = "You answer questions from memory, without tools. Write the answer alone, as <answer>...</answer>."

func searchSystem(calls int) string {
	searches := fmt.Sprintf("%d searches", calls)
	if calls == 1 {
		searches = "1 search"
	}
	return "You answer questions by searching a collection of documents. Each turn is one call of the search tool, or the " +
		"answer alone, written as <answer>...</answer>. You have " + searches + "."
}

// SearchToolSpec describes the search tool as it stands in the prompt.
func SearchToolSpec() quarry.Tool {
	return quarry.Tool{
		Name:        SearchTool,
		Description: fmt.Sprintf("Search the documents. Returns up to %d passages, each with the title of its document.", Passages),
		Parameters: json.RawMessage(`{"type": "object", "properties": {"query": {"type": "string", ` +
			`"description": "what to look for, a name or a few words"}}, "required": ["query"], "additionalProperties": false}`),
	}
}
