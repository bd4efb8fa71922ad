package cli

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
	trainer "github.com/quarry-rl/quarry/jobs/pocket"
	"github.com/quarry-rl/quarry/rollout/pocket"
)

func newTrain(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Turn a dataset and weights into new weights",
		Args:  onlySubcommands,
		RunE:  showHelp,
	}
	cmd.AddCommand(newTrainSFT(a), newTrainDPO(a), newTrainRL(a))
	return cmd
}

type trainDoc struct {
	Weights string `json:"weights"`
	Version int    `json:"weights_version"`
	Parent  string `json:"parent"`
	Result  any    `json:"result"` // what the trainer of the objective reports
}

// trainFlags are those of every objective.
type trainFlags struct {
	data, parent, out string
	version           int
	spec              func() (configs.Run, error)
}

func (a *app) trainFlags(cmd *cobra.Command, parent string) *trainFlags {
	f := &trainFlags{}
	cmd.Flags().StringVar(&f.data, "data", "", "dataset folder")
	cmd.Flags().StringVar(&f.parent, "parent", parent, "weights file to start from")
	cmd.Flags().StringVar(&f.out, flagOut, "", "weights file to write")
	cmd.Flags().IntVar(&f.version, "version", 0, "version of the weights written (default that of the parent + 1)")
	f.spec = a.specFlag(cmd)
	return f
}

// train prepares a job, runs it and prints its result.
func (a *app) train(cmd *cobra.Command, f *trainFlags, job func(t *trainer.Trainer, s configs.Run, parent string, doc *trainDoc) ([]row, error)) error {
	if err := required(cmd, "data", flagOut); err != nil {
		return err
	}
	s, err := f.spec()
	if err != nil {
		return err
	}
	doc := trainDoc{Weights: a.Path(f.out), Version: f.version, Parent: f.parent}
	if err := newFile(doc.Weights); err != nil {
		return err
	}
	env := a.env(s, nil, nil)
	if f.parent, err = a.weights(f.parent); err != nil {
		return err
	}
	if f.data, err = a.folder(f.data, "quarry build writes dataset folders"); err != nil {
		return err
	}
	parent, drop, err := env.WeightsFile(f.parent)
	if err != nil {
		return err
	}
	defer drop()
	w, err := pocket.LoadWeights(parent, env.Reader.Features())
	if err != nil {
		return err
	}
	if !cmd.Flags().Changed("version") {
		doc.Version = w.Version + 1
	}
	if doc.Version > math.MaxInt32 { // what a token's version is stored as
		return badFlag(cmd, "version", fmt.Sprintf("a number up to %d", math.MaxInt32))
	}
	if doc.Version <= w.Version {
		return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Subject: "--version", Msg: fmt.Sprintf("is %d, but the parent has version %d", doc.Version, w.Version),
			Hint: fmt.Sprintf("leave it out, or give %d or more", w.Version+1)}
	}
	var rows []row
	err = a.stage("train "+cmd.Name(), func(*report.Progress) (note string, err error) {
		rows, err = job(env.Trainer, s, parent, &doc)
		return fmt.Sprintf("weights version %d", doc.Version), err
	})
	if err != nil {
		return fromFlag(cmd, err)
	}
	return a.print(doc, append(rows, row{"weights", fmt.Sprintf("%s, version %d", doc.Weights, doc.Version)}))
}

// fromFlag names the flag where a setting out of range came from one, not from the spec.
func fromFlag(cmd *cobra.Command, err error) error {
	var e *quarry.Error
	if !errors.As(err, &e) {
		return err
	}
	f := cmd.Flags().Lookup(strings.TrimPrefix(strings.ReplaceAll(e.Subject, "_", "-"), "max-"))
	if f == nil || !f.Changed {
		return err
	}
	return &quarry.Error{Op: cmd.CommandPath(), Kind: e.Kind, Subject: "--" + f.Name, Msg: e.Msg, Hint: cmd.CommandPath() + " --help lists the flags"}
}

// number is a flag whose default stands in the spec.
type number[T any] struct {
	cmd  *cobra.Command
	name string
	v    *T
}

func (n number[T]) or(fromSpec T) T {
	if n.cmd.Flags().Changed(n.name) {
		return *n.v
	}
	return fromSpec
}

func float(cmd *cobra.Command, name, key, what string) number[float64] {
	return number[float64]{cmd, name, cmd.Flags().Float64(name, 0, what+" (default "+key+" of the spec)")}
}

func whole(cmd *cobra.Command, name, key, what string) number[int] {
	return number[int]{cmd, name, cmd.Flags().Int(name, 0, what+" (default "+key+" of the spec)")}
}

