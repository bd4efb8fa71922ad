package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fb15k reads the triples of FB15k-237 (TimDettmers/ConvE) below the folder QUARRY_BENCH_DATA names, three fields each.
func fb15k(b *testing.B) [][3][]byte {
	b.Helper()
	dir := os.Getenv("QUARRY_BENCH_DATA")
	if dir == "" {
		b.Fatal("set QUARRY_BENCH_DATA to a folder with medium-fb15k237/FB15k-237.tar.gz, or to the one that holds the archive")
	}
	const archive = "FB15k-237.tar.gz"
	f, err := os.Open(filepath.Join(dir, "medium-fb15k237", archive))
	if os.IsNotExist(err) {
		f, err = os.Open(filepath.Join(dir, archive))
	}
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	var out [][3][]byte
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			b.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, ".txt") {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			b.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if f := bytes.Split(bytes.TrimSpace(line), []byte("\t")); len(f) == 3 {
				out = append(out, [3][]byte{f[0], f[1], f[2]})
			}
		}
	}
}

// generated calls add with n statements: subjects in order, as in a dump, five each, objects one half among a hundredth.
func generated(n int, add func(i int, s, p, o []byte)) {
	r := rand.New(rand.NewPCG(1, 2))
	ents := max(n/5, 1)
	var s, p, o []byte
	for i := range n {
		to := r.IntN(ents)
		if r.IntN(2) == 0 {
			to = r.IntN(max(ents/100, 1))
		}
		s = strconv.AppendInt(append(s[:0], "http://www.wikidata.org/entity/Q"...), int64(i/5), 10)
		o = strconv.AppendInt(append(o[:0], "http://www.wikidata.org/entity/Q"...), int64(to), 10)
		p = strconv.AppendInt(append(p[:0], "http://www.wikidata.org/prop/direct/P"...), int64(r.IntN(500)), 10)
		add(i, s, p, o)
	}
}

func size(b *testing.B) int {
	n, err := strconv.Atoi(os.Getenv("QUARRY_BENCH_TRIPLES"))
	if err != nil {
		return 1_000_000 // set QUARRY_BENCH_TRIPLES for another size
	}
	return n
}

// BenchmarkIntern is the cost of one statement in Triple, reading not counted, growing of tables and lists included.
func BenchmarkIntern(b *testing.B) {
	run := func(b *testing.B, list [][3][]byte) {
		if len(list) == 0 {
			return
		}
		n := 0
		start := cpuSeconds(b)
		for b.Loop() {
			bl := NewBuilder()
			for _, t := range list {
				if err := bl.Triple(t[0], t[1], t[2]); err != nil {
					b.Fatal(err)
				}
			}
			n += len(list)
		}
		b.ReportMetric((cpuSeconds(b)-start)*1e9/float64(n), "cpu-ns/statement")
	}
	b.Run("fb15k237", func(b *testing.B) { run(b, fb15k(b)) })
	b.Run("generated", func(b *testing.B) {
		var list [][3][]byte
		generated(size(b), func(_ int, s, p, o []byte) {
			list = append(list, [3][]byte{bytes.Clone(s), bytes.Clone(p), bytes.Clone(o)})
		})
		run(b, list)
	})
}

// BenchmarkBuild reports a whole build and what opening it takes. Peak memory is the process's: run one at a time.
func BenchmarkBuild(b *testing.B) {
	b.Run("fb15k237", func(b *testing.B) {
		list := fb15k(b)
		measure(b, func(bl *Builder) {
			for _, t := range list {
				if err := bl.Triple(t[0], t[1], t[2]); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	b.Run("generated", func(b *testing.B) {
		n := size(b)
		measure(b, func(bl *Builder) {
			generated(n, func(_ int, s, p, o []byte) {
				if err := bl.Triple(s, p, o); err != nil {
					b.Fatal(err)
				}
			})
		})
	})
	b.Run("text", func(b *testing.B) { // every entity named, every statement with its sentence, twenty a document
		n := size(b)
		measure(b, func(bl *Builder) { withText(b, bl, n) })
	})
}

func withText(b *testing.B, bl *Builder, n int) {
	add := func(r Record) {
		if err := bl.Add(r); err != nil {
			b.Fatal(err)
		}
	}
	var doc Document
	var stmts []Statement
	at := 0
	generated(n, func(i int, s, p, o []byte) {
		if i%5 == 0 {
			add(Record{Entity: &Entity{ID: string(s), Name: fmt.Sprintf("Entity %d of all", i/5), Type: "MISC"}})
		}
		text := fmt.Sprintf("Entity %d stands in relation %s to entity %s.", i/5, p[len(p)-3:], o[len(o)-6:])
		stmts = append(stmts, Statement{Subject: string(s), Predicate: string(p), Object: string(o), Doc: fmt.Sprint("doc", i/20), Spans: []Span{{at, at + len(text)}}})
		doc.Sentences = append(doc.Sentences, text)
		at += len(text) + 1
		if i%20 == 19 || i == n-1 {
			doc.ID, doc.Title = fmt.Sprint("doc", i/20), fmt.Sprintf("Document %d", i/20)
			add(Record{Document: &doc})
			for k := range stmts {
				add(Record{Statement: &stmts[k]})
			}
			doc, stmts, at = Document{}, stmts[:0], 0
		}
	})
}

func measure(b *testing.B, fill func(*Builder)) {
	dir := b.TempDir()
	var m Manifest
	var added, all float64
	for b.Loop() {
		bl := NewBuilder()
		bl.Spill(dir)
		start := cpuSeconds(b)
		fill(bl)
		added += cpuSeconds(b) - start
		var err error
		if m, err = bl.Finish(context.Background(), dir); err != nil {
			b.Fatal(err)
		}
		all += cpuSeconds(b) - start
	}
	peak := memory(b, "VmHWM:")
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	g, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	opened := time.Since(start)
	runtime.ReadMemStats(&after)
	start = time.Now()
	if faults, err := g.Fsck(context.Background()); err != nil || len(faults) > 0 {
		b.Fatal(faults, err)
	}
	csrBytes := 0
	for _, s := range g.table {
		if strings.HasPrefix(s.name, "csr.") {
			csrBytes += len(s.data)
		}
	}
	edges := float64(g.Edges())
	b.ReportMetric(added/float64(b.N), "add-cpu-s")
	b.ReportMetric(all/float64(b.N), "build-cpu-s")
	b.ReportMetric(peak/(1<<20), "peak-MiB")
	b.ReportMetric((float64(csrBytes)+float64(after.HeapAlloc-before.HeapAlloc))/edges, "loaded-B/triple")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "open-heap-B")
	b.ReportMetric(float64(m.Bytes)/edges, "file-B/triple")
	b.ReportMetric(float64(opened.Microseconds())/1000, "open-ms")
	b.ReportMetric(time.Since(start).Seconds(), "fsck-s")
}

func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// memory is a line of the process's status in bytes.
func memory(b *testing.B, line string) float64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), line)
	f := strings.Fields(rest)
	if len(f) == 0 {
		b.Fatal("no " + line)
	}
	n, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return n * 1024
}
