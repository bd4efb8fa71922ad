package leak_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/english"
	"github.com/quarry-rl/quarry/synth/leak"
)

type row struct {
	Name, Question, Answer string
	Aliases, Inside, IDs   []string
	Want                   leak.Kind
	Text                   string
}

func (r row) secret() leak.Secret {
	s := leak.Secret{Answer: r.Answer, Aliases: r.Aliases, IDs: r.IDs}
	for _, n := range r.Inside {
		s.Inside = append(s.Inside, quarry.Named{Name: n})
	}
	return s
}

func readLines[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatalf("%s:%d: %v", path, len(out)+1, err)
		}
		out = append(out, v)
	}
	return out
}

// df knows which words every document has.
func df(token string) float64 {
	if strings.Contains(" common valley four ", " "+token+" ") {
		return .5
	}
	return .0001
}

func TestPlanted(t *testing.T) {
	rows := readLines[row](t, "testdata/planted.jsonl")
	if len(rows) < 50 {
		t.Fatalf("only %d planted leaks", len(rows))
	}
	for _, r := range rows {
		found := leak.Check(r.Question, r.secret(), df)
		if !slices.ContainsFunc(found, func(f leak.Finding) bool {
			return f.Kind == r.Want && f.Text == r.Text && r.Question[f.Start:f.End] == r.Text
		}) {
			t.Errorf("%s: %q: found %+v, want %s %q", r.Name, r.Question, found, r.Want, r.Text)
		}
		for _, f := range found { // one leak is not reported as something else
			if f.Kind != r.Want {
				t.Errorf("%s: %q: also %+v", r.Name, r.Question, f)
			}
		}
	}
}

func TestClean(t *testing.T) {
	for _, r := range readLines[row](t, "testdata/clean.jsonl") {
		if found := leak.Check(r.Question, r.secret(), df); found != nil {
			t.Errorf("%s: %q: %+v", r.Name, r.Question, found)
		}
	}
}

func TestRareness(t *testing.T) {
	s := leak.Secret{Answer: "Zofia Krakowiak"}
	for share, want := range map[float64]int{0: 1, .0099: 1, .01: 0, .5: 0} {
		asked := []string{}
		found := leak.Check("Which Krakowiak wrote it?", s, func(token string) float64 {
			asked = append(asked, token)
			return share
		})
		if len(found) != want || !slices.Equal(asked, []string{"zofia", "krakowiak"}) {
			t.Errorf("at df %v: %v, asked for %v", share, found, asked)
		}
	}
	if found := leak.Check("Which Krakowiak wrote it?", s, nil); len(found) != 1 {
		t.Errorf("without df: %v", found)
	}
	if found := leak.Check("Which Krakowiak did Zofia Krakowiak know?", s, nil); len(found) != 2 || found[0].Kind != leak.KindAnswerToken || found[1].Kind != leak.KindAnswer {
		t.Errorf("parts of a reported surface are reported again: %v", found)
	}
}

