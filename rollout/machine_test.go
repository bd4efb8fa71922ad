package rollout

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	quarry "github.com/quarry-rl/quarry"
)

// bench plays events into a machine and keeps what it was told to do.
type bench struct {
	t        *testing.T
	m        *Machine
	at       time.Time
	running  []Dispatch // not answered
	admits   int        // not answered
	delivery *Shipment  // the last
}

func startBench(t *testing.T, change func(*Config)) *bench {
	c := DefaultConfig(2)
	c.GroupSize, c.MaxConcurrent, c.Seed = 4, 8, 1
	if change != nil {
		change(&c)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, m: NewMachine(), at: when}
	b.play(Started{c})
	return b
}

// play applies an event and answers every Admit.
func (b *bench) play(body Body) {
	b.t.Helper()
	b.at = b.at.Add(time.Second)
	for _, c := range b.m.Apply(Event{b.at, body}) {
		switch c := c.(type) {
		case Dispatch:
			b.running = append(b.running, c)
		case Admit:
			b.admits++
		case Deliver:
			b.delivery = &c.Shipment
		}
	}
	if n := b.m.Counts().Conservation(); n != 0 {
		b.t.Fatalf("conservation %d after %+v", n, body)
	}
	for b.admits > 0 && b.m.tasksEnded == "" {
		b.admits--
		b.play(Admitted{Group: b.m.next, TaskID: "t", Task: "digest"})
	}
}

// finishAll answers everything that runs, and what that starts, with fn.
func (b *bench) finishAll(fn func(Dispatch) Body) {
	b.t.Helper()
	for len(b.running) > 0 {
		d := b.running[0]
		b.running = b.running[1:]
		b.play(fn(d))
	}
}

func (b *bench) good(d Dispatch) Body {
	return Finished{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, Episode: "e", Oldest: b.m.published, Newest: b.m.published}
}

func bad(d Dispatch) Failed {
	return Failed{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, Reason: ReasonInfra, ErrKind: quarry.KindUnavailable, Msg: "engine down"}
}

// lease gives the next batch, nil when there is none yet.
func (b *bench) lease() *Shipment {
	b.t.Helper()
	b.delivery = nil
	for b.delivery == nil {
		body := b.m.NextLease()
		if body == nil {
			return nil
		}
		b.play(body)
	}
	return b.delivery
}

