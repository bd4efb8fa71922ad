package loop

import (
	"bytes"
	"fmt"
	"path/filepath"
	"time"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/internal/report"
)

// The report's files in a run's folder.
const (
	ReportJSON = "report.json"
	ReportHTML = "report.html"
)

// document gathers the stages' facts into the report.
func (r *run) document(started time.Time) (*report.Doc, error) {
	d := &report.Doc{Schema: report.Schema, Quarry: r.o.Version, Name: r.o.Spec.Name, Seed: uint(r.o.Spec.Seed), RunDir: r.dir.Path(), Started: started.UTC().Truncate(time.Second)}
	notes := map[string]string{"kg": kgNote(r.kg), "synth": synthNote(r.synth), "filter": filterNote(r.filter), "sft": sftNote(r.sft), "dpo": dpoNote(r.dpo),
		"rl": rlNote(r.rl), "pivot": pivotNote(r.pivot), "report": evalNote(r.eval)}
	for _, rec := range r.recs {
		d.Stages = append(d.Stages, report.Stage{Name: rec.Name, Digest: rec.Digest, Seconds: r.took[rec.Name], Cached: rec.Cached, ComputedSeconds: rec.Seconds, Result: notes[rec.Name]})
	}
	d.Synth = report.Synth{Walks: r.synth.Walks, Accepted: r.synth.Accepted, Rejected: r.synth.Rejected, ByShape: r.synth.ByShape}
	d.Filter = report.Filter{In: r.filter.In, Kept: r.filter.Kept, Rejected: r.filter.Rejected, Tier: r.filter.Tier, TierUnscorable: r.filter.TierUnscorable,
		Heldout: r.filter.Heldout, HeldoutIn: r.filter.HeldoutIn, HeldoutRejected: r.filter.HeldoutRejected}
	for _, l := range r.filter.Levels {
		d.Filter.Levels = append(d.Filter.Levels, report.Level{Name: l.Name, Attempts: l.Attempts, Success: l.Success})
	}
	d.SFT = report.SFT{Episodes: r.sft.Asked, Used: r.sft.Used, Dropped: r.sft.Dropped, LossFirst: r.sft.Train.LossFirst, LossLast: r.sft.Train.LossLast}
	d.DPO = report.DPO{Pairs: r.dpo.Pairs, Skipped: r.dpo.Skipped != "", Margin: r.dpo.Train.MarginLast, Note: r.dpo.Skipped}
	for _, ev := range r.eval.Results {
		d.Eval = append(d.Eval, report.Eval{Name: ev.Name, WeightsVersion: ev.Version, N: ev.N, Attempts: ev.Attempts, Success: ev.Success, Lo: ev.Lo, Hi: ev.Hi, Greedy: ev.Greedy})
	}
	r.rlSteps(d)
	d.Pivot = report.Pivot{Failed: r.pivot.Failed, Located: r.pivot.Located, Tasks: r.pivot.Tasks, ByClass: r.pivot.ByClass, NotLocated: r.pivot.NotLocated, NoTask: r.pivot.NoTask}
	r.funnel(d)
	if err := r.datasets(d); err != nil {
		return nil, err
	}
	r.example(d)
	r.notes(d)
	rel := r.dir.Path()
	d.StartAfresh = "rm -r " + rel
	d.Next = []string{
		"open " + filepath.Join(rel, ReportHTML),
		"quarry eval --kg " + r.record("kg").Dir + " --questions " + r.at("filter", HeldoutFile) + " --weights " + r.at("sft", WeightsFile) + " --spec " + r.o.Command + " --name sft",
	}
	if configs.IsPreset(r.o.Command) {
		d.Next = append(d.Next, "quarry check "+r.o.Command+" > my.yaml && quarry run my.yaml")
	}
	d.Seconds = time.Since(started).Seconds()
	d.PeakMemory = peakMemory()
	return d, d.Validate()
}

// rlSteps adds the steps of both RL phases, the summed coordinator counts and the staleness histogram.
func (r *run) rlSteps(d *report.Doc) {
	d.RL.GroupSize = r.o.Spec.RL.GroupSize
	var hist []int
	d.Counts.Discarded = report.Reasons{}
	for _, f := range []RLFacts{r.rl, r.pivot.RL} {
		reason := ""
		for i, s := range f.Steps {
			if i > 0 {
				reason = phaseReason(f.Steps[i-1])
			} else if len(d.RL.Steps) > 0 {
				reason = phaseReason(r.rl.Steps[len(r.rl.Steps)-1])
			}
			d.RL.Steps = append(d.RL.Steps, reportStep(s, reason))
			for k, n := range s.Staleness.Hist {
				for len(hist) <= k {
					hist = append(hist, 0)
				}
				hist[k] += n
			}
		}
		c := f.Counts
		d.Counts.Dispatched += c.Dispatched
		d.Counts.Acknowledged += c.Acknowledged
		d.Counts.Buffered += c.Buffered
		d.Counts.Leased += c.Leased
		d.Counts.InFlight += c.InFlight
		for reason, n := range c.Discarded {
			d.Counts.Discarded[string(reason)] += n
		}
	}
	d.Gauge = r.rl.Conservation + r.pivot.RL.Conservation
	top := 0
	for k, n := range hist {
		if n > 0 {
			top = k
		}
	}
	for k := range hist {
		if k <= top {
			d.Staleness = append(d.Staleness, report.StalenessBin{Staleness: k, Samples: hist[k]})
		}
	}
}

