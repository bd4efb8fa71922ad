package tokens

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

// TemplateName names the rendering; it changes together with TemplateSHA.
const TemplateName = "chatml-qwen/1"

// TemplateSHA is the SHA-256 of testdata/conversation.golden, a conversation that uses every form of the template. Two
// parties with the same TemplateSHA and VocabSHA render the same ids.
const TemplateSHA = "85f44360df24fcceccf7edfbd3f7d42e0d3c78b8647bf4714dea8190229b1b07"

// The text around tools, calls and answers is that of the Qwen chat template, so that a Qwen model sees the prompt it
// was trained with.
const (
	toolsOpen = "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n" +
		"You are provided with function signatures within <tools></tools> XML tags:\n<tools>"
	toolsClose = "\n</tools>\n\nFor each function call, return a json object with function name and arguments within " +
		"<tool_call></tool_call> XML tags:\n<tool_call>\n" +
		"{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>"

	callOpen      = "<tool_call>"
	callClose     = "</tool_call>"
	answerOpen    = "<answer>"
	answerClose   = "</answer>"
	responseOpen  = "<tool_response>\n"
	responseClose = "\n</tool_response>"
)

// Roles of messages.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// RenderPrompt renders a conversation that does not end with an assistant message, up to the point where the
// assistant speaks: system with the tools block, user, ..., then `<|im_start|>assistant\n`.
func RenderPrompt(msgs []quarry.Message, tools []quarry.Tool) []int32 {
	ids, _ := render(msgs, tools, nil)
	return append(ids, AssistantOpen()...)
}

// RenderConversation renders the whole conversation. mask has the length of ids and is 1 on what an assistant wrote:
// the bytes of each assistant message and its <|im_end|>; turns are those half-open token ranges in order. A
// conversation that ends with an assistant message ends at its <|im_end|>; any other ends like RenderPrompt. The ids
// equal prompt + sampled turns + bridges, token by token.
func RenderConversation(msgs []quarry.Message, tools []quarry.Tool) (ids []int32, mask []int8, turns [][2]int) {
	ids, turns = render(msgs, tools, [][2]int{})
	if n := len(msgs); n > 0 && msgs[n-1].Role == RoleAssistant {
		ids = ids[:len(ids)-1] // the newline after <|im_end|> belongs to the next bridge
	} else {
		ids = append(ids, AssistantOpen()...)
	}
	mask = make([]int8, len(ids))
	for _, t := range turns {
		for i := t[0]; i < t[1]; i++ {
			mask[i] = 1
		}
	}
	return ids, mask, turns
}

// render writes every message as `<|im_start|>role\ncontent<|im_end|>\n`.
func render(msgs []quarry.Message, tools []quarry.Tool, turns [][2]int) ([]int32, [][2]int) {
	var ids []int32
	if len(tools) > 0 && (len(msgs) == 0 || msgs[0].Role != RoleSystem) {
		ids = closeMessage(appendText(openMessage(ids, RoleSystem), systemText("", tools)))
	}
	for i, m := range msgs {
		switch {
		case m.Role == RoleTool:
			if i > 0 && msgs[i-1].Role == RoleTool { // Qwen puts the responses to one turn into one message
				ids = append(ids[:len(ids)-2], '\n')
			} else {
				ids = openMessage(ids, RoleUser)
			}
			ids = closeMessage(appendText(ids, toolResponse(m.Content)))
		case m.Role == RoleAssistant:
			ids = openMessage(ids, RoleAssistant)
			start := len(ids)
			ids = closeMessage(appendText(ids, RenderAssistant(m)))
			turns = append(turns, [2]int{start, len(ids) - 1})
		case m.Role == RoleSystem && i == 0:
			ids = closeMessage(appendText(openMessage(ids, RoleSystem), systemText(m.Content, tools)))
		default:
			ids = closeMessage(appendText(openMessage(ids, m.Role), m.Content))
		}
	}
	return ids, turns
}

func openMessage(ids []int32, role string) []int32 {
	return append(appendText(append(ids, ImStart), role), '\n')
}

func closeMessage(ids []int32) []int32 { return append(ids, ImEnd, '\n') }

func toolResponse(output string) string { return responseOpen + output + responseClose }

