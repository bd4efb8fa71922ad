package pocket

import (
	"context"
	"fmt"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/dpo"
	engine "github.com/quarry-rl/quarry/rollout/pocket"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

// DPOJob trains on preference pairs against the frozen parent.
type DPOJob struct {
	Data         string  // D1 dataset directory
	Parent       string  // weights file to start from; also the frozen reference
	Out          string  // weights file to write
	Version      int     // of the weights written
	Beta         float64 // strength of the pull towards the reference
	Epochs       int     // full-batch steps
	LearningRate float64 // Adam's step size
}

// DPOResult says what a job did. A growing margin alone proves nothing about success.
type DPOResult struct {
	Digest      string  `json:"digest"`
	LossFirst   float64 `json:"loss_first"`   // mean of -log sigmoid(margin)
	LossLast    float64 `json:"loss_last"`    // after the last step
	MarginFirst float64 `json:"margin_first"` // mean of beta * (log ratio of chosen - log ratio of rejected): 0 at the reference
	MarginLast  float64 `json:"margin_last"`
	Accuracy    float64 `json:"accuracy"`   // share of pairs with a margin above 0 after the last step
	Pairs       int     `json:"pairs"`      // trained on
	Unscorable  int     `json:"unscorable"` // pairs left out: a turn of theirs is not among its candidates
}

// DPO lowers the mean DPO loss (Rafailov et al. 2023, equation 7) over the turns after the pairs' common prompt, at
// T=1, and writes new weights atomically. Errors are those of SFT.
func (t *Trainer) DPO(ctx context.Context, job DPOJob) (DPOResult, error) {
	if err := check(
		setting{"epochs", float64(job.Epochs), job.Epochs > 0, "1 or more"},
		setting{"learning_rate", job.LearningRate, job.LearningRate > 0, "more than 0"},
		setting{"beta", job.Beta, job.Beta > 0, "more than 0"},
	); err != nil {
		return DPOResult{}, err
	}
	parent, digest, err := t.parent(job.Parent)
	if err != nil {
		return DPOResult{}, err
	}
	rows, _, err := open[datasets.D1](job.Data)
	if err != nil {
		return DPOResult{}, err
	}
	set, err := t.pairs(ctx, job.Data, rows, parent)
	if err != nil {
		return DPOResult{}, err
	}
	if len(set.pairs) == 0 {
		return DPOResult{}, &quarry.Error{Op: "train", Kind: quarry.KindUnscorable, Subject: job.Data,
			Msg:  fmt.Sprintf("none of %d pairs has turns that the policy can write", len(rows)),
			Hint: "build the dataset from episodes of this quarry's engine"}
	}
	w := child(parent, digest, job.Version)
	res := DPOResult{Pairs: len(set.pairs), Unscorable: len(rows) - len(set.pairs)}
	opt := newAdam(len(w.W))
	for epoch := range job.Epochs {
		g, s, err := dpoGradient(ctx, set, w.W, job.Beta)
		if err != nil {
			return DPOResult{}, err
		}
		if epoch == 0 {
			res.LossFirst, res.MarginFirst = s.loss, s.margin
		}
		opt.ascend(w.W, g, job.LearningRate)
	}
	_, s, err := dpoGradient(ctx, set, w.W, job.Beta)
	if err != nil {
		return DPOResult{}, err
	}
	res.LossLast, res.MarginLast, res.Accuracy = s.loss, s.margin, s.accuracy
	res.Digest, err = w.Save(job.Out, t.set)
	return res, err
}

// pairSet is the turns of all pairs in one list, and where each pair's are.
type pairSet struct {
	turns []turn
	pairs []pair
}

// pair is a chosen and a rejected range of turns, with their log-probabilities under the reference.
type pair struct {
	start, mid, end        int // chosen is turns[start:mid], rejected turns[mid:end]
	refChosen, refRejected float64
}

// pairs enumerates the turns after each pair's prompt and scores them under the reference.
func (t *Trainer) pairs(ctx context.Context, data string, rows []datasets.D1, ref *engine.Weights) (pairSet, error) {
	type sides struct{ chosen, rejected []turn }
	found := make([]sides, len(rows))
	err := each(ctx, len(rows), func(i int) error {
		row := &rows[i]
		tools, err := datasets.ParseTools(row.Tools)
		if err != nil {
			return at(data, row.ID, err)
		}
		suffix := func(msgs []quarry.Message) ([]turn, error) {
			ids, _, ranges := tokens.RenderConversation(msgs, tools)
			return t.turns(ids, ranges[row.DivergenceTurn:], ref.Guesses, 1)
		}
		a, b := row.Conversations()
		chosen, err := suffix(a)
		var rejected []turn
		if err == nil {
			rejected, err = suffix(b)
		}
		if quarry.KindOf(err) == quarry.KindUnscorable {
			return nil
		}
		if err != nil {
			return at(data, row.ID, err)
		}
		found[i] = sides{chosen, rejected}
		return nil
	})
	if err != nil {
		return pairSet{}, err
	}
	var set pairSet
	for _, s := range found {
		if s.chosen == nil {
			continue
		}
		p := pair{start: len(set.turns)}
		p.mid = p.start + len(s.chosen)
		p.end = p.mid + len(s.rejected)
		set.turns = append(append(set.turns, s.chosen...), s.rejected...)
		set.pairs = append(set.pairs, p)
	}
	under, err := score(ctx, set.turns, ref.W)
	if err != nil {
		return pairSet{}, err
	}
	for i := range set.pairs {
		p := &set.pairs[i]
		p.refChosen, p.refRejected = logProb(under[p.start:p.mid]), logProb(under[p.mid:p.end])
	}
	return set, nil
}

// dpoSums are means over pairs.
type dpoSums struct{ loss, margin, accuracy float64 }

// dpoGradient is the gradient of minus the mean loss, with the means under w.
func dpoGradient(ctx context.Context, set pairSet, w []float64, beta float64) ([]float64, dpoSums, error) {
	at, err := score(ctx, set.turns, w)
	if err != nil {
		return nil, dpoSums{}, err
	}
	var mean dpoSums
	scale := make([]float64, len(at)) // of every token of a turn
	n := float64(len(set.pairs))
	for _, p := range set.pairs {
		loss, margin, coef := dpo.Loss(beta, logProb(at[p.start:p.mid]), logProb(at[p.mid:p.end]), p.refChosen, p.refRejected)
		mean.loss += loss / n
		mean.margin += margin / n
		if margin > 0 {
			mean.accuracy += 1 / n
		}
		for i := p.start; i < p.end; i++ {
			scale[i] = coef / n
			if i >= p.mid {
				scale[i] = -scale[i]
			}
		}
	}
	g, err := gradient(ctx, at, len(w), func(i int) []float64 { return same(scale[i], len(at[i].ids)) })
	return g, mean, err
}
