package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg"
)

// A block is written at once: a kill costs one at most. What models said costs more than what can be drawn again.
const (
	blockWalks     = 1024
	blockQuestions = 32 // when models are asked
	jobWalks       = 8  // that one goroutine takes on at once
)

// Stop says why a run ended.
type Stop string

// The reasons to stop.
const (
	StopAccepted  Stop = "accepted"  // Accept questions are there
	StopWalks     Stop = "walks"     // MaxWalks are drawn
	StopCost      Stop = "cost"      // Budget is spent
	StopExhausted Stop = "exhausted" // Patience walks in a row gave nothing
)

// Run draws candidates until a bound is reached and leaves LedgerFile and QuestionsFile in dir. It goes on with what dir
// holds; a run that was cut off anywhere and one that was not leave the same bytes. Errors are invalid (options),
// conflict (dir holds a synthesis of other settings, or another run writes it), corrupt (a file was changed), canceled,
// unavailable (the disk), and those of the hooks; what was found before is kept.
func Run(ctx context.Context, g *kg.Mapped, dir string, o Options, hooks Hooks) (Report, error) {
	s, err := NewSpace(g, o, hooks)
	if err != nil {
		return Report{}, err
	}
	return s.Run(ctx, dir)
}

// Run is Run on a prepared graph.
func (s *Space) Run(ctx context.Context, dir string) (Report, error) {
	begun := time.Now()
	st, p, err := s.open(ctx, dir)
	if err != nil {
		return Report{}, err
	}
	r := &run{s: s, st: st, p: p, dir: dir}
	stop, err := r.all(ctx)
	if e := st.close(); err == nil {
		err = atomicfile.Classify("synth", dir, e)
	}
	if err != nil {
		return Report{}, err
	}
	report, err := Read(dir)
	if err != nil {
		return Report{}, err
	}
	for i := range report.Stages { // what went by, against what was written
		report.Conservation += distance(report.Stages[i].Out, p.passed[report.Stages[i].Name])
	}
	report.Conservation += distance(report.Walks, p.next) + distance(report.Accepted, p.accepted)
	report.Stop, report.Seconds = stop, time.Since(begun).Seconds()
	return report, nil
}

func distance(a, b int) int { return max(a-b, b-a) }

// run is a run under way.
type run struct {
	s       *Space
	st      *disk
	p       *progress
	dir     string
	entries []Entry
	qs      map[int]*quarry.Question
	came    []int // places in entries of questions that wait for the policy
	broken  bool  // a block could not be judged or written
}

func (s *Space) stop(p *progress) Stop {
	switch {
	case s.o.Accept > 0 && p.accepted >= s.o.Accept:
		return StopAccepted
	case p.cost.reaches(s.o.Budget):
		return StopCost
	case p.next >= s.o.MaxWalks:
		return StopWalks
	case p.next-p.last >= s.o.Patience:
		return StopExhausted
	}
	return ""
}

// all takes candidates in order until a bound is reached.
func (r *run) all(ctx context.Context) (Stop, error) {
	if why := r.s.stop(r.p); why != "" {
		return why, nil
	}
	r.qs = map[int]*quarry.Question{}
	var why Stop
	var spent Cost
	err := r.s.candidates(ctx, r.p.next, r.s.o.MaxWalks-r.p.next, func(c Candidate) (bool, error) {
		if err := r.take(c); err != nil {
			return false, err
		}
		spent = spent.plus(c.Cost)
		most := r.s.block
		if r.s.o.Accept > 0 { // no more than are wanted: the rest would be thrown away
			most = r.s.o.Accept - r.p.accepted
		}
		if r.s.hooks.Filter != nil { // models answer side by side: fewer at once would only be slower
			most = max(most, r.s.concurrency())
		}
		if r.s.hooks.Filter != nil || spent != (Cost{}) {
			most = min(most, blockQuestions)
		}
		if len(r.entries) < r.s.block && len(r.came) < most && c.Walk+1 < r.s.o.MaxWalks {
			return true, nil
		}
		spent = Cost{}
		var err error
		why, err = r.flush(ctx)
		return why == "", err
	})
	if err != nil && !r.broken { // what came before it stays, but no model is asked any more
		if r.s.hooks.Filter != nil && len(r.came) > 0 {
			r.entries, r.came = r.entries[:r.came[0]], nil
		}
		if _, lost := r.flush(ctx); lost != nil {
			err = lost
		}
	}
	return why, err
}

// take makes a candidate an entry, for now an accepted one when nothing is against it.
func (r *run) take(c Candidate) error {
	e := Entry{Walk: c.Walk, State: Rejected, Stage: c.Stage, Reason: c.Reason, Detail: c.Detail}
	if c.Cost != (Cost{}) {
		e.Cost = &c.Cost
	}
	if c.Question != nil {
		no, err := r.p.chosen.add(c.Walk, c.Question)
		if err != nil {
			return err
		}
		if e.Stage, e.Reason, e.Detail = no.stage, no.reason, no.detail; no.reason == "" {
			e.State, e.Question = Accepted, c.Question.ID
			r.qs[c.Walk] = c.Question
			r.came = append(r.came, len(r.entries))
		}
	}
	r.entries = append(r.entries, e)
	return nil
}

