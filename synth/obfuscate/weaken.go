package obfuscate

import (
	"math"
	"slices"

	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/synth/certify"
)

// fresh is the number of a clause's first variable of its own; build gives them their numbers in the query.
const fresh = 1 << 16

// clause is what became of one or two of a query's atoms.
type clause struct {
	origin  []int // in the query, members after atoms
	op      Operator
	atoms   []certify.Atom
	members []certify.Member
	was     []uint32 // what its own variables stand for: the entity that was named
}

// change is one way to weaken clauses into another.
type change struct {
	from   []int // clauses
	to     clause
	entity uint32   // that was named
	set    int      // it was weakened to, or -1
	edges  []uint32 // statements it brings in, of Nested and Merge
}

// Weakener weakens queries on one index, whose sets are the catalogue's All. It holds a solver: one per goroutine.
type Weakener struct {
	x   *certify.Index
	s   *certify.Solver
	cat *Catalogue
	e   Entities
}

// New makes a weakener.
func New(x *certify.Index, cat *Catalogue, e Entities) *Weakener {
	return &Weakener{x: x, s: certify.NewSolver(x), cat: cat, e: e}
}

// split makes a clause of every atom and member.
func split(q certify.Query) []clause {
	var out []clause
	for i, a := range q.Atoms {
		out = append(out, clause{origin: []int{i}, atoms: []certify.Atom{a}})
	}
	for i, m := range q.Members {
		out = append(out, clause{origin: []int{len(q.Atoms) + i}, members: []certify.Member{m}})
	}
	return out
}

// build puts clauses together; was is what the variables beyond the first vars stand for.
func build(vars, answer int, cs []clause) (q certify.Query, was []uint32) {
	q = certify.Query{Vars: vars, Answer: answer}
	for _, c := range cs {
		at := func(n uint32) uint32 {
			if n >= fresh {
				return n - fresh + uint32(q.Vars)
			}
			return n
		}
		term := func(t certify.Term) certify.Term {
			if t.Variable {
				t.N = at(t.N)
			}
			return t
		}
		for _, a := range c.atoms {
			q.Atoms = append(q.Atoms, certify.Atom{From: term(a.From), Step: a.Step, To: term(a.To)})
		}
		for _, m := range c.members {
			q.Members = append(q.Members, certify.Member{Var: int(at(uint32(m.Var))), Set: m.Set})
		}
		q.Vars += len(c.was)
		was = append(was, c.was...)
	}
	return q, was
}

// end is a clause's atom seen from its variable: (variable, step, entity); false when it is not between the two.
func (c clause) end() (v uint32, step csr.Step, entity uint32, ok bool) {
	if len(c.atoms) != 1 || len(c.members) > 0 {
		return 0, 0, 0, false
	}
	a := c.atoms[0]
	if !a.From.Variable {
		a.From, a.Step, a.To = a.To, a.Step.Reverse(), a.From
	}
	return a.From.N, a.Step, a.To.N, a.From.Variable && !a.To.Variable
}

// room is what a change may not do.
type room struct {
	hidden map[uint32]bool // entities that may not be named
	answer uint32
	usable func(edge uint32) bool // nil for all
}

func (r room) mayUse(edge uint32) bool { return r.usable == nil || r.usable(edge) }

func (r room) mayName(x *certify.Index, v uint32) bool {
	return !r.hidden[v] && v != r.answer && !x.Joined(v, r.answer)
}

// most statements of an entity that are looked through for a description.
const mostLooked = 4096

// changes lists the ways to weaken clause i by an operator.
func (w *Weakener) changes(cs []clause, i int, op Operator, r room) []change {
	c := cs[i]
	if c.op != "" {
		return nil
	}
	v, step, entity, ok := c.end()
	switch {
	case op == Drop:
		if ok || len(c.members) > 0 {
			return []change{{from: []int{i}, to: clause{origin: c.origin, op: op}, entity: entity, set: -1}}
		}
	case op == Merge && ok:
		return w.merges(cs, i, r)
	case op == Nested && ok:
		return w.nested(i, c, r)
	case ok:
		var out []change
		for _, set := range w.cat.with(entity, op) {
			to := clause{origin: c.origin, op: op, was: []uint32{entity}, atoms: []certify.Atom{{From: certify.Term{Variable: true, N: v}, Step: step, To: certify.Var(fresh)}},
				members: []certify.Member{{Var: fresh, Set: set}}}
			out = append(out, change{from: []int{i}, to: to, entity: entity, set: set})
		}
		return out
	case len(c.members) == 1:
		return w.wider(i, c, op)
	}
	return nil
}

