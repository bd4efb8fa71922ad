package synth

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/english"
	"github.com/quarry-rl/quarry/kg/ingest"
)

// planted is a small graph by hand. Its one good walk is Xan Oto, born in Lumby, next to Vellsee, with the condition
// that Red Gulls were formed in Lumby. Each test changes one thing.
type planted struct {
	docs    [][]string          // title, then sentences; document n is "d<n>"
	types   map[string]string   // of entities by name, which is the id
	aliases map[string][]string // by name
	in      map[string][]string // documents of an entity
	triples []string            // subject, relation, object, document, sentences
	options Options
	splits  map[int]quarry.Split // by document; train unless it stands here
}

func good() *planted {
	return &planted{
		docs: [][]string{
			{"Xan Oto", "Xan Oto was born in Lumby ."},
			{"Lumby", "Lumby stands next to the lake Vellsee ."},
			{"Red Gulls", "Red Gulls were formed in Lumby ."},
			{"Tea", "Tea is a drink .", "It is hot ."},
			{"Chess", "Chess is a game for two ."},
			// What a search for a name of the question with the words of the last step finds instead of the answer.
			{"Water", "Xan Oto saw a river , a lake and the sea .", "Xan Oto drew a river , a lake and the sea .", "Xan Oto sang of a river , a lake and the sea .",
				"Red Gulls saw a river , a lake and the sea .", "Red Gulls drew a river , a lake and the sea .", "Red Gulls sang of a river , a lake and the sea ."},
		},
		types:   map[string]string{"Xan Oto": "PER", "Lumby": "LOC", "Vellsee": "LOC", "Red Gulls": "ORG"},
		aliases: map[string][]string{}, in: map[string][]string{},
		triples: []string{"Xan Oto|P19|Lumby|d0|0", "Lumby|P206|Vellsee|d1|0", "Red Gulls|P740|Lumby|d2|0"},
		options: Options{Seed: 1, Walks: 60, CrossBias: 4, Shapes: []Shape{{2, 1}}, K: 3, CertTop: 2, MaxAlone: 2, MaxFanout: 3, HubDocs: 4,
			PerAnswer: 1, PerAnchor: 1, SplitShares: map[quarry.Split]float64{quarry.SplitTrain: 1}, Concurrency: 2},
		splits: map[int]quarry.Split{},
	}
}

