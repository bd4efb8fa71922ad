package extract

import (
	"context"
	"testing"
)

// BenchmarkExtract is all but the model: cutting, prompts, grounding, records, ledger, with its syncs to the disk.
func BenchmarkExtract(b *testing.B) {
	docs := towns(0)
	for i := range 50 {
		docs = append(docs, town(string(rune('a'+i%26))+string(rune('a'+i/26)), 60))
	}
	var out int64
	for b.Loop() {
		sum, err := Run(context.Background(), &reader{}, each(docs), b.TempDir(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		out += sum.Candidates
	}
	b.ReportMetric(float64(out)/b.Elapsed().Seconds(), "candidates/s")
}

// BenchmarkJudge turns one candidate into a record of a document of 2,000 bytes.
func BenchmarkJudge(b *testing.B) {
	d := town("d", 60)
	s := newSource(&d)
	p := passages(d.Text, s.sents, 6000, 2)[0]
	all, err := parse(read1("\nPASSAGE:\n" + d.Text))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, why := (&Options{}).judge(s, p, p, &all[0]); why != "" {
			b.Fatal(why)
		}
	}
}
