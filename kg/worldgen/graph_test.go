package worldgen

import (
	"context"
	"testing"

	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/kg/walk"
)

// built is a world as an open graph.
func built(tb testing.TB, o Options) (*World, *store.Graph) {
	tb.Helper()
	w, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	b := store.NewBuilder()
	defer b.Close()
	dir := tb.TempDir()
	b.Spill(dir)
	if err := w.Write(context.Background(), b, 2); err != nil {
		tb.Fatal(err)
	}
	if _, err := b.Finish(context.Background(), dir); err != nil {
		tb.Fatal(err)
	}
	g, err := store.Open(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { g.Close() })
	return w, g
}

func TestGraph(t *testing.T) {
	w, g := built(t, Options{Seed: 11, Documents: 10_000})
	faults, err := g.Fsck(context.Background())
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	if g.Documents() != 10_000 || g.Rels != 20 {
		t.Errorf("%d documents, %d relations", g.Documents(), g.Rels)
	}
	if per := float64(g.Edges()) / 10_000; per < 5.5 || per > 6.5 {
		t.Errorf("%.2f statements an article", per)
	}
	h := g.Health()
	if h.Largest < 0.999 || h.Isolated > 0 {
		t.Errorf("largest component %.4f, isolated %.4f", h.Largest, h.Isolated)
	}
	checkSkew(t, w, g)
	if share := completed(t, g, 4, 5000); share < 0.5 {
		t.Errorf("%.3f of walks of 4 hops complete", share)
	} else {
		t.Logf("%.3f of walks of 4 hops complete", share)
	}
	checkReach(t, g, "en", func(e uint32) string { return g.Name(e) }, g.Label, 0.85)
}

func TestGraphZH(t *testing.T) {
	_, g := built(t, Options{Seed: 11, Documents: 3000, Lang: Chinese})
	checkReach(t, g, "zh", func(e uint32) string { return g.NameZH(e) }, g.LabelZH, 0.85)
}

// checkSkew wants hubs, and none that much of the world leads to.
func checkSkew(t *testing.T, w *World, g *store.Graph) {
	for _, k := range []kind{city, organisation, person} {
		var in []int
		total := 0
		for n := range w.count(k) {
			v, ok := g.EntityByID(EntityID(w.first[k] + n))
			if !ok {
				t.Fatalf("no %s", EntityID(w.first[k]+n))
			}
			d := g.Degree(v) - int(g.Out[v+1]-g.Out[v])
			in = append(in, d)
			total += d
		}
		mean := float64(total) / float64(len(in))
		top, best := 0, 0
		for n, d := range in {
			best = max(best, d)
			if n < len(in)/10 {
				top += d
			}
		}
		// chances that fall as 1/sqrt(rank) give the first tenth sqrt(0.1) = 0.32 of what is drawn by it
		if share := float64(top) / float64(total); share < 0.2 || share > 0.45 || float64(best) < 4*mean || best > g.Edges()/50 {
			t.Errorf("kind %d: first tenth has %.2f of %d, best %d, mean %.1f", k, share, total, best, mean)
		}
	}
}

func completed(t *testing.T, g *store.Graph, hops, n int) float64 {
	t.Helper()
	c, err := walk.NewConstrained(g.Graph, hops, walk.Rules{Seed: 1, Inside: func(v uint32) bool { return !g.Literal(v) }})
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	if err := c.Run(context.Background(), 0, n, 2, func(_ int, p walk.Path, why walk.Reason) {
		if why == walk.Complete {
			done++
		}
	}); err != nil {
		t.Fatal(err)
	}
	return float64(done) / float64(n)
}

// checkReach searches for statements by the name of one end and the relation's label.
func checkReach(t *testing.T, g *store.Graph, lang string, name func(uint32) string, label func(int) string, least float64) {
	t.Helper()
	b := bm25.New(bm25.Options{TempDir: t.TempDir()})
	for _, p := range g.AllPassages() {
		b.Add(p.Title, p.Text)
	}
	path := t.TempDir() + "/passages"
	if err := b.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	x, err := bm25.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var forward, backward, document, n, m float64
	var hits []bm25.Hit
	for e := uint32(0); int(e) < g.Edges(); e += 29 {
		edge, ev := g.Edge(e), g.Evidence(e)[0]
		found := func(from uint32) (passage, doc bool) {
			hits = x.Search(name(from)+" "+label(int(edge.Relation)), 5, hits[:0])
			for _, h := range hits {
				passage = passage || h.Passage == ev.Passage
				doc = doc || g.Passage(h.Passage).Doc == ev.Doc
			}
			return passage, doc
		}
		n++
		p, d := found(edge.Subject)
		if p {
			forward++
		}
		if d {
			document++
		}
		if !g.Literal(edge.Object) {
			m++
			if p, _ := found(edge.Object); p {
				backward++
			}
		}
	}
	t.Logf("%s: of %.0f statements %.1f %% are among the first 5 sentences forward, %.1f %% their articles; %.1f %% backward",
		lang, n, 100*forward/n, 100*document/n, 100*backward/m)
	if forward/n < least {
		t.Errorf("%s: only %.3f forward", lang, forward/n)
	}
}

// Values are where walks end: nothing but articles leads to them.
func TestValues(t *testing.T) {
	_, g := built(t, Options{Seed: 2, Documents: 500})
	for v := range uint32(g.Entities()) {
		if g.Literal(v) && g.Out[v] != g.Out[v+1] {
			t.Errorf("%s says something", g.Name(v))
		}
	}
	released, _ := g.RelationByID("released_in")
	works := 0
	for e := range uint32(g.Edges()) {
		edge := g.Edge(e)
		if int(edge.Relation) != released {
			continue
		}
		works++
		v := g.Entity(edge.Object)
		if v.ID != "TIME:"+v.Name || v.NameZH != v.Name+"年" || v.Type != store.TypeTime || year(v.ID) < firstEvents || year(v.ID) > now {
			t.Errorf("%+v", v)
		}
	}
	if works != 100 {
		t.Errorf("%d works of 500 entities", works)
	}
	day := value{year: 923, month: 5, day: 4}.entity()
	if day.ID != "TIME:0923-05-04" || day.Name != "4 May 923" || day.NameZH != "923年5月4日" || day.Aliases[0] != "0923-05-04" {
		t.Errorf("%+v", day)
	}
}
