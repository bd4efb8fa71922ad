package pocket

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/datasets"
	engine "github.com/quarry-rl/quarry/rollout/pocket"
)

// readerWorld is played by the engine's own reader: prose with some eight names a passage, three passages a search.
func readerWorld(r *engine.Reader) world {
	places := strings.Fields("Arden Bellmore Caldwell Dunford Eastby Farrow Glenside Harwick Iverton Jarrow Kelby Lindale Marwood Norbury Oakham Penrith")
	place := func(rng *rand.Rand) string { return places[rng.IntN(len(places))] }
	return world{enum: r,
		task: func(n int) []quarry.Message {
			return []quarry.Message{{Role: "system", Content: "Answer the question. Search first."},
				{Role: "user", Content: fmt.Sprintf("Can you tell me the town where the founder of %s College was born?", places[n%len(places)])}}
		},
		observe: func(rng *rand.Rand) string {
			var b strings.Builder
			for i := range 3 {
				fmt.Fprintf(&b, "[%d] %s College\n%s College was founded in %d by John %s of %s, near %s and %s, with help from Mary %s.\n",
					i+1, place(rng), place(rng), 1800+rng.IntN(200), place(rng), place(rng), place(rng), place(rng), place(rng))
			}
			return b.String() + "Searches left: 2"
		},
		right: func(n int, answer string) bool { return len(answer)%2 == 0 }}
}

// BenchmarkTrainer is one RL step on 32 groups of 8 episodes, from Parquet to weights, with the engine's own candidates.
// tokens/s counts all ids of the batch, sampled/s those with mask 1.
func BenchmarkTrainer(b *testing.B) {
	r := engine.NewReader()
	w := engine.NewWeights(r.Features())
	rows, _ := readerWorld(r).batch(b, w, 0, 32, 1, 1)
	ids, sampled := 0, 0
	for _, row := range rows {
		ids += len(row.IDs)
		for _, m := range row.Mask {
			sampled += int(m)
		}
	}
	dir := b.TempDir()
	parent := filepath.Join(dir, "w0.json")
	if _, err := w.Save(parent, r.Features()); err != nil {
		b.Fatal(err)
	}
	data := write[datasets.T1](b, rows)
	n := 0
	for b.Loop() {
		n++
		// A new reader, so that nothing it keeps from sampling or from the step before helps.
		res, err := New(engine.NewReader(), r.Features()).RL(b.Context(), RLJob{Data: data, Parent: parent, Start: true,
			Out: filepath.Join(dir, fmt.Sprintf("w%d.json", n)), Version: 1, LearningRate: 0.05, Alpha: 0.5, Beta: 5})
		if err != nil || res.Tokens != sampled || res.Stats.MeanAbsLog != 0 {
			b.Fatalf("%+v, %v", res, err)
		}
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(n*ids)/seconds, "tokens/s")
	b.ReportMetric(float64(n*sampled)/seconds, "sampled/s")
}
