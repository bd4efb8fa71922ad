package agent

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/sglang"
	"github.com/quarry-rl/quarry/rollout/tokens"
	"github.com/quarry-rl/quarry/rollout/world"
)

// scripted is an engine that writes given turns, like a server would: it stops at <|im_end|> or at MaxNewTokens.
type scripted struct {
	texts  []string
	change func(turn int, r *sglang.GenerateResult) error // may spoil an answer
	reqs   []sglang.GenerateRequest
	outs   [][]int32
}

func (s *scripted) Generate(_ context.Context, req sglang.GenerateRequest) (*sglang.GenerateResult, error) {
	turn := len(s.reqs)
	s.reqs = append(s.reqs, req)
	ids := append(tokens.Encode(s.texts[turn]), tokens.ImEnd)
	r := &sglang.GenerateResult{Finish: sglang.Finish{Type: "stop"}, PromptTokens: len(req.InputIDs), WeightVersion: "2"}
	if len(ids) > req.MaxNewTokens {
		ids, r.Finish.Type = ids[:req.MaxNewTokens], "length"
	}
	r.OutputIDs = ids
	r.Logprobs = make([]float64, len(ids))
	for i := range r.Logprobs {
		r.Logprobs[i] = -0.5
	}
	r.Spans = []sglang.VersionSpan{{Version: "default", Start: 0, End: 1}}
	if len(ids) > 1 { // new weights came after the first token
		r.Spans = append(r.Spans, sglang.VersionSpan{Version: "2", Start: 1, End: len(ids)})
	}
	if s.change != nil {
		if err := s.change(turn, r); err != nil {
			return nil, err
		}
	}
	s.outs = append(s.outs, r.OutputIDs)
	return r, nil
}

const goldenSeed = 6860853148961556 // any change makes stored runs unrepeatable

var budget = quarry.Budget{Turns: 4, ToolCalls: 2, NewTokens: 200}

func fullTask() quarry.Task {
	return world.BuildTask(&quarry.Question{ID: "q1", Text: "Where was the author of Tarka born?"}, world.TaskOptions{Budget: budget})
}

func params() Params {
	return Params{EpisodeID: "e1", GroupID: "g1", Sample: 3, Seed: 11, Temperature: 1, ContextLimit: 8192}
}

func shelf() world.Searcher {
	return world.SearchFunc(func(_ context.Context, q string, _ int) ([]world.Passage, error) {
		return []world.Passage{{Doc: "d", Title: q, Text: "About " + q + "."}}, nil
	})
}

func search(q string) string { return tokens.RenderCall("search", "query", q) }

