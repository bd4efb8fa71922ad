package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/ingest"
	"github.com/quarry-rl/quarry/kg/store"
	"github.com/quarry-rl/quarry/synth/wording"
)

// plain words a plan without any grace: a writer of tests.
type plain struct{}

func (plain) Write(_ context.Context, d *Draft) (Wording, error) {
	var b strings.Builder
	term := func(t wording.Term) string {
		if t.Name != "" {
			return t.Name
		}
		return fmt.Sprintf("thing %d", t.Var+1)
	}
	for _, a := range d.Plan.Atoms {
		fmt.Fprintf(&b, "%s %s %s. ", term(a.Subject), a.Relation.Label, term(a.Object))
	}
	for _, m := range d.Plan.Marks {
		if m.Kind == wording.InYears {
			fmt.Fprintf(&b, "Thing %d is in the %ds. ", m.Var+1, m.From)
		} else {
			fmt.Fprintf(&b, "Thing %d is a %s. ", m.Var+1, m.Class)
		}
	}
	fmt.Fprintf(&b, "What is thing %d?", d.Plan.Answer+1)
	return Wording{Text: b.String()}, nil
}

// written is a writer made of a function.
type written func(d *Draft) (Wording, error)

func (w written) Write(_ context.Context, d *Draft) (Wording, error) { return w(d) }

var wikiDir = sync.OnceValues(func() (string, error) { return built("../../examples/wiki") })

// wiki is the demo graph, built once and mapped anew.
func wiki(t testing.TB) *kg.Mapped {
	t.Helper()
	dir, err := wikiDir()
	if err != nil {
		t.Fatal(err)
	}
	return mapped(t, dir)
}

func mapped(t testing.TB, dir string) *kg.Mapped {
	t.Helper()
	g, err := kg.OpenMapped(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func built(sources ...string) (string, error) {
	dir, err := os.MkdirTemp(scratch, "graph-")
	if err == nil {
		_, _, err = kg.Build(context.Background(), dir, ingest.Options{}, sources...)
	}
	return dir, err
}

// small builds a graph from records.
func small(t testing.TB, records ...store.Record) *kg.Mapped {
	t.Helper()
	b := store.NewBuilder()
	defer b.Close()
	for _, r := range records {
		if err := b.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	if _, err := b.Finish(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	g := must[*store.Graph](t)(store.Open(dir))
	defer g.Close()
	x := bm25.New(bm25.Options{})
	for _, p := range g.AllPassages() {
		x.Add(p.Title, p.Text)
	}
	if err := x.WriteFile(filepath.Join(dir, kg.IndexFile)); err != nil {
		t.Fatal(err)
	}
	m := mapped(t, dir)
	folders.Store(m, dir)
	return m
}

// scratch is a folder for the whole test run.
var scratch string

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	var err error
	if scratch, err = os.MkdirTemp("", "pipeline-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// folders are those of graphs that small built.
var folders sync.Map

func graphFile(t testing.TB, g *kg.Mapped) string {
	t.Helper()
	dir, ok := folders.Load(g)
	if !ok {
		t.Fatal("not a small graph")
	}
	return filepath.Join(dir.(string), store.GraphFile)
}
