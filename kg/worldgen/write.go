package worldgen

import (
	"context"
	"fmt"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
)

// Sink takes records; store.Builder is one. What a record points to is its own and may be kept.
type Sink interface {
	Add(store.Record) error
}

// batch is how many entities a goroutine makes at a time.
const batch = 512

// Write hands all records of the world to a sink, from the caller's goroutine and in one order: the relations, then for
// each entity itself, the dates and counts it needs, each article, and the article's statements. Each value is told again
// by every entity that needs it. concurrency goroutines make them, 1 for less than 1; at most two batches of 512 entities
// for each of them are in memory. Errors are canceled, and those of the sink as they come.
func (w *World) Write(ctx context.Context, sink Sink, concurrency int) error {
	for _, r := range Relations() {
		if err := sink.Add(store.Record{Relation: &store.Relation{ID: r.ID, Label: r.Label, LabelZH: r.LabelZH}}); err != nil {
			return err
		}
	}
	concurrency = max(1, concurrency)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// goroutine g makes batches g, g+concurrency, ..., so that the batch that is waited for is always being made
	lanes := make([]chan []store.Record, concurrency)
	for g := range lanes {
		lanes[g] = make(chan []store.Record)
		go w.make(ctx, g, concurrency, lanes[g])
	}
	for b := 0; b*batch < w.entities; b++ {
		var list []store.Record
		select {
		case list = <-lanes[b%concurrency]:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return &quarry.Error{Op: "kg generate", Kind: quarry.KindCanceled, Subject: fmt.Sprintf("entity %d of %d", b*batch, w.entities), Msg: "stopped",
				Hint: "run the same command again: the world will be the same", Err: context.Cause(ctx)}
		}
		for _, r := range list {
			if err := sink.Add(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *World) make(ctx context.Context, g, step int, out chan<- []store.Record) {
	t := w.writer()
	for b := g; b*batch < w.entities; b += step {
		t.out = make([]store.Record, 0, max(1024, len(t.out)+len(t.out)/16))
		for i := b * batch; i < min((b+1)*batch, w.entities); i++ {
			t.entity(i)
		}
		select {
		case out <- t.out:
		case <-ctx.Done():
			return
		}
	}
}
