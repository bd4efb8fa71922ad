package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/rewards"
)

const reasonUnknownQuestion = "question_unknown"

type scoreDoc struct {
	Path     string       `json:"path,omitempty"` // of the rescored episodes
	Episodes int          `json:"episodes"`
	Changed  int          `json:"changed"` // episodes whose stored scorecard was another
	Rewards  components   `json:"rewards"`
	Totals   []phaseTotal `json:"totals"`
}

// phaseTotal is the total reward under the coefficients of one phase of the schedule.
type phaseTotal struct {
	Phase        string              `json:"phase"`
	Coefficients quarry.Coefficients `json:"coefficients"`
	measured
}

func newScore(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "score EPISODES",
		Short: "Score stored episodes anew, without a single new rollout",
		Long: "Score computes every reward component again from the stored record, and the total under the coefficients of the\n" +
			"first and the last phase of the schedule. With --out the episodes are written with their new scorecards.",
		Example: "  quarry score episodes.jsonl --questions questions/questions.jsonl\n" +
			"  quarry score episodes.jsonl --questions questions/questions.jsonl --out rescored.jsonl -o json",
		Args: exactArgs("EPISODES"),
	}
	questions := cmd.Flags().String(flagQuestions, "", "questions file")
	out := cmd.Flags().String(flagOut, "", "episodes file to write (default none)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := required(cmd, flagQuestions); err != nil {
			return err
		}
		qs, err := a.questions(cmd, *questions, splitAll, 0)
		if err != nil {
			return err
		}
		doc := scoreDoc{}
		if *out != "" {
			doc.Path = a.Path(*out)
			if err := newFile(doc.Path); err != nil {
				return err
			}
		}
		eps, err := a.episodes(args[0])
		if err != nil {
			return err
		}
		err = a.stage("score", func(p *report.Progress) (string, error) {
			doc.score(eps, byID(qs), p)
			if doc.Path == "" {
				return fmt.Sprintf("%d episodes", len(eps)), nil
			}
			return fmt.Sprintf("%d episodes", len(eps)), loop.WriteEpisodes(doc.Path, eps)
		})
		if err != nil {
			return err
		}
		return a.print(doc, doc.rows())
	}
	return cmd
}

func byID(qs []quarry.Question) map[string]*quarry.Question {
	m := make(map[string]*quarry.Question, len(qs))
	for i := range qs {
		m[qs[i].ID] = &qs[i]
	}
	return m
}

func (d *scoreDoc) score(eps []*quarry.Episode, questions map[string]*quarry.Question, p *report.Progress) {
	for i, ep := range eps {
		none := quarry.Unscored(reasonUnknownQuestion)
		card := quarry.Scorecard{Tool: none, Format: none, PRM: none, ORM: none}
		if q := questions[ep.QuestionID]; q != nil {
			card = rewards.ScoreEpisode(ep, q, rewards.Config{})
		}
		if ep.Scorecard == nil || *ep.Scorecard != card {
			d.Changed++
		}
		ep.Scorecard = &card
		p.Update(i+1, len(eps), "")
	}
	d.Episodes, d.Rewards = len(eps), measureAll(eps)
	phases := rewards.DefaultSchedule().Phases
	for _, ph := range []rewards.Phase{phases[0], phases[len(phases)-1]} {
		d.Totals = append(d.Totals, phaseTotal{ph.Name, ph.Coefficients, measure(eps, func(c quarry.Scorecard) quarry.Score { return rewards.Total(c, ph.Coefficients) })})
	}
}

func (d *scoreDoc) rows() []row {
	rows := append([]row{{"episodes", d.Episodes}, {"scorecards changed", d.Changed}}, d.Rewards.rows()...)
	for _, t := range d.Totals {
		c := t.Coefficients
		rows = append(rows, row{"total, phase " + t.Phase, fmt.Sprintf("%v  (orm %g, prm %g, tool %g, format %g)", t.measured, c.ORM, c.PRM, c.Tool, c.Format)})
	}
	if d.Path != "" {
		rows = append(rows, row{"file", d.Path})
	}
	return rows
}
