package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry/internal/report"
)

func eval(name string, success, lo, hi float64) report.Eval {
	return report.Eval{Name: name, N: 200, Attempts: 4, Success: success, Lo: lo, Hi: hi, Greedy: success}
}

// good is a seed that meets every criterion; gain is how far the true run ends above the permuted one.
func good(seed uint64, gain float64) seedResult {
	sft := eval("sft", 0.30, 0.25, 0.35)
	return seedResult{Seed: seed, Eval: []report.Eval{eval("base", 0.01, 0, 0.03), sft, eval("dpo", 0.32, 0.27, 0.37), eval("rl-20", 0.40, 0.35, 0.45)},
		Mixed: 0.5, Masked: 0.001, ORMStep: 3, Train: 160, Heldout: 200, Cross: 0.4, CPU: 80, Wall: 50,
		Flipped:  control{SFT: sft, Last: eval("rl-20", 0.05, 0.02, 0.08), SameStart: true, CPU: 60, Wall: 40},
		Permuted: control{SFT: sft, Last: eval("rl-20", 0.40-gain, 0.2, 0.4), SameStart: true, CPU: 60, Wall: 40}}
}

func goodSeeds(n int) []seedResult {
	var out []seedResult
	for i := range n {
		out = append(out, good(uint64(i+1), 0.05+0.01*float64(i)))
	}
	return out
}

func failing(cs []check) []string {
	var out []string
	for _, c := range cs {
		if !c.Pass {
			out = append(out, scope(c.Seed)+": "+c.Name)
		}
	}
	return out
}

func TestGoodSeedsPass(t *testing.T) {
	for n, want := range map[int]int{1: 9 + 2, 2: 2*9 + 2, 5: 5*9 + 4} {
		cs := checks(goodSeeds(n))
		if f := failing(cs); len(f) > 0 || len(cs) != want {
			t.Errorf("%d seeds: %d checks, failing %q; want %d", n, len(cs), f, want)
		}
	}
}

