//go:build unix

package near_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/quarry-rl/quarry/synth/near"
)

const (
	textsVar = "QUARRY_NEAR_TEXTS" // a file with a JSON list of texts, to measure these
	pairsVar = "QUARRY_NEAR_PAIRS" // where to write the pairs found in them, as a JSON list of lists
)

func benchTexts(b *testing.B) []string {
	path := os.Getenv(textsVar)
	if path == "" {
		return planted(rand.New(rand.NewPCG(1, 1)), 100_000)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	var texts []string
	if err := json.Unmarshal(data, &texts); err != nil {
		b.Fatal(err)
	}
	return texts
}

func planted(r *rand.Rand, n int) []string {
	texts := make([]string, 0, n)
	for len(texts) < n {
		q := question(r)
		if len(texts) > 0 && r.IntN(5) == 0 {
			q = edited(r, texts[r.IntN(len(texts))], r.IntN(3))
		}
		texts = append(texts, q)
	}
	return texts
}

// BenchmarkPairs lists all pairs of 100,000 questions of about 100 characters, a fifth of them copies of another.
func BenchmarkPairs(b *testing.B) {
	for _, br := range [][2]int{{16, 8}, {32, 4}} {
		b.Run(fmt.Sprintf("%dx%d", br[0], br[1]), func(b *testing.B) {
			texts := benchTexts(b)
			o := near.Default()
			o.Bands, o.Rows = br[0], br[1]
			var pairs []near.Pair
			begin := cpuSeconds()
			for b.Loop() {
				var err error
				if pairs, err = near.Pairs(texts, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuSeconds()-begin)/float64(b.N)*1e6/float64(len(texts)), "cpu-us/text")
			b.ReportMetric(float64(len(pairs)), "pairs")
			if path := os.Getenv(pairsVar); path != "" {
				list := make([][2]int, len(pairs))
				for i, p := range pairs {
					list[i] = [2]int{p.A, p.B}
				}
				data, err := json.Marshal(list)
				if err == nil {
					err = os.WriteFile(fmt.Sprintf("%s.%dx%d", path, br[0], br[1]), data, 0o644)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSet decides which of 100,000 questions are kept, and counts how many planted copies of similarity >= 0.8 are dropped.
func BenchmarkSet(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 100_000
	texts, of := make([]string, 0, n), make([]int, 0, n)
	for len(texts) < n {
		q, from := question(r), -1
		if len(texts) > 0 && r.IntN(5) == 0 {
			from = r.IntN(len(texts))
			if of[from] >= 0 {
				from = of[from]
			}
			q = edited(r, texts[from], r.IntN(3))
		}
		texts, of = append(texts, q), append(of, from)
	}
	begin := cpuSeconds()
	var s *near.Set
	for b.Loop() {
		var err error
		if s, err = near.NewSet(near.Default()); err != nil {
			b.Fatal(err)
		}
		for i, text := range texts {
			if err := s.Add(near.Item{ID: fmt.Sprintf("q%06d", i), Text: text}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric((cpuSeconds()-begin)/float64(b.N), "cpu-s")
	vs := s.Verdicts()
	copies, dropped := 0, 0
	for i, from := range of {
		if from >= 0 && near.Jaccard(hashes(texts[i]), hashes(texts[from])) >= .8 {
			copies++
			if !vs[i].Kept() {
				dropped++
			}
		}
	}
	b.ReportMetric(float64(dropped)/float64(copies), "recall")
}
