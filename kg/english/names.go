package english

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/quarry-rl/quarry"
)

// Shape is what a name looks like.
type Shape int

// The shapes; NShape is their number.
const (
	ShapeDate    Shape = iota // 7 May 1850, May 1850
	ShapeYear                 // 1850
	ShapeNumber               // other digits
	ShapeOne                  // one capitalised word
	ShapeTwo                  // two words
	ShapeLong                 // three and more
	ShapeQuote                // in quotes
	ShapeAcronym              // capitals only
	NShape
)

// Form is how a name stands in its sentence.
type Form int

// The forms; NForm is their number.
const (
	FormPlain     Form = iota
	FormPart           // part of a longer span
	FormAnd            // holds "and"
	FormConnector      // holds "of", "the", "-", ...
	FormOpening        // a lone word that opens the sentence
	NForm
)

// Name is a name found in text by its form alone.
type Name struct {
	Text, Norm string
	Shape      Shape
	At, End    int // word positions in the sentence; -1 in a title
	Title      bool
	First      bool // the sentence's first name
	Before     int  // word before it: index into a list of prepositions and articles, below NBefore
	Form       Form
	Head       int // HeadClass
	Chain      int // in a list of places such as "Xanby, Xan County": ChainNone..ChainLast
}

// Where a name stands in a run of names joined by commas; NChain is the number of places.
const (
	ChainNone = iota
	ChainFirst
	ChainMiddle
	ChainLast
	NChain
)

const months = `(?:January|February|March|April|May|June|July|August|September|October|November|December)`

// linkWord is a small word inside a name.
const linkWord = `(?:(?:of|the|for|in|and|de|del|der|von|van|da|di|la|le|du|al|on|to|&|of the|in the|for the|of a|at|bin|ibn|av|y|von der|de la|og|und|et|do|dos|das|des|zu|ter|ten) )?`

var (
	reMention = regexp.MustCompile(
		`(?:\d{1,2}(?:st|nd|rd|th)? ` + months + `(?: ?,? \d{4})?)` +
			`|(?:` + months + ` \d{4})` +
			`|(?:` + months + ` \d{1,2}(?:st|nd|rd|th)?(?: ?, \d{4}| \d{4})?)` +
			`|(?:" [^"]{2,60} ")` +
			`|(?:"[^"]{2,60}")` +
			`|(?:\d{4}(?: – \d{2,4})?s?(?: \p{Lu}[\p{L}'’.-]*(?: (?:of|the|for|in|and|de|&) \p{Lu}[\p{L}'’.-]*| \p{Lu}[\p{L}'’.-]*)*)?)` +
			`|(?:\p{Lu}[\p{L}\d'’.-]*(?:(?:(?: - |: )` + linkWord + `\p{Lu}|(?: |, (?:Jr|Sr))` + linkWord + `(?:\p{Lu}|\d))[\p{L}\d'’.!-]*)*)` +
			`|(?:\d+(?:[.,]\d+)*%?)`)
	reDate  = regexp.MustCompile(`^(?:\d{1,2}\w* )?` + months + `|` + months + ` \d`)
	reSplit = regexp.MustCompile(` (?:of the|of|and|in the|in|for the|for|at|on|the|to|&|-|–) |: `)
	reYear  = regexp.MustCompile(`^\d{4} \p{Lu}`)

	beforeWords = []string{"in", "of", "by", "from", "at", "on", "with", "for", "and", "the", "a", "as", "to", "("}
	openers     = set("he she it the this that they in on at his her its after before during as from for an a when while although however and but their these since by with also one two i we you there then what who which can please start to of")
)

// NBefore bounds Name.Before.
const NBefore = 16

func shapeOf(s string) Shape {
	digit, letter, caps := false, false, true
	for _, r := range s {
		if unicode.IsDigit(r) {
			digit = true
		} else if unicode.IsLetter(r) {
			letter = true
			caps = caps && !unicode.IsLower(r)
		}
	}
	n := len(strings.Fields(s))
	switch {
	case digit && letter && reDate.MatchString(s):
		return ShapeDate
	case digit && !letter && len(s) == 4:
		return ShapeYear
	case digit && !letter:
		return ShapeNumber
	case caps && n == 1:
		return ShapeAcronym
	case n == 1:
		return ShapeOne
	case n == 2:
		return ShapeTwo
	}
	return ShapeLong
}

