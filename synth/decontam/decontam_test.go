package decontam_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/synth/decontam"
)

type planted struct {
	Question string
	Answer   string
	Entities []string
	Pages    []string
}

// benchmarkItems are made-up questions of all lengths in both languages.
func benchmarkItems(t testing.TB) []decontam.Item {
	t.Helper()
	data, err := os.ReadFile("testdata/benchmark.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []planted
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	var out []decontam.Item
	for _, r := range rows {
		out = append(out, decontam.Item{Text: r.Question, Answers: []string{r.Answer}, Entities: r.Entities, Pages: r.Pages})
	}
	return out
}

func build(t testing.TB, items []decontam.Item) *decontam.Benchmark {
	t.Helper()
	b, err := decontam.Build("planted", items, decontam.Salt{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var wide = strings.NewReplacer(",", "，", "?", "？", ".", "。", "'", "’", "(", "（", ")", "）", ":", "：", ";", "；", "!", "！", `"`, "”")

var narrow = strings.NewReplacer("，", ",", "？", "?", "。", ".", "、", ", ", "《", `"`, "》", `"`)

var disguises = map[string]func(string) string{
	"re-wrapped": func(s string) string {
		rs := []rune(s)
		var b strings.Builder
		for i, r := range rs {
			if r == ' ' && i%2 == 0 {
				b.WriteString("\r\n  ")
				continue
			}
			b.WriteRune(r)
			if r > 0x2E80 && i%7 == 3 {
				b.WriteByte('\n')
			}
		}
		return b.String()
	},
	"translated punctuation": func(s string) string {
		if narrow.Replace(s) != s {
			return narrow.Replace(s)
		}
		return wide.Replace(s)
	},
	"full width": func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '　'
			case '!' <= r && r <= '~':
				return r + 0xFEE0
			}
			return r
		}, s)
	},
	"in a longer question": func(s string) string {
		more := "Once you have done that, find which of the two rivers that meet north of the old town carries more water in spring, name the bridge " +
			"closest to their meeting, say who paid for it, what it was called before the war, and in which year the last of its towers came down?"
		return "Take your time and answer the following with care. " + s + " " + more
	},
	"case and diacritics": func(s string) string {
		return strings.ToUpper(strings.NewReplacer("a", "á", "o", "ø", "u", "ü", "ss", "ß", "n", "n\u0303").Replace(s))
	},
	"as it is": func(s string) string { return s },
}

