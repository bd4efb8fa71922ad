package tokens

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
)

func prompt() []int32 { return RenderPrompt([]quarry.Message{{Role: "user", Content: "Q"}}, nil) }

func sampled(text string, promptTokens int) Sampled {
	ids := append(Encode(text), ImEnd)
	s := Sampled{IDs: ids, Logprobs: make([]float64, len(ids)), Finish: FinishStop, PromptTokens: promptTokens, FormatOK: true}
	for i := range s.Logprobs {
		s.Logprobs[i] = -float64(i) / 8
	}
	s.Spans = []Span{{Version: 3, Start: 0, End: len(ids)}}
	return s
}

func TestRecorder(t *testing.T) {
	r, err := NewRecorder(prompt())
	if err != nil {
		t.Fatal(err)
	}
	first := r.Send()
	s := sampled("abc", len(first))
	s.Spans = []Span{{3, 0, 1}, {4, 1, 4}}
	if err := r.Turn(s); err != nil {
		t.Fatal(err)
	}
	r.Event(quarry.ToolEvent{Name: "search", Output: "out"})
	if err := r.Context(AfterTool("out")); err != nil {
		t.Fatal(err)
	}
	second := r.Send()
	if want := slices.Concat(first, s.IDs, AfterTool("out")); !slices.Equal(second, want) {
		t.Errorf("second context %v, want %v", second, want)
	}
	if err := r.Turn(sampled("d", len(second))); err != nil {
		t.Fatal(err)
	}
	got := r.Thread()
	n, b := len(first), len(AfterTool("out"))
	want := quarry.Thread{
		IDs:       slices.Concat(second, []int32{'d', ImEnd}),
		Mask:      slices.Concat(make([]int8, n), []int8{1, 1, 1, 1}, make([]int8, b), []int8{1, 1}),
		Logprobs:  slices.Concat(make([]float32, n), []float32{0, -.125, -.25, -.375}, make([]float32, b), []float32{0, -.125}),
		Versions:  slices.Concat(slices.Repeat([]int32{-1}, n), []int32{3, 4, 4, 4}, slices.Repeat([]int32{-1}, b), []int32{3, 3}),
		PromptLen: n,
		Turns: []quarry.Turn{
			{Start: n, End: n + 4, Finish: "stop", FormatOK: true, Events: []quarry.ToolEvent{{Name: "search", Output: "out"}}},
			{Start: n + 4 + b, End: n + b + 6, Finish: "stop", FormatOK: true},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("thread (-want +got):\n%s", d)
	}
	if err := CheckThread(&got); err != nil {
		t.Error(err)
	}
}

func TestRecorderRefusesTurns(t *testing.T) {
	n := len(prompt())
	cases := []struct {
		name   string
		change func(*Recorder, *Sampled)
		says   string
	}{
		{"nothing sent", func(r *Recorder, s *Sampled) { r.sent = nil }, "nothing was sent"},
		{"sent ids changed", func(r *Recorder, s *Sampled) { r.sent[0] = 7 }, "not those that were sent"},
		{"prompt tokens", func(r *Recorder, s *Sampled) { s.PromptTokens-- }, "prompt tokens counted"},
		{"no output", func(r *Recorder, s *Sampled) { s.IDs = nil }, "no output tokens"},
		{"logprobs missing", func(r *Recorder, s *Sampled) { s.Logprobs = s.Logprobs[1:] }, "4 output ids but 3 logprobs"},
		{"unknown finish", func(r *Recorder, s *Sampled) { s.Finish = "abort" }, `finish "abort"`},
		{"stop token inside", func(r *Recorder, s *Sampled) { s.IDs[1] = ImEnd }, "went on after"},
		{"stop without im_end", func(r *Recorder, s *Sampled) { s.IDs[3] = EndOfText }, "not <|im_end|>"},
		{"id outside", func(r *Recorder, s *Sampled) { s.IDs[0] = VocabSize }, "id 259"},
		{"negative id", func(r *Recorder, s *Sampled) { s.IDs[0] = -1 }, "id -1"},
		{"NaN", func(r *Recorder, s *Sampled) { s.Logprobs[2] = math.NaN() }, "output token 2 has logprob NaN"},
		{"infinite", func(r *Recorder, s *Sampled) { s.Logprobs[2] = math.Inf(-1) }, "output token 2 has logprob -Inf"},
		{"positive", func(r *Recorder, s *Sampled) { s.Logprobs[2] = 0.1 }, "output token 2 has logprob 0.1"},
		{"no spans", func(r *Recorder, s *Sampled) { s.Spans = nil }, "cover 0 of 4"},
		{"gap", func(r *Recorder, s *Sampled) { s.Spans = []Span{{3, 0, 1}, {3, 2, 4}} }, "expected it to start at 1"},
		{"overlap", func(r *Recorder, s *Sampled) { s.Spans = []Span{{3, 0, 2}, {3, 1, 4}} }, "expected it to start at 2"},
		{"short", func(r *Recorder, s *Sampled) { s.Spans = []Span{{3, 0, 3}} }, "cover 3 of 4"},
		{"long", func(r *Recorder, s *Sampled) { s.Spans = []Span{{3, 0, 5}} }, "to end within 4"},
		{"empty span", func(r *Recorder, s *Sampled) { s.Spans = []Span{{3, 0, 0}, {3, 0, 4}} }, "version span 0"},
		{"version goes back", func(r *Recorder, s *Sampled) { s.Spans = []Span{{3, 0, 1}, {2, 1, 4}} }, "go back from 3 to 2"},
		{"negative version", func(r *Recorder, s *Sampled) { s.Spans = []Span{{-1, 0, 4}} }, "version -1"},
	}
	for _, c := range cases {
		r, err := NewRecorder(prompt())
		if err != nil {
			t.Fatal(err)
		}
		r.Send()
		s := sampled("abc", n)
		c.change(r, &s)
		err = r.Turn(s)
		if quarry.KindOf(err) != quarry.KindCorrupt || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want a corrupt one that says %q", c.name, err, c.says)
		}
		if r.Len() != n || len(r.thread.Mask) != n || len(r.thread.Turns) != 0 {
			t.Errorf("%s: the refused turn changed the thread", c.name)
		}
	}
}

