package datasets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/internal/atomicfile"
)

// listing names everything in dir, hidden entries too.
func listing(t testing.TB, dir string) string {
	t.Helper()
	var names []string
	for _, e := range must(os.ReadDir(dir))(t) {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	w := must(NewWriter[S1](dir, "sft", Options{RowGroupBytes: 1 << 10, ShardBytes: 4 << 10}))(t)
	for _, row := range s1Rows(t, 40) {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sft")); !os.IsNotExist(err) {
		t.Fatalf("visible before Close: %v", err)
	}
	parents := []Parent{{Kind: "Q1", Digest: hash64}}
	m := must(w.Close(Meta{Producer: "quarry test", License: "CC-BY-SA-3.0", Parents: parents, Note: "A note."}))(t)
	if got := listing(t, dir); got != "sft" {
		t.Errorf("dir holds %s", got)
	}
	if got := listing(t, filepath.Join(dir, "sft")); got != "README.md data manifest.json" {
		t.Errorf("dataset holds %s", got)
	}
	var want []string
	for _, f := range m.Files {
		want = append(want, strings.TrimPrefix(f.Path, "data/"))
	}
	if got := listing(t, filepath.Join(dir, "sft", "data")); got != strings.Join(want, " ") || len(want) < 2 || want[0] != fmt.Sprintf("train-00000-of-%05d.parquet", len(want)) {
		t.Errorf("data holds %s, manifest says %v", got, want)
	}
	if m.Rows != 40 || m.Tokens != 360 || m.Kind != "S1" || m.SchemaVersion != 1 || m.Schema != "quarry.dataset/1" {
		t.Errorf("%+v", m)
	}
	ds := must(Open(filepath.Join(dir, "sft")))(t)
	if diff := cmp.Diff(m, ds.Manifest); diff != "" {
		t.Errorf("manifest -closed +opened:\n%s", diff)
	}
	card := string(must(os.ReadFile(filepath.Join(dir, "sft", "README.md")))(t))
	for _, s := range []string{"---\nlicense: \"CC-BY-SA-3.0\"\nconfigs:\n", "path: data/train-*.parquet", "| rows | 40 |", m.Digest(), "A note.", "made from Q1"} {
		if !strings.Contains(card, s) {
			t.Errorf("card does not hold %q:\n%s", s, card)
		}
	}
	var keys map[string]any
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(dir, "sft", "manifest.json")))(t), &keys); err != nil || keys["created"] != nil {
		t.Errorf("manifest %v, %v", keys, err)
	}
}

func TestEmptyDataset(t *testing.T) {
	dir := t.TempDir()
	m := writeDataset(t, dir, "ds", Options{}, []D1{})
	if m.Rows != 0 || len(m.Files) != 1 || m.Files[0].Path != "data/train-00000-of-00001.parquet" {
		t.Fatalf("%+v", m)
	}
	if rows := must(Read[D1](must(Open(filepath.Join(dir, "ds")))(t)))(t); len(rows) != 0 {
		t.Fatalf("%d rows", len(rows))
	}
}

// The same rows give the same bytes, however the caller batches them and wherever they go; other rows do not.
func TestDeterministic(t *testing.T) {
	rows := t1Rows(t, 200)
	opts := Options{RowGroupBytes: 8 << 10, ShardBytes: 16 << 10}
	want := writeDataset(t, t.TempDir(), "first", opts, rows)
	if len(want.Files) < 2 {
		t.Fatal("the test wants several shards")
	}
	for _, n := range []int{1, 3, 64, 150} {
		w := must(NewWriter[T1](t.TempDir(), "again", opts))(t)
		for batch := range slices.Chunk(rows, n) {
			if err := w.Write(batch...); err != nil {
				t.Fatal(err)
			}
		}
		got := must(w.Close(Meta{Created: "2026-01-01T00:00:00Z", Producer: "other"}))(t)
		if diff := cmp.Diff(want.Files, got.Files); diff != "" || got.Digest() != want.Digest() {
			t.Fatalf("in batches of %d -first +again:\n%s", n, diff)
		}
	}
	rows[7].AdvScalar = 0.125
	if got := writeDataset(t, t.TempDir(), "first", opts, rows); got.Digest() == want.Digest() {
		t.Error("another row, but the same digest")
	}
}

