package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
)

type evalDoc struct {
	Name        string             `json:"name"`
	Weights     string             `json:"weights"` // "" for the weights an endpoint already had
	Version     int                `json:"weights_version"`
	N           int                `json:"n"` // questions
	Attempts    int                `json:"attempts"`
	Success     float64            `json:"success"` // mean over questions of the share of right attempts at T=1
	Lo          float64            `json:"lo"`      // 95 %, bootstrap over questions
	Hi          float64            `json:"hi"`
	Greedy      float64            `json:"greedy"` // success of one greedy attempt
	Cross       subset             `json:"cross_document"`
	Single      subset             `json:"single_document"`
	PerQuestion map[string]float64 `json:"per_question"`
	Unplayed    unplayed           `json:"unplayed"` // attempts in which the policy had no chance
}

// subset is the success on some of the questions; null when there are none.
type subset struct {
	N       int      `json:"n"`
	Success *float64 `json:"success"`
}

func (s subset) String() string {
	if s.Success == nil {
		return "no such question"
	}
	return fmt.Sprintf("%s of %d questions", percent(*s.Success), s.N)
}

func newEval(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure how many questions weights solve, with a 95 % interval",
		Long: "Eval makes some attempts at temperature 1 and one greedy attempt at each question. The interval is a bootstrap over\n" +
			"questions. --name seeds the attempts: the name of a run's checkpoint (base, sft, dpo, rl-4) gives the run's numbers.",
		Example: "  quarry eval --kg kg --questions questions/questions.jsonl --weights sft.json\n" +
			"  quarry eval --kg kg --questions heldout.jsonl --weights untrained --split all --attempts 8 -o json",
		Args: exactArgs(),
	}
	fs := cmd.Flags()
	dir := fs.String(flagKG, "", "graph folder")
	questions := fs.String(flagQuestions, "", "questions file")
	weights := fs.String(flagWeights, "", "weights file, or "+loop.Untrained)
	split := fs.String(flagSplit, string(quarry.SplitHeldout), "part of the questions: train, tier, heldout or all")
	attempts := whole(cmd, "attempts", "eval.attempts", "attempts per question at temperature 1")
	limit := fs.Int(flagLimit, 0, "most questions, from the first on; 0 is all")
	name := fs.String(flagName, "eval", "name of the result; it seeds the attempts too")
	spec := a.specFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := required(cmd, flagKG, flagQuestions, flagName); err != nil {
			return err
		}
		if a.Settings.Endpoint == "" {
			if err := required(cmd, flagWeights); err != nil {
				return err
			}
		}
		s, err := spec()
		if err != nil {
			return err
		}
		if s.Eval.Attempts = attempts.or(s.Eval.Attempts); s.Eval.Attempts < 1 || s.Eval.Attempts > configs.MaxTries {
			return badFlag(cmd, "attempts", fmt.Sprintf("a number from 1 to %d", configs.MaxTries))
		}
		qs, err := a.questions(cmd, *questions, *split, *limit)
		if err != nil {
			return err
		}
		path, err := a.weights(*weights)
		if err != nil {
			return err
		}
		g, err := a.graph(*dir)
		if err != nil {
			return err
		}
		var doc evalDoc
		err = a.stage("eval", func(p *report.Progress) (string, error) {
			env := a.env(s, g, p)
			eng, version, err := env.Serve(cmd.Context(), path)
			if err != nil {
				return "", err
			}
			defer eng.Close()
			r, err := env.Measure(cmd.Context(), eng, qs, *name, version)
			doc = newEvalDoc(r, *weights, qs)
			doc.Unplayed = findUnplayed(a.Path(*questions), r.Unplayed)
			return fmt.Sprintf("%s of %d questions", percent(r.Success), r.N), err
		})
		if err != nil {
			return err
		}
		return a.print(doc, doc.rows())
	}
	return cmd
}

func newEvalDoc(r loop.EvalResult, weights string, qs []quarry.Question) evalDoc {
	cross := 0
	for i := range qs {
		if len(qs[i].Docs()) > 1 {
			cross++
		}
	}
	return evalDoc{Name: r.Name, Weights: weights, Version: r.Version, N: r.N, Attempts: r.Attempts, Success: r.Success, Lo: r.Lo, Hi: r.Hi, Greedy: r.Greedy,
		Cross: subset{cross, r.Cross}, Single: subset{len(qs) - cross, r.Single}, PerQuestion: r.PerQuestion}
}

func (d *evalDoc) rows() []row {
	rows := []row{{"questions", d.N}, {"attempts", d.Attempts}, {"success", fmt.Sprintf("%s, 95 %% interval %s to %s", percent(d.Success), percent(d.Lo), percent(d.Hi))},
		{"greedy", percent(d.Greedy)}, {"across documents", d.Cross}, {"within one document", d.Single}, {"weights version", d.Version}}
	return append(rows, d.Unplayed.rows()...)
}
