package worldgen

import "math/bits"

// purpose keeps the streams of one entity apart.
type purpose uint64

const (
	aboutFacts purpose = iota
	aboutText
	aboutAlias
	aboutBirth
	aboutFounding
	aboutMarriage
	aboutTwins
	aboutNames
	aboutWorld purpose = 1 << 16
)

// stream is the random numbers of entity i for a purpose.
func (w *World) stream(i int, p purpose) random {
	return random{mix(mix(w.o.Seed^mix(uint64(p)+1)) + uint64(i))}
}

// random is SplitMix64 (Steele, Lea, Flood 2014). All draws are of integers, so that machines agree.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// intn is uniform in 0 to n-1, to within n/2^64.
func (r *random) intn(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// skewed is in 0 to n-1 with chances that fall as 1/sqrt(rank): hubs, but no entity that everything leads to.
func (r *random) skewed(n int) int {
	u := r.next()
	hi, _ := bits.Mul64(u, u)
	hi, _ = bits.Mul64(hi, uint64(n))
	return int(hi)
}

// shuffle is a keyed permutation of 0 to size-1: a Feistel network of four rounds on the next power of four, walked on
// until it falls within (Black and Rogaway 2002). So names are spread over all there are, and none comes twice.
type shuffle struct {
	size uint64
	half uint
	keys [4]uint64
}

func newShuffle(size uint64, r random) shuffle {
	s := shuffle{size: size, half: uint(bits.Len64(size-1)+1) / 2}
	for i := range s.keys {
		s.keys[i] = r.next()
	}
	return s
}

func (s *shuffle) at(x uint64) uint64 {
	mask := uint64(1)<<s.half - 1
	for {
		l, r := x>>s.half, x&mask
		for _, k := range s.keys {
			l, r = r, l^mix(k^r)&mask
		}
		if x = l<<s.half | r; x < s.size {
			return x
		}
	}
}
