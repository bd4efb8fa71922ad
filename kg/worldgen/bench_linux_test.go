package worldgen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"

	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/kg/walk"
)

type counter struct{ records, documents, statements int }

func (c *counter) Add(r store.Record) error {
	c.records++
	if r.Document != nil {
		c.documents++
	}
	if r.Statement != nil {
		c.statements++
	}
	return nil
}

// BenchmarkGenerate is the records alone, thrown away.
func BenchmarkGenerate(b *testing.B) {
	for _, o := range []Options{{Documents: 20_000}, {Documents: 20_000, Lang: Both}, {Documents: 20_000, Names: TwoWords}, {Documents: 20_000, Extra: 15}} {
		b.Run(fmt.Sprintf("lang=%s/names=%s/extra=%d", o.Lang, o.Names, o.Extra), func(b *testing.B) {
			w, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			var c counter
			start := cpuSeconds(b)
			for b.Loop() {
				if err := w.Write(context.Background(), &c, 1); err != nil {
					b.Fatal(err)
				}
			}
			spent := cpuSeconds(b) - start
			b.ReportMetric(float64(c.documents)/spent, "documents/cpu-s")
			b.ReportMetric(float64(c.statements)/spent, "statements/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func env(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// BenchmarkWhole generates a world, builds its graph, indexes every sentence, walks and searches. QUARRY_BENCH_DOCUMENTS
// (10,000) and QUARRY_BENCH_EXTRA (15) set its size: a million documents make 20 million statements. Run it with
// -benchtime 1x: the peak is that of the process.
func BenchmarkWhole(b *testing.B) {
	o := Options{Seed: 1, Documents: env("QUARRY_BENCH_DOCUMENTS", 10_000), Extra: env("QUARRY_BENCH_EXTRA", 15)}
	ctx := context.Background()
	for b.Loop() {
		dir := b.TempDir()
		w, err := New(o)
		if err != nil {
			b.Fatal(err)
		}
		start := cpuSeconds(b)
		lap := func(what string, n int) {
			debug.FreeOSMemory()
			spent := cpuSeconds(b) - start
			b.Logf("%-28s %10d in %7.1f CPU s, %10.0f/s, peak so far %.2f GB", what, n, spent, float64(n)/spent, peak(b))
			start = cpuSeconds(b)
		}
		bl := store.NewBuilder()
		bl.Spill(dir)
		if err := w.Write(ctx, bl, 1); err != nil {
			b.Fatal(err)
		}
		lap("documents told and taken", o.Documents)
		m, err := bl.Finish(ctx, dir)
		if err != nil {
			b.Fatal(err)
		}
		bl = nil
		lap("statements written", m.Counts.Edges)
		g, err := store.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		faults, err := g.Fsck(ctx)
		if err != nil || len(faults) > 0 {
			b.Fatal(faults, err)
		}
		lap("statements checked", m.Counts.Edges)
		index(b, g, filepath.Join(dir, "passages"))
		lap("sentences indexed", m.Counts.Passages)
		search(b, g, filepath.Join(dir, "passages"), lap)
		walks(b, g, lap)
		h := g.Health()
		b.Logf("%d entities, degrees: median %d, p99 %d, max %d; file %.2f GB", g.Entities(), h.Median, h.P99, h.Max, float64(m.Bytes)/1e9)
		b.ReportMetric(float64(g.Edges()), "edges")
		b.ReportMetric(peak(b), "GB-peak")
		if err := g.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func index(b *testing.B, g *store.Graph, path string) {
	x := bm25.New(bm25.Options{TempDir: filepath.Dir(path)})
	for _, p := range g.AllPassages() {
		x.Add(p.Title, p.Text)
	}
	if err := x.WriteFile(path); err != nil {
		b.Fatal(err)
	}
}

// search asks for statements by the name of the subject and the relation's label.
func search(b *testing.B, g *store.Graph, path string, lap func(string, int)) {
	x, err := bm25.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	lap("sentences opened", x.Len())
	const queries = 2000
	found := 0
	var hits []bm25.Hit
	for i := range queries {
		e := uint32(i * (g.Edges() / queries))
		edge := g.Edge(e)
		hits = x.Search(g.Name(edge.Subject)+" "+g.Label(int(edge.Relation)), 5, hits[:0])
		for _, h := range hits {
			if g.Passage(h.Passage).Doc == edge.Doc {
				found++
				break
			}
		}
	}
	lap(fmt.Sprintf("searches, %d in first 5", found), queries)
}

func walks(b *testing.B, g *store.Graph, lap func(string, int)) {
	free, err := walk.NewUniform(g.Graph, 1, 10, nil)
	if err != nil {
		b.Fatal(err)
	}
	const n = 1 << 16
	var batch walk.Batch
	for i := range 32 {
		free.Fill(&batch, i*n, n)
	}
	lap("free steps", 32*n*10)
	c, err := walk.NewConstrained(g.Graph, 4, walk.Rules{Seed: 1, MinDocs: walk.HardDocs(4), Backtracks: 20, Inside: func(v uint32) bool { return !g.Literal(v) }})
	if err != nil {
		b.Fatal(err)
	}
	done := 0
	const walks = 200_000
	for i := range walks {
		if _, why := c.Walk(i); why == walk.Complete {
			done++
		}
	}
	lap(fmt.Sprintf("walks of 4, %d complete", done), walks)
}

func cpuSeconds(b *testing.B) float64 {
	u := usage(b)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peak is the most the process ever had in memory, mapped files included, in GB.
func peak(b *testing.B) float64 { return float64(usage(b).Maxrss) * 1024 / 1e9 }

func usage(b *testing.B) syscall.Rusage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u
}
