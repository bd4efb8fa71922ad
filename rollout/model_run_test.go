package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	quarry "github.com/quarry-rl/quarry"
)

// run drives a Machine with drawn events, a twin with the same events read back from JSON, and the model.
type run struct {
	t       *rapid.T
	m, twin *Machine
	model   *model
	stored  [][]byte
	at      time.Time
	admits  []int
	running []Dispatch
	old     []Dispatch // answered or interrupted: their results must change nothing
	leased  *Shipment
	tokens  map[int]int
}

func (r *run) play(body Body) {
	r.at = r.at.Add(time.Duration(rapid.IntRange(0, 5000).Draw(r.t, "ms")) * time.Millisecond)
	e := Event{r.at, body}
	text, err := json.Marshal(e)
	if err != nil {
		r.t.Fatal(err)
	}
	r.stored = append(r.stored, text)
	var read Event
	if err := json.Unmarshal(text, &read); err != nil {
		r.t.Fatal(err)
	}
	commands := r.m.Apply(e)
	if d := cmp.Diff(commands, r.twin.Apply(read), cmpopts.EquateEmpty()); d != "" {
		r.t.Fatalf("commands differ in the replay: %s", d)
	}
	for _, c := range commands {
		r.obey(c)
	}
	r.check()
}

func (r *run) obey(c Command) {
	md := r.model
	switch c := c.(type) {
	case Admit:
		if md.drained || c.Index != md.groups+len(r.admits) {
			r.t.Fatalf("Admit %d, %d groups and %d asked", c.Index, md.groups, len(r.admits))
		}
		r.admits = append(r.admits, c.Index)
		progress := int(md.engine - md.cfg.StartVersion)
		if md.engine == md.trainer {
			progress = max(progress, len(md.acked))
		}
		bound := (md.cfg.Eta + progress + 1) * md.cfg.GroupsPerBatch
		if md.cfg.TotalBatches > 0 {
			bound = min(bound, md.cfg.TotalBatches*md.cfg.GroupsPerBatch)
		}
		if n := md.alive() + len(r.admits); n > bound {
			r.t.Fatalf("%d groups admitted, the bound is %d", n, bound)
		}
	case Dispatch:
		k := slot{c.Group, c.Sample}
		e := md.episodes[k]
		if e == nil {
			e = &modelEpisode{where: "in flight", tries: 1}
			md.episodes[k] = e
		}
		if md.drained || e.where != "in flight" || e.tries != c.Attempt || c.Attempt > md.cfg.MaxRetries+1 {
			r.t.Fatalf("%+v, the model has %+v", c, e)
		}
		if n := md.counts().InFlight; n > md.cfg.MaxConcurrent {
			r.t.Fatalf("%d in flight", n)
		}
		r.running = append(r.running, c)
	case Deliver:
		r.leased = &c.Shipment
	case CancelAll:
		r.old = append(r.old, r.running...)
		r.running = nil
	}
}

func (r *run) check() {
	c := r.m.Counts()
	if c.Conservation() != 0 {
		r.t.Fatalf("conservation %d: %+v", c.Conservation(), c)
	}
	if d := cmp.Diff(r.model.counts(), c); d != "" {
		r.t.Fatalf("model, machine: %s", d)
	}
	if d := cmp.Diff(r.m, r.twin, cmp.AllowUnexported(Machine{}, group{}, sample{}, slot{}, batch{}), cmpopts.EquateEmpty()); d != "" {
		r.t.Fatalf("live, replay: %s", d)
	}
}

func TestMachineAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultConfig(rapid.IntRange(1, 3).Draw(t, "groups_per_batch"))
		cfg.GroupSize = rapid.IntRange(1, 4).Draw(t, "group_size")
		cfg.MinValid = rapid.IntRange(1, cfg.GroupSize).Draw(t, "min_valid")
		cfg.MaxConcurrent = rapid.IntRange(1, 12).Draw(t, "max_concurrent")
		cfg.MaxRetries = rapid.IntRange(0, 2).Draw(t, "max_retries")
		cfg.MaxStaleness = rapid.Int32Range(0, 3).Draw(t, "max_staleness")
		cfg.MaxVersionSpread = rapid.Int32Range(0, 2).Draw(t, "max_version_spread")
		cfg.Eta = rapid.IntRange(0, int(cfg.MaxStaleness)).Draw(t, "eta")
		cfg.TotalBatches = rapid.IntRange(0, 4).Draw(t, "total_batches")
		cfg.StartVersion = rapid.Int32Range(0, 2).Draw(t, "start_version")
		cfg.StopAfterFailed = rapid.IntRange(3, 50).Draw(t, "stop_after_failed")
		cfg.StopAfterDiscarded = rapid.IntRange(3, 50).Draw(t, "stop_after_discarded")
		r := &run{t: t, m: NewMachine(), twin: NewMachine(), at: when, tokens: map[int]int{},
			model: &model{cfg: cfg, episodes: map[slot]*modelEpisode{}, engine: cfg.StartVersion, trainer: cfg.StartVersion}}
		r.play(Started{cfg})
		t.Repeat(map[string]func(*rapid.T){
			"admit":   r.admit,
			"finish":  r.finish,
			"finish2": r.finish, // twice as likely as the rest
			"fail":    r.fail,
			"lease":   r.lease,
			"ack":     r.ack,
			"publish": r.publish,
			"resume":  r.resume,
			"noise":   r.noise,
			"drain":   r.drain,
		})
		// Every prefix was compared on the way; a replay in one go ends in the same state.
		fresh := NewMachine()
		for _, text := range r.stored {
			var e Event
			if err := json.Unmarshal(text, &e); err != nil {
				t.Fatal(err)
			}
			fresh.Apply(e)
		}
		r.twin = fresh
		r.check()
	})
}

func (r *run) admit(t *rapid.T) {
	if len(r.admits) == 0 {
		return // nothing asked
	}
	index := r.admits[0]
	r.admits = r.admits[1:]
	r.model.groups++
	r.play(Admitted{Group: index, TaskID: fmt.Sprint("t", index), Task: "digest"})
}

func (r *run) pick(t *rapid.T) (Dispatch, *modelEpisode) {
	if len(r.running) == 0 {
		return Dispatch{}, nil
	}
	i := rapid.IntRange(0, len(r.running)-1).Draw(t, "which")
	d := r.running[i]
	r.running = slices.Delete(slices.Clone(r.running), i, i+1)
	r.old = append(r.old, d)
	return d, r.model.episodes[slot{d.Group, d.Sample}]
}

func (r *run) finish(t *rapid.T) {
	d, e := r.pick(t)
	if e == nil {
		return // nothing runs
	}
	e.oldest, e.newest = -1, -1
	if rapid.IntRange(0, 9).Draw(t, "empty") > 0 {
		e.newest = r.model.engine
		e.oldest = max(0, e.newest-rapid.Int32Range(0, 2).Draw(t, "age"))
	}
	e.where = "finished"
	r.model.settle(d.Group)
	r.play(Finished{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, Episode: fmt.Sprintf("%d/%d", d.Group, d.Sample), Oldest: e.oldest, Newest: e.newest})
}

func (r *run) fail(t *rapid.T) {
	d, e := r.pick(t)
	if e == nil {
		return // nothing runs
	}
	f := Failed{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, ErrKind: quarry.KindUnavailable, Msg: "down",
		Reason: rapid.SampledFrom([]Reason{ReasonInfra, ReasonJudge, ReasonInternal}).Draw(t, "reason"), Permanent: rapid.Bool().Draw(t, "permanent")}
	if !f.Permanent && e.tries <= r.model.cfg.MaxRetries {
		e.tries++
	} else {
		e.where = string(f.Reason)
		r.model.settle(d.Group)
	}
	r.play(f)
}

func (r *run) lease(t *rapid.T) {
	body := r.m.NextLease()
	md := r.model
	// What the model would ship: the oldest ready groups that fit, or the batch that is out.
	want, drops := md.shipped, []Drop(nil)
	if want == nil && !md.drained {
		ready := md.ready()
		if len(ready) < md.cfg.GroupsPerBatch {
			ready = nil
		}
		for _, g := range ready {
			if len(want) == md.cfg.GroupsPerBatch {
				break
			}
			if why := md.fit(g); why != "" {
				drops = append(drops, Drop{g, why})
			} else {
				want = append(want, g)
			}
		}
	}
	if len(want) < md.cfg.GroupsPerBatch {
		want = nil
	}
	if (body == nil) != (want == nil && drops == nil) {
		t.Fatalf("lease %+v, the model would ship %v and drop %v", body, want, drops)
	}
	if body == nil {
		return // no batch
	}
	for _, d := range drops {
		md.set(d.Group, "finished", string(d.Reason))
	}
	if want != nil {
		md.token++
		md.shipped, md.holder = want, true
		for _, g := range want {
			md.set(g, "finished", "leased")
		}
	}
	r.leased = nil
	r.play(body)
	if want == nil {
		if r.leased != nil {
			t.Fatalf("shipped %+v of stale groups", r.leased)
		}
		return
	}
	s := r.leased
	if s == nil || !slices.Equal(groupsOf(s), want) || s.Index != len(md.acked) || s.Token != md.token {
		t.Fatalf("shipped %+v, want batch %d with %v under token %d", s, len(md.acked), want, md.token)
	}
	samples := 0
	for s := range s.Staleness.Hist {
		samples += r.leased.Staleness.Hist[s]
	}
	if samples != s.Staleness.Samples || s.Staleness.Max > md.cfg.MaxStaleness || s.Staleness.Mean > float64(s.Staleness.Max) {
		t.Fatalf("%+v", s.Staleness)
	}
}

