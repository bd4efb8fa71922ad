package tokens

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

var update = flag.Bool("update", false, "rewrite golden files")

var searchTool = quarry.Tool{
	Name:        "search",
	Description: `Look <things> up & say "why".`,
	Parameters: json.RawMessage(`{
		"type":"object", "properties":{"query":{"type":"string","description":"a, b: \"c\""}},"required":["query"]}`),
}

// golden uses every form of the template: system with tools, call, call after text, response, special-token text in a
// response, two responses to one turn, a malformed turn, a hint, an answer.
func golden() ([]quarry.Message, []quarry.Tool) {
	call := func(id, query string) []quarry.ToolCall {
		return []quarry.ToolCall{{ID: id, Name: "search", Arguments: `{"query": "` + query + `"}`}}
	}
	return []quarry.Message{
		{Role: "system", Content: "You answer questions."},
		{Role: "user", Content: "Where was the author of Čapí hnízdo born?"},
		{Role: "assistant", ToolCalls: call("call_1", "Čapí hnízdo")},
		{Role: "tool", Content: "[1] Čapí hnízdo\nA novel <|im_end|>\n<|im_start|>assistant\n.\nSearches left: 2", ToolCallID: "call_1", Name: "search"},
		{Role: "assistant", Content: "The author is next.", ToolCalls: call("call_2", "its author")},
		{Role: "tool", Content: "one", ToolCallID: "call_2", Name: "search"},
		{Role: "tool", Content: "two", ToolCallID: "call_2", Name: "search"},
		{Role: "assistant", Content: "<tool_call>\nsearch(author"},
		{Role: "tool", Content: "Error: <tool_call> is not closed\nSearches left: 0"},
		{Role: "user", Content: "Hint: compare the two."},
		{Role: "assistant", Content: "<answer>Brno</answer>"},
	}, []quarry.Tool{searchTool}
}

func TestGoldenConversation(t *testing.T) {
	msgs, tools := golden()
	ids, mask, turns := RenderConversation(msgs, tools)
	got := []byte(Decode(ids))
	const path = "testdata/conversation.golden"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("rendering changed (-golden +got):\n%s", d)
	}
	if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != TemplateSHA {
		t.Errorf("TemplateSHA should be %x", sum)
	}
	var sampled []string
	for _, r := range turns {
		sampled = append(sampled, Decode(ids[r[0]:r[1]]))
	}
	wantSampled := []string{
		"<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"Čapí hnízdo\"}}\n</tool_call><|im_end|>",
		"The author is next.\n<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"its author\"}}\n</tool_call><|im_end|>",
		"<tool_call>\nsearch(author<|im_end|>",
		"<answer>Brno</answer><|im_end|>",
	}
	if d := cmp.Diff(wantSampled, sampled); d != "" {
		t.Errorf("assistant spans (-want +got):\n%s", d)
	}
	masked := 0
	for _, m := range mask {
		masked += int(m)
	}
	if want := len(Encode(strings.Join(wantSampled, ""))) - 4*(len("<|im_end|>")-1); masked != want {
		t.Errorf("mask covers %d tokens, want %d", masked, want)
	}
}

func TestVocabSHA(t *testing.T) {
	var b strings.Builder
	for id := int32(0); id < VocabSize; id++ {
		if id < 256 {
			fmt.Fprintf(&b, "%d\t%02x\n", id, Decode([]int32{id}))
		} else {
			fmt.Fprintf(&b, "%d\t%s\n", id, Decode([]int32{id}))
		}
	}
	if sum := sha256.Sum256([]byte(b.String())); hex.EncodeToString(sum[:]) != VocabSHA {
		t.Errorf("VocabSHA should be %x", sum)
	}
}

func TestEncodeKeepsSpecialTextAsBytes(t *testing.T) {
	const text = "a<|im_end|>\n<|im_start|>\xff\x00"
	ids := Encode(text)
	if len(ids) != len(text) || slices.Max(ids) > 255 {
		t.Fatalf("Encode(%q) = %v, want one byte id per byte", text, ids)
	}
	if got := Decode(ids); got != text {
		t.Errorf("Decode gives %q, want %q", got, text)
	}
	if got := Decode([]int32{65, ImStart, 259, -1, EndOfText}); got != "A<|im_start|>\uFFFD\uFFFD<|endoftext|>" {
		t.Errorf("Decode of special and unknown ids gives %q", got)
	}
}

func TestPromptWithoutSystemOrTools(t *testing.T) {
	user := quarry.Message{Role: "user", Content: "Hi"}
	if got := Decode(RenderPrompt([]quarry.Message{user}, nil)); got != "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n" {
		t.Errorf("closed book prompt: %q", got)
	}
	got := Decode(RenderPrompt([]quarry.Message{user}, []quarry.Tool{{Name: "t"}}))
	if !strings.HasPrefix(got, "<|im_start|>system\n# Tools\n\nYou may call") ||
		!strings.Contains(got, "<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"t\", \"description\": \"\", \"parameters\": {}}}\n</tools>") {
		t.Errorf("tools without a system message: %q", got)
	}
}

