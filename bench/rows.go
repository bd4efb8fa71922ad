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
}

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
// with one that it has; journal is durable events of 64 concurrent writers.
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
	}
}
