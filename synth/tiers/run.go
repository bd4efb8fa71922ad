package tiers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quarry-rl/quarry"
)

// Solver makes one attempt. It reports what went wrong as a result, and takes what is random about the attempt from the
// question's id and the attempt, so that the order of attempts changes nothing. Run sets the outcome's Question, Mode,
// Tier and N. Safe for concurrent use.
type Solver interface {
	Attempt(ctx context.Context, it *Item, a Attempt) Outcome
}

// Options are the settings of a Run. None of them changes a decision.
type Options struct {
	Concurrency int
	Timeout     time.Duration       // of an attempt, 0 is none; a Solver that ends with an error behind it timed out
	Past        []Outcome           // recorded by earlier runs; those of other questions are passed over
	Again       bool                // questions that Past puts into quarantine make their failed attempts again
	Record      func(Outcome) error // keeps an outcome, before it counts for anything; never called twice at once
	Breaker     Breaker             // zero is DefaultBreaker
}

// Cost is what attempts of one tier came to, those of Past included.
type Cost struct {
	Attempts int               `json:"attempts"`
	Scored   int               `json:"scored"`
	Errors   map[ErrorKind]int `json:"errors,omitempty"`
	Usage    Usage             `json:"usage"`
	Judges   Usage             `json:"judge_usage"`
	Trips    int               `json:"breaker_trips,omitempty"` // in this run
	Stopped  bool              `json:"stopped,omitempty"`       // in this run: the tier failed too hard to go on
}

// Report sums up: In = Kept + the sums over Rejected and Quarantined + Pending.
type Report struct {
	In          int              `json:"in"`
	Kept        int              `json:"kept"`
	Rejected    map[string]int   `json:"rejected"` // by reason
	Quarantined map[string]int   `json:"quarantined"`
	Pending     int              `json:"pending"` // not decided: the run was stopped
	Tiers       map[string]*Cost `json:"tiers"`
	Decisions   []Decision       `json:"-"` // in the order of the items
}

// Run brings every item to a decision, with as many attempts at once as Concurrency allows. Stop it at any time and give
// what was recorded as Past: the decisions are those of a run that was not stopped. The report is returned with an error,
// too: KindCanceled, KindUnavailable when a tier failed so hard that its breaker gave up (questions that did not need it
// are decided), KindInvalid for rules, items and Past, whatever Record returned.
func Run(ctx context.Context, rules Rules, items []Item, s Solver, o Options) (*Report, error) {
	r, err := newRun(rules, items, s, o)
	if err != nil {
		return &Report{In: len(items), Pending: len(items)}, err
	}
	err = r.loop(ctx)
	return r.finish(err)
}

type run struct {
	rules    Rules
	items    []Item
	solver   Solver
	o        Options
	machines []*Machine // nil once decided
	open     []int      // attempts that must come back before a question can go on
	decided  []*Decision
	next     int               // first item not begun
	queue    map[string][]todo // attempts by tier
	names    []string          // tiers, strongest first, then the judge: earlier filters come first
	gates    map[string]*gate
	costs    map[string]*Cost
	flying   int
	results  chan landed
}

type todo struct {
	q int
	a Attempt
}

type landed struct {
	todo
	epoch int
	o     Outcome
	lost  bool // the run was stopped under it
}

