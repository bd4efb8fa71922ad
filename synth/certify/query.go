package certify

import (
	"fmt"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// Term is a variable of a query or an entity.
type Term struct {
	Variable bool
	N        uint32 // number of the variable, or of the entity
}

// Var is variable i as a term.
func Var(i int) Term { return Term{Variable: true, N: uint32(i)} }

// Const is an entity as a term.
func Const(entity uint32) Term { return Term{N: entity} }

// Atom says that a step leads from one term to another. Step csr.Along(r) is the statement (From, r, To).
type Atom struct {
	From Term
	Step csr.Step
	To   Term
}

// Member says that a variable is in an entity set of the index: of a class, born in a decade.
type Member struct {
	Var int
	Set int
}

// Query is a pattern: atoms over variables 0 to Vars-1, of which one is asked for. An answer is an entity for which the
// others can be chosen so that all atoms hold; two variables may be the same entity.
type Query struct {
	Vars    int
	Answer  int
	Atoms   []Atom
	Members []Member
}

// Without is the query less one atom; members count on after the atoms.
func (q Query) Without(i int) Query {
	if i >= len(q.Atoms) {
		i -= len(q.Atoms)
		q.Members = append(append([]Member{}, q.Members[:i]...), q.Members[i+1:]...)
		return q
	}
	q.Atoms = append(append([]Atom{}, q.Atoms[:i]...), q.Atoms[i+1:]...)
	return q
}

// Len is how many atoms and members a query has.
func (q Query) Len() int { return len(q.Atoms) + len(q.Members) }

func (q Query) check(x *Index) error {
	bad := func(format string, args ...any) error {
		return &quarry.Error{Op: "certify", Kind: quarry.KindInvalid, Subject: "query", Msg: fmt.Sprintf(format, args...),
			Hint: "number variables from 0, entities, relations and sets as the index does"}
	}
	if q.Vars < 1 || q.Vars > maxVars || q.Answer < 0 || q.Answer >= q.Vars {
		return bad("%d variables, the answer is number %d; 1 to %d are expected", q.Vars, q.Answer, maxVars)
	}
	for i, a := range q.Atoms {
		if a.Step.Relation() >= x.G.Rels {
			return bad("atom %d: relation %d of %d", i, a.Step.Relation(), x.G.Rels)
		}
		for _, t := range []Term{a.From, a.To} {
			if t.Variable && int(t.N) >= q.Vars || !t.Variable && int(t.N) >= x.G.Entities() {
				return bad("atom %d: term %d is outside %d variables and %d entities", i, t.N, q.Vars, x.G.Entities())
			}
		}
	}
	for i, m := range q.Members {
		if m.Var < 0 || m.Var >= q.Vars || m.Set < 0 || m.Set >= len(x.sets) {
			return bad("member %d: variable %d of %d, set %d of %d", i, m.Var, q.Vars, m.Set, len(x.sets))
		}
	}
	return nil
}

// Question is the query of a walk under conditions: v1 to vL are variables 0 to L-1, the last is the answer; the anchor
// and what conditions name are entities.
func Question(w Walk, conds []Condition) Query {
	q := Query{Vars: len(w.Hops), Answer: len(w.Hops) - 1}
	from := Const(w.Anchor)
	for i, h := range w.Hops {
		q.Atoms = append(q.Atoms, Atom{From: from, Step: h.Step, To: Var(i)})
		from = Var(i)
	}
	for _, k := range conds {
		if k.Set >= 0 {
			q.Members = append(q.Members, Member{Var: k.Place - 1, Set: k.Set})
			continue
		}
		q.Atoms = append(q.Atoms, Atom{From: Var(k.Place - 1), Step: k.Step, To: Const(k.To)})
	}
	return q
}
