package certify

import (
	"slices"

	"github.com/quarry-rl/quarry/kg/csr"
)

// maxVars bounds a query: the longest walk and as many variables of conditions.
const maxVars = 2 * MaxHops

// Solver answers queries on one index. It holds scratch space: one per goroutine. 4 B an entity for each variable of the
// largest query so far.
type Solver struct {
	x    *Index
	q    Query
	vars [maxVars]variable
	look uint32
	tmp  []uint32
	bind [maxVars]uint32
	used [maxVars]bool
}

// variable is a variable's place in the query and the entities left to it.
type variable struct {
	links   []link // atoms with other variables
	fixed   [][]uint32
	loops   []csr.Step // atoms with itself
	visited bool
	left    []uint32
	free    bool     // nothing is known: left is not listed
	stamp   []uint32 // equals look for what is left
}

// link is an atom seen from one of its two variables.
type link struct {
	step csr.Step
	to   int
	atom int
	tree bool
}

// NewSolver makes a solver.
func NewSolver(x *Index) *Solver { return &Solver{x: x} }

// AnswerSet returns the answers of a query, ascending; with limit > 0 the lowest limit of them. It is exact for every
// pattern: trees are solved by semi-joins from the leaves to the answer (Yannakakis 1981), cycles by those on a spanning
// tree and a search on what is left. The result is new.
func (s *Solver) AnswerSet(q Query, limit int) ([]uint32, error) {
	if err := q.check(s.x); err != nil {
		return nil, err
	}
	return s.solve(q, limit), nil
}

// Count is the number of answers, counted up to limit when that is > 0.
func (s *Solver) Count(q Query, limit int) (int, error) {
	a, err := s.AnswerSet(q, limit)
	return len(a), err
}

func (s *Solver) solve(q Query, limit int) []uint32 {
	s.q = q
	if s.look++; s.look == 0 {
		for i := range s.vars {
			clear(s.vars[i].stamp)
		}
		s.look = 1
	}
	if !s.place() {
		return nil
	}
	for v := range q.Vars { // what hangs together with the answer comes last
		if root := (q.Answer + 1 + v) % q.Vars; root != q.Answer && !s.vars[root].visited && !s.joinsAnswer(root) {
			cyclic := s.root(root)
			s.reduce(root, 0)
			if len(s.pick(root, cyclic, 1)) == 0 {
				return nil
			}
		}
	}
	cyclic := s.root(q.Answer)
	if cyclic {
		s.reduce(q.Answer, 0)
	} else {
		s.reduce(q.Answer, limit)
	}
	return s.pick(q.Answer, cyclic, limit)
}

// place sorts the atoms by variable; false when one between entities does not hold.
func (s *Solver) place() bool {
	for i := range s.q.Vars {
		v := &s.vars[i]
		*v = variable{links: v.links[:0], fixed: v.fixed[:0], loops: v.loops[:0], left: v.left[:0], stamp: v.stamp}
		if v.stamp == nil {
			v.stamp = make([]uint32, s.x.G.Entities())
		}
	}
	for i, a := range s.q.Atoms {
		switch {
		case !a.From.Variable && !a.To.Variable:
			if !s.x.leads(a.From.N, a.Step, a.To.N) {
				return false
			}
		case !a.To.Variable:
			v := &s.vars[a.From.N]
			v.fixed = append(v.fixed, s.x.neighbours(a.To.N, a.Step.Reverse()))
		case !a.From.Variable:
			v := &s.vars[a.To.N]
			v.fixed = append(v.fixed, s.x.neighbours(a.From.N, a.Step))
		case a.From.N == a.To.N:
			v := &s.vars[a.From.N]
			v.loops = append(v.loops, a.Step)
		default:
			v, w := &s.vars[a.From.N], &s.vars[a.To.N]
			v.links = append(v.links, link{step: a.Step, to: int(a.To.N), atom: i})
			w.links = append(w.links, link{step: a.Step.Reverse(), to: int(a.From.N), atom: i})
		}
	}
	for _, m := range s.q.Members {
		s.vars[m.Var].fixed = append(s.vars[m.Var].fixed, s.x.sets[m.Set])
	}
	return true
}