func run(t *testing.T, eng Engine, task quarry.Task, p Params) *quarry.Episode {
	t.Helper()
	ep, err := Run(t.Context(), eng, world.NewSession(shelf(), task), task, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckEpisode(ep); err != nil {
		t.Fatal(err)
	}
	return ep
}

func TestEpisode(t *testing.T) {
	task := fullTask()
	eng := &scripted{texts: []string{search("Tarka"), search("Karel"), "So: <answer> Brno </answer>"}}
	ep := run(t, eng, task, params())

	version := func(n int) []int32 { return append([]int32{0}, slices.Repeat([]int32{2}, n-1)...) }
	ids, mask, ranges := tokens.RenderConversation(ep.Messages, task.Tools)
	want := &quarry.Episode{
		ID: "e1", TaskID: task.ID, GroupID: "g1", QuestionID: "q1", Kind: quarry.TaskFull, Sample: 3, Seed: 11, Temperature: 1,
		Tools: task.Tools, Answer: "Brno", Answered: true, End: quarry.EndFinalAnswer,
		Messages: append(slices.Clone(task.Messages),
			quarry.Message{Role: "assistant", ToolCalls: []quarry.ToolCall{{ID: "call_1", Name: "search", Arguments: `{"query": "Tarka"}`}}},
			quarry.Message{Role: "tool", Content: "[1] Tarka\nAbout Tarka.\nSearches left: 1", ToolCallID: "call_1", Name: "search"},
			quarry.Message{Role: "assistant", ToolCalls: []quarry.ToolCall{{ID: "call_2", Name: "search", Arguments: `{"query": "Karel"}`}}},
			quarry.Message{Role: "tool", Content: "[1] Karel\nAbout Karel.\nSearches left: 0", ToolCallID: "call_2", Name: "search"},
			quarry.Message{Role: "assistant", Content: "So: <answer> Brno </answer>"}),
	}
	want.Thread = quarry.Thread{IDs: ids, Mask: mask, PromptLen: ranges[0][0], Logprobs: make([]float32, len(ids)), Versions: slices.Repeat([]int32{-1}, len(ids))}
	for i, r := range ranges {
		turn := quarry.Turn{Start: r[0], End: r[1], Finish: "stop", FormatOK: true}
		if i < 2 {
			m := ep.Messages[3+2*i]
			turn.Events = []quarry.ToolEvent{{CallID: m.ToolCallID, Name: "search", Arguments: ep.Messages[2+2*i].ToolCalls[0].Arguments, Status: quarry.ToolOK, Output: m.Content}}
		}
		want.Thread.Turns = append(want.Thread.Turns, turn)
		copy(want.Thread.Versions[r[0]:], version(r[1]-r[0]))
		for j := r[0]; j < r[1]; j++ {
			want.Thread.Logprobs[j] = -0.5
		}
	}
	if d := cmp.Diff(want, ep); d != "" {
		t.Errorf("episode (-want +got):\n%s", d)
	}
}

// TestSentIDsGrow: what is sent on a turn begins with exactly what was sent before and what was sampled then.
func TestSentIDsGrow(t *testing.T) {
	eng := &scripted{texts: []string{search("a"), "rubbish <tool_call>", search("b"), "<answer>x</answer>"}}
	ep := run(t, eng, fullTask(), params())
	if !slices.Equal(eng.reqs[0].InputIDs, tokens.RenderPrompt(fullTask().Messages, fullTask().Tools)) {
		t.Error("the first turn was not sent the prompt")
	}
	seeds := map[int64]bool{}
	for k, req := range eng.reqs {
		if k > 0 {
			held := slices.Concat(eng.reqs[k-1].InputIDs, eng.outs[k-1])
			if len(req.InputIDs) <= len(held) || !slices.Equal(req.InputIDs[:len(held)], held) {
				t.Errorf("turn %d was not sent what turn %d saw and wrote", k, k-1)
			}
		}
		if req.RID == "" || !slices.Equal(req.StopTokenIDs, []int32{tokens.ImEnd}) || req.Temperature != 1 || req.MaxNewTokens != budget.NewTokens {
			t.Errorf("turn %d request %+v", k, req)
		}
		seeds[*req.Seed] = true
	}
	if len(seeds) != 4 {
		t.Errorf("%d distinct seeds for 4 turns", len(seeds))
	}
	last := slices.Concat(eng.reqs[3].InputIDs, eng.outs[3])
	if !slices.Equal(ep.Thread.IDs, last) {
		t.Error("the thread is not what was sent and sampled last")
	}
}

func TestTurnSeed(t *testing.T) {
	seen := map[int64]bool{}
	for seed := range uint64(100) {
		for turn := range 20 {
			s := turnSeed(seed, turn)
			if s < 0 || s >= 1<<53 || seen[s] || s != turnSeed(seed, turn) {
				t.Fatalf("seed %d of (%d, %d) is out of range, repeated or not stable", s, seed, turn)
			}
			seen[s] = true
		}
	}
	if got := turnSeed(11, 0); got != goldenSeed {
		t.Errorf("turnSeed(11, 0) = %d, want %d: stored runs would not repeat", got, goldenSeed)
	}
}

func TestHowEpisodesEnd(t *testing.T) {
	prompt := len(tokens.RenderPrompt(fullTask().Messages, fullTask().Tools))
	first := len(search("a")) + 1
	cases := []struct {
		name   string
		texts  []string
		adjust func(*quarry.Task, *Params)
		change func(int, *sglang.GenerateResult) error
		end    quarry.Termination
		class  quarry.FailureClass
		turns  int
		status []quarry.ToolStatus
		format []bool
	}{
		{name: "answer", texts: []string{"<answer>x</answer>"}, end: quarry.EndFinalAnswer, turns: 1, format: []bool{true}},
		{name: "turns spent", texts: []string{search("a"), search("b"), search("c"), search("d")}, end: quarry.EndMaxTurns, class: quarry.FailPolicy,
			turns: 4, status: []quarry.ToolStatus{"ok", "ok", "refused", "refused"}, format: []bool{true, true, true, true}},
		{name: "malformed", texts: []string{"<answer>", "I think it is Brno.", tokens.RenderCall("browse", "query", "x"), "<answer>x</answer>"},
			end: quarry.EndFinalAnswer, turns: 4, status: []quarry.ToolStatus{"failed", "failed", "refused"}, format: []bool{false, false, false, true}},
		{name: "bad arguments are a tool failure, not a format one", texts: []string{tokens.RenderCall("search", "q", "x"), "<answer>x</answer>"},
			end: quarry.EndFinalAnswer, turns: 2, status: []quarry.ToolStatus{"failed"}, format: []bool{true, true}},
		{name: "not in the template's form", texts: []string{"<tool_call>{\"arguments\":{\"query\":\"x\"},\"name\":\"search\"}</tool_call>", "<answer>x</answer>"},
			end: quarry.EndFinalAnswer, turns: 2, status: []quarry.ToolStatus{"ok"}, format: []bool{true, true}},
		{name: "token budget", texts: []string{search("a"), strings.Repeat("y", 300)}, end: quarry.EndTokenBudget, class: quarry.FailPolicy,
			turns: 2, status: []quarry.ToolStatus{"ok"}, format: []bool{true, false}},
		{name: "a whole turn of exactly the budget", texts: []string{"<answer>x</answer>"},
			adjust: func(t *quarry.Task, _ *Params) { t.Budget.NewTokens = len("<answer>x</answer>") + 1 },
			change: func(_ int, r *sglang.GenerateResult) error { r.Finish.Type = "length"; return nil },
			end:    quarry.EndFinalAnswer, turns: 1, format: []bool{true}},
		{name: "context limit in a turn", texts: []string{strings.Repeat("y", 300)},
			adjust: func(_ *quarry.Task, p *Params) { p.ContextLimit = prompt + 7 },
			end:    quarry.EndContextOverflow, class: quarry.FailPolicy, turns: 1, format: []bool{false}},
		{name: "context limit in an observation", texts: []string{search("a")},
			adjust: func(_ *quarry.Task, p *Params) { p.ContextLimit = prompt + first + 20 },
			end:    quarry.EndContextOverflow, class: quarry.FailPolicy, turns: 1, status: []quarry.ToolStatus{"ok"}, format: []bool{true}},
		{name: "special token inside a turn", texts: []string{"<answer>x</answer>", "<answer>x</answer>"},
			change: func(turn int, r *sglang.GenerateResult) error {
				if turn == 0 {
					r.OutputIDs[8] = tokens.ImStart
				}
				return nil
			},
			end: quarry.EndFinalAnswer, turns: 2, status: []quarry.ToolStatus{"failed"}, format: []bool{false, true}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			task, p := fullTask(), params()
			if c.adjust != nil {
				c.adjust(&task, &p)
			}
			ep := run(t, &scripted{texts: c.texts, change: c.change}, task, p)
			if ep.End != c.end || ep.Failure != c.class || (c.class == "") != (ep.FailureMsg == "") || ep.Answered != (c.end == quarry.EndFinalAnswer) {
				t.Errorf("ended %q, failure %q %q, answered %v", ep.End, ep.Failure, ep.FailureMsg, ep.Answered)
			}
			var status []quarry.ToolStatus
			for _, ev := range ep.ToolEvents() {
				status = append(status, ev.Status)
			}
			var format []bool
			for _, turn := range ep.Thread.Turns {
				format = append(format, turn.FormatOK)
			}
			if !slices.Equal(status, c.status) || !slices.Equal(format, c.format) || len(format) != c.turns {
				t.Errorf("events %v, format %v, want %v, %v in %d turns", status, format, c.status, c.format, c.turns)
			}
			if n := len(ep.Messages); ep.Messages[n-1].Role != "assistant" || ep.Thread.Mask[len(ep.Thread.Mask)-1] != 1 {
				t.Errorf("the episode does not end with what was sampled last: %+v", ep.Messages[n-1])
			}
			if len(ep.Thread.IDs) > p.ContextLimit {
				t.Errorf("%d tokens in a context of %d", len(ep.Thread.IDs), p.ContextLimit)
			}
		})
	}
}

