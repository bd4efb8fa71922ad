package configs

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quarry-rl/quarry"
	"pgregory.net/rapid"
)

const head = "apiVersion: quarry/v1alpha1\nkind: Run\n"

// flat renders every error in a joined tree as "subject: msg | hint".
func flat(err error) []string {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []string
		for _, e := range j.Unwrap() {
			out = append(out, flat(e)...)
		}
		return out
	}
	var e *quarry.Error
	if !errors.As(err, &e) {
		return []string{"plain error: " + err.Error()}
	}
	line := string(e.Kind) + " " + e.Subject + ": " + e.Msg
	if e.Hint != "" {
		line += " | " + e.Hint
	}
	return []string{line}
}

func TestPresets(t *testing.T) {
	if diff := cmp.Diff([]string{"demo", "demo-small"}, Presets()); diff != "" {
		t.Fatal(diff)
	}
	for _, name := range Presets() {
		run, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if run.Name != name {
			t.Errorf("%s: name %q", name, run.Name)
		}
	}
	demo, err := Load("demo")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Name, want.License = "demo", "CC-BY-SA-3.0"
	if diff := cmp.Diff(want, demo); diff != "" {
		t.Errorf("demo differs from the documented defaults:\n%s", diff)
	}
	small, err := Load("demo-small")
	if err != nil {
		t.Fatal(err)
	}
	if n := small.Synth.Train + small.Synth.Tier + small.Synth.Heldout; n < 35 || n > 50 || small.RL.Steps != 3 {
		t.Errorf("demo-small: %d questions, %d RL steps", n, small.RL.Steps)
	}
}

