package certify

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
)

// chainGraph is 0 -r0-> 1 -r0-> 2 -r0-> 3 with what each test plants; 20 more entities have the same relations, so that
// no step is telling.
func chainGraph(t *testing.T, planted ...csr.Edge) (*Index, Walk) {
	t.Helper()
	es := []csr.Edge{{Subject: 0, Object: 1, Doc: 0}, {Subject: 1, Object: 2, Doc: 1}, {Subject: 2, Object: 3, Doc: 2}}
	for v := uint32(4); v < 24; v++ {
		es = append(es, csr.Edge{Subject: v, Object: v + 1, Doc: csr.NoDoc})
	}
	x := mustIndex(t, mustGraph(t, 40, 3, append(es, planted...)), nil)
	w := Walk{Anchor: 0}
	for v := range uint32(3) {
		e := uint32(0)
		for g := x.G.Edge(e); g.Subject != v || g.Object != v+1 || g.Relation != 0; g = x.G.Edge(e) {
			e++
		}
		w.Hops = append(w.Hops, Hop{Step: csr.Along(0), Edge: e, To: v + 1})
	}
	if err := w.Check(x.G); err != nil {
		t.Fatal(err)
	}
	return x, w
}

// One shortcut planted per level fails there and at no lower level.
func TestPlantedShortcuts(t *testing.T) {
	for _, c := range []struct {
		name    string
		planted []csr.Edge
		want    int
	}{
		{"nothing", nil, 3},
		{"anchor and answer", []csr.Edge{{Subject: 3, Object: 0, Relation: 1, Doc: csr.NoDoc}}, -1},
		{"inner vertex and answer", []csr.Edge{{Subject: 1, Object: 3, Relation: 1}}, 0},
		{"anchor and inner vertex", []csr.Edge{{Subject: 2, Object: 0, Relation: 2}}, 1},
		{"another statement of the last two", []csr.Edge{{Subject: 3, Object: 2, Relation: 1}}, 3},
		{"a second answer", []csr.Edge{{Subject: 2, Object: 30}}, 2},
	} {
		x, w := chainGraph(t, c.planted...)
		cert := must(NewChooser(x, Options{}).Certify(w, nil))
		if got := cert.Necessity.Level(); got != c.want {
			t.Errorf("%s: level %d of %+v, want %d", c.name, got, cert.Necessity, c.want)
		}
	}
	// N3 by a condition that is not needed, by one that tells, and by one without which there are more
	fans := func(to uint32, from ...uint32) (out []csr.Edge) {
		for _, v := range from {
			out = append(out, csr.Edge{Subject: v, Object: to, Relation: 1, Doc: csr.NoDoc})
		}
		return out
	}
	for _, c := range []struct {
		name    string
		planted []csr.Edge
		n3      bool
		leaf    int
	}{
		{"not needed", fans(39, 3, 5, 6, 7, 8), false, 5},
		{"needed", append(fans(39, 3, 5, 6, 7, 8), csr.Edge{Subject: 2, Object: 30}), true, 5},
		{"telling", append(fans(39, 3, 5, 6, 7), csr.Edge{Subject: 2, Object: 30}), false, 4},
		{"telling with the last step", append(fans(39, 3, 31, 32, 33, 34), csr.Edge{Subject: 2, Object: 30}), false, 1},
	} {
		x, w := chainGraph(t, c.planted...)
		k := Condition{Place: 3, Step: csr.Along(1), To: 39, Set: NoSet}
		cert := must(NewChooser(x, Options{}).Certify(w, []Condition{k}))
		if cert.Answers != 1 || cert.Necessity.N3 != c.n3 || cert.Leaf != c.leaf {
			t.Errorf("%s: %+v", c.name, cert)
		}
	}
}

func TestTextNecessity(t *testing.T) {
	_, w := chainGraph(t)
	for _, c := range []struct {
		name     string
		mentions map[uint32][]uint32
		ok       bool
		doc      uint32
	}{
		{"only the last hop's", map[uint32][]uint32{0: {0, 2}, 1: {0, 1}, 2: {1, 2}, 3: {2}}, true, 0},
		{"the vertex before may", map[uint32][]uint32{0: {0}, 1: {0, 1}, 2: {1, 2, 7}, 3: {2, 7}}, true, 0},
		{"an inner vertex may not", map[uint32][]uint32{0: {0, 9}, 1: {0, 7}, 2: {1, 2}, 3: {2, 7, 9}}, false, 7},
		{"the anchor may not", map[uint32][]uint32{0: {0, 9}, 1: {0}, 2: {1, 2}, 3: {2, 9}}, false, 9},
	} {
		ok, doc := TextNecessity(w, 2, func(v uint32) []uint32 { return c.mentions[v] })
		if ok != c.ok || doc != c.doc {
			t.Errorf("%s: %v by %d", c.name, ok, doc)
		}
	}
}

