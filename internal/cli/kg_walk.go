package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/retrieve"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/kg/walk"
)

type walkLine struct {
	Number int        `json:"walk"`
	Reason string     `json:"reason,omitempty"` // none for a complete one
	Paths  []walkPath `json:"paths,omitempty"`
	Answer string     `json:"answer,omitempty"`
}

type walkPath struct {
	Anchor quarry.Named `json:"anchor"`
	Hops   []fact       `json:"hops"`
}

type walkDoc struct {
	Drawn    int            `json:"drawn"`
	Complete int            `json:"complete"`
	Reasons  map[string]int `json:"reasons"`
	Walks    []walkLine     `json:"walks"`
}

func newKGWalk(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "walk DIR",
		Short: "Draw walks or patterns as synthesis would, and show them",
		Long: "Walk draws numbered walks under rules: no vertex twice, a bias towards other documents, a hard minimum of documents,\n" +
			"caps on degree and relations. Walk n of a seed is always the same. Literals (dates, numbers, texts) end a walk.",
		Example: "  quarry kg walk kg --hops 4 --count 3\n  quarry kg walk kg --shape star --branches 3 --hops 6 --beta 8 -o json",
		Args:    exactArgs("DIR"),
	}
	f := cmd.Flags()
	shape := f.String("shape", string(walk.Chain), "chain, star, tree or cycle")
	hops := f.Int("hops", 3, fmt.Sprintf("statements of a walk, 1 to %d", walk.MaxHops))
	branches := f.Int("branches", 2, "branches of a star")
	count := f.Int("count", 5, "walks to draw")
	first := f.Int("first", 0, "number of the first walk")
	rules := walk.Rules{}
	f.Uint64Var(&rules.Seed, flagSeed, 1, "root of the random streams")
	f.Float64Var(&rules.Beta, "beta", 1, "weight of a statement from another document, against 1")
	f.IntVar(&rules.MinDocs, "min-docs", 0, "fewest documents of a walk")
	f.IntVar(&rules.MaxDegree, "max-degree", 0, "most statements of an entity inside a walk; 0 is no limit")
	f.IntVar(&rules.MaxRelation, "max-relation", 0, "most uses of one relation; 0 is no limit")
	f.IntVar(&rules.MinRelations, "min-relations", 0, "fewest relations of a walk")
	f.IntVar(&rules.Backtracks, "backtracks", 100, "steps a walk may take back")
	f.BoolVar(&rules.NoShortcuts, "no-shortcuts", false, "no statement joins entities that are not neighbours in the walk")
	f.BoolVar(&rules.Undocumented, "undocumented", false, "walk statements that no document carries too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *count < 1 || *count > maxListed {
			return badFlag(cmd, "count", fmt.Sprintf("a number from 1 to %d", maxListed))
		}
		if *first < 0 {
			return badFlag(cmd, "first", "a number from 0 on")
		}
		g, err := a.mapped(args[0])
		if err != nil {
			return err
		}
		defer g.Close()
		inner := func(v uint32) bool { return !g.Literal(v) }
		rules.Anchor, rules.Inside = inner, inner
		t, err := walk.NewTopology(g.Graph.Graph, walk.Shape(*shape), *hops, *branches, rules)
		if err != nil {
			return err
		}
		doc := walkDoc{Drawn: *count, Reasons: map[string]int{}, Walks: []walkLine{}}
		var rows []row
		err = t.Run(cmd.Context(), *first, *count, 1, func(n int, p walk.Pattern, why walk.Reason) {
			l := walkLine{Number: n, Reason: string(why)}
			if why == walk.Complete {
				doc.Complete++
				l.Answer = g.Name(p.Vertices[p.Answer])
				rows = append(rows, row{fmt.Sprintf("walk %d to %s", n, l.Answer), ""})
				paths := p.Paths()
				for i, path := range paths {
					if len(paths) > 1 {
						rows = append(rows, row{fmt.Sprintf(" %s %d of %d", pathName(walk.Shape(*shape)), i+1, len(paths)), ""})
					}
					wp := walkPath{Anchor: g.Named(path.Anchor), Hops: factsOf(g, hopsOf(path))}
					l.Paths = append(l.Paths, wp)
					rows = append(rows, hopRows(wp.Anchor.Name, wp.Hops)...)
				}
			} else {
				doc.Reasons[string(why)]++
			}
			doc.Walks = append(doc.Walks, l)
		})
		if err != nil {
			return err
		}
		rows = append(rows, row{"drawn", doc.Drawn}, row{"complete", doc.Complete})
		return a.print(doc, append(rows, reasons("  ", doc.Reasons)...))
	}
	return cmd
}

