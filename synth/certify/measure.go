package certify

// Pool is which conditions of a walk a measurement chooses among.
type Pool int

// The pools. Both hold Options.Pool conditions at most.
const (
	Ready Pool = iota // the one Choose searches: those few entities satisfy, at each place
	Best              // of all conditions of all places those that leave the fewest answers
)

// Exhaust tries every set of up to three conditions of a pool and says whether one is accepted: the bound that Choose
// is measured by.
func (h *Chooser) Exhaust(w Walk, p Pool) Choice {
	if r := h.prepare(w, p); r != "" {
		return Choice{Reason: r}
	}
	n := len(h.c.conds)
	if h.accept(0) {
		return h.choice(0)
	}
	for i := range n {
		if x := uint64(1) << i; h.accept(x) {
			return h.choice(x)
		}
	}
	for i := range n {
		for j := range i {
			if x := uint64(1)<<i | 1<<j; h.accept(x) {
				return h.choice(x)
			}
		}
	}
	for i := range n {
		for j := range i {
			for k := range j {
				if x := uint64(1)<<i | 1<<j | 1<<k; h.accept(x) {
					return h.choice(x)
				}
			}
		}
	}
	return Choice{Reason: Several, Looks: h.looks}
}

func (h *Chooser) prepare(w Walk, p Pool) Reason {
	if r := h.refuse(w); r != "" {
		return r
	}
	if p == Best {
		h.loadBest(w)
	} else {
		h.load(w)
	}
	h.reset()
	return ""
}

// accept is the whole test of one set of conditions, without what a search knows by then.
func (h *Chooser) accept(x uint64) bool {
	if !h.alone(x) {
		return false
	}
	h.looks++
	h.c.under(x)
	return !h.c.rival() && (h.o.Plain || h.c.loose())
}

// alone says whether the conditions of x, each place's by themselves, leave enough.
func (h *Chooser) alone(x uint64) bool {
	for m := x; m != 0; m &= m - 1 {
		if bit := m & -m; !h.enough(x, bit) {
			return false
		}
	}
	return true
}

// Greedy takes one condition after the other, each time the one that leaves the fewest answers of those that leave
// enough alone, up to Options.Most, and accepts by the same test as Choose: the baseline.
func (h *Chooser) Greedy(w Walk, p Pool) Choice {
	if r := h.prepare(w, p); r != "" {
		return Choice{Reason: r}
	}
	x := uint64(0)
	for n := 0; ; n++ {
		h.looks++
		h.c.under(x)
		if !h.c.rival() {
			if h.o.Plain || h.c.loose() {
				return h.choice(x)
			}
			return Choice{Reason: Needless, Looks: h.looks}
		}
		best, fewest := uint64(0), 0
		for i := range h.c.conds {
			bit := uint64(1) << i
			if x&bit != 0 || n == h.o.Most || !h.alone(x|bit) {
				continue
			}
			h.c.under(x | bit)
			if left := len(h.c.answers(0)); best == 0 || left < fewest {
				best, fewest = bit, left
			}
		}
		if best == 0 {
			return Choice{Reason: Several, Looks: h.looks}
		}
		x |= best
	}
}
