package near_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/near"
)

func items(r *rand.Rand, n int) []near.Item {
	var out []near.Item
	for i := range n {
		it := near.Item{ID: fmt.Sprintf("q%04d", i), Text: question(r)}
		if i > 0 && r.IntN(3) == 0 {
			it.Text = edited(r, out[r.IntN(i)].Text, r.IntN(4))
		}
		it.Answer = fmt.Sprint(r.IntN(2 * n))
		it.Relations = []string{fmt.Sprint(r.IntN(3)), "^1"}
		for range 2 {
			it.Docs = append(it.Docs, fmt.Sprint(r.IntN(n)))
			it.Entities = append(it.Entities, fmt.Sprint(r.IntN(n)))
		}
		out = append(out, it)
	}
	return out
}

func fill(t interface{ Fatal(...any) }, s *near.Set, its []near.Item) {
	for _, it := range its {
		if err := s.Add(it); err != nil {
			t.Fatal(err)
		}
	}
}

func newSet(t interface{ Fatal(...any) }, skip ...near.Rule) *near.Set {
	o := near.Default()
	o.Skip = skip
	s, err := near.NewSet(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOrderIndependence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		its := items(r, rapid.IntRange(1, 60).Draw(t, "n"))
		sorted := newSet(t)
		fill(t, sorted, its)
		want := verdictLines(sorted.Verdicts())

		mixed := newSet(t)
		for i, it := range shuffled(r, its) {
			fill(t, mixed, []near.Item{it})
			if i%7 == 0 { // asked in between
				mixed.Verdicts()
			}
		}
		if got := verdictLines(mixed.Verdicts()); got != want {
			t.Fatalf("order changed the verdicts:\n%s\nwant\n%s", got, want)
		}
		// stopped half-way, and the journal replayed with the last ones twice
		resumed := newSet(t)
		fill(t, resumed, its[:len(its)/2])
		fill(t, resumed, its[len(its)/3:])
		if got := verdictLines(resumed.Verdicts()); got != want {
			t.Fatalf("resume changed the verdicts:\n%s\nwant\n%s", got, want)
		}
	})
}

// TestSetIsTheDefinition compares with all pairs, by structure and by texts that are equal or far apart.
func TestSetIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) near.Item {
			ids := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", ""}), 0, 3)
			return near.Item{ID: fmt.Sprintf("q%03d", rapid.IntRange(0, 999).Draw(t, "id")),
				Text:   rapid.SampledFrom([]string{"", "Who wrote it?", "who  wrote it?", "A thing in 1913", "a thing in 1814", "谁写的这本书"}).Draw(t, "text"),
				Answer: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "answer"), Relations: ids.Draw(t, "relations"),
				Entities: ids.Draw(t, "entities"), Docs: ids.Draw(t, "docs")}
		}), 1, 12, func(it near.Item) string { return it.ID }).Draw(t, "items")
		s := newSet(t)
		fill(t, s, small)
		slices.SortFunc(small, func(a, b near.Item) int { return cmp.Compare(a.ID, b.ID) })
		kept := []near.Item{}
		for i, v := range s.Verdicts() {
			twin := ""
			for _, k := range kept {
				if twins(k, small[i]) {
					twin = k.ID
					break
				}
			}
			if v.ID != small[i].ID || v.Twin != twin || (v.Rule == "") != (twin == "") {
				t.Fatalf("%+v, want twin %q", v, twin)
			}
			if twin == "" {
				kept = append(kept, small[i])
			}
		}
	})
}

func twins(a, b near.Item) bool {
	clean := func(s []string) []string {
		s = slices.DeleteFunc(slices.Clone(s), func(x string) bool { return x == "" })
		slices.Sort(s)
		return slices.Compact(s)
	}
	equal := func(x, y []string) bool { return len(clean(x)) > 0 && slices.Equal(clean(x), clean(y)) }
	return near.Normal(a.Text) != "" && near.Normal(a.Text) == near.Normal(b.Text) ||
		a.Answer != "" && a.Answer == b.Answer && len(a.Relations) > 0 && slices.Equal(a.Relations, b.Relations) ||
		equal(a.Entities, b.Entities) || equal(a.Docs, b.Docs)
}

