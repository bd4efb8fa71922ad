package datasets

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"
)

// Every schema is written by this package and read by an independent reader, field by field.
func TestCrossRead(t *testing.T) {
	opts := Options{RowGroupBytes: 4 << 10, ShardBytes: 6 << 10}
	crossRead(t, opts, q1Rows(40))
	crossRead(t, opts, s1Rows(t, 40))
	crossRead(t, opts, d1Rows(t, 40))
	crossRead(t, opts, r1Rows(40))
	crossRead(t, opts, t1Rows(t, 400))
}

func crossRead[T Row](t *testing.T, opts Options, rows []T) {
	t.Helper()
	kind := specOf[T]().kind
	t.Run(kind, func(t *testing.T) {
		dir := t.TempDir()
		m := writeDataset(t, dir, "ds", opts, rows)
		if len(m.Files) < 2 || m.Files[0].RowGroups < 2 {
			t.Fatalf("%d files, %d row groups: the test wants several of both", len(m.Files), m.Files[0].RowGroups)
		}
		var got []any
		for _, f := range m.Files {
			got = append(got, arrowRows(t, filepath.Join(dir, "ds", f.Path))...)
		}
		if len(got) != len(rows) {
			t.Fatalf("arrow read %d rows, want %d", len(got), len(rows))
		}
		for i, row := range rows {
			if diff := cmp.Diff(goValue(reflect.ValueOf(row), false), got[i]); diff != "" {
				t.Fatalf("row %d (-written +read):\n%s", i, diff)
			}
		}
		back := must(Read[T](must(Open(filepath.Join(dir, "ds")))(t)))(t)
		for i, row := range rows {
			if diff := cmp.Diff(goValue(reflect.ValueOf(row), false), goValue(reflect.ValueOf(back[i]), false)); diff != "" {
				t.Fatalf("own reader, row %d (-written +read):\n%s", i, diff)
			}
		}
	})
}

// arrowRows reads a file as nested maps and slices.
func arrowRows(t *testing.T, path string) []any {
	t.Helper()
	data := must(os.ReadFile(path))(t)
	tbl := must(pqarrow.ReadTable(t.Context(), bytes.NewReader(data), parquet.NewReaderProperties(memory.DefaultAllocator), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator))(t)
	defer tbl.Release()
	rows := make([]any, tbl.NumRows())
	for i := range rows {
		rows[i] = map[string]any{}
	}
	for c := range int(tbl.NumCols()) {
		i := 0
		for _, chunk := range tbl.Column(c).Data().Chunks() {
			for j := range chunk.Len() {
				rows[i].(map[string]any)[tbl.Schema().Field(c).Name] = arrowValue(t, chunk, j)
				i++
			}
		}
		if i != len(rows) {
			t.Fatalf("column %d has %d values, want %d", c, i, len(rows))
		}
	}
	return rows
}

func arrowValue(t *testing.T, a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return a.Value(i)
	case *array.Int32:
		return a.Value(i)
	case *array.Int64:
		return a.Value(i)
	case *array.Float32:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.List:
		from, to := a.ValueOffsets(i)
		out := []any{}
		for j := from; j < to; j++ {
			out = append(out, arrowValue(t, a.ListValues(), int(j)))
		}
		return out
	case *array.Struct:
		out := map[string]any{}
		for f := range a.NumField() {
			out[a.DataType().(*arrow.StructType).Field(f).Name] = arrowValue(t, a.Field(f), i)
		}
		return out
	}
	t.Fatalf("unexpected arrow type %s", a.DataType())
	return nil
}

// goValue is the same view of a row, by its tags: optional "" and nil are null, a required nil list is empty.
func goValue(v reflect.Value, optional bool) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return goValue(v.Elem(), false)
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			tag := strings.Split(v.Type().Field(i).Tag.Get("parquet"), ",")
			out[tag[0]] = goValue(v.Field(i), strings.Contains(strings.Join(tag[1:], ","), "optional"))
		}
		return out
	case reflect.Slice:
		if v.IsNil() && optional {
			return nil
		}
		out := []any{}
		for i := range v.Len() {
			out = append(out, goValue(v.Index(i), false))
		}
		return out
	case reflect.String:
		if v.Len() == 0 && optional {
			return nil
		}
	}
	return v.Interface()
}

