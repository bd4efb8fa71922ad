package synth

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/english"
)

// hop is a statement that an agent can follow: its evidence comes back when the tool is asked.
type hop struct {
	edge    int
	from    int
	to      int
	inverse bool
	phrase  *english.Phrase
	passage int // the evidence found
	rank    int // of the evidence in the result, 0-based
	doc     int
	query   string
	shown   []int // what the query returns
}

// fact is an evidence-carrying statement about an entity: it may narrow a question.
type fact struct {
	phrase *english.Phrase
	about  int
	edge   int
	inv    bool
}

// Space is the graph as questions see it: followable hops, facts for conditions, and neighbours by phrase.
type Space struct {
	g     *kg.Graph
	lex   *english.Lexicon
	o     Options
	hops  [][]hop                     // by source entity
	facts [][]fact                    // by described entity
	out   []map[*english.Phrase][]int // all statements, evidence or not: for uniqueness
	norms [][]string                  // normalised surface forms by entity
	read  []passage                   // by passage number
	freq  map[string]int              // passages that hold a word
	reach []int                       // hops that can follow each other from an entity
}

// NewSpace certifies every hop under the search tool.
func NewSpace(ctx context.Context, g *kg.Graph, lex *english.Lexicon, o Options) (*Space, error) {
	s := &Space{g: g, lex: lex, o: o, hops: make([][]hop, len(g.Entities)), facts: make([][]fact, len(g.Entities)),
		out: make([]map[*english.Phrase][]int, len(g.Entities)), norms: make([][]string, len(g.Entities)), read: make([]passage, len(g.Passages))}
	for i := range g.Entities {
		s.norms[i] = surfaceForms(&g.Entities[i])
	}
	if err := each(ctx, len(g.Passages), o.Concurrency, func(i int) { s.read[i] = readPassage(&g.Passages[i]) }); err != nil {
		return nil, stopped("reading the passages", err)
	}
	s.freq = map[string]int{}
	for i := range s.read {
		seen := map[string]bool{}
		for _, w := range strings.Fields(s.read[i].words) {
			if !seen[w] {
				seen[w] = true
				s.freq[w]++
			}
		}
	}
	for i := range g.Edges {
		e := &g.Edges[i]
		rel := g.Relations[e.Relation].ID
		s.neighbour(e.Subject, lex.Phrase(rel, false), e.Object)
		s.neighbour(e.Object, lex.Phrase(rel, true), e.Subject)
	}
	found := make([][]hop, len(g.Edges))
	if err := each(ctx, len(g.Edges), o.Concurrency, func(i int) { found[i] = s.certify(i) }); err != nil {
		return nil, stopped("certifying hops", err)
	}
	for i, hs := range found {
		for _, h := range hs {
			s.hops[h.from] = append(s.hops[h.from], h)
		}
		s.addFacts(i)
	}
	s.reach = reach(s.hops)
	return s, nil
}

// reach is the number of hops that can follow each other from an entity, up to maxHops; vertices may repeat, so it is
// an upper bound for walks.
func reach(hops [][]hop) []int {
	out := make([]int, len(hops))
	for length := 1; length <= maxHops; length++ {
		var longer []int
		for e := range hops {
			if out[e] == length-1 && slices.ContainsFunc(hops[e], func(h hop) bool { return out[h.to] >= length-1 }) {
				longer = append(longer, e)
			}
		}
		for _, e := range longer {
			out[e] = length
		}
	}
	return out
}

// starts are the entities from which a walk of a length may succeed.
func (s *Space) starts(length int) []int {
	var out []int
	for e, n := range s.reach {
		if n >= length {
			out = append(out, e)
		}
	}
	return out
}

// passage is what an attentive reader takes from a passage.
type passage struct {
	words string            // normalised, with a space on both sides
	names []english.Name    // found by their form, the title's first
	shown map[string]string // the same names, normalised -> as first written
}

func readPassage(p *kg.Passage) passage {
	r := passage{
		words: " " + quarry.Normalize(p.Title) + " | " + quarry.Normalize(p.Text) + " ",
		names: append(english.TitleName(p.Title), english.Names(p.Text)...),
		shown: map[string]string{},
	}
	for _, n := range r.names {
		if _, ok := r.shown[n.Norm]; !ok {
			r.shown[n.Norm] = n.Text
		}
	}
	return r
}

// each calls do for 0..n-1 from a number of goroutines.
func each(ctx context.Context, n, concurrency int, do func(int)) error {
	eg, ctx := errgroup.WithContext(ctx)
	eg.SetLimit(max(concurrency, 1))
	const chunk = 256
	for lo := 0; lo < n; lo += chunk {
		eg.Go(func() error {
			for i := lo; i < min(lo+chunk, n) && ctx.Err() == nil; i++ {
				do(i)
			}
			return ctx.Err()
		})
	}
	return eg.Wait()
}

