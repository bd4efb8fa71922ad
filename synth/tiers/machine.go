package tiers

import (
	"fmt"
	"math"
	"slices"

	"github.com/quarry-rl/quarry"
)

// Item is a question with what the filters that ask no model found.
type Item struct {
	Question *quarry.Question
	Answers  AnswerClass
	Search   *SearchHit // one query shows the answer; nil when none does
	Findings []Finding  // of Plausible
}

// AnswerClass is the kind of answers that a question's answer is one of, such as years or yes and no.
type AnswerClass struct {
	Size     int     // possible answers, 0 when unknown or open
	Majority float64 // share of the most frequent one: what guessing it scores
}

// Machine is one question on its way through the filters: what to do next, given what has come back. It is a pure
// function of rules, item and the set of outcomes: their order of arrival changes nothing, and neither does a stop between
// any two of them. Attempts come in batches, and only a finished batch decides; outcomes that the rules do not ask for are
// not looked at, so a list recorded under other rules can be decided anew. Not for concurrent use.
type Machine struct {
	rules *Rules
	item  *Item
	cells map[key][]*Outcome // by N; nil where there is none
}

// NewMachine starts a question. The rules must be valid.
func NewMachine(r *Rules, it *Item) *Machine {
	return &Machine{rules: r, item: it, cells: map[key][]*Outcome{}}
}

// Add takes an outcome of this question. An outcome that is there already must be the same in result, but a scored one
// may take the place of an error: the attempt was made again. KindInvalid otherwise.
func (m *Machine) Add(o Outcome) error {
	if err := o.check(); err != nil {
		return err
	}
	k := key{o.Mode, o.Tier}
	c := m.cells[k]
	if o.N >= len(c) {
		c = append(c, make([]*Outcome, o.N+1-len(c))...)
	}
	old := c[o.N]
	switch {
	case old == nil, !old.scored():
		c[o.N] = &o
	case o.scored() && o.Result != old.Result:
		return &quarry.Error{Op: "filter", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("attempt %s %s %s %d", o.Question, o.Mode, o.Tier, o.N),
			Msg: fmt.Sprintf("recorded as %s and as %s", old.Result, o.Result), Hint: "two runs wrote one list: keep the list of one of them"}
	}
	m.cells[k] = c
	return nil
}

// Next gives the attempts that must be made before more can be said, or the decision; never both, never neither.
func (m *Machine) Next() ([]Attempt, *Decision) {
	t := &trial{Machine: m, panel: map[string]Tally{}}
	d := &Decision{Question: m.item.Question.ID, State: Kept}
	for _, s := range m.rules.order() {
		v := t.stage(s)
		if len(v.need) > 0 {
			return v.need, nil
		}
		if v.state != "" {
			d.State, d.Stage, d.Reason, d.Detail = v.state, s, v.reason, v.detail
			break
		}
	}
	t.difficulty.Rules = m.rules.Name
	d.Difficulty = t.difficulty
	return nil, d
}

// verdict is what a stage says; the zero value lets the question pass.
type verdict struct {
	need   []Attempt
	state  State
	reason string
	detail string
}

func reject(reason, format string, args ...any) verdict {
	return verdict{state: Rejected, reason: reason, detail: fmt.Sprintf(format, args...)}
}

// answer is what sampling a tier has come to: attempts to make, or a verdict of quarantine, or a tally.
type answer struct {
	Tally
	verdict
}

func (a *answer) open() bool { return len(a.need) > 0 || a.state != "" }

// ask samples a tier step by step until enough says that more would change nothing.
func (m *Machine) ask(mode Mode, tier string, a *Ask, enough func(*Tally) bool) answer {
	var t Tally
	for _, target := range a.Steps {
		missing, spent := []int(nil), false
		t, missing, spent = upTo(tier, m.cells[key{mode, tier}], target, m.rules.Retries)
		if len(missing) > 0 {
			need := make([]Attempt, len(missing))
			for i, n := range missing {
				need[i] = Attempt{Mode: mode, Tier: tier, N: n, Temperature: a.Temperature}
			}
			return answer{Tally: t, verdict: verdict{need: need}}
		}
		t.Lo, t.Hi = rounded(ClopperPearson(t.Right, t.Scored))
		if spent && t.Scored < a.Quorum {
			return answer{t, quarantined(&t, mode, a.Quorum)}
		}
		if spent || enough(&t) {
			break
		}
	}
	return answer{Tally: t}
}

func quarantined(t *Tally, mode Mode, quorum int) verdict {
	v := verdict{state: Quarantined, reason: ReasonQuorum, detail: fmt.Sprintf("%s by %s: %d scored, %d needed; errors %v", mode, t.Tier, t.Scored, quorum, t.Errors)}
	if t.permanent != "" {
		v.reason = string(t.permanent)
	}
	return v
}

// upTo tallies a cell until target attempts are scored. Errors are made up for by further attempts, in batches: those
// whose numbers are missing must be made first. Spent means that the retries, or an error that no retry can mend, ended it.
func upTo(tier string, c []*Outcome, target, retries int) (t Tally, missing []int, spent bool) {
	for n := target; ; {
		missing = nil
		var have []*Outcome
		for i := range n {
			if i < len(c) && c[i] != nil {
				have = append(have, c[i])
			} else {
				missing = append(missing, i)
			}
		}
		t = tally(tier, have)
		switch {
		case len(missing) > 0, t.Scored >= target:
			return t, missing, false
		case t.permanent != "" || n == target+retries:
			return t, nil, true
		}
		n = min(n+target-t.Scored, target+retries)
	}
}

// rounded cuts what differs between processors off an interval: it is stored, and decides how many attempts are made.
func rounded(lo, hi float64) (float64, float64) {
	return math.Round(lo*1e6) / 1e6, math.Round(hi*1e6) / 1e6
}

// spans says whether a rate's interval leaves open on which side of a bound it is.
func spans(t *Tally, bounds []float64) bool {
	return slices.ContainsFunc(bounds, func(b float64) bool { return t.Lo < b && b < t.Hi })
}

// forgetErrors makes the attempts that failed as if they had not been made.
func (m *Machine) forgetErrors() {
	for _, c := range m.cells {
		for i, o := range c {
			if o != nil && !o.scored() {
				c[i] = nil
			}
		}
	}
}
