package pipeline

import (
	"context"
	"math"
	"time"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
)

// Price is what models cost, in any one currency.
type Price struct {
	Call         float64
	PromptTokens float64 // a million
	OutputTokens float64 // a million
}

// Of is the price of a cost.
func (p Price) Of(c Cost) float64 {
	return p.Call*float64(c.Calls) + (p.PromptTokens*float64(c.PromptTokens)+p.OutputTokens*float64(c.OutputTokens))/1e6
}

// PolicyGuess is what a policy is expected to do with a question: it is not asked before the plan is agreed to.
type PolicyGuess struct {
	Keeps float64 // share of questions; 0 is 1
	Cost  Cost    // of one question
}

// Estimate is what a run is expected to need.
type Estimate struct {
	Sample      int     `json:"sample"`      // walks that were tried
	Passed      int     `json:"passed"`      // of them came to the policy
	Yield       float64 `json:"yield"`       // accepted questions per walk
	Low         float64 `json:"yield_low"`   // 95 % interval of it (Wilson); caps and duplicates grow with the run
	High        float64 `json:"yield_high"`  //
	Walks       int     `json:"walks"`       // for Accept questions; MaxWalks when those come first
	Accepted    int     `json:"accepted"`    // questions to expect
	Cost        Cost    `json:"cost"`        // of models
	Price       float64 `json:"price"`       //
	Seconds     float64 `json:"seconds"`     // at the concurrency of the options, without waiting for a policy
	SampleSpent Cost    `json:"sample_cost"` // of the writer
}

// Plan tries so many walks from number 0 on and says what a run needs. The policy is not asked; the writer is.
func Plan(ctx context.Context, g *kg.Mapped, o Options, hooks Hooks, sample int, guess PolicyGuess, price Price) (Estimate, error) {
	hooks.Filter = nil
	s, err := NewSpace(g, o, hooks)
	if err != nil {
		return Estimate{}, err
	}
	if sample < 1 || guess.Keeps < 0 || guess.Keeps > 1 {
		return Estimate{}, &quarry.Error{Op: "synth plan", Kind: quarry.KindInvalid, Subject: "sample", Msg: "one walk at least, and a share of questions that are kept from 0 to 1", Hint: "1,000 walks tell enough"}
	}
	if guess.Keeps == 0 {
		guess.Keeps = 1
	}
	chosen, err := newSelection(s.o)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Sample: min(sample, s.o.MaxWalks)}
	begun := time.Now()
	err = s.candidates(ctx, 0, e.Sample, func(c Candidate) (bool, error) {
		e.SampleSpent = e.SampleSpent.plus(c.Cost)
		if c.Question == nil {
			return true, nil
		}
		r, err := chosen.add(c.Walk, c.Question)
		if err == nil && r.reason == "" {
			e.Passed++
		}
		return true, err
	})
	if err != nil {
		return Estimate{}, err
	}
	seconds := time.Since(begun).Seconds()
	e.Low, e.High = wilson(e.Passed, e.Sample)
	e.Low, e.High, e.Yield = e.Low*guess.Keeps, e.High*guess.Keeps, float64(e.Passed)/float64(e.Sample)*guess.Keeps
	e.Walks = s.o.MaxWalks
	if s.o.Accept > 0 && e.Yield > 0 {
		e.Walks = min(e.Walks, int(math.Ceil(float64(s.o.Accept)/e.Yield)))
	}
	scale := func(n int) int { return int(math.Ceil(float64(n) * float64(e.Walks) / float64(e.Sample))) }
	e.Accepted = int(math.Round(e.Yield * float64(e.Walks)))
	if s.o.Accept > 0 {
		e.Accepted = min(e.Accepted, s.o.Accept)
	}
	e.Cost = Cost{scale(e.SampleSpent.Calls + e.Passed*guess.Cost.Calls), scale(e.SampleSpent.PromptTokens + e.Passed*guess.Cost.PromptTokens),
		scale(e.SampleSpent.OutputTokens + e.Passed*guess.Cost.OutputTokens)}
	e.Price = price.Of(e.Cost)
	e.Seconds = seconds * float64(e.Walks) / float64(e.Sample)
	return e, nil
}

// wilson is the 95 % score interval of a share (Wilson 1927).
func wilson(k, n int) (low, high float64) {
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	mid, half := (p+z*z/(2*m))/(1+z*z/m), z/(1+z*z/m)*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(mid-half, 0), min(mid+half, 1)
}
