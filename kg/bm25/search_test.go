package bm25

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type passage struct{ title, text string }

// exhaustive scores every passage for a query, in the order of passages and of the query's terms, from the text alone.
type exhaustive struct {
	opt     Options
	counts  []map[string]int
	lengths []uint32
	average float64
	df      map[string]int
}

func score(opt Options, ps []passage) *exhaustive {
	e := &exhaustive{opt: opt, df: map[string]int{}}
	total := 0
	for _, p := range ps {
		m := map[string]int{}
		n := 0
		for _, w := range append(Terms(p.title), Terms(p.text)...) {
			m[w]++
			n++
		}
		for w := range m {
			e.df[w]++
		}
		e.counts, e.lengths = append(e.counts, m), append(e.lengths, uint32(n))
		total += n
	}
	e.average = float64(total) / float64(max(1, len(ps)))
	return e
}

// search is by the stored impacts; float is the same in float64 by the formula of BM25.
func (e *exhaustive) search(query string, k int) (hits []Hit, float map[uint32]float64) {
	float = map[uint32]float64{}
	weights := map[string]uint64{}
	for _, w := range Terms(query) {
		if e.df[w] > 0 {
			weights[w] += uint64(weight(e.opt, len(e.counts), e.df[w]))
		}
	}
	for p, m := range e.counts {
		sum := uint64(0)
		for w, wt := range weights {
			if m[w] > 0 {
				sum += part(wt, impact(e.opt, uint8(min(m[w], maxTF)), e.lengths[p], e.average))
			}
		}
		if sum == 0 {
			continue
		}
		hits = append(hits, Hit{uint32(p), float32(float64(sum) / 65536)})
		for _, w := range Terms(query) {
			tf, df, n := float64(m[w]), float64(e.df[w]), float64(len(e.counts))
			float[uint32(p)] += math.Log(1+(n-df+.5)/(df+.5)) * tf * (e.opt.K1 + 1) / (tf + e.opt.K1*(1-e.opt.B+e.opt.B*float64(e.lengths[p])/e.average))
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		if a.Score > b.Score {
			return -1
		} else if a.Score < b.Score {
			return 1
		}
		return 0
	})
	return hits[:min(k, len(hits))], float
}

func built(t testing.TB, opt Options, ps []passage) *Index {
	t.Helper()
	x, err := FromBytes(bytesOf(t, opt, ps))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Fsck(); err != nil {
		t.Fatal(err)
	}
	return x
}

func bytesOf(t testing.TB, opt Options, ps []passage) []byte {
	t.Helper()
	b := New(opt)
	for _, p := range ps {
		b.Add(p.title, p.text)
	}
	var buf writeBuffer
	n, err := b.WriteTo(&buf)
	if err != nil || n != int64(len(buf)) {
		t.Fatalf("wrote %d of %d bytes: %v", n, len(buf), err)
	}
	return buf
}

type writeBuffer []byte

func (b *writeBuffer) Write(p []byte) (int, error) { *b = append(*b, p...); return len(p), nil }

// drawPassages has a few frequent and many rare words, so that windows, blocks and pruning all come into play.
func drawPassages(t *rapid.T, most int) []passage {
	n := rapid.IntRange(0, most).Draw(t, "passages")
	seed := rapid.Uint64().Draw(t, "seed")
	burst := rapid.IntRange(1, 400).Draw(t, "burst")
	next := func(n int) int {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return int(seed % uint64(n))
	}
	seed |= 1
	ps := make([]passage, n)
	for i := range ps {
		var w []string
		for range next(6) {
			w = append(w, fmt.Sprintf("w%d", next(4)), fmt.Sprintf("x%d", next(40)+i/burst))
		}
		ps[i] = passage{fmt.Sprintf("t%d", next(1+n/3)), strings.Join(w, " ")}
	}
	return ps
}

