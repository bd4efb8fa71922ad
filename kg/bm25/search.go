package bm25

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Hit is a passage found. Score is BM25 in float32: integer sums divided by 65536, exact below 256.
type Hit struct {
	Passage uint32
	Score   float32
}

// Search appends the best k passages for the query to dst: by score descending, then passage ascending; fewer when fewer
// share a term with it. A term that stands twice in the query counts twice. It is safe for concurrent use.
func (x *Index) Search(query string, k int, dst []Hit) []Hit {
	if k <= 0 || x.n == 0 {
		return dst
	}
	s := x.scratch.Get().(*search)
	defer x.scratch.Put(s)
	s.x, s.n, s.k = x, x.n, min(k, int(x.n))
	s.best = s.best[:0]
	s.terms(query)
	s.run()
	slices.SortFunc(s.best, compare)
	return append(dst, s.best...)
}

func compare(a, b Hit) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	case a.Passage < b.Passage:
		return -1
	}
	return 1
}

// window is how many passages are scored together; their sums fit the first cache.
const window = 2048

// search is the scratch space of one search.
type search struct {
	x       *Index
	n       uint32
	k       int
	cursors []cursor // by bound ascending
	sums    []uint64 // bounds of the cursors up to and including each one, in the whole index; then in a window
	scan    scanner
	need    uint64 // the least sum that can still be among the best k
	best    []Hit  // heap, worst first
	score   [window]uint64
	seen    [window / 64]uint64
}

// terms sets a cursor for each distinct term of the query and need to what is known before looking.
func (s *search) terms(query string) {
	s.scan.text, s.scan.pos, s.scan.cjk = normal(query), 0, 0
	s.cursors = s.cursors[:0]
	s.need = 1
next:
	for {
		term := s.scan.next()
		if term == nil {
			break
		}
		e, t, ok := s.x.find(term)
		if !ok {
			continue
		}
		for i := range s.cursors {
			if s.cursors[i].term == t {
				s.cursors[i].weight += uint64(e.weight)
				continue next
			}
		}
		s.cursors = append(s.cursors, newCursor(s.x, e, t))
	}
	for i := range s.cursors {
		c := &s.cursors[i]
		c.bound = part(c.weight, c.e.best)
		// k passages have this term at this impact or more
		switch {
		case s.k == 1:
			s.need = max(s.need, c.bound)
		case s.k <= 10:
			s.need = max(s.need, part(c.weight, c.e.best10))
		case s.k <= 100:
			s.need = max(s.need, part(c.weight, c.e.best100))
		}
	}
	slices.SortFunc(s.cursors, func(a, b cursor) int {
		switch {
		case a.bound < b.bound:
			return -1
		case a.bound > b.bound:
			return 1
		}
		return int(int64(a.term) - int64(b.term))
	})
}

// optional is how many of the first cursors cannot together reach need; sums holds their bounds added up.
func (s *search) optional(bound func(c *cursor) uint64) int {
	s.sums = s.sums[:0]
	sum, n := uint64(0), 0
	for i := range s.cursors {
		sum += bound(&s.cursors[i])
		s.sums = append(s.sums, sum)
		if sum < s.need {
			n = i + 1
		}
	}
	return n
}

// run goes through the passages in windows. A window begins where one of the terms stands without which no passage can be
// among the best.
func (s *search) run() {
	for from := uint32(0); ; {
		n := s.optional(func(c *cursor) uint64 { return c.bound })
		start := s.n
		for i := n; i < len(s.cursors); i++ {
			s.cursors[i].seek(from)
			start = min(start, s.cursors[i].passage)
		}
		if start >= s.n {
			return
		}
		end := s.n
		if s.n-start > window {
			end = start + window
		}
		for i := range s.cursors {
			s.cursors[i].enter(start, end)
		}
		if n := s.optional(func(c *cursor) uint64 { return c.here }); n < len(s.cursors) {
			s.window(start, end, n)
		}
		from = end
	}
}

// window scores passages start to end: those that hold a term from number n on, each completed by the terms before as
// long as it can reach need.
func (s *search) window(start, end uint32, n int) {
	for i := n; i < len(s.cursors); i++ {
		if s.cursors[i].here > 0 {
			s.cursors[i].add(start, end, &s.score, &s.seen)
		}
	}
	rest := uint64(0)
	if n > 0 {
		rest = s.sums[n-1]
	}
	for w, word := range s.seen {
		if word == 0 {
			continue
		}
		s.seen[w] = 0
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			sum := s.score[i]
			s.score[i] = 0
			if sum+rest < s.need {
				continue
			}
			p := start + uint32(i)
			for j := n - 1; j >= 0 && sum+s.sums[j] >= s.need; j-- {
				if c := &s.cursors[j]; c.here > 0 {
					sum += c.at(p)
				}
			}
			if sum >= s.need {
				s.offer(Hit{p, float32(float64(sum) / unit)}, sum)
			}
		}
	}
}

