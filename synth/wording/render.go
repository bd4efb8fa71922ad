package wording

import "strings"

// np is a noun phrase as text. asked puts the definite article: what is asked for is the only one.
func (v *vocabulary) np(n *node, asked bool) string {
	switch n.is {
	case isName:
		return n.name
	case isRef:
		return v.ref(n)
	case isYears:
		return years(n.marks[0].From, n.marks[0].To, v.lang)
	case isNumber:
		return number(n.marks[0].From, n.marks[0].To, v.lang)
	case isSome:
		return v.some(n)
	}
	s := v.says[n.rel][side(n.inverse)]
	text := pick(s.np, n.noun, n.arg).of(v.np(n.arg, false))
	if v.lang == Chinese {
		if asked || s.the {
			return text
		}
		return "一个" + text
	}
	switch pattern := v.words[n.rel][side(n.inverse)]; {
	case s.open && n.noun == nouns[Any].en && !asked:
		return "something" + strings.TrimPrefix(text, nouns[Any].en)
	case asked || s.the:
		return "the " + text
	case s.open:
		return withArticle(n.noun) + strings.TrimPrefix(text, n.noun)
	default:
		return strings.TrimSuffix(pattern, bare(pattern)) + text
	}
}

func (v *vocabulary) ref(n *node) string {
	switch {
	case v.lang == Chinese && n.ord == 0:
		return "这个" + n.noun
	case v.lang == Chinese:
		return ordinals[Chinese][n.ord] + n.noun
	case n.ord == 0:
		return "that " + n.noun
	}
	return "the " + ordinals[English][n.ord] + " " + n.noun
}

func (v *vocabulary) some(n *node) string {
	clause := ""
	for _, m := range n.marks {
		if _, c := m.own(v.lang); c != "" {
			clause = c
		}
	}
	switch {
	case v.lang == Chinese && n.class:
		return "一个" + clause + n.noun
	case v.lang == Chinese:
		return "某个" + clause + n.noun
	case n.class:
		return article(n.noun) + clause
	}
	return "a certain " + n.noun + clause
}

// article is withArticle for classes, which are never "something".
func article(n string) string {
	if n == nouns[Any].en {
		return "a " + n
	}
	return withArticle(n)
}

func (v *vocabulary) pred(p predicate) string {
	if p.mark != nil {
		s, _ := p.mark.own(v.lang)
		return s
	}
	return pick(v.says[p.rel][side(p.inverse)].pred, "", p.arg).of(v.np(p.arg, false))
}

func (v *vocabulary) preds(ps []predicate) string {
	between, last := seps(v.lang)
	var b strings.Builder
	for i, p := range ps {
		switch {
		case i > 0 && i == len(ps)-1:
			b.WriteString(last)
		case i > 0:
			b.WriteString(between)
		}
		b.WriteString(v.pred(p))
	}
	return b.String()
}

// sentence is a sentence as text in a template.
func (v *vocabulary) sentence(t template, s sentence) string {
	text := t.text
	put := func(slot, with string) { text = strings.Replace(text, slot, with, 1) }
	if s.subject != nil {
		if strings.Contains(text, "{ask}") {
			put("{ask}", v.says[s.subject.rel][side(s.subject.inverse)].ask[0].of(v.np(s.subject.arg, false)))
		}
		put("{np}", v.np(s.subject, s.op == opAsk))
		put("{ref}", upperFirst(v.np(s.subject, false)))
	}
	put("{noun}", s.noun)
	put("{a}", withArticle(s.noun))
	put("{preds}", v.preds(s.preds))
	return text
}

func side(inverse bool) int {
	if inverse {
		return 1
	}
	return 0
}
