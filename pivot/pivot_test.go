package pivot

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

// words finds entities by whole words.
type words []quarry.Named

func (w words) Find(text string) []int {
	var out []int
	for i, e := range w {
		for _, form := range append([]string{e.Name}, e.Aliases...) {
			if f := quarry.Normalize(form); f != "" && strings.Contains(" "+quarry.Normalize(text)+" ", " "+f+" ") {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

func question() *quarry.Question {
	hop := func(from, to string) quarry.Hop {
		return quarry.Hop{Statement: quarry.Statement{Subject: from, Object: to}}
	}
	back := quarry.Hop{Statement: quarry.Statement{Subject: "c", Object: "b"}, Inverse: true}
	return &quarry.Question{
		ID: "q", Text: "Where was the founder of Acme's rival born?", Answer: "Lisbon", Aliases: []string{"Lisboa"}, AnswerID: "d",
		Path:     quarry.Walk{hop("a", "b"), back, hop("c", "d")},
		Entities: []quarry.Named{{ID: "d", Name: "Lisbon", Aliases: []string{"City of Lisbon"}}, {ID: "c", Name: "Ana Costa"}, {ID: "b", Name: "Zenith Works"}},
	}
}

func search(q, out string) quarry.Turn {
	return quarry.Turn{FormatOK: true, Finish: "stop", Events: []quarry.ToolEvent{
		{CallID: "c", Name: "search", Arguments: `{"query": "` + q + `"}`, Status: quarry.ToolOK, Output: out}}}
}

func status(t quarry.Turn, s quarry.ToolStatus) quarry.Turn {
	t.Events[0].Status = s
	return t
}

var answer = quarry.Turn{FormatOK: true, Finish: "stop"}

func episode(answered string, turns ...quarry.Turn) *quarry.Episode {
	return &quarry.Episode{ID: "e", TaskID: "t", QuestionID: "q", Kind: quarry.TaskFull, Answer: answered, Answered: answered != "",
		End: quarry.EndFinalAnswer, Thread: quarry.Thread{Turns: turns}}
}

func TestPathEntities(t *testing.T) {
	want := []quarry.Named{{ID: "b", Name: "Zenith Works"}, {ID: "c", Name: "Ana Costa"},
		{ID: "d", Name: "Lisbon", Aliases: []string{"Lisboa", "Lisbon", "City of Lisbon"}}}
	if diff := cmp.Diff(want, PathEntities(question())); diff != "" {
		t.Error(diff)
	}
	q := question()
	q.Path = nil
	if got := PathEntities(q); len(got) != 3 || got[2].ID != "d" || got[0].ID != "c" {
		t.Errorf("without a path: %v", got)
	}
}

func TestLocate(t *testing.T) {
	b, c := search("Acme rival", "Zenith Works is a rival."), search("Zenith Works founder", "Founded by Ana Costa.")
	malformed := quarry.Turn{Finish: "stop"}
	tests := []struct {
		name  string
		ep    *quarry.Episode
		turn  int
		class quarry.PivotClass
		hint  string // must occur
	}{
		{"malformed", episode("Porto", b, malformed, answer), 1, quarry.PivotTool, `look again at "Zenith Works"`},
		{"failed call", episode("", status(search("x", "Error: Zenith Works"), quarry.ToolFailed), b), 0, quarry.PivotTool, `look again at "Acme"`},
		{"refused call", episode("", b, c, status(search("y", ""), quarry.ToolRefused)), 2, quarry.PivotTool, `"Ana Costa"`},
		{"repeated query, other spelling", episode("Porto", b, search("acme  RIVAL!", "Ana Costa"), answer), 1, quarry.PivotStrategy, `"Zenith Works"`},
		{"answer too soon", episode("Porto", b, answer), 1, quarry.PivotEvidence, `"Zenith Works"`},
		{"guess without a search", episode("Porto", answer), 0, quarry.PivotEvidence, `"Acme"`},
		{"nothing new", episode("Porto", b, search("weather", "Zenith Works again"), c, answer), 1, quarry.PivotStrategy, `"Zenith Works"`},
		{"nothing at all", episode("", search("weather", "rain")), 0, quarry.PivotStrategy, `"Acme"`},
		{"wrong though all seen", episode("Porto", b, c, search("Ana Costa born", "born in Lisbon"), answer), 3, quarry.PivotAssumption, `"Ana Costa"`},
		{"wrong, answer itself never seen", episode("Porto", b, c, answer), 2, quarry.PivotAssumption, `"Ana Costa"`},
		{"retry after an outage is no repetition", episode("Porto", status(search("Acme rival", ""), quarry.ToolInfra), b, answer), 2, quarry.PivotEvidence, `"Zenith Works"`},
		{"failure comes before repetition in a turn", episode("Porto", b, status(search("Acme rival", "x"), quarry.ToolFailed), answer), 1, quarry.PivotTool, `"Zenith Works"`},
	}
	q := question()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, ok := Locate(tt.ep, q, "Acme", words(PathEntities(q)))
			if !ok || p.Turn != tt.turn || p.Class != tt.class || p.EpisodeID != "e" {
				t.Fatalf("got %+v %v, want turn %d %s", p, ok, tt.turn, tt.class)
			}
			if !strings.Contains(p.Hint, tt.hint) || !strings.HasPrefix(p.Hint, "Hint: ") {
				t.Errorf("hint %q lacks %q", p.Hint, tt.hint)
			}
			if !strings.HasPrefix(p.Evidence, "turn ") {
				t.Errorf("evidence %q names no turn", p.Evidence)
			}
		})
	}
	if p, _ := Locate(tests[3].ep, q, "Acme", words(PathEntities(q))); p.Evidence != `turn 1, event 0 (c): "acme rival" repeats turn 0` {
		t.Errorf("evidence %q", p.Evidence)
	}
}

func TestLocateNot(t *testing.T) {
	q := question()
	b := search("Acme rival", "Zenith Works")
	with := func(ep *quarry.Episode, f func(*quarry.Episode)) *quarry.Episode { f(ep); return ep }
	for name, ep := range map[string]*quarry.Episode{
		"right":         episode("the Lisboa", answer),
		"getting on":    episode("", b),
		"no turn":       episode(""),
		"infra":         with(episode("", search("w", "rain")), func(e *quarry.Episode) { e.Failure = quarry.FailInfra }),
		"timeout":       with(episode("", search("w", "rain")), func(e *quarry.Episode) { e.Failure = quarry.FailTimeout }),
		"tool outage":   with(episode("", search("w", "rain")), func(e *quarry.Episode) { e.End = quarry.EndToolOutage }),
		"continuation":  with(episode("Porto", answer), func(e *quarry.Episode) { e.Kind = quarry.TaskPivot }),
		"other's":       with(episode("Porto", answer), func(e *quarry.Episode) { e.QuestionID = "other" }),
		"with its hint": with(episode("Porto", answer), func(e *quarry.Episode) { e.HintLen = 3 }),
	} {
		if p, ok := Locate(ep, q, "Acme", words(PathEntities(q))); ok {
			t.Errorf("%s: located %+v", name, p)
		}
	}
}

// A name that holds the answer or an unseen entity must not be hinted at.
func TestHintFallsBack(t *testing.T) {
	q := question()
	p, ok := Locate(episode("Porto", answer), q, "Greater Lisbon Company", words(PathEntities(q)))
	if !ok || strings.Contains(p.Hint, "Lisbon") || p.Hint == "" {
		t.Errorf("hint %q", p.Hint)
	}
	if p, _ := Locate(episode("Porto", answer), q, "Ana Costa Foundation", words(PathEntities(q))); strings.Contains(p.Hint, "Ana") {
		t.Errorf("hint %q names an unseen entity", p.Hint)
	}
	q.Answer, q.Aliases, q.Entities = "京都", nil, nil
	if p, _ := Locate(episode("Porto", answer), q, "京都府", words(PathEntities(q))); strings.Contains(p.Hint, "京都") {
		t.Errorf("hint %q holds the answer", p.Hint)
	}
	q.Answer, q.Aliases = "hint", []string{"another way"}
	if p, ok := Locate(episode("Porto", answer), q, "Acme", words(PathEntities(q))); !ok || p.Hint != "" {
		t.Errorf("hint %q, want none", p.Hint)
	}
}

func TestHintNeverLeaks(t *testing.T) {
	vocabulary := []string{"Lisbon", "hint", "look", "again", "at", "Ana", "Costa", "the", "York", "New", "step", "way", "search", "2", "京都", "answer", "try"}
	name := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 3).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		q := &quarry.Question{ID: "q", Answer: name.Draw(t, "answer"), AnswerID: "z", Aliases: rapid.SliceOfN(name, 0, 3).Draw(t, "aliases")}
		for i := range rapid.IntRange(0, 3).Draw(t, "mids") {
			q.Entities = append(q.Entities, quarry.Named{ID: string(rune('a' + i)), Name: name.Draw(t, "mid")})
		}
		var turns []quarry.Turn
		for range rapid.IntRange(0, 4).Draw(t, "searches") {
			turns = append(turns, search(name.Draw(t, "query"), name.Draw(t, "output")))
		}
		ep := episode("Somewhere Else", append(turns, answer)...)
		entities := PathEntities(q)
		p, ok := Locate(ep, q, name.Draw(t, "start"), words(entities))
		if !ok {
			t.Fatal("a wrong answer always has a pivot")
		}
		seen := map[int]bool{}
		for _, turn := range ep.Thread.Turns[:p.Turn] {
			for _, ev := range turn.Events {
				for _, i := range words(entities).Find(ev.Output) {
					seen[i] = true
				}
			}
		}
		for _, i := range words(entities).Find(p.Hint) {
			if i == len(entities)-1 {
				t.Fatalf("hint %q names the answer %v", p.Hint, entities[i])
			}
			if !seen[i] {
				t.Fatalf("hint %q names the unseen %v", p.Hint, entities[i])
			}
		}
	})
}

