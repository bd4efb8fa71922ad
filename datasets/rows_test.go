package datasets

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

// quarryPair pairs ep with an episode that answers otherwise.
func quarryPair(ep *quarry.Episode, answer string) quarry.Pair {
	other := *ep
	other.Messages = append(append([]quarry.Message{}, ep.Messages[:len(ep.Messages)-1]...), quarry.Message{Role: "assistant", Content: answer})
	return quarry.Pair{ID: "pair", TaskID: ep.TaskID, Chosen: ep, Rejected: &other}
}

func TestQuestionRoundTrip(t *testing.T) {
	for _, change := range []func(*quarry.Question){
		func(*quarry.Question) {},
		func(q *quarry.Question) {
			q.Aliases, q.Entities, q.Difficulty, q.AnswerID, q.AsOf = nil, nil, nil, "", "2026"
		},
	} {
		q := sampleQuestion(1)
		change(&q)
		want := q
		want.Path = append(quarry.Walk{}, q.Path...)
		for i := range want.Path {
			want.Path[i].Text = "" // the document holds it
		}
		want.Conditions = append([]quarry.Statement{}, q.Conditions...)
		for i := range want.Conditions {
			want.Conditions[i].Text = ""
		}
		if diff := cmp.Diff(want, Q1FromQuestion(q).Question()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	q := sampleQuestion(1)
	q.Path[0].End = 1 << 40
	if err := Validate(Q1FromQuestion(q)); err == nil || !strings.Contains(err.Error(), "path[0].end") {
		t.Errorf("an offset beyond 32 bits: %v", err)
	}
}

func text() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", odd, "<tool_call>\n", "null", "\x00"})).Filter(utf8.ValidString)
}

func genMessage(role string) *rapid.Generator[quarry.Message] {
	return rapid.Custom(func(t *rapid.T) quarry.Message {
		m := quarry.Message{Role: role, Content: text().Draw(t, "content")}
		switch role {
		case "assistant":
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				args, err := json.Marshal(map[string]string{"query": text().Draw(t, "query")})
				if err != nil {
					t.Fatal(err)
				}
				m.ToolCalls = append(m.ToolCalls, quarry.ToolCall{ID: text().Draw(t, "id"), Name: "f" + text().Draw(t, "name"),
					Arguments: rapid.SampledFrom([]string{string(args), " { } ", `{"a": 1.0, "a": [null]}`}).Draw(t, "arguments")})
			}
		case "tool":
			m.ToolCallID, m.Name = text().Draw(t, "call id"), text().Draw(t, "tool")
		}
		return m
	})
}

func genConversation() *rapid.Generator[[]quarry.Message] {
	return rapid.Custom(func(t *rapid.T) []quarry.Message {
		out := []quarry.Message{genMessage("system").Draw(t, "system"), genMessage("user").Draw(t, "user")}
		for range rapid.IntRange(0, 3).Draw(t, "turns") {
			out = append(out, genMessage("assistant").Draw(t, "turn"), genMessage("tool").Draw(t, "result"))
		}
		return append(out, genMessage("assistant").Draw(t, "answer"))
	})
}

// Messages go through a Parquet file and come back as they were.
func TestConversationRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genConversation().Draw(t, "a"), genConversation().Draw(t, "b")
		if rapid.Bool().Draw(t, "shared prompt") {
			b = append(append([]quarry.Message{}, a[:rapid.IntRange(2, len(a)-1).Draw(t, "shared")]...), b[2:]...)
		}
		ep := &quarry.Episode{ID: "a", TaskID: "t", Messages: a, Tools: sampleTools()}
		s1, err := S1FromEpisode(ep, "rapid")
		if err != nil {
			t.Fatal(err)
		}
		back := throughFile(t, dir, s1)
		if diff := cmp.Diff(a, back.Conversation()); diff != "" {
			t.Fatalf("S1 -want +got:\n%s", diff)
		}
		d1, err := D1FromPair(quarry.Pair{ID: "p", Chosen: ep, Rejected: &quarry.Episode{ID: "b", TaskID: "t", Messages: b, Tools: sampleTools()}})
		if err != nil {
			if cmp.Equal(a[:2], b[:2]) && !cmp.Equal(a, b) {
				t.Fatal(err)
			}
			return
		}
		chosen, rejected := throughFile(t, dir, d1).Conversations()
		if diff := cmp.Diff([][]quarry.Message{a, b}, [][]quarry.Message{chosen, rejected}); diff != "" {
			t.Fatalf("D1 -want +got:\n%s", diff)
		}
	})
}

