package tiers

import (
	"context"
	"testing"
)

// judge votes by a function.
type judge func(b Ballot) Vote

func (j judge) Vote(_ context.Context, b Ballot) (Vote, Usage) { return j(b), Usage{Calls: 1} }

// All 27 votes of three judges, and what two more say where they are asked.
func TestMajority(t *testing.T) {
	letter := map[byte]Vote{'y': Yes, 'n': No, 'i': Invalid}
	for _, a := range "yni" {
		for _, b := range "yni" {
			for _, c := range "yni" {
				s := string([]rune{a, b, c})
				yes, no := 0, 0
				for i := range s {
					switch s[i] {
					case 'y':
						yes++
					case 'n':
						no++
					}
				}
				decided := yes+no >= 2 && yes != no
				for more, want := range map[string]Result{"yy": Right, "nn": Wrong, "ii": Error} {
					switch {
					case decided && yes > no:
						want = Right
					case decided:
						want = Wrong
					}
					ballots := s + more
					calls := 0
					o := Judged{script(func(*Item, Attempt) Outcome { return Outcome{Answer: "x"} }), judge(func(b Ballot) Vote {
						calls++
						if b.Answer != "x" {
							t.Errorf("judge sees %q", b.Answer)
						}
						return letter[ballots[b.N]]
					})}.Attempt(t.Context(), item("q"), Attempt{Mode: ModeFull})
					if s == "iii" && more != "ii" { // two valid votes of five decide
						want = map[string]Result{"yy": Right, "nn": Wrong}[more]
					}
					if o.Result != want || calls != o.Judges.Calls || decided && calls != 3 || !decided && calls != 5 {
						t.Errorf("%s %s: %s after %d votes, want %s", s, more, o.Result, calls, want)
					}
					if (o.Result == Error) != (o.Kind == ErrJudge) {
						t.Errorf("%s: kind %q", s, o.Kind)
					}
				}
			}
		}
	}
}

func TestJudgedLeavesResults(t *testing.T) {
	never := judge(func(Ballot) Vote { t.Error("a judge was asked"); return No })
	for _, r := range []Result{Right, Wrong, Timeout, Error} {
		o := Judged{script(func(*Item, Attempt) Outcome { return Outcome{Result: r} }), never}.Attempt(t.Context(), item("q"), Attempt{Mode: ModeFull})
		if o.Result != r {
			t.Errorf("%s became %s", r, o.Result)
		}
	}
	o := Judged{nil, judge(func(b Ballot) Vote { return "maybe" })}.Attempt(t.Context(), item("q"), Attempt{Mode: ModePlausible})
	if o.Kind != ErrJudge || len(o.Votes) != 5 || o.Votes[0] != Invalid {
		t.Errorf("%+v", o)
	}
}
