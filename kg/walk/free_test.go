package walk

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// The first outputs of SplitMix64 for seed 1234567, as published with its reference implementation.
func TestSplitMix(t *testing.T) {
	r := rng(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := r.next(); got != want {
			t.Errorf("draw %d is %d, want %d", i, got, want)
		}
	}
}

func graphs(n, rels int, docs []uint32) *rapid.Generator[*csr.Graph] {
	return rapid.Custom(func(t *rapid.T) *csr.Graph {
		n := rapid.IntRange(1, n).Draw(t, "n")
		es := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) csr.Edge {
			return csr.Edge{Subject: uint32(rapid.IntRange(0, n-1).Draw(t, "s")), Object: uint32(rapid.IntRange(0, n-1).Draw(t, "o")),
				Relation: uint16(rapid.IntRange(0, rels-1).Draw(t, "r")), Doc: rapid.SampledFrom(docs).Draw(t, "d")}
		}), 0, 24).Draw(t, "edges")
		g, err := csr.New(n, rels, es)
		if err != nil {
			t.Fatal(err)
		}
		return g
	})
}

// checkChain fails unless every hop is a statement of the graph in the direction it says.
func checkChain(t interface{ Fatalf(string, ...any) }, g *csr.Graph, p Path) {
	at := p.Anchor
	for i, h := range p.Hops {
		e := g.Edge(h.Edge)
		from, to := e.Subject, e.Object
		if h.Step.Inverse() {
			from, to = to, from
		}
		if from != at || to != h.Target || int(e.Relation) != h.Step.Relation() {
			t.Fatalf("hop %d of %v from %d is not edge %v", i, p, at, e)
		}
		at = h.Target
	}
	if p.End() != at {
		t.Fatalf("%v ends at %d, not %d", p, p.End(), at)
	}
}

// Whatever the batch, walk n is the same, its hops join on, and it ends early only where there is nothing to walk.
func TestFreeWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := graphs(6, 3, []uint32{csr.NoDoc, 0, 1}).Draw(t, "graph")
		length := rapid.IntRange(1, 6).Draw(t, "length")
		var starts []uint32
		if rapid.Bool().Draw(t, "starts") {
			starts = rapid.SliceOfN(rapid.Uint32Range(0, uint32(g.Entities()-1)), 0, 4).Draw(t, "from")
		}
		weights := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0, 1, 2.5, 1e300}), len(g.Targets), len(g.Targets)).Draw(t, "weights")
		weighted := rapid.Bool().Draw(t, "weighted")
		f, err := NewUniform(g, 7, length, starts)
		if weighted {
			f, err = NewWeighted(g, 7, length, starts, func(_, half uint32) float64 { return weights[half] })
		}
		if err != nil {
			t.Fatal(err)
		}
		const count = 40
		var all, some Batch
		f.Fill(&all, 3, count)
		size := rapid.IntRange(1, count).Draw(t, "size")
		for i := range count {
			if i%size == 0 {
				f.Fill(&some, 3+i, size)
			}
			p := all.Path(g, i)
			if q := some.Path(g, i%size); !reflect.DeepEqual(p, q) {
				t.Fatalf("walk %d is %v in one batch and %v in batches of %d", 3+i, p, q, size)
			}
			if starts != nil && len(starts) == 0 {
				if p.Anchor != None || len(p.Hops) != 0 {
					t.Fatalf("without a start: %v", p)
				}
				continue
			}
			if starts != nil && !slices.Contains(starts, p.Anchor) {
				t.Fatalf("%v does not start at one of %v", p, starts)
			}
			checkChain(t, g, p)
			open := false
			for h := g.Off[p.End()]; h < g.Off[p.End()+1]; h++ {
				open = open || !weighted || weights[h] > 0
			}
			if len(p.Hops) > length || len(p.Hops) < length && open {
				t.Fatalf("%v has %d of %d hops; way on: %v", p, len(p.Hops), length, open)
			}
			if weighted {
				for r := range p.Hops {
					if weights[all.Halves[r*count+i]] == 0 {
						t.Fatalf("%v walks hop %d of weight 0", p, r)
					}
				}
			}
		}
	})
}

// chi2 fails unless counts agree with shares at p > 0.01, by the Wilson-Hilferty approximation of the quantile.
func chi2(t *testing.T, what string, counts []int, shares []float64) {
	t.Helper()
	total, sum, df := 0, 0.0, -1.0
	for i, c := range counts {
		total += c
		sum += shares[i]
	}
	x := 0.0
	for i, c := range counts {
		want := float64(total) * shares[i] / sum
		if want == 0 {
			if c != 0 {
				t.Fatalf("%s: %d draws of choice %d, which has no share", what, c, i)
			}
			continue
		}
		x += (float64(c) - want) * (float64(c) - want) / want
		df++
	}
	q := df * math.Pow(1-2/(9*df)+2.326348*math.Sqrt(2/(9*df)), 3)
	if x > q {
		t.Errorf("%s: chi-square %.1f on %.0f degrees of freedom, at most %.1f: %v", what, x, df, q, counts)
	}
}

