package mix

import (
	"encoding/json"

	"github.com/quarry-rl/quarry"
)

// The keys that a question has a value for.
const (
	KeySource     = "source"
	KeyDifficulty = "difficulty"
	KeyLanguage   = "language"
)

// The difficulties: the share of right attempts of what was measured last, above, in and below 10 to 50 %, the band that
// reinforcement learning learns from.
const (
	Easy    = "easy"
	Medium  = "medium"
	Hard    = "hard"
	Unknown = "unknown" // nothing was measured
)

// Difficulties lists them.
func Difficulties() []string { return []string{Easy, Medium, Hard, Unknown} }

// CellOf is a question's value for each key. source stands for its own when it is not empty. A key that questions do not
// have gives "".
func CellOf(q *quarry.Question, keys []string, source string) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		switch k {
		case KeySource:
			if out[i] = source; source == "" {
				out[i] = q.Source
			}
		case KeyDifficulty:
			out[i] = DifficultyOf(q)
		case KeyLanguage:
			out[i] = q.Lang
		}
	}
	return out
}

// DifficultyOf reads the difficulty record of a question: the band of the capability tiers, else their strongest tier, else
// all skill levels of the demo's filter.
func DifficultyOf(q *quarry.Question) string {
	type tally struct {
		Right    int `json:"right"`
		Scored   int `json:"scored"`
		Attempts int `json:"attempts"`
	}
	var d struct {
		Band  tally   `json:"band"`
		Tiers []tally `json:"tiers"` // weakest first
		Tries []tally `json:"tries"`
	}
	if len(q.Difficulty) == 0 || json.Unmarshal(q.Difficulty, &d) != nil {
		return Unknown
	}
	t := d.Band
	for i := len(d.Tiers) - 1; i >= 0 && t.Scored == 0; i-- {
		t = d.Tiers[i]
	}
	if t.Scored == 0 {
		for _, x := range d.Tries {
			t.Right, t.Scored = t.Right+x.Right, t.Scored+x.Attempts
		}
	}
	switch {
	case t.Scored <= 0:
		return Unknown
	case 10*t.Right < t.Scored:
		return Hard
	case 2*t.Right > t.Scored:
		return Easy
	}
	return Medium
}

// Most is the largest total of which no cell is asked more than it has: supply counts the questions of each share's cell.
func Most(s Spec, supply []int) int {
	sum, most := 0., -1
	for _, sh := range s.Shares {
		sum += sh.Weight
	}
	for i, sh := range s.Shares {
		if sh.Weight <= 0 {
			continue
		}
		// A quota is at most its exact share rounded up, so that of a total with every exact share met every quota is met.
		if n := int(float64(supply[i])*(sum/sh.Weight) + fine); most < 0 || n < most {
			most = n
		}
	}
	return max(most, 0)
}

// Supply counts the items of each share's cell.
func Supply(s Spec, items []Item) []int {
	cell := map[string]int{}
	for i, sh := range s.Shares {
		cell[cellKey(sh.Cell)] = i
	}
	out := make([]int, len(s.Shares))
	for _, it := range items {
		if i, ok := cell[cellKey(it.Cell)]; ok {
			out[i]++
		}
	}
	return out
}
