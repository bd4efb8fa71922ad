package world

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
)

// Passage is one hit of a search: a sentence of a document and the document's title.
type Passage struct {
	Doc   string // document id, not shown to the policy
	Title string
	Text  string
}

// Searcher finds up to k passages for a query, best first. The same query must always give the same passages. An error
// is the provider's fault, never the query's.
type Searcher interface {
	Search(ctx context.Context, query string, k int) ([]Passage, error)
}

// SearchFunc is a function used as a Searcher.
type SearchFunc func(ctx context.Context, query string, k int) ([]Passage, error)

// Search calls f.
func (f SearchFunc) Search(ctx context.Context, query string, k int) ([]Passage, error) {
	return f(ctx, query, k)
}

// Session is the world of one episode: the offered tools, the calls left, the searcher. It is used by one goroutine.
type Session struct {
	search Searcher
	tools  []string
	left   int
}

// NewSession starts the world of one attempt at t. The calls t's prefix already made are spent.
func NewSession(search Searcher, t quarry.Task) *Session {
	s := &Session{search: search, left: max(0, t.Budget.ToolCalls-t.CallsSpent)}
	for _, tool := range t.Tools {
		s.tools = append(s.tools, tool.Name)
	}
	return s
}

// Left is the number of calls that may still be made.
func (s *Session) Left() int { return s.left }

// Knows says whether the task offers a tool of that name.
func (s *Session) Knows(tool string) bool { return slices.Contains(s.tools, tool) }

// Call executes one call. Every outcome is an event whose Output is what the model is to see:
//
//	ok       passages; costs one call
//	failed   unknown tool or bad arguments, with what was expected; costs one call (papers.md F12)
//	refused  the budget is spent
//	infra    the searcher failed; costs nothing, and the attempt must not be judged (F15)
func (s *Session) Call(ctx context.Context, call quarry.ToolCall) quarry.ToolEvent {
	ev := quarry.ToolEvent{CallID: call.ID, Name: call.Name, Arguments: call.Arguments}
	if len(s.tools) == 0 {
		return s.fail(ev, "this task offers no tools; write the answer as <answer>...</answer>")
	}
	if s.left == 0 {
		ev.Status = quarry.ToolRefused
		return s.output(ev, "Error: no searches are left; write the answer as <answer>...</answer>")
	}
	if !s.Knows(call.Name) {
		return s.fail(ev, fmt.Sprintf("unknown tool %q; the tools are: %s", shown(call.Name), strings.Join(s.tools, ", ")))
	}
	query, problem := queryOf(call.Arguments)
	if problem != "" {
		return s.fail(ev, problem+`; expected {"query": "..."}`)
	}
	hits, err := s.search.Search(ctx, query, Passages)
	if err != nil {
		ev.Status = quarry.ToolInfra
		return s.output(ev, "Error: the search service failed: "+oneLine(err.Error()))
	}
	s.left--
	ev.Status = quarry.ToolOK
	return s.output(ev, passageText(hits))
}

// Malformed is the event of a turn that is neither a call nor an answer; reason says why. It costs one call.
func (s *Session) Malformed(reason string) quarry.ToolEvent {
	return s.fail(quarry.ToolEvent{}, reason+
		`; write one <tool_call> with {"name": ..., "arguments": {...}} or one <answer>...</answer>`)
}

func (s *Session) fail(ev quarry.ToolEvent, problem string) quarry.ToolEvent {
	s.left = max(0, s.left-1)
	ev.Status = quarry.ToolFailed
	return s.output(ev, "Error: "+oneLine(problem))
}

func (s *Session) output(ev quarry.ToolEvent, text string) quarry.ToolEvent {
	ev.Output = fmt.Sprintf("%s\nSearches left: %d", text, s.left)
	return ev
}

// passageText numbers the passages, each on two lines. Line breaks inside a title or a sentence become spaces, so no
// document can add a line: a line's place says what it is, and the calls left are always the last.
func passageText(hits []Passage) string {
	if len(hits) == 0 {
		return "No passages found."
	}
	var b strings.Builder
	for i, p := range hits[:min(len(hits), Passages)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[%d] %s\n%s", i+1, oneLine(p.Title), oneLine(p.Text))
	}
	return b.String()
}

// queryOf reads {"query": string} and says what is wrong with it.
func queryOf(arguments string) (query, problem string) {
	if !utf8.ValidString(arguments) {
		return "", "the arguments are not valid UTF-8"
	}
	// A map, not a struct: encoding/json matches struct fields without regard to case.
	var args map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &args); err != nil || args == nil {
		return "", "the arguments are not a JSON object"
	}
	raw, ok := args["query"]
	if !ok {
		return "", "the query is missing"
	}
	if len(args) > 1 {
		var extra []string
		for k := range args {
			if k != "query" {
				extra = append(extra, k)
			}
		}
		return "", fmt.Sprintf("unknown argument %q", shown(slices.Min(extra)))
	}
	if raw[0] != '"' || json.Unmarshal(raw, &query) != nil {
		return "", "the query is not a string"
	}
	switch {
	case strings.TrimSpace(query) == "":
		return "", "the query is empty"
	case len(query) > MaxQueryBytes:
		return "", fmt.Sprintf("the query has %d bytes, at most %d are allowed", len(query), MaxQueryBytes)
	case strings.ContainsRune(query, 0):
		return "", "the query contains a NUL character"
	}
	return query, ""
}

// oneLine makes text fit one line of valid UTF-8.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// shown shortens what the policy wrote before it is quoted back.
func shown(s string) string {
	if len(s) <= 40 {
		return s
	}
	return strings.ToValidUTF8(s[:40], "") + "..."
}
