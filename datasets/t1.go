package datasets

import (
	"fmt"

	"github.com/quarry-rl/quarry"
)

// T1 is one token sequence for an RL step. IDs, Mask, BehavLogprobs and WeightVersions (and TrainLogprobs, Adv and
// KVMixed when present) have one length; position i speaks of token IDs[i].
type T1 struct {
	ID                   string    `parquet:"id"`
	GroupID              string    `parquet:"group_id"`
	TrajID               string    `parquet:"traj_id"` // the episode
	TaskID               string    `parquet:"task_id"`
	Branch               int32     `parquet:"branch"`
	IDs                  []int32   `parquet:"ids,list" parquet-element:",plain"`
	PromptLen            int32     `parquet:"prompt_len"`                        // index of the first sampled token
	Mask                 []int8    `parquet:"mask,list" parquet-element:",dict"` // 1 = sampled by the policy
	BehavLogprobs        []float32 `parquet:"behav_logprobs,list" parquet-element:",split"`
	TrainLogprobs        []float32 `parquet:"train_logprobs,optional,list" parquet-element:",split"`
	Adv                  []float32 `parquet:"adv,optional,list" parquet-element:",dict"`
	AdvScalar            float64   `parquet:"adv_scalar"`
	WeightVersions       []int32   `parquet:"weight_versions,list" parquet-element:",dict"` // -1 where mask is 0
	KVMixed              []int8    `parquet:"kv_mixed,optional,list" parquet-element:",dict"`
	Reward               *float64  `parquet:"reward,optional"` // null when unscored
	Rewards              Rewards   `parquet:"rewards"`
	LossWeight           float64   `parquet:"loss_weight"`
	NEffective           int32     `parquet:"n_effective"`
	Coeff                Coeff     `parquet:"coeff"`
	ScheduleVersion      int32     `parquet:"schedule_version"`
	TaskKind             string    `parquet:"task_kind,dict"` // full, pivot
	ParentTrajID         string    `parquet:"parent_traj_id,optional"`
	PivotTurn            *int32    `parquet:"pivot_turn,optional"`
	HintStart            *int32    `parquet:"hint_start,optional"`
	HintLen              *int32    `parquet:"hint_len,optional"`
	BatchID              string    `parquet:"batch_id,dict"`
	TrainerVersionAtShip int32     `parquet:"trainer_version_at_ship"`
	MinVersion           int32     `parquet:"min_version"`
	MaxVersion           int32     `parquet:"max_version"`
	Temperature          float32   `parquet:"temperature"`
	TopP                 float32   `parquet:"top_p"`
	FinishReason         string    `parquet:"finish_reason,dict"` // of the last turn: stop, length, abort
	Status               string    `parquet:"status,dict"`        // completed, truncated, aborted, failed
	IcePop               *IcePop   `parquet:"icepop,optional"`
	ModelID              string    `parquet:"model_id,dict"`
	TokenizerSHA         string    `parquet:"tokenizer_sha,dict"`
	TemplateSHA          string    `parquet:"template_sha,dict"`
	Engine               string    `parquet:"engine,dict"`
}

// Rewards are the components; null is unscored, never 0.
type Rewards struct {
	ORM    *float64 `parquet:"orm,optional"`
	PRM    *float64 `parquet:"prm,optional"`
	Tool   *float64 `parquet:"tool,optional"`
	Format *float64 `parquet:"format,optional"`
}

// Coeff are the reward coefficients in force.
type Coeff struct {
	Tool   float64 `parquet:"tool"`
	Format float64 `parquet:"format"`
	PRM    float64 `parquet:"prm"`
	ORM    float64 `parquet:"orm"`
}

// IcePop are the mask's bounds and, once a trainer has computed them, its figures. The mask itself is never stored.
type IcePop struct {
	Alpha    float32  `parquet:"alpha"`
	Beta     float32  `parquet:"beta"`
	NTokens  int32    `parquet:"n_tokens"` // sampled tokens
	NMasked  int32    `parquet:"n_masked"` // -1: not computed
	RatioMin *float64 `parquet:"ratio_min,optional"`
	RatioMax *float64 `parquet:"ratio_max,optional"`
	KLK1     *float64 `parquet:"kl_k1,optional"`
	KLK3     *float64 `parquet:"kl_k3,optional"`
}

