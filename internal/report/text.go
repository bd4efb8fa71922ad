package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

const (
	widest        = 100 // the report never grows beyond this
	narrowest     = 48  // below this lines stick out
	stepsShown    = 24  // rows of a step table; the document has them all
	turnsShown    = 12  // messages of a transcript
	messageShown  = 3   // lines of one message
	evalBarWidth  = 20
	stalenessBars = 30
)

// Text prints the report for a terminal of the given width (0 means unknown, 80), with ANSI colours when color is set.
// Lines fit min(width, 100) columns; what is shortened says so.
func Text(w io.Writer, d *Doc, width int, color bool) error {
	if err := d.finite(); err != nil {
		return err
	}
	if width <= 0 {
		width = 80
	}
	t := &textReport{doc: d, p: paint(color), width: min(max(width, narrowest), widest)}
	t.header()
	t.stages()
	t.funnel()
	t.evals()
	t.rewards()
	t.offPolicy()
	t.staleness()
	t.datasets()
	t.example()
	t.closing()
	_, err := io.WriteString(w, t.out.String())
	return err
}

type textReport struct {
	doc   *Doc
	p     paint
	width int
	out   strings.Builder
}

func (t *textReport) line(s string) { t.out.WriteString(s + "\n") }

// para wraps text, the first line after lead, the others under it.
func (t *textReport) para(lead, text string, style func(string) string) {
	indent := cells(lead)
	for i, l := range wrap(clean(text), t.width-indent) {
		if style != nil {
			l = style(l)
		}
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		t.line(lead + l)
	}
}

func (t *textReport) title(name, detail string) {
	t.line("")
	detail = clean(detail)
	switch {
	case detail != "" && cells(name)+2+cells(detail) <= t.width:
		t.line(t.p.bold(name) + "  " + t.p.dim(detail))
	default:
		t.para("", name, t.p.bold)
		t.para("  ", detail, t.p.dim)
	}
}

func (t *textReport) table(tab *textTable) {
	lines, left := tab.render(t.p, t.width)
	for _, l := range lines {
		t.line(l)
	}
	if s := leftOut(left); s != "" {
		t.para("  ", s, t.p.dim)
	}
}

func (t *textReport) header() {
	d := t.doc
	t.line(t.p.bold(cut("quarry run "+clean(d.Name), t.width)))
	t.para("", fmt.Sprintf("seed %d · %s · peak memory %s · %s", d.Seed, seconds(d.Seconds), bytesText(d.PeakMemory), clean(d.RunDir)), t.p.dim)
	if !d.AllCached() {
		return
	}
	s := fmt.Sprintf("All %d stages were cached: done in %s.", len(d.Stages), seconds(d.Seconds))
	if d.StartAfresh != "" {
		s += " Start afresh with: " + d.StartAfresh
	}
	t.para("", s, t.p.green)
}

func (t *textReport) stages() {
	if len(t.doc.Stages) == 0 {
		return
	}
	t.title("Stages", "")
	tab := &textTable{cols: []column{
		{head: "stage", style: t.p.bold}, {head: "result"}, {head: "seconds", right: true}, {head: "cached"},
		{head: "digest", spare: 1, style: t.p.dim},
	}}
	for _, s := range t.doc.Stages {
		cached := ""
		if s.Cached {
			cached = "yes"
			if s.ComputedSeconds > 0 {
				cached += ", was " + seconds(s.ComputedSeconds)
			}
		}
		tab.add(clean(s.Name), clean(s.Result), seconds(s.Seconds), cached, cut(clean(s.Digest), 13))
	}
	if _, ok := tab.fits(t.width); ok {
		t.table(tab)
		return
	}
	for _, r := range tab.rows {
		took := r[2]
		if r[3] != "" {
			took += ", cached: " + r[3]
		}
		t.line(fmt.Sprintf("  %s  %s", t.p.bold(cut(r[0], t.width/2)), took))
		t.para("    ", r[1], nil)
	}
}

