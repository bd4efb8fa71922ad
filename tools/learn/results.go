package main

import (
	"bufio"
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/quarry-rl/quarry/internal/report"
)

// results is the JSON file of the suite.
type results struct {
	Date    time.Time    `json:"date"`
	Commit  string       `json:"commit"`
	Machine string       `json:"machine"`
	Preset  string       `json:"preset"`
	Seconds float64      `json:"seconds"`
	Seeds   []seedResult `json:"seeds"`
	Checks  []check      `json:"checks"`
}

func (r *results) failed() int {
	n := 0
	for _, c := range r.Checks {
		if !c.Pass {
			n++
		}
	}
	return n
}

func (r *results) cpu() float64 {
	sum := 0.0
	for _, s := range r.Seeds {
		sum += s.CPU + s.Flipped.CPU + s.Permuted.CPU
	}
	return sum
}

// columns and rows are the table of the seeds, for the terminal and the page.
var columns = []string{"seed", "base", "SFT", "DPO", "last RL", "greedy SFT", "greedy RL", "permuted", "flipped", "mixed", "masked", "ORM step", "cross", "questions", "CPU s", "wall s"}

func (r *results) rows() [][]string {
	var out [][]string
	for _, s := range r.Seeds {
		if s.Error != "" {
			out = append(out, []string{fmt.Sprint(s.Seed), "failed"})
			continue
		}
		sft, dpo := named(s.Eval, "sft"), "skipped"
		if d := named(s.Eval, "dpo"); d.N > 0 {
			dpo = percent(d.Success)
		}
		out = append(out, []string{fmt.Sprint(s.Seed), percent(named(s.Eval, "base").Success), percent(sft.Success), dpo,
			percent(s.last().Success) + " " + interval(s.last()), percent(sft.Greedy), percent(s.last().Greedy),
			percent(s.Permuted.Last.Success), percent(s.Flipped.Last.Success), percent(s.Mixed), fmt.Sprintf("%.3f %%", 100*s.Masked), step(s.ORMStep), percent(s.Cross),
			fmt.Sprintf("%d+%d", s.Train, s.Heldout), fmt.Sprintf("%.0f+%.0f+%.0f", s.CPU, s.Flipped.CPU, s.Permuted.CPU),
			fmt.Sprintf("%.0f+%.0f+%.0f", s.Wall, s.Flipped.Wall, s.Permuted.Wall)})
	}
	return out
}

// text is what the terminal shows: the table, every check, and the line of the suite.
func (r *results) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, row := range r.rows() {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	b.WriteByte('\n')
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%s  %s: %s: %s (%s)\n", verdict(c.Pass), scope(c.Seed), c.Name, c.Figure, c.Bar)
	}
	state, n := "ok  ", r.failed()
	if n > 0 {
		state = "FAIL"
	}
	fmt.Fprintf(&b, "%s\tlearn\t%.1fs\t(%d seeds, %d of %d checks passed, %.0f s CPU)\n", state, r.Seconds, len(r.Seeds), len(r.Checks)-n, len(r.Checks), r.cpu())
	return b.String()
}

// write puts the results where the flags say.
func (r *results) write(o options) error {
	if o.json != "" {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(r); err != nil {
			return err
		}
		if err := replace(o.json, b.Bytes()); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		return replace(o.markdown, []byte(r.page()))
	}
	return nil
}

func replace(path string, data []byte) error {
	if err := os.WriteFile(path+".tmp", data, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

func points(v float64) string { return fmt.Sprintf("%+.1f points", 100*v) }

func interval(e report.Eval) string { return fmt.Sprintf("[%.1f, %.1f]", 100*e.Lo, 100*e.Hi) }

func step(n int) string {
	if n == 0 {
		return "never"
	}
	return fmt.Sprint(n)
}

func verdict(pass bool) string {
	if pass {
		return "PASS"
	}
	return "FAIL"
}

func scope(seed uint64) string {
	if seed == 0 {
		return "all"
	}
	return fmt.Sprintf("seed %d", seed)
}

// commit is what the program under test was built from, as its linker noted it.
func commit(binary string) string {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "unknown"
	}
	id, changed := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			id = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with uncommitted changes"
		}
	}
	return id + changed
}

// machine names processor, cores and compiler.
func machine() string {
	cpu := runtime.GOARCH
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if k, v, _ := strings.Cut(sc.Text(), ":"); strings.TrimSpace(k) == "model name" {
				cpu = strings.TrimSpace(v)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s, %s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.Version())
}
