package pipeline

import (
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// namesakes closes the question over names: a reader of the question knows names, not entities. Every entity that has the
// name of the anchor, or of what a condition names, may be meant. It returns an answer that comes in by that and has
// another name than the answer, with a name that is shared; "" when there is none.
func (w *worker) namesakes(p *proof) (other uint32, shared string) {
	s := w.s
	meant := func(v uint32) []uint32 {
		name := s.name(v)
		all := s.g.EntitiesByName(name)
		if i, ok := slices.BinarySearch(all, v); !ok { // an id that stands in for a name
			all = slices.Insert(slices.Clone(all), i, v) // it may lie in the mapped file
		}
		if len(all) > 1 && shared == "" {
			shared = name
		}
		return all
	}
	at := meant(p.walk.Anchor)
	named := make([][]uint32, len(p.conds))
	for i, k := range p.conds {
		if k.Set < 0 {
			named[i] = meant(k.To)
		}
	}
	if shared == "" {
		return 0, ""
	}
	for i, h := range p.walk.Hops {
		var next []uint32
		for _, v := range at {
			next = append(next, s.g.Neighbours(v, h.Step)...)
		}
		slices.Sort(next)
		next = slices.Compact(next)
		for j, k := range p.conds {
			if k.Place == i+1 {
				next = slices.DeleteFunc(next, func(v uint32) bool { return !w.satisfies(v, k.Set, k.Step, named[j]) })
			}
		}
		at = next
	}
	name := quarry.Normalize(s.g.Name(p.walk.Answer()))
	for _, v := range at {
		if v != p.walk.Answer() && quarry.Normalize(s.g.Name(v)) != name {
			return v, shared
		}
	}
	return 0, ""
}

func (w *worker) satisfies(v uint32, set int, step csr.Step, named []uint32) bool {
	if set >= 0 {
		return slices.Contains(w.s.index.SetsOf(v), uint32(set))
	}
	return slices.ContainsFunc(named, func(to uint32) bool { return w.s.g.Leads(v, step, to) })
}
