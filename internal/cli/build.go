package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
)

const manifestFile = "manifest.json" // marks a dataset folder

func newBuild(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Make a training dataset of episodes or questions",
		Args:  onlySubcommands,
		RunE:  showHelp,
	}
	cmd.AddCommand(newBuildSFT(a), newBuildDPO(a), newBuildRL(a))
	return cmd
}

// datasetFlags are those of every build.
type datasetFlags struct {
	out, license string
	replace      bool
}

func (f *datasetFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.out, flagOut, "", "dataset folder to write")
	cmd.Flags().BoolVar(&f.replace, flagReplace, false, "replace an earlier dataset")
	cmd.Flags().StringVar(&f.license, flagLicense, "", "license of the texts, for the dataset card (default none stated)")
}

// build runs make for a free or replaceable folder and prints what came of it.
func (a *app) build(cmd *cobra.Command, f *datasetFlags, make func(dir string) (loop.Built, error)) error {
	if err := required(cmd, flagOut); err != nil {
		return err
	}
	dir := a.Path(f.out)
	if err := newDir(dir, manifestFile, f.replace); err != nil {
		return err
	}
	var b loop.Built
	err := a.stage("build "+cmd.Name(), func(*report.Progress) (note string, err error) {
		b, err = make(dir)
		return fmt.Sprintf("%d rows", b.Rows), err
	})
	if err != nil {
		return err
	}
	rows := []row{{"dataset", fmt.Sprintf("%s, %d rows", b.Kind, b.Rows)}, {"given", b.Given}, {"used", b.Used}, {"left out", b.Given - b.Used}}
	rows = append(rows, reasons("  ", b.LeftOut)...)
	return a.print(b, append(rows, row{"folder", b.Path}, row{"sha256", b.SHA256}))
}

func newBuildSFT(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sft EPISODES",
		Short: "Make an S1 dataset of the episodes that may be imitated",
		Long: "Kept are episodes that end in the right answer without a failed call or a malformed turn; the others are counted\n" +
			"by their first reason.",
		Example: "  quarry build sft expert.jsonl --out s1\n  quarry build sft expert.jsonl --out s1 --license CC-BY-SA-3.0 --source expert --replace",
		Args:    exactArgs("EPISODES"),
	}
	var f datasetFlags
	f.add(cmd)
	source := cmd.Flags().String("source", "rollout", "what made the episodes, for the column of that name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.build(cmd, &f, func(dir string) (loop.Built, error) {
			eps, err := a.episodes(args[0])
			if err != nil {
				return loop.Built{}, err
			}
			return loop.BuildS1(eps, dir, *source, f.license)
		})
	}
	return cmd
}

func newBuildDPO(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dpo EPISODES",
		Short: "Make a D1 dataset of pairs of a right and a wrong episode of one question",
		Long: "Both sides pass the trajectory filter (repetition, truncation, tool error, invalid output); correctness alone\n" +
			"decides which is chosen. Roll out with --samples 4 or more: one episode per question gives no pair.",
		Example: "  quarry build dpo episodes.jsonl --out d1\n  quarry build dpo episodes.jsonl --out d1 --per-question 2 --replace",
		Args:    exactArgs("EPISODES"),
	}
	var f datasetFlags
	f.add(cmd)
	per := cmd.Flags().Int("per-question", 1, "most pairs of one question")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *per < 1 {
			return badFlag(cmd, "per-question", "a number from 1 on")
		}
		return a.build(cmd, &f, func(dir string) (loop.Built, error) {
			eps, err := a.episodes(args[0])
			if err != nil {
				return loop.Built{}, err
			}
			return loop.BuildD1(eps, dir, f.license, *per)
		})
	}
	return cmd
}

func newBuildRL(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rl",
		Short:   "Make an R1 dataset of RL prompts",
		Long:    "Each question of the part becomes a prompt with its ground truth, aliases and path entities.",
		Example: "  quarry build rl --questions questions/questions.jsonl --out r1\n  quarry build rl --questions kept.jsonl --out r1 --split all --replace",
		Args:    exactArgs(),
	}
	var f datasetFlags
	f.add(cmd)
	questions := cmd.Flags().String(flagQuestions, "", "questions file")
	split := cmd.Flags().String(flagSplit, string(quarry.SplitTrain), "part of the questions: train, tier, heldout or all")
	spec := a.specFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := required(cmd, flagQuestions); err != nil {
			return err
		}
		s, err := spec()
		if err != nil {
			return err
		}
		return a.build(cmd, &f, func(dir string) (loop.Built, error) {
			if _, err := a.questions(cmd, *questions, *split, 0); err != nil { // the part is known and not empty
				return loop.Built{}, err
			}
			qs, err := a.questions(cmd, *questions, splitAll, 0)
			if err != nil {
				return loop.Built{}, err
			}
			return a.env(s, nil, nil).BuildR1(qs, part(*split), dir, f.license)
		})
	}
	return cmd
}
