package report

import (
	"fmt"
	"html/template"
	"math"
)

// stepAxis is the x axis that every chart of RL steps shares.
type stepAxis struct {
	steps       []RLStep
	slot, right float64
}

func newStepAxis(steps []RLStep) stepAxis {
	right := halfW - padRight
	return stepAxis{steps, (right - padLeft) / float64(max(len(steps), 1)), right}
}

func (a stepAxis) x(i int) float64 { return padLeft + (float64(i)+.5)*a.slot }

// markSize keeps the marks of neighbouring steps apart.
func (a stepAxis) markSize() float64 { return min(3.6, a.slot/4) }

func (a stepAxis) draw(s *svg, bottom float64) {
	every := labelEvery(len(a.steps), 15)
	for i, st := range a.steps {
		if i%every == 0 {
			s.text(a.x(i), bottom+17, "tick", "middle", fmt.Sprint(st.Step))
		}
	}
	s.text((padLeft+a.right)/2, bottom+34, "label", "middle", "RL step")
}

// phases marks where the schedule moved on.
func (a stepAxis) phases(s *svg, top, bottom float64) {
	for i, st := range a.steps {
		if i == 0 || st.Phase == a.steps[i-1].Phase {
			continue
		}
		x := padLeft + float64(i)*a.slot
		s.line(x, top, x, bottom, "phase")
	}
}

// points maps a value of each step; NaN where nothing was measured.
func (a stepAxis) points(y scale, value func(RLStep) *float64) []point {
	out := make([]point, len(a.steps))
	for i, st := range a.steps {
		out[i] = point{a.x(i), math.NaN()}
		if v := value(st); v != nil {
			out[i].y = y.at(*v)
		}
	}
	return out
}

func (r Reward) component(k int) *float64 { return []*float64{r.ORM, r.PRM, r.Tool, r.Format}[k] }

func (st RLStep) coefficient(k int) float64 {
	c := st.Coefficients
	return []float64{c.ORM, c.PRM, c.Tool, c.Format}[k]
}

func (v Shares) component(k int) float64 { return []float64{v.ORM, v.PRM, v.Tool, v.Format}[k] }

// rewardChart shows the mean of every component, unweighted.
func rewardChart(steps []RLStep) template.HTML {
	const h = 290.0
	a, cs := newStepAxis(steps), components()
	s := newSVG("reward", halfW, h, "Reward components by RL step", "Lines of the mean ORM, PRM, tool and format reward of each step before weighting. Tool and format top out at 0.1."+trendText(steps))
	lo, hi := 0.0, 1.0
	for _, st := range steps {
		for k := range cs {
			if v := st.Reward.component(k); v != nil {
				lo, hi = min(lo, *v), max(hi, *v)
			}
		}
	}
	y, ticks := linear(lo, hi, h-axisRoom, plotTop, 5)
	s.gridY(y, ticks, a.right, tickText)
	a.draw(s, h-axisRoom)
	s.legend([]string{"ORM", "PRM", "tool (at most 0.1)", "format (at most 0.1)"}, func(i int, x, ly float64) {
		s.line(x, ly, x+20, ly, "stroke "+cs[i].class)
		s.mark(cs[i].shape, x+10, ly, 3.6, cs[i].class+" fill", "")
	})
	for k, c := range cs {
		pts := a.points(y, func(st RLStep) *float64 { return st.Reward.component(k) })
		s.path(pts, "stroke "+c.class)
		for i, p := range pts {
			s.mark(c.shape, p.x, p.y, a.markSize(), c.class+" fill", fmt.Sprintf("step %d: %s %s", steps[i].Step, c.name, score(steps[i].Reward.component(k))))
		}
	}
	return template.HTML(s.String())
}

func trendText(steps []RLStep) string {
	if len(steps) == 0 {
		return ""
	}
	first, last := steps[0], steps[len(steps)-1]
	return fmt.Sprintf(" ORM goes from %s at step %d to %s at step %d.", score(first.Reward.ORM), first.Step, score(last.Reward.ORM), last.Step)
}

