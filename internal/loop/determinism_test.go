package loop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry/configs"
)

// The stages up to dpo, one episode at a time and function by function, give the digests of the shared run, which
// played 64 at a time through Run.
func TestConcurrencyDoesNotShow(t *testing.T) {
	e := newEnv(t, "", func(s *configs.Run) { s.Concurrency = 1 })
	dir := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	for _, stage := range []string{"synth", "filter", "sft", "dpo"} {
		if err := os.Mkdir(at(stage), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Synthesise(t.Context(), at("synth")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Filter(t.Context(), at("synth", QuestionsFile), at("filter")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.SFT(t.Context(), at("filter", KeptFile), at("sft")); err != nil {
		t.Fatal(err)
	}
	if f, err := e.DPO(t.Context(), at("filter", KeptFile), at("sft", WeightsFile), at("dpo")); err != nil || f.Skipped != "" {
		t.Fatal(f.Skipped, err)
	}
	for _, f := range [][2]string{{"synth", QuestionsFile}, {"synth", LedgerFile}, {"filter", KeptFile}, {"filter", HeldoutFile}, {"filter", FilterLedgerFile},
		{"sft", WeightsFile}, {"dpo", WeightsFile}} {
		if got, want := fileSHA(t, at(f[0], f[1])), fileSHA(t, filepath.Join(shared(t, f[0]), f[1])); got != want {
			t.Errorf("%s of %s differs between concurrency 1 and 64", f[1], f[0])
		}
	}
	for _, d := range [][2]string{{"synth", "q1"}, {"filter", "r1"}, {"sft", "s1"}, {"dpo", "d1"}} {
		got, want := digest(t, at(d[0], d[1])), digest(t, filepath.Join(shared(t, d[0]), d[1]))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("dataset %s: %s", d[1], diff)
		}
	}
}
