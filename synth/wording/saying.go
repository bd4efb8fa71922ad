package wording

import (
	"strings"
	"unicode/utf8"
)

// takes is what the slot of a form takes.
type takes int

const (
	takesAny      takes = iota
	takesYears          // years ("the 1950s") and nothing else
	takesVariable       // what has a noun of its own: "lies on that continent", where a name needs "lies on the continent {x}"
)

// form is one way to say an atom around what stands in its slot.
type form struct {
	before, after string
	noun          string // of a noun phrase: what it is a phrase of
	takes         takes
}

// takes is the form a noun phrase asks for.
func (n *node) takes() takes {
	switch n.is {
	case isYears:
		return takesYears
	case isRef, isSome, isThe:
		return takesVariable
	}
	return takesAny
}

func (f form) of(x string) string { return f.before + x + f.after }

// inside returns what stands in the slot of a text.
func (f form) inside(s string) (string, bool) {
	if len(s) <= len(f.before)+len(f.after) || !strings.HasPrefix(s, f.before) || !strings.HasSuffix(s, f.after) {
		return "", false
	}
	return s[len(f.before) : len(s)-len(f.after)], true
}

func newForm(pattern, noun string) form {
	before, after, _ := strings.Cut(pattern, slot)
	return form{before: before, after: after, noun: noun}
}

// saying is how an atom is said of one of its ends. The first form of a kind of part is the usual one.
type saying struct {
	np   []form // noun phrases without article: "person who was born in {x}"
	pred []form // predicates: "was born in {x}"
	ask  []form // whole questions without the mark: "When was {x} born"
	open bool   // the noun phrases differ in the kind they name: np[k] names kind k
	the  bool   // the noun phrase is definite
}

// say derives the forms of a phrase.
func say(pattern string, l Lang) saying {
	if l == Chinese {
		return sayZH(pattern)
	}
	return sayEN(pattern)
}

func sayEN(pattern string) saying {
	np := bare(pattern)
	s := saying{the: strings.HasPrefix(pattern, "the ")}
	head, rest := headOf(np)
	if strings.HasPrefix(pattern, "something ") {
		s.open = true
		for k := range kinds {
			s.np = append(s.np, newForm(nouns[k].en+" "+rest, nouns[k].en))
		}
	} else {
		s.np = []form{newForm(np, head)}
	}
	s.pred = []form{newForm(predicateEN(pattern, rest), "")}
	if q, ok := askEN(head, rest); ok {
		s.ask = []form{newForm(q, "")}
	}
	s.np, s.pred = withYears(s.np, yearsEN), withYears(s.pred, yearsEN)
	return s
}

var headStops = strings.Fields("of who whom whose that which in on at where when by for from to with behind next lying starring into near")

// headOf splits a noun phrase without article into its head and the rest. A head that is no handy noun is "one".
func headOf(np string) (head, rest string) {
	words := strings.Fields(np)
	n := 0
	for n < len(words) && words[n] != slot && !oneOf(headStops, words[n]) && (n == 0 || !(participle(words[n]) && n+1 < len(words) && oneOf(prepositions, words[n+1]))) {
		n++
	}
	head, rest = strings.Join(words[:n], " "), strings.Join(words[n:], " ")
	if n == 0 || n > 6 {
		return "one", rest
	}
	for _, or := range []string{" or an ", " or a ", " or the "} {
		head = strings.ReplaceAll(head, or, " or ")
	}
	return head, rest
}

// predicateEN turns a noun phrase into what can be said of a subject.
func predicateEN(pattern, rest string) string {
	for _, who := range []string{"who ", "that ", "which "} {
		if r, ok := strings.CutPrefix(rest, who); ok && !strings.HasPrefix(r, slot) {
			return r
		}
	}
	words := strings.Fields(rest)
	switch {
	case strings.HasPrefix(rest, "whose "):
		return "is one " + rest
	case len(words) > 2 && participle(words[0]) && oneOf(prepositions, words[1]):
		if oneOf([]string{"located", "situated", "based"}, words[0]) {
			return "is " + rest
		}
		return "was " + rest
	}
	return "is " + pattern
}