// wider weakens membership of a set to that of one of the catalogue's that holds it: a decade to its century.
func (w *Weakener) wider(i int, c clause, op Operator) []change {
	m := c.members[0]
	set := w.x.Set(m.Set)
	if len(set) == 0 {
		return nil
	}
	var out []change
	for _, to := range w.cat.with(set[0], op) {
		if to != m.Set && subset(set, w.x.Set(to)) {
			out = append(out, change{from: []int{i}, set: to,
				to: clause{origin: c.origin, op: op, members: []certify.Member{{Var: m.Var, Set: to}}}})
		}
	}
	return out
}

func subset(a, b []uint32) bool {
	if len(a) > len(b) {
		return false
	}
	for _, v := range a {
		if _, ok := slices.BinarySearch(b, v); !ok {
			return false
		}
	}
	return true
}

// nested describes the entity by each of its other statements.
func (w *Weakener) nested(i int, c clause, r room) []change {
	v, step, entity, _ := c.end()
	g := w.x.G
	var out []change
	for p := g.Off[entity]; p < g.Off[entity+1] && p < g.Off[entity]+mostLooked; p++ {
		d := g.Targets[p]
		if d == entity || !r.mayName(w.x, d) || !r.mayUse(g.EdgeAt(entity, p)) {
			continue
		}
		to := clause{origin: c.origin, op: Nested, was: []uint32{entity}, atoms: []certify.Atom{
			{From: certify.Term{Variable: true, N: v}, Step: step, To: certify.Var(fresh)},
			{From: certify.Var(fresh), Step: g.Steps[p], To: certify.Const(d)}}}
		out = append(out, change{from: []int{i}, to: to, entity: entity, set: -1, edges: []uint32{g.EdgeAt(entity, p)}})
	}
	return out
}

// merges joins clause i with each later one that says the same of the same variable about another entity.
func (w *Weakener) merges(cs []clause, i int, r room) []change {
	v, step, a, _ := cs[i].end()
	g := w.x.G
	var out []change
	for j := i + 1; j < len(cs); j++ {
		v2, step2, b, ok := cs[j].end()
		if !ok || cs[j].op != "" || v2 != v || step2 != step || a == b {
			continue
		}
		c := clause{origin: slices.Concat(cs[i].origin, cs[j].origin), op: Merge, was: []uint32{a},
			atoms: []certify.Atom{{From: certify.Term{Variable: true, N: v}, Step: step, To: certify.Var(fresh)}}}
		for p := g.Off[a]; p < g.Off[a+1] && p < g.Off[a]+mostLooked; p++ {
			if d := g.Targets[p]; d != a && d != b && r.mayName(w.x, d) && g.Leads(b, g.Steps[p], d) {
				lo, _ := g.By(b, g.Steps[p])
				at, _ := slices.BinarySearch(g.Neighbours(b, g.Steps[p]), d)
				edges := []uint32{g.EdgeAt(a, p), g.EdgeAt(b, lo+uint32(at))}
				if !r.mayUse(edges[0]) || !r.mayUse(edges[1]) {
					continue
				}
				to := c
				to.atoms = append(slices.Clone(c.atoms), certify.Atom{From: certify.Var(fresh), Step: g.Steps[p], To: certify.Const(d)})
				out = append(out, change{from: []int{i, j}, to: to, entity: a, set: -1, edges: edges})
			}
		}
		for _, op := range []Operator{Class, Decade, Century, Band} {
			for _, set := range w.cat.with(a, op) {
				if slices.Contains(w.cat.with(b, op), set) {
					to := c
					to.members = []certify.Member{{Var: fresh, Set: set}}
					out = append(out, change{from: []int{i, j}, to: to, entity: a, set: set})
				}
			}
		}
	}
	return out
}

// alone counts the entities that satisfy clauses of one variable by themselves; no clause at all leaves everything.
func (w *Weakener) alone(cs []clause) (int, error) {
	renamed := make([]clause, 0, len(cs))
	n := 0
	for _, c := range cs {
		d := clause{was: c.was}
		zero := func(t certify.Term) certify.Term {
			if t.Variable && t.N < fresh {
				t.N = 0
			}
			return t
		}
		for _, a := range c.atoms {
			d.atoms = append(d.atoms, certify.Atom{From: zero(a.From), Step: a.Step, To: zero(a.To)})
		}
		for _, m := range c.members {
			d.members = append(d.members, certify.Member{Var: int(zero(certify.Var(m.Var)).N), Set: m.Set})
		}
		n += len(d.atoms) + len(d.members)
		renamed = append(renamed, d)
	}
	if n == 0 {
		return w.x.G.Entities(), nil
	}
	q, _ := build(1, 0, renamed)
	return w.s.Count(q, 0)
}

// bits is how much a weakening loses: log2 of the entities after over those before.
func bits(before, after int) float64 {
	if before < 1 || after <= before {
		return 0
	}
	return math.Log2(float64(after) / float64(before))
}
