package main

import (
	"context"
	"fmt"
)

// row says what to measure and what is expected of it. A new benchmark is one more entry of rows.
type row struct {
	name, unit string
	bar        bar     // zero: reported, not judged
	ours       measure // of quarry
	peer       measure // of the peer on the same work; nil without one
	data       bool    // needs a folder of public data sets that the repository may not carry, named by dataEnv
}

// dataEnv names the folder with medium-fb15k237/FB15k-237.tar.gz (github.com/TimDettmers/ConvE),
// corpus-2wiki/2wikimultihopqa_corpus.json.gz (github.com/OSU-NLP-Group/HippoRAG) and qa/*.jsonl (github.com/RUCAIBox/R1-Searcher).
const dataEnv = "QUARRY_BENCH_DATA"

type measure func(context.Context, *lab) (float64, error)

// bar is a bound: op is "<=", "<" or ">=".
type bar struct {
	op    string
	value float64
}

func (b bar) String() string { return fmt.Sprintf("%s %g", b.op, b.value) }

func (b bar) met(v float64) bool {
	switch b.op {
	case "<=":
		return v <= b.value
	case "<":
		return v < b.value
	default:
		return v >= b.value
	}
}

// rows are measured in this order. The peer of a build is an empty net/http server: what the toolchain costs anyway.
// generate is /generate of the embedded engine over loopback with contexts of 5,000 ids it has not seen, generate-seen
// with one that it has; journal is durable events of 64 concurrent writers. Steps, statements, queries and questions are
// per CPU-second of one core. certify-share is the share of walks that become questions over the bound that exhaustive
// search gives; its peer is greedy choice.
func rows() []row {
	return []row{
		{name: "build-cpu", unit: "CPU s", bar: bar{"<=", 200}, ours: buildCPU(quarryMain), peer: buildCPU(emptyServer)},
		{name: "binary-size", unit: "MB", bar: bar{"<=", 30}, ours: buildSize(quarryMain), peer: buildSize(emptyServer)},
		{name: "binary-size-stripped", unit: "MB", ours: strippedSize(quarryMain), peer: strippedSize(emptyServer)},
		{name: "demo-wall", unit: "s", bar: bar{"<", 180}, ours: demoWall},
		{name: "demo-memory", unit: "MB", ours: demoMemory},
		{name: "walk", unit: "steps/s", ours: goBench("BenchmarkWalk", "steps/s", "./synth")},
		{name: "generate", unit: "requests/s", ours: goBench("BenchmarkGenerateHTTP/cache=0", "requests/s", "./rollout/sglang")},
		{name: "generate-seen", unit: "requests/s", ours: goBench("BenchmarkGenerateHTTP/cache=1024", "requests/s", "./rollout/sglang")},
		{name: "trainer", unit: "tokens/s", ours: goBench("BenchmarkTrainer", "tokens/s", "./jobs/pocket")},
		{name: "journal", unit: "events/s", ours: goBench("BenchmarkAppend/callers=64", "events/s", "./internal/journal")},
		{name: "ntriples", unit: "statements/s", bar: bar{">=", 2e6}, ours: goBench("BenchmarkNTriples/builder", "statements/cpu-s", "./kg/ingest")},
		{name: "retrieve", unit: "requests/s", bar: bar{">=", 5000}, ours: goBench("BenchmarkLoopback/search-r1", "requests/s", "./kg/retrieve")},
		{name: "dedup-100k", unit: "CPU s", bar: bar{"<=", 10}, ours: goBench("BenchmarkSet", "cpu-s", "./synth/near")},
		{name: "certified-demo", unit: "questions/s", bar: bar{">=", 500}, ours: goBench("BenchmarkWiki/templates", "certified/s", "./synth/pipeline")},
		{name: "walk-fb15k237", unit: "M steps/s", bar: bar{">=", 150}, data: true, ours: goBench("BenchmarkUniform/fb15k237", "Msteps/cpu-s", "./kg/walk"),
			peer: script(`numpy batch\s+([\d.]+)`, "peers/walk.py", "medium-fb15k237/FB15k-237.tar.gz")},
		{name: "graph-memory", unit: "B/triple", bar: bar{"<=", 24}, data: true, ours: goBench("BenchmarkBuild/fb15k237", "loaded-B/triple", "./kg/store")},
		{name: "search-2wiki", unit: "queries/s", bar: bar{">=", 20000}, data: true, ours: goBench("BenchmarkSearch2Wiki/quarry", "queries/cpu-s", "./kg/bm25"),
			peer: goBench("BenchmarkSearch2Wiki/fts5", "queries/cpu-s", "./kg/bm25")},
		{name: "certify-fb15k237", unit: "questions/s", bar: bar{">=", 5000}, data: true, ours: goBench("BenchmarkCertify/fb15k237/minimal", "accepted/s", "./synth/certify")},
		{name: "certify-share", unit: "of the bound", bar: bar{">=", 0.8}, data: true, ours: goBench("BenchmarkShares/fb15k237/plain", "ours/bound", "./synth/certify"),
			peer: goBench("BenchmarkShares/fb15k237/plain", "greedy/bound", "./synth/certify")},
	}
}
