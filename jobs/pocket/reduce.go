package pocket

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// blockSize is how many rows share one partial sum. It is part of the arithmetic: it decides in which order floating
// point numbers are added, so it does not depend on the number of processors.
const blockSize = 8

// each calls f for every i in 0..n-1 on all processors. The error is that of the lowest i that failed.
func each(ctx context.Context, n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// sum adds up what f(i) adds to a vector of length dim, i in 0..n-1: block by block in parallel, then the blocks in order.
func sum(ctx context.Context, n, dim int, f func(i int, acc []float64) error) ([]float64, error) {
	parts := make([][]float64, (n+blockSize-1)/blockSize)
	err := each(ctx, len(parts), func(b int) error {
		acc := make([]float64, dim)
		for i := b * blockSize; i < min(n, (b+1)*blockSize); i++ {
			if err := f(i, acc); err != nil {
				return err
			}
		}
		parts[b] = acc
		return nil
	})
	if err != nil {
		return nil, err
	}
	total := make([]float64, dim)
	for _, p := range parts {
		for j, x := range p {
			total[j] += x
		}
	}
	return total, nil
}
