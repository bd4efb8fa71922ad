package english

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFrames(t *testing.T) {
	l := Load()
	born, team, sibling, in := l.Phrase("P19", false), l.Phrase("P54", true), l.Phrase("P3373", false), l.Phrase("P17", false)
	one := Plan{Anchor: "Xan Oto", Steps: []*Phrase{born}}
	who := Plan{Anchor: "FC Xan", Steps: []*Phrase{team, sibling}, Conditions: []Condition{{1, l.Phrase("P27", true), "Ota"}, {2, l.Phrase("P69", true), "Ota School"}, {2, l.Phrase("P166", true), "Xan Prize"}}}
	mid := Plan{Anchor: "Xan Oto", Steps: []*Phrase{born, in}, Conditions: []Condition{{1, l.Phrase("P206", true), "Lake Ota"}}}
	for _, tc := range []struct {
		plan  Plan
		frame int
		want  string
	}{
		{one, 0, "What is the place where Xan Oto was born?"},
		{one, 1, "I am looking for the place where Xan Oto was born. What is it?"},
		{one, 2, "Can you tell me the place where Xan Oto was born?"},
		{one, 3, "Please find the place where Xan Oto was born."},
		{one, 4, "What is the place where Xan Oto was born?"},
		{who, 0, "Who is a brother or sister of a player who played for FC Xan (also a person who is a citizen of Ota)? That person is also a person who attended Ota School. That person is also a winner of Xan Prize."},
		{who, 1, "I am looking for a brother or sister of a player who played for FC Xan (also a person who is a citizen of Ota). That person is also a person who attended Ota School. That person is also a winner of Xan Prize. Who is it?"},
		{who, 2, "Can you tell me a brother or sister of a player who played for FC Xan (also a person who is a citizen of Ota)? That person is also a person who attended Ota School. That person is also a winner of Xan Prize."},
		{who, 3, "Please find a brother or sister of a player who played for FC Xan (also a person who is a citizen of Ota). That person is also a person who attended Ota School. That person is also a winner of Xan Prize."},
		{mid, 0, "What is the country in which the place where Xan Oto was born (also a place next to Lake Ota) lies?"},
	} {
		if got := Write(tc.plan, tc.frame); got != tc.want {
			t.Errorf("frame %d:\n got %q\nwant %q", tc.frame, got, tc.want)
		}
		if got, ok := l.Read(tc.want); !ok || !same(got, tc.plan) {
			t.Errorf("%q is read as %+v, %v", tc.want, got, ok)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	l := Load()
	for _, text := range []string{
		"", "?", "What is ?", "What is Xan Oto?", "Where was Xan Oto born?", "Please find the place where Xan Oto was born",
		"What is the place where Xan Oto was born? It is also old.",
		"What is the place where Xan Oto was born? It is also a place in Ota",
		"What is Xan Oto (also a place in Ota)?",
		"What is the place where  was born?x",
		"What is the place where Xan Oto (also old) was born?",
	} {
		p, ok := l.Read(text)
		if ok && !strings.Contains(text, p.Anchor) || ok && text != Write(p, 0) {
			t.Errorf("%q is read as %+v", text, p)
		}
		if !ok && (p.Anchor != "" || p.Steps != nil || p.Conditions != nil) {
			t.Errorf("%q gives no plan, but %+v", text, p)
		}
	}
	if p, ok := l.Read("Where was Xan Oto born?"); ok {
		t.Errorf("an unknown wording is read as %+v", p)
	}
}

func same(a, b Plan) bool {
	return a.Anchor == b.Anchor && slices.Equal(a.Steps, b.Steps) && slices.Equal(a.Conditions, b.Conditions)
}

// plans draws plans of 1 to hops steps and up to 4 conditions, in the order of their steps, around names.
func plans(l *Lexicon, name *rapid.Generator[string], hops int) *rapid.Generator[Plan] {
	return rapid.Custom(func(t *rapid.T) Plan {
		phrase := rapid.SampledFrom(l.Phrases)
		p := Plan{Anchor: name.Draw(t, "anchor"), Steps: rapid.SliceOfN(phrase, 1, hops).Draw(t, "steps")}
		for range rapid.IntRange(0, 4).Draw(t, "conditions") {
			p.Conditions = append(p.Conditions, Condition{rapid.IntRange(1, len(p.Steps)).Draw(t, "step"), phrase.Draw(t, "phrase"), name.Draw(t, "name")})
		}
		slices.SortStableFunc(p.Conditions, func(a, b Condition) int { return a.Step - b.Step })
		return p
	})
}

// clear says whether every bracket has one noun phrase to belong to: it does not when the step it describes ends with
// what it is asked about, for then that noun phrase ends there too and is nearer.
func clear(p Plan) bool {
	return !slices.ContainsFunc(p.Conditions, func(c Condition) bool {
		return c.Step > 1 && c.Step < len(p.Steps) && p.Steps[c.Step-1].after == ""
	})
}

// TestReadInvertsWrite: plans around plain names, up to the largest shape, are read back, brackets permitting; where
// a bracket is unclear, what is read says the same words.
func TestReadInvertsWrite(t *testing.T) {
	l := Load()
	rapid.Check(t, func(t *rapid.T) {
		p := plans(l, rapid.StringMatching(`[A-Z][a-z]{2,6}( [A-Z][a-z]{1,6}){0,2}`), 6).Draw(t, "plan")
		n := rapid.IntRange(0, NFrames()-1).Draw(t, "frame")
		text := Write(p, n)
		got, ok := l.Read(text)
		switch {
		case clear(p) && (!ok || !same(got, p)):
			t.Fatalf("%q\nwas written from %s\nand is read as %s, %v", text, show(p), show(got), ok)
		case ok && Write(got, n) != text:
			t.Fatalf("%q\nis read as %s\nwhich says %q", text, show(got), Write(got, n))
		}
	})
}

// TestReadOnRealNames: with the names of the shipped data, whatever is read says the same words, and of the plans with
// clear brackets at least 95 % are read back as they were.
func TestReadOnRealNames(t *testing.T) {
	l := Load()
	var names []string
	for _, e := range entities(t) {
		names = append(names, e.Name)
	}
	read, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			p := plans(l, rapid.SampledFrom(names), 4).Draw(t, "plan")
			n := rapid.IntRange(0, NFrames()-1).Draw(t, "frame")
			text := Write(p, n)
			got, ok := l.Read(text)
			if ok && plain(Write(got, n)) != plain(text) {
				t.Fatalf("%q\nis read as %s\nwhich says %q", text, show(got), Write(got, n))
			}
			if clear(p) {
				all++
				if ok && same(got, p) {
					read++
				}
			}
		}
	})
	share := float64(read) / float64(all)
	t.Logf("%d of %d plans are read back: %.2f %%", read, all, 100*share)
	if share < 0.95 {
		t.Errorf("%.1f %% of the plans are read back, want 95", 100*share)
	}
}

