package tiers

import (
	"fmt"
	"slices"

	"github.com/quarry-rl/quarry"
)

// Stage is a filter.
type Stage string

// The stages. Search and Plausibility need no model unless Plausibility has a judge.
const (
	StageOracle       Stage = "oracle"
	StageClosed       Stage = "closed_book"
	StageSearch       Stage = "single_query_search"
	StageSingle       Stage = "single_query"
	StagePanel        Stage = "tiers"
	StageBand         Stage = "band"
	StagePlausibility Stage = "plausibility"
)

// Order is the order of the filters when rules do not set another; stages whose rule is nil are passed over.
func Order() []Stage {
	return []Stage{StageOracle, StageClosed, StageSearch, StageSingle, StagePanel, StageBand, StagePlausibility}
}

// FreeFirst is Order with the stages that cost nothing first. The same questions are kept; fewer calls are made, and a
// question with several faults is rejected for a free one.
func FreeFirst() []Stage {
	return []Stage{StageSearch, StagePlausibility, StageOracle, StageClosed, StageSingle, StagePanel, StageBand}
}

// Ask is how a tier is sampled: until Steps[0] attempts are scored, then, while the question is open, until Steps[1]
// are, and so on. When the retries are spent, at least Quorum scored attempts decide and fewer do not.
type Ask struct {
	Steps       []int   `json:"steps"`
	Quorum      int     `json:"quorum"`
	Temperature float64 `json:"temperature"`
}

// OracleRule: with the evidence among distractors at least Right of the Steps' last must be right, or path or question is broken.
type OracleRule struct {
	Ask
	Right int `json:"right"`
}

// ClosedRule rejects what the strongest tier knows by heart.
type ClosedRule struct {
	Ask
	Strict     bool    `json:"strict"`      // any right answer rejects
	Tau        float64 `json:"tau"`         // otherwise: a rate above Tau does; above the base rate of the majority answer where that is higher
	MinAnswers int     `json:"min_answers"` // a known number of possible answers below it rejects without an attempt; 0 is off
}

// SingleRule rejects what an agent with one tool call gets right at all.
type SingleRule struct{ Ask }

// PanelRule is the capability-tier filter. Zero values switch a condition off; MaxLow's is 1.
type PanelRule struct {
	Ask
	First    int     `json:"first"`     // index of the weakest tier that is asked
	MinTiers int     `json:"min_tiers"` // the rule makes no sense with fewer
	MinRight int     `json:"min_right"` // over all tiers
	MinWrong int     `json:"min_wrong"`
	MinTop   float64 `json:"min_top"` // success rate of the strongest
	MaxLow   float64 `json:"max_low"` // of the weakest asked
	Fisher   float64 `json:"fisher"`  // a lower tier above a higher one with a one-sided p below it is pathological

	// While all tiers together have no success and the strongest's interval reaches above OpenBelow, or no failure and it
	// reaches below OpenAbove, the strongest tries on: the question counts as open. 0 is off.
	OpenBelow float64 `json:"open_below,omitempty"`
	OpenAbove float64 `json:"open_above,omitempty"`
}

// BandRule keeps what a tier, usually the policy that is to be trained, gets right at a rate of Lo to Hi inclusive
// (MindDR report: 10 to 50 % of 8).
type BandRule struct {
	Ask
	Tier string  `json:"tier"`
	Lo   float64 `json:"lo"`
	Hi   float64 `json:"hi"`
}

// PlausibilityRule rejects an Item's findings but those whose code is in Off. With Judge, judges are asked too.
type PlausibilityRule struct {
	Off   []Code `json:"off,omitempty"`
	Judge *Ask   `json:"judge,omitempty"`
}

