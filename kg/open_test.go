package kg

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/ingest"
	"github.com/quarry-rl/quarry/kg/store"
)

// opens are the ways to open a graph folder.
var opens = map[string]func(dir string) error{
	"Open": func(dir string) error { _, err := Open(dir); return err },
	"OpenMapped": func(dir string) error {
		m, err := OpenMapped(dir)
		if err == nil {
			err = m.Close()
		}
		return err
	},
}

func TestBuild(t *testing.T) {
	data := folderOf(t, small())
	a, b := built(t, data), built(t, data)
	entries, err := os.ReadDir(a)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := slices.Sorted(slices.Values(Files()))
	if !slices.Equal(names, want) {
		t.Errorf("%v was written, want %v", names, want)
	}
	for _, name := range names {
		x, err := os.ReadFile(filepath.Join(a, name))
		y, err2 := os.ReadFile(filepath.Join(b, name))
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s: another build gives other bytes, %v", name, err)
		}
	}
	m, err := OpenMapped(a)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	faults, err := m.Fsck(t.Context())
	if err != nil || len(faults) > 0 || m.Index().Fsck() != nil {
		t.Errorf("faults %v, %v, %v", faults, err, m.Index().Fsck())
	}
	if s := m.Manifest().Sources; len(s) != 1 || s[0].Path != filepath.Base(data) {
		t.Errorf("sources %+v", s)
	}
}

// TestBuildWithoutText: a graph of bare triples has no passages, and searches find nothing.
func TestBuildWithoutText(t *testing.T) {
	dir := built(t, filepath.Join(folderOf(t, map[string]string{"x.tsv": "a\tp\tb\nb\tp\tc\n"}), "x.tsv"))
	g, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Edges) != 2 || len(g.Passages) != 0 || len(g.Search("a", 3)) != 0 {
		t.Errorf("%+v", g.Stats())
	}
	if err := opens["OpenMapped"](dir); err != nil {
		t.Error(err)
	}
}

// TestBuildRefuses: a bad line of any file is named from end to end, and what is there is no graph. The messages are
// those of kg/ingest, which has them all in its tests.
func TestBuildRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(files map[string]string)
		kind   quarry.Kind
		says   string
	}{
		"truncated triple":  {func(f map[string]string) { f[ingest.TriplesFile] += "e0\tP19\te1" }, quarry.KindInvalid, "triples.tsv:4: expected 5 columns"},
		"torn document":     {func(f map[string]string) { f[ingest.DocsFile] += `{"id":"d2","ti` }, quarry.KindInvalid, "docs.jsonl:3: expected an object"},
		"not UTF-8":         {func(f map[string]string) { f[ingest.EntitiesFile] += "{\"id\":\"\xff\"}" }, quarry.KindInvalid, "entities.jsonl:4: expected UTF-8"},
		"relation twice":    {func(f map[string]string) { f[ingest.RelationsFile] += "P19\tagain" }, quarry.KindInvalid, "relations.tsv:3: expected each relation once"},
		"a file missing":    {func(f map[string]string) { delete(f, ingest.RelationsFile) }, quarry.KindNotFound, "relations.tsv: no such file"},
		"no statements":     {func(f map[string]string) { f[ingest.TriplesFile] = "" }, quarry.KindInvalid, "no statement"},
		"an empty folder":   {func(f map[string]string) { clear(f) }, quarry.KindNotFound, "the folder holds no files"},
		"all files missing": {func(f map[string]string) { clear(f); f[".hidden"] = "x" }, quarry.KindNotFound, "the folder holds no files"},
	} {
		files := small()
		c.change(files)
		out := t.TempDir()
		_, _, err := Build(t.Context(), out, ingest.Options{}, folderOf(t, files))
		if quarry.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, quarry.HintOf(err))
		}
		for how, open := range opens {
			if err := open(out); quarry.KindOf(err) != quarry.KindNotFound {
				t.Errorf("%s: %s gives %v", name, how, err)
			}
		}
		if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
	if _, err := Load(t.Context(), filepath.Join(t.TempDir(), "nowhere")); quarry.KindOf(err) != quarry.KindNotFound || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("no source: %v", err)
	}
}

