package english

import (
	_ "embed"
	"sort"
	"strings"

	"github.com/quarry-rl/quarry"
)

//go:embed phrases.tsv
var table string

// Kind is what a phrase asks for or about.
type Kind int

// The kinds. ACT is a person or organisation, ANY any entity.
const (
	PER Kind = iota
	LOC
	ORG
	MISC
	DATE
	ACT
	ANY
	COUNTRY
	NKind
)

var kindNames = map[string]Kind{"PER": PER, "LOC": LOC, "ORG": ORG, "MISC": MISC, "DATE": DATE, "ACT": ACT, "ANY": ANY, "COUNTRY": COUNTRY}

// Admits says whether an entity of a type (PER, LOC, ORG, MISC, TIME, NUM) can stand where the kind is expected.
func (k Kind) Admits(typ string) bool {
	switch k {
	case PER:
		return typ == "PER"
	case ACT:
		return typ == "PER" || typ == "ORG"
	case DATE:
		return typ == "TIME"
	case ANY:
		return true
	case COUNTRY:
		return typ == "LOC"
	}
	return typ == "LOC" || typ == "ORG" || typ == "MISC"
}

// Phrase is how one relation is asked in one direction. Relations that are each other's inverse share phrases.
type Phrase struct {
	ID      int
	Pattern string          // with {x}
	Query   string          // content words: what a search adds to a name
	Cues    map[string]bool // stems that signal the relation in text, query words included
	Want    Kind            // kind of the result
	From    Kind            // kind of what it is asked about
	Inverse bool            // asked from object to subject
	before  string
	after   string
}

// Of puts what is asked about into the pattern.
func (p *Phrase) Of(x string) string { return p.before + x + p.after }

// Lexicon is the parsed table.
type Lexicon struct {
	Phrases []*Phrase
	forward map[string]*Phrase
	inverse map[string]*Phrase
	pattern map[string]*Phrase
	longest []*Phrase // by length of the fixed text, longest first: the order of reading
}

// Load parses the embedded table.
func Load() *Lexicon {
	l := &Lexicon{forward: map[string]*Phrase{}, inverse: map[string]*Phrase{}, pattern: map[string]*Phrase{}}
	for _, line := range strings.Split(table, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, "\t")
		for dir, into := range []map[string]*Phrase{l.forward, l.inverse} {
			if text := f[1+dir]; text != "-" {
				into[f[0]] = l.add(text, f[3], kindNames[f[4+dir]], kindNames[f[5-dir]], dir == 1)
			}
		}
	}
	l.longest = append(l.longest, l.Phrases...)
	sort.SliceStable(l.longest, func(i, j int) bool { return len(l.longest[i].Pattern) > len(l.longest[j].Pattern) })
	return l
}

func (l *Lexicon) add(text, cues string, want, from Kind, inverse bool) *Phrase {
	p := l.pattern[text]
	if p == nil {
		before, after, _ := strings.Cut(text, "{x}")
		p = &Phrase{ID: len(l.Phrases), Pattern: text, Want: want, From: from, Inverse: inverse,
			Cues: map[string]bool{}, before: before, after: after}
		var q []string
		for _, w := range quarry.Words(before + after) {
			if !stop[w] {
				q = append(q, w)
			}
		}
		p.Query = strings.Join(q, " ")
		l.Phrases = append(l.Phrases, p)
		l.pattern[text] = p
	}
	for _, w := range Terms(p.Query + " " + strings.Trim(cues, "-")) {
		p.Cues[w] = true
	}
	return p
}

// Phrase returns how a relation is asked in a direction, nil when it is not.
func (l *Lexicon) Phrase(relation string, inverse bool) *Phrase {
	if inverse {
		return l.inverse[relation]
	}
	return l.forward[relation]
}
