package mix_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/mix"
)

func TestQuotas(t *testing.T) {
	for name, tc := range map[string]struct {
		total   int
		weights []float64
		supply  []int
		want    []int
	}{
		"60/35/5":                     {100, []float64{60, 35, 5}, nil, []int{60, 35, 5}},
		"as parts of one":             {20, []float64{.6, .35, .05}, nil, []int{12, 7, 1}},
		"rest to the largest":         {10, []float64{60, 35, 5}, nil, []int{6, 4, 0}},
		"ties to the earlier":         {100, []float64{1, 1, 1}, nil, []int{34, 33, 33}},
		"noise is no fraction":        {10, []float64{.1, .2, .3, .1 + .2 + .1}, nil, []int{1, 2, 3, 4}},
		"nothing asked":               {0, []float64{1, 2}, nil, []int{0, 0}},
		"no weight":                   {5, []float64{0, 1}, nil, []int{0, 5}},
		"lack goes on in proportion":  {100, []float64{60, 35, 5}, []int{20, 1000, 1000}, []int{20, 70, 10}},
		"lack twice":                  {100, []float64{60, 35, 5}, []int{20, 30, 1000}, []int{20, 30, 50}},
		"all short":                   {100, []float64{60, 35, 5}, []int{2, 3, 4}, []int{2, 3, 4}},
		"no weight lends nothing":     {100, []float64{1, 0}, []int{3, 500}, []int{3, 0}},
		"empty cell":                  {4, []float64{1, 1, 1}, []int{0, 9, 9}, []int{0, 2, 2}},
		"huge and tiny weights":       {3, []float64{math.MaxFloat64, math.MaxFloat64, math.SmallestNonzeroFloat64}, nil, []int{2, 1, 0}},
		"one cell":                    {7, []float64{3}, []int{9}, []int{7}},
		"more cells than questions":   {2, []float64{1, 1, 1, 1}, nil, []int{1, 1, 0, 0}},
		"exactly the supply of a row": {10, []float64{1, 1}, []int{5, 9}, []int{5, 5}},
	} {
		if got := mix.Quotas(tc.total, tc.weights, tc.supply); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func sumOf(s []int) (n int) {
	for _, x := range s {
		n += x
	}
	return n
}

func TestQuotasAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "cells")
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 10), rapid.Map(rapid.IntRange(0, 9), func(i int) float64 { return float64(i) })), n, n).Draw(t, "weights")
		supply := rapid.SliceOfN(rapid.IntRange(0, 200), n, n).Draw(t, "supply")
		total := rapid.IntRange(0, 3000).Draw(t, "total")
		there := 0
		for i := range supply {
			if weights[i] > 0 {
				there += supply[i]
			}
		}
		got := mix.Quotas(total, weights, supply)
		if sumOf(got) != min(total, there) {
			t.Fatalf("%v adds up to %d, want %d", got, sumOf(got), min(total, there))
		}
		for i := range got {
			if got[i] < 0 || got[i] > supply[i] || weights[i] == 0 && got[i] > 0 {
				t.Fatalf("cell %d: %d of %d, weight %v", i, got[i], supply[i], weights[i])
			}
		}
		// a cell that could give more is not below one of at most its weight by more than rounding
		for i := range got {
			for j := range got {
				if got[i] < supply[i] && weights[i] >= weights[j] && got[j] > got[i]+1 {
					t.Fatalf("weights %v, supply %v: %v favours cell %d over %d", weights, supply, got, j, i)
				}
			}
		}
	})
}

// TestQuotasAreNearest compares with every way to share the total out.
func TestQuotasAreNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "cells")
		weights := rapid.SliceOfN(rapid.Float64Range(.01, 10), n, n).Draw(t, "weights")
		total := rapid.IntRange(0, 15).Draw(t, "total")
		sum := 0.
		for _, w := range weights {
			sum += w
		}
		off := func(q []int) (d float64) {
			for i := range q {
				d += math.Abs(float64(q[i]) - float64(total)*weights[i]/sum)
			}
			return d
		}
		best := math.Inf(1)
		q := make([]int, n)
		var try func(i, left int)
		try = func(i, left int) {
			if i == n-1 {
				q[i] = left
				best = min(best, off(q))
				return
			}
			for k := range left + 1 {
				q[i] = k
				try(i+1, left-k)
			}
		}
		try(0, total)
		if got := mix.Quotas(total, weights, nil); off(got) > best+1e-6 {
			t.Fatalf("%v is off by %v, %v can be had", got, off(got), best)
		}
	})
}

func spec() mix.Spec {
	s, err := mix.MindDR().Times(mix.Spec{Keys: []string{"language"}, Shares: []mix.Share{{Cell: []string{"en"}, Weight: 2}, {Cell: []string{"zh"}, Weight: 1}}})
	if err != nil {
		panic(err)
	}
	return s
}

func supplyOf(r *rand.Rand, n int) []mix.Item {
	var out []mix.Item
	for i := range n {
		out = append(out, mix.Item{ID: fmt.Sprintf("q%d", i), Cell: []string{[]string{"kg", "real", "hard", "other"}[r.IntN(4)], []string{"en", "zh"}[r.IntN(2)]}})
	}
	return out
}

