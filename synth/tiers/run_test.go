package tiers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func items(n int) []Item {
	out := make([]Item, n)
	for i := range out {
		out[i] = *item(fmt.Sprint("q", i))
	}
	return out
}

// slow lets an attempt take a time of its own, or until it is stopped.
type slow struct {
	script
	flying, most atomic.Int64
}

func (s *slow) Attempt(ctx context.Context, it *Item, a Attempt) Outcome {
	s.most.Store(max(s.most.Load(), s.flying.Add(1)))
	defer s.flying.Add(-1)
	select {
	case <-time.After(time.Duration(draw(5, it.Question.ID, a, "time") * float64(time.Minute))):
	case <-ctx.Done():
		return Outcome{Result: Error, Kind: ErrUnavailable, Detail: ctx.Err().Error()}
	}
	return s.script(it, a)
}

// A patient breaker: the errors here are the attempts', not the tiers'.
func patient() Breaker { return Breaker{Row: 1 << 30, Window: 1 << 30, Share: 1} }

func conserved(t testing.TB, r *Report) {
	t.Helper()
	sum := r.Kept + r.Pending
	for _, m := range []map[string]int{r.Rejected, r.Quarantined} {
		for _, n := range m {
			sum += n
		}
	}
	if sum != r.In || len(r.Decisions) != r.In-r.Pending {
		t.Errorf("in %d, but %+v", r.In, r)
	}
}

// One attempt at a time or 64, in one run or stopped and resumed again and again: the same decisions and the same cost.
func TestRunIsDeterministic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := anyRules(rt)
		s := troubled(rapid.Uint64().Draw(rt, "seed"), rapid.Float64Range(.05, .9).Draw(rt, "rate"), rapid.Float64Range(0, .4).Draw(rt, "errors"))
		n := rapid.IntRange(1, 12).Draw(rt, "questions")
		stops := rapid.SliceOfN(rapid.IntRange(1, 40), 0, 5).Draw(rt, "stops")
		synctest.Test(t, func(t *testing.T) {
			want, err := Run(t.Context(), r, items(n), s, Options{Concurrency: 1, Breaker: patient()})
			if err != nil {
				t.Fatal(err)
			}
			conserved(t, want)
			wide := &slow{script: s}
			got, err := Run(t.Context(), r, items(n), wide, Options{Concurrency: 64, Breaker: patient()})
			if diff := cmp.Diff(want, got, sameDecision); err != nil || diff != "" {
				t.Fatal(err, diff)
			}
			if wide.most.Load() > 64 {
				t.Errorf("%d attempts at once", wide.most.Load())
			}
			var past []Outcome
			for _, stop := range append(stops, 1<<30) {
				ctx, cancel := context.WithCancel(t.Context())
				made := 0
				record := func(o Outcome) error {
					past = append(past, o)
					if made++; made == stop {
						cancel()
					}
					return nil
				}
				got, err = Run(ctx, r, items(n), &slow{script: s}, Options{Concurrency: 7, Past: past[:len(past):len(past)], Record: record, Breaker: patient()})
				cancel()
				conserved(t, got)
				if err != nil && quarry.KindOf(err) != quarry.KindCanceled || err == nil && got.Pending > 0 {
					t.Fatal(err, got)
				}
			}
			if diff := cmp.Diff(want, got, sameDecision); diff != "" {
				t.Fatal(diff)
			}
			total := 0
			for _, c := range got.Tiers {
				total += c.Attempts
			}
			if total != len(past) {
				t.Errorf("%d attempts counted, %d recorded", total, len(past))
			}
		})
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := panelOnly(mixed(2), "m")
		r.Retries = 0
		var recorded []Outcome
		rep, err := Run(t.Context(), r, items(1), &slow{script: results("rw")}, Options{Concurrency: 2, Timeout: time.Microsecond, Breaker: patient(),
			Record: func(o Outcome) error { recorded = append(recorded, o); return nil }})
		if err != nil || rep.Quarantined[ReasonQuorum] != 1 || len(recorded) != 2 || recorded[0].Result != Timeout || rep.Tiers["m"].Errors[ErrTimeout] != 2 {
			t.Errorf("%v %+v %+v", err, rep, recorded)
		}
		// later, with more time
		rep, err = Run(t.Context(), r, items(1), &slow{script: results("rw")}, Options{Concurrency: 2, Past: recorded, Breaker: patient()})
		if err != nil || rep.Quarantined[ReasonQuorum] != 1 {
			t.Errorf("what is in quarantine stays: %v %+v", err, rep)
		}
		rep, err = Run(t.Context(), r, items(1), &slow{script: results("rw")}, Options{Concurrency: 2, Past: recorded, Again: true, Breaker: patient()})
		if err != nil || rep.Kept != 1 || rep.Tiers["m"].Attempts != 4 {
			t.Errorf("asked again: %v %+v", err, rep)
		}
	})
}