// offer keeps the hit if it is among the best k so far. Passages come in ascending order, so an equal score loses.
func (s *search) offer(h Hit, sum uint64) {
	if len(s.best) < s.k {
		s.best = append(s.best, h)
		for i := len(s.best) - 1; i > 0 && compare(s.best[(i-1)/2], s.best[i]) < 0; i = (i - 1) / 2 {
			s.best[i], s.best[(i-1)/2] = s.best[(i-1)/2], s.best[i]
		}
	} else if h.Score > s.best[0].Score {
		s.best[0] = h
		s.down()
	}
	if len(s.best) == s.k {
		// below 256 a float32 is the sum itself; above, a sum that rounds to the worst score is looked at in vain
		s.need = max(s.need, uint64(float64(s.best[0].Score)*unit)+1)
	}
}

func (s *search) down() {
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(s.best); c++ {
			if compare(s.best[c], s.best[worst]) > 0 {
				worst = c
			}
		}
		if worst == i {
			return
		}
		s.best[i], s.best[worst] = s.best[worst], s.best[i]
		i = worst
	}
}

// cursor walks the passages of one term.
type cursor struct {
	e      entry
	term   uint32
	weight uint64
	bound  uint64 // largest part of a score in the index
	here   uint64 // largest part in the window; 0: the term has no passage in it

	post    []byte // all blocks
	heads   []byte // their last passages and largest impacts
	block   int
	pos     int    // in the block
	passage uint32 // at pos; the number of passages at the end
}

const done = 1<<32 - 1

func newCursor(x *Index, e entry, t uint32) cursor {
	c := cursor{e: e, term: t, weight: uint64(e.weight)}
	c.post = x.postings[e.off : e.off+uint64(e.df)*postingSize]
	first := uint64(e.block) * metaSize
	c.heads = x.blocks[first : first+(uint64(e.df)+blockSize-1)/blockSize*metaSize]
	c.passage = binary.LittleEndian.Uint32(c.post)
	return c
}

func (c *cursor) lastOf(b int) uint32 { return binary.LittleEndian.Uint32(c.heads[b*metaSize:]) }

// body is block b: its passages and its impacts.
func (c *cursor) body(b int) (passages, impacts []byte) {
	p := c.post[b*blockSize*postingSize:]
	n := min(blockSize, len(p)/postingSize)
	return p[:4*n], p[4*n : 6*n]
}

// seek goes on to the first passage at or after p.
func (c *cursor) seek(p uint32) {
	if c.passage >= p {
		return
	}
	blocks := len(c.heads) / metaSize
	b := c.block
	for b < blocks && c.lastOf(b) < p {
		b++
	}
	if b == blocks {
		c.block, c.pos, c.passage = b, 0, done
		return
	}
	if b != c.block {
		c.block, c.pos = b, 0
	}
	passages, _ := c.body(b)
	lo, hi := c.pos, len(passages)/4
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if binary.LittleEndian.Uint32(passages[4*mid:]) < p {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(passages)/4 { // only in a damaged file
		c.block, c.pos, c.passage = blocks, 0, done
		return
	}
	c.pos, c.passage = lo, binary.LittleEndian.Uint32(passages[4*lo:])
}

// enter goes to a window and bounds what the term can add in it.
func (c *cursor) enter(start, end uint32) {
	c.seek(start)
	c.here = 0
	if c.passage >= end {
		return
	}
	top := uint16(0)
	for b := c.block; b < len(c.heads)/metaSize; b++ {
		top = max(top, uint16(binary.LittleEndian.Uint32(c.heads[b*metaSize+4:])))
		if c.lastOf(b) >= end-1 {
			break
		}
	}
	c.here = part(c.weight, top)
}

// add adds the term's parts in the window to the scores and marks their passages.
func (c *cursor) add(start, end uint32, score *[window]uint64, seen *[window / 64]uint64) {
	blocks := len(c.heads) / metaSize
	for c.block < blocks {
		passages, impacts := c.body(c.block)
		for i := c.pos; i < len(impacts)/2; i++ {
			p := binary.LittleEndian.Uint32(passages[4*i:])
			if p >= end {
				c.pos, c.passage = i, p
				return
			}
			at := (p - start) % window // as it is but in a damaged file
			score[at] += part(c.weight, binary.LittleEndian.Uint16(impacts[2*i:]))
			seen[at/64] |= 1 << (at % 64)
		}
		c.block, c.pos = c.block+1, 0
	}
	c.passage = done
}

// at is the term's part of passage p's score. It is asked for ascending passages.
func (c *cursor) at(p uint32) uint64 {
	c.seek(p)
	if c.passage != p {
		return 0
	}
	_, impacts := c.body(c.block)
	return part(c.weight, binary.LittleEndian.Uint16(impacts[2*c.pos:]))
}
