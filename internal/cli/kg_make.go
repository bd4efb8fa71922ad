package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/internal/teacher"
	"github.com/quarry-rl/quarry/kg/extract"
	"github.com/quarry-rl/quarry/kg/resolve"
	"github.com/quarry-rl/quarry/kg/store"
)

type resolveDoc struct {
	Path  string `json:"path"`
	Graph string `json:"graph"` // digest of the graph it was made for
	Links int    `json:"links_total"`
	resolve.Report
}

func newKGResolve(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resolve DIR",
		Short: "Say which entities of a graph are one, in a file that can be read before it is applied",
		Long: "Resolve compares names, aliases, types, dates and relations of the entities of a graph folder and writes a map of those\n" +
			"that are one, each with rule, score and evidence (docs/stages/resolve.md). quarry kg build --map applies it to the\n" +
			"sources; nothing is joined before that.",
		Example: "  quarry kg resolve kg --out kg.map\n  quarry kg resolve kg --out kg.map --threshold 0.9 --replace",
		Args:    exactArgs("DIR"),
	}
	var o resolve.Options
	f := cmd.Flags()
	out := f.String(flagOut, "", "file to write")
	replace := f.Bool(flagReplace, false, "replace an earlier map")
	f.Float64Var(&o.Threshold, "threshold", 0.7, "score from which two entities are one, above 0 up to 1")
	f.BoolVar(&o.Acronyms, "acronyms", false, "join an acronym with the name it stands for")
	f.BoolVar(&o.Initials, "initials", false, "join J. Smith with Jane Smith")
	f.BoolVar(&o.SameDocument, "same-document", false, "also join entities that one document holds both of")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := required(cmd, flagOut); err != nil {
			return err
		}
		if !(o.Threshold > 0 && o.Threshold <= 1) {
			return badFlag(cmd, "threshold", "a number above 0 up to 1")
		}
		g, err := a.mapped(args[0])
		if err != nil {
			return err
		}
		defer g.Close()
		doc := resolveDoc{Path: a.Path(*out), Graph: g.Digest()}
		if err := freeFile(doc.Path, *replace); err != nil {
			return err
		}
		err = a.stage("resolve", func(*report.Progress) (string, error) {
			m, err := resolve.Resolve(cmd.Context(), resolve.FromGraph(g.Graph), o)
			if err != nil {
				return "", err
			}
			doc.Report, doc.Links = m.Report, len(m.Links)
			return fmt.Sprintf("%d entities become others, in %d groups", doc.Links, doc.Groups), resolve.Write(doc.Path, m, doc.Graph)
		})
		if err != nil {
			return err
		}
		rules := map[string]int{}
		for rule, n := range doc.Report.Links {
			rules[string(rule)] = n
		}
		rows := append([]row{{"map", doc.Path}, {"entities", doc.Entities}, {"joined", doc.Links}}, reasons("  ", rules)...)
		rows = append(rows, row{"groups", doc.Groups}, row{"largest group", doc.Largest}, row{"kept apart", ""})
		rows = append(rows, reasons("  ", doc.Vetoes)...)
		return a.print(doc, append(rows, row{"  below the threshold", doc.Weak}, row{"hubs left alone", doc.Hubs}, row{"literals left alone", doc.Literals}))
	}
	return cmd
}

type extractDoc struct {
	Path string `json:"path"`
	File string `json:"statements"`
	extract.Summary
}

