package wording

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

// scripted answers with one text after the other and keeps what it was asked.
type scripted struct {
	answers []string
	asked   []Request
	err     error
}

func (s *scripted) Complete(_ context.Context, r Request) (string, error) {
	s.asked = append(s.asked, r)
	if s.err != nil {
		return "", s.err
	}
	return s.answers[(len(s.asked)-1)%len(s.answers)], nil
}

func answer(q string) string {
	b, _ := json.Marshal(map[string]any{"question": q, "statements": []string{}})
	return string(b)
}

var ralen = Plan{Kinds: []Kind{Person, Work, Date}, Answer: 1,
	Atoms: []Atom{{Name("Toledo Press"), Relation{ID: "led_by", Label: "led by"}, Var(0)}, {Var(1), Relation{ID: "created_by", Label: "created by"}, Var(0)},
		{Var(1), Relation{ID: "released_in", Label: "released in"}, Var(2)}},
	Marks: []Mark{{Var: 2, Kind: InYears, From: 1950, To: 1959}}}

const fine = "A leader of Toledo Press created a work that came out in the 1950s. Which work is it?"

func TestAccept(t *testing.T) {
	leaks := func(s string) string {
		if strings.Contains(s, "secret") {
			return "secret"
		}
		return ""
	}
	for _, c := range []struct{ name, answer, reason string }{
		{"fine", answer(fine), ""},
		{"possessive", answer("Which 1950s work was made by Toledo Press's leader?"), ""},
		{"not json", "Sure! " + answer(fine), RefusedJSON},
		{"more after", answer(fine) + " {}", RefusedJSON},
		{"no statements", `{"question":"` + fine + `"}`, RefusedJSON},
		{"more fields", `{"question":"` + fine + `","statements":[],"x":1}`, RefusedJSON},
		{"name lost", answer("A leader of a press created a work in the 1950s. Which work is it?"), RefusedMissing},
		{"name cut", answer("Which 1950s work is by the leader of Toledo Pressing?"), RefusedMissing},
		{"decade lost", answer("A leader of Toledo Press created a work. Which work is it?"), RefusedMissing},
		{"path named", answer("Anna Toledo of Toledo Press created a work in the 1950s. Which work is it?"), RefusedTelling},
		{"answer named", answer("Was Winter in Momiv, of the 1950s, by a leader of Toledo Press?"), RefusedTelling},
		{"hidden within a constant", answer(fine), ""},
		{"leak", answer("Which secret work of the 1950s was made by a leader of Toledo Press?"), RefusedLeak},
		{"asks nothing", answer("A leader of Toledo Press created a work in the 1950s."), RefusedForm},
		{"steps", answer("Step 1: find the leader of Toledo Press. Step 2: which work of the 1950s?"), RefusedForm},
		{"other language", answer("Toledo Press的领导人在1950s创作了哪部作品？"), RefusedLanguage},
		{"empty", answer(""), RefusedLength},
		{"long", answer(strings.Repeat(fine, 40)), RefusedLength},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, reason, detail := Rewriter{Leaks: leaks}.Accept(ralen, English, c.answer, []string{"Anna Toledo", "Winter in Momiv", "Toledo", ""})
			if reason != c.reason || (reason == "") != (text != "") || (reason == "") != (detail == "") {
				t.Errorf("%q %q %q, want %q", text, reason, detail, c.reason)
			}
			for _, h := range []string{"Anna", "Momiv"} {
				if strings.Contains(detail, h) {
					t.Errorf("the teacher is told %q", detail)
				}
			}
		})
	}
}

type always bool

func (a always) Same(context.Context, string, string) (bool, error) { return bool(a), nil }

func TestRewriteIsBounded(t *testing.T) {
	bad := &scripted{answers: []string{"no"}}
	got, err := Rewriter{Teacher: bad, Attempts: 4}.Rewrite(t.Context(), ralen, English, "draft", nil)
	var e *quarry.Error
	if !errors.As(err, &e) || e.Subject != RefusedJSON || len(bad.asked) != 4 || got.Calls != 4 || len(got.Refused) != 4 {
		t.Fatalf("%+v %v, %d calls", got, err, len(bad.asked))
	}
	second := &scripted{answers: []string{answer("Which work is it, in the 1950s?"), answer(fine)}}
	got, err = Rewriter{Teacher: second}.Rewrite(t.Context(), ralen, English, "draft", nil)
	if err != nil || got.Text != fine || got.Calls != 2 || len(got.Refused) != 1 || got.Refused[0] != RefusedMissing {
		t.Fatalf("%+v %v", got, err)
	}
	if r := second.asked[1]; r.Attempt != 1 || !strings.Contains(r.User, `"Toledo Press" is missing`) || !json.Valid(r.Schema) {
		t.Errorf("%+v", r)
	}
	if _, err = (Rewriter{Teacher: &scripted{answers: []string{answer(fine)}}, Judge: always(false)}).Rewrite(t.Context(), ralen, English, "draft", nil); !errors.As(err, &e) || e.Subject != RefusedAtoms {
		t.Error(err)
	}
	down := &scripted{err: errors.New("down")}
	if _, err = (Rewriter{Teacher: down}).Rewrite(t.Context(), ralen, English, "draft", nil); !errors.Is(err, down.err) || len(down.asked) != 1 {
		t.Errorf("%v after %d calls", err, len(down.asked))
	}
}

func FuzzAccept(f *testing.F) {
	f.Add(answer(fine))
	f.Add(`{"question":null}`)
	f.Fuzz(func(t *testing.T, s string) {
		text, reason, _ := Rewriter{}.Accept(ralen, English, s, []string{"Momiv"})
		if reason == "" && (!strings.Contains(text, "Toledo Press") || strings.Contains(text, " Momiv ")) {
			t.Fatal(text)
		}
	})
}
