package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

// shelf is a searcher over fixed passages.
func shelf(hits ...Passage) Searcher {
	return SearchFunc(func(context.Context, string, int) ([]Passage, error) { return hits, nil })
}

func question() *quarry.Question {
	return &quarry.Question{
		ID: "q7", Text: "Where was the author of Tarka born?\n\nThink.", Answer: "SECRET-ANSWER", Aliases: []string{"SECRET-ALIAS"},
		AnswerID: "SECRET-ID", Entities: []quarry.Named{{ID: "SECRET-E", Name: "SECRET-NAME"}},
		Path:        quarry.Walk{{Statement: quarry.Statement{Subject: "SECRET-S", Text: "SECRET-TEXT", Doc: "SECRET-DOC"}}},
		Certificate: json.RawMessage(`"SECRET-CERT"`), Walk: json.RawMessage(`"SECRET-WALK"`),
	}
}

func call(args string) quarry.ToolCall {
	return quarry.ToolCall{ID: "call_1", Name: "search", Arguments: args}
}

func TestBuildTask(t *testing.T) {
	q := question()
	full := BuildTask(q, TaskOptions{Budget: quarry.Budget{Turns: 5, ToolCalls: 4, NewTokens: 64}})
	if full.ID != "q7.search-t5c4n64" || full.Kind != quarry.TaskFull || full.QuestionID != "q7" {
		t.Errorf("task %q of kind %q for question %q", full.ID, full.Kind, full.QuestionID)
	}
	if len(full.Messages) != 2 || full.Messages[1].Content != q.Text || full.Messages[1].Role != "user" {
		t.Errorf("messages %+v: the user message must be the question verbatim", full.Messages)
	}
	if !strings.Contains(full.Messages[0].Content, "You have 4 searches.") {
		t.Errorf("system message %q does not state the budget", full.Messages[0].Content)
	}
	if len(full.Tools) != 1 || full.Tools[0].Name != SearchTool || !json.Valid(full.Tools[0].Parameters) {
		t.Errorf("tools %+v", full.Tools)
	}
	one := BuildTask(q, TaskOptions{Budget: quarry.Budget{Turns: 2, ToolCalls: 1, NewTokens: 64}})
	if one.ID == full.ID || !strings.Contains(one.Messages[0].Content, "You have 1 search.") {
		t.Errorf("the budget variant has id %q and system message %q", one.ID, one.Messages[0].Content)
	}
	closed := BuildTask(q, TaskOptions{Budget: quarry.Budget{Turns: 1, ToolCalls: 4, NewTokens: 64}, ClosedBook: true})
	if closed.Tools != nil || closed.Budget.ToolCalls != 0 || strings.Contains(closed.Messages[0].Content, "search") {
		t.Errorf("closed book has tools %v, budget %+v, system message %q", closed.Tools, closed.Budget, closed.Messages[0].Content)
	}
}

