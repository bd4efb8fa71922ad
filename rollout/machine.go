package rollout

import (
	"maps"
	"slices"
	"time"

	quarry "github.com/quarry-rl/quarry"
)

// Machine is the coordinator's state. It is pure: the same events give the same state and the same commands. An event
// that does not fit the state (the result of an attempt that is over, a void lease) changes nothing. Not for
// concurrent use.
type Machine struct {
	cfg        Config
	started    bool
	drained    bool
	tasksEnded string // what the source said when it had no more tasks

	next      int            // task index the next admission takes
	asked     int            // admissions commanded and not yet answered
	held      int            // groups admitted and not discarded, acknowledged ones included
	groups    map[int]*group // by task index: neither acknowledged nor discarded
	waiting   []slot         // episodes never dispatched, oldest group first
	ready     []int          // groups whose episodes are all resolved, oldest first
	batch     *batch         // shipped and not acknowledged
	acked     []AckedBatch
	published int32 // version the engine serves
	trainer   int32 // newest version the trainer has made

	issued       int    // episodes that a Dispatch command began
	running      int    // episodes in flight
	settled      Counts // acknowledged and discarded episodes of the groups that are gone
	failedRun    int    // episodes given up since the last one finished
	discardedRun int    // groups discarded since the last batch shipped
	lastFailure  Failed // for the message when the run stops
}

type slot struct{ group, sample int }

type group struct {
	index      int
	taskID     string
	task       string // digest
	admitted   time.Time
	samples    []sample
	unresolved int
}

type sample struct {
	place          place
	reason         Reason // of a discarded one
	attempt        int    // of the attempt in flight, from 1
	episode        string
	oldest, newest int32
	finished       time.Time
}

// Command is what the runtime must do next: Admit, Dispatch, Deliver or CancelAll.
type Command interface{ command() }

// Admit asks for the task with this index, in order; the answer is an Admitted or a TasksEnded event.
type Admit struct{ Index int }

// Dispatch asks for one attempt; the answer is a Finished or a Failed event.
type Dispatch struct {
	Group, Sample, Attempt int
	Task                   string // digest
}

// Deliver hands a leased batch to the trainer that asked.
type Deliver struct{ Shipment Shipment }

// CancelAll asks to stop every attempt in flight; no answer is expected.
type CancelAll struct{}

func (Admit) command()     {}
func (Dispatch) command()  {}
func (Deliver) command()   {}
func (CancelAll) command() {}

// NewMachine returns the state before the first event.
func NewMachine() *Machine {
	return &Machine{groups: map[int]*group{}, settled: Counts{Discarded: map[Reason]int{}}}
}

// Apply changes the state by one event and says what to do next.
func (m *Machine) Apply(e Event) []Command {
	if _, first := e.Body.(Started); first == m.started || m.drained {
		return nil
	}
	var out []Command
	switch b := e.Body.(type) {
	case Started:
		m.started = true
		m.cfg = b.Config
		m.published, m.trainer = b.Config.StartVersion, b.Config.StartVersion
	case Resumed:
		out = m.resume(b)
	case Admitted:
		m.admitted(e.At, b)
	case TasksEnded:
		m.asked, m.tasksEnded = 0, b.Msg
	case Finished:
		m.finished(e.At, b)
	case Failed:
		out = m.failed(b)
	case Leased:
		out = m.leased(e.At, b)
	case Dropped:
		m.drop(b.Dropped)
	case Acked:
		m.ack(b)
	case Published:
		m.published = max(m.published, b.Version)
		m.trainer = max(m.trainer, b.Version)
	case Drained:
		return m.drain()
	}
	return append(out, m.fill()...)
}

// fill gives free slots to waiting episodes, oldest group first, then asks for as many tasks as the rest needs.
func (m *Machine) fill() []Command {
	var out []Command
	if m.stopped() {
		return nil
	}
	for len(m.waiting) > 0 && m.running < m.cfg.MaxConcurrent {
		next := m.waiting[0]
		m.waiting = m.waiting[1:]
		g := m.groups[next.group]
		s := &g.samples[next.sample]
		s.attempt = 1
		m.move(s, inFlight, "")
		m.issued++
		out = append(out, g.dispatch(next.sample))
	}
	for m.tasksEnded == "" && m.held+m.asked < m.capacity() &&
		m.running+m.asked*m.cfg.GroupSize < m.cfg.MaxConcurrent {
		out = append(out, Admit{m.next + m.asked})
		m.asked++
	}
	return out
}

// capacity is how many groups may be admitted in all, acknowledged ones included: AReaL's (eta + version + 1) * batch.
// Progress is counted in versions, and in acknowledged batches once the engine serves what the trainer made: a step
// that leaves the version alone must not starve the run.
func (m *Machine) capacity() int {
	progress := int(m.published - m.cfg.StartVersion)
	if m.published >= m.trainer {
		progress = max(progress, len(m.acked))
	}
	n := (m.cfg.Eta + progress + 1) * m.cfg.GroupsPerBatch
	if m.cfg.TotalBatches > 0 {
		n = min(n, m.cfg.TotalBatches*m.cfg.GroupsPerBatch)
	}
	return n
}

// stopped says that too much in a row went wrong. Work in flight ends, and one finished episode lifts the first kind.
func (m *Machine) stopped() bool {
	return m.failedRun >= m.cfg.StopAfterFailed || m.discardedRun >= m.cfg.StopAfterDiscarded
}