// Rules are the filters as data. A nil stage is off.
type Rules struct {
	Name         string            `json:"name"`
	Tiers        []string          `json:"tiers"` // weakest first
	Retries      int               `json:"retries"`
	Order        []Stage           `json:"order,omitempty"`
	Oracle       *OracleRule       `json:"oracle,omitempty"`
	Closed       *ClosedRule       `json:"closed_book,omitempty"`
	Search       bool              `json:"single_query_search"`
	Single       *SingleRule       `json:"single_query,omitempty"`
	Panel        *PanelRule        `json:"panel,omitempty"`
	Band         *BandRule         `json:"band,omitempty"`
	Plausibility *PlausibilityRule `json:"plausibility,omitempty"`
}

// JudgeTier is the tier of ModePlausible attempts.
const JudgeTier = "judge"

// NoisyJudge returns the rules for answers that a judge scores: one success may be his error, two hardly are.
func (r Rules) NoisyJudge() Rules {
	if r.Panel != nil && r.Panel.MinRight > 0 {
		p := *r.Panel
		p.MinRight = max(p.MinRight, 2)
		r.Panel = &p
	}
	return r
}

func (r *Rules) top() string { return r.Tiers[len(r.Tiers)-1] }

func (r *Rules) order() []Stage {
	if len(r.Order) > 0 {
		return r.Order
	}
	return Order()
}

// Validate checks rules before a model is asked.
func (r *Rules) Validate() error {
	bad := func(field, format string, args ...any) error {
		return &quarry.Error{Op: "filter", Kind: quarry.KindInvalid, Subject: "rules " + r.Name + " " + field, Msg: fmt.Sprintf(format, args...),
			Hint: "start from a preset: " + fmt.Sprint(PresetNames())}
	}
	if len(r.Tiers) == 0 {
		return bad("tiers", "no tier: name at least one model")
	}
	for i, t := range r.Tiers {
		if t == "" || t == JudgeTier || slices.Contains(r.Tiers[:i], t) {
			return bad("tiers", "%q: names must be distinct, not empty and not %q", t, JudgeTier)
		}
	}
	if r.Retries < 0 || r.Retries > 1000 {
		return bad("retries", "%d is not in 0 to 1000", r.Retries)
	}
	for i, s := range r.Order {
		if !slices.Contains(Order(), s) || slices.Contains(r.Order[:i], s) {
			return bad("order", "%q is unknown or stands twice", s)
		}
	}
	if len(r.Order) > 0 && len(r.Order) != len(Order()) {
		return bad("order", "%d stages, expected each of %v once", len(r.Order), Order())
	}
	for name, a := range r.asks() {
		if len(a.Steps) == 0 || a.Steps[0] < 1 || a.Steps[len(a.Steps)-1] > 1000 || !ascending(a.Steps) {
			return bad(name+".steps", "%v: expected ascending numbers from 1 to 1000", a.Steps)
		}
		if a.Quorum < 1 || a.Quorum > a.Steps[0] {
			return bad(name+".quorum", "%d is not in 1 to the first step, %d", a.Quorum, a.Steps[0])
		}
		if !(a.Temperature >= 0 && a.Temperature <= 2) {
			return bad(name+".temperature", "%v is not in 0 to 2", a.Temperature)
		}
	}
	if o := r.Oracle; o != nil && (o.Right < 1 || o.Right > o.Steps[len(o.Steps)-1]) {
		return bad("oracle.right", "%d is not in 1 to %d", o.Right, o.Steps[len(o.Steps)-1])
	}
	if c := r.Closed; c != nil {
		if c.Temperature < 0.6 || c.Temperature > 1 {
			return bad("closed_book.temperature", "%v is not in 0.6 to 1: colder samples repeat one guess", c.Temperature)
		}
		if !(c.Tau >= 0 && c.Tau < 1) || c.MinAnswers < 0 {
			return bad("closed_book", "tau %v is not in [0, 1) or min_answers %d is negative", c.Tau, c.MinAnswers)
		}
	}
	if p := r.Panel; p != nil {
		if p.First < 0 || p.First >= len(r.Tiers) || len(r.Tiers)-p.First < p.MinTiers {
			return bad("panel", "%d tiers from number %d on: the rule needs %d", max(0, len(r.Tiers)-p.First), p.First, max(p.MinTiers, 1))
		}
		if p.MinRight < 0 || p.MinWrong < 0 || !(p.MinTop >= 0 && p.MinTop <= 1) || !(p.MaxLow > 0 && p.MaxLow <= 1) || !(p.Fisher >= 0 && p.Fisher < 1) ||
			!(p.OpenBelow >= 0 && p.OpenBelow < 1) || !(p.OpenAbove >= 0 && p.OpenAbove < 1) {
			return bad("panel", "a bound is out of range: min_right, min_wrong from 0, min_top 0 to 1, max_low above 0 to 1, fisher, open_below, open_above 0 to below 1")
		}
	}
	if b := r.Band; b != nil && (!slices.Contains(r.Tiers, b.Tier) || !(b.Lo >= 0 && b.Lo <= b.Hi && b.Hi <= 1)) {
		return bad("band", "tier %q with %v to %v: expected one of %v and 0 <= lo <= hi <= 1", b.Tier, b.Lo, b.Hi, r.Tiers)
	}
	return nil
}

