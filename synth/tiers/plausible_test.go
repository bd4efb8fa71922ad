package tiers

import (
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
)

// world is a graph's facts as tables: id to name and class, relation and class to share.
type world struct {
	entities map[string][2]string
	shares   map[string]float64
}

func (w world) Entity(id string) (name, class string) { e := w.entities[id]; return e[0], e[1] }

func (w world) Share(relation string, inverse bool, class string) float64 {
	if inverse {
		relation = "-" + relation
	}
	if s, ok := w.shares[relation+" "+class]; ok {
		return s
	}
	return -1
}

func planted() (*quarry.Question, world) {
	hop := func(s, p, o, text string, inverse bool) quarry.Hop {
		return quarry.Hop{Statement: quarry.Statement{Subject: s, Predicate: p, Object: o, Text: text}, Inverse: inverse}
	}
	q := &quarry.Question{ID: "q", AnswerID: "bob", AsOf: "2020-06-01",
		Path: quarry.Walk{hop("song", "P175", "ann", "Ann sang it.", false), hop("ann", "P19", "oto", "She is of Oto.", false), hop("bob", "P19", "oto", "Bob is of Oto.", true)},
		Atoms: []quarry.Atom{{S: "song", P: "P175", O: "?v1"}, {S: "?v1", P: "P19", O: "?v2"}, {S: "?a", P: "P19", O: "?v2"},
			{S: "?a", P: "P569", O: "y1900"}, {S: "film", P: "P57", O: "?a"}}}
	w := world{entities: map[string][2]string{"song": {"Red Sky", "MISC"}, "ann": {"Ann", "PER"}, "oto": {"Oto", "LOC"}, "bob": {"Bob", "PER"}, "y1900": {"3 May 1900", "TIME"},
		"y1850": {"1850", "TIME"}, "y1980": {"1980", "TIME"}, "y2030": {"2030", "TIME"}, "s1900": {"1900s", "TIME"}, "film": {"Blue Sea", "MISC"}, "film2": {"Green Sea", "MISC"},
		"film3": {"Grey Sea", "MISC"}, "x": {"X", "MISC"}, "e00017": {"e00017", "MISC"}, "n7": {"7000", "NUM"}, "n7km": {"7000 km", "NUM"}, "n7p": {"7%", "NUM"}, "none": {"", "MISC"},
		"dots": {"...", "MISC"}, "long": {strings.Repeat("very ", 30) + "long", "MISC"}, "zh": {"王", "PER"}, "u2": {"U2", "ORG"}},
		shares: map[string]float64{"P569 PER": .99, "-P57 PER": .97, "P1082 PER": .001, "P1082 LOC": .9, "-P19 LOC": 1}}
	return q, w
}