// A 5 MiB tool output costs neither size nor readability: nothing of it may stand in page headers or the footer.
func TestLongToolOutput(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("a page of the web ", 5<<20/18+1)
	ep := sampleEpisode(0, true)
	ep.Messages[3].Content = long
	ep.Messages[2].ToolCalls[0].Arguments = `{"query":"` + long + `"}`
	ep.Messages[3].ToolCallID = long
	s1 := must(S1FromEpisode(ep, "expert"))(t)
	s1.Messages[4].ReasoningContent = long
	d1 := must(D1FromPair(quarryPair(ep, long)))(t)
	q := sampleQuestion(0)
	q.Text, q.Aliases, q.Entities[0].Name = long, []string{long}, long
	q1 := Q1FromQuestion(q)
	r1 := R1FromQuestion(q, ep.Messages[:2], nil)
	longFile(t, dir, s1)
	longFile(t, dir, d1)
	longFile(t, dir, q1)
	longFile(t, dir, r1)
}

func longFile[T Row](t *testing.T, dir string, row T) {
	t.Helper()
	kind := specOf[T]().kind
	m := writeDataset(t, dir, kind, Options{}, []T{row})
	path := filepath.Join(dir, kind, m.Files[0].Path)
	if m.Files[0].Bytes >= 1<<20 {
		t.Errorf("%s: %d bytes, want less than 1 MiB", kind, m.Files[0].Bytes)
	}
	if diff := cmp.Diff(goValue(reflect.ValueOf(row), false), arrowRows(t, path)[0]); diff != "" {
		t.Errorf("%s read by arrow differs", kind)
	}
	r := must(file.OpenParquetFile(path, false))(t)
	defer r.Close()
	stats := 0
	for c := range r.MetaData().RowGroup(0).NumColumns() {
		if ok, err := must(r.MetaData().RowGroup(0).ColumnChunk(c))(t).StatsSet(); err == nil && ok {
			stats++
		}
	}
	if stats == 0 {
		t.Errorf("%s: no column keeps statistics", kind)
	}
}

// The file names its writer and schema, and uses what old readers know.
func TestFileMetadata(t *testing.T) {
	dir := t.TempDir()
	m := writeDataset(t, dir, "ds", Options{DatasetID: "demo/t1"}, t1Rows(t, 8))
	r := must(file.OpenParquetFile(filepath.Join(dir, "ds", m.Files[0].Path), false))(t)
	defer r.Close()
	if got := r.MetaData().GetCreatedBy(); got != "quarry version "+writerVersion+"(build parquet-go)" {
		t.Errorf("created by %q", got)
	}
	for key, want := range map[string]string{"quarry.schema": "T1", "quarry.schema_version": "1", "quarry.dataset_id": "demo/t1", "quarry.sha": m.SchemaSHA256} {
		if got := r.MetaData().KeyValueMetadata().FindValue(key); got == nil || *got != want {
			t.Errorf("%s is %v, want %s", key, got, want)
		}
	}
	if n := r.MetaData().KeyValueMetadata().Len(); n != 4 {
		t.Errorf("%d metadata keys, want 4: no ARROW:schema, no huggingface key", n)
	}
	for c := range r.MetaData().RowGroup(0).NumColumns() {
		col := must(r.MetaData().RowGroup(0).ColumnChunk(c))(t)
		if col.Compression().String() != "ZSTD" {
			t.Errorf("%s: %s", col.PathInSchema(), col.Compression())
		}
		pages := must(must(r.RowGroup(0).GetColumnPageReader(c))(t), nil)(t)
		for pages.Next() {
			switch pages.Page().(type) {
			case *file.DataPageV1, *file.DictionaryPage:
			default:
				t.Errorf("%s has a page %T, want version 1", col.PathInSchema(), pages.Page())
			}
		}
	}
}
