package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	quarry "github.com/quarry-rl/quarry"
)

// Batch is what a trainer attempt gets. It must be acknowledged with its token before the next one ships.
type Batch struct {
	ID             string
	Index          int
	Token          int   // fencing token: how often this batch was leased
	TrainerVersion int32 // the staleness is counted from
	Groups         []GroupEpisodes
	Staleness      Staleness
}

// GroupEpisodes is one task with its finished episodes, by sample; those given up are missing.
type GroupEpisodes struct {
	ID       string
	Task     quarry.Task
	Episodes []*quarry.Episode
}

// Lease waits for a batch. While a batch is unacknowledged it is leased again, with the same groups under a new token,
// and the earlier holder's acknowledgement will be refused: one trainer attempt holds work at a time.
//
// Errors: KindCanceled (ctx ended, closed or drained), those of Machine.Unreachable when no batch can come any more,
// and the journal's.
func (l *Live) Lease(ctx context.Context) (*Batch, error) {
	if err := l.mustRun("lease"); err != nil {
		return nil, err
	}
	w := leaseRequest{gone: ctx.Done(), got: make(chan leaseReply, 1)}
	select {
	case l.leases <- w:
	case <-l.done:
		return nil, l.endedWith()
	case <-ctx.Done():
		return nil, l.gaveUp(ctx, "lease")
	}
	select {
	case reply := <-w.got: // always comes: a waiter is served, told why not, or told of the end
		if reply.err != nil {
			return nil, reply.err
		}
		return l.batch(reply.shipment)
	case <-ctx.Done():
		return nil, l.gaveUp(ctx, "lease")
	}
}

// batch loads what a shipment names.
func (l *Live) batch(s Shipment) (*Batch, error) {
	out := &Batch{ID: l.cfg.BatchID(s.Index), Index: s.Index, Token: s.Token, TrainerVersion: s.TrainerVersion, Staleness: s.Staleness}
	for _, sg := range s.Groups {
		g := GroupEpisodes{ID: l.cfg.GroupID(sg.Index)}
		if err := l.load(sg.Task, &g.Task); err != nil {
			return nil, err
		}
		for _, digest := range sg.Episodes {
			ep := new(quarry.Episode)
			if err := l.load(digest, ep); err != nil {
				return nil, err
			}
			g.Episodes = append(g.Episodes, ep)
		}
		out.Groups = append(out.Groups, g)
	}
	return out, nil
}

// Ack says that a checkpoint of the given version which covers the batch is durable, and keeps record (any JSON, small)
// with it. It returns when that is recorded. Errors: see Machine.Acknowledge.
func (l *Live) Ack(ctx context.Context, batchID string, token int, version int32, record json.RawMessage) error {
	if len(record) == 0 {
		record = json.RawMessage("null")
	}
	canonical, err := json.Marshal(record) // as the journal will have it, so that a replay gives the same bytes
	if err != nil {
		return &quarry.Error{Op: "ack", Kind: quarry.KindInvalid, Subject: batchID, Msg: "the record is no JSON", Err: err}
	}
	decide := func(m *Machine) (Body, error) { return m.Acknowledge(batchID, token, version, canonical) }
	err = l.ask(ctx, "ack", request{decide: decide})
	if err != nil && l.see().drained {
		select {
		case <-l.done: // the machine has its final, recorded state: say what became of this batch
			_, err = decide(l.machine)
		case <-ctx.Done():
		}
	}
	return err
}

// Publish says that the engine serves weights of this version. The present version again is no news and no error.
func (l *Live) Publish(ctx context.Context, version int32) error {
	return l.ask(ctx, "publish", request{decide: func(m *Machine) (Body, error) {
		if version == m.published {
			return nil, nil
		}
		if version < m.published {
			return nil, &quarry.Error{Op: "publish", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("version %d", version),
				Msg: fmt.Sprintf("the engine already serves %d, versions only rise", m.published)}
		}
		return Published{version}, nil
	}})
}

// Drain ends the run for good: work in flight is cancelled and everything unacknowledged is discarded as "run_ended".
// It returns when the workers have ended, or with ctx.
func (l *Live) Drain(ctx context.Context) error {
	err := l.ask(ctx, "drain", request{body: Drained{}})
	if err != nil && !l.see().drained {
		return err
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return l.gaveUp(ctx, "drain")
	}
}

// Close stops the coordinator and waits for its goroutines; the journal stays open. The run can be resumed. It returns
// the error that ended the run when that was neither Close, nor Drain, nor the context of Start.
func (l *Live) Close() error {
	l.closing.Do(func() { close(l.quit) })
	if l.mustRun("close") != nil {
		return nil
	}
	<-l.done
	if err := l.endedWith(); quarry.KindOf(err) != quarry.KindCanceled {
		return err
	}
	return nil
}

// Acked lists the acknowledged batches in order.
func (l *Live) Acked() []AckedBatch { return slices.Clone(l.see().acked) }

// Version is the weight version the engine serves, as published last.
func (l *Live) Version() int32 { return l.see().version }

// Counts says where all episodes are.
func (l *Live) Counts() Counts { return l.see().counts }

// Conservation must be 0.
func (l *Live) Conservation() int { return l.see().counts.Conservation() }

// Blocked says in words what the next batch waits for.
func (l *Live) Blocked() string { return l.see().blocked }

func (l *Live) see() view {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view
}

// ask hands a request to the owner goroutine and waits for the answer; ctx bounds the wait for its attention only, so
// that the answer always tells what is recorded.
func (l *Live) ask(ctx context.Context, op string, r request) error {
	if err := l.mustRun(op); err != nil {
		return err
	}
	r.done = make(chan error, 1)
	select {
	case l.requests <- r:
		return <-r.done
	case <-l.done:
		return l.endedWith()
	case <-ctx.Done():
		return l.gaveUp(ctx, op)
	}
}

func (l *Live) mustRun(op string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started {
		return nil
	}
	return &quarry.Error{Op: op, Kind: quarry.KindInvalid, Msg: "the coordinator is not started"}
}

func (l *Live) endedWith() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

func (l *Live) gaveUp(ctx context.Context, op string) error {
	return &quarry.Error{Op: op, Kind: quarry.KindCanceled, Msg: l.Blocked(), Err: context.Cause(ctx)}
}
