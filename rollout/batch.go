package rollout

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	quarry "github.com/quarry-rl/quarry"
)

// Staleness describes the samples of a batch that have trained tokens, at ship time. The staleness of a sample is the
// trainer's version - the oldest version of any of its trained tokens (never below 0: the engine may serve new weights
// a moment before the coordinator hears of it).
type Staleness struct {
	Samples int           `json:"samples"`
	Max     int32         `json:"max"`
	Mean    float64       `json:"mean"`
	Hist    []int         `json:"hist"`    // Hist[s] samples of staleness s; 0 to MaxStaleness at least
	Lead    time.Duration `json:"lead_ns"` // mean time from a group's admission to its samples' finish
	Lag     time.Duration `json:"lag_ns"`  // mean time from a sample's finish to shipping
}

// Shipment is a leased batch by reference: digests instead of episodes.
type Shipment struct {
	Index          int
	Token          int
	TrainerVersion int32
	Staleness      Staleness
	Groups         []ShippedGroup
}

// ShippedGroup is one group of a shipment.
type ShippedGroup struct {
	Index    int    // task index
	Task     string // digest
	Episodes []string
}

// AckedBatch is a batch whose checkpoint is durable.
type AckedBatch struct {
	Index    int             `json:"index"`
	ID       string          `json:"id"`
	Version  int32           `json:"version"` // of the weights that came out
	Groups   []int           `json:"groups"`  // task indices
	Episodes int             `json:"episodes"`
	Record   json.RawMessage `json:"record"` // the caller's, as given to Ack
}

type batch struct {
	index, token int
	leased       bool
	version      int32
	groups       []int // task indices, ascending
	staleness    Staleness
}

func (b *batch) holds(index int) bool {
	_, found := slices.BinarySearch(b.groups, index)
	return found
}

// NextLease says what a trainer that asks for a batch would get: a Leased body, a Dropped body when groups that may no
// longer ship must make way first, nil when it has to wait. An unacknowledged batch comes before any other, with the
// same groups under a new token: whoever held it before is fenced out.
func (m *Machine) NextLease() Body {
	if !m.started || m.drained {
		return nil
	}
	if b := m.batch; b != nil {
		return Leased{Batch: b.index, Token: b.token + 1, Version: b.version, Groups: b.groups}
	}
	if len(m.ready) < m.cfg.GroupsPerBatch {
		return nil
	}
	next := Leased{Batch: len(m.acked), Token: 1, Version: m.trainer}
	for _, index := range m.ready {
		if len(next.Groups) == m.cfg.GroupsPerBatch {
			break
		}
		if reason := m.unfit(m.groups[index]); reason != "" {
			next.Dropped = append(next.Dropped, Drop{index, reason})
		} else {
			next.Groups = append(next.Groups, index)
		}
	}
	if len(next.Groups) < m.cfg.GroupsPerBatch {
		return Dropped{next.Dropped}
	}
	return next
}

// unfit says why a ready group may not ship to the trainer's present version.
func (m *Machine) unfit(g *group) Reason {
	oldest, newest := int32(-1), int32(-1)
	for i := range g.samples {
		s := &g.samples[i]
		if s.place != buffered || s.oldest < 0 {
			continue
		}
		if oldest < 0 || s.oldest < oldest {
			oldest = s.oldest
		}
		newest = max(newest, s.newest)
	}
	switch {
	case oldest < 0: // nothing to train on, nothing to be stale
		return ""
	case m.trainer-oldest > m.cfg.MaxStaleness:
		return ReasonStale
	case newest-oldest > m.cfg.MaxVersionSpread:
		return ReasonVersionSpread
	}
	return ""
}

