package wording

import (
	"math/rand/v2"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Frames is how many ways of building a text there are; the frames beyond repeat them in other words and orders.
const Frames = 6

// tries is how many frames Write takes when texts do not read back.
const tries = 5

// Write words a plan as one question. The frame, any number, picks the way of building, the words and the order; equal
// arguments give equal texts. A text that does not read back into the plan gives way to the next frame's; when that
// happens five times, the error has Subject NotReadable. Other errors: what Plan.Validate says.
func Write(p Plan, l Lang, frame int) (string, error) {
	if l != English && l != Chinese {
		return "", &quarry.Error{Op: "wording", Kind: quarry.KindInvalid, Subject: string(l), Msg: "a question is written in en or zh", Hint: "say en or zh"}
	}
	if err := p.Validate(); err != nil {
		return "", err
	}
	p = p.distinct()
	v := newVocabulary(p, l)
	r := newReader(v, p.Marks)
	var last error
	for i := range tries {
		text := compose(p, v, uint64(frame)+uint64(i))
		if last = r.check(p, text); last == nil {
			return text, nil
		}
	}
	return "", last
}

// writer builds sentences for one plan in one frame.
type writer struct {
	p     Plan
	v     *vocabulary
	r     *rand.Rand
	facts []fact
	limit int // phrases within one another
	frame uint64

	parent []int // atom by which a variable hangs on the tree, -1 for the answer and what is not reached
	up     []int // the variable above
	tree   []bool
	said   []bool // atoms, then marks
	d      discourse
	out    []sentence
}

func compose(p Plan, v *vocabulary, frame uint64) string {
	w := &writer{p: p, v: v, r: rand.New(rand.NewPCG(frame, 0x9e3779b97f4a7c15)), frame: frame % Frames}
	w.facts = w.v.facts(p)
	w.limit = []int{1, 0, 0, 1, 1, 0}[w.frame]
	w.said = make([]bool, len(p.Atoms)+len(p.Marks))
	w.span()
	if w.frame == 2 || w.frame == 4 {
		w.fromAnswer()
	} else {
		w.toAnswer()
	}
	return w.text()
}

// span hangs the variables on the answer, breadth first.
func (w *writer) span() {
	n := len(w.p.Kinds)
	w.parent, w.up, w.tree = make([]int, n), make([]int, n), make([]bool, len(w.p.Atoms))
	for v := range n {
		w.parent[v], w.up[v] = -1, -1
	}
	queue := []int{w.p.Answer}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, a := range w.order(v) {
			x := w.other(a, v)
			if x.Name == "" && x.Var != w.p.Answer && w.parent[x.Var] < 0 {
				w.parent[x.Var], w.up[x.Var], w.tree[a] = a, v, true
				queue = append(queue, x.Var)
			}
		}
	}
}