// countdown is a context that is canceled when its error is asked for the n-th time.
type countdown struct {
	context.Context
	left atomic.Int32
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestCanceledBuild stops a build over an earlier one at every point where it looks: the folder holds the earlier graph,
// the new one or none that opens, but never one with the other's index.
func TestCanceledBuild(t *testing.T) {
	other := small()
	other[ingest.DocsFile] = strings.ReplaceAll(other[ingest.DocsFile], "Lum", "Vell") // as many passages
	first, second := built(t, folderOf(t, small())), folderOf(t, other)
	stopped := 0
	for n := range 1000 {
		out := t.TempDir()
		if err := os.CopyFS(out, os.DirFS(first)); err != nil {
			t.Fatal(err)
		}
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(int32(n))
		_, _, err := Build(ctx, out, ingest.Options{}, second)
		if err != nil && (quarry.KindOf(err) != quarry.KindCanceled || quarry.HintOf(err) == "") {
			t.Fatalf("stopped at look %d: %v", n, err)
		}
		g, openErr := Open(out)
		mapped := opens["OpenMapped"](out)
		if (openErr == nil) != (mapped == nil) || openErr != nil && quarry.HintOf(openErr) == "" {
			t.Errorf("stopped at look %d: %v, %v", n, openErr, mapped)
		}
		if openErr == nil {
			word := strings.Fields(g.Docs[1].Title)[0]
			if found := g.Search(word, 5); len(found) != 3 {
				t.Errorf("stopped at look %d: %q finds %v", n, word, found)
			}
		}
		if err == nil {
			if openErr != nil || g.Docs[1].Title != "Vell" {
				t.Errorf("not stopped: %v", openErr)
			}
			break
		}
		stopped++
	}
	if stopped < 5 || stopped > 900 {
		t.Errorf("stopped at %d points", stopped)
	}
}

// TestDamagedFolder changes one file of a graph folder each; both ways of opening say which and what to do.
func TestDamagedFolder(t *testing.T) {
	whole := built(t, folderOf(t, small()))
	more := small()
	more[ingest.DocsFile] += `{"id":"d2","title":"Vell","sents":["Vell is a lake ."]}`
	others := built(t, folderOf(t, more))
	for name, c := range map[string]struct {
		file   string
		change func(data []byte) []byte
		kind   quarry.Kind
		says   string
	}{
		"no manifest":    {store.ManifestFile, nil, quarry.KindNotFound, "no graph folder, or one whose build did not finish"},
		"newer manifest": {store.ManifestFile, func(b []byte) []byte { return bytes.Replace(b, []byte("quarry.graph/1"), []byte("quarry.graph/2"), 1) }, quarry.KindInvalid, `schema "quarry.graph/2", this program reads quarry.graph/1`},
		"torn manifest":  {store.ManifestFile, func(b []byte) []byte { return b[:len(b)/2] }, quarry.KindCorrupt, "not a JSON object"},
		"no graph":       {store.GraphFile, nil, quarry.KindNotFound, "no such file"},
		"graph cut off":  {store.GraphFile, func(b []byte) []byte { return b[:len(b)-1] }, quarry.KindCorrupt, "cut off"},
		"other graph":    {store.GraphFile, func([]byte) []byte { return read(t, others, store.GraphFile) }, quarry.KindCorrupt, "is not the file that manifest.json describes"},
		"no index":       {IndexFile, nil, quarry.KindNotFound, "no such file: the build did not finish"},
		"empty index":    {IndexFile, func([]byte) []byte { return nil }, quarry.KindCorrupt, "no search index"},
		"newer index":    {IndexFile, func(b []byte) []byte { b[8]++; return b }, quarry.KindInvalid, "has version 2 of the format"},
		"flipped index":  {IndexFile, func(b []byte) []byte { b[20] ^= 1; return b }, quarry.KindCorrupt, "checksum"},
		"other index":    {IndexFile, func([]byte) []byte { return read(t, others, IndexFile) }, quarry.KindCorrupt, "the index of another graph"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.file)
		err := os.Remove(path)
		if err == nil && c.change != nil {
			err = os.WriteFile(path, c.change(read(t, whole, c.file)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		for how, open := range opens {
			err := open(dir)
			if quarry.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) || quarry.HintOf(err) == "" {
				t.Errorf("%s, %s: %v, hint %q", name, how, err, quarry.HintOf(err))
			}
		}
	}
	for how, open := range opens {
		err := open(filepath.Join(whole, "nowhere"))
		if quarry.KindOf(err) != quarry.KindNotFound || !strings.Contains(quarry.HintOf(err), "quarry kg build --out") {
			t.Errorf("%s of nothing: %v, hint %q", how, err, quarry.HintOf(err))
		}
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzBuild gives any bytes to a build as one file of a data folder: it is refused with a kind and a hint, or the graph
// is sound.
func FuzzBuild(f *testing.F) {
	names := slices.Sorted(maps.Keys(small()))
	for i, name := range names {
		f.Add(uint8(i), []byte(small()[name]))
	}
	f.Add(uint8(slices.Index(names, ingest.TriplesFile)), []byte("e0\tP19\te1\td0\t0,1,0\r\n\ne1\tP569\te2\td1\t"))
	f.Add(uint8(slices.Index(names, ingest.DocsFile)), []byte(`{"id":"d0","title":"é","sents":["\ud800","a"]}`))
	f.Fuzz(func(t *testing.T, file uint8, data []byte) {
		files, name := small(), names[int(file)%len(names)]
		files[name] = string(data)
		dir := t.TempDir()
		_, _, err := Build(t.Context(), dir, ingest.Options{}, folderOf(t, files))
		if err != nil {
			if quarry.KindOf(err) != quarry.KindInvalid || quarry.HintOf(err) == "" {
				t.Fatalf("%v, hint %q", err, quarry.HintOf(err))
			}
			return
		}
		m, err := OpenMapped(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if faults, err := m.Fsck(t.Context()); err != nil || len(faults) > 0 {
			t.Fatalf("%v %v", faults, err)
		}
		if err := m.Index().Fsck(); err != nil {
			t.Fatal(err)
		}
	})
}
