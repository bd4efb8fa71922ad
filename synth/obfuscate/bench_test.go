package obfuscate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quarry-rl/quarry/synth/certify"
	"github.com/quarry-rl/quarry/synth/wording"
)

// BenchmarkWeaken weakens questions of four hops with three conditions on a generated world of 5,000 articles to a loss of
// 8 bits; bits/q is what they lost, reached the share that lost all 8.
func BenchmarkWeaken(b *testing.B) {
	g := world(b, 5000)
	w := weakener(b, g.Graph, g, wording.English)
	r := rand.New(rand.NewPCG(1, 1))
	type item struct {
		q    certify.Query
		path []uint32
	}
	items := make([]item, 128)
	for i := range items {
		items[i].q, items[i].path = unique(r, w, 4, 3)
	}
	bits, reached := 0.0, 0
	n := 0
	for ; b.Loop(); n++ {
		it := items[n%len(items)]
		got, err := w.Weaken(it.q, it.path[4], Options{Seed: 1, Item: uint64(n), Hidden: it.path, Keep: []int{0}})
		if err != nil {
			b.Fatal(err)
		}
		bits += got.Bits
		if got.Reached {
			reached++
		}
		if slices.Contains(got.Was, it.path[4]) {
			b.Fatal("the answer is described")
		}
	}
	b.ReportMetric(bits/float64(n), "bits/q")
	b.ReportMetric(float64(reached)/float64(n), "reached")
}