func newTrainSFT(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sft",
		Short:   "Fit a policy to the episodes of an S1 dataset",
		Long:    "Sft raises the likelihood of the turns to imitate. The parent is untrained unless a weights file is given.",
		Example: "  quarry train sft --data s1 --out sft.json\n  quarry train sft --data s1 --parent sft.json --out more.json --epochs 5 --learning-rate 0.05",
		Args:    exactArgs(),
	}
	f := a.trainFlags(cmd, loop.Untrained)
	epochs := whole(cmd, "epochs", "sft.epochs", "full-batch passes")
	rate := float(cmd, "learning-rate", "sft.learning_rate", "Adam's step size")
	l2 := float(cmd, "l2", "sft.l2", "weight of the squared norm in the loss")
	guesses := cmd.Flags().Int("guesses", trainer.MaxGuesses, fmt.Sprintf("closed-book guesses to keep, 0 to %d", trainer.MaxGuesses))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.parent == "" {
			f.parent = loop.Untrained
		}
		return a.train(cmd, f, func(t *trainer.Trainer, s configs.Run, parent string, doc *trainDoc) ([]row, error) {
			r, err := t.SFT(cmd.Context(), trainer.SFTJob{Data: f.data, Parent: parent, Out: doc.Weights, Version: doc.Version,
				Epochs: epochs.or(s.SFT.Epochs), LearningRate: rate.or(s.SFT.LearningRate), L2: l2.or(s.SFT.L2), MaxGuesses: *guesses})
			doc.Result = r
			return []row{{"episodes", r.Episodes}, {"turns", r.Turns}, {"not scorable", r.Unscorable}, {"loss per turn", fmt.Sprintf("%.3f -> %.3f", r.LossFirst, r.LossLast)}}, err
		})
	}
	return cmd
}

func newTrainDPO(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dpo",
		Short:   "Prefer the chosen side of a D1 dataset's pairs, against the frozen parent",
		Long:    "Dpo lowers the DPO loss. A growing margin proves nothing alone: measure the weights with quarry eval.",
		Example: "  quarry train dpo --data d1 --parent sft.json --out dpo.json\n  quarry train dpo --data d1 --parent sft.json --out dpo.json --beta 0.2",
		Args:    exactArgs(),
	}
	f := a.trainFlags(cmd, "")
	beta := float(cmd, "beta", "dpo.beta", "pull towards the parent")
	epochs := whole(cmd, "epochs", "dpo.epochs", "full-batch passes")
	rate := float(cmd, "learning-rate", "dpo.learning_rate", "Adam's step size")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := required(cmd, "parent"); err != nil {
			return err
		}
		return a.train(cmd, f, func(t *trainer.Trainer, s configs.Run, parent string, doc *trainDoc) ([]row, error) {
			r, err := t.DPO(cmd.Context(), trainer.DPOJob{Data: f.data, Parent: parent, Out: doc.Weights, Version: doc.Version,
				Beta: beta.or(s.DPO.Beta), Epochs: epochs.or(s.DPO.Epochs), LearningRate: rate.or(s.DPO.LearningRate)})
			doc.Result = r
			return []row{{"pairs", r.Pairs}, {"not scorable", r.Unscorable}, {"loss", fmt.Sprintf("%.3f -> %.3f", r.LossFirst, r.LossLast)},
				{"margin", fmt.Sprintf("%.3f -> %.3f", r.MarginFirst, r.MarginLast)}, {"accuracy", percent(r.Accuracy)}}, err
		})
	}
	return cmd
}

func newTrainRL(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rl",
		Short: "Take one RL step on a T1 batch",
		Long: "Rl takes one step along the IcePop objective. The optimiser's state stands beside the weights and is read from\n" +
			"beside the parent; --start is for a parent that no RL step made. The same step again returns what is recorded.",
		Example: "  quarry train rl --data t1/batch-0001 --parent v0002.json --out v0003.json --start",
		Args:    exactArgs(),
	}
	f := a.trainFlags(cmd, "")
	rate := float(cmd, "learning-rate", "rl.learning_rate", "Adam's step size")
	alpha := float(cmd, "alpha", "rl.alpha", "lower bound of the IcePop mask")
	beta := float(cmd, "beta", "rl.beta", "upper bound of the IcePop mask")
	start := cmd.Flags().Bool("start", false, "an RL phase starts here: begin the optimiser anew when the parent has no state")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := required(cmd, "parent"); err != nil {
			return err
		}
		return a.train(cmd, f, func(t *trainer.Trainer, s configs.Run, parent string, doc *trainDoc) ([]row, error) {
			r, err := t.RL(cmd.Context(), trainer.RLJob{Data: f.data, Parent: parent, Start: *start, Out: doc.Weights, Version: doc.Version,
				LearningRate: rate.or(s.RL.LearningRate), Alpha: alpha.or(s.RL.Alpha), Beta: beta.or(s.RL.Beta)})
			doc.Result = r
			return []row{{"episodes", fmt.Sprintf("%d, %d with an advantage", r.Episodes, r.UsedEpisodes)}, {"sampled tokens", r.Tokens}, {"masked", percent(r.Stats.MaskedFraction())},
				{"ratio p01 p50 p99", fmt.Sprintf("%.3f %.3f %.3f", r.Stats.P01, r.Stats.P50, r.Stats.P99)}, {"gradient norm", fmt.Sprintf("%.4f", r.GradNorm)},
				{"optimiser state", filepath.Base(trainer.StatePath(doc.Weights))}}, err
		})
	}
	return cmd
}