func TestRules(t *testing.T) {
	base := near.Item{ID: "a", Text: "Who directed the film in which the singer of Bluebird Road played a pilot?", Answer: "e1",
		Relations: []string{"P57", "^P161"}, Entities: []string{"e1", "e2", "e3"}, Docs: []string{"d1", "d2"}}
	other := near.Item{ID: "b", Text: "In what town was the founder of the oldest brewery of Norland born?", Answer: "e9",
		Relations: []string{"P19"}, Entities: []string{"e9", "e8"}, Docs: []string{"d9"}}
	for name, tc := range map[string]struct {
		change func(*near.Item)
		rule   near.Rule
	}{
		"nothing alike": {func(*near.Item) {}, ""},
		"text": {func(it *near.Item) {
			it.Text = "who directed the film in which  the singer of Bluebird Roads played a pilot?"
		}, near.RuleText},
		"digits":            {func(it *near.Item) { it.Text = base.Text }, near.RuleText},
		"entities":          {func(it *near.Item) { it.Entities = []string{"e3", "e1", "e2", "e1"} }, near.RuleEntities},
		"entities, one off": {func(it *near.Item) { it.Entities = []string{"e3", "e1"} }, ""},
		"answer only":       {func(it *near.Item) { it.Answer = "e1" }, ""},
		"relations only":    {func(it *near.Item) { it.Relations = base.Relations }, ""},
		"both":              {func(it *near.Item) { it.Answer, it.Relations = "e1", base.Relations }, near.RuleRelations},
		"other direction":   {func(it *near.Item) { it.Answer, it.Relations = "e1", []string{"P57", "P161"} }, ""},
		"documents":         {func(it *near.Item) { it.Docs = []string{"d2", "d1"} }, near.RuleDocuments},
		"first rule named":  {func(it *near.Item) { it.Docs, it.Entities = base.Docs, base.Entities }, near.RuleEntities},
	} {
		it := other
		tc.change(&it)
		s := newSet(t)
		fill(t, s, []near.Item{it, base}) // b comes first, a is kept
		v, ok := s.Verdict("b")
		if !ok || v.Rule != tc.rule || v.Kept() != (tc.rule == "") || !v.Kept() && v.Twin != "a" {
			t.Errorf("%s: %+v", name, v)
		}
		if v, _ := s.Verdict("a"); !v.Kept() {
			t.Errorf("%s: the lower id was dropped: %+v", name, v)
		}
		if tc.rule != "" {
			s := newSet(t, tc.rule)
			fill(t, s, []near.Item{base, it})
			if v, _ := s.Verdict("b"); v.Rule == tc.rule {
				t.Errorf("%s: a skipped rule applied", name)
			}
		}
	}
}

func TestAddRefuses(t *testing.T) {
	s := newSet(t)
	if err := s.Add(near.Item{Text: "x"}); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("no id: %v", err)
	}
	fill(t, s, []near.Item{{ID: "a", Text: "x"}})
	if err := s.Add(near.Item{ID: "a", Text: "y"}); quarry.KindOf(err) != quarry.KindConflict {
		t.Errorf("same id, other text: %v", err)
	}
	if _, ok := s.Verdict("b"); ok {
		t.Error("verdict on an item that was never added")
	}
	if _, err := near.NewSet(near.Options{}); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("zero options: %v", err)
	}
}

func TestConcurrentAdd(t *testing.T) {
	its := items(rand.New(rand.NewPCG(9, 9)), 200)
	one, many := newSet(t), newSet(t)
	fill(t, one, its)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < len(its); i += 8 {
				if err := many.Add(its[i]); err != nil {
					t.Error(err)
				}
				if i%50 == 0 {
					many.Verdict(its[i].ID)
				}
			}
		})
	}
	wg.Wait()
	if a, b := verdictLines(one.Verdicts()), verdictLines(many.Verdicts()); a != b {
		t.Errorf("concurrency changed the verdicts:\n%s\nwant\n%s", b, a)
	}
}

func TestItemOf(t *testing.T) {
	q := &quarry.Question{ID: "q1", Text: "Who?", Answer: "The Ann", AnswerID: "e3",
		Path: quarry.Walk{{Statement: quarry.Statement{Subject: "e1", Predicate: "P1", Object: "e2", Doc: "d1"}},
			{Statement: quarry.Statement{Subject: "e3", Predicate: "P2", Object: "e2", Doc: "d2"}, Inverse: true}},
		Conditions: []quarry.Statement{{Predicate: "P9"}, {Predicate: "P8"}}}
	got := near.ItemOf(q)
	want := near.Item{ID: "q1", Text: "Who?", Answer: "e3", Relations: []string{"P1", "^P2", "?P8", "?P9"},
		Entities: []string{"e1", "e2", "e3"}, Docs: []string{"d1", "d2"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	q.AnswerID = ""
	if got := near.ItemOf(q).Answer; got != "ann" {
		t.Errorf("answer without an id: %q", got)
	}
}
