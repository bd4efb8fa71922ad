package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
)

type rolloutDoc struct {
	Path      string         `json:"path"`
	Weights   string         `json:"weights"` // "" for the weights an endpoint already had, and for the expert
	Version   int            `json:"weights_version"`
	Questions int            `json:"questions"`
	Episodes  int            `json:"episodes"` // questions * samples = episodes + the sum over dropped
	Dropped   report.Reasons `json:"dropped"`
	Ends      report.Reasons `json:"ends"`
	Failures  report.Reasons `json:"failures"`
	Rewards   components     `json:"rewards"`
	Unplayed  unplayed       `json:"unplayed"` // episodes in which the policy had no chance
}

type rolloutFlags struct {
	kg, questions, weights, out, split, name string
	expert                                   bool
	samples, limit                           int
	temperature                              float64
}

func newRollout(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Let a policy answer questions with the search tool, and store scored episodes",
		Long: "Rollout plays every question with the weights given, by the embedded engine or by the one at --endpoint, which\n" +
			"loads the same file; without --weights the endpoint keeps the weights it has. --weights untrained is the policy\n" +
			"before any training. --expert plays the evidence path among the policy's own candidates: what sft imitates.",
		Example: "  quarry rollout --kg kg --questions questions/questions.jsonl --weights weights.json --out episodes.jsonl --split heldout\n" +
			"  quarry rollout --kg kg --questions questions/questions.jsonl --expert --split train --out expert.jsonl\n" +
			"  quarry rollout --kg kg --questions questions/questions.jsonl --endpoint http://127.0.0.1:30000 --out episodes.jsonl",
		Args: exactArgs(),
	}
	var f rolloutFlags
	fs := cmd.Flags()
	fs.StringVar(&f.kg, flagKG, "", "graph folder")
	fs.StringVar(&f.questions, flagQuestions, "", "questions file")
	fs.StringVar(&f.weights, flagWeights, "", "weights file, or "+loop.Untrained)
	fs.BoolVar(&f.expert, "expert", false, "play the evidence path instead of a policy")
	fs.StringVar(&f.out, flagOut, "", "episodes file to write")
	fs.StringVar(&f.split, flagSplit, splitAll, "part of the questions: train, tier, heldout or all")
	fs.IntVar(&f.samples, "samples", 1, "episodes per question")
	fs.Float64Var(&f.temperature, "temperature", 1, "sampling temperature; 0 is greedy")
	fs.IntVar(&f.limit, flagLimit, 0, "most questions, from the first on; 0 is all")
	fs.StringVar(&f.name, flagName, "rollout", "prefix of the episodes' ids; it seeds the attempts too")
	spec := a.specFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := a.checkRollout(cmd, &f); err != nil {
			return err
		}
		s, err := spec()
		if err != nil {
			return err
		}
		qs, err := a.questions(cmd, f.questions, f.split, f.limit)
		if err != nil {
			return err
		}
		doc := rolloutDoc{Path: a.Path(f.out), Questions: len(qs), Dropped: report.Reasons{}}
		if err := newFile(doc.Path); err != nil {
			return err
		}
		g, err := a.graph(f.kg)
		if err != nil {
			return err
		}
		var eps []*quarry.Episode
		err = a.stage("rollout", func(p *report.Progress) (string, error) {
			if eps, err = a.play(cmd.Context(), a.env(s, g, p), &f, qs, &doc); err != nil {
				return "", err
			}
			doc.sum(eps)
			doc.Unplayed = findUnplayed(a.Path(f.questions), loop.UnplayedOf(eps))
			return fmt.Sprintf("%d episodes", len(eps)), loop.WriteEpisodes(doc.Path, eps)
		})
		if err != nil {
			return err
		}
		return a.print(doc, doc.rows())
	}
	return cmd
}

// checkRollout refuses flags that contradict each other or are out of range.
func (a *app) checkRollout(cmd *cobra.Command, f *rolloutFlags) error {
	if err := required(cmd, flagKG, flagQuestions, flagOut, flagName); err != nil {
		return err
	}
	usage := func(msg, hint string) error {
		return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Msg: msg, Hint: hint}
	}
	switch {
	case f.expert && f.weights != "":
		return usage("--expert and --weights exclude each other", "the expert needs no weights")
	case f.expert && f.samples != 1:
		return usage("--expert plays each question once", "leave --samples out")
	case !f.expert && f.weights == "" && a.Settings.Endpoint == "":
		return usage("no policy is named", "give --weights FILE, --weights "+loop.Untrained+", --expert, or the --endpoint of an engine")
	case f.samples < 1 || f.samples > configs.MaxTries:
		return badFlag(cmd, "samples", fmt.Sprintf("a number from 1 to %d", configs.MaxTries))
	case !(f.temperature >= 0 && f.temperature <= 100):
		return badFlag(cmd, "temperature", "a number from 0 to 100")
	}
	return nil
}

// play makes the episodes, in the order of the questions.
func (a *app) play(ctx context.Context, env *loop.Env, f *rolloutFlags, qs []quarry.Question, doc *rolloutDoc) ([]*quarry.Episode, error) {
	if f.expert {
		eps, unscorable, err := env.ExpertEpisodes(ctx, qs)
		if unscorable > 0 {
			doc.Dropped["expert_unscorable"] = unscorable
		}
		return eps, err
	}
	weights, err := a.weights(f.weights)
	if err != nil {
		return nil, err
	}
	eng, version, err := env.Serve(ctx, weights)
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	doc.Weights, doc.Version = f.weights, version
	return env.Sample(ctx, eng, qs, f.samples, f.temperature, f.name)
}

func (d *rolloutDoc) sum(eps []*quarry.Episode) {
	d.Episodes, d.Rewards = len(eps), measureAll(eps)
	d.Ends, d.Failures = report.Reasons{}, report.Reasons{}
	for _, ep := range eps {
		d.Ends[string(ep.End)]++
		if ep.Failure != quarry.FailNone {
			d.Failures[string(ep.Failure)]++
		}
	}
}

func (d *rolloutDoc) rows() []row {
	rows := []row{{"episodes", fmt.Sprintf("%d, of %d questions", d.Episodes, d.Questions)}}
	rows = append(rows, reasons("dropped: ", d.Dropped)...)
	rows = append(rows, d.Rewards.rows()...)
	rows = append(rows, reasons("ended by ", d.Ends)...)
	rows = append(rows, reasons("failed by ", d.Failures)...)
	rows = append(rows, d.Unplayed.rows()...)
	return append(rows, row{"file", d.Path})
}
