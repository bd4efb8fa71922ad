package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
)

type pivotDoc struct {
	Path       string         `json:"path"`
	Episodes   int            `json:"episodes"` // failed + the sum over left_out
	LeftOut    report.Reasons `json:"left_out"`
	Failed     int            `json:"failed"`  // located + the sum over not_located
	Located    int            `json:"located"` // tasks + the sum over no_task
	Tasks      int            `json:"tasks"`
	ByClass    report.Reasons `json:"by_class"`
	NotLocated report.Reasons `json:"not_located"`
	NoTask     report.Reasons `json:"no_task"`
}

func newPivot(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pivot EPISODES",
		Short: "Find where failed episodes went wrong and cut continuation tasks there",
		Long: "Pivot locates the first bad turn of every full episode with a wrong or missing answer and writes tasks that go on\n" +
			"from before it with a hint. --spec must be the one of the rollout: a task's budget is part of its id.",
		Example: "  quarry pivot episodes.jsonl --kg kg --questions questions/questions.jsonl --out tasks.jsonl",
		Args:    exactArgs("EPISODES"),
	}
	dir := cmd.Flags().String(flagKG, "", "graph folder")
	questions := cmd.Flags().String(flagQuestions, "", "questions file")
	out := cmd.Flags().String(flagOut, "", "tasks file to write")
	limit := cmd.Flags().Int(flagLimit, 0, "most tasks, spread over the questions; 0 is all")
	spec := a.specFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := required(cmd, flagKG, flagQuestions, flagOut); err != nil {
			return err
		}
		if *limit < 0 {
			return badFlag(cmd, flagLimit, "a number from 0 on")
		}
		s, err := spec()
		if err != nil {
			return err
		}
		qs, err := a.questions(cmd, *questions, splitAll, 0)
		if err != nil {
			return err
		}
		eps, err := a.episodes(args[0])
		if err != nil {
			return err
		}
		doc := pivotDoc{Path: a.Path(*out), Episodes: len(eps), LeftOut: report.Reasons{}}
		if err := newFile(doc.Path); err != nil {
			return err
		}
		g, err := a.graph(*dir)
		if err != nil {
			return err
		}
		err = a.stage("pivot", func(p *report.Progress) (string, error) {
			tasks, f, err := a.env(s, g, p).Pivots(doc.failed(eps), byID(qs), *limit)
			if err != nil {
				return "", err
			}
			doc.Failed, doc.Located, doc.Tasks = f.Failed, f.Located, f.Tasks
			doc.ByClass, doc.NotLocated, doc.NoTask = f.ByClass, f.NotLocated, f.NoTask
			return fmt.Sprintf("%d of %d failed episodes located, %d tasks", f.Located, f.Failed, f.Tasks), loop.WritePivots(doc.Path, tasks)
		})
		if err != nil {
			return err
		}
		return a.print(doc, doc.rows())
	}
	return cmd
}

// failed are the full episodes with a wrong or missing answer; the others are counted.
func (d *pivotDoc) failed(eps []*quarry.Episode) []*quarry.Episode {
	var out []*quarry.Episode
	for _, ep := range eps {
		switch c := ep.Scorecard; {
		case ep.Kind != quarry.TaskFull:
			d.LeftOut["continuation"]++
		case c == nil || !c.ORM.Scored:
			d.LeftOut["unscored"]++
		case c.ORM.Value == 1:
			d.LeftOut["right"]++
		default:
			out = append(out, ep)
		}
	}
	return out
}

func (d *pivotDoc) rows() []row {
	rows := append([]row{{"episodes", d.Episodes}}, reasons("  left out: ", d.LeftOut)...)
	rows = append(rows, row{"failed", d.Failed})
	rows = append(rows, reasons("  not located: ", d.NotLocated)...)
	rows = append(rows, row{"located", d.Located})
	rows = append(rows, reasons("  ", d.ByClass)...)
	rows = append(rows, reasons("  no task: ", d.NoTask)...)
	return append(rows, row{"tasks", d.Tasks}, row{"file", d.Path})
}
