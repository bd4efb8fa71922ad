package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/mix"
)

const mixHead = "apiVersion: quarry/v1alpha1\nkind: Mix\n"

func TestMixPresets(t *testing.T) {
	m, err := LoadMix("minddr")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := m.Spec(); err != nil || !reflect.DeepEqual(s, mix.MindDR()) || m.Seed != 1 || m.Total != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	for _, name := range Mixes() {
		if m, err := LoadMix(name); err != nil || !IsMix(name) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

func TestParseMix(t *testing.T) {
	m, err := ParseMix("m.yaml", []byte(mixHead+"total: 12\nseed: 7\nsource:\n- {value: kg, weight: 3}\n- {value: real, weight: 1}\nlanguage:\n- value: en\n  weight: 1\n- value: zh\n  weight: 0.5\n"))
	if err != nil || m.Total != 12 || m.Seed != 7 {
		t.Fatalf("%+v, %v", m, err)
	}
	s, err := m.Spec()
	want := mix.Spec{Keys: []string{"source", "language"}, Shares: []mix.Share{{Cell: []string{"kg", "en"}, Weight: 3}, {Cell: []string{"kg", "zh"}, Weight: 1.5},
		{Cell: []string{"real", "en"}, Weight: 1}, {Cell: []string{"real", "zh"}, Weight: .5}}}
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, %v", s, err)
	}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", []string{"invalid m.yaml: apiVersion is missing, expected quarry/v1alpha1 | add the line `apiVersion: quarry/v1alpha1`", "invalid m.yaml: kind is missing, expected Mix | add the line `kind: Mix`"}},
		{"no shares", mixHead, []string{"invalid m.yaml: source is \"empty\", expected shares of source, difficulty or language"}},
		{"another kind", "apiVersion: quarry/v1alpha1\nkind: Run\nsource: [{value: a, weight: 1}]", []string{"invalid m.yaml:2:1: kind is \"Run\", expected Mix"}},
		{"a typo", mixHead + "sorce: []\nsource: [{value: a, weight: 1}]\n", []string{"invalid m.yaml:3:1: unknown key sorce | did you mean source?"}},
		{"a typo inside", mixHead + "source: [{value: a, wieght: 1}]\n", []string{"invalid m.yaml:3:21: unknown key source[0].wieght | did you mean source[0].weight?"}},
		{"values", mixHead + "total: -1\nsource: [{value: a, weight: -2}, {value: a, weight: 3}]\ndifficulty: [{value: tough, weight: 1}]\nlanguage: [{value: en, weight: 0}]\n", []string{
			"invalid m.yaml:3:1: total is -1, expected a whole number >= 0",
			"invalid m.yaml:4:21: source[0].weight is -2, expected a number from 0 on",
			"invalid m.yaml:4:35: source[1].value is \"a\", expected a value that has no share yet",
			"invalid m.yaml:5:15: difficulty[0].value is \"tough\", expected one of easy, medium, hard, unknown",
			"invalid m.yaml:6:1: language is \"of weight 0 in all\", expected a weight above 0"}},
		{"no list", mixHead + "source: {kg: 60}\n", []string{"invalid m.yaml:3:9: source is a mapping, expected a list"}},
		{"too many brackets", mixHead + strings.Repeat("[", 1001), []string{"invalid m.yaml: 1039 bytes with 1001 brackets, expected at most 1048576 and 1000 | is this the spec? a spec is a page of YAML"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseMix("m.yaml", []byte(test.text))
			if d := cmp.Diff(test.want, flat(err)); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := LoadMix("mindr"); quarry.KindOf(err) != quarry.KindNotFound || !strings.Contains(quarry.HintOf(err), "did you mean minddr?") {
		t.Errorf("%v, %s", err, quarry.HintOf(err))
	}
	path := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(path, []byte(mixHead+"language: [{value: en, weight: 1}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := LoadMix(path); err != nil || len(m.Language) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

func FuzzParseMix(f *testing.F) {
	f.Add([]byte(mixHead + "source: [{value: a, weight: 1}]"))
	f.Add([]byte(mixHead + "total: 1e3\ndifficulty:\n- value: hard\n  weight: .inf\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, err := ParseMix("m.yaml", src)
		if err != nil {
			return
		}
		if s, err := m.Spec(); err != nil && quarry.KindOf(err) != quarry.KindInvalid || err == nil && len(s.Shares) == 0 {
			t.Fatalf("%+v, %v", m, err)
		}
	})
}
