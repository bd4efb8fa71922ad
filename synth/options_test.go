package synth

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/english"
)

// TestDraw: weights are kept to, a weight of 0 is never drawn, and nothing is drawn when nothing is left.
func TestDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0, 1, 4, 0.1, 3.3e8}), 0, 8).Draw(t, "weights")
		r := rng(rapid.Uint64().Draw(t, "seed"), "test", 0)
		for left := len(weights) - strings.Count(zeros(weights), "0"); ; left-- {
			pick := draw(r, weights)
			if (pick < 0) != (left == 0) {
				t.Fatalf("%d weights are left, drawn %d of %v", left, pick, weights)
			}
			if pick < 0 {
				return
			}
			if weights[pick] == 0 {
				t.Fatalf("drew %d of %v", pick, weights)
			}
			weights[pick] = 0
		}
	})
	counts := [3]int{}
	r := rng(7, "test", 1)
	for range 10000 {
		counts[draw(r, []float64{1, 0, 4})]++
	}
	if counts[1] != 0 || counts[0] < 1850 || counts[0] > 2150 { // 2000 expected, 3.75 standard deviations
		t.Errorf("weights 1, 0, 4 are drawn %v times", counts)
	}
}

func zeros(weights []float64) string {
	out := ""
	for _, w := range weights {
		if w == 0 {
			out += "0"
		} else {
			out += "x"
		}
	}
	return out
}

// TestQuota: no more than there are, at most the limit, at least the share that crosses, and the limit is filled when
// that is possible.
func TestQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nCross, nSingle := rapid.IntRange(0, 60).Draw(t, "crossing"), rapid.IntRange(0, 60).Draw(t, "single")
		limit := rapid.IntRange(0, 80).Draw(t, "limit")
		share := rapid.SampledFrom([]float64{0, 0.1, 0.34, 0.45, 0.5, 0.9, 1}).Draw(t, "share")
		cs := make([]*candidate, nCross+nSingle)
		for i := range cs {
			cs[i] = &candidate{cross: i < nCross}
		}
		s := &Space{o: Options{CrossShare: share, Limits: map[quarry.Split]int{quarry.SplitTrain: limit}}}
		crossing, single := s.quota(cs, quarry.SplitTrain)
		n := crossing + single
		if crossing < 0 || crossing > nCross || single < 0 || single > nSingle || limit > 0 && n > limit || float64(crossing) < share*float64(n)-1e-9 {
			t.Fatalf("%d crossing and %d single", crossing, single)
		}
		most := nCross + nSingle
		if share > 0 {
			most = min(most, int(float64(nCross)/share+1e-9))
		}
		if limit > 0 {
			most = min(most, limit)
		}
		if n < most-1 { // one may be lost to rounding
			t.Fatalf("%d of %d possible", n, most)
		}
	})
}

func TestParseShape(t *testing.T) {
	for s, want := range map[string]Shape{"1+0": {1, 0}, "2+1": {2, 1}, "6+4": {6, 4}} {
		if got, err := ParseShape(s); err != nil || got != want || got.String() != s {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "2", "+", "2+", "+1", "0+1", "7+0", "2+5", "2+-1", "-2+1", "2++1", "+2+1", "2+1+1", " 2+1", "2+ 1", "2 + 1", "02+1", "2+1 .", "a+b", "2,1"} {
		if got, err := ParseShape(s); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
}

// TestLargestShapeIsReadable: what ParseShape lets through can be worded and read.
func TestLargestShapeIsReadable(t *testing.T) {
	l := english.Load()
	born := l.Phrase("P17", false)
	p := english.Plan{Anchor: "Xan Oto"}
	for i := range maxHops {
		p.Steps = append(p.Steps, born)
		if i < maxConditions {
			p.Conditions = append(p.Conditions, english.Condition{Step: i + 1, Phrase: l.Phrase("P206", true), Name: "Lake Ota"})
		}
	}
	if got, ok := l.Read(english.Write(p, 0)); !ok || !samePlan(got, p) {
		t.Errorf("%q is read as %+v", english.Write(p, 0), got)
	}
}
