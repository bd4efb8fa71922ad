package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarry-rl/quarry"
)

// use calls all that reads a graph; after Fsck none of it may fail.
func use(g *Graph) {
	for v := range uint32(g.Entities() + 1) {
		g.Entity(v)
		g.Named(v)
		g.Literal(v)
		g.EntityByID(g.ID(v))
		g.EntitiesByName(g.Name(v))
	}
	for v := range uint32(g.Entities()) {
		g.DocsOf(v)
		g.Path(0, v, 4)
		for _, s := range g.Steps[g.Off[v]:g.Off[v+1]] {
			g.Neighbours(v, s)
		}
	}
	for e := range uint32(g.Edges()) {
		g.Qualifiers(e)
		for _, ev := range g.Evidence(e) {
			g.Cited(e, ev)
			g.Statement(e, ev.Passage)
		}
	}
	for r := range g.relations() {
		g.Relation(r)
		g.RelationsByName(g.Label(r))
	}
	for d := range uint32(g.Documents() + 1) {
		g.Document(d)
	}
	for p := range g.AllPassages() {
		g.Passage(p)
	}
	g.Stats()
	g.Health()
}

// Any file is refused with an error of a kind, or can be checked and, when it passes, used.
func FuzzOpen(f *testing.F) {
	whole, err := os.ReadFile(filepath.Join("testdata", "tiny", GraphFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, false)
	f.Add(whole[:100], false)
	f.Add([]byte(magic), true)
	f.Add([]byte{}, true)
	f.Fuzz(func(t *testing.T, data []byte, unaligned bool) {
		b := clone(data)
		if unaligned {
			b = append([]byte{0}, data...)[1:]
		}
		g, err := parse("fuzzed", b)
		if err != nil {
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindInvalid {
				t.Fatalf("%s: %v", k, err)
			}
			return
		}
		checkAndUse(t, g)
	})
}

func checkAndUse(t *testing.T, g *Graph) {
	g.manifest.Counts.fill(&g.arrays)
	faults, err := g.Fsck(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) == 0 {
		use(g)
	}
}

// A file with right checksums and wrong content never panics: edits are triples of place (two bytes) and value.
func FuzzFsck(f *testing.F) {
	whole, err := os.ReadFile(filepath.Join("testdata", "tiny", GraphFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte{})
	for i := headLen; i < len(whole)-tailLen; i += 97 {
		f.Add([]byte{byte(i), byte(i >> 8), 255, byte(i + 4), byte((i + 4) >> 8), 1})
	}
	f.Fuzz(func(t *testing.T, edits []byte) {
		data := clone(whole)
		end := len(data) - tailLen - len((&arrays{}).columns())*entryLen
		for ; len(edits) >= 3; edits = edits[3:] {
			if at := headLen + (int(edits[0])|int(edits[1])<<8)%(end-headLen); at < end {
				data[at] = edits[2]
			}
		}
		reseal(data)
		g, err := parse("edited", data)
		if err != nil {
			if quarry.KindOf(err) != quarry.KindCorrupt {
				t.Fatal(err)
			}
			return
		}
		checkAndUse(t, g)
	})
}

func FuzzManifest(f *testing.F) {
	whole, err := os.ReadFile(filepath.Join("testdata", "tiny", ManifestFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"schema":"quarry.graph/9"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest("fuzzed", data)
		if k := quarry.KindOf(err); err == nil && (m.Schema != Schema || m.File != GraphFile) || err != nil && k != quarry.KindCorrupt && k != quarry.KindInvalid {
			t.Fatalf("%+v %v", m, err)
		}
	})
}
