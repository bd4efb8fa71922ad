package walk

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/quarry-rl/quarry/kg/csr"
)

// alias is one column of a row's alias table (Walker 1974, built as Vose 1991): a draw that falls on it stays when its
// fraction is below keep, and goes to half-edge other if not. 8 bytes a half-edge.
type alias struct {
	keep  uint32 // of 2^32
	other uint32
}

// NewWeighted draws walks as NewUniform, but half-edges of a row in proportion to weight(v, half), to within 2^-32 of
// the row's sum; v is the row, g.Steps[half] and g.Targets[half] say where it leads. A weight is finite and not
// negative, and a half-edge of weight 0 is never walked. A row of zeros is a dead end: the walk ends there.
func NewWeighted(g *csr.Graph, seed uint64, length int, starts []uint32, weight func(v, half uint32) float64) (*Free, error) {
	f, err := NewUniform(g, seed, length, starts)
	if err != nil {
		return nil, err
	}
	f.table = make([]alias, len(g.Targets))
	var b aliasBuilder
	for v := range uint32(g.Entities()) {
		lo, hi := g.Off[v], g.Off[v+1]
		b.weights = b.weights[:0]
		for p := lo; p < hi; p++ {
			w := weight(v, p)
			if !(w >= 0) || math.IsInf(w, 1) {
				return nil, invalid("weight", fmt.Sprintf("half-edge %d of entity %d weighs %v, expected a finite number from 0 on", p, v, w),
					"check the weight function for divisions by 0")
			}
			b.weights = append(b.weights, w)
		}
		b.build(f.table[lo:hi], lo)
	}
	return f, nil
}

type aliasBuilder struct {
	weights      []float64
	small, large []uint32
}

func (b *aliasBuilder) build(row []alias, lo uint32) {
	top := 0.0
	for _, w := range b.weights {
		top = max(top, w)
	}
	if top == 0 {
		for i := range row {
			row[i] = alias{0, None}
		}
		return
	}
	sum := 0.0
	for i := range b.weights {
		b.weights[i] /= top // the sum stays finite
		sum += b.weights[i]
	}
	b.small, b.large = b.small[:0], b.large[:0]
	scale := float64(len(row)) / sum
	for i := range b.weights {
		b.weights[i] *= scale
		row[i] = alias{math.MaxUint32, lo + uint32(i)} // what stays without a partner is full but for rounding
		if b.weights[i] < 1 {
			b.small = append(b.small, uint32(i))
		} else {
			b.large = append(b.large, uint32(i))
		}
	}
	for len(b.small) > 0 && len(b.large) > 0 {
		s, l := b.small[len(b.small)-1], b.large[len(b.large)-1]
		b.small = b.small[:len(b.small)-1]
		row[s] = alias{uint32(b.weights[s] * (1 << 32)), lo + l}
		b.weights[l] -= 1 - b.weights[s]
		if b.weights[l] < 1 {
			b.large = b.large[:len(b.large)-1]
			b.small = append(b.small, l)
		}
	}
}

func (f *Free) weightedRound(b *Batch, halves []uint32, draw uint64) {
	at, degrees, keys := b.at[:len(halves)], b.degrees[:len(halves)], b.keys[:len(halves)]
	off, targets, table := f.g.Off, f.g.Targets, f.table
	for i, v := range at {
		if v == None {
			halves[i], degrees[i] = None, 0
			continue
		}
		row := off[v]
		halves[i], degrees[i] = row, off[v+1]-row
	}
	for i, k := range keys {
		p := halves[i]
		if p == None {
			continue
		}
		hi, frac := bits.Mul64(mix(k+draw), uint64(degrees[i]))
		p += uint32(hi)
		a := table[p]
		other := a.other // loaded either way, so that the choice is a conditional move and not a branch
		if uint32(frac>>32) >= a.keep {
			p = other
		}
		halves[i] = p
	}
	for i, p := range halves {
		at[i] = None
		if p != None {
			at[i] = targets[p]
		}
	}
}
