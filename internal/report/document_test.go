package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
)

func TestJSONGoldenAndRoundTrip(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, sampleDoc()); err != nil {
		t.Fatal(err)
	}
	golden(t, "run.json", b.Bytes())
	var back Doc
	dec := json.NewDecoder(&b)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleDoc(), &back, cmp.Comparer(func(a, b Reasons) bool {
		return len(a) == len(b) && cmp.Equal(a.Sorted(), b.Sorted()) && a.Sum() == b.Sum()
	})); diff != "" {
		t.Error(diff)
	}
}

// TestJSONKeys holds the keys that scripts may rely on.
func TestJSONKeys(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, sampleDoc()); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"schema", "seconds", "peak_memory_bytes", "next", "conservation", "funnel", "staleness_histogram",
		"stages.name", "stages.digest", "stages.seconds", "stages.cached", "synth.walks", "synth.accepted", "synth.rejected.hub_answer",
		"filter.in", "filter.kept", "filter.rejected", "eval.name", "eval.weights_version", "eval.n", "eval.success", "eval.lo", "eval.hi", "eval.greedy",
		"rl.steps.step", "rl.steps.groups", "rl.steps.reward.prm", "rl.steps.reward.orm", "rl.steps.reward.tool", "rl.steps.reward.format",
		"rl.steps.reward.total", "rl.steps.masked_fraction", "rl.steps.ratio.p01", "rl.steps.ratio.p50", "rl.steps.ratio.p99",
		"rl.steps.staleness.max", "rl.steps.staleness.mean", "rl.steps.coefficients.orm", "rl.steps.phase", "rl.steps.mixed_share",
		"rl.steps.variance_share.orm", "rl.steps.masked_fraction_entropy", "rl.steps.ratio_entropy.p99", "rl.steps.weights_version",
		"rl.steps.pivot_share", "rl.steps.version_mixed", "counts.dispatched", "counts.acknowledged", "counts.discarded",
		"counts.buffered", "counts.leased", "counts.in_flight", "datasets.kind", "datasets.path", "datasets.rows", "datasets.sha256",
		"pivot.failed", "pivot.located", "pivot.tasks", "pivot.by_class.thin_evidence", "dpo.pairs", "dpo.margin", "dpo.note",
		"example.question", "example.answer", "example.path.sentence", "example.path.title", "example.base.messages.role", "example.rl.messages.content",
	} {
		var at any = doc
		for key := range strings.SplitSeq(path, ".") {
			if list, ok := at.([]any); ok && len(list) > 0 {
				at = list[0]
			}
			m, ok := at.(map[string]any)
			if at, ok = m[key], ok && m[key] != nil; !ok {
				t.Errorf("%s: no %q", path, key)
				break
			}
		}
	}
}

func TestJSONOfAnEmptyRunHasListsNotNull(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, &Doc{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "null") && !strings.Contains(line, `"example": null`) {
			t.Errorf("null in %s", line)
		}
	}
}

func TestNotANumberIsRefusedByEveryView(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		d := sampleDoc()
		d.RL.Steps[3].RatioEntropy.P99 = bad
		for name, err := range map[string]error{"JSON": JSON(&bytes.Buffer{}, d), "Text": Text(&bytes.Buffer{}, d, 80, false),
			"HTML": HTML(&bytes.Buffer{}, d), "Validate": d.Validate()} {
			if quarry.KindOf(err) != quarry.KindCorrupt || !strings.Contains(err.Error(), "rl.steps[3].ratio_entropy.p99") {
				t.Errorf("%s with %v: %v", name, bad, err)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	if err := sampleDoc().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		subject string
		break_  func(*Doc)
	}{
		{"schema", func(d *Doc) { d.Schema = "quarry.run/v2" }},
		{"stages[kg]", func(d *Doc) { d.Stages[1].Name = "kg" }},
		{"stages[rl].digest", func(d *Doc) { d.Stages[5].Digest = "" }},
		{"synth", func(d *Doc) { d.Synth.Walks++ }},
		{"synth", func(d *Doc) { d.Synth.Rejected["leak"]-- }},
		{"filter", func(d *Doc) { d.Filter.Kept-- }},
		{"filter", func(d *Doc) { d.Filter.Heldout = 900 }},
		{"filter.levels[tier]", func(d *Doc) { d.Filter.Levels[2].Success = 33 }},
		{"sft", func(d *Doc) { d.SFT.Dropped = nil }},
		{"dpo.note", func(d *Doc) { d.DPO = DPO{Skipped: true} }},
		{"funnel[dpo]", func(d *Doc) { d.Funnel[2].Rejected["all_right"]++ }},
		{"pivot", func(d *Doc) { d.Pivot.Failed++ }},
		{"pivot", func(d *Doc) { d.Pivot.Tasks-- }},
		{"pivot.by_class", func(d *Doc) { d.Pivot.ByClass[string(quarry.PivotTool)]++ }},
		{"eval[sft]", func(d *Doc) { d.Eval[0], d.Eval[1] = d.Eval[1], d.Eval[0]; d.Eval[1].Name = "sft" }},
		{"eval[rl-02]", func(d *Doc) { d.Eval[3].Name = "rl-02" }},
		{"eval[sft]", func(d *Doc) { d.Eval[1].Lo = 0.35 }},
		{"eval[base].greedy", func(d *Doc) { d.Eval[0].Greedy = 1.2 }},
		{"rl.steps[4].step", func(d *Doc) { d.RL.Steps[4].Step = 4 }},
		{"rl.steps[5].phase", func(d *Doc) { d.RL.Steps[5].Phase = 1 }},
		{"rl.steps[0].coefficients", func(d *Doc) { d.RL.Steps[0].Coefficients.Tool = .7 }},
		{"rl.steps[2].variance_share", func(d *Doc) { d.RL.Steps[2].VarianceShare.ORM = .5 }},
		{"rl.steps[2].ratio", func(d *Doc) { d.RL.Steps[2].Ratio.P01 = 1.5 }},
		{"rl.steps[2].masked_fraction", func(d *Doc) { d.RL.Steps[2].MaskedFraction = -.1 }},
		{"rl.steps[2].version_mixed", func(d *Doc) { d.RL.Steps[2].VersionMixed = 33 }},
		{"rl.steps[9].staleness", func(d *Doc) { d.RL.Steps[9].Staleness.Mean = 4 }},
		{"staleness_histogram", func(d *Doc) { d.Staleness[0].Samples++ }},
		{"staleness_histogram[4]", func(d *Doc) { d.Staleness = append(d.Staleness, StalenessBin{9, 1}) }},
		{"conservation", func(d *Doc) { d.Gauge = 1 }},
		{"conservation", func(d *Doc) { d.Counts.Acknowledged--; d.Gauge = 1 }},
		{"datasets[Q1].sha256", func(d *Doc) { d.Datasets[0].SHA256 = strings.Repeat("A", 64) }},
	} {
		d := sampleDoc()
		c.break_(d)
		err := d.Validate()
		if quarry.KindOf(err) != quarry.KindCorrupt || quarry.HintOf(err) == "" || !strings.Contains(err.Error(), ": "+c.subject) {
			t.Errorf("want a refusal of %s, got %v", c.subject, err)
		}
	}
}