func TestPick(t *testing.T) {
	s := spec()
	items := supplyOf(rand.New(rand.NewPCG(1, 1)), 2000)
	res, err := mix.Pick(s, 300, 7, items)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"kg en": 120, "kg zh": 60, "real en": 70, "real zh": 35, "hard en": 10, "hard zh": 5}
	got := map[string]int{}
	for _, i := range res.Picked {
		got[strings.Join(items[i].Cell, " ")]++
	}
	if d := cmp.Diff(want, got); d != "" || res.Taken != 300 || res.Short() != 0 || len(res.Picked) != 300 {
		t.Errorf("%d taken, %s", res.Taken, d)
	}
	for _, row := range res.Rows {
		if math.Abs(row.Asked-row.Achieved) > 1e-9 || row.Taken != row.Quota {
			t.Errorf("%+v", row)
		}
	}
	if res.Beside == 0 || res.Beside+sumSupply(res) != len(items) {
		t.Errorf("%d beside, %d in cells, of %d", res.Beside, sumSupply(res), len(items))
	}
	other, err := mix.Pick(s, 300, 8, items)
	if err != nil || slices.Equal(other.Picked, res.Picked) {
		t.Errorf("another seed picks the same: %v", err)
	}
}

func sumSupply(r *mix.Result) (n int) {
	for _, row := range r.Rows {
		n += row.Supply
	}
	return n
}

func TestPickIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "r"), 1))
		items := supplyOf(r, rapid.IntRange(0, 120).Draw(t, "n"))
		total := rapid.IntRange(0, 150).Draw(t, "total")
		a, err := mix.Pick(spec(), total, 3, items)
		if err != nil {
			t.Fatal(err)
		}
		mixed := slices.Clone(items)
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		b, err := mix.Pick(spec(), total, 3, mixed)
		if err != nil {
			t.Fatal(err)
		}
		ids := func(items []mix.Item, picked []int) (out []string) {
			for _, i := range picked {
				out = append(out, items[i].ID)
			}
			slices.Sort(out)
			return slices.Compact(out)
		}
		if !slices.Equal(ids(items, a.Picked), ids(mixed, b.Picked)) {
			t.Fatal("another order picked others")
		}
		if d := cmp.Diff(a.Rows, b.Rows); d != "" {
			t.Fatal(d)
		}
		if len(ids(items, a.Picked)) != a.Taken || a.Taken != min(total, len(items)-a.Beside) {
			t.Fatalf("%d taken of %d in cells, asked %d", a.Taken, len(items)-a.Beside, total)
		}
	})
}

func TestTable(t *testing.T) {
	var items []mix.Item
	for i := range 40 {
		items = append(items, mix.Item{ID: fmt.Sprint(i), Cell: []string{[]string{"kg", "real"}[i%2]}})
	}
	res, err := mix.Pick(mix.MindDR(), 20, 1, items)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := res.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	want := `source  asked    achieved  quota  taken  supply
kg      60.0 %   65.0 %    12     13     20
real    35.0 %   35.0 %    7      7      20
hard    5.0 %    0.0 %     1      0      0
all     100.0 %            20     20     
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

func TestRefusals(t *testing.T) {
	share := func(w float64, cell ...string) mix.Share { return mix.Share{Cell: cell, Weight: w} }
	for name, s := range map[string]mix.Spec{
		"empty":          {},
		"no shares":      {Keys: []string{"a"}},
		"key twice":      {Keys: []string{"a", "a"}, Shares: []mix.Share{share(1, "x", "y")}},
		"values missing": {Keys: []string{"a", "b"}, Shares: []mix.Share{share(1, "x")}},
		"cell twice":     {Keys: []string{"a"}, Shares: []mix.Share{share(1, "x"), share(2, "x")}},
		"negative":       {Keys: []string{"a"}, Shares: []mix.Share{share(-1, "x"), share(2, "y")}},
		"not a number":   {Keys: []string{"a"}, Shares: []mix.Share{share(math.NaN(), "x")}},
		"all zero":       {Keys: []string{"a"}, Shares: []mix.Share{share(0, "x")}},
		"infinite sum":   {Keys: []string{"a"}, Shares: []mix.Share{share(math.MaxFloat64, "x"), share(math.MaxFloat64, "y")}},
	} {
		if _, err := mix.Pick(s, 1, 0, nil); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	one := mix.MindDR()
	for name, items := range map[string][]mix.Item{
		"id twice":    {{ID: "a", Cell: []string{"kg"}}, {ID: "a", Cell: []string{"real"}}},
		"other keys":  {{ID: "a", Cell: []string{"kg", "en"}}},
		"no key":      {{ID: "a"}},
		"beside both": {{ID: "a", Cell: []string{"x"}}, {ID: "a", Cell: []string{"x"}}},
	} {
		if _, err := mix.Pick(one, 1, 0, items); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := mix.Pick(one, -1, 0, nil); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("negative total: %v", err)
	}
	if _, err := one.Times(one); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("a mixture with itself: %v", err)
	}
}

func TestLargerTotalKeepsThePick(t *testing.T) {
	items := supplyOf(rand.New(rand.NewPCG(4, 4)), 500)
	small, err := mix.Pick(spec(), 90, 5, items)
	if err != nil {
		t.Fatal(err)
	}
	large, err := mix.Pick(spec(), 180, 5, items)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range small.Picked {
		if !slices.Contains(large.Picked, i) {
			t.Fatalf("question %d was given up", i)
		}
	}
}
