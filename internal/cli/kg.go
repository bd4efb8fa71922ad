package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/ingest"
	"github.com/quarry-rl/quarry/kg/resolve"
	"github.com/quarry-rl/quarry/kg/store"
)

func newKG(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kg",
		Short: "Build and look into a graph with the text it comes from",
		Args:  onlySubcommands,
		RunE:  showHelp,
	}
	cmd.AddCommand(newKGBuild(a), newKGGenerate(a), newKGExtract(a), newKGResolve(a), newKGStats(a), newKGFsck(a), newKGSearch(a), newKGShow(a), newKGPath(a), newKGWalk(a), newKGServe(a))
	return cmd
}

type buildDoc struct {
	Path       string         `json:"path"`
	Digest     string         `json:"digest"`
	Bytes      int64          `json:"bytes"`
	Files      int            `json:"files"`
	Lines      int64          `json:"lines"`
	Bad        int64          `json:"bad_lines"`
	Quarantine string         `json:"quarantine,omitempty"`
	Left       map[string]int `json:"left_out"`
	Skipped    []string       `json:"skipped_files"` // of folders and archives, of no format that is read
	store.Counts
}

// The values of --on-error.
const (
	onErrorStop       = "stop"
	onErrorQuarantine = "quarantine"
)

func newKGBuild(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build --out DIR SOURCE...",
		Short: "Make a graph folder of triples, dumps, documents or tables",
		Long: "Build reads files, folders or globs, plain or compressed, in the formats of docs/formats/sources.md, and writes a graph\n" +
			"folder with a search index, which the other commands take as --kg. The format of each file is told by its name and\n" +
			"its first bytes; --format sets it.",
		Example: "  quarry kg build --out kg examples/wiki\n  quarry kg build --out kg --on-error quarantine 'dump/*.nt.gz'\n  quarry kg build --out kg --replace -o json triples.tsv names.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Msg: "SOURCE is missing", Hint: "for example: " + example(cmd)}
			}
			return nil
		},
	}
	f := cmd.Flags()
	out := f.String(flagOut, "", "folder to write")
	replace := f.Bool(flagReplace, false, "replace an earlier graph folder")
	format := f.String("format", "", "format of all sources: "+joined(ingest.Formats()))
	onError := f.String("on-error", onErrorStop, "what a bad line does: "+onErrorStop+" or "+onErrorQuarantine)
	side := f.String("quarantine", "", "file for bad lines (default DIR.quarantine.jsonl)")
	share := f.Float64("max-bad-share", 0.05, "share of bad lines above which even "+onErrorQuarantine+" stops; 1 is no limit")
	raw := f.Bool("raw-rdf", false, "keep labels, types and descriptions of RDF as edges")
	drop := f.Bool("drop-literals", false, "leave out edges to dates, numbers and texts")
	joins := f.String("map", "", "entities to join, as quarry kg resolve wrote them")
	hrt := f.Bool("head-tail-relation", false, "columns of triple files without a header are head, tail, relation")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := required(cmd, flagOut); err != nil {
			return err
		}
		o := ingest.Options{RawRDF: *raw, DropLiterals: *drop, MaxBadShare: *share}
		if *hrt {
			o.Columns = ingest.HeadTailRelation
		}
		var err error
		if o.Format, err = ingest.ParseFormat(*format); err != nil {
			return badFlag(cmd, "format", "one of "+joined(ingest.Formats()))
		}
		if !(*share > 0 && *share <= 1) {
			return badFlag(cmd, "max-bad-share", "a number above 0 up to 1")
		}
		doc := buildDoc{Path: a.Path(*out)}
		switch *onError {
		case onErrorStop:
			if *side != "" {
				return badFlag(cmd, "quarantine", "a file together with --on-error "+onErrorQuarantine)
			}
		case onErrorQuarantine:
			o.OnError, doc.Quarantine = ingest.Quarantine, doc.Path+".quarantine.jsonl"
			if *side != "" {
				doc.Quarantine = a.Path(*side)
			}
		default:
			return badFlag(cmd, "on-error", onErrorStop+" or "+onErrorQuarantine)
		}
		for i := range args {
			args[i] = a.Path(args[i])
		}
		var joined *resolve.Mapping
		if *joins != "" {
			if joined, _, err = resolve.Read(a.Path(*joins)); err != nil {
				return err
			}
		}
		if err := newDir(doc.Path, store.ManifestFile, *replace); err != nil {
			return err
		}
		if err := a.buildGraph(cmd.Context(), &doc, o, joined, args); err != nil {
			return err
		}
		rows := []row{{"graph", doc.Path}, {"digest", doc.Digest}, {"files", doc.Files}, {"lines", doc.Lines}}
		if doc.Bad > 0 {
			rows = append(rows, row{"bad lines", fmt.Sprintf("%d, in %s", doc.Bad, doc.Quarantine)})
		}
		for i, name := range doc.Skipped {
			if i == maxSkipped {
				rows = append(rows, row{"", fmt.Sprintf("and %d more", len(doc.Skipped)-i)})
				break
			}
			rows = append(rows, row{[]string{"skipped files", ""}[min(i, 1)], name})
		}
		if len(doc.Left) > 0 {
			rows = append(append(rows, row{"left out", ""}), reasons("  ", doc.Left)...)
		}
		return a.print(doc, append(rows, countRows(doc.Counts)...))
	}
	return cmd
}