func TestParse(t *testing.T) {
	run, err := Parse("dir/my-run.yaml", []byte(head+"seed: 18446744073709551615\nrl:\n  learning_rate: 1e-3\n  steps: 0x10\nsynth:\n  shapes: [2+1, \"3+0\"]\ndpo: {enabled: false}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Name, want.Seed, want.RL.LearningRate, want.RL.Steps = "my-run", 1<<64-1, 1e-3, 16
	want.Synth.Shapes, want.DPO.Enabled = []string{"2+1", "3+0"}, false
	if diff := cmp.Diff(want, run); diff != "" {
		t.Error(diff)
	}
}

func TestParseErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		src  string
		want []string
	}{
		"typo":            {head + "rl:\n  stepz: 3\n", []string{`invalid f.yaml:4:3: unknown key rl.stepz | did you mean rl.steps?`}},
		"typo of section": {head + "synht:\n  k: 3\n", []string{`invalid f.yaml:3:1: unknown key synht | did you mean synth?`}},
		"wrong section":   {head + "group_size: 8\n", []string{`invalid f.yaml:3:1: unknown key group_size | did you mean rl.group_size?`}},
		"no such thing":   {head + "eval:\n  colour: 1\n", []string{`invalid f.yaml:4:3: unknown key eval.colour | known keys here: attempts, every, bootstrap`}},
		"empty section":   {head + "kg:\n  colour: 1\n", []string{`invalid f.yaml:4:3: unknown key kg.colour | this section has no keys`}},
		"wrong type":      {head + "rl:\n  steps: ten\n", []string{`invalid f.yaml:4:10: rl.steps is the text "ten", expected a whole number`}},
		"fraction":        {head + "rl: {steps: 2.5}\n", []string{`invalid f.yaml:3:13: rl.steps is 2.5, expected a whole number`}},
		"quoted number":   {head + "seed: \"5\"\n", []string{`invalid f.yaml:3:7: seed is the text "5", expected a whole number >= 0`}},
		"negative seed":   {head + "seed: -5\n", []string{`invalid f.yaml:3:7: seed is -5, expected a whole number >= 0`}},
		"number for text": {head + "name: 7\n", []string{`invalid f.yaml:3:7: name is 7, expected text | write "7" with the quotes`}},
		"quoted exponent": {head + "rl: {beta: \"1e3\"}\n", []string{`invalid f.yaml:3:12: rl.beta is the text "1e3", expected a number`}},
		"bool":            {head + "dpo:\n  enabled: yes\n", []string{`invalid f.yaml:4:12: dpo.enabled is the text "yes", expected true or false`}},
		"list":            {head + "synth:\n  shapes: 2+1\n", []string{`invalid f.yaml:4:11: synth.shapes is the text "2+1", expected a list`}},
		"item":            {head + "synth:\n  shapes:\n    - 2+1\n    - 3\n", []string{`invalid f.yaml:6:7: synth.shapes[1] is 3, expected text | write "3" with the quotes`}},
		"empty value":     {head + "rl:\n  steps:\n", []string{`invalid f.yaml:4:10: rl.steps is empty, expected a whole number`}},
		"infinite":        {head + "rl:\n  beta: .inf\n", []string{`invalid f.yaml:4:9: rl.beta is the text ".inf", expected a number`}},
		"anchor":          {head + "seed: &a 1\n", []string{`invalid f.yaml:3:7: seed is an anchor, alias or tag, expected a whole number >= 0`}},
		"scalar file":     {"hello\n", []string{`invalid f.yaml: apiVersion is missing, expected quarry/v1alpha1 | add the line ` + "`apiVersion: quarry/v1alpha1`", `invalid f.yaml: kind is missing, expected Run | add the line ` + "`kind: Run`", `invalid f.yaml:1:1: the file is the text "hello", expected a mapping of keys`}},
		"empty file":      {"", []string{`invalid f.yaml: apiVersion is missing, expected quarry/v1alpha1 | add the line ` + "`apiVersion: quarry/v1alpha1`", `invalid f.yaml: kind is missing, expected Run | add the line ` + "`kind: Run`"}},
		"no kind":         {"apiVersion: quarry/v1alpha1\n", []string{"invalid f.yaml: kind is missing, expected Run | add the line `kind: Run`"}},
		"other version":   {"apiVersion: quarry/v2\nkind: Run\n", []string{`invalid f.yaml:1:1: apiVersion is "quarry/v2", expected one of quarry/v1alpha1`}},
		"two documents":   {head + "---\nseed: 1\n", []string{`invalid f.yaml:4:5: a second YAML document, expected one | keep one spec per file`}},
		"not utf-8":       {head + "name: \xff\n", []string{`invalid f.yaml:3: bytes that are not UTF-8 | save the file as UTF-8`}},
		"two at once":     {head + "sead: 1\nrl: {alpha: x}\n", []string{`invalid f.yaml:3:1: unknown key sead | did you mean seed?`, `invalid f.yaml:4:13: rl.alpha is the text "x", expected a number`}},
		"ranges": {head + "rl:\n  alpha: 0\nsynth:\n  shapes: [0+1]\n  split: {train: 0.6}\n", []string{
			`invalid f.yaml:6:12: synth.shapes[0] is "0+1", expected hops+conditions, such as 2+1 (1 to 6 hops, 0 to 4 conditions)`,
			`invalid f.yaml:7:3: synth.split is "1.1 in all", expected shares that sum to 1`,
			`invalid f.yaml:4:3: rl.alpha is 0, expected a number > 0 and <= 1`}},
		"against a default": {head + "synth: {min_train: 500}\n", []string{`invalid f.yaml:3:9: synth.min_train is 500, expected at most synth.train (400)`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(tc.src))
			if diff := cmp.Diff(tc.want, flat(err)); diff != "" {
				t.Error(diff)
			}
			if err != nil && quarry.KindOf(err) != quarry.KindInvalid {
				t.Errorf("kind %s", quarry.KindOf(err))
			}
		})
	}
}

