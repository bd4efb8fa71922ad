package pocket

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	quarry "github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/english"
	"github.com/quarry-rl/quarry/rollout/tokens"
)

var update = flag.Bool("update", false, "write the golden files")

// talk is a conversation that ends where the assistant speaks next.
type talk struct {
	closed bool // no tools
	said   []quarry.Message
}

func ask(question string) *talk {
	return &talk{said: []quarry.Message{{Role: "system", Content: "You answer questions by searching."}, {Role: "user", Content: question}}}
}

func (k *talk) add(role, content string) *talk {
	k.said = append(k.said, quarry.Message{Role: role, Content: content})
	return k
}

// search is a call with the passages it brings, title and sentence in turn.
func (k *talk) search(query string, left int, passages ...string) *talk {
	var b strings.Builder
	for i := 0; i < len(passages); i += 2 {
		fmt.Fprintf(&b, "[%d] %s\n%s\n", i/2+1, passages[i], passages[i+1])
	}
	return k.add("assistant", searchText(searchTool, query)).add("tool", fmt.Sprintf("%sSearches left: %d", b.String(), left))
}

func (k *talk) ids() []int32 {
	var tools []quarry.Tool
	if !k.closed {
		tools = []quarry.Tool{{Name: searchTool, Description: "Search.", Parameters: json.RawMessage(`{"type": "object"}`)}}
	}
	ids, _, _ := tokens.RenderConversation(k.said, tools)
	if !tokens.EndsOpen(ids) {
		ids = append(ids, tokens.AssistantOpen()...)
	}
	return ids
}

