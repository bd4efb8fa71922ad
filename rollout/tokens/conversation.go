package tokens

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

// CallID is the id of the call an assistant message makes; n is the message's index among the assistant messages of
// its conversation. Ids are not rendered, so they are derived instead of sampled.
func CallID(n int) string { return fmt.Sprintf("call_%d", n+1) }

// ParseConversation turns rendered ids back into messages: the inverse of RenderPrompt and RenderConversation up to
// what renders alike. tools are those the context was rendered with; a final assistant opening is left out. A context
// that the messages do not render to again, compared as text, is a KindInvalid error.
func ParseConversation(ids []int32, tools []quarry.Tool) ([]quarry.Message, error) {
	var msgs []quarry.Message
	assistants := 0
	for rest := ids; len(rest) > 0; {
		role, content, tail, ok := cutMessage(rest)
		if !ok {
			if EndsOpen(rest) && len(rest) == len(AssistantOpen()) {
				break
			}
			return nil, conversationError(len(ids)-len(rest), "expected <|im_start|>role\\n...<|im_end|>\\n")
		}
		rest = tail
		switch {
		case role == RoleSystem && len(msgs) == 0:
			if content = cutToolsBlock(content, tools); content != "" || len(tools) == 0 {
				msgs = append(msgs, quarry.Message{Role: role, Content: content})
			}
		case role == RoleAssistant:
			m := quarry.Message{Role: role, Content: content}
			if p, err := ParseAssistant(content); err == nil {
				m = p.Message()
			}
			for i := range m.ToolCalls {
				m.ToolCalls[i].ID = CallID(assistants)
			}
			assistants++
			msgs = append(msgs, m)
		case role == RoleUser && strings.HasPrefix(content, responseOpen) && strings.HasSuffix(content, responseClose) &&
			len(content) >= len(responseOpen)+len(responseClose):
			m := quarry.Message{Role: RoleTool, Content: content[len(responseOpen) : len(content)-len(responseClose)]}
			if n := len(msgs); n > 0 && len(msgs[n-1].ToolCalls) > 0 {
				m.ToolCallID, m.Name = msgs[n-1].ToolCalls[0].ID, msgs[n-1].ToolCalls[0].Name
			}
			msgs = append(msgs, m)
		default:
			msgs = append(msgs, quarry.Message{Role: role, Content: content})
		}
	}
	again, _, _ := RenderConversation(msgs, tools)
	if !slices.Equal(ids, again) && Decode(ids) != Decode(again) {
		return nil, conversationError(0, "the context is not a rendering of messages with these tools")
	}
	return msgs, nil
}

// cutMessage takes the first message off ids. A <|im_start|> inside a message, which only a sampled turn can hold, is
// read as its text.
func cutMessage(ids []int32) (role, content string, rest []int32, ok bool) {
	end := slices.Index(ids, ImEnd)
	if ids[0] != ImStart || end < 0 {
		return "", "", nil, false
	}
	role, content, ok = strings.Cut(Decode(ids[1:end]), "\n")
	rest = ids[end+1:]
	if len(rest) > 0 {
		if rest[0] != '\n' {
			return "", "", nil, false
		}
		rest = rest[1:]
	}
	return role, content, rest, ok
}

func cutToolsBlock(content string, tools []quarry.Tool) string {
	block := toolsBlock(tools)
	if block == "" {
		return content
	}
	if before, ok := strings.CutSuffix(content, "\n\n"+block); ok {
		return before
	}
	if content == block {
		return ""
	}
	return content
}

func conversationError(at int, msg string) error {
	return &quarry.Error{
		Op: "parse conversation", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("token %d", at), Msg: msg,
		Hint: "give the ids as they were sent to the engine, and the tools they were rendered with",
	}
}
