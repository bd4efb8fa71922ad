package certify

import (
	"cmp"
	"slices"

	"github.com/quarry-rl/quarry/kg/csr"
)

// NoSet is the set of a condition that is an edge.
const NoSet = -1

// Condition is an atom beside the walk: the entity at a place has a step to a named entity, or is in a set.
type Condition struct {
	Place int      // 1 to L; L is the answer
	Step  csr.Step // from the place to To
	To    uint32
	Edge  uint32 // the statement
	Set   int    // entity set, or NoSet
	Size  int    // how many entities satisfy it
}

// half is the condition of half-edge p in row v.
func (x *Index) half(place int, v, p uint32, size int) Condition {
	return Condition{Place: place, Step: x.G.Steps[p], To: x.G.Targets[p], Edge: x.G.EdgeAt(v, p), Set: NoSet, Size: size}
}

// candidates are the entities that satisfy a condition, ascending.
func (x *Index) candidates(k Condition) []uint32 {
	if k.Set >= 0 {
		return x.sets[k.Set]
	}
	return x.neighbours(k.To, k.Step.Reverse())
}

// Options bound the search for conditions. Zero values stand for the defaults.
type Options struct {
	Most     int  // conditions a question gets: 3 (a place is never given more)
	PerPlace int  // conditions tried at each place: 8
	Pool     int  // conditions tried on a walk, the answer's first: 40; 64 at most
	Looks    int  // tries after which a walk is given up: 200
	OnAnswer bool // conditions on the answer alone
	Induced  bool // refuse walks that are not induced paths (N2)
	Apart    bool // what conditions name has no statement with the walk's other entities nor with each other
	Plain    bool // accept with one answer, N1, and enough left by each condition and by each place's; do not ask the rest of N3
}

func (o Options) withDefaults() Options {
	o.Most, o.PerPlace, o.Pool, o.Looks = cmp.Or(o.Most, 3), cmp.Or(o.PerPlace, 8), min(cmp.Or(o.Pool, 40), 64), cmp.Or(o.Looks, 200)
	return o
}

// on says whether the walk comes by v.
func (w Walk) on(v uint32) bool {
	return v == w.Anchor || slices.ContainsFunc(w.Hops, func(h Hop) bool { return h.To == v })
}

// load takes the conditions that each place's row offers first. They are the same for every way of choosing.
func (h *Chooser) load(w Walk) {
	c := &h.c
	c.start(w)
	low := 1
	if h.o.OnAnswer {
		low = c.n
	}
	for i := c.n; i >= low; i-- {
		v, n := w.At(i), 0
		for _, t := range h.x.tops[h.x.topOff[v]:h.x.topOff[v+1]] {
			if n == h.o.PerPlace || len(c.conds) == h.o.Pool {
				break
			}
			if t.set {
				c.add(Condition{Place: i, Edge: csr.NoDoc, Set: int(t.half), Size: int(t.hi)}, h.x.sets[t.half])
				n++
				continue
			}
			to := h.x.G.Targets[t.half]
			if w.on(to) || h.o.Apart && !h.apart(w, i, to) {
				continue
			}
			c.add(h.x.half(i, v, t.half, int(t.hi-t.lo)), h.x.G.Targets[t.lo:t.hi])
			n++
		}
	}
}

// apart says whether an entity that a condition on a place names is joined to no other place.
func (h *Chooser) apart(w Walk, place int, to uint32) bool {
	for i := range len(w.Hops) + 1 {
		if i != place && h.x.Joined(w.At(i), to) {
			return false
		}
	}
	return true
}

// loadBest takes, of all conditions of all places, the pool's number that leave the fewest answers each, ties by place
// from the answer down and half-edge. It counts answers for every one: for measuring, not for making questions.
func (h *Chooser) loadBest(w Walk) {
	c := &h.c
	c.start(w)
	type ranked struct {
		k    Condition
		left int
	}
	var all []ranked
	low := 1
	if h.o.OnAnswer {
		low = c.n
	}
	consider := func(k Condition) {
		c.forget()
		c.add(k, h.x.candidates(k))
		c.under(1)
		all = append(all, ranked{k, len(c.answers(0))})
	}
	for i := c.n; i >= low; i-- {
		v := w.At(i)
		for p := h.x.G.Off[v]; p < h.x.G.Off[v+1]; p++ {
			to := h.x.G.Targets[p]
			lo, hi := h.x.group(to, h.x.G.Steps[p].Reverse())
			if int(hi-lo) >= h.x.leaf && h.x.mayBe(v, p) && !w.on(to) && (!h.o.Apart || h.apart(w, i, to)) {
				consider(h.x.half(i, v, p, int(hi-lo)))
			}
		}
		for _, s := range h.x.SetsOf(v) {
			if n := len(h.x.sets[s]); n >= h.x.leaf {
				consider(Condition{Place: i, Edge: csr.NoDoc, Set: int(s), Size: n})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(a.left, b.left) })
	c.forget()
	for _, r := range all[:min(len(all), h.o.Pool)] {
		c.add(r.k, h.x.candidates(r.k))
	}
}
