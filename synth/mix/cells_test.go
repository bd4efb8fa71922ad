package mix

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
)

func TestCellOf(t *testing.T) {
	for record, want := range map[string]string{
		``:                                 Unknown,
		`{}`:                               Unknown,
		`[]`:                               Unknown,
		`{"band":{"right":1,"scored":10}}`: Medium,
		`{"band":{"right":5,"scored":10}}`: Medium,
		`{"band":{"right":6,"scored":11}}`: Easy,
		`{"band":{"right":1,"scored":11}}`: Hard,
		`{"band":{"scored":0},"tiers":[{"right":0,"scored":8}]}`:                 Hard,
		`{"tiers":[{"right":0,"scored":8},{"right":8,"scored":8},{"scored":0}]}`: Easy,
		`{"tries":[{"right":0,"attempts":4},{"right":4,"attempts":8}]}`:          Medium,
	} {
		q := &quarry.Question{Lang: "zh", Source: "walk", Difficulty: []byte(record)}
		if got := CellOf(q, []string{KeyLanguage, KeyDifficulty, KeySource, "size"}, ""); !slices.Equal(got, []string{"zh", want, "walk", ""}) {
			t.Errorf("%s: %q", record, got)
		}
		if got := CellOf(q, []string{KeySource}, "kg"); got[0] != "kg" {
			t.Errorf("%q", got)
		}
	}
}

// The largest total with every share met: quotas fit the supply, and one more question of every kind would not.
func TestMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Spec
		var supply []int
		var weights []float64
		for range rapid.IntRange(1, 6).Draw(t, "cells") {
			w := float64(rapid.IntRange(0, 20).Draw(t, "weight"))
			s.Shares, weights, supply = append(s.Shares, Share{Weight: w}), append(weights, w), append(supply, rapid.IntRange(0, 50).Draw(t, "supply"))
		}
		n := Most(s, supply)
		fits := func(total int) bool {
			for i, q := range Quotas(total, weights, nil) {
				if q > supply[i] {
					return false
				}
			}
			return true
		}
		if !fits(n) {
			t.Fatalf("%d of %v from %v: %v", n, weights, supply, Quotas(n, weights, nil))
		}
		sum := 0.
		for _, w := range weights {
			sum += w
		}
		if sum > 0 && fits(n+1) { // by a remainder that went to another cell: then one exact share is above its supply
			over := false
			for i, w := range weights {
				over = over || float64(n+1)*w/sum > float64(supply[i])
			}
			if !over {
				t.Fatalf("%d would fit too: %v from %v", n+1, weights, supply)
			}
		}
		if sum == 0 && n != 0 {
			t.Fatalf("%d of nothing", n)
		}
	})
}

func TestSupply(t *testing.T) {
	s := Spec{Keys: []string{"a", "b"}, Shares: []Share{{[]string{"x", "y"}, 1}, {[]string{"xy", ""}, 1}}}
	if got := Supply(s, []Item{{"1", []string{"x", "y"}}, {"2", []string{"x", "y"}}, {"3", []string{"y", "x"}}}); !slices.Equal(got, []int{2, 0}) {
		t.Error(got)
	}
}
