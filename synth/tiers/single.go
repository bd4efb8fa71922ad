package tiers

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/quarry-rl/quarry"
)

// Documents is the text search that one query is tried on.
type Documents interface {
	Search(query string, k int) []int        // numbers of the k best documents, best first
	Holds(document int, e quarry.Named) bool // whether a name or alias of e stands in a document
	Frequency(term string) int               // of documents that hold a lower-case term; of Chinese, a term is two characters
}

const (
	rareTerms  = 5 // words of the keyword query
	searchedIn = 5 // documents of a query that count
)

// SearchHit is a query that shows a question's answer at once.
type SearchHit struct {
	Query string `json:"query"`
	Doc   int    `json:"doc"`
	Held  int    `json:"held"` // clues in the document
	Clues int    `json:"clues"`
}

// SearchOnce is the single-query filter without a model: the question itself and three cuts of it are queries, and one of
// the five best documents of a query holds the answer and at least half of the clues, the entities that the question
// names. It returns the first such document, nil when there is none.
func SearchOnce(d Documents, q *quarry.Question, clues []quarry.Named) *SearchHit {
	answer := quarry.Named{ID: q.AnswerID, Name: q.Answer, Aliases: q.Aliases}
	seen := map[int]bool{}
	for _, query := range Queries(q.Text, clues, d.Frequency) {
		docs := d.Search(query, searchedIn)
		for _, doc := range docs[:min(len(docs), searchedIn)] {
			if seen[doc] {
				continue
			}
			seen[doc] = true
			if !d.Holds(doc, answer) {
				continue
			}
			held := 0
			for _, c := range clues {
				if d.Holds(doc, c) {
					held++
				}
			}
			if 2*held >= len(clues) {
				return &SearchHit{Query: query, Doc: doc, Held: held, Clues: len(clues)}
			}
		}
	}
	return nil
}

// Queries are a question as it stands, its rarest terms, its noun phrases (the clues as it writes them, or else what is
// capitalised) and its first sentence; those that are empty or stand already are left out.
func Queries(text string, clues []quarry.Named, frequency func(term string) int) []string {
	var out []string
	for _, q := range []string{text, rarest(text, frequency), phrases(text, clues), firstSentence(text)} {
		if q = strings.TrimSpace(q); q != "" && !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	return out
}

// rarest are the terms that the fewest documents hold, but one at least, in the order of the text.
func rarest(text string, frequency func(string) int) string {
	type term struct {
		text  string
		at, n int
	}
	var ts []term
	seen := map[string]bool{}
	for i, w := range terms(text) {
		if seen[w] {
			continue
		}
		seen[w] = true
		if n := frequency(w); n > 0 {
			ts = append(ts, term{w, i, n})
		}
	}
	slices.SortStableFunc(ts, func(a, b term) int { return a.n - b.n })
	ts = ts[:min(len(ts), rareTerms)]
	slices.SortFunc(ts, func(a, b term) int { return a.at - b.at })
	words := make([]string, len(ts))
	for i, t := range ts {
		words[i] = t.text
	}
	return strings.Join(words, " ")
}

// terms are the words of a text, and of Chinese and its like each two characters that follow each other.
func terms(text string) []string {
	var out []string
	for _, w := range quarry.Words(text) {
		var latin []rune
		var han []rune
		flush := func() {
			if len(latin) > 0 {
				out = append(out, string(latin))
			}
			if len(han) == 1 {
				out = append(out, string(han))
			}
			for i := 1; i < len(han); i++ {
				out = append(out, string(han[i-1:i+1]))
			}
			latin, han = nil, nil
		}
		wasHan := false
		for _, r := range w {
			if h := cjk(r); h != wasHan {
				flush()
				wasHan = h
			}
			if wasHan {
				han = append(han, r)
			} else {
				latin = append(latin, r)
			}
		}
		flush()
	}
	return out
}

func cjk(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

func phrases(text string, clues []quarry.Named) string {
	var out []string
	for _, c := range clues {
		best := ""
		for _, form := range append([]string{c.Name}, c.Aliases...) {
			if len(form) > len(best) && stands(text, form) {
				best = form
			}
		}
		if best != "" && !slices.Contains(out, best) {
			out = append(out, best)
		}
	}
	if len(out) > 0 {
		return strings.Join(out, " ")
	}
	fields := strings.Fields(text)
	for i := 0; i < len(fields); i++ {
		from := i
		for i < len(fields) && capital(fields[i]) {
			i++
		}
		if from == 0 && i == 1 { // the capital of the sentence
			continue
		}
		for _, f := range fields[from:i] {
			out = append(out, strings.TrimFunc(f, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		}
	}
	return strings.Join(out, " ")
}

func capital(word string) bool {
	for _, r := range word {
		if unicode.IsLetter(r) {
			return unicode.IsUpper(r)
		}
		if unicode.IsDigit(r) {
			return true
		}
	}
	return false
}

// firstSentence ends at a full stop, question or exclamation mark: of Chinese at once, else where a capital follows and
// no initial or title (J., Dr.) stands before.
func firstSentence(text string) string {
	rs := []rune(text)
	word, title := 0, false // letters before the mark, and whether a capital leads them
	for i, r := range rs {
		switch {
		case strings.ContainsRune("。？！", r):
			return string(rs[:i+1])
		case strings.ContainsRune(".?!", r) && i+2 < len(rs) && unicode.IsSpace(rs[i+1]) && (unicode.IsUpper(rs[i+2]) || cjk(rs[i+2])) && (r != '.' || word > 2 || !title):
			return string(rs[:i+1])
		case unicode.IsLetter(r), unicode.IsDigit(r):
			if word == 0 {
				title = unicode.IsUpper(r)
			}
			word++
		default:
			word = 0
		}
	}
	return text
}

// stands says whether a name stands in a text: as whole words, of Chinese anywhere but of two characters at least.
func stands(text, name string) bool {
	n, t := quarry.Normalize(norm.NFKC.String(name)), quarry.Normalize(norm.NFKC.String(text))
	if n == "" {
		return false
	}
	if strings.ContainsFunc(n, cjk) {
		return len([]rune(n)) > 1 && strings.Contains(t, n)
	}
	for from := 0; ; {
		i := strings.Index(t[from:], n)
		if i < 0 {
			return false
		}
		i += from
		if edge(t[:i], true) && edge(t[i+len(n):], false) {
			return true
		}
		from = i + 1
	}
}

// edge says whether a text ends (or begins) where a Latin word may begin (or end): at a space, or beside Chinese.
func edge(s string, end bool) bool {
	rs := []rune(s)
	if len(rs) == 0 {
		return true
	}
	r := rs[0]
	if end {
		r = rs[len(rs)-1]
	}
	return r == ' ' || cjk(r)
}