func (t *textReport) funnel() {
	d := t.doc
	if len(d.Funnel) == 0 {
		return
	}
	t.title("Funnel", "in = passed + rejected at every line")
	for _, f := range d.Funnel {
		t.para("  ", f.flow(), nil)
		if n := f.Rejected.Sum(); n > 0 {
			t.para("      ", fmt.Sprintf("%s out: %s", grouped(n), reasonList(f.Rejected)), t.p.dim)
		}
	}
	for _, s := range d.QuestionFacts() {
		t.para("  "+s.Name+"  ", s.Text, nil)
	}
	if d.SFT.Episodes > 0 {
		s := fmt.Sprintf("%s of %s expert episodes trained on", grouped(d.SFT.Used), grouped(d.SFT.Episodes))
		if d.SFT.Dropped.Sum() > 0 {
			s += "; dropped: " + reasonList(d.SFT.Dropped)
			if n := d.SFT.Dropped["expert_unscorable"]; n > 0 {
				s += fmt.Sprintf(" (%s unscorable)", percent(float64(n)/float64(d.SFT.Episodes)))
			}
		}
		t.para("  sft  ", s, nil)
	}
	s := fmt.Sprintf("%s pairs, margin %.3f", grouped(d.DPO.Pairs), d.DPO.Margin)
	if d.DPO.Skipped {
		s = "skipped"
	}
	if d.DPO.Note != "" {
		s += ": " + d.DPO.Note
	}
	t.para("  dpo  ", s, nil)
	p := d.Pivot
	s = fmt.Sprintf("%s failed episodes, %s located, %s tasks", grouped(p.Failed), grouped(p.Located), grouped(p.Tasks))
	if len(p.ByClass) > 0 {
		s += " (" + reasonList(p.ByClass) + ")"
	}
	if p.NotLocated.Sum() > 0 {
		s += "; not located: " + reasonList(p.NotLocated)
	}
	if p.NoTask.Sum() > 0 {
		s += "; no task: " + reasonList(p.NoTask)
	}
	t.para("  pivot  ", s, nil)
}

func (t *textReport) evals() {
	if len(t.doc.Eval) == 0 {
		return
	}
	e := t.doc.Eval[0]
	t.title("Held-out success", fmt.Sprintf("%s questions, %d attempts each at T=1, 95 %% interval over questions", grouped(e.N), e.Attempts))
	top := evalTop(t.doc.Eval)
	tab := &textTable{cols: []column{
		{head: "weights", style: t.p.bold}, {head: "version", right: true, spare: 2}, {head: "success", right: true},
		{head: "95 % interval", right: true}, {head: "greedy", right: true},
		{head: fmt.Sprintf("0 .. %.0f %%", 100*top), spare: 1, style: t.p.cyan},
	}}
	for _, e := range t.doc.Eval {
		tab.add(clean(e.Name), fmt.Sprint(e.WeightsVersion), percent(e.Success),
			fmt.Sprintf("%.1f – %.1f %%", 100*e.Lo, 100*e.Hi), percent(e.Greedy), bar(e.Success/top, evalBarWidth))
	}
	t.table(tab)
	t.para("  ", verdict(t.doc.Eval), nil)
}

func (t *textReport) staleness() {
	if len(t.doc.Staleness) > 0 {
		most, total := 0, 0
		for _, b := range t.doc.Staleness {
			most, total = max(most, b.Samples), total+b.Samples
		}
		t.title("Staleness", "trainer version at ship minus oldest version of a trained token, in samples")
		tab := &textTable{cols: []column{{head: "versions", right: true}, {head: "samples", right: true}, {head: "share", right: true},
			{head: "", spare: 1, style: t.p.cyan}}}
		for _, b := range t.doc.Staleness {
			tab.add(fmt.Sprint(b.Staleness), grouped(b.Samples), percent(share(b.Samples, total)), bar(share(b.Samples, most), stalenessBars))
		}
		t.table(tab)
	}
	c := t.doc.Counts
	t.title("Conservation", "")
	s := fmt.Sprintf("%s dispatched = %s acknowledged + %s discarded + %s buffered + %s leased + %s in flight",
		grouped(c.Dispatched), grouped(c.Acknowledged), grouped(c.Discarded.Sum()), grouped(c.Buffered), grouped(c.Leased), grouped(c.InFlight))
	if c.Discarded.Sum() > 0 {
		s += " (discarded: " + reasonList(c.Discarded) + ")"
	}
	t.para("  ", s, nil)
	if t.doc.Gauge == 0 {
		t.para("  ", "gauge 0: nothing lost, nothing counted twice", t.p.green)
	} else {
		t.para("  ", fmt.Sprintf("gauge %d: EPISODES WERE LOST OR COUNTED TWICE", t.doc.Gauge), t.p.red)
	}
}

