package pocket

import (
	"context"
	"fmt"
	"strconv"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/icepop"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

// RLJob is one step on one batch.
type RLJob struct {
	Data         string  // T1 dataset directory
	Parent       string  // weights file the step starts from; Adam's state is read from StatePath(Parent)
	Start        bool    // no RL step made Parent: without a state beside it, Adam begins anew
	Out          string  // weights file to write; Adam's state goes to StatePath(Out)
	Version      int     // of the weights written
	LearningRate float64 // Adam's step size
	Alpha, Beta  float64 // IcePop keeps a token when Alpha <= ratio <= Beta
}

// RLResult says what a step did.
type RLResult struct {
	Digest       string       `json:"digest"`        // of the weights file
	Reused       bool         `json:"-"`             // the weights were already there, from the same parent, batch and settings
	Tokens       int          `json:"tokens"`        // with mask 1
	Stats        icepop.Stats `json:"stats"`         // over all of them
	Entropic     icepop.Stats `json:"entropic"`      // over those where the policy had a choice; the others have ratio 1
	GradNorm     float64      `json:"grad_norm"`     // Euclidean, of the objective's gradient
	Objective    float64      `json:"objective"`     // mean over episodes of the sum over tokens of advantage * IcePop weight
	Episodes     int          `json:"episodes"`      // distinct traj_id
	UsedEpisodes int          `json:"used_episodes"` // with an advantage other than 0
}

// RL takes one Adam step along the gradient of
//
//	mean over episodes of sum over sampled tokens of A * sg(w) * log p
//
// with p under the parent at the row's temperature, the bypass ratio r = exp(log p - behaviour log p) against the
// engine that sampled the token, and w = r inside [Alpha, Beta] and 0 outside (IcePop; Apodex 1.0 report, Ring-1T
// arXiv 2510.18855). The rows of one episode share its weight by their loss_weight.
//
// The weights are written first and the optimiser's state after them. A step that was killed before both were there is
// computed again and gives the same bytes; a step that is asked for again returns what is recorded. A parent without its
// state is KindCorrupt, unless an RL phase starts from it. Rows that train on
// a token outside an assistant turn, or that come from another vocabulary or template, are KindInvalid, arrays that
// contradict each other KindCorrupt; a turn that is not among its candidates is KindUnscorable.
func (t *Trainer) RL(ctx context.Context, job RLJob) (RLResult, error) {
	objective := icepop.DefaultObjective()
	objective.Bounds = icepop.Bounds{Alpha: job.Alpha, Beta: job.Beta}
	if err := objective.Validate(); err != nil {
		return RLResult{}, err
	}
	if err := check(setting{"learning_rate", job.LearningRate, job.LearningRate > 0, "more than 0"}); err != nil {
		return RLResult{}, err
	}
	parent, digest, err := t.parent(job.Parent)
	if err != nil {
		return RLResult{}, err
	}
	rows, batch, err := open[datasets.T1](job.Data)
	if err != nil {
		return RLResult{}, err
	}
	step := stepKey{Logic: Logic, FeatureSet: t.set.Name, Parent: digest, Batch: batch, Version: job.Version,
		LearningRate: job.LearningRate, Alpha: job.Alpha, Beta: job.Beta}
	if res, ok, err := finished(job.Out, step); err != nil || ok {
		return res, err
	}
	opt, err := loadAdam(job, digest, len(parent.W))
	if err != nil {
		return RLResult{}, err
	}
	set, err := t.sampledTurns(ctx, job.Data, rows, parent.Guesses)
	if err != nil {
		return RLResult{}, err
	}
	g, res, err := rlGradient(ctx, rows, set, parent.W, objective)
	if err != nil {
		return RLResult{}, err
	}
	w := child(parent, digest, job.Version)
	opt.ascend(w.W, g, job.LearningRate)
	if res.Digest, err = w.Save(job.Out, t.set); err != nil {
		return RLResult{}, err
	}
	return res, saveState(job.Out, stepState{Schema: StateSchema, Weights: res.Digest, Step: step, Adam: opt, Result: res})
}

// turnSet is the sampled turns of all rows in one list, and where in its row each begins.
type turnSet struct {
	turns      []turn
	row, start []int
}

// sampledTurns checks every row and enumerates its sampled turns.
func (t *Trainer) sampledTurns(ctx context.Context, data string, rows []datasets.T1, guesses []string) (turnSet, error) {
	perRow := make([][]turn, len(rows))
	runs := make([][][2]int, len(rows))
	err := each(ctx, len(rows), func(i int) error {
		row := &rows[i]
		err := checkRow(row)
		if err == nil {
			runs[i], err = maskedTurns(row.IDs, row.Mask)
		}
		if err == nil {
			perRow[i], err = t.turns(row.IDs, runs[i], guesses, exact(row.Temperature))
		}
		if err != nil {
			return at(data, row.ID, err)
		}
		return nil
	})
	if err != nil {
		return turnSet{}, err
	}
	var set turnSet
	for i := range rows {
		for j, tn := range perRow[i] {
			set.turns, set.row, set.start = append(set.turns, tn), append(set.row, i), append(set.start, runs[i][j][0])
		}
	}
	return set, nil
}

// rlGradient is the gradient of the objective under w, with the diagnostics of the batch.
func rlGradient(ctx context.Context, rows []datasets.T1, set turnSet, w []float64, objective icepop.Objective) ([]float64, RLResult, error) {
	at, err := score(ctx, set.turns, w)
	if err != nil {
		return nil, RLResult{}, err
	}
	ratios := make([]icepop.Row, len(rows))
	episodes, used := map[string]bool{}, map[string]bool{}
	for i, r := range rows {
		ratios[i] = icepop.Row{Current: make([]float32, len(r.IDs)), Rollout: r.BehavLogprobs, Mask: r.Mask, Entropic: make([]bool, len(r.IDs))}
		episodes[r.TrajID] = true
		if r.AdvScalar != 0 && r.LossWeight > 0 {
			used[r.TrajID] = true
		}
	}
	if err := each(ctx, len(at), func(k int) error {
		row := ratios[set.row[k]]
		for j, lp := range at[k].logp {
			row.Current[set.start[k]+j] = float32(lp) // rounded like the stored one: unmoved weights give a ratio of exactly 1
		}
		copy(row.Entropic[set.start[k]:], at[k].decisions())
		return nil
	}); err != nil {
		return nil, RLResult{}, err
	}
	correction, err := icepop.Correct(ratios, objective.Bounds)
	if err != nil {
		return nil, RLResult{}, err
	}
	samples := make([]icepop.Sample, len(rows))
	for i, r := range rows {
		samples[i] = icepop.Sample{Weights: correction.Weights[i], Mask: r.Mask, Advantage: r.AdvScalar, LossWeight: r.LossWeight}
	}
	scales, err := objective.TokenScales(samples, len(episodes))
	if err != nil {
		return nil, RLResult{}, err
	}
	g, err := gradient(ctx, at, len(w), func(k int) []float64 {
		if rows[set.row[k]].AdvScalar == 0 {
			return nil
		}
		return scales[set.row[k]][set.start[k]:][:len(at[k].ids)]
	})
	if err != nil {
		return nil, RLResult{}, err
	}
	res := RLResult{Tokens: correction.All.Tokens, Stats: correction.All, Entropic: correction.Entropic, GradNorm: norm(g),
		Episodes: len(episodes), UsedEpisodes: len(used)}
	for _, row := range scales {
		for _, s := range row {
			res.Objective += s
		}
	}
	return g, res, nil
}

// checkRow refuses rows whose arrays or conventions are not those this trainer computes with.
func checkRow(r *datasets.T1) error {
	for _, guard := range []struct{ column, got, want string }{
		{"tokenizer_sha", r.TokenizerSHA, tokens.VocabSHA},
		{"template_sha", r.TemplateSHA, tokens.TemplateSHA},
	} {
		if guard.got != guard.want {
			return &quarry.Error{Kind: quarry.KindInvalid, Subject: guard.column, Msg: fmt.Sprintf("%q, this engine's is %q", guard.got, guard.want),
				Hint: "roll out again with this quarry: token ids of another vocabulary or template mean something else"}
		}
	}
	return icepop.CheckMask(r.Mask, r.WeightVersions, r.BehavLogprobs)
}

// exact is the decimal that was rounded to a float32 column: 0.7, not 0.699999988. With it the turns are scored at the
// very temperature they were sampled at.
func exact(v float32) float64 {
	d, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
	if err != nil { // the shortest form of a number always parses
		return float64(v)
	}
	return d
}