func TestDigest(t *testing.T) {
	m := Manifest{Kind: "S1", SchemaVersion: 1, Files: []File{{Path: "a", Rows: 2, SHA256: hash64}}}
	// printf 'quarry.dataset\nS1 1\n9f86...0a08 2\n' | sha256sum
	const golden = "1056b964322473191b5a79cd9d43596e5c5c7b3f16f576b9a458942a59ba5484"
	if got := m.Digest(); got != golden {
		t.Errorf("digest %s, want %s", got, golden)
	}
	same := m
	same.Created, same.Producer, same.Parents, same.Tokens = "now", "x", []Parent{{}}, 9
	same.Files = []File{{Path: "b", Rows: 2, SHA256: hash64, Bytes: 7}}
	if same.Digest() != golden {
		t.Error("the digest depends on more than content")
	}
	for _, other := range []Manifest{{Kind: "D1", SchemaVersion: 1, Files: m.Files}, {Kind: "S1", SchemaVersion: 2, Files: m.Files},
		{Kind: "S1", SchemaVersion: 1, Files: []File{{Rows: 3, SHA256: hash64}}}, {Kind: "S1", SchemaVersion: 1}} {
		if other.Digest() == golden {
			t.Errorf("%+v has the same digest", other)
		}
	}
}

// A writer that is dropped in the middle, as by a kill, leaves no dataset, and its remains can be swept.
func TestAbandonedWriter(t *testing.T) {
	dir := t.TempDir()
	w := must(NewWriter[Q1](dir, "ds", Options{RowGroupBytes: 1, ShardBytes: 1}))(t)
	if err := w.Write(q1Rows(5)...); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "ds")); quarry.KindOf(err) != quarry.KindNotFound {
		t.Fatalf("opened: %v", err)
	}
	if n := must(atomicfile.SweepTemps(dir))(t); n != 1 || listing(t, dir) != "" {
		t.Fatalf("swept %d, left %q", n, listing(t, dir))
	}
	want := writeDataset(t, t.TempDir(), "ds", Options{}, q1Rows(5))
	if got := writeDataset(t, dir, "ds", Options{}, q1Rows(5)); got.Digest() != want.Digest() {
		t.Error("another digest after an abandoned writer")
	}
}

