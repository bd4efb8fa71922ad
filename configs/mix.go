package configs

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/mix"
)

//go:embed mixes/*.yaml
var mixFiles embed.FS

// KindMix is the second key of a spec of a mixture.
const KindMix = "Mix"

const opMix = "mix"

// Mix is the spec of a mixture of questions. The keys that have shares are crossed: each source with each difficulty with
// each language, weights multiplied.
type Mix struct {
	// APIVersion is the version of this format.
	APIVersion string `json:"apiVersion" yaml:"apiVersion"`
	// Kind is the kind of spec.
	Kind string `json:"kind" yaml:"kind"`
	// Total is the number of questions; 0 is as many as there are with every share met.
	Total int `json:"total" yaml:"total"`
	// Seed decides which questions of a cell are taken.
	Seed uint64 `json:"seed" yaml:"seed"`
	// Source has the shares by the name that a file was given, else by the questions' own source.
	Source []MixShare `json:"source" yaml:"source"`
	// Difficulty has the shares by difficulty: easy, medium, hard or unknown.
	Difficulty []MixShare `json:"difficulty" yaml:"difficulty"`
	// Language has the shares by language tag.
	Language []MixShare `json:"language" yaml:"language"`
}

// MixShare is the weight of one value, relative to the others of its key.
type MixShare struct {
	Value  string  `json:"value" yaml:"value"`
	Weight float64 `json:"weight" yaml:"weight"`
}

// Mixes lists the names of the mixtures that come with the program, sorted.
func Mixes() []string {
	entries, err := fs.ReadDir(mixFiles, "mixes")
	if err != nil {
		return nil // the folder is embedded
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(out)
	return out
}

// IsMix says whether name is one of Mixes.
func IsMix(name string) bool { return slices.Contains(Mixes(), name) }

// LoadMix reads a mixture by its name, or else a spec file by its path. Errors: KindNotFound for neither, listing the
// mixtures; otherwise as ParseMix.
func LoadMix(arg string) (Mix, error) {
	if IsMix(arg) {
		src, err := mixFiles.ReadFile("mixes/" + arg + ".yaml")
		if err != nil {
			return Mix{}, err
		}
		return ParseMix(arg+".yaml", src)
	}
	src, err := readFile(opMix, arg)
	if quarry.KindOf(err) == quarry.KindNotFound {
		hint := "give the path of a spec file, or a mixture: " + strings.Join(Mixes(), ", ")
		if near := Suggest(arg, Mixes()); near != "" {
			hint = fmt.Sprintf("did you mean %s? mixtures: %s", near, strings.Join(Mixes(), ", "))
		}
		return Mix{}, &quarry.Error{Op: opMix, Kind: quarry.KindNotFound, Subject: arg, Msg: "no such file or mixture", Hint: hint}
	}
	if err != nil {
		return Mix{}, err
	}
	return ParseMix(arg, src)
}

// ParseMix reads the text of a spec; file names it in errors. All problems are reported, joined, each of KindInvalid with
// "file:line:col" as Subject.
func ParseMix(file string, src []byte) (Mix, error) {
	m := Mix{Seed: 1}
	if err := checkSize(opMix, file, src); err != nil {
		return Mix{}, err
	}
	at, err := decode(opMix, file, src, &m)
	if at == nil {
		return Mix{}, err
	}
	if err := errors.Join(missingHead(opMix, file, KindMix, at), err); err != nil {
		return Mix{}, err
	}
	var errs []error
	for _, p := range m.problems() {
		subject := file
		if pos, ok := at[p.path]; ok {
			subject = pos
		}
		errs = append(errs, &quarry.Error{Op: opMix, Kind: quarry.KindInvalid, Subject: subject, Msg: p.message()})
	}
	return m, errors.Join(errs...)
}

func (m Mix) problems() []problem {
	var c checker
	c.require(m.APIVersion == APIVersion, "apiVersion", m.APIVersion, APIVersion)
	c.require(m.Kind == KindMix, "kind", m.Kind, KindMix)
	c.atLeast("total", m.Total, 0)
	c.require(len(m.Source)+len(m.Difficulty)+len(m.Language) > 0, "source", "empty", "shares of source, difficulty or language")
	for _, k := range m.keys() {
		seen, sum := map[string]bool{}, 0.
		for i, s := range k.shares {
			path := fmt.Sprintf("%s[%d]", k.name, i)
			c.require(s.Value != "" && !seen[s.Value], path+".value", s.Value, "a value that has no share yet")
			c.require(k.name != mix.KeyDifficulty || s.Value == "" || slices.Contains(mix.Difficulties(), s.Value), path+".value", s.Value, "one of "+strings.Join(mix.Difficulties(), ", "))
			c.require(s.Weight >= 0 && !math.IsInf(s.Weight, 0), path+".weight", s.Weight, "a number from 0 on")
			seen[s.Value] = true
			sum += s.Weight
		}
		c.require(len(k.shares) == 0 || sum > 0 || math.IsNaN(sum), k.name, "of weight 0 in all", "a weight above 0")
	}
	return c.found
}

type mixKey struct {
	name   string
	shares []MixShare
}

func (m Mix) keys() []mixKey {
	return []mixKey{{mix.KeySource, m.Source}, {mix.KeyDifficulty, m.Difficulty}, {mix.KeyLanguage, m.Language}}
}

// Spec is the mixture with its keys crossed.
func (m Mix) Spec() (mix.Spec, error) {
	var out mix.Spec
	for _, k := range m.keys() {
		if len(k.shares) == 0 {
			continue
		}
		one := mix.Spec{Keys: []string{k.name}}
		for _, s := range k.shares {
			one.Shares = append(one.Shares, mix.Share{Cell: []string{s.Value}, Weight: s.Weight})
		}
		if out.Keys == nil {
			out = one
			continue
		}
		var err error
		if out, err = out.Times(one); err != nil {
			return mix.Spec{}, err
		}
	}
	return out, out.Validate()
}
