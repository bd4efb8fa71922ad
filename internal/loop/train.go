package loop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/internal/report"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/rollout/pocket"
)

// WeightsFile is the name of a stage's weights.
const WeightsFile = "weights.json"

// SFTFacts is what the sft stage counts.
type SFTFacts struct {
	Asked   int               `json:"asked"` // questions the expert was given
	Used    int               `json:"used"`
	Dropped map[string]int    `json:"dropped"`
	Train   trainer.SFTResult `json:"train"`
}

// SFT plays the expert on train questions, writes S1 and fits version 1.
func (e *Env) SFT(ctx context.Context, kept, out string) (SFTFacts, error) {
	f := SFTFacts{Dropped: map[string]int{}}
	qs, err := ReadQuestions(kept, "")
	if err != nil {
		return f, err
	}
	s := e.Spec.SFT
	rand.New(rand.NewPCG(seedOf(e.Spec.Seed, "sft"), 0)).Shuffle(len(qs), func(i, j int) { qs[i], qs[j] = qs[j], qs[i] })
	qs = qs[:min(len(qs), s.Episodes)]
	eps, unscorable, err := e.ExpertEpisodes(ctx, qs)
	if err != nil {
		return f, err
	}
	f.Asked = len(qs)
	data, base := filepath.Join(out, "s1"), filepath.Join(out, "base.json")
	built, err := BuildS1(eps, data, "expert", e.Spec.License)
	if err != nil {
		return f, err
	}
	f.Used = built.Used
	for reason, n := range built.LeftOut {
		f.Dropped[reason] = n
	}
	if unscorable > 0 {
		f.Dropped["expert_unscorable"] = unscorable
	}
	if f.Used == 0 {
		return f, &quarry.Error{Op: "sft", Kind: quarry.KindGate, Msg: fmt.Sprintf("no expert episode to learn from (%v)", report.Reasons(f.Dropped)), Hint: "widen synth"}
	}
	if err := e.untrained(base); err != nil {
		return f, err
	}
	f.Train, err = e.Trainer.SFT(ctx, trainer.SFTJob{Data: data, Parent: base, Out: filepath.Join(out, WeightsFile), Version: 1, Epochs: s.Epochs, LearningRate: s.LearningRate, L2: s.L2, MaxGuesses: trainer.MaxGuesses})
	return f, err
}

// DPOFacts is what the dpo stage counts.
type DPOFacts struct {
	Questions int               `json:"questions"`
	Episodes  int               `json:"episodes"`
	Pairs     int               `json:"pairs"`
	NoPair    map[string]int    `json:"no_pair"` // episodes or tasks left out, by reason
	Skipped   string            `json:"skipped"` // why no training took place, "" when it did
	Version   int               `json:"version"` // of the weights that come out
	Train     trainer.DPOResult `json:"train"`
}

// Sample plays n attempts at each question with the engine's weights, in a fixed order. What the engine refuses is an
// unscored episode; it is an error when it refuses all.
func (e *Env) Sample(ctx context.Context, eng *Engine, qs []quarry.Question, n int, temperature float64, name string) ([]*quarry.Episode, error) {
	eps := make([]*quarry.Episode, len(qs)*n)
	err := e.each(ctx, len(eps), name, func(ctx context.Context, k int) error {
		q := &qs[k/n]
		id := fmt.Sprintf("%s.%s.%d", name, q.ID, k%n)
		ep, err := e.try(ctx, eng, Attempt{Task: e.FullTask(q), Question: q, EpisodeID: id, GroupID: name + "." + q.ID, Sample: k % n, Seed: seedOf(e.Spec.Seed, id), Temperature: temperature})
		eps[k] = ep
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, ep := range eps {
		if unplayed(ep) != reasonRefused {
			return eps, nil
		}
	}
	if len(eps) > 0 {
		return nil, &quarry.Error{Op: "rollout", Kind: quarry.KindInvalid, Subject: eps[0].ID, Msg: fmt.Sprintf("the engine refused all %d episodes, this one first: %s", len(eps), eps[0].FailureMsg),
			Hint: "check that it serves a model with this vocabulary and supports what docs/formats/sglang-wire.md lists"}
	}
	return eps, nil
}

// DPO samples episodes from the parent, pairs them by answer correctness and trains version 2 against the frozen parent.
func (e *Env) DPO(ctx context.Context, kept, parent, out string) (DPOFacts, error) {
	f := DPOFacts{NoPair: map[string]int{}}
	w, err := pocket.LoadWeights(parent, e.Reader.Features())
	if err != nil {
		return f, err
	}
	f.Version = w.Version
	target := filepath.Join(out, WeightsFile)
	if !e.Spec.DPO.Enabled {
		f.Skipped = "dpo.enabled is false"
		return f, copyFile(parent, target)
	}
	qs, err := ReadQuestions(kept, "")
	if err != nil {
		return f, err
	}
	eng, err := e.StartEngine(ctx, parent, w.Version)
	if err != nil {
		return f, err
	}
	defer eng.Close()
	d := e.Spec.DPO
	eps, err := e.Sample(ctx, eng, qs, d.Samples, 1, "dpo")
	if err != nil {
		return f, err
	}
	f.Questions, f.Episodes = len(qs), len(eps)
	rows, left, err := pairRows(eps, 1)
	if err != nil {
		return f, err
	}
	f.Pairs, f.NoPair = len(rows), left
	if f.Pairs < d.MinPairs {
		f.Skipped = fmt.Sprintf("%d pairs, fewer than dpo.min_pairs %d", f.Pairs, d.MinPairs)
		return f, copyFile(parent, target)
	}
	data := filepath.Join(out, "d1")
	if err := writeRows(data, rows, pairMeta(e.Spec.License)); err != nil {
		return f, err
	}
	f.Version = w.Version + 1
	f.Train, err = e.Trainer.DPO(ctx, trainer.DPOJob{Data: data, Parent: parent, Out: target, Version: f.Version, Beta: d.Beta, Epochs: d.Epochs, LearningRate: d.LearningRate})
	return f, err
}

func copyFile(from, to string) error {
	data, err := atomicfile.ReadFile("copy", from)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(to, data)
}

func versionLabel(v int) string { return strconv.Itoa(v) }
