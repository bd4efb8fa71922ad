package teacher

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarry-rl/quarry"
)

// doer answers in process, so that time is virtual.
type doer func(n int) (status int, head map[string]string, took time.Duration)

type fake struct {
	script    doer
	n         atomic.Int32
	busy, top atomic.Int32
	mu        sync.Mutex
	starts    []time.Duration
	begun     time.Time
}

func (f *fake) Do(r *http.Request) (*http.Response, error) {
	n := int(f.n.Add(1))
	f.mu.Lock()
	f.starts = append(f.starts, time.Since(f.begun))
	f.mu.Unlock()
	if b := f.busy.Add(1); b > f.top.Load() {
		f.top.Store(b)
	}
	defer f.busy.Add(-1)
	status, head, took := f.script(n)
	select {
	case <-time.After(took):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	var body bytes.Buffer
	if status == 200 {
		say(&body, "ok")
	}
	h := http.Header{}
	for k, v := range head {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(&body)}, nil
}

func virtual(script doer) (*Client, *fake) {
	f := &fake{script: script, begun: time.Now()}
	return &Client{BaseURL: "http://h/v1", Model: "m", HTTP: f}, f
}

func TestRetryAfter(t *testing.T) {
	for name, head := range map[string]map[string]string{
		"seconds":      {"Retry-After": "30"},
		"milliseconds": {"Retry-After-Ms": "30000"},
		"date":         {"Retry-After": time.Date(2000, 1, 1, 0, 0, 30, 0, time.UTC).Format(http.TimeFormat)}, // a bubble begins at 2000-01-01
	} {
		synctest.Test(t, func(t *testing.T) {
			c, f := virtual(func(n int) (int, map[string]string, time.Duration) {
				if n == 1 {
					return 429, head, 0
				}
				return 200, nil, 0
			})
			if _, err := c.Complete(context.Background(), Request{User: "u"}); err != nil {
				t.Fatal(err)
			}
			if s := f.starts[1]; s < 30*time.Second || s > 31*time.Second {
				t.Errorf("%s: second attempt after %v", name, s)
			}
		})
	}
}

// One 429 rests everybody, halves the concurrency once for all attempts under way, and successes widen it again.
func TestAdaptiveConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := virtual(func(n int) (int, map[string]string, time.Duration) {
			if n <= 16 {
				return 429, nil, time.Second
			}
			return 200, nil, time.Second
		})
		c.MaxConcurrent = 16
		run := func(n int) {
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					if _, err := c.Complete(context.Background(), Request{User: "u", Seed: i}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}
		run(16)
		if f.top.Load() != 16 {
			t.Errorf("%d at once at first", f.top.Load())
		}
		if l := c.gate.limit; l < 8 || l > 12 {
			t.Errorf("limit %v after one burst of 429, want 8 and a little", l)
		}
		f.top.Store(0)
		run(300)
		if c.gate.limit != 16 || f.top.Load() != 16 {
			t.Errorf("limit %v, %d at once after 300 successes", c.gate.limit, f.top.Load())
		}
	})
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := virtual(func(int) (int, map[string]string, time.Duration) { return 503, nil, 0 })
		c.Retries, c.MaxConcurrent = -1, 4
		errs := 0
		for range failuresToOpen + failedProbes + 50 {
			if _, err := c.Complete(context.Background(), Request{User: "u"}); KindOf(err) == Unavailable && quarry.KindOf(err) == quarry.KindUnavailable {
				errs++
			}
		}
		if errs != failuresToOpen+failedProbes+50 || f.n.Load() != failuresToOpen+failedProbes {
			t.Fatalf("%d errors, %d requests, want %d", errs, f.n.Load(), failuresToOpen+failedProbes)
		}
		rest, at := firstRest, f.starts[failuresToOpen-1]
		for i := range failedProbes {
			at += rest
			if got := f.starts[failuresToOpen+i]; got != at {
				t.Errorf("probe %d at %v, want %v", i, got, at)
			}
			rest = min(2*rest, longestRest)
		}
	})
}

// While the breaker is open one probe runs alone; its success lets all go on.
func TestBreakerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := virtual(func(n int) (int, map[string]string, time.Duration) {
			if n <= 20 {
				return 503, nil, 10 * time.Millisecond
			}
			return 200, nil, time.Second
		})
		c.MaxConcurrent, c.Retries = 20, 5
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if _, err := c.Complete(context.Background(), Request{User: "u", Seed: i}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if f.n.Load() != 40 {
			t.Errorf("%d requests", f.n.Load())
		}
		if probe, next := f.starts[20], f.starts[21]; probe < firstRest || next != probe+time.Second {
			t.Errorf("probe at %v, the next at %v", probe, next)
		}
	})
}

func TestAuthStopsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := virtual(func(int) (int, map[string]string, time.Duration) { return 401, nil, 0 })
		for range 3 {
			if _, err := c.Complete(context.Background(), Request{User: "u"}); KindOf(err) != Auth {
				t.Error(err)
			}
		}
		if f.n.Load() != 1 {
			t.Errorf("%d requests with a key that was refused", f.n.Load())
		}
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := virtual(func(int) (int, map[string]string, time.Duration) { return 200, nil, time.Hour })
		c.MaxConcurrent, c.Timeout = 1, 2*time.Hour
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if _, err := c.Complete(ctx, Request{User: "u", Seed: i}); quarry.KindOf(err) != quarry.KindCanceled {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Minute)
		cancel()
		wg.Wait()
		if len(c.gate.waiting) != 0 || c.gate.busy != 0 || f.n.Load() != 1 {
			t.Errorf("%d wait, %d busy, %d requests", len(c.gate.waiting), c.gate.busy, f.n.Load())
		}
		if _, err := c.Complete(context.Background(), Request{User: "u"}); err != nil {
			t.Error("the slot was lost:", err)
		}
	})
}
