package report

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// svg writes one chart. Colours and fonts come from classes of the page's style sheet, so that light and dark need no
// second drawing. Every text goes through html.EscapeString.
type svg struct {
	b    strings.Builder
	id   string
	w, h float64
}

// num prints a coordinate with at most one decimal.
func num(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// newSVG opens a chart that screen readers announce by title and describe by desc.
func newSVG(id string, w, h float64, title, desc string) *svg {
	s := &svg{id: id, w: w, h: h}
	fmt.Fprintf(&s.b, `<svg viewBox="0 0 %s %s" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
		num(w), num(h), id, id, id, html.EscapeString(title), id, html.EscapeString(desc))
	return s
}

func (s *svg) String() string { return s.b.String() + "</svg>" }

func (s *svg) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&s.b, `<line x1="%s" y1="%s" x2="%s" y2="%s" class="%s"/>`, num(x1), num(y1), num(x2), num(y2), class)
}

// rect draws a box with a tooltip.
func (s *svg) rect(x, y, w, h float64, class, tip string) {
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" class="%s">`, num(x), num(y), num(max(w, 0)), num(max(h, 0)), class)
	s.tip(tip)
	s.b.WriteString("</rect>")
}

// text anchors at start, middle or end.
func (s *svg) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(&s.b, `<text x="%s" y="%s" class="%s" text-anchor="%s">%s</text>`, num(x), num(y), class, anchor, html.EscapeString(text))
}

func (s *svg) tip(text string) {
	if text != "" {
		s.b.WriteString("<title>" + html.EscapeString(text) + "</title>")
	}
}

type point struct{ x, y float64 }

// path joins runs of points; a NaN breaks the line, because nothing was measured there.
func (s *svg) path(points []point, class string) {
	var d strings.Builder
	pen := "M"
	for _, p := range points {
		if math.IsNaN(p.y) {
			pen = "M"
			continue
		}
		d.WriteString(pen + num(p.x) + " " + num(p.y))
		pen = "L"
	}
	if d.Len() > 0 {
		fmt.Fprintf(&s.b, `<path d="%s" class="%s"/>`, d.String(), class)
	}
}

// area fills between an upper and a lower line over the same x.
func (s *svg) area(upper, lower []point, class string) {
	if len(upper) == 0 {
		return
	}
	var d strings.Builder
	pen := "M"
	for _, p := range upper {
		d.WriteString(pen + num(p.x) + " " + num(p.y))
		pen = "L"
	}
	for i := len(lower) - 1; i >= 0; i-- {
		d.WriteString("L" + num(lower[i].x) + " " + num(lower[i].y))
	}
	fmt.Fprintf(&s.b, `<path d="%sZ" class="%s"/>`, d.String(), class)
}

// mark draws a point in one of five shapes, so that series differ without colour.
func (s *svg) mark(shape string, x, y, r float64, class, tip string) {
	if math.IsNaN(y) {
		return
	}
	switch shape {
	case "square":
		fmt.Fprintf(&s.b, `<path d="M%s %sh%sv%sh-%sZ" class="%s">`, num(x-r), num(y-r), num(2*r), num(2*r), num(2*r), class)
	case "triangle":
		fmt.Fprintf(&s.b, `<path d="M%s %sL%s %sL%s %sZ" class="%s">`, num(x), num(y-r*1.2), num(x+r*1.1), num(y+r*.8), num(x-r*1.1), num(y+r*.8), class)
	case "diamond":
		fmt.Fprintf(&s.b, `<path d="M%s %sL%s %sL%s %sL%s %sZ" class="%s">`, num(x), num(y-r*1.35), num(x+r*1.35), num(y), num(x), num(y+r*1.35), num(x-r*1.35), num(y), class)
	default:
		fmt.Fprintf(&s.b, `<circle cx="%s" cy="%s" r="%s" class="%s">`, num(x), num(y), num(r), class)
	}
	s.tip(tip)
	if shape == "square" || shape == "triangle" || shape == "diamond" {
		s.b.WriteString("</path>")
	} else {
		s.b.WriteString("</circle>")
	}
}

