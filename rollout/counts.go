package rollout

import (
	"maps"
	"slices"
)

// Reason says why episodes were discarded.
type Reason string

// The reasons. The first five are of single episodes, the others of whole groups.
const (
	ReasonInfra         Reason = "infra"          // engine, tool provider or network
	ReasonJudge         Reason = "judge"          // the judge gave no verdict
	ReasonInvalid       Reason = "invalid"        // the task cannot be run
	ReasonInternal      Reason = "internal"       // a panic or another bug
	ReasonMisaligned    Reason = "misaligned"     // token arrays that do not fit each other, or another episode's
	ReasonTooFewValid   Reason = "too_few_valid"  // fewer than MinValid episodes finished
	ReasonStale         Reason = "stale"          // older than MaxStaleness at ship time
	ReasonVersionSpread Reason = "version_spread" // more than MaxVersionSpread within the group
	ReasonRunEnded      Reason = "run_ended"      // unacknowledged when the run was drained
)

// Counts says where all episodes are.
type Counts struct {
	Dispatched   int            `json:"dispatched"` // episodes, not attempts
	Acknowledged int            `json:"acknowledged"`
	Discarded    map[Reason]int `json:"discarded"`
	Buffered     int            `json:"buffered"` // finished, not leased
	Leased       int            `json:"leased"`
	InFlight     int            `json:"in_flight"`
}

// Conservation is dispatched - (acknowledged + discarded + buffered + leased + in flight): 0, or work was lost or stands
// in two places.
func (c Counts) Conservation() int {
	rest := c.Dispatched - c.Acknowledged - c.Buffered - c.Leased - c.InFlight
	for _, n := range c.Discarded {
		rest -= n
	}
	return rest
}

// place is where an episode is. waiting is before its first dispatch and not counted.
type place int8

const (
	waiting place = iota
	inFlight
	buffered
	leased
	acknowledged
	discarded
)

// move is the only way an episode changes its place.
func (m *Machine) move(s *sample, to place, reason Reason) {
	if s.place == waiting && to != inFlight {
		return // never dispatched: nothing to account for
	}
	if s.place == inFlight {
		m.running--
	}
	if to == inFlight {
		m.running++
	}
	s.place, s.reason = to, reason
}

// settle takes a group off the books with what its episodes have become. One that has come to no end is in no count
// from now on, and the gauge shows it.
func (m *Machine) settle(g *group) {
	for i := range g.samples {
		switch s := &g.samples[i]; s.place {
		case acknowledged:
			m.settled.Acknowledged++
		case discarded:
			m.settled.Discarded[s.reason]++
		}
	}
	delete(m.groups, g.index)
}

// Counts says where all episodes are now. Dispatched is how many Dispatch commands began an episode; the rest is
// recounted from the groups themselves, so that a transition that loses an episode, or leaves it in two places, shows
// as a conservation other than 0.
func (m *Machine) Counts() Counts {
	c := Counts{Dispatched: m.issued, Acknowledged: m.settled.Acknowledged, Discarded: maps.Clone(m.settled.Discarded)}
	for _, g := range m.groups {
		allowed := m.allowed(g)
		if allowed == nil {
			continue
		}
		for i := range g.samples {
			switch s := &g.samples[i]; {
			case s.place == discarded:
				c.Discarded[s.reason]++
			case !slices.Contains(allowed, s.place):
			case s.place == inFlight:
				c.InFlight++
			case s.place == buffered:
				c.Buffered++
			case s.place == leased:
				c.Leased++
			}
		}
	}
	return c
}

// allowed lists where a group's live episodes may be by the one state the group is in: open, ready, or in the batch.
// A group in none of them, or in two, has no place for any.
func (m *Machine) allowed(g *group) []place {
	var states [][]place
	if g.unresolved > 0 {
		states = append(states, []place{inFlight, buffered})
	}
	if m.isReady(g.index) {
		states = append(states, []place{buffered})
	}
	if b := m.batch; b != nil && b.holds(g.index) {
		if b.leased {
			states = append(states, []place{leased})
		} else {
			states = append(states, []place{buffered})
		}
	}
	if len(states) != 1 {
		return nil
	}
	return states[0]
}
