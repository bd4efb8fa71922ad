package tiers

import "time"

// Breaker says when a tier that keeps failing is left alone. Every kind of error counts, rate limits and time-outs too:
// a run whose every call is refused must stop and say so. Only ErrTooLong, the fault of one question, does not.
type Breaker struct {
	Row         int           // so many errors in a row trip it
	Window      int           // or, among so many last attempts,
	Share       float64       // at least this share of errors
	Cooldown    time.Duration // how long the tier then rests; doubled by each probe that fails
	MaxCooldown time.Duration
	Probes      int // so many failed probes in a row stop the tier for good
}

// DefaultBreaker trips after 8 errors in a row or half of the last 20, and gives up after about five minutes.
func DefaultBreaker() Breaker {
	return Breaker{Row: 8, Window: 20, Share: 0.5, Cooldown: 5 * time.Second, MaxCooldown: 2 * time.Minute, Probes: 6}
}

// gate holds back the attempts of one tier. It knows no clock: now is given. While it is open nothing starts; then one
// probe does. How many run at once is halved by a rate limit and grows again with successes: by one with each below half
// of what was too much, by one with as many as run at once above (as TCP does, Jacobson 1988).
type gate struct {
	b      Breaker
	most   int // attempts at once
	limit  int
	steep  int // below it the limit grows fast
	credit int // successes towards the next growth
	flying int
	epoch  int // grows with each trip: what was started before it says nothing new
	probe  bool
	until  time.Time
	cool   time.Duration
	failed int // probes in a row
	row    int
	last   []bool // errors among the last attempts, a ring
	next   int
	trips  int
	dead   bool
}

func newGate(b Breaker, most int) *gate {
	return &gate{b: b, most: most, limit: most, steep: most, cool: b.Cooldown}
}

func (g *gate) ready(now time.Time) bool {
	if g.dead || g.flying >= g.limit || now.Before(g.until) {
		return false
	}
	return !g.probe || g.flying == 0
}

// start returns the epoch to give to done.
func (g *gate) start() int { g.flying++; return g.epoch }

// land ends an attempt that says nothing about the tier.
func (g *gate) land() { g.flying-- }

// done ends an attempt; kind is "" when it was scored.
func (g *gate) done(now time.Time, epoch int, kind ErrorKind) {
	g.flying--
	switch {
	case kind == ErrAuth:
		g.dead = true
	case epoch != g.epoch || kind == ErrTooLong:
	case kind == "":
		g.probe, g.failed, g.row, g.cool = false, 0, 0, g.b.Cooldown
		if g.credit++; g.limit < g.steep || g.credit >= g.limit {
			g.limit, g.credit = min(g.limit+1, g.most), 0
		}
		g.note(false)
	default:
		g.row++
		g.note(true)
		if kind == ErrRateLimit && g.flying < g.limit { // else it was started before the limit was halved
			g.limit = max(g.limit/2, 1)
			g.steep, g.credit = g.limit, 0
		}
		if g.probe {
			g.failed++
		}
		if g.probe || g.row >= g.b.Row || g.share() {
			g.trip(now)
		}
	}
}

func (g *gate) trip(now time.Time) {
	g.trips++
	g.epoch++
	g.row, g.last, g.next = 0, nil, 0
	if !g.probe {
		g.steep = max(g.limit/2, 1)
	}
	g.probe, g.limit, g.credit = true, 1, 0
	g.until = now.Add(g.cool)
	g.cool = min(2*g.cool, g.b.MaxCooldown)
	g.dead = g.failed >= g.b.Probes
}

func (g *gate) note(failed bool) {
	if len(g.last) < g.b.Window {
		g.last = append(g.last, failed)
		return
	}
	g.last[g.next] = failed
	g.next = (g.next + 1) % len(g.last)
}

// share says whether the window is full and holds too many errors.
func (g *gate) share() bool {
	n := 0
	for _, f := range g.last {
		if f {
			n++
		}
	}
	return len(g.last) == g.b.Window && float64(n) >= g.b.Share*float64(g.b.Window)
}
