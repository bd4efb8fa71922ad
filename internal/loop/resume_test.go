package loop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quarry-rl/quarry"
)

// An RL phase that was drained but not yet marked as done gives its facts again, without an engine; one whose
// acknowledged batch changed on disk is refused.
func TestFinishedPhaseResumes(t *testing.T) {
	e := newEnv(t, "", nil)
	dir := t.TempDir()
	run := rlRun(t, e, dir)
	first, err := e.RL(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	again, err := e.RL(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if again.Version != first.Version || again.Weights != first.Weights || len(again.Steps) != len(first.Steps) || again.Conservation != 0 ||
		again.Counts.Acknowledged != first.Counts.Acknowledged {
		t.Errorf("again %+v, first %+v", again, first)
	}
	shards, err := filepath.Glob(filepath.Join(dir, first.Steps[0].T1, "data", "*.parquet"))
	if err != nil || len(shards) == 0 {
		t.Fatal(shards, err)
	}
	data, err := os.ReadFile(shards[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(shards[0], data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := e.RL(t.Context(), run); quarry.KindOf(err) != quarry.KindCorrupt {
		t.Errorf("a flipped bit in an acknowledged batch: %v", err)
	}
}