func TestIndependence(t *testing.T) {
	x, _ := chainGraph(t, csr.Edge{Subject: 1, Object: 35, Relation: 2})
	path := Branch{Vertices: []uint32{0, 1, 2}, Docs: []uint32{0, 1, csr.NoDoc}, Sentences: []string{"The bridge was opened by the mayor of Gent."}, Bits: 3}
	other := Branch{Vertices: []uint32{36}, Docs: []uint32{5, csr.NoDoc}, Sentences: []string{"It spans a wide river."}, Bits: 1}
	change := func(f func(*Branch)) []Branch {
		b := other
		f(&b)
		return []Branch{path, b}
	}
	all := Independence{Disjoint: true, Unlinked: true, DocsApart: true, Informative: true, Unlike: true}
	for _, c := range []struct {
		name string
		bs   []Branch
		want func(*Independence)
	}{
		{"apart", change(func(*Branch) {}), func(*Independence) {}},
		{"shared vertex", change(func(b *Branch) { b.Vertices = []uint32{0} }), func(i *Independence) { i.Disjoint, i.Unlinked = false, false }},
		{"cross edge", change(func(b *Branch) { b.Vertices = []uint32{35} }), func(i *Independence) { i.Unlinked = false }},
		{"shared document", change(func(b *Branch) { b.Docs = []uint32{1} }), func(i *Independence) { i.DocsApart = false }},
		{"no bit gained", change(func(b *Branch) { b.Bits = 0.99 }), func(i *Independence) { i.Informative = false }},
		{"same words", change(func(b *Branch) { b.Sentences = []string{"the bridge, was opened by the Mayor of Ghent"} }), func(i *Independence) { i.Unlike = false }},
		{"the branch twice", []Branch{path, path}, func(i *Independence) { i.Disjoint, i.Unlinked, i.DocsApart, i.Unlike = false, false, false, false }},
	} {
		want := all
		c.want(&want)
		got := x.Independent(c.bs)
		if got.Disjoint != want.Disjoint || got.Unlinked != want.Unlinked || got.DocsApart != want.DocsApart || got.Informative != want.Informative || got.Unlike != want.Unlike {
			t.Errorf("%s: %+v", c.name, got)
		}
		if got.Holds() != (c.name == "apart") {
			t.Errorf("%s: holds is %v", c.name, got.Holds())
		}
	}
}

func TestLikeness(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"abc", "ABC", 1}, {"abc", "xyz", 0}, {"abcd", "abce", 2. / 6}, {"", "", 1}, {"", "abc", 0}, {"北京大学", "北京大学", 1},
	} {
		if got := Likeness([]string{c.a}, []string{c.b}); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOf(rapid.String()).Draw(t, "a"), rapid.SliceOf(rapid.String()).Draw(t, "b")
		if l := Likeness(a, b); l != Likeness(b, a) || !(l >= 0 && l <= 1) || Likeness(a, a) != 1 {
			t.Fatalf("%v", l)
		}
	})
}

func TestDispersion(t *testing.T) {
	for n := 1; n <= 10; n++ {
		var docs []uint32
		for d := range uint32(n) {
			docs = append(docs, d, d)
		}
		if got := Dispersion(docs); math.Abs(got-(1-1/float64(n))) > 1e-12 {
			t.Errorf("%d equal documents: %v", n, got)
		}
	}
	if got := Dispersion([]uint32{1, 1, 1, 2}); got != 0.375 {
		t.Errorf("three of one, one of another: %v", got)
	}
	if Dispersion(nil) != 0 {
		t.Error("no documents disperse nothing")
	}
}

func TestShape(t *testing.T) {
	v, c, s := Var, Const, csr.Along(0)
	for _, k := range []struct {
		name  string
		q     Query
		shape Topology
		width int
	}{
		{"chain", Query{Vars: 3, Answer: 2, Atoms: []Atom{{c(0), s, v(0)}, {v(0), s, v(1)}, {v(1), s, v(2)}}}, Chain, 1},
		{"star", Query{Vars: 2, Answer: 1, Atoms: []Atom{{c(0), s, v(0)}, {v(0), s, v(1)}, {v(1), s, c(5)}}}, Star, 1},
		{"tree", Query{Vars: 2, Answer: 1, Atoms: []Atom{{c(0), s, v(0)}, {v(0), s, v(1)}, {v(0), s, c(5)}}}, Tree, 1},
		{"cycle", Query{Vars: 3, Answer: 2, Atoms: []Atom{{v(0), s, v(1)}, {v(1), s, v(2)}, {v(2), s, v(0)}}}, Cycle, 2},
		{"two relations between two", Query{Vars: 2, Answer: 1, Atoms: []Atom{{v(0), s, v(1)}, {v(1), csr.Along(1), v(0)}}}, Cycle, 2},
		{"two ways from one entity", Query{Vars: 2, Answer: 1, Atoms: []Atom{{c(0), s, v(0)}, {v(0), s, v(1)}, {v(1), s, c(0)}}}, Cycle, 2},
		{"all four joined", Query{Vars: 4, Atoms: []Atom{{v(0), s, v(1)}, {v(0), s, v(2)}, {v(0), s, v(3)}, {v(1), s, v(2)}, {v(1), s, v(3)}, {v(2), s, v(3)}}}, Cycle, 3},
	} {
		if shape, width := Shape(k.q); shape != k.shape || width != k.width {
			t.Errorf("%s: %s of width %d", k.name, shape, width)
		}
	}
}

