package pocket

import (
	"github.com/quarry-rl/quarry/kg/english"
)

// view gathers what the conversation shows of one name, described by the occurrence that fits the last query best.
type view struct {
	m        english.Name
	rank     int
	count    int
	inLast   bool
	score    int
	withPrev bool
	titPrev  bool
	cues     int
	dist     int
	side     int // 0 after a cue, 1 before one, 2 no cue
	prevDist int
	cond     bool
	best     bool
	nearCue  int
	nearPrev int
}

// context of one passage under the last query.
type passageContext struct {
	cueAt     []int
	cueKinds  int
	prevAt    int
	prevIn    bool
	titlePrev bool
	condIn    bool
}

// views describes every name the observations show, in order of first sight from the last observation back.
func (c *conversation) views() (map[string]*view, []string) {
	out := map[string]*view{}
	var order []string
	for i := len(c.searches) - 1; i >= 0; i-- {
		s := &c.searches[i]
		last := i == len(c.searches)-1
		lastStep, prev, ph := c.last()
		ctx := make([]passageContext, len(s.passages))
		best, bestScore := -1, -1
		for r, p := range s.passages {
			x := c.passageContext(p, ph, prev, lastStep)
			ctx[r] = x
			score := 20*b2i(x.prevIn) + 10*b2i(x.cueKinds > 0) + 12*b2i(x.condIn) + min(x.cueKinds, 3) + 5 - r
			if score > bestScore {
				bestScore, best = score, r
			}
		}
		for r, p := range s.passages {
			x := &ctx[r]
			for _, m := range p.mentions {
				v := out[m.Norm]
				if v == nil {
					v = &view{m: m, rank: r, inLast: last, score: -1}
					out[m.Norm] = v
					order = append(order, m.Norm)
				}
				if !last && v.inLast {
					continue
				}
				v.count++
				v.describe(m, p, x, r, r == best, ph, prev)
			}
		}
	}
	return out, order
}

// last returns the step the last search served, the name it was about and the step's phrase.
func (c *conversation) last() (step int, name string, ph *english.Phrase) {
	step = -1
	if n := len(c.searches); n > 0 {
		step, name = c.searches[n-1].step, c.searches[n-1].mention
	}
	if step >= 0 {
		ph = c.plan.Steps[step]
	}
	return step, name, ph
}

func (c *conversation) passageContext(p *passage, ph *english.Phrase, prev string, lastStep int) passageContext {
	x := passageContext{prevAt: -1}
	if ph != nil {
		kinds := map[string]bool{}
		for i, w := range p.terms {
			if w != "" && ph.Cues[w] {
				x.cueAt = append(x.cueAt, i)
				kinds[w] = true
			}
		}
		x.cueKinds = len(kinds)
	}
	for _, m := range p.mentions {
		if english.SameName(m.Norm, prev) {
			x.prevIn = true
			if m.Title {
				x.titlePrev = true
			} else if x.prevAt < 0 {
				x.prevAt = m.At
			}
		}
		if lastStep >= 0 {
			for _, cd := range c.conds {
				x.condIn = x.condIn || cd.step == lastStep+1 && cd.name == m.Norm
			}
		}
	}
	return x
}

func (x *passageContext) cueDistance(m english.Name) int {
	d := far
	for _, at := range x.cueAt {
		if m.At > at {
			d = min(d, m.At-at)
		} else {
			d = min(d, max(at-m.End+1, 0))
		}
	}
	return d
}

func (x *passageContext) prevDistance(m english.Name) int {
	if x.prevAt < 0 {
		return m.At
	}
	return max(m.At-x.prevAt, x.prevAt-m.At)
}

// describe keeps the better occurrence of the name.
func (v *view) describe(m english.Name, p *passage, x *passageContext, rank int, best bool, ph *english.Phrase, prev string) {
	dist, side := far, 2
	for _, at := range x.cueAt {
		if m.Title {
			dist = min(dist, 20)
			continue
		}
		if y := m.At - at; y > 0 && y < dist {
			dist, side = y, 0
		} else if y := at - m.End + 1; y >= 0 && y < dist {
			dist, side = y, 1
		}
	}
	score := 100*b2i(x.prevIn) + 60*b2i(x.condIn) + 30*b2i(best) - 2*rank
	if len(x.cueAt) > 0 {
		score += 40 - min(dist, 20)
	}
	if score <= v.score {
		return
	}
	v.score, v.m = score, m
	v.withPrev, v.titPrev, v.cues, v.dist, v.side, v.cond, v.best = x.prevIn, x.titlePrev, x.cueKinds, dist, side, x.condIn, best
	v.nearCue = rankAmong(m, p, ph, prev, x.cueDistance)
	v.nearPrev = rankAmong(m, p, ph, prev, x.prevDistance)
	v.prevDist = far
	if x.prevAt >= 0 && !m.Title {
		v.prevDist = min(x.prevDistance(m), far-1)
	}
}

// rankAmong counts the fitting names of the passage that are nearer; 3 when the name itself does not fit.
func rankAmong(m english.Name, p *passage, ph *english.Phrase, prev string, dist func(english.Name) int) int {
	if ph == nil || m.Title || !ph.Want.Fits(m.Shape) {
		return 3
	}
	n, mine := 0, dist(m)
	for _, o := range p.mentions {
		if !o.Title && o.Norm != m.Norm && o.Form != english.FormPart && !english.SameName(o.Norm, prev) && ph.Want.Fits(o.Shape) && dist(o) < mine {
			n++
		}
	}
	return min(n, 2)
}
