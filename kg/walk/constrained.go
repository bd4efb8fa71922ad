package walk

import (
	"context"
	"slices"
	"sync"

	"github.com/quarry-rl/quarry/kg/csr"
)

// Constrained draws chains under rules. Safe for concurrent use.
type Constrained struct {
	g        *csr.Graph
	rules    Rules
	plan     plan
	searches sync.Pool
}

// NewConstrained draws paths of so many hops, 1 to MaxHops, from an anchor to an answer.
func NewConstrained(g *csr.Graph, hops int, rules Rules) (*Constrained, error) {
	if err := rules.check(g, hops); err != nil {
		return nil, err
	}
	return &Constrained{g: g, rules: rules, plan: chain(hops)}, nil
}

func chain(hops int) plan {
	p := plan{hops: hops}
	for i := 1; i <= hops; i++ {
		p.parent[i] = i - 1
	}
	p.roles[0], p.roles[hops] = constant, answer
	return p
}

// Walk is walk number n. One that is not complete has its anchor, None when there is none, and no hops.
func (c *Constrained) Walk(n int) (Path, Reason) {
	s, ok := c.searches.Get().(*search)
	if !ok {
		s = newSearch(c.g, &c.rules)
	}
	defer c.searches.Put(s)
	s.rng = rng(key(c.rules.Seed, kindChain, n))
	why := s.find(&c.plan)
	p := Path{Anchor: s.vertex[0]}
	if why == Complete {
		p.Hops = slices.Clone(s.hop[1 : c.plan.hops+1])
	}
	return p, why
}

// Run draws walks first to first+count-1 on so many goroutines and hands them over in order of their numbers, from the
// caller's goroutine.
func (c *Constrained) Run(ctx context.Context, first, count, concurrency int, emit func(n int, p Path, why Reason)) error {
	return each(ctx, first, count, concurrency, c.Walk, emit)
}

// each hands over one result a number, in order.
func each[T any](ctx context.Context, first, count, concurrency int, walk func(n int) (T, Reason), emit func(n int, t T, why Reason)) error {
	type result struct {
		n   int
		t   T
		why Reason
	}
	return ordered(ctx, first, count, 64, concurrency, func(lo, hi int) []result {
		out := make([]result, 0, hi-lo)
		for n := lo; n < hi; n++ {
			t, why := walk(n)
			out = append(out, result{n, t, why})
		}
		return out
	}, func(out []result) {
		for _, r := range out {
			emit(r.n, r.t, r.why)
		}
	})
}
