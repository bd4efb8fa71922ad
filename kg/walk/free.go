package walk

import (
	"context"
	"math"
	"math/bits"

	"github.com/quarry-rl/quarry/kg/csr"
)

// None stands for the half-edge of a walk that has ended.
const None = math.MaxUint32

// Free draws walks that may go anywhere and come back: no rules, only the chance of each half-edge. It advances all
// walkers of a batch by one step per round, in passes over rows, draws and targets: no access waits for the one before
// it, so that the processor has many cache misses under way at once (step interleaving, ThunderRW, VLDB 2021). Safe for concurrent use.
type Free struct {
	g      *csr.Graph
	seed   uint64
	length int
	starts []uint32
	live   uint32  // some vertex with a row, or None
	table  []alias // one per half-edge; nil for uniform walks
}

// NewUniform draws walks of a length in steps. Each half-edge of a row is equally likely, so that two statements between
// the same entities count twice, and a statement of an entity about itself too. A walk starts at one of starts, or
// anywhere when starts is nil. An isolated start gives an empty walk; a walk that has begun always has a way on.
func NewUniform(g *csr.Graph, seed uint64, length int, starts []uint32) (*Free, error) {
	if length < 1 {
		return nil, invalid("length", "a walk has at least one step", "give a length of 1 or more")
	}
	if err := checkStarts(g, starts); err != nil {
		return nil, err
	}
	f := &Free{g: g, seed: seed, length: length, starts: starts, live: None}
	for v := range uint32(g.Entities()) {
		if g.Degree(v) > 0 {
			f.live = v
			break
		}
	}
	return f, nil
}

// Batch holds walks First to First+len(Starts)-1, round by round: step r of walk i is half-edge Halves[r*len(Starts)+i],
// None after the walk's end.
type Batch struct {
	First  int
	Starts []uint32
	Halves []uint32

	at, degrees []uint32
	keys        []uint64
}

// Fill draws count walks from number first on. It reuses what b holds.
func (f *Free) Fill(b *Batch, first, count int) {
	b.First = first
	b.Starts, b.at, b.degrees, b.keys = resize(b.Starts, count), resize(b.at, count), resize(b.degrees, count), resize(b.keys, count)
	b.Halves = resize(b.Halves, count*f.length)
	isolated := f.begin(b)
	for r := range f.length {
		halves := b.Halves[r*count : (r+1)*count]
		if f.table != nil {
			f.weightedRound(b, halves, uint64(r+2)*golden)
		} else if f.live != None {
			f.round(b, halves, uint64(r+2)*golden)
		}
	}
	if isolated == 0 {
		return
	}
	for i, v := range b.Starts {
		if v == None || f.g.Degree(v) == 0 {
			for r := range f.length {
				b.Halves[r*count+i] = None
			}
		}
	}
}

// begin draws the starts. Walkers without a row walk elsewhere, so that no round has to ask; their steps are struck out.
func (f *Free) begin(b *Batch) (isolated int) {
	n := uint64(f.g.Entities())
	if f.starts != nil {
		n = uint64(len(f.starts))
	}
	for i := range b.Starts {
		k := key(f.seed, kindFree, b.First+i)
		hi, _ := bits.Mul64(mix(k+golden), n)
		v := uint32(None)
		if n > 0 {
			v = uint32(hi)
			if f.starts != nil {
				v = f.starts[hi]
			}
		}
		b.Starts[i], b.at[i], b.keys[i] = v, v, k
		if v == None || f.g.Degree(v) == 0 {
			b.at[i] = f.live
			isolated++
		}
	}
	return isolated
}

// round is three passes, because a loop that only loads has the most misses under way.
func (f *Free) round(b *Batch, halves []uint32, draw uint64) {
	at, degrees, keys := b.at[:len(halves)], b.degrees[:len(halves)], b.keys[:len(halves)]
	off, targets := f.g.Off, f.g.Targets
	for i, v := range at {
		row := off[v]
		halves[i], degrees[i] = row, off[v+1]-row
	}
	for i, k := range keys {
		hi, _ := bits.Mul64(mix(k+draw), uint64(degrees[i]))
		halves[i] += uint32(hi)
	}
	for i, p := range halves {
		at[i] = targets[p]
	}
}

// Path is walk i of the batch, at most its length: shorter when it ended.
func (b *Batch) Path(g *csr.Graph, i int) Path {
	p := Path{Anchor: b.Starts[i]}
	if len(b.Halves) == 0 || b.Halves[i] == None {
		return p
	}
	p.Hops = make([]Hop, 0, len(b.Halves)/len(b.Starts))
	at := p.Anchor
	for j := i; j < len(b.Halves) && b.Halves[j] != None; j += len(b.Starts) {
		h := hopAt(g, at, b.Halves[j])
		p.Hops = append(p.Hops, h)
		at = h.Target
	}
	return p
}

func hopAt(g *csr.Graph, v, half uint32) Hop {
	e := g.EdgeAt(v, half)
	return Hop{Step: g.Steps[half], Edge: e, Target: g.Targets[half], Doc: g.Docs[e]}
}

// batch is how many walkers advance together: enough to hide memory, few enough to stay in the first-level cache.
const batch = 1024

// Run draws walks first to first+count-1 on so many goroutines and hands them over in order of their numbers, from the
// caller's goroutine. The reason is Complete, Start or DeadEnd; a path that ended early holds the steps up to there.
func (f *Free) Run(ctx context.Context, first, count, concurrency int, emit func(n int, p Path, why Reason)) error {
	return ordered(ctx, first, count, batch, concurrency, func(lo, hi int) *Batch {
		b := new(Batch)
		f.Fill(b, lo, hi-lo)
		return b
	}, func(b *Batch) {
		for i, v := range b.Starts {
			p, why := b.Path(f.g, i), Complete
			switch {
			case v == None:
				why = Start
			case len(p.Hops) < f.length:
				why = DeadEnd
			}
			emit(b.First+i, p, why)
		}
	})
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
