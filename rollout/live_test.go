package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	quarry "github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/journal"
)

// TestMain looks for goroutines of ours that outlived the tests.
func TestMain(m *testing.M) {
	code := m.Run()
	for i := range 1000 { // one that was waited for may still have to return
		buf := make([]byte, 1<<20)
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !strings.Contains(stacks, "rollout.(*Live)") && !strings.Contains(stacks, "journal.(*Journal)") {
			break
		}
		if i == 999 && code == 0 {
			fmt.Println("goroutines left behind:\n" + stacks)
			code = 1
		}
		runtime.Gosched()
	}
	os.Exit(code)
}

type runnerFunc func(ctx context.Context, a Assignment) (*quarry.Episode, error)

func (f runnerFunc) RunEpisode(ctx context.Context, a Assignment) (*quarry.Episode, error) {
	return f(ctx, a)
}

// episode is a small, sound record whose tokens follow from the seed and the weight version alone.
func episode(a Assignment, version int32) *quarry.Episode {
	r := int32(a.Seed % 250)
	return &quarry.Episode{ID: a.EpisodeID, TaskID: a.Task.ID, GroupID: a.GroupID, QuestionID: a.Task.QuestionID, Kind: a.Task.Kind,
		Sample: a.Sample, Seed: a.Seed, Temperature: 1,
		Thread: quarry.Thread{IDs: []int32{257, 10, r, 258}, Mask: []int8{0, 0, 1, 1}, Logprobs: []float32{0, 0, -0.5, -0.25},
			Versions: []int32{-1, -1, version, version}, PromptLen: 2, Turns: []quarry.Turn{{Start: 2, End: 4, Finish: "stop"}}}}
}

func taskAt(index int) (quarry.Task, error) {
	return quarry.Task{ID: fmt.Sprintf("t%d", index), Kind: quarry.TaskFull, QuestionID: fmt.Sprintf("q%d", index)}, nil
}

func openJournal(t testing.TB, path string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path, SchemaName, SchemaVersion)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func tempJournal(t testing.TB) *journal.Journal {
	return openJournal(t, filepath.Join(t.TempDir(), "journal.db"))
}

