package obfuscate

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/synth/certify"
	"github.com/quarry-rl/quarry/synth/wording"
)

type answers [][]uint32

func (a answers) Answer(_ context.Context, k int) ([]uint32, error) {
	if a[k] == nil {
		return nil, errors.New("down")
	}
	return a[k], nil
}

func TestChallenge(t *testing.T) {
	w := planted(t)
	born := certify.Query{Vars: 1, Atoms: []certify.Atom{{From: certify.Var(0), Step: csr.Along(0), To: certify.Const(1)}, {From: certify.Var(0), Step: csr.Along(2), To: certify.Const(6)}}}
	got, refused, err := w.Challenge(t.Context(), born, 0, answers{{0}, {3}, {2, 3}, {}}, 4)
	if err != nil || !refused || len(got) != 2 || got[0].Entity != 2 || !got[0].Full || got[1].Entity != 3 || got[1].Full || !slices.Equal(got[1].Fails, []int{0, 1}) {
		t.Fatalf("%+v %v %v", got, refused, err)
	}
	dated := certify.Query{Vars: 1, Atoms: append(slices.Clone(born.Atoms), certify.Atom{From: certify.Var(0), Step: csr.Along(1), To: certify.Const(4)})}
	got, refused, err = w.Challenge(t.Context(), dated, 0, answers{{2}, {3}, {99}}, 3)
	if err != nil || refused || len(got) != 2 || !slices.Equal(got[0].Fails, []int{2}) || !slices.Equal(got[1].Fails, []int{0, 1}) {
		t.Fatalf("%+v %v %v", got, refused, err)
	}
	if _, _, err = w.Challenge(t.Context(), dated, 0, answers{{2}, nil}, 2); err == nil {
		t.Error("a check that failed passes")
	}
}

func TestFlag(t *testing.T) {
	e := func(s, r, o int) csr.Edge {
		return csr.Edge{Subject: uint32(s), Relation: uint16(r), Object: uint32(o), Doc: csr.NoDoc}
	}
	g := graph(t, 5, 2, []csr.Edge{e(0, 0, 1), e(0, 0, 2), e(3, 0, 1), e(3, 1, 4)})
	at := func(edge uint32) certify.Validity {
		switch edge {
		case 1:
			return certify.Validity{End: certify.Date{Year: 1990}}
		case 3:
			return certify.Validity{Start: certify.Date{Year: 2001}, Functional: true}
		}
		return certify.Validity{}
	}
	got := Flag(g, []uint32{0, 1, 2, 3}, certify.Date{Year: 2020}, 10, at)
	want := []Unsteady{{Edge: 0, Objects: 2, Several: true}, {Edge: 1, Objects: 2, Ended: true}, {Edge: 3, Objects: 1, Stale: true}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := Flag(g, []uint32{0, 1, 2, 3}, certify.Date{}, 0, nil); len(got) != 2 || !got[0].Several || !got[1].Several {
		t.Errorf("without times: %+v", got)
	}
}

func TestYearsAndValues(t *testing.T) {
	for s, want := range map[string][2]int64{"13 March 1963": {1963, 1963}, "1963-03-13": {1963, 1963}, "1990s": {1990, 1999}, "1987 to 1994": {1987, 1994}, "20世纪": {}, "44 BC": {},
		"1234 BC": {}, "公元前1234年": {}, "1970年代": {1970, 1979}, "19th century": {}, "12345": {}, "May": {}, "": {}, "-0044": {}} {
		from, to, ok := Years(s)
		if from != want[0] && ok || ok && to != want[1] || ok != (want[0] != 0) {
			t.Errorf("%q: %d %d %v", s, from, to, ok)
		}
	}
	for s, want := range map[string]int64{"1,204,511": 1204511, "7": 7, "12 000": 12000, "3.5": -1, "-3": -1, "": -1, "ten": -1, "99999999999999999999": -1} {
		if n, ok := Value(s); ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d %v", s, n, ok)
		}
	}
	for x, want := range map[int64][4]int64{1: {1, 1, 1, 9}, 3: {2, 4, 1, 9}, 5: {5, 9, 1, 9}, 10: {10, 19, 10, 99}, 1204511: {1000000, 1999999, 1000000, 9999999},
		9223372036854775807: {5000000000000000000, 9223372036854775807, 1000000000000000000, 9223372036854775807}} {
		a, b := steps(x)
		c, d := magnitude(x)
		if [4]int64{a, b, c, d} != want || x < a || x > b {
			t.Errorf("%d: %v", x, [4]int64{a, b, c, d})
		}
	}
}