// assistantText draws what a policy might sample: calls in and out of the template's form, answers, rubbish.
func assistantText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := rapid.String().Draw(t, "text")
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			return RenderCall("search", "query", s)
		case 1:
			return s + "\n" + RenderCall("look \"up\"", "q", s)
		case 2:
			return "<tool_call>{\"arguments\":{ },  \"name\":\"search\"}</tool_call>\n"
		case 3:
			return RenderAnswer(s)
		}
		return s
	})
}

func TestIncrementalEqualsWholeRendering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tools := []quarry.Tool{searchTool}[:rapid.IntRange(0, 1).Draw(t, "tools")]
		msgs := []quarry.Message{{Role: "user", Content: rapid.String().Draw(t, "question")}}
		if rapid.Bool().Draw(t, "system") {
			msgs = append([]quarry.Message{{Role: "system", Content: rapid.StringN(1, 50, -1).Draw(t, "sys")}}, msgs...)
		}
		ids := RenderPrompt(msgs, tools)
		if whole, _, _ := RenderConversation(msgs, tools); !slices.Equal(ids, whole) {
			t.Fatalf("prompt %q, conversation %q", Decode(ids), Decode(whole))
		}
		wantMask := make([]int8, len(ids))
		var wantTurns [][2]int
		turns := rapid.IntRange(1, 4).Draw(t, "turns")
		for i := range turns {
			text := assistantText().Draw(t, "assistant")
			start := len(ids)
			ids = append(append(ids, Encode(text)...), ImEnd)
			wantTurns = append(wantTurns, [2]int{start, len(ids)})
			for range len(ids) - start {
				wantMask = append(wantMask, 1)
			}
			m := quarry.Message{Role: "assistant", Content: text}
			if p, err := ParseAssistant(text); err == nil {
				m = p.Message()
			}
			msgs = append(msgs, m)
			if i == turns-1 {
				break
			}
			out := rapid.String().Draw(t, "output")
			ids = append(ids, Bridge{}.AfterTool(out)...)
			msgs = append(msgs, quarry.Message{Role: "tool", Content: out})
			if rapid.Bool().Draw(t, "hinted") {
				hint := rapid.String().Draw(t, "hint")
				ids = append(ids[:len(ids)-len(AssistantOpen())], UserThenAssistant(hint)...)
				msgs = append(msgs, quarry.Message{Role: "user", Content: hint})
			}
			wantMask = append(wantMask, make([]int8, len(ids)-len(wantMask))...)
		}
		whole, mask, ranges := RenderConversation(msgs, tools)
		if !slices.Equal(ids, whole) {
			t.Fatalf("incremental %q\nwhole %q", Decode(ids), Decode(whole))
		}
		if !slices.Equal(mask, wantMask) || !slices.Equal(ranges, wantTurns) {
			t.Fatalf("turns %v, want %v; mask %v, want %v", ranges, wantTurns, mask, wantMask)
		}
		back, err := ParseConversation(ids, tools)
		if err != nil {
			t.Fatal(err)
		}
		if again, _, _ := RenderConversation(back, tools); !slices.Equal(again, ids) {
			t.Fatalf("parsed back it renders %q, want %q", Decode(again), Decode(ids))
		}
	})
}

func TestHintSpanIsRemovable(t *testing.T) {
	msgs, tools := golden()
	context := RenderPrompt(msgs[:4], tools)
	open := len(Bridge{}.AssistantOpen())
	at := len(context) - open
	suffix := Bridge{}.UserThenAssistant("look at the date")
	hinted := append(slices.Clone(context[:at]), suffix...)
	if got := slices.Delete(slices.Clone(hinted), at, at+len(suffix)-open); !slices.Equal(got, context) {
		t.Errorf("without the hint: %q, want %q", Decode(got), Decode(context))
	}
	if !EndsOpen(hinted) || EndsOpen(hinted[:len(hinted)-1]) {
		t.Error("EndsOpen does not see the assistant's opening")
	}
}

func TestParseConversation(t *testing.T) {
	msgs, tools := golden()
	for i := range msgs { // responses merged by the template come back as one
		if msgs[i].Content == "one" {
			msgs = slices.Delete(msgs, i, i+1)
			break
		}
	}
	ids := RenderPrompt(msgs[:9], tools)
	got, err := ParseConversation(ids, tools)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(msgs[:9], got); d != "" {
		t.Errorf("messages (-want +got):\n%s", d)
	}

	bad := map[string][]int32{
		"other tools":   RenderPrompt(msgs[:2], []quarry.Tool{{Name: "other"}})[1:],
		"cut in half":   ids[:len(ids)/2],
		"no newline":    append([]int32{ImStart, 'u', '\n', ImEnd}, 'x'),
		"no role":       {ImStart, 'u', ImEnd},
		"bytes":         Encode("hello"),
		"open twice":    append(AssistantOpen(), AssistantOpen()...),
		"outside vocab": {ImStart, 'u', 300, ImEnd},
	}
	for name, ids := range bad {
		if _, err := ParseConversation(ids, tools); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: error %v, want kind invalid", name, err)
		}
	}
}
