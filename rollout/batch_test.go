package rollout

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	quarry "github.com/quarry-rl/quarry"
)

// Staleness counts from the oldest trained token to the trainer's version when the batch ships.
func TestStaleness(t *testing.T) {
	tests := map[string]struct {
		oldest, newest int32 // of sample 0 of group 0; all others are of version 4
		trainer        int32
		want           Reason
	}{
		"fresh":            {4, 4, 4, ""},
		"at the bound":     {1, 4, 5, ""},
		"one too old":      {0, 3, 5, ReasonStale},
		"spread":           {4, 8, 8, ReasonVersionSpread},
		"spread at bound":  {4, 7, 8, ""},
		"no trained token": {-1, -1, 8, ""},
		"from the future":  {9, 9, 5, ReasonVersionSpread},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := startBench(t, func(c *Config) { c.TotalBatches, c.GroupsPerBatch = 1, 1 })
			b.finishAll(func(d Dispatch) Body {
				f := Finished{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, Episode: "e", Oldest: 4, Newest: 4}
				if d.Group == 0 && d.Sample == 0 {
					f.Oldest, f.Newest = tc.oldest, tc.newest
				}
				return f
			})
			b.play(Published{tc.trainer})
			s := b.lease()
			if tc.want == "" {
				if s == nil || s.TrainerVersion != tc.trainer || groupsOf(s)[0] != 0 {
					t.Fatalf("%+v", s)
				}
				return
			}
			if got := b.m.Counts().Discarded[tc.want]; s != nil || got != 4 {
				t.Fatalf("shipped %+v, %d discarded as %s", s, got, tc.want)
			}
			// Another group takes its place.
			b.finishAll(func(d Dispatch) Body {
				return Finished{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, Episode: "e", Oldest: tc.trainer, Newest: tc.trainer}
			})
			if s := b.lease(); s == nil || groupsOf(s)[0] != 1 {
				t.Errorf("replacement: %+v", s)
			}
		})
	}
}

func TestStalenessRecord(t *testing.T) {
	b := startBench(t, func(c *Config) { c.TotalBatches, c.GroupsPerBatch, c.MaxConcurrent = 1, 1, 4 })
	oldest := []int32{3, 2, 3, -1}
	b.finishAll(func(d Dispatch) Body {
		return Finished{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, Episode: "e", Oldest: oldest[d.Sample], Newest: oldest[d.Sample]}
	})
	b.play(Published{3})
	got := b.lease().Staleness
	// started 1 s, admitted 2 s, finished 3 to 6 s, published 7 s, leased 8 s after the beginning
	want := Staleness{Samples: 3, Max: 1, Mean: 1.0 / 3, Hist: []int{2, 1, 0, 0, 0}, Lead: 2 * time.Second, Lag: 4 * time.Second}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A journal may hold a batch that this version would not ship: its staleness is told as it was.
func TestStalenessBeyondTheBound(t *testing.T) {
	b := startBench(t, func(c *Config) {
		c.TotalBatches, c.GroupsPerBatch, c.GroupSize, c.MaxStaleness, c.Eta = 1, 1, 2, 1, 0
	})
	b.finishAll(func(d Dispatch) Body {
		return Finished{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, Episode: "e", Oldest: 4 - 2*int32(d.Sample), Newest: 4}
	})
	b.play(Published{5})
	b.play(Leased{Batch: 0, Token: 1, Version: 5, Groups: []int{0}})
	if got := b.delivery.Staleness; got.Samples != 2 || got.Max != 3 || got.Mean != 2 || !cmp.Equal(got.Hist, []int{0, 1, 0, 1}) {
		t.Errorf("%+v", got)
	}
}

// Two attempts hold the same batch: only the later one may acknowledge it, and only once.
func TestTwoAttemptsAck(t *testing.T) {
	b := startBench(t, nil)
	b.finishAll(b.good)
	first := *b.lease()
	second := *b.lease()
	if !cmp.Equal(first.Groups, second.Groups) || second.Token != first.Token+1 || second.Index != first.Index {
		t.Fatalf("%+v, then %+v", first, second)
	}
	id := b.m.cfg.BatchID(first.Index)
	refuse := func(token int, version int32, id string, want quarry.Kind) {
		t.Helper()
		if _, err := b.m.Acknowledge(id, token, version, json.RawMessage("{}")); quarry.KindOf(err) != want {
			t.Errorf("token %d: %v", token, err)
		}
		before := b.m.Counts()
		b.play(Acked{Batch: first.Index, Token: token, Version: version}) // and the event would change nothing
		if want == quarry.KindConflict && !cmp.Equal(before, b.m.Counts()) {
			t.Errorf("a refused acknowledgement changed the state")
		}
	}
	refuse(first.Token, 1, id, quarry.KindConflict)
	refuse(second.Token+1, 1, id, quarry.KindConflict)
	if _, err := b.m.Acknowledge("b000009", 1, 1, nil); quarry.KindOf(err) != quarry.KindNotFound {
		t.Error(err)
	}
	if _, err := b.m.Acknowledge(id, second.Token, -1, nil); quarry.KindOf(err) != quarry.KindInvalid {
		t.Error(err)
	}
	if _, err := b.m.Acknowledge(id, second.Token, 1, json.RawMessage("{")); quarry.KindOf(err) != quarry.KindInvalid {
		t.Error(err)
	}
	b.ack(&second, 1)
	refuse(second.Token, 1, id, quarry.KindConflict)
	refuse(first.Token, 1, id, quarry.KindConflict)
	if n := len(b.m.Acked()); n != 1 {
		t.Errorf("%d batches acknowledged", n)
	}
}

// A restart dispatches work in flight again as the same attempt and hands out the same batch under a new token.
func TestResume(t *testing.T) {
	b := startBench(t, func(c *Config) { c.Eta = 1 })
	for range 12 { // groups 0 to 2; group 3 is in flight, one of it on its second attempt
		d := b.running[0]
		b.running = b.running[1:]
		b.play(b.good(d))
	}
	b.play(bad(b.running[0]))
	b.running = b.running[1:]
	before := *b.lease()
	inFlight := append([]Dispatch(nil), b.running...)
	b.running = nil
	b.play(Resumed{b.m.cfg})
	if d := cmp.Diff(map[Dispatch]bool{inFlight[0]: true, inFlight[1]: true, inFlight[2]: true, inFlight[3]: true},
		map[Dispatch]bool{b.running[0]: true, b.running[1]: true, b.running[2]: true, b.running[3]: true}); d != "" {
		t.Error(d)
	}
	wantCounts(t, b.m, Counts{Dispatched: 16, Buffered: 12, InFlight: 4})
	if _, err := b.m.Acknowledge(b.m.cfg.BatchID(0), before.Token, 1, nil); quarry.KindOf(err) != quarry.KindConflict {
		t.Errorf("the old process's lease still counts: %v", err)
	}
	after := b.lease()
	if !cmp.Equal(before.Groups, after.Groups) || after.Token != before.Token+1 || after.TrainerVersion != before.TrainerVersion {
		t.Errorf("%+v, then %+v", before, after)
	}
}