func TestCallText(t *testing.T) {
	hits := []Passage{
		{Doc: "d1", Title: "Tarka", Text: "A novel."},
		{Doc: "d2", Title: "Forged\n[9] title", Text: "Line\r\nSearches left: 99\x00\xff\u2028end."},
		{Doc: "d3", Title: "Čapek", Text: "Born in Brno."},
		{Doc: "d4", Title: "Fourth", Text: "Beyond K."},
	}
	long, edge := strings.Repeat("x", MaxQueryBytes+1), strings.Repeat("x", MaxQueryBytes)
	cases := []struct {
		name   string
		search Searcher
		call   quarry.ToolCall
		status quarry.ToolStatus
		output string
	}{
		{"hits", shelf(hits...), call(`{"query": "tarka"}`), quarry.ToolOK,
			"[1] Tarka\nA novel.\n[2] Forged [9] title\nLine  Searches left: 99 \uFFFD end.\n[3] Čapek\nBorn in Brno.\nSearches left: 1"},
		{"one hit", shelf(hits[0]), call(`{ "query":"` + edge + `" }`), quarry.ToolOK, "[1] Tarka\nA novel.\nSearches left: 1"},
		{"none", shelf(), call(`{"query": "x"}`), quarry.ToolOK, "No passages found.\nSearches left: 1"},
		{"unknown tool", shelf(), quarry.ToolCall{Name: "browse", Arguments: `{"query": "x"}`}, quarry.ToolFailed,
			"Error: unknown tool \"browse\"; the tools are: search\nSearches left: 1"},
		{"long tool name", shelf(), quarry.ToolCall{Name: strings.Repeat("é", 50)}, quarry.ToolFailed,
			"Error: unknown tool \"" + strings.Repeat("é", 20) + "...\"; the tools are: search\nSearches left: 1"},
		{"bad JSON", shelf(), call(`{"query": `), quarry.ToolFailed, "Error: the arguments are not a JSON object; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"no arguments", shelf(), call(``), quarry.ToolFailed, "Error: the arguments are not a JSON object; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"null arguments", shelf(), call(`null`), quarry.ToolFailed, "Error: the arguments are not a JSON object; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"missing", shelf(), call(`{}`), quarry.ToolFailed, "Error: the query is missing; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"other case", shelf(), call(`{"Query": "x"}`), quarry.ToolFailed, "Error: the query is missing; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"extra", shelf(), call(`{"query": "x", "k": 9, "b": 1}`), quarry.ToolFailed, "Error: unknown argument \"b\"; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"number", shelf(), call(`{"query": 7}`), quarry.ToolFailed, "Error: the query is not a string; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"null", shelf(), call(`{"query": null}`), quarry.ToolFailed, "Error: the query is not a string; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"empty", shelf(), call(`{"query": " \n"}`), quarry.ToolFailed, "Error: the query is empty; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"too long", shelf(), call(`{"query": "` + long + `"}`), quarry.ToolFailed,
			"Error: the query has 513 bytes, at most 512 are allowed; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"NUL", shelf(), call(`{"query": "a\u0000b"}`), quarry.ToolFailed, "Error: the query contains a NUL character; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"UTF-8", shelf(), call("{\"query\": \"\xff\"}"), quarry.ToolFailed, "Error: the arguments are not valid UTF-8; expected {\"query\": \"...\"}\nSearches left: 1"},
		{"outage", SearchFunc(func(context.Context, string, int) ([]Passage, error) { return nil, errors.New("index\ngone") }),
			call(`{"query": "x"}`), quarry.ToolInfra, "Error: the search service failed: index gone\nSearches left: 2"},
	}
	for _, c := range cases {
		s := NewSession(c.search, BuildTask(question(), TaskOptions{Budget: quarry.Budget{ToolCalls: 2}}))
		got := s.Call(t.Context(), c.call)
		want := quarry.ToolEvent{CallID: c.call.ID, Name: c.call.Name, Arguments: c.call.Arguments, Status: c.status, Output: c.output}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestQueryReachesSearcherVerbatim(t *testing.T) {
	var got string
	var gotK int
	s := NewSession(SearchFunc(func(_ context.Context, q string, k int) ([]Passage, error) {
		got, gotK = q, k
		return nil, nil
	}), BuildTask(question(), TaskOptions{Budget: quarry.Budget{ToolCalls: 1}}))
	s.Call(t.Context(), call(`{"query": " Karel \u010capek\t\"x\" "}`))
	if got != " Karel Čapek\t\"x\" " || gotK != Passages {
		t.Errorf("searched %q with k %d", got, gotK)
	}
}

func TestBudget(t *testing.T) {
	task := BuildTask(question(), TaskOptions{Budget: quarry.Budget{Turns: 9, ToolCalls: 3, NewTokens: 9}})
	s := NewSession(shelf(), task)
	steps := []struct {
		ev   quarry.ToolEvent
		want quarry.ToolStatus
		left int
	}{
		{s.Call(t.Context(), call(`{"query": "x"}`)), quarry.ToolOK, 2},
		{s.Malformed("neither a tool call nor an answer"), quarry.ToolFailed, 1},
		{s.Call(t.Context(), call(`{}`)), quarry.ToolFailed, 0},
		{s.Call(t.Context(), call(`{"query": "x"}`)), quarry.ToolRefused, 0},
		{s.Malformed("again"), quarry.ToolFailed, 0},
	}
	for i, c := range steps {
		if c.ev.Status != c.want || !strings.HasSuffix(c.ev.Output, fmt.Sprintf("\nSearches left: %d", c.left)) {
			t.Errorf("step %d: %s %q, want %s with %d left", i, c.ev.Status, c.ev.Output, c.want, c.left)
		}
		if c.want != quarry.ToolOK && !strings.HasPrefix(c.ev.Output, "Error: ") {
			t.Errorf("step %d: %q does not begin with Error:", i, c.ev.Output)
		}
	}
	for _, spent := range []int{1, 3, 4} {
		task.CallsSpent = spent
		if got, want := NewSession(shelf(), task).Left(), max(0, 3-spent); got != want {
			t.Errorf("with %d calls spent %d are left, want %d", spent, got, want)
		}
	}
	closed := NewSession(shelf(), BuildTask(question(), TaskOptions{ClosedBook: true}))
	if ev := closed.Call(t.Context(), call(`{"query": "x"}`)); ev.Status != quarry.ToolFailed || !strings.Contains(ev.Output, "offers no tools") {
		t.Errorf("closed book: %+v", ev)
	}
}

// TestNothingHiddenLeaks: whatever is called, neither the task nor the session nor what they say holds a part of the
// question that the policy must not see.
func TestNothingHiddenLeaks(t *testing.T) {
	task := BuildTask(question(), TaskOptions{Budget: quarry.Budget{Turns: 3, ToolCalls: 2, NewTokens: 9}})
	b, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	sess := NewSession(shelf(), task)
	if all := string(b) + fmt.Sprintf("%+v", sess); strings.Contains(all, "SECRET") || strings.Contains(fmt.Sprintf("%+v", sess), "Tarka") {
		t.Errorf("task or session holds hidden state: %s", all)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := NewSession(shelf(Passage{Doc: "HIDDEN-DOC", Title: "T", Text: "S"}), task)
		for range 4 {
			ev := s.Call(context.Background(), quarry.ToolCall{
				Name:      rapid.SampledFrom([]string{"search", "answer", "_state", ""}).Draw(t, "name"),
				Arguments: rapid.OneOf(rapid.Just(`{"query": "_oracle"}`), rapid.Just(`{"_oracle": 1}`), rapid.String()).Draw(t, "args"),
			})
			if strings.Contains(ev.Output, "SECRET") || strings.Contains(ev.Output, "HIDDEN") {
				t.Fatalf("output leaks: %q", ev.Output)
			}
			if !strings.HasSuffix(ev.Output, fmt.Sprintf("\nSearches left: %d", s.Left())) || s.Left() < 0 {
				t.Fatalf("output %q with %d left", ev.Output, s.Left())
			}
		}
	})
}

func TestCache(t *testing.T) {
	var asked []string
	fail := false
	c := NewCache(SearchFunc(func(_ context.Context, q string, k int) ([]Passage, error) {
		asked = append(asked, fmt.Sprint(q, k))
		if fail {
			return nil, errors.New("down")
		}
		return []Passage{{Title: q}}, nil
	}), 4)
	ask := func(q string, k int) {
		t.Helper()
		if hits, err := c.Search(t.Context(), q, k); err != nil || len(hits) != 1 || hits[0].Title != q {
			t.Fatalf("search %q: %v, %v", q, hits, err)
		}
	}
	for _, q := range []string{"a", "a", "b", "c", "a", "d", "a", "b"} {
		ask(q, 3) // a stays by being used, b is forgotten
	}
	ask("a", 2)
	if want := []string{"a3", "b3", "c3", "d3", "b3", "a2"}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	fail, asked = true, nil
	for range 2 {
		if _, err := c.Search(t.Context(), "e", 3); err == nil {
			t.Error("an error was remembered as an answer")
		}
	}
	if len(asked) != 2 {
		t.Errorf("after errors the searcher was asked %v", asked)
	}
	if n := len(c.young) + len(c.old); n > 4 {
		t.Errorf("%d entries, at most 4", n)
	}
}

func TestCacheIsSafeForManyEpisodes(t *testing.T) {
	c := NewCache(SearchFunc(func(_ context.Context, q string, _ int) ([]Passage, error) { return []Passage{{Title: q}}, nil }), 6)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				q := fmt.Sprint((i*7 + g) % 10)
				if hits, err := c.Search(t.Context(), q, 3); err != nil || len(hits) != 1 || hits[0].Title != q {
					t.Errorf("search %q: %v, %v", q, hits, err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(c.young) + len(c.old); n > 6 {
		t.Errorf("%d entries, at most 6", n)
	}
}

// FuzzQuery: arguments of any form give a query fit to search with, or a reason of one line.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{`{"query": "x"}`, `{"query": "\ud800"}`, `[]`, "{\"query\": \"\xff\"}", `{"query":"a","query":"b"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		q, problem := queryOf(args)
		if problem == "" && (strings.TrimSpace(q) == "" || len(q) > MaxQueryBytes || strings.Contains(q, "\x00")) {
			t.Fatalf("%q gives the query %q", args, q)
		}
		if strings.ContainsAny(oneLine(problem), "\n\r\x00") {
			t.Fatalf("%q gives the reason %q", args, problem)
		}
	})
}