// weightedChart stacks coefficient times component, and under it the coefficients with the phase changes.
func weightedChart(steps []RLStep) template.HTML {
	const h, split = 290.0, 186.0
	a := newStepAxis(steps)
	s := newSVG("weighted", halfW, h, "Total reward by component, and the coefficient schedule",
		"Above: bars of coefficient times mean component, stacked to the total. Below: the coefficients, which sum to 1; dashed lines mark phase changes.")
	s.hatches()
	parts := func(st RLStep, k int) float64 {
		if v := st.Reward.component(k); v != nil {
			return st.coefficient(k) * *v
		}
		return 0
	}
	y, ticks := stackScale(steps, parts, split-12, plotTop)
	s.gridY(y, ticks, a.right, tickText)
	s.legend([]string{"ORM", "PRM", "tool", "format"}, s.swatch)
	a.stack(s, y, parts, "of the total")
	cy := scale{lo: 0, hi: 1, from: h - axisRoom, to: split + 12}
	s.gridY(cy, []float64{0, .5, 1}, a.right, tickText)
	a.stack(s, cy, RLStep.coefficient, "coefficient")
	a.phases(s, plotTop-6, h-axisRoom)
	a.draw(s, h-axisRoom)
	s.text(a.right, plotTop-4, "label halo", "end", "weighted reward")
	s.text(a.right, split+7, "label halo", "end", "coefficients")
	return template.HTML(s.String())
}

// swatch draws the legend box of component i.
func (s *svg) swatch(i int, x, y float64) {
	c := components()[i]
	s.rect(x+4, y-6, 16, 12, c.class+" fill", "")
	s.overlay(x+4, y-6, 16, 12, c.hatch)
}

func stackScale(steps []RLStep, part func(RLStep, int) float64, from, to float64) (scale, []float64) {
	lo, hi := 0.0, 0.1
	for _, st := range steps {
		up, down := 0.0, 0.0
		for k := range componentCount {
			up, down = up+max(0, part(st, k)), down+min(0, part(st, k))
		}
		lo, hi = min(lo, down), max(hi, up)
	}
	if lo == 0 {
		return linear(lo, hi, from, to, 5)
	}
	return inside(lo, hi, from, to, 5) // a small negative part must not cost a whole grid row
}

// stack draws one stacked bar per step, negative parts downward.
func (a stepAxis) stack(s *svg, y scale, part func(RLStep, int) float64, what string) {
	w := min(a.slot*.74, 40)
	for i, st := range a.steps {
		up, down := 0.0, 0.0
		for k, c := range components() {
			v := part(st, k)
			if v == 0 {
				continue
			}
			base := &up
			if v < 0 {
				base = &down
			}
			top, bottom := y.at(max(*base, *base+v)), y.at(min(*base, *base+v))
			*base += v
			s.rect(a.x(i)-w/2, top, w, bottom-top, c.class+" fill", fmt.Sprintf("step %d: %s %s %s", st.Step, c.name, score(&v), what))
			s.overlay(a.x(i)-w/2, top, w, bottom-top, c.hatch)
		}
	}
}

// varianceChart stacks each component's share of the variance of the total reward.
func varianceChart(steps []RLStep) template.HTML {
	const h = 260.0
	a := newStepAxis(steps)
	s := newSVG("variance", halfW, h, "Share of the total reward's variance by component",
		"What the advantage can tell apart: cov(weighted component, total) / var(total). Shares sum to 1; a negative one works against the rest.")
	s.hatches()
	part := func(st RLStep, k int) float64 {
		if st.VarianceShare == nil {
			return 0
		}
		return st.VarianceShare.component(k)
	}
	y, ticks := stackScale(steps, part, h-axisRoom, plotTop)
	s.gridY(y, ticks, a.right, percentTick)
	s.legend([]string{"ORM", "PRM", "tool", "format"}, s.swatch)
	a.stack(s, y, part, "of the variance")
	a.draw(s, h-axisRoom)
	return template.HTML(s.String())
}

