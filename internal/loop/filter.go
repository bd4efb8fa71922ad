package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/internal/report"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/rewards"
	"github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/rollout/world"
	"github.com/quarry-rl/quarry/sft"
)

// The files of a filter stage.
const (
	KeptFile         = "kept.jsonl"
	HeldoutFile      = "heldout.jsonl"
	FilterLedgerFile = "filter-ledger.jsonl"
)

// The reasons a question is dropped.
const (
	dropClosedBook  = "closed_book"
	dropSingleQuery = "single_query"
	dropNever       = "never_solved"
	dropAlways      = "always_solved"
)

// Tries are the attempts of one skill level at one question.
type Tries struct {
	Level    string  `json:"level"`
	Right    int     `json:"right"`
	Attempts int     `json:"attempts"`
	Lo       float64 `json:"lo"` // Clopper-Pearson, 95 %
	Hi       float64 `json:"hi"`
}

// FilterEntry is one line of the filter's ledger.
type FilterEntry struct {
	Question   string       `json:"question"`
	Split      quarry.Split `json:"split"`
	Kept       bool         `json:"kept"`
	Reason     string       `json:"reason,omitempty"`
	ClosedBook int          `json:"closed_book_right"`
	Single     int          `json:"single_query_right"`
	Tries      []Tries      `json:"tries,omitempty"`
	Failed     string       `json:"failed,omitempty"` // what kept the policy from an attempt
}

// LevelFacts sums up a skill level.
type LevelFacts struct {
	Name     string  `json:"name"`
	Episodes int     `json:"episodes"` // it was fitted on
	Attempts int     `json:"attempts"`
	Success  float64 `json:"success"`
}

// FilterFacts is what a filter stage counts. In = Kept + Rejected over the train questions.
type FilterFacts struct {
	In              int            `json:"in"`
	Kept            int            `json:"kept"`
	KeptCross       int            `json:"kept_cross_document"`
	Rejected        map[string]int `json:"rejected"`
	Tier            int            `json:"tier"`
	TierUnscorable  int            `json:"tier_unscorable"`
	HeldoutIn       int            `json:"heldout_in"`
	Heldout         int            `json:"heldout"`
	HeldoutRejected map[string]int `json:"heldout_rejected"`
	Levels          []LevelFacts   `json:"levels"`
}

// Filter keeps the train questions that skill levels solve sometimes: untrained, fitted on a tenth and on all of the
// tier part's expert episodes. It drops what can be answered by heart or with one query, among held-out questions too.
func (e *Env) Filter(ctx context.Context, questions, out string) (FilterFacts, error) {
	f := FilterFacts{Rejected: map[string]int{}, HeldoutRejected: map[string]int{}}
	all, err := ReadQuestions(questions, "")
	if err != nil {
		return f, err
	}
	parts := map[quarry.Split][]quarry.Question{}
	for _, q := range all {
		parts[q.Split] = append(parts[q.Split], q)
	}
	levels, err := e.fitLevels(ctx, parts[quarry.SplitTier], out, &f)
	if err != nil {
		return f, err
	}
	w := &filtering{env: e, train: parts[quarry.SplitTrain], all: append(append([]quarry.Question{}, parts[quarry.SplitTrain]...), parts[quarry.SplitHeldout]...)}
	if err := w.run(ctx, levels); err != nil {
		return f, err
	}
	var kept, heldout []quarry.Question
	for i := range w.all {
		en, q := &w.entries[i], w.all[i]
		w.judge(i)
		if q.Split == quarry.SplitHeldout {
			f.HeldoutIn++
			if en.Kept {
				f.Heldout++
				heldout = append(heldout, q)
			} else {
				f.HeldoutRejected[en.Reason]++
			}
			continue
		}
		f.In++
		if !en.Kept {
			f.Rejected[en.Reason]++
			continue
		}
		f.Kept++
		if len(q.Docs()) > 1 {
			f.KeptCross++
		}
		if q.Difficulty, err = json.Marshal(map[string]any{"tries": en.Tries, "closed_book_right": en.ClosedBook, "single_query_right": en.Single}); err != nil {
			return f, err
		}
		kept = append(kept, q)
	}
	f.Levels = w.levelFacts(levels)
	if err := writeLines(filepath.Join(out, FilterLedgerFile), LedgerSchema, w.entries); err != nil {
		return f, err
	}
	for name, qs := range map[string][]quarry.Question{KeptFile: kept, HeldoutFile: heldout} {
		if err := datasets.WriteQuestionsJSONL(filepath.Join(out, name), qs); err != nil {
			return f, err
		}
	}
	if err := writeRows(filepath.Join(out, "r1"), e.promptRows(kept), datasets.Meta{Producer: "quarry filter", License: e.Spec.License,
		Note: "RL prompts: train questions that three skill levels solve sometimes."}); err != nil {
		return f, err
	}
	return f, e.enough(f)
}