// TestTemplatesAreClean writes questions about the demo's graph whose secrets share no word with the anchor's name.
func TestTemplatesAreClean(t *testing.T) {
	type entity struct {
		ID, Name, Type string
		Aliases        []string
	}
	entities := map[string]entity{}
	for _, e := range readLines[entity](t, "../../examples/wiki/entities.jsonl") {
		entities[e.ID] = e
	}
	data, err := os.ReadFile("../../examples/wiki/triples.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lexicon := english.Load()
	out := map[string][][2]string{}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		out[f[0]] = append(out[f[0]], [2]string{f[1], f[2]})
	}
	ids := []string{}
	for id := range out {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	questions := 0
	for _, a := range ids {
		for _, first := range out[a] {
			for _, second := range out[first[1]] {
				p, q := lexicon.Phrase(first[0], false), lexicon.Phrase(second[0], false)
				if p == nil || q == nil || second[1] == a {
					continue
				}
				text := english.Write(english.Plan{Anchor: entities[a].Name, Steps: []*english.Phrase{p, q}}, questions)
				b, c := entities[first[1]], entities[second[1]]
				forms := append(append([]string{b.Name, c.Name}, b.Aliases...), c.Aliases...)
				words := quarry.Words(text)
				if slices.ContainsFunc(quarry.Words(strings.Join(forms, " ")), func(w string) bool { return slices.Contains(words, w) }) || strings.ContainsAny(entities[a].Name, "()[]{}") {
					continue
				}
				questions++
				secret := leak.Secret{Answer: c.Name, Aliases: c.Aliases, Inside: []quarry.Named{{Name: b.Name, Aliases: b.Aliases}}, IDs: []string{a, b.ID, c.ID}}
				if found := leak.Check(text, secret, nil); found != nil {
					t.Errorf("%q: %+v", text, found)
				}
				// and each of them with the answer put in is caught
				if found := leak.Check(text+" "+c.Name, secret, nil); len(c.Name) > 1 && found == nil && len(quarry.Words(c.Name)) > 0 {
					t.Errorf("%q with answer %q passes", text, c.Name)
				}
				if questions == 600 {
					return
				}
			}
		}
	}
	if questions < 100 {
		t.Errorf("only %d questions", questions)
	}
}

func TestRewarded(t *testing.T) {
	path := []quarry.Named{{ID: "1", Name: "Ur"}, {ID: "2", Name: "Gilgamesh", Aliases: []string{"Bilgames", "吉爾伽美什"}}, {ID: "3", Name: "江"}, {ID: "4", Name: "长江"}}
	for question, want := range map[string]string{
		"Who was our king?":          "1 2 3 4",
		"Who ruled UR, and in Ur?":   "2 3 4",
		"Who was bilgames?":          "1 3 4",
		"吉尔伽美什是谁？":                   "1 3 4",
		"流經武漢的長江":                    "1 2 3",
		"":                           "1 2 3 4",
		"Bilgames of Ur at the 长 江岸": "3",
	} {
		var ids []string
		for _, e := range leak.Rewarded(question, path) {
			ids = append(ids, e.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
	if got := leak.NewMatcher(path).Find("Ur, ur, Gilgamesh or Bilgames"); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("aliases are not counted once: %v", got)
	}
}

// TestDisguises puts a name into a question, then changes what must not matter.
func TestDisguises(t *testing.T) {
	wide := func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '　'
			case '!' <= r && r <= '~':
				return r + 0xFEE0
			}
			return r
		}, s)
	}
	disguises := []func(string) string{wide, strings.ToUpper, strings.ToLower, func(s string) string { return strings.ReplaceAll(s, " ", "\r\n ") }}
	names := rapid.OneOf(rapid.StringMatching(`[A-Z][a-z]{2,8}x( [A-Z][a-z]{2,8}x){0,2}`), rapid.StringOfN(rapid.SampledFrom([]rune("龙马国书长东门卢")), 2, 5, -1))
	rapid.Check(t, func(t *rapid.T) {
		name := names.Draw(t, "name")
		disguised := rapid.SampledFrom(disguises).Draw(t, "disguise")(name)
		question := "Who met " + disguised + ", and where?"
		found := leak.Check(question, leak.Secret{Answer: name}, nil)
		if len(found) == 0 || found[0].Kind != leak.KindAnswer || found[0].Text != disguised {
			t.Fatalf("%q in %q: %+v", name, question, found)
		}
	})
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{"Who?", "Ｗｈｏ　长 江·约", "\xff\xfe{", "ǰ̇İẞς", "가각 각", "e\u0301\u0301\u0301", "(((", "%s {a} Q42 -3f2a9c", "臺 灣", "ٷ"} {
		f.Add(s, "Jo", "长江")
	}
	f.Fuzz(func(t *testing.T, question, answer, alias string) {
		for _, x := range leak.Check(question, leak.Secret{Answer: answer, Aliases: []string{alias}, IDs: []string{alias}, Inside: []quarry.Named{{Name: question}}}, nil) {
			if x.Start < 0 || x.Start >= x.End || x.End > len(question) || question[x.Start:x.End] != x.Text {
				t.Fatalf("%q: %+v", question, x)
			}
		}
		folded := leak.Fold(question)
		at := 0
		for i := range folded.Text {
			start, end := folded.Range(i, i+1)
			if start < at || end <= start {
				t.Fatalf("%q: byte %d comes from %d to %d after %d", question, i, start, end, at)
			}
			at = start
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	question := "I am looking for the place where the person who founded the company that made the engine of the Blue Arrow was born. What is it?"
	s := leak.Secret{Answer: "Northampton", Aliases: []string{"Northampton, England", "北安普敦"}}
	for i := range 4 {
		s.Inside = append(s.Inside, quarry.Named{Name: fmt.Sprintf("Somebody Number %d", i), Aliases: []string{"Some Alias", "另一个名字"}})
	}
	b.ReportAllocs()
	for b.Loop() {
		leak.Check(question, s, nil)
	}
}
