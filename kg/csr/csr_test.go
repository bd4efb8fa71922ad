package csr

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func edges(entities, relations int) *rapid.Generator[[]Edge] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edge {
		return Edge{Subject: rapid.Uint32Range(0, uint32(entities-1)).Draw(t, "s"), Object: rapid.Uint32Range(0, uint32(entities-1)).Draw(t, "o"),
			Relation: rapid.Uint16Range(0, uint16(relations-1)).Draw(t, "r"), Doc: rapid.SampledFrom([]uint32{NoDoc, 0, 1, 2}).Draw(t, "d")}
	}), 0, 60)
}

// A graph must answer every question as the plain list of its edges does.
func TestAgreesWithList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, rels := rapid.IntRange(1, 8).Draw(t, "n"), rapid.SampledFrom([]int{1, 3, MaxRelations}).Draw(t, "rels")
		es := edges(n, rels).Draw(t, "edges")
		type key struct {
			s, o uint32
			r    uint16
		}
		docs := map[key]uint32{}
		for _, e := range es {
			k := key{e.Subject, e.Object, e.Relation}
			if d, ok := docs[k]; !ok || e.Doc < d {
				docs[k] = e.Doc
			}
		}
		g, err := New(n, rels, es)
		if err != nil {
			t.Fatal(err)
		}
		if g.Edges() != len(docs) || g.Entities() != n {
			t.Fatalf("%d edges of %d, %d entities of %d", g.Edges(), len(docs), g.Entities(), n)
		}
		for e := range g.Edges() {
			ed := g.Edge(uint32(e))
			if d, ok := docs[key{ed.Subject, ed.Object, ed.Relation}]; !ok || d != ed.Doc {
				t.Fatalf("edge %d is %v, the list has document %v %d", e, ed, ok, d)
			}
			if e > 0 && Compare(g.Edge(uint32(e-1)), ed) >= 0 {
				t.Fatalf("edge %d is not after the one before", e)
			}
		}
		for v := range uint32(n) {
			degree := 0
			for k := range docs {
				if k.s == v {
					degree++
				}
				if k.o == v {
					degree++
				}
			}
			if g.Degree(v) != degree {
				t.Fatalf("degree of %d is %d, the list has %d", v, g.Degree(v), degree)
			}
			for p := g.Off[v]; p < g.Off[v+1]; p++ {
				ed, st := g.Edge(g.EdgeAt(v, p)), g.Steps[p]
				from, to := ed.Subject, ed.Object
				if st.Inverse() {
					from, to = to, from
				}
				if from != v || to != g.Targets[p] || int(ed.Relation) != st.Relation() {
					t.Fatalf("half-edge %d of %d leads by %v to %d, its edge is %v", p, v, st, g.Targets[p], ed)
				}
				ns := g.Neighbours(v, st)
				if !slices.IsSorted(ns) || !slices.Contains(ns, to) || !g.Leads(v, st, to) || !g.Leads(to, st.Reverse(), v) {
					t.Fatalf("neighbours of %d by %v are %v", v, st, ns)
				}
			}
			for w := range uint32(n) {
				want := false
				for k := range docs {
					want = want || k.s == v && k.o == w || k.s == w && k.o == v
				}
				if g.Adjacent(v, w) != want {
					t.Fatalf("Adjacent(%d, %d) is %v", v, w, !want)
				}
			}
		}
	})
}

func TestRefused(t *testing.T) {
	for name, f := range map[string]func() (*Graph, error){
		"relations": func() (*Graph, error) { return New(1, MaxRelations+1, nil) },
		"subject":   func() (*Graph, error) { return New(2, 1, []Edge{{Subject: 2}}) },
		"object":    func() (*Graph, error) { return New(2, 1, []Edge{{Object: 2}}) },
		"relation":  func() (*Graph, error) { return New(2, 1, []Edge{{Relation: 1}}) },
		"entities":  func() (*Graph, error) { return New(math.MaxUint32, 1, nil) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