func newRun(rules Rules, items []Item, s Solver, o Options) (*run, error) {
	if err := rules.Validate(); err != nil {
		return nil, err
	}
	if o.Concurrency < 1 {
		return nil, &quarry.Error{Op: "filter", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("concurrency %d", o.Concurrency), Msg: "expected 1 or more", Hint: "set how many attempts run at once"}
	}
	if o.Breaker == (Breaker{}) {
		o.Breaker = DefaultBreaker()
	}
	r := &run{rules: rules, items: items, solver: s, o: o, machines: make([]*Machine, len(items)), open: make([]int, len(items)),
		decided: make([]*Decision, len(items)), queue: map[string][]todo{}, gates: map[string]*gate{}, costs: map[string]*Cost{}, results: make(chan landed, o.Concurrency)}
	r.names = append(slices.Clone(rules.Tiers), JudgeTier)
	slices.Reverse(r.names[:len(rules.Tiers)])
	for _, t := range r.names {
		r.gates[t] = newGate(o.Breaker, o.Concurrency)
	}
	index := make(map[string]int, len(items))
	for i := range items {
		if items[i].Question == nil || items[i].Question.ID == "" {
			return nil, &quarry.Error{Op: "filter", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("item %d", i), Msg: "no question or no id", Hint: "give each question an id of its own"}
		}
		id := items[i].Question.ID
		if _, twice := index[id]; twice {
			return nil, &quarry.Error{Op: "filter", Kind: quarry.KindInvalid, Subject: "question " + id, Msg: "stands twice", Hint: "give each question an id of its own"}
		}
		index[id] = i
		r.machines[i] = NewMachine(&r.rules, &r.items[i])
	}
	for _, p := range o.Past {
		i, known := index[p.Question]
		if !known {
			continue
		}
		if err := r.machines[i].Add(p); err != nil {
			return nil, err
		}
		r.count(&p)
	}
	return r, nil
}

func (r *run) count(o *Outcome) {
	c := r.costs[o.Tier]
	if c == nil {
		c = &Cost{Errors: map[ErrorKind]int{}}
		r.costs[o.Tier] = c
	}
	c.Attempts++
	if o.scored() {
		c.Scored++
	} else {
		c.Errors[o.kind()]++
	}
	c.Usage.add(o.Usage)
	c.Judges.add(o.Judges)
}

// loop owns all state; only attempts run beside it.
func (r *run) loop(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	for {
		for failed == nil && ctx.Err() == nil && r.flying < r.o.Concurrency && r.dispatch(ctx) {
		}
		stopped := failed != nil || ctx.Err() != nil
		if r.flying == 0 && (stopped || r.stuck()) {
			return failed
		}
		wake, stop := r.wake(stopped)
		done := ctx.Done()
		if stopped {
			done = nil // only what still runs is waited for
		}
		select {
		case l := <-r.results:
			if err := r.land(l); err != nil && failed == nil {
				failed = err
				cancel()
			}
		case <-wake:
		case <-done:
		}
		stop()
	}
}

// stuck says that nothing is left to start: all is decided, or waits for a tier that is stopped.
func (r *run) stuck() bool {
	if r.next < len(r.items) {
		return false
	}
	for _, t := range r.names {
		if len(r.queue[t]) > 0 && !r.gates[t].dead {
			return false
		}
	}
	return true
}

// dispatch starts one attempt, of questions already begun before others; false when none may start now.
func (r *run) dispatch(ctx context.Context) bool {
	for {
		now := time.Now()
		for _, t := range r.names {
			if q := r.queue[t]; len(q) > 0 && r.gates[t].ready(now) {
				r.queue[t] = q[1:]
				r.start(ctx, q[0])
				return true
			}
		}
		if r.next == len(r.items) {
			return false
		}
		i := r.next
		r.next++
		r.advance(i, r.o.Again)
	}
}

func (r *run) start(ctx context.Context, t todo) {
	epoch := r.gates[t.a.Tier].start()
	r.flying++
	go func() {
		actx, cancel := ctx, context.CancelFunc(func() {})
		if r.o.Timeout > 0 {
			actx, cancel = context.WithTimeout(ctx, r.o.Timeout)
		}
		defer cancel()
		o := r.solver.Attempt(actx, &r.items[t.q], t.a)
		o.Question, o.Mode, o.Tier, o.N = r.items[t.q].Question.ID, t.a.Mode, t.a.Tier, t.a.N
		if o.Result == Error && errors.Is(actx.Err(), context.DeadlineExceeded) {
			o.Result, o.Kind = Timeout, ""
		}
		r.results <- landed{todo: t, epoch: epoch, o: o, lost: ctx.Err() != nil && !o.scored()}
	}()
}