func (t *textReport) datasets() {
	if len(t.doc.Datasets) == 0 {
		return
	}
	t.title("Datasets", "")
	tab := &textTable{cols: []column{{head: "kind", style: t.p.bold}, {head: "rows", right: true}, {head: "sha256", spare: 1, style: t.p.dim},
		{head: "directory"}}}
	for _, s := range t.doc.Datasets {
		tab.add(clean(s.Kind), grouped(s.Rows), cut(clean(s.SHA256), 13), clean(s.Path))
	}
	if left, ok := tab.fits(t.width); left > 0 || !ok { // a path is only useful whole
		for _, s := range t.doc.Datasets {
			t.line(fmt.Sprintf("  %s  %s rows", t.p.bold(clean(s.Kind)), grouped(s.Rows)))
			t.line("    " + clean(s.Path))
		}
		return
	}
	t.table(tab)
}

func (t *textReport) closing() {
	if len(t.doc.Notes) > 0 {
		t.title("Notes", "")
		for _, n := range t.doc.Notes {
			t.para("  - ", n, nil)
		}
	}
	if len(t.doc.Next) > 0 {
		t.title("Next", "")
		for _, n := range t.doc.Next {
			t.line("  " + t.p.cyan(clean(n))) // never wrapped: it is to be copied
		}
	}
}

// flow says one narrowing in words.
func (f FunnelStep) flow() string {
	in := fmt.Sprintf("%s %s → %s: ", grouped(f.In), readable(f.InUnit), readable(f.Name))
	if f.Out == f.Passed {
		return in + grouped(f.Out) + " " + readable(f.OutUnit)
	}
	return in + fmt.Sprintf("%s passed → %s %s", grouped(f.Passed), grouped(f.Out), readable(f.OutUnit))
}

// Fact is a named line beside the funnel.
type Fact struct{ Name, Text string }

// QuestionFacts are what the funnel, which follows the train questions, leaves out.
func (d *Doc) QuestionFacts() []Fact {
	var out []Fact
	if shapes := slices.Sorted(maps.Keys(d.Synth.ByShape)); len(shapes) > 0 {
		var parts []string
		for _, s := range shapes {
			parts = append(parts, grouped(d.Synth.ByShape[s])+" of "+clean(s))
		}
		out = append(out, Fact{"shapes", "questions by hops + conditions: " + strings.Join(parts, ", ")})
	}
	f := d.Filter
	if f.Tier > 0 {
		s := fmt.Sprintf("%s questions to fit the skill levels on", grouped(f.Tier))
		if f.TierUnscorable > 0 {
			s += fmt.Sprintf(", %s of them beyond the expert: no candidate follows the path", grouped(f.TierUnscorable))
		}
		out = append(out, Fact{"tier", s})
	}
	if f.HeldoutIn > 0 {
		s := fmt.Sprintf("%s of %s questions kept", grouped(f.Heldout), grouped(f.HeldoutIn))
		if f.HeldoutRejected.Sum() > 0 {
			s += "; out: " + reasonList(f.HeldoutRejected)
		}
		out = append(out, Fact{"held-out", s})
	}
	return out
}

// evalTop is the end of the success axis: the next tenth above every interval and greedy mark.
func evalTop(evals []Eval) float64 {
	top := 0.1
	for _, e := range evals {
		for _, v := range []float64{e.Hi, e.Greedy} {
			for top < v-1e-9 && top < 1 {
				top += 0.1
			}
		}
	}
	return min(top, 1)
}

// verdict says in one sentence what the evaluations show, and no more than they show.
func verdict(evals []Eval) string {
	if len(evals) < 2 {
		return ""
	}
	first, last := evals[0], evals[len(evals)-1]
	move := "rose"
	switch {
	case last.Success < first.Success:
		move = "fell"
	case last.Success == first.Success:
		return fmt.Sprintf("Held-out success stayed at %s from %s to %s.", percent(first.Success), first.Name, last.Name)
	}
	apart := "the 95 % intervals do not overlap"
	if last.Lo <= first.Hi && first.Lo <= last.Hi {
		apart = "the 95 % intervals overlap: this may be chance"
	}
	return fmt.Sprintf("Held-out success %s from %s (%s) to %s (%s), greedy from %s to %s; %s.", move, percent(first.Success), clean(first.Name),
		percent(last.Success), clean(last.Name), percent(first.Greedy), percent(last.Greedy), apart)
}

func share(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// speaker names a message's role for people.
func speaker(m quarry.Message) string {
	switch m.Role {
	case "assistant":
		return "model"
	case "tool":
		return "search"
	}
	return clean(m.Role)
}
