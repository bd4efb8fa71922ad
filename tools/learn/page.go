package main

import (
	"fmt"
	"strings"

	"github.com/quarry-rl/quarry/internal/report"
)

// page is docs/design/learning-results.md.
func (r *results) page() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Learning: results\n\nWritten by `tools/learn`; do not edit. What is run and why these criteria: [0002-learning.md](0002-learning.md).\n\n")
	fmt.Fprintf(&b, "- date: %s\n- commit: %s\n- machine: %s\n- spec: preset `%s` with %s; %.0f s, %.0f s CPU in all\n\n",
		r.Date.Format("2006-01-02"), r.Commit, r.Machine, r.Preset, seedNames(len(r.Seeds)), r.Seconds, r.cpu())

	fmt.Fprintf(&b, "## Seeds\n\nSuccess on held-out questions, four tries each at T=1, with the 95 %% interval over questions; greedy is the most probable\n")
	fmt.Fprintf(&b, "continuation. Permuted and flipped are the last step of the controls. Questions are train + held out, seconds those of the\ntrue run + flipped + permuted.\n\n")
	var rows [][]string
	for _, row := range r.rows() {
		rows = append(rows, append(row, make([]string, len(columns)-len(row))...))
	}
	table(&b, columns, rows)

	if done := r.done(); len(done) > 0 {
		fmt.Fprintf(&b, "\n## Curves\n\nThe true run, success at T=1 by seed, and the means of that and of greedy success.\n\n")
		names, rows := curves(done)
		table(&b, names, rows)
	}

	fmt.Fprintf(&b, "\n## Checks\n\n%d of %d passed.\n\n", len(r.Checks)-r.failed(), len(r.Checks))
	rows = nil
	for _, c := range r.Checks {
		rows = append(rows, []string{scope(c.Seed), c.Name, c.Figure, c.Bar, verdict(c.Pass)})
	}
	table(&b, []string{"seed", "what", "measured", "wanted", ""}, rows)
	return b.String()
}

func (r *results) done() []seedResult {
	var out []seedResult
	for _, s := range r.Seeds {
		if s.Error == "" {
			out = append(out, s)
		}
	}
	return out
}

// curves has a row for each checkpoint that every seed evaluated, in the order of the first seed.
func curves(seeds []seedResult) (names []string, rows [][]string) {
	names = []string{"weights"}
	for _, s := range seeds {
		names = append(names, fmt.Sprintf("seed %d", s.Seed))
	}
	for _, at := range seeds[0].Eval {
		row := []string{at.Name}
		var success, greedy []float64
		for _, s := range seeds {
			var e report.Eval
			if e = named(s.Eval, at.Name); e.N == 0 {
				break
			}
			row = append(row, percent(e.Success))
			success, greedy = append(success, e.Success), append(greedy, e.Greedy)
		}
		if len(success) == len(seeds) {
			rows = append(rows, append(row, percent(mean(success)), percent(mean(greedy))))
		}
	}
	return append(names, "mean", "mean greedy"), rows
}

func seedNames(n int) string {
	if n == 1 {
		return "seed 1"
	}
	return fmt.Sprintf("seeds 1 to %d", n)
}

func table(b *strings.Builder, head []string, rows [][]string) {
	line := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			b.WriteString(" " + strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ") + " |")
		}
		b.WriteString("\n")
	}
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, row := range rows {
		line(row)
	}
}