func (g *group) dispatch(sample int) Dispatch {
	return Dispatch{Group: g.index, Sample: sample, Attempt: g.samples[sample].attempt, Task: g.task}
}

// resume repeats the commands a killed process may not have obeyed.
func (m *Machine) resume(b Resumed) []Command {
	m.cfg = b.Config
	m.asked, m.failedRun, m.discardedRun, m.tasksEnded = 0, 0, 0, ""
	if m.batch != nil {
		m.batch.leased = false
		m.moveAll(m.batch.groups, buffered, "")
	}
	var out []Command
	for _, index := range slices.Sorted(maps.Keys(m.groups)) {
		g := m.groups[index]
		for i := range g.samples {
			if g.samples[i].place == inFlight {
				out = append(out, g.dispatch(i))
			}
		}
	}
	return out
}

func (m *Machine) admitted(at time.Time, b Admitted) {
	if b.Group != m.next {
		return
	}
	m.next++
	m.asked = max(0, m.asked-1)
	m.held++
	g := &group{index: b.Group, taskID: b.TaskID, task: b.Task, admitted: at,
		samples: make([]sample, m.cfg.GroupSize), unresolved: m.cfg.GroupSize}
	m.groups[b.Group] = g
	for i := range g.samples {
		m.waiting = append(m.waiting, slot{b.Group, i})
	}
}

// attempt finds the sample whose attempt in flight this is, nil when the attempt is over.
func (m *Machine) attempt(index, i, attempt int) (*group, *sample) {
	g := m.groups[index]
	if g == nil || i < 0 || i >= len(g.samples) {
		return nil, nil
	}
	s := &g.samples[i]
	if s.place != inFlight || s.attempt != attempt {
		return nil, nil
	}
	return g, s
}

func (m *Machine) finished(at time.Time, b Finished) {
	g, s := m.attempt(b.Group, b.Sample, b.Attempt)
	if s == nil {
		return
	}
	s.episode, s.oldest, s.newest, s.finished = b.Episode, b.Oldest, b.Newest, at
	m.move(s, buffered, "")
	m.failedRun = 0
	m.resolve(g)
}

// failed retries at once in the slot that became free, the finished siblings stay; or it gives the sample up.
func (m *Machine) failed(b Failed) []Command {
	g, s := m.attempt(b.Group, b.Sample, b.Attempt)
	if s == nil {
		return nil
	}
	m.lastFailure = b
	if !b.Permanent && s.attempt <= m.cfg.MaxRetries {
		s.attempt++
		return []Command{g.dispatch(b.Sample)}
	}
	m.move(s, discarded, b.Reason)
	m.failedRun++
	m.resolve(g)
	return nil
}

// resolve counts one more resolved sample; with the last one the group is ready or discarded.
func (m *Machine) resolve(g *group) {
	g.unresolved--
	if g.unresolved > 0 {
		return
	}
	have := 0
	for i := range g.samples {
		if g.samples[i].place == buffered {
			have++
		}
	}
	if have < m.cfg.MinValid {
		m.discard(g.index, ReasonTooFewValid)
		return
	}
	at, _ := slices.BinarySearch(m.ready, g.index)
	m.ready = slices.Insert(m.ready, at, g.index)
}

// drop discards ready groups.
func (m *Machine) drop(drops []Drop) {
	for _, d := range drops {
		if m.isReady(d.Group) {
			m.discard(d.Group, d.Reason)
		}
	}
}

// discard discards a whole group and gives its place in the admission bound to another.
func (m *Machine) discard(index int, reason Reason) {
	m.moveAll([]int{index}, discarded, reason)
	m.settle(m.groups[index])
	m.unready(index)
	m.held--
	m.discardedRun++
}

// moveAll moves the live episodes of groups; those given up before stay where they are.
func (m *Machine) moveAll(indices []int, to place, reason Reason) {
	for _, index := range indices {
		g := m.groups[index]
		for i := range g.samples {
			if g.samples[i].place != discarded {
				m.move(&g.samples[i], to, reason)
			}
		}
	}
}

func (m *Machine) isReady(index int) bool {
	_, found := slices.BinarySearch(m.ready, index)
	return found
}

func (m *Machine) unready(index int) {
	if at, found := slices.BinarySearch(m.ready, index); found {
		m.ready = slices.Delete(m.ready, at, at+1)
	}
}

func (m *Machine) drain() []Command {
	m.drained = true
	for _, index := range slices.Sorted(maps.Keys(m.groups)) {
		m.discard(index, ReasonRunEnded)
	}
	m.waiting, m.batch, m.asked = nil, nil, 0
	return []Command{CancelAll{}}
}

// Config is what the run was started or last resumed with.
func (m *Machine) Config() Config { return m.cfg }

// Version is the weight version the engine serves.
func (m *Machine) Version() int32 { return m.published }

// Acked lists the acknowledged batches in order.
func (m *Machine) Acked() []AckedBatch { return slices.Clone(m.acked) }

// lastKind is the error kind of the failure that stopped the run.
func (m *Machine) lastKind() quarry.Kind {
	if m.lastFailure.Reason == ReasonInfra || m.lastFailure.Reason == ReasonJudge {
		return quarry.KindUnavailable
	}
	return quarry.KindInternal
}