func TestAbortAndMisuse(t *testing.T) {
	dir := t.TempDir()
	w := must(NewWriter[Q1](dir, "ds", Options{}))(t)
	if err := w.Write(q1Rows(2)...); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil || listing(t, dir) != "" {
		t.Fatalf("%v, left %q", err, listing(t, dir))
	}
	if err := w.Write(q1Rows(1)...); quarry.KindOf(err) != quarry.KindInternal {
		t.Errorf("Write after Abort: %v", err)
	}
	if _, err := w.Close(Meta{}); quarry.KindOf(err) != quarry.KindInternal {
		t.Errorf("Close after Abort: %v", err)
	}
	for _, name := range []string{"", ".", "..", "a/b", "../x"} {
		if _, err := NewWriter[Q1](dir, name, Options{}); quarry.KindOf(err) != quarry.KindInvalid {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if _, err := NewWriter[Q1](filepath.Join(dir, "absent"), "ds", Options{}); quarry.KindOf(err) != quarry.KindNotFound {
		t.Errorf("missing directory: %v", err)
	}
}

func TestExistsAndReplace(t *testing.T) {
	dir := t.TempDir()
	first := writeDataset(t, dir, "ds", Options{}, q1Rows(2))
	if _, err := NewWriter[Q1](dir, "ds", Options{}); quarry.KindOf(err) != quarry.KindExists || quarry.HintOf(err) == "" {
		t.Fatal(err)
	}
	second := writeDataset(t, dir, "ds", Options{Replace: true}, q1Rows(3))
	if got := must(Open(filepath.Join(dir, "ds")))(t).Manifest.Digest(); got != second.Digest() || got == first.Digest() {
		t.Errorf("digest %s", got)
	}
	if got := listing(t, dir); got != "ds" {
		t.Errorf("left behind: %s", got)
	}
}

// Rows keep their values when the reader goes on, and the caller may stop early.
func TestRowsIterator(t *testing.T) {
	dir := t.TempDir()
	want := s1Rows(t, 60)
	writeDataset(t, dir, "ds", Options{RowGroupBytes: 4 << 10, ShardBytes: 4 << 10}, want)
	ds := must(Open(filepath.Join(dir, "ds")))(t)
	var kept []S1
	for row, err := range Rows[S1](ds) {
		if err != nil {
			t.Fatal(err)
		}
		if kept = append(kept, row); len(kept) == 50 {
			break
		}
	}
	for i, row := range kept {
		if diff := cmp.Diff(want[i].Conversation(), row.Conversation()); diff != "" || row.ID != want[i].ID {
			t.Fatalf("row %d:\n%s", i, diff)
		}
	}
	if _, err := Read[T1](ds); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "holds S1 rows, want T1") {
		t.Errorf("wrong kind: %v", err)
	}
}

func TestCorrupt(t *testing.T) {
	source := t.TempDir()
	writeDataset(t, source, "ds", Options{RowGroupBytes: 1 << 10, ShardBytes: 2 << 10}, s1Rows(t, 30))
	var foreign bytes.Buffer
	fw := parquet.NewGenericWriter[struct {
		ID string `parquet:"id"`
	}](&foreign)
	if err := fw.Close(); err != nil {
		t.Fatal(err)
	}
	shard := func(dir string) string { return filepath.Join(dir, "data", "train-00000-of-*") }
	edit := func(change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := must(filepath.Glob(shard(dir)))(t)[0]
			data := change(must(os.ReadFile(path))(t))
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	// resign makes the manifest agree with the changed shard, as a careless tool would.
	resign := func(change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			edit(change)(t, dir)
			path := must(filepath.Glob(shard(dir)))(t)[0]
			data := must(os.ReadFile(path))(t)
			editManifest(t, dir, func(m *Manifest) { m.Files[0].Bytes, m.Files[0].SHA256 = int64(len(data)), schemaSHA(string(data)) })
		}
	}
	manifest := func(change func(*Manifest)) func(*testing.T, string) {
		return func(t *testing.T, dir string) { editManifest(t, dir, change) }
	}
	manifestText := func(text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	cut := func(b []byte) []byte { return b[:len(b)-20] }
	for name, c := range map[string]struct {
		damage func(*testing.T, string)
		kind   quarry.Kind
		says   string
	}{
		"flipped bit":              {edit(flip), quarry.KindCorrupt, "has sha256"},
		"truncated shard":          {edit(cut), quarry.KindCorrupt, "bytes, the manifest says"},
		"grown shard":              {edit(func(b []byte) []byte { return append(b, 0) }), quarry.KindCorrupt, "bytes, the manifest says"},
		"missing shard":            {func(t *testing.T, dir string) { removeShard(t, dir) }, quarry.KindCorrupt, "it is missing"},
		"truncated footer":         {resign(cut), quarry.KindCorrupt, "the footer is unreadable"},
		"empty shard":              {resign(func([]byte) []byte { return nil }), quarry.KindCorrupt, "the footer is unreadable"},
		"foreign schema":           {resign(func([]byte) []byte { return foreign.Bytes() }), quarry.KindCorrupt, "foreign columns: line 1 of the schema"},
		"damaged pages":            {resign(func(b []byte) []byte { copy(b[4:], bytes.Repeat([]byte{0xff}, 200)); return b }), quarry.KindCorrupt, "unreadable"},
		"other row count":          {manifest(func(m *Manifest) { m.Files[0].Rows++; m.Rows++ }), quarry.KindCorrupt, "rows, the manifest says"},
		"rows do not sum up":       {manifest(func(m *Manifest) { m.Rows++ }), quarry.KindCorrupt, "the files sum up to 30"},
		"newer columns":            {manifest(func(m *Manifest) { m.SchemaVersion = 2 }), quarry.KindInvalid, "S1 version 2 is newer"},
		"newer manifest":           {manifest(func(m *Manifest) { m.Schema = "quarry.dataset/2" }), quarry.KindInvalid, "manifest version 2 is newer"},
		"version 0":                {manifest(func(m *Manifest) { m.SchemaVersion = 0 }), quarry.KindCorrupt, "schema_version"},
		"another file's manifest":  {manifest(func(m *Manifest) { m.Schema = "package.json" }), quarry.KindCorrupt, `schema is "package.json"`},
		"manifest without version": {manifest(func(m *Manifest) { m.Schema = "quarry.dataset" }), quarry.KindCorrupt, `schema is "quarry.dataset"`},
		"unknown kind":             {manifest(func(m *Manifest) { m.Kind = "Z9" }), quarry.KindCorrupt, `kind is "Z9"`},
		"no files":                 {manifest(func(m *Manifest) { m.Files, m.Rows = nil, 0 }), quarry.KindCorrupt, "files is empty"},
		"path out of the dataset":  {manifest(func(m *Manifest) { m.Files[0].Path = "../x.parquet" }), quarry.KindCorrupt, "files[0].path"},
		"absolute path":            {manifest(func(m *Manifest) { m.Files[0].Path = "/x.parquet" }), quarry.KindCorrupt, "files[0].path"},
		"same shard twice":         {manifest(func(m *Manifest) { m.Files[1] = m.Files[0] }), quarry.KindCorrupt, "twice"},
		"bad digest text":          {manifest(func(m *Manifest) { m.Files[0].SHA256 = "zz" }), quarry.KindCorrupt, "files[0].sha256"},
		"negative count":           {manifest(func(m *Manifest) { m.Files[0].Bytes = -1 }), quarry.KindCorrupt, "negative"},
		"torn manifest":            {manifestText(`{"schema": "quarry.data`), quarry.KindCorrupt, "not a manifest"},
		"empty manifest":           {manifestText(``), quarry.KindCorrupt, "not a manifest"},
		"no manifest": {func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "manifest.json")); err != nil {
				t.Fatal(err)
			}
		}, quarry.KindNotFound, "no manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ds")
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(source, "ds"))); err != nil {
				t.Fatal(err)
			}
			c.damage(t, dir)
			ds, err := Open(dir)
			if err == nil {
				_, err = Read[S1](ds)
			}
			if quarry.KindOf(err) != c.kind || quarry.HintOf(err) == "" || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s error %v (hint %q), want %s, %q, the path and a hint", quarry.KindOf(err), err, quarry.HintOf(err), c.kind, c.says)
			}
		})
	}
}

func editManifest(t *testing.T, dir string, change func(*Manifest)) {
	t.Helper()
	path := filepath.Join(dir, "manifest.json")
	var m Manifest
	if err := json.Unmarshal(must(os.ReadFile(path))(t), &m); err != nil {
		t.Fatal(err)
	}
	change(&m)
	if err := os.WriteFile(path, m.encode(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func removeShard(t *testing.T, dir string) {
	t.Helper()
	shards := must(filepath.Glob(filepath.Join(dir, "data", "*")))(t)
	if err := os.Remove(shards[len(shards)-1]); err != nil {
		t.Fatal(err)
	}
}

// A dataset of older columns is refused by name, not taken for a damaged one.
func TestOlderColumns(t *testing.T) {
	_, err := parseManifest("q1/manifest.json", []byte(`{"schema":"quarry.dataset/1","kind":"Q1","schema_version":1,"files":[{"path":"data/a.parquet"}]}`))
	if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "Q1 version 1 is older than version 2") || quarry.HintOf(err) == "" {
		t.Errorf("%v, hint %q", err, quarry.HintOf(err))
	}
}