// leased forms the batch of the event's groups, or passes the one that is out to a new holder.
func (m *Machine) leased(at time.Time, b Leased) []Command {
	if m.batch == nil {
		if b.Batch != len(m.acked) || b.Token != 1 || !m.shippable(b) {
			return nil
		}
		m.drop(b.Dropped)
		m.batch = &batch{index: b.Batch, version: b.Version, groups: b.Groups, staleness: m.staleness(at, b)}
		for _, index := range b.Groups {
			m.unready(index)
		}
		m.discardedRun = 0
	} else if b.Batch != m.batch.index || b.Token != m.batch.token+1 {
		return nil
	}
	m.batch.token, m.batch.leased = b.Token, true
	m.moveAll(m.batch.groups, leased, "")
	return []Command{Deliver{m.shipment()}}
}

func (m *Machine) shipment() Shipment {
	b := m.batch
	out := Shipment{Index: b.index, Token: b.token, TrainerVersion: b.version, Staleness: b.staleness}
	for _, index := range b.groups {
		g := m.groups[index]
		sg := ShippedGroup{Index: index, Task: g.task}
		for i := range g.samples {
			if g.samples[i].place == leased {
				sg.Episodes = append(sg.Episodes, g.samples[i].episode)
			}
		}
		out.Groups = append(out.Groups, sg)
	}
	return out
}

// lastBin of a histogram takes all samples beyond any bound that a Config may set; a replayed journal may hold them.
const lastBin = 1 << 16

func (m *Machine) staleness(at time.Time, b Leased) Staleness {
	out := Staleness{Hist: make([]int, m.cfg.MaxStaleness+1)}
	var sum, lead, lag float64
	for _, index := range b.Groups {
		g := m.groups[index]
		for i := range g.samples {
			s := &g.samples[i]
			if s.place != buffered || s.oldest < 0 {
				continue
			}
			age := max(0, b.Version-s.oldest)
			out.Samples++
			bin := min(int(age), lastBin)
			for len(out.Hist) <= bin {
				out.Hist = append(out.Hist, 0)
			}
			out.Hist[bin]++
			out.Max = max(out.Max, age)
			sum += float64(age)
			lead += float64(s.finished.Sub(g.admitted))
			lag += float64(at.Sub(s.finished))
		}
	}
	if n := float64(out.Samples); n > 0 {
		out.Mean, out.Lead, out.Lag = sum/n, time.Duration(lead/n), time.Duration(lag/n)
	}
	return out
}

