package rollout

import "maps"

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

// Conservation is dispatched - (acknowledged + discarded + buffered + leased + in flight): 0, or work was lost.
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
	places
)

// move is the only way an episode changes its place, so that the counters and the state cannot part.
func (m *Machine) move(s *sample, to place, reason Reason) {
	if s.place == waiting {
		if to != inFlight {
			return // never dispatched: nothing to account for
		}
		m.dispatched++
	} else {
		m.at[s.place]--
	}
	if to == discarded {
		m.discards[reason]++
	}
	m.at[to]++
	s.place = to
}

// Counts says where all episodes are now.
func (m *Machine) Counts() Counts {
	return Counts{
		Dispatched: m.dispatched, Acknowledged: m.at[acknowledged], Discarded: maps.Clone(m.discards),
		Buffered: m.at[buffered], Leased: m.at[leased], InFlight: m.at[inFlight],
	}
}
