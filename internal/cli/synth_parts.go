package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
)

type synthDoc struct {
	Path      string `json:"path"`
	Questions string `json:"questions"`
	Ledger    string `json:"ledger"`
	Dataset   string `json:"dataset"`
	loop.SynthFacts
}

func newSynthParts(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "parts",
		Short: "Make the questions of a run: train, tier and held-out parts, for the embedded policy",
		Long: "Parts is the synthesis stage of quarry run: it divides the documents into train, tier and held-out parts, walks the\n" +
			"graph and words each walk that the search tool of a run can follow. It writes questions.jsonl, ledger.jsonl (one line\n" +
			"per walk) and the dataset q1.",
		Example: "  quarry synth parts --kg kg --out questions\n  quarry synth parts --kg kg --out questions --spec demo-small --seed 7 --replace",
		Args:    exactArgs(),
	}
	dir := cmd.Flags().String(flagKG, "", "graph folder")
	out := cmd.Flags().String(flagOut, "", "folder to write")
	replace := cmd.Flags().Bool(flagReplace, false, "replace an earlier result")
	spec := a.specFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := required(cmd, flagKG, flagOut); err != nil {
			return err
		}
		s, err := spec()
		if err != nil {
			return err
		}
		path := a.Path(*out)
		if err := newDir(path, loop.LedgerFile, *replace); err != nil {
			return err
		}
		g, err := a.graph(*dir)
		if err != nil {
			return err
		}
		doc := synthDoc{Path: path, Questions: filepath.Join(path, loop.QuestionsFile), Ledger: filepath.Join(path, loop.LedgerFile), Dataset: filepath.Join(path, "q1")}
		err = a.stage("synth", func(p *report.Progress) (string, error) {
			err := writeDir(path, func(tmp string) (err error) {
				if doc.SynthFacts, err = a.env(s, g, p).Synthesise(cmd.Context(), tmp); err != nil {
					return err
				}
				return doc.check()
			})
			return fmt.Sprintf("%d walks -> %d questions", doc.Walks, doc.Accepted), err
		})
		if err != nil {
			return err
		}
		return a.print(doc, doc.rows())
	}
	return cmd
}

// check refuses a funnel that does not add up or lets nothing through.
func (d *synthDoc) check() error {
	if lost := d.Walks - d.Accepted - total(d.Rejected); lost != 0 {
		return &quarry.Error{Op: "synth", Kind: quarry.KindInternal, Subject: "ledger", Msg: fmt.Sprintf("%d of %d walks are neither accepted nor rejected", lost, d.Walks)}
	}
	if d.Accepted == 0 {
		return &quarry.Error{Op: "synth", Kind: quarry.KindGate, Subject: fmt.Sprintf("%d walks", d.Walks), Msg: fmt.Sprintf("no question was accepted: %v", report.Reasons(d.Rejected)),
			Hint: "raise synth.walks in the spec, loosen the check that rejects most, or give a larger graph"}
	}
	return nil
}

func (d *synthDoc) rows() []row {
	rows := []row{{"walks", d.Walks}, {"rejected", total(d.Rejected)}}
	rows = append(rows, reasons("  ", d.Rejected)...)
	rows = append(rows, row{"accepted", d.Accepted})
	for _, part := range []quarry.Split{quarry.SplitTrain, quarry.SplitTier, quarry.SplitHeldout} {
		rows = append(rows, row{"  " + string(part), fmt.Sprintf("%d, %d across documents", d.BySplit[part], d.Cross[part])})
	}
	rows = append(rows, row{"  evidence in another part", d.Elsewhere})
	return append(rows, row{"questions", d.Questions}, row{"ledger", d.Ledger}, row{"dataset", d.Dataset})
}
