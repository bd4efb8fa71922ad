package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	quarry "github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/journal"
)

// round is what one commit holds and what may be done and said after it.
type round struct {
	events   []journal.Event
	blobs    [][]byte
	commands []Command
	replies  []func()
}

// step records todo, serves waiting trainers, and records whatever the commands lead to, until nothing does. It
// returns the waiters that still wait. Nothing leaves the owner goroutine before the facts it follows from are durable.
func (l *Live) step(ctx context.Context, todo []request, waiters []leaseRequest) ([]leaseRequest, error) {
	for {
		var r round
		at := l.now().UTC().Round(0)
		for _, req := range todo {
			if req.fatal != nil {
				return waiters, req.fatal
			}
			if err := l.record(&r, at, req); err != nil {
				return waiters, err
			}
		}
		left, err := l.serve(&r, at, waiters)
		if err != nil {
			return waiters, err
		}
		if len(r.events) > 0 {
			if err := l.log.Append(ctx, r.events, r.blobs); err != nil {
				return waiters, err
			}
			l.publishView()
		}
		for _, reply := range r.replies {
			reply()
		}
		waiters = left
		if todo, err = l.obey(ctx, r.commands); err != nil {
			return waiters, err
		}
		if len(todo) == 0 {
			break
		}
	}
	if err := l.machine.Unreachable(); err != nil {
		for _, w := range waiters {
			w.got <- leaseReply{err: err}
		}
		waiters = nil
	}
	return waiters, nil
}

// record lets the machine take one request in.
func (l *Live) record(r *round, at time.Time, req request) error {
	body, refused := req.body, error(nil)
	if req.decide != nil {
		body, refused = req.decide(l.machine)
	}
	if body != nil && refused == nil {
		commands, err := l.apply(r, Event{at, body})
		if err != nil {
			return err
		}
		r.blobs = append(r.blobs, req.blobs...)
		r.commands = append(r.commands, commands...)
	}
	r.replies = append(r.replies, func() { req.answer(refused) })
	return nil
}

// serve leases to the trainers that wait and still listen.
func (l *Live) serve(r *round, at time.Time, waiters []leaseRequest) ([]leaseRequest, error) {
	for len(waiters) > 0 {
		w := waiters[0]
		select {
		case <-w.gone:
			waiters = waiters[1:]
			continue
		default:
		}
		body := l.machine.NextLease()
		if body == nil {
			break
		}
		commands, err := l.apply(r, Event{at, body})
		if err != nil {
			return nil, err
		}
		for _, c := range commands {
			if d, ok := c.(Deliver); ok {
				r.replies = append(r.replies, func() { w.got <- leaseReply{shipment: d.Shipment} })
				waiters = waiters[1:]
			} else {
				r.commands = append(r.commands, c)
			}
		}
	}
	return waiters, nil
}

func (l *Live) apply(r *round, e Event) ([]Command, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, &quarry.Error{Op: "rollout", Kind: quarry.KindInternal, Subject: e.Body.Kind(), Err: err}
	}
	r.events = append(r.events, journal.Event{At: e.At, Kind: e.Body.Kind(), Body: text})
	return l.machine.Apply(e), nil
}

// obey carries the commands out. Tasks are asked for here, in order; what the source says is to be recorded next.
func (l *Live) obey(ctx context.Context, commands []Command) ([]request, error) {
	var facts []request
	for _, c := range commands {
		switch c := c.(type) {
		case Dispatch:
			l.workers.Go(func() { l.work(ctx, c) })
		case Admit:
			if n := len(facts); n > 0 && facts[n-1].body.Kind() == (TasksEnded{}).Kind() {
				continue
			}
			fact, err := l.admit(c.Index)
			if err != nil {
				return nil, err
			}
			facts = append(facts, fact)
		case CancelAll:
			return nil, l.machine.Unreachable() // the run is over; the owner goroutine cancels as it ends
		}
	}
	return facts, nil
}

func (l *Live) admit(index int) (_ request, err error) {
	subject := fmt.Sprintf("task %d", index)
	defer func() {
		if p := recover(); p != nil {
			err = &quarry.Error{Op: "task source", Kind: quarry.KindInternal, Subject: subject, Msg: fmt.Sprint("panic: ", p)}
		}
	}()
	task, err := l.tasks(index)
	switch quarry.KindOf(err) {
	case "":
	case quarry.KindExhausted, quarry.KindNotFound:
		return request{body: TasksEnded{Group: index, Msg: clip(err.Error())}}, nil
	default:
		return request{}, &quarry.Error{Op: "task source", Kind: quarry.KindOf(err), Subject: subject, Err: err}
	}
	text, err := json.Marshal(task)
	if err != nil {
		return request{}, &quarry.Error{Op: "task source", Kind: quarry.KindInvalid, Subject: subject, Err: err}
	}
	return request{body: Admitted{Group: index, TaskID: task.ID, Task: journal.Digest(text)}, blobs: [][]byte{text}}, nil
}

func (l *Live) publishView() {
	m := l.machine
	v := view{counts: m.Counts(), acked: m.acked[:len(m.acked):len(m.acked)], version: m.published, blocked: m.Blocked(), drained: m.drained}
	l.mu.Lock()
	l.view = v
	l.mu.Unlock()
}
