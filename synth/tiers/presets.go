package tiers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Defaults of the rules that are quarry's own: more attempts where an error rejects wrongly, few where one success settles it.
const (
	defaultRetries = 4
	warm           = 1.0 // temperature of an attempt that trains or is like one that does
	closedWarm     = 0.8
)

func oracle() *OracleRule {
	return &OracleRule{Ask: Ask{Steps: []int{3, 4}, Quorum: 3, Temperature: closedWarm}, Right: 3}
}

func closedBook() *ClosedRule {
	return &ClosedRule{Ask: Ask{Steps: []int{4, 8}, Quorum: 4, Temperature: closedWarm}, Strict: true, Tau: 1.0 / 8, MinAnswers: 20}
}

func single() *SingleRule {
	return &SingleRule{Ask{Steps: []int{2, 4}, Quorum: 2, Temperature: closedWarm}}
}

// Band is the difficulty window of the MindDR report for a tier: right in 10 to 50 % of 8 attempts.
func Band(tier string) *BandRule {
	return &BandRule{Ask: Ask{Steps: []int{8}, Quorum: 8, Temperature: warm}, Tier: tier, Lo: 0.1, Hi: 0.5}
}

// presets make rules for tiers, weakest first. Where a project names no number of attempts, the number here is a choice.
func presets() map[string]func(tiers []string) Rules {
	full := func(steps ...int) Ask { return Ask{Steps: steps, Quorum: max(steps[0]*3/4, 1), Temperature: warm} }
	every := func(k int) Ask { return Ask{Steps: []int{k}, Quorum: k, Temperature: warm} } // "k of k" needs all k
	return map[string]func([]string) Rules{
		// Apodex 1.0 report: a panel of different ability with a failure and a success; what reasoning alone or one query
		// solves is dropped. Spread, sequential sampling and the oracle are quarry's.
		"apodex": func(t []string) Rules {
			return Rules{Oracle: oracle(), Closed: closedBook(), Search: true, Single: single(), Plausibility: &PlausibilityRule{},
				Panel: &PanelRule{Ask: full(4, 8, 16), MinTiers: 3, MinRight: 1, MinWrong: 1, MinTop: 0.25, MaxLow: 0.75, Fisher: 0.05}}
		},
		// DeepDive: a frontier model with search fails 4 of 4. It keeps what nobody can solve, too.
		"deepdive": func(t []string) Rules {
			return Rules{Panel: &PanelRule{Ask: every(4), First: len(t) - 1, MinWrong: 4, MaxLow: 1}}
		},
		// WebSailor: what is solved 8 times of 8 is dropped.
		"websailor": func(t []string) Rules {
			return Rules{Panel: &PanelRule{Ask: every(8), First: len(t) - 1, MinWrong: 1, MaxLow: 1}}
		},
		// Tongyi DeepResearch report: always failed and always solved are dropped; the number of attempts is not given.
		"tongyi": func(t []string) Rules {
			return Rules{Panel: &PanelRule{Ask: every(8), First: len(t) - 1, MinRight: 1, MinWrong: 1, MaxLow: 1}}
		},
		// OpenSeeker: a strong model fails closed-book and answers when it is given the subgraph; numbers not given.
		"openseeker": func(t []string) Rules {
			return Rules{Oracle: &OracleRule{Ask: Ask{Steps: []int{1}, Quorum: 1, Temperature: closedWarm}, Right: 1},
				Closed: &ClosedRule{Ask: Ask{Steps: []int{1}, Quorum: 1, Temperature: closedWarm}, Strict: true}}
		},
	}
}

// PresetNames lists the presets.
func PresetNames() []string {
	return []string{"apodex", "deepdive", "openseeker", "tongyi", "websailor"}
}

// Preset is a project's published rule for the given tiers, weakest first: apodex needs three, the others ask the
// strongest only. Unknown names and too few tiers are KindInvalid.
func Preset(name string, tiers ...string) (Rules, error) {
	rules, ok := presets()[name]
	if !ok {
		return Rules{}, &quarry.Error{Op: "filter", Kind: quarry.KindInvalid, Subject: fmt.Sprintf("preset %q", name), Msg: "unknown",
			Hint: "take one of " + strings.Join(PresetNames(), ", ")}
	}
	r := rules(tiers)
	r.Name, r.Tiers, r.Retries = name, slices.Clone(tiers), defaultRetries
	return r, r.Validate()
}
