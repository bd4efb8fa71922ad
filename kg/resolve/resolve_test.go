package resolve

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/store"
)

func resolve(t failer, ents []Entity, o Options) *Mapping {
	t.Helper()
	m, err := Resolve(context.Background(), ents, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

type failer interface {
	Helper()
	Fatal(...any)
}

func ent(id, name, typ string, facts ...Fact) Entity {
	return Entity{ID: id, Name: name, Type: typ, Docs: []string{"doc of " + id}, Facts: facts}
}

func alias(e Entity, aliases ...string) Entity {
	e.Aliases = aliases
	return e
}

func born(v string) Fact { return Fact{Relation: "P569", Value: v, Literal: true} }

// Planted pairs, each for one rule or one veto.
func TestPlanted(t *testing.T) {
	in := func(doc string, e Entity) Entity {
		e.Docs = []string{doc}
		return e
	}
	for _, c := range []struct {
		name string
		a, b Entity
		o    Options
		want string // rule, veto, or "" for nothing at all
	}{
		{"same name and type", ent("1", "Ann Lee", "PER"), ent("2", "ann  LEE", "PER"), Options{}, "name"},
		{"article, marks and width", ent("1", "The Café Royal", "ORG"), ent("2", "Cafe Ｒoyal", "ORG"), Options{}, "name"},
		{"Chinese", ent("1", "李安平", "PER"), ent("2", "李安平", "PER"), Options{}, "name"},
		{"a place of one word", ent("1", "Bern", "LOC"), ent("2", "Bern", "LOC"), Options{}, "name"},
		{"a person of one word", ent("1", "Lee", "PER"), ent("2", "Lee", "PER"), Options{}, "weak"},
		{"a person of one word with rare facts", ent("1", "Lee", "PER", Fact{Relation: "P26", Value: "Bo Ek"}, Fact{Relation: "P40", Value: "Cy Ek"}),
			ent("2", "Lee", "PER", Fact{Relation: "P26", Value: "Bo Ek"}, Fact{Relation: "P40", Value: "Cy Ek"}), Options{}, "name"},
		{"no type", ent("1", "Ann Lee", ""), ent("2", "Ann Lee", "PER"), Options{}, "name"},
		{"alias", alias(ent("1", "Ann Lee", "PER"), "Anna Maria Lee"), ent("2", "Anna Maria Lee", "PER"), Options{}, "alias"},
		{"aliases", alias(ent("1", "Ann", "PER"), "Anna Maria Lee"), alias(ent("2", "Lee", "PER"), "Anna Maria Lee"), Options{}, "aliases"},
		{"order of words", ent("1", "Lee, Ann", "PER"), ent("2", "Ann Lee", "PER"), Options{}, "words"},
		{"initial between", ent("1", "Ann B. Lee", "PER"), ent("2", "Ann Lee", "PER"), Options{}, "words"},
		{"acronym, asked for", ent("1", "World Health Organization", "ORG"), ent("2", "WHO", "ORG", Fact{Relation: "P159", Value: "Geneva"}), Options{Acronyms: true, Threshold: 0.6}, "acronym"},
		{"acronym, not asked for", ent("1", "World Health Organization", "ORG"), ent("2", "WHO", "ORG"), Options{}, ""},
		{"initials, asked for", ent("1", "Ann Lee", "PER", Fact{Relation: "P26", Value: "Bo Ek"}), ent("2", "A. Lee", "PER", Fact{Relation: "P26", Value: "Bo Ek"}), Options{Initials: true}, "initials"},
		{"initials of another", ent("1", "Ann Lee", "PER"), ent("2", "Abe Lee", "PER"), Options{Initials: true, Threshold: 0.1}, ""},
		{"other name", ent("1", "Ann Lee", "PER"), ent("2", "Ann Leigh", "PER"), Options{}, ""},
		{"other type", ent("1", "Ann Lee", "PER"), ent("2", "Ann Lee", "ORG"), Options{}, "type"},
		{"one document", in("d", ent("1", "Ann Lee", "PER")), in("d", ent("2", "Ann Lee", "PER")), Options{}, "same_document"},
		{"one document, allowed", in("d", ent("1", "Ann Lee", "PER")), in("d", ent("2", "Ann Lee", "PER")), Options{SameDocument: true}, "name"},
		{"other birthday", ent("1", "Ann Lee", "PER", born("1970-05-03")), ent("2", "Ann Lee", "PER", born("4 May 1970")), Options{}, "conflict_date"},
		{"same birthday in words", ent("1", "Ann Lee", "PER", born("1970-05-03")), ent("2", "Ann Lee", "PER", born("May 3, 1970")), Options{}, "name"},
		{"birthday and year", ent("1", "Ann Lee", "PER", born("1970年5月3日")), ent("2", "Ann Lee", "PER", born("1970")), Options{}, "name"},
		{"another year", ent("1", "Ann Lee", "PER", born("1970年5月3日")), ent("2", "Ann Lee", "PER", born("1971")), Options{}, "conflict_date"},
		{"a decade is not certain", ent("1", "Ann Lee", "PER", born("1970-05-03")), ent("2", "Ann Lee", "PER", born("1980s")), Options{}, "name"},
		{"other birthplace", ent("1", "Ann Lee", "PER", Fact{Relation: "P19", Value: "Bern"}), ent("2", "Ann Lee", "PER", Fact{Relation: "P19", Value: "Rome"}), Options{}, "conflict_value"},
		{"birthplace said longer", ent("1", "Ann Lee", "PER", Fact{Relation: "P19", Value: "Bern"}), ent("2", "Ann Lee", "PER", Fact{Relation: "P19", Value: "Bern, Switzerland"}), Options{}, "name"},
		{"many values are no conflict", ent("1", "Ann Lee", "PER", Fact{Relation: "P40", Value: "Bo"}), ent("2", "Ann Lee", "PER", Fact{Relation: "P40", Value: "Cy"}), Options{}, "name"},
		{"the place where two were born", ent("1", "Bern", "LOC", Fact{Relation: "P19", Back: true, Value: "Ann"}), ent("2", "Bern", "LOC", Fact{Relation: "P19", Back: true, Value: "Bo"}), Options{}, "name"},
		{"kept apart by hand", ent("1", "Ann Lee", "PER"), ent("2", "Ann Lee", "PER"), Options{Apart: [][2]string{{"2", "1"}}}, "apart"},
		{"dates", ent("1", "May 1999", "TIME"), ent("2", "May 1999", "TIME"), Options{}, ""},
		{"numbers", ent("1", "twenty million", "NUM"), ent("2", "twenty million", "NUM"), Options{}, ""},
		{"texts", ent("1", "so it is said", "TEXT"), ent("2", "so it is said", "TEXT"), Options{}, ""},
		{"a hub", ent("1", "Bern City", "LOC", Fact{Relation: "x", Value: "a"}, Fact{Relation: "x", Value: "b"}), ent("2", "Bern City", "LOC"), Options{MaxFacts: 1}, ""},
	} {
		for _, order := range [][]Entity{{c.a, c.b}, {c.b, c.a}} {
			m := resolve(t, order, c.o)
			got := ""
			switch {
			case len(m.Links) == 1:
				got = string(m.Links[0].Rule)
			case len(m.Report.Vetoes) == 1:
				for v := range m.Report.Vetoes {
					got = v
				}
			case m.Report.Weak > 0:
				got = "weak"
			}
			if got != c.want || len(m.Links) > 1 {
				t.Errorf("%s: %q, want %q: %+v", c.name, got, c.want, m)
			}
		}
	}
}

// A third entity must not bring together what is kept apart.
func TestVetoHoldsForGroups(t *testing.T) {
	a, b, c := ent("a", "Ann Lee", "PER", born("1970")), ent("b", "Ann Lee", "PER"), ent("c", "Ann Lee", "PER", born("1980"))
	m := resolve(t, []Entity{c, b, a}, Options{})
	if len(m.Links) != 1 || m.Links[0].From != "b" || m.Links[0].To != "a" || m.Report.Vetoes[VetoDate] == 0 {
		t.Errorf("%+v", m)
	}
}

func TestLargeGroups(t *testing.T) {
	var ents []Entity
	for i := range 30 {
		ents = append(ents, ent(fmt.Sprintf("e%02d", i), "Ann Lee", "PER"))
	}
	ents = append(ents, ent("x", "Bo Ek", "PER"), ent("y", "Bo Ek", "PER"))
	m := resolve(t, ents, Options{MaxComponent: 20})
	if len(m.Links) != 1 || len(m.Report.Large) != 1 || m.Report.Large[0].Size != 30 || len(m.Report.Large[0].First) != 10 {
		t.Errorf("%+v", m)
	}
	for i := range ents[:30] {
		ents[i].Name = "Lee"
	}
	if m = resolve(t, ents, Options{MaxBlock: 10}); m.Report.LeftBlocks != 1 || len(m.Links) != 1 {
		t.Errorf("%+v", m)
	}
}

// The order of the input does not matter, groups keep to the vetoes, and every row leads in one step to an id that stays.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ents []Entity
		for i := range rapid.IntRange(0, 25).Draw(t, "entities") {
			pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "pick") }
			e := Entity{ID: fmt.Sprintf("e%02d", i), Name: pick("Ann Lee", "Lee Ann", "A. Lee", "Lee", "Bern", "World Bank Group", "WBG", "字"), Type: pick("PER", "PER", "LOC", "", "TIME"),
				Docs: []string{pick("d1", "d2", "d3", "d4", "d5", "d6", "d7")}}
			if rapid.Bool().Draw(t, "alias") {
				e.Aliases = []string{pick("Lee", "Ann Lee", "Bernese City")}
			}
			if rapid.Bool().Draw(t, "born") {
				e.Facts = append(e.Facts, born(pick("1970", "1970-02", "1971")))
			}
			ents = append(ents, e)
		}
		o := Options{Acronyms: true, Initials: true, Threshold: rapid.Float64Range(0.1, 1).Draw(t, "threshold")}
		m := resolve(t, ents, o)
		mixed := slices.Clone(ents)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		if d := cmp.Diff(m, resolve(t, mixed, o)); d != "" {
			t.Fatal(d)
		}
		group := map[string][]Entity{}
		to := map[string]string{}
		for _, l := range m.Links {
			to[l.From] = l.To
			if l.Score < o.Threshold-1e-4 || l.Score > 1 {
				t.Fatalf("%+v below %v", l, o.Threshold)
			}
		}
		for _, l := range m.Links {
			if _, chain := to[l.To]; chain {
				t.Fatalf("%+v leads on", l)
			}
			if via, ok := to[l.Via]; l.Via != l.To && (!ok || via != l.To) {
				t.Fatalf("%+v came in by an entity of another group", l)
			}
		}
		for _, e := range ents {
			g := e.ID
			if x, ok := to[g]; ok {
				g = x
			}
			group[g] = append(group[g], e)
		}
		for _, g := range group {
			for i, x := range g {
				for _, y := range g[:i] {
					if x.Type != "" && y.Type != "" && x.Type != y.Type || x.Docs[0] == y.Docs[0] || x.Type == "TIME" {
						t.Fatalf("%+v and %+v are one", x, y)
					}
					if len(x.Facts) > 0 && len(y.Facts) > 0 && x.Facts[0].Value[:4] != y.Facts[0].Value[:4] {
						t.Fatalf("%+v and %+v are one", x, y)
					}
				}
			}
		}
	})
}

