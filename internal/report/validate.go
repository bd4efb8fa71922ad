package report

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Validate checks that the document adds up: in = out + rejected everywhere, rates within 0..1, intervals around their
// estimates, evaluations and steps in order, the gauge equal to its counts and 0. The error (KindCorrupt) names the
// first key that does not.
func (d *Doc) Validate() error {
	if err := d.finite(); err != nil {
		return err
	}
	c := &checker{}
	c.that(d.Schema == Schema, "schema", "is %q, expected %q", d.Schema, Schema)
	c.stages(d)
	c.narrowing(d)
	c.evals(d.Eval)
	c.steps(d)
	c.coordinator(d)
	return c.err()
}

// finite refuses NaN and infinities, which neither JSON nor a chart can hold.
func (d *Doc) finite() error {
	c := &checker{}
	c.finite("", reflect.ValueOf(d))
	return c.err()
}

// checker keeps the first failure.
type checker struct{ subject, msg string }

func (c *checker) err() error {
	if c.subject == "" {
		return nil
	}
	return &quarry.Error{Op: "run document", Kind: quarry.KindCorrupt, Subject: c.subject, Msg: c.msg,
		Hint: "this is a bug in quarry: keep the run directory and report it"}
}

func (c *checker) that(ok bool, subject, format string, args ...any) {
	if !ok && c.subject == "" {
		c.subject, c.msg = subject, fmt.Sprintf(format, args...)
	}
}

func (c *checker) balance(subject, in string, n, out int, lost Reasons) {
	c.that(n == out+lost.Sum(), subject, "%s is %d, but %d passed and %d left with a reason", in, n, out, lost.Sum())
	for r, k := range lost {
		c.that(k >= 0, subject, "%d lost to %q", k, r)
	}
}

func (c *checker) share(subject string, v float64) {
	c.that(v >= 0 && v <= 1, subject, "is %v, expected a fraction of 1", v)
}