func enumerate(t testing.TB, r *Reader, k *talk, guesses ...string) *Choices {
	t.Helper()
	c, err := r.Enumerate(k.ids(), guesses)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// candidate finds the features of a text, nil when it is not offered.
func candidate(c *Choices, text string) []uint16 {
	for _, k := range c.Candidates {
		if string(k.Text) == text {
			return k.Features
		}
	}
	return nil
}

func names(r *Reader, fs []uint16) []string {
	var out []string
	for _, f := range fs {
		out = append(out, r.f.names[f])
	}
	return out
}

const (
	oneStep  = "What is the place where Ada Example was born?"
	twoSteps = "What is the country in which the place where Ada Example was born lies?"
)

func born() *talk {
	return ask(twoSteps).search("Ada Example place born", 4, "Ada Example", "Ada Example (born 1900 in Sampleville, Testland) was a painter.",
		"Bob Other", "Bob Other met Ada Example in Otherton .")
}

func TestCandidatesOfConversations(t *testing.T) {
	r := NewReader()
	q := func(s string) string { return searchText(searchTool, s) }
	for _, k := range []struct {
		name    string
		talk    *talk
		guesses []string
		has     []string
		hasNot  []string
	}{
		{"first turn", ask(twoSteps), nil,
			[]string{q("Ada Example"), q("Ada Example born"), answerText("Ada Example"), "I do not know."},
			[]string{answerText("Sampleville"), answerText("Ada")}},
		{"after a search", born(), nil,
			[]string{q("Sampleville country lies"), q("Sampleville"), answerText("Sampleville"), answerText("Testland"), answerText("Otherton"), answerText("Bob Other"), answerText("1900")},
			nil},
		{"after an error", ask(oneStep).add("assistant", searchText("lookup", "Ada Example")).add("tool", "Error: unknown tool \"lookup\"; the tools are: search\nSearches left: 4"), nil,
			[]string{q("Ada Example born"), answerText("Ada Example")}, []string{answerText("Error"), q("Error")}},
		{"after an error with a search in it", ask(oneStep).add("assistant", q("Ada Example")).add("tool", "Error: the search service failed: Boom Town\nSearches left: 4"), nil,
			[]string{q("Ada Example born")}, []string{answerText("Boom Town")}},
		{"no passages", ask(oneStep).add("assistant", q("Ada Example")).add("tool", "No passages found.\nSearches left: 4"), nil,
			[]string{q("Ada Example born")}, []string{answerText("No")}},
		{"no searches left", ask(oneStep).search("Ada Example born", 0, "Ada Example", "Ada Example was born in Sampleville."), nil,
			[]string{answerText("Sampleville")}, []string{q("Sampleville"), q("Ada Example")}},
		{"closed book", &talk{closed: true, said: ask(oneStep).said}, []string{"Guesston", "Ada Example"},
			[]string{answerText("Ada Example"), answerText("Guesston")}, []string{q("Ada Example")}},
		{"guesses beside a search", born(), []string{"sampleville", "Guesston", "...", "guesston"},
			[]string{answerText("Sampleville"), answerText("Guesston")}, []string{answerText("sampleville"), answerText("guesston"), answerText("...")}},
		{"hint", born().add("user", `Hint: look again at "Hintown"; a step on the way to the answer is still to be found.`), nil,
			[]string{answerText("Hintown"), q("Hintown country lies"), answerText("Sampleville")}, []string{answerText("Hint")}},
		{"unknown wording", ask("Tell me about painters near Townton, and Ada Example."), nil,
			[]string{q("Ada Example"), q("Ada Example me about painters near"), answerText("Ada Example")}, nil},
		{"no name at all", ask("who painted this?"), []string{"Guesston"}, []string{answerText("Guesston"), "I do not know."}, []string{answerText("")}},
		{"quotes and backslashes", ask(`What is the place where Ada "Adi" Ex\ample was born?`), nil,
			[]string{q(`Ada "Adi" Ex\ample born`)}, nil},
	} {
		c := enumerate(t, r, k.talk, k.guesses...)
		for _, text := range k.has {
			if candidate(c, text) == nil {
				t.Errorf("%s: %s is not offered", k.name, text)
			}
		}
		for _, text := range k.hasNot {
			if candidate(c, text) != nil {
				t.Errorf("%s: %s is offered", k.name, text)
			}
		}
		if t.Failed() {
			for _, cd := range c.Candidates {
				t.Logf("%q", cd.Text)
			}
			t.FailNow()
		}
		checkChoices(t, r, k.name, c)
	}
}

// checkChoices holds for the choices of any conversation of clean text.
func checkChoices(t testing.TB, r *Reader, name string, c *Choices) {
	t.Helper()
	malformed := 0
	for i, k := range c.Candidates {
		if i > 0 && bytes.Compare(c.Candidates[i-1].Text, k.Text) >= 0 {
			t.Fatalf("%s: texts are not distinct and sorted at %q", name, k.Text)
		}
		bad := 0
		for _, f := range k.Features {
			if int(f) >= len(r.f.names) {
				t.Fatalf("%s: feature %d of %d in %q", name, f, len(r.f.names), k.Text)
			}
			if f >= r.f.act.id(actBad, 0) && f <= r.f.act.id(actBad, 4) {
				bad++
			}
		}
		p, err := tokens.ParseAssistant(string(k.Text))
		switch {
		case bad > 0:
			malformed++
		case err != nil:
			t.Fatalf("%s: %q does not parse: %v", name, k.Text, err)
		case p.HasAnswer == (len(p.Calls) == 1) || p.Content != "" || len(p.Calls) == 1 && p.Calls[0].Name != searchTool:
			t.Fatalf("%s: %q is read as %+v", name, k.Text, p)
		}
	}
	if malformed != 3 {
		t.Fatalf("%s: %d malformed candidates, expected 3", name, malformed)
	}
}

// What one small conversation offers, with every feature by name.
func TestGoldenCandidates(t *testing.T) {
	r := NewReader()
	var b bytes.Buffer
	for _, k := range enumerate(t, r, born(), "Guesston").Candidates {
		fmt.Fprintf(&b, "%q\n\t%s\n", k.Text, strings.Join(names(r, k.Features), " "))
	}
	path := filepath.Join("testdata", "candidates.golden.txt")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("candidates differ from %s; look at them, then run the test with -update\n%s", path, b.String())
	}
}

// A context is all that is read: two readers agree, a reader that has seen other conversations too, and the guesses
// add answers and change nothing else.
// TestPhraseOrderMeansNothing: with the lines of phrases.tsv in another order every candidate has the same features by
// name, so weights mean the same.
func TestPhraseOrderMeansNothing(t *testing.T) {
	lex := english.Load()
	rng := rand.New(rand.NewPCG(3, 5))
	rng.Shuffle(len(lex.Phrases), func(i, j int) { lex.Phrases[i], lex.Phrases[j] = lex.Phrases[j], lex.Phrases[i] })
	for i, ph := range lex.Phrases {
		ph.ID = i
	}
	a, b := NewReader(), newReader(lex)
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	if d := cmp.Diff(sorted(a.Features().Names), sorted(b.Features().Names)); d != "" {
		t.Errorf("the features differ:\n%s", d)
	}
	phrases := 0
	for _, k := range []*talk{born(), ask("Which thing does Xan Oto own?").search("Xan Oto does own", 2, "Xan Oto", "Xan Oto owns Red Sky .")} {
		ca, cb := enumerate(t, a, k), enumerate(t, b, k)
		for _, c := range ca.Candidates {
			want, got := names(a, c.Features), names(b, candidate(cb, string(c.Text)))
			if d := cmp.Diff(sorted(want), sorted(got)); d != "" {
				t.Errorf("%s: features by name differ:\n%s", c.Text, d)
			}
			for _, n := range want {
				phrases += strings.Count(n, "phrase_head")
			}
		}
	}
	if phrases == 0 {
		t.Error("no candidate has a feature of a phrase: nothing is tested")
	}
}

