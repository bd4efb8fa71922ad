package resolve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
)

// edge joins two entities of one group.
type edge struct {
	a, b     int32
	rule     Rule
	score    float64
	evidence []string
}

// group is what is known of entities that were joined so far.
type group struct {
	typ        string
	docs       map[string]bool
	functional map[string][]value
	facts      map[string]bool // relation, direction and folded value
	apart      map[string]bool // ids that must stay out
	ids        []string
}

type value struct {
	text    string
	literal bool
}

type resolver struct {
	opt        *Options
	ents       []Entity // ascending by id
	shut       []bool   // literals and hubs
	parent     []int32
	size       []int32
	groups     []*group // of roots, made when first needed
	edges      [][]edge // by their lower end
	functional map[string]bool
	apart      map[string][]string
	held       map[string]int // entities that have a fact
	report     Report
}

func newResolver(entities []Entity, o *Options) (*resolver, error) {
	r := &resolver{opt: o, ents: slices.Clone(entities), functional: map[string]bool{}, apart: map[string][]string{}, held: map[string]int{},
		report: Report{Links: map[Rule]int{}, Vetoes: map[string]int{}}}
	slices.SortFunc(r.ents, func(a, b Entity) int { return compare(a.ID, b.ID) })
	n := len(r.ents)
	r.shut, r.parent, r.size, r.groups, r.edges = make([]bool, n), make([]int32, n), make([]int32, n), make([]*group, n), make([][]edge, n)
	for i := range r.ents {
		e := &r.ents[i]
		if e.ID == "" || i > 0 && r.ents[i-1].ID == e.ID {
			return nil, &quarry.Error{Op: op, Kind: quarry.KindInvalid, Subject: fmt.Sprintf("entity %q", e.ID), Msg: "is empty or stands twice", Hint: "give each entity an id of its own"}
		}
		r.parent[i], r.size[i] = int32(i), 1
		switch {
		case e.Type == store.TypeTime || e.Type == store.TypeNumber || e.Type == typeText:
			r.shut[i] = true
			r.report.Literals++
		case len(e.Facts) > o.MaxFacts:
			r.shut[i] = true
			r.report.Hubs++
		}
	}
	for _, f := range o.Functional {
		r.functional[f] = true
	}
	for _, p := range o.Apart {
		r.apart[p[0]] = append(r.apart[p[0]], p[1])
		r.apart[p[1]] = append(r.apart[p[1]], p[0])
	}
	return r, nil
}

const typeText = "TEXT" // of kg/ingest

func (r *resolver) find(i int32) int32 {
	for r.parent[i] != i {
		r.parent[i] = r.parent[r.parent[i]]
		i = r.parent[i]
	}
	return i
}

// join goes through the blocks, best first: each member joins the first group of the block that it may.
func (r *resolver) join(ctx context.Context, blocks []block) error {
	r.count(blocks)
	for n, b := range blocks {
		if n%1024 == 0 && ctx.Err() != nil {
			return &quarry.Error{Op: op, Kind: quarry.KindCanceled, Msg: "stopped", Err: context.Cause(ctx)}
		}
		if b.score < r.opt.Threshold && len(b.members) > r.opt.MaxBlock {
			r.report.LeftBlocks++
			continue
		}
		r.block(&b)
	}
	return nil
}

const triedGroups = 64 // groups of one block that a member is compared with

func (r *resolver) block(b *block) {
	var first []int32 // of each group in the block, in order
	for _, i := range b.members {
		done := false
		for k, other := range first {
			if r.find(other) == r.find(i) {
				done = true
				break
			}
			if k >= triedGroups {
				break
			}
			if b.rule == RuleAcronym && len(strings.Fields(r.ents[i].Name)) > 1 && len(strings.Fields(r.ents[other].Name)) > 1 ||
				b.rule == RuleInitial && !initialOf(r.ents[i].Name, r.ents[other].Name) {
				continue
			}
			if r.try(b, other, i) {
				done = true
				break
			}
		}
		if !done {
			first = append(first, i)
		}
	}
}

// initialOf says whether one name has an initial where the other has a first name with that letter.
func initialOf(a, b string) bool {
	x, y := strings.Fields(fold(a)), strings.Fields(fold(b))
	if len(x) == 0 || len(y) == 0 || x[len(x)-1] != y[len(y)-1] {
		return false
	}
	one := func(w string) bool { return len([]rune(w)) == 1 }
	return one(x[0]) != one(y[0]) && []rune(x[0])[0] == []rune(y[0])[0]
}

