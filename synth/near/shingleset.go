package near

import "math/bits"

// shingleSet is an open-addressing table of shingle hashes that is filled again and again. A slot belongs to the set
// when its generation is the current one, so nothing is ever cleared.
type shingleSet struct {
	slots []slot
	n     int // distinct shingles
	fills uint32
	marks uint32
}

type slot struct {
	key  uint64
	fill uint32 // fill in which it was taken
	mark uint32 // count in which it was met
}

// fill replaces what the set holds.
func (s *shingleSet) fill(shingles []uint64) {
	if need := 1 << bits.Len(uint(2*len(shingles))); need > len(s.slots) || s.fills == 1<<32-1 || s.marks >= 1<<31 {
		s.slots, s.fills, s.marks = make([]slot, max(need, 256)), 0, 0
	}
	s.fills++
	s.n = 0
	mask := uint64(len(s.slots) - 1)
	for _, x := range shingles {
		i := x & mask
		for s.slots[i].fill == s.fills && s.slots[i].key != x {
			i = (i + 1) & mask
		}
		if s.slots[i].fill != s.fills {
			s.slots[i] = slot{key: x, fill: s.fills}
			s.n++
		}
	}
}

// common counts the distinct shingles of others that are in the set.
func (s *shingleSet) common(others []uint64) int {
	if len(s.slots) == 0 {
		return 0
	}
	if s.marks++; s.marks == 0 { // wrapped around: old marks would count as met
		for i := range s.slots {
			s.slots[i].mark = 0
		}
		s.marks = 1
	}
	n := 0
	mask := uint64(len(s.slots) - 1)
	for _, x := range others {
		i := x & mask
		for s.slots[i].fill == s.fills {
			if s.slots[i].key == x {
				if s.slots[i].mark != s.marks {
					s.slots[i].mark = s.marks
					n++
				}
				break
			}
			i = (i + 1) & mask
		}
	}
	return n
}
