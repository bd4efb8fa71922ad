package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/worldgen"
	"github.com/quarry-rl/quarry/synth/pipeline"
	"github.com/quarry-rl/quarry/synth/wording"
)

type synthRunDoc struct {
	Path    string `json:"path"`
	File    string `json:"questions"`
	Ledger  string `json:"ledger"`
	Dataset string `json:"dataset,omitempty"` // none without a question
	pipeline.Report
}

// policyNone is the value of --policy that asks no model.
const policyNone = "none"

func newSynth(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "synth --kg KG --out DIR",
		Short: "Make certified questions from walks of a graph, with a ledger of what was rejected and why",
		Long: "Synth draws walks, chooses conditions until the answer set on the whole graph is one entity and nothing gives it away,\n" +
			"proves the question (necessity, independence, retrieval ranks, dispersion, times), words it, and checks the words. It\n" +
			"stops at --accept questions or at --max-walks. Every walk ends in one line of ledger.jsonl; questions.jsonl and the\n" +
			"dataset q1 hold what was accepted. The same command goes on where an earlier one was stopped or killed.",
		Example: "  quarry synth --kg kg --out questions --hops 4 --accept 100\n  quarry synth --kg kg --out zh --lang zh --hops 3 --min-docs 2",
		Args:    onlySubcommands,
	}
	graph := cmd.PersistentFlags().String(flagKG, "", "graph folder")
	options := withBenchmarks(a, cmd, synthFlags(cmd))
	out := cmd.Flags().String(flagOut, "", "folder to write, or to go on with")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := required(cmd, flagKG, flagOut); err != nil {
			return err
		}
		o, err := options(cmd)
		if err != nil {
			return err
		}
		g, err := a.sourced(*graph)
		if err != nil {
			return err
		}
		defer g.Close()
		return a.synthesise(cmd, g, a.Path(*out), o)
	}
	cmd.AddCommand(newSynthPlan(a, graph, options), newSynthReport(a), newSynthWhy(a), newSynthShow(a), newSynthParts(a),
		newSynthHash(a), newSynthAudit(a, graph), newSynthMix(a))
	return cmd
}

// synthFlags adds the flags of a synthesis to a command and those below it.
func synthFlags(cmd *cobra.Command) func(cmd *cobra.Command) (pipeline.Options, error) {
	var o pipeline.Options
	f := cmd.PersistentFlags()
	f.IntVar(&o.Hops, "hops", 4, "statements of the path, 1 to 10")
	f.IntVar(&o.Accept, "accept", 100, "questions to stop at; 0 is as many as the walks give")
	f.IntVar(&o.MaxWalks, "max-walks", 1_000_000, "walks to stop at")
	f.Uint64Var(&o.Seed, flagSeed, 1, "root of the random streams")
	f.IntVar(&o.Concurrency, "concurrency", 0, "walks under way at once; changes nothing but the time (default one per processor)")
	f.Float64Var(&o.Beta, "beta", 8, "weight of a hop that changes the document, against 1")
	f.IntVar(&o.MinDocs, "min-docs", 0, "fewest documents of a path; 0 is half its entities rounded up, -1 none")
	f.IntVar(&o.MaxDegree, "max-degree", 0, "most statements of an entity inside a walk; 0 is no limit")
	f.IntVar(&o.HubDocs, "hub-docs", 0, "entities in more documents are neither inside nor answers; 0 is no limit")
	necessity := f.String("necessity", "N1", "level of path necessity to ask for: N1, N2, N3 or N4")
	f.IntVar(&o.Leaf, "leaf", 5, "entities that a condition leaves at least, alone and with its neighbours")
	f.IntVar(&o.Conditions, "conditions", 3, "most conditions of a question")
	f.IntVar(&o.K, "k", 10, "passages of a search that count for retrieval")
	f.IntVar(&o.PerAnswer, "per-answer", 0, "most questions with one answer; 0 is no limit")
	f.IntVar(&o.PerAnchor, "per-anchor", 0, "most questions from one start; 0 is no limit")
	f.StringVar(&o.AsOf, "as-of", "", "date for which answers hold, as YYYY-MM-DD; none checks no times")
	f.StringVar(&o.Lang, "lang", "en", "language of the questions: en or zh")
	f.StringVar(&o.License, flagLicense, "", "licence of the texts, copied into each question")
	policy := f.String("policy", policyNone, "models that try the questions: only "+policyNone+" yet")
	return func(cmd *cobra.Command) (pipeline.Options, error) {
		levels := map[string]pipeline.Level{"N1": pipeline.N1, "N2": pipeline.N2, "N3": pipeline.N3, "N4": pipeline.N4}
		level, ok := levels[strings.ToUpper(*necessity)]
		switch {
		case !ok:
			return o, badFlag(cmd, "necessity", "one of "+strings.Join(slices.Sorted(maps.Keys(levels)), ", "))
		case *policy != policyNone:
			return o, badFlag(cmd, "policy", policyNone+": trying questions with a model is not built into this command yet")
		case o.Accept < 0:
			return o, badFlag(cmd, "accept", "a number from 0 on")
		case o.MaxWalks < 1:
			return o, badFlag(cmd, "max-walks", "a number from 1 on")
		case o.Hops < 1:
			return o, badFlag(cmd, "hops", "a number from 1 to 10")
		case !(o.Beta > 0):
			return o, badFlag(cmd, "beta", "a number above 0")
		case o.Leaf < 1:
			return o, badFlag(cmd, "leaf", "a number from 1 on")
		case o.Conditions < 1:
			return o, badFlag(cmd, "conditions", "a number from 1 on")
		case o.K < 1:
			return o, badFlag(cmd, "k", "a number from 1 on")
		case o.Lang != string(wording.English) && o.Lang != string(wording.Chinese):
			return o, badFlag(cmd, "lang", "en or zh")
		}
		o.Necessity, o.Wording = level, "templates"
		return o, nil
	}
}

