package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry/rollout/world"
)

// BenchmarkEpisode is the bookkeeping of a whole episode, four turns of three searches and an answer, with an engine
// that takes no time.
func BenchmarkEpisode(b *testing.B) {
	task := fullTask()
	task.Budget.ToolCalls = 3
	hits := []world.Passage{
		{Title: "Tarka the Otter", Text: strings.Repeat("A novel by an author. ", 8)},
		{Title: "Henry Williamson", Text: strings.Repeat("Born in a town. ", 8)},
		{Title: "Brockley", Text: strings.Repeat("A district of a city. ", 8)},
	}
	tool := world.SearchFunc(func(context.Context, string, int) ([]world.Passage, error) { return hits, nil })
	texts := []string{search("Tarka"), search("Henry Williamson born"), search("Brockley"), "<answer>Brockley</answer>"}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		ep, err := Run(b.Context(), &scripted{texts: texts}, world.NewSession(tool, task), task, params())
		if err != nil {
			b.Fatal(err)
		}
		n = len(ep.Thread.IDs)
	}
	b.ReportMetric(float64(n), "tokens/episode")
}
