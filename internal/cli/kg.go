package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/kg"
)

func newKG(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kg",
		Short: "Build and look into a graph with the text it comes from",
		Args:  onlySubcommands,
		RunE:  showHelp,
	}
	cmd.AddCommand(newKGBuild(a), newKGStats(a), newKGSearch(a))
	return cmd
}

type kgDoc struct {
	Path string `json:"path"`
	kg.Stats
}

func newKGBuild(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build DATA",
		Short: "Check a data folder and make a graph folder of it",
		Long: "Build reads documents, entities, relations and triples, binds every statement to the sentence that carries it,\n" +
			"and writes the graph folder that the other commands take as --kg.",
		Example: "  quarry kg build examples/wiki --out kg\n  quarry kg build data --out kg --replace -o json",
		Args:    exactArgs("DATA"),
	}
	out := cmd.Flags().String(flagOut, "", "folder to write")
	replace := cmd.Flags().Bool(flagReplace, false, "replace an earlier graph folder")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := required(cmd, flagOut); err != nil {
			return err
		}
		data, err := a.folder(args[0], "a data folder holds docs.jsonl, entities.jsonl, triples.tsv and relations.tsv")
		if err != nil {
			return err
		}
		doc := kgDoc{Path: a.Path(*out)}
		if err := newDir(doc.Path, loop.StatsFile, *replace); err != nil {
			return err
		}
		err = a.stage("kg", func(*report.Progress) (string, error) {
			err := writeDir(doc.Path, func(dir string) (err error) {
				_, doc.Stats, err = loop.BuildGraph(data, dir)
				return err
			})
			return fmt.Sprintf("%d documents, %d statements with evidence", doc.Documents, doc.Statements), err
		})
		if err != nil {
			return err
		}
		return a.print(doc, append([]row{{"graph", doc.Path}}, statRows(doc.Stats)...))
	}
	return cmd
}

func statRows(s kg.Stats) []row {
	rows := []row{{"documents", s.Documents}, {"passages", s.Passages}, {"entities", s.Entities}}
	rows = append(rows, reasons("  ", s.ByType)...)
	return append(rows, []row{{"  in two or more documents", s.Shared}, {"relations", s.Relations}, {"edges", s.Edges}, {"  with evidence", s.WithText},
		{"statements with evidence", s.Statements}, {"largest degree", s.MaxDegree}, {"analyser", s.Analyser}}...)
}

func newKGStats(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "stats DIR",
		Short:   "Count what a graph folder holds",
		Example: "  quarry kg stats kg\n  quarry kg stats kg -o json",
		Args:    exactArgs("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			g, err := a.graph(args[0])
			if err != nil {
				return err
			}
			doc := kgDoc{a.Path(args[0]), g.Stats()}
			return a.print(doc, statRows(doc.Stats))
		},
	}
}

type hit struct {
	Rank     int    `json:"rank"`
	Doc      string `json:"doc"`
	Sentence int    `json:"sentence"`
	Start    int    `json:"start"` // byte offset in the document's text
	Title    string `json:"title"`
	Text     string `json:"text"`
}

type searchDoc struct {
	Query string `json:"query"`
	K     int    `json:"k"`
	Hits  []hit  `json:"hits"`
}

func newKGSearch(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "search DIR QUERY",
		Short:   "Ask the search tool what an agent would see",
		Example: "  quarry kg search kg \"Schneider born\"\n  quarry kg search kg \"Schneider born\" --k 5",
		Args:    exactArgs("DIR", "QUERY"),
	}
	k := cmd.Flags().Int("k", 3, "most passages to return")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *k < 1 {
			return badFlag(cmd, "k", "a number from 1 on")
		}
		g, err := a.graph(args[0])
		if err != nil {
			return err
		}
		doc := searchDoc{Query: args[1], K: *k, Hits: []hit{}}
		var rows []row
		for i, p := range g.Search(args[1], *k) {
			ps := &g.Passages[p]
			doc.Hits = append(doc.Hits, hit{i + 1, g.Docs[ps.Doc].ID, ps.Sentence, ps.Start, ps.Title, ps.Text})
			rows = append(rows, row{fmt.Sprintf("[%d]", i+1), fmt.Sprintf("%s (%s, sentence %d)", ps.Title, g.Docs[ps.Doc].ID, ps.Sentence)}, row{"", ps.Text})
		}
		if len(rows) == 0 {
			rows = []row{{"no passage holds a word of the query", ""}}
		}
		return a.print(doc, rows)
	}
	return cmd
}
