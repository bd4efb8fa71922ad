package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"

	"github.com/quarry-rl/quarry"
)

//go:embed synth.html
var synthHTML string

// SynthPage is a synthesis as its page shows it.
type SynthPage struct {
	Name     string // of the folder
	Quarry   string // version of the program
	Digest   string
	Walks    int
	Accepted int
	Lost     int // walks that are not accounted for: 0
	Funnel   []FunnelStep
	Reasons  []SynthReason // in the order of stages, the most frequent of a stage first
	Cost     []Fact        // of models, in all and for an accepted question
	Settings []Fact
}

// SynthReason is why candidates were rejected.
type SynthReason struct {
	Stage, Reason string
	Count         int
	Says, Do      string // what it means, and what to change to get fewer of it; may be empty
}

// SynthHTML writes the page of a synthesis: self-contained, no script, everything from files escaped. Nothing is written
// when the page cannot be made.
func SynthHTML(w io.Writer, p SynthPage) error {
	t, err := template.New("synth").Funcs(pageFuncs()).Parse(synthHTML)
	if err != nil {
		return &quarry.Error{Op: "report page", Kind: quarry.KindInternal, Err: err}
	}
	yield := "none"
	if p.Walks > 0 {
		yield = percent(share(p.Accepted, p.Walks))
	}
	data := struct {
		SynthPage
		Style         template.CSS
		Tiles         []tile
		Broad, Narrow template.HTML
		Clean         func(string) string
	}{SynthPage: p, Style: template.CSS(pageCSS), Clean: clean,
		Tiles: []tile{{grouped(p.Accepted), "accepted questions"}, {grouped(p.Walks), "walks"}, {yield, "questions per walk"}, {grouped(p.Lost), "walks lost or counted twice"}},
		Broad: funnelChart(p.Funnel, "funnel", wideW), Narrow: funnelChart(p.Funnel, "funnel-narrow", halfW)}
	for _, c := range p.Cost {
		if c.Name == CostPerQuestion {
			data.Tiles = append(data.Tiles, tile{c.Text, "for an accepted question"})
		}
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return &quarry.Error{Op: "report page", Kind: quarry.KindInternal, Err: err}
	}
	_, err = w.Write(b.Bytes())
	return err
}

// CostPerQuestion names the fact that stands among the first numbers of the page too.
const CostPerQuestion = "price of an accepted question"
