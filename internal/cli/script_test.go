package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run the program as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"quarry": func() { os.Exit(Run(context.Background(), NewState("v0.0.0-test"))) },
	})
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"wiki":   wiki,
			"latin1": latin1,
			"flip":   flip,
			"many":   many,
			"json":   jsonAt,
			"judge":  judge,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// exits CODE ARG...: runs quarry in this process and demands the exit code, which testscript's exec cannot.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want := args[0]
	st := &State{
		Version: "v0.0.0-test",
		Args:    args[1:],
		Dir:     ts.Getenv("WORK"),
		Env: func(name string) (string, bool) {
			v := ts.Getenv(name)
			return v, v != ""
		},
		Stdout: ts.Stdout(),
		Stderr: ts.Stderr(),
		Exit:   func(int) {},
	}
	if got := Run(context.Background(), st); strconv.Itoa(got) != want {
		ts.Fatalf("exit code %d, want %s", got, want)
	}
}

// wiki N DIR: makes a data folder of the first N documents of the shipped one.
func wiki(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(wikiFolder(n, ts.MkAbs(args[1])))
}

// wikiFolder writes the first n documents of examples/wiki with the entities and triples that stand in them.
func wikiFolder(n int, dir string) error {
	src := os.DirFS("../../examples/wiki")
	kept := map[string]bool{}
	doc := func(line string) (string, error) {
		var d struct {
			ID string `json:"id"`
		}
		if len(kept) == n {
			return "", nil
		}
		err := json.Unmarshal([]byte(line), &d)
		kept[d.ID] = true
		return line, err
	}
	entity := func(line string) (string, error) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return "", err
		}
		docs, _ := e["docs"].([]any)
		docs = slices.DeleteFunc(docs, func(d any) bool { return !kept[d.(string)] })
		if e["docs"] = docs; len(docs) == 0 {
			return "", nil
		}
		out, err := json.Marshal(e)
		return string(out) + "\n", err
	}
	triple := func(line string) (string, error) {
		if f := strings.Split(line, "\t"); len(f) != 5 || !kept[f[3]] {
			return "", nil
		}
		return line, nil
	}
	all := func(line string) (string, error) { return line, nil }
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		keep func(string) (string, error)
	}{{"docs.jsonl", doc}, {"entities.jsonl", entity}, {"triples.tsv", triple}, {"relations.tsv", all}} {
		text, err := fs.ReadFile(src, f.name)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		for line := range strings.Lines(string(text)) {
			kept, err := f.keep(line)
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			out.WriteString(kept)
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// latin1 FILE: puts a byte that is not UTF-8 into the last line.
func latin1(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	i := bytes.LastIndexByte(bytes.TrimSpace(text), ' ')
	text[i] = 0xe4
	ts.Check(os.WriteFile(path, text, 0o644))
}

// flip FILE BYTE: turns one bit of a byte over.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	data[at] ^= 1
	ts.Check(os.WriteFile(path, data, 0o644))
}

// json PATH WANT...: demands that the last stdout is one JSON document and nothing else, with the value WANT at each
// dotted PATH; a WANT of * demands that the key is there.
func jsonAt(ts *testscript.TestScript, _ bool, args []string) {
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	var doc any
	ts.Check(d.Decode(&doc))
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		ts.Fatalf("more than one JSON document on stdout: %v", err)
	}
	for ; len(args) > 1; args = args[2:] {
		v := doc
		for _, key := range strings.Split(args[0], ".") {
			switch at := v.(type) {
			case map[string]any:
				next, ok := at[key]
				if !ok {
					ts.Fatalf("%s: no key %q", args[0], key)
				}
				v = next
			case []any:
				i, err := strconv.Atoi(key)
				if err != nil || i >= len(at) {
					ts.Fatalf("%s: no element %q of %d", args[0], key, len(at))
				}
				v = at[i]
			default:
				ts.Fatalf("%s: nothing below %v", args[0], v)
			}
		}
		if got := fmt.Sprint(v); args[1] != "*" && got != args[1] {
			ts.Fatalf("%s is %s, want %s", args[0], got, args[1])
		}
	}
}

// many FILE: writes 200 triples, every tenth of them torn.
func many(ts *testscript.TestScript, _ bool, args []string) {
	var b bytes.Buffer
	for i := range 200 {
		line := fmt.Sprintf("a%d\tp\tb%d\n", i, i)
		if i%10 == 9 {
			line = "torn\n"
		}
		b.WriteString(line)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o644))
}
