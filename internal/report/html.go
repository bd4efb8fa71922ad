package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"github.com/quarry-rl/quarry"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// stepsDrawn bounds what a chart holds; the tables have every step.
const stepsDrawn = 200

type tile struct{ Value, Label string }

// attempt is a transcript under the name the page gives it.
type attempt struct {
	Name string
	Transcript
}

// page is what page.html sees.
type page struct {
	Doc          *Doc
	Style        template.CSS
	Tiles        []tile
	PhaseChanges []RLStep
	Drawn        int // steps on the charts

	Success, Funnel, SuccessNarrow, FunnelNarrow template.HTML // one of each width is displayed

	Reward, Weighted, Variance, Masked, Ratio, Staleness template.HTML
}

// HTML writes the run as one self-contained page: no script, no external asset, everything that came from a model or
// a document escaped. Nothing is written when the page cannot be made.
func HTML(w io.Writer, d *Doc) error {
	if err := d.finite(); err != nil {
		return err
	}
	t, err := template.New("page").Funcs(pageFuncs()).Parse(pageHTML)
	if err != nil {
		return &quarry.Error{Op: "report page", Kind: quarry.KindInternal, Err: err}
	}
	var steps []RLStep
	for _, i := range sampled(len(d.RL.Steps), stepsDrawn) {
		steps = append(steps, d.RL.Steps[i])
	}
	p := page{Doc: d, Drawn: len(steps), Style: template.CSS(pageCSS), Tiles: tiles(d),

		Success: successChart(d.Eval, "success", wideW), SuccessNarrow: successChart(d.Eval, "success-narrow", halfW),
		Funnel: funnelChart(d.Funnel, "funnel", wideW), FunnelNarrow: funnelChart(d.Funnel, "funnel-narrow", halfW), Reward: rewardChart(steps), Weighted: weightedChart(steps),
		Variance: varianceChart(steps), Masked: maskedChart(steps), Ratio: ratioChart(steps), Staleness: stalenessChart(d.Staleness)}
	for i, s := range d.RL.Steps {
		if i > 0 && s.Phase != d.RL.Steps[i-1].Phase {
			p.PhaseChanges = append(p.PhaseChanges, s)
		}
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return &quarry.Error{Op: "report page", Kind: quarry.KindInternal, Err: err}
	}
	_, err = w.Write(b.Bytes())
	return err
}

func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"percent": func(v any) string {
			if p, ok := v.(*float64); ok {
				return percent(*p)
			}
			return percent(v.(float64))
		},
		"quantiles": func(v any) string {
			if p, ok := v.(*Quantiles); ok {
				return quantiles(*p)
			}
			return quantiles(v.(Quantiles))
		},
		"readable": func(v any) string { return readable(fmt.Sprint(v)) },
		"role": func(m quarry.Message) string {
			if m.Role == "assistant" || m.Role == "tool" {
				return m.Role
			}
			return ""
		},
		"seconds": seconds, "grouped": grouped[int], "reasons": reasonList, "score": score, "four": four,
		"verdict": verdict, "scale": func() string { return rewardScale }, "speaker": speaker,
		"short":   func(s string) string { return cut(s, 13) },
		"attempt": func(name string, t Transcript) attempt { return attempt{name, t} },
		"rfc3339": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"when":    func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") },
	}
}

// tiles are the numbers people look for first.
func tiles(d *Doc) []tile {
	var out []tile
	if n := len(d.Eval); n > 0 {
		first, last := d.Eval[0], d.Eval[n-1]
		out = append(out, tile{fmt.Sprintf("%.1f → %s", 100*first.Success, percent(last.Success)), "held-out success"},
			tile{fmt.Sprintf("%.1f → %s", 100*first.Greedy, percent(last.Greedy)), "greedy success"})
	}
	out = append(out, tile{grouped(d.Synth.Accepted), fmt.Sprintf("questions from %s walks", grouped(d.Synth.Walks))})
	if n := len(d.RL.Steps); n > 0 {
		samples := 0
		for _, s := range d.RL.Steps {
			samples += s.Samples
		}
		out = append(out, tile{fmt.Sprint(n), fmt.Sprintf("RL steps, %s episodes", grouped(samples))})
	}
	return append(out, tile{fmt.Sprint(d.Gauge), "episodes lost or counted twice"}, tile{seconds(d.Seconds), "peak memory " + bytesText(d.PeakMemory)})
}
