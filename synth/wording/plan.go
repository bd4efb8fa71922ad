// Package wording puts a question's formal plan into English or Chinese that reads like a person's question, and reads
// it back: what is written is accepted only when its one reading states the plan's atoms and nothing else.
package wording

import (
	"fmt"

	"github.com/quarry-rl/quarry"
)

// Lang is a language questions are written in.
type Lang string

// The languages.
const (
	English Lang = "en"
	Chinese Lang = "zh"
)

// NotReadable is the reason for a question whose wording does not read back into its plan.
const NotReadable = "wording_not_readable"

// Kind is what an entity is, as far as it decides who, where, which, when or how many.
type Kind int

// The kinds. Any is for what is not known.
const (
	Any Kind = iota
	Person
	Place
	Organisation
	Work
	Event
	Date
	Number
	kinds
)

// KindOf is the kind of a graph's entity type: PER, LOC, ORG, WORK, EVENT, TIME and NUM, else Any.
func KindOf(typ string) Kind {
	switch typ {
	case "PER":
		return Person
	case "LOC":
		return Place
	case "ORG":
		return Organisation
	case "WORK":
		return Work
	case "EVENT":
		return Event
	case "TIME":
		return Date
	case "NUM":
		return Number
	}
	return Any
}

// Phrase is a noun phrase in both languages in which {x} stands for what is known: "the city where {x} was born",
// "{x}出生的城市". An empty one is made from the relation's label.
type Phrase struct{ EN, ZH string }

// Relation is a predicate with how it is said. Lexicon fills phrases in.
type Relation struct {
	ID             string
	Label, LabelZH string
	Forward        Phrase // the object, seen from the subject
	Inverse        Phrase // the subject, seen from the object
}

// Term is a variable of a plan or a name.
type Term struct {
	Var  int
	Name string // a constant, as the question names it; "" for a variable
}

// Var is variable i as a term.
func Var(i int) Term { return Term{Var: i} }

// Name is a constant as a term.
func Name(s string) Term { return Term{Name: s} }

// Atom is a statement with at least one variable in it.
type Atom struct {
	Subject  Term
	Relation Relation
	Object   Term
}

// MarkKind is how a mark narrows a variable.
type MarkKind int

// The kinds of marks.
const (
	IsClass    MarkKind = iota + 1 // Class, ClassZH: "is a city"
	InYears                        // a date from year From to year To, both included: the 1950s, the 19th century
	Between                        // a number from From to To, both included
	BeginsWith                     // its name begins with Text
	HasLetters                     // its name has From to To letters
)

// Mark narrows a variable without naming an entity.
type Mark struct {
	Var            int
	Kind           MarkKind
	Class, ClassZH string
	From, To       int64
	Text           string
}

// Plan is a question as atoms and marks over variables 0 to len(Kinds)-1, of which one is asked for: chain, star, tree
// or cycle alike. A weakened constant is a variable of its own with marks: "born in the 1950s" is an atom from the
// person to a date variable and a mark InYears on that. certify.Query has the same shape.
type Plan struct {
	Kinds  []Kind // of each variable
	Answer int
	Atoms  []Atom
	Marks  []Mark
}

// maxVars bounds a plan, as certify bounds a query.
const maxVars = 32

func invalid(format string, args ...any) error {
	return &quarry.Error{Op: "wording", Kind: quarry.KindInvalid, Subject: "plan", Msg: fmt.Sprintf(format, args...),
		Hint: "number variables from 0; every atom joins a variable to a name or to another variable; all hang together with the answer"}
}

// Validate says what is wrong with a plan: a term out of range, an atom between names or of a variable with itself, a
// variable that does not hang together with the answer, an answer of which nothing is said, a mark that is empty.
func (p Plan) Validate() error {
	n := len(p.Kinds)
	if n < 1 || n > maxVars || p.Answer < 0 || p.Answer >= n {
		return invalid("%d variables, the answer is number %d; 1 to %d are expected", n, p.Answer, maxVars)
	}
	for i, k := range p.Kinds {
		if k < 0 || k >= kinds {
			return invalid("variable %d: kind %d is unknown", i, k)
		}
	}
	near := make([][]int, n)
	for i, a := range p.Atoms {
		for _, t := range []Term{a.Subject, a.Object} {
			if t.Name == "" && (t.Var < 0 || t.Var >= n) {
				return invalid("atom %d: variable %d of %d", i, t.Var, n)
			}
		}
		if a.Relation.ID == "" && a.Relation.Label == "" {
			return invalid("atom %d: the relation has neither id nor label", i)
		}
		switch {
		case a.Subject.Name != "" && a.Object.Name != "":
			return invalid("atom %d is between two names", i)
		case a.Subject.Name == "" && a.Object.Name == "":
			if a.Subject.Var == a.Object.Var {
				return invalid("atom %d joins variable %d to itself", i, a.Subject.Var)
			}
			near[a.Subject.Var] = append(near[a.Subject.Var], a.Object.Var)
			near[a.Object.Var] = append(near[a.Object.Var], a.Subject.Var)
		}
	}
	for i, m := range p.Marks {
		if err := m.validate(i, n); err != nil {
			return err
		}
	}
	if len(p.about(p.Answer)) == 0 {
		return invalid("nothing is said of the answer")
	}
	seen := make([]bool, n)
	seen[p.Answer] = true
	for stack := []int{p.Answer}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, w := range near[v] {
			if !seen[w] {
				seen[w] = true
				stack = append(stack, w)
			}
		}
	}
	for v, ok := range seen {
		if !ok {
			return invalid("variable %d does not hang together with the answer", v)
		}
	}
	return nil
}

func (m Mark) validate(i, n int) error {
	ok := m.Var >= 0 && m.Var < n
	switch m.Kind {
	case IsClass:
		ok = ok && m.Class != ""
	case InYears, Between:
		ok = ok && m.From <= m.To
	case HasLetters:
		ok = ok && m.From >= 1 && m.From <= m.To
	case BeginsWith:
		ok = ok && m.Text != ""
	default:
		ok = false
	}
	if !ok {
		return invalid("mark %d on variable %d of %d says nothing: %+v", i, m.Var, n, m)
	}
	return nil
}

// about lists what is said of a variable: atoms by number, then marks after len(Atoms).
func (p Plan) about(v int) []int {
	var out []int
	for i, a := range p.Atoms {
		if a.Subject.is(v) || a.Object.is(v) {
			out = append(out, i)
		}
	}
	for i, m := range p.Marks {
		if m.Var == v {
			out = append(out, len(p.Atoms)+i)
		}
	}
	return out
}

func (t Term) is(v int) bool { return t.Name == "" && t.Var == v }

// Constants are the names a question of the plan must state, in order of atoms, each once.
func (p Plan) Constants() []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range p.Atoms {
		for _, t := range []Term{a.Subject, a.Object} {
			if t.Name != "" && !seen[t.Name] {
				seen[t.Name] = true
				out = append(out, t.Name)
			}
		}
	}
	return out
}
