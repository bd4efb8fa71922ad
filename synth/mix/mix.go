// Package mix shares a total out over the cells of a mixture, such as source x difficulty x language, by the method of
// largest remainders, and picks questions for each cell. Totals are exact, and the pick does not depend on the order in
// which questions come.
package mix

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quarry-rl/quarry"
)

// Share is what part of the mixture a cell should be. A cell is named by one value for each key of the mixture.
type Share struct {
	Cell   []string `json:"cell"`
	Weight float64  `json:"weight"` // relative to the sum of all; 0 takes nothing from the cell
}

// Spec is a mixture: the keys, such as source, difficulty, language, subject, answer format, and a share for each cell.
type Spec struct {
	Keys   []string `json:"keys"`
	Shares []Share  `json:"shares"`
}

// MindDR is the mixture of the MindDR report's supervised fine-tuning: 60 % from knowledge graphs, 35 % real queries,
// 5 % hard cases.
func MindDR() Spec {
	return Spec{Keys: []string{"source"}, Shares: []Share{{[]string{"kg"}, 60}, {[]string{"real"}, 35}, {[]string{"hard"}, 5}}}
}

// maxCells bounds what Times makes.
const maxCells = 1 << 20

// Times crosses two mixtures of different keys: every cell of s with every cell of t, weights multiplied.
func (s Spec) Times(t Spec) (Spec, error) {
	if len(s.Shares) > 0 && len(t.Shares) > maxCells/len(s.Shares) {
		return Spec{}, bad("mixture", fmt.Sprintf("%d x %d cells, at most %d expected", len(s.Shares), len(t.Shares), maxCells), "drop a key")
	}
	out := Spec{Keys: slices.Concat(s.Keys, t.Keys)}
	for _, a := range s.Shares {
		for _, b := range t.Shares {
			out.Shares = append(out.Shares, Share{Cell: slices.Concat(a.Cell, b.Cell), Weight: a.Weight * b.Weight})
		}
	}
	return out, out.Validate()
}

// Validate refuses what cannot be shared out.
func (s Spec) Validate() error {
	if len(s.Keys) == 0 || len(s.Shares) == 0 {
		return bad("mixture", "expected at least one key and one share", "such as source with kg 60, real 35, hard 5")
	}
	keys := map[string]bool{}
	for _, k := range s.Keys {
		if k == "" || keys[k] {
			return bad(fmt.Sprintf("key %q", k), "keys must be named, each once", "")
		}
		keys[k] = true
	}
	sum := 0.
	seen := map[string]bool{}
	for _, sh := range s.Shares {
		name := fmt.Sprintf("share of %s", strings.Join(sh.Cell, " x "))
		switch {
		case len(sh.Cell) != len(s.Keys):
			return bad(name, fmt.Sprintf("has %d values for the %d keys %s", len(sh.Cell), len(s.Keys), strings.Join(s.Keys, ", ")), "")
		case seen[cellKey(sh.Cell)]:
			return bad(name, "is there twice", "add the weights up")
		case !(sh.Weight >= 0) || math.IsInf(sh.Weight, 0):
			return bad(name, fmt.Sprintf("weight %v, expected a number from 0 on", sh.Weight), "")
		}
		seen[cellKey(sh.Cell)] = true
		sum += sh.Weight
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return bad("mixture", fmt.Sprintf("the weights add up to %v, expected a number above 0", sum), "")
	}
	return nil
}

func bad(subject, msg, hint string) error {
	return &quarry.Error{Op: "mix", Kind: quarry.KindInvalid, Subject: subject, Msg: msg, Hint: hint}
}

// cellKey joins the values injectively.
func cellKey(cell []string) string {
	var b strings.Builder
	for _, v := range cell {
		fmt.Fprintf(&b, "%d:%s", len(v), v)
	}
	return b.String()
}

// Quotas shares total out over weights by largest remainders (Hamilton's method): the whole part of total*weight/sum to
// each, the rest one by one to the largest fractions, of equal ones to the earlier. No other whole numbers of this
// total have a smaller sum of |quota - exact share|. A cell never gets more than its supply; what it cannot give is
// shared out again over the cells that still have supply, in proportion to their weights, until nothing is left or all
// are empty. The result adds up to min(total, supply of all cells with a weight). nil supply is no limit; otherwise
// both slices have one entry a cell. Weights and total must be as Validate and Pick demand.
func Quotas(total int, weights []float64, supply []int) []int {
	out := make([]int, len(weights))
	open := make([]int, 0, len(weights)) // cells that can take more
	for i, w := range weights {
		if w > 0 && (supply == nil || supply[i] > 0) {
			open = append(open, i)
		}
	}
	for left := total; left > 0 && len(open) > 0; {
		// Full cells first: those whose share is more than they can give. Their lack is known only then, so the rest of
		// the round is shared out again without them.
		parts := largestRemainders(left, weights, open)
		full := false
		if supply != nil {
			for j, i := range open {
				if parts[j] >= supply[i] {
					out[i], full = supply[i], true
					left -= supply[i]
				}
			}
			if full {
				open = slices.DeleteFunc(open, func(i int) bool { return out[i] == supply[i] })
				continue
			}
		}
		for j, i := range open {
			out[i] = parts[j]
		}
		break
	}
	return out
}

// fine is the precision of fractions: differences below are noise of floating point and count as ties.
const fine = 1e-9

func largestRemainders(total int, weights []float64, cells []int) []int {
	most := 0.
	for _, i := range cells {
		most = max(most, weights[i])
	}
	sum := 0.
	for _, i := range cells {
		sum += weights[i] / most // so that neither tiny nor huge weights leave the range
	}
	parts, rest := make([]int, len(cells)), make([]int64, len(cells))
	left := total
	for j, i := range cells {
		q := float64(total) * (weights[i] / most / sum)
		if near := math.Round(q); math.Abs(q-near) < fine*max(1, near) {
			q = near
		}
		whole := math.Floor(q)
		parts[j], rest[j] = int(whole), int64(math.Round((q-whole)/fine))
		left -= parts[j]
	}
	order := make([]int, len(cells))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for k := 0; left > 0; k = (k + 1) % len(order) { // once around, unless snapping took away more than it gave
		parts[order[k]]++
		left--
	}
	for k := len(order) - 1; left < 0; k = (k + len(order) - 1) % len(order) {
		if parts[order[k]] > 0 {
			parts[order[k]]--
			left++
		}
	}
	return parts
}
