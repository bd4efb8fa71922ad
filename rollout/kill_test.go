package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	quarry "github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/journal"
)

// What a replay of the journal gives is what the live machine is, records with odd spacing and characters included.
func TestLiveEqualsReplay(t *testing.T) {
	j := tempJournal(t)
	e := &engine{}
	l := startLive(t, smallConfig(), j, e, taskAt)
	trainAll(t, l, e.version.Store)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := New(smallConfig(), j, e, taskAt, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	opts := cmp.AllowUnexported(Machine{}, group{}, sample{}, slot{}, batch{})
	if d := cmp.Diff(l.machine, again.machine, opts); d != "" {
		t.Error(d)
	}
}

// prefix copies the first k events of a journal, and the blobs they name, into a new one.
func prefix(t *testing.T, from *journal.Journal, events []journal.Event, k int, path string) *journal.Journal {
	t.Helper()
	var blobs [][]byte
	for _, je := range events[:k] {
		var e Event
		if err := json.Unmarshal(je.Body, &e); err != nil {
			t.Fatal(err)
		}
		digest := ""
		switch b := e.Body.(type) {
		case Admitted:
			digest = b.Task
		case Finished:
			digest = b.Episode
		default:
			continue
		}
		blob, err := from.Blob(digest)
		if err != nil {
			t.Fatal(err)
		}
		blobs = append(blobs, blob)
	}
	to := openJournal(t, path)
	if err := to.Append(t.Context(), events[:k], blobs); err != nil {
		t.Fatal(err)
	}
	return to
}

func events(t *testing.T, j *journal.Journal) []journal.Event {
	t.Helper()
	var out []journal.Event
	if err := j.Replay(func(e journal.Event) error { out = append(out, e); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// digestsOf reads what each acknowledged batch held, as its trainer recorded it.
func digestsOf(t *testing.T, acked []AckedBatch) []string {
	t.Helper()
	var out []string
	for _, a := range acked {
		var rec struct{ Digest string }
		if err := json.Unmarshal(a.Record, &rec); err != nil {
			t.Fatal(err)
		}
		out = append(out, rec.Digest)
	}
	return out
}

// flaky is an engine on which every sample's first attempt at tasks 1, 4, 7, ... fails and one sample never succeeds.
type flaky struct{ engine }

func (f *flaky) RunEpisode(ctx context.Context, a Assignment) (*quarry.Episode, error) {
	var index int
	if _, err := fmt.Sscanf(a.Task.ID, "t%d", &index); err != nil {
		return nil, err
	}
	if index%3 == 1 && a.Attempt == 1 || index == 2 && a.Sample == 1 {
		return nil, &quarry.Error{Op: "generate", Kind: quarry.KindUnavailable, Msg: "connection reset"}
	}
	return f.engine.RunEpisode(ctx, a)
}

// A kill after any journal record: the run goes on to its end, what was acknowledged stays as it is, nothing is
// acknowledged twice, nothing is lost. In lockstep (one episode at a time, no batch ahead) even the batches that come
// after the restart equal the uninterrupted run's.
func TestKillAtEveryRecord(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"lockstep": func(c *Config) { c.MaxConcurrent, c.Eta = 1, 0 },
		"async":    func(c *Config) { c.MaxConcurrent, c.Eta = 5, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := smallConfig()
			change(&cfg)
			dir := t.TempDir()
			whole := openJournal(t, filepath.Join(dir, "whole.db"))
			f := &flaky{}
			l := startLive(t, cfg, whole, f, taskAt)
			_, end := trainAll(t, l, f.version.Store)
			wantErr(t, end, quarry.KindExhausted)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			all, reference := events(t, whole), digestsOf(t, l.Acked())
			if len(all) < 35 {
				t.Fatalf("only %d events", len(all))
			}
			for k := range len(all) + 1 {
				j := prefix(t, whole, all, k, filepath.Join(dir, fmt.Sprintf("%d.db", k)))
				f := &flaky{}
				l, err := New(cfg, j, f, taskAt, time.Now)
				if err != nil {
					t.Fatalf("after %d events: %v", k, err)
				}
				before := l.Acked()
				f.version.Store(l.Version())
				if err := l.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, end := trainAll(t, l, f.version.Store)
				wantErr(t, end, quarry.KindExhausted, "all 3 batches")
				if err := errors.Join(l.Drain(t.Context()), l.Close()); err != nil {
					t.Fatal(err)
				}
				checkResumed(t, k, l, j, before, reference, name == "lockstep")
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func checkResumed(t *testing.T, k int, l *Live, j *journal.Journal, before []AckedBatch, reference []string, lockstep bool) {
	t.Helper()
	c := l.Counts()
	if c.Conservation() != 0 || c.InFlight != 0 || c.Buffered != 0 || c.Leased != 0 {
		t.Errorf("after %d events: %+v", k, c)
	}
	after := l.Acked()
	if d := cmp.Diff(before, after[:len(before)], cmpopts.EquateEmpty()); d != "" {
		t.Errorf("after %d events: an acknowledged batch changed: %s", k, d)
	}
	acks, used := map[int]int{}, map[int]bool{}
	for _, je := range events(t, j) {
		if je.Kind == "acked" {
			var e Event
			if err := json.Unmarshal(je.Body, &e); err != nil {
				t.Fatal(err)
			}
			acks[e.Body.(Acked).Batch]++
		}
	}
	for i, a := range after {
		if a.Index != i || acks[i] != 1 {
			t.Errorf("after %d events: batch %d acknowledged %d times", k, i, acks[i])
		}
		for _, g := range a.Groups {
			if used[g] {
				t.Errorf("after %d events: group %d trained twice", k, g)
			}
			used[g] = true
		}
	}
	got := digestsOf(t, after)
	if n := len(before); !slices.Equal(got[:n], reference[:n]) || lockstep && !slices.Equal(got, reference) {
		t.Errorf("after %d events: batches %v, uninterrupted %v", k, got, reference)
	}
}

// A batch leased by a process that died is leased again with the same groups, and the dead one's token is void.
func TestRedelivery(t *testing.T) {
	j := tempJournal(t)
	e := &engine{}
	l := startLive(t, smallConfig(), j, e, taskAt)
	first, err := l.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantErr(t, l.Ack(t.Context(), first.ID, first.Token, 1, nil), quarry.KindCanceled, "closed")
	l = startLive(t, smallConfig(), j, e, taskAt)
	wantErr(t, l.Ack(t.Context(), first.ID, first.Token, 1, nil), quarry.KindConflict)
	second, err := l.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first.Groups, second.Groups); d != "" || second.Token != 2 || second.ID != first.ID {
		t.Error(d, second.Token)
	}
	wantErr(t, l.Ack(t.Context(), first.ID, first.Token, 1, nil), quarry.KindConflict, "attempt 2 holds")
	wantErr(t, l.Ack(t.Context(), "r-b000007", 1, 1, nil), quarry.KindNotFound)
	wantErr(t, l.Ack(t.Context(), second.ID, 2, 1, json.RawMessage("{")), quarry.KindInvalid)
	if err := l.Ack(t.Context(), second.ID, 2, 1, nil); err != nil {
		t.Fatal(err)
	}
	wantErr(t, l.Ack(t.Context(), second.ID, 2, 1, nil), quarry.KindConflict, "already acknowledged")
	if got := l.Acked(); len(got) != 1 || string(got[0].Record) != "null" || got[0].Version != 1 {
		t.Errorf("%+v", got)
	}
}