func TestErrorTextReachesThePolicy(t *testing.T) {
	eng := &scripted{texts: []string{"<answer>", "<answer>x</answer>"}}
	ep := run(t, eng, fullTask(), params())
	want := "Error: <answer> is not closed; write one <tool_call> with {\"name\": ..., \"arguments\": {...}} or one <answer>...</answer>\nSearches left: 1"
	if got := ep.Messages[3]; got.Content != want || got.Role != "tool" || got.ToolCallID != "" {
		t.Errorf("message %+v, want content %q", got, want)
	}
	if sent := tokens.Decode(eng.reqs[1].InputIDs); !strings.Contains(sent, "<tool_response>\n"+want+"\n</tool_response>") {
		t.Errorf("the next turn was sent %q", sent)
	}
}

func TestEngineErrors(t *testing.T) {
	spoil := func(f func(*sglang.GenerateResult)) func(int, *sglang.GenerateResult) error {
		return func(turn int, r *sglang.GenerateResult) error {
			if turn == 1 {
				f(r)
			}
			return nil
		}
	}
	fail := func(k quarry.Kind) func(int, *sglang.GenerateResult) error {
		return func(int, *sglang.GenerateResult) error { return &quarry.Error{Kind: k, Hint: "mend it"} }
	}
	cases := []struct {
		name   string
		change func(int, *sglang.GenerateResult) error
		kind   quarry.Kind
	}{
		{"abort", spoil(func(r *sglang.GenerateResult) { r.Finish = sglang.Finish{Type: "abort", Message: "paused"} }), quarry.KindUnavailable},
		{"unavailable", fail(quarry.KindUnavailable), quarry.KindUnavailable},
		{"unscorable", fail(quarry.KindUnscorable), quarry.KindUnscorable},
		{"invalid", fail(quarry.KindInvalid), quarry.KindInvalid},
		{"untyped", func(int, *sglang.GenerateResult) error { return errors.New("boom") }, quarry.KindInternal},
		{"version", spoil(func(r *sglang.GenerateResult) { r.Spans[1].Version = "step-7" }), quarry.KindInvalid},
		{"negative version", spoil(func(r *sglang.GenerateResult) { r.Spans[1].Version = "-1" }), quarry.KindInvalid},
		{"huge version", spoil(func(r *sglang.GenerateResult) { r.Spans[1].Version = "4294967296" }), quarry.KindInvalid},
		{"prompt tokens", spoil(func(r *sglang.GenerateResult) { r.PromptTokens++ }), quarry.KindCorrupt},
		{"logprobs", spoil(func(r *sglang.GenerateResult) { r.Logprobs = nil }), quarry.KindCorrupt},
		{"versions go back", spoil(func(r *sglang.GenerateResult) { r.Spans[0].Version = "3" }), quarry.KindCorrupt},
		{"no output", spoil(func(r *sglang.GenerateResult) { r.OutputIDs = nil }), quarry.KindCorrupt},
	}
	for _, c := range cases {
		task := fullTask()
		eng := &scripted{texts: []string{search("a"), "<answer>x</answer>"}, change: c.change}
		ep, err := Run(t.Context(), eng, world.NewSession(shelf(), task), task, params())
		var typed *quarry.Error
		if quarry.KindOf(err) != c.kind || !errors.As(err, &typed) || !strings.Contains(typed.Subject, "episode e1 turn") {
			t.Errorf("%s: error %v of kind %q, want %q", c.name, err, quarry.KindOf(err), c.kind)
		}
		if c.kind != quarry.KindCorrupt {
			if ep != nil {
				t.Errorf("%s: an interrupted attempt gave an episode", c.name)
			}
			continue
		}
		if ep == nil || ep.Failure != quarry.FailInfra || len(ep.Thread.Turns) != 1 || quarry.HintOf(err) == "" {
			t.Errorf("%s: the episode is not set aside as infra: %+v", c.name, ep)
		}
	}
}