func (r *run) ack(t *rapid.T) {
	md := r.model
	index := len(md.acked) - rapid.IntRange(0, 1).Draw(t, "back")
	token := md.token - rapid.IntRange(0, 1).Draw(t, "stale")
	version := max(md.trainer, md.cfg.StartVersion) + rapid.Int32Range(0, 1).Draw(t, "step")
	ok := !md.drained && md.shipped != nil && md.holder && index == len(md.acked) && token == md.token
	body, err := r.m.Acknowledge(md.cfg.BatchID(index), token, version, json.RawMessage(`{"a":1}`))
	if ok != (err == nil) {
		t.Fatalf("ack of %d with token %d: %v", index, token, err)
	}
	if !ok {
		if k := quarry.KindOf(err); k != quarry.KindConflict && k != quarry.KindNotFound {
			t.Fatal(err)
		}
		r.play(Acked{Batch: index, Token: token, Version: version}) // must be ignored
		return
	}
	for _, g := range md.shipped {
		md.set(g, "leased", "acked")
	}
	md.acked = append(md.acked, md.shipped)
	md.shipped, md.token, md.holder = nil, 0, false
	md.trainer = max(md.trainer, version)
	r.play(body)
	var got [][]int
	for _, a := range r.m.Acked() {
		got = append(got, a.Groups)
	}
	if d := cmp.Diff(md.acked, got); d != "" {
		t.Fatal(d)
	}
}

func (r *run) publish(t *rapid.T) {
	md := r.model
	v := md.engine + rapid.Int32Range(0, 2).Draw(t, "up")
	if !md.drained {
		md.engine, md.trainer = v, max(md.trainer, v)
	}
	r.play(Published{v})
}

func (r *run) resume(t *rapid.T) {
	if r.model.drained {
		return // ended
	}
	r.old = append(r.old, r.running...)
	r.running, r.admits = nil, nil
	r.model.holder = false
	for _, g := range r.model.shipped {
		r.model.set(g, "leased", "finished")
	}
	r.play(Resumed{r.model.cfg})
}

// noise is what must be ignored: results of attempts that are over, of groups that are not there, void leases.
func (r *run) noise(t *rapid.T) {
	before := r.m.NextLease()
	defer func() {
		if d := cmp.Diff(before, r.m.NextLease()); d != "" {
			t.Fatalf("noise changed what ships next: %s", d)
		}
	}()
	switch rapid.IntRange(0, 4).Draw(t, "what") {
	case 0:
		r.play(Finished{Group: 1 << 20, Attempt: 1})
	case 1:
		r.play(Leased{Batch: len(r.model.acked) + 1, Token: 1, Groups: []int{0}})
		if r.model.shipped != nil {
			r.play(Leased{Batch: len(r.model.acked), Token: r.model.token + 2, Groups: r.model.shipped})
		}
	case 2:
		r.play(Started{r.model.cfg})
	case 3:
		r.play(Dropped{[]Drop{{1 << 20, ReasonStale}}})
	default:
		if len(r.old) == 0 {
			return // nothing is over
		}
		d := rapid.SampledFrom(r.old).Draw(t, "late")
		if slices.Contains(r.running, d) {
			return // runs again as the same attempt
		}
		r.play(Finished{Group: d.Group, Sample: d.Sample, Attempt: d.Attempt, Episode: "late"})
	}
}

func (r *run) drain(t *rapid.T) {
	if rapid.IntRange(0, 19).Draw(t, "really") > 0 {
		return // seldom
	}
	for _, e := range r.model.episodes {
		if slices.Contains([]string{"in flight", "finished", "leased"}, e.where) {
			e.where = "run_ended"
		}
	}
	r.model.drained, r.model.shipped, r.admits = true, nil, nil
	r.play(Drained{})
}
