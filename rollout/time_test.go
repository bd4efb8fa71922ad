package rollout

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	quarry "github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/journal"
)

// memLog stands in for the journal where time is not real: waiting for a disk would stop a bubble's clock.
type memLog struct {
	mu     sync.Mutex
	events []journal.Event
	blobs  map[string][]byte
	fail   error
}

func (m *memLog) Append(_ context.Context, events []journal.Event, blobs [][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if m.blobs == nil {
		m.blobs = map[string][]byte{}
	}
	for _, e := range events {
		e.Seq = int64(len(m.events) + 1)
		m.events = append(m.events, e)
	}
	for _, b := range blobs {
		m.blobs[journal.Digest(b)] = slices.Clone(b)
	}
	return nil
}

func (m *memLog) Replay(fn func(journal.Event) error) error {
	m.mu.Lock()
	events := slices.Clone(m.events)
	m.mu.Unlock()
	for _, e := range events {
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

func (m *memLog) Blob(digest string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[digest]
	if !ok {
		return nil, &quarry.Error{Op: "blob", Kind: quarry.KindNotFound, Subject: digest}
	}
	return b, nil
}

func (m *memLog) break_(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// slow is an engine whose episodes take time; it honours its context and notes how many run at once.
type slow struct {
	took         time.Duration
	running, max atomic.Int32
}

func (s *slow) RunEpisode(ctx context.Context, a Assignment) (*quarry.Episode, error) {
	n := s.running.Add(1)
	defer s.running.Add(-1)
	for {
		old := s.max.Load()
		if n <= old || s.max.CompareAndSwap(old, n) {
			break
		}
	}
	select {
	case <-time.After(s.took):
		return episode(a, 0), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Each test ends its bubble, which fails if a goroutine is left.

func TestLeaseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{took: time.Minute}
		l := startLive(t, smallConfig(), &memLog{}, s, taskAt)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Lease(ctx)
		wantErr(t, err, quarry.KindCanceled, "0 of 2 groups ready", "4 episodes in flight")
		b, err := l.Lease(t.Context()) // 6 episodes, 4 at a time
		if err != nil || time.Since(begin) != 2*time.Minute {
			t.Fatalf("%v after %v", err, time.Since(begin))
		}
		if b.Staleness.Lead != 80*time.Second || b.Staleness.Lag != 40*time.Second {
			t.Errorf("%+v", b.Staleness) // four finished after 1 min, two after 2
		}
		if s.max.Load() != 4 {
			t.Errorf("%d at once, want 4", s.max.Load())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The trainer is ahead of the engine: the next batch waits for Publish, and the wait says so.
func TestLeaseWaitsForPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := smallConfig()
		cfg.Eta = 0
		l := startLive(t, cfg, &memLog{}, &slow{took: time.Second}, taskAt)
		b, err := l.Lease(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Ack(t.Context(), b.ID, b.Token, 1, nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err = l.Lease(ctx)
		wantErr(t, err, quarry.KindCanceled, "newer weights must be published")
		if err := l.Publish(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := l.Publish(t.Context(), 1); err != nil {
			t.Errorf("the same version again: %v", err)
		}
		wantErr(t, l.Publish(t.Context(), 0), quarry.KindInvalid)
		begin := time.Now()
		if b, err = l.Lease(t.Context()); err != nil || b.Index != 1 || time.Since(begin) != 2*time.Second {
			t.Errorf("%+v, %v after %v", b, err, time.Since(begin))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An attempt that hangs is cut off at its deadline; hanging for ever ends in an error, not in a wait.
func TestEpisodeDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := smallConfig()
		cfg.EpisodeTimeout = 10 * time.Second
		l := startLive(t, cfg, &memLog{}, &slow{took: time.Hour}, taskAt)
		begin := time.Now()
		_, err := l.Lease(t.Context())
		wantErr(t, err, quarry.KindUnavailable, "deadline exceeded")
		if d := time.Since(begin); d > 5*time.Minute {
			t.Errorf("after %v", d)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Close interrupts; interrupted work is no attempt, and the next process plays it again.
func TestCloseInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log memLog
		s := &slow{took: time.Minute}
		for range 5 {
			l := startLive(t, smallConfig(), &log, s, taskAt)
			time.AfterFunc(30*time.Second, func() { l.Close() })
			_, err := l.Lease(t.Context())
			wantErr(t, err, quarry.KindCanceled, "closed")
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if c := l.Counts(); c.InFlight != 4 || c.Conservation() != 0 || s.running.Load() != 0 {
				t.Errorf("%+v, %d still run", c, s.running.Load())
			}
		}
		s.took = time.Second
		l := startLive(t, smallConfig(), &log, s, taskAt)
		b, err := l.Lease(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Groups[0].Episodes) != 3 || len(l.Counts().Discarded) != 0 {
			t.Errorf("interruptions cost attempts: %+v", l.Counts())
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// So does the context of Start, however its end and the runners' errors interleave.
func TestContextInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log memLog
		for range 100 {
			l, err := New(smallConfig(), &log, &slow{took: time.Minute}, taskAt, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := l.Start(ctx); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			cancel()
		}
		for _, e := range log.events {
			if e.Kind == "failed" {
				t.Fatalf("an interruption was taken for a failure: %s", e.Body)
			}
		}
	})
}

// The context of Start ends everything, and Close has nothing to complain about.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := New(smallConfig(), &memLog{}, &slow{took: time.Minute}, taskAt, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Lease(t.Context())
		wantErr(t, err, quarry.KindInvalid, "not started")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := l.Start(ctx); err != nil {
			t.Fatal(err)
		}
		wantErr(t, l.Start(ctx), quarry.KindConflict)
		_, err = l.Lease(t.Context())
		wantErr(t, err, quarry.KindCanceled, "deadline")
		wantErr(t, l.Publish(t.Context(), 1), quarry.KindCanceled)
		wantErr(t, l.Drain(t.Context()), quarry.KindCanceled)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestDrainCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{took: 10 * time.Second}
		l := startLive(t, smallConfig(), &memLog{}, s, taskAt)
		b, err := l.Lease(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if err := l.Ack(t.Context(), b.ID, b.Token, 1, nil); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := l.Lease(ctx)
			waiting <- err
		}()
		synctest.Wait()
		begin := time.Now()
		if err := l.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantErr(t, <-waiting, quarry.KindCanceled, "drained")
		c := l.Counts()
		if c.InFlight != 0 || c.Buffered != 0 || c.Leased != 0 || c.Acknowledged != 6 || c.Discarded[ReasonRunEnded] == 0 || c.Conservation() != 0 {
			t.Errorf("%+v", c)
		}
		if s.running.Load() != 0 || time.Since(begin) != 0 {
			t.Errorf("%d still run after %v", s.running.Load(), time.Since(begin))
		}
		if err := l.Drain(t.Context()); err != nil {
			t.Errorf("second Drain: %v", err)
		}
		wantErr(t, l.Ack(t.Context(), b.ID, b.Token, 1, nil), quarry.KindConflict, "already acknowledged")
		wantErr(t, l.Ack(t.Context(), "r-b000001", 1, 1, nil), quarry.KindConflict, "drained")
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Whoever acts on a command can find the fact it follows from in the log: a kill at that moment loses nothing.
func TestRecordedBeforeObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log memLog
		recorded := func(match func(Body) bool) bool {
			found := false
			err := log.Replay(func(je journal.Event) error {
				var e Event
				err := json.Unmarshal(je.Body, &e)
				found = found || err == nil && match(e.Body)
				return err
			})
			return err == nil && found
		}
		cfg := smallConfig()
		l := startLive(t, cfg, &log, runnerFunc(func(_ context.Context, a Assignment) (*quarry.Episode, error) {
			if !recorded(func(b Body) bool { ad, ok := b.(Admitted); return ok && cfg.GroupID(ad.Group) == a.GroupID }) {
				t.Errorf("%s runs before its group is recorded", a.EpisodeID)
			}
			if a.Attempt == 1 && a.Sample == 0 {
				return nil, &quarry.Error{Kind: quarry.KindUnavailable}
			}
			if a.Attempt > 1 && !recorded(func(b Body) bool {
				f, ok := b.(Failed)
				return ok && cfg.EpisodeID(f.Group, f.Sample) == a.EpisodeID && f.Attempt == a.Attempt-1
			}) {
				t.Errorf("%s is retried before its failure is recorded", a.EpisodeID)
			}
			return episode(a, 0), nil
		}), taskAt)
		for k := range cfg.TotalBatches {
			b, err := l.Lease(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !recorded(func(body Body) bool { le, ok := body.(Leased); return ok && le.Batch == k && le.Token == b.Token }) {
				t.Errorf("batch %d is out before its lease is recorded", k)
			}
			if err := l.Ack(t.Context(), b.ID, b.Token, 0, nil); err != nil {
				t.Fatal(err)
			}
			if !recorded(func(body Body) bool { a, ok := body.(Acked); return ok && a.Batch == k }) {
				t.Errorf("acknowledgement of batch %d is not recorded", k)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
