package kg

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
	"github.com/quarry-rl/quarry/kg/bm25"
	"github.com/quarry-rl/quarry/kg/ingest"
	"github.com/quarry-rl/quarry/kg/resolve"
	"github.com/quarry-rl/quarry/kg/store"
)

// IndexFile is the index of the passages, beside the files of kg/store.
const IndexFile = "passages.qbm"

// Files lists what a graph folder holds (docs/formats/graph.md).
func Files() []string { return []string{store.GraphFile, IndexFile, store.ManifestFile} }

// FormatVersion changes when this program could not open a graph folder that was built before, or would search it in
// another way.
func FormatVersion() string {
	tables := bm25.AnalyserHash()
	return fmt.Sprintf("%s, index %d, %s-%x", store.Schema, bm25.Version, bm25.Analyser, tables[:8])
}

// Build reads sources of any format that kg/ingest knows and writes a graph folder with its index to out, which must
// exist. Errors are those of ingest.Read, store.Builder and bm25.
func Build(ctx context.Context, out string, o ingest.Options, sources ...string) (store.Manifest, ingest.Stats, error) {
	return BuildResolved(ctx, out, o, nil, sources...)
}

// BuildResolved is Build with entities joined as a map says; nil joins none.
func BuildResolved(ctx context.Context, out string, o ingest.Options, joined *resolve.Mapping, sources ...string) (store.Manifest, ingest.Stats, error) {
	var read ingest.Stats
	m, err := Write(ctx, out, func(b *store.Builder) (err error) {
		for _, s := range sources {
			b.AddSource(store.Source{Path: filepath.Base(filepath.Clean(s))})
		}
		var sink ingest.Sink = b
		if joined != nil {
			sink = resolve.Apply(joined, b)
		}
		read, err = ingest.Read(ctx, sink, o, sources...)
		return err
	})
	return m, read, err
}

// Write makes a graph folder with its index of what fill adds.
func Write(ctx context.Context, out string, fill func(*store.Builder) error) (store.Manifest, error) {
	b := store.NewBuilder()
	defer b.Close()
	b.Spill(out)
	if err := fill(b); err != nil {
		return store.Manifest{}, err
	}
	// an index of an earlier graph must never stand beside this one
	if err := os.Remove(filepath.Join(out, IndexFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return store.Manifest{}, atomicfile.Classify("kg build", filepath.Join(out, IndexFile), err)
	}
	m, err := b.Finish(ctx, out)
	if err != nil {
		return m, err
	}
	return m, index(ctx, out)
}

// index makes the index of a graph folder. It comes after the manifest; a folder without it cannot be opened.
func index(ctx context.Context, dir string) error {
	g, err := store.Open(dir)
	if err != nil {
		return err
	}
	defer g.Close()
	b := bm25.New(bm25.Options{TempDir: dir})
	defer b.Close()
	for p, ps := range g.AllPassages() {
		if p%4096 == 0 && ctx.Err() != nil {
			return &quarry.Error{Op: "kg build", Kind: quarry.KindCanceled, Subject: dir, Err: ctx.Err(), Hint: "run the same command again"}
		}
		b.Add(ps.Title, ps.Text)
	}
	return b.WriteFile(filepath.Join(dir, IndexFile))
}

// Open reads a graph folder into memory.
func Open(dir string) (*Graph, error) {
	s, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	data, err := atomicfile.ReadFile("kg open", filepath.Join(dir, IndexFile))
	if err != nil {
		return nil, indexError(dir, err)
	}
	g := fromStore(s)
	if g.index, err = bm25.FromBytes(data); err != nil {
		return nil, indexError(dir, err)
	}
	if g.index.Len() != len(g.Passages) {
		return nil, otherIndex(dir)
	}
	return g, nil
}

const buildAgain = "build the graph again with: quarry kg build"

func otherIndex(dir string) error {
	return &quarry.Error{Op: "kg open", Kind: quarry.KindCorrupt, Subject: filepath.Join(dir, IndexFile), Msg: "it is the index of another graph", Hint: buildAgain}
}

// indexError says of an index that cannot be opened where it is, and what to do about one that the build did not come to.
func indexError(dir string, err error) error {
	var known *quarry.Error
	if !errors.As(err, &known) {
		return err
	}
	e := *known
	e.Subject = filepath.Join(dir, IndexFile)
	if e.Kind == quarry.KindNotFound {
		e.Msg, e.Err, e.Hint = "no such file: the build did not finish", nil, buildAgain
	}
	return &e
}

// Load builds a graph from sources in a temporary folder and opens it.
func Load(ctx context.Context, sources ...string) (*Graph, error) {
	dir, err := os.MkdirTemp("", "quarry-kg-")
	if err != nil {
		return nil, &quarry.Error{Op: "kg build", Kind: quarry.KindUnavailable, Err: err, Hint: "set TMPDIR to a folder that can be written"}
	}
	defer os.RemoveAll(dir)
	if _, _, err := Build(ctx, dir, ingest.Options{}, sources...); err != nil {
		return nil, err
	}
	return Open(dir)
}

// fromStore reads a mapped graph into memory: entities, relations and documents keep their numbers, edges come in the
// order of the store. Evidence that is no whole sentence counts as the sentence it starts in; that of a document as a
// whole counts as none, since no one sentence can be shown for it.
func fromStore(s *store.Graph) *Graph {
	g := &Graph{docNo: map[string]int{}, entNo: map[string]int{}, relNo: map[string]int{}}
	for d := range uint32(s.Documents()) {
		doc := s.Document(d)
		g.docNo[doc.ID] = len(g.Docs)
		g.Docs = append(g.Docs, Document{ID: doc.ID, Title: doc.Title, Sentences: doc.Sentences})
		at := 0
		for i, text := range doc.Sentences {
			g.Passages = append(g.Passages, Passage{Doc: int(d), Sentence: i, Start: at, Title: doc.Title, Text: text})
			at += len(text) + 1
		}
	}
	for e := range uint32(s.Entities()) {
		named := s.Named(e)
		ent := Entity{Named: quarry.Named{ID: named.ID, Name: named.Name, Aliases: named.Aliases}, Type: s.Type(e)}
		for _, d := range s.DocsOf(e) {
			ent.Docs = append(ent.Docs, g.Docs[d].ID)
		}
		g.entNo[ent.ID] = int(e)
		g.Entities = append(g.Entities, ent)
	}
	for r := range s.Rels {
		rel := s.Relation(r)
		g.relNo[rel.ID] = r
		g.Relations = append(g.Relations, Relation{ID: rel.ID, Label: rel.Label, LabelZH: rel.LabelZH, Description: rel.Description})
	}
	for e := range uint32(s.Edges()) {
		ed := s.Edge(e)
		edge := Edge{Subject: int(ed.Subject), Relation: int(ed.Relation), Object: int(ed.Object)}
		for _, ev := range s.Evidence(e) {
			if ev.Passage != store.NoPassage {
				edge.Evidence = append(edge.Evidence, int(ev.Passage))
			}
		}
		slices.Sort(edge.Evidence) // whole sentences come before spans
		edge.Evidence = slices.Compact(edge.Evidence)
		g.Edges = append(g.Edges, edge)
	}
	return g
}
