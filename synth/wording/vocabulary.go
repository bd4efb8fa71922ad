package wording

import (
	"slices"
	"sort"
)

// vocabulary is what a text of a plan may be made of: its names, its relations' sayings, its classes. Relations that a
// phrase does not tell apart ("a member of X" is one relation or another's inverse) count as the same.
type vocabulary struct {
	lang  Lang
	vars  int
	names map[string]bool
	rels  []Relation
	words [][2]string // phrases of each relation, along and back
	given [][2]string // those that the relation brings; "" for the label's
	says  [][2]saying // per relation, along and back
	root  []oriented  // what relation i stands for
	dated [][2]bool   // whether its sayings, along and back, are of years: nobody reads "born in the 1950s" as a place
	nouns map[string]bool
	class map[string]bool
	heads []string // nouns and classes, longest first
}

// oriented is a relation with a direction; both says that direction makes no difference.
type oriented struct {
	rel     int
	inverse bool
	both    bool
}

func newVocabulary(p Plan, l Lang) *vocabulary {
	v := &vocabulary{lang: l, vars: len(p.Kinds), names: map[string]bool{}, nouns: map[string]bool{}, class: map[string]bool{}}
	for _, n := range p.Constants() {
		v.names[n] = true
	}
	for _, a := range p.Atoms {
		v.relation(a.Relation)
	}
	for k := range kinds {
		v.nouns[k.noun(l)] = true
	}
	for _, m := range p.Marks {
		if m.Kind == IsClass {
			v.class[m.class(l)] = true
		}
	}
	v.merge()
	v.shorten()
	v.dates(p)
	for i := range v.says {
		for _, s := range v.says[i] {
			for _, f := range s.np {
				v.nouns[f.noun] = true
			}
		}
	}
	for n := range v.nouns {
		v.heads = append(v.heads, n)
	}
	for n := range v.class {
		if !v.nouns[n] {
			v.heads = append(v.heads, n)
		}
	}
	sort.Slice(v.heads, func(i, j int) bool {
		if len(v.heads[i]) != len(v.heads[j]) {
			return len(v.heads[i]) > len(v.heads[j])
		}
		return v.heads[i] < v.heads[j]
	})
	return v
}

// shorten adds the forms for what has a noun of its own, but those that another form of the plan is told apart from by
// the words that are left out.
func (v *vocabulary) shorten() {
	taken := map[form]bool{}
	for _, both := range v.says {
		for _, s := range both {
			for _, f := range slices.Concat(s.np, s.pred) {
				taken[form{before: f.before, after: f.after}] = true
			}
		}
	}
	for i := range v.says {
		for d := range v.says[i] {
			other := v.says[i][1-d].np[0].noun
			for _, list := range []*[]form{&v.says[i][d].np, &v.says[i][d].pred} {
				for _, f := range *list {
					g, ok := f.withoutClass(v.lang, other)
					if text := (form{before: g.before, after: g.after}); ok && f.takes == takesAny && !taken[text] {
						taken[text] = true
						*list = append(*list, g)
					}
				}
			}
		}
	}
}

func (v *vocabulary) dates(p Plan) {
	v.dated = make([][2]bool, len(v.rels))
	for _, m := range p.Marks {
		for _, a := range p.Atoms {
			if i := v.relation(a.Relation); m.Kind == InYears {
				v.dated[i][0] = v.dated[i][0] || a.Subject.is(m.Var)
				v.dated[i][1] = v.dated[i][1] || a.Object.is(m.Var)
			}
		}
	}
}

// relation is the number of a relation, new or known.
func (v *vocabulary) relation(r Relation) int {
	for i := range v.rels {
		if sameRelation(v.rels[i], r) {
			return i
		}
	}
	v.rels = append(v.rels, r)
	f, i := generic(r)
	words := [2]string{f.in(v.lang), i.in(v.lang)}
	var given [2]string
	for d, p := range []Phrase{r.Forward, r.Inverse} {
		if s := p.in(v.lang); s != "" && s != words[d] {
			words[d], given[d] = s, s
		}
	}
	v.words, v.given = append(v.words, words), append(v.given, given)
	v.says = append(v.says, [2]saying{say(words[0], v.lang), say(words[1], v.lang)})
	return len(v.rels) - 1
}

func sameRelation(a, b Relation) bool {
	if a.ID != "" || b.ID != "" {
		return a.ID == b.ID
	}
	return a.Label == b.Label
}

// merge finds relations that share a phrase the graph or a table gives both of them.
func (v *vocabulary) merge() {
	v.root = make([]oriented, len(v.rels))
	for i := range v.root {
		v.root[i].rel = i
	}
	for i := range v.rels {
		for j := range i + 1 {
			for side := range 4 {
				a, b := side&1, side>>1
				if i == j && a >= b {
					continue
				}
				if s := v.given[i][a]; s != "" && s == v.given[j][b] {
					v.join(i, j, a != b)
				}
			}
		}
	}
}

func (v *vocabulary) join(i, j int, flip bool) {
	a, b := v.root[i], v.root[j]
	turn := a.inverse != b.inverse != flip
	if a.rel == b.rel {
		if turn {
			for k := range v.root {
				v.root[k].both = v.root[k].both || v.root[k].rel == a.rel
			}
		}
		return
	}
	for k := range v.root {
		if v.root[k].rel == a.rel {
			v.root[k] = oriented{b.rel, v.root[k].inverse != turn, v.root[k].both || b.both}
		} else if v.root[k].rel == b.rel {
			v.root[k].both = v.root[k].both || a.both
		}
	}
}

// canonical is an atom by the relation that stands for its own.
func (v *vocabulary) canonical(rel int, s, o Term) (int, Term, Term) {
	r := v.root[rel]
	if r.inverse {
		s, o = o, s
	}
	return r.rel, s, o
}

func (m Mark) class(l Lang) string {
	if l == Chinese && m.ClassZH != "" {
		return m.ClassZH
	}
	return m.Class
}
