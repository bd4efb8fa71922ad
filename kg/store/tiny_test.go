package store

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The bytes of version 1 do not change.
func TestGolden(t *testing.T) {
	dir := t.TempDir()
	sound(t, build(t, dir, tiny()))
	for _, name := range []string{GraphFile, ManifestFile} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "tiny", name)
		if *update {
			if err := os.WriteFile(golden, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes differ from the %d of %s", name, len(got), len(want), golden)
		}
	}
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestTiny(t *testing.T) {
	g := build(t, t.TempDir(), tiny())
	defer g.Close()
	check(t, "counts", g.Manifest().Counts, Counts{Entities: 4, Relations: 2, Statements: 5, Edges: 3, Documents: 3, Passages: 3, Evidence: 4, Qualifiers: 4, Strings: 21})
	ada, ok := g.EntityByID("Q1")
	check(t, "found", ok, true)
	check(t, "entity", g.Entity(ada), Entity{ID: "Q1", Name: "Ada Lovelace", NameZH: "愛達", Type: "PER", Description: "mathematician",
		Aliases: []string{"Ada", "Countess of Lovelace", "Ada King", "A. Lovelace"}, Docs: []string{"d0", "d2"}})
	year, _ := g.EntityByID("1815")
	check(t, "an id stands in for the name", g.Entity(year), Entity{ID: "1815", Name: "1815", Type: TypeTime})
	check(t, "literal", g.Literal(year) && !g.Literal(ada), true)
	check(t, "named", g.Named(ada), quarry.Named{ID: "Q1", Name: "Ada Lovelace", Aliases: []string{"愛達", "Ada", "Countess of Lovelace", "Ada King", "A. Lovelace"}})
	for _, name := range []string{"ada", "ADA  LOVELACE!", "愛達", "a lovelace"} {
		check(t, name, g.EntitiesByName(name), []uint32{ada})
	}
	for _, name := range []string{"", "1815", "lovelace", "mathematician"} {
		check(t, name, g.EntitiesByName(name), []uint32(nil))
	}
	check(t, "relation", g.Relation(0), Relation{ID: "P1", Label: "met", LabelZH: "遇见", Description: "was in one place with"})
	check(t, "relation without record", g.Relation(1), Relation{ID: "P2", Label: "P2"})
	check(t, "relations by name", g.RelationsByName("Met"), []int{0})
	check(t, "relations by Chinese name", g.RelationsByName("遇见"), []int{0})
	d1, _ := g.DocumentByID("d1")
	check(t, "document", g.Document(d1), *tiny()[2].Document)
	check(t, "passage", g.Passage(1), Passage{Doc: d1, Sentence: 1, Start: 17, Title: "Ada", Text: "他是数学家。"})

	edge := uint32(0) // Q1 met Q2
	d2, _ := g.DocumentByID("d2")
	check(t, "evidence", g.Evidence(edge), []Evidence{{d1, 0, Span{0, 16}}, {d1, 2, Span{36, 52}}, {d2, NoPassage, Span{}}, {d1, 0, Span{4, 15}}})
	check(t, "statement", g.Statement(edge, 2), quarry.Statement{Subject: "Q1", Predicate: "P1", Object: "Q2", Text: "She wrote notes.", Doc: "d1", Start: 36, End: 52,
		TextSHA256: "f9e1b4a218cce5d70e791c7564e4aff7ed0fc007be6143a1637fc92602fbd7c6"})
	check(t, "span", g.Cited(edge, g.Evidence(edge)[3]).Text, "met Charles")
	check(t, "bare statement", g.Statement(edge, NoPassage), quarry.Statement{Subject: "Q1", Predicate: "P1", Object: "Q2"})
	check(t, "no text", g.Cited(edge, g.Evidence(edge)[2]), quarry.Statement{Subject: "Q1", Predicate: "P1", Object: "Q2", Doc: "d2"})
	check(t, "qualifiers", g.Qualifiers(edge), []Qualified{
		{d1, []Qualifier{{QualStart, "1990"}, {QualEnd, "1994-05"}}}, {d1, []Qualifier{{QualStart, "2001"}}}})
	d0, _ := g.DocumentByID("d0")
	check(t, "documents of Ada", g.DocsOf(ada), []uint32{d1, d0, d2})
	check(t, "documents of the year", g.DocsOf(year), []uint32(nil))
	check(t, "edge's document", g.Edge(edge), csr.Edge{Subject: ada, Object: 1, Relation: 0, Doc: d1})
	check(t, "stats", g.Stats(), Stats{Counts: g.Manifest().Counts, WithText: 1, ByType: map[string]int{"PER": 2, "TIME": 1, "": 1}, Shared: 2, MaxDegree: 4})
	check(t, "health", g.Health(), Health{Isolated: 0.25, Largest: 0.75, Components: 2, Mean: 1.5, Median: 1, P90: 4, P99: 4, Max: 4, PowerLawR2: 1})
}

// Numbers beyond the graph have no names and no texts.
func TestOutOfRange(t *testing.T) {
	g := build(t, t.TempDir(), tiny())
	defer g.Close()
	for _, n := range []uint32{4, 1000, NoPassage} {
		check(t, "entity", g.Entity(n), Entity{})
		check(t, "relation", g.Relation(int(n)), Relation{})
		check(t, "document", g.Document(n), Document{})
		check(t, "passage", g.Passage(n), Passage{})
		check(t, "evidence", g.Evidence(n), []Evidence(nil))
		check(t, "qualifiers", g.Qualifiers(n), []Qualified(nil))
		_, ok := g.Path(0, n, 3)
		check(t, "path", ok, false)
	}
}
