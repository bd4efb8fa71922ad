package leak

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quarry-rl/quarry"
)

// form is a surface as it is looked for: folded, with what must hold beside it.
type form struct {
	text               string
	own                string // as given; set when only this spelling counts
	wordStart, wordEnd bool   // a script with word boundaries begins or ends it
}

// newForm folds a surface. ok is false for what cannot be told from chance: nothing but punctuation, or one character of a
// script without spaces. A leading "the" is left out, unless only a word of grammar would stay. A surface that folds
// to such a word, such as US, WHO or It, counts in its own spelling only.
func newForm(surface string) (f form, ok bool) {
	text := Fold(surface).Text
	if rest, cut := strings.CutPrefix(text, "the "); cut && !Grammar(rest) {
		text = rest
	}
	words, others := 0, 0
	for _, r := range text {
		if Unbroken(r) {
			others++
		} else if unicode.IsLetter(r) || unicode.IsNumber(r) {
			words++
		}
	}
	if words == 0 && others < 2 {
		return form{}, false
	}
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	f = form{text: text, wordStart: worded(first), wordEnd: worded(last)}
	if Grammar(text) {
		f.own = strings.TrimSpace(surface)
	}
	return f, true
}

// Grammar says whether a folded word is an English one that any sentence may hold.
func Grammar(word string) bool { return grammarWords[word] }

var grammarWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a about after all also am an and any are as at be been before but by can could did do does for from had has have he
		her here him his how i if in into is it its just may me more most must my no nor not now of off on one only or our out over own she so some
		such than that the their them then there these they this those to too under until up us was we were what when where which while who whom
		whose why will with would yes you your`) {
		m[w] = true
	}
	return m
}()

// span is where a form stands in a folded text.
type span struct{ from, to int }

// each calls f with every place where the form stands in a text, until f says to stop.
func (fm *form) each(text *Folded, original string, f func(span) bool) {
	for at := 0; at < len(text.Text); {
		i := strings.Index(text.Text[at:], fm.text)
		if i < 0 {
			return
		}
		s := span{at + i, at + i + len(fm.text)}
		if fm.stands(text, original, s) && !f(s) {
			return
		}
		_, n := utf8.DecodeRuneInString(text.Text[s.from:])
		at = s.from + n
	}
}

func (fm *form) stands(text *Folded, original string, s span) bool {
	if fm.wordStart {
		if r, n := utf8.DecodeLastRuneInString(text.Text[:s.from]); n > 0 && worded(r) {
			return false
		}
	}
	if fm.wordEnd {
		if r, n := utf8.DecodeRuneInString(text.Text[s.to:]); n > 0 && worded(r) {
			return false
		}
	}
	if fm.own == "" {
		return true
	}
	start, end := text.Range(s.from, s.to)
	if original[start:end] != fm.own {
		return false
	}
	// "It" may begin a sentence; "WHO" does not look like that
	return utf8.RuneCountInString(fm.own) > 1 && fm.own == strings.ToUpper(fm.own) || !opensSentence(original[:start])
}

// opensSentence says whether a sentence begins behind what stands before.
func opensSentence(before string) bool {
	before = strings.TrimRightFunc(before, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'“”‘’«(", r) })
	r, n := utf8.DecodeLastRuneInString(before)
	return n == 0 || strings.ContainsRune(".?!:;。？！：；", r)
}

// Matcher finds which entities a text names, in the same way in which leaks are found. It is read-only and safe for
// concurrent use. What the process reward counts while an episode goes on is matched by package rewards.
type Matcher struct {
	forms [][]form // by entity
}

// NewMatcher compiles the names and aliases of entities.
func NewMatcher(entities []quarry.Named) *Matcher {
	m := &Matcher{forms: make([][]form, len(entities))}
	for i, e := range entities {
		for _, s := range append([]string{e.Name}, e.Aliases...) {
			if f, ok := newForm(s); ok && !slices.Contains(m.forms[i], f) {
				m.forms[i] = append(m.forms[i], f)
			}
		}
	}
	return m
}

// Find returns the indices of the entities that text names, ascending, each once, however many of its forms are there.
func (m *Matcher) Find(text string) []int {
	folded := Fold(text)
	var out []int
	for i, forms := range m.forms {
		found := false
		for _, f := range forms {
			f.each(folded, text, func(span) bool {
				found = true
				return false
			})
			if found {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

// Rewarded is the entity set of a question's process reward: the entities of the path without those the question names
// (MindDR report), in their order.
func Rewarded(question string, path []quarry.Named) []quarry.Named {
	named := NewMatcher(path).Find(question)
	var out []quarry.Named
	for i, e := range path {
		if _, is := slices.BinarySearch(named, i); !is {
			out = append(out, e)
		}
	}
	return out
}