func show(p Plan) string {
	out := p.Anchor
	for _, s := range p.Steps {
		out += " > " + s.Pattern
	}
	for _, c := range p.Conditions {
		out += " & " + string(rune('0'+c.Step)) + ": " + c.Phrase.Of(c.Name)
	}
	return out
}

// plain drops what Read does not tell apart: Who and What, and the two ways to begin a condition.
func plain(text string) string {
	return strings.NewReplacer("Who is", "What is", "That person is also", "It is also").Replace(text)
}

// FuzzRead: whatever is read says the words it was read from. Read also takes a bracket on the last step, where Write
// makes a sentence; only then the words may differ.
func FuzzRead(f *testing.F) {
	f.Add("What is the place where Xan Oto was born?")
	f.Add("I am looking for a place in a place on X (also a place in Y) (also a place in Z). It is also a place in V. What is it?")
	f.Add("Please find a film by director X. That person is also a member of Y.")
	f.Add("Can you tell me the place where a place in ? It is also a place in  was born?")
	l := Load()
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := l.Read(text)
		if !ok {
			if p.Anchor != "" || p.Steps != nil || p.Conditions != nil {
				t.Fatalf("nothing read, but %+v", p)
			}
			return
		}
		brackets := 0
		for _, c := range p.Conditions {
			if c.Step < len(p.Steps) {
				brackets++
			}
			if c.Step < 1 || c.Step > len(p.Steps) || c.Phrase == nil || c.Name == "" {
				t.Fatalf("condition %+v of %d steps", c, len(p.Steps))
			}
		}
		if strings.Count(text, also) > brackets {
			return
		}
		want := plain(strings.TrimSpace(text))
		for n := range NFrames() {
			if plain(Write(p, n)) == want {
				return
			}
		}
		t.Fatalf("%q is read as %s", text, show(p))
	})
}