func newKGExtract(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "extract FILE --out DIR",
		Short: "Let a teacher model read documents and write down statements, each bound to its words in the source",
		Long: "Extract asks an OpenAI-compatible endpoint for (entity, statement) pairs of each document of a JSONL file (id, title, text\n" +
			"or sents) and keeps those whose words stand in the source (docs/stages/extract.md). DIR/statements.jsonl is a source of\n" +
			"quarry kg build; DIR/ledger.jsonl says what was rejected and why. Answers are kept in DIR/answers.jsonl, so that the same\n" +
			"command goes on where it was stopped without paying twice.",
		Example: "  quarry kg extract docs.jsonl --out pairs --teacher http://127.0.0.1:8000/v1 --model my-teacher\n  quarry kg extract docs.jsonl --out pairs --teacher http://127.0.0.1:8000/v1 --model my-teacher --max-calls 100",
		Args:    exactArgs("FILE"),
	}
	o := extract.Options{}
	c := teacher.Client{}
	f := cmd.Flags()
	out := f.String(flagOut, "", "folder to write, or to go on with")
	f.StringVar(&c.BaseURL, "teacher", "", "base URL of the endpoint, with its version")
	f.StringVar(&c.Model, "model", "", "name of the model at the endpoint")
	keyFrom := f.String("key-from", "", "environment variable that holds the endpoint's key; none sends no key")
	f.DurationVar(&c.Timeout, "timeout", 2*time.Minute, "of one attempt")
	f.IntVar(&o.Chunk, "chunk", 6000, "bytes of text in one request")
	f.IntVar(&o.Concurrency, "concurrency", 4, "documents at once")
	f.Float64Var(&o.Price.In, "price-in", 0, "price of a million tokens that the model reads")
	f.Float64Var(&o.Price.Out, "price-out", 0, "price of a million tokens that the model writes")
	f.Float64Var(&o.MaxCost, "max-cost", 0, "cost to stop at; 0 is no limit")
	f.Int64Var(&o.MaxCalls, "max-calls", 0, "answers to stop at; 0 is no limit")
	like := f.String("relations-of", "", "graph folder whose relations are the only ones allowed; none allows any")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := required(cmd, flagOut, "teacher", "model"); err != nil {
			return err
		}
		source, err := a.input(args[0], "a file of documents, one JSON object a line")
		if err != nil {
			return err
		}
		if *like != "" {
			if o.Relations, err = a.relations(*like); err != nil {
				return err
			}
		}
		if c.Key, err = teacher.KeyFrom(*keyFrom, a.Env); err != nil {
			return err
		}
		doc := extractDoc{Path: a.Path(*out)}
		doc.File = filepath.Join(doc.Path, "statements.jsonl")
		o.Model, c.Price, c.MaxConcurrent = c.Model, o.Price, max(o.Concurrency, 1)
		err = a.stage("extract", func(p *report.Progress) (string, error) {
			if err := os.MkdirAll(doc.Path, 0o755); err != nil {
				return "", atomicfile.Classify("kg extract", doc.Path, err)
			}
			cache, err := teacher.OpenCache(filepath.Join(doc.Path, "answers.jsonl"))
			if err != nil {
				return "", err
			}
			defer cache.Close()
			c.Cache = cache
			o.Progress = func(s extract.Summary) { p.Update(s.Documents, 0, fmt.Sprintf("documents, %d statements", s.Out)) }
			doc.Summary, err = extract.Run(cmd.Context(), &c, extract.Documents(source), doc.Path, o)
			return fmt.Sprintf("%d documents -> %d statements of %d candidates", doc.Documents, doc.Out, doc.Candidates), err
		})
		if err != nil {
			return err
		}
		rejected := map[string]int{}
		for reason, n := range doc.Rejected {
			rejected[reason] = int(n)
		}
		failed := map[string]int{}
		for kind, n := range doc.Failed {
			failed[kind] = int(n)
		}
		rows := append([]row{{"documents", doc.Documents}, {"candidates", doc.Candidates}}, reasons("  ", rejected)...)
		rows = append(append(rows, row{"statements", doc.Out}), reasons("  failed requests: ", failed)...)
		return a.print(doc, append(rows, row{"calls", doc.Usage.Calls}, row{"tokens in", doc.Usage.PromptTokens}, row{"tokens out", doc.Usage.CompletionTokens},
			row{"cost", fmt.Sprintf("%.4f", doc.Usage.Cost)}, row{"written to", doc.File}))
	}
	return cmd
}

// relations are those of a graph folder.
func (a *app) relations(dir string) ([]store.Relation, error) {
	g, err := a.mapped(dir)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	out := make([]store.Relation, g.Rels)
	for r := range out {
		out[r] = g.Relation(r)
	}
	if len(out) == 0 {
		return nil, &quarry.Error{Op: "kg extract", Kind: quarry.KindInvalid, Subject: dir, Msg: "the graph has no relation", Hint: "leave --relations-of out"}
	}
	return slices.Clip(out), nil
}