func TestToolOutageIsInfra(t *testing.T) {
	task := fullTask()
	down := world.SearchFunc(func(context.Context, string, int) ([]world.Passage, error) { return nil, errors.New("index closed") })
	ep, err := Run(t.Context(), &scripted{texts: []string{search("a")}}, world.NewSession(down, task), task, params())
	if err != nil {
		t.Fatal(err)
	}
	if ep.End != quarry.EndToolOutage || ep.Failure != quarry.FailInfra || !strings.Contains(ep.FailureMsg, "index closed") {
		t.Errorf("ended %q, failure %q %q", ep.End, ep.Failure, ep.FailureMsg)
	}
	if err := CheckEpisode(ep); err != nil {
		t.Error(err)
	}
}

func TestCancelled(t *testing.T) {
	for _, when := range []string{"before", "in the engine", "in the tool"} {
		ctx, cancel := context.WithCancel(t.Context())
		task := fullTask()
		eng := &scripted{texts: []string{search("a")}, change: func(int, *sglang.GenerateResult) error {
			if when == "in the engine" {
				cancel()
				return errors.New("connection closed")
			}
			return nil
		}}
		tool := world.SearchFunc(func(ctx context.Context, _ string, _ int) ([]world.Passage, error) {
			cancel()
			return nil, ctx.Err()
		})
		if when == "before" {
			cancel()
		}
		ep, err := Run(ctx, eng, world.NewSession(tool, task), task, params())
		if ep != nil || quarry.KindOf(err) != quarry.KindCanceled || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: episode %v, error %v, want kind canceled", when, ep, err)
		}
		cancel()
	}
}

