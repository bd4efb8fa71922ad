package worldgen

import (
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry/kg/bm25"
)

func TestRelations(t *testing.T) {
	table := Relations()
	if len(table) != 20 || len(said()) != len(table) {
		t.Fatalf("%d relations, %d ways to say them", len(table), len(said()))
	}
	seen := map[string]string{}
	for _, r := range table {
		if r.ID != strings.ReplaceAll(r.Label, " ", "_") {
			t.Errorf("%s is labelled %q", r.ID, r.Label)
		}
		for _, text := range []string{r.ID, r.LabelZH, r.Forward.EN, r.Forward.ZH, r.Inverse.EN, r.Inverse.ZH} {
			if text == "" || seen[text] != "" {
				t.Errorf("%s: %q is missing, or %s has it too", r.ID, text, seen[text])
			}
			seen[text] = r.ID
		}
		for _, p := range []string{r.Forward.EN, r.Forward.ZH, r.Inverse.EN, r.Inverse.ZH} {
			if strings.Count(p, "{x}") != 1 || strings.Count(p, "{") != 1 {
				t.Errorf("%s: phrase %q", r.ID, p)
			}
		}
		if got := strings.HasPrefix(r.Forward.EN, "the "); got != r.Functional {
			t.Errorf("%s: %q for a relation that is functional: %v", r.ID, r.Forward.EN, r.Functional)
		}
		s := r.Said
		checkWays(t, r, s.EN, r.Label)
		checkWays(t, r, s.OpenEN, r.Label)
		checkWays(t, r, s.ZH, r.LabelZH)
		checkWays(t, r, s.OpenZH, r.LabelZH)
		if len(s.EN) < 2 || len(s.ZH) < 2 || len(s.OpenEN) != len(s.OpenZH) {
			t.Errorf("%s: too few sentences", r.ID)
		}
	}
}

// Each way names both ends once, ends like a sentence, and can be found by the label.
func checkWays(t *testing.T, r Relation, ways []string, label string) {
	t.Helper()
	for _, way := range ways {
		if strings.Count(way, "{s}") != 1 || strings.Count(way, "{o}") != 1 || !strings.HasSuffix(way, ".") && !strings.HasSuffix(way, "。") {
			t.Errorf("%s: sentence %q", r.ID, way)
		}
		if strings.Contains(way, "{a}") != (len(r.Qualifiers) > 0) {
			t.Errorf("%s: %q and its qualifiers %v", r.ID, way, r.Qualifiers)
		}
		words := bm25.Terms(way)
		if !slices.ContainsFunc(bm25.Terms(label), func(w string) bool { return slices.Contains(words, w) }) {
			t.Errorf("%s: %q has no word of %q", r.ID, way, label)
		}
	}
}
