package configs

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/rollout/world"
	"github.com/quarry-rl/quarry/synth"
)

// problem is one value that may not stand: where, what it is, what it should be.
type problem struct {
	path  string
	value any
	want  string
}

func (p problem) message() string {
	return fmt.Sprintf("%s is %v, expected %s", p.path, show(p.value), p.want)
}

func show(v any) any {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return v
}

// Validate checks ranges and the consistency between fields. Every bad field is named, joined when there are several;
// the errors are of KindInvalid with the field's path as Subject.
func (r Run) Validate() error {
	var errs []error
	for _, p := range r.problems() {
		errs = append(errs, &quarry.Error{Op: "spec", Kind: quarry.KindInvalid, Subject: p.path, Msg: p.message()})
	}
	return errors.Join(errs...)
}

// checker collects problems, one method per kind of bound.
type checker struct{ found []problem }

func (c *checker) require(ok bool, path string, value any, want string) {
	if !ok {
		c.found = append(c.found, problem{path, value, want})
	}
}

func (c *checker) atLeast(path string, value, low int) {
	c.require(value >= low, path, value, fmt.Sprintf("a whole number >= %d", low))
}

// tries is a number of attempts at one question: all questions' attempts are held at once.
func (c *checker) tries(path string, value, low int) {
	c.require(value >= low && value <= MaxTries, path, value, fmt.Sprintf("a whole number from %d to %d", low, MaxTries))
}

// share is a number from 0 to 1, both included.
func (c *checker) share(path string, value float64) {
	c.require(value >= 0 && value <= 1, path, value, "a number from 0 to 1")
}

func (c *checker) positive(path string, value float64) {
	c.require(value > 0 && !math.IsInf(value, 1), path, value, "a number > 0")
}

func (c *checker) oneOf(path, value string, choices ...string) {
	c.require(slices.Contains(choices, value), path, value, "one of "+strings.Join(choices, ", "))
}

func (r Run) problems() []problem {
	var c checker
	c.oneOf("apiVersion", r.APIVersion, APIVersion)
	c.oneOf("kind", r.Kind, KindRun)
	named := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(r.Name)
	c.require(named, "name", r.Name, "a folder name: a letter or digit, then at most 63 letters, digits, dots, dashes or underscores")
	c.require(r.Data != "", "data", r.Data, "a folder")
	c.atLeast("concurrency", r.Concurrency, 1)
	c.require(r.Concurrency <= 10_000, "concurrency", r.Concurrency, "at most 10000 episodes in flight")
	r.Synth.check(&c)
	c.require(r.Synth.CertTop <= world.Passages, "synth.cert_top", r.Synth.CertTop,
		fmt.Sprintf("at most %d: evidence below the search tool's last passage is never seen", world.Passages))
	c.tries("filter.attempts", r.Filter.Attempts, 1)
	c.require(r.Filter.MaxAttempts >= r.Filter.Attempts, "filter.max_attempts", r.Filter.MaxAttempts,
		fmt.Sprintf("at least filter.attempts (%d)", r.Filter.Attempts))
	c.require(r.Filter.MaxAttempts <= MaxTries, "filter.max_attempts", r.Filter.MaxAttempts, fmt.Sprintf("at most %d", MaxTries))
	c.tries("filter.closed_book", r.Filter.ClosedBook, 0)
	c.tries("filter.single_query", r.Filter.SingleQuery, 0)
	c.atLeast("sft.episodes", r.SFT.Episodes, 1)
	c.atLeast("sft.epochs", r.SFT.Epochs, 1)
	c.positive("sft.learning_rate", r.SFT.LearningRate)
	c.require(r.SFT.L2 >= 0, "sft.l2", r.SFT.L2, "a number >= 0")
	c.tries("dpo.samples", r.DPO.Samples, 2)
	c.atLeast("dpo.min_pairs", r.DPO.MinPairs, 1)
	c.positive("dpo.beta", r.DPO.Beta)
	c.atLeast("dpo.epochs", r.DPO.Epochs, 1)
	c.positive("dpo.learning_rate", r.DPO.LearningRate)
	r.RL.check(&c)
	c.atLeast("pivot.steps", r.Pivot.Steps, 0)
	c.share("pivot.share", r.Pivot.Share)
	c.atLeast("pivot.max_tasks", r.Pivot.MaxTasks, 0)
	c.tries("eval.attempts", r.Eval.Attempts, 1)
	c.atLeast("eval.every", r.Eval.Every, 1)
	c.atLeast("eval.bootstrap", r.Eval.Bootstrap, 100)
	c.require(r.Eval.Bootstrap <= 1_000_000, "eval.bootstrap", r.Eval.Bootstrap, "at most 1000000")
	c.atLeast("budget.turns", r.Budget.Turns, 1)
	c.atLeast("budget.tool_calls", r.Budget.ToolCalls, 0)
	c.atLeast("budget.new_tokens", r.Budget.NewTokens, 1)
	c.share("schedule.tool", r.Schedule.Tool)
	c.share("schedule.format", r.Schedule.Format)
	c.share("schedule.prm", r.Schedule.PRM)
	return c.found
}