func TestRefusesWhatCannotRun(t *testing.T) {
	cases := map[string]func(*quarry.Task, *Params){
		"no turns":         func(t *quarry.Task, _ *Params) { t.Budget.Turns = 0 },
		"no tokens":        func(t *quarry.Task, _ *Params) { t.Budget.NewTokens = 0 },
		"session reused":   func(t *quarry.Task, _ *Params) { t.Budget.ToolCalls = 1 },
		"context":          func(_ *quarry.Task, p *Params) { p.ContextLimit = 0 },
		"temperature":      func(_ *quarry.Task, p *Params) { p.Temperature = -1 },
		"kind":             func(t *quarry.Task, _ *Params) { t.Kind = "" },
		"pivot, no prefix": func(t *quarry.Task, _ *Params) { t.Kind = quarry.TaskPivot },
		"pivot, hint outside": func(t *quarry.Task, _ *Params) {
			t.Kind, t.Prefix, t.HintLen = quarry.TaskPivot, tokens.RenderPrompt(t.Messages, t.Tools), 1<<40
		},
		"pivot, not a conversation": func(t *quarry.Task, _ *Params) {
			t.Kind, t.Prefix = quarry.TaskPivot, append(tokens.Encode("x"), tokens.AssistantOpen()...)
		},
	}
	for name, f := range cases {
		task, p := fullTask(), params()
		sess := world.NewSession(shelf(), task)
		f(&task, &p)
		eng := &scripted{texts: []string{"<answer>x</answer>"}}
		_, err := Run(t.Context(), eng, sess, task, p)
		if quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" || len(eng.reqs) > 0 {
			t.Errorf("%s: error %v after %d requests, want kind invalid with a hint before any", name, err, len(eng.reqs))
		}
	}
}

