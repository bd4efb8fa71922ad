package rollout

import (
	"slices"
	"testing"
)

// The gauge is recounted from what the groups are: whatever transition goes wrong, it no longer reads 0.
func TestGaugeSeesABrokenTransition(t *testing.T) {
	// Groups 0 and 1 are shipped, 2 and 3 ready with an episode given up in 3, 4 open with one episode finished, 5 open.
	const shipped, ready, open = 0, 3, 4
	at := func(t *testing.T) *bench {
		b := startBench(t, func(c *Config) { c.Eta, c.MaxConcurrent, c.MinValid = 2, 4, 1 })
		for b.m.next <= open || b.m.groups[open].unresolved == 4 {
			d := b.running[0]
			b.running = b.running[1:]
			if d.Group == ready && d.Sample == 1 {
				b.play(Failed{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, Reason: ReasonInvalid, Permanent: true})
			} else {
				b.play(b.good(d))
			}
		}
		if b.lease() == nil {
			t.Fatal(b.m.Blocked())
		}
		wantCounts(t, b.m, Counts{Dispatched: 21, Leased: 8, Buffered: 8, InFlight: 4, Discarded: map[Reason]int{ReasonInvalid: 1}})
		return b
	}
	for name, c := range map[string]struct {
		wrong func(b *bench)
		gauge int
	}{
		"nothing":                          {func(*bench) {}, 0},
		"an open group is forgotten":       {func(b *bench) { delete(b.m.groups, open) }, 4},
		"a ready group is forgotten":       {func(b *bench) { delete(b.m.groups, ready) }, 4},
		"a shipped group is forgotten":     {func(b *bench) { delete(b.m.groups, shipped) }, 4},
		"a ready group leaves the queue":   {func(b *bench) { b.m.unready(ready) }, 4},
		"a shipped group is still ready":   {func(b *bench) { b.m.ready = slices.Insert(b.m.ready, 0, shipped) }, 4},
		"a batch vanishes unacknowledged":  {func(b *bench) { b.m.batch = nil }, 8},
		"a batch loses its lease only":     {func(b *bench) { b.m.batch.leased = false }, 8},
		"an episode goes back to the wait": {func(b *bench) { b.m.groups[open].samples[0].place = waiting }, 1},
		"an episode counts as resolved while it runs": {func(b *bench) {
			g := b.m.groups[open]
			g.unresolved = 1
			b.m.resolve(g)
		}, 3},
		"an episode is acknowledged alone":              {func(b *bench) { b.m.move(&b.m.groups[shipped].samples[2], acknowledged, "") }, 1},
		"a group is taken off the books before its end": {func(b *bench) { b.m.settle(b.m.groups[ready]) }, 3},
		"a group is taken off the books twice": {func(b *bench) {
			g := b.m.groups[ready]
			b.m.discard(ready, ReasonStale)
			b.m.settle(g)
		}, -4},
		"an acknowledgement forgets a group": {func(b *bench) {
			b.m.moveAll(b.m.batch.groups, acknowledged, "")
			b.m.settle(b.m.groups[shipped])
			b.m.batch = nil
		}, 4},
		"a dispatch is not made": {func(b *bench) { b.m.issued-- }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			b := at(t)
			c.wrong(b)
			if got := b.m.Counts().Conservation(); got != c.gauge {
				t.Errorf("the gauge reads %d, want %d: %+v", got, c.gauge, b.m.Counts())
			}
		})
	}
}