func TestSearchIsExhaustive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := drawPassages(t, rapid.SampledFrom([]int{8, 60, 60, 300, 300, 300, 300, 4500}).Draw(t, "most"))
		opt := Options{K1: rapid.Float64Range(0.1, 4).Draw(t, "k1"), B: rapid.Float64Range(0, 1).Draw(t, "b"), RunPostings: rapid.IntRange(1, 1<<16).Draw(t, "run")}
		if opt.RunPostings < len(ps)/20 {
			opt.RunPostings = max(1, len(ps)/20)
		}
		b := New(opt)
		for _, p := range ps {
			b.Add(p.title, p.text)
		}
		var buf writeBuffer
		if _, err := b.WriteTo(&buf); err != nil {
			t.Fatal(err)
		}
		x, err := FromBytes(buf)
		if err != nil {
			t.Fatal(err)
		}
		want := score(opt, ps)
		for range 6 {
			var words []string
			for range rapid.IntRange(0, 9).Draw(t, "words") {
				words = append(words, rapid.SampledFrom([]string{"w0", "w1", "w3", "x1", "x2", "x5", "x30", "x41", "t0", "t3", "nowhere", "the"}).Draw(t, "word"))
			}
			query := strings.Join(words, " ")
			k := rapid.SampledFrom([]int{0, 1, 2, 9, 10, 11, 100, 101, 5000}).Draw(t, "k")
			hits, float := want.search(query, k)
			if d := cmp.Diff(append([]Hit{{7, 7}}, hits...), x.Search(query, k, []Hit{{7, 7}})); d != "" {
				t.Fatalf("%q, best %d of %d passages (-exhaustive +search):\n%s", query, k, len(ps), d)
			}
			for _, h := range hits {
				if f := float[h.Passage]; math.Abs(f-float64(h.Score)) > 1e-3*(1+f) {
					t.Fatalf("%q: passage %d scores %v, BM25 in float64 is %v", query, h.Passage, h.Score, f)
				}
			}
		}
	})
}

// TestLongQuery has scores above 256, where float32 rounds and different sums tie.
func TestLongQuery(t *testing.T) {
	var ps []passage
	for i := range 2500 {
		ps = append(ps, passage{"", fmt.Sprintf("a%d common b%d", i%1500, i%7)})
	}
	query := strings.Repeat("common a7 b3 a9 b6 ", 40)
	want, _ := score(Options{K1: 0.9, B: 0.4}, ps).search(query, 700)
	if want[0].Score < 256 {
		t.Fatalf("scores are only %v", want[0].Score)
	}
	if d := cmp.Diff(want, built(t, Options{}, ps).Search(query, 700, nil)); d != "" {
		t.Error(d)
	}
}

func wiki(t testing.TB) (ps []passage) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "examples", "wiki", "docs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Buffer(nil, 1<<20); s.Scan(); {
		var d struct {
			Title string
			Sents []string
		}
		if err := json.Unmarshal(s.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		for _, text := range d.Sents {
			ps = append(ps, passage{d.Title, text})
		}
	}
	return ps
}

func TestWiki(t *testing.T) {
	ps := wiki(t)
	path := filepath.Join(t.TempDir(), "wiki.bm25")
	b := New(Options{RunPostings: 20000, TempDir: t.TempDir()})
	for _, p := range ps {
		b.Add(p.title, p.text)
	}
	if b.Len() != 8076 {
		t.Fatalf("%d passages", b.Len())
	}
	if err := b.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	x, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := x.Fsck(); err != nil {
		t.Fatal(err)
	}
	want := score(Options{K1: 0.9, B: 0.4}, ps)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := worker * 200; i < len(ps); i += 2411 {
				query := ps[i].text
				hits, _ := want.search(query, 10)
				if d := cmp.Diff(hits, x.Search(query, 10, nil)); d != "" {
					t.Errorf("%q:\n%s", query, d)
				}
			}
		})
	}
	group.Wait()
	if got := x.Search("Who was born in Mediaș, Transylvania?", 1, nil); len(got) != 1 || got[0].Passage != 0 {
		t.Errorf("the first passage is not found: %v", got)
	}
}
