package datasets

import (
	"fmt"
	"math"

	"github.com/quarry-rl/quarry"
)

func (r T1) check(c *checker) {
	c.id("id", r.ID)
	c.id("group_id", r.GroupID)
	c.id("traj_id", r.TrajID)
	c.id("task_id", r.TaskID)
	c.atLeast("branch", int64(r.Branch), 0)
	r.checkTokens(c)
	r.checkReward(c)
	r.checkPivot(c)
	c.id("batch_id", r.BatchID)
	c.atLeast("trainer_version_at_ship", int64(r.TrainerVersionAtShip), 0)
	c.finite("temperature", float64(r.Temperature))
	if r.Temperature < 0 {
		c.fail("temperature", r.Temperature, "a number >= 0")
	}
	if !(r.TopP > 0 && r.TopP <= 1) {
		c.fail("top_p", r.TopP, "a number in (0, 1]")
	}
	c.oneOf("finish_reason", r.FinishReason, "stop", "length", "abort")
	c.oneOf("status", r.Status, "completed", "truncated", "aborted", "failed")
	if p := r.IcePop; p == nil {
		for _, col := range []string{"icepop.ratio_min", "icepop.ratio_max", "icepop.kl_k1", "icepop.kl_k3", "icepop.alpha", "icepop.beta",
			"icepop.n_tokens", "icepop.n_masked"} {
			c.null(col)
		}
	} else {
		c.enter("icepop", -1)
		p.check(c)
		c.leave()
	}
	c.short("model_id", r.ModelID)
	c.short("tokenizer_sha", r.TokenizerSHA)
	c.short("template_sha", r.TemplateSHA)
	c.short("engine", r.Engine)
}

// checkTokens checks the parallel lists: their lengths, and what stands where the mask is 0 or 1.
func (r T1) checkTokens(c *checker) {
	n := len(r.IDs)
	if n == 0 {
		c.fail("ids", note("[]"), "at least one token")
	}
	for _, l := range []struct {
		column   string
		n, width int
		optional bool
	}{
		{"mask", len(r.Mask), 1, false},
		{"behav_logprobs", len(r.BehavLogprobs), 4, false},
		{"weight_versions", len(r.WeightVersions), 4, false},
		{"train_logprobs", len(r.TrainLogprobs), 4, r.TrainLogprobs == nil},
		{"adv", len(r.Adv), 4, r.Adv == nil},
		{"kv_mixed", len(r.KVMixed), 1, r.KVMixed == nil},
	} {
		if l.n != n && !l.optional {
			c.fail(l.column, note(fmt.Sprintf("%d values", l.n)), fmt.Sprintf("%d, as many as ids", n))
		}
		c.bytes += int64(l.n * l.width)
	}
	c.bytes += int64(4 * n)
	c.tokens += int64(n)
	if c.bad != nil {
		return // the lists cannot be walked together
	}
	if 4*n > maxValue {
		c.fail("ids", note(fmt.Sprintf("%d tokens", n)), fmt.Sprintf("at most %d", maxValue/4))
		return
	}
	first, low, high := -1, int32(-1), int32(-1)
	for i := range n {
		if r.IDs[i] < 0 {
			c.failAt("ids", i, r.IDs[i], "a token id >= 0")
		}
		lp, v := r.BehavLogprobs[i], r.WeightVersions[i]
		switch r.Mask[i] {
		case 0:
			if lp != 0 {
				c.failAt("behav_logprobs", i, lp, "0, as mask is 0")
			}
			if v != -1 {
				c.failAt("weight_versions", i, v, "-1, as mask is 0")
			}
		case 1:
			if first < 0 {
				first = i
			}
			if !isLogprob(lp) {
				c.failAt("behav_logprobs", i, lp, "a finite number <= 0")
			}
			if v < 0 {
				c.failAt("weight_versions", i, v, "a version >= 0, as mask is 1")
			}
			if low < 0 || v < low {
				low = v
			}
			high = max(high, v)
		default:
			c.failAt("mask", i, r.Mask[i], "0 or 1")
		}
		if r.TrainLogprobs != nil && !isLogprob(r.TrainLogprobs[i]) {
			c.failAt("train_logprobs", i, r.TrainLogprobs[i], "a finite number <= 0")
		}
		if r.Adv != nil && (math.IsNaN(float64(r.Adv[i])) || math.IsInf(float64(r.Adv[i]), 0)) {
			c.failAt("adv", i, r.Adv[i], "a finite number")
		}
		if r.KVMixed != nil && (r.KVMixed[i] < 0 || r.KVMixed[i] > r.Mask[i]) {
			c.failAt("kv_mixed", i, r.KVMixed[i], "0, or 1 on a sampled token")
		}
	}
	if first < 0 {
		c.fail("mask", note("all 0"), "at least one sampled token")
	} else if int(r.PromptLen) != first {
		c.fail("prompt_len", r.PromptLen, fmt.Sprintf("%d, the index of the first sampled token", first))
	}
	if r.MinVersion != low {
		c.fail("min_version", r.MinVersion, fmt.Sprintf("%d, the oldest of weight_versions", low))
	}
	if r.MaxVersion != high {
		c.fail("max_version", r.MaxVersion, fmt.Sprintf("%d, the newest of weight_versions", high))
	}
	c.bytes += 12
}

