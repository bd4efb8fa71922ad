package datasets

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/quarry-rl/quarry"
)

func FuzzManifest(f *testing.F) {
	dir := f.TempDir()
	writeDataset(f, dir, "ds", Options{}, q1Rows(2))
	f.Add(must(os.ReadFile(filepath.Join(dir, "ds", "manifest.json")))(f))
	f.Add([]byte(`{"schema":"quarry.dataset/9","kind":"S1"}`))
	f.Add([]byte(`{"schema":"quarry.dataset/1","kind":"S1","schema_version":1,"files":[{"path":"a.parquet"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest("manifest.json", data)
		if err != nil {
			if k := quarry.KindOf(err); k != quarry.KindCorrupt && k != quarry.KindInvalid || quarry.HintOf(err) == "" {
				t.Fatalf("%s: %v", k, err)
			}
			return
		}
		again, err := parseManifest("manifest.json", m.encode())
		if err != nil || again.Digest() != m.Digest() {
			t.Fatalf("does not come back: %v", err)
		}
	})
}

func FuzzQuestions(f *testing.F) {
	path := filepath.Join(f.TempDir(), "q.jsonl")
	if err := WriteQuestionsJSONL(path, []quarry.Question{sampleQuestion(0), sampleQuestion(1)}); err != nil {
		f.Fatal(err)
	}
	f.Add(must(os.ReadFile(path))(f))
	f.Add([]byte("\n{}\n"))
	f.Add([]byte(`{"id":"a","certificate":{"x":[1,}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		qs, err := parseQuestions("q.jsonl", bytes.NewReader(data))
		if err != nil {
			if quarry.KindOf(err) != quarry.KindInvalid {
				t.Fatal(err)
			}
			return
		}
		for _, q := range qs {
			if err := Validate(Q1FromQuestion(q)); err != nil {
				t.Fatalf("read, but not writable: %v", err)
			}
		}
	})
}

func FuzzTools(f *testing.F) {
	f.Add(`[{"type":"function","function":{"name":"a","description":"<b>","parameters":{"x": 1}}}]`)
	f.Add(`[]`)
	f.Add(`[{"type":"function","function":{"name":"a","parameters":null}}]`)
	f.Fuzz(func(t *testing.T, text string) {
		tools, err := ParseTools(text)
		if err != nil {
			return
		}
		first, err := ToolsText(tools)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseTools(first)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ToolsText(back); err != nil || again != first {
			t.Fatalf("%s comes back as %s, %v", first, again, err)
		}
	})
}

// FuzzShard gives the reader a file that its manifest vouches for.
func FuzzShard(f *testing.F) {
	dir := f.TempDir()
	m := writeDataset(f, dir, "ds", Options{}, d1Rows(f, 3))
	data := must(os.ReadFile(filepath.Join(dir, "ds", m.Files[0].Path)))(f)
	f.Add(data)
	f.Add(data[:len(data)-9])
	f.Add([]byte("PAR1\x00\x00\x00\x00PAR1"))
	for i := 7; i < len(data); i += len(data) / 64 {
		bad := bytes.Clone(data)
		bad[i] ^= 0x55
		f.Add(bad)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		readShard(bytes.NewReader(data), File{Bytes: int64(len(data)), Rows: 3}, "x.parquet", func(row D1, err error) bool {
			if err != nil && quarry.KindOf(err) != quarry.KindCorrupt {
				t.Fatal(err)
			}
			n++
			return true
		})
		if n == 0 {
			t.Fatal("neither a row nor an error")
		}
	})
}
