package datasets

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchRows are n samples of 4,096 tokens, half of them sampled.
func benchRows(b *testing.B, n int) ([]T1, int64) {
	r := rand.New(rand.NewPCG(1, 2))
	var rows []T1
	size := int64(0)
	for i := range n {
		row := t1Rows(b, 1)[0]
		const tokens, prompt = 4096, 2048
		row.ID, row.PromptLen = fmt.Sprintf("t-%06d", i), prompt
		row.IDs, row.Mask = make([]int32, tokens), make([]int8, tokens)
		row.BehavLogprobs, row.WeightVersions = make([]float32, tokens), make([]int32, tokens)
		for j := range tokens {
			row.IDs[j] = int32(r.ExpFloat64() * 3000)
			row.WeightVersions[j] = -1
			if j >= prompt {
				row.Mask[j], row.BehavLogprobs[j], row.WeightVersions[j] = 1, -float32(r.ExpFloat64()), 3
			}
		}
		row.MaxVersion = 3
		rows = append(rows, row)
		size += 13 * tokens
	}
	return rows, size
}

func BenchmarkWriteT1(b *testing.B) {
	rows, size := benchRows(b, 500)
	b.SetBytes(size)
	dir := b.TempDir()
	for b.Loop() {
		writeDataset(b, dir, "ds", Options{Replace: true}, rows)
	}
}

func BenchmarkReadT1(b *testing.B) {
	rows, size := benchRows(b, 500)
	b.SetBytes(size)
	dir := b.TempDir()
	writeDataset(b, dir, "ds", Options{}, rows)
	for b.Loop() {
		ds := must(Open(dir + "/ds"))(b)
		if got := must(Read[T1](ds))(b); len(got) != len(rows) {
			b.Fatal(len(got))
		}
	}
}

// The batch of one RL step of the demo is small: what a dataset costs before its first byte matters.
func BenchmarkWriteSmallT1(b *testing.B) {
	rows := t1Rows(b, 64)
	dir := b.TempDir()
	for b.Loop() {
		writeDataset(b, dir, "ds", Options{Replace: true}, rows)
	}
}
