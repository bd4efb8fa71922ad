package loop

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/kg/ingest"
	"github.com/quarry-rl/quarry/synth"
)

func TestLinesCarryTheirVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	want := []synth.Entry{{Hops: 2, Walk: 0, State: synth.StateRejected, Reason: "<&>"}, {Hops: 2, Walk: 1, State: synth.StateAccepted, Shape: "2+0", ID: "q"}}
	if err := writeLines(path, LedgerSchema, want); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const golden = `{"schema":1,"hops":2,"walk":0,"state":"rejected","reason":"<&>"}
{"schema":1,"hops":2,"walk":1,"state":"accepted","shape":"2+0","question":"q"}
`
	if d := cmp.Diff(golden, string(data)); d != "" {
		t.Errorf("file (-want +got):\n%s", d)
	}
	got, err := readLines[synth.Entry](path, LedgerSchema)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("read back: %v\n%s", err, d)
	}
}

func TestCompressedLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "failed.jsonl.zst")
	want := []synth.Entry{{Hops: 2, State: synth.StateRejected, Reason: strings.Repeat("long ", 1000)}, {Hops: 3, State: synth.StateAccepted, ID: "q"}}
	if err := writeLines(path, LedgerSchema, want); err != nil {
		t.Fatal(err)
	}
	got, err := readLines[synth.Entry](path, LedgerSchema)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("read back: %v\n%s", err, d)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 1000 {
		t.Errorf("%d bytes of a line that says one word 1,000 times", len(data))
	}
	for cut := range data {
		if err := os.WriteFile(path, data[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		if rows, err := readLines[synth.Entry](path, LedgerSchema); cut > 0 && (err == nil || quarry.HintOf(err) == "" || rows != nil) {
			t.Fatalf("cut at %d of %d bytes: %d rows, %v", cut, len(data), len(rows), err)
		}
	}
}

func TestLinesOfAnotherVersion(t *testing.T) {
	const good = `{"schema":1,"hops":2}` + "\n"
	for _, tc := range []struct{ text, at, says string }{
		{good + `{"schema":2,"hops":{"new":"form"}}`, ":2", "schema 2, this quarry reads up to 1"},
		{good + "\n" + `{"hops":2}`, ":3", `no "schema", expected a JSON object with "schema": 1`},
		{`{"schema":0,"hops":2}`, ":1", `no "schema"`},
		{`{"schema":-1}`, ":1", `schema -1, expected`},
		{`{"schema":"1"}`, ":1", "not the expected JSON object"},
		{`null`, ":1", `no "schema"`},
		{`[]`, ":1", "not the expected JSON object"},
		{good + `{"schema":1,"hop`, ":2", "not the expected JSON object"},
		{`{"schema":1,"hops":"2"}`, ":1", "not the expected JSON object"},
	} {
		path := filepath.Join(t.TempDir(), "lines.jsonl")
		if err := os.WriteFile(path, []byte(tc.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readLines[synth.Entry](path, LedgerSchema)
		if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), path+tc.at+": ") || !strings.Contains(err.Error(), tc.says) || quarry.HintOf(err) == "" {
			t.Errorf("%s: %v, want %s", tc.text, err, tc.says)
		}
	}
	path := filepath.Join(t.TempDir(), "episodes.jsonl")
	if err := os.WriteFile(path, []byte(`{"schema":2,"id":["of","another","form"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadEpisodes(path); quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), "schema 2, this quarry reads up to 1") {
		t.Errorf("newer episodes: %v", err)
	}
}

// Every file of lines that the shared run wrote is readable by its version.
func TestFilesOfARunCarryTheirVersion(t *testing.T) {
	for stage, file := range map[string]string{"synth": LedgerFile, "filter": FilterLedgerFile, "pivot": TasksFile, "rl": filepath.Join("failed", "batch-0001.jsonl"+zst)} {
		in, err := openLines(filepath.Join(shared(t, stage), file))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err := errors.Join(err, in.Close()); err != nil {
			t.Fatal(err)
		}
		first := strings.Join(strings.Fields(string(data[:min(len(data), 40)])), "")
		if !strings.HasPrefix(first, `{"schema":1,`) {
			t.Errorf("%s of %s begins with %s", file, stage, first)
		}
	}
}

// A named pipe in place of a file is refused before anything waits for its writer.
func TestPipesAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ingest.DocsFile)
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"digest of the source": func() error { _, err := contentDigest(dir); return err },
		"graph":                func() error { _, err := BuildGraph(t.Context(), dir, t.TempDir()); return err },
		"episodes":             func() error { _, err := ReadEpisodes(path); return err },
		"questions":            func() error { _, err := ReadQuestions(path, ""); return err },
	} {
		done := make(chan error, 1)
		go func() { done <- read() }()
		select {
		case err := <-done:
			if quarry.KindOf(err) != quarry.KindInvalid || !strings.Contains(err.Error(), path+": is a named pipe") || quarry.HintOf(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: waits for a writer", name)
		}
	}
}