// A tier whose every call is refused stops the run with what happened, and the rest goes on without it; afterwards the
// same run ends as if nothing had been.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := preset(t, "apodex", "low", "mid", "top")
		good := model(4, func(a Attempt) float64 {
			return map[string]float64{"oracletop": 1, "fulltop": .8, "fullmid": .5, "fulllow": .2}[string(a.Mode)+a.Tier]
		})
		want, err := Run(t.Context(), r, items(30), good, Options{Concurrency: 64})
		if err != nil || want.Kept == 0 {
			t.Fatal(err)
		}
		var past []Outcome
		record := func(o Outcome) error { past = append(past, o); return nil }
		down := script(func(it *Item, a Attempt) Outcome {
			if a.Tier == "mid" {
				return Outcome{Result: Error, Kind: ErrRateLimit}
			}
			return good(it, a)
		})
		began := time.Now()
		rep, err := Run(t.Context(), r, items(30), down, Options{Concurrency: 64, Record: record})
		if quarry.KindOf(err) != quarry.KindUnavailable || !strings.Contains(err.Error(), "tier mid stopped") || !strings.Contains(err.Error(), "rate_limit") || quarry.HintOf(err) == "" {
			t.Fatalf("%v", err)
		}
		conserved(t, rep)
		if took := time.Since(began); took > 10*time.Minute || took < time.Minute {
			t.Errorf("gave up after %v", took)
		}
		if c := rep.Tiers["mid"]; !c.Stopped || c.Trips != 7 || c.Attempts > 64+6 {
			t.Errorf("%+v", c)
		}
		if rep.Rejected[ReasonTop]+rep.Rejected[ReasonNever] != want.Rejected[ReasonTop]+want.Rejected[ReasonNever] || rep.Kept != 0 {
			t.Errorf("what needs no other tier is not decided: %+v, want %+v", rep, want)
		}
		rep, err = Run(t.Context(), r, items(30), good, Options{Concurrency: 64, Past: past, Again: true})
		if err != nil || rep.Pending != 0 || len(rep.Quarantined) != 0 {
			t.Errorf("%v %+v", err, rep)
		}
	})
}

// Rate limits above some width slow a run down and do not stop it.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flying atomic.Int64
		limited := solverFunc(func(ctx context.Context, it *Item, a Attempt) Outcome {
			defer flying.Add(-1)
			if flying.Add(1) > 5 {
				return Outcome{Result: Error, Kind: ErrRateLimit}
			}
			time.Sleep(time.Second)
			return results("rwrwrwrw")(it, a)
		})
		r := preset(t, "tongyi", "m")
		r.Retries = 30
		rep, err := Run(t.Context(), r, items(100), limited, Options{Concurrency: 64})
		if err != nil || rep.Pending+len(rep.Quarantined) > 0 {
			t.Fatal(err)
		}
		c := rep.Tiers["m"]
		if c.Errors[ErrRateLimit] > c.Scored/3 {
			t.Errorf("%d refusals for %d attempts: it does not learn", c.Errors[ErrRateLimit], c.Scored)
		}
	})
}

type solverFunc func(ctx context.Context, it *Item, a Attempt) Outcome

