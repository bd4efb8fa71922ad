package certify

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/csr"
)

func stream(seed uint64, item int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(item))) }

// drawWalk is a uniform simple walk: a uniform start, then at each vertex one of the half-edges to new ones that may be
// walked.
func drawWalk(g *csr.Graph, r *rand.Rand, hops int, may func(w Walk, edge, to uint32) bool) (Walk, bool) {
	w := Walk{Anchor: uint32(r.IntN(g.Entities()))}
	at := w.Anchor
	var open []uint32
	for range hops {
		open = open[:0]
		for p := g.Off[at]; p < g.Off[at+1]; p++ {
			if !w.on(g.Targets[p]) && (may == nil || may(w, g.EdgeAt(at, p), g.Targets[p])) {
				open = append(open, p)
			}
		}
		if len(open) == 0 {
			return w, false
		}
		p := open[r.IntN(len(open))]
		w.Hops = append(w.Hops, Hop{Step: g.Steps[p], Edge: g.EdgeAt(at, p), To: g.Targets[p]})
		at = g.Targets[p]
	}
	return w, true
}

func completed(g *csr.Graph, seed uint64, n, hops int, may func(w Walk, edge, to uint32) bool) []Walk {
	var out []Walk
	for item := 0; len(out) < n && item < 100*n; item++ {
		if w, ok := drawWalk(g, stream(seed, item), hops, may); ok {
			out = append(out, w)
		}
	}
	return out
}

func mustGraph(t testing.TB, n, rels int, es []csr.Edge) *csr.Graph {
	t.Helper()
	g, err := csr.New(n, rels, es)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustIndex(t testing.TB, g *csr.Graph, sets [][]uint32) *Index {
	t.Helper()
	x, err := NewIndex(g, sets, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// skewed is a graph with hubs: ends by a power law, relations by another.
func skewed(t testing.TB, seed uint64, n, m, rels int) *csr.Graph {
	r := stream(seed, n)
	power := func(k int) int { return int(float64(k) * math.Pow(r.Float64(), 3)) }
	es := make([]csr.Edge, 0, m)
	for range m {
		es = append(es, csr.Edge{Subject: uint32(r.IntN(n)), Object: uint32(power(n)), Relation: uint16(power(rels)), Doc: csr.NoDoc})
	}
	return mustGraph(t, n, rels, es)
}

// demo is the graph of examples/wiki: every statement, those with evidence may be walked, and literals end walks; and sets: the types, and for each relation to a date the entities of a decade.
func demo(t testing.TB) (g *csr.Graph, may func(w Walk, edge, to uint32) bool, sets [][]uint32) {
	t.Helper()
	k, err := kg.Load(context.Background(), filepath.Join("..", "..", "examples", "wiki"))
	if err != nil {
		t.Fatal(err)
	}
	es := make([]csr.Edge, 0, len(k.Edges))
	for _, e := range k.Edges {
		doc := uint32(csr.NoDoc)
		if len(e.Evidence) > 0 {
			doc = uint32(k.Passages[e.Evidence[0]].Doc)
		}
		es = append(es, csr.Edge{Subject: uint32(e.Subject), Object: uint32(e.Object), Relation: uint16(e.Relation), Doc: doc})
	}
	g = mustGraph(t, len(k.Entities), len(k.Relations), es)
	may = func(w Walk, edge, to uint32) bool {
		return g.Docs[edge] != csr.NoDoc && (len(w.Hops) == 0 || !k.Entities[w.Answer()].Literal()) && !k.Entities[w.Anchor].Literal()
	}
	byName := map[string][]uint32{}
	for v := range k.Entities {
		byName[k.Entities[v].Type] = append(byName[k.Entities[v].Type], uint32(v))
	}
	for _, e := range k.Edges {
		if o := &k.Entities[e.Object]; o.Type == "TIME" {
			for _, f := range strings.FieldsFunc(o.Name, func(r rune) bool { return r < '0' || r > '9' }) {
				if y, err := strconv.Atoi(f); err == nil && len(f) == 4 {
					key := strconv.Itoa(e.Relation) + " " + strconv.Itoa(y/10)
					byName[key] = append(byName[key], uint32(e.Subject))
				}
			}
		}
	}
	var names []string
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		set := byName[name]
		slices.Sort(set)
		sets = append(sets, slices.Compact(set))
	}
	return g, may, sets
}

// freebase reads FB15k-237.tar.gz in the folder that QUARRY_BENCH_DATA names; nil when it names none.
func freebase(t testing.TB) *csr.Graph {
	t.Helper()
	dir := os.Getenv("QUARRY_BENCH_DATA")
	if dir == "" {
		return nil
	}
	f, err := os.Open(filepath.Join(dir, "medium-fb15k237", "FB15k-237.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	entities, relations := map[string]int{}, map[string]int{}
	number := func(m map[string]int, s string) int {
		i, ok := m[s]
		if !ok {
			i = len(m)
			m[s] = i
		}
		return i
	}
	var es []csr.Edge
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(h.Name, ".txt") || strings.HasPrefix(filepath.Base(h.Name), ".") {
			continue
		}
		for sc := bufio.NewScanner(tr); sc.Scan(); {
			c := strings.Split(strings.TrimSuffix(sc.Text(), "\r"), "\t")
			if len(c) != 3 {
				t.Fatalf("%s: %q is not three columns", h.Name, sc.Text())
			}
			s := number(entities, c[0])
			r := number(relations, c[1])
			es = append(es, csr.Edge{Subject: uint32(s), Relation: uint16(r), Object: uint32(number(entities, c[2])), Doc: csr.NoDoc})
		}
	}
	return mustGraph(t, len(entities), len(relations), es)
}