func TestPlausible(t *testing.T) {
	add := func(atoms ...quarry.Atom) func(*quarry.Question) {
		return func(q *quarry.Question) { q.Atoms = append(q.Atoms, atoms...) }
	}
	for name, c := range map[string]struct {
		change func(*quarry.Question)
		want   string // codes
	}{
		"good":                      {func(*quarry.Question) {}, ""},
		"repeats a hop":             {add(quarry.Atom{S: "?a", P: "P19", O: "oto"}), "condition_repeats_path"},
		"repeats it from the end":   {add(quarry.Atom{S: "song", P: "P175", O: "?v1"}), "condition_repeats_path"},
		"names the path":            {add(quarry.Atom{S: "?a", P: "P26", O: "ann"}), "condition_names_path"},
		"names the start":           {add(quarry.Atom{S: "song", P: "P86", O: "?a"}), "condition_names_path"},
		"names the answer":          {add(quarry.Atom{S: "?v1", P: "P26", O: "bob"}), "condition_names_path"},
		"twice":                     {add(quarry.Atom{S: "film", P: "P57", O: "?a"}), "condition_duplicate"},
		"of another place":          {add(quarry.Atom{S: "film", P: "P57", O: "?v1"}), ""},
		"dead before born":          {add(quarry.Atom{S: "?a", P: "P570", O: "y1850"}), "condition_times"},
		"dead after born":           {add(quarry.Atom{S: "?a", P: "P570", O: "y1980"}), ""},
		"other's death":             {add(quarry.Atom{S: "?v1", P: "P570", O: "y1850"}), ""},
		"born twice":                {add(quarry.Atom{S: "?a", P: "P569", O: "y1980"}), "condition_times"},
		"born that day and decade":  {add(quarry.Atom{S: "?a", P: "P569", O: "s1900"}), ""},
		"in the future":             {add(quarry.Atom{S: "?a", P: "P166", O: "y2030"}), "condition_times"},
		"no date, no future":        {func(q *quarry.Question) { q.AsOf = ""; add(quarry.Atom{S: "?a", P: "P166", O: "y2030"})(q) }, ""},
		"people have no population": {add(quarry.Atom{S: "?a", P: "P1082", O: "n7km"}), "condition_class"},
		"places do":                 {add(quarry.Atom{S: "?v2", P: "P1082", O: "n7km"}), ""},
		"no name":                   {add(quarry.Atom{S: "?a", P: "P1", O: "none"}), "condition_degenerate"},
		"dots":                      {add(quarry.Atom{S: "?a", P: "P1", O: "dots"}), "condition_degenerate"},
		"one letter":                {add(quarry.Atom{S: "?a", P: "P1", O: "x"}), "condition_degenerate"},
		"one character":             {add(quarry.Atom{S: "?a", P: "P1", O: "zh"}), "condition_degenerate"},
		"two":                       {add(quarry.Atom{S: "?a", P: "P1", O: "u2"}), ""},
		"an id":                     {add(quarry.Atom{S: "?a", P: "P1", O: "e00017"}), "condition_degenerate"},
		"a bare number":             {add(quarry.Atom{S: "?a", P: "P1", O: "n7"}), "condition_degenerate"},
		"a number with a unit":      {add(quarry.Atom{S: "?a", P: "P1", O: "n7km"}), ""},
		"a percentage":              {add(quarry.Atom{S: "?a", P: "P1", O: "n7p"}), ""},
		"too long":                  {add(quarry.Atom{S: "?a", P: "P1", O: "long"}), "condition_degenerate"},
		"unknown":                   {add(quarry.Atom{S: "?a", P: "P1", O: "nowhere"}), "condition_degenerate"},
		"three films":               {add(quarry.Atom{S: "film2", P: "P57", O: "?a"}, quarry.Atom{S: "film3", P: "P57", O: "?a"}), "condition_same_relation"},
		"two films":                 {add(quarry.Atom{S: "film2", P: "P57", O: "?a"}), ""},
		"a variable that is none":   {add(quarry.Atom{S: "?v9", P: "P1", O: "none"}, quarry.Atom{S: "?a", P: "P1", O: "?v1"}, quarry.Atom{S: "a", P: "P1", O: "b"}), ""},
		"broken":                    {func(q *quarry.Question) { q.Path[1].Subject = "film" }, "path_broken"},
		"no text":                   {func(q *quarry.Question) { q.Path[1].Text = "" }, "path_broken"},
		"back again":                {func(q *quarry.Question) { q.Path[2].Subject = "ann" }, "path_revisits"},
		"through a year":            {func(q *quarry.Question) { q.Path[1].Object, q.Path[2].Object = "y1980", "y1980" }, "path_literal_inside"},
		"one sentence":              {func(q *quarry.Question) { q.Path[0].Text, q.Path[1].Text, q.Path[2].Text = "S.", "S.", "S." }, "path_one_sentence"},
		"parent of parent of parent": {func(q *quarry.Question) {
			for i := range q.Path {
				q.Path[i].Predicate, q.Path[i].Inverse = "P22", false
			}
			q.Path[2].Subject, q.Path[2].Object = "oto", "bob"
		}, "path_same_relation"},
		"no path at all": {func(q *quarry.Question) { q.Path, q.Atoms = nil, nil }, ""},
	} {
		q, w := planted()
		c.change(q)
		var got []string
		for _, f := range Plausible(q, w, DefaultPlausible()) {
			got = append(got, string(f.Code))
			if f.Detail == "" {
				t.Errorf("%s: no detail", name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]span{
		"1850":                 {18500101, 18501231},
		"1850-05":              {18500501, 18500531},
		"1850-05-03":           {18500503, 18500503},
		"1850-05-03T00:00:00Z": {},
		"1850-00-00":           {18500101, 18501231},
		"3 May 1850":           {18500503, 18500503},
		"May 3, 1850":          {18500503, 18500503},
		"may 1850":             {18500501, 18500531},
		"3 Sep 1850":           {18500903, 18500903},
		"1850s":                {18500101, 18591231},
		"-0044-03-15":          {-440000 + 315, -440000 + 315},
		"44 BC":                {-440000 + 101, -440000 + 1231},
		"1850年5月3日":            {18500503, 18500503},
		"公元前44年":               {-440000 + 101, -440000 + 1231},
		"":                     {}, "May": {}, "1850-13": {}, "1850-05-32": {}, "1850-1860": {}, "about 1850": {}, "1 2 3 4": {}, "99 May 1850": {}, "May June 1850": {}, "+1850": {}, "x0s": {},
	} {
		got, ok := parseTime(text)
		if text == "1850-05-03T00:00:00Z" {
			want, ok = span{18500503, 18500503}, ok && got.from == 18500503
		}
		if got != want || ok != (want != span{}) {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
}

// FuzzParseTime: no panic, and a time that was read is a span in order.
func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"3 May 1850", "-0044-03-15", "1850s", "1850年5月3日", "44 BC", "1t1", "-", "0s", "-1s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, ok := parseTime(s); ok && got.from > got.to {
			t.Fatalf("%q: %v", s, got)
		}
	})
}
