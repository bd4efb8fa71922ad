package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/store"
)

type hit struct {
	Rank     int     `json:"rank"`
	Score    float32 `json:"score"`
	Doc      string  `json:"doc"`
	Sentence int     `json:"sentence"`
	Start    int     `json:"start"` // byte offset in the document's text
	Title    string  `json:"title"`
	Text     string  `json:"text"`
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
		if *k < 1 || *k > maxListed {
			return badFlag(cmd, "k", fmt.Sprintf("a number from 1 to %d", maxListed))
		}
		g, err := a.mapped(args[0])
		if err != nil {
			return err
		}
		defer g.Close()
		doc := searchDoc{Query: args[1], K: *k, Hits: []hit{}}
		var rows []row
		for i, h := range g.Index().Search(args[1], *k, []bm25.Hit(nil)) {
			ps := g.Passage(h.Passage)
			id := g.DocumentID(ps.Doc)
			doc.Hits = append(doc.Hits, hit{i + 1, h.Score, id, ps.Sentence, ps.Start, ps.Title, ps.Text})
			rows = append(rows, row{fmt.Sprintf("[%d]", i+1), fmt.Sprintf("%s (%s, sentence %d)", ps.Title, id, ps.Sentence)}, row{"", ps.Text})
		}
		if len(rows) == 0 {
			rows = []row{{"no passage holds a word of the query", ""}}
		}
		return a.print(doc, rows)
	}
	return cmd
}

// maxListed bounds what one command lists.
const maxListed = 10000

// entity finds what an argument names: an id, else a name that only one entity has, else an alias of only one.
func entity(g *kg.Mapped, op, name string) (uint32, error) {
	if e, ok := g.EntityByID(name); ok {
		return e, nil
	}
	found := g.EntitiesByName(name)
	var called []uint32 // not only by an alias
	for _, v := range found {
		if quarry.Normalize(g.Name(v)) == quarry.Normalize(name) {
			called = append(called, v)
		}
	}
	switch {
	case len(called) == 1:
		return called[0], nil
	case len(called) > 1:
		found = called
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return 0, &quarry.Error{Op: op, Kind: quarry.KindNotFound, Subject: name, Msg: "no entity has this id, name or alias", Hint: "quarry kg search finds entities by the text about them"}
	}
	ids := make([]string, 0, 5)
	for _, v := range found[:min(len(found), cap(ids))] {
		ids = append(ids, fmt.Sprintf("%s (%s, %s)", g.ID(v), strings.TrimSpace(g.Type(v)+" "+g.Name(v)), plural(g.Degree(v), "statement")))
	}
	return 0, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: name, Msg: fmt.Sprintf("%d entities have this name", len(found)), Hint: "give an id: " + strings.Join(ids, ", ")}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// fact is a statement seen from one of its ends.
type fact struct {
	Relation string         `json:"relation"`
	Label    string         `json:"label"`
	Inverse  bool           `json:"inverse"`
	To       quarry.Named   `json:"to"`
	Evidence []citation     `json:"evidence,omitempty"`
	Quals    []qualifierDoc `json:"qualifiers,omitempty"`
}

type citation struct {
	Doc   string `json:"doc"`
	Title string `json:"title,omitempty"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text,omitempty"`
}

type qualifierDoc struct {
	Property string `json:"property"`
	Value    string `json:"value"`
}

func factOf(g *kg.Mapped, step csr.Step, edge, to uint32) fact {
	f := fact{Relation: g.RelationID(step.Relation()), Label: g.Label(step.Relation()), Inverse: step.Inverse(), To: g.Named(to)}
	for _, ev := range g.Evidence(edge) {
		s := g.Cited(edge, ev)
		f.Evidence = append(f.Evidence, citation{s.Doc, g.Title(ev.Doc), s.Start, s.End, s.Text})
	}
	for _, set := range g.Qualifiers(edge) {
		for _, q := range set.Qualifiers {
			f.Quals = append(f.Quals, qualifierDoc{q.Property, q.Value})
		}
	}
	return f
}

// rows are a fact as text, with a sentence that carries it.
func (f fact) rows(from string) []row {
	arrow := fmt.Sprintf("-- %s -->", f.Label)
	if f.Inverse {
		arrow = fmt.Sprintf("<-- %s --", f.Label)
	}
	text := fmt.Sprintf("%s %s %s", from, arrow, f.To.Name)
	for _, q := range f.Quals {
		text += fmt.Sprintf("; %s %s", q.Property, q.Value)
	}
	rows := []row{{"  " + text, ""}}
	for i, c := range f.Evidence {
		if i == 1 {
			rows = append(rows, row{fmt.Sprintf("      and %d more", len(f.Evidence)-1), ""})
			break
		}
		if c.Text == "" {
			rows = append(rows, row{"      in " + c.Doc, ""})
			continue
		}
		rows = append(rows, row{fmt.Sprintf("      %q (%s)", c.Text, c.Title), ""})
	}
	return rows
}