func (f solverFunc) Attempt(ctx context.Context, it *Item, a Attempt) Outcome { return f(ctx, it, a) }

func TestAuthStopsAtOnce(t *testing.T) {
	rep, err := Run(t.Context(), preset(t, "tongyi", "m"), items(50), script(func(*Item, Attempt) Outcome { return Outcome{Result: Error, Kind: ErrAuth} }), Options{Concurrency: 2})
	if quarry.KindOf(err) != quarry.KindUnavailable || rep.Tiers["m"].Attempts > 2 || rep.Pending != 50 {
		t.Errorf("%v %+v", err, rep.Tiers["m"])
	}
}

func TestRunRefuses(t *testing.T) {
	r := preset(t, "tongyi", "m")
	ok := results("rwrwrwrw")
	full := errors.New("disk full")
	twice := items(2)
	twice[1] = twice[0]
	for name, c := range map[string]struct {
		items  []Item
		solver Solver
		o      Options
		want   error
	}{
		"concurrency": {items(1), ok, Options{}, nil},
		"same id":     {twice, ok, Options{Concurrency: 1}, nil},
		"no question": {make([]Item, 1), ok, Options{Concurrency: 1}, nil},
		"no result":   {items(1), script(func(*Item, Attempt) Outcome { return Outcome{} }), Options{Concurrency: 1}, nil},
		"bad past":    {items(1), ok, Options{Concurrency: 1, Past: []Outcome{{Question: "q0"}}}, nil},
		"record":      {items(9), ok, Options{Concurrency: 3, Record: func(Outcome) error { return full }}, full},
	} {
		rep, err := Run(t.Context(), r, c.items, c.solver, c.o)
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
		if rep.Pending != len(c.items) {
			t.Errorf("%s: %+v", name, rep)
		}
	}
	// what belongs to other questions does no harm
	rep, err := Run(t.Context(), r, items(1), ok, Options{Concurrency: 3, Past: []Outcome{{Question: "gone", Mode: ModeFull, Tier: "m", Result: Right}}})
	if err != nil || rep.Kept != 1 || rep.Tiers["m"].Usage.Calls != 0 || rep.Tiers["m"].Attempts != 8 {
		t.Errorf("%v %+v", err, rep)
	}
}

func TestGate(t *testing.T) {
	now := time.Unix(0, 0)
	g := newGate(Breaker{Row: 3, Window: 4, Share: .5, Cooldown: time.Second, MaxCooldown: 3 * time.Second, Probes: 3}, 8)
	do := func(kind ErrorKind) { g.done(now, g.start(), kind) }
	late := g.start()
	do(ErrTooLong)
	do(ErrTooLong)
	do(ErrTooLong)
	if !g.ready(now) {
		t.Error("long questions are not the tier's fault")
	}
	do("")
	do(ErrTimeout)
	do("")
	if !g.ready(now) {
		t.Error("one error of three")
	}
	do(ErrRateLimit)
	if g.ready(now) || g.trips != 1 {
		t.Error("2 of 4 failed")
	}
	now = now.Add(time.Second)
	if g.ready(now) {
		t.Error("a probe beside an attempt from before")
	}
	g.done(now, late, ErrUnavailable) // says nothing new
	if !g.ready(now) || g.failed != 0 {
		t.Error("no probe")
	}
	for i, wait := range []time.Duration{2 * time.Second, 3 * time.Second} {
		do(ErrUnavailable)
		now = now.Add(wait - 1)
		if g.ready(now) || g.dead {
			t.Errorf("probe %d: ready early", i)
		}
		if now = now.Add(1); !g.ready(now) {
			t.Errorf("probe %d: not ready", i)
		}
	}
	do("")
	if g.failed != 0 || g.limit != 2 || g.cool != time.Second {
		t.Errorf("%+v after a good probe", g)
	}
	for range 3 {
		do(ErrTool)
	}
	for range 3 {
		now = now.Add(time.Minute)
		do(ErrTool)
	}
	if now = now.Add(time.Hour); !g.dead || g.ready(now) {
		t.Error("three failed probes and not dead")
	}
}
