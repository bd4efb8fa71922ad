package wording

import "strings"

// maxReadings bounds how many readings of one text are followed: a text with more is not readable.
const maxReadings = 64

// maxSteps bounds how many sentences are tried in one text.
const maxSteps = 1 << 14

// reader reads texts of one vocabulary. All readings of a text are found, not the first.
type reader struct {
	v     *vocabulary
	marks markTexts
	nps   map[string][]*node
	lists map[string][][]predicate
	leads map[string][]lead
	steps int  // sentences tried in one text
	full  bool // more readings than are followed
}

func newReader(v *vocabulary, marks []Mark) *reader {
	r := &reader{v: v, marks: newMarkTexts(marks, v.lang), nps: map[string][]*node{}, lists: map[string][][]predicate{}}
	r.lead()
	return r
}

// np lists the noun phrases that a text can be.
func (r *reader) np(s string) []*node {
	if out, ok := r.nps[s]; ok {
		return out
	}
	r.nps[s] = nil // a phrase that holds only itself is none
	var out []*node
	if r.v.names[s] {
		out = append(out, &node{is: isName, name: s})
	}
	if n, ok := r.ref(s); ok {
		out = append(out, n)
	}
	if m, ok := r.marks.numbers[s]; ok {
		out = append(out, &node{is: isNumber, marks: []Mark{m}})
	}
	out = append(out, r.some(s)...)
	rest := []string{bare(s)}
	if r.v.lang == Chinese {
		rest = []string{s}
		if t, ok := strings.CutPrefix(s, "一个"); ok {
			rest = append(rest, t)
		}
	}
	for _, t := range rest {
		for i := range r.v.says {
			for d := range 2 {
				for _, f := range r.v.says[i][d].np {
					for _, arg := range r.slot(i, d, f, t) {
						out = append(out, &node{is: isThe, rel: i, inverse: d == 1, noun: f.noun, arg: arg})
					}
				}
			}
		}
	}
	if len(out) > maxReadings {
		r.full = true
		out = out[:maxReadings]
	}
	r.nps[s] = out
	return out
}

// slot lists what can stand in the slot of a form of a relation's saying.
func (r *reader) slot(rel, side int, f form, s string) []*node {
	if f.takes == takesYears && !r.v.dated[rel][side] {
		return nil
	}
	in, ok := f.inside(s)
	if !ok {
		return nil
	}
	switch f.takes {
	case takesYears:
		if m, ok := r.marks.years[in]; ok {
			return []*node{{is: isYears, marks: []Mark{m}}}
		}
		return nil
	case takesVariable:
		var out []*node
		for _, n := range r.np(in) {
			if n.takes() == takesVariable {
				out = append(out, n)
			}
		}
		return out
	}
	return r.np(in)
}

func (r *reader) ref(s string) (*node, bool) {
	that, the := []string{"that ", "That "}, []string{"the ", "The "}
	if r.v.lang == Chinese {
		that, the = []string{"这个"}, []string{""}
	}
	for _, p := range that {
		if n, ok := strings.CutPrefix(s, p); ok && r.noun(n) {
			return &node{is: isRef, noun: n}, true
		}
	}
	for _, p := range the {
		t, ok := strings.CutPrefix(s, p)
		if !ok {
			continue
		}
		for i, o := range ordinals[r.v.lang][1:] {
			if r.v.lang == English {
				o += " "
			}
			if n, ok := strings.CutPrefix(t, o); ok && r.noun(n) {
				return &node{is: isRef, noun: n, ord: i + 1}, true
			}
		}
	}
	return nil, false
}

func (r *reader) noun(s string) bool { return r.v.nouns[s] || r.v.class[s] }

// some lists the readings as a new variable by its noun: a class when it is put with a plain article.
func (r *reader) some(s string) []*node {
	var out []*node
	add := func(t string, class bool) {
		try := func(n string, marks []Mark) {
			if class && r.v.class[n] || !class && r.noun(n) {
				out = append(out, &node{is: isSome, noun: n, class: class, marks: marks})
			}
		}
		try(t, nil)
		for c, m := range r.marks.clauses {
			n, ok := strings.CutSuffix(t, c)
			if r.v.lang == Chinese {
				n, ok = strings.CutPrefix(t, c)
			}
			if ok {
				try(n, []Mark{m})
			}
		}
	}
	if r.v.lang == Chinese {
		if t, ok := strings.CutPrefix(s, "一个"); ok {
			add(t, true)
		}
		if t, ok := strings.CutPrefix(s, "某个"); ok {
			add(t, false)
		}
		return out
	}
	if t, ok := strings.CutPrefix(s, "a certain "); ok {
		add(t, false)
	}
	for _, a := range []string{"a ", "an "} {
		if t, ok := strings.CutPrefix(s, a); ok {
			add(t, true)
		}
	}
	return out
}

