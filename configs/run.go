// Package configs holds the two kinds of configuration: specs, which say what to compute and are digested into the
// keys of stages, and settings, which say where and how this process works and change no result.
//
// A spec is versioned YAML, read strictly over its defaults: an unknown key, a wrong type or a value out of range is
// an error that names file, line, column and path. Settings come through viper in four levels: default, file,
// environment, flag.
package configs

// APIVersion and KindRun are the first two keys of a spec of a run.
const (
	APIVersion = "quarry/v1alpha1"
	KindRun    = "Run"
)

// Run is the spec of one run of the whole loop. Its digest, part by part, decides which stages are computed anew.
type Run struct {
	// APIVersion is the version of this format.
	APIVersion string `json:"apiVersion" yaml:"apiVersion" enum:"quarry/v1alpha1"`
	// Kind is the kind of spec.
	Kind string `json:"kind" yaml:"kind" enum:"Run"`
	// Name is the run's folder below the state directory's runs; left out, it is the file's name without extension.
	Name string `json:"name" yaml:"name"`
	// Seed is the root of every random stream of the run.
	Seed uint64 `json:"seed" yaml:"seed"`
	// Data is the folder with documents, entities, relations and triples, relative to the working folder.
	Data string `json:"data" yaml:"data"`
	// License is that of the data's texts, an SPDX name; it goes into questions and dataset cards. Empty states none.
	License string `json:"license" yaml:"license"`
	// Concurrency is the number of episodes in flight; it changes the time a run takes, and no digest of synth, sft or dpo.
	Concurrency int `json:"concurrency" yaml:"concurrency"`

	KG       KG       `json:"kg,omitzero" yaml:"kg,omitzero"`
	Synth    Synth    `json:"synth" yaml:"synth"`
	Filter   Filter   `json:"filter" yaml:"filter"`
	SFT      SFT      `json:"sft" yaml:"sft"`
	DPO      DPO      `json:"dpo" yaml:"dpo"`
	RL       RL       `json:"rl" yaml:"rl"`
	Pivot    Pivot    `json:"pivot" yaml:"pivot"`
	Eval     Eval     `json:"eval" yaml:"eval"`
	Budget   Budget   `json:"budget" yaml:"budget"`
	Schedule Schedule `json:"schedule" yaml:"schedule"`
}

// KG is the part of the graph stage. It has no keys: the files of data are everything that stage depends on.
type KG struct{}

// Synth is the part of question synthesis.
type Synth struct {
	// Walks is the number of random walks tried for each number of hops among the shapes.
	Walks int `json:"walks" yaml:"walks"`
	// CrossBias is the weight of a hop that changes the document, against 1 for one that stays; 1 is no bias.
	CrossBias float64 `json:"cross_bias" yaml:"cross_bias"`
	// Shapes is the list of question shapes, each hops+conditions in statements, such as "3+1".
	Shapes []string `json:"shapes" yaml:"shapes"`
	// MaxFanout is the most objects a hop's (entity, relation) pair may have.
	MaxFanout int `json:"max_fanout" yaml:"max_fanout"`
	// CertTop is the rank, from 1, down to which a hop's evidence must come up under the search tool.
	CertTop int `json:"cert_top" yaml:"cert_top"`
	// MaxAlone is the most answers a path may have before its conditions narrow them to one.
	MaxAlone int `json:"max_alone" yaml:"max_alone"`
	// HubDocs is the number of documents above which an entity is neither an answer nor on a path.
	HubDocs int `json:"hub_docs" yaml:"hub_docs"`
	// PerAnswer is the most questions with one answer.
	PerAnswer int `json:"per_answer" yaml:"per_answer"`
	// PerAnchor is the most questions that start from one entity.
	PerAnchor int `json:"per_anchor" yaml:"per_anchor"`
	// CrossShare is the least share of questions whose evidence crosses documents, 0 to 1.
	CrossShare float64 `json:"cross_share" yaml:"cross_share"`
	// Train is the most questions kept for the train part; 0 keeps all.
	Train int `json:"train" yaml:"train"`
	// Tier is the most questions kept for the tier part, which fits the filter's skill levels; 0 keeps all.
	Tier int `json:"tier" yaml:"tier"`
	// Heldout is the most questions kept for the held-out part; 0 keeps all.
	Heldout int `json:"heldout" yaml:"heldout"`
	// MinTrain is the least train questions after the filter; fewer end the run.
	MinTrain int `json:"min_train" yaml:"min_train"`
	// MinHeldout is the least held-out questions; fewer end the run.
	MinHeldout int `json:"min_heldout" yaml:"min_heldout"`
	// Split divides the documents before any walk.
	Split Split `json:"split" yaml:"split"`
}

