package rollout

import (
	"slices"
)

// model is the coordinator written the slow and obvious way: every question is answered by walking over everything
// that ever happened.
type model struct {
	cfg      Config
	episodes map[slot]*modelEpisode
	groups   int
	acked    [][]int
	shipped  []int // unacknowledged batch
	token    int
	holder   bool
	engine   int32
	trainer  int32
	drained  bool
}

type modelEpisode struct {
	where          string // in flight, finished, leased, acked, or discarded and why
	tries          int    // attempts begun, interrupted ones once
	oldest, newest int32
}

func (m *model) counts() Counts {
	c := Counts{Discarded: map[Reason]int{}}
	for _, e := range m.episodes {
		c.Dispatched++
		switch e.where {
		case "in flight":
			c.InFlight++
		case "finished":
			c.Buffered++
		case "leased":
			c.Leased++
		case "acked":
			c.Acknowledged++
		default:
			c.Discarded[Reason(e.where)]++
		}
	}
	return c
}

// of lists the dispatched episodes of a group that are in one of the places.
func (m *model) of(group int, where ...string) []*modelEpisode {
	var out []*modelEpisode
	for s := range m.cfg.GroupSize {
		if e := m.episodes[slot{group, s}]; e != nil && slices.Contains(where, e.where) {
			out = append(out, e)
		}
	}
	return out
}

func (m *model) set(group int, from, to string) {
	for _, e := range m.of(group, from) {
		e.where = to
	}
}

// settle discards the group when its last episode resolved and too few finished.
func (m *model) settle(group int) {
	n := 0
	for s := range m.cfg.GroupSize {
		if m.episodes[slot{group, s}] != nil {
			n++
		}
	}
	if n == m.cfg.GroupSize && len(m.of(group, "in flight")) == 0 && len(m.of(group, "finished")) < m.cfg.MinValid {
		m.set(group, "finished", "too_few_valid")
	}
}

func (m *model) ready() []int {
	var out []int
	for g := range m.groups {
		started := 0
		for s := range m.cfg.GroupSize {
			if m.episodes[slot{g, s}] != nil {
				started++
			}
		}
		if started == m.cfg.GroupSize && len(m.of(g, "in flight")) == 0 && len(m.of(g, "finished")) >= m.cfg.MinValid && !slices.Contains(m.shipped, g) {
			out = append(out, g)
		}
	}
	return out
}

func (m *model) fit(group int) Reason {
	var versions []int32
	for _, e := range m.of(group, "finished") {
		if e.oldest >= 0 {
			versions = append(versions, e.oldest, e.newest)
		}
	}
	if len(versions) == 0 {
		return ""
	}
	if m.trainer-slices.Min(versions) > m.cfg.MaxStaleness {
		return ReasonStale
	}
	if slices.Max(versions)-slices.Min(versions) > m.cfg.MaxVersionSpread {
		return ReasonVersionSpread
	}
	return ""
}

// alive counts the groups that hold a place in the admission bound.
func (m *model) alive() int {
	n := 0
	for g := range m.groups {
		started, dead := 0, 0
		for s := range m.cfg.GroupSize {
			if e := m.episodes[slot{g, s}]; e != nil {
				started++
				if !slices.Contains([]string{"in flight", "finished", "leased", "acked"}, e.where) {
					dead++
				}
			}
		}
		if started < m.cfg.GroupSize || dead < started {
			n++
		}
	}
	return n
}