// T1Batch is what the batch knows of an episode beyond the episode itself.
type T1Batch struct {
	BatchID         string
	GroupID         string
	TrainerVersion  int32 // of the trainer the batch ships to; staleness = TrainerVersion - min_version
	Coefficients    quarry.Coefficients
	ScheduleVersion int
	Advantage       float64
	Reward          float64 // total
	RewardScored    bool    // false: Reward is stored as null
	NEffective      int     // scored episodes in the group's baseline
	LossWeight      float64
	Alpha, Beta     float64 // bounds of the IcePop ratio
	ModelID         string
	TokenizerSHA    string
	TemplateSHA     string
	Engine          string
}

// T1FromEpisode makes the row of an episode's thread. The slices are shared with the episode, not copied. Without a
// sampled token, or with a reward for an episode that failed by infrastructure or judge, it is an invalid error.
func T1FromEpisode(ep *quarry.Episode, b T1Batch) (T1, error) {
	if ep == nil {
		return T1{}, noEpisode("make T1 row", "no episode")
	}
	th := &ep.Thread
	sampled := int32(0)
	for _, m := range th.Mask {
		sampled += int32(m)
	}
	if sampled == 0 || len(th.Versions) != len(th.Mask) || len(th.Turns) == 0 {
		return T1{}, noEpisode("make T1 row", "episode "+shown(ep.ID)+" has no sampled token with its version and turn")
	}
	if b.RewardScored && (ep.Failure == quarry.FailInfra || ep.Failure == quarry.FailJudge) {
		return T1{}, noEpisode("make T1 row", fmt.Sprintf("episode %s failed by %s and cannot have a reward", shown(ep.ID), ep.Failure))
	}
	row := T1{
		ID: ep.ID, GroupID: b.GroupID, TrajID: ep.ID, TaskID: ep.TaskID,
		IDs: th.IDs, PromptLen: int32Of(th.PromptLen), Mask: th.Mask, BehavLogprobs: th.Logprobs, WeightVersions: th.Versions,
		AdvScalar: b.Advantage, LossWeight: b.LossWeight, NEffective: int32Of(b.NEffective),
		Coeff: Coeff(b.Coefficients), ScheduleVersion: int32Of(b.ScheduleVersion),
		TaskKind: string(ep.Kind), BatchID: b.BatchID, TrainerVersionAtShip: b.TrainerVersion,
		Temperature: float32(ep.Temperature), TopP: 1, FinishReason: th.Turns[len(th.Turns)-1].Finish, Status: statusOf(ep.End),
		IcePop:  &IcePop{Alpha: float32(b.Alpha), Beta: float32(b.Beta), NTokens: sampled, NMasked: -1},
		ModelID: b.ModelID, TokenizerSHA: b.TokenizerSHA, TemplateSHA: b.TemplateSHA, Engine: b.Engine,
	}
	row.MinVersion, row.MaxVersion = th.VersionRange()
	if b.RewardScored {
		row.Reward = &b.Reward
	}
	if s := ep.Scorecard; s != nil {
		row.Rewards = Rewards{ORM: scored(s.ORM), PRM: scored(s.PRM), Tool: scored(s.Tool), Format: scored(s.Format)}
	}
	if ep.Kind == quarry.TaskPivot {
		turn, start, length := int32Of(ep.PivotTurn), int32Of(ep.HintStart), int32Of(ep.HintLen)
		row.ParentTrajID, row.PivotTurn, row.HintStart, row.HintLen = ep.ParentEpisode, &turn, &start, &length
	}
	return row, nil
}

// statusOf says why an episode ended in the words of slime's sample status.
func statusOf(end quarry.Termination) string {
	switch end {
	case quarry.EndFinalAnswer:
		return "completed"
	case quarry.EndMaxTurns, quarry.EndTokenBudget, quarry.EndContextOverflow:
		return "truncated"
	case quarry.EndCancelled:
		return "aborted"
	default:
		return "failed"
	}
}

func (r T1) key() string { return r.ID }

func (T1) spec() spec {
	return spec{kind: "T1", version: 1, short: []string{"id", "group_id", "traj_id", "task_id", "task_kind", "parent_traj_id",
		"batch_id", "finish_reason", "status", "model_id", "tokenizer_sha", "template_sha", "engine"}}
}
