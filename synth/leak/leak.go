// Package leak finds what the text of a question must not hold: the answer, its aliases and telling parts of it, names
// from inside the path, ids of the graph, and residue of templates. It works on English and Chinese and is robust
// against width, case, diacritics, spacing and, for common characters, traditional and simplified script.
package leak

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
)

// Kind says what leaked. The kinds are reason codes: they are stored.
type Kind string

// The kinds.
const (
	KindAnswer      Kind = "leak_answer"
	KindAlias       Kind = "leak_alias"
	KindAnswerToken Kind = "leak_answer_token" // a rare part of the answer
	KindInside      Kind = "leak_inside"       // an entity between the question and its answer
	KindNodeID      Kind = "leak_node_id"
	KindResidue     Kind = "leak_residue" // of a template, a prompt or a tool
)

// Finding is one leak.
type Finding struct {
	Kind  Kind   `json:"kind"`
	Start int    `json:"start"` // bytes of the question
	End   int    `json:"end"`
	Text  string `json:"text"`  // those bytes
	Match string `json:"match"` // what they match: the surface as it was given, the token, or the name of the residue
}

// Secret is what a question must not say.
type Secret struct {
	Answer  string
	Aliases []string
	Inside  []quarry.Named // entities of the path between the anchor and the answer
	IDs     []string       // ids of the graph: of entities, relations and documents. Ids that are names are not given
}

// MaxDF is the share of documents from which on a part of the answer is too common to tell anything.
const MaxDF = 0.01

// minToken is the least number of characters of a telling part.
const minToken = 4

// Check lists what a question leaks, by place, then by kind; nil when it is clean. df gives the share, of 1, of
// documents that hold a token in the form of Fold (lower case); with nil every part of the answer counts as rare.
// Parts of the answer are its words of at least 4 characters, and in scripts without spaces each run of 4 characters.
func Check(question string, s Secret, df func(token string) float64) []Finding {
	c := checker{question: question, folded: Fold(question), seen: map[Finding]bool{}}
	c.surface(KindAnswer, s.Answer)
	for _, a := range s.Aliases {
		c.surface(KindAlias, a)
	}
	tokens := map[string]bool{}
	for _, a := range append([]string{s.Answer}, s.Aliases...) {
		for _, t := range parts(Fold(a).Text) {
			if !tokens[t] {
				tokens[t] = true
				c.token(t, df)
			}
		}
	}
	for _, e := range s.Inside {
		c.surface(KindInside, e.Name)
		for _, a := range e.Aliases {
			c.surface(KindInside, a)
		}
	}
	plain := compatible(question)
	c.ids(plain, s.IDs)
	c.residue(plain)
	slices.SortStableFunc(c.out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Match, b.Match))
	})
	return c.out
}

type checker struct {
	question string
	folded   *Folded
	out      []Finding
	seen     map[Finding]bool
}

func (c *checker) add(k Kind, start, end int, match string) {
	f := Finding{Kind: k, Start: start, End: end, Text: c.question[start:end], Match: match}
	if !c.seen[f] {
		c.seen[f] = true
		c.out = append(c.out, f)
	}
}

func (c *checker) surface(k Kind, surface string) {
	f, ok := newForm(surface)
	if !ok {
		return
	}
	f.each(c.folded, c.question, func(s span) bool {
		start, end := c.folded.Range(s.from, s.to)
		c.add(k, start, end, surface)
		return true
	})
}

// token reports a part of the answer where no surface that holds it was reported already.
func (c *checker) token(token string, df func(string) float64) {
	f, ok := newForm(token)
	if !ok || Grammar(token) || df != nil && df(token) >= MaxDF {
		return
	}
	f.each(c.folded, c.question, func(s span) bool {
		start, end := c.folded.Range(s.from, s.to)
		if !slices.ContainsFunc(c.out, func(f Finding) bool { return f.Start <= start && end <= f.End && f.Kind != KindAnswerToken }) {
			c.add(KindAnswerToken, start, end, token)
		}
		return true
	})
}

// parts are the words of a folded text that have 4 characters or more, and all runs of 4 characters in scripts without
// spaces.
func parts(folded string) []string {
	var out []string
	var run []rune
	cut := func() {
		if len(run) < minToken {
			run = run[:0]
			return
		}
		if Unbroken(run[0]) {
			for i := range len(run) - minToken + 1 {
				out = append(out, string(run[i:i+minToken]))
			}
		} else {
			out = append(out, string(run))
		}
		run = run[:0]
	}
	for len(folded) > 0 {
		r, n := utf8.DecodeRuneInString(folded)
		folded = folded[n:]
		if r == ' ' || len(run) > 0 && Unbroken(run[0]) != Unbroken(r) {
			cut()
		}
		if r != ' ' {
			run = append(run, r)
		}
	}
	cut()
	return out
}
