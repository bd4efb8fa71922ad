package decontam_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarry-rl/quarry/synth/decontam"
)

// dataVar names a folder with the public question sets r1searcher_*_500.jsonl and fanoutqa_dev.json.gz.
const dataVar = "QUARRY_BENCH_DATA"

// BenchmarkFalseAlarms checks question sets that have nothing to do with one another, and prints the share that matches.
func BenchmarkFalseAlarms(b *testing.B) {
	dir := os.Getenv(dataVar)
	if dir == "" {
		b.Logf("set %s to a folder with fanoutqa_dev.json.gz and r1searcher_hotpotqa_500.jsonl to measure false alarms on them", dataVar)
		return
	}
	ctx := context.Background()
	for _, pair := range [][2]string{{"r1searcher_hotpotqa_500.jsonl", "fanoutqa_dev.json.gz"}, {"fanoutqa_dev.json.gz", "r1searcher_hotpotqa_500.jsonl"},
		{"r1searcher_musique_500.jsonl", "fanoutqa_dev.json.gz"}, {"r1searcher_2wiki_500.jsonl", "fanoutqa_dev.json.gz"}, {"r1searcher_hotpotqa_500.jsonl", "r1searcher_hotpotqa_500.jsonl"}} {
		b.Run(pair[0]+"/"+pair[1], func(b *testing.B) {
			items, err := decontam.Read(ctx, filepath.Join(dir, pair[0]))
			if err != nil {
				b.Fatal(err)
			}
			against, err := decontam.Load(ctx, filepath.Join(dir, pair[1]))
			if err != nil {
				b.Fatal(err)
			}
			alarms := 0
			for b.Loop() {
				alarms = 0
				for _, it := range items {
					if found := against.Check(it); len(found) > 0 {
						alarms++
						if pair[0] != pair[1] && os.Getenv("QUARRY_BENCH_SHOW") != "" {
							fmt.Printf("%q: %+v\n", it.Text, found)
						}
					}
				}
			}
			b.ReportMetric(100*float64(alarms)/float64(len(items)), "%alarms")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(items)), "us/question")
		})
	}
}