func ascending(steps []int) bool {
	for i := 1; i < len(steps); i++ {
		if steps[i] <= steps[i-1] {
			return false
		}
	}
	return true
}

// asks lists the stages that ask a model.
func (r *Rules) asks() map[string]*Ask {
	m := map[string]*Ask{}
	if r.Oracle != nil {
		m["oracle"] = &r.Oracle.Ask
	}
	if r.Closed != nil {
		m["closed_book"] = &r.Closed.Ask
	}
	if r.Single != nil {
		m["single_query"] = &r.Single.Ask
	}
	if r.Panel != nil {
		m["panel"] = &r.Panel.Ask
	}
	if r.Band != nil {
		m["band"] = &r.Band.Ask
	}
	if r.Plausibility != nil && r.Plausibility.Judge != nil {
		m["plausibility.judge"] = r.Plausibility.Judge
	}
	return m
}

// MostAttempts bounds the attempts at one question, by tier and without retries: what the dearest question costs.
func (r *Rules) MostAttempts() map[string]int {
	m := map[string]int{}
	last := func(a *Ask) int { return a.Steps[len(a.Steps)-1] }
	if r.Oracle != nil {
		m[r.top()] += last(&r.Oracle.Ask)
	}
	if r.Closed != nil {
		m[r.top()] += last(&r.Closed.Ask)
	}
	if r.Single != nil {
		m[r.top()] += last(&r.Single.Ask)
	}
	full := map[string]int{} // panel and band share their attempts
	if p := r.Panel; p != nil {
		for i := p.First; i < len(r.Tiers); i++ {
			full[r.Tiers[i]] = p.Steps[0]
			if len(r.bounds(i)) > 0 || i == len(r.Tiers)-1 && p.OpenBelow+p.OpenAbove > 0 {
				full[r.Tiers[i]] = last(&p.Ask)
			}
		}
	}
	if r.Band != nil {
		full[r.Band.Tier] = max(full[r.Band.Tier], last(&r.Band.Ask))
	}
	for t, n := range full {
		m[t] += n
	}
	if r.Plausibility != nil && r.Plausibility.Judge != nil {
		m[JudgeTier] += last(r.Plausibility.Judge)
	}
	return m
}

// bounds are the rates that matter for tier i: its interval is narrowed while it spans one.
func (r *Rules) bounds(i int) []float64 {
	p := r.Panel
	var b []float64
	top := i == len(r.Tiers)-1
	if top && p.MinTop > 0 {
		b = append(b, p.MinTop)
	}
	if i == p.First && p.MaxLow < 1 {
		b = append(b, p.MaxLow)
	}
	return b
}