type showDoc struct {
	quarry.Named
	NameZH      string `json:"name_zh,omitempty"`
	Type        string `json:"type,omitempty"`
	Description string `json:"description,omitempty"`
	Docs        int    `json:"documents"`
	Degree      int    `json:"degree"`
	Facts       []fact `json:"facts"`
}

func newKGShow(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show DIR ENTITY",
		Short:   "Show an entity with its names, statements and the sentences that carry them",
		Example: "  quarry kg show kg \"Henrik Angell\"\n  quarry kg show kg e00012 --limit 100 -o json",
		Args:    exactArgs("DIR", "ENTITY"),
	}
	limit := cmd.Flags().Int(flagLimit, 20, "most statements to show")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *limit < 0 || *limit > maxListed {
			return badFlag(cmd, flagLimit, fmt.Sprintf("a number from 0 to %d", maxListed))
		}
		g, err := a.mapped(args[0])
		if err != nil {
			return err
		}
		defer g.Close()
		e, err := entity(g, "kg show", args[1])
		if err != nil {
			return err
		}
		doc := showDoc{Named: g.Named(e), NameZH: g.NameZH(e), Type: g.Type(e), Description: g.Description(e), Docs: len(g.DocsOf(e)), Degree: g.Degree(e), Facts: []fact{}}
		rows := []row{{"id", doc.ID}, {"name", doc.Name}}
		for _, r := range []row{{"in Chinese", doc.NameZH}, {"aliases", strings.Join(g.Aliases(e), " | ")}, {"type", doc.Type}, {"description", doc.Description}} {
			if r.value != "" {
				rows = append(rows, r)
			}
		}
		rows = append(rows, row{"documents", doc.Docs}, row{"statements", doc.Degree})
		for p := g.Off[e]; p < g.Off[e+1] && len(doc.Facts) < *limit; p++ {
			f := factOf(g, g.Steps[p], g.EdgeAt(e, p), g.Targets[p])
			doc.Facts = append(doc.Facts, f)
			rows = append(rows, f.rows(doc.Name)...)
		}
		if rest := doc.Degree - len(doc.Facts); rest > 0 {
			rows = append(rows, row{fmt.Sprintf("  and %d more; --%s shows them", rest, flagLimit), ""})
		}
		return a.print(doc, rows)
	}
	return cmd
}

type pathDoc struct {
	From quarry.Named `json:"from"`
	To   quarry.Named `json:"to"`
	Hops []fact       `json:"hops"`
}

func newKGPath(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "path DIR A B",
		Short:   "Show a shortest way between two entities",
		Example: "  quarry kg path kg \"Final Fantasy\" \"Kingdom Hearts\"\n  quarry kg path kg e00328 e00335 --max-hops 5 -o json",
		Args:    exactArgs("DIR", "A", "B"),
	}
	most := cmd.Flags().Int("max-hops", 10, "longest way to look for")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *most < 1 || *most > 100 {
			return badFlag(cmd, "max-hops", "a number from 1 to 100")
		}
		g, err := a.mapped(args[0])
		if err != nil {
			return err
		}
		defer g.Close()
		var ends [2]uint32
		for i, name := range args[1:] {
			if ends[i], err = entity(g, "kg path", name); err != nil {
				return err
			}
		}
		hops, ok := g.Path(ends[0], ends[1], *most)
		if !ok {
			return &quarry.Error{Op: "kg path", Kind: quarry.KindNotFound, Subject: args[1] + " to " + args[2], Msg: fmt.Sprintf("no way of at most %d statements", *most), Hint: "raise --max-hops"}
		}
		doc := pathDoc{From: g.Named(ends[0]), To: g.Named(ends[1]), Hops: factsOf(g, hops)}
		return a.print(doc, hopRows(doc.From.Name, doc.Hops))
	}
	return cmd
}

func factsOf(g *kg.Mapped, hops []store.Hop) []fact {
	out := make([]fact, len(hops))
	for i, h := range hops {
		out[i] = factOf(g, h.Step, h.Edge, h.To)
	}
	return out
}

func hopRows(from string, hops []fact) (rows []row) {
	for _, f := range hops {
		rows = append(rows, f.rows(from)...)
		from = f.To.Name
	}
	if len(rows) == 0 {
		rows = []row{{"  both are " + from, ""}}
	}
	return rows
}