func TestEnumerateIsAFunctionOfItsInput(t *testing.T) {
	used := NewReader()
	for _, k := range []*talk{ask(oneStep), born().add("user", `See "Elsewhere".`)} {
		enumerate(t, used, k, "Noise")
	}
	fresh, again := enumerate(t, NewReader(), born()), enumerate(t, used, born())
	equal := func(a, b Candidate) bool { return bytes.Equal(a.Text, b.Text) && slices.Equal(a.Features, b.Features) }
	if !slices.EqualFunc(fresh.Candidates, again.Candidates, equal) {
		t.Fatal("a reader that has read before gives other candidates")
	}
	guess := used.f.guess.id(0)
	rest := slices.DeleteFunc(enumerate(t, used, born(), "Guesston", "Testland").Candidates, func(c Candidate) bool { return slices.Contains(c.Features, guess) })
	if !slices.EqualFunc(fresh.Candidates, rest, equal) {
		t.Fatal("guesses change candidates that are none")
	}
}

// Two steps asked with the same words give one query, described as the first of them that is not yet served.
func TestStepsWithTheSameWordsAreOneCandidate(t *testing.T) {
	r := NewReader()
	text := "What is the country in which the country in which Sampleville lies lies?"
	if p, _ := r.plan(text); len(p.Steps) != 2 {
		t.Fatalf("the question is read as %d steps", len(p.Steps))
	}
	k := ask(text)
	query := searchText(searchTool, "Sampleville country lies")
	if fs := candidate(enumerate(t, r, k), query); !slices.Contains(fs, r.f.which.id(0)) {
		t.Fatalf("before any search: %v", names(r, fs))
	}
	k.search("Sampleville country lies", 4, "Sampleville", "Sampleville lies in Testland.")
	c := enumerate(t, r, k)
	n := 0
	for _, cd := range c.Candidates {
		if strings.Contains(string(cd.Text), "Testland country lies") {
			n++
		}
	}
	fs := candidate(c, searchText(searchTool, "Testland country lies"))
	if n != 1 || !slices.Contains(fs, r.f.which.id(0)) {
		t.Fatalf("%d candidates; after the first search: %v", n, names(r, fs))
	}
	k.search("Testland country lies", 3, "Testland", "Testland lies in Bigland.")
	if fs := candidate(enumerate(t, r, k), searchText(searchTool, "Bigland country lies")); !slices.Contains(fs, r.f.which.id(1)) {
		t.Fatalf("after the last step the words are those of the same step again: %v", names(r, fs))
	}
}