func phaseReason(prev StepRecord) string {
	if c := prev.PhaseChange; c != nil {
		return fmt.Sprintf("%s %.2f >= %.2f", c.Metric, c.Rate, c.Threshold)
	}
	return ""
}

func reportStep(s StepRecord, reason string) report.RLStep {
	share := func(n int) float64 { return float64(n) / float64(max(s.Groups, 1)) }
	out := report.RLStep{Step: s.Step, WeightsVersion: s.Version, Groups: s.Groups, Samples: s.Staleness.Samples, Tokens: s.Train.Tokens,
		MixedShare: share(s.Mixed), PivotShare: share(s.Pivot), VersionMixed: s.VersionMixed,
		Reward: report.Reward{PRM: s.Means.PRM, ORM: s.Means.ORM, Tool: s.Means.Tool, Format: s.Means.Format, Total: s.Means.Total, Unscored: s.Unscored},
		Phase:  s.Phase, PhaseReason: reason, Coefficients: s.Coefficients, MaskedFraction: s.Train.Stats.MaskedFraction(),
		Ratio:     report.Quantiles{P01: s.Train.Stats.P01, P50: s.Train.Stats.P50, P99: s.Train.Stats.P99},
		Staleness: report.Staleness{Max: int(s.Staleness.Max), Mean: s.Staleness.Mean}}
	if sh := s.Shares; sh != nil {
		out.VarianceShare = &report.Shares{Tool: sh.Tool, Format: sh.Format, PRM: sh.PRM, ORM: sh.ORM}
	}
	if en := s.Train.Entropic; en.Tokens > 0 {
		m := en.MaskedFraction()
		out.MaskedFractionEntropy = &m
		out.RatioEntropy = &report.Quantiles{P01: en.P01, P50: en.P50, P99: en.P99}
	}
	return out
}

func (r *run) funnel(d *report.Doc) {
	d.Funnel = []report.FunnelStep{
		{Name: "synth", In: r.synth.Walks, InUnit: "walks", Passed: r.synth.Accepted, Rejected: r.synth.Rejected, Out: r.synth.BySplit[quarry.SplitTrain], OutUnit: "train questions"},
		{Name: "filter", In: r.filter.In, InUnit: "train questions", Passed: r.filter.Kept, Rejected: r.filter.Rejected, Out: r.filter.Kept, OutUnit: "kept"},
	}
	if r.dpo.Questions > 0 {
		d.Funnel = append(d.Funnel, report.FunnelStep{Name: "dpo", In: r.dpo.Questions, InUnit: "kept questions", Passed: r.dpo.Pairs,
			Rejected: report.Reasons{"no_pair": r.dpo.Questions - r.dpo.Pairs}, Out: r.dpo.Pairs, OutUnit: "pairs"})
	}
	groups, mixed := 0, 0
	for _, f := range []RLFacts{r.rl, r.pivot.RL} {
		for _, s := range f.Steps {
			groups += s.Groups
			mixed += s.Mixed
		}
	}
	d.Funnel = append(d.Funnel, report.FunnelStep{Name: "rl", In: groups, InUnit: "groups", Passed: mixed, Rejected: report.Reasons{"all_right_or_all_wrong": groups - mixed}, Out: mixed, OutUnit: "groups that teach"})
}