// RenderAssistant writes an assistant message as text, without <|im_end|>: the content verbatim, then each call
// on lines of its own, its arguments verbatim.
func RenderAssistant(m quarry.Message) string {
	if len(m.ToolCalls) == 0 {
		return m.Content
	}
	var b strings.Builder
	b.WriteString(m.Content)
	for i, c := range m.ToolCalls {
		if i > 0 || m.Content != "" {
			b.WriteByte('\n')
		}
		b.WriteString(callOpen + "\n{\"name\": ")
		b.WriteString(jsonString(c.Name))
		b.WriteString(", \"arguments\": ")
		b.WriteString(c.Arguments)
		b.WriteString("}\n" + callClose)
	}
	return b.String()
}

// RenderAnswer writes an answer in the form ParseAssistant accepts.
func RenderAnswer(answer string) string { return answerOpen + answer + answerClose }

// jsonString quotes a string the way Qwen's template does: no HTML escapes, no ASCII escapes.
func jsonString(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// RenderCall writes one call of a tool with one string argument: the text an assistant turn consists of.
func RenderCall(tool, argument, value string) string {
	return RenderAssistant(quarry.Message{ToolCalls: []quarry.ToolCall{{
		Name: tool, Arguments: "{" + jsonString(argument) + ": " + jsonString(value) + "}",
	}}})
}

func systemText(content string, tools []quarry.Tool) string {
	block := toolsBlock(tools)
	if content == "" || block == "" {
		return content + block
	}
	return content + "\n\n" + block
}

func toolsBlock(tools []quarry.Tool) string {
	if len(tools) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(toolsOpen)
	for _, t := range tools {
		b.WriteString("\n{\"type\": \"function\", \"function\": {\"name\": ")
		b.WriteString(jsonString(t.Name))
		b.WriteString(", \"description\": ")
		b.WriteString(jsonString(t.Description))
		b.WriteString(", \"parameters\": ")
		b.WriteString(spaced(t.Parameters))
		b.WriteString("}}")
	}
	b.WriteString(toolsClose)
	return b.String()
}

// spaced writes JSON on one line with a space after each colon and comma and the keys in their order, as Python's
// json.dumps does, so that a schema renders alike however it is indented. What is not JSON stays as it is.
func spaced(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "{}"
	}
	var c bytes.Buffer
	if json.Compact(&c, raw) != nil {
		return string(raw)
	}
	var b strings.Builder
	inString, escaped := false, false
	for _, ch := range c.Bytes() {
		b.WriteByte(ch)
		switch {
		case escaped:
			escaped = false
		case inString && ch == '\\':
			escaped = true
		case ch == '"':
			inString = !inString
		case !inString && (ch == ':' || ch == ','):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// AssistantOpen is `<|im_start|>assistant\n`, the tokens before a sampled turn.
func AssistantOpen() []int32 { return openMessage(nil, RoleAssistant) }

// AfterTool bridges a sampled turn, which ends in <|im_end|>, to the next one: "\n", the tool's output as a user
// message, the assistant's opening.
func AfterTool(output string) []int32 {
	ids := make([]int32, 0, len(output)+80)
	ids = openMessage(append(ids, '\n'), RoleUser)
	ids = closeMessage(appendText(ids, toolResponse(output)))
	return openMessage(ids, RoleAssistant)
}

// UserThenAssistant is a user message and the assistant's opening, for use where an assistant's opening stood: cut
// AssistantOpen off a context, append this. The message without the opening is len(result)-len(AssistantOpen()) tokens
// long; removing just those tokens again gives the context back (Apodex 1.1: hints are context, never a target).
func UserThenAssistant(text string) []int32 {
	ids := closeMessage(appendText(openMessage(nil, RoleUser), text))
	return openMessage(ids, RoleAssistant)
}

// Bridge is the tokens between turns as one value, for packages that take them as an interface.
type Bridge struct{}

// AfterTool is the function AfterTool.
func (Bridge) AfterTool(output string) []int32 { return AfterTool(output) }

// UserThenAssistant is the function UserThenAssistant.
func (Bridge) UserThenAssistant(text string) []int32 { return UserThenAssistant(text) }

// AssistantOpen is the function AssistantOpen.
func (Bridge) AssistantOpen() []int32 { return AssistantOpen() }

// EndsOpen says whether ids end where an assistant turn begins.
func EndsOpen(ids []int32) bool {
	open := AssistantOpen()
	return len(ids) >= len(open) && slices.Equal(ids[len(ids)-len(open):], open)
}
