package store

import (
	"context"
)

// failer is a test of either kind.
type failer interface {
	Helper()
	Fatal(...any)
}

// build writes records into a new folder and opens it.
func build(t failer, dir string, records []Record) *Graph {
	t.Helper()
	b := NewBuilder()
	for _, r := range records {
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Finish(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	g, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// sound fails unless a graph has no fault.
func sound(t failer, g *Graph) {
	t.Helper()
	faults, err := g.Fsck(context.Background())
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
}

// tiny has one of everything.
func tiny() []Record {
	return []Record{
		{Statement: &Statement{Subject: "Q1", Predicate: "P1", Object: "Q2", Doc: "d1", Spans: []Span{{0, 16}}, Qualifiers: []Qualifier{{QualStart, "1990"}, {QualEnd, "1994-05"}}}},
		{Document: &Document{ID: "d0", Title: "Empty"}},
		{Document: &Document{ID: "d1", Title: "Ada", URL: "https://example.org/ada", Sentences: []string{"Ada met Charles.", "他是数学家。", "She wrote notes."}}},
		{Entity: &Entity{ID: "Q1", Name: "Ada Lovelace", NameZH: "愛達", Aliases: []string{"Ada", "Countess of Lovelace"}, Type: "PER", Description: "mathematician", Docs: []string{"d2", "d0", "d2"}}},
		{Entity: &Entity{ID: "Q2", Name: "Charles Babbage", Type: "PER"}},
		{Entity: &Entity{ID: "Q1", Name: "Ada King", Aliases: []string{"Ada", "A. Lovelace"}, Type: "MISC"}},
		{Entity: &Entity{ID: "Q9", Name: "Nobody"}},
		{Relation: &Relation{ID: "P1", Label: "met", LabelZH: "遇见", Description: "was in one place with"}},
		{Statement: &Statement{Subject: "Q1", Predicate: "P1", Object: "Q2", Doc: "d2"}},
		{Statement: &Statement{Subject: "Q1", Predicate: "P1", Object: "Q2", Doc: "d1", Spans: []Span{{4, 15}, {36, 52}}, Qualifiers: []Qualifier{{QualStart, "2001"}}}},
		{Statement: &Statement{Subject: "Q2", Predicate: "P2", Object: "Q2"}},
		{Statement: &Statement{Subject: "Q2", Predicate: "P1", Object: "1815", Qualifiers: []Qualifier{{"P585", "1815"}}}},
		{Entity: &Entity{ID: "1815", Type: TypeTime}},
	}
}
