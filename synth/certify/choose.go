package certify

import "math/bits"

// Reason says why a walk gives no question; empty when it does.
type Reason string

// The reasons, in the order they are found.
const (
	Shortcut Reason = "shortcut"        // the answer has a statement with another entity of the walk than the last but one
	Chord    Reason = "chord"           // a statement joins two entities of the walk that do not follow each other (with Options.Induced)
	Telling  Reason = "telling step"    // the last step alone leaves fewer answers than a condition may
	Several  Reason = "several answers" // no allowed conditions leave one answer
	Needless Reason = "needless path"   // those that do make the walk's beginning unnecessary
	Spent    Reason = "search spent"    // given up after Options.Looks tries
)

// Choice is what a search found for a walk.
type Choice struct {
	Conditions []Condition // by place from the answer down; may be empty
	Reason     Reason      // why there is no question, "" when there is
	Looks      int         // how often a set of conditions was tried on the graph
}

// Chooser finds conditions for walks. It holds scratch space: one per goroutine. For each place of the longest walk it
// takes 24 B an entity.
//
// A question is accepted when the conditions leave one answer; the walk's answer is joined to no other entity of the
// walk than the last but one (N1); each condition, the last step, each pair of these on the answer, and all conditions
// on one place together leave at least leaf entities when they stand alone; and every step and every condition is
// needed: without it there is another answer. These are N1 and N3 of path necessity.
type Chooser struct {
	x *Index
	o Options
	c chains

	kills  []uint64 // of each rival chain found on the walk, which conditions it does not satisfy
	nogood []uint64 // sets of conditions none of whose supersets is accepted
	tried  uint64   // conditions on the answer for which the pair with the last step was counted
	told   uint64   // those for which it leaves too few
	looks  int
	unique bool // some set left one answer
}

// NewChooser makes a chooser.
func NewChooser(x *Index, o Options) *Chooser {
	h := &Chooser{x: x, o: o.withDefaults()}
	h.c.x = x
	return h
}

// Choose searches for the fewest conditions that make a question of a walk. The search is exact within its pool: it
// keeps the rivals met so far and only tries conditions that exclude all of them (implicit hitting sets; Moreno-Centeno
// and Karp 2013), so that what it does not find an exhaustive search does not find either, unless Looks ran out. A walk
// must pass Walk.Check.
func (h *Chooser) Choose(w Walk) Choice {
	if r := h.refuse(w); r != "" {
		return Choice{Reason: r}
	}
	h.load(w)
	h.reset()
	h.c.under(uint64(1)<<len(h.c.conds) - 1)
	if h.looks++; h.c.rival() { // not even all together exclude it
		return Choice{Reason: Several, Looks: h.looks}
	}
	for most := 0; most <= min(h.o.Most, len(h.c.conds)); most++ {
		if x, ok := h.search(0, 0, most); ok {
			return h.choice(x)
		}
	}
	switch {
	case h.looks >= h.o.Looks:
		return Choice{Reason: Spent, Looks: h.looks}
	case h.unique:
		return Choice{Reason: Needless, Looks: h.looks}
	}
	return Choice{Reason: Several, Looks: h.looks}
}

func (h *Chooser) reset() {
	h.kills, h.nogood, h.tried, h.told, h.looks, h.unique = h.kills[:0], h.nogood[:0], 0, 0, 0, false
}

// refuse is what can be said before any search.
func (h *Chooser) refuse(w Walk) Reason {
	a, n := w.Answer(), len(w.Hops)
	for i := range n - 1 {
		if h.x.Joined(w.At(i), a) {
			return Shortcut
		}
	}
	if h.o.Induced && !h.x.Path(w).N2 {
		return Chord
	}
	if !h.o.Plain && len(h.x.ends(w)) < h.x.leaf {
		return Telling
	}
	return ""
}

func (h *Chooser) choice(x uint64) Choice {
	c := Choice{Looks: h.looks}
	for ; x != 0; x &= x - 1 {
		c.Conditions = append(c.Conditions, h.c.conds[bits.TrailingZeros64(x)])
	}
	return c
}

// search extends x by up to left conditions, none of them banned. Every rival chain known must fail one of the chosen
// conditions; the one with the fewest ways to fail is branched on. A condition tried is banned from what follows it.
func (h *Chooser) search(x, banned uint64, left int) (uint64, bool) {
	if h.looks >= h.o.Looks {
		return 0, false
	}
	open, all, fewest := uint64(0), ^uint64(0), 65
	for _, k := range h.kills {
		if k&x != 0 {
			continue
		}
		k &^= banned
		all &= k
		if n := bits.OnesCount64(k); n < fewest {
			fewest, open = n, k
		}
	}
	if fewest == 65 {
		h.c.under(x)
		h.looks++
		if !h.c.rival() {
			h.unique = true
			if h.o.Plain || h.c.loose() {
				return x, true
			}
			h.nogood = append(h.nogood, x)
			return 0, false
		}
		k := h.c.lacks()
		h.kills = append(h.kills, k)
		open = k &^ banned
		all = open
	}
	if left == 0 {
		return 0, false
	}
	if left == 1 {
		open = all
	}
	for ; open != 0; open &= open - 1 {
		bit := open & -open
		if h.allowed(x|bit, bit) {
			if y, ok := h.search(x|bit, banned, left-1); ok {
				return y, true
			}
		}
		banned |= bit
	}
	return 0, false
}

// allowed says whether the conditions of x, of which bit was the last to come, leave enough where they stand alone.
func (h *Chooser) allowed(x, bit uint64) bool {
	for _, n := range h.nogood {
		if n&^x == 0 {
			return false
		}
	}
	if !h.enough(x, bit) {
		h.nogood = append(h.nogood, x)
		return false
	}
	return true
}

func (h *Chooser) enough(x, bit uint64) bool {
	i := bits.TrailingZeros64(bit)
	place := h.c.conds[i].Place
	if place == h.c.n && !h.o.Plain && h.tells(i) {
		return false
	}
	if m := x & h.c.place[place]; m != bit {
		h.c.under(m)
		if h.c.common(place, h.x.leaf) < h.x.leaf {
			return false
		}
	}
	return !h.o.Apart || h.apartFrom(x&^bit, i)
}

// tells says whether condition i on the answer and the last step give it away together.
func (h *Chooser) tells(i int) bool {
	bit := uint64(1) << i
	if h.tried&bit == 0 {
		h.tried |= bit
		if both(h.c.cands[i], h.x.ends(h.c.walk), h.x.leaf) < h.x.leaf {
			h.told |= bit
		}
	}
	return h.told&bit != 0
}

// ends are the entities that the last step alone allows as answers, ascending: all it leads to, from the anchor when it is
// the only one.
func (x *Index) ends(w Walk) []uint32 {
	last := w.Hops[len(w.Hops)-1].Step
	if len(w.Hops) == 1 {
		return x.neighbours(w.Anchor, last)
	}
	return x.Starts(last.Reverse())
}

// both counts, up to a limit, what two ascending slices share; the first is the shorter one as a rule.
func both(a, b []uint32, limit int) int {
	n := 0
	for _, v := range a {
		if has(b, v) {
			if n++; n == limit {
				break
			}
		}
	}
	return n
}

func (h *Chooser) apartFrom(x uint64, i int) bool {
	k := h.c.conds[i]
	for ; x != 0 && k.Set < 0; x &= x - 1 {
		if o := h.c.conds[bits.TrailingZeros64(x)]; o.Set < 0 && (o.To == k.To || h.x.Joined(o.To, k.To)) {
			return false
		}
	}
	return true
}
