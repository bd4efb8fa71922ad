package tiers

import "slices"

// significant is the level of the tests whose outcome is a reason and not a setting.
const significant = 0.05

// trial is one pass of a question through the stages.
type trial struct {
	*Machine
	difficulty Difficulty
	panel      map[string]Tally // of the tiers that the panel asked
}

func (t *trial) stage(s Stage) verdict {
	r := t.rules
	switch {
	case s == StageOracle && r.Oracle != nil:
		return t.oracle(r.Oracle)
	case s == StageClosed && r.Closed != nil:
		return t.closedBook(r.Closed)
	case s == StageSearch && r.Search && t.item.Search != nil:
		h := t.item.Search
		return reject(ReasonSearch, "query %q: document %d has the answer and %d of %d clues", h.Query, h.Doc, h.Held, h.Clues)
	case s == StageSingle && r.Single != nil:
		return t.single(r.Single)
	case s == StagePanel && r.Panel != nil:
		return t.tiers(r.Panel)
	case s == StageBand && r.Band != nil:
		return t.band(r.Band)
	case s == StagePlausibility && r.Plausibility != nil:
		return t.plausible(r.Plausibility)
	}
	return verdict{}
}

func (t *trial) oracle(r *OracleRule) verdict {
	most := r.Steps[len(r.Steps)-1] - r.Right // wrong answers that are allowed
	broken := func(x *Tally) bool { return x.Scored-x.Right > most }
	a := t.ask(ModeOracle, t.rules.top(), &r.Ask, func(x *Tally) bool { return x.Right >= r.Right || broken(x) })
	t.difficulty.Oracle = &a.Tally
	switch {
	case a.open():
		return a.verdict
	case a.Right >= r.Right:
		return verdict{}
	case broken(&a.Tally):
		return reject(ReasonOracle, "%d of %d right with the evidence, %d needed", a.Right, a.Scored, r.Right)
	}
	return quarantined(&a.Tally, ModeOracle, r.Steps[len(r.Steps)-1]) // what is missing would decide
}

func (t *trial) closedBook(r *ClosedRule) verdict {
	class := t.item.Answers
	if class.Size > 0 && class.Size < r.MinAnswers {
		return reject(ReasonFewAnswers, "%d possible answers, at least %d are needed", class.Size, r.MinAnswers)
	}
	limit := 0.0
	if !r.Strict {
		limit = max(r.Tau, class.Majority)
	}
	last := r.Steps[len(r.Steps)-1]
	// known, once so many are right that further failures cannot bring the rate down to the limit
	a := t.ask(ModeClosed, t.rules.top(), &r.Ask, func(x *Tally) bool { return above(x.Right, last, limit) })
	cb := ClosedBook{Tally: a.Tally, BaseRate: class.Majority}
	if class.Majority > 0 {
		cb.ByGuess = AtLeast(a.Right, a.Scored, class.Majority)
	}
	t.difficulty.Closed = &cb
	switch {
	case a.open():
		return a.verdict
	case !above(a.Right, a.Scored, limit):
		return verdict{}
	case cb.ByGuess > significant:
		return reject(ReasonGuess, "%d of %d right; guessing at %.2f does that with probability %.2f", a.Right, a.Scored, class.Majority, cb.ByGuess)
	}
	return reject(ReasonClosed, "%d of %d right without a tool, limit %.3g", a.Right, a.Scored, limit)
}

// above says whether x of k is more than a rate; a hair's breadth is rounding.
func above(x, k int, rate float64) bool { return float64(x) > rate*float64(k)+1e-9 }

func (t *trial) single(r *SingleRule) verdict {
	a := t.ask(ModeSingle, t.rules.top(), &r.Ask, func(x *Tally) bool { return x.Right > 0 })
	t.difficulty.Single = &a.Tally
	switch {
	case a.open():
		return a.verdict
	case a.Right > 0:
		return reject(ReasonSingle, "%d of %d right with one tool call", a.Right, a.Scored)
	}
	return verdict{}
}