// finite walks every number.
func (c *checker) finite(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		c.that(!math.IsNaN(v.Float()) && !math.IsInf(v.Float(), 0), path, "is %v, expected a number", v.Float())
	case reflect.Pointer:
		if !v.IsNil() {
			c.finite(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			c.finite(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "" {
				c.finite(strings.TrimPrefix(path+"."+name, "."), v.Field(i))
			}
		}
	}
}

func (c *checker) stages(d *Doc) {
	seen := map[string]bool{}
	for _, s := range d.Stages {
		at := "stages[" + s.Name + "]"
		c.that(s.Name != "" && !seen[s.Name], at, "has no name or appears twice")
		c.that(s.Digest != "", at+".digest", "is empty")
		c.that(s.Seconds >= 0 && s.ComputedSeconds >= 0, at+".seconds", "is negative")
		seen[s.Name] = true
	}
	for _, s := range d.Datasets {
		at := "datasets[" + s.Kind + "]"
		c.that(s.Kind != "" && s.Path != "" && s.Rows >= 0, at, "lacks kind, path or rows")
		c.that(len(s.SHA256) == 64 && strings.Trim(s.SHA256, "0123456789abcdef") == "", at+".sha256",
			"is %q, expected 64 lower-case hex digits", s.SHA256)
	}
}

func (c *checker) narrowing(d *Doc) {
	c.balance("synth", "walks", d.Synth.Walks, d.Synth.Accepted, d.Synth.Rejected)
	c.balance("filter", "in", d.Filter.In, d.Filter.Kept, d.Filter.Rejected)
	c.balance("filter", "heldout_in", d.Filter.HeldoutIn, d.Filter.Heldout, d.Filter.HeldoutRejected)
	c.that(d.Filter.TierUnscorable <= d.Filter.Tier, "filter.tier_unscorable", "is %d of %d", d.Filter.TierUnscorable, d.Filter.Tier)
	c.that(len(d.Synth.ByShape) == 0 || d.Synth.ByShape.Sum() == d.Synth.Accepted, "synth.by_shape", "adds up to %d, but %d were accepted", d.Synth.ByShape.Sum(), d.Synth.Accepted)
	used := d.Filter.In + d.Filter.Tier + d.Filter.HeldoutIn
	c.that(used <= d.Synth.Accepted, "filter", "train, tier and held-out are %d questions, but synth accepted %d", used, d.Synth.Accepted)
	for _, l := range d.Filter.Levels {
		c.share("filter.levels["+l.Name+"].success", l.Success)
	}
	c.balance("sft", "episodes", d.SFT.Episodes, d.SFT.Used, d.SFT.Dropped)
	for _, f := range d.Funnel {
		c.balance("funnel["+f.Name+"]", "in", f.In, f.Passed, f.Rejected)
	}
	p := d.Pivot
	c.balance("pivot", "failed", p.Failed, p.Located, p.NotLocated)
	c.balance("pivot", "located", p.Located, p.Tasks, p.NoTask)
	c.that(p.ByClass.Sum() == p.Located, "pivot.by_class", "adds up to %d, but located is %d", p.ByClass.Sum(), p.Located)
	c.that(!d.DPO.Skipped || d.DPO.Note != "", "dpo.note", "must say why dpo was skipped")
}

func (c *checker) evals(evals []Eval) {
	last := -1
	for _, e := range evals {
		at := "eval[" + e.Name + "]"
		place, ok := evalPlace(e.Name)
		c.that(ok, at, "is none of base, sft, dpo, rl-N")
		c.that(place > last, at, "is out of order: base, sft, dpo, rl-2 .. rl-n")
		last = place
		c.that(e.N > 0, at+".n", "is %d", e.N)
		c.share(at+".greedy", e.Greedy)
		c.share(at+".lo", e.Lo)
		c.share(at+".hi", e.Hi)
		c.that(e.Lo <= e.Success && e.Success <= e.Hi, at, "success %v lies outside its interval %v..%v", e.Success, e.Lo, e.Hi)
	}
}

// evalPlace orders the names of evaluations.
func evalPlace(name string) (int, bool) {
	switch name {
	case "base":
		return 0, true
	case "sft":
		return 1, true
	case "dpo":
		return 2, true
	}
	var n int
	if _, err := fmt.Sscanf(name, "rl-%d", &n); err != nil || n < 1 || name != fmt.Sprintf("rl-%d", n) {
		return 0, false
	}
	return 2 + n, true
}

func (c *checker) steps(d *Doc) {
	samples, oldest := 0, 0
	for i, s := range d.RL.Steps {
		at := fmt.Sprintf("rl.steps[%d]", i)
		c.that(i == 0 || s.Step > d.RL.Steps[i-1].Step, at+".step", "is %d, not after the one before", s.Step)
		c.that(i == 0 || s.Phase >= d.RL.Steps[i-1].Phase, at+".phase", "went back to %d", s.Phase)
		c.share(at+".mixed_share", s.MixedShare)
		c.share(at+".pivot_share", s.PivotShare)
		c.share(at+".masked_fraction", s.MaskedFraction)
		if s.MaskedFractionEntropy != nil {
			c.share(at+".masked_fraction_entropy", *s.MaskedFractionEntropy)
		}
		c.that(s.VersionMixed >= 0 && s.VersionMixed <= s.Groups, at+".version_mixed", "is %d of %d groups", s.VersionMixed, s.Groups)
		c.quantiles(at+".ratio", s.Ratio)
		if s.RatioEntropy != nil {
			c.quantiles(at+".ratio_entropy", *s.RatioEntropy)
		}
		k := s.Coefficients
		c.that(math.Abs(k.Tool+k.Format+k.PRM+k.ORM-1) < 1e-9, at+".coefficients", "sum to %v, expected 1", k.Tool+k.Format+k.PRM+k.ORM)
		if v := s.VarianceShare; v != nil {
			c.that(math.Abs(v.Tool+v.Format+v.PRM+v.ORM-1) < 1e-6, at+".variance_share", "sum to %v, expected 1", v.Tool+v.Format+v.PRM+v.ORM)
		}
		c.that(s.Staleness.Mean >= 0 && s.Staleness.Mean <= float64(s.Staleness.Max), at+".staleness",
			"mean %v lies outside 0..%d", s.Staleness.Mean, s.Staleness.Max)
		samples += s.Samples
		oldest = max(oldest, s.Staleness.Max)
	}
	shipped := 0
	for i, b := range d.Staleness {
		at := fmt.Sprintf("staleness_histogram[%d]", i)
		c.that(b.Staleness >= 0 && b.Samples >= 0, at, "is negative")
		c.that(i == 0 || b.Staleness > d.Staleness[i-1].Staleness, at, "is out of order")
		c.that(b.Samples == 0 || b.Staleness <= oldest, at, "counts staleness %d, but no step saw more than %d", b.Staleness, oldest)
		shipped += b.Samples
	}
	c.that(shipped == samples, "staleness_histogram", "counts %d samples, but the steps consumed %d", shipped, samples)
}

func (c *checker) quantiles(at string, q Quantiles) {
	c.that(q.P01 >= 0 && q.P01 <= q.P50 && q.P50 <= q.P99, at, "p01 %v, p50 %v, p99 %v are not in order", q.P01, q.P50, q.P99)
}

func (c *checker) coordinator(d *Doc) {
	n := d.Counts.Conservation()
	c.that(d.Gauge == n, "conservation", "is %d, but the counts leave %d", d.Gauge, n)
	c.that(n == 0, "conservation", "is %d: episodes were lost or counted twice", n)
}