// Split holds shares of the documents; they sum to 1.
type Split struct {
	// Train is the share questions to learn from come from.
	Train float64 `json:"train" yaml:"train"`
	// Tier is the share that fits the filter's skill levels.
	Tier float64 `json:"tier" yaml:"tier"`
	// Heldout is the share that only evaluation sees.
	Heldout float64 `json:"heldout" yaml:"heldout"`
}

// Filter is the part of the model-in-the-loop filter.
type Filter struct {
	// Attempts is the number of tries per question and skill level.
	Attempts int `json:"attempts" yaml:"attempts"`
	// MaxAttempts is the most tries per question and skill level when the first ones leave it undecided.
	MaxAttempts int `json:"max_attempts" yaml:"max_attempts"`
	// ClosedBook is the number of tries without tools; one success drops the question.
	ClosedBook int `json:"closed_book" yaml:"closed_book"`
	// SingleQuery is the number of tries with one search; one success drops the question.
	SingleQuery int `json:"single_query" yaml:"single_query"`
}

// SFT is the part of supervised fine-tuning on expert episodes.
type SFT struct {
	// Episodes is the most expert episodes trained on.
	Episodes int `json:"episodes" yaml:"episodes"`
	// Epochs is the number of full-batch passes.
	Epochs int `json:"epochs" yaml:"epochs"`
	// LearningRate is Adam's step size.
	LearningRate float64 `json:"learning_rate" yaml:"learning_rate"`
	// L2 is the weight of the squared norm of the weights in the loss.
	L2 float64 `json:"l2" yaml:"l2"`
}

// DPO is the part of preference training.
type DPO struct {
	// Enabled says whether the stage runs at all.
	Enabled bool `json:"enabled" yaml:"enabled"`
	// Samples is the number of episodes sampled per train question to make pairs from.
	Samples int `json:"samples" yaml:"samples"`
	// MinPairs is the least pairs; with fewer the stage is skipped and says so.
	MinPairs int `json:"min_pairs" yaml:"min_pairs"`
	// Beta is the strength of the pull towards the frozen reference.
	Beta float64 `json:"beta" yaml:"beta"`
	// Epochs is the number of full-batch passes.
	Epochs int `json:"epochs" yaml:"epochs"`
	// LearningRate is Adam's step size.
	LearningRate float64 `json:"learning_rate" yaml:"learning_rate"`
}

// The values of RL.Advantage. All but the first are controls that must not learn.
const (
	AdvantageNormal   = "normal"
	AdvantagePermuted = "permuted"
	AdvantageFlipped  = "flipped"
)

// RL is the part of asynchronous reinforcement learning.
type RL struct {
	// Steps is the number of trainer steps.
	Steps int `json:"steps" yaml:"steps"`
	// Groups is the number of groups per step.
	Groups int `json:"groups" yaml:"groups"`
	// GroupSize is the number of episodes per group.
	GroupSize int `json:"group_size" yaml:"group_size"`
	// LearningRate is Adam's step size.
	LearningRate float64 `json:"learning_rate" yaml:"learning_rate"`
	// Alpha is the lower bound of the IcePop mask on the ratio trainer/engine, in (0, 1].
	Alpha float64 `json:"alpha" yaml:"alpha"`
	// Beta is the upper bound of the IcePop mask, at least 1.
	Beta float64 `json:"beta" yaml:"beta"`
	// MaxStaleness is the most trainer versions between a sample's oldest trained token and the step that uses it.
	MaxStaleness int `json:"max_staleness" yaml:"max_staleness"`
	// MaxVersionSpread is the most trainer versions between the oldest and newest trained token of a group.
	MaxVersionSpread int `json:"max_version_spread" yaml:"max_version_spread"`
	// Overproduction is the number of steps' batches admitted ahead of the published weights; 0 is synchronous.
	Overproduction int `json:"overproduction" yaml:"overproduction"`
	// Temperature is the sampling temperature of rollouts; on bytes only 1 equals the softmax over candidates.
	Temperature float64 `json:"temperature" yaml:"temperature"`
	// Advantage is normal, or a control: permuted mixes the rewards of a step's episodes, flipped turns the sign.
	Advantage string `json:"advantage" yaml:"advantage" enum:"normal,permuted,flipped"`
}

