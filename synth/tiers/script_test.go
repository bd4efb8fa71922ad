package tiers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quarry-rl/quarry"
)

// script answers attempts from what they are, never from when they are made.
type script func(it *Item, a Attempt) Outcome

func (s script) Attempt(_ context.Context, it *Item, a Attempt) Outcome { return s(it, a) }

// draw is a number in [0, 1) that an attempt determines.
func draw(seed uint64, question string, a Attempt, what string) float64 {
	return rand.New(rand.NewPCG(seed, hash(fmt.Sprint(question, a.Mode, a.Tier, a.N, what)))).Float64()
}

// model succeeds at known rates.
func model(seed uint64, rate func(a Attempt) float64) script {
	return func(it *Item, a Attempt) Outcome {
		o := Outcome{Result: Wrong, Usage: Usage{1, 10, 2}}
		if draw(seed, it.Question.ID, a, "") < rate(a) {
			o.Result = Right
		}
		return o
	}
}

func item(id string) *Item { return &Item{Question: &quarry.Question{ID: id}} }

// drive makes the attempts of one question one after the other.
func drive(t testing.TB, r Rules, it *Item, s Solver) (*Decision, []Outcome) {
	t.Helper()
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	m := NewMachine(&r, it)
	var made []Outcome
	for {
		need, d := m.Next()
		if d != nil {
			return d, made
		}
		if len(need) == 0 {
			t.Fatal("neither a decision nor anything to do")
		}
		for _, a := range need {
			o := s.Attempt(t.Context(), it, a)
			o.Question, o.Mode, o.Tier, o.N = it.Question.ID, a.Mode, a.Tier, a.N
			if err := m.Add(o); err != nil {
				t.Fatal(err)
			}
			made = append(made, o)
		}
	}
}

// share is the kept share of n questions.
func share(t testing.TB, n int, r Rules, s Solver) float64 {
	kept := 0
	for i := range n {
		if d, _ := drive(t, r, item(fmt.Sprint("q", i)), s); d.State == Kept {
			kept++
		}
	}
	return float64(kept) / float64(n)
}

// near fails unless a share of n is within three standard deviations of p.
func near(t *testing.T, what string, got, p float64, n int) {
	t.Helper()
	if sigma := math.Sqrt(p * (1 - p) / float64(n)); math.Abs(got-p) > 3*sigma+1e-12 {
		t.Errorf("%s: %.4f, want %.4f +- %.4f", what, got, p, 3*sigma)
	}
}

func preset(t testing.TB, name string, tiers ...string) Rules {
	t.Helper()
	r, err := Preset(name, tiers...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// counted gives the first right[mode tier] attempts to success and the rest to failure.
func counted(right map[string]int) script {
	return func(_ *Item, a Attempt) Outcome {
		if a.N < right[string(a.Mode)+" "+a.Tier] {
			return Outcome{Result: Right}
		}
		return Outcome{Result: Wrong}
	}
}

// results gives attempts the results of a string: r right, w wrong, t timeout, e error, x refused; what is behind it, r.
func results(s string) script {
	return func(_ *Item, a Attempt) Outcome {
		c := byte('r')
		if a.N < len(s) {
			c = s[a.N]
		}
		switch c {
		case 'w':
			return Outcome{Result: Wrong}
		case 't':
			return Outcome{Result: Timeout}
		case 'e':
			return Outcome{Result: Error, Kind: ErrUnavailable}
		case 'x':
			return Outcome{Result: Error, Kind: ErrRefused}
		}
		return Outcome{Result: Right}
	}
}