// predicates lists what a text can say of a subject, as lists.
func (r *reader) predicates(s string) [][]predicate {
	if out, ok := r.lists[s]; ok {
		return out
	}
	r.lists[s] = nil
	var out [][]predicate
	for _, p := range r.predicate(s) {
		out = append(out, []predicate{p})
	}
	between, last := seps(r.v.lang)
	for _, sep := range []string{last, between} {
		for at := 0; ; {
			i := strings.Index(s[at:], sep)
			if i < 0 {
				break
			}
			i += at
			at = i + len(sep)
			for _, p := range r.predicate(s[:i]) {
				for _, more := range r.predicates(s[at:]) {
					out = append(out, append([]predicate{p}, more...))
				}
			}
		}
	}
	if len(out) > maxReadings {
		r.full = true
		out = out[:maxReadings]
	}
	r.lists[s] = out
	return out
}

func (r *reader) predicate(s string) []predicate {
	var out []predicate
	if m, ok := r.marks.preds[s]; ok {
		out = append(out, predicate{mark: &m})
	}
	for i := range r.v.says {
		for d := range 2 {
			for _, f := range r.v.says[i][d].pred {
				for _, arg := range r.slot(i, d, f, s) {
					out = append(out, predicate{rel: i, inverse: d == 1, arg: arg})
				}
			}
		}
	}
	return out
}

// sentences lists the readings of one sentence.
func (r *reader) sentences(s string) []sentence {
	var out []sentence
	for _, t := range templates[r.v.lang] {
		out = append(out, r.template(t, s)...)
	}
	return out
}

func (r *reader) template(t template, s string) []sentence {
	before, rest, _ := strings.Cut(t.text, "{")
	if !strings.HasPrefix(s, before) {
		return nil
	}
	if rest == "" {
		if s == t.text {
			return []sentence{{op: t.op}}
		}
		return nil
	}
	name, after, _ := strings.Cut(rest, "}")
	s = s[len(before):]
	var out []sentence
	switch name {
	case "np":
		in, ok := strings.CutSuffix(s, after)
		if !ok {
			return nil
		}
		for _, n := range r.np(in) {
			if n.is == isThe || n.is == isSome && t.op == opIntro || n.is == isRef && t.op == opAsk {
				out = append(out, sentence{op: t.op, subject: n})
			}
		}
	case "ask":
		in, ok := strings.CutSuffix(s, after)
		if !ok {
			return nil
		}
		for i := range r.v.says {
			for d := range 2 {
				for _, f := range r.v.says[i][d].ask {
					for _, arg := range r.slot(i, d, f, in) {
						out = append(out, sentence{op: t.op, subject: &node{is: isThe, rel: i, inverse: d == 1, noun: r.v.says[i][d].np[0].noun, arg: arg}})
					}
				}
			}
		}
	case "preds":
		in, ok := strings.CutSuffix(s, after)
		if !ok {
			return nil
		}
		for _, ps := range r.predicates(in) {
			out = append(out, sentence{op: t.op, preds: ps})
		}
	case "ref", "noun", "a":
		out = r.headed(t, name, after, s)
	}
	return out
}

// lead is a text that a slot with a noun can hold.
type lead struct {
	text string
	noun string
	node *node // of a reference
}

// headed reads a sentence from a slot that holds a noun, after which comes the literal between and the predicates.
func (r *reader) headed(t template, name, after, s string) []sentence {
	between, end, preds := strings.Cut(after, "{preds}")
	var out []sentence
	for _, n := range r.leads[name] {
		rest, ok := strings.CutPrefix(s, n.text)
		if !ok {
			continue
		}
		if rest, ok = strings.CutPrefix(rest, between); !ok {
			continue
		}
		one := sentence{op: t.op, noun: n.noun, subject: n.node}
		if !preds {
			if rest == "" {
				out = append(out, one)
			}
			continue
		}
		in, ok := strings.CutSuffix(rest, end)
		if !ok {
			continue
		}
		for _, ps := range r.predicates(in) {
			one.preds = ps
			out = append(out, one)
		}
	}
	return out
}

// lead lists what the slots {ref}, {noun} and {a} can hold.
func (r *reader) lead() {
	r.leads = map[string][]lead{}
	for _, n := range r.v.heads {
		r.leads["noun"] = append(r.leads["noun"], lead{text: n, noun: n})
		r.leads["a"] = append(r.leads["a"], lead{text: withArticle(n), noun: n})
		for i := range min(r.v.vars+1, len(ordinals[r.v.lang])) {
			ref := &node{is: isRef, noun: n, ord: i}
			r.leads["ref"] = append(r.leads["ref"], lead{text: upperFirst(r.v.ref(ref)), node: ref})
		}
	}
}