func startLive(t testing.TB, cfg Config, log Log, r Runner, tasks TaskSource) *Live {
	t.Helper()
	l, err := New(cfg, log, r, tasks, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func smallConfig() Config {
	c := DefaultConfig(2)
	c.RunID, c.Seed, c.GroupSize, c.TotalBatches, c.MaxConcurrent = "r", 11, 3, 3, 4
	return c
}

// engine serves a version that the trainer sets.
type engine struct{ version atomic.Int32 }

func (e *engine) RunEpisode(_ context.Context, a Assignment) (*quarry.Episode, error) {
	return episode(a, e.version.Load()), nil
}

// trainAll is a trainer: lease, step, push weights, publish, acknowledge, until no batch comes.
func trainAll(t testing.TB, l *Live, push func(int32)) (batches []*Batch, end error) {
	t.Helper()
	for {
		b, err := l.Lease(t.Context())
		if err != nil {
			return batches, err
		}
		batches = append(batches, b)
		version := b.TrainerVersion + 1
		push(version)
		if err := l.Publish(t.Context(), version); err != nil {
			t.Fatal(err)
		}
		if err := l.Ack(t.Context(), b.ID, b.Token, version, json.RawMessage(fmt.Sprintf(`{ "digest": %q, "why": "<&>" }`, batchDigest(t, b)))); err != nil {
			t.Fatal(err)
		}
	}
}

func batchDigest(t testing.TB, b *Batch) string {
	t.Helper()
	text, err := json.Marshal(b.Groups)
	if err != nil {
		t.Fatal(err)
	}
	return journal.Digest(text)
}

func wantErr(t testing.TB, err error, kind quarry.Kind, words ...string) {
	t.Helper()
	if quarry.KindOf(err) != kind {
		t.Fatalf("kind %q, want %q: %v", quarry.KindOf(err), kind, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error does not say %q: %v", w, err)
		}
	}
}

func TestWholeRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	j := openJournal(t, path)
	e := &engine{}
	l := startLive(t, smallConfig(), j, e, taskAt)
	batches, end := trainAll(t, l, e.version.Store)
	wantErr(t, end, quarry.KindExhausted, "all 3 batches")
	if len(batches) != 3 {
		t.Fatalf("%d batches", len(batches))
	}
	for k, b := range batches {
		if b.Index != k || b.ID != fmt.Sprintf("r-b%06d", k) || b.Token != 1 || b.TrainerVersion != int32(k) || b.Staleness.Samples != 6 || b.Staleness.Max > 1 {
			t.Errorf("%+v", b)
		}
		for i, g := range b.Groups {
			index := 2*k + i
			want, _ := taskAt(index)
			if g.ID != fmt.Sprintf("r-g%06d", index) || !cmp.Equal(g.Task, want) || len(g.Episodes) != 3 {
				t.Errorf("%+v", g)
			}
			for s, ep := range g.Episodes {
				if ep.Sample != s || ep.Seed != smallConfig().EpisodeSeed(index, s) || ep.ID != fmt.Sprintf("r-g%06d-s%d", index, s) {
					t.Errorf("%+v", ep)
				}
			}
		}
	}
	if err := l.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := Counts{Dispatched: 18, Acknowledged: 18, Discarded: map[Reason]int{}}
	if d := cmp.Diff(want, l.Counts()); d != "" || l.Conservation() != 0 || l.Version() != 3 {
		t.Error(d, l.Conservation(), l.Version())
	}
	acked := l.Acked()

	// Another process reads the same, and knows that the run is over.
	again, err := New(smallConfig(), j, e, taskAt, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(acked, again.Acked()); d != "" || len(acked) != 3 || again.Version() != 3 {
		t.Error(d, again.Version())
	}
	if err := again.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = again.Lease(t.Context())
	wantErr(t, err, quarry.KindCanceled, "drained")
	if err := again.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A dead engine ends the wait with what it said; the same journal goes on when it is back.
func TestEngineDown(t *testing.T) {
	j := tempJournal(t)
	l := startLive(t, smallConfig(), j, runnerFunc(func(context.Context, Assignment) (*quarry.Episode, error) {
		return nil, &quarry.Error{Op: "generate", Kind: quarry.KindUnavailable, Subject: "127.0.0.1:30000", Msg: "connection refused"}
	}), taskAt)
	_, err := l.Lease(t.Context())
	wantErr(t, err, quarry.KindUnavailable, "connection refused", "127.0.0.1:30000")
	if quarry.HintOf(err) == "" {
		t.Error("no hint")
	}
	if n := l.Conservation(); n != 0 {
		t.Error(n)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	e := &engine{}
	l = startLive(t, smallConfig(), j, e, taskAt)
	batches, end := trainAll(t, l, e.version.Store)
	if wantErr(t, end, quarry.KindExhausted); len(batches) != 3 {
		t.Errorf("%d batches", len(batches))
	}
}

func TestTaskSource(t *testing.T) {
	e := &engine{}
	t.Run("ends", func(t *testing.T) {
		l := startLive(t, smallConfig(), tempJournal(t), e, func(i int) (quarry.Task, error) {
			if i == 3 {
				return quarry.Task{}, &quarry.Error{Kind: quarry.KindExhausted, Msg: "three tasks only"}
			}
			return taskAt(i)
		})
		batches, end := trainAll(t, l, func(int32) {})
		wantErr(t, end, quarry.KindExhausted, "three tasks only", "1 groups are ready")
		if len(batches) != 1 {
			t.Errorf("%d batches", len(batches))
		}
	})
	t.Run("is not asked beyond its end", func(t *testing.T) {
		var asked []int
		l := startLive(t, smallConfig(), tempJournal(t), e, func(i int) (quarry.Task, error) {
			asked = append(asked, i)
			return quarry.Task{}, &quarry.Error{Kind: quarry.KindNotFound, Msg: "no tasks at all"}
		})
		_, err := l.Lease(t.Context())
		if wantErr(t, err, quarry.KindExhausted, "no tasks at all"); l.Close() != nil || !slices.Equal(asked, []int{0}) {
			t.Errorf("asked for %v", asked)
		}
	})
	t.Run("breaks", func(t *testing.T) {
		l := startLive(t, smallConfig(), tempJournal(t), e, func(i int) (quarry.Task, error) {
			return quarry.Task{}, &quarry.Error{Kind: quarry.KindCorrupt, Msg: "line 7"}
		})
		_, err := l.Lease(t.Context())
		wantErr(t, err, quarry.KindCorrupt, "task 0", "line 7")
		wantErr(t, l.Close(), quarry.KindCorrupt)
	})
	t.Run("panics", func(t *testing.T) {
		l := startLive(t, smallConfig(), tempJournal(t), e, func(int) (quarry.Task, error) { panic("oh") })
		_, err := l.Lease(t.Context())
		wantErr(t, err, quarry.KindInternal, "panic: oh")
	})
	t.Run("is asked in order and never again", func(t *testing.T) {
		j := tempJournal(t)
		var asked []int
		source := func(i int) (quarry.Task, error) { asked = append(asked, i); return taskAt(i) }
		for range 2 {
			l := startLive(t, smallConfig(), j, e, source)
			if _, err := l.Lease(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for i, got := range asked {
			if got != i && got != asked[i-1]+1 {
				t.Errorf("asked for %v", asked)
			}
		}
		admitted := 0
		for _, je := range events(t, j) {
			if je.Kind == "admitted" {
				admitted++
			}
		}
		if len(asked) > admitted+1 { // the second process may ask again for one that was not recorded
			t.Errorf("%d admitted, asked for %v", admitted, asked)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	j := tempJournal(t)
	e := &engine{}
	l := startLive(t, smallConfig(), j, e, taskAt)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cfg := smallConfig()
	cfg.GroupSize = 4
	_, err := New(cfg, j, e, taskAt, time.Now)
	wantErr(t, err, quarry.KindConflict, "other settings")
	cfg = smallConfig()
	cfg.MaxConcurrent = 2
	if _, err := New(cfg, j, e, taskAt, time.Now); err != nil {
		t.Errorf("another concurrency: %v", err)
	}
	cfg.Eta = 99
	_, err = New(cfg, j, e, taskAt, time.Now)
	wantErr(t, err, quarry.KindInvalid)
	if err := j.Append(t.Context(), []journal.Event{{Kind: "exploded", Body: json.RawMessage(`{"v":1,"kind":"exploded","at":"2026-01-02T03:04:05Z","data":{}}`)}}, nil); err != nil {
		t.Fatal(err)
	}
	_, err = New(smallConfig(), j, e, taskAt, time.Now)
	wantErr(t, err, quarry.KindCorrupt, "event", "exploded")
}

// A log that fails ends the run with its error; nothing it did not take is acted on.
func TestLogFails(t *testing.T) {
	var log memLog
	e := &engine{}
	l := startLive(t, smallConfig(), &log, e, taskAt)
	b, err := l.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log.break_(&quarry.Error{Op: "journal append", Kind: quarry.KindExhausted, Msg: "no space left"})
	wantErr(t, l.Ack(t.Context(), b.ID, b.Token, 1, nil), quarry.KindExhausted, "no space")
	_, err = l.Lease(t.Context())
	wantErr(t, err, quarry.KindExhausted, "no space")
	wantErr(t, l.Close(), quarry.KindExhausted)
	if len(l.Acked()) != 0 {
		t.Error("acknowledged without a record of it")
	}
	log.break_(nil)
	l = startLive(t, smallConfig(), &log, e, taskAt)
	again, err := l.Lease(t.Context())
	if err != nil || !bytes.Equal([]byte(batchDigest(t, b)), []byte(batchDigest(t, again))) {
		t.Errorf("%v", err)
	}
}