func TestPressure(t *testing.T) {
	loads := []HopLoad{{Doc: 1, Distractors: 3, Bindings: 2}, {Doc: 2, Distractors: 2, Bindings: 1}, {Doc: 2, Distractors: 1, Bindings: 1}, {Doc: 3, Bindings: 90}}
	// 6 distractors, 2+1+1 bindings, documents 1, 2 and 3
	got := must(Pressure(loads, 10, 20))
	if got != 13.0/20 {
		t.Errorf("pressure %v", got)
	}
	if half := must(Pressure(loads, 10, 40)); half != got/2 {
		t.Errorf("twice the budget: %v", half)
	}
	loads[1].Distractors++
	if more := must(Pressure(loads, 10, 20)); more <= got {
		t.Errorf("one distractor more: %v", more)
	}
	loads[0].Bindings = 1000
	if capped := must(Pressure(loads, 10, 20)); capped != 22.0/20 {
		t.Errorf("bindings count up to k: %v", capped)
	}
	// the paper's check value
	if v := must(Pressure([]HopLoad{{Doc: 1, Distractors: 5, Bindings: 4}, {Doc: 2}, {Doc: 3}}, 10, 20)); v != 0.6 {
		t.Errorf("12 of 20: %v", v)
	}
	for _, c := range []struct{ k, b int }{{0, 1}, {1, 0}} {
		if _, err := Pressure(loads, c.k, c.b); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("k %d, budget %d: %v", c.k, c.b, err)
		}
	}
	x, w := chainGraph(t, csr.Edge{Subject: 0, Object: 30}, csr.Edge{Subject: 30, Object: 31}, csr.Edge{Subject: 30, Object: 32})
	if got := must(NewSolver(x).Bindings(w, 10)); !slices.Equal(got, []int{2, 3, 1}) {
		t.Errorf("bindings %v", got)
	}
}

func TestTimes(t *testing.T) {
	day := func(s string) Date { return must(ParseDate(s)) }
	quals := []Validity{
		{Start: day("1990"), End: day("2001-05-03")},
		{Start: day("1990"), End: day("2020-06")},
		{Start: day("2020-07-01")},
		{Start: day("2020-06")},
		{Start: day("1999"), Functional: true},
		{At: day("2019"), Functional: true},
		{},
		{Start: day("1999"), End: day("2030"), Functional: true},
		{Start: day("-0044"), End: day("-0027-01-16")},
	}
	edges := []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8}
	got := TimesAt(edges, day("2020-06-30"), 10, func(e uint32) Validity { return quals[e] }, func(e uint32) int { return int(e) - 3 })
	if !slices.Equal(got.Ended, []int{0, 8}) || !slices.Equal(got.Ahead, []int{2}) || !slices.Equal(got.Stale, []int{4}) || !slices.Equal(got.Several, []int{5}) || got.Valid() {
		t.Errorf("%+v", got)
	}
	if ok := TimesAt(edges[1:2], day("2020"), 10, func(e uint32) Validity { return quals[e] }, nil); !ok.Valid() {
		t.Errorf("%+v", ok)
	}
}

func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"", "2001", "2001-02", "2000-02-29", "-0044-03-15", "1900-02-29", "2001-13", "2001-1-1", "0000", "12345-01-01", "2001-02-03-04", "-", "20x1", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDate(s)
		if err != nil {
			if quarry.KindOf(err) != quarry.KindInvalid || d != (Date{}) {
				t.Fatalf("%q: %v %v", s, d, err)
			}
			return
		}
		if (d.Year == 0) != (s == "") || d.Month < 0 || d.Month > 12 || d.Day < 0 || d.Day > 31 || d.Day > 0 && d.Month == 0 || d.first() > d.last() {
			t.Fatalf("%q: %+v", s, d)
		}
	})
}

func TestParseDate(t *testing.T) {
	for s, want := range map[string]Date{"2001": {2001, 0, 0}, "2001-02": {2001, 2, 0}, "2000-02-29": {2000, 2, 29}, "-0044-03-15": {-44, 3, 15}} {
		if got, err := ParseDate(s); err != nil || got != want {
			t.Errorf("%q: %+v %v", s, got, err)
		}
	}
	for _, s := range []string{"1900-02-29", "2001-13", "2001-04-31", "2001-00", "0000", "1", "2001-1", "2001-02-3x", "--2001", "2001-"} {
		if d, err := ParseDate(s); err == nil {
			t.Errorf("%q: %+v", s, d)
		}
	}
}
