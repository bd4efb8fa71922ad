package wording

import (
	_ "embed"
	"strings"

	"github.com/quarry-rl/quarry/kg/english"
)

//go:embed phrases.tsv
var table string

// Lexicon gives relations their phrases: for Wikidata properties those of kg/english and of a table of its own (Chinese,
// and English where kg/english has none), then those the graph brings, then what the label gives. Read-only once made.
type Lexicon struct {
	english *english.Lexicon
	known   map[string][2]Phrase
	graph   map[string]Relation
}

// NewLexicon reads the tables. own are relations of the graph that come with phrases, as a generated world's do.
func NewLexicon(own ...Relation) *Lexicon {
	l := &Lexicon{english: english.Load(), known: map[string][2]Phrase{}, graph: map[string]Relation{}}
	for _, line := range strings.Split(table, "\n") {
		f := strings.Split(line, "\t")
		if len(f) != 5 || line[0] == '#' {
			continue
		}
		var k [2]Phrase
		for i, into := range []*string{&k[0].EN, &k[1].EN, &k[0].ZH, &k[1].ZH} {
			if f[1+i] != "-" {
				*into = f[1+i]
			}
		}
		l.known[f[0]] = k
	}
	for _, r := range own {
		l.graph[r.ID] = r
	}
	return l
}

// Relation fills in the phrases of a relation. Those it has already stay.
func (l *Lexicon) Relation(r Relation) Relation {
	k, g := l.known[r.ID], l.graph[r.ID]
	for i := range k {
		if p := l.english.Phrase(r.ID, i == 1); p != nil && k[i].EN == "" {
			k[i].EN = p.Pattern
		}
	}
	f, i := generic(r)
	for _, from := range [][2]Phrase{k, {g.Forward, g.Inverse}, {f, i}} {
		r.Forward, r.Inverse = r.Forward.or(from[0]), r.Inverse.or(from[1])
	}
	return r
}

func (p Phrase) or(q Phrase) Phrase { return Phrase{firstOf(p.EN, q.EN), firstOf(p.ZH, q.ZH)} }

// in is the phrase in a language, "" when it is not a pattern with one slot.
func (p Phrase) in(l Lang) string {
	s := p.EN
	if l == Chinese {
		s = p.ZH
	}
	if strings.Count(s, slot) != 1 || strings.TrimSpace(s) == slot {
		return ""
	}
	return s
}

// Relations fills in the phrases of all relations of a graph and keeps apart those whose labels alone would be said in
// the same way: "the film of X" by a director and by an actor become "the director film of X" and "the performance film of X".
func (l *Lexicon) Relations(all []Relation) []Relation {
	out := make([]Relation, len(all))
	same, taken := map[string][]int{}, map[string]bool{}
	for i, r := range all {
		out[i] = l.Relation(r)
		taken[out[i].Forward.EN] = true
		if f, _ := generic(r); out[i].Forward.EN == f.EN {
			same[f.EN] = append(same[f.EN], i)
		}
	}
	for i, r := range all {
		f, _ := generic(r)
		list := same[f.EN]
		if len(list) < 2 || out[i].Forward.EN != f.EN {
			continue
		}
		en := apart(all, list, i)
		_, subject := label(firstOf(r.Label, r.ID))
		if f, _ := genericEN(en, subject); taken[f] && !strings.HasSuffix(en, "("+r.ID+")") {
			en += " (" + r.ID + ")"
		}
		out[i].Forward.EN, out[i].Inverse.EN = genericEN(en, subject)
		taken[out[i].Forward.EN] = true
		if r.LabelZH == "" {
			out[i].Forward.ZH, out[i].Inverse.ZH = genericZH(quoted(en))
		}
	}
	return out
}

// apart is the shortest end of relation i's path, as words, that no other of a list has; its id is added to the label
// when that is no path or all of it does not tell them apart.
func apart(all []Relation, list []int, i int) string {
	name := func(j int) string { return firstOf(all[j].Label, all[j].ID) }
	if strings.Contains(name(i), "/") {
		for k := 2; k <= len(segmentsOf(name(i))); k++ {
			words, same := tail(name(i), k), false
			for _, j := range list {
				same = same || j != i && tail(name(j), k) == words
			}
			if !same {
				return words
			}
		}
	}
	words, _ := label(name(i))
	return words + " (" + all[i].ID + ")"
}

func segmentsOf(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '.' || c == '#' })
}

// tail is the last k segments of a path as words, each once, the last segment at the end.
func tail(path string, k int) string {
	parts := segmentsOf(path)
	parts = parts[max(len(parts)-k, 0):]
	last := words1(parts[len(parts)-1])
	var b []string
	for _, p := range parts[:len(parts)-1] {
		if w := words1(p); w != last && !oneOf(b, w) {
			b = append(b, w)
		}
	}
	return strings.Join(append(b, last), " ")
}
