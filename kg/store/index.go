package store

import (
	"slices"
	"sort"

	"github.com/quarry-rl/quarry"
)

// index finds numbers by text: the 32-bit hashes of the texts in ascending order and the number behind each. What it
// finds is compared with the text itself, so equal hashes cost time only.
type index struct{ hash, num []uint32 }

// fold is the hash of the file: FNV-1a of 64 bits, its halves joined by exclusive or.
func fold(s []byte) uint32 {
	h := uint64(14695981039346656037)
	for _, c := range s {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return uint32(h ^ h>>32)
}

// keys are what an index is sorted from: hash and number in one.
type keys []uint64

func (k keys) add(text []byte, n uint32) keys { return append(k, uint64(fold(text))<<32|uint64(n)) }

// addName adds a surface form as names are compared; one without letters and digits is not found by name.
func (k keys) addName(name string, n uint32) keys {
	if norm := quarry.Normalize(name); norm != "" {
		return k.add(bytesOf(norm), n)
	}
	return k
}

func (k keys) index() index {
	slices.Sort(k)
	k = slices.Compact(k)
	x := index{make([]uint32, len(k)), make([]uint32, len(k))}
	for i, v := range k {
		x.hash[i], x.num[i] = uint32(v>>32), uint32(v)
	}
	return x
}

// candidates are the numbers whose text may be this one, ascending.
func (x index) candidates(text []byte) []uint32 {
	h := fold(text)
	lo, _ := slices.BinarySearch(x.hash, h)
	n := sort.Search(len(x.hash)-lo, func(i int) bool { return x.hash[lo+i] > h })
	return x.num[min(lo, len(x.num)):min(lo+n, len(x.num))]
}

// pair is an item of a list that belongs to a number.
type pair struct{ of, item uint32 }

type pairs []pair

// rows groups the items of n numbers, in order of appearance and each once: off has n+1 positions in items.
func (p pairs) rows(n, distinct int) (off, items []uint32) {
	off = make([]uint32, n+1)
	for _, x := range p {
		off[x.of+1]++
	}
	for v := range n {
		off[v+1] += off[v]
	}
	items = make([]uint32, len(p))
	next := slices.Clone(off[:n])
	for _, x := range p {
		items[next[x.of]] = x.item
		next[x.of]++
	}
	seen := make([]uint32, distinct) // last number that had the item, plus one
	kept := uint32(0)
	for v := range n {
		from, end := off[v], off[v+1]
		off[v] = kept
		for _, item := range items[from:end] {
			if seen[item] != uint32(v)+1 {
				seen[item] = uint32(v) + 1
				items[kept] = item
				kept++
			}
		}
	}
	off[n] = kept
	return off, items[:kept]
}

// distinct drops doubles; the order within a number stays.
func (p pairs) distinct(n, distinct int) pairs {
	off, items := p.rows(n, distinct)
	p = p[:0]
	for v := range n {
		for _, item := range items[off[v]:off[v+1]] {
			p = append(p, pair{uint32(v), item})
		}
	}
	return p
}
