package english

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shownPlan is a plan as text; the order of conditions on one step means nothing.
func shownPlan(p Plan) string {
	out := p.Anchor
	for _, ph := range p.Steps {
		out += " | " + ph.Pattern
	}
	conds := slices.Clone(p.Conditions)
	slices.SortFunc(conds, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Phrase.Pattern, b.Phrase.Pattern), cmp.Compare(a.Name, b.Name))
	})
	for _, c := range conds {
		out += fmt.Sprintf(" | %d: %s of %s", c.Step, c.Phrase.Pattern, c.Name)
	}
	return out
}

func TestReadLoosely(t *testing.T) {
	l := Load()
	for text, want := range map[string]string{
		"Do you know the place where Xan Oto was born?":                                                       "Xan Oto | the place where {x} was born",
		"The place where Xan Oto was born is what I would like to know.":                                      "Xan Oto | the place where {x} was born",
		"Somebody asked me about the record label of Xan Oto, can you help?":                                  "Xan Oto | the record label of {x}",
		"Where lies, please, the country in which the place where Dr. Xan Oto was born lies?":                 "Dr. Xan Oto | the place where {x} was born | the country in which {x} lies",
		"It is also the record label of Red Sky. Tell me the record label of Xan Oto!":                        "Xan Oto | the record label of {x} | 1: the record label of {x} of Red Sky",
		"Name a brother or sister of the author who wrote Red Sky (also a person born in Oto), if you can.":   "Red Sky | the author who wrote {x} | a brother or sister of {x} | 1: a person born in {x} of Oto",
		"I know the date when Xan Oto died. But what is the place where a brother or sister of Ada Ota died?": "Ada Ota | a brother or sister of {x} | the place where {x} died",
		"What is the place where Xan Oto was born? It is also the place where Ada Ota died.":                  "Xan Oto | the place where {x} was born | 1: the place where {x} died of Ada Ota",
		"Where was Xan Oto born?":                           "",
		"the place where nobody was born":                   "",
		"It is also the record label of Red Sky.":           "",
		"Tell me about painters near Townton, and Xan Oto.": "",
		"":  "",
		"?": "",
		strings.Repeat("the place where ", 1<<16) + "Xan Oto was born": "", // longer than a question, and quickly refused
	} {
		p, ok := l.ReadLoosely(text)
		got := ""
		if ok {
			got = shownPlan(p)
		}
		if got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

// Reword puts a plan in wordings that Write does not have. They keep the names and the phrases.
func reword(p Plan) map[string]string {
	np := p.Anchor
	for i, ph := range p.Steps {
		np = ph.Of(np)
		for _, c := range p.Conditions {
			if c.Step == i+1 && c.Step < len(p.Steps) {
				np += also + c.Phrase.Of(c.Name) + ")"
			}
		}
	}
	var clues strings.Builder
	for _, c := range p.Conditions {
		if c.Step == len(p.Steps) {
			clues.WriteString("It is also " + c.Phrase.Of(c.Name) + ". ")
		}
	}
	return map[string]string{
		"opening": "Do you happen to know " + np + "? " + strings.TrimSpace(clues.String()),
		"tail":    "Somebody asked me about " + np + ", can you help? " + strings.TrimSpace(clues.String()),
		"order":   clues.String() + strings.ToUpper(np[:1]) + np[1:] + " is what I would like to know.",
	}
}

// Whatever Write words and Read reads back is read from the other wordings too.
func TestOtherWordings(t *testing.T) {
	l := Load()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"Xan Oto", "Dr. Ada Ota", "Bank of Xan", "Red Sky", "XOTO", "Ada Ota-Xan"})
		phrase := rapid.SampledFrom(l.Phrases)
		p := Plan{Anchor: name.Draw(t, "anchor"), Steps: rapid.SliceOfN(phrase, 1, 4).Draw(t, "steps")}
		for range rapid.IntRange(0, 2).Draw(t, "conditions") {
			p.Conditions = append(p.Conditions, Condition{rapid.IntRange(1, len(p.Steps)).Draw(t, "step"), phrase.Draw(t, "phrase"), name.Draw(t, "name")})
		}
		back, ok := l.Read(Write(p, 0))
		if !ok || shownPlan(back) != shownPlan(p) {
			return // a wording that reads as another question: synth rejects it
		}
		for how, text := range reword(p) {
			if got, ok := l.ReadLoosely(text); !ok || shownPlan(got) != shownPlan(p) {
				t.Fatalf("%s: %q\n got %s\nwant %s", how, text, shownPlan(got), shownPlan(p))
			}
		}
	})
}

// FuzzReadLoosely: no panic, and a plan starts from a piece of the text.
func FuzzReadLoosely(f *testing.F) {
	for _, s := range []string{"Do you know the place where Xan Oto was born? It is also the place where Ada Ota died.", "the the (also ) (also a) . ? !", "\xff The É. İ of", "A. B. C."} {
		f.Add(s)
	}
	l := Load()
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := l.ReadLoosely(text)
		if ok != (len(p.Steps) > 0) || ok && !strings.Contains(strings.Join(strings.Fields(text), " "), p.Anchor) && !strings.Contains(text, p.Anchor) {
			t.Fatalf("%q: %+v", text, p)
		}
	})
}