// order lists the atoms of a variable in the frame's order.
func (w *writer) order(v int) []int {
	var out []int
	for i, f := range w.facts {
		if f.subject.is(v) || f.object.is(v) {
			out = append(out, i)
		}
	}
	w.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// other is the other end of an atom.
func (w *writer) other(a, v int) Term {
	if w.facts[a].subject.is(v) {
		return w.facts[a].object
	}
	return w.facts[a].subject
}

// back says that v is the atom's subject, so that it is said from the object.
func (w *writer) back(a, v int) bool { return w.facts[a].subject.is(v) }

// below splits what is said of v, less what it hangs by: atoms, and marks by number.
func (w *writer) below(v int) (atoms, marks []int) {
	for _, i := range w.p.about(v) {
		switch {
		case i >= len(w.p.Atoms):
			marks = append(marks, i-len(w.p.Atoms))
		case i != w.parent[v]:
			atoms = append(atoms, i)
		}
	}
	return atoms, marks
}

// inline is the noun phrase of a variable within another's, nil when it is spoken of by itself: when more than one
// thing is said of it, or phrases stand too deep in one another.
func (w *writer) inline(v int) (n *node, deep int) {
	atoms, marks := w.below(v)
	if len(atoms) == 0 {
		return w.leaf(v, marks), 0
	}
	if len(atoms) != 1 || len(marks) > 0 {
		return nil, 0
	}
	a := atoms[0]
	x := w.other(a, v)
	if x.Name != "" {
		return w.the(a, v, &node{is: isName, name: x.Name}), 1
	}
	if !w.tree[a] || w.up[x.Var] != v {
		return nil, 0
	}
	arg, d := w.inline(x.Var)
	if arg == nil || d >= w.limit {
		return nil, 0
	}
	return w.the(a, v, arg), d + 1
}

// leaf is the noun phrase of a variable of which nothing but marks is said; nil when these do not fit into one.
func (w *writer) leaf(v int, marks []int) *node {
	n := &node{is: isSome, noun: w.called(v)}
	for _, i := range marks {
		m := w.p.Marks[i].plain()
		switch m.Kind {
		case InYears, Between:
			if len(marks) > 1 {
				return nil
			}
			n.is = isYears
			if m.Kind == Between {
				n.is = isNumber
			}
			n.marks = []Mark{m}
		case IsClass:
			if n.class {
				return nil
			}
			n.class, n.noun = true, m.class(w.v.lang)
		default:
			if len(n.marks) > 0 {
				return nil
			}
			n.marks = []Mark{m}
		}
	}
	return n
}

// called is the noun of a variable of which no class is said: what the atom it hangs by calls it, else its kind.
func (w *writer) called(v int) string {
	if a := w.parent[v]; a >= 0 {
		n := w.v.says[w.facts[a].rel][side(w.back(a, v))].npFor(w.p.Kinds[v]).noun
		if n != "one" && len(n) < 16 && !strings.Contains(n, " or ") && !strings.Contains(n, "或") {
			return n
		}
	}
	return w.p.Kinds[v].noun(w.v.lang)
}

// the is the noun phrase of v by an atom.
func (w *writer) the(a, v int, arg *node) *node {
	f := w.v.says[w.facts[a].rel][side(w.back(a, v))].npFor(w.p.Kinds[v])
	return &node{is: isThe, rel: w.facts[a].rel, inverse: w.back(a, v), noun: f.noun, arg: arg}
}

// speak marks what a noun phrase has said, in the order in which it speaks of variables.
func (w *writer) speak(v int, n *node) {
	atoms, marks := w.below(v)
	for _, m := range marks {
		w.said[len(w.p.Atoms)+m] = true
	}
	if n.is == isThe {
		w.said[atoms[0]] = true
		if x := w.other(atoms[0], v); x.Name == "" {
			w.speak(x.Var, n.arg)
		}
	}
	if n.is == isThe || n.is == isSome {
		w.d.add(v, n.noun)
	}
}

// argument is what stands in the slot of an atom said of v; nil when the other end cannot be referred to yet.
func (w *writer) argument(a, v int) *node {
	x := w.other(a, v)
	if x.Name != "" {
		return &node{is: isName, name: x.Name}
	}
	if n, ok := w.d.refer(x.Var, w.v.lang); ok {
		return n
	}
	if w.parent[x.Var] != a || w.up[x.Var] != v {
		return nil
	}
	n, deep := w.inline(x.Var)
	if n == nil || deep > w.limit {
		return nil
	}
	w.speak(x.Var, n)
	return n
}

func (w *writer) add(s sentence) { w.out = append(w.out, s) }

// text puts the sentences into words. Of the templates that suit, the frame picks one, another one each time.
func (w *writer) text() string {
	var b strings.Builder
	turn := w.r.IntN(1 << 16)
	for i, s := range w.out {
		if i > 0 && w.v.lang == English {
			b.WriteByte(' ')
		}
		var fit []template
		for _, t := range templates[w.v.lang] {
			if t.op == s.op && t.suits(w.p.Kinds[w.p.Answer]) && w.possible(t, s) {
				fit = append(fit, t)
			}
		}
		b.WriteString(w.v.sentence(fit[(turn+i)%len(fit)], s))
	}
	return b.String()
}

// possible says whether a template has the words a sentence needs.
func (w *writer) possible(t template, s sentence) bool {
	if strings.Contains(t.text, "{ask}") {
		return s.subject.is == isThe && s.subject.arg.is != isYears && len(w.v.says[s.subject.rel][side(s.subject.inverse)].ask) > 0
	}
	return s.op != opWhich || (s.noun != "") == strings.Contains(t.text, "{noun}")
}
