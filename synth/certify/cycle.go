package certify

import "slices"

// pick returns what is left to a root, up to limit; when its tree does not hold all atoms, only what a search confirms.
func (s *Solver) pick(root int, cyclic bool, limit int) []uint32 {
	me := &s.vars[root]
	if !cyclic && !me.free {
		if limit > 0 && len(me.left) > limit {
			return slices.Clone(me.left[:limit])
		}
		return slices.Clone(me.left)
	}
	var out []uint32
	try := func(y uint32) bool {
		if !cyclic || s.confirm(root, y) {
			out = append(out, y)
		}
		return limit <= 0 || len(out) < limit
	}
	if !me.free {
		for _, y := range me.left {
			if !try(y) {
				break
			}
		}
		return out
	}
	for y := range uint32(s.x.G.Entities()) {
		if !try(y) {
			break
		}
	}
	return out
}

// confirm looks for entities of the other variables in root's component with root bound to y.
func (s *Solver) confirm(root int, y uint32) bool {
	clear(s.used[:])
	s.bind[root], s.used[root] = y, true
	return s.extend()
}

// extend binds the open variable with the fewest choices next to a bound one, until none is open.
func (s *Solver) extend() bool {
	next, by, fewest := -1, link{}, 0
	var from uint32
	for v := range s.q.Vars {
		if !s.used[v] {
			continue
		}
		for _, l := range s.vars[v].links {
			if s.used[l.to] {
				continue
			}
			if n := len(s.x.neighbours(s.bind[v], l.step)); next < 0 || n < fewest {
				next, by, fewest, from = l.to, l, n, s.bind[v]
			}
		}
	}
	if next < 0 {
		return true
	}
	w := &s.vars[next]
	for _, z := range s.x.neighbours(from, by.step) {
		if !w.free && w.stamp[z] != s.look || !s.agrees(next, z) {
			continue
		}
		s.bind[next], s.used[next] = z, true
		if s.extend() {
			return true
		}
		s.used[next] = false
	}
	return false
}

// agrees says whether z for v satisfies v's atoms with bound variables.
func (s *Solver) agrees(v int, z uint32) bool {
	for _, l := range s.vars[v].links {
		if s.used[l.to] && !s.x.leads(z, l.step, s.bind[l.to]) {
			return false
		}
	}
	return true
}