// Pivot is the part of continuation tasks cut from failed episodes.
type Pivot struct {
	// Steps is the number of trainer steps that run continuations beside full tasks; 0 leaves the stage out.
	Steps int `json:"steps" yaml:"steps"`
	// Share is the share of a step's groups that are continuations, 0 to 1.
	Share float64 `json:"share" yaml:"share"`
	// MaxTasks is the most continuation tasks made.
	MaxTasks int `json:"max_tasks" yaml:"max_tasks"`
}

// Eval is the part of held-out evaluation.
type Eval struct {
	// Attempts is the number of tries per question at temperature 1.
	Attempts int `json:"attempts" yaml:"attempts"`
	// Every is the number of RL steps between evaluations; the last step is always evaluated.
	Every int `json:"every" yaml:"every"`
	// Bootstrap is the number of resamples of questions behind the 95 % intervals.
	Bootstrap int `json:"bootstrap" yaml:"bootstrap"`
}

// Budget bounds each episode.
type Budget struct {
	// Turns is the most model calls.
	Turns int `json:"turns" yaml:"turns"`
	// ToolCalls is the most tool calls.
	ToolCalls int `json:"tool_calls" yaml:"tool_calls"`
	// NewTokens is the most sampled tokens per turn.
	NewTokens int `json:"new_tokens" yaml:"new_tokens"`
}

// Schedule holds the measured rates at which the coefficient schedule enters its next phase, each 0 to 1.
type Schedule struct {
	// Tool is the rate of tool calls that worked.
	Tool float64 `json:"tool" yaml:"tool"`
	// Format is the rate of well-formed turns.
	Format float64 `json:"format" yaml:"format"`
	// PRM is the mean process reward.
	PRM float64 `json:"prm" yaml:"prm"`
}

// Default returns the spec that a file is read over. It is complete but for the name.
func Default() Run {
	return Run{
		APIVersion:  APIVersion,
		Kind:        KindRun,
		Seed:        1,
		Data:        "examples/wiki",
		Concurrency: 8,
		Synth: Synth{
			Walks: 40000, CrossBias: 4, Shapes: []string{"3+1", "3+0", "2+2", "2+1"},
			MaxFanout: 3, CertTop: 2, MaxAlone: 2, HubDocs: 20, PerAnswer: 8, PerAnchor: 7, CrossShare: 0.45,
			Train: 400, Tier: 100, Heldout: 200, MinTrain: 150, MinHeldout: 100,
			Split: Split{Train: 0.50, Tier: 0.15, Heldout: 0.35},
		},
		Filter:   Filter{Attempts: 4, MaxAttempts: 16, ClosedBook: 4, SingleQuery: 4},
		SFT:      SFT{Episodes: 30, Epochs: 20, LearningRate: 0.1},
		DPO:      DPO{Enabled: true, Samples: 8, MinPairs: 30, Beta: 0.1, Epochs: 10, LearningRate: 0.02},
		RL:       defaultRL(),
		Pivot:    Pivot{Steps: 4, Share: 0.25, MaxTasks: 200},
		Eval:     Eval{Attempts: 4, Every: 2, Bootstrap: 1000},
		Budget:   Budget{Turns: 8, ToolCalls: 5, NewTokens: 256},
		Schedule: Schedule{Tool: 0.9, Format: 0.95, PRM: 0.5},
	}
}

func defaultRL() RL {
	return RL{
		Steps: 16, Groups: 48, GroupSize: 8, LearningRate: 0.05, Alpha: 0.5, Beta: 5, MaxStaleness: 4,
		MaxVersionSpread: 3, Overproduction: 1, Temperature: 1, Advantage: AdvantageNormal,
	}
}
