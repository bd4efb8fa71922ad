package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/synth/audit"
	"github.com/quarry-rl/quarry/synth/pipeline"
)

func newSynthAudit(a *app, graph *string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit DIR",
		Short: "Let people review questions: write a sheet, take verdicts in, say how far they agree with the checks",
		Long: "Audit writes a review sheet (--sample, --out), takes a sheet that was filled in (--import, --reviewer) into audit.jsonl\n" +
			"beside the ledger, and alone says how far people agree with the automatic checks and with each other. The sheet does\n" +
			"not tell what the checks said. With --rejected as many rejected candidates that had a text are among its rows, which\n" +
			"needs the graph (--kg); without it the graph only gives names to ids.",
		Example: "  quarry synth audit questions --sample 50 --out sheet.tsv\n  quarry synth audit questions --sample 50 --rejected --kg kg --out sheet.tsv\n" +
			"  quarry synth audit questions --import sheet.tsv --reviewer Ann\n  quarry synth audit questions",
		Args: exactArgs("DIR"),
	}
	f := cmd.Flags()
	sample := f.Int("sample", 0, "accepted questions to review")
	rejected := f.Bool("rejected", false, "review as many rejected ones too")
	out := f.String(flagOut, "", "sheet to write")
	replace := f.Bool(flagReplace, false, "replace an earlier sheet")
	seed := f.Uint64(flagSeed, 1, "root of the random streams")
	from := f.String("import", "", "sheet that was filled in")
	reviewer := f.String("reviewer", "", "who filled it in")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		dir, err := a.folder(args[0], "quarry synth writes it")
		if err != nil {
			return err
		}
		drawing, taking := f.Changed("sample"), f.Changed("import")
		switch {
		case drawing && taking:
			return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Msg: "--sample and --import at once", Hint: "one after the other; for example: " + example(cmd)}
		case drawing && *sample < 1:
			return badFlag(cmd, "sample", "a number from 1 on")
		case drawing:
			if err := required(cmd, flagOut); err != nil {
				return err
			}
			if *rejected && *graph == "" {
				return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Msg: "--kg is missing: the texts of rejected ones are drawn again from the graph", Hint: "add --kg with the graph of the synthesis"}
			}
			o := audit.Options{N: *sample, Seed: *seed}
			if *rejected {
				o.Rejected = *sample
			}
			return a.drawSheet(cmd.Context(), dir, *graph, a.Path(*out), *replace, o)
		case taking:
			if err := required(cmd, "reviewer"); err != nil {
				return err
			}
			return a.takeSheet(dir, *from, *reviewer)
		}
		records, err := audit.Records(dir)
		if err != nil {
			return err
		}
		doc := audit.Agree(records)
		return a.print(doc, agreementRows(doc))
	}
	return cmd
}

type sheetDoc struct {
	Path   string          `json:"path"`
	Rows   int             `json:"rows"`
	Strata []audit.Stratum `json:"strata"`
}

func (a *app) drawSheet(ctx context.Context, dir, graph, out string, replace bool, o audit.Options) error {
	if err := freeFile(out, replace); err != nil { // it may hold a reviewer's work
		return err
	}
	if graph != "" {
		g, err := a.mapped(graph)
		if err != nil {
			return err
		}
		defer g.Close()
		if err := fromGraph(g, dir, &o); err != nil {
			return err
		}
	}
	s, err := audit.Draw(ctx, dir, o)
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(out)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := audit.WriteSheet(f, s.Rows); err != nil {
		return atomicfile.Classify("synth audit", out, err)
	}
	if err := f.Commit(); err != nil {
		return err
	}
	rows := []row{{"rows", len(s.Rows)}}
	for _, st := range s.Strata {
		rows = append(rows, row{"  " + st.Name, fmt.Sprintf("%d of %d", st.Drawn, st.There)})
	}
	return a.print(sheetDoc{out, len(s.Rows), s.Strata}, append(rows, row{"sheet", out}))
}

