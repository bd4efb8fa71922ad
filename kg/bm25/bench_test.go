//go:build unix

package bm25

import (
	"bufio"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// twoWiki is the corpus and the questions in the folder that QUARRY_BENCH_DATA names: corpus-2wiki (2WikiMultiHopQA's
// passages) and qa (the question files of R1-Searcher).
func twoWiki(b *testing.B) ([]passage, []string) {
	b.Helper()
	dir := os.Getenv("QUARRY_BENCH_DATA")
	if dir == "" {
		b.Fatal("set QUARRY_BENCH_DATA to a folder with corpus-2wiki/2wikimultihopqa_corpus.json.gz and qa/r1searcher_*.jsonl")
	}
	f, err := os.Open(filepath.Join(dir, "corpus-2wiki", "2wikimultihopqa_corpus.json.gz"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	var passages []struct{ Title, Text string }
	if err := json.NewDecoder(z).Decode(&passages); err != nil {
		b.Fatal(err)
	}
	var ps []passage
	for _, p := range passages {
		ps = append(ps, passage{p.Title, p.Text})
	}
	files, err := filepath.Glob(filepath.Join(dir, "qa", "r1searcher_*.jsonl"))
	if err != nil || len(files) == 0 {
		b.Fatalf("no question files in %s: %v", dir, err)
	}
	var questions []string
	for _, name := range files {
		questions = append(questions, questionsOf(b, name)...)
	}
	return ps, questions
}

func questionsOf(b *testing.B, name string) (out []string) {
	b.Helper()
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var q struct{ Question string }
		if err := json.Unmarshal(s.Bytes(), &q); err != nil {
			b.Fatal(err)
		}
		out = append(out, q.Question)
	}
	return out
}

func write2Wiki(b *testing.B, ps []passage, path string) {
	b.Helper()
	build := New(Options{})
	for _, p := range ps {
		build.Add(p.title, p.text)
	}
	if err := build.WriteFile(path); err != nil {
		b.Fatal(err)
	}
}

// cpu is the processor time of this process: on a busy machine the clock on the wall says little.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSearch2Wiki is whole questions, the best 10 passages, over 6,119 passages, beside SQLite FTS5 with the
// question's terms joined by OR, also without our stop words, both ranked by its bm25().
func BenchmarkSearch2Wiki(b *testing.B) {
	ps, questions := twoWiki(b)
	b.Run("quarry", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "index")
		write2Wiki(b, ps, path)
		x, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		defer x.Close()
		var dst []Hit
		b.ReportAllocs()
		n := 0
		start := cpu(b)
		for b.Loop() {
			dst = x.Search(questions[n%len(questions)], 10, dst[:0])
			n++
		}
		b.ReportMetric(float64(b.N)/(cpu(b)-start).Seconds(), "queries/cpu-s")
	})
	words := func(q string) []string {
		return strings.FieldsFunc(q, func(r rune) bool { return strings.ContainsRune(" \"'’-,.?:;()!&/", r) })
	}
	b.Run("fts5", func(b *testing.B) { benchFTS5(b, ps, questions, words) })
	b.Run("fts5-stopped", func(b *testing.B) { benchFTS5(b, ps, questions, Terms) })
}

func benchFTS5(b *testing.B, ps []passage, questions []string, words func(string) []string) {
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "fts.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	do := func(q string, args ...any) {
		if _, err := db.Exec(q, args...); err != nil {
			b.Fatal(err)
		}
	}
	do(`CREATE VIRTUAL TABLE p USING fts5(title, text)`)
	do(`BEGIN`)
	for _, p := range ps {
		do(`INSERT INTO p VALUES (?, ?)`, p.title, p.text)
	}
	do(`COMMIT`)
	search, err := db.Prepare(`SELECT rowid FROM p WHERE p MATCH ? ORDER BY bm25(p) LIMIT 10`)
	if err != nil {
		b.Fatal(err)
	}
	defer search.Close()
	n := 0
	start := cpu(b)
	for b.Loop() {
		rows, err := search.Query(`"` + strings.Join(words(questions[n%len(questions)]), `" OR "`) + `"`)
		if err != nil {
			b.Fatal(err)
		}
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				b.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(b.N)/(cpu(b)-start).Seconds(), "queries/cpu-s")
}

// BenchmarkBuild2Wiki indexes 6,119 passages and writes the file.
func BenchmarkBuild2Wiki(b *testing.B) {
	ps, _ := twoWiki(b)
	start := cpu(b)
	for b.Loop() {
		write2Wiki(b, ps, filepath.Join(b.TempDir(), "index"))
	}
	b.ReportMetric(float64(b.N*len(ps))/(cpu(b)-start).Seconds(), "passages/cpu-s")
}
