package ingest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/quarry-rl/quarry"
)

func parquetFile[T any](t testing.TB, dir, name string, rows []T) string {
	t.Helper()
	path := filepath.Join(dir, name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := parquet.NewGenericWriter[T](f, parquet.MaxRowsPerRowGroup(2))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

type entityRow struct {
	ID          string   `parquet:"id"`
	Label       string   `parquet:"label"`
	LabelZH     *string  `parquet:"label_zh,optional"`
	Aliases     []string `parquet:"aliases,list"`
	Description string   `parquet:"description"`
	Extra       float64  `parquet:"extra"`
}

type edgeRow struct {
	Weight   float64 `parquet:"weight"`
	Target   string  `parquet:"target"`
	Relation int32   `parquet:"relation"`
	Source   string  `parquet:"source"`
	Start    *string `parquet:"start,optional"`
	Doc      string  `parquet:"doc_id,optional"`
}

func TestParquet(t *testing.T) {
	dir := t.TempDir()
	zh, year := "日内瓦", "1815"
	parquetFile(t, dir, "entities.parquet", []entityRow{{ID: "Q71", Label: "Geneva", LabelZH: &zh, Aliases: []string{"Genève", "Genf"}, Description: "city"}, {ID: "Q39", Label: "Switzerland"}, {ID: "Q1", Label: "x"}})
	edges := parquetFile(t, dir, "edges.parquet", []edgeRow{{Source: "Q71", Relation: 17, Target: "Q39", Start: &year}, {Source: "Q39", Relation: 36, Target: "Q70"}, {Source: "Q39", Relation: 1, Target: "Q1", Doc: "d1"}})
	parquetFile(t, dir, "relations.parquet", []struct {
		ID    int64  `parquet:"id"`
		Label string `parquet:"label"`
	}{{17, "country"}})
	var c recorder
	stats, err := Read(context.Background(), &c, Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	same(t, c.out,
		"S Q71|17|Q39||[]|[{start 1815}]",
		"T Q39|36|Q70",
		"S Q39|1|Q1|d1|[]|[]",
		"E Q71|Geneva|日内瓦|Genève,Genf||city",
		"E Q39|Switzerland||||",
		"E Q1|x||||",
		"R 17|country||",
	)
	if stats.Lines != 7 || stats.Files != 3 {
		t.Errorf("stats %+v", stats)
	}

	bad := parquetFile(t, t.TempDir(), "x.parquet", []edgeRow{{Source: "a", Relation: 1, Target: "b"}, {Source: "a", Relation: 1}, {Source: "a", Relation: 2, Target: "b", Start: &zh}})
	_, err = Read(context.Background(), &recorder{}, Options{}, bad)
	wrong(t, err, "x.parquet:2: expected subject, predicate and object, found one of them empty")
	c = recorder{}
	var side bytes.Buffer
	stats, err = Read(context.Background(), &c, Options{OnError: Quarantine, Quarantine: &side}, bad)
	if err != nil || stats.Bad != 2 || bytes.Count(side.Bytes(), []byte("\n")) != 2 {
		t.Errorf("%v, %+v, %s", err, stats, side.Bytes())
	}
	same(t, c.out, "T a|1|b")

	_, err = Read(context.Background(), &recorder{}, Options{}, parquetFile(t, t.TempDir(), "y.parquet", []struct{ A, B string }{{"x", "y"}}))
	wrong(t, err, "y.parquet: expected columns subject, predicate, object, or id and label, found A, B")

	data, err := os.ReadFile(edges)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []string{string(data[:len(data)-9]), "PAR1", string(data[:len(data)/2]), string(data[:len(data)-8]) + "\xff\xff\xff\x7fPAR1"} {
		_, _, err := read(t, "z.parquet", cut, Options{})
		if quarry.KindOf(err) != quarry.KindCorrupt {
			t.Errorf("cut off: %v", err)
		}
	}
	_, _, err = read(t, "z.parquet.gz", gz(string(data)), Options{})
	wrong(t, err, "a Parquet file within a packed file")
}

// A flipped byte gives rows or an error, never a panic.
func TestParquetFlipped(t *testing.T) {
	path := parquetFile(t, t.TempDir(), "edges.parquet", []edgeRow{{Source: "Q71", Relation: 17, Target: "Q39"}, {Source: "Q39", Relation: 36, Target: "Q70"}})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for i := 0; i < len(data); i += 3 {
		flipped := bytes.Clone(data)
		flipped[i] ^= 0x55
		if err := os.WriteFile(path, flipped, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(context.Background(), &recorder{}, Options{}, path); err != nil {
			failed++
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindInvalid {
				t.Errorf("byte %d: %v", i, err)
			}
		}
	}
	if failed == 0 {
		t.Error("no damage was found")
	}
}

func FuzzParquet(f *testing.F) {
	for _, rows := range [][]edgeRow{{{Source: "Q71", Relation: 17, Target: "Q39"}}, {{Source: "a"}, {Source: "b", Target: "c"}, {}}} {
		data, err := os.ReadFile(parquetFile(f, f.TempDir(), "x.parquet", rows))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := write(t, "x.parquet", string(data))
		stats, err := Read(context.Background(), &recorder{}, Options{OnError: Quarantine}, path)
		if err == nil && stats.Statements+stats.Entities+stats.Relations+stats.Bad != stats.Lines {
			t.Fatalf("%+v", stats)
		}
	})
}

func TestNames(t *testing.T) {
	got, _, err := read(t, "entity2wikidata.json.gz", gz("{\n  \"/m/01\": {\n    \"alternatives\": [\"Denton, Texas\"],\n    \"description\": \"city\", \"label\": \"Denton\", \"wikidata_id\": \"Q1\"\n  },\n  \"/m/02\": {\"label\": null}\n}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, "E /m/01|Denton||Denton, Texas||city", "E /m/02|||||")
	got, _, err = read(t, "rel_info.json", `{"P6": "head of government", "P\u0031": "\"x\""}`, Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, "R P6|head of government||", `R P1|"x"||`)
	for _, c := range []struct{ data, msg string }{
		{"{\"a\": {\"label\": \"x\"},\n \"b\": 3}", `x.json:2: b: expected an object`},
		{`{"a": "", "b": "c"}`, `a: expected a label`},
		{`{"": "c"}`, "expected an id as key"},
		{"{\"a\": \"b\"\n\"c\": \"d\"}", `x.json:2: expected "," or '}'`},
		{`{"a": "b"`, "cut off"},
		{`{"a": "b"} x`, "expected the end of the file"},
		{`{"a" "b"}`, `expected ":" after the key "a"`},
		{`{"a": "b", 3: 4}`, "expected a key in quotes"},
		{`{"a": }`, "expected a value"},
		{`{"a": {"label": "` + string(bytes.Repeat([]byte("x"), 300)) + `"}}`, "expected values of at most 200 bytes"},
	} {
		_, _, err := read(t, "x.json", c.data, Options{Format: Names, MaxLine: 200})
		wrong(t, err, c.msg)
	}
}

func FuzzNames(f *testing.F) {
	f.Add([]byte(`{"a": {"label": "x", "alternatives": ["y"]}, "b": "c"}`))
	f.Add([]byte("{}"))
	f.Add([]byte("\xef\xbb\xbf{ \"a\" : null }\n"))
	f.Fuzz(func(t *testing.T, data []byte) { feed(t, "x.json", data, Options{Format: Names}) })
}

func folderWith(t testing.TB, change map[string]string) string {
	t.Helper()
	files := map[string]string{
		DocsFile:      "{\"id\":\"d1\",\"title\":\"Ann\",\"sents\":[\"Ann is.\",\"She was.\"],\"split\":\"dev\"}\n",
		EntitiesFile:  "{\"id\":\"e1\",\"name\":\"Ann\",\"type\":\"PER\",\"aliases\":[\"A\"],\"docs\":[\"d1\"]}\r\n{\"id\":\"e2\",\"name\":\"1990\",\"type\":\"TIME\"}\n",
		RelationsFile: "P1\tborn\t出生\tdate of birth\nP2\tdied\n",
		TriplesFile:   "e1\tP1\te2\td1\t1,0\ne1\tP2\te2\td1\t\n",
	}
	for k, v := range change {
		files[k] = v
	}
	return openKEFolder(t, files)
}

func TestFolder(t *testing.T) {
	var c recorder
	if _, err := Read(context.Background(), &c, Options{}, folderWith(t, nil)); err != nil {
		t.Fatal(err)
	}
	same(t, c.out,
		"D d1|Ann||Ann is./She was.",
		"E e1|Ann||A|PER|",
		"E e2|1990|||TIME|",
		"R P1|born|出生|date of birth",
		"R P2|died||",
		"S e1|P1|e2|d1|[{8 16} {0 7}]|[]",
		"S e1|P2|e2||[]|[]",
	)
	// a format that is asked for goes before what the folder looks like
	_, err := Read(context.Background(), &recorder{}, Options{Format: OpenKE}, folderWith(t, nil))
	wrong(t, err, entityIDs, "no such file")
	c = recorder{}
	if _, err := Read(context.Background(), &c, Options{Format: Triples, OnError: Quarantine}, folderWith(t, map[string]string{TriplesFile: "a\tp\tb\n"})); err != nil {
		t.Fatal(err)
	}
	same(t, c.out[len(c.out)-1:], "T a|p|b")
}

func FuzzFolder(f *testing.F) {
	f.Add([]byte(`{"id":"d1","title":"x","sents":["a"]}`), []byte(`{"id":"e1","name":"x","type":"PER"}`), []byte("P1\tborn"), []byte("e1\tP1\te1\td1\t0"))
	f.Fuzz(func(t *testing.T, d, e, r, s []byte) {
		dir := folderWith(t, map[string]string{DocsFile: string(d), EntitiesFile: string(e), RelationsFile: string(r), TriplesFile: string(s)})
		stats, err := Read(context.Background(), &recorder{}, Options{OnError: Quarantine}, dir)
		if err != nil || stats.Documents+stats.Entities+stats.Relations+stats.Statements+stats.Bad != stats.Lines {
			t.Fatalf("%+v, %v", stats, err)
		}
	})
}