// refusing answers /generate with a status from the given request on.
func refusing(t *testing.T, from int32, status int, body string) (Engine, *scripted) {
	t.Helper()
	inner := &scripted{texts: []string{search("Tarka"), search("Karel"), "<answer>x</answer>"}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	c := sglang.New(srv.URL, sglang.Options{Retries: -1})
	t.Cleanup(c.Close)
	n := int32(0)
	return generate(func(ctx context.Context, req sglang.GenerateRequest) (*sglang.GenerateResult, error) {
		if n++; n > from {
			return c.Generate(ctx, req)
		}
		return inner.Generate(ctx, req)
	}), inner
}

type generate func(context.Context, sglang.GenerateRequest) (*sglang.GenerateResult, error)

func (g generate) Generate(ctx context.Context, req sglang.GenerateRequest) (*sglang.GenerateResult, error) {
	return g(ctx, req)
}

// TestNoRoomInTheContext: what does not fit, by the limit given or by the engine's own, ends this episode and is no
// error; the record stays whole.
func TestNoRoomInTheContext(t *testing.T) {
	const (
		long  = `{"error":{"message":"The input (9000 tokens) is longer than the model's context length (8192 tokens)."}}`
		count = `{"error":{"message":"Requested token count exceeds the model's maximum context length of 8192 tokens."}}`
	)
	for _, c := range []struct {
		name   string
		limit  int
		turns  int32
		status int
		body   string
	}{
		{"the limit given", 50, 0, 0, ""},
		{"the engine's, first turn", 8192, 0, 400, long},
		{"the engine's, a later turn", 8192, 2, 400, count},
		{"a body too large", 8192, 1, 413, "nginx"},
	} {
		eng, inner := refusing(t, c.turns, c.status, c.body)
		task, p := fullTask(), params()
		p.ContextLimit = c.limit
		ep := run(t, eng, task, p) // checks the record
		if ep.End != quarry.EndContextOverflow || ep.Failure != quarry.FailPolicy || ep.FailureMsg == "" || ep.Answered ||
			len(ep.Thread.Turns) != int(c.turns) || len(inner.reqs) != int(c.turns) || len(ep.ToolEvents()) != int(c.turns) {
			t.Errorf("%s: ended %q, failure %q %q after %d turns", c.name, ep.End, ep.Failure, ep.FailureMsg, len(ep.Thread.Turns))
		}
	}
}

// TestRefusedRequest: any other refusal is an error that says so, with the episode so far, which nothing may judge.
func TestRefusedRequest(t *testing.T) {
	for _, turns := range []int32{0, 1} {
		for _, status := range []int{400, 422} {
			eng, _ := refusing(t, turns, status, `{"detail":"no such field"}`)
			task := fullTask()
			ep, err := Run(t.Context(), eng, world.NewSession(shelf(), task), task, params())
			if !sglang.Refused(err) || quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "episode e1 turn") {
				t.Fatalf("%d: error %v", status, err)
			}
			if ep == nil || ep.End != quarry.EndLLMError || ep.Failure != quarry.FailInfra || len(ep.Thread.Turns) != int(turns) {
				t.Fatalf("%d: episode %+v", status, ep)
			}
			if err := CheckEpisode(ep); err != nil {
				t.Error(err)
			}
		}
		for _, status := range []int{401, 403, 404} { // not the request's fault: no other would fare better
			eng, _ := refusing(t, turns, status, "")
			task := fullTask()
			if ep, err := Run(t.Context(), eng, world.NewSession(shelf(), task), task, params()); ep != nil || err == nil || sglang.Refused(err) {
				t.Errorf("%d: episode %v, error %v", status, ep, err)
			}
		}
	}
}
