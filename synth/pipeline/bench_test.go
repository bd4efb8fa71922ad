package pipeline

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/synth/wording"
)

// cpuTime is of this process: others load the machine.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWiki is the demo graph, L=4, with all certificates: certified/s is candidates with the whole of it (graph, ranks
// of every hop, documents, acquisition pressure, text, leak check, single-query filter, whatever those said) per second of
// CPU time, drawing and refusing all other walks included; opening and preparing the graph aside.
//
//	plain      the plain writer of the tests: what the pipeline itself takes
//	templates  package wording, texts read back
//	N3         plain, every step and condition needed
func BenchmarkWiki(b *testing.B) {
	g, o := wiki(b), Options{Seed: 1, MaxWalks: 50_000}
	b.Run("plain", func(b *testing.B) { measure(b, g, o, plain{}) })
	b.Run("templates", func(b *testing.B) { measure(b, g, o, Templates{wording.NewLexicon()}) })
	o.Necessity = N3
	b.Run("N3", func(b *testing.B) { measure(b, g, o, plain{}) })
}

// BenchmarkFreebase is FB15k-237, L=4, without texts: accepted/s through the whole pipeline, ledger and questions on the
// disk included. QUARRY_BENCH_DATA names a folder with medium-fb15k237/FB15k-237.tar.gz.
func BenchmarkFreebase(b *testing.B) {
	data := os.Getenv("QUARRY_BENCH_DATA")
	if data == "" {
		b.Log("QUARRY_BENCH_DATA is not set: no FB15k-237")
		return
	}
	dir, err := built(unpacked(b, filepath.Join(data, "medium-fb15k237", "FB15k-237.tar.gz")))
	if err != nil {
		b.Fatal(err)
	}
	g := mapped(b, dir)
	for name, o := range map[string]Options{
		"N1": {Seed: 1, MaxWalks: 20_000}, "N3": {Seed: 1, MaxWalks: 20_000, Necessity: N3},
	} {
		b.Run(name, func(b *testing.B) { measure(b, g, o, plain{}) })
	}
}

func measure(b *testing.B, g *kg.Mapped, o Options, w Writer) {
	o.Concurrency = 1
	var r Report
	var spent time.Duration
	for range b.N {
		s := must[*Space](b)(NewSpace(g, o, Hooks{Writer: w}))
		dir := b.TempDir()
		from := cpuTime(b)
		r = must[Report](b)(s.Run(b.Context(), dir))
		spent += cpuTime(b) - from
	}
	s := spent.Seconds() / float64(b.N)
	b.ReportMetric(float64(r.Walks)/s, "walks/s")
	b.ReportMetric(float64(r.Certified)/s, "certified/s")
	b.ReportMetric(float64(r.Accepted)/s, "accepted/s")
	b.ReportMetric(float64(r.Accepted)/float64(r.Walks), "accepted/walk")
}

// unpacked is the triples of a tar archive as one file.
func unpacked(b *testing.B, path string) string {
	f := must[*os.File](b)(os.Open(path))
	defer f.Close()
	z := must[*gzip.Reader](b)(gzip.NewReader(f))
	out := must[*os.File](b)(os.Create(filepath.Join(scratch, "freebase.tsv")))
	defer out.Close()
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return out.Name()
		}
		if err != nil {
			b.Fatal(err)
		}
		if base := filepath.Base(h.Name); strings.HasSuffix(base, ".txt") && (strings.HasPrefix(base, "train") || strings.HasPrefix(base, "valid") || strings.HasPrefix(base, "test")) {
			if _, err := io.Copy(out, t); err != nil {
				b.Fatal(err)
			}
		}
	}
}