// TestEachCriterionBites spoils one figure of the second of five seeds, and at the bar itself it still passes.
func TestEachCriterionBites(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(*seedResult)
		want  []string
	}{
		{"base at the bar", func(s *seedResult) { s.Eval[0].Success = 0.03 }, nil},
		{"base above", func(s *seedResult) { s.Eval[0].Success = 0.031 }, []string{"seed 2: base"}},
		{"no base", func(s *seedResult) { s.Eval = s.Eval[1:] }, []string{"seed 2: base", "seed 2: intervals of base and last RL step"}},
		{"SFT low", func(s *seedResult) { s.Eval[1].Success = 0.149 }, []string{"seed 2: SFT"}},
		{"SFT at the bar", func(s *seedResult) { s.Eval[1].Success = 0.15 }, nil},
		{"SFT high", func(s *seedResult) { s.Eval[1].Success, s.Eval[3].Success = 0.451, 0.5 }, []string{"seed 2: SFT"}},
		{"intervals touch", func(s *seedResult) { s.Eval[3].Lo = 0.03 }, []string{"seed 2: intervals of base and last RL step"}},
		{"few mixed groups", func(s *seedResult) { s.Mixed = 0.29 }, []string{"seed 2: groups of the first RL step that are mixed"}},
		{"schedule late", func(s *seedResult) { s.ORMStep = 4 }, []string{"seed 2: step where the ORM weight reaches 0.5"}},
		{"schedule never", func(s *seedResult) { s.ORMStep = 0 }, []string{"seed 2: step where the ORM weight reaches 0.5"}},
		{"few cross", func(s *seedResult) { s.Cross = 0.33 }, []string{"seed 2: questions that cross documents"}},
		{"lost in the true run", func(s *seedResult) { s.Gauge = 1 }, []string{"seed 2: conservation of the three runs"}},
		{"lost in a control", func(s *seedResult) { s.Permuted.Gauge = -1 }, []string{"seed 2: conservation of the three runs"}},
		{"other start", func(s *seedResult) { s.Flipped.SameStart = false }, []string{"seed 2: controls start from the true run's weights"}},
		{"flipped holds", func(s *seedResult) { s.Flipped.Last.Success = 0.30 }, []string{"seed 2: flipped: SFT and last RL step"}},
		{"one seed without order", func(s *seedResult) { s.Eval[3].Success, s.Permuted.Last.Success = 0.29, 0.24 }, nil},
		{"permuted far better once", func(s *seedResult) { s.Permuted.Last.Success = 0.90 },
			[]string{"all: mean of true - permuted", "all: its 95 % t interval over the seeds"}},
		{"permuted a little better once", func(s *seedResult) { s.Permuted.Last.Success = 0.45 }, []string{"all: its 95 % t interval over the seeds"}},
		{"a run that broke", func(s *seedResult) { s.Error = "exit status 3" }, []string{"seed 2: all runs end", "all: its 95 % t interval over the seeds"}},
	} {
		seeds := goodSeeds(5)
		tc.spoil(&seeds[1])
		if got := failing(checks(seeds)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: failing %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestOrderOverSeeds(t *testing.T) {
	seeds := goodSeeds(5)
	for i := range 2 {
		seeds[i].Eval[3].Success, seeds[i].Permuted.Last.Success = 0.29, 0.2
	}
	if got := failing(checks(seeds)); !slices.Equal(got, []string{"all: seeds with that order"}) {
		t.Errorf("two of five out of order: %q", got)
	}
	// With two seeds only the means count, and those must be in order.
	seeds = goodSeeds(2)
	seeds[0].Eval[3].Success, seeds[0].Permuted.Last.Success = 0.29, 0.24
	if got := failing(checks(seeds)); len(got) > 0 {
		t.Errorf("one of two out of order, the means in order: %q", got)
	}
	seeds[1].Eval[3].Success = 0.305
	if got := failing(checks(seeds)); !slices.Contains(got, "all: mean: base < SFT < last RL step") {
		t.Errorf("means out of order: %q", got)
	}
	if got := failing(checks([]seedResult{{Seed: 1, Error: "x"}})); !slices.Equal(got, []string{"seed 1: all runs end"}) {
		t.Errorf("nothing ran: %q", got)
	}
}

func TestTextEndsLikeGoTest(t *testing.T) {
	r := results{Seconds: 12.34, Seeds: goodSeeds(2)}
	r.Checks = checks(r.Seeds)
	lines := strings.Split(strings.TrimSuffix(r.text(), "\n"), "\n")
	if got, want := lines[len(lines)-1], "ok  \tlearn\t12.3s\t(2 seeds, 20 of 20 checks passed, 400 s CPU)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Seeds[0].Mixed = 0
	r.Checks = checks(r.Seeds)
	out := r.text()
	for _, want := range []string{"FAIL\tlearn\t12.3s\t(2 seeds, 19 of 20 checks", "FAIL  seed 1: groups of the first RL step that are mixed: 0.0 % (>= 30 %)",
		"PASS  all: mean: base < SFT < last RL step: 1.0 % < 30.0 % < 40.0 %"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestPage wants whole tables, whatever failed, and the curves of the seeds that ended.
func TestPage(t *testing.T) {
	r := results{Commit: "abc", Machine: "m", Preset: "demo", Seeds: goodSeeds(5)}
	r.Seeds[2] = seedResult{Seed: 3, Error: "exit status 6: too | few"}
	r.Seeds[3].Eval = slices.Delete(r.Seeds[3].Eval, 2, 3) // no DPO: that row has no mean over all
	r.Checks = checks(r.Seeds)
	page := r.page()
	cells, inTable := 0, false
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			inTable = false
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if inTable && n != cells {
			t.Errorf("%d cells, the head has %d: %s", n, cells, line)
		}
		cells, inTable = n, true
	}
	for _, want := range []string{"| rl-20 | 40.0 % | 40.0 % | 40.0 % | 40.0 % | 40.0 % | 40.0 % |", "commit: abc", "seeds 1 to 5",
		"| seed 3 | all runs end | exit status 6: too \\| few | no error | FAIL |", "| 3 | failed |"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "| dpo |") {
		t.Error("a mean over seeds that did not all measure dpo")
	}
}