// bridge is ChatML over bytes with two special ids.
type bridge struct{}

const imStart, imEnd = 257, 258

func (bridge) text(ids []int32, s string) []int32 {
	for i := range len(s) {
		ids = append(ids, int32(s[i]))
	}
	return ids
}

func (b bridge) AssistantOpen() []int32 { return b.text([]int32{imStart}, "assistant\n") }

func (b bridge) UserThenAssistant(s string) []int32 {
	ids := append(b.text([]int32{imStart}, "user\n"+s), imEnd, '\n')
	return append(ids, b.AssistantOpen()...)
}

// recorded gives an episode of n turns with the tokens a run would record.
func recorded(t interface{ Helper() }, n int) (quarry.Task, *quarry.Episode) {
	t.Helper()
	var b bridge
	ids := b.UserThenAssistant("question")
	ep := episode("Porto")
	for i := range n {
		if i > 0 {
			ids = append(b.text(ids, "\n"), b.UserThenAssistant("returned")...)
		}
		turn := search("q", "r")
		turn.Start = len(ids)
		ids = append(b.text(ids, "call"), imEnd)
		turn.End = len(ids)
		ep.Thread.Turns = append(ep.Thread.Turns, turn)
	}
	ep.Thread.IDs = ids
	return quarry.Task{ID: "t", Kind: quarry.TaskFull, QuestionID: "q", Budget: quarry.Budget{Turns: n, ToolCalls: 9, NewTokens: 7},
		Messages: []quarry.Message{{Role: "user", Content: "question"}}}, ep
}

