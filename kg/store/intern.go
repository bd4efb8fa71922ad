package store

import (
	"encoding/binary"
	"hash/maphash"
	"io"
	"math"
	"unicode/utf8"
)

// MaxText is the longest id, name, description or document in bytes.
const MaxText = 64 << 20

const (
	chunkBits = 20
	chunkSize = 1 << chunkBits
	headSize  = 8 // number and length before each string
)

// table numbers distinct strings in order of first appearance. A known string costs two cache misses, one slot and one
// entry, and no allocation: 8 bytes a slot, 16 and its bytes a string.
type table struct {
	seed   maphash.Seed
	slots  []uint64 // 0, or 24 bits of the hash with the highest set, 20 of the chunk, 20 of the place in it
	chunks [][]byte // entries: number, length, bytes; one that is longer than a chunk has its own
	at     []uint64 // chunk and place of each number
}

func newTable() *table { return &table{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<10)} }

// newPool is a table in which "" is number 0.
func newPool() *table {
	t := newTable()
	t.intern(nil)
	return t
}

// intern is the number of s. It refuses a string that is too long or not UTF-8 with a message of what is wrong; such a
// string is never known, so only new ones are looked at.
func (t *table) intern(s []byte) (n uint32, bad string) {
	e, bad := t.known(s)
	if bad != "" {
		return 0, bad
	}
	return binary.LittleEndian.Uint32(e), ""
}

// known is intern that gives the entry: number, length, bytes.
func (t *table) known(s []byte) (e []byte, bad string) {
	h := maphash.Bytes(t.seed, s)
	e, i := t.find(s, h)
	if e != nil {
		return e, ""
	}
	if bad = fault(s); bad != "" {
		return nil, bad
	}
	if len(t.at) == math.MaxUint32-1 {
		return nil, "one more than a graph can number"
	}
	at := t.add(s)
	t.slots[i] = (h>>40|1<<23)<<40 | at
	if 2*len(t.at) >= len(t.slots) {
		t.grow()
	}
	return t.entry(at), ""
}

// has says whether s is known.
func (t *table) has(s []byte) bool {
	e, _ := t.find(s, maphash.Bytes(t.seed, s))
	return e != nil
}

// find is the entry of s, or nil and the free slot i where it belongs.
func (t *table) find(s []byte, h uint64) (e []byte, i uint64) {
	slots := t.slots
	tag, mask := h>>40|1<<23, uint64(len(slots)-1)
	for i = h & mask; ; i = (i + 1) & mask {
		slot := slots[i]
		if slot == 0 {
			return nil, i
		}
		if slot>>40 != tag {
			continue
		}
		e = t.entry(slot)
		if l := int(binary.LittleEndian.Uint32(e[4:])); l == len(s) && string(e[headSize:headSize+l]) == string(s) {
			return e, i
		}
	}
}

// fault says what is wrong with a text.
func fault(s []byte) string {
	switch {
	case len(s) > MaxText:
		return "longer than 64 MiB"
	case !utf8.Valid(s):
		return "not UTF-8"
	}
	return ""
}

func (t *table) entry(at uint64) []byte {
	return t.chunks[at>>chunkBits&(chunkSize-1)][at&(chunkSize-1):]
}

func (t *table) add(s []byte) (at uint64) {
	last := len(t.chunks) - 1
	if last < 0 || len(t.chunks[last])+headSize+len(s) > cap(t.chunks[last]) {
		t.chunks = append(t.chunks, make([]byte, 0, max(chunkSize, headSize+len(s))))
		last++
	}
	c := t.chunks[last]
	at = uint64(last)<<chunkBits | uint64(len(c))
	c = binary.LittleEndian.AppendUint32(c, uint32(len(t.at)))
	c = binary.LittleEndian.AppendUint32(c, uint32(len(s)))
	t.chunks[last] = append(c, s...)
	t.at = append(t.at, at)
	return at
}

func (t *table) grow() {
	t.slots = make([]uint64, 2*len(t.slots)) // the entries know all that the old slots did
	mask := uint64(len(t.slots) - 1)
	for n, at := range t.at {
		h := maphash.Bytes(t.seed, t.bytes(uint32(n)))
		i := h & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = (h>>40|1<<23)<<40 | at
	}
}

func (t *table) len() int { return len(t.at) }

// bytes is string n; not to be changed.
func (t *table) bytes(n uint32) []byte {
	e := t.entry(t.at[n])
	return e[headSize : headSize+int(binary.LittleEndian.Uint32(e[4:]))]
}

func (t *table) string(n uint32) string { return string(t.bytes(n)) }

// seal drops what only interning needs.
func (t *table) seal() { t.slots = nil }

// offsets are len+1 positions in what writeBytes writes.
func (t *table) offsets() []uint64 {
	off := make([]uint64, 1, len(t.at)+1)
	for n := range t.at {
		off = append(off, off[n]+uint64(len(t.bytes(uint32(n)))))
	}
	return off
}

// writeBytes writes all strings in order of their numbers.
func (t *table) writeBytes(w io.Writer) error {
	for n := range t.at {
		if _, err := w.Write(t.bytes(uint32(n))); err != nil {
			return err
		}
	}
	return nil
}
