package walk

import "math/bits"

// golden is the increment of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
const golden = 0x9e3779b97f4a7c15

// mix is SplitMix64's finaliser.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// key starts the stream of walk n: draw i of it is mix(key + i*golden), so any draw can be had without those before it.
func key(seed, kind uint64, n int) uint64 { return mix(mix(mix(seed+golden)^kind) + golden*uint64(n)) }

// The kinds of streams. Walks of different kinds and equal numbers share nothing.
const (
	kindFree = iota + 1
	kindChain
	kindPattern
)

type rng uint64

func (r *rng) next() uint64 {
	*r += golden
	return mix(uint64(*r))
}

// below is uniform on 0 to n-1, to within n/2^64.
func (r *rng) below(n uint32) uint32 {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return uint32(hi)
}

// float is uniform on [0, 1).
func (r *rng) float() float64 { return float64(r.next()>>11) / (1 << 53) }
