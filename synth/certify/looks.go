package certify

// rival finds a way from the anchor to an entity other than the answer, under the chosen conditions.
func (c *chains) rival() bool {
	c.newLook()
	j := c.deepest()
	if j == 0 {
		return c.ahead(0, c.walk.Anchor)
	}
	base := c.bases[j]
	if j <= c.full && len(c.level[j].list) < len(base) {
		base = c.level[j].list
	}
	low, answer := c.lowest(), c.walk.Answer()
	for _, y := range base {
		if (j < c.n || y != answer) && c.fits(j, y) && c.back(j, y, low) && c.ahead(j, y) {
			return true
		}
	}
	return false
}

// reached says whether the anchor reaches y at place i, conditions aside.
func (c *chains) reached(i int, y uint32) bool {
	e := &c.level[i].at[y]
	if e.seen>>1 == c.tick {
		return e.seen&1 == 0
	}
	if i <= c.full {
		return false
	}
	for _, z := range c.x.neighbours(y, c.steps[i].Reverse()) {
		if c.reached(i-1, z) {
			e.seen, e.from = 2*c.tick, z
			return true
		}
	}
	e.seen = 2*c.tick + 1
	return false
}

// back says whether y at place i, which fits there, comes from the anchor; low is the lowest place with a condition.
func (c *chains) back(i int, y uint32, low int) bool {
	if !c.reached(i, y) {
		return false
	}
	c.chain[i] = y
	if low >= i {
		for ; i > 0; i-- {
			c.chain[i-1] = c.level[i].at[c.chain[i]].from
		}
		return true
	}
	e := &c.level[i].at[y]
	if e.mark == c.look {
		return false
	}
	ns, only := c.narrow(i-1, c.x.neighbours(y, c.steps[i].Reverse()))
	for _, z := range ns {
		if c.fits(i-1, z) && (only == nil || has(only, z)) && c.back(i-1, z, low) {
			return true
		}
	}
	e.mark = c.look
	return false
}

// narrow picks what to run through to find neighbours that fit place i: the neighbours, or the much smaller set that a
// condition leaves there, to be checked against the neighbours.
func (c *chains) narrow(i int, ns []uint32) (run, only []uint32) {
	if b := c.bases[i]; c.chosen[i] != 0 && len(b)*8 < len(ns) {
		return b, ns
	}
	return ns, nil
}

// ahead says whether y at place i, after which no condition stands, leads to something else than the answer.
func (c *chains) ahead(i int, y uint32) bool {
	c.chain[i] = y
	if i == c.n {
		return y != c.walk.Answer()
	}
	next := c.level[i+1].at
	for _, z := range c.x.neighbours(y, c.steps[i+1]) {
		if next[z].mark != c.look {
			if c.ahead(i+1, z) {
				return true
			}
			next[z].mark = c.look
		}
	}
	return false
}

// loose says whether the pattern without its first step, and so without the anchor, has another answer. A later step
// left out leaves more, so that every step is needed if the first is.
func (c *chains) loose() bool {
	c.newLook()
	answer := c.walk.Answer()
	j := c.deepest()
	if j == 0 && c.n == 1 {
		if c.chain[1] = 0; answer == 0 {
			c.chain[1] = 1
		}
		return c.x.G.Entities() > 1
	}
	if j == 0 {
		for _, y := range c.x.Starts(c.steps[2]) {
			if c.ahead(1, y) {
				return true
			}
		}
		return false
	}
	for _, y := range c.bases[j] {
		if (j < c.n || y != answer) && c.fits(j, y) && c.backFree(j, y) && c.ahead(j, y) {
			return true
		}
	}
	return false
}

// backFree is back down to place 1, from anywhere.
func (c *chains) backFree(i int, y uint32) bool {
	c.chain[i] = y
	if i == 1 {
		return true
	}
	e := &c.level[i].at[y]
	if e.mark == c.look {
		return false
	}
	ns, only := c.narrow(i-1, c.x.neighbours(y, c.steps[i].Reverse()))
	for _, z := range ns {
		if c.fits(i-1, z) && (only == nil || has(only, z)) && c.backFree(i-1, z) {
			return true
		}
	}
	e.mark = c.look
	return false
}

// answers lists up to limit entities the pattern leads to under the chosen conditions, the answer among them; all when
// limit is 0. The list is overwritten by the next call.
func (c *chains) answers(limit int) []uint32 {
	c.newLook()
	c.out = c.out[:0]
	j := c.deepest()
	if j == 0 {
		c.gather(0, c.walk.Anchor, limit)
		return c.out
	}
	base := c.bases[j]
	if j <= c.full && len(c.level[j].list) < len(base) {
		base = c.level[j].list
	}
	low := c.lowest()
	for _, y := range base {
		if c.fits(j, y) && c.back(j, y, low) && !c.gather(j, y, limit) {
			break
		}
	}
	return c.out
}

// gather adds what y at place i leads to; false when limit is reached.
func (c *chains) gather(i int, y uint32, limit int) bool {
	if i == c.n {
		c.out = append(c.out, y)
		return len(c.out) != limit
	}
	next := c.level[i+1].at
	for _, z := range c.x.neighbours(y, c.steps[i+1]) {
		if next[z].mark != c.look {
			next[z].mark = c.look
			if !c.gather(i+1, z, limit) {
				return false
			}
		}
	}
	return true
}