// No feature tells a hinted name from one that an earlier observation showed: put where an early passage would have
// shown it instead of into the hint, a name has the same feature lists in every role.
func TestHintedNameLooksLikeAnEarlierOne(t *testing.T) {
	r := NewReader()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Z][a-z]{3,8}ville( [A-Z][a-z]{3,6}ton)?`).Draw(t, "name")
		filler := rapid.StringMatching(`[A-Z][a-z]{3,8}burg`).Draw(t, "filler")
		build := func(early, hint string) *talk {
			k := ask(twoSteps).search("Ada Example", 4, early, "it is what it is.")
			k.search("Ada Example born", 3, "Ada Example", "Ada Example was born in Sampleville.")
			return k.add("user", "look again at \""+hint+"\" now")
		}
		hinted, err := r.Enumerate(build(filler, name).ids(), nil)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := r.Enumerate(build(name, filler).ids(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{answerText(name), searchText(searchTool, name), searchText(searchTool, name+" born"), searchText(searchTool, name+" country lies")} {
			a, b := candidate(hinted, text), candidate(seen, text)
			if a == nil || !slices.Equal(a, b) {
				t.Fatalf("%s\nhinted %v\nseen earlier %v", text, names(r, a), names(r, b))
			}
		}
	})
}

func TestContextsThatAreRefused(t *testing.T) {
	r := NewReader()
	open := tokens.AssistantOpen()
	whole := ask(oneStep).ids()
	for name, ids := range map[string][]int32{
		"empty":               {},
		"text alone":          toIDs([]byte("hello")),
		"no user message":     open,
		"system message only": append(closedMessage("system\nbe good"), open...),
		"an open user turn":   whole[:len(whole)-len(open)-2],
		"after the turn":      append(slices.Clone(whole), toIDs([]byte("x"))...),
		"nested":              append(append([]int32{tokenImStart}, toIDs([]byte("user\n"))...), whole...),
		"end without start":   append([]int32{tokenImEnd}, whole...),
		"no role line":        append(closedMessage("user"), open...),
		"end of text":         append([]int32{256}, whole...),
		"negative":            append([]int32{-1}, whole...),
		"beyond":              append([]int32{vocabSize}, whole...),
	} {
		c, err := r.Enumerate(ids, nil)
		if quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" || c != nil {
			t.Errorf("%s: %v, choices %v; expected KindInvalid with a hint", name, err, c != nil)
		}
	}
	// Over the wire such a context is the caller's fault.
	s, err := NewServer(Options{Enumerator: r, FeatureSet: r.Features()})
	if err != nil {
		t.Fatal(err)
	}
	url, stop, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	ids := append(closedMessage("system\nbe good"), open...)
	if status, body := mustSend(t, url+"/generate", `{"input_ids":`+idsJSON(ids)+`}`); status != 400 || !strings.Contains(body, "no user message") {
		t.Errorf("%d %s", status, body)
	}
}

func closedMessage(text string) []int32 {
	return append(append([]int32{tokenImStart}, toIDs([]byte(text))...), tokenImEnd)
}

// FuzzRead feeds arbitrary ids, and the same bytes as a question. Enumerate never panics; what it refuses is
// KindInvalid, what it takes is sound and the same twice. Bytes that UTF-8 never uses stand for ids above 255 and -1.
func FuzzRead(f *testing.F) {
	r := NewReader()
	short := "\xfeuser\n" + oneStep + "\xff\n"
	for _, text := range []string{
		short + "\xfeassistant\n",
		short + "\xfeassistant\n" + searchText(searchTool, "Ada Example born") + "\xff\n\xfeuser\n<tool_response>\n[1] T\nBorn in X.\nSearches left: 1\n</tool_response>\xff\n\xfeassistant\n",
		short + "\xfeuser\nHint: look again at \"Hintown\".\xff\n\xfeassistant\n",
		"\xfeuser\n\xff\n\xfeassistant\n", "\xfd\xfc",
	} {
		f.Add([]byte(text), "Guesston")
	}
	f.Fuzz(func(t *testing.T, data []byte, guess string) {
		var ids []int32
		for _, c := range data {
			id := int32(c)
			if c >= 0xfc {
				id = []int32{-1, 256, tokenImStart, tokenImEnd}[c-0xfc]
			}
			ids = append(ids, id)
		}
		framed := append(closedMessage("user\n"+string(data)), tokens.AssistantOpen()...)
		for _, in := range [][]int32{ids, framed} {
			c, err := r.Enumerate(in, []string{guess})
			if err != nil {
				if quarry.KindOf(err) != quarry.KindInvalid {
					t.Fatalf("kind %s: %v", quarry.KindOf(err), err)
				}
				continue
			}
			again, err := r.Enumerate(in, []string{guess})
			if err != nil || len(again.Candidates) != len(c.Candidates) || len(c.Candidates) < 3 {
				t.Fatalf("%d candidates, then %v %v", len(c.Candidates), again, err)
			}
			for i, k := range c.Candidates {
				if !bytes.Equal(k.Text, again.Candidates[i].Text) || !slices.Equal(k.Features, again.Candidates[i].Features) {
					t.Fatalf("candidate %q is not the same twice", k.Text)
				}
				if n := len(k.Features); n > 0 && int(k.Features[n-1]) >= len(r.f.names) {
					t.Fatalf("feature %d of %d", k.Features[n-1], len(r.f.names))
				}
			}
		}
	})
}

// BenchmarkEnumerate reads a conversation of three searches, nine passages of about 25 words, that it has not seen:
// new is the first sight of every sentence, again one that other episodes have brought.
func BenchmarkEnumerate(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	passage := func() (title, text string) {
		name := func() string {
			return fmt.Sprintf("%c%s %c%s", 'A'+rng.IntN(26), "lderman", 'A'+rng.IntN(26), "ockford")
		}
		return name(), fmt.Sprintf("%s ( born %d March 19%02d in %s , %s ) was a painter who lived in the city of %s and wrote the novel %s with %s .",
			name(), 1+rng.IntN(28), rng.IntN(100), name(), name(), name(), name(), name())
	}
	k := ask(twoSteps)
	for i, query := range []string{"Ada Example born", "Sampleville country lies", "Testland"} {
		var ps []string
		for range 3 {
			title, text := passage()
			ps = append(ps, title, text)
		}
		k.search(query, 4-i, ps...)
	}
	ids := k.ids()
	for _, mode := range []string{"new", "again"} {
		b.Run(mode, func(b *testing.B) {
			r := NewReader()
			n := 0
			for b.Loop() {
				if mode == "new" {
					clear(r.passages)
				}
				c, err := r.Enumerate(ids, nil)
				if err != nil {
					b.Fatal(err)
				}
				n = len(c.Candidates)
			}
			b.ReportMetric(float64(n), "candidates")
		})
	}
}
