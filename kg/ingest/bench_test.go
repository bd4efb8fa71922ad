//go:build unix

package ingest

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarry-rl/quarry/kg/store"
)

// interning is the least a graph must do with a statement: number its three terms and keep the numbers.
type interning struct {
	seed  maphash.Seed
	slots []uint64 // hash<<32 | number+1
	n     uint32
	ends  []uint32
	text  []byte
	edges [][3]uint32
	last  []byte // subject: statements of one stand together
}

func newInterning() *interning {
	return &interning{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<20)}
}

func (x *interning) id(b []byte) uint32 {
	h := maphash.Bytes(x.seed, b)
	mask := uint64(len(x.slots) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s == 0 {
			x.n++
			x.slots[i] = h>>32<<32 | uint64(x.n)
			x.text = append(x.text, b...)
			x.ends = append(x.ends, uint32(len(x.text)))
			return x.n
		}
		if s>>32 == h>>32 {
			n := uint32(s)
			from := uint32(0)
			if n > 1 {
				from = x.ends[n-2]
			}
			if bytes.Equal(x.text[from:x.ends[n-1]], b) {
				return n
			}
		}
	}
}

func (x *interning) Triple(s, p, o []byte) error {
	var n uint32
	if len(x.edges) > 0 && bytes.Equal(s, x.last) {
		n = x.edges[len(x.edges)-1][0]
	} else {
		n = x.id(s)
		x.last = append(x.last[:0], s...)
	}
	x.edges = append(x.edges, [3]uint32{n, x.id(p), x.id(o)})
	return nil
}

func (x *interning) Add(rec store.Record) error {
	if s := rec.Statement; s != nil {
		return x.Triple([]byte(s.Subject), []byte(s.Predicate), []byte(s.Object))
	}
	return nil
}

// triples writes n statements in the shape of a Wikidata truthy dump: grouped by subject, objects by a power law, a
// tenth of them literals.
func triples(n int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	objects := rand.NewZipf(rnd, 1.1, 10, 1<<18)
	var b []byte
	subject := 1 << 20
	for i := range n {
		if i%8 == 0 {
			subject += 1 + rnd.IntN(8)
		}
		b = fmt.Appendf(b, "<http://www.wikidata.org/entity/Q%d> <http://www.wikidata.org/prop/direct/P%d> ", subject, rnd.IntN(500))
		switch rnd.IntN(20) {
		case 0:
			b = fmt.Appendf(b, "\"%04d-01-02T00:00:00Z\"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n", rnd.IntN(2000))
		case 1:
			b = fmt.Appendf(b, "\"text \\\"%d\\\" \\u00e9\"@en .\n", rnd.IntN(5000))
		default:
			b = fmt.Appendf(b, "<http://www.wikidata.org/entity/Q%d> .\n", objects.Uint64()*2654435761%(1<<24))
		}
	}
	return b
}

type count struct{ n int64 }

func (c *count) Triple(_, _, _ []byte) error { c.n++; return nil }
func (c *count) Add(store.Record) error      { c.n++; return nil }

func benchmark(b *testing.B, name string, data []byte, sink func() Sink) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var statements int64
	start := cpu(b)
	for b.Loop() {
		r := &run{ctx: context.Background(), sink: sink(), opt: Options{MaxLine: DefaultMaxLine}, stats: Stats{Left: map[string]int64{}}, literals: map[string]struct{}{}}
		if err := r.stream(&input{name: name, r: io.Reader(bytes.NewReader(data))}, 0); err != nil {
			b.Fatal(err)
		}
		statements += r.stats.Statements
	}
	used := cpu(b) - start // other processes may share the machine: the clock on the wall says little
	b.ReportMetric(float64(statements)/used.Seconds(), "statements/cpu-s")
}

func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkNTriples(b *testing.B) {
	data := triples(1_000_000)
	b.Run("parse", func(b *testing.B) { benchmark(b, "x.nt", data, func() Sink { return &count{} }) })
	b.Run("intern", func(b *testing.B) { benchmark(b, "x.nt", data, func() Sink { return newInterning() }) })
	b.Run("builder", func(b *testing.B) { benchmark(b, "x.nt", data, func() Sink { return store.NewBuilder() }) })
}

func BenchmarkTriples(b *testing.B) {
	var data []byte
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1_000_000 {
		data = fmt.Appendf(data, "/m/%06x\t/people/person/p%d\t/m/%06x\r\n", rnd.IntN(15000), rnd.IntN(237), rnd.IntN(15000))
	}
	b.Run("intern", func(b *testing.B) { benchmark(b, "x.tsv", data, func() Sink { return newInterning() }) })
}

// A page as large as a big one of the dump: 250 languages, 400 statements.
func bigItem() string {
	var b strings.Builder
	for _, part := range []string{"labels", "descriptions"} {
		fmt.Fprintf(&b, `"%s":{`, part)
		for i := range 250 {
			fmt.Fprintf(&b, `"x%d":{"language":"x%d","value":"some value in a language"},`, i, i)
		}
		fmt.Fprintf(&b, `"en":{"language":"en","value":"value"}},`)
	}
	b.WriteString(`"claims":{`)
	for i := range 400 {
		fmt.Fprintf(&b, `"P%d":[%s],`, i, snakClaim("P1", entityValue("Q5"), "normal", `"references":[{"hash":"abc","snaks":{"P813":[`+snakOf("P813", timeValue("+2020-01-01T00:00:00Z", 11))+`]}}],`))
	}
	return `{"type":"item","id":"Q1",` + b.String() + `"P999":[]},"sitelinks":{}},` + "\n"
}

func BenchmarkWikidata(b *testing.B) {
	benchmark(b, "x.json", []byte("[\n"+strings.Repeat(bigItem(), 100)+"]\n"), func() Sink { return &count{} })
}
