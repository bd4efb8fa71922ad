package near

import "math"

// Hasher makes MinHash signatures (Broder 1997). Permutation i orders shingle hashes x by a_i x modulo 2^64 with a_i odd.
// It is read-only and safe for concurrent use.
type Hasher struct {
	seed uint64
	mult []uint64
}

// NewHasher gives a hasher of n permutations, n rounded up to a multiple of 4. Equal seeds give equal signatures.
func NewHasher(n int, seed uint64) *Hasher {
	h := &Hasher{seed: mix(seed), mult: make([]uint64, (n+3)/4*4)}
	x := h.seed
	for i := range h.mult {
		x += 0x9e3779b97f4a7c15
		h.mult[i] = mix(x) | 1
	}
	return h
}

// Size is the number of values of a signature.
func (h *Hasher) Size() int { return len(h.mult) }

// Shingles appends the shingle hashes of a normal text to dst.
func (h *Hasher) Shingles(dst []uint64, normal string) []uint64 {
	return AppendShingles(dst, normal, h.seed)
}

// Sign writes into sig, of Size values, the least value of the shingles under each permutation; all ones for none.
// Repeated shingles change nothing.
func (h *Hasher) Sign(sig, shingles []uint64) {
	// four at a time: the products do not wait for one another, and each shingle is loaded once for four
	for j := 0; j+4 <= len(h.mult) && j+4 <= len(sig); j += 4 {
		a0, a1, a2, a3 := h.mult[j], h.mult[j+1], h.mult[j+2], h.mult[j+3]
		m0, m1, m2, m3 := uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(math.MaxUint64)
		for _, x := range shingles {
			m0, m1, m2, m3 = min(m0, a0*x), min(m1, a1*x), min(m2, a2*x), min(m3, a3*x)
		}
		sig[j], sig[j+1], sig[j+2], sig[j+3] = m0, m1, m2, m3
	}
}

// Bytes appends the low 8 bits of each value after mixing: a b-bit signature (Li and Koenig 2010, b = 8), from which
// the shingles cannot be read back one by one.
func (h *Hasher) Bytes(dst []byte, sig []uint64) []byte {
	for _, v := range sig {
		dst = append(dst, byte(mix(v)))
	}
	return dst
}

// ByteSimilarity estimates the Jaccard similarity from two 8-bit signatures of equal length: the share of equal bytes,
// corrected for chance. Standard error about sqrt(s(1-s)/n).
func ByteSimilarity(a, b []byte) float64 {
	if len(a) == 0 || len(a) != len(b) {
		return 0
	}
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	const chance = 1. / 256
	return max(0, (float64(same)/float64(len(a))-chance)/(1-chance))
}

// Jaccard is the share of common shingles of two ascending sets without repetitions; 1 for two empty ones. The sets
// hold 64-bit hashes: two different shingles fall together once in 10^19.
func Jaccard(a, b []uint64) float64 {
	both, i, j := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	all := len(a) + len(b) - both
	if all == 0 {
		return 1
	}
	return float64(both) / float64(all)
}
