package rewards

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/quarry-rl/quarry"
)

func named(forms ...string) quarry.Named {
	return quarry.Named{ID: forms[0], Name: forms[0], Aliases: forms[1:]}
}

func TestMatcher(t *testing.T) {
	for _, tt := range []struct {
		name, form, text string
		want             bool
	}{
		{"whole word", "Ur", "the city of Ur.", true},
		{"inside a word", "Ur", "our hour", false},
		{"word start", "Ur", "Urban", false},
		{"word end", "Ur", "murmur", false},
		{"at both ends of the text", "Ur", "ur", true},
		{"digit after", "Boeing 74", "Boeing 747", false},
		{"number inside", "19", "in 1998", false},
		{"possessive", "Ur", "Ur's walls", true},
		{"underscore is no letter", "Ur", "x_ur_y", true},
		{"case", "NEW york", "New York", true},
		{"Greek final sigma", "ΟΔΟΣ", "οδος", true},
		{"sharp s", "Strasse", "STRAßE", true},
		{"capital sharp s", "straße", "STRAẞE", true},
		{"Kelvin sign", "kelvin", "\u212Aelvin", true},
		{"full width", "ABC 1", "ＡＢＣ　１", true},
		{"ligature", "office", "o\uFB03ce", true},
		{"composed against decomposed", "São Tomé", "Sa\u0303o Tome\u0301", true},
		{"accent makes another letter", "Cafe", "cafe\u0301", false},
		{"mark that does not compose", "q", "q\u0301", false},
		{"dotless i is another letter", "Istanbul", "\u0131stanbul", false},
		{"line break in a name", "New York", "New\n  York", true},
		{"no-break space", "New York", "New\u00a0York", true},
		{"Cyrillic inside a word", "Рим", "Римский", false},
		{"Cyrillic", "Рим", "город рим", true},
		{"CJK inside a run", "東京", "私は東京都に住む", true},
		{"one CJK character is no form", "東", "東京", false},
		{"Latin next to CJK", "Ur", "在Ur城", true},
		{"Hangul with a particle", "서울", "서울은", true},
		{"punctuation at the edge", "Yahoo!", "Yahoo!x", true},
		{"only punctuation", "!!", "wow!!", false},
		{"empty form", "", "anything", false},
		{"invalid UTF-8 around", "Ur", "\xffUr\xfe", true},
		{"overlapping prefix", "aab", "aaab aab", true},
	} {
		got := NewMatcher([]quarry.Named{named("other thing"), named(tt.form)}).Find(tt.text)
		if slices.Contains(got, 1) != tt.want || slices.Contains(got, 0) {
			t.Errorf("%s: %q in %q: %v", tt.name, tt.form, tt.text, got)
		}
	}
	m := NewMatcher([]quarry.Named{named("Ana Costa", "Costa", "A. Costa"), named("Costa Rica"), named("Rica")})
	if got := m.Find("Ana Costa, A. Costa and Costa Rica"); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("aliases and nested names: %v", got)
	}
	if got := NewMatcher(nil).Find("x"); got != nil {
		t.Errorf("no entity: %v", got)
	}
}

// slowFind is the definition: the folded form anywhere in the folded text, with boundaries checked rune by rune.
func slowFind(form, text string) bool {
	plain := func(s string) string {
		var b strings.Builder
		for _, r := range norm.NFKC.String(s) {
			if r == 'ß' || r == 'ẞ' {
				b.WriteString("ss")
				continue
			}
			least := r
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				least = min(least, f)
			}
			b.WriteRune(least)
		}
		return strings.Join(strings.FieldsFunc(" "+b.String()+" ", unicode.IsSpace), " ")
	}
	f, s := plain(form), plain(text)
	words, others := 0, 0
	for _, r := range f {
		if spaced(r) {
			words++
		} else if unicode.IsLetter(r) {
			others++
		}
	}
	if words == 0 && others < 2 {
		return false
	}
	first, _ := utf8.DecodeRuneInString(f)
	last, _ := utf8.DecodeLastRuneInString(f)
	for i := 0; i+len(f) <= len(s); i++ {
		if s[i:i+len(f)] != f {
			continue
		}
		before, n := utf8.DecodeLastRuneInString(s[:i])
		after, m := utf8.DecodeRuneInString(s[i+len(f):])
		if !(spaced(first) && n > 0 && spaced(before)) && !(spaced(last) && m > 0 && spaced(after)) {
			return true
		}
	}
	return false
}