func TestSettings(t *testing.T) {
	for _, o := range []Options{{Threshold: 2}, {Threshold: -1}, {MaxBlock: -1}} {
		if _, err := Resolve(context.Background(), nil, o); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := Resolve(context.Background(), []Entity{ent("a", "x", ""), ent("a", "y", "")}, Options{}); quarry.KindOf(err) != quarry.KindInvalid {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Resolve(ctx, []Entity{ent("a", "Ann Lee", ""), ent("b", "Ann Lee", "")}, Options{}); quarry.KindOf(err) != quarry.KindCanceled {
		t.Error(err)
	}
}

func TestDates(t *testing.T) {
	for in, want := range map[string]string{"1970": "1970 0 0", "1970-05": "1970 5 0", "-0044-03-15": "-44 3 15", "3 May 1970": "1970 5 3", "3rd of Sept. 1970": "1970 9 3",
		"May 1970": "1970 5 0", "Dec 24, 1999": "1999 12 24", "1970年5月3日": "1970 5 3", "1970s": "", "May": "", "31 Foo 1970": "", "1970-13": "", "": ""} {
		d, ok := parseDate(in)
		if got := fmt.Sprint(d.year, d.month, d.day); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s %v", in, got, ok)
		}
	}
}

// From a graph to a mapping, and through it to a graph in which two are one.
func TestApply(t *testing.T) {
	records := []store.Record{
		{Document: &store.Document{ID: "d1", Title: "1", Sentences: []string{"Ann Lee was born in Bern."}}},
		{Document: &store.Document{ID: "d2", Title: "2", Sentences: []string{"Ann B. Lee knew Ann Lee and lives in Rome."}}},
		{Entity: &store.Entity{ID: "b", Name: "Ann B. Lee", NameZH: "李安", Aliases: []string{"Lee"}, Type: "PER", Docs: []string{"d2"}}},
		{Statement: &store.Statement{Subject: "b", Predicate: "residence", Object: "Rome", Doc: "d2", Spans: []store.Span{{Start: 0, End: 10}}}},
		{Statement: &store.Statement{Subject: "b", Predicate: "knows", Object: "a"}},
		{Entity: &store.Entity{ID: "a", Name: "Ann Lee", Type: "PER", Docs: []string{"d1"}}},
		{Statement: &store.Statement{Subject: "a", Predicate: "born", Object: "Bern", Doc: "d1", Spans: []store.Span{{Start: 0, End: 7}}}},
		{Statement: &store.Statement{Subject: "a", Predicate: "born", Object: "Berne"}},
	}
	graph := func(fill func(*store.Builder) error) *store.Graph {
		t.Helper()
		b := store.NewBuilder()
		if err := fill(b); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if _, err := b.Finish(context.Background(), dir); err != nil {
			t.Fatal(err)
		}
		g, err := store.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close() })
		return g
	}
	feed := func(s Sink) error {
		for _, r := range records {
			if err := s.Add(r); err != nil {
				return err
			}
		}
		for _, o := range []string{"b", "Bern"} {
			if err := s.Triple([]byte("a"), []byte("likes"), []byte(o)); err != nil {
				return err
			}
		}
		return nil
	}
	plain := graph(func(b *store.Builder) error { return feed(b) })
	m := resolve(t, FromGraph(plain), Options{})
	want := []Link{{From: "b", To: "a", Rule: RuleWords, Score: 0.85, Via: "a", Evidence: []string{`words "ann lee"`}}}
	if d := cmp.Diff(want, m.Links); d != "" {
		t.Fatal(d)
	}
	path := filepath.Join(t.TempDir(), "map.jsonl")
	if err := Write(path, m, plain.Digest()); err != nil {
		t.Fatal(err)
	}
	m, source, err := Read(path)
	if err != nil || source != plain.Digest() {
		t.Fatal(source, err)
	}
	var x *Applied
	g := graph(func(b *store.Builder) error { x = Apply(m, b); return feed(x) })
	if _, there := g.EntityByID("b"); there || g.Entities() != 4 || g.Edges() != 4 || x.Loops != 2 || x.Moved != 2 {
		t.Errorf("%d entities, %d edges, %d loops, %d moved", g.Entities(), g.Edges(), x.Loops, x.Moved)
	}
	v, _ := g.EntityByID("a")
	if d := cmp.Diff(store.Entity{ID: "a", Name: "Ann Lee", Aliases: []string{"Ann B. Lee", "Lee", "李安"}, Type: "PER", Docs: []string{"d1", "d2"}}, g.Entity(v)); d != "" {
		t.Error(d)
	}
	if records[2].Entity.ID != "b" || records[3].Statement.Subject != "b" || len(records[2].Entity.Aliases) != 1 {
		t.Error("Apply changed the records it was given")
	}
}

