package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/walk"
	"github.com/quarry-rl/quarry/synth/certify"
	"github.com/quarry-rl/quarry/synth/decontam"
	"github.com/quarry-rl/quarry/synth/near"
)

// Level is a level of path necessity that is asked for; higher ones ask for those below too.
type Level int

// The levels: N1, the answer is joined to no entity of the walk but the last before it; N2, the walk is an induced path;
// N3, every step and condition is needed and the answer's atoms give nothing away; N4, no other document gives it away.
const (
	N1 Level = 1 + iota
	N2
	N3
	N4
)

// Options are the settings of a synthesis. Zero fields take the values named. Those of the first group say how far to go
// and may differ from one run to the next in the same folder; all others are the folder's for good.
type Options struct {
	Accept      int  // stop at so many accepted questions; 0 for as many as the other bounds allow
	MaxWalks    int  // stop at so many walks; 0 is 1,000,000
	Budget      Cost // stop when a field that is set is reached
	Patience    int  // stop as exhausted after so many walks in a row without an accepted question; 0 is 200,000
	Concurrency int  // candidates under way at once; 0 is one per processor. It changes nothing but the time

	Seed  uint64
	Hops  int        // 1 to walk.MaxHops; 0 is 4
	Shape walk.Shape // of the path: chain, the only one yet

	Beta       float64  // weight of a hop that changes the document, against 1; 0 is 8
	MinDocs    int      // distinct documents of a path; 0 is walk.HardDocs, negative is none. Not asked of graphs without documents
	MaxDegree  int      // statements of an entity inside a walk; 0 is any number
	HubDocs    int      // entities in more documents are neither inside nor answers; 0 is any number
	Backtracks int      // steps a walk may take back; 0 is 64
	Starts     []uint32 // anchors; nil for every entity

	Necessity   Level // 0 is N1
	Leaf        int   // entities that a condition leaves, at least; 0 is 5
	Conditions  int   // at most; 0 is 3
	NoSets      bool  // conditions name entities only, never a type or a decade
	Margin      int   // atoms by which the best rival must fail, 1 or 2; 0 is 1
	Independent bool  // ask for the five conditions of independence between walk and conditions

	K         int // documents of a search that count; 0 is 10
	Queries   int // planned for a hop; 0 is 3
	ToolCalls int // an episode may make, for the acquisition pressure; 0 is 20

	AsOf       string // date for which answers hold, as certify.ParseDate reads it; "" checks no times
	StaleYears int    // an open functional statement older than this is flagged; 0 is 5

	PerAnswer int         // questions with one answer; 0 is any number
	PerAnchor int         // questions from one anchor; 0 is any number
	Skip      []near.Rule // grounds for duplicates that are not applied

	Benchmarks []*decontam.Benchmark // that no question may come from; their order changes nothing

	Lang    string // of names and text: en (default) or zh
	License string // of the texts, copied into each question
	Wording string // what writes the texts, as a label: a folder is for one
	Policy  string // the filter behind Hooks.Filter, as a label; none when empty
	Index   string // the search behind Hooks.Search, as a label; the graph's own when empty
}

// Cost is what models were asked.
type Cost struct {
	Calls        int `json:"calls,omitempty"`
	PromptTokens int `json:"prompt_tokens,omitempty"`
	OutputTokens int `json:"output_tokens,omitempty"`
}

func (c Cost) plus(d Cost) Cost {
	return Cost{c.Calls + d.Calls, c.PromptTokens + d.PromptTokens, c.OutputTokens + d.OutputTokens}
}

// reaches says whether a bound that is set has been reached.
func (c Cost) reaches(budget Cost) bool {
	return budget.Calls > 0 && c.Calls >= budget.Calls || budget.PromptTokens > 0 && c.PromptTokens >= budget.PromptTokens ||
		budget.OutputTokens > 0 && c.OutputTokens >= budget.OutputTokens
}

// Writer puts a question into words. It depends on the draft alone, or keeps what it was told: a run that was killed asks
// again for what it had not written down. Safe for concurrent use.
type Writer interface {
	Write(ctx context.Context, d *Draft) (Wording, error)
}

// Wording is a text, or why there is none. An error of Write stops the run instead.
type Wording struct {
	Text   string
	Reason string // why there is no text: the candidate is rejected
	Cost   Cost
}

// Filter lets models decide about questions that have passed all else. It gives one verdict a question, in order, and
// none of them depends on which questions come together. It keeps what models said, so that asking again costs nothing:
// after a kill, and about the few questions beyond the last that was wanted, whose cost is in no report.
type Filter interface {
	Filter(ctx context.Context, qs []*quarry.Question) ([]Verdict, error)
}

