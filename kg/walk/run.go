package walk

import (
	"context"
	"fmt"
	"sync"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// ordered calls do on blocks of walk numbers, so many at once, and take on each result in order. Only a few blocks
// beyond the one taken are ever done.
func ordered[T any](ctx context.Context, first, count, block, concurrency int, do func(lo, hi int) T, take func(T)) error {
	type job struct {
		lo, hi int
		out    chan T
	}
	ctx, cancel := context.WithCancel(ctx)
	concurrency = max(concurrency, 1)
	work, order := make(chan job), make(chan job, concurrency)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range concurrency {
		wg.Go(func() {
			for j := range work {
				j.out <- do(j.lo, j.hi)
			}
		})
	}
	wg.Go(func() {
		defer close(work)
		defer close(order)
		for lo := first; lo < first+count; lo += block {
			j := job{lo, min(lo+block, first+count), make(chan T, 1)}
			for _, to := range []chan job{order, work} {
				select {
				case to <- j:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	for j := range order {
		select {
		case t := <-j.out:
			take(t)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return &quarry.Error{Op: "walk", Kind: quarry.KindCanceled, Subject: fmt.Sprintf("walk %d", j.lo), Msg: "stopped", Err: context.Cause(ctx),
				Hint: "run again: walks depend on seed and number only"}
		}
	}
	return nil
}

func invalid(subject, msg, hint string) error {
	return &quarry.Error{Op: "walk", Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: hint}
}

func checkStarts(g *csr.Graph, starts []uint32) error {
	for i, v := range starts {
		if int(v) >= g.Entities() {
			return invalid(fmt.Sprintf("start %d", i), fmt.Sprintf("entity %d is outside the graph's %d", v, g.Entities()), "take starts from the same graph")
		}
	}
	return nil
}
