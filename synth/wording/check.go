package wording

import (
	"strings"

	"github.com/quarry-rl/quarry"
)

// stated is what one reading of a text says.
type stated struct {
	d      discourse
	vars   int
	answer int // -1 until it has been spoken of
	open   bool
	asked  bool
	atoms  []fact
	marks  []Mark
}

// fact is an atom by numbers.
type fact struct {
	rel     int
	subject Term
	object  Term
}

// Check reads a text back, in the language it is in, and says whether its only reading states exactly the plan's atoms
// and marks and asks for the plan's answer. The error's Subject is NotReadable. Names and phrases are those of the plan:
// a text that names anything else, or puts it in words of its own, is not readable.
func Check(p Plan, text string) error {
	if err := p.Validate(); err != nil {
		return err
	}
	var last error
	for _, l := range []Lang{English, Chinese} {
		d := p.distinct()
		if last = newReader(newVocabulary(d, l), d.Marks).check(d, text); last == nil {
			return nil
		}
		if strings.HasSuffix(text, "?") || strings.HasSuffix(text, ".") {
			break
		}
	}
	return last
}

// check is Check with a reader of the plan's vocabulary.
func (r *reader) check(p Plan, text string) error {
	want := r.v.facts(p)
	bad := func(msg string) error {
		return &quarry.Error{Op: "wording", Kind: quarry.KindGate, Subject: NotReadable, Msg: msg, Hint: "try another frame, or other phrases for the relations"}
	}
	n, same := 0, 0
	r.steps, r.full = 0, false
	r.each(text, stated{answer: -1}, func(s stated) bool {
		n++
		if r.v.equal(p, want, s) {
			same++
		}
		return n < maxReadings
	})
	switch {
	case r.full || n >= maxReadings:
		return bad("the text has too many readings")
	case n == 0:
		return bad("the text has no reading in the plan's names and phrases")
	case same == 0:
		return bad("the text states other atoms than the plan")
	case same < n:
		return bad("the text can be read in two ways")
	}
	return nil
}

// each follows all readings of the text from here; yield false to stop.
func (r *reader) each(text string, so stated, yield func(stated) bool) bool {
	if text == "" {
		if so.asked {
			return yield(so)
		}
		return true
	}
	for i, c := range text {
		end := i + len(string(c))
		if !strings.ContainsRune(".?。？", c) {
			continue
		}
		rest := text[end:]
		if r.v.lang == English && rest != "" {
			cut, ok := strings.CutPrefix(rest, " ")
			if !ok || cut == "" {
				continue
			}
			rest = cut
		}
		for _, s := range r.sentences(text[:end]) {
			if r.steps++; r.steps > maxSteps {
				r.full = true
				return false
			}
			next := so.fork()
			if next.say(r, s) && !r.each(rest, next, yield) {
				return false
			}
		}
	}
	return true
}

func (so stated) fork() stated {
	so.d.nouns, so.d.vars = so.d.nouns[:len(so.d.nouns):len(so.d.nouns)], so.d.vars[:len(so.d.vars):len(so.d.vars)]
	so.atoms, so.marks = so.atoms[:len(so.atoms):len(so.atoms)], so.marks[:len(so.marks):len(so.marks)]
	return so
}

// say takes a sentence in; false when it makes no sense here.
func (so *stated) say(r *reader, s sentence) bool {
	if so.asked {
		return false
	}
	switch s.op {
	case opIntro:
		_, ok := so.term(r, s.subject)
		return ok
	case opAssert:
		t, ok := so.term(r, s.subject)
		return ok && so.predicates(r, t.Var, s.preds)
	case opOpen:
		if so.open {
			return false
		}
		so.open, so.answer = true, so.fresh()
		so.classed(r, s.noun)
		so.d.add(so.answer, s.noun)
		return so.predicates(r, so.answer, s.preds)
	case opClose:
		so.asked = true
		return so.open
	case opAsk:
		t, ok := so.term(r, s.subject)
		so.asked, so.answer = true, t.Var
		return ok && !so.open && t.Name == ""
	}
	if so.open {
		return false
	}
	so.asked, so.answer = true, so.fresh()
	so.classed(r, s.noun)
	return so.predicates(r, so.answer, s.preds)
}

func (so *stated) fresh() int {
	so.vars++
	return so.vars - 1
}

func (so *stated) classed(r *reader, noun string) {
	if m, ok := r.marks.classes[noun]; ok && noun != "" {
		m.Var = so.answer
		so.marks = append(so.marks, m)
	}
}

func (so *stated) predicates(r *reader, v int, ps []predicate) bool {
	for _, p := range ps {
		if p.mark != nil {
			m := *p.mark
			m.Var = v
			so.marks = append(so.marks, m)
			continue
		}
		x, ok := so.term(r, p.arg)
		if !ok {
			return false
		}
		so.atom(p.rel, p.inverse, Var(v), x)
	}
	return true
}

