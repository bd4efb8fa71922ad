package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
)

// Message is one chat message of S1 and D1.
type Message struct {
	Role             string     `parquet:"role,dict"` // system, user, assistant, tool
	Content          string     `parquet:"content"`   // "" instead of null
	ReasoningContent string     `parquet:"reasoning_content,optional"`
	ToolCalls        []ToolCall `parquet:"tool_calls,optional,list"` // null when none
	ToolCallID       string     `parquet:"tool_call_id,optional"`
	Name             string     `parquet:"name,optional"`
	Loss             bool       `parquet:"loss"`           // trained on
	StepLossMask     int32      `parquet:"step_loss_mask"` // Loss as 1 or 0
}

// ToolCall is one call in the OpenAI shape.
type ToolCall struct {
	ID       string   `parquet:"id"`
	Type     string   `parquet:"type,dict"` // function
	Function Function `parquet:"function"`
}

// Function names the tool and carries its arguments as the model wrote them.
type Function struct {
	Name      string `parquet:"name,dict"`
	Arguments string `parquet:"arguments"` // JSON object text
}

// SetLoss says whether the message is trained on, in both columns that trainers look at.
func (m *Message) SetLoss(on bool) {
	m.Loss, m.StepLossMask = on, 0
	if on {
		m.StepLossMask = 1
	}
}

// toRows turns chat messages into rows; with train set, assistant messages carry loss.
func toRows(msgs []quarry.Message, train bool) []Message {
	out := make([]Message, len(msgs))
	for i, m := range msgs {
		r := Message{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID, Name: m.Name}
		for _, c := range m.ToolCalls {
			r.ToolCalls = append(r.ToolCalls, ToolCall{ID: c.ID, Type: "function", Function: Function{c.Name, c.Arguments}})
		}
		r.SetLoss(train && m.Role == "assistant")
		out[i] = r
	}
	return out
}

// fromRows is the inverse of toRows.
func fromRows(rows ...Message) []quarry.Message {
	out := make([]quarry.Message, len(rows))
	for i, r := range rows {
		m := quarry.Message{Role: r.Role, Content: r.Content, ToolCallID: r.ToolCallID, Name: r.Name}
		for _, c := range r.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, quarry.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
		out[i] = m
	}
	return out
}

func sameMessage(a, b quarry.Message) bool {
	return a.Role == b.Role && a.Content == b.Content && a.ToolCallID == b.ToolCallID && a.Name == b.Name &&
		slices.Equal(a.ToolCalls, b.ToolCalls)
}

func turns(msgs []Message) int32 {
	n := int32(0)
	for _, m := range msgs {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

func (c *checker) messages(column string, msgs []Message) {
	if len(msgs) == 0 {
		c.fail(column, note("[]"), "at least one message")
	}
	for i, m := range msgs {
		c.enter(column, i)
		c.oneOf("role", m.Role, "system", "user", "assistant", "tool")
		c.text("content", m.Content)
		c.text("reasoning_content", m.ReasoningContent)
		c.text("tool_call_id", m.ToolCallID)
		c.text("name", m.Name)
		if len(m.ToolCalls) == 0 && m.ToolCalls != nil {
			c.fail("tool_calls", note("[]"), "null when there is no call")
		}
		if len(m.ToolCalls) > 0 && m.Role != "assistant" {
			c.fail("tool_calls", note(fmt.Sprintf("%d calls in a %s message", len(m.ToolCalls), m.Role)), "calls in assistant messages only")
		}
		for j, t := range m.ToolCalls {
			c.enter("tool_calls", j)
			c.text("id", t.ID)
			c.oneOf("type", t.Type, "function")
			c.enter("function", -1)
			c.filled("name", t.Function.Name)
			c.json("arguments", t.Function.Arguments, "{")
			c.leave()
			c.leave()
		}
		if want := map[bool]int32{true: 1}[m.Loss]; m.StepLossMask != want {
			c.fail("step_loss_mask", m.StepLossMask, fmt.Sprintf("%d, as loss is %v", want, m.Loss))
		}
		if m.Loss && m.Role != "assistant" {
			c.fail("loss", m.Loss, "false: only assistant messages are trained on")
		}
		c.bytes += 5
		c.leave()
	}
}

// functionTool is a tool in the OpenAI shape.
type functionTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

// ToolsText renders tools as the text of a tools column: a JSON array of OpenAI function objects, "[]" when there are
// none. Parameters that are not JSON are an invalid error.
func ToolsText(tools []quarry.Tool) (string, error) {
	list := make([]functionTool, len(tools))
	for i, t := range tools {
		list[i].Type = "function"
		list[i].Function.Name, list[i].Function.Description, list[i].Function.Parameters = t.Name, t.Description, t.Parameters
	}
	text, err := jsonText(list)
	if err != nil {
		return "", &quarry.Error{Op: "render tools", Kind: quarry.KindInvalid, Msg: "the parameters of a tool are not JSON", Err: err,
			Hint: "give every tool a JSON Schema object as parameters"}
	}
	return text, nil
}

// ParseTools is the inverse of ToolsText.
func ParseTools(text string) ([]quarry.Tool, error) {
	var list []functionTool
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, &quarry.Error{Op: "parse tools", Kind: quarry.KindInvalid, Subject: shown(text), Err: err,
			Hint: `the tools column holds a JSON array of {"type":"function","function":{...}}`}
	}
	var out []quarry.Tool
	for i, t := range list {
		if t.Type != "function" || t.Function.Name == "" {
			return nil, &quarry.Error{Op: "parse tools", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("tool %d of %s", i, shown(text)),
				Msg:  `want "type":"function" and a function name`,
				Hint: `the tools column holds a JSON array of {"type":"function","function":{...}}`}
		}
		out = append(out, quarry.Tool{Name: t.Function.Name, Description: t.Function.Description, Parameters: t.Function.Parameters})
	}
	return out, nil
}

// jsonText is compact JSON that leaves <, > and & readable.
func jsonText(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
