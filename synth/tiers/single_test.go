package tiers

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
)

func TestQueries(t *testing.T) {
	df := map[string]int{"who": 90, "wrote": 40, "song": 30, "of": 95, "red": 20, "sky": 4, "band": 25, "st": 9, "ives": 2, "is": 99, "the": 99,
		"北京": 5, "京大": 2, "大学": 7, "学的": 1, "的校": 3}
	frequency := func(s string) int { return df[s] }
	named := func(forms ...string) quarry.Named { return quarry.Named{Name: forms[0], Aliases: forms[1:]} }
	for _, c := range []struct {
		text  string
		clues []quarry.Named
		want  []string
	}{
		{"Who wrote the song of Red Sky? The band is of St. Ives.", []quarry.Named{named("Red Sky"), named("Saint Ives", "St Ives", "Ives")},
			[]string{"Who wrote the song of Red Sky? The band is of St. Ives.", "red sky band st ives", "Red Sky St Ives", "Who wrote the song of Red Sky?"}},
		{"Who wrote the song of Red Sky?", nil, []string{"Who wrote the song of Red Sky?", "who wrote song red sky", "Red Sky"}},
		{"北京大学的校长是谁？他生于哪年？", []quarry.Named{named("北京大学", "京")}, []string{"北京大学的校长是谁？他生于哪年？", "北京 京大 大学 学的 的校", "北京大学", "北京大学的校长是谁？"}},
		{"", nil, nil},
		{"?", nil, []string{"?"}},
		{"unknown words only", nil, []string{"unknown words only"}},
	} {
		if diff := cmp.Diff(c.want, Queries(c.text, c.clues, frequency)); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

func TestFirstSentence(t *testing.T) {
	for text, want := range map[string]string{
		"J. R. Tolkien wrote it. Who?": "J. R. Tolkien wrote it.",
		"Dr. No is it! And then?":      "Dr. No is it!",
		"In 1850. What was it":         "In 1850.",
		"about 3.5 kg. of it":          "about 3.5 kg. of it",
		"她是谁。在哪":                       "她是谁。",
		"no end":                       "no end",
		"":                             "",
	} {
		if got := firstSentence(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestStands(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       bool
	}{
		{"our town", "Ur", false}, {"in Ur, then", "ur", true}, {"Ｕｒ", "Ur", true}, {"他在Ur城", "Ur", true}, {"北京大学", "北京", true}, {"北京", "京", false},
		{"The Red Sky", "red  sky", true}, {"", "x", false}, {"x", "", false}, {"x", "?!", false}, {"aab ab", "ab", true},
	} {
		if got := stands(c.text, c.name); got != c.want {
			t.Errorf("%q in %q: %v", c.name, c.text, got)
		}
	}
}

// shelf holds documents as lists of ids.
type shelf struct {
	holds  [][]string
	ranked map[string][]int
}

func (s shelf) Search(query string, k int) []int {
	return s.ranked[query][:min(k, len(s.ranked[query]))]
}
func (s shelf) Holds(doc int, e quarry.Named) bool { return slices.Contains(s.holds[doc], e.ID) }
func (s shelf) Frequency(term string) int          { return 1 }

func TestSearchOnce(t *testing.T) {
	q := &quarry.Question{Text: "Who is it? It is of Oto.", AnswerID: "a"}
	clue := func(ids ...string) (out []quarry.Named) {
		for _, id := range ids {
			out = append(out, quarry.Named{ID: id})
		}
		return out
	}
	first, whole := "Who is it?", q.Text
	for name, c := range map[string]struct {
		shelf shelf
		clues []quarry.Named
		want  *SearchHit
	}{
		"nothing found":          {shelf{}, clue("x"), nil},
		"answer, no clue":        {shelf{[][]string{{"a"}}, map[string][]int{whole: {0}}}, clue("x"), nil},
		"clue, no answer":        {shelf{[][]string{{"x"}}, map[string][]int{whole: {0}}}, clue("x"), nil},
		"answer and one of two":  {shelf{[][]string{{"a", "x"}}, map[string][]int{whole: {0}}}, clue("x", "y"), &SearchHit{whole, 0, 1, 2}},
		"one of three":           {shelf{[][]string{{"a", "x"}}, map[string][]int{whole: {0}}}, clue("x", "y", "z"), nil},
		"two documents apart":    {shelf{[][]string{{"a"}, {"x"}}, map[string][]int{whole: {0, 1}}}, clue("x"), nil},
		"by the first sentence":  {shelf{[][]string{{}, {"a", "x"}}, map[string][]int{whole: {0}, first: {0, 1}}}, clue("x"), &SearchHit{first, 1, 1, 1}},
		"sixth":                  {shelf{[][]string{{}, {}, {}, {}, {}, {"a", "x"}}, map[string][]int{whole: {0, 1, 2, 3, 4, 5}}}, clue("x"), nil},
		"no clues: answer alone": {shelf{[][]string{{"a"}}, map[string][]int{whole: {0}}}, nil, &SearchHit{whole, 0, 0, 0}},
	} {
		if diff := cmp.Diff(c.want, SearchOnce(c.shelf, q, c.clues)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOracleContext(t *testing.T) {
	hop := func(text string) quarry.Hop { return quarry.Hop{Statement: quarry.Statement{Text: text}} }
	q := &quarry.Question{ID: "q", Text: "Who?", Answer: "Ada Ota", Aliases: []string{"Ota"}, Path: quarry.Walk{hop("one"), hop("two"), hop("one")},
		Conditions: []quarry.Statement{{Text: "three"}, {}}}
	pool := []string{"", "one", "it was Ota", "d1", "Ada Ota again", "d2", "d2", "d3"}
	got, err := OracleContext(1, q, pool)
	if err != nil {
		t.Fatal(err)
	}
	sorted := slices.Sorted(slices.Values(got))
	if diff := cmp.Diff([]string{"d1", "d2", "d3", "one", "three", "two"}, sorted); diff != "" {
		t.Error(diff)
	}
	orders := map[string]bool{}
	for seed := range uint64(20) {
		c, _ := OracleContext(seed, q, pool)
		orders[strings.Join(c, " ")] = true
	}
	q.ID = "r"
	other, _ := OracleContext(1, q, pool)
	if len(orders) < 10 || slices.Equal(got, other) {
		t.Errorf("%d orders of 20 seeds, other question the same: %v", len(orders), slices.Equal(got, other))
	}
	if got, want := OraclePrompt(q, []string{"b", "a"}), "[1] b\n[2] a\n\nWho?"; got != want {
		t.Errorf("%q", got)
	}
	for name, p := range map[string][]string{"empty pool": nil, "two": {"d1", "d2", "one", "Ota"}} {
		if _, err := OracleContext(1, q, p); quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	q.Path[1].Text = ""
	if _, err := OracleContext(1, q, pool); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "hop 2") {
		t.Errorf("%v", err)
	}
}

// FuzzQueries: no panic; queries are distinct, not empty, and the first is the question.
func FuzzQueries(f *testing.F) {
	for _, s := range []string{"Who wrote Red Sky? It is old.", "北京大学的校长是谁？", "\xff. A", "。", "A.", "x北y"} {
		f.Add(s, "Red Sky")
	}
	f.Fuzz(func(t *testing.T, text, clue string) {
		qs := Queries(text, []quarry.Named{{Name: clue}}, func(s string) int { return len(s) })
		if trimmed := strings.TrimSpace(text); trimmed != "" && (len(qs) == 0 || qs[0] != trimmed) || len(qs) > 4 {
			t.Fatalf("%q", qs)
		}
		for i, q := range qs {
			if strings.TrimSpace(q) == "" || slices.Contains(qs[:i], q) || utf8.ValidString(text) && utf8.ValidString(clue) && !utf8.ValidString(q) {
				t.Fatalf("%q", qs)
			}
		}
	})
}