// hatches defines the fill patterns that tell stacked parts apart without colour.
func (s *svg) hatches() {
	fmt.Fprintf(&s.b, `<defs><pattern id="%s-diag" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V6" class="hatch"/></pattern>`, s.id)
	fmt.Fprintf(&s.b, `<pattern id="%s-dots" width="6" height="6" patternUnits="userSpaceOnUse"><circle cx="2" cy="2" r="1.1" class="dot"/></pattern>`, s.id)
	fmt.Fprintf(&s.b, `<pattern id="%s-rows" width="5" height="5" patternUnits="userSpaceOnUse"><path d="M0 1H5" class="hatch"/></pattern></defs>`, s.id)
}

// overlay lays a hatch over a box.
func (s *svg) overlay(x, y, w, h float64, hatch string) {
	if hatch == "" || h <= 0 || w <= 0 {
		return
	}
	fmt.Fprintf(&s.b, `<rect x="%s" y="%s" width="%s" height="%s" fill="url(#%s-%s)" pointer-events="none"/>`, num(x), num(y), num(w), num(h), s.id, hatch)
}

// scale maps lo..hi onto pixels from..to, logarithmically when log is set.
type scale struct {
	lo, hi, from, to float64
	log              bool
}

func (c scale) at(v float64) float64 {
	lo, hi := c.lo, c.hi
	if c.log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(max(v, c.lo))
	}
	if hi == lo {
		return (c.from + c.to) / 2
	}
	return c.from + (v-lo)/(hi-lo)*(c.to-c.from)
}

// niceStep is the smallest of 1, 2, 5 times a power of ten that cuts span into at most n parts.
func niceStep(span float64, n int) float64 {
	if span <= 0 {
		return 1
	}
	raw := span / float64(n)
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*p >= raw*(1-1e-9) {
			return m * p
		}
	}
	return 10 * p
}

// linear widens lo..hi to round ends and returns the scale with its ticks.
func linear(lo, hi, from, to float64, n int) (scale, []float64) {
	if hi <= lo {
		hi = lo + 1
	}
	step := niceStep(hi-lo, n)
	lo, hi = math.Floor(lo/step+1e-9)*step, math.Ceil(hi/step-1e-9)*step
	var ticks []float64
	for i := 0; lo+float64(i)*step <= hi+step/1e6; i++ {
		ticks = append(ticks, lo+float64(i)*step)
	}
	return scale{lo: lo, hi: hi, from: from, to: to}, ticks
}

// inside keeps lo..hi as they are and returns the round ticks between them.
func inside(lo, hi, from, to float64, n int) (scale, []float64) {
	step := niceStep(hi-lo, n)
	var ticks []float64
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		ticks = append(ticks, i*step)
	}
	return scale{lo: lo, hi: hi, from: from, to: to}, ticks
}

// logarithmic does the same with ticks at 1, 2 and 5 times powers of ten, or at the powers alone when there are many.
func logarithmic(lo, hi, from, to float64) (scale, []float64) {
	lo = max(lo, hi/1e6)
	var all []float64
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for _, m := range []float64{1, 2, 5} {
			all = append(all, m*math.Pow(10, e))
		}
	}
	first, last := 0, len(all)-1
	for first+1 < len(all) && all[first+1] <= lo*(1+1e-9) {
		first++
	}
	for last > first+1 && all[last-1] >= hi*(1-1e-9) {
		last--
	}
	ticks := all[first : last+1]
	if len(ticks) > 9 {
		var powers []float64
		for _, v := range ticks {
			if math.Abs(math.Log10(v)-math.Round(math.Log10(v))) < 1e-9 {
				powers = append(powers, v)
			}
		}
		ticks = powers
	}
	return scale{lo: all[first], hi: all[last], from: from, to: to, log: true}, ticks
}

// tickText prints a tick without noise digits.
func tickText(v float64) string { return strconv.FormatFloat(round6(v), 'g', -1, 64) }

func round6(v float64) float64 {
	if v == 0 {
		return 0
	}
	p := math.Pow(10, 6-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*p) / p
}
