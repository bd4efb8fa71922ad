package tokens

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
)

// Parsed is a well-formed assistant turn: one call, or one answer.
type Parsed struct {
	Text      string            // the turn as it was written, without <|im_end|>
	Content   string            // what stands before the call or the answer, such as reasoning
	Calls     []quarry.ToolCall // one call, arguments verbatim, ID empty; nil for an answer
	Answer    string            // the answer with outer white space removed
	HasAnswer bool
}

// Message is the turn as a message that renders to exactly the same text: with ToolCalls when the call is written in
// the template's form, else the text verbatim in Content.
func (p Parsed) Message() quarry.Message {
	if len(p.Calls) > 0 {
		m := quarry.Message{Role: RoleAssistant, Content: p.Content, ToolCalls: p.Calls}
		if RenderAssistant(m) == p.Text {
			return m
		}
	}
	return quarry.Message{Role: RoleAssistant, Content: p.Text}
}

const parseHint = `write one <tool_call> with {"name": ..., "arguments": {...}} or one <answer>...</answer>, and nothing after it`

// ParseAssistant reads the text of an assistant turn, without <|im_end|>: exactly one call,
// `<tool_call>{"name": string, "arguments": object}</tool_call>`, or exactly one `<answer>...</answer>`, at the end of
// the turn; text may stand before it. Anything else is a KindInvalid error whose Msg is the reason, fit to be shown to
// the model (MindDR report: the format reward judges each turn by this).
func ParseAssistant(text string) (Parsed, error) {
	p := Parsed{Text: text}
	if !utf8.ValidString(text) {
		return p, formatError("the turn is not valid UTF-8")
	}
	if strings.ContainsRune(text, 0) {
		return p, formatError("the turn contains a NUL byte")
	}
	calls, answers := strings.Count(text, callOpen), strings.Count(text, answerOpen)
	switch {
	case calls+answers == 0:
		return p, formatError("neither a tool call nor an answer")
	case calls > 0 && answers > 0:
		return p, formatError("a tool call and an answer in one turn")
	case calls > 1:
		return p, formatError(fmt.Sprintf("%d tool calls in one turn, expected one", calls))
	case answers > 1:
		return p, formatError(fmt.Sprintf("%d answers in one turn, expected one", answers))
	case calls == 1:
		return p.call()
	}
	return p.answer()
}

func (p Parsed) call() (Parsed, error) {
	before, body, err := cut(p.Text, callOpen, callClose)
	if err != nil {
		return p, err
	}
	if strings.Contains(p.Text, answerClose) {
		return p, formatError(answerClose + " without " + answerOpen)
	}
	name, args, err := callJSON(body)
	if err != nil {
		return p, formatError("bad tool call: " + err.Error())
	}
	p.Content = strings.TrimSuffix(before, "\n")
	p.Calls = []quarry.ToolCall{{Name: name, Arguments: args}}
	return p, nil
}

func (p Parsed) answer() (Parsed, error) {
	before, body, err := cut(p.Text, answerOpen, answerClose)
	if err != nil {
		return p, err
	}
	if strings.Contains(p.Text, callClose) {
		return p, formatError(callClose + " without " + callOpen)
	}
	if p.Answer = strings.TrimSpace(body); p.Answer == "" {
		return p, formatError("the answer is empty")
	}
	p.Content, p.HasAnswer = before, true
	return p, nil
}

// cut splits text at the one open tag and its close tag; only white space may follow.
func cut(text, opening, closing string) (before, body string, err error) {
	before, rest, _ := strings.Cut(text, opening)
	body, after, ok := strings.Cut(rest, closing)
	switch {
	case !ok:
		return "", "", formatError(opening + " is not closed")
	case strings.Contains(before, closing) || strings.Contains(after, closing):
		return "", "", formatError("more than one " + closing)
	case strings.TrimSpace(after) != "":
		return "", "", formatError("text after " + closing)
	}
	return before, body, nil
}

// callJSON reads {"name": string, "arguments": object}: exactly those keys, each once, in any order. The arguments
// are returned as written.
func callJSON(body string) (name, args string, err error) {
	dec := json.NewDecoder(strings.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return "", "", errors.New("expected a JSON object")
	}
	seen := map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return "", "", errors.New("broken JSON")
		}
		key, _ := t.(string)
		if key != "name" && key != "arguments" {
			return "", "", fmt.Errorf("unknown key %q, expected name and arguments", clip(key))
		}
		if _, dup := seen[key]; dup {
			return "", "", fmt.Errorf("key %q twice", key)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return "", "", errors.New("broken JSON")
		}
		seen[key] = v
	}
	if _, err := dec.Token(); err != nil {
		return "", "", errors.New("broken JSON")
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", "", errors.New("text after the JSON object")
	}
	if len(seen["name"]) == 0 || seen["name"][0] != '"' || json.Unmarshal(seen["name"], &name) != nil || name == "" {
		return "", "", errors.New(`"name" must be a non-empty string`)
	}
	if !bytes.HasPrefix(seen["arguments"], []byte("{")) {
		return "", "", errors.New(`"arguments" must be a JSON object`)
	}
	return name, string(seen["arguments"]), nil
}

// clip keeps what the model wrote from filling the error it is shown.
func clip(s string) string {
	if len(s) <= 40 {
		return s
	}
	return strings.ToValidUTF8(s[:40], "") + "..."
}

func formatError(reason string) error {
	return &quarry.Error{Op: "parse assistant turn", Kind: quarry.KindInvalid, Msg: reason, Hint: parseHint}
}
