package bm25

import (
	"bytes"
	"math"
)

// dict numbers terms in the order they come. Its table is the file's: slots of (upper half of the hash, number + 1),
// searched onward from the lower half, never more than two thirds full.
type dict struct {
	names []byte
	ends  []uint32 // end of each name
	slots []uint64
}

// hash is FNV-1a of 64 bits, with its bits mixed once more since only some are used.
func hash(term []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range term {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h ^ h>>29
}

func (d *dict) len() int { return len(d.ends) }

func (d *dict) name(t uint32) []byte {
	start := uint32(0)
	if t > 0 {
		start = d.ends[t-1]
	}
	return d.names[start:d.ends[t]]
}

// number is a term's number, a new one when it was not seen before; ok is false when the names are full.
func (d *dict) number(term []byte) (t uint32, ok bool) {
	if 3*d.len() >= 2*len(d.slots) {
		d.grow()
	}
	h := hash(term)
	i := d.find(term, h)
	if s := d.slots[i]; s != 0 {
		return uint32(s) - 1, true
	}
	if len(d.names)+len(term) > math.MaxUint32 || d.len() >= math.MaxUint32-1 {
		return 0, false
	}
	t = uint32(d.len())
	d.names = append(d.names, term...)
	d.ends = append(d.ends, uint32(len(d.names)))
	d.slots[i] = h&^math.MaxUint32 | uint64(t+1)
	return t, true
}

// find is the slot of a term, or the empty one it would take.
func (d *dict) find(term []byte, h uint64) int {
	mask := uint64(len(d.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := d.slots[i]
		if s == 0 || s>>32 == h>>32 && bytes.Equal(d.name(uint32(s)-1), term) {
			return int(i)
		}
	}
}

func (d *dict) grow() {
	d.slots = make([]uint64, max(16, 2*len(d.slots)))
	mask := uint64(len(d.slots) - 1)
	for t := range uint32(d.len()) {
		h := hash(d.name(t))
		i := h & mask
		for d.slots[i] != 0 {
			i = (i + 1) & mask
		}
		d.slots[i] = h&^math.MaxUint32 | uint64(t+1)
	}
}
