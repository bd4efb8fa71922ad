package quarry

import "encoding/json"

// Message is one chat message. Arguments of tool calls are JSON text, never parsed and re-printed.
type Message struct {
	Role       string     `json:"role"` // system, user, assistant, tool
	Content    string     `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Name       string     `json:"name,omitempty"`
}

// ToolCall is one call as the model wrote it.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON object text
}

// Tool is a tool a task offers, in the shape of an OpenAI function.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Budget bounds one episode; each component is enforced on its own. 0 means none allowed, never "no limit".
type Budget struct {
	Turns     int `json:"turns"`
	ToolCalls int `json:"tool_calls"`
	NewTokens int `json:"new_tokens"` // per turn
}

// TaskKind tells whole questions from continuations of a failed episode.
type TaskKind string

// The kinds of task.
const (
	TaskFull  TaskKind = "full"
	TaskPivot TaskKind = "pivot"
)

// Task is what one episode must do.
type Task struct {
	ID         string    `json:"id"`
	Kind       TaskKind  `json:"kind"`
	QuestionID string    `json:"question_id"`
	Messages   []Message `json:"messages"` // how a full task starts: system and user
	Tools      []Tool    `json:"tools"`
	Budget     Budget    `json:"budget"`

	// A pivot task starts from the exact tokens of its parent up to the pivot, then the hint (context only).
	Prefix        []int32 `json:"prefix,omitempty"` // ends where an assistant turn begins, hint included
	ParentEpisode string  `json:"parent_episode,omitempty"`
	PivotTurn     int     `json:"pivot_turn,omitempty"`
	HintStart     int     `json:"hint_start,omitempty"` // token index in Prefix
	HintLen       int     `json:"hint_len,omitempty"`
	CallsSpent    int     `json:"calls_spent,omitempty"` // tool calls the prefix already made
}

// FailureClass separates what the policy did from what happened to it. Infra and judge failures never become a reward.
type FailureClass string

// The classes; the empty class is no failure of the episode as such.
const (
	FailNone    FailureClass = ""
	FailPolicy  FailureClass = "policy"
	FailTimeout FailureClass = "timeout"
	FailInfra   FailureClass = "infra"
	FailJudge   FailureClass = "judge"
)

// Termination says why an episode ended.
type Termination string

// The reasons (papers.md 15.1).
const (
	EndFinalAnswer     Termination = "final_answer"
	EndMaxTurns        Termination = "max_turns"
	EndTokenBudget     Termination = "token_budget"
	EndContextOverflow Termination = "context_overflow"
	EndCancelled       Termination = "cancelled"
	EndLLMError        Termination = "llm_error"
	EndToolOutage      Termination = "tool_outage"
)

// ToolStatus is the outcome of one call.
type ToolStatus string

// The outcomes.
const (
	ToolOK      ToolStatus = "ok"
	ToolFailed  ToolStatus = "failed"  // the policy's fault: unknown tool, bad arguments, malformed call
	ToolRefused ToolStatus = "refused" // budget spent
	ToolInfra   ToolStatus = "infra"   // the provider's fault: not charged to the policy
)

// ToolEvent is one call and what came back.
type ToolEvent struct {
	CallID    string     `json:"call_id"`
	Name      string     `json:"name"`
	Arguments string     `json:"arguments"`
	Status    ToolStatus `json:"status"`
	Output    string     `json:"output"` // what the model saw
}

// Query is what the call asks for, folded; a call without a "query" is told from others by its whole arguments.
func (e ToolEvent) Query() string {
	var args struct {
		Query string `json:"query"`
	}
	if json.Unmarshal([]byte(e.Arguments), &args) == nil && args.Query != "" {
		return Normalize(args.Query)
	}
	return e.Arguments
}

// Turn is one model call: the half-open token range it sampled within its thread, how it ended, the events that followed.
type Turn struct {
	Start    int         `json:"start"`
	End      int         `json:"end"`
	Finish   string      `json:"finish"`    // stop, length, abort
	FormatOK bool        `json:"format_ok"` // one well-formed call of a known tool, or one answer
	Events   []ToolEvent `json:"events,omitempty"`
}

// Thread is one agent's context: an append-only token sequence with parallel arrays of the same length.
// Mask is 1 on tokens the policy sampled; elsewhere it is 0, Logprobs 0 and Versions -1.
type Thread struct {
	IDs       []int32   `json:"ids"`
	Mask      []int8    `json:"mask"`
	Logprobs  []float32 `json:"logprobs"`
	Versions  []int32   `json:"versions"`
	PromptLen int       `json:"prompt_len"` // index of the first sampled token
	Turns     []Turn    `json:"turns"`
}

// Versions range of the sampled tokens; -1, -1 when there are none.
func (t *Thread) VersionRange() (oldest, newest int32) {
	oldest, newest = -1, -1
	for i, v := range t.Versions {
		if t.Mask[i] == 0 {
			continue
		}
		if oldest < 0 || v < oldest {
			oldest = v
		}
		newest = max(newest, v)
	}
	return oldest, newest
}

// Episode is one attempt at a task by one policy.
type Episode struct {
	ID          string       `json:"id"`
	TaskID      string       `json:"task_id"`
	GroupID     string       `json:"group_id"`
	QuestionID  string       `json:"question_id"`
	Kind        TaskKind     `json:"kind"`
	Sample      int          `json:"sample"` // index within its group
	Seed        uint64       `json:"seed"`
	Temperature float64      `json:"temperature"`
	Thread      Thread       `json:"thread"`
	Messages    []Message    `json:"messages"` // the same conversation as text, for S1 and D1
	Tools       []Tool       `json:"tools"`
	Answer      string       `json:"answer"`
	Answered    bool         `json:"answered"`
	End         Termination  `json:"end"`
	Failure     FailureClass `json:"failure,omitempty"`
	FailureMsg  string       `json:"failure_msg,omitempty"`
	Scorecard   *Scorecard   `json:"scorecard,omitempty"`

	// Set for continuations of a pivot.
	ParentEpisode string `json:"parent_episode,omitempty"`
	PivotTurn     int    `json:"pivot_turn,omitempty"`
	HintStart     int    `json:"hint_start,omitempty"`
	HintLen       int    `json:"hint_len,omitempty"`
}

// ToolEvents returns the events of all turns in order.
func (e *Episode) ToolEvents() []ToolEvent {
	var out []ToolEvent
	for _, t := range e.Thread.Turns {
		out = append(out, t.Events...)
	}
	return out
}
