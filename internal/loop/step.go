package loop

import (
	"math/rand/v2"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/rewards"
	"github.com/quarry-rl/quarry/rollout"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

// step is one batch with its totals and advantages: a pure function of the batch, the coefficients and the spec.
type step struct {
	groups []stepGroup
	coeff  quarry.Coefficients
}

type stepGroup struct {
	id         string
	kind       quarry.TaskKind
	episodes   []*quarry.Episode
	totals     []quarry.Score
	advantages []float64
	effective  int
}

func newStep(b *rollout.Batch, coeff quarry.Coefficients, mode string, seed uint64) *step {
	st := &step{coeff: coeff}
	for _, g := range b.Groups {
		sg := stepGroup{id: g.ID, kind: g.Task.Kind, episodes: g.Episodes}
		for _, ep := range g.Episodes {
			sg.totals = append(sg.totals, rewards.Total(*ep.Scorecard, coeff))
		}
		st.groups = append(st.groups, sg)
	}
	if mode == configs.AdvantagePermuted {
		st.permute(seedOf(seed, "permute", b.ID))
	}
	for i := range st.groups {
		g := &st.groups[i]
		g.advantages, g.effective, _ = rewards.Advantages(g.totals)
		if mode == configs.AdvantageFlipped {
			for k := range g.advantages {
				g.advantages[k] = -g.advantages[k]
			}
		}
	}
	return st
}

// permute shuffles the total rewards across all episodes of the step: a control that must not learn.
func (st *step) permute(seed uint64) {
	var all []*quarry.Score
	for i := range st.groups {
		for k := range st.groups[i].totals {
			all = append(all, &st.groups[i].totals[k])
		}
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { *all[i], *all[j] = *all[j], *all[i] })
}

// record describes the step before training.
func (st *step) record(number, version int, sched rewards.ScheduleState, stale rollout.Staleness) StepRecord {
	rec := StepRecord{Step: number, Version: version + 1, TrainerVersion: version, Phase: sched.Phase + 1, Coefficients: st.coeff, Unscored: map[string]int{}, Staleness: stale}
	var eps []*quarry.Episode
	var cards []quarry.Scorecard
	var totals []quarry.Score
	for _, g := range st.groups {
		rec.Groups++
		rec.Samples += len(g.episodes)
		if g.kind == quarry.TaskPivot {
			rec.Pivot++
		}
		ok, scored := 0, 0
		oldest, newest := int32(-1), int32(-1)
		for _, ep := range g.episodes {
			if ep.Scorecard.ORM.Scored {
				scored++
			}
			if right(ep) {
				ok++
			} else if ep.Kind == quarry.TaskFull && ep.Scorecard.ORM.Scored {
				rec.Failed++
			}
			if lo, hi := ep.Thread.VersionRange(); lo >= 0 {
				if oldest < 0 || lo < oldest {
					oldest = lo
				}
				newest = max(newest, hi)
			}
			eps, cards = append(eps, ep), append(cards, *ep.Scorecard)
		}
		if ok > 0 && ok < scored {
			rec.Mixed++
		}
		if newest > oldest {
			rec.VersionMixed++
		}
		totals = append(totals, g.totals...)
	}
	rec.Rates = rewards.MeasureRates(eps, cards)
	rec.Shares = rewards.EffectiveWeights(cards, st.coeff)
	mean := func(get func(i int) quarry.Score) *float64 {
		sum, n := 0.0, 0
		for i := range cards {
			if s := get(i); s.Scored {
				sum += s.Value
				n++
			} else if s.Reason != "" {
				rec.Unscored[s.Reason]++
			}
		}
		if n == 0 {
			return nil
		}
		sum /= float64(n)
		return &sum
	}
	rec.Means = StepMeans{
		Tool:   mean(func(i int) quarry.Score { return cards[i].Tool }),
		Format: mean(func(i int) quarry.Score { return cards[i].Format }),
		PRM:    mean(func(i int) quarry.Score { return cards[i].PRM }),
		ORM:    mean(func(i int) quarry.Score { return cards[i].ORM }),
	}
	unscored := rec.Unscored
	rec.Unscored = map[string]int{}
	rec.Means.Total = mean(func(i int) quarry.Score { return totals[i] })
	rec.Unscored = unscored
	return rec
}

// rows makes the T1 rows; an unscored episode trains nothing and is left out.
func (st *step) rows(b *rollout.Batch, s configs.RL, sched rewards.ScheduleState, m Model) ([]datasets.T1, error) {
	var rows []datasets.T1
	for _, g := range st.groups {
		for k, ep := range g.episodes {
			if !g.totals[k].Scored || len(ep.Thread.Turns) == 0 {
				continue
			}
			row, err := datasets.T1FromEpisode(ep, datasets.T1Batch{BatchID: b.ID, GroupID: g.id, TrainerVersion: b.TrainerVersion, Coefficients: st.coeff,
				ScheduleVersion: sched.Phase, Advantage: g.advantages[k], Reward: g.totals[k].Value, RewardScored: true, NEffective: g.effective, LossWeight: 1,
				Alpha: s.Alpha, Beta: s.Beta, ModelID: m.ID(), TokenizerSHA: tokens.VocabSHA, TemplateSHA: tokens.TemplateSHA, Engine: m.Engine()})
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// failed are the episodes of full tasks whose answer was wrong: what the pivot stage examines.
func (st *step) failed() []*quarry.Episode {
	var out []*quarry.Episode
	for _, g := range st.groups {
		if g.kind != quarry.TaskFull {
			continue
		}
		for _, ep := range g.episodes {
			if ep.Scorecard.ORM.Scored && !right(ep) {
				out = append(out, ep)
			}
		}
	}
	return out
}
