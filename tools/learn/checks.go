package main

import (
	"fmt"
	"math"

	"github.com/quarry-rl/quarry/rewards"
)

// check is one criterion with what was measured. Seed is 0 for those over all seeds.
type check struct {
	Seed   uint64 `json:"seed,omitempty"`
	Name   string `json:"name"`
	Figure string `json:"figure"`
	Bar    string `json:"bar"`
	Pass   bool   `json:"pass"`
}

// The bars of docs/design/0002-learning.md.
const (
	baseMost   = 0.03
	sftLeast   = 0.15
	sftMost    = 0.45
	mixedLeast = 0.30
	ormBy      = 3
	crossLeast = 1.0 / 3
	manySeeds  = 5 // from here on single seeds and the interval count; below only the order of the means does
	orderLeast = 0.8
)

func checks(seeds []seedResult) []check {
	var out []check
	var done []seedResult
	for _, s := range seeds {
		if s.Error != "" {
			out = append(out, check{s.Seed, "all runs end", s.Error, "no error", false})
			continue
		}
		done = append(done, s)
		out = append(out, seedChecks(s)...)
	}
	return append(out, meanChecks(done, len(seeds))...)
}

func seedChecks(s seedResult) []check {
	base, sft, last := named(s.Eval, "base"), named(s.Eval, "sft"), s.last()
	gauges := []int{s.Gauge, s.Flipped.Gauge, s.Permuted.Gauge}
	return []check{
		{s.Seed, "base", percent(base.Success), "<= 3 %", base.N > 0 && base.Success <= baseMost},
		{s.Seed, "SFT", percent(sft.Success), "15 to 45 %", sft.Success >= sftLeast && sft.Success <= sftMost},
		{s.Seed, "intervals of base and last RL step", interval(base) + " and " + interval(last), "apart, the last above", base.N > 0 && last.Lo > base.Hi},
		{s.Seed, "groups of the first RL step that are mixed", percent(s.Mixed), ">= 30 %", s.Mixed >= mixedLeast},
		{s.Seed, "step where the ORM weight reaches 0.5", step(s.ORMStep), "<= 3", s.ORMStep > 0 && s.ORMStep <= ormBy},
		{s.Seed, "questions that cross documents", percent(s.Cross), ">= 1/3", s.Cross >= crossLeast},
		{s.Seed, "conservation of the three runs", fmt.Sprint(gauges), "0 each", gauges[0] == 0 && gauges[1] == 0 && gauges[2] == 0},
		{s.Seed, "controls start from the true run's weights", fmt.Sprintf("flipped %t, permuted %t", s.Flipped.SameStart, s.Permuted.SameStart), "both", s.Flipped.SameStart && s.Permuted.SameStart},
		{s.Seed, "flipped: SFT and last RL step", percent(s.Flipped.SFT.Success) + " and " + percent(s.Flipped.Last.Success), "falls", s.Flipped.Last.Success < s.Flipped.SFT.Success},
	}
}

// meanChecks are those over all seeds; a seed without result counts against the order.
func meanChecks(done []seedResult, asked int) []check {
	if len(done) == 0 {
		return nil
	}
	var base, sft, last, spoiled []float64
	ordered := 0
	for _, s := range done {
		b, f, l := named(s.Eval, "base").Success, named(s.Eval, "sft").Success, s.last().Success
		base, sft, last, spoiled = append(base, b), append(sft, f), append(last, l), append(spoiled, s.Permuted.Last.Success)
		if b < f && f < l {
			ordered++
		}
	}
	b, f, l := mean(base), mean(sft), mean(last)
	out := []check{{0, "mean: base < SFT < last RL step", percent(b) + " < " + percent(f) + " < " + percent(l), "in this order", b < f && f < l}}
	if asked >= manySeeds {
		least := int(math.Ceil(orderLeast * float64(asked)))
		out = append(out, check{0, "seeds with that order", fmt.Sprintf("%d of %d", ordered, asked), fmt.Sprintf(">= %d", least), ordered >= least})
	}
	out = append(out, check{0, "mean of true - permuted", points(l - mean(spoiled)), "> 0", l > mean(spoiled)})
	if asked >= manySeeds {
		_, lo, hi, err := rewards.PairedDiffCI(last, spoiled, 0.95)
		c := check{0, "its 95 % t interval over the seeds", "", "above 0", err == nil && lo > 0 && len(done) == asked}
		if c.Figure = points(lo) + " to " + points(hi); err != nil {
			c.Figure = err.Error()
		}
		out = append(out, c)
	}
	return out
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