func FuzzYears(f *testing.F) {
	f.Add("13 March 1963")
	f.Add("1990s")
	f.Fuzz(func(t *testing.T, s string) {
		if from, to, ok := Years(s); ok && (from < 1 || to < from || to > 10008) {
			t.Fatal(from, to)
		}
		if n, ok := Value(s); ok && n < 0 {
			t.Fatal(n)
		}
	})
}

func TestCatalogue(t *testing.T) {
	e := made{[]string{"Bob", "1 May 1953", "1957", "1948 to 1952", "12", "beta", "北京"}, []string{"PER", "TIME", "TIME", "TIME", "NUM", "", "LOC"}}
	c := NewCatalogue(e, 7, 2, wording.English)
	sets := func(v uint32) string {
		var out []string
		for _, i := range c.of[v] {
			m, ok := c.Mark(i + 2)
			if !ok || !slices.Contains(c.Sets[i], v) || !slices.IsSorted(c.Sets[i]) {
				t.Fatal(i, c.Sets[i])
			}
			out = append(out, string(c.ops[i])+" "+m.Class+m.Text)
			if m.From != 0 {
				out = append(out, strings.TrimSpace(strings.Join([]string{itoa(m.From), itoa(m.To)}, "-")))
			}
		}
		return strings.Join(out, ", ")
	}
	for v, want := range map[uint32]string{0: "class person, initial B, length , 1-3", 1: "interval , 1950-1954, decade , 1950-1959, century , 1901-2000", 3: "century , 1901-2000",
		4: "range , 10-19, band , 10-99", 5: "initial B, length , 4-6"} {
		if got := sets(v); got != want {
			t.Errorf("%d: %s, want %s", v, got, want)
		}
	}
	if _, ok := c.Mark(1); ok {
		t.Error("a caller's set has a mark")
	}
	if _, err := c.All(nil); quarry.KindOf(err) != quarry.KindInvalid {
		t.Error(err)
	}
}

func itoa(n int64) string {
	var b []byte
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}

// TestWords weakens questions of a generated world and writes them in both languages: they read back.
func TestWords(t *testing.T) {
	g := world(t, 1000)
	lex := wording.NewLexicon(relations()...)
	for _, lang := range []wording.Lang{wording.English, wording.Chinese} {
		w := weakener(t, g.Graph, g, lang)
		r := rand.New(rand.NewPCG(4, 4))
		words := Words{Entities: g, Catalogue: w.cat, Lang: lang, Relation: func(n int) wording.Relation {
			x := g.Relation(n)
			return lex.Relation(wording.Relation{ID: x.ID, Label: x.Label, LabelZH: x.LabelZH})
		}}
		bad, ops := 0, map[Operator]int{}
		const n = 150
		for item := range uint64(n) {
			q, path := unique(r, w, 3, 3)
			got, err := w.Weaken(q, path[3], Options{Seed: 1, Item: item, Hidden: path, Keep: []int{0}})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range got.Steps {
				if s.Kept {
					ops[s.Op]++
				}
			}
			p, err := words.Plan(got.Query, append(slices.Clone(path[1:]), got.Was...))
			if err != nil {
				t.Fatal(err)
			}
			text, err := wording.Write(p, lang, int(item))
			if err != nil {
				bad++
				t.Log(err, got.Query, p.Marks, p.Constants())
				continue
			}
			if err := wording.Check(p, text); err != nil {
				t.Fatal(err, text)
			}
			if item < 8 {
				t.Log(text)
			}
		}
		t.Log(lang, ops)
		if bad > n/100 {
			t.Errorf("%s: %d of %d questions are not readable", lang, bad, n)
		}
		if len(ops) < 6 {
			t.Errorf("%s: only %v were kept", lang, ops)
		}
	}
	w := Words{Entities: g, Lang: wording.English, Relation: func(int) wording.Relation { return wording.Relation{ID: "r", Label: "owner"} }}
	q := certify.Query{Vars: 1, Atoms: []certify.Atom{{From: certify.Var(0), Step: csr.Along(0), To: certify.Const(1)}}, Members: []certify.Member{{Var: 0, Set: 0}}}
	if _, err := w.Plan(q, []uint32{0}); quarry.KindOf(err) != quarry.KindInvalid {
		t.Errorf("a set nobody can say: %v", err)
	}
	born := wording.Relation{ID: "born", Label: "date of birth"}
	w.Sets = func(int) (SetWords, bool) {
		return SetWords{Through: &born, Mark: wording.Mark{Kind: wording.InYears, From: 1950, To: 1959}}, true
	}
	p, err := w.Plan(q, []uint32{0})
	if err != nil || len(p.Kinds) != 2 || p.Kinds[1] != wording.Date || p.Marks[0].Var != 1 || len(p.Atoms) != 2 {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := w.Plan(q, nil); quarry.KindOf(err) != quarry.KindInvalid {
		t.Error(err)
	}
}