func (s *Solver) joinsAnswer(v int) bool {
	var seen [maxVars]bool
	stack := append(make([]int, 0, maxVars), v)
	seen[v] = true
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == s.q.Answer {
			return true
		}
		for _, l := range s.vars[at].links {
			if !seen[l.to] {
				seen[l.to] = true
				stack = append(stack, l.to)
			}
		}
	}
	return false
}

// root spans a tree from v and says whether atoms are left over, that is, whether there is a cycle.
func (s *Solver) root(v int) bool {
	s.vars[v].visited = true
	cyclic := false
	for i := range s.vars[v].links {
		l := &s.vars[v].links[i]
		w := &s.vars[l.to]
		if !w.visited {
			l.tree = true
			cyclic = s.root(l.to) || cyclic
			continue
		}
		cyclic = cyclic || !s.treeAtom(l.atom, v, l.to)
	}
	return cyclic
}

// treeAtom says whether an atom is the one by which v hangs on its parent, or w on v.
func (s *Solver) treeAtom(atom, v, w int) bool {
	for _, l := range s.vars[w].links {
		if l.atom == atom && l.to == v {
			return l.tree
		}
	}
	return false
}

// reduce leaves v the entities that its own atoms and the trees below it allow; at least limit of them, if there are so
// many, when limit > 0.
func (s *Solver) reduce(v, limit int) {
	me := &s.vars[v]
	for _, l := range me.links {
		if l.tree {
			s.reduce(l.to, 0)
		}
	}
	from, free := s.source(v)
	if free && len(me.loops) == 0 {
		me.free = true
		return
	}
	for _, y := range from {
		if s.allowed(me, y) {
			me.left = append(me.left, y)
			me.stamp[y] = s.look
			if len(me.left) == limit {
				break
			}
		}
	}
}

// source is a short ascending list that holds all that may be left to v; free when v may be anything.
func (s *Solver) source(v int) (list []uint32, free bool) {
	me := &s.vars[v]
	if len(me.fixed) > 0 {
		list = me.fixed[0]
		for _, f := range me.fixed[1:] {
			if len(f) < len(list) {
				list = f
			}
		}
		return list, false
	}
	best := -1
	for i, l := range me.links {
		if !l.tree {
			continue
		}
		if best < 0 || s.size(l) < s.size(me.links[best]) {
			best = i
		}
	}
	if best < 0 {
		if len(me.loops) > 0 {
			return s.x.Starts(me.loops[0]), false
		}
		return nil, true
	}
	l := me.links[best]
	if s.vars[l.to].free {
		return s.x.Starts(l.step), false
	}
	s.tmp = s.tmp[:0]
	for _, y := range s.vars[l.to].left {
		s.tmp = append(s.tmp, s.x.neighbours(y, l.step.Reverse())...)
	}
	slices.Sort(s.tmp)
	s.tmp = slices.Compact(s.tmp)
	return s.tmp, false
}

func (s *Solver) size(l link) int {
	if w := &s.vars[l.to]; !w.free {
		return len(w.left)
	}
	return len(s.x.Starts(l.step))
}

func (s *Solver) allowed(me *variable, y uint32) bool {
	for _, f := range me.fixed {
		if !has(f, y) {
			return false
		}
	}
	for _, st := range me.loops {
		if !s.x.leads(y, st, y) {
			return false
		}
	}
	for _, l := range me.links {
		if l.tree && !s.meets(&s.vars[l.to], s.x.neighbours(y, l.step)) {
			return false
		}
	}
	return true
}

func (s *Solver) meets(w *variable, ns []uint32) bool {
	if w.free {
		return len(ns) > 0
	}
	for _, z := range ns {
		if w.stamp[z] == s.look {
			return true
		}
	}
	return false
}
