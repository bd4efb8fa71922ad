package worldgen

import (
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry/kg/bm25"
)

// No two entities of the largest world share a name or an alias, in either script.
func TestUniqueNames(t *testing.T) {
	w, err := New(Options{Seed: 3, Documents: MaxDocuments})
	if err != nil {
		t.Fatal(err)
	}
	seed := maphash.MakeSeed()
	latin, chinese := make([]uint64, 0, 5*MaxDocuments/4), make([]uint64, 0, 5*MaxDocuments/4)
	note := func(k kind, n int, second bool) {
		e, z := w.names.of(w, k, n, second)
		latin, chinese = append(latin, maphash.String(seed, strings.ToLower(e))), append(chinese, maphash.String(seed, z))
	}
	aliases := 0
	for i := range w.entities {
		k, n := w.kindOf(i)
		note(k, n, false)
		if w.hasAlias(i) {
			note(k, n, true)
			aliases++
		}
	}
	for script, list := range map[string][]uint64{"Latin": latin, "Chinese": chinese} {
		slices.Sort(list)
		if got := len(slices.Compact(list)); got != w.entities+aliases {
			t.Errorf("%s: %d names for %d entities and %d aliases", script, got, w.entities, aliases)
		}
	}
	if share := float64(aliases) / float64(w.entities); share < 0.24 || share > 0.26 {
		t.Errorf("%.3f of entities have an alias", share)
	}
}

// The parts of made-up words are such that a name reads in one way, and no name is inside another.
func TestSyllables(t *testing.T) {
	var marks []string
	for _, s := range syllables() {
		marks = append(marks, s.en, s.zh)
	}
	for _, list := range endings {
		for _, e := range list {
			if strings.ContainsAny(e.en, vowels) && e.en != "nia" {
				t.Errorf("ending %q has a vowel", e.en)
			}
			marks = append(marks, "-"+e.en, string([]rune(e.zh)[len([]rune(e.zh))-1:]))
		}
	}
	for i, m := range marks {
		if slices.Contains(marks[:i], m) {
			t.Errorf("%q stands twice", m)
		}
	}
	w, r := generate(t, Options{Seed: 9, Documents: 2000})
	// longest names first: whatever holds another name would be found in them
	text := " "
	for _, id := range r.order {
		text += r.entities[id].Name + " | " + r.entities[id].NameZH + " | "
	}
	for _, id := range r.order[:w.first[person]] {
		e := r.entities[id]
		if n := strings.Count(text, " "+e.Name+" "); n != 1 {
			t.Errorf("%s is %d times a name or part of one", e.Name, n)
		}
		if n := strings.Count(text, e.NameZH); n != 1 {
			t.Errorf("%s is %d times a name or part of one", e.NameZH, n)
		}
	}
	for c := range w.names.given {
		g := w.names.given[c]
		if word := w.names.syl[g/sylCount].en + w.names.syl[g%sylCount].en; len(bm25.Terms(word)) != 1 {
			t.Errorf("search passes over the given name %s", word)
		}
	}
}

func TestShuffle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5000).Draw(t, "size")
		s := newShuffle(uint64(size), random{rapid.Uint64().Draw(t, "key")})
		seen := make([]bool, size)
		for x := range size {
			y := s.at(uint64(x))
			if y >= uint64(size) || seen[y] {
				t.Fatalf("%d goes to %d, of %d", x, y, size)
			}
			seen[y] = true
		}
	})
}

func TestTwoWords(t *testing.T) {
	first, second := titled(firstList), titled(secondList)
	if len(first) != firstWords || len(second) != secondWords {
		t.Fatalf("%d first and %d second words", len(first), len(second))
	}
	terms := map[string]bool{}
	for _, w := range append(first, second...) {
		if strings.ContainsFunc(w[1:], func(r rune) bool { return !unicode.IsLower(r) }) {
			t.Errorf("%q is no plain word", w)
		}
		got := bm25.Terms(w)
		if len(got) != 1 || terms[got[0]] {
			t.Errorf("search sees %q as %q, which is nothing or another word too", w, got)
			continue
		}
		terms[got[0]] = true
	}
	for _, c := range []struct{ entities, words int }{{100, 30}, {1000, 96}, {10_000, 300}, {65_536, 768}, {MaxTwoWords, 768}} {
		a, b := twoWords(c.entities)
		if len(a)+len(b) != c.words || len(a)*len(b) < c.entities {
			t.Errorf("%d entities: %d and %d words", c.entities, len(a), len(b))
		}
	}
	w, err := New(Options{Documents: MaxTwoWords, Names: TwoWords})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool, MaxTwoWords)
	for i := range w.entities {
		name := w.name(i)[en]
		a, b, _ := strings.Cut(name, " ")
		if seen[name] || !slices.Contains(first, a) || !slices.Contains(second, b) {
			t.Fatalf("entity %d is called %q", i, name)
		}
		seen[name] = true
	}
}
