package store

import (
	"slices"

	"github.com/quarry-rl/quarry/kg/csr"
)

// Hop is a step of a path: from where the one before ended, by Step along Edge, to To.
type Hop struct {
	Edge uint32
	Step csr.Step
	To   uint32
}

// Path is a shortest path from a to b of at most most hops, edges walked in either direction; ok is false when there is
// none. Of several shortest ones it is always the same. Search goes from both ends; it takes 8 bytes an entity.
func (g *Graph) Path(a, b uint32, most int) (path []Hop, ok bool) {
	if int(a) >= g.Entities() || int(b) >= g.Entities() {
		return nil, false
	}
	if a == b {
		return nil, true
	}
	if g.Degree(a) == 0 || g.Degree(b) == 0 {
		return nil, false
	}
	from, to := newSearch(g.Graph, a), newSearch(g.Graph, b)
	for hops := 0; hops < most && len(from.frontier) > 0 && len(to.frontier) > 0; hops++ {
		near, far := from, to
		if to.cost < from.cost {
			near, far = to, from
		}
		if meet, ok := near.grow(far); ok {
			path = from.back(meet)
			slices.Reverse(path)
			return append(path, to.forth(meet)...), true
		}
	}
	return nil, false
}

// search is one side of a path search: all entities within some number of hops of root.
type search struct {
	g        *csr.Graph
	root     uint32
	via      []uint32 // half-edge that led to an entity, plus one; 0 when it was not reached
	frontier []uint32
	cost     int // half-edges that leave the frontier
}

func newSearch(g *csr.Graph, root uint32) *search {
	return &search{g: g, root: root, via: make([]uint32, g.Entities()), frontier: []uint32{root}, cost: g.Degree(root)}
}

func (s *search) reached(v uint32) bool { return v == s.root || s.via[v] != 0 }

// grow goes one hop further. Where it meets the other side the two make a shortest path: had the other side reached
// the entity in fewer hops, they would have met before. Of several it is the lowest number.
func (s *search) grow(other *search) (meet uint32, met bool) {
	var next []uint32
	s.cost = 0
	for _, v := range s.frontier {
		for p := s.g.Off[v]; p < s.g.Off[v+1]; p++ {
			w := s.g.Targets[p]
			if s.reached(w) {
				continue
			}
			s.via[w] = p + 1
			next = append(next, w)
			s.cost += s.g.Degree(w)
			if other.reached(w) && (!met || w < meet) {
				meet, met = w, true
			}
		}
	}
	s.frontier = next
	return meet, met
}

// back is the way from v to the root, each hop as it was walked from the root.
func (s *search) back(v uint32) []Hop {
	var hops []Hop
	for v != s.root {
		u, p := s.row(s.via[v]-1), s.via[v]-1
		hops = append(hops, Hop{s.g.EdgeAt(u, p), s.g.Steps[p], v})
		v = u
	}
	return hops
}

// forth is the way from v to the root, each hop walked towards it.
func (s *search) forth(v uint32) []Hop {
	var hops []Hop
	for v != s.root {
		u, p := s.row(s.via[v]-1), s.via[v]-1
		hops = append(hops, Hop{s.g.EdgeAt(u, p), s.g.Steps[p].Reverse(), u})
		v = u
	}
	return hops
}

// row is the entity in whose row half-edge p stands: the last that begins at or before it. Empty rows begin there too.
func (s *search) row(p uint32) uint32 {
	i, _ := slices.BinarySearch(s.g.Off, p+1) // the first row that begins after p
	return uint32(i - 1)
}