func (r *run) datasets(d *report.Doc) error {
	add := func(kind, dir string) error {
		ds, err := datasets.Open(dir)
		if err != nil {
			return err
		}
		d.Datasets = append(d.Datasets, report.Dataset{Kind: kind, Path: dir, Rows: int(ds.Manifest.Rows), SHA256: ds.Manifest.Digest()})
		return nil
	}
	dirs := []struct{ kind, dir string }{{"Q1", r.at("synth", "q1")}, {"R1", r.at("filter", "r1")}, {"S1", r.at("sft", "s1")}}
	if r.dpo.Skipped == "" {
		dirs = append(dirs, struct{ kind, dir string }{"D1", r.at("dpo", "d1")})
	}
	for _, x := range dirs {
		if err := add(x.kind, x.dir); err != nil {
			return err
		}
	}
	ledger, err := contentDigest(r.at("synth", LedgerFile))
	if err != nil {
		return err
	}
	d.Datasets = append(d.Datasets, report.Dataset{Kind: "ledger", Path: r.at("synth", LedgerFile), Rows: r.synth.Walks, SHA256: ledger})
	for _, p := range []rlPhase{{r.record("rl").Dir, r.rl}, {r.record("pivot").Dir, r.pivot.RL}} {
		for _, s := range p.facts.Steps {
			if err := add("T1", filepath.Join(p.dir, s.T1)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) example(d *report.Doc) {
	s := r.eval.Example
	if s == nil || s.Last == nil {
		return
	}
	ex := &report.Example{QuestionID: s.Question.ID, Question: s.Question.Text, Answer: s.Question.Answer, Base: transcript(s.Base), RL: transcript(s.Last)}
	g := r.env.Graph
	name := func(id string) string {
		if n, ok := g.Entity(id); ok {
			return g.Entities[n].Name
		}
		return id
	}
	for _, h := range s.Question.Path {
		ev := report.Evidence{From: name(h.From()), To: name(h.To()), Relation: h.Predicate, Sentence: h.Text}
		if n, ok := g.Relation(h.Predicate); ok {
			ev.Relation = g.Relations[n].Label
		}
		if h.Inverse {
			ev.Relation = "is " + ev.Relation + " of"
		}
		if n, ok := g.Doc(h.Doc); ok {
			ev.Title = g.Docs[n].Title
		}
		ex.Path = append(ex.Path, ev)
	}
	d.Example = ex
}

func transcript(ep *quarry.Episode) report.Transcript {
	_, newest := ep.Thread.VersionRange()
	return report.Transcript{WeightsVersion: int(newest), Answer: ep.Answer, Correct: right(ep), End: ep.End, Messages: ep.Messages}
}

// notes says what a reader must know before believing the numbers.
func (r *run) notes(d *report.Doc) {
	add := func(format string, args ...any) { d.Notes = append(d.Notes, fmt.Sprintf(format, args...)) }
	by := map[string]EvalResult{}
	for _, e := range r.eval.Results {
		by[e.Name] = e
	}
	if r.dpo.Skipped == "" && by["dpo"].Success < by["sft"].Success {
		add("DPO lowered held-out success from %.3f to %.3f although its margin grew to %.2f.", by["sft"].Success, by["dpo"].Success, r.dpo.Train.MarginLast)
	}
	if n := len(r.eval.Results); n > 0 {
		last := r.eval.Results[n-1]
		if last.Cross != nil && last.Single != nil {
			add("With the last weights, questions across documents succeed in %.1f %%, those within one document in %.1f %%.", 100**last.Cross, 100**last.Single)
		}
		if a, b := by["sft"], last; a.N > 0 && b.Name != a.Name {
			apart := "overlap"
			if b.Lo > a.Hi || a.Lo > b.Hi {
				apart = "do not overlap"
			}
			add("Against SFT the last weights differ by %+.1f points; the two intervals %s (the run's controls over several seeds say more).", 100*(b.Success-a.Success), apart)
		}
		if by["sft"].N > 0 && last.Greedy-by["sft"].Greedy < (last.Success-by["sft"].Success)/2 {
			add("Greedy success moved from %.3f to %.3f after SFT: most of the gain at T=1 is sharpening.", by["sft"].Greedy, last.Greedy)
		}
	}
	if n := r.sft.Dropped["expert_unscorable"]; n > 0 {
		add("%d of %d questions given to the expert had no candidate that follows the path and were dropped (expert_unscorable).", n, r.sft.Asked)
	}
	if n := r.unplayed(); n > 0 {
		add("%d attempts of the evaluation could not be made: the question did not fit the engine's context, or the engine refused it (stage.json of the report stage names them).", n)
	}
	kept := 0
	for _, n := range r.synth.Cross {
		kept += n
	}
	add("%d of %d questions cross documents; of the %d kept train questions %d do.", kept, r.synth.Accepted, r.filter.Kept, r.filter.KeptCross)
	add("%d of %d questions have one answer by their path alone: their conditions are further evidence, not needed to tell the answer.", r.synth.PathAlone, r.synth.Accepted)
	add("The policy is the embedded one: a log-linear choice among enumerated searches and answers, not a language model.")
}

// unplayed counts the attempts of the evaluation in which the policy had no chance.
func (r *run) unplayed() int {
	n := 0
	for _, e := range r.eval.Results {
		n += len(e.Unplayed)
	}
	return n
}

func (r *run) writeReport(d *report.Doc) error {
	var js, page bytes.Buffer
	if err := report.JSON(&js, d); err != nil {
		return err
	}
	if err := report.HTML(&page, d); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(filepath.Join(r.dir.Path(), ReportJSON), js.Bytes()); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(r.dir.Path(), ReportHTML), page.Bytes())
}