func (p *planted) load(t *testing.T) *kg.Graph {
	t.Helper()
	var docs, ents, rels, triples strings.Builder
	line := func(b *strings.Builder, v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	for i, d := range p.docs {
		line(&docs, kg.Document{ID: "d" + strconv.Itoa(i), Title: d[0], Sentences: d[1:]})
	}
	for _, name := range slices.Sorted(maps.Keys(p.types)) {
		line(&ents, kg.Entity{Named: quarry.Named{ID: name, Name: name, Aliases: p.aliases[name]}, Type: p.types[name], Docs: p.in[name]})
	}
	seen := map[string]bool{}
	for _, tr := range p.triples {
		f := strings.Split(tr, "|")
		if !seen[f[1]] {
			seen[f[1]] = true
			rels.WriteString(f[1] + "\t" + f[1] + "\n")
		}
		triples.WriteString(strings.Join(f, "\t") + "\n")
	}
	dir := t.TempDir()
	for name, b := range map[string]*strings.Builder{ingest.DocsFile: &docs, ingest.EntitiesFile: &ents, ingest.RelationsFile: &rels, ingest.TriplesFile: &triples} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g, err := kg.Load(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// attempt makes a question of the walk over the named entities; the reason is dead_end when a hop is missing.
func (p *planted) attempt(t *testing.T, names ...string) (*candidate, string) {
	t.Helper()
	g := p.load(t)
	s, err := NewSpace(t.Context(), g, english.Load(), p.options)
	if err != nil {
		t.Fatal(err)
	}
	splits := make([]quarry.Split, len(g.Docs))
	for i := range splits {
		splits[i] = quarry.SplitTrain
		if part, ok := p.splits[i]; ok {
			splits[i] = part
		}
	}
	entity := func(name string) int {
		n, ok := g.Entity(name)
		if !ok {
			t.Fatalf("no entity %q", name)
		}
		return n
	}
	c := &candidate{}
	for i := 1; i < len(names); i++ {
		hops := s.hops[entity(names[i-1])]
		n := slices.IndexFunc(hops, func(h hop) bool { return h.to == entity(names[i]) })
		if n < 0 {
			for n := range 50 {
				if path, ok := s.walk([]int{entity(names[0])}, len(names)-1, n); ok && path[len(path)-1].to == entity(names[len(names)-1]) {
					t.Fatalf("no hop %s to %s, and yet a walk", names[i-1], names[i])
				}
			}
			return c, ReasonDeadEnd
		}
		c.path = append(c.path, hops[n])
	}
	_, reason := s.attempt(c, splits)
	return c, reason
}

func TestGoodWalk(t *testing.T) {
	c, reason := good().attempt(t, "Xan Oto", "Lumby", "Vellsee")
	if reason != "" {
		t.Fatalf("the walk without a fault is rejected: %s", reason)
	}
	if want := "the river, lake or sea next to the place where Xan Oto was born (also the place where Red Gulls was formed)"; !strings.Contains(c.text, want) {
		t.Errorf("%q does not ask for %q", c.text, want)
	}
	if c.split != quarry.SplitTrain || !c.cross || c.answers != 1 || c.alone != 1 || len(c.conds) != 1 {
		t.Errorf("candidate: %+v", c)
	}
}

// TestPlanted plants one fault at a time and wants exactly its reason.
func TestPlanted(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		plant      func(p *planted)
		start      string
	}{
		{"one query", ReasonOneQuery, func(p *planted) { p.docs[0][1] = "Xan Oto was born in Lumby near Vellsee ." }, ""},
		{"one query by alias", ReasonOneQuery, func(p *planted) {
			p.docs[0][1] = "Xan Oto was born in Lumby by the Vell ."
			p.aliases["Vellsee"] = []string{"Vell"}
		}, ""},
		{"leak of the answer", ReasonLeak, func(p *planted) {
			p.rename("Xan Oto", "Xan Oto of Vellsee")
			p.options.K, p.options.CertTop = 1, 1 // the search finds no more than the evidence
		}, "Xan Oto of Vellsee"},
		{"leak of an alias", ReasonLeak, func(p *planted) { p.aliases["Vellsee"] = []string{"LAKE, or Sea"} }, ""},
		{"leak of the entity between", ReasonLeak, func(p *planted) {
			p.rename("Xan Oto", "Xan Oto of Lumby")
			p.options.K, p.options.CertTop = 1, 1
		}, "Xan Oto of Lumby"},
		{"second answer", ReasonNotUnique, func(p *planted) { p.add("Olmsee", "LOC", "Lumby|P206|Olmsee|d4|") }, ""},
		{"second entity between", ReasonNotUnique, func(p *planted) {
			p.add("Karby", "LOC", "Xan Oto|P19|Karby|d4|", "Red Gulls|P740|Karby|d4|")
			p.add("Olmsee", "LOC", "Karby|P206|Olmsee|d4|")
		}, ""},
		{"too many answers", ReasonAmbiguous, func(p *planted) {
			p.add("Olmsee", "LOC", "Lumby|P206|Olmsee|d4|")
			p.add("Ulmsee", "LOC", "Lumby|P206|Ulmsee|d4|")
		}, ""},
		{"hub answer", ReasonHubAnswer, func(p *planted) { p.in["Vellsee"] = []string{"d1", "d2", "d3", "d4", "d5"} }, ""},
		{"hub inside", ReasonHubInside, func(p *planted) { p.in["Lumby"] = []string{"d0", "d1", "d2", "d3", "d4"} }, ""},
		{"straddles", ReasonStraddles, func(p *planted) { p.splits[1] = quarry.SplitHeldout }, ""},
		{"evidence not in the top", ReasonDeadEnd, func(p *planted) {
			for range 2 {
				p.docs = append(p.docs, []string{"Lumby", "Lumby : river , lake , sea next ."})
			}
		}, ""},
		{"no evidence", ReasonDeadEnd, func(p *planted) { p.triples[1] = "Lumby|P206|Vellsee|d1|" }, ""},
		{"evidence without the name", ReasonDeadEnd, func(p *planted) { p.docs[1][1] = "Lumby stands next to the lake ." }, ""},
		{"fan-out", ReasonDeadEnd, func(p *planted) {
			for _, name := range []string{"Olmsee", "Ulmsee", "Almsee"} {
				p.add(name, "LOC", "Lumby|P206|"+name+"|d4|")
			}
		}, ""},
		{"kind does not fit", ReasonDeadEnd, func(p *planted) { p.types["Vellsee"] = "PER" }, ""},
		{"alias breaks the way", ReasonUnreachable, func(p *planted) {
			p.docs[0][1] = "Xan Oto was born in Lum ."
			p.aliases["Lumby"] = []string{"Lum"}
			for range 2 { // better for "Lum river lake sea next", worse for "Lumby river lake sea next"
				p.docs = append(p.docs, []string{"Tea", "A lake and a river next to it ."})
			}
		}, ""},
		{"too few conditions", ReasonConditions, func(p *planted) { p.triples = p.triples[:2] }, ""},
		{"condition without evidence", ReasonConditions, func(p *planted) { p.triples[2] = "Red Gulls|P740|Lumby|d2|" }, ""},
		{"condition that is a shortcut", ReasonConditions, func(p *planted) { p.docs[2][1] = "Red Gulls were formed in Lumby by the Vellsee ." }, ""},
		{"unreadable wording", ReasonWording, func(p *planted) { p.rename("Xan Oto", "the owner of Xan Oto") }, "the owner of Xan Oto"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := good()
			tc.plant(p)
			start := tc.start
			if start == "" {
				start = "Xan Oto"
			}
			if c, reason := p.attempt(t, start, "Lumby", "Vellsee"); reason != tc.want {
				t.Errorf("got %q, want %q; text %q", reason, tc.want, c.text)
			}
		})
	}
}

func (p *planted) add(name, typ string, triples ...string) {
	p.types[name] = typ
	p.triples = append(p.triples, triples...)
}

// rename changes an entity's name, and the text not.
func (p *planted) rename(from, to string) {
	p.types[to] = p.types[from]
	delete(p.types, from)
	for i := range p.triples {
		p.triples[i] = strings.ReplaceAll(p.triples[i], from+"|", to+"|")
	}
}

// TestSameNameIsOneAnswer: two entities of one name are one answer, for no reader can tell them apart.
func TestSameNameIsOneAnswer(t *testing.T) {
	p := good()
	p.add("VELLSEE", "LOC", "Lumby|P206|VELLSEE|d4|")
	if c, reason := p.attempt(t, "Xan Oto", "Lumby", "Vellsee"); reason != "" || c.answers != 2 {
		t.Errorf("%d answers, %q", c.answers, reason)
	}
}

// TestShapesInOrder: the first shape that stands is taken; a rejected walk is reported with the first shape's reason.
func TestShapesInOrder(t *testing.T) {
	for _, tc := range []struct {
		shapes        []Shape
		shape, reason string
	}{
		{[]Shape{{2, 1}, {2, 0}}, "2+1", ""},
		{[]Shape{{2, 2}, {2, 0}}, "2+0", ""},
		{[]Shape{{2, 3}, {2, 2}}, "2+3", ReasonConditions},
		{[]Shape{{3, 0}, {2, 0}}, "2+0", ""},
	} {
		p := good()
		p.options.Shapes = tc.shapes
		s, err := NewSpace(t.Context(), p.load(t), english.Load(), p.options)
		if err != nil {
			t.Fatal(err)
		}
		from, _ := s.g.Entity("Xan Oto")
		path, ok := s.walk([]int{from}, 2, 0)
		if !ok {
			t.Fatal("no walk")
		}
		splits := slices.Repeat([]quarry.Split{quarry.SplitTrain}, len(s.g.Docs))
		if shape, reason := s.attempt(&candidate{path: path}, splits); shape != tc.shape || reason != tc.reason {
			t.Errorf("%v: %q %q, want %q %q", tc.shapes, shape, reason, tc.shape, tc.reason)
		}
	}
}

// TestRunOnPlanted follows the good walk through Run, and the errors of a graph without any.
func TestRunOnPlanted(t *testing.T) {
	p := good()
	res, err := Run(t.Context(), p.load(t), p.options)
	if err != nil {
		t.Fatal(err)
	}
	walks, accepted, rejected := Funnel(res.Ledger)
	if walks != 60 || accepted != len(res.Questions) || accepted < 1 {
		t.Errorf("%d walks, %d accepted, %d questions", walks, accepted, len(res.Questions))
	}
	for reason, n := range rejected {
		walks -= n
		if reason == "" {
			t.Error("a rejection without a reason")
		}
	}
	if walks != accepted {
		t.Errorf("%d accepted, but %d walks less the rejected", accepted, walks)
	}
	i := slices.IndexFunc(res.Questions, func(q quarry.Question) bool { return q.Answer == "Vellsee" })
	if i < 0 {
		t.Fatalf("the good walk is not among %d questions: %v", accepted, rejected)
	}
	q := res.Questions[i]
	wantAtoms := []quarry.Atom{{S: "Xan Oto", P: "P19", O: "?v1"}, {S: "?v1", P: "P206", O: "?a"}, {S: "Red Gulls", P: "P740", O: "?v1"}}
	if d := cmp.Diff(wantAtoms, q.Atoms); d != "" {
		t.Errorf("atoms (-want +got):\n%s", d)
	}
	var cert Certificate
	if err := json.Unmarshal(q.Certificate, &cert); err != nil {
		t.Fatal(err)
	}
	want := Certificate{Answers: 1, Alone: 1, CertTop: 2, Cross: true, Queries: []string{"Xan Oto born", "Lumby river lake sea next"}, Ranks: []int{1, 1}, Words: []string{"born", "river lake sea next"}, MaxFanout: 3, SearchK: 3,
		Parts: []quarry.Split{quarry.SplitTrain}}
	if d := cmp.Diff(want, cert); d != "" {
		t.Errorf("certificate (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]quarry.Statement{{Subject: "Red Gulls", Predicate: "P740", Object: "Lumby", Text: "Red Gulls were formed in Lumby .", Doc: "d2", Start: 0, End: 32,
		TextSHA256: "5de14be593bb0982ca0a06065a940297520b5b042d243e17f98c965961899962"}}, q.Conditions); d != "" {
		t.Errorf("conditions (-want +got):\n%s", d)
	}
	if q.Hops() != 2 || len(q.Conditions) != 1 || q.Path[0].Text != "Xan Oto was born in Lumby ." || len(q.Entities) != 2 {
		t.Errorf("question: %+v", q)
	}

	bad := good()
	bad.triples = []string{"Xan Oto|P9999|Lumby|d0|0"}
	if _, err := Run(t.Context(), bad.load(t), bad.options); quarry.KindOf(err) != quarry.KindGate || !strings.Contains(quarry.HintOf(err), "phrases.tsv") {
		t.Errorf("relations without phrases: %v", err)
	}
	long := good()
	long.options.Shapes = []Shape{{6, 0}}
	res, err = Run(t.Context(), long.load(t), long.options)
	if err != nil || len(res.Questions) != 0 || len(res.Ledger) != 60 || res.Ledger[59].Reason != ReasonDeadEnd {
		t.Errorf("walks longer than the graph: %v %+v", err, res)
	}
}

