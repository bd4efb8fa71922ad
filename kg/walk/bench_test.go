package walk

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quarry-rl/quarry/kg/csr"
)

// dataVar names a folder that holds medium-fb15k237/FB15k-237.tar.gz.
const dataVar = "QUARRY_BENCH_DATA"

// skewed is a graph with degrees as knowledge graphs have them, 14,541 entities and 310,116 statements before equal ones
// fall together, at most 8 documents an entity.
var skewed = sync.OnceValue(func() *csr.Graph {
	const n, m, rels = 14541, 310116, 237
	r := rand.New(rand.NewPCG(1, 2))
	hub := func() uint32 { f := r.Float64(); return uint32(f * f * f * n) }
	es := make([]csr.Edge, m)
	for i := range es {
		s := uint32(r.IntN(n))
		es[i] = csr.Edge{Subject: s, Object: hub(), Relation: uint16(r.IntN(rels)), Doc: s*8 + uint32(r.IntN(8))}
	}
	return must(csr.New(n, rels, es))
})

// random is a graph of 2 million entities and 20 million statements between any two.
var random = sync.OnceValue(func() *csr.Graph {
	const n, m, rels = 2_000_000, 20_000_000, 500
	r := rand.New(rand.NewPCG(3, 4))
	es := make([]csr.Edge, m)
	for i := range es {
		es[i] = csr.Edge{Subject: uint32(r.IntN(n)), Object: uint32(r.IntN(n)), Relation: uint16(r.IntN(rels)), Doc: csr.NoDoc}
	}
	g := must(csr.New(n, rels, es))
	es = nil
	runtime.GC()
	return g
})

var fb15k = sync.OnceValues(func() (*csr.Graph, error) {
	f, err := os.Open(filepath.Join(os.Getenv(dataVar), "medium-fb15k237", "FB15k-237.tar.gz"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	var es []csr.Edge
	entities, relations := map[string]uint32{}, map[string]uint32{}
	number := func(m map[string]uint32, name []byte) uint32 {
		n, ok := m[string(name)]
		if !ok {
			n = uint32(len(m))
			m[string(name)] = n
		}
		return n
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return csr.New(len(entities), len(relations), es)
		}
		if err != nil {
			return nil, err
		}
		switch filepath.Base(h.Name) {
		case "train.txt", "valid.txt", "test.txt":
		default:
			continue
		}
		for lines := bufio.NewScanner(t); lines.Scan(); { // it cuts CR LF
			if f := bytes.Split(lines.Bytes(), []byte{'\t'}); len(f) == 3 {
				es = append(es, csr.Edge{Subject: number(entities, f[0]), Relation: uint16(number(relations, f[1])), Object: number(entities, f[2]), Doc: csr.NoDoc})
			}
		}
	}
})

func must[T any](t T, err error) T {
	if err != nil {
		panic(err)
	}
	return t
}

func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// report gives steps by processor time, which other load on the machine changes less than steps by the clock.
func report(b *testing.B, begin time.Duration, steps int) {
	b.ReportMetric(float64(steps)/(cpu()-begin).Seconds()/1e6, "Msteps/cpu-s")
}

func onGraphs(b *testing.B, f func(b *testing.B, g *csr.Graph)) {
	b.Run("skewed", func(b *testing.B) { f(b, skewed()) })
	if os.Getenv(dataVar) == "" {
		b.Logf("FB15k-237 not measured: set %s to the folder of medium-fb15k237/FB15k-237.tar.gz", dataVar)
		return
	}
	g, err := fb15k()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("fb15k237", func(b *testing.B) { f(b, g) })
}

func benchFree(b *testing.B, f *Free) {
	var batch Batch
	f.Fill(&batch, 0, 1024)
	b.ResetTimer()
	begin, steps, first := cpu(), 0, 0
	for b.Loop() {
		f.Fill(&batch, first, 1024)
		first += 1024
		steps += 1024 * f.length
	}
	report(b, begin, steps)
}

func BenchmarkUniform(b *testing.B) {
	bench := func(b *testing.B, g *csr.Graph) { benchFree(b, must(NewUniform(g, 1, 80, nil))) }
	onGraphs(b, bench)
	b.Run("random20M", func(b *testing.B) { bench(b, random()) })
}

// One walker at a time is what interleaving is measured against.
func BenchmarkUniformOneByOne(b *testing.B) {
	onGraphs(b, func(b *testing.B, g *csr.Graph) {
		f := must(NewUniform(g, 1, 80, nil))
		var batch Batch
		begin, steps := cpu(), 0
		for b.Loop() {
			f.Fill(&batch, steps, 1)
			steps += 80
		}
		report(b, begin, steps)
	})
}

func BenchmarkWeighted(b *testing.B) {
	onGraphs(b, func(b *testing.B, g *csr.Graph) {
		benchFree(b, must(NewWeighted(g, 1, 80, nil, func(_, half uint32) float64 { return 1 / float64(g.Degree(g.Targets[half])) })))
	})
}

func benchConstrained(b *testing.B, g *csr.Graph, hops int, rules Rules) {
	c := must(NewConstrained(g, hops, rules))
	c.Walk(0)
	b.ResetTimer()
	begin, steps, walks, complete := cpu(), 0, 0, 0
	for b.Loop() {
		p, why := c.Walk(walks)
		walks++
		if why == Complete {
			complete++
			steps += len(p.Hops)
		}
	}
	report(b, begin, steps) // only the steps of complete walks count
	b.ReportMetric(100*float64(complete)/float64(walks), "%complete")
}

func BenchmarkConstrained(b *testing.B) {
	onGraphs(b, func(b *testing.B, g *csr.Graph) {
		documented := g.Docs[0] != csr.NoDoc
		plain := Rules{Seed: 1, Undocumented: true, MaxRelation: 2, MaxDegree: 2000, Backtracks: 50}
		b.Run("simple10", func(b *testing.B) { benchConstrained(b, g, 10, plain) })
		induced := Rules{Seed: 1, Undocumented: true, NoShortcuts: true, Backtracks: 50}
		b.Run("noshortcut3", func(b *testing.B) { benchConstrained(b, g, 3, induced) })
		b.Run("noshortcut10", func(b *testing.B) { benchConstrained(b, g, 10, induced) })
		if documented {
			plain.Undocumented, plain.Beta, plain.MinDocs, plain.MinRelations = false, 8, HardDocs(10), 5
			b.Run("documents10", func(b *testing.B) { benchConstrained(b, g, 10, plain) })
			return
		}
		made := plain // FB15k-237 has no documents: 8 statements each
		made.Beta, made.MinDocs, made.MinRelations = 8, HardDocs(10), 5
		made.DocOf = func(e uint32) uint32 { return e / 8 }
		b.Run("documents10", func(b *testing.B) { benchConstrained(b, g, 10, made) })
	})
}

func BenchmarkTopology(b *testing.B) {
	onGraphs(b, func(b *testing.B, g *csr.Graph) {
		for _, shape := range []Shape{Chain, Star, Tree, Cycle} {
			b.Run(string(shape), func(b *testing.B) {
				t := must(NewTopology(g, shape, 6, 3, Rules{Seed: 1, Undocumented: true, MaxDegree: 2000, Backtracks: 50}))
				n, complete, begin := 0, 0, cpu()
				for b.Loop() {
					if _, why := t.Draw(n); why == Complete {
						complete++
					}
					n++
				}
				b.ReportMetric(float64(complete)/(cpu()-begin).Seconds(), "patterns/cpu-s")
				b.ReportMetric(100*float64(complete)/float64(n), "%complete")
			})
		}
	})
}