func surfaceForms(e *kg.Entity) []string {
	out := []string{quarry.Normalize(e.Name)}
	for _, a := range e.Aliases {
		if n := quarry.Normalize(a); len(n) >= minAliasNormalLen && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

func (s *Space) neighbour(a int, p *english.Phrase, b int) {
	if p == nil {
		return
	}
	if s.out[a] == nil {
		s.out[a] = map[*english.Phrase][]int{}
	}
	if !slices.Contains(s.out[a][p], b) {
		s.out[a][p] = append(s.out[a][p], b)
	}
}

func (s *Space) ends(edge int, inverse bool) (p *english.Phrase, from, to int, ok bool) {
	e := &s.g.Edges[edge]
	p = s.lex.Phrase(s.g.Relations[e.Relation].ID, inverse)
	from, to = e.Subject, e.Object
	if inverse {
		from, to = to, from
	}
	ok = p != nil && from != to && len(e.Evidence) > 0 && !s.g.Entities[from].Literal() &&
		p.From.Admits(s.g.Entities[from].Type) && p.Want.Admits(s.g.Entities[to].Type)
	return p, from, to, ok
}

func (s *Space) addFacts(edge int) {
	for _, inv := range []bool{false, true} {
		if p, from, to, ok := s.ends(edge, inv); ok {
			s.facts[to] = append(s.facts[to], fact{p, from, edge, inv})
		}
	}
}

// certify finds the directions in which an edge can be followed.
func (s *Space) certify(edge int) []hop {
	var out []hop
	for _, inv := range []bool{false, true} {
		p, from, to, ok := s.ends(edge, inv)
		if !ok || len(s.out[from][p]) > s.o.MaxFanout {
			continue
		}
		query := s.g.Entities[from].Name + " " + p.Query
		shown := s.g.Search(query, s.o.K)
		for rank, ps := range shown[:min(len(shown), s.o.CertTop)] {
			if slices.Contains(s.g.Edges[edge].Evidence, ps) && s.nearby(ps, p, from, to) {
				out = append(out, hop{edge: edge, from: from, to: to, inverse: inv, phrase: p, passage: ps, rank: rank,
					doc: s.g.Passages[ps].Doc, query: query, shown: shown})
				break
			}
		}
	}
	return out
}

// names says whether a passage holds a surface form of an entity as whole words.
func (s *Space) names(passage, entity int) bool {
	for _, n := range s.norms[entity] {
		if contains(s.read[passage].words, n) {
			return true
		}
	}
	return false
}

// shows says whether any of the passages names the entity.
func (s *Space) shows(passages []int, entity int) bool {
	return slices.ContainsFunc(passages, func(p int) bool { return s.names(p, entity) })
}

// nearby says whether a reader would take the target for what the phrase asks: among the names of the passage that
// can be of the wanted kind it is one of the two nearest to the name asked about or to a word that signals the
// relation. The target's name can then be read there.
func (s *Space) nearby(passage int, p *english.Phrase, from, to int) bool {
	names := s.read[passage].names
	var marks []int // word positions of the source's name and of cue words
	for _, n := range names {
		if !n.Title && s.isName(from, n.Norm) {
			marks = append(marks, n.At)
		}
	}
	source := len(marks)
	for i, w := range strings.Fields(s.g.Passages[passage].Text) {
		if ts := english.Terms(w); len(ts) > 0 && p.Cues[ts[0]] {
			marks = append(marks, i)
		}
	}
	dist := func(n english.Name, marks []int) int {
		d := 1 << 20
		for _, m := range marks {
			d = min(d, max(n.At-m, m-n.At))
		}
		return d
	}
	near := func(marks []int) bool {
		best := 1 << 20
		for _, n := range names {
			if !n.Title && p.Want.Fits(n.Shape) && slices.Contains(s.norms[to], n.Norm) {
				best = min(best, dist(n, marks))
			}
		}
		closer := 0
		for _, n := range names {
			if !n.Title && n.Form != english.FormPart && p.Want.Fits(n.Shape) && !s.isName(from, n.Norm) && !slices.Contains(s.norms[to], n.Norm) && dist(n, marks) < best {
				closer++
			}
		}
		return best < 1<<20 && closer < maxCloser
	}
	for _, n := range names {
		if n.Title && p.Want.Fits(n.Shape) && slices.Contains(s.norms[to], n.Norm) && source > 0 {
			return true
		}
	}
	return source > 0 && near(marks[:source]) || len(marks) > source && near(marks[source:])
}

func (s *Space) isName(entity int, norm string) bool {
	return slices.ContainsFunc(s.norms[entity], func(n string) bool { return english.SameName(n, norm) })
}