// TestConditionElsewhere: evidence in another part of the documents is used only when the question's own part has none
// that makes the shape, and the passage that names both comes before one that names less.
func TestConditionElsewhere(t *testing.T) {
	for _, tc := range []struct {
		name  string
		plant func(p *planted)
		want  string // the document of the condition's evidence
	}{
		{"own part", func(*planted) {}, "d2"},
		{"another part only", func(p *planted) { p.splits[2] = quarry.SplitHeldout }, "d2"},
		{"both parts", func(p *planted) {
			p.splits[2] = quarry.SplitHeldout
			p.docs = append(p.docs, []string{"Gulls", "They were formed in Lumby ."})
			p.triples = append(p.triples, "Red Gulls|P740|Lumby|d6|0")
		}, "d6"},
		{"another condition from the own part", func(p *planted) {
			p.splits[2] = quarry.SplitHeldout
			p.docs = append(p.docs, []string{"Blue Owls", "Blue Owls were formed in Lumby ."}, []string{"Water", "Blue Owls saw a river , a lake and the sea .",
				"Blue Owls drew a river , a lake and the sea .", "Blue Owls sang of a river , a lake and the sea ."})
			p.add("Blue Owls", "ORG", "Blue Owls|P740|Lumby|d6|0")
		}, "d6"},
		{"the passage that names both", func(p *planted) {
			p.docs[2] = []string{"Gulls", "They were formed in Lumby .", "Red Gulls were formed in Lumby ."}
			p.triples[2] = "Red Gulls|P740|Lumby|d2|0,1"
		}, "d2"},
	} {
		p := good()
		tc.plant(p)
		c, reason := p.attempt(t, "Xan Oto", "Lumby", "Vellsee")
		if reason != "" || len(c.conds) != 1 {
			t.Errorf("%s: %q", tc.name, reason)
			continue
		}
		g := p.load(t)
		ps := g.Passages[c.conds[0].passage]
		if got := g.Docs[ps.Doc].ID; got != tc.want || tc.name == "the passage that names both" && ps.Sentence != 1 {
			t.Errorf("%s: evidence in %s, sentence %d, want %s", tc.name, got, ps.Sentence, tc.want)
		}
	}
}