func FuzzPRMMatch(f *testing.F) {
	f.Add("Ur", "our")
	f.Add("Ur", "in Ur, long ago")
	f.Add("東京", "東京都")
	f.Add("e\u0301a", "\u00c9A \xff")
	f.Add("a b", "a \u0301b a\t\u2003b")
	f.Add("ﬃ", "FFI")
	f.Fuzz(func(t *testing.T, form, text string) {
		m := NewMatcher([]quarry.Named{named("Ur"), named(form)})
		got := m.Find(text)
		if want := slowFind(form, text); slices.Contains(got, 1) != want {
			t.Fatalf("%q in %q: %v, by definition %v", form, text, !want, want)
		}
		if slices.Contains(got, 0) != slowFind("Ur", text) {
			t.Fatalf("Ur in %q: %v", text, got)
		}
		if slices.Contains(NewMatcher([]quarry.Named{named("Ur")}).Find("our "+form+"our"), 0) != slowFind("Ur", "our "+form+"our") {
			t.Fatalf("Ur in our %q our", form)
		}
	})
}

// say is a turn that searches and gets output.
func say(query, output string) quarry.Turn {
	return quarry.Turn{FormatOK: true, Events: []quarry.ToolEvent{{Name: "search", Arguments: `{"query": "` + query + `"}`, Status: quarry.ToolOK, Output: output}}}
}

func TestPRM(t *testing.T) {
	entities := []quarry.Named{named("Zenith Works"), named("Ana Costa", "A. Costa"), named("Lisbon", "Lisboa"), named("1998")}
	failed := say("x", "Zenith Works")
	failed.Events[0].Status = quarry.ToolFailed
	thinks := func(s string) []quarry.Message {
		return []quarry.Message{{Role: "user", Content: "Lisbon?"}, {Role: "assistant", Content: s}}
	}
	for _, tt := range []struct {
		name             string
		turns            []quarry.Turn
		messages         []quarry.Message
		question         string
		hardened, minddr float64 // of 4
	}{
		{"found one by one", []quarry.Turn{say("a", "ZENITH WORKS"), say("b", "a. costa went to Lisboa")}, nil, "", 3, 3},
		{"aliases count once", []quarry.Turn{say("a", "Ana Costa, A. Costa"), say("b", "Ana Costa")}, nil, "", 1, 1},
		{"named in the question", []quarry.Turn{say("a", "Lisbon, 1998")}, nil, "Who left LISBOA?", 1, 2},
		{"echo of the query", []quarry.Turn{say("Lisbon", "Lisbon is a city")}, nil, "", 0, 1},
		{"guessed earlier, then found", []quarry.Turn{say("Lisboa port", "nothing"), say("b", "Lisbon")}, nil, "", 0, 1},
		{"found, then asked for", []quarry.Turn{say("a", "Lisbon"), say("Lisbon", "Lisbon, Ana Costa")}, nil, "", 2, 2},
		{"list of guesses", []quarry.Turn{say("Zenith Works Ana Costa Lisbon 1998", "Zenith Works Ana Costa Lisbon 1998")}, nil, "", 0, 4},
		{"guess written with escapes", []quarry.Turn{say(`\u004cisbon`, "Lisbon")}, nil, "", 0, 1},
		{"failed calls show nothing", []quarry.Turn{failed}, nil, "", 0, 1},
		{"thoughts", nil, thinks("maybe Ana Costa of Zenith Works"), "", 0, 2},
		{"answers and calls are no thoughts", nil, thinks(`I see. <tool_call>{"name": "search", "arguments": {"query": "Ana Costa"}}</tool_call><answer>Lisbon</answer> 1998`), "", 0, 1},
		{"an open tag hides the rest", nil, thinks("Zenith Works <answer>Lisbon"), "", 0, 1},
		{"substring is no match", []quarry.Turn{say("a", "Lisbonne 19980")}, nil, "", 0, 0},
		{"nothing", nil, nil, "", 0, 0},
	} {
		ep := &quarry.Episode{Messages: tt.messages, Thread: quarry.Thread{Turns: tt.turns}}
		for mode, want := range map[PRMMode]float64{"": tt.hardened, PRMHardened: tt.hardened, PRMMindDR: tt.minddr} {
			if got := PRM(ep, entities, tt.question, mode, Prior{}); !got.Scored || got.Value != want/4 {
				t.Errorf("%s %q: %+v, want %v/4", tt.name, mode, got, want)
			}
		}
	}
	if got := PRM(&quarry.Episode{}, nil, "", "", Prior{}); got != quarry.Unscored(ReasonNoEntities) {
		t.Errorf("no entity: %+v", got)
	}
	if got := PRM(&quarry.Episode{}, entities, "", "kind", Prior{}); got != quarry.Unscored(ReasonUnknownMode) {
		t.Errorf("unknown mode: %+v", got)
	}
}