func (s Synth) check(c *checker) {
	c.atLeast("synth.walks", s.Walks, 1)
	c.require(s.Walks <= maxWalks, "synth.walks", s.Walks, fmt.Sprintf("at most %d: every walk has a line in the ledger", maxWalks))
	c.positive("synth.cross_bias", s.CrossBias)
	c.require(len(s.Shapes) > 0, "synth.shapes", "", `at least one shape such as "2+1"`)
	for i, shape := range s.Shapes {
		path := fmt.Sprintf("synth.shapes[%d]", i)
		_, err := synth.ParseShape(shape)
		c.require(err == nil, path, shape, "hops+conditions, such as 2+1 (1 to 6 hops, 0 to 4 conditions)")
		c.require(slices.Index(s.Shapes, shape) == i, path, shape, "every shape once")
	}
	c.atLeast("synth.max_fanout", s.MaxFanout, 1)
	c.atLeast("synth.cert_top", s.CertTop, 1)
	c.atLeast("synth.max_alone", s.MaxAlone, 1)
	c.atLeast("synth.hub_docs", s.HubDocs, 1)
	c.atLeast("synth.per_answer", s.PerAnswer, 1)
	c.atLeast("synth.per_anchor", s.PerAnchor, 1)
	c.share("synth.cross_share", s.CrossShare)
	c.atLeast("synth.train", s.Train, 0)
	c.atLeast("synth.tier", s.Tier, 0)
	c.atLeast("synth.heldout", s.Heldout, 0)
	c.atLeast("synth.min_train", s.MinTrain, 1)
	c.atLeast("synth.min_heldout", s.MinHeldout, 1)
	c.require(s.Train == 0 || s.MinTrain <= s.Train, "synth.min_train", s.MinTrain, fmt.Sprintf("at most synth.train (%d)", s.Train))
	c.require(s.Heldout == 0 || s.MinHeldout <= s.Heldout, "synth.min_heldout", s.MinHeldout, fmt.Sprintf("at most synth.heldout (%d)", s.Heldout))
	c.positive("synth.split.train", s.Split.Train)
	c.positive("synth.split.tier", s.Split.Tier)
	c.positive("synth.split.heldout", s.Split.Heldout)
	sum := s.Split.Train + s.Split.Tier + s.Split.Heldout
	c.require(math.Abs(sum-1) < 1e-9, "synth.split", fmt.Sprintf("%g in all", sum), "shares that sum to 1")
}

func (r RL) check(c *checker) {
	c.atLeast("rl.steps", r.Steps, 1)
	c.atLeast("rl.groups", r.Groups, 1)
	c.require(r.Groups <= 100_000, "rl.groups", r.Groups, "at most 100000")
	c.atLeast("rl.group_size", r.GroupSize, 2)
	c.require(r.GroupSize <= 1024, "rl.group_size", r.GroupSize, "at most 1024")
	c.positive("rl.learning_rate", r.LearningRate)
	c.require(r.Alpha > 0 && r.Alpha <= 1, "rl.alpha", r.Alpha, "a number > 0 and <= 1")
	c.require(r.Beta >= 1 && !math.IsInf(r.Beta, 1), "rl.beta", r.Beta, "a number >= 1")
	c.atLeast("rl.max_staleness", r.MaxStaleness, 0)
	c.atLeast("rl.max_version_spread", r.MaxVersionSpread, 0)
	c.require(r.Overproduction >= 0 && r.Overproduction <= r.MaxStaleness, "rl.overproduction", r.Overproduction,
		fmt.Sprintf("from 0 to rl.max_staleness (%d): batches further ahead would be too stale", r.MaxStaleness))
	c.positive("rl.temperature", r.Temperature)
	c.oneOf("rl.advantage", r.Advantage, AdvantageNormal, AdvantagePermuted, AdvantageFlipped)
}

// MaxTries is the most attempts at one question.
const MaxTries = 10_000

// maxWalks bounds the memory of a synthesis.
const maxWalks = 5_000_000
