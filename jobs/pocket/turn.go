package pocket

import (
	"context"

	engine "github.com/quarry-rl/quarry/rollout/pocket"
)

// turn is one assistant turn: what could have followed its context, and what did, closing <|im_end|> included unless
// it was cut off.
type turn struct {
	choices     *engine.Choices
	ids         []int32
	temperature float64 // it was or is thought to be sampled at
}

// turns enumerates the half-open ranges of a conversation and checks that each is among its candidates
// (KindUnscorable).
func (t *Trainer) turns(ids []int32, ranges [][2]int, guesses []string, temperature float64) ([]turn, error) {
	out := make([]turn, 0, len(ranges))
	for _, r := range ranges {
		choices, err := t.enum.Enumerate(ids[:r[0]], guesses)
		if err != nil {
			return nil, err
		}
		tn := turn{choices: choices, ids: ids[r[0]:r[1]], temperature: temperature}
		if _, err := engine.NewTree(choices, nil).LogProbs(tn.ids, temperature); err != nil {
			return nil, err
		}
		out = append(out, tn)
	}
	return out, nil
}

// scored is a turn under given weights.
type scored struct {
	turn
	tree *engine.Tree
	logp []float64 // per token
}

// score puts every turn under the weights.
func score(ctx context.Context, set []turn, w []float64) ([]scored, error) {
	out := make([]scored, len(set))
	err := each(ctx, len(set), func(i int) error {
		tree := engine.NewTree(set[i].choices, w)
		logp, err := tree.LogProbs(set[i].ids, set[i].temperature)
		out[i] = scored{turn: set[i], tree: tree, logp: logp}
		return err
	})
	return out, err
}

// gradient is the sum over turns and tokens of scale(turn)[token] * d log p / dw, a vector of length dim. A nil scale is
// all zeros.
func gradient(ctx context.Context, set []scored, dim int, scale func(i int) []float64) ([]float64, error) {
	return sum(ctx, len(set), dim, func(i int, acc []float64) error {
		by := scale(i)
		if by == nil {
			return nil
		}
		return set[i].tree.AddGrad(acc, set[i].ids, by, set[i].temperature)
	})
}

// logProb is the log-probability of whole turns.
func logProb(turns []scored) float64 {
	total := 0.0
	for _, t := range turns {
		for _, lp := range t.logp {
			total += lp
		}
	}
	return total
}

// decisions says for each token whether more than one could have followed with a probability above 0.
func (s *scored) decisions() []bool {
	out := make([]bool, len(s.ids))
	node := s.tree.Root()
	for i, id := range s.ids {
		out[i] = s.tree.Entropy(node, s.temperature) > 0
		node, _ = s.tree.Advance(node, id)
	}
	return out
}

// same is v n times.
func same(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}