// Verdict is what a filter says about a question.
type Verdict struct {
	Reason      string // why it is not kept, "" when it is: a stable code
	Quarantined bool   // models failed to say: neither pass nor failure
	Detail      string
	Difficulty  []byte // JSON for the question's difficulty record
	Cost        Cost
}

// Searcher finds passages of the graph by their text, best first. *bm25.Index is one.
type Searcher interface {
	Search(query string, k int, dst []bm25.Hit) []bm25.Hit
}

// Hooks are the parts that a run is given.
type Hooks struct {
	Writer   Writer                 // required
	Filter   Filter                 // nil: every question is accepted
	Search   Searcher               // nil: the graph's own index
	Progress func(walks, found int) // called after each block that was written; may be nil
}

func (o Options) withDefaults() Options {
	o.MaxWalks, o.Patience, o.Hops, o.Shape = cmp.Or(o.MaxWalks, 1_000_000), cmp.Or(o.Patience, 200_000), cmp.Or(o.Hops, 4), cmp.Or(o.Shape, walk.Chain)
	o.Beta, o.Backtracks, o.Necessity, o.Leaf = cmp.Or(o.Beta, 8), cmp.Or(o.Backtracks, 64), cmp.Or(o.Necessity, N1), cmp.Or(o.Leaf, 5)
	o.Conditions, o.Margin, o.K, o.Queries = cmp.Or(o.Conditions, 3), cmp.Or(o.Margin, 1), cmp.Or(o.K, 10), cmp.Or(o.Queries, 3)
	o.ToolCalls, o.StaleYears, o.Lang = cmp.Or(o.ToolCalls, 20), cmp.Or(o.StaleYears, 5), cmp.Or(o.Lang, "en")
	if o.MinDocs == 0 {
		o.MinDocs = walk.HardDocs(o.Hops)
	}
	o.MinDocs = max(o.MinDocs, 0)
	return o
}

// check refuses settings that cannot work; o has its defaults.
func (o Options) check() error {
	bad := func(field string, value any, expected, hint string) error {
		return &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("%s %v", field, value), Msg: expected, Hint: hint}
	}
	for _, f := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"accept", o.Accept, 0, math.MaxInt}, {"max_walks", o.MaxWalks, 1, math.MaxInt}, {"patience", o.Patience, 1, math.MaxInt},
		{"concurrency", o.Concurrency, 0, 4096}, {"hops", o.Hops, 1, walk.MaxHops}, {"max_degree", o.MaxDegree, 0, math.MaxInt},
		{"hub_docs", o.HubDocs, 0, math.MaxInt}, {"backtracks", o.Backtracks, 0, math.MaxInt}, {"necessity", int(o.Necessity), 1, 4},
		{"leaf", o.Leaf, 1, math.MaxInt}, {"conditions", o.Conditions, 0, 8}, {"margin", o.Margin, 1, 2}, {"k", o.K, 1, 1000}, {"queries", o.Queries, 1, 16},
		{"tool_calls", o.ToolCalls, 1, math.MaxInt}, {"stale_years", o.StaleYears, 0, math.MaxInt}, {"per_answer", o.PerAnswer, 0, math.MaxInt},
		{"per_anchor", o.PerAnchor, 0, math.MaxInt}, {"min_docs", o.MinDocs, 0, o.Hops},
		{"budget calls", o.Budget.Calls, 0, math.MaxInt}, {"budget prompt tokens", o.Budget.PromptTokens, 0, math.MaxInt}, {"budget output tokens", o.Budget.OutputTokens, 0, math.MaxInt},
	} {
		if f.value < f.least || f.value > f.most {
			expected := fmt.Sprintf("%d to %d is expected", f.least, f.most)
			if f.most == math.MaxInt {
				expected = fmt.Sprintf("at least %d is expected", f.least)
			}
			return bad(f.name, f.value, expected, "change it in the synthesis options")
		}
	}
	switch {
	case math.IsNaN(o.Beta) || o.Beta <= 0:
		return bad("beta", o.Beta, "a weight above 0 is expected", "1 is no bias, 8 is usual")
	case o.Shape != walk.Chain:
		return bad("shape", o.Shape, "questions are made from chains", "use chain")
	case o.Lang != "en" && o.Lang != "zh":
		return bad("lang", o.Lang, "en or zh is expected", "use en or zh")
	case o.Necessity >= N3 && o.Margin > 1:
		return bad("margin", o.Margin, "with N3 every atom is needed, so that some rival fails one only", "use margin 1, or necessity N1 or N2")
	}
	for _, r := range o.Skip {
		if !slices.Contains([]near.Rule{near.RuleText, near.RuleEntities, near.RuleRelations, near.RuleDocuments}, r) {
			return bad("skip", r, "a rule of near-duplicates is expected", "use text, entities, answer_relations or documents")
		}
	}
	if _, err := certify.ParseDate(o.AsOf); err != nil {
		return err
	}
	return nil
}
