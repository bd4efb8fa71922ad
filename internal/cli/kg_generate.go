package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/kg/worldgen"
)

type generateDoc struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"`
	Seed   uint64 `json:"seed"`
	store.Counts
}

func newKGGenerate(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Make a graph folder of an invented world, of any size, with a text for every statement",
		Long: "Generate invents people, places, organisations, works and events with 20 relations, and an article about each in which\n" +
			"every statement is one sentence. No model has read it, its answers are exact, and the same seed gives the same world\n" +
			"(docs/stages/worldgen.md).",
		Example: "  quarry kg generate --out world --documents 1000\n  quarry kg generate --out small --documents 200 --names words:2 --lang en",
		Args:    exactArgs(),
	}
	var o worldgen.Options
	f := cmd.Flags()
	out := f.String(flagOut, "", "folder to write")
	replace := f.Bool(flagReplace, false, "replace an earlier graph folder")
	f.Uint64Var(&o.Seed, flagSeed, 1, "root of the random streams")
	f.IntVar(&o.Documents, "documents", 1000, fmt.Sprintf("articles, %d to %d", worldgen.MinDocuments, worldgen.MaxDocuments))
	lang := f.String("lang", string(worldgen.English), "language of the articles: en, zh or both")
	names := f.String("names", string(worldgen.Syllables), "names: syllables, or words:2 for two words of a closed list")
	f.IntVar(&o.Extra, "extra", 0, fmt.Sprintf("more statements an article, 0 to %d", worldgen.MaxExtra))
	f.IntVar(&o.Distractors, "distractors", 0, fmt.Sprintf("sentences an article that say nothing, 0 to %d", worldgen.MaxDistractors))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := required(cmd, flagOut); err != nil {
			return err
		}
		o.Lang, o.Names = worldgen.Lang(*lang), worldgen.Names(*names)
		w, err := worldgen.New(o)
		if err != nil {
			return err
		}
		doc := generateDoc{Path: a.Path(*out), Seed: o.Seed}
		if err := newDir(doc.Path, store.ManifestFile, *replace); err != nil {
			return err
		}
		err = a.stage("kg", func(*report.Progress) (string, error) {
			err := writeDir(doc.Path, func(dir string) error {
				m, err := kg.Write(cmd.Context(), dir, func(b *store.Builder) error { return w.Write(cmd.Context(), b, generators) })
				doc.Digest, doc.Bytes, doc.Counts = m.Digest, m.Bytes, m.Counts
				return err
			})
			return fmt.Sprintf("%d entities, %d statements, %d documents", doc.Entities, doc.Edges, doc.Documents), err
		})
		if err != nil {
			return err
		}
		return a.print(doc, append([]row{{"graph", doc.Path}, {"digest", doc.Digest}}, countRows(doc.Counts)...))
	}
	return cmd
}

// generators is how many goroutines write articles; it changes nothing but the time.
const generators = 4