// land takes what came back: first it is recorded, then it counts. An attempt that failed because the run was stopped
// is as if it had not been made.
func (r *run) land(l landed) error {
	r.flying--
	g := r.gates[l.a.Tier]
	if l.lost {
		g.land()
		return nil
	}
	if err := l.o.check(); err != nil {
		g.land()
		return err
	}
	if r.o.Record != nil {
		if err := r.o.Record(l.o); err != nil {
			g.land()
			return err
		}
	}
	kind := ErrorKind("")
	if !l.o.scored() {
		kind = l.o.kind()
	}
	g.done(time.Now(), l.epoch, kind)
	r.count(&l.o)
	if err := r.machines[l.q].Add(l.o); err != nil {
		return err
	}
	if r.open[l.q]--; r.open[l.q] == 0 {
		r.advance(l.q, false)
	}
	return nil
}

// advance decides a question or queues its next batch.
func (r *run) advance(i int, again bool) {
	need, d := r.machines[i].Next()
	if again && d != nil && d.State == Quarantined {
		r.machines[i].forgetErrors()
		need, d = r.machines[i].Next()
	}
	if d != nil {
		r.decided[i], r.machines[i] = d, nil
		return
	}
	r.open[i] = len(need)
	for _, a := range need {
		r.queue[a.Tier] = append(r.queue[a.Tier], todo{i, a})
	}
}

// wake is a channel for the moment at which the next tier may be probed; nil when none waits for that.
func (r *run) wake(stopped bool) (<-chan time.Time, func()) {
	first := time.Duration(-1)
	for _, t := range r.names {
		g := r.gates[t]
		if stopped || r.flying >= r.o.Concurrency || len(r.queue[t]) == 0 || g.dead || g.flying >= g.limit || g.probe && g.flying > 0 {
			continue
		}
		if wait := max(time.Until(g.until), 0); first < 0 || wait < first {
			first = wait
		}
	}
	if first < 0 {
		return nil, func() {}
	}
	timer := time.NewTimer(first)
	return timer.C, func() { timer.Stop() }
}

func (r *run) finish(err error) (*Report, error) {
	rep := &Report{In: len(r.items), Rejected: map[string]int{}, Quarantined: map[string]int{}, Tiers: r.costs}
	for _, d := range r.decided {
		switch {
		case d == nil:
			rep.Pending++
			continue
		case d.State == Kept:
			rep.Kept++
		case d.State == Rejected:
			rep.Rejected[d.Reason]++
		default:
			rep.Quarantined[d.Reason]++
		}
		rep.Decisions = append(rep.Decisions, *d)
	}
	var dead []string
	for t, c := range r.costs {
		if g := r.gates[t]; g != nil {
			c.Trips, c.Stopped = g.trips, g.dead
		}
	}
	for _, t := range r.names {
		if r.gates[t].dead {
			dead = append(dead, r.stopped(t))
		}
	}
	switch {
	case err != nil || rep.Pending == 0:
		return rep, err
	case len(dead) > 0:
		return rep, &quarry.Error{Op: "filter", Kind: quarry.KindUnavailable, Subject: strings.Join(dead, "; "), Msg: fmt.Sprintf("%d of %d questions wait", rep.Pending, rep.In),
			Hint: "when the model answers again, or with less concurrency, run the same command again: what was recorded is not asked again"}
	}
	return rep, &quarry.Error{Op: "filter", Kind: quarry.KindCanceled, Msg: fmt.Sprintf("stopped with %d of %d questions open", rep.Pending, rep.In), Hint: "run the same command again"}
}

// stopped tells how a tier failed.
func (r *run) stopped(tier string) string {
	c := r.costs[tier]
	if c == nil {
		return tier
	}
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(c.Errors)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", k, c.Errors[k]))
	}
	return fmt.Sprintf("tier %s stopped: %d of %d attempts failed (%s)", tier, c.Attempts-c.Scored, c.Attempts, strings.Join(kinds, ", "))
}
