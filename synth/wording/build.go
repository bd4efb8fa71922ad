package wording

// most is how many things one sentence says of its subject.
const most = 3

// toAnswer speaks of the anchors first and comes to the answer at the end.
func (w *writer) toAnswer() {
	a := w.p.Answer
	for _, v := range w.children(a) {
		w.introduce(v)
	}
	w.ask(a)
}

// children are the variables that hang on v and are not put into its own phrase, in the frame's order.
func (w *writer) children(v int) []int {
	var out []int
	for x := range w.up {
		if w.up[x] == v {
			if n, deep := w.inline(x); n == nil || deep > w.limit {
				out = append(out, x)
			}
		}
	}
	w.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// introduce speaks of v once all it hangs from below has been spoken of.
func (w *writer) introduce(v int) {
	if n, _ := w.inline(v); n != nil && n.is == isThe && n.arg.is != isRef {
		w.add(sentence{op: opIntro, subject: n})
		w.speak(v, n)
		return
	}
	w.deeper(v)
	todo := w.sayable(v)
	if len(todo) == 0 {
		w.add(sentence{op: opIntro, subject: w.some(v)})
	} else {
		first := todo[0]
		n := w.the(first, v, w.take(first, v))
		w.add(sentence{op: opIntro, subject: n})
		w.d.add(v, n.noun)
	}
	w.describe(v)
}

// deeper introduces what hangs on v below. A phrase that would go too deep is opened at its inner end.
func (w *writer) deeper(v int) {
	for _, x := range w.children(v) {
		if _, ok := w.d.refer(x, w.v.lang); !ok {
			w.introduce(x)
		}
	}
}

// some speaks of v by its class or kind alone.
func (w *writer) some(v int) *node {
	n := &node{is: isSome, noun: w.called(v)}
	for i, m := range w.p.Marks {
		if m.Var == v && m.Kind == IsClass && !w.said[len(w.p.Atoms)+i] {
			n.class, n.noun = true, m.class(w.v.lang)
			w.said[len(w.p.Atoms)+i] = true
			break
		}
	}
	w.d.add(v, n.noun)
	return n
}

// sayable are the atoms of v that have not been said and whose other end can be named, in the frame's order. What v
// hangs by is left for what it hangs on.
func (w *writer) sayable(v int) []int {
	var out []int
	for _, a := range w.order(v) {
		x := w.other(a, v)
		if w.said[a] || a == w.parent[v] {
			continue
		}
		if x.Name == "" {
			_, known := w.d.refer(x.Var, w.v.lang)
			if !known && !(w.parent[x.Var] == a && w.up[x.Var] == v) {
				continue
			}
		}
		out = append(out, a)
	}
	return out
}

// take is the argument of an atom, which counts as said with that.
func (w *writer) take(a, v int) *node {
	w.said[a] = true
	return w.argument(a, v)
}

// describe says in sentences of their own what else can be said of v, which has been spoken of.
func (w *writer) describe(v int) {
	for {
		n, _ := w.d.refer(v, w.v.lang) // before what the sentence goes on to speak of
		ps, ok := w.few(v)
		if !ok {
			return
		}
		w.add(sentence{op: opAssert, subject: n, preds: ps})
	}
}

// few takes up to most statements of v; references within a sentence are made in its order.
func (w *writer) few(v int) ([]predicate, bool) {
	var out []predicate
	for len(out) < most {
		if p, ok := w.one(v); ok {
			out = append(out, p)
			continue
		}
		break
	}
	return out, len(out) > 0
}

func (w *writer) one(v int) (predicate, bool) {
	for i, m := range w.p.Marks {
		if at := len(w.p.Atoms) + i; m.Var == v && !w.said[at] {
			w.said[at] = true
			m = m.plain()
			return predicate{mark: &m}, true
		}
	}
	todo := w.sayable(v)
	if len(todo) == 0 {
		return predicate{}, false
	}
	a := todo[0]
	x := w.take(a, v)
	if x == nil {
		x = w.some(w.other(a, v).Var)
	}
	return predicate{rel: w.facts[a].rel, inverse: w.back(a, v), arg: x}, true
}

// ask asks for v when all below has been spoken of.
func (w *writer) ask(v int) {
	todo := w.sayable(v)
	marks := 0
	for _, m := range w.p.Marks {
		if m.Var == v {
			marks++
		}
	}
	switch {
	case len(todo) == 1 && marks == 0 && w.frame != 1 && w.frame != 5:
		a := todo[0]
		w.add(sentence{op: opAsk, subject: w.the(a, v, w.take(a, v))})
	case len(todo)+marks <= most:
		noun := w.askNoun(v, todo)
		ps, _ := w.few(v)
		w.add(sentence{op: opWhich, noun: noun, preds: ps})
	case len(todo) > 0:
		a := todo[0]
		n := w.the(a, v, w.take(a, v))
		w.add(sentence{op: opIntro, subject: n})
		w.d.add(v, n.noun)
		w.describe(v)
		ref, _ := w.d.refer(v, w.v.lang)
		w.add(sentence{op: opAsk, subject: ref})
	default:
		w.add(sentence{op: opIntro, subject: w.some(v)})
		w.describe(v)
		ref, _ := w.d.refer(v, w.v.lang)
		w.add(sentence{op: opAsk, subject: ref})
	}
}

// askNoun is what "which" is asked of: the class, else what the first atom calls it, else the kind; "" asks who.
func (w *writer) askNoun(v int, todo []int) string {
	if c := w.className(v); c != "" {
		return c
	}
	if w.p.Kinds[v] == Person && w.r.IntN(3) > 0 {
		return ""
	}
	if len(todo) > 0 {
		s := w.v.says[w.facts[todo[0]].rel][side(w.back(todo[0], v))]
		if n := s.npFor(w.p.Kinds[v]).noun; n != "one" && !w.v.class[n] && len(n) < 24 {
			return n
		}
	}
	return w.kindNoun(v)
}

// className is the class of v, said with that.
func (w *writer) className(v int) string {
	for i, m := range w.p.Marks {
		if m.Var == v && m.Kind == IsClass && !w.said[len(w.p.Atoms)+i] {
			w.said[len(w.p.Atoms)+i] = true
			return m.class(w.v.lang)
		}
	}
	return ""
}

// kindNoun is what v's kind is called; another word when that is a class, which v may not be in.
func (w *writer) kindNoun(v int) string {
	n := w.p.Kinds[v].noun(w.v.lang)
	if w.v.class[n] {
		return Any.noun(w.v.lang)
	}
	return n
}

// fromAnswer speaks of the answer first, then of what it was joined to, and so on.
func (w *writer) fromAnswer() {
	a := w.p.Answer
	noun := w.className(a)
	if noun == "" {
		noun = w.kindNoun(a)
	}
	w.d.add(a, noun)
	ps, ok := w.few(a)
	if !ok { // a class alone
		return
	}
	w.add(sentence{op: opOpen, noun: noun, preds: ps})
	for i := 0; i < len(w.d.vars); i++ {
		w.describe(w.d.vars[i])
	}
	w.add(sentence{op: opClose, noun: noun})
}