func (e *Env) enough(f FilterFacts) error {
	s := e.Spec.Synth
	if f.Kept < s.MinTrain {
		return &quarry.Error{Op: "filter", Kind: quarry.KindGate, Subject: fmt.Sprintf("%d train questions", f.Kept), Msg: fmt.Sprintf("at least %d must remain (synth.min_train)", s.MinTrain),
			Hint: fmt.Sprintf("widen synth: %d of %d were dropped here (%v); raise synth.walks, synth.per_answer, synth.per_anchor or synth.split.train, or lower synth.cross_share", f.In-f.Kept, f.In, report.Reasons(f.Rejected))}
	}
	if f.Heldout < s.MinHeldout {
		return &quarry.Error{Op: "filter", Kind: quarry.KindGate, Subject: fmt.Sprintf("%d held-out questions", f.Heldout), Msg: fmt.Sprintf("at least %d must remain (synth.min_heldout)", s.MinHeldout),
			Hint: "widen synth: raise synth.walks, synth.heldout or synth.split.heldout, or lower synth.cross_share"}
	}
	return nil
}

func (e *Env) promptRows(qs []quarry.Question) []datasets.R1 {
	rows := make([]datasets.R1, len(qs))
	for i, q := range qs {
		t := e.FullTask(&q)
		rows[i] = datasets.R1FromQuestion(q, t.Messages, t.Tools)
		rows[i].ExtraInfo.Index = int64(i)
	}
	return rows
}

type level struct {
	name     string
	weights  string
	version  int
	episodes int
}

// fitLevels writes the weights of the three skill levels.
func (e *Env) fitLevels(ctx context.Context, tier []quarry.Question, out string, f *FilterFacts) ([]level, error) {
	f.Tier = len(tier)
	eps, unscorable, err := e.ExpertEpisodes(ctx, tier)
	if err != nil {
		return nil, err
	}
	f.TierUnscorable = unscorable
	eps, _ = sft.Select(eps)
	if len(eps) < 2 {
		return nil, &quarry.Error{Op: "filter", Kind: quarry.KindGate, Subject: fmt.Sprintf("%d tier episodes", len(eps)), Msg: "too few to fit the skill levels", Hint: "raise synth.tier, synth.walks or synth.split.tier, or lower synth.cross_share"}
	}
	rand.New(rand.NewPCG(seedOf(e.Spec.Seed, "tier"), 0)).Shuffle(len(eps), func(i, j int) { eps[i], eps[j] = eps[j], eps[i] })
	base := filepath.Join(out, "level-0.json")
	if err := e.untrained(base); err != nil {
		return nil, err
	}
	levels := []level{{name: "untrained", weights: base}}
	for i, n := range []int{max(len(eps)/10, 1), len(eps)} {
		data := filepath.Join(out, fmt.Sprintf("tier-s1-%d", i+1))
		if _, err := BuildS1(eps[:n], data, "tier expert", e.Spec.License); err != nil {
			return nil, err
		}
		lv := level{name: []string{"a tenth of the tier part", "all of the tier part"}[i], weights: filepath.Join(out, fmt.Sprintf("level-%d.json", i+1)), version: i + 1, episodes: n}
		s := e.Spec.SFT
		if _, err := e.Trainer.SFT(ctx, trainer.SFTJob{Data: data, Parent: base, Out: lv.weights, Version: lv.version, Epochs: s.Epochs, LearningRate: s.LearningRate, L2: s.L2, MaxGuesses: trainer.MaxGuesses}); err != nil {
			return nil, err
		}
		levels = append(levels, lv)
	}
	return levels, nil
}

// untrained writes the policy before any training: all weights 0.
func (e *Env) untrained(path string) error {
	_, err := pocket.NewWeights(e.Reader.Features()).Save(path, e.Reader.Features())
	return err
}

// filtering is the work of one filter stage.
type filtering struct {
	env     *Env
	train   []quarry.Question
	all     []quarry.Question // train, then held-out
	entries []FilterEntry
}

func (w *filtering) run(ctx context.Context, levels []level) error {
	w.entries = make([]FilterEntry, len(w.all))
	for i, q := range w.all {
		w.entries[i] = FilterEntry{Question: q.ID, Split: q.Split}
	}
	eng, err := w.env.StartEngine(ctx, levels[0].weights, levels[0].version)
	if err != nil {
		return err
	}
	defer eng.Close()
	spec := w.env.Spec.Filter
	for n, lv := range levels {
		if n > 0 {
			if err := eng.UpdateWeights(ctx, lv.weights, strconv.Itoa(lv.version)); err != nil {
				return err
			}
		}
		for i := range w.train {
			w.entries[i].Tries = append(w.entries[i].Tries, Tries{Level: lv.name})
		}
		if err := w.attempts(ctx, eng, lv, n, spec.Attempts, func(int) bool { return true }); err != nil {
			return err
		}
	}
	top := len(levels) - 1
	for k := 2 * spec.Attempts; k <= spec.MaxAttempts; k *= 2 { // more tries only while the interval leaves the question open
		if err := w.attempts(ctx, eng, levels[top], top, k, func(i int) bool { return w.undecided(i, top) }); err != nil {
			return err
		}
	}
	closed := func(q *quarry.Question) quarry.Task {
		return world.BuildTask(q, world.TaskOptions{Budget: w.env.budget(0), ClosedBook: true})
	}
	single := func(q *quarry.Question) quarry.Task {
		return world.BuildTask(q, world.TaskOptions{Budget: w.env.budget(1)})
	}
	if err := w.shortcut(ctx, eng, dropClosedBook, spec.ClosedBook, closed, func(en *FilterEntry) *int { return &en.ClosedBook }); err != nil {
		return err
	}
	return w.shortcut(ctx, eng, dropSingleQuery, spec.SingleQuery, single, func(en *FilterEntry) *int { return &en.Single })
}

