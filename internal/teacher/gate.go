package teacher

import (
	"context"
	"slices"
	"sync"
	"time"
)

// The breaker: so many failures in a row open it; then nothing starts for a while but one probe after each rest, and
// after so many failed probes everything fails at once.
const (
	failuresToOpen = 8
	firstRest      = 5 * time.Second
	longestRest    = 2 * time.Minute
	failedProbes   = 6

	longestWait = 5 * time.Minute // of a Retry-After; a longer one is cut
)

// gate decides when an attempt may start: additive increase and multiplicative decrease of how many run at once, rests
// that the server asked for, and the breaker. Who waits is served in order.
type gate struct {
	mu      sync.Mutex
	most    int
	limit   float64
	busy    int
	epoch   int // number of times the limit was halved
	waiting []chan pass

	notBefore time.Time // a rest that the server asked for
	fails     int       // in a row
	openUntil time.Time // once fails >= failuresToOpen
	rest      time.Duration
	probing   bool
	probes    int    // failed ones in a row
	stopped   *Fault // for good
	timer     *time.Timer
}

// pass is the right to make one attempt.
type pass struct {
	epoch  int
	probe  bool
	denied *Fault
}

func newGate(most int) *gate { return &gate{most: most, limit: float64(most)} }

// enter waits for a pass. Every pass without fault must be given back by leave.
func (g *gate) enter(ctx context.Context) (pass, error) {
	me := make(chan pass, 1)
	g.mu.Lock()
	g.waiting = append(g.waiting, me)
	g.admit()
	g.mu.Unlock()
	select {
	case p := <-me:
		if ctx.Err() != nil && p.denied == nil {
			g.giveBack(p)
			return pass{}, ctx.Err()
		}
		return p, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	if i := slices.Index(g.waiting, me); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	g.mu.Unlock()
	select {
	case p := <-me: // granted in the meantime
		if p.denied == nil {
			g.giveBack(p)
		}
	default:
	}
	return pass{}, ctx.Err()
}

// giveBack returns a pass that was not used.
func (g *gate) giveBack(p pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	if p.probe {
		g.probing = false
	}
	g.admit()
}

// leave gives a pass back with what became of the attempt, nil for an answer.
func (g *gate) leave(p pass, f *Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	now := time.Now()
	if p.probe {
		g.probing = false
	}
	switch {
	case f != nil && (f.Kind == Auth || f.Kind == Quota):
		g.stopped = f
	case f == nil || f.Kind != RateLimit && f.Kind != Unavailable: // the server is there and works
		g.fails, g.probes, g.rest = 0, 0, 0
		g.limit = min(float64(g.most), g.limit+1/g.limit)
	default:
		if f.Kind == RateLimit && p.epoch == g.epoch { // those that started before the last halving say nothing new
			g.limit = max(1, g.limit/2)
			g.epoch++
		}
		if until := now.Add(min(f.RetryAfter, longestWait)); until.After(g.notBefore) {
			g.notBefore = until // the server means the key, not this one request
		}
		g.failed(p, now, f)
	}
	g.admit()
}

func (g *gate) failed(p pass, now time.Time, f *Fault) {
	was := g.open()
	g.fails++
	switch {
	case !g.open():
		return
	case !was:
		g.rest = firstRest
	case p.probe:
		if g.probes++; g.probes >= failedProbes {
			g.stopped = f
			return
		}
		g.rest = min(2*g.rest, longestRest)
	default:
		return // started before it opened
	}
	g.openUntil = now.Add(g.rest)
}

func (g *gate) open() bool { return g.fails >= failuresToOpen }

// admit hands passes to those who wait, as far as it may, and sets the timer for the rest.
func (g *gate) admit() {
	for len(g.waiting) > 0 {
		p := pass{epoch: g.epoch, denied: g.stopped}
		if p.denied == nil {
			now, from := time.Now(), g.notBefore
			if g.open() {
				p.probe = true
				if g.openUntil.After(from) {
					from = g.openUntil
				}
				if g.probing {
					return
				}
			}
			if now.Before(from) {
				g.wake(from.Sub(now))
				return
			}
			if g.busy >= int(g.limit) {
				return
			}
			g.busy++
			g.probing = p.probe
		}
		g.waiting[0] <- p
		g.waiting = slices.Delete(g.waiting, 0, 1)
	}
}

func (g *gate) wake(in time.Duration) {
	if g.timer != nil {
		g.timer.Stop()
	}
	g.timer = time.AfterFunc(in, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.admit()
	})
}