// fromGraph gives the names of ids and, for rejected candidates, their texts.
func fromGraph(g *kg.Mapped, dir string, o *audit.Options) error {
	head, err := pipeline.ReadHead(dir)
	if err != nil {
		return err
	}
	if head.Graph != g.Digest() {
		return &quarry.Error{Op: "synth audit", Kind: quarry.KindConflict, Subject: dir, Msg: "it is of another graph than the one given", Hint: "give the graph with the digest " + head.Graph}
	}
	set := map[string]string{}
	for _, s := range head.Settings {
		set[s.Name] = s.Value
	}
	zh := set["lang"] == "zh"
	o.Entity = func(id string) string {
		v, ok := g.EntityByID(id)
		switch {
		case !ok:
			return ""
		case zh:
			return cmp.Or(g.NameZH(v), g.Name(v))
		}
		return g.Name(v)
	}
	o.Relation = func(id string) string {
		r, ok := g.RelationByID(id)
		switch {
		case !ok:
			return ""
		case zh:
			return cmp.Or(g.LabelZH(r), g.Label(r))
		}
		return g.Label(r)
	}
	if o.Rejected == 0 {
		return nil
	}
	if set["wording"] != "templates" {
		return &quarry.Error{Op: "synth audit", Kind: quarry.KindInvalid, Subject: dir, Msg: fmt.Sprintf("its texts are by %q, which would write others for rejected candidates", set["wording"]), Hint: "leave --rejected out"}
	}
	s, err := pipeline.Reopen(g, dir, pipeline.Hooks{Writer: templates(g)})
	if err != nil {
		return err
	}
	o.Draw = func(ctx context.Context, walk int) (*quarry.Question, error) {
		c, err := s.Candidate(ctx, walk)
		if err == nil && c.Drawn == nil {
			err = &quarry.Error{Op: "synth audit", Kind: quarry.KindCorrupt, Subject: fmt.Sprintf("walk %d", walk), Msg: "it had a text, and now it has none: " + string(c.Reason), Hint: "use the quarry that wrote the ledger"}
		}
		return c.Drawn, err
	}
	return nil
}

type importDoc struct {
	Path     string `json:"path"`
	Reviewer string `json:"reviewer"`
	audit.Imported
	Agreement audit.Agreement `json:"agreement"`
}

func (a *app) takeSheet(dir, from, reviewer string) error {
	path, err := a.input(from, "quarry synth audit --sample writes a sheet")
	if err != nil {
		return err
	}
	f, err := atomicfile.Open("synth audit", path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := audit.ReadSheet(path, f)
	if err != nil {
		return err
	}
	doc := importDoc{Path: dir, Reviewer: reviewer}
	if doc.Imported, err = audit.Import(dir, path, rows, reviewer, time.Now()); err != nil {
		return err
	}
	records, err := audit.Records(dir)
	if err != nil {
		return err
	}
	doc.Agreement = audit.Agree(records)
	i := doc.Imported
	return a.print(doc, append([]row{{"rows", fmt.Sprintf("%d: %d new, %d changed, %d known, %d without a verdict", i.Rows, i.Added, i.Changed, i.Same, i.Empty)}}, agreementRows(doc.Agreement)...))
}

func agreementRows(g audit.Agreement) []row {
	rows := []row{{"reviewers", oneLine(cmp.Or(strings.Join(g.Reviewers, ", "), "none yet"))}, {"verdicts", g.Verdicts},
		{"accepted, judged good", shareText(g.Accepted)}, {"rejected, judged good", shareText(g.Rejected)}}
	for _, r := range g.Reasons {
		rows = append(rows, row{"  " + oneLine(string(r.Reason)), shareText(r.Share)})
	}
	faults := map[string]int{}
	for f, n := range g.Faults {
		faults[string(f)] = n
	}
	if len(faults) > 0 {
		rows = append(append(rows, row{"judged bad because", ""}), reasons("  ", faults)...)
	}
	for _, p := range g.Pairs {
		kappa := "not defined: one verdict throughout"
		if p.Kappa != nil {
			kappa = fmt.Sprintf("%.3f", *p.Kappa)
		}
		rows = append(rows, row{oneLine(p.A + " and " + p.B), fmt.Sprintf("agree on %d of %d, Cohen's kappa %s", p.Agreed, p.Rows, kappa)})
	}
	return rows
}

func shareText(s audit.Share) string {
	if s.Rows == 0 {
		return "none reviewed"
	}
	out := "no share"
	if s.Share != nil {
		out = fmt.Sprintf("%d of %d, %s, 95 %% interval %s to %s", s.Good, s.Good+s.Bad, percent(*s.Share), percent(s.Low), percent(s.High))
	}
	if n := s.Unsure + s.Disputed; n > 0 {
		out += fmt.Sprintf("; %d unsure, %d disputed", s.Unsure, s.Disputed)
	}
	return out
}
