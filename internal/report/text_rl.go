package report

import (
	"fmt"
	"strings"

	"github.com/quarry-rl/quarry"
)

// sampled picks at most limit indices of n, evenly, first and last among them.
func sampled(n, limit int) []int {
	var out []int
	if n <= limit {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	for i := range limit {
		out = append(out, i*(n-1)/(limit-1))
	}
	return out
}

func (t *textReport) thinned() {
	if n := len(t.doc.RL.Steps); n > stepsShown {
		t.para("  ", fmt.Sprintf("%d of %d steps shown; the JSON document has them all", stepsShown, n), t.p.dim)
	}
}

func (t *textReport) rewards() {
	steps := t.doc.RL.Steps
	if len(steps) == 0 {
		return
	}
	t.title("RL rewards", fmt.Sprintf("%d steps, groups of %d; means over scored episodes; t/f/p/o = tool/format/PRM/ORM", len(steps), t.doc.RL.GroupSize))
	tab := &textTable{cols: []column{
		{head: "step", right: true}, {head: "phase", right: true, spare: 2},
		{head: "PRM", right: true}, {head: "ORM", right: true, style: t.p.bold}, {head: "tool", right: true}, {head: "format", right: true},
		{head: "total", right: true, style: t.p.bold}, {head: "weights t/f/p/o", spare: 1}, {head: "variance share t/f/p/o", spare: 3},
	}}
	for _, i := range sampled(len(steps), stepsShown) {
		s := steps[i]
		k, variance := s.Coefficients, "-"
		if v := s.VarianceShare; v != nil {
			variance = four(v.Tool, v.Format, v.PRM, v.ORM)
		}
		tab.add(fmt.Sprint(s.Step), fmt.Sprint(s.Phase), score(s.Reward.PRM), score(s.Reward.ORM), score(s.Reward.Tool), score(s.Reward.Format),
			score(s.Reward.Total), four(k.Tool, k.Format, k.PRM, k.ORM), variance)
	}
	t.table(tab)
	t.thinned()
	t.para("  ", rewardScale, t.p.dim)
	for _, s := range steps {
		if s.PhaseReason != "" {
			t.para(fmt.Sprintf("  step %d: phase %d  ", s.Step, s.Phase), s.PhaseReason, t.p.dim)
		}
	}
	unscored := Reasons{}
	for _, s := range steps {
		for r, n := range s.Reward.Unscored {
			unscored[r] += n
		}
	}
	if unscored.Sum() > 0 {
		t.para("  unscored, never counted as 0: ", reasonList(unscored), t.p.dim)
	}
}

// rewardScale is what a reader must know to read tool and format beside PRM and ORM.
const rewardScale = "PRM and ORM range to 1; tool and format are mean rewards of a turn and top out at 0.1. Phases follow rates instead, " +
	"which range to 1: calls that succeed, turns that are well formed, PRM."

func four(a, b, c, d float64) string {
	return strings.Join([]string{score(&a), score(&b), score(&c), score(&d)}, "/")
}

func (t *textReport) offPolicy() {
	steps := t.doc.RL.Steps
	if len(steps) == 0 {
		return
	}
	t.title("RL batches", "what the trainer consumed at each step")
	tab := &textTable{cols: []column{
		{head: "step", right: true}, {head: "groups", right: true, spare: 3}, {head: "mixed", right: true}, {head: "pivots", right: true, spare: 2},
		{head: "versions", right: true, spare: 1}, {head: "masked", right: true}, {head: "choice", right: true, spare: 4},
		{head: "ratio p01/50/99"}, {head: "choice", spare: 5}, {head: "stale"},
	}}
	for _, i := range sampled(len(steps), stepsShown) {
		s := steps[i]
		masked, ratio := "-", "-"
		if s.MaskedFractionEntropy != nil {
			masked = percent(*s.MaskedFractionEntropy)
		}
		if s.RatioEntropy != nil {
			ratio = quantiles(*s.RatioEntropy)
		}
		tab.add(fmt.Sprint(s.Step), grouped(s.Groups), whole(s.MixedShare), whole(s.PivotShare), fmt.Sprint(s.VersionMixed),
			percent(s.MaskedFraction), masked, quantiles(s.Ratio), ratio, fmt.Sprintf("%.2f, %d", s.Staleness.Mean, s.Staleness.Max))
	}
	t.table(tab)
	t.thinned()
	t.para("  ", "mixed: groups neither all right nor all wrong; pivots: groups that continue a failed episode; versions: groups that mix "+
		"weight versions; ratio: trainer over rollout probability; choice: the same over tokens with entropy > 0; stale: mean, max", t.p.dim)
}

func quantiles(q Quantiles) string {
	return ratioText(q.P01) + "/" + ratioText(q.P50) + "/" + ratioText(q.P99)
}

func (t *textReport) example() {
	e := t.doc.Example
	if e == nil {
		return
	}
	t.title("One question that RL solves and the base did not", e.QuestionID)
	t.para("  ", e.Question, t.p.bold)
	t.para("  answer  ", e.Answer, nil)
	t.line("  evidence path")
	for i, h := range e.Path {
		t.para(fmt.Sprintf("  %d. ", i+1), fmt.Sprintf("%s → %s → %s", h.From, h.Relation, h.To), nil)
		t.para("     ", fmt.Sprintf("“%s” (%s)", h.Sentence, h.Title), t.p.dim)
	}
	t.transcript("base", e.Base)
	t.transcript("RL", e.RL)
}

func (t *textReport) transcript(name string, tr Transcript) {
	verdict, style := "wrong", t.p.red
	if tr.Correct {
		verdict, style = "right", t.p.green
	}
	answer := "no answer"
	if tr.Answer != "" {
		answer = tr.Answer
	}
	t.line("")
	t.para("  ", fmt.Sprintf("%s (weights %d): %s: %s, %s", name, tr.WeightsVersion, verdict, answer, readable(string(tr.End))), style)
	var shown []quarry.Message
	for _, m := range tr.Messages {
		if m.Role == "assistant" || m.Role == "tool" { // the question stands above, the system prompt is in the page
			shown = append(shown, m)
		}
	}
	for i, m := range shown {
		if i == turnsShown {
			t.line(t.p.dim(fmt.Sprintf("    ... %d more messages in the page", len(shown)-i)))
			break
		}
		t.message(m)
	}
}

// message prints one message in at most messageShown lines, its own line breaks kept.
func (t *textReport) message(m quarry.Message) {
	lead := fmt.Sprintf("    %-7s ", speaker(m))
	room := t.width - cells(lead)
	var lines []string
	for l := range strings.Lines(messageText(m)) {
		lines = append(lines, wrap(clean(l), room)...)
	}
	for i, l := range lines {
		if i == messageShown {
			break
		}
		if i == messageShown-1 && len(lines) > messageShown {
			l = cut(l, room-2) + " …"
		}
		if i > 0 {
			lead = strings.Repeat(" ", cells(lead))
		}
		if m.Role == "tool" {
			l = t.p.dim(l)
		}
		t.line(lead + l)
	}
}

// messageText is what a message says; the tags around a lone call are left out.
func messageText(m quarry.Message) string {
	text := strings.TrimSpace(m.Content)
	if inner, ok := strings.CutPrefix(text, "<tool_call>"); ok && strings.Count(inner, "</tool_call>") == 1 {
		if inner, ok = strings.CutSuffix(inner, "</tool_call>"); ok {
			text = strings.TrimSpace(inner)
		}
	}
	for _, c := range m.ToolCalls {
		text += "\n" + c.Name + " " + c.Arguments
	}
	return strings.TrimSpace(text)
}
