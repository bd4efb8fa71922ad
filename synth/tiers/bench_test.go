package tiers

import (
	"fmt"
	"testing"
)

// BenchmarkDecide brings questions through all filters of apodex with answers that cost nothing.
func BenchmarkDecide(b *testing.B) {
	r := preset(b, "apodex", "low", "mid", "top")
	s := model(1, func(a Attempt) float64 {
		return map[string]float64{"oracletop": .95, "fulltop": .6, "fullmid": .4, "fulllow": .2}[string(a.Mode)+a.Tier]
	})
	n := 0
	qs := items(1000)
	for i := 0; b.Loop(); i++ {
		_, made := drive(b, r, &qs[i%len(qs)], s)
		n += len(made)
	}
	b.ReportMetric(float64(n)/float64(b.N), "attempts/op")
}

// BenchmarkRun is the runner's own cost per question, at 64 attempts at once.
func BenchmarkRun(b *testing.B) {
	r := preset(b, "tongyi", "m")
	s := model(1, func(Attempt) float64 { return .4 })
	qs := items(1000)
	for b.Loop() {
		if rep, err := Run(b.Context(), r, qs, s, Options{Concurrency: 64}); err != nil || rep.Pending > 0 {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(qs)), "us/question")
}

// BenchmarkSearchOnce is the single-query filter without a model on the demo's documents.
func BenchmarkSearchOnce(b *testing.B) {
	w := newWhole(b)
	walked, _ := w.ways()
	from := 0
	for b.Loop() {
		for from = (from + 1) % len(walked); len(walked[from]) == 0; from = (from + 1) % len(walked) {
		}
		q, clues := w.ask(from, walked[from][:1], from)
		SearchOnce(w, q, clues)
	}
}

// ExamplePreset shows what the dearest question costs.
func ExamplePreset() {
	r, err := Preset("apodex", "small", "medium", "large")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.MostAttempts())
	// Output: map[large:32 medium:4 small:16]
}
