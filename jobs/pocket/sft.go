package pocket

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/rollout/tokens"
	"github.com/quarry-rl/quarry/sft"
)

// MaxGuesses bounds the closed-book guesses a weights file carries.
const MaxGuesses = 20

// SFTJob fits a policy to expert episodes.
type SFTJob struct {
	Data         string  // S1 dataset directory
	Parent       string  // weights file to start from
	Out          string  // weights file to write
	Version      int     // of the weights written
	Epochs       int     // full-batch steps
	LearningRate float64 // Adam's step size
	L2           float64 // the objective loses L2/2 times the squared norm of the weights
	MaxGuesses   int     // closed-book guesses to keep, 0 to 20: the commonest normalised answers of the data
}

// SFTResult says what a job did.
type SFTResult struct {
	Digest     string  `json:"digest"`     // of the weights file, as Weights.Save gives it
	LossFirst  float64 `json:"loss_first"` // mean of -log p of an assistant turn before the first step
	LossLast   float64 `json:"loss_last"`  // and after the last one
	Turns      int     `json:"turns"`      // trained on
	Episodes   int     `json:"episodes"`
	Unscorable int     `json:"unscorable"` // episodes left out: a turn of theirs is not among its candidates
}

// SFT raises the mean log-likelihood of the assistant turns whose loss flag is set, by full-batch Adam ascent at T=1,
// and writes new weights atomically. Errors: KindInvalid for bad settings, rows and feature sets, KindUnscorable when
// no episode can be scored, KindCanceled.
func (t *Trainer) SFT(ctx context.Context, job SFTJob) (SFTResult, error) {
	if err := check(
		setting{"epochs", float64(job.Epochs), job.Epochs > 0, "1 or more"},
		setting{"learning_rate", job.LearningRate, job.LearningRate > 0, "more than 0"},
		setting{"l2", job.L2, job.L2 >= 0, "0 or more"},
		setting{"max_guesses", float64(job.MaxGuesses), job.MaxGuesses >= 0 && job.MaxGuesses <= MaxGuesses, "0 to 20"},
	); err != nil {
		return SFTResult{}, err
	}
	parent, digest, err := t.parent(job.Parent)
	if err != nil {
		return SFTResult{}, err
	}
	rows, _, err := open[datasets.S1](job.Data)
	if err != nil {
		return SFTResult{}, err
	}
	w := child(parent, digest, job.Version)
	w.Guesses = commonAnswers(rows, job.MaxGuesses)
	set, res, err := t.expertTurns(ctx, job.Data, rows, w.Guesses)
	if err != nil {
		return SFTResult{}, err
	}
	if len(set) == 0 {
		return SFTResult{}, &quarry.Error{Op: "train", Kind: quarry.KindUnscorable, Subject: job.Data,
			Msg:  fmt.Sprintf("none of %d episodes has turns that the policy can write", len(rows)),
			Hint: "build the dataset with this quarry's expert, which chooses among the policy's candidates"}
	}
	opt := newAdam(len(w.W))
	for epoch := range job.Epochs {
		g, loss, err := sftGradient(ctx, set, w.W, job.L2)
		if err != nil {
			return SFTResult{}, err
		}
		if epoch == 0 {
			res.LossFirst = loss
		}
		opt.ascend(w.W, g, job.LearningRate)
	}
	if _, res.LossLast, err = sftGradient(ctx, set, w.W, job.L2); err != nil {
		return SFTResult{}, err
	}
	res.Digest, err = w.Save(job.Out, t.set)
	return res, err
}

// sftGradient is the gradient of -loss - L2/2 |w|^2, and the loss: the mean of -log p over turns.
func sftGradient(ctx context.Context, set []turn, w []float64, l2 float64) (g []float64, loss float64, err error) {
	at, err := score(ctx, set, w)
	if err != nil {
		return nil, 0, err
	}
	logp := make([][]float64, len(at))
	for i := range at {
		logp[i] = at[i].logp
	}
	loss, weight, err := sft.Loss(logp, sft.MeanTurn)
	if err != nil {
		return nil, 0, err
	}
	g, err = gradient(ctx, at, len(w), func(i int) []float64 { return same(weight, len(at[i].ids)) })
	for i := range g {
		g[i] -= l2 * w[i]
	}
	return g, loss, err
}

// expertTurns enumerates each turn to be trained once; the candidates are kept for all epochs.
func (t *Trainer) expertTurns(ctx context.Context, data string, rows []datasets.S1, guesses []string) ([]turn, SFTResult, error) {
	perRow := make([][]turn, len(rows))
	dropped := make([]bool, len(rows))
	err := each(ctx, len(rows), func(i int) error {
		row := &rows[i]
		tools, err := datasets.ParseTools(row.Tools)
		if err != nil {
			return at(data, row.ID, err)
		}
		ids, _, ranges := tokens.RenderConversation(row.Conversation(), tools)
		var trained [][2]int
		for _, m := range row.Messages {
			if m.Role != tokens.RoleAssistant {
				continue
			}
			if m.Loss {
				trained = append(trained, ranges[0])
			}
			ranges = ranges[1:]
		}
		perRow[i], err = t.turns(ids, trained, guesses, 1)
		if quarry.KindOf(err) == quarry.KindUnscorable {
			dropped[i] = true
			return nil
		}
		if err != nil {
			return at(data, row.ID, err)
		}
		return nil
	})
	if err != nil {
		return nil, SFTResult{}, err
	}
	var set []turn
	var res SFTResult
	for i := range rows {
		set = append(set, perRow[i]...)
		switch {
		case dropped[i]:
			res.Unscorable++
		case len(perRow[i]) > 0:
			res.Episodes++
		}
	}
	res.Turns = len(set)
	return set, res, nil
}

// commonAnswers are the n commonest final answers after Normalize, equals by name.
func commonAnswers(rows []datasets.S1, n int) []string {
	count := map[string]int{}
	for _, r := range rows {
		if len(r.Messages) == 0 {
			continue
		}
		p, err := tokens.ParseAssistant(r.Messages[len(r.Messages)-1].Content)
		if a := quarry.Normalize(p.Answer); err == nil && p.HasAnswer && a != "" {
			count[a]++
		}
	}
	names := make([]string, 0, len(count))
	for a := range count {
		names = append(names, a)
	}
	slices.SortFunc(names, func(a, b string) int {
		if c := count[b] - count[a]; c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	return names[:min(n, len(names))]
}
