package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	quarry "github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/journal"
)

// Log is the durable memory Live writes to; *journal.Journal is the real one.
type Log interface {
	// Append returns when events and blobs are durable, all or none.
	Append(ctx context.Context, events []journal.Event, blobs [][]byte) error
	Replay(fn func(journal.Event) error) error
	Blob(digest string) ([]byte, error)
}

// Runner plays one attempt at an episode. It must return soon after ctx ends. An episode whose Failure is empty, policy
// or timeout is data; infra and judge failures, errors and panics are failed attempts, tried again unless the error's
// kind says that it cannot help (invalid, not_found, corrupt, unscorable).
type Runner interface {
	RunEpisode(ctx context.Context, a Assignment) (*quarry.Episode, error)
}

// TaskSource gives the task of an index: 0, 1, 2, ... each once, in order, never two at a time. What it gave stands in
// the journal and is not asked for again after a restart. KindExhausted or KindNotFound says that there are no more;
// any other error ends the run.
type TaskSource func(index int) (quarry.Task, error)

// Assignment is one attempt of one episode.
type Assignment struct {
	Task      quarry.Task
	GroupID   string
	EpisodeID string
	Sample    int    // index within the group
	Attempt   int    // from 1
	Seed      uint64 // of (run seed, task index, sample): the same for every attempt
}

// Live runs the coordinator: one goroutine owns the machine, one more per episode in flight.
type Live struct {
	cfg    Config
	log    Log
	runner Runner
	tasks  TaskSource
	now    func() time.Time

	requests chan request
	leases   chan leaseRequest
	quit     chan struct{} // closed by Close
	done     chan struct{} // closed when the owner goroutine and all workers have ended
	slots    chan struct{} // one per episode that may run
	closing  sync.Once
	workers  sync.WaitGroup

	mu      sync.Mutex
	started bool
	ended   error // why the owner goroutine stopped, set before done is closed
	view    view

	machine *Machine // the owner goroutine's from Start until done is closed
	resumed bool     // the journal had events
}

// view is the durable state as others may see it.
type view struct {
	counts  Counts
	acked   []AckedBatch
	version int32
	blocked string
	drained bool
}

// request asks the owner goroutine to record a fact.
type request struct {
	body   Body
	blobs  [][]byte
	decide func(*Machine) (Body, error) // instead of a body: makes it, finds nothing to record (nil), or refuses
	fatal  error                        // instead of a body: the run cannot go on
	done   chan error                   // has room for one; nil when nobody waits
}

func (r request) answer(err error) {
	select {
	case r.done <- err:
	default: // nobody waits, or answered before
	}
}

type leaseRequest struct {
	gone <-chan struct{} // closed when the caller no longer waits
	got  chan leaseReply // has room for one
}

type leaseReply struct {
	shipment Shipment
	err      error
}

// New replays the log, which is empty or holds an earlier part of the same run, and returns the coordinator before its
// start: Acked, Version and Counts can be read, nothing runs yet.
//
// Errors: KindInvalid (cfg out of range), KindConflict (the log is of a run with other settings), KindCorrupt.
func New(cfg Config, log Log, runner Runner, tasks TaskSource, now func() time.Time) (*Live, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Live{cfg: cfg, log: log, runner: runner, tasks: tasks, now: now, machine: NewMachine(),
		requests: make(chan request), leases: make(chan leaseRequest),
		quit: make(chan struct{}), done: make(chan struct{}), slots: make(chan struct{}, cfg.MaxConcurrent)}
	err := log.Replay(func(je journal.Event) error {
		var e Event
		if err := json.Unmarshal(je.Body, &e); err != nil {
			return &quarry.Error{Op: "rollout replay", Kind: quarry.KindCorrupt, Subject: fmt.Sprintf("event %d", je.Seq), Err: err,
				Hint: "the journal was not written by this coordinator; start afresh or use the quarry that wrote it"}
		}
		l.resumed = true
		l.machine.Apply(e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if l.resumed && !l.machine.Config().resumable(cfg) {
		return nil, &quarry.Error{Op: "rollout", Kind: quarry.KindConflict, Subject: "configuration",
			Msg:  fmt.Sprintf("the journal is of a run with other settings: %+v, now %+v", l.machine.Config(), cfg),
			Hint: "restore the settings, or start a new run"}
	}
	if !l.resumed {
		l.view.version = cfg.StartVersion
		l.view.counts = l.machine.Counts()
		return l, nil
	}
	l.publishView()
	return l, nil
}

// Start begins or resumes the run; ctx bounds its whole life. It returns when the start is recorded. A run that was
// drained stays ended: Lease says so.
func (l *Live) Start(ctx context.Context) error {
	l.mu.Lock()
	twice := l.started
	l.started = true
	l.mu.Unlock()
	if twice {
		return &quarry.Error{Op: "rollout start", Kind: quarry.KindConflict, Msg: "already started"}
	}
	if l.machine.drained {
		l.mu.Lock()
		l.ended = l.machine.Unreachable()
		l.mu.Unlock()
		close(l.done)
		return nil
	}
	var first Body = Started{l.cfg}
	if l.resumed {
		first = Resumed{l.cfg}
	}
	began := make(chan error, 1)
	go l.own(ctx, request{body: first, done: began})
	if err := <-began; err != nil {
		<-l.done
		return err
	}
	return nil
}

// own is the owner goroutine: it takes whatever waits and records it in one commit.
func (l *Live) own(parent context.Context, first request) {
	ctx, cancel := context.WithCancel(parent)
	todo := []request{first}
	var waiters []leaseRequest
	var err error
	for {
		if waiters, err = l.step(ctx, todo, waiters); err != nil {
			break
		}
		todo = nil
		select {
		case r := <-l.requests:
			todo = append(todo, r)
		case w := <-l.leases:
			waiters = append(waiters, w)
		case <-l.quit:
			err = stopped("the coordinator is closed", nil)
		case <-parent.Done():
			err = stopped("", context.Cause(parent))
		}
		if err != nil {
			break
		}
		todo, waiters = l.gather(todo, waiters)
	}
	cancel()
	l.mu.Lock()
	l.ended = err
	l.mu.Unlock()
	for _, r := range todo {
		r.answer(err)
	}
	for _, w := range waiters {
		w.got <- leaseReply{err: err}
	}
	l.workers.Wait()
	close(l.done)
}

// gather takes what else waits, so that one commit serves it all.
func (l *Live) gather(todo []request, waiters []leaseRequest) ([]request, []leaseRequest) {
	for {
		select {
		case r := <-l.requests:
			todo = append(todo, r)
		case w := <-l.leases:
			waiters = append(waiters, w)
		default:
			return todo, waiters
		}
	}
}

func stopped(msg string, cause error) error {
	return &quarry.Error{Op: "rollout", Kind: quarry.KindCanceled, Msg: msg, Err: cause, Hint: "run the same command again to resume"}
}