// maxSkipped bounds how many skipped files are listed as text; JSON has them all.
const maxSkipped = 10

func joined[T ~string](names []T) string {
	s := ""
	for i, n := range names {
		if i > 0 {
			s += ", "
		}
		s += string(n)
	}
	return s
}

func (a *app) buildGraph(ctx context.Context, doc *buildDoc, o ingest.Options, joined *resolve.Mapping, sources []string) error {
	return a.stage("kg", func(p *report.Progress) (string, error) {
		if doc.Quarantine != "" {
			f, err := os.Create(doc.Quarantine)
			if err != nil {
				return "", &quarry.Error{Op: "kg build", Kind: quarry.KindUnavailable, Subject: doc.Quarantine, Err: err, Hint: "name another file with --quarantine"}
			}
			defer f.Close()
			o.Quarantine = f
		}
		o.Progress = func(at ingest.Progress) {
			p.Update(int(at.Bytes>>10), int(at.TotalBytes>>10), fmt.Sprintf("KiB, %d statements", at.Statements))
		}
		err := writeDir(doc.Path, func(dir string) error {
			m, read, err := kg.BuildResolved(ctx, dir, o, joined, sources...)
			doc.Digest, doc.Bytes, doc.Counts = m.Digest, m.Bytes, m.Counts
			doc.Files, doc.Lines, doc.Bad, doc.Left = read.Files, read.Lines, read.Bad, map[string]int{}
			doc.Skipped = append([]string{}, read.Skipped...)
			for reason, n := range read.Left {
				doc.Left[reason] = int(n)
			}
			return err
		})
		if doc.Quarantine != "" && doc.Bad == 0 {
			os.Remove(doc.Quarantine) // empty
			doc.Quarantine = ""
		}
		return fmt.Sprintf("%d entities, %d statements, %d documents", doc.Entities, doc.Edges, doc.Documents), err
	})
}

func countRows(c store.Counts) []row {
	return []row{{"entities", c.Entities}, {"relations", c.Relations}, {"statements as read", c.Statements}, {"edges", c.Edges}, {"documents", c.Documents},
		{"passages", c.Passages}, {"evidence", c.Evidence}, {"qualifiers", c.Qualifiers}}
}

// mapped maps the graph folder that an argument names; the caller closes it.
func (a *app) mapped(dir string) (*kg.Mapped, error) {
	path, err := a.folder(dir, makesGraph)
	if err != nil {
		return nil, err
	}
	return kg.OpenMapped(path)
}

type statsDoc struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
	store.Stats
	Health   store.Health `json:"health"`
	Analyser string       `json:"analyser"`
}

func newKGStats(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "stats DIR",
		Short:   "Count what a graph folder holds, and how fit it is for walks",
		Example: "  quarry kg stats kg\n  quarry kg stats kg -o json",
		Args:    exactArgs("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			g, err := a.mapped(args[0])
			if err != nil {
				return err
			}
			defer g.Close()
			doc := statsDoc{Path: a.Path(args[0]), Digest: g.Digest(), Stats: g.Stats(), Health: g.Health(), Analyser: kg.Analyser}
			h := doc.Health
			rows := append([]row{{"graph", doc.Path}, {"digest", doc.Digest}}, countRows(doc.Counts)...)
			rows = append(rows, row{"edges with evidence", doc.WithText}, row{"entities in two or more documents", doc.Shared}, row{"entities by type", ""})
			for _, r := range reasons("  ", doc.ByType) {
				if r.name == "  " {
					r.name = "  (none)"
				}
				rows = append(rows, r)
			}
			return a.print(doc, append(rows, row{"isolated entities", share(h.Isolated)}, row{"largest component", share(h.Largest)}, row{"components", h.Components},
				row{"degree", fmt.Sprintf("mean %.1f, median %d, 90 %% %d, 99 %% %d, most %d", h.Mean, h.Median, h.P90, h.P99, h.Max)},
				row{"power law R2", fmt.Sprintf("%.2f", h.PowerLawR2)}, row{"analyser", doc.Analyser}))
		},
	}
}

func share(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

func newKGFsck(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "fsck DIR",
		Short:   "Check every byte of a graph folder",
		Long:    "Fsck reads graph and index whole: checksums, offsets, order, both ends of every edge, texts and their hashes.\nIt exits 8 when something is wrong.",
		Example: "  quarry kg fsck kg",
		Args:    exactArgs("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			g, err := a.mapped(args[0])
			if err != nil {
				return err
			}
			defer g.Close()
			faults, err := g.Fsck(cmd.Context())
			if err != nil {
				return err
			}
			for _, f := range faults {
				if _, err := io.WriteString(a.Stderr, "fault: "+oneLine(f.String())+"\n"); err != nil {
					return outputError(err)
				}
			}
			if len(faults) > 0 {
				return &quarry.Error{Op: "kg fsck", Kind: quarry.KindCorrupt, Subject: a.Path(args[0]), Msg: plural(len(faults), "fault"), Hint: "build the graph again with: quarry kg build"}
			}
			if err := g.Index().Fsck(); err != nil {
				return err
			}
			doc := struct {
				Path   string `json:"path"`
				Digest string `json:"digest"`
				Faults int    `json:"faults"`
			}{a.Path(args[0]), g.Digest(), 0}
			return a.print(doc, []row{{"sound", doc.Path}, {"digest", doc.Digest}})
		},
	}
}