// attempts brings level n's tries up to upTo for the train questions that want it.
func (w *filtering) attempts(ctx context.Context, eng *Engine, lv level, n, upTo int, want func(i int) bool) error {
	type item struct{ q, try int }
	var items []item
	for i := range w.train {
		if want(i) {
			for t := w.entries[i].Tries[n].Attempts; t < upTo; t++ {
				items = append(items, item{i, t})
			}
		}
	}
	got := make([]tried, len(items))
	err := w.env.each(ctx, len(items), "skill level: "+lv.name, func(ctx context.Context, k int) (err error) {
		q := &w.train[items[k].q]
		id := fmt.Sprintf("filter.%d.%s.%d", n, q.ID, items[k].try)
		got[k], err = w.try(ctx, eng, Attempt{Task: w.env.FullTask(q), Question: q, EpisodeID: id, Sample: items[k].try})
		return err
	})
	if err != nil {
		return err
	}
	for k, it := range items {
		t := &w.entries[it.q].Tries[n]
		t.Attempts++
		if got[k].right {
			t.Right++
		}
		w.entries[it.q].fail(got[k].failed)
	}
	for i := range w.train {
		t := &w.entries[i].Tries[n]
		if t.Attempts > 0 {
			t.Lo, t.Hi = rewards.ClopperPearson(t.Right, t.Attempts, 0.95)
		}
	}
	return nil
}

// undecided says whether a question has been only failed, or only solved, while the top level's interval still spans
// the bound that would settle it (synthesis.md 6.12: 0.25 from below, 0.75 from above).
func (w *filtering) undecided(i, top int) bool {
	rightN, n := 0, 0
	for _, t := range w.entries[i].Tries {
		rightN += t.Right
		n += t.Attempts
	}
	t := w.entries[i].Tries[top]
	return rightN == 0 && t.Hi > 0.25 || rightN == n && t.Lo < 0.75
}

func (w *filtering) shortcut(ctx context.Context, eng *Engine, name string, tries int, task func(*quarry.Question) quarry.Task, count func(*FilterEntry) *int) error {
	got := make([]tried, len(w.all)*tries)
	err := w.env.each(ctx, len(got), name, func(ctx context.Context, k int) (err error) {
		q := &w.all[k/tries]
		id := fmt.Sprintf("filter.%s.%s.%d", name, q.ID, k%tries)
		got[k], err = w.try(ctx, eng, Attempt{Task: task(q), Question: q, EpisodeID: id, Sample: k % tries})
		return err
	})
	for k, g := range got {
		if g.right {
			*count(&w.entries[k/tries])++
		}
		w.entries[k/tries].fail(g.failed)
	}
	return err
}

// tried is what an attempt showed.
type tried struct {
	right  bool
	failed string // why the policy had no chance
}

func (w *filtering) try(ctx context.Context, eng *Engine, a Attempt) (tried, error) {
	a.GroupID, a.Seed, a.Temperature = "filter", seedOf(w.env.Spec.Seed, a.EpisodeID), 1
	ep, err := w.env.try(ctx, eng, a)
	if err != nil {
		return tried{}, err
	}
	return tried{right(ep), unplayed(ep)}, nil
}

// fail keeps the first reason.
func (en *FilterEntry) fail(reason string) {
	if en.Failed == "" {
		en.Failed = reason
	}
}

// judge sets an entry's state.
func (w *filtering) judge(i int) {
	en := &w.entries[i]
	rightN, n := 0, 0
	for _, t := range en.Tries {
		rightN += t.Right
		n += t.Attempts
	}
	switch {
	case en.Failed != "":
		en.Reason = en.Failed
	case en.ClosedBook > 0:
		en.Reason = dropClosedBook
	case en.Single > 0:
		en.Reason = dropSingleQuery
	case n > 0 && rightN == 0:
		en.Reason = dropNever
	case n > 0 && rightN == n:
		en.Reason = dropAlways
	default:
		en.Kept = true
	}
}

func (w *filtering) levelFacts(levels []level) []LevelFacts {
	var out []LevelFacts
	for n, lv := range levels {
		lf := LevelFacts{Name: lv.name, Episodes: lv.episodes}
		ok := 0
		for i := range w.train {
			lf.Attempts += w.entries[i].Tries[n].Attempts
			ok += w.entries[i].Tries[n].Right
		}
		if lf.Attempts > 0 {
			lf.Success = float64(ok) / float64(lf.Attempts)
		}
		out = append(out, lf)
	}
	return out
}
