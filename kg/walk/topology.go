package walk

import (
	"context"
	"fmt"
	"sync"

	"github.com/quarry-rl/quarry/kg/csr"
)

// Topology draws patterns of one shape under rules. Safe for concurrent use.
type Topology struct {
	g        *csr.Graph
	rules    Rules
	shape    Shape
	hops     int
	branches int
	searches sync.Pool
}

// NewTopology draws patterns of a shape and so many hops in all, at most MaxHops: a chain has at least 1, a star 2, a
// tree or a cycle 3. branches is for stars, at least 2; the hops are shared out at random, one or more to a branch.
//
// A chain is laid from its anchor. All others are laid from the answer: Starts are then candidates for the answer. The
// ends of branches and leaves of trees are constants; in a cycle it is the vertex half-way round. With NoShortcuts no
// statement joins two branches.
func NewTopology(g *csr.Graph, shape Shape, hops, branches int, rules Rules) (*Topology, error) {
	if err := rules.check(g, hops); err != nil {
		return nil, err
	}
	least := 1
	switch shape {
	case Chain:
	case Star:
		if least = branches; branches < 2 {
			return nil, invalid("branches", fmt.Sprintf("%d, expected 2 or more", branches), "a star of one branch is a chain")
		}
	case Tree, Cycle:
		least = 3
	default:
		return nil, invalid("shape", fmt.Sprintf("%q, expected chain, star, tree or cycle", shape), "choose one of the four")
	}
	if hops < least {
		return nil, invalid("hops", fmt.Sprintf("%d for a %s, expected %d or more", hops, shape, least), "ask for more hops or fewer branches")
	}
	return &Topology{g: g, rules: rules, shape: shape, hops: hops, branches: branches}, nil
}

// Draw is pattern number n. One that is not complete is empty.
func (t *Topology) Draw(n int) (Pattern, Reason) {
	s, ok := t.searches.Get().(*search)
	if !ok {
		s = newSearch(t.g, &t.rules)
	}
	defer t.searches.Put(s)
	s.rng = rng(key(t.rules.Seed, kindPattern, n))
	p := t.plan(&s.rng)
	if why := s.find(&p); why != Complete {
		return Pattern{}, why
	}
	return t.pattern(s, &p), Complete
}

// Run draws patterns first to first+count-1 on so many goroutines and hands them over in order of their numbers, from
// the caller's goroutine.
func (t *Topology) Run(ctx context.Context, first, count, concurrency int, emit func(n int, q Pattern, why Reason)) error {
	return each(ctx, first, count, concurrency, t.Draw, emit)
}

func (t *Topology) plan(r *rng) plan {
	p := chain(t.hops)
	switch t.shape {
	case Chain:
		return p
	case Star:
		// branch b begins at hop begins[b]: a random subset of the hops, the first among them
		for left, i := t.branches, 1; i <= t.hops; i++ {
			if i == 1 || r.below(uint32(t.hops-i+1)) < uint32(left) {
				p.parent[i] = 0
				left--
			}
		}
	case Tree:
		// the fork at vertex 1 makes it a tree, whatever hangs where
		for i := 3; i <= t.hops; i++ {
			p.parent[i] = 1
			if i > 3 {
				p.parent[i] = int(r.below(uint32(i)))
			}
		}
	case Cycle:
		p.closes = true
		p.roles = [MaxHops + 1]role{}
		p.roles[0], p.roles[t.hops/2] = answer, constant
		return p
	}
	leaf := [MaxHops + 1]bool{}
	for i := 1; i <= t.hops; i++ {
		leaf[i], leaf[p.parent[i]] = true, false
	}
	for i, l := range leaf {
		p.roles[i] = inside
		if l {
			p.roles[i] = constant
		}
	}
	p.roles[0] = answer
	return p
}

func (t *Topology) pattern(s *search, p *plan) Pattern {
	n := p.vertices()
	q := Pattern{Vertices: append([]uint32(nil), s.vertex[:n]...), Constant: make([]bool, n), Arcs: make([]Arc, 0, p.hops)}
	for i, as := range p.roles[:n] {
		q.Constant[i] = as == constant
		if as == answer {
			q.Answer = i
		}
	}
	for i := 1; i <= p.hops; i++ {
		h := s.hop[i]
		a := Arc{From: p.parent[i], To: i % n, Step: h.Step, Edge: h.Edge, Doc: h.Doc} // i is n for the hop that closes
		outward := t.shape != Chain && (t.shape != Cycle || i <= p.hops/2)
		if outward {
			a.From, a.To, a.Step = a.To, a.From, a.Step.Reverse()
		}
		q.Arcs = append(q.Arcs, a)
	}
	return q
}
