package loop

import (
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/english"
)

// A policy copes with questions in wordings that no question it was trained on has: another opening, words behind, the
// conditions first. Names and the phrases of relations stay. Its success keeps at least four fifths of what it was.
func TestOtherWordingsKeepSuccess(t *testing.T) {
	e, weights, train, heldout := learnt(t)
	qs := append(heldout, train[:20]...) // what is new is the wording
	before := success(t, e, weights, qs, t.TempDir())
	if before.Success < 0.2 {
		t.Fatalf("success %.3f: nothing was learnt that could be lost", before.Success)
	}
	for how, reword := range map[string]func(np, clues string) string{
		"opening": func(np, clues string) string { return "Do you happen to know " + np + "?" + clues },
		"tail":    func(np, clues string) string { return "Somebody asked me about " + np + ", can you help?" + clues },
		"order": func(np, clues string) string {
			return strings.TrimSpace(clues + " " + strings.ToUpper(np[:1]) + np[1:] + " is what I would like to know.")
		},
	} {
		after := success(t, e, weights, reworded(t, qs, reword), t.TempDir())
		t.Logf("%s: %d questions, success %.3f [%.3f, %.3f], reworded %.3f", how, len(qs), before.Success, before.Lo, before.Hi, after.Success)
		if after.Success < 0.8*before.Success {
			t.Errorf("%s: success %.3f, reworded %.3f", how, before.Success, after.Success)
		}
	}
}

// reworded puts every question in another wording, which the exact reading does not know.
func reworded(t *testing.T, qs []quarry.Question, reword func(np, clues string) string) []quarry.Question {
	t.Helper()
	lex := english.Load()
	out := make([]quarry.Question, len(qs))
	for i, q := range qs {
		plan, ok := lex.Read(q.Text)
		if !ok {
			t.Fatalf("question %q cannot be read", q.Text)
		}
		np, clues, _ := strings.Cut(english.Write(plan, 0), "?") // "Who is NP? It is also ..."
		np = strings.TrimPrefix(strings.TrimPrefix(np, "What is "), "Who is ")
		q.Text = reword(np, clues)
		if _, ok := lex.Read(q.Text); ok {
			t.Fatalf("%q is a wording of synth", q.Text)
		}
		out[i] = q
	}
	return out
}