func TestContinuation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task, ep := recorded(t, rapid.IntRange(1, 5).Draw(t, "turns"))
		p := quarry.Pivot{EpisodeID: "e", Turn: rapid.IntRange(0, len(ep.Thread.Turns)-1).Draw(t, "pivot"), Hint: rapid.String().Draw(t, "hint")}
		parent := slices.Clone(ep.Thread.IDs)
		got, err := Continuation(task, ep, p, bridge{})
		if err != nil {
			t.Fatal(err)
		}
		start := ep.Thread.Turns[p.Turn].Start
		bare := slices.Concat(got.Prefix[:got.HintStart], got.Prefix[got.HintStart+got.HintLen:])
		if !slices.Equal(bare, parent[:start]) {
			t.Fatal("the prefix without its hint is not the parent up to the turn")
		}
		open := bridge{}.AssistantOpen()
		if got.HintStart != start-len(open) || !slices.Equal(got.Prefix[len(got.Prefix)-len(open):], open) {
			t.Fatalf("hint at %d, turn opens at %d", got.HintStart, start-len(open))
		}
		if (p.Hint == "") != (got.HintLen == 0) {
			t.Fatalf("hint %q takes %d tokens", p.Hint, got.HintLen)
		}
		if got.CallsSpent != p.Turn || got.Kind != quarry.TaskPivot || got.PivotTurn != p.Turn || got.ParentEpisode != "e" || got.Budget != task.Budget {
			t.Fatalf("task %+v", got)
		}
		got.Prefix[0] = -7
		if !slices.Equal(parent, ep.Thread.IDs) {
			t.Fatal("the prefix shares memory with the parent")
		}
	})
}

