package jobs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The golden file is the format that docs/formats/stage.md describes.
func TestStageFileGolden(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "stage.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"weights.json": "{}\n", "ds/data/train-00000-of-00001.parquet": "PAR1"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := writer("a", "a")
	key, err := s.Key()
	if err != nil {
		t.Fatal(err)
	}
	files, err := listFiles(dir, []string{"weights.json", "ds"})
	if err != nil {
		t.Fatal(err)
	}
	facts := []byte(`{"turns":60}`)
	f := stageFile{Schema: StageSchema, Name: "write", Key: key, Digest: digestOf(files, facts), Seconds: 1.25, Files: files, Facts: facts}
	if err := writeStage(dir, f); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, stageName))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(golden), string(got)); d != "" {
		t.Error(d)
	}
	back, err := readStage(dir, "write", key)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, back); d != "" {
		t.Error(d)
	}
}

func FuzzParseStage(f *testing.F) {
	f.Add([]byte(`{"schema":2,"name":"kg","key":"k","digest":"d","seconds":1.5,"files":[{"path":"a","bytes":1,"sha256":"x"}],"facts":{"n":1}}`))
	f.Add([]byte(`{"schema":3}`))
	f.Add([]byte(`{"schema":2,"files":[{"path":"../../etc"}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseStage(data)
		if (err == nil) != (got.Schema == StageSchema) {
			t.Fatalf("schema %d with error %v", got.Schema, err)
		}
		if err != nil && !errors.Is(err, errUntrusted) && !errors.Is(err, errNewer) {
			t.Fatalf("an untyped error: %v", err)
		}
		for _, e := range got.Files {
			if !filepath.IsLocal(e.Path) {
				t.Fatalf("path %q accepted", e.Path)
			}
		}
	})
}