// askEN turns "city where {x} was born" into "In which city was {x} born".
func askEN(head, rest string) (string, bool) {
	for _, w := range []string{"where ", "when ", "in which ", "on which "} {
		r, ok := strings.CutPrefix(rest, w+slot+" ")
		if !ok {
			continue
		}
		aux, verb, ok := strings.Cut(r, " ")
		if !ok || aux != "was" && aux != "is" {
			continue
		}
		q := "In which " + head
		if head == "date" {
			q = "When"
		}
		return q + " " + aux + " " + slot + " " + verb, true
	}
	return "", false
}

func sayZH(pattern string) saying {
	head := ""
	if i := strings.LastIndex(pattern, "的"); i > strings.Index(pattern, slot) {
		head = pattern[i+len("的"):]
	}
	s := saying{the: strings.HasPrefix(pattern, slot)}
	body, relative := strings.CutSuffix(pattern, "的"+head)
	switch {
	case head == "" || len(head) > 36:
		head, relative = "对象", false
		s.np = []form{newForm(pattern, head)}
	case head == nouns[Any].zh && relative && !strings.HasPrefix(body, slot):
		s.open = true
		for k := range kinds {
			s.np = append(s.np, newForm(body+"的"+nouns[k].zh, nouns[k].zh))
		}
	default:
		s.np = []form{newForm(pattern, head)}
	}
	if relative && !strings.HasPrefix(body, slot) {
		s.pred = []form{newForm(body, "")}
	} else {
		s.pred = []form{newForm("是"+pattern, "")}
	}
	s.np, s.pred = withYears(s.np, yearsZH), withYears(s.pred, yearsZH)
	return s
}

// withYears adds to each form the one whose slot takes years.
func withYears(fs []form, make func(form) form) []form {
	out := fs
	for _, f := range fs {
		y := make(f)
		y.takes = takesYears
		out = append(out, y)
	}
	return out
}

func yearsEN(f form) form {
	for _, p := range []string{" on ", " in "} {
		if b, ok := strings.CutSuffix(f.before, p); ok {
			f.before = b + " in "
			return f
		}
	}
	if strings.HasSuffix(f.before, " is ") {
		f.before += "in "
		return f
	}
	f.before += "a date in "
	return f
}

func yearsZH(f form) form {
	if b, ok := strings.CutSuffix(f.before, "为"); ok {
		f.before = b + "在"
		return f
	}
	if strings.HasSuffix(f.before, "在") || strings.HasSuffix(f.before, "于") {
		return f
	}
	f.after = "的某个日期" + f.after
	return f
}

// npFor is the usual noun phrase for a variable of a kind.
func (s saying) npFor(k Kind) form {
	if s.open {
		return s.np[k]
	}
	return s.np[0]
}

// pick is the form of a noun (of a predicate "") for what stands in its slot. It is the usual one when there is none of its own.
func pick(fs []form, noun string, arg *node) form {
	usual := -1
	for i, f := range fs {
		if f.noun == noun && f.takes == arg.takes() {
			return f
		}
		if usual < 0 && f.noun == noun {
			usual = i
		}
	}
	return fs[max(usual, 0)]
}

// withoutClass is a form less the words before its slot that say what a name in it is: "lies on the continent {x}". other
// is what a phrase the other way round is a phrase of.
func (f form) withoutClass(l Lang, other string) (form, bool) {
	if f.takes = takesVariable; l == Chinese {
		for class := other; utf8.RuneCountInString(class) > 1; {
			if b, ok := strings.CutSuffix(f.before, class); ok && b != "" {
				f.before = b
				return f, true
			}
			_, n := utf8.DecodeRuneInString(class)
			class = class[n:]
		}
		return f, false
	}
	i := strings.LastIndex(f.before, " the ")
	if i < 0 || !strings.HasSuffix(f.before, " ") {
		return f, false
	}
	words := strings.Fields(f.before[i+len(" the "):])
	for _, w := range words {
		if oneOf(headStops, w) || oneOf(verbs, w) {
			return f, false
		}
	}
	f.before = f.before[:i+1]
	return f, len(words) > 0 && len(words) < 5
}