// sourced opens a graph whose statements stand in documents: without them no search finds an answer, and no question can
// name its sources.
func (a *app) sourced(path string) (*kg.Mapped, error) {
	g, err := a.mapped(path)
	if err != nil || g.Documents() > 0 {
		return g, err
	}
	if err := g.Close(); err != nil {
		return nil, err
	}
	return nil, &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: path, Msg: "the graph has no documents, and a question needs sources that a search finds",
		Hint: "build the graph from a format that carries documents: docs/formats/sources.md"}
}

// templates is the writer for a graph: an invented world brings the phrases of its relations.
func templates(g *kg.Mapped) pipeline.Templates {
	var own []wording.Relation
	for _, r := range worldgen.Relations() {
		if n, ok := g.RelationByID(r.ID); ok && g.Label(n) == r.Label {
			own = append(own, wording.Relation{ID: r.ID, Label: r.Label, LabelZH: r.LabelZH, Forward: wording.Phrase(r.Forward), Inverse: wording.Phrase(r.Inverse)})
		}
	}
	return pipeline.Templates{Lexicon: wording.NewLexicon(own...)}
}

// ownFolder refuses a folder with files that no synthesis wrote: q1 would be replaced in it.
func ownFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { // what a run that was killed at its start may leave
		return strings.HasPrefix(e.Name(), ".") || e.Name() == pipeline.QuestionsFile
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return atomicfile.Classify("synth", dir, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, pipeline.LedgerFile)); err != nil {
		return &quarry.Error{Op: "synth", Kind: quarry.KindExists, Subject: dir, Msg: "a folder is there that is no earlier synthesis: it has no " + pipeline.LedgerFile, Hint: "name another folder"}
	}
	return nil
}

func (a *app) synthesise(cmd *cobra.Command, g *kg.Mapped, dir string, o pipeline.Options) error {
	doc := synthRunDoc{Path: dir, File: filepath.Join(dir, pipeline.QuestionsFile), Ledger: filepath.Join(dir, pipeline.LedgerFile)}
	if err := ownFolder(dir); err != nil {
		return err
	}
	err := a.stage("synth", func(p *report.Progress) (string, error) {
		var err error
		doc.Report, err = pipeline.Run(cmd.Context(), g, dir, o, pipeline.Hooks{Writer: templates(g), Progress: func(walks, found int) {
			p.Update(found, o.Accept, fmt.Sprintf("questions of %d walks", walks))
		}})
		if err != nil {
			return "", err
		}
		if doc.Accepted > 0 {
			qs, err := loop.ReadQuestions(doc.File, "")
			if err != nil {
				return "", err
			}
			doc.Dataset = filepath.Join(dir, "q1")
			if err := loop.WriteQ1(doc.Dataset, qs, o.License); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%d walks -> %d questions, stopped by %s", doc.Walks, doc.Accepted, doc.Stop), nil
	})
	if err != nil {
		return err
	}
	if err := a.print(doc, append(reportRows(doc.Report), row{"questions", doc.File}, row{"ledger", doc.Ledger}, row{"dataset", doc.Dataset})); err != nil {
		return err
	}
	if o.Accept > 0 && doc.Accepted < o.Accept {
		return &quarry.Error{Op: "synth", Kind: quarry.KindGate, Subject: fmt.Sprintf("%d of %d questions", doc.Accepted, o.Accept), Msg: "stopped by " + string(doc.Stop),
			Hint: "raise --max-walks and run again: it goes on from here. quarry synth report " + dir + " shows what rejects most"}
	}
	return nil
}

func reportRows(r pipeline.Report) []row {
	rows := []row{{"walks", r.Walks}}
	for _, s := range r.Stages {
		rows = append(rows, row{string(s.Name), fmt.Sprintf("%d in, %d out", s.In, s.Out)})
		rejected := map[string]int{}
		for why, n := range s.Rejected {
			rejected[string(why)] = n
		}
		rows = append(rows, reasons("  ", rejected)...)
	}
	rows = append(rows, row{"accepted", r.Accepted}, row{"conservation", r.Conservation}, row{"digest", r.Digest})
	if r.Stop != "" {
		rows = append(rows, row{"stopped by", string(r.Stop)}, row{"seconds", fmt.Sprintf("%.1f", r.Seconds)})
	}
	return rows
}

func newSynthWhy(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "why DIR WALK|ID",
		Short:   "Tell what became of one walk or question, and why",
		Example: "  quarry synth why questions 17\n  quarry synth why questions q-0123456789abcdef",
		Args:    exactArgs("DIR", "WALK|ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := a.folder(args[0], "quarry synth writes it")
			if err != nil {
				return err
			}
			lines, err := pipeline.Why(dir, args[1])
			if err != nil {
				return err
			}
			rows := make([]row, len(lines))
			for i, l := range lines {
				rows[i] = row{l, ""}
			}
			return a.print(struct {
				Lines []string `json:"lines"`
			}{lines}, rows)
		},
	}
}

func newSynthShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "show FILE ID",
		Short:   "Show a question with its path, sources and certificate",
		Example: "  quarry synth show questions/questions.jsonl q-0123456789abcdef",
		Args:    exactArgs("FILE", "ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := a.input(args[0], "quarry synth writes questions.jsonl")
			if err != nil {
				return err
			}
			qs, err := loop.ReadQuestions(path, "")
			if err != nil {
				return err
			}
			i := slices.IndexFunc(qs, func(q quarry.Question) bool { return q.ID == args[1] })
			if i < 0 {
				return &quarry.Error{Op: "synth show", Kind: quarry.KindNotFound, Subject: args[1], Msg: fmt.Sprintf("none of the %d questions of %s", len(qs), path), Hint: "quarry synth why DIR ID tells of rejected ones"}
			}
			return a.print(qs[i], questionRows(&qs[i]))
		},
	}
}

func questionRows(q *quarry.Question) []row {
	rows := []row{{"id", oneLine(q.ID)}, {"question", oneLine(q.Text)}, {"answer", oneLine(q.Answer)}}
	if len(q.Aliases) > 0 {
		rows = append(rows, row{"or", oneLine(strings.Join(q.Aliases, " | "))})
	}
	statement := func(s quarry.Statement, inverse bool) {
		arrow := "-- " + s.Predicate + " -->"
		if inverse {
			arrow += " (walked back)"
		}
		rows = append(rows, row{oneLine(fmt.Sprintf("  %s %s %s", s.Subject, arrow, s.Object)), ""})
		if s.Text != "" {
			rows = append(rows, row{oneLine(fmt.Sprintf("      %q (%s, bytes %d to %d)", s.Text, s.Doc, s.Start, s.End)), ""})
		}
	}
	rows = append(rows, row{"path", ""})
	for _, h := range q.Path {
		statement(h.Statement, h.Inverse)
	}
	if len(q.Conditions) > 0 {
		rows = append(rows, row{"conditions", ""})
		for _, s := range q.Conditions {
			statement(s, false)
		}
	}
	return append(rows, row{"certificate", oneLine(string(q.Certificate))}, row{"walk", oneLine(string(q.Walk))})
}

func newSynthPlan(a *app, graph *string, options func(*cobra.Command) (pipeline.Options, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "plan --kg KG",
		Short:   "Estimate what a synthesis needs: walks, seconds, calls, tokens and price",
		Example: "  quarry synth plan --kg kg --hops 4 --accept 1000",
		Args:    exactArgs(),
	}
	sample := cmd.Flags().Int("sample", 2000, "walks to try")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *graph == "" {
			return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Msg: "--kg is missing", Hint: "for example: " + example(cmd)}
		}
		o, err := options(cmd)
		if err != nil {
			return err
		}
		g, err := a.sourced(*graph)
		if err != nil {
			return err
		}
		defer g.Close()
		e, err := pipeline.Plan(cmd.Context(), g, o, pipeline.Hooks{Writer: templates(g)}, *sample, pipeline.PolicyGuess{}, pipeline.Price{})
		if err != nil {
			return err
		}
		return a.print(e, []row{{"walks tried", e.Sample}, {"passed", e.Passed}, {"questions per walk", fmt.Sprintf("%.4f, 95 %% interval %.4f to %.4f", e.Yield, e.Low, e.High)},
			{"walks to expect", e.Walks}, {"questions to expect", e.Accepted}, {"seconds", fmt.Sprintf("%.1f", e.Seconds)}, {"calls of models", e.Cost.Calls},
			{"tokens in", e.Cost.PromptTokens}, {"tokens out", e.Cost.OutputTokens}})
	}
	return cmd
}