// Acknowledge gives the event of an acknowledgement, or says why it is refused: KindConflict for a batch that is acknowledged already, that
// was discarded when the run was drained, or that another attempt holds; KindNotFound for a batch that never shipped;
// KindInvalid for a version below the last acknowledged one or a record that is no JSON.
func (m *Machine) Acknowledge(batchID string, token int, version int32, record json.RawMessage) (Body, error) {
	fail := func(kind quarry.Kind, hint, format string, args ...any) (Body, error) {
		return nil, &quarry.Error{Op: "ack", Kind: kind, Subject: batchID, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	for _, a := range m.acked {
		if a.ID == batchID {
			return fail(quarry.KindConflict, "drop this attempt's work", "already acknowledged with version %d", a.Version)
		}
	}
	switch b := m.batch; {
	case m.drained:
		return fail(quarry.KindConflict, "start a new run", "the run was drained, its unacknowledged work is discarded")
	case b == nil || m.cfg.BatchID(b.index) != batchID:
		return fail(quarry.KindNotFound, "lease a batch first", "no such batch is out")
	case !b.leased:
		return fail(quarry.KindConflict, "lease it again", "its lease ended with the process that gave it")
	case token != b.token:
		return fail(quarry.KindConflict, "drop this attempt's work", "token %d is void, attempt %d holds the lease", token, b.token)
	}
	if last := m.lastAcked(); version < last {
		return fail(quarry.KindInvalid, "", "version %d is below %d, which was acknowledged before", version, last)
	}
	if len(record) > 0 && !json.Valid(record) {
		return fail(quarry.KindInvalid, "", "the record is no JSON")
	}
	return Acked{Batch: m.batch.index, Token: token, Version: version, Record: record}, nil
}

func (m *Machine) lastAcked() int32 {
	if n := len(m.acked); n > 0 {
		return m.acked[n-1].Version
	}
	return m.cfg.StartVersion
}

func (m *Machine) ack(b Acked) {
	id := m.cfg.BatchID(b.Batch)
	if _, err := m.Acknowledge(id, b.Token, b.Version, b.Record); err != nil {
		return
	}
	before := m.settled.Acknowledged
	m.moveAll(m.batch.groups, acknowledged, "")
	for _, index := range m.batch.groups {
		m.settle(m.groups[index])
	}
	m.acked = append(m.acked, AckedBatch{Index: b.Batch, ID: id, Version: b.Version, Groups: m.batch.groups,
		Episodes: m.settled.Acknowledged - before, Record: b.Record})
	m.batch = nil
	m.trainer = max(m.trainer, b.Version)
}

// Unreachable is nil while another batch can still come, else the reason why none ever will in this process:
// KindExhausted (all batches acknowledged, or no more tasks), KindCanceled (drained), KindUnavailable or KindInternal
// (nothing but failures), KindGate (nothing but discarded groups).
func (m *Machine) Unreachable() error {
	fail := func(kind quarry.Kind, hint, format string, args ...any) error {
		return &quarry.Error{Op: "lease", Kind: kind, Msg: fmt.Sprintf(format, args...), Hint: hint}
	}
	switch {
	case m.drained:
		return fail(quarry.KindCanceled, "start a new run", "the run was drained")
	case m.NextLease() != nil:
		return nil
	case m.cfg.TotalBatches > 0 && len(m.acked) >= m.cfg.TotalBatches:
		return fail(quarry.KindExhausted, "", "all %d batches are acknowledged", m.cfg.TotalBatches)
	case m.running > 0 || m.asked > 0:
		return nil
	case m.failedRun >= m.cfg.StopAfterFailed:
		return fail(m.lastKind(), "check that the engine and the tools answer, then run the same command again",
			"%d episodes in a row failed after %d attempts each (%s), the last: %s",
			m.failedRun, m.cfg.MaxRetries+1, m.lastFailure.Reason, m.lastFailure.Msg)
	case m.discardedRun >= m.cfg.StopAfterDiscarded:
		return fail(quarry.KindGate, "loosen max_staleness or max_version_spread, lower eta, or make the tasks runnable",
			"%d groups in a row were discarded without one batch: %v", m.discardedRun, m.Counts().Discarded)
	case m.tasksEnded != "" && len(m.waiting) == 0:
		return fail(quarry.KindExhausted, "give more tasks or ask for fewer batches",
			"no more tasks after %d (%s): %d groups are ready, a batch needs %d", m.next, m.tasksEnded, len(m.ready), m.cfg.GroupsPerBatch)
	}
	return nil
}

// Blocked says in words what the next batch waits for.
func (m *Machine) Blocked() string {
	switch {
	case m.batch != nil:
		return fmt.Sprintf("batch %d waits for its acknowledgement", m.batch.index)
	case m.running > 0:
		return fmt.Sprintf("%d of %d groups ready, %d episodes in flight", len(m.ready), m.cfg.GroupsPerBatch, m.running)
	case m.asked > 0:
		return "the task source is asked for a task"
	case m.held >= m.capacity():
		return fmt.Sprintf("%d groups are admitted, as many as version %d allows: newer weights must be published", m.held, m.published)
	}
	return fmt.Sprintf("%d of %d groups ready", len(m.ready), m.cfg.GroupsPerBatch)
}

// shippable says whether the groups of a first lease are ready, in order, and not dropped by the same event.
func (m *Machine) shippable(b Leased) bool {
	for i, index := range b.Groups {
		if !m.isReady(index) || (i > 0 && b.Groups[i-1] >= index) ||
			slices.ContainsFunc(b.Dropped, func(d Drop) bool { return d.Group == index }) {
			return false
		}
	}
	return len(b.Groups) > 0
}