// atom says that v is what a relation leads to from x, along it or back.
func (so *stated) atom(rel int, inverse bool, v, x Term) {
	f := fact{rel: rel, subject: x, object: v}
	if inverse {
		f.subject, f.object = v, x
	}
	so.atoms = append(so.atoms, f)
}

func (so *stated) term(r *reader, n *node) (Term, bool) {
	switch n.is {
	case isName:
		return Name(n.name), true
	case isRef:
		v, ok := so.d.find(n.noun, n.ord)
		return Var(v), ok
	case isThe:
		x, ok := so.term(r, n.arg)
		if !ok {
			return Term{}, false
		}
		v := so.fresh()
		so.atom(n.rel, n.inverse, Var(v), x)
		so.d.add(v, n.noun)
		return Var(v), true
	}
	v := so.fresh()
	for _, m := range n.marks {
		m.Var = v
		so.marks = append(so.marks, m)
	}
	if n.class {
		m := r.marks.classes[n.noun]
		m.Var = v
		so.marks = append(so.marks, m)
	}
	if n.is == isSome {
		so.d.add(v, n.noun)
	}
	return Var(v), true
}

// facts are the plan's atoms by the vocabulary's numbers.
func (v *vocabulary) facts(p Plan) []fact {
	out := make([]fact, 0, len(p.Atoms))
	for _, a := range p.Atoms {
		out = append(out, fact{v.relation(a.Relation), a.Subject, a.Object})
	}
	return out
}

// equal says whether a reading is the plan up to the numbers of variables.
func (v *vocabulary) equal(p Plan, want []fact, so stated) bool {
	if len(want) != len(so.atoms) || len(p.Marks) != len(so.marks) || len(p.Kinds) != so.vars {
		return false
	}
	to := make([]int, len(p.Kinds))
	taken := make([]bool, so.vars)
	for i := range to {
		to[i] = -1
	}
	to[p.Answer], taken[so.answer] = so.answer, true
	return v.match(p, want, so, to, taken, make([]bool, len(want)), make([]bool, len(want)))
}

func (v *vocabulary) match(p Plan, want []fact, so stated, to []int, taken, done, used []bool) bool {
	i := -1 // an atom with a variable that is bound, so that few can match
	for j, f := range want {
		if !done[j] && (i < 0 || f.subject.Name == "" && to[f.subject.Var] >= 0 || f.object.Name == "" && to[f.object.Var] >= 0) {
			i = j
			if f.subject.Name == "" && to[f.subject.Var] >= 0 || f.object.Name == "" && to[f.object.Var] >= 0 {
				break
			}
		}
	}
	if i < 0 {
		return v.sameMarks(p, so, to)
	}
	rel, s, o := v.canonical(want[i].rel, want[i].subject, want[i].object)
	done[i] = true
	for j, g := range so.atoms {
		r, gs, go_ := v.canonical(g.rel, g.subject, g.object)
		if used[j] || r != rel {
			continue
		}
		used[j] = true
		for turn := range 2 {
			if turn == 1 && !v.root[want[i].rel].both {
				break
			}
			a, b := gs, go_
			if turn == 1 {
				a, b = b, a
			}
			bound, ok := bind(to, taken, s, a, nil)
			if ok {
				bound, ok = bind(to, taken, o, b, bound)
			}
			if ok && v.match(p, want, so, to, taken, done, used) {
				return true
			}
			for _, x := range bound {
				taken[to[x]] = false
				to[x] = -1
			}
		}
		used[j] = false
	}
	done[i] = false
	return false
}

// bind makes a plan's term stand for a reading's; it returns the variables bound so far.
func bind(to []int, taken []bool, want, got Term, bound []int) ([]int, bool) {
	if want.Name != "" || got.Name != "" {
		return bound, want.Name == got.Name
	}
	if to[want.Var] >= 0 {
		return bound, to[want.Var] == got.Var
	}
	if taken[got.Var] {
		return bound, false
	}
	to[want.Var], taken[got.Var] = got.Var, true
	return append(bound, want.Var), true
}

func (v *vocabulary) sameMarks(p Plan, so stated, to []int) bool {
	type at struct {
		v    int
		text string
	}
	count := map[at]int{}
	for _, m := range p.Marks {
		text, _ := m.own(v.lang)
		count[at{to[m.Var], text}]++
	}
	for _, m := range so.marks {
		text, _ := m.own(v.lang)
		count[at{m.Var, text}]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// distinct is the plan with each atom and mark once.
func (p Plan) distinct() Plan {
	var atoms []Atom
	for _, a := range p.Atoms {
		known := false
		for _, b := range atoms {
			known = known || a.Subject == b.Subject && a.Object == b.Object && sameRelation(a.Relation, b.Relation)
		}
		if !known {
			atoms = append(atoms, a)
		}
	}
	var marks []Mark
	for _, m := range p.Marks {
		known := false
		for _, o := range marks {
			known = known || m.Var == o.Var && m.plain() == o.plain()
		}
		if !known {
			marks = append(marks, m)
		}
	}
	p.Atoms, p.Marks = atoms, marks
	return p
}
