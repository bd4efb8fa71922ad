package cli

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/quarry-rl/quarry/rollout/pocket"
)

// TestGarbage feeds every command what it cannot use: each ends at once with a code of its own, one error line that
// names the file or the flag, a hint, and nothing on stdout; no panic, no wait for a pipe's writer, no dump of Go's.
func TestGarbage(t *testing.T) {
	t.Parallel()
	w := newWorkdir(t)
	w.must(&buildDoc{}, "kg", "build", "data", "--out", "whole")
	w.must(&synthDoc{}, "synth", "parts", "--kg", "whole", "--out", "q", "--spec", "small.yaml")
	w.write("q.jsonl", string(w.read("q/questions.jsonl")))
	if err := wikiFolder(20, w.path("few")); err != nil { // what every command loads may be small
		t.Fatal(err)
	}
	w.must(&buildDoc{}, "kg", "build", "few", "--out", "kg")
	f := pocket.NewReader().Features()
	if _, err := pocket.NewWeights(f).Save(w.path("w.json"), f); err != nil {
		t.Fatal(err)
	}
	w.write("empty", "")
	w.write("binary", "\x7fELF\x02\x01\x01\x00\xff\xfe\x00\x00")
	w.write("text", "hello\n")
	w.write("other.json", `{"a": 1}`)
	if err := syscall.Mkfifo(w.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := [][]string{
		{"score", "?", "--questions", "q.jsonl"}, {"score", "q.jsonl", "--questions", "?"},
		{"pivot", "?", "--kg", "kg", "--questions", "q.jsonl", "--out", "o"},
		{"build", "sft", "?", "--out", "o"}, {"build", "dpo", "?", "--out", "o"}, {"build", "rl", "--questions", "?", "--out", "o"},
		{"rollout", "--kg", "kg", "--questions", "q.jsonl", "--weights", "?", "--out", "o"},
		{"rollout", "--kg", "?", "--questions", "q.jsonl", "--weights", "w.json", "--out", "o"},
		{"eval", "--kg", "kg", "--questions", "?", "--weights", "w.json"},
		{"train", "sft", "--data", "?", "--out", "o"}, {"train", "dpo", "--data", "?", "--parent", "w.json", "--out", "o"},
		{"train", "rl", "--data", "?", "--parent", "w.json", "--out", "o"}, {"train", "sft", "--data", "kg", "--parent", "?", "--out", "o"},
		{"kg", "build", "?", "--out", "o"}, {"kg", "stats", "?"}, {"kg", "fsck", "?"}, {"kg", "search", "?", "x"}, {"kg", "show", "?", "x"}, {"kg", "path", "?", "x", "y"},
		{"kg", "walk", "?"}, {"kg", "serve", "?", "--addr", "127.0.0.1:0"}, {"synth", "parts", "--kg", "?", "--out", "o"}, {"synth", "--kg", "?", "--out", "o"}, {"synth", "plan", "--kg", "?"}, {"synth", "report", "?"}, {"synth", "why", "?", "1"}, {"synth", "show", "?", "q"},
		{"check", "?"}, {"run", "?"},
	}
	for _, bad := range []string{"empty", "binary", "text", "other.json", "pipe", "missing", "data"} {
		for _, args := range files {
			if bad == "data" && args[0] == "kg" && args[1] == "build" { // it is a graph's data
				continue
			}
			w.refused(bad, strings.Split(strings.ReplaceAll(strings.Join(args, "\x00"), "?", bad), "\x00"))
		}
	}
	bounded := [][]string{ // what would cost memory without bound, or is a share
		{"kg", "search", "kg", "x", "--k"}, {"kg", "show", "kg", "e00000", "--limit"}, {"kg", "path", "kg", "e00000", "e00001", "--max-hops"},
		{"kg", "walk", "kg", "--hops"}, {"kg", "walk", "kg", "--count"}, {"kg", "build", "data", "--out", "o", "--max-bad-share"},
		{"kg", "serve", "kg", "--addr", "127.0.0.1:0", "--fault-429"},
		{"rollout", "--kg", "kg", "--questions", "q.jsonl", "--weights", "w.json", "--out", "o", "--samples"},
		{"rollout", "--kg", "kg", "--questions", "q.jsonl", "--weights", "w.json", "--out", "o", "--temperature"},
		{"eval", "--kg", "kg", "--questions", "q.jsonl", "--weights", "w.json", "--split", "all", "--attempts"},
		{"train", "sft", "--data", "kg", "--out", "o", "--version"},
	}
	numbers := append([][]string{
		{"kg", "walk", "kg", "--beta"}, {"kg", "walk", "kg", "--first"}, {"build", "dpo", "q.jsonl", "--out", "o", "--per-question"},
		{"pivot", "q.jsonl", "--kg", "kg", "--questions", "q.jsonl", "--out", "o", "--limit"}, {"synth", "parts", "--kg", "kg", "--out", "o", "--seed"}, {"synth", "--kg", "kg", "--out", "o", "--hops"}, {"synth", "--kg", "kg", "--out", "o", "--max-walks"}, {"synth", "plan", "--kg", "kg", "--sample"},
		{"train", "sft", "--data", "kg", "--out", "o", "--epochs"},
	}, bounded...)
	number := func(args []string, n string) {
		w.Helper()
		w.refused(strings.TrimPrefix(args[len(args)-1], "--"), append(slices.Clone(args), n))
	}
	for _, n := range []string{"-1", "x", "1e400", "NaN"} {
		for _, args := range numbers {
			number(args, n)
		}
	}
	for _, args := range bounded {
		number(args, "99999999999")
	}
}

// refused runs a command that must fail and name what is wrong.
func (w *workdir) refused(names string, args []string) {
	w.Helper()
	code, stdout, stderr := w.run(args...)
	if code == 0 || code == 1 || code > 8 || stdout != "" {
		w.Errorf("quarry %s: code %d, stdout %q\n%s", strings.Join(args, " "), code, stdout, stderr)
	}
	if !strings.Contains(stderr, "error: ") || !strings.Contains(stderr, "hint: ") || !strings.Contains(stderr, names) {
		w.Errorf("quarry %s says\n%s", strings.Join(args, " "), stderr)
	}
	for _, raw := range []string{"panic", "strconv.", "map[", "goroutine", "0x", "not a directory"} {
		if strings.Contains(stderr, raw) {
			w.Errorf("quarry %s shows %q:\n%s", strings.Join(args, " "), raw, stderr)
		}
	}
}