// try joins the groups of a and b if nothing is against it and enough for it.
func (r *resolver) try(b *block, a, c int32) bool {
	ra, rc := r.find(a), r.find(c)
	ga, gc := r.group(ra), r.group(rc)
	if veto := r.veto(ga, gc); veto != "" {
		r.report.Vetoes[veto]++
		return false
	}
	evidence := []string{fmt.Sprintf("%s %q", b.rule, b.key)}
	score := b.score
	if ga.typ == "" || gc.typ == "" {
		score *= 0.95
	}
	if score < 0.99 {
		for _, f := range r.shared(ga, gc) {
			left, held := 0.97, r.held[f] // what a fact says is how few have it
			switch {
			case held <= rareFact:
				left = 0.5
			case held <= commonFact:
				left = 0.85
			}
			score = 1 - (1-score)*left
			evidence = append(evidence, fmt.Sprintf("both: %s (%d have it)", f, held))
		}
	}
	if score = round(score); score < r.opt.Threshold {
		r.report.Weak++
		return false
	}
	r.edges[min(a, c)] = append(r.edges[min(a, c)], edge{a, c, b.rule, score, evidence})
	if r.size[ra] < r.size[rc] {
		ra, rc, ga, gc = rc, ra, gc, ga
	}
	r.parent[rc] = ra
	r.size[ra] += r.size[rc]
	ga.take(gc)
	r.groups[rc] = nil
	return true
}

const (
	sharedFacts = 4 // that are counted and named, the rarest
	rareFact    = 6 // entities that have it
	commonFact  = 50
)

// shared are facts of both groups, the rarest first.
func (r *resolver) shared(a, b *group) []string {
	if len(a.facts) > len(b.facts) {
		a, b = b, a
	}
	var out []string
	for f := range a.facts {
		if b.facts[f] {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(x, y string) int {
		if d := r.held[x] - r.held[y]; d != 0 {
			return d
		}
		return compare(x, y)
	})
	return out[:min(len(out), sharedFacts)]
}

func (r *resolver) group(root int32) *group {
	if g := r.groups[root]; g != nil {
		return g
	}
	e := &r.ents[root]
	g := &group{typ: e.Type, docs: map[string]bool{}, functional: map[string][]value{}, facts: map[string]bool{}, apart: map[string]bool{}, ids: []string{e.ID}}
	for _, d := range e.Docs {
		g.docs[d] = true
	}
	for _, f := range e.Facts {
		if r.functional[f.Relation] && !f.Back {
			g.functional[f.Relation] = append(g.functional[f.Relation], value{f.Value, f.Literal})
		}
		if k := f.key(); k != "" {
			g.facts[k] = true
		}
	}
	for _, id := range r.apart[e.ID] {
		g.apart[id] = true
	}
	r.groups[root] = g
	return g
}

// key is a fact for comparison, "" when its value has no letters and digits.
func (f *Fact) key() string {
	v := fold(f.Value)
	switch {
	case v == "":
		return ""
	case f.Back:
		return f.Relation + " of " + v
	}
	return f.Relation + " " + v
}

// count tells for each fact how many entities of blocks have it.
func (r *resolver) count(blocks []block) {
	in := make([]bool, len(r.ents))
	for _, b := range blocks {
		for _, i := range b.members {
			in[i] = true
		}
	}
	for i := range r.ents {
		if !in[i] {
			continue
		}
		seen := map[string]bool{}
		for k := range r.ents[i].Facts {
			if key := r.ents[i].Facts[k].key(); key != "" && !seen[key] {
				seen[key] = true
				r.held[key]++
			}
		}
	}
}

func (g *group) take(o *group) {
	if g.typ == "" {
		g.typ = o.typ
	}
	for d := range o.docs {
		g.docs[d] = true
	}
	for k, v := range o.functional {
		for _, x := range v {
			if !slices.Contains(g.functional[k], x) {
				g.functional[k] = append(g.functional[k], x)
			}
		}
	}
	for f := range o.facts {
		g.facts[f] = true
	}
	for id := range o.apart {
		g.apart[id] = true
	}
	g.ids = append(g.ids, o.ids...)
}

// veto says what keeps two groups apart, "" for nothing.
func (r *resolver) veto(a, b *group) string {
	if a.typ != "" && b.typ != "" && a.typ != b.typ {
		return VetoType
	}
	if len(a.apart) > 0 && slices.ContainsFunc(b.ids, func(id string) bool { return a.apart[id] }) {
		return VetoApart
	}
	if !r.opt.SameDocument {
		x, y := a.docs, b.docs
		if len(x) > len(y) {
			x, y = y, x
		}
		for d := range x {
			if y[d] {
				return VetoDocument
			}
		}
	}
	worst := ""
	for rel, xs := range a.functional {
		for _, y := range b.functional[rel] {
			for _, x := range xs {
				switch v := conflict(x, y); {
				case v == VetoDate:
					return v
				case v != "":
					worst = v
				}
			}
		}
	}
	return worst
}