// flush asks the policy about the block's questions and writes the block, up to where the run stops.
func (r *run) flush(ctx context.Context) (Stop, error) {
	r.broken = true
	if err := r.judge(ctx); err != nil {
		return "", err
	}
	var why Stop
	n := 0
	for n < len(r.entries) && why == "" {
		r.p.count(&r.entries[n])
		n++
		why = r.s.stop(r.p)
	}
	if err := r.st.append(r.entries[:n], r.qs); err != nil {
		return "", atomicfile.Classify("synth", filepath.Join(r.dir, LedgerFile), err)
	}
	r.entries, r.came, r.broken = r.entries[:0], r.came[:0], false
	clear(r.qs)
	if r.s.hooks.Progress != nil {
		r.s.hooks.Progress(r.p.next, r.p.accepted)
	}
	return why, nil
}

func (r *run) judge(ctx context.Context) error {
	if r.s.hooks.Filter == nil || len(r.came) == 0 {
		return nil
	}
	var qs []*quarry.Question
	for _, i := range r.came {
		qs = append(qs, r.qs[r.entries[i].Walk])
	}
	verdicts, err := r.s.hooks.Filter.Filter(ctx, qs)
	if err != nil {
		return err
	}
	if len(verdicts) != len(qs) {
		return &quarry.Error{Op: "synth", Kind: quarry.KindInternal, Subject: "policy " + r.s.o.Policy, Msg: fmt.Sprintf("%d verdicts for %d questions", len(verdicts), len(qs))}
	}
	for j, v := range verdicts {
		e := &r.entries[r.came[j]]
		cost := v.Cost
		if e.Cost != nil {
			cost = cost.plus(*e.Cost)
		}
		if cost != (Cost{}) {
			e.Cost = &cost
		}
		if v.Difficulty != nil {
			qs[j].Difficulty = v.Difficulty
		}
		if v.Reason == "" && !v.Quarantined {
			continue
		}
		e.State, e.Stage, e.Reason, e.Detail, e.Question = Rejected, StagePolicy, policyPrefix+Reason(cmp.Or(v.Reason, "undecided")), v.Detail, ""
		if v.Quarantined {
			e.State = Quarantined
		}
	}
	return nil
}

func (s *Space) concurrency() int { return cmp.Or(s.o.Concurrency, runtime.GOMAXPROCS(0)) }

// candidates makes count candidates from number first on, many at once, and hands them over in order until take says
// stop. An error ends it after the candidates before have been handed over.
func (s *Space) candidates(ctx context.Context, first, count int, take func(Candidate) (bool, error)) error {
	type made struct {
		cs  []Candidate
		err error
	}
	type job struct {
		lo, hi int
		out    chan made
	}
	workers := s.concurrency()
	inner, cancel := context.WithCancel(ctx)
	work, order := make(chan job), make(chan job, 2*workers)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range workers {
		wg.Go(func() {
			for j := range work {
				var m made
				for n := j.lo; n < j.hi && m.err == nil && inner.Err() == nil; n++ {
					var c Candidate
					if c, m.err = s.Candidate(inner, n); m.err == nil {
						m.cs = append(m.cs, c)
					}
				}
				if m.err == nil && len(m.cs) < j.hi-j.lo {
					m.err = inner.Err()
				}
				j.out <- m
			}
		})
	}
	wg.Go(func() {
		defer close(work)
		defer close(order)
		for lo := first; lo < first+count; lo += jobWalks {
			j := job{lo, min(lo+jobWalks, first+count), make(chan made, 1)}
			for _, to := range []chan job{order, work} {
				select {
				case to <- j:
				case <-inner.Done():
					return
				}
			}
		}
	})
	for j := range order {
		var m made
		select {
		case m = <-j.out:
		case <-inner.Done(): // the job may have been handed to nobody
			m.err = inner.Err()
		}
		for _, c := range m.cs {
			if on, err := take(c); err != nil || !on {
				return err
			}
		}
		if m.err != nil {
			if ctx.Err() != nil {
				return &quarry.Error{Op: "synth", Kind: quarry.KindCanceled, Subject: fmt.Sprintf("walk %d", j.lo+len(m.cs)), Msg: "stopped", Err: context.Cause(ctx),
					Hint: "run the same command again: it goes on from there"}
			}
			return m.err
		}
	}
	if ctx.Err() != nil {
		return &quarry.Error{Op: "synth", Kind: quarry.KindCanceled, Msg: "stopped", Err: context.Cause(ctx), Hint: "run the same command again: it goes on from there"}
	}
	return nil
}
