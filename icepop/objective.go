package icepop

import (
	"fmt"
	"math"

	"github.com/quarry-rl/quarry"
)

// RatioBypass takes the rollout policy as the old one: one ratio, current to rollout, no extra forward pass.
const RatioBypass = "bypass"

// Losses by name.
const (
	LossReinforce = "reinforce"
	LossPPOClip   = "ppo_clip"
)

// RuleDoubleCount is the Subject of the error for bypass + ppo_clip + is_weight: in bypass mode the clipped ratio
// already is current to rollout, and the weight would count it twice.
const RuleDoubleCount = "bypass+ppo_clip+is_weight"

// Objective says what an RL step maximises.
type Objective struct {
	Ratio    string `json:"ratio"`     // RatioBypass
	Loss     string `json:"loss"`      // LossReinforce
	ISWeight bool   `json:"is_weight"` // multiply by the IcePop weight; false trains uncorrected
	Bounds   Bounds `json:"bounds"`
}

// DefaultObjective is REINFORCE with the IcePop weight in bypass mode.
func DefaultObjective() Objective {
	return Objective{Ratio: RatioBypass, Loss: LossReinforce, ISWeight: true, Bounds: DefaultBounds()}
}

// Validate refuses (KindInvalid) what this package does not compute, and by name what nobody should.
func (o Objective) Validate() error {
	invalid := func(subject, msg, hint string) error {
		return &quarry.Error{Op: "objective", Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: hint}
	}
	switch {
	case o.Ratio != RatioBypass:
		return invalid("ratio", fmt.Sprintf("%q is unknown", o.Ratio), "use "+RatioBypass)
	case o.Loss == LossPPOClip && o.ISWeight:
		return invalid(RuleDoubleCount, "the clipped ratio already is current to rollout; the weight would count it twice",
			"set loss: "+LossReinforce+", or is_weight: false with a trainer that clips")
	case o.Loss != LossReinforce:
		return invalid("loss", fmt.Sprintf("%q has no gradient scale here", o.Loss), "use "+LossReinforce)
	}
	return o.Bounds.Validate()
}

// Sample is one trained sequence of the step.
type Sample struct {
	Weights    []float64 // of Correct, one per token
	Mask       []int8
	Advantage  float64
	LossWeight float64 // 1, or its share when an episode gives several samples
}

// TokenScales gives, per sample and token, the factor of grad log p(token) in the gradient to ascend:
// advantage * weight * loss weight / episodes, and 0 on mask 0. That is the sum over tokens and the mean over episodes;
// masked tokens stay in the denominator, which is the whole step's episode count, never a micro-batch's. The weight is
// held constant: r * grad log p is the gradient of r. Unequal lengths, values that are not finite and episodes < 1 are
// KindInvalid.
func (o Objective) TokenScales(samples []Sample, episodes int) ([][]float64, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	invalid := func(subject, hint, format string, args ...any) error {
		return &quarry.Error{Op: "token scales", Kind: quarry.KindInvalid, Subject: subject, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	if episodes < 1 {
		return nil, invalid("episodes", "count the episodes of the whole step", "%d", episodes)
	}
	out := make([][]float64, len(samples))
	for i, s := range samples {
		subject := fmt.Sprintf("sample %d", i)
		if len(s.Weights) != len(s.Mask) {
			return nil, invalid(subject, "take the weights of the same row", "%d weights for %d tokens", len(s.Weights), len(s.Mask))
		}
		factor := s.Advantage * s.LossWeight / float64(episodes)
		if math.IsNaN(factor) || math.IsInf(factor, 0) {
			return nil, invalid(subject, "leave unscored episodes out", "advantage %v, loss weight %v", s.Advantage, s.LossWeight)
		}
		scales := make([]float64, len(s.Mask))
		for t, m := range s.Mask {
			switch {
			case m == 0:
			case !o.ISWeight:
				scales[t] = factor
			case s.Weights[t] != 0: // also keeps a masked token at +0 under a negative advantage
				scales[t] = factor * s.Weights[t]
			}
		}
		out[i] = scales
	}
	return out, nil
}

// logprobSlack is how far above 0 float arithmetic of an engine may put a log-probability.
const logprobSlack = 1e-3

// CheckMask refuses (KindCorrupt, naming the token) a row that would train on tokens the policy did not sample: mask 1
// with version -1, mask 0 with a log-probability or a version, mask values other than 0 and 1, log-probabilities that
// are not finite or above 0, and arrays of unequal length.
func CheckMask(mask []int8, versions []int32, logprobs []float32) error {
	corrupt := func(subject, format string, args ...any) error {
		return &quarry.Error{Op: "mask", Kind: quarry.KindCorrupt, Subject: subject, Msg: fmt.Sprintf(format, args...),
			Hint: "drop the row; only sampled tokens carry mask 1, a version and a log-probability"}
	}
	if len(mask) != len(versions) || len(mask) != len(logprobs) {
		return corrupt("lengths", "mask %d, versions %d, logprobs %d", len(mask), len(versions), len(logprobs))
	}
	for i, m := range mask {
		l := float64(logprobs[i])
		subject := fmt.Sprintf("token %d", i)
		switch {
		case math.IsNaN(l) || math.IsInf(l, 0):
			return corrupt(subject, "log-probability %v", l)
		case m != 0 && m != 1:
			return corrupt(subject, "mask %d", m)
		case m == 1 && versions[i] < 0:
			return corrupt(subject, "mask 1 on a token no policy sampled")
		case m == 1 && l > logprobSlack:
			return corrupt(subject, "log-probability %v above 0", l)
		case m == 0 && l != 0:
			return corrupt(subject, "mask 0 with log-probability %v", l)
		case m == 0 && versions[i] != -1:
			return corrupt(subject, "mask 0 with version %d", versions[i])
		}
	}
	return nil
}