// pathName is what one of several paths of a pattern is called.
func pathName(s walk.Shape) string {
	switch s {
	case walk.Star:
		return "branch"
	case walk.Cycle:
		return "way"
	}
	return "leaf"
}

func hopsOf(p walk.Path) []store.Hop {
	out := make([]store.Hop, len(p.Hops))
	for i, h := range p.Hops {
		out[i] = store.Hop{Edge: h.Edge, Step: h.Step, To: h.Target}
	}
	return out
}

func newKGServe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve DIR",
		Short: "Serve the search tool over HTTP in the shapes that public agents speak",
		Long: "Serve answers POST /retrieve, /access, /search, /batch_search, /queries, /get_content and GET /health in the shapes of\n" +
			"Search-R1, ASearcher, ReCall, R1-Searcher and OpenResearcher (docs/formats/retrieve-http.md) until it is interrupted.\n" +
			"--fault-* make it fail at a rate, to see what an agent makes of it.",
		Example: "  quarry kg serve kg\n  quarry kg serve kg --addr 127.0.0.1:5005 --fault-429 0.05",
		Args:    exactArgs("DIR"),
	}
	f := cmd.Flags()
	addr := f.String("addr", "127.0.0.1:8000", "address to listen on")
	var faults retrieve.Faults
	f.Uint64Var(&faults.Seed, flagSeed, 1, "root of the random streams of faults")
	f.Float64Var(&faults.Timeout, "fault-timeout", 0, "share of requests that are not answered in time")
	f.Float64Var(&faults.Busy, "fault-429", 0, "share of requests answered with 429")
	f.Float64Var(&faults.Error, "fault-500", 0, "share of requests answered with 500")
	f.Float64Var(&faults.Empty, "fault-empty", 0, "share of requests that find nothing")
	f.Float64Var(&faults.Truncated, "fault-truncated", 0, "share of requests whose texts are cut")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, s := range []struct {
			flag  string
			share float64
		}{{"fault-timeout", faults.Timeout}, {"fault-429", faults.Busy}, {"fault-500", faults.Error}, {"fault-empty", faults.Empty}, {"fault-truncated", faults.Truncated}} {
			if !(s.share >= 0 && s.share <= 1) {
				return badFlag(cmd, s.flag, "a share from 0 to 1")
			}
		}
		g, err := a.mapped(args[0])
		if err != nil {
			return err
		}
		// never unmapped: a request that outlives the shutdown may still read it
		h, err := retrieve.Inject(retrieve.Handler(g.Corpus(), retrieve.ServerOptions{Journal: func(e retrieve.Entry) {
			a.Log.Debug("request", slog.String("route", e.Route), slog.String("shape", string(e.Shape)), slog.Int("queries", len(e.Queries)),
				slog.Int("status", e.Status), slog.Duration("took", e.Elapsed), slog.String("fault", string(e.Fault)))
		}}), faults)
		if err != nil {
			return err
		}
		return a.serve(cmd, g, *addr, h)
	}
	return cmd
}

// shutdown is how long requests may take to finish after an interrupt.
const shutdown = 5 * time.Second

// serve answers until the command is interrupted, and lets requests finish.
func (a *app) serve(cmd *cobra.Command, g *kg.Mapped, addr string, h http.Handler) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return &quarry.Error{Op: "kg serve", Kind: quarry.KindUnavailable, Subject: addr, Err: err, Hint: "choose a free address with --addr, such as 127.0.0.1:0"}
	}
	doc := struct {
		URL      string `json:"url"`
		Passages int    `json:"passages"`
	}{"http://" + l.Addr().String(), g.Passages()}
	if err := a.print(doc, []row{{"serving", doc.URL}, {"passages", doc.Passages}}); err != nil {
		l.Close()
		return err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err = <-done:
	case <-cmd.Context().Done():
		srv.SetKeepAlivesEnabled(false)
		late, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), shutdown)
		defer cancel()
		if srv.Shutdown(late) != nil {
			srv.Close() // what is still running has had its time
		}
		err = <-done
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	if err != nil {
		return &quarry.Error{Op: "kg serve", Kind: quarry.KindUnavailable, Subject: addr, Err: err}
	}
	return nil
}