func throughFile[T Row](t *rapid.T, dir string, row T) T {
	name := specOf[T]().kind
	w, err := NewWriter[T](dir, name, Options{Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(row); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(Meta{}); err != nil {
		t.Fatal(err)
	}
	ds, err := Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Read[T](ds)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows[0]
}

func TestS1FromEpisode(t *testing.T) {
	row := must(S1FromEpisode(sampleEpisode(0, true), "expert"))(t)
	if row.NumTurns != 2 || row.NumTokens != 9 || *row.Reward != 1 || row.TaskID != "task-000" || row.Source != "expert" {
		t.Errorf("%+v", row)
	}
	var loss []bool
	for _, m := range row.Messages {
		loss = append(loss, m.Loss)
	}
	if diff := cmp.Diff([]bool{false, false, true, false, true}, loss); diff != "" {
		t.Error(diff)
	}
	if row.Messages[2].ToolCalls[0].Type != "function" || row.Messages[0].ToolCalls != nil {
		t.Errorf("calls %+v", row.Messages)
	}
	if diff := cmp.Diff(sampleTools(), must(ParseTools(row.Tools))(t)); diff != "" {
		t.Error(diff)
	}
	for _, ep := range []*quarry.Episode{nil, {ID: "e"}, {ID: "e", Messages: []quarry.Message{{Role: "user"}}}} {
		if _, err := S1FromEpisode(ep, "x"); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%v: %v", ep, err)
		}
	}
}

func TestD1FromPair(t *testing.T) {
	say := func(role, content string) quarry.Message { return quarry.Message{Role: role, Content: content} }
	start := []quarry.Message{say("system", "s"), say("user", "u")}
	conv := func(rest ...quarry.Message) []quarry.Message {
		return append(append([]quarry.Message{}, start...), rest...)
	}
	for name, c := range map[string]struct {
		a, b       []quarry.Message
		prompt     int
		turn       int32
		wantErr    string
		taskB      string
		otherTools bool
	}{
		"first turn differs":        {a: conv(say("assistant", "1")), b: conv(say("assistant", "2")), prompt: 2},
		"second turn differs":       {a: conv(say("assistant", "1"), say("tool", "t"), say("assistant", "2")), b: conv(say("assistant", "1"), say("tool", "t"), say("assistant", "3"), say("tool", "x")), prompt: 4, turn: 1},
		"only observation differs":  {a: conv(say("assistant", "1"), say("tool", "t"), say("assistant", "2")), b: conv(say("assistant", "1"), say("tool", "T"), say("assistant", "2")), prompt: 2},
		"one continues the other":   {a: conv(say("assistant", "1")), b: conv(say("assistant", "1"), say("tool", "t"), say("assistant", "2")), prompt: 2},
		"roles differ":              {a: conv(say("assistant", "1"), say("tool", "t"), say("assistant", "2")), b: conv(say("assistant", "1"), say("user", "t"), say("assistant", "2")), prompt: 2},
		"same":                      {a: conv(say("assistant", "1")), b: conv(say("assistant", "1")), wantErr: "do not differ"},
		"question differs":          {a: conv(say("assistant", "1")), b: []quarry.Message{say("system", "s"), say("user", "v"), say("assistant", "1")}, wantErr: "before the first assistant"},
		"other task":                {a: conv(say("assistant", "1")), b: conv(say("assistant", "2")), taskB: "t2", wantErr: `"t2"`},
		"other tools":               {a: conv(say("assistant", "1")), b: conv(say("assistant", "2")), otherTools: true, wantErr: "different tools"},
		"nothing but an assistant":  {a: []quarry.Message{say("assistant", "1")}, b: []quarry.Message{say("assistant", "2")}, wantErr: "before the first assistant"},
		"no messages on one side":   {a: nil, b: conv(say("assistant", "2")), wantErr: "before the first assistant"},
		"assistant against nothing": {a: start, b: conv(say("assistant", "2")), wantErr: "before the first assistant"},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := &quarry.Episode{ID: "a", TaskID: "t", Messages: c.a}, &quarry.Episode{ID: "b", TaskID: "t" + strings.TrimPrefix(c.taskB, "t"), Messages: c.b}
			if c.otherTools {
				b.Tools = sampleTools()
			}
			row, err := D1FromPair(quarry.Pair{ID: "p", Chosen: a, Rejected: b})
			if c.wantErr != "" {
				if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), c.wantErr) {
					t.Fatalf("error %v, want %s", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(row.Prompt) != c.prompt || row.DivergenceTurn != c.turn || row.PairKind != "trajectory" || row.Tools != "[]" {
				t.Errorf("prompt %d, turn %d: %+v", len(row.Prompt), row.DivergenceTurn, row)
			}
			if err := Validate(row); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := D1FromPair(quarry.Pair{ID: "p"}); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("pair without episodes: %v", err)
	}
}

func TestR1FromQuestion(t *testing.T) {
	q := sampleQuestion(3)
	row := R1FromQuestion(q, sampleEpisode(0, true).Messages[:2], sampleTools())
	if row.AgentName != "tool_agent" || row.GroundTruth != "Elbe" || row.Label != "Elbe" || row.RewardModel.GroundTruth != "Elbe" || row.ExtraInfo.TaskID != q.ID {
		t.Errorf("%+v", row)
	}
	var aliases []string
	var entities []quarry.Named
	if err := json.Unmarshal([]byte(row.ExtraInfo.Aliases), &aliases); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(row.ExtraInfo.Entities), &entities); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(q.Aliases, aliases) + cmp.Diff(q.Entities, entities); diff != "" {
		t.Error(diff)
	}
	q.Aliases, q.Entities = nil, nil
	row = R1FromQuestion(q, nil, nil)
	if row.AgentName != "single_turn_agent" || row.Tools != "[]" || row.ExtraInfo.Aliases != "[]" || row.ExtraInfo.Entities != "[]" {
		t.Errorf("%+v", row)
	}
	row = R1FromQuestion(q, sampleEpisode(0, true).Messages[:2], []quarry.Tool{{Name: "x", Parameters: json.RawMessage("{")}})
	if err := Validate(row); err == nil || !strings.Contains(err.Error(), "column tools") {
		t.Errorf("tool with bad parameters: %v", err)
	}
}

func TestT1FromEpisode(t *testing.T) {
	row := must(T1FromEpisode(sampleEpisode(0, true), sampleBatch()))(t)
	if row.MinVersion != 3 || row.MaxVersion != 4 || row.PromptLen != 4 || row.Status != "completed" || row.FinishReason != "stop" ||
		*row.Reward != 0 || row.Rewards.PRM != nil || *row.Rewards.Format != 0 || *row.Rewards.ORM != 1 || row.AdvScalar != -0.75 ||
		row.IcePop.NTokens != 4 || row.PivotTurn != nil || row.Coeff != (Coeff{0.1, 0.1, 0.3, 0.5}) || row.TopP != 1 {
		t.Errorf("%+v", row)
	}
	b := sampleBatch()
	b.RewardScored, b.Advantage = false, 0
	if row := must(T1FromEpisode(sampleEpisode(0, true), b))(t); row.Reward != nil {
		t.Errorf("unscored reward is %v, want null", *row.Reward)
	}
	ep := sampleEpisode(0, true)
	ep.Kind, ep.ParentEpisode, ep.PivotTurn, ep.HintStart, ep.HintLen = quarry.TaskPivot, "parent", 1, 2, 2
	row = must(T1FromEpisode(ep, sampleBatch()))(t)
	if row.ParentTrajID != "parent" || *row.PivotTurn != 1 || *row.HintStart != 2 || *row.HintLen != 2 {
		t.Errorf("%+v", row)
	}
	infra := sampleEpisode(0, true)
	infra.Failure = quarry.FailInfra
	for name, ep := range map[string]*quarry.Episode{"nil": nil, "empty": {}, "infra with reward": infra} {
		if _, err := T1FromEpisode(ep, sampleBatch()); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for end, want := range map[quarry.Termination]string{quarry.EndFinalAnswer: "completed", quarry.EndMaxTurns: "truncated", quarry.EndTokenBudget: "truncated",
		quarry.EndContextOverflow: "truncated", quarry.EndCancelled: "aborted", quarry.EndLLMError: "failed", quarry.EndToolOutage: "failed"} {
		if got := statusOf(end); got != want {
			t.Errorf("%s: %s, want %s", end, got, want)
		}
	}
}

func TestParseTools(t *testing.T) {
	for text, ok := range map[string]bool{`[]`: true, `null`: true, `{}`: false, ``: false, `[{"type":"function","function":{}}]`: false,
		`[{"type":"x","function":{"name":"a"}}]`: false, `[{"type":"function","function":{"name":"a","description":""}}]`: true} {
		if _, err := ParseTools(text); (err == nil) != ok || err != nil && quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", text, err)
		}
	}
}