// tiers asks from the strongest tier down: what it cannot do need not be tried by others.
func (t *trial) tiers(p *PanelRule) verdict {
	names, top := t.rules.Tiers, t.rules.top()
	for i := len(names) - 1; i >= p.First; i-- {
		bounds := t.rules.bounds(i)
		a := t.ask(ModeFull, names[i], &p.Ask, func(x *Tally) bool { return !spans(x, bounds) })
		t.record(a.Tally)
		if a.open() {
			return a.verdict
		}
		if names[i] == top && a.Right > 0 && above(-a.Right, a.Scored, -p.MinTop) {
			return reject(ReasonTop, "%s: %d of %d right, %.3g needed", top, a.Right, a.Scored, p.MinTop)
		}
		if names[i] == top && a.Right == 0 && p.MinTop > 0 {
			return reject(ReasonNever, "%s: 0 of %d right", top, a.Scored)
		}
	}
	for _, step := range p.Steps { // further attempts of the strongest while the question is open
		right, wrong := t.total()
		x := t.panel[top]
		if !(right == 0 && x.Hi > p.OpenBelow && p.OpenBelow > 0 || wrong == 0 && x.Lo < p.OpenAbove) {
			break
		}
		if step <= x.Scored {
			continue
		}
		a := t.ask(ModeFull, top, &Ask{Steps: []int{step}, Quorum: p.Quorum, Temperature: p.Temperature}, func(*Tally) bool { return true })
		t.record(a.Tally)
		if a.open() {
			return a.verdict
		}
	}
	return t.spread(p)
}

// spread judges the finished tallies.
func (t *trial) spread(p *PanelRule) verdict {
	right, wrong := t.total()
	switch {
	case right == 0 && p.MinRight > 0:
		return reject(ReasonNever, "0 of %d right", wrong)
	case wrong == 0 && p.MinWrong > 0:
		return reject(ReasonAlways, "%d of %d right", right, right)
	case right < p.MinRight:
		return reject(ReasonFewRight, "%d successes, %d needed", right, p.MinRight)
	case wrong < p.MinWrong:
		return reject(ReasonFewWrong, "%d failures, %d needed", wrong, p.MinWrong)
	}
	tallies := t.difficulty.Tiers
	if low := &tallies[0]; above(low.Right, low.Scored, p.MaxLow) {
		return reject(ReasonLow, "%s: %d of %d right, at most %.3g", low.Tier, low.Right, low.Scored, p.MaxLow)
	}
	for i := range tallies {
		for j := i + 1; j < len(tallies); j++ {
			lower, higher := &tallies[i], &tallies[j]
			if f := FisherAbove(lower.Right, lower.Scored, higher.Right, higher.Scored); f < p.Fisher {
				return reject(ReasonPathologic, "%s %d of %d, %s %d of %d: p = %.3f", lower.Tier, lower.Right, lower.Scored, higher.Tier, higher.Right, higher.Scored, f)
			}
		}
	}
	return verdict{}
}

// record keeps a tier's tally, tiers weakest first.
func (t *trial) record(x Tally) {
	t.panel[x.Tier] = x
	t.difficulty.Tiers = nil
	for _, name := range t.rules.Tiers {
		if y, ok := t.panel[name]; ok {
			t.difficulty.Tiers = append(t.difficulty.Tiers, y)
		}
	}
}

func (t *trial) total() (right, wrong int) {
	for _, x := range t.panel {
		right += x.Right
		wrong += x.Scored - x.Right
	}
	return right, wrong
}

// band counts all attempts that the panel made, too.
func (t *trial) band(r *BandRule) verdict {
	ask := r.Ask
	if x, ok := t.panel[r.Tier]; ok && x.Scored > ask.Steps[len(ask.Steps)-1] {
		ask.Steps = []int{x.Scored}
	}
	a := t.ask(ModeFull, r.Tier, &ask, func(*Tally) bool { return false })
	t.difficulty.Band = &a.Tally
	switch {
	case a.open():
		return a.verdict
	case above(-a.Right, a.Scored, -r.Lo):
		return reject(ReasonBandLow, "%s: %d of %d right, at least %.3g", r.Tier, a.Right, a.Scored, r.Lo)
	case above(a.Right, a.Scored, r.Hi):
		return reject(ReasonBandHigh, "%s: %d of %d right, at most %.3g", r.Tier, a.Right, a.Scored, r.Hi)
	}
	return verdict{}
}

func (t *trial) plausible(r *PlausibilityRule) verdict {
	for _, f := range t.item.Findings {
		if !slices.Contains(r.Off, f.Code) {
			return reject(string(f.Code), "%s", f.Detail)
		}
	}
	if r.Judge == nil {
		return verdict{}
	}
	a := t.ask(ModePlausible, JudgeTier, r.Judge, func(*Tally) bool { return false })
	t.difficulty.Plausibility = &a.Tally
	switch {
	case a.open():
		return a.verdict
	case 2*a.Right <= a.Scored:
		return reject(ReasonImplausible, "%d of %d ballots say plausible", a.Right, a.Scored)
	}
	return verdict{}
}