func TestPlantedLeaks(t *testing.T) {
	items := benchmarkItems(t)
	b := build(t, items)
	for name, disguise := range disguises {
		for i, it := range items {
			text := disguise(it.Text)
			found := b.Check(decontam.Item{Text: text})
			ok := false
			for _, m := range found {
				ok = ok || m.Question == i+1 && m.Rule == decontam.RuleGram && m.Benchmark == "planted"
			}
			// three words stand in many questions: they count as a whole question only
			if ok == (name == "in a longer question" && len(strings.Fields(it.Text)) < 4 && i == 5) {
				t.Errorf("%s: %q, found %+v", name, text, found)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	items := benchmarkItems(t)
	b := build(t, items)
	base := items[0] // Which river flows through the town where the painter Odalys Brennick founded the Marrow Street School?
	for name, tc := range map[string]struct {
		it   decontam.Item
		want string
	}{
		"unrelated":            {decontam.Item{Text: "In what year did the first ferry cross Lake Ondine?", Answers: []string{"1820"}}, ""},
		"answer only":          {decontam.Item{Text: "What water does the abbey of Sint Joris overlook?", Answers: base.Answers}, ""},
		"answer and entities":  {decontam.Item{Text: "Odalys Brennick worked near which water?", Answers: []string{"the teviel"}}, "1 contaminated_answer"},
		"entities only":        {decontam.Item{Text: "Who taught Odalys Brennick at Marrow Street School?", Answers: []string{"Jon Vey"}}, ""},
		"half of the entities": {decontam.Item{Text: "By what water?", Answers: base.Answers, Entities: []string{"Odalys Brennick", "Norland"}}, "1 contaminated_answer"},
		"a third of them":      {decontam.Item{Text: "By what water?", Answers: base.Answers, Entities: []string{"Odalys Brennick", "Norland", "Jon Vey"}}, ""},
		"pages": {decontam.Item{Text: "By what water?", Pages: []string{"https://en.wikipedia.org/wiki/Marrow_Street_School", "odalys brennick", "Odalys_Brennick"}},
			"1 contaminated_pages"},
		"one page of two": {decontam.Item{Text: "By what water?", Pages: []string{"Odalys Brennick"}}, ""},
		"seven words of it": {decontam.Item{Text: "Odd: the town where the painter Odalys Brennick, who hated every single one of the rivers, was laughed at"},
			""},
		"reworded": {decontam.Item{Text: "Which river flows through the village where painter Odalys Brennick once founded the Marrow Street School?"},
			"1 contaminated_near"},
		"short, whole":        {decontam.Item{Text: "who is NEMO?"}, "6 contaminated_text 6 contaminated_near"},
		"short, in another":   {decontam.Item{Text: "Who is Nemo and why did the captain of that ship never come back to shore?"}, ""},
		"nothing":             {decontam.Item{}, ""},
		"punctuation":         {decontam.Item{Text: "?!", Answers: []string{"?"}, Pages: []string{""}}, ""},
		"nineteen characters": {decontam.Item{Text: "他听说建立了白鹭书院的画家沈望舒出生的那座小城，便连夜乘船去了北方的海边"}, ""},
	} {
		var got []string
		for _, m := range b.Check(tc.it) {
			got = append(got, fmt.Sprint(m.Question, " ", m.Rule))
			if (m.Rule == decontam.RuleNear) != (m.Similarity >= .5) {
				t.Errorf("%s: %+v", name, m)
			}
		}
		if s := strings.Join(got, " "); s != tc.want && !(name == "short, whole" && strings.Contains(s, "6 contaminated_text")) {
			t.Errorf("%s: %q, want %q", name, s, tc.want)
		}
	}
}

func TestLongQuestions(t *testing.T) {
	long := make([]string, 50)
	for i := range long {
		long[i] = fmt.Sprintf("word%d", i)
	}
	b := build(t, []decontam.Item{{Text: strings.Join(long, " ")}})
	filler := strings.Fields(strings.Repeat("something quite different stands here now ", 10))
	for name, tc := range map[string]struct {
		text []string
		want bool
	}{
		"twelve words in a long one":  {append(append([]string{}, filler...), long[5:17]...), false},
		"thirteen in a long one":      {append(append([]string{}, filler...), long[5:18]...), true},
		"eight in a short one":        {append(append([]string{}, filler[:20]...), long[5:13]...), true},
		"seven in a short one":        {append(append([]string{}, filler[:20]...), long[5:12]...), false},
		"eight in one of forty words": {append(append([]string{}, filler[:32]...), long[5:13]...), false},
		"eight in one of 39 words":    {append(append([]string{}, filler[:31]...), long[5:13]...), true},
	} {
		if found := b.Check(decontam.Item{Text: strings.Join(tc.text, " ")}); (len(found) > 0) != tc.want {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	if _, err := decontam.Build("x", []decontam.Item{{Text: "Who?"}, {Text: "?!"}}, decontam.Salt{}); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "x question 2") {
		t.Error(err)
	}
}

func TestItemOf(t *testing.T) {
	q := &quarry.Question{Text: "Who?", Answer: "Ann", Aliases: []string{"Anna"}, Path: quarry.Walk{{Statement: quarry.Statement{Doc: "d1"}}, {Statement: quarry.Statement{Doc: "d2"}}}}
	got := decontam.ItemOf(q, func(d string) string { return "title of " + d })
	if fmt.Sprint(got) != fmt.Sprint(decontam.Item{Text: "Who?", Answers: []string{"Ann", "Anna"}, Pages: []string{"title of d1", "title of d2"}}) {
		t.Errorf("%+v", got)
	}
	if got := decontam.ItemOf(q, nil); got.Pages != nil {
		t.Errorf("%+v", got)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	for name, tc := range map[string]struct{ file, content, want string }{
		"lines":       {"a.txt", "Who?\r\n\n  What now? \n", "[{Who? [] [] []} {What now? [] [] []}]"},
		"JSON lines":  {"a.jsonl", `{"question":"Who?","answer":"Ann","answer_aliases":["A."]}` + "\n" + `{"Query":"What?","golden_answers":["x",7]}`, "[{Who? [Ann A.] [] []} {What? [x 7] [] []}]"},
		"array":       {"a.json", `[{"question":"Who?","answer":{"b":"2","a":["1"]}}]`, "[{Who? [1 2] [] []}]"},
		"facts":       {"a.json", `[{"question":"Who?","supporting_facts":[["Ann",0],["Bob",1]]}]`, "[{Who? [] [] [Ann Bob]}]"},
		"parts":       {"a.json", `[{"question":"Who?","decomposition":[{"question":"x","evidence":{"title":"Ann","url":"u"},"decomposition":[{"evidence":{"url":"v"}}]}]}]`, "[{Who? [] [] [Ann v]}]"},
		"columns":     {"a.json", `[{"question":"Who?","supporting_facts":{"title":["Ann"],"sent_id":[0]},"entities":["E"]}]`, "[{Who? [] [E] [Ann]}]"},
		"byte order":  {"a.jsonl", "\xef\xbb\xbf{\"question\":\"Who?\"}\n", "[{Who? [] [] []}]"},
		"over lines":  {"a.jsonl", "{\n\"question\":\"Who?\"\n}\n\n{\"problem\":\"P\"}", "[{Who? [] [] []} {P [] [] []}]"},
		"empty first": {"a.jsonl", `{"question":"","input":"Who?"}`, "[{Who? [] [] []}]"},
	} {
		path := filepath.Join(dir, tc.file)
		if err := os.WriteFile(path, []byte(tc.content), 0o644); err != nil {
			t.Fatal(err)
		}
		items, err := decontam.Read(ctx, path)
		if got := fmt.Sprint(items); err != nil || got != tc.want {
			t.Errorf("%s: %s, want %s, error %v", name, got, tc.want, err)
		}
	}
	for name, tc := range map[string]struct{ file, content, want string }{
		"empty":       {"b.txt", "\n\n", "holds no question"},
		"no object":   {"b.jsonl", "{\"question\":\"Who?\"}\n\n7\n", "b.jsonl:3: expected a JSON object"},
		"no question": {"b.jsonl", "{\"question\":\"Who?\"}\n{\"id\":3,\"q\":\"x\"}\n", "b.jsonl:2: expected a text under one of question, query"},
		"cut off":     {"b.json", `[{"question":"Who?"},`, "b.json:1"},
		"binary":      {"b.txt", "Who?\n\x00\xff\n", "b.txt:2: expected text"},
		"no gzip":     {"b.gz", "Who?\n", "b.gz"},
	} {
		path := filepath.Join(dir, tc.file)
		if err := os.WriteFile(path, []byte(tc.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := decontam.Read(ctx, path); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := decontam.Read(canceled, filepath.Join(dir, "a.json")); quarry.KindOf(err) != quarry.KindCanceled {
		t.Errorf("canceled: %v", err)
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"Who?\n", `{"question":"a","answer":[["x"]]}`, `[{"question":"a","supporting_facts":{"title":"x"}}]`, "[", "{", "[{}", "\xef\xbb\xbf{"} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "fuzz.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		items, err := decontam.Read(context.Background(), path)
		if (err == nil) != (len(items) > 0) {
			t.Fatalf("%d items, error %v", len(items), err)
		}
		for _, it := range items {
			if strings.TrimSpace(it.Text) == "" {
				t.Fatalf("%q gives an item without text", data)
			}
		}
	})
}
