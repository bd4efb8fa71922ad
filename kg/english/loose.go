package english

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWords bounds what ReadLoosely looks through: its work grows with the square.
const maxWords = 200

// ReadLoosely finds a plan in wordings that Write does not have. It looks in each sentence for a noun phrase that the
// table can say: the one of most steps is what is asked for, and those of one step that a sentence adds with "also" are
// conditions on it. Everything around them is passed over. ok is false when there is none.
func (l *Lexicon) ReadLoosely(text string) (Plan, bool) {
	if p, ok := l.Read(text); ok {
		return p, true
	}
	if len(strings.Fields(text)) > maxWords {
		return Plan{}, false
	}
	var main Plan
	var clues []Condition
	for _, s := range sentences(text) {
		p, before := l.within(s)
		switch {
		case !strings.Contains(before, " also "):
			if len(p.Steps) > len(main.Steps) {
				main = p
			}
		case len(p.Steps) == 1 && len(p.Conditions) == 0:
			clues = append(clues, Condition{Phrase: p.Steps[0], Name: p.Anchor})
		}
	}
	if len(main.Steps) == 0 {
		return Plan{}, false
	}
	for _, c := range clues {
		c.Step = len(main.Steps)
		main.Conditions = append(main.Conditions, c)
	}
	return main, true
}

// within finds the first and longest noun phrase of a sentence around what has the form of a name, and what stands
// before it; the plan is empty when there is none.
func (l *Lexicon) within(sentence string) (p Plan, before string) {
	starts, ends := wordBounds(sentence)
	for _, from := range starts {
		first, size := utf8.DecodeRuneInString(sentence[from:])
		for k := len(ends) - 1; k >= 0 && ends[k] > from; k-- {
			phrase := string(unicode.ToLower(first)) + sentence[from+size:ends[k]]
			if p, ok := l.readNP(phrase, 0); ok && len(p.Steps) > 0 && oneName(p.Anchor) {
				return p, sentence[:from]
			}
		}
	}
	return Plan{}, ""
}

// oneName says whether a text has the form of one name: where a sentence goes on behind the name, the phrase ends before.
func oneName(s string) bool {
	names := Names(s)
	return len(names) > 0 && strings.Trim(s, ` "`) == names[0].Text
}

// wordBounds are the places where the words of a sentence begin and end, punctuation behind them left out.
func wordBounds(s string) (starts, ends []int) {
	at := 0
	for _, w := range strings.Fields(s) {
		at += strings.Index(s[at:], w)
		starts = append(starts, at)
		ends = append(ends, at+len(strings.TrimRight(w, ".,;:?!")))
		at += len(w)
	}
	return starts, ends
}

// Words whose dot ends no sentence, beside single letters.
var abbreviated = set("dr. mr. mrs. ms. st. jr. sr. prof. gen. col. capt. lt. sgt. no. vs. mt. ft.")

// sentences cuts a text behind ".", "?" and "!" where a capital follows, but not behind an abbreviation.
func sentences(text string) []string {
	var out []string
	words := strings.Fields(text)
	from := 0
	for i, w := range words {
		last := i+1 == len(words)
		if !last {
			next, _ := utf8.DecodeRuneInString(words[i+1])
			short := utf8.RuneCountInString(w) == 2 && strings.HasSuffix(w, ".") || abbreviated[strings.ToLower(w)]
			last = strings.ContainsAny(w[len(w)-1:], ".?!") && unicode.IsUpper(next) && !short
		}
		if last {
			out = append(out, strings.Join(words[from:i+1], " "))
			from = i + 1
		}
	}
	return out
}