// maskedChart shows the share of trained tokens the mask removed.
func maskedChart(steps []RLStep) template.HTML {
	const h = 260.0
	a := newStepAxis(steps)
	s := newSVG("masked", halfW, h, "Masked fraction by RL step", "Share of trained tokens the IcePop mask removed: over all tokens, and over tokens with entropy above 0.")
	lines := []func(RLStep) *float64{
		func(st RLStep) *float64 { return &st.MaskedFraction },
		func(st RLStep) *float64 { return st.MaskedFractionEntropy },
	}
	hi := 0.001
	for _, st := range steps {
		for _, l := range lines {
			if v := l(st); v != nil {
				hi = max(hi, *v)
			}
		}
	}
	y, ticks := linear(0, hi, h-axisRoom, plotTop, 5)
	s.gridY(y, ticks, a.right, percentTick)
	a.draw(s, h-axisRoom)
	look := []series{{"all tokens", "orm", "circle", ""}, {"tokens with entropy > 0", "tool", "triangle", ""}}
	s.legend([]string{look[0].name, look[1].name}, func(i int, x, ly float64) {
		s.line(x, ly, x+20, ly, "stroke "+look[i].class)
		s.mark(look[i].shape, x+10, ly, 3.6, look[i].class+" fill", "")
	})
	for k, l := range lines {
		pts := a.points(y, l)
		s.path(pts, "stroke "+look[k].class)
		for i, p := range pts {
			if v := l(steps[i]); v != nil {
				s.mark(look[k].shape, p.x, p.y, a.markSize(), look[k].class+" fill", fmt.Sprintf("step %d: %s of %s", steps[i].Step, percent(*v), look[k].name))
			}
		}
	}
	return template.HTML(s.String())
}

// ratioChart shows the p01..p99 band of the importance ratio; logarithmic when it spans more than a factor of 4.
func ratioChart(steps []RLStep) template.HTML {
	const h = 260.0
	a := newStepAxis(steps)
	s := newSVG("ratio", halfW, h, "Importance ratio by RL step", "Band from the 1st to the 99th percentile with the median, over all trained tokens; dashed lines bound the band of tokens with entropy above 0.")
	lo, hi := 0.99, 1.01
	for _, st := range steps {
		lo, hi = min(lo, st.Ratio.P01), max(hi, st.Ratio.P99)
		if q := st.RatioEntropy; q != nil {
			lo, hi = min(lo, q.P01), max(hi, q.P99)
		}
	}
	y, ticks := linear(lo, hi, h-axisRoom, plotTop, 5)
	if lo <= 0 || hi/lo > 4 {
		y, ticks = logarithmic(lo, hi, h-axisRoom, plotTop)
	}
	s.gridY(y, ticks, a.right, tickText)
	if y.lo <= 1 && y.hi >= 1 {
		s.line(padLeft, y.at(1), a.right, y.at(1), "axis")
	}
	a.draw(s, h-axisRoom)
	pick := func(f func(Quantiles) float64) []point {
		return a.points(y, func(st RLStep) *float64 { return new(f(st.Ratio)) })
	}
	bound := func(f func(Quantiles) float64) []point {
		return a.points(y, func(st RLStep) *float64 {
			if st.RatioEntropy == nil {
				return nil
			}
			return new(f(*st.RatioEntropy))
		})
	}
	p01, p99 := func(q Quantiles) float64 { return q.P01 }, func(q Quantiles) float64 { return q.P99 }
	s.area(pick(p99), pick(p01), "band")
	s.path(pick(func(q Quantiles) float64 { return q.P50 }), "stroke orm")
	s.path(bound(p01), "stroke tool dashed")
	s.path(bound(p99), "stroke tool dashed")
	for i, st := range steps { // wide invisible targets that answer the pointer
		s.rect(a.x(i)-a.slot/2, plotTop, a.slot, h-axisRoom-plotTop, "target", fmt.Sprintf("step %d: p01/p50/p99 %s", st.Step, quantiles(st.Ratio)))
	}
	s.legend([]string{"p01 to p99", "median", "tokens with entropy > 0"}, func(i int, x, ly float64) {
		switch i {
		case 0:
			s.rect(x, ly-6, 20, 12, "band", "")
		case 1:
			s.line(x, ly, x+20, ly, "stroke orm")
		default:
			s.line(x, ly, x+20, ly, "stroke tool dashed")
		}
	})
	return template.HTML(s.String())
}
