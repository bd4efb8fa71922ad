package pipeline

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/synth/certify"
)

// Of several terms of one statement the one that holds at the date counts; an open one of a functional relation that began
// long before is flagged, and so are several objects.
func TestTimesOfStatements(t *testing.T) {
	var records []store.Record
	add := func(s, p, o string, quals ...string) {
		st := &store.Statement{Subject: s, Predicate: p, Object: o}
		for i := 0; i < len(quals); i += 2 {
			st.Qualifiers = append(st.Qualifiers, store.Qualifier{Property: quals[i], Value: quals[i+1]})
		}
		records = append(records, store.Record{Statement: st})
	}
	for i := range 40 { // a relation with one object
		add(fmt.Sprint("country ", i), "head", fmt.Sprint("person ", i))
	}
	add("country 0", "head", "person 0", store.QualStart, "1980", store.QualEnd, "1984")
	add("country 0", "head", "person 0", store.QualStart, "1990", store.QualEnd, "2001")
	add("country 1", "head", "person 1", store.QualStart, "1980", store.QualEnd, "1999-12")
	add("country 2", "head", "person 2", store.QualStart, "1980")
	add("country 3", "head", "person 3", store.QualStart, "1999")
	add("country 4", "head", "person 3", store.QualStart, "2000-02")
	add("country 5", "neighbour", "country 6", store.QualStart, "1980")
	add("country 5", "neighbour", "country 7", store.QualStart, "long ago")
	g := small(t, records...)
	s := must[*Space](t)(NewSpace(g, Options{AsOf: "2000-01"}, Hooks{Writer: plain{}}))
	for _, test := range []struct {
		subject, relation, object string
		want                      certify.Times
	}{
		{"country 0", "head", "person 0", certify.Times{}},
		{"country 1", "head", "person 1", certify.Times{Ended: []int{0}}},
		{"country 2", "head", "person 2", certify.Times{Stale: []int{0}}},
		{"country 3", "head", "person 3", certify.Times{}},
		{"country 4", "head", "person 3", certify.Times{Ahead: []int{0}, Several: []int{0}}},
		{"country 5", "neighbour", "country 6", certify.Times{}},
		{"country 5", "neighbour", "country 7", certify.Times{}},
	} {
		found := false
		for e := range uint32(g.Edges()) {
			edge := g.Edge(e)
			if g.ID(edge.Subject) != test.subject || g.RelationID(int(edge.Relation)) != test.relation || g.ID(edge.Object) != test.object {
				continue
			}
			found = true
			got := s.timesOf(&proof{walk: certify.Walk{Anchor: edge.Subject, Hops: []certify.Hop{{Edge: e, To: edge.Object}}}})
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s %s %s: %+v, expected %+v", test.subject, test.relation, test.object, got, test.want)
			}
		}
		if !found {
			t.Errorf("no %s %s %s", test.subject, test.relation, test.object)
		}
	}
}

// Whatever is asked: the stages add up and a run in two parts leaves the bytes of one.
func TestAnyOptions(t *testing.T) {
	g := dense(t)
	rapid.Check(t, func(r *rapid.T) {
		o := Options{Seed: rapid.Uint64().Draw(r, "seed"), Hops: rapid.IntRange(1, 6).Draw(r, "hops"), Necessity: Level(rapid.IntRange(1, 4).Draw(r, "necessity")),
			Leaf: rapid.IntRange(1, 5).Draw(r, "leaf"), Conditions: rapid.IntRange(1, 3).Draw(r, "conditions"), PerAnswer: rapid.IntRange(0, 2).Draw(r, "per answer"),
			MaxDegree: rapid.SampledFrom([]int{0, 12}).Draw(r, "degree"), Independent: rapid.Bool().Draw(r, "independent"), MaxWalks: 12, Concurrency: rapid.IntRange(1, 3).Draw(r, "concurrency")}
		one, two := t.TempDir(), t.TempDir()
		s := must[*Space](t)(NewSpace(g, o, Hooks{Writer: plain{}}))
		left := 1 << 30
		s.wrap = func(_ string, f file) file { return dying{f, &left, 0} } // spares the disk the syncs
		s.o.MaxWalks = rapid.IntRange(1, 11).Draw(r, "part")
		must[Report](t)(s.Run(t.Context(), two))
		s.o.MaxWalks = o.MaxWalks
		must[Report](t)(s.Run(t.Context(), two))
		checkReport(t, must[Report](t)(s.Run(t.Context(), one)))
		equal(t, "in two parts", bothFiles(t, one), bothFiles(t, two))
	})
}