// Names finds names in a sentence; parts of long spans are names of their own.
func Names(text string) []Name {
	var out []Name
	prev, prevEnd := -1, 0 // the last whole name and where it ended
	for _, span := range reMention.FindAllStringIndex(text, -1) {
		s, at := text[span[0]:span[1]], span[0]
		quoted := strings.HasPrefix(s, `"`)
		for !quoted { // "In May 1850", "The Xans": the opening function word is no part of the name
			i := strings.IndexByte(s, ' ')
			if i < 0 || !openers[strings.ToLower(s[:i])] {
				break
			}
			s, at = s[i+1:], at+i+1
		}
		whole := len(out)
		if out = appendName(out, text, s, at, quoted, false); len(out) > whole {
			if prev >= 0 && strings.TrimSpace(text[prevEnd:at]) == "," { // names joined by commas alone form a chain
				out[prev].Chain, out[whole].Chain = chainLink(out[prev].Chain), ChainLast
			}
			prev, prevEnd = whole, span[1]
		}
		if quoted || shapeOf(s) == ShapeDate {
			continue
		}
		cuts := reSplit.FindAllStringIndex(s, -1)
		if reYear.MatchString(s) { // "1850 Xanby": the year and the rest
			cuts = append([][]int{{4, 5}}, cuts...)
		}
		if len(cuts) == 0 {
			continue
		}
		from := 0
		for _, cut := range append(cuts, []int{len(s), len(s)}) {
			if from < cut[0] {
				out = appendName(out, text, s[from:cut[0]], at+from, false, true)
			}
			from = cut[1]
		}
	}
	return out
}

// chainLink is the place of a name that another one follows.
func chainLink(place int) int {
	if place == ChainLast { // of the chain so far
		return ChainMiddle
	}
	return ChainFirst
}

// TitleName is the name a document's title gives, without what stands in brackets.
func TitleName(title string) []Name {
	if i := strings.LastIndex(title, " ("); i > 0 {
		title = title[:i]
	}
	out := appendName(nil, title, title, 0, false, false)
	for i := range out {
		out[i].Title, out[i].At, out[i].End = true, -1, -1
		if out[i].Form == FormOpening {
			out[i].Form = FormPlain
		}
	}
	return out
}

func appendName(out []Name, text, s string, byteAt int, quoted, part bool) []Name {
	s = strings.Trim(s, ` ".,-:'`)
	s = strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
	n := quarry.Normalize(s)
	if len(n) < 2 || openers[n] {
		return out
	}
	m := Name{Text: s, Norm: n, Shape: shapeOf(s), At: len(strings.Fields(text[:byteAt])), First: len(out) == 0, Head: HeadClass(n)}
	if quoted {
		m.Shape = ShapeQuote
	}
	m.End = m.At + len(strings.Fields(s))
	m.Before = wordBefore(text[:byteAt])
	switch {
	case part:
		m.Form = FormPart
	case strings.Contains(s, " and "):
		m.Form = FormAnd
	case reSplit.MatchString(s):
		m.Form = FormConnector
	case byteAt == 0 && m.Shape == ShapeOne:
		m.Form = FormOpening
	}
	return append(out, m)
}

func wordBefore(text string) int {
	w := strings.TrimRight(text, ` "`)
	if i := strings.LastIndexByte(w, ' '); i >= 0 {
		w = w[i+1:]
	}
	if strings.HasPrefix(w, "(") && len(w) <= 2 || strings.HasSuffix(w, "(") {
		return len(beforeWords) - 1
	}
	for i, p := range beforeWords {
		if strings.EqualFold(w, p) {
			return i
		}
	}
	return len(beforeWords)
}

// Fits says whether a name of a shape can be of the kind at all: coarse general knowledge of English.
func (k Kind) Fits(s Shape) bool {
	switch k {
	case DATE:
		return s == ShapeDate || s == ShapeYear
	case PER, ACT:
		return s == ShapeOne || s == ShapeTwo || s == ShapeLong
	case LOC, ORG, COUNTRY:
		return s != ShapeDate && s != ShapeYear && s != ShapeNumber && s != ShapeQuote
	case MISC:
		return s != ShapeDate && s != ShapeNumber
	}
	return true
}

// SameName says whether one normalised name is the last or the first words of the other (surname, short title).
func SameName(a, b string) bool {
	if len(a) < 4 || len(b) < 4 {
		return a == b
	}
	return a == b || strings.HasSuffix(b, " "+a) || strings.HasSuffix(a, " "+b) || strings.HasPrefix(b, a+" ")
}