// wheel joins vertex 0 to 1..n, every second statement backwards, statement by statement with the documents given.
func wheel(t *testing.T, n int, doc func(i int) uint32, more ...csr.Edge) *csr.Graph {
	t.Helper()
	es := slices.Clone(more)
	top := n
	for _, e := range more {
		top = max(top, int(e.Subject), int(e.Object))
	}
	for i := range n {
		e := csr.Edge{Subject: 0, Object: uint32(i + 1), Relation: uint16(i % 3), Doc: doc(i)}
		if i%2 == 1 {
			e.Subject, e.Object = e.Object, e.Subject
		}
		es = append(es, e)
	}
	g, err := csr.New(top+1, 3, es)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func noDoc(int) uint32 { return csr.NoDoc }

// Steps of free walks have the shares their weights say, in the first round and in a later one.
func TestFreeShares(t *testing.T) {
	const n, draws = 37, 100_000
	g := wheel(t, n, noDoc)
	weight := func(v, half uint32) float64 { return float64((half * 7) % 5) }
	weighted, err := NewWeighted(g, 3, 3, []uint32{0}, weight)
	if err != nil {
		t.Fatal(err)
	}
	uniform, err := NewUniform(g, 3, 3, []uint32{0})
	if err != nil {
		t.Fatal(err)
	}
	ones, shares := make([]float64, n), make([]float64, n)
	for i := range ones {
		ones[i], shares[i] = 1, weight(0, g.Off[0]+uint32(i))
	}
	for _, c := range []struct {
		name   string
		f      *Free
		shares []float64
	}{{"uniform", uniform, ones}, {"weighted", weighted, shares}} {
		var b Batch
		c.f.Fill(&b, 0, draws)
		for _, round := range []int{0, 2} {
			counts := make([]int, n)
			for i := range draws {
				if p := b.Halves[round*draws+i]; p != None {
					counts[p-g.Off[0]]++
				}
			}
			chi2(t, c.name, counts, c.shares)
		}
	}
}

// The shares that a table gives, added up column by column, are the weights', and none of it goes to a weight of 0.
func TestAliasTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0, 0.1, 0.2, 0.3, 1.0 / 3, 7, 1e-3}), 1, 40).Draw(t, "weights")
		row := make([]alias, len(weights))
		b := aliasBuilder{weights: slices.Clone(weights)}
		b.build(row, 100)
		sum := 0.0
		for _, w := range weights {
			sum += w
		}
		share := make([]float64, len(weights))
		for i, a := range row {
			if sum == 0 {
				if a != (alias{0, None}) {
					t.Fatalf("a row of zeros walks on: %v", row)
				}
				continue
			}
			keep := float64(a.keep) / (1 << 32)
			if weights[i] == 0 && keep > 0 || weights[a.other-100] == 0 && keep < 1 {
				t.Fatalf("column %d of %v gives a share to weight 0: %v", i, weights, a)
			}
			share[i] += keep
			share[a.other-100] += 1 - keep
		}
		for i := range share {
			if want := weights[i] / max(sum, 1e-9) * float64(len(row)); math.Abs(share[i]-want) > 1e-7 {
				t.Fatalf("weight %d of %v has share %v, want %v", i, weights, share[i], want)
			}
		}
	})
}

// Draws of one walker, and of two side by side, are independent.
func TestUniformPairs(t *testing.T) {
	g := wheel(t, 8, noDoc)
	f, err := NewUniform(g, 11, 4, []uint32{0})
	if err != nil {
		t.Fatal(err)
	}
	const draws = 100_000
	var b Batch
	f.Fill(&b, 0, draws)
	pairs, ones := make([]int, 64), make([]float64, 64)
	for i := range draws {
		pairs[(b.Halves[i]-g.Off[0])*8+b.Halves[2*draws+i]-g.Off[0]]++
	}
	for i := range ones {
		ones[i] = 1
	}
	chi2(t, "pairs of draws of a walker", pairs, ones)
	clear(pairs)
	for i := 1; i < draws; i += 2 {
		pairs[(b.Halves[i-1]-g.Off[0])*8+b.Halves[i]-g.Off[0]]++
	}
	chi2(t, "pairs of draws of walkers side by side", pairs, ones)
}

func TestFreeRun(t *testing.T) {
	g := wheel(t, 9, noDoc, csr.Edge{Subject: 10, Object: 10, Relation: 1, Doc: csr.NoDoc}, csr.Edge{Subject: 12, Object: 13, Doc: csr.NoDoc}) // 11 is isolated
	f, err := NewUniform(g, 5, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		n   int
		p   Path
		why Reason
	}
	run := func(concurrency int) (out []line) {
		if err := f.Run(t.Context(), 100, 5000, concurrency, func(n int, p Path, why Reason) { out = append(out, line{n, p, why}) }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := run(1)
	if many := run(64); !reflect.DeepEqual(one, many) {
		t.Error("64 goroutines give other walks than one")
	}
	if len(one) != 5000 {
		t.Fatalf("%d walks", len(one))
	}
	for i, l := range one {
		if l.n != 100+i || (l.why == DeadEnd) != (l.p.Anchor == 11) || l.why == Complete && len(l.p.Hops) != 5 {
			t.Fatalf("%v", l)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err = f.Run(ctx, 0, 1<<40, 4, func(int, Path, Reason) {
		if calls++; calls == 2000 {
			cancel()
		}
	})
	if quarry.KindOf(err) != quarry.KindCanceled || calls > 2048 {
		t.Errorf("cancelled after 2000 walks: %v after %d", err, calls)
	}
}

func TestFreeRefuses(t *testing.T) {
	g := wheel(t, 3, noDoc)
	for name, make := range map[string]func() (*Free, error){
		"no length":       func() (*Free, error) { return NewUniform(g, 1, 0, nil) },
		"start outside":   func() (*Free, error) { return NewUniform(g, 1, 3, []uint32{4}) },
		"negative weight": func() (*Free, error) { return NewWeighted(g, 1, 3, nil, func(_, _ uint32) float64 { return -1 }) },
		"undefined weight": func() (*Free, error) {
			return NewWeighted(g, 1, 3, nil, func(_, _ uint32) float64 { return math.NaN() })
		},
		"infinite weight": func() (*Free, error) {
			return NewWeighted(g, 1, 3, nil, func(_, _ uint32) float64 { return math.Inf(1) })
		},
	} {
		if _, err := make(); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