func TestRecorderRefusesContext(t *testing.T) {
	if _, err := NewRecorder(Encode("hi")); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Errorf("a prompt that is not open: %v", err)
	}
	if _, err := NewRecorder(append([]int32{400}, prompt()...)); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Errorf("a prompt with an unknown id: %v", err)
	}
	r, err := NewRecorder(prompt())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Context(AfterTool("x")); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Errorf("context before any turn: %v", err)
	}
	s := sampled("abc", len(r.Send()))
	s.IDs, s.Logprobs, s.Finish, s.Spans = s.IDs[:3], s.Logprobs[:3], FinishLength, []Span{{3, 0, 3}}
	if err := r.Turn(s); err != nil {
		t.Fatal(err)
	}
	if err := r.Turn(s); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Errorf("the same answer twice: %v", err)
	}
	if err := r.Context(AfterTool("x")); err == nil || !strings.Contains(err.Error(), "without <|im_end|>") {
		t.Errorf("context after a cut turn: %v", err)
	}
}

func TestCheckThreadFindsEachDamage(t *testing.T) {
	build := func() *quarry.Thread {
		r, _ := NewRecorder(prompt())
		for range 2 {
			if err := r.Turn(sampled("abc", len(r.Send()))); err != nil {
				t.Fatal(err)
			}
			if len(r.thread.Turns) == 1 {
				if err := r.Context(AfterTool("out")); err != nil {
					t.Fatal(err)
				}
			}
		}
		th := r.Thread()
		return &th
	}
	if err := CheckThread(build()); err != nil {
		t.Fatal(err)
	}
	n := len(prompt())
	damage := map[string]func(*quarry.Thread){
		"mask too short":        func(t *quarry.Thread) { t.Mask = t.Mask[1:] },
		"tool token trained":    func(t *quarry.Thread) { t.Mask[n+6] = 1 },
		"prompt token trained":  func(t *quarry.Thread) { t.Mask[0] = 1 },
		"sampled token dropped": func(t *quarry.Thread) { t.Mask[n] = 0 },
		"context logprob":       func(t *quarry.Thread) { t.Logprobs[n+6] = -1 },
		"context version":       func(t *quarry.Thread) { t.Versions[0] = 0 },
		"version missing":       func(t *quarry.Thread) { t.Versions[n] = -1 },
		"version back":          func(t *quarry.Thread) { t.Versions[n+1] = 1 },
		"logprob NaN":           func(t *quarry.Thread) { t.Logprobs[n] = float32(math.NaN()) },
		"logprob positive":      func(t *quarry.Thread) { t.Logprobs[n] = 1 },
		"prompt length":         func(t *quarry.Thread) { t.PromptLen++ },
		"turn shifted":          func(t *quarry.Thread) { t.Turns[1].Start++ },
		"turn empty":            func(t *quarry.Thread) { t.Turns[1].End = t.Turns[1].Start },
		"turn beyond the end":   func(t *quarry.Thread) { t.Turns[1].End++ },
		"turn missing":          func(t *quarry.Thread) { t.Turns = t.Turns[:1] },
		"no turns":              func(t *quarry.Thread) { t.Turns = nil },
		"turn lost its end":     func(t *quarry.Thread) { t.IDs[n+3] = 'x' },
		"im_end inside":         func(t *quarry.Thread) { t.IDs[n+1] = ImEnd },
		"unknown id":            func(t *quarry.Thread) { t.IDs[n+1] = 999 },
		"unknown context id":    func(t *quarry.Thread) { t.IDs[0] = 999 },
	}
	for name, f := range damage {
		th := build()
		f(th)
		if err := CheckThread(th); quarry.KindOf(err) != quarry.KindCorrupt {
			t.Errorf("%s: error %v, want kind corrupt", name, err)
		}
	}
}