// continuation is an episode that goes on after one turn of its parent.
func continuation(own ...quarry.Turn) *quarry.Episode {
	return &quarry.Episode{
		Kind: quarry.TaskPivot, PivotTurn: 1, HintStart: 40, HintLen: 12, Thread: quarry.Thread{Turns: own},
		Messages: []quarry.Message{
			{Role: "system", Content: "search"}, {Role: "user", Content: "Who?"},
			{Role: "assistant", ToolCalls: []quarry.ToolCall{{Name: "search", Arguments: `{"query": "Lisbon harbour"}`}}},
			{Role: "tool", Content: "Zenith Works is a company."},
			{Role: "user", Content: `Hint: look again at "1998".`},
			{Role: "assistant", Content: "Ana Costa perhaps"}, {Role: "tool", Content: "whatever"},
		},
	}
}

func TestPRMContinuation(t *testing.T) {
	entities := []quarry.Named{named("Zenith Works"), named("Ana Costa"), named("Lisbon"), named("1998")}
	ep := continuation(say("founder", "Zenith Works, Ana Costa, Lisbon, 1998"))
	prior := PriorOf(ep)
	if len(prior.Messages) != 4 || prior.Hint != `Hint: look again at "1998".` {
		t.Fatalf("prior %+v", prior)
	}
	// Zenith Works is out of M; Lisbon was guessed by the parent; 1998 is in the hint.
	if got := PRM(ep, entities, "", PRMHardened, prior); got.Value != 1.0/3 {
		t.Errorf("hardened %+v", got)
	}
	if got := PRM(ep, entities, "", PRMMindDR, prior); got.Value != 2.0/3 {
		t.Errorf("minddr %+v", got)
	}
	if got := PRM(continuation(), entities, "", PRMMindDR, prior); got.Value != 1.0/3 {
		t.Errorf("minddr, own thought only: %+v", got)
	}
	if got := PRM(ep, entities[:1], "", PRMHardened, prior); got != quarry.Unscored(ReasonNoEntities) {
		t.Errorf("all seen before: %+v", got)
	}
	ep.Messages[2] = quarry.Message{Role: "assistant", Content: `<tool_call>{"name": "search", "arguments": {"query": "Ana Costa"}}</tool_call>`}
	if got := PRM(ep, entities, "", PRMHardened, PriorOf(ep)); got.Value != 1.0/3 {
		t.Errorf("a parent's call left as text: %+v", got)
	}
	if p := PriorOf(&quarry.Episode{Kind: quarry.TaskFull, Messages: ep.Messages}); p.Hint != "" || p.Messages != nil {
		t.Errorf("a full episode has a prior: %+v", p)
	}
	ep.HintLen = 0
	if p := PriorOf(ep); p.Hint != "" || len(p.Messages) != 5 {
		t.Errorf("without a hint: %+v", p)
	}
	ep.PivotTurn = 9
	if p := PriorOf(ep); len(p.Messages) != len(ep.Messages) {
		t.Errorf("pivot after the end: %d messages", len(p.Messages))
	}
}

func BenchmarkPRMMatch(b *testing.B) {
	words := strings.Fields("the river of north city was founded in by a king who ruled over land and sea until war came again São Tomé Zürich")
	var entities []quarry.Named
	var text strings.Builder
	x := uint64(1)
	next := func(n int) int {
		x = x*6364136223846793005 + 1442695040888963407
		return int(x >> 33 % uint64(n))
	}
	for range 100 {
		name := "Name" + words[next(len(words))] + words[next(len(words))]
		entities = append(entities, named(name+" Person", name, name+" of "+words[next(len(words))]))
	}
	for i := range 40000 {
		text.WriteString(words[next(len(words))] + " ")
		if i%40 == 0 {
			text.WriteString(entities[next(100)].Name + ". ")
		}
	}
	m, s := NewMatcher(entities), text.String()
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		if len(m.Find(s)) == 0 {
			b.Fatal("nothing found")
		}
	}
}
