// Package pipeline turns a mapped graph into certified questions: it draws walks, chooses conditions, proves what it can
// about each, finds every hop with the search tool, has the text written and checked, and keeps a ledger in which every
// candidate ends in exactly one state with a reason.
//
// A candidate depends on graph, options and its walk's number alone; what depends on the candidates before it (caps,
// duplicates, when to stop) is done in the order of walks. So a run can be cut off anywhere and go on, with any
// concurrency, and leave the same bytes.
package pipeline

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/walk"
	"github.com/quarry-rl/quarry/synth/certify"
)

// Space is a graph made ready for candidates. It is safe for concurrent use; the graph must stay open.
type Space struct {
	g        *kg.Mapped
	o        Options
	hooks    Hooks
	settings Settings
	texts    *texts // nil when the graph has none
	sets     []Set
	index    *certify.Index
	walks    *walk.Constrained
	single   []bool // relations with one object at a time; nil without an as-of date
	asOf     certify.Date
	workers  chan *worker

	block int                            // walks that are written at once
	wrap  func(name string, f file) file // of tests: files that fail
}

// worker is the scratch space of one candidate at a time.
type worker struct {
	s       *Space
	chooser *certify.Chooser
	solver  *certify.Solver
	desk    *desk // nil without texts
}

// NewSpace prepares a graph. Errors are invalid: options that make no sense, no writer.
func NewSpace(g *kg.Mapped, o Options, hooks Hooks) (*Space, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	if hooks.Writer == nil {
		return nil, &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: "writer", Msg: "none was given", Hint: "give the part that writes the texts"}
	}
	if hooks.Filter != nil && o.Policy == "" {
		return nil, &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: "policy", Msg: "a filter needs a label", Hint: "name the policy, so that a folder is not continued with another"}
	}
	var search Searcher = g.Index()
	if hooks.Search != nil {
		if o.Index == "" {
			return nil, &quarry.Error{Op: "synth", Kind: quarry.KindInvalid, Subject: "index", Msg: "a search needs a label", Hint: "name the index, so that a folder is not continued with another"}
		}
		search = hooks.Search
	}
	s := &Space{g: g, hooks: hooks, texts: newTexts(g, search), block: blockWalks}
	if s.texts == nil {
		o.MinDocs = 0
	}
	o.Benchmarks = sorted(o.Benchmarks)
	s.settings = settingsOf(g.Digest(), o)
	if o.Starts == nil {
		o.Starts = anchors(g)
	}
	s.o = o
	var members [][]uint32
	if !o.NoSets {
		s.sets, members = setsOf(g, o.Leaf)
	}
	var err error
	if s.index, err = certify.NewIndex(g.Graph.Graph, members, o.Leaf, s.sourced()); err != nil {
		return nil, err
	}
	if o.AsOf != "" {
		s.asOf, _ = certify.ParseDate(o.AsOf) // checked with the options
		s.single = functional(g.Graph.Graph)
	}
	if s.walks, err = walk.NewConstrained(g.Graph.Graph, o.Hops, s.rules()); err != nil {
		return nil, err
	}
	// scratch is large, so there is one for each processor, however many candidates wait for a writer
	n := min(s.concurrency(), runtime.GOMAXPROCS(0))
	s.workers = make(chan *worker, n)
	for range n {
		w := &worker{s: s, chooser: certify.NewChooser(s.index, certify.Options{Most: o.Conditions, Plain: o.Necessity < N3, Induced: o.Necessity >= N2, Apart: o.Independent}),
			solver: certify.NewSolver(s.index)}
		if s.texts != nil {
			w.desk = &desk{t: s.texts, folded: map[uint32]string{}, hops: map[hopKey]found{}}
		}
		s.workers <- w
	}
	return s, nil
}

// anchors are the entities that a walk can begin at: neither a literal nor without any statement.
func anchors(g *kg.Mapped) []uint32 {
	var out []uint32
	for v := range uint32(g.Entities()) {
		if g.Degree(v) > 0 && !g.Literal(v) {
			out = append(out, v)
		}
	}
	return out
}

func (s *Space) rules() walk.Rules {
	r := walk.Rules{Seed: s.o.Seed, Starts: s.o.Starts, Beta: s.o.Beta, MinDocs: s.o.MinDocs, Undocumented: s.texts == nil, MaxDegree: s.o.MaxDegree, Backtracks: s.o.Backtracks,
		NoShortcuts: s.o.Necessity >= N2}
	value := s.g.Literal
	hub := func(v uint32) bool { return s.o.HubDocs > 0 && len(s.g.DocsOf(v)) > s.o.HubDocs }
	r.Anchor = func(v uint32) bool { return !value(v) }
	r.Inside = func(v uint32) bool { return !value(v) && !hub(v) }
	r.Answer = func(v uint32) bool { return !hub(v) }
	return r
}

// functional says of each relation whether it has one object at a time, as far as the graph shows: at least 95 % of its
// subjects have one, and there are 5 of them or more.
func functional(g *csr.Graph) []bool {
	subjects, one := make([]int, g.Rels), make([]int, g.Rels)
	for v := range uint32(g.Entities()) {
		end := g.Off[v] + g.Out[v+1] - g.Out[v]
		for p := g.Off[v]; p < end; {
			q := p + 1
			for q < end && g.Steps[q] == g.Steps[p] {
				q++
			}
			r := g.Steps[p].Relation()
			subjects[r]++
			if q-p == 1 {
				one[r]++
			}
			p = q
		}
	}
	out := make([]bool, g.Rels)
	for r := range out {
		out[r] = subjects[r] >= 5 && one[r]*20 >= subjects[r]*19
	}
	return out
}

// name is how texts and queries in the question's language call an entity.
func (s *Space) name(v uint32) string {
	if s.o.Lang == "zh" {
		return cmp.Or(s.g.NameZH(v), s.g.Name(v))
	}
	return s.g.Name(v)
}

// label is so for a relation.
func (s *Space) label(r int) string {
	if s.o.Lang == "zh" {
		return cmp.Or(s.g.LabelZH(r), s.g.Label(r))
	}
	return s.g.Label(r)
}

func walkOf(p walk.Path) certify.Walk {
	w := certify.Walk{Anchor: p.Anchor, Hops: make([]certify.Hop, len(p.Hops))}
	for i, h := range p.Hops {
		w.Hops[i] = certify.Hop{Step: h.Step, Edge: h.Edge, To: h.Target}
	}
	return w
}

// shown is a walk for a reader: names and relations.
func (s *Space) shown(w certify.Walk) string {
	out := s.name(w.Anchor)
	for _, h := range w.Hops {
		arrow := " -%s-> "
		if h.Step.Inverse() {
			arrow = " <-%s- "
		}
		out += fmt.Sprintf(arrow, s.label(h.Step.Relation())) + s.name(h.To)
	}
	return out
}

func (s *Space) wrapped(name string, f file) file {
	if s.wrap == nil {
		return f
	}
	return s.wrap(name, f)
}

// sourced says which statements a question may name: in a graph with texts those that a text carries.
func (s *Space) sourced() func(edge uint32) bool {
	if s.texts == nil {
		return nil
	}
	return func(edge uint32) bool { return s.g.Docs[edge] != csr.NoDoc }
}