const goldenMap = `{"format":"quarry-entity-map","version":1,"source":"g","report":{"entities":3,"literals":0,"hubs":0,"links":{"name":2},"groups":1,"largest_group":3,"vetoes":{},"weak":0,"left_blocks":0}}
{"from":"2","to":"1","rule":"name","score":0.93,"via":"1","evidence":["name \"ann lee\""]}
{"from":"3","to":"1","rule":"name","score":0.93,"via":"1","evidence":["name \"ann lee\""]}
{"rows":2,"sha256":"50fecbb6cb446a49e66a2b6bf3cc3dc26b3640e56dfcebe244a76ab1a93f6b1f"}
`

func golden(t failer) string {
	t.Helper()
	m := resolve(t, []Entity{ent("1", "Ann Lee", "PER"), ent("2", "Ann Lee", "PER"), ent("3", "Ann Lee", "PER")}, Options{})
	dir, err := os.MkdirTemp("", "map")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "m")
	if err := Write(path, m, "g"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestFile(t *testing.T) {
	data := golden(t)
	if data != goldenMap {
		t.Fatalf("the file differs:\n%s", data)
	}
	for i := range len(data) {
		if _, _, err := readMap(strings.NewReader(data[:i]), "m"); err == nil {
			t.Fatalf("cut at %d it is taken", i)
		}
		flipped := []byte(data)
		flipped[i] ^= 1
		if _, _, err := readMap(strings.NewReader(string(flipped)), "m"); err == nil || quarry.HintOf(err) == "" {
			t.Fatalf("flipped at %d: %v", i, err)
		}
	}
	for _, c := range []struct{ from, to, says string }{
		{`"version":1`, `"version":2`, "newer"}, {"quarry-entity-map", "x", "no mapping"}, {`"from":"2"`, `"from":"4"`, "m:3: expected rows in the order"},
		{`"to":"1"`, `"to":"2"`, "differ"}, {`"from":"3","to":"1"`, `"from":"3","to":"2"`, "chain"}, {`0.93`, `1.93`, "score"}, {`0.93`, `0.92`, "checksum"},
	} {
		_, _, err := readMap(strings.NewReader(strings.Replace(data, c.from, c.to, 1)), "m")
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.to, err)
		}
	}
	if _, _, err := readMap(strings.NewReader(data+"\n"), "m"); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Error(err)
	}
	if _, _, err := Read(filepath.Join(t.TempDir(), "none")); quarry.KindOf(err) != quarry.KindNotFound {
		t.Error(err)
	}
}

func FuzzMap(f *testing.F) {
	f.Add([]byte(goldenMap))
	f.Add([]byte(goldenMap[:300]))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, _, err := readMap(strings.NewReader(string(data)), "m")
		if err != nil {
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindInvalid {
				t.Fatal(err)
			}
			return
		}
		to := map[string]string{}
		for _, l := range m.Links {
			to[l.From] = l.To
		}
		for _, x := range to {
			if _, chain := to[x]; chain {
				t.Fatal("a chain")
			}
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("Ann Lee", "Lee, Ann", "A. Lee", "3 May 1970", "1970-05")
	f.Add("世界卫生组织", "WHO", "World Health Organization", "1970年", "")
	f.Fuzz(func(t *testing.T, a, b, c, d1, d2 string) {
		ents := []Entity{alias(ent("1", a, "ORG", born(d1)), c), alias(ent("2", b, "ORG", born(d2)), a), ent("3", c, "")}
		m := resolve(t, ents, Options{Acronyms: true, Initials: true, Threshold: 0.1})
		slices.Reverse(ents)
		if d := cmp.Diff(m, resolve(t, ents, Options{Acronyms: true, Initials: true, Threshold: 0.1})); d != "" {
			t.Fatal(d)
		}
	})
}
