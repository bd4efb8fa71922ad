package obfuscate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quarry-rl/quarry/kg/csr"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/kg/worldgen"
	"github.com/quarry-rl/quarry/synth/certify"
	"github.com/quarry-rl/quarry/synth/wording"
)

// made are entities of a made-up graph.
type made struct{ names, types []string }

func (m made) Name(e uint32) string   { return m.names[e] }
func (m made) NameZH(e uint32) string { return "" }
func (m made) Type(e uint32) string   { return m.types[e] }

// mixed makes n entities, every fourth a date and every seventh a number.
func mixed(r *rand.Rand, n int) made {
	m := made{make([]string, n), make([]string, n)}
	for v := range n {
		switch {
		case v%4 == 3:
			m.names[v], m.types[v] = fmt.Sprintf("%d March %d", 1+r.IntN(28), 1900+r.IntN(60)), store.TypeTime
		case v%7 == 6:
			m.names[v], m.types[v] = fmt.Sprint(1+r.IntN(3000)), store.TypeNumber
		default:
			m.names[v] = string(rune('A'+r.IntN(4))) + "abcdefghij"[:1+r.IntN(9)]
			m.types[v] = []string{"PER", "LOC", "ORG"}[r.IntN(3)]
		}
	}
	return m
}

func graph(t testing.TB, n, rels int, es []csr.Edge) *csr.Graph {
	t.Helper()
	g, err := csr.New(n, rels, es)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func dense(t testing.TB, r *rand.Rand, n, m, rels int) *csr.Graph {
	es := make([]csr.Edge, 0, m)
	for range m {
		es = append(es, csr.Edge{Subject: uint32(r.IntN(n)), Object: uint32(r.IntN(n)), Relation: uint16(r.IntN(rels)), Doc: csr.NoDoc})
	}
	return graph(t, n, rels, es)
}

func weakener(t testing.TB, g *csr.Graph, e Entities, lang wording.Lang) *Weakener {
	t.Helper()
	cat := NewCatalogue(e, g.Entities(), 0, lang)
	sets, err := cat.All(nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := certify.NewIndex(g, sets, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(x, cat, e)
}

// question draws a query that its answer satisfies: a walk from an anchor, and statements of its places.
func question(r *rand.Rand, g *csr.Graph, hops, conds int) (q certify.Query, path []uint32, ok bool) {
	at := uint32(r.IntN(g.Entities()))
	path = []uint32{at}
	w := certify.Walk{Anchor: at}
	for range hops {
		if g.Degree(at) == 0 {
			return q, nil, false
		}
		p := g.Off[at] + uint32(r.IntN(g.Degree(at)))
		if slices.Contains(path, g.Targets[p]) {
			return q, nil, false
		}
		w.Hops = append(w.Hops, certify.Hop{Step: g.Steps[p], Edge: g.EdgeAt(at, p), To: g.Targets[p]})
		at = g.Targets[p]
		path = append(path, at)
	}
	var ks []certify.Condition
	for range conds {
		place := 1 + r.IntN(hops)
		v := path[place]
		p := g.Off[v] + uint32(r.IntN(g.Degree(v)))
		if to := g.Targets[p]; !slices.Contains(path, to) {
			ks = append(ks, certify.Condition{Place: place, Step: g.Steps[p], To: to, Set: certify.NoSet})
		}
	}
	return certify.Question(w, ks), path, true
}

// brute finds answers by trying every binding of the variables in turn.
func brute(g *csr.Graph, sets [][]uint32, q certify.Query) []uint32 {
	bind := make([]int, q.Vars)
	for i := range bind {
		bind[i] = -1
	}
	value := func(t certify.Term) int {
		if t.Variable {
			return bind[t.N]
		}
		return int(t.N)
	}
	fits := func() bool {
		for _, a := range q.Atoms {
			f, to := value(a.From), value(a.To)
			if f >= 0 && to >= 0 && !slices.Contains(g.Neighbours(uint32(f), a.Step), uint32(to)) {
				return false
			}
		}
		for _, m := range q.Members {
			if v := bind[m.Var]; v >= 0 && !slices.Contains(sets[m.Set], uint32(v)) {
				return false
			}
		}
		return true
	}
	var some func(i int) bool
	some = func(i int) bool {
		if i == q.Vars {
			return true
		}
		if i == q.Answer {
			return some(i + 1)
		}
		for v := range g.Entities() {
			bind[i] = v
			if fits() && some(i+1) {
				bind[i] = -1
				return true
			}
		}
		bind[i] = -1
		return false
	}
	var out []uint32
	for v := range g.Entities() {
		bind[q.Answer] = v
		if fits() && some(0) {
			out = append(out, uint32(v))
		}
	}
	return out
}

// world is a generated graph.
func world(t testing.TB, documents int) *store.Graph {
	t.Helper()
	w, err := worldgen.New(worldgen.Options{Seed: 5, Documents: documents})
	if err != nil {
		t.Fatal(err)
	}
	b := store.NewBuilder()
	defer b.Close()
	dir := t.TempDir()
	b.Spill(dir)
	if err := w.Write(context.Background(), b, 1); err != nil {
		t.Fatal(err)
	}
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

func relations() []wording.Relation {
	var out []wording.Relation
	for _, r := range worldgen.Relations() {
		out = append(out, wording.Relation{ID: r.ID, Label: r.Label, LabelZH: r.LabelZH, Forward: wording.Phrase(r.Forward), Inverse: wording.Phrase(r.Inverse)})
	}
	return out
}
