package wording

import (
	"strings"
	"unicode"
)

// noun is what a kind is called, for references and for what has no better word.
type noun struct{ en, zh string }

var nouns = [kinds]noun{
	Any: {"thing", "事物"}, Person: {"person", "人"}, Place: {"place", "地方"}, Organisation: {"organisation", "机构"},
	Work: {"work", "作品"}, Event: {"event", "活动"}, Date: {"date", "日期"}, Number: {"number", "数值"},
}

func (k Kind) noun(l Lang) string {
	if l == Chinese {
		return nouns[k].zh
	}
	return nouns[k].en
}

const slot = "{x}"

var prepositions = strings.Fields("of in on at to from for with by into near under after as")

// verbs are labels that say what the subject does.
var verbs = strings.Fields("contains follows replaces includes precedes uses owns produces borders adjoins has")

// label is a relation's label as words, and what its subject is called when a path-like label says so:
// "/people/person/nationality" is "nationality" of a "person", "http://example.org/birthPlace" is "birth place".
func label(s string) (words, subject string) {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "/#") && !strings.Contains(s, " ") {
		uri := strings.Contains(s, "://")
		parts := strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '#' })
		if len(parts) > 0 {
			s = parts[len(parts)-1]
		}
		if !uri && len(parts) > 2 {
			subject = words1(parts[1])
		}
	}
	return words1(s), subject
}

// words1 splits an identifier into words: underscores, and capitals inside.
func words1(s string) string {
	var b strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		switch {
		case r == '_' || r == '\n' || r == '\t':
			b.WriteByte(' ')
		case i > 0 && i+1 < len(rs) && unicode.IsUpper(r) && unicode.IsLower(rs[i-1]) && unicode.IsLower(rs[i+1]):
			b.WriteByte(' ')
			b.WriteRune(unicode.ToLower(r))
		case r == '{' || r == '}':
		default:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// generic are the phrases that a label alone gives, in both directions.
func generic(r Relation) (forward, inverse Phrase) {
	en, subject := label(firstOf(r.Label, r.ID))
	zh := strings.Join(strings.Fields(r.LabelZH), "")
	if zh == "" {
		zh = quoted(en)
	}
	forward.EN, inverse.EN = genericEN(en, subject)
	forward.ZH, inverse.ZH = genericZH(zh)
	if strings.HasSuffix(zh, "于") && zh != "于" {
		forward.ZH, inverse.ZH = slot+zh+"的对象", zh+slot+"的"+nouns[Any].zh
	}
	return forward, inverse
}

func genericZH(label string) (forward, inverse string) {
	return slot + "的" + label, label + "为" + slot + "的" + nouns[Any].zh
}

// quoted sets a label without Chinese apart in a Chinese text.
func quoted(label string) string { return "“" + label + "”" }

func genericEN(label, subject string) (forward, inverse string) {
	one := "something"
	if subject != "" {
		one = withArticle(subject)
	}
	words := strings.Fields(label)
	last := words[max(len(words)-1, 0):]
	switch {
	case len(words) > 1 && last[0] == "by" && participle(words[len(words)-2]):
		return "the one that " + slot + " was " + label, one + " that was " + label + " " + slot
	case len(words) > 1 && oneOf(prepositions, last[0]):
		return "the one that " + slot + " is " + label, one + " that is " + label + " " + slot
	case oneOf(verbs, label):
		return "the one that " + slot + " " + label, one + " that " + label + " " + slot
	}
	return "the " + label + " of " + slot, one + " whose " + label + " is " + slot
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func oneOf(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func participle(w string) bool {
	return len(w) > 3 && strings.HasSuffix(w, "ed") ||
		oneOf([]string{"born", "made", "written", "held", "set", "led", "run", "built", "sung", "begun", "known", "won", "drawn"}, w)
}

// withArticle puts a or an before a noun.
func withArticle(n string) string {
	if n == nouns[Any].en {
		return "something"
	}
	low := strings.ToLower(n)
	for _, p := range []string{"uni", "eu", "one", "use", "uk", "us "} {
		if strings.HasPrefix(low, p) {
			return "a " + n
		}
	}
	if low != "" && strings.ContainsRune("aeiou", rune(low[0])) {
		return "an " + n
	}
	return "a " + n
}

// bare cuts an article off a noun phrase.
func bare(np string) string {
	for _, a := range []string{"a ", "an ", "the "} {
		if s, ok := strings.CutPrefix(np, a); ok {
			return s
		}
	}
	if s, ok := strings.CutPrefix(np, "something "); ok {
		return nouns[Any].en + " " + s
	}
	return np
}
