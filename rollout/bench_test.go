package rollout

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkLive is the whole way of an episode with an engine that takes no time: machine, journal on disk, lease with
// its episodes loaded, acknowledgement.
func BenchmarkLive(b *testing.B) {
	for _, concurrent := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("concurrent=%d", concurrent), func(b *testing.B) {
			cfg := DefaultConfig(16)
			cfg.MaxConcurrent = concurrent
			e := &engine{}
			l := startLive(b, cfg, tempJournal(b), e, taskAt)
			version := int32(0)
			for b.Loop() { // one batch: 128 episodes
				batch, err := l.Lease(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				version++
				e.version.Store(version)
				if err := l.Publish(b.Context(), version); err != nil {
					b.Fatal(err)
				}
				if err := l.Ack(b.Context(), batch.ID, batch.Token, version, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(l.Counts().Acknowledged)/b.Elapsed().Seconds(), "episodes/s")
			if n := l.Conservation(); n != 0 {
				b.Fatal(n)
			}
		})
	}
}

// BenchmarkMachine is the cost of one decision with many groups held.
func BenchmarkMachine(b *testing.B) {
	for _, groups := range []int{16, 10_000} {
		b.Run(fmt.Sprintf("groups=%d", groups), func(b *testing.B) {
			cfg := DefaultConfig(groups)
			cfg.MaxConcurrent, cfg.StopAfterFailed, cfg.StopAfterDiscarded = groups*8, 1<<30, 1<<30
			m := NewMachine()
			at := time.Unix(1, 0)
			todo := m.Apply(Event{at, Started{cfg}})
			events, version := 0, int32(0)
			for b.Loop() {
				if len(todo) == 0 {
					todo = append(todo, nextBatch(b, m, at, &version)...)
				}
				c := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				switch c := c.(type) {
				case Admit:
					// taken from the end of the list, but admitted in order
					todo = append(todo, m.Apply(Event{at, Admitted{Group: m.next, Task: "d"}})...)
				case Dispatch:
					todo = append(todo, m.Apply(Event{at, Finished{Group: c.Group, Sample: c.Sample, Attempt: c.Attempt, Episode: "e", Oldest: version, Newest: version}})...)
				}
				events++
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

func nextBatch(b *testing.B, m *Machine, at time.Time, version *int32) []Command {
	lease, ok := m.NextLease().(Leased)
	if !ok {
		b.Fatalf("%v, %s", m.Unreachable(), m.Blocked())
	}
	out := m.Apply(Event{at, lease})
	*version++
	out = append(out, m.Apply(Event{at, Published{*version}})...)
	ack, err := m.Acknowledge(m.cfg.BatchID(lease.Batch), lease.Token, *version, nil)
	if err != nil {
		b.Fatal(err)
	}
	return append(out, m.Apply(Event{at, ack})...)
}