// TestPrintedSpecHasNoEmptyPart: kg has no keys, so a printed spec leaves it out; one that has it is read still.
func TestPrintedSpecHasNoEmptyPart(t *testing.T) {
	const head = "apiVersion: quarry/v1alpha1\nkind: Run\n"
	run, err := Parse("x.yaml", []byte(head+"kg: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := run.YAML()
	if err != nil || strings.Contains(string(text), "kg") || strings.Contains(string(text), "{}") {
		t.Errorf("%v\n%s", err, text)
	}
	if js, err := json.Marshal(run); err != nil || strings.Contains(string(js), "{}") {
		t.Errorf("%v\n%s", err, js)
	}
}

// TestByteOrderMark: what some editors put before UTF-8 text is no part of it, and positions count from after it.
func TestByteOrderMark(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	if _, err := Parse("x.yaml", []byte(bom+"apiVersion: quarry/v1alpha1\nkind: Run\n")); err != nil {
		t.Error(err)
	}
	_, err := Parse("x.yaml", []byte(bom+"apiVersion: quarry/v1alpha1\nkind: Run\nsede: 3\n"))
	if err == nil || !strings.Contains(err.Error(), "x.yaml:3:1") {
		t.Errorf("%v, want it at x.yaml:3:1", err)
	}
}

func TestSyntaxErrorsNameTheLine(t *testing.T) {
	for src, want := range map[string]string{
		head + "rl: {steps: 1\n":         "f.yaml:3:",
		head + "seed: 1\nseed: 2\n":      "f.yaml:4:1",
		head + "rl:\n\tsteps: 3\n":       "f.yaml:4:",
		head + "name: \"open\nseed: 2\n": "f.yaml:3:",
	} {
		_, err := Parse("f.yaml", []byte(src))
		got := flat(err)
		if len(got) != 1 || !strings.HasPrefix(got[0], "invalid "+want) || !strings.Contains(got[0], "not YAML") {
			t.Errorf("%q: %q, want one error at %s", src, got, want)
		}
	}
}

func TestLoadFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "spec.yaml")
	if err := os.WriteFile(file, []byte(head+"seed: 9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run, err := Load(file)
	if err != nil || run.Seed != 9 || run.Name != "spec" {
		t.Errorf("%v %v", run, err)
	}
	for arg, want := range map[string]string{
		"demo-smal": `not_found demo-smal: no such file or preset | did you mean demo-small? presets: demo, demo-small`,
		"x/none":    `not_found x/none: no such file or preset | give the path of a spec file, or a preset: demo, demo-small`,
		"../demo":   `not_found ../demo: no such file or preset | give the path of a spec file, or a preset: demo, demo-small`,
		dir:         `invalid ` + dir + `: not a regular file, expected a YAML file | name the file itself`,
	} {
		_, err := Load(arg)
		if diff := cmp.Diff([]string{want}, flat(err)); diff != "" {
			t.Errorf("%s: %s", arg, diff)
		}
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, maxBytes+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(big); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("oversized file: %v", err)
	}
}

// mutate sets one leaf of a spec to an out-of-range value; each must be caught under its own path.
func TestValidateCatchesEveryNumber(t *testing.T) {
	unbounded := map[string]bool{"seed": true, "license": true} // every uint64 is a seed, and no license may be stated
	for _, path := range keyPaths(reflect.TypeFor[Run](), "") {
		run := Default()
		run.Name = "x"
		if err := run.Validate(); err != nil {
			t.Fatal(err)
		}
		v := reflect.ValueOf(&run).Elem()
		for _, key := range strings.Split(path, ".") {
			v = v.Field(fieldsOf(v.Type())[key])
		}
		switch v.Kind() {
		case reflect.Int:
			v.SetInt(-1)
		case reflect.Float64:
			v.SetFloat(-1)
		case reflect.String:
			v.SetString("")
		case reflect.Slice:
			v.SetZero()
		default:
			continue
		}
		if err := run.Validate(); !unbounded[path] && (err == nil || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s set to %v passes: %v", path, v, err)
		}
	}
}

func TestYAMLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := Default()
		run.Name = rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._-]{0,20}`).Draw(t, "name")
		run.Seed = rapid.Uint64().Draw(t, "seed")
		run.Data = rapid.StringMatching(`[ -~]{1,20}`).Draw(t, "data")
		run.RL.LearningRate = rapid.Float64Range(1e-12, 1e6).Draw(t, "lr")
		run.SFT.L2 = rapid.Float64Range(0, 1).Draw(t, "l2")
		run.DPO.Enabled = rapid.Bool().Draw(t, "dpo")
		run.Synth.Shapes = []string{rapid.SampledFrom([]string{"1+0", "6+4", "2+1"}).Draw(t, "shape")}
		text, err := run.YAML()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Parse("back.yaml", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(run, back); diff != "" {
			t.Fatalf("%s\n%s", diff, text)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{head, head + "rl: {steps: 3}", head + "synth:\n  shapes: [2+1]\n", "- a\n", "a: &x [*x]\n", "? [a]\n: b\n", "!!int 3", "{", "\t", "a: |\n  b", "kind: Run\nkind: Run"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		run, err := Parse("f.yaml", src)
		if err != nil {
			if quarry.KindOf(err) != quarry.KindInvalid {
				t.Fatalf("kind %q: %v", quarry.KindOf(err), err)
			}
			return
		}
		if err := run.Validate(); err != nil {
			t.Fatalf("accepted, yet %v", err)
		}
	})
}

func TestSuggest(t *testing.T) {
	keys := []string{"steps", "groups", "group_size", "k"}
	for word, want := range map[string]string{
		"stepz": "steps", "setps": "steps", "step": "steps", "group_sise": "group_size", "groupsize": "group_size",
		"banana": "", "x": "k", "": "k",
	} {
		if got := Suggest(word, keys); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
