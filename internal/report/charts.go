package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// series is one reward component: its name, class, marker and hatch are the same on every chart.
type series struct {
	name, class, shape, hatch string
}

const componentCount = 4

// components in stacking order, bottom first.
func components() [componentCount]series {
	return [componentCount]series{{"ORM", "orm", "circle", ""}, {"PRM", "prm", "square", "diag"}, {"tool", "tool", "triangle", "rows"}, {"format", "format", "diamond", "dots"}}
}

const (
	wideW, halfW = 1040.0, 510.0
	padLeft      = 52.0
	padRight     = 16.0
	legendTop    = 16.0
	plotTop      = 36.0
	valueRoom    = 84.0 // between two marks that are labelled with their value
	axisRoom     = 40.0 // below the plot: tick labels and the axis title
)

// gridY draws the horizontal grid with its labels.
func (s *svg) gridY(y scale, ticks []float64, right float64, label func(float64) string) {
	for _, v := range ticks {
		class := "grid"
		if v == 0 {
			class = "axis"
		}
		s.line(padLeft, y.at(v), right, y.at(v), class)
		s.text(padLeft-8, y.at(v)+4, "tick", "end", label(v))
	}
}

func percentTick(v float64) string { return tickText(100*v) + " %" }

// legend draws entries from the left; sample draws an entry's picture at x.
func (s *svg) legend(entries []string, sample func(i int, x, y float64)) {
	x := padLeft
	for i, e := range entries {
		sample(i, x, legendTop-4)
		s.text(x+26, legendTop, "tick", "start", e)
		x += 26 + 6.6*float64(len([]rune(e))) + 18
	}
}

// successChart shows success with its interval and greedy success for every evaluation.
func successChart(evals []Eval, id string, width float64) template.HTML {
	const h = 330.0
	s := newSVG(id, width, h, "Held-out success by weights", verdict(evals)+" The numbers stand in the table below.")
	y, ticks := linear(0, evalTop(evals), h-axisRoom, plotTop, 6)
	s.gridY(y, ticks, width-padRight, percentTick)
	s.legend([]string{"success at T=1, with 95 % interval", "greedy success"}, func(i int, x, ly float64) {
		if i == 0 {
			s.line(x+10, ly-7, x+10, ly+7, "whisker")
			s.mark("circle", x+10, ly, 4.5, "orm fill", "")
			return
		}
		s.mark("diamond", x+10, ly, 4.5, "hollow", "")
	})
	n := float64(max(len(evals), 1))
	slot := (width - padLeft - padRight) / n
	var trend []point
	for i, e := range evals {
		trend = append(trend, point{padLeft + (float64(i)+.5)*slot, y.at(e.Success)})
	}
	s.path(trend, "trend")
	every := labelEvery(len(evals), int((width-padLeft-padRight)/56))
	for i, e := range evals {
		x := trend[i].x
		tip := fmt.Sprintf("%s: %s (%s to %s), greedy %s", e.Name, percent(e.Success), percent(e.Lo), percent(e.Hi), percent(e.Greedy))
		for _, v := range []float64{e.Lo, e.Hi} {
			s.line(x-6, y.at(v), x+6, y.at(v), "whisker")
		}
		s.line(x, y.at(e.Lo), x, y.at(e.Hi), "whisker")
		s.mark("circle", x, y.at(e.Success), 5, "orm fill", tip)
		s.mark("diamond", x+min(16, slot/4), y.at(e.Greedy), 4.5, "hollow", tip)
		if i%every == 0 || i == len(evals)-1 {
			s.text(x, h-axisRoom+18, "tick", "middle", e.Name)
			if slot >= valueRoom || i == 0 || i == len(evals)-1 {
				s.text(x-9, y.at(e.Success)-7, "value halo", "end", percent(e.Success))
			}
		}
	}
	return template.HTML(s.String())
}

// labelEvery keeps at most most labels of n.
func labelEvery(n, most int) int { return max(1, (n+most-1)/most) }

// stalenessChart is the histogram of shipped samples.
func stalenessChart(bins []StalenessBin) template.HTML {
	const h = 260.0
	s := newSVG("staleness", halfW, h, "Staleness of shipped samples", "Histogram: "+stalenessText(bins))
	most, total := 0, 0
	for _, b := range bins {
		most, total = max(most, b.Samples), total+b.Samples
	}
	right := halfW - padRight
	y, ticks := linear(0, float64(max(most, 1)), h-axisRoom, plotTop, 5)
	s.gridY(y, ticks, right, func(v float64) string { return grouped(int(math.Round(v))) })
	slot := (right - padLeft) / float64(max(len(bins), 1))
	w := min(slot*.7, 70)
	every := labelEvery(len(bins), 16)
	for i, b := range bins {
		x := padLeft + (float64(i)+.5)*slot
		s.rect(x-w/2, y.at(float64(b.Samples)), w, y.at(0)-y.at(float64(b.Samples)), "orm fill",
			fmt.Sprintf("staleness %d: %s samples", b.Staleness, grouped(b.Samples)))
		if i%every == 0 {
			s.text(x, h-axisRoom+17, "tick", "middle", fmt.Sprint(b.Staleness))
			s.text(x, y.at(float64(b.Samples))-6, "value", "middle", percent(share(b.Samples, total)))
		}
	}
	s.text((padLeft+right)/2, h-axisRoom+34, "label", "middle", "versions behind")
	return template.HTML(s.String())
}

func stalenessText(bins []StalenessBin) string {
	var parts []string
	for _, b := range bins {
		parts = append(parts, fmt.Sprintf("%s samples at %d", grouped(b.Samples), b.Staleness))
	}
	return strings.Join(parts, ", ") + "."
}

// funnelChart draws one bar per narrowing, all of its input, the rejected part hatched.
func funnelChart(steps []FunnelStep, id string, width float64) template.HTML {
	const row, barH = 58.0, 22.0
	h := row*float64(len(steps)) + 8
	s := newSVG(id, width, h, "Funnel", "One bar per narrowing: the filled part passed, the hatched part was rejected. Reasons stand in the table below.")
	s.hatches()
	for i, f := range steps {
		y := float64(i)*row + 4
		full := width - 4
		pass := full * share(f.Passed, f.In)
		s.text(2, y+14, "value", "start", f.flow())
		s.text(width-2, y+14, "tick", "end", percent(share(f.Passed, f.In))+" pass")
		s.rect(2, y+22, full, barH, "lost", fmt.Sprintf("%s rejected", grouped(f.Rejected.Sum())))
		s.overlay(2, y+22, full, barH, "diag")
		s.rect(2, y+22, pass, barH, "prm fill", fmt.Sprintf("%s of %s passed", grouped(f.Passed), grouped(f.In)))
	}
	return template.HTML(s.String())
}
