package tokens

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
)

func TestParseAssistant(t *testing.T) {
	search := func(args string) []quarry.ToolCall { return []quarry.ToolCall{{Name: "search", Arguments: args}} }
	const call = "<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\": \"x\"}}\n</tool_call>"
	good := []struct {
		text string
		want Parsed
		msg  quarry.Message // role left out
	}{
		{call, Parsed{Calls: search(`{"query": "x"}`)}, quarry.Message{ToolCalls: search(`{"query": "x"}`)}},
		{"why\n" + call, Parsed{Content: "why", Calls: search(`{"query": "x"}`)}, quarry.Message{Content: "why", ToolCalls: search(`{"query": "x"}`)}},
		{"<tool_call>\n{\"name\": \"search\", \"arguments\": {\"query\" :\t\"\\u0041\"}}\n</tool_call>",
			Parsed{Calls: search("{\"query\" :\t\"\\u0041\"}")}, quarry.Message{ToolCalls: search("{\"query\" :\t\"\\u0041\"}")}},
		// Well-formed, but not as the template writes it: the message keeps the text.
		{"<tool_call>{\"arguments\":{},\"name\":\"search\"}</tool_call>\n", Parsed{Calls: search("{}")},
			quarry.Message{Content: "<tool_call>{\"arguments\":{},\"name\":\"search\"}</tool_call>\n"}},
		{"why " + call, Parsed{Content: "why ", Calls: search(`{"query": "x"}`)}, quarry.Message{Content: "why " + call}},
		{"<answer> Brno\n</answer>", Parsed{Answer: "Brno", HasAnswer: true}, quarry.Message{Content: "<answer> Brno\n</answer>"}},
		{"So: <answer>a <b> c</answer>\n", Parsed{Content: "So: ", Answer: "a <b> c", HasAnswer: true}, quarry.Message{Content: "So: <answer>a <b> c</answer>\n"}},
	}
	for _, c := range good {
		got, err := ParseAssistant(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		c.want.Text, c.msg.Role = c.text, "assistant"
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, d)
		}
		if d := cmp.Diff(c.msg, got.Message()); d != "" {
			t.Errorf("%q as a message (-want +got):\n%s", c.text, d)
		}
	}

	wrap := func(json string) string { return "<tool_call>\n" + json + "\n</tool_call>" }
	bad := []struct{ text, reason string }{
		{"", "neither"},
		{"Brno", "neither"},
		{"<Answer>Brno</Answer>", "neither"},
		{call + call, "2 tool calls"},
		{call + "<answer>x</answer>", "a tool call and an answer"},
		{"<answer>x</answer><answer>x</answer>", "2 answers"},
		{"<answer>x", "<answer> is not closed"},
		{"<answer>x</answer></answer>", "more than one </answer>"},
		{"</answer><answer>x</answer>", "more than one </answer>"},
		{"<answer> \n</answer>", "empty"},
		{"<answer>x</answer> done", "text after </answer>"},
		{"<answer>x</tool_call></answer>", "</tool_call> without"},
		{"</answer>" + call, "</answer> without"},
		{"<tool_call>\n{}", "<tool_call> is not closed"},
		{call + " ok", "text after </tool_call>"},
		{wrap("search(x)"), "expected a JSON object"},
		{wrap(`["search"]`), "expected a JSON object"},
		{wrap(`{"name": "search"`), "broken JSON"},
		{wrap(`{"name": "search", "arguments": {"q": }}`), "broken JSON"},
		{wrap(`{"name": "search", "arguments": {}} {}`), "text after the JSON object"},
		{wrap(`{"name": "search"}`), `"arguments" must be`},
		{wrap(`{"name": "search", "arguments": "x"}`), `"arguments" must be`},
		{wrap(`{"name": "search", "arguments": null}`), `"arguments" must be`},
		{wrap(`{"arguments": {}}`), `"name" must be`},
		{wrap(`{"name": 7, "arguments": {}}`), `"name" must be`},
		{wrap(`{"name": null, "arguments": {}}`), `"name" must be`},
		{wrap(`{"name": "", "arguments": {}}`), `"name" must be`},
		{wrap(`{"Name": "search", "arguments": {}}`), `unknown key "Name"`},
		{wrap(`{"name": "search", "name": "search", "arguments": {}}`), `key "name" twice`},
		{"<answer>\xff</answer>", "UTF-8"},
		{"<answer>\x00</answer>", "NUL"},
	}
	for _, c := range bad {
		_, err := ParseAssistant(c.text)
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%q: error %v, want one that says %q", c.text, err, c.reason)
		}
	}
}

func FuzzParseAssistant(f *testing.F) {
	for _, s := range []string{
		"<answer>Brno</answer>", RenderCall("search", "query", "a \"b\" <|im_end|>"), "why\n" + RenderCall("search", "query", "x"),
		"\n" + RenderCall("s", "q", ""), "<tool_call> {\"arguments\": {} , \"name\":\"\\u0073\"}</tool_call> ", "<tool_call><answer>", "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseAssistant(text)
		if err != nil {
			if quarry.KindOf(err) != quarry.KindInvalid {
				t.Fatalf("kind %v of %v", quarry.KindOf(err), err)
			}
			return
		}
		if got := RenderAssistant(p.Message()); got != text {
			t.Fatalf("renders %q, was %q", got, text)
		}
		if (len(p.Calls) == 1) == p.HasAnswer {
			t.Fatalf("%q gives %d calls and HasAnswer %v", text, len(p.Calls), p.HasAnswer)
		}
		if p.HasAnswer && (p.Answer == "" || !strings.Contains(text, p.Answer)) {
			t.Fatalf("%q gives answer %q", text, p.Answer)
		}
	})
}

// FuzzParseConversation: any ids give messages that render to the same text, or an error.
func FuzzParseConversation(f *testing.F) {
	f.Add("user\nx", true)
	f.Add("assistant\n<answer>x</answer>", false)
	f.Add("user\n<tool_response>\n</tool_response>", true)
	f.Fuzz(func(t *testing.T, message string, open bool) {
		ids := append(append([]int32{ImStart}, Encode(message)...), ImEnd)
		if open {
			ids = append(append(ids, '\n'), AssistantOpen()...)
		}
		msgs, err := ParseConversation(ids, nil)
		if err != nil {
			return
		}
		if again, _, _ := RenderConversation(msgs, nil); Decode(again) != Decode(ids) {
			t.Fatalf("renders %q, was %q", Decode(again), Decode(ids))
		}
	})
}