func TestContinuationCallsSpent(t *testing.T) {
	task, ep := recorded(t, 5)
	for i, s := range []quarry.ToolStatus{quarry.ToolOK, quarry.ToolInfra, quarry.ToolRefused, quarry.ToolFailed, quarry.ToolOK} {
		ep.Thread.Turns[i].Events[0].Status = s
	}
	got, err := Continuation(task, ep, quarry.Pivot{EpisodeID: "e", Turn: 4, Hint: "Hint: go on."}, bridge{})
	if err != nil || got.CallsSpent != 2 {
		t.Errorf("spent %d, want the succeeded and the failed call; %v", got.CallsSpent, err)
	}
}

type broken struct{ bridge }

func (broken) UserThenAssistant(string) []int32 { return []int32{imStart, 'u', imEnd} }

func TestContinuationRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*quarry.Task, *quarry.Episode, *quarry.Pivot)
		bridge Bridge
		kind   quarry.Kind
	}{
		{"turn past the end", func(_ *quarry.Task, _ *quarry.Episode, p *quarry.Pivot) { p.Turn = 2 }, bridge{}, quarry.KindInvalid},
		{"negative turn", func(_ *quarry.Task, _ *quarry.Episode, p *quarry.Pivot) { p.Turn = -1 }, bridge{}, quarry.KindInvalid},
		{"another's pivot", func(_ *quarry.Task, _ *quarry.Episode, p *quarry.Pivot) { p.EpisodeID = "x" }, bridge{}, quarry.KindInvalid},
		{"another task", func(k *quarry.Task, _ *quarry.Episode, _ *quarry.Pivot) { k.ID = "x" }, bridge{}, quarry.KindInvalid},
		{"a continuation", func(_ *quarry.Task, e *quarry.Episode, _ *quarry.Pivot) { e.Kind = quarry.TaskPivot }, bridge{}, quarry.KindInvalid},
		{"no turn left", func(k *quarry.Task, _ *quarry.Episode, _ *quarry.Pivot) { k.Budget.Turns = 1 }, bridge{}, quarry.KindInvalid},
		{"shifted tokens", func(_ *quarry.Task, e *quarry.Episode, _ *quarry.Pivot) { e.Thread.Turns[1].Start++ }, bridge{}, quarry.KindCorrupt},
		{"start outside", func(_ *quarry.Task, e *quarry.Episode, _ *quarry.Pivot) { e.Thread.Turns[1].Start = 9999 }, bridge{}, quarry.KindCorrupt},
		{"start at 0", func(_ *quarry.Task, e *quarry.Episode, _ *quarry.Pivot) { e.Thread.Turns[1].Start = 0 }, bridge{}, quarry.KindCorrupt},
		{"bad bridge", func(*quarry.Task, *quarry.Episode, *quarry.Pivot) {}, broken{}, quarry.KindInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task, ep := recorded(t, 2)
			p := quarry.Pivot{EpisodeID: "e", Turn: 1, Hint: "Hint: go on."}
			tt.change(&task, ep, &p)
			if _, err := Continuation(task, ep, p, tt.bridge); quarry.KindOf(err) != tt.kind {
				t.Errorf("error %v, want %s", err, tt.kind)
			}
		})
	}
}