func isLogprob(v float32) bool { return v <= 0 && !math.IsInf(float64(v), 0) } // NaN <= 0 is false

func (c *checker) failAt(column string, i int, value any, want string) {
	if c.bad != nil {
		return
	}
	c.enter(column, i)
	c.fail("", value, want)
	c.leave()
}

func (r T1) checkReward(c *checker) {
	c.finite("adv_scalar", r.AdvScalar)
	c.maybe("reward", r.Reward)
	if r.Reward == nil && r.AdvScalar != 0 {
		c.fail("adv_scalar", r.AdvScalar, "0, as reward is null: an unscored sample has no advantage")
	}
	c.enter("rewards", -1)
	c.maybe("orm", r.Rewards.ORM)
	c.maybe("prm", r.Rewards.PRM)
	c.maybe("tool", r.Rewards.Tool)
	c.maybe("format", r.Rewards.Format)
	c.leave()
	c.finite("loss_weight", r.LossWeight)
	if r.LossWeight < 0 {
		c.fail("loss_weight", r.LossWeight, "a number >= 0")
	}
	c.atLeast("n_effective", int64(r.NEffective), 0)
	c.enter("coeff", -1)
	c.finite("tool", r.Coeff.Tool)
	c.finite("format", r.Coeff.Format)
	c.finite("prm", r.Coeff.PRM)
	c.finite("orm", r.Coeff.ORM)
	c.leave()
	c.atLeast("schedule_version", int64(r.ScheduleVersion), 0)
}

// checkPivot checks that a continuation names its parent and that its hint is context: nothing in it is sampled.
func (r T1) checkPivot(c *checker) {
	c.oneOf("task_kind", r.TaskKind, string(quarry.TaskFull), string(quarry.TaskPivot))
	c.short("parent_traj_id", r.ParentTrajID)
	if r.ParentTrajID == "" {
		c.null("parent_traj_id")
	}
	c.maybeInt("pivot_turn", r.PivotTurn)
	c.maybeInt("hint_start", r.HintStart)
	c.maybeInt("hint_len", r.HintLen)
	if r.TaskKind != string(quarry.TaskPivot) {
		if r.ParentTrajID != "" || r.PivotTurn != nil || r.HintStart != nil || r.HintLen != nil {
			c.fail("task_kind", r.TaskKind, "pivot, as pivot columns are set")
		}
		return
	}
	if r.ParentTrajID == "" {
		c.fail("parent_traj_id", note("null"), "the episode that was continued, as task_kind is pivot")
	}
	if r.PivotTurn == nil || r.HintStart == nil || r.HintLen == nil {
		c.fail("pivot_turn", note("null"), "pivot_turn, hint_start and hint_len, as task_kind is pivot")
		return
	}
	if end := int64(*r.HintStart) + int64(*r.HintLen); end > int64(r.PromptLen) {
		c.fail("hint_len", *r.HintLen, fmt.Sprintf("a hint that ends within the prompt of %d tokens", r.PromptLen))
	}
}

func (p *IcePop) check(c *checker) {
	if a, b := float64(p.Alpha), float64(p.Beta); !(a >= 0 && a <= b) || math.IsInf(b, 0) {
		c.fail("alpha", p.Alpha, fmt.Sprintf("0 <= alpha <= beta (%v), both finite", p.Beta))
	}
	c.atLeast("n_tokens", int64(p.NTokens), 0)
	c.atLeast("n_masked", int64(p.NMasked), -1)
	c.maybe("ratio_min", p.RatioMin)
	c.maybe("ratio_max", p.RatioMax)
	c.maybe("kl_k1", p.KLK1)
	c.maybe("kl_k3", p.KLK3)
}
