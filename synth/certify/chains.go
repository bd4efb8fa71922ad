package certify

import (
	"math/bits"
	"slices"

	"github.com/quarry-rl/quarry/kg/csr"
)

// chains looks for ways through a walk's pattern: v0 -s1-> y1 ... -sL-> x, under conditions that are bits of a mask. One
// walk at a time; the arrays live on from walk to walk.
type chains struct {
	x      *Index
	walk   Walk
	n      int // hops
	full   int // levels up to this one are listed whole; later ones are found backwards as they are asked for
	steps  [MaxHops + 1]csr.Step
	level  [MaxHops + 1]level
	place  [MaxHops + 1]uint64 // conditions that stand on a place
	conds  []Condition         // at most 64
	cands  [][]uint32          // per condition, the entities that satisfy it, ascending
	wide   uint64              // conditions too wide for the masks of entities
	chosen [MaxHops + 1]uint64 // those of the current look, by place
	bases  [MaxHops + 1][]uint32
	tick   uint32 // of the walk
	look   uint32
	chain  [MaxHops + 1]uint32 // the last way found
	out    []uint32            // the answers last listed
}

// level is one place of the pattern.
type level struct {
	list []uint32 // what the anchor reaches, when listed whole
	at   []cell   // by entity
}

// cell is what is known of an entity at a place; together, for the sake of the cache.
type cell struct {
	holds uint64 // which conditions it satisfies, the wide ones aside
	seen  uint32 // 2*tick: reached from the anchor; 2*tick+1: known not to be
	from  uint32 // from which entity of the level before
	mark  uint32 // equals look: done with in this look
}

const (
	// wideSet is the size above which membership is looked up and not written into masks.
	wideSet = 1 << 12
	// listWork is how many half-edges are followed to list a level whole.
	listWork = 1 << 10
)

// forget takes the conditions away.
func (c *chains) forget() {
	for i, k := range c.conds {
		if c.wide>>i&1 == 0 {
			at := c.level[k.Place].at
			for _, v := range c.cands[i] {
				at[v].holds = 0
			}
		}
	}
	c.conds, c.cands, c.wide = c.conds[:0], c.cands[:0], 0
	clear(c.place[:])
}

// start makes ready for a walk, without conditions. What the walk before it reached is kept when it is the same.
func (c *chains) start(w Walk) {
	c.forget()
	if c.n > 0 && w.Anchor == c.walk.Anchor && slices.Equal(w.Hops, c.walk.Hops) {
		return
	}
	c.walk.Anchor, c.walk.Hops, c.n = w.Anchor, append(c.walk.Hops[:0], w.Hops...), len(w.Hops) // a copy: the caller may change its own
	size := c.x.G.Entities()
	for i := range c.n + 1 {
		if c.level[i].at == nil {
			c.level[i].at = make([]cell, size)
		}
		if i > 0 {
			c.steps[i] = w.Hops[i-1].Step
		}
	}
	if c.tick++; c.tick == 1<<31 { // stamps of long ago would count again
		for i := range c.level {
			for v := range c.level[i].at {
				c.level[i].at[v].seen = 0
			}
		}
		c.tick = 1
	}
	l := &c.level[0]
	l.list = append(l.list[:0], w.Anchor)
	l.at[w.Anchor].seen = 2 * c.tick
	c.full = 0
	for c.full < c.n-1 && c.expand(c.full+1) {
		c.full++
	}
}

// expand lists level i from the one before, unless that is too much work.
func (c *chains) expand(i int) bool {
	l, live := &c.level[i], 2*c.tick
	l.list = l.list[:0]
	work := 0
	for _, y := range c.level[i-1].list {
		ns := c.x.neighbours(y, c.steps[i])
		if work += len(ns) + 4; work > listWork && i > 1 {
			return false // what is stamped is reached all the same
		}
		for _, z := range ns {
			if e := &l.at[z]; e.seen != live {
				e.seen, e.from = live, y
				l.list = append(l.list, z)
			}
		}
	}
	return true
}

// add makes a condition available to looks, as the next bit.
func (c *chains) add(k Condition, cand []uint32) {
	bit := uint64(1) << len(c.conds)
	c.conds, c.cands = append(c.conds, k), append(c.cands, cand)
	c.place[k.Place] |= bit
	if len(cand) > wideSet {
		c.wide |= bit
		return
	}
	at := c.level[k.Place].at
	for _, v := range cand {
		at[v].holds |= bit
	}
}

// under sets the conditions of the next looks.
func (c *chains) under(mask uint64) {
	for i := 1; i <= c.n; i++ {
		if c.chosen[i] = mask & c.place[i]; c.chosen[i] != 0 {
			c.bases[i] = c.base(i)
		}
	}
}

// fits says whether v may stand at place i.
func (c *chains) fits(i int, v uint32) bool {
	lack := c.chosen[i] &^ c.level[i].at[v].holds
	return lack == 0 || lack&^c.wide == 0 && c.fitsWide(lack, v)
}

func (c *chains) fitsWide(lack uint64, v uint32) bool {
	for ; lack != 0; lack &= lack - 1 {
		if !c.satisfies(bits.TrailingZeros64(lack), v) {
			return false
		}
	}
	return true
}

func (c *chains) satisfies(i int, v uint32) bool {
	if k := &c.conds[i]; k.Set < 0 {
		return c.x.leads(v, k.Step, k.To)
	}
	return has(c.cands[i], v)
}

// lacks is which conditions of all that were added the way found does not satisfy.
func (c *chains) lacks() uint64 {
	var m uint64
	for i := 1; i <= c.n; i++ {
		v := c.chain[i]
		lack := c.place[i] &^ c.level[i].at[v].holds
		for w := lack & c.wide; w != 0; w &= w - 1 {
			if j := bits.TrailingZeros64(w); c.satisfies(j, v) {
				lack &^= 1 << j
			}
		}
		m |= lack
	}
	return m
}

// base is the smallest candidate set among the chosen conditions of place i.
func (c *chains) base(i int) []uint32 {
	var best []uint32
	for m := c.chosen[i]; m != 0; m &= m - 1 {
		if s := c.cands[bits.TrailingZeros64(m)]; best == nil || len(s) < len(best) {
			best = s
		}
	}
	return best
}

// common counts the entities that satisfy all chosen conditions of place i, up to a limit.
func (c *chains) common(i, limit int) int {
	n := 0
	for _, v := range c.bases[i] {
		if c.fits(i, v) {
			if n++; n == limit {
				break
			}
		}
	}
	return n
}

func (c *chains) deepest() int {
	for i := c.n; i > 0; i-- {
		if c.chosen[i] != 0 {
			return i
		}
	}
	return 0
}

func (c *chains) lowest() int {
	for i := 1; i <= c.n; i++ {
		if c.chosen[i] != 0 {
			return i
		}
	}
	return c.n + 1
}

func (c *chains) newLook() {
	if c.look++; c.look == 0 {
		for i := range c.level {
			for v := range c.level[i].at {
				c.level[i].at[v].mark = 0
			}
		}
		c.look = 1
	}
}