func (b *bench) ack(s *Shipment, version int32) {
	b.t.Helper()
	body, err := b.m.Acknowledge(b.m.cfg.BatchID(s.Index), s.Token, version, json.RawMessage("{}"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.play(body)
}

func groupsOf(s *Shipment) []int {
	var out []int
	for _, g := range s.Groups {
		out = append(out, g.Index)
	}
	return out
}

func wantCounts(t *testing.T, m *Machine, want Counts) {
	t.Helper()
	if want.Discarded == nil {
		want.Discarded = map[Reason]int{}
	}
	if d := cmp.Diff(want, m.Counts()); d != "" {
		t.Error(d)
	}
}

// One sibling fails for ever: it is given up after its retries, the finished siblings stay and the group ships.
func TestOneSiblingFailsForEver(t *testing.T) {
	b := startBench(t, func(c *Config) { c.TotalBatches, c.GroupSize, c.MaxConcurrent = 1, 8, 16 })
	attempts := 0
	b.finishAll(func(d Dispatch) Body {
		if d.Group == 0 && d.Sample == 5 {
			attempts++
			if d.Attempt != attempts {
				t.Errorf("attempt %d, want %d", d.Attempt, attempts)
			}
			return bad(d)
		}
		return b.good(d)
	})
	if attempts != 3 {
		t.Errorf("%d attempts, want 1 + 2 retries", attempts)
	}
	s := b.lease()
	if s == nil || len(s.Groups[0].Episodes) != 7 || len(s.Groups[1].Episodes) != 8 {
		t.Fatalf("%+v", s)
	}
	wantCounts(t, b.m, Counts{Dispatched: 16, Leased: 15, Discarded: map[Reason]int{ReasonInfra: 1}})
	if s.Staleness.Samples != 15 {
		t.Errorf("%+v", s.Staleness)
	}
}

func TestPermanentFailureIsNotRetried(t *testing.T) {
	b := startBench(t, func(c *Config) { c.TotalBatches = 1 })
	runs := 0
	b.finishAll(func(d Dispatch) Body {
		if d.Group == 0 && d.Sample == 0 {
			runs++
			f := bad(d)
			f.Permanent, f.Reason = true, ReasonInvalid
			return f
		}
		return b.good(d)
	})
	if runs != 1 || b.m.Counts().Discarded[ReasonInvalid] != 1 {
		t.Errorf("%d runs, %+v", runs, b.m.Counts())
	}
}

// A group with too few finished episodes is discarded and another is admitted in its place.
func TestTooFewValid(t *testing.T) {
	b := startBench(t, func(c *Config) { c.TotalBatches = 1 })
	b.finishAll(func(d Dispatch) Body {
		if d.Group == 0 && d.Sample > 0 {
			return bad(d)
		}
		return b.good(d)
	})
	s := b.lease()
	if s == nil || !cmp.Equal(groupsOf(s), []int{1, 2}) {
		t.Fatalf("%+v", s)
	}
	wantCounts(t, b.m, Counts{Dispatched: 12, Leased: 8, Discarded: map[Reason]int{ReasonInfra: 3, ReasonTooFewValid: 1}})
}

// The oldest-admitted ready groups ship first, whatever order they became ready in.
func TestOldestShipFirst(t *testing.T) {
	b := startBench(t, func(c *Config) { c.Eta, c.MaxConcurrent = 4, 40 })
	for len(b.running) > 0 { // last admitted first
		d := b.running[len(b.running)-1]
		b.running = b.running[:len(b.running)-1]
		b.play(b.good(d))
	}
	for k := range 3 {
		s := b.lease()
		if !cmp.Equal(groupsOf(s), []int{2 * k, 2*k + 1}) || s.Index != k || s.Token != 1 {
			t.Fatalf("batch %d: %+v", k, s)
		}
		b.ack(s, int32(k)+1)
	}
}

// AReaL's bound: at most (eta + version - start + 1) * batch groups are admitted.
func TestAdmissionBound(t *testing.T) {
	for _, eta := range []int{0, 1, 3} {
		b := startBench(t, func(c *Config) { c.Eta, c.StartVersion, c.MaxConcurrent = eta, 5, 1000 })
		b.finishAll(b.good)
		for step := range 4 {
			if want := (eta + step + 1) * 2; b.m.next != want {
				t.Errorf("eta %d, step %d: %d groups admitted, want %d", eta, step, b.m.next, want)
			}
			s := b.lease()
			if s == nil {
				t.Fatalf("eta %d: no batch %d", eta, step)
			}
			b.ack(s, 6+int32(step)) // the trainer is ahead of the engine: no room yet
			if len(b.running) > 0 {
				t.Errorf("eta %d: admitted before the engine serves version %d", eta, 6+step)
			}
			b.play(Published{6 + int32(step)})
			b.finishAll(b.good)
		}
	}
}

// A trainer step that leaves the version alone does not starve the run.
func TestUnchangedVersionsDoNotStarve(t *testing.T) {
	b := startBench(t, func(c *Config) { c.Eta, c.TotalBatches = 0, 5 })
	for range 5 {
		b.finishAll(b.good)
		s := b.lease()
		if s == nil {
			t.Fatal(b.m.Blocked())
		}
		b.ack(s, 0)
	}
	if err := b.m.Unreachable(); quarry.KindOf(err) != quarry.KindExhausted {
		t.Error(err)
	}
	wantCounts(t, b.m, Counts{Dispatched: 40, Acknowledged: 40})
}

func TestDrain(t *testing.T) {
	b := startBench(t, func(c *Config) { c.Eta = 2 })
	for range 18 {
		d := b.running[0]
		b.running = b.running[1:]
		b.play(b.good(d))
	}
	s := b.lease()
	b.play(Drained{})
	wantCounts(t, b.m, Counts{Dispatched: 24, Discarded: map[Reason]int{ReasonRunEnded: 24}})
	if _, err := b.m.Acknowledge(b.m.cfg.BatchID(s.Index), s.Token, 1, nil); quarry.KindOf(err) != quarry.KindConflict {
		t.Error(err)
	}
	b.finishAll(b.good) // results that come late change nothing
	wantCounts(t, b.m, Counts{Dispatched: 24, Discarded: map[Reason]int{ReasonRunEnded: 24}})
	if err := b.m.Unreachable(); quarry.KindOf(err) != quarry.KindCanceled {
		t.Error(err)
	}
}

// A wait ends when what it waits for cannot come.
func TestUnreachable(t *testing.T) {
	tests := map[string]struct {
		change func(*Config)
		play   func(*bench)
		kind   quarry.Kind
		says   string
	}{
		"engine down": {nil, func(b *bench) {
			b.finishAll(func(d Dispatch) Body { return bad(d) })
		}, quarry.KindUnavailable, "engine down"},
		"only panics": {nil, func(b *bench) {
			b.finishAll(func(d Dispatch) Body { f := bad(d); f.Reason = ReasonInternal; return f })
		}, quarry.KindInternal, "internal"},
		"one of four each time": {func(c *Config) { c.MinValid = 3 }, func(b *bench) {
			b.finishAll(func(d Dispatch) Body {
				if d.Sample == 0 {
					return b.good(d)
				}
				return bad(d)
			})
		}, quarry.KindGate, "too_few_valid"},
		"no more tasks": {nil, func(b *bench) {
			b.m.tasksEnded = "" // the third task does not exist
			b.play(TasksEnded{Group: 2, Msg: "end of file"})
			b.finishAll(func(d Dispatch) Body {
				if d.Group == 1 {
					return bad(d)
				}
				return b.good(d)
			})
		}, quarry.KindExhausted, "end of file"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := startBench(t, tc.change)
			if err := b.m.Unreachable(); err != nil {
				t.Fatalf("before anything happened: %v", err)
			}
			tc.play(b)
			err := b.m.Unreachable()
			if quarry.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q: %v", quarry.KindOf(err), err)
			}
			if len(b.running) != 0 || b.m.next > 100 {
				t.Errorf("%d run, %d tasks were used up", len(b.running), b.m.next)
			}
			b.play(Resumed{b.m.cfg}) // the next start tries again
			if tc.kind != quarry.KindExhausted && len(b.running) == 0 {
				t.Error("a restart does not try again")
			}
		})
	}
}

// Discarded groups stop a run only when no batch ships between them.
func TestDiscardsBetweenBatches(t *testing.T) {
	b := startBench(t, func(c *Config) { c.GroupsPerBatch, c.MaxConcurrent, c.StopAfterDiscarded = 1, 4, 3 })
	for step := range 8 {
		b.finishAll(func(d Dispatch) Body {
			if d.Group%3 != 2 {
				return bad(d) // two groups in a row are lost, the third ships
			}
			return b.good(d)
		})
		s := b.lease()
		if s == nil {
			t.Fatalf("step %d: %v", step, b.m.Unreachable())
		}
		b.ack(s, b.m.published+1)
		b.play(Published{b.m.published + 1})
	}
}
