package loop

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quarry-rl/quarry/internal/journal"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/rollout"
)

// The environment of TestSurvive: how many runs are killed (1), the seed of the moments (random), and a built quarry
// to run demo-small with (the test binary with a smaller spec).
const (
	trialsEnv = "SURVIVE_TRIALS"
	seedEnv   = "SURVIVE_SEED"
	binaryEnv = "SURVIVE_BINARY"
)

// A run killed at a random moment and started again ends as the uninterrupted run did: same questions, ledger and
// datasets, nothing lost, nothing acknowledged twice, nothing acknowledged or finished done anew. scripts/survive.sh
// runs it many times on the real binary.
func TestSurvive(t *testing.T) {
	trials := int(envNumber(t, trialsEnv, 1))
	seed := envNumber(t, seedEnv, rand.Uint64())
	t.Logf("seed %d: set %s to it to repeat the moments", seed, seedEnv)
	want, wall := uninterrupted(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range trials {
		at := time.Duration(rng.Float64() * float64(wall))
		state := t.TempDir()
		killAfter(t, state, at)
		before := look(t, state)
		got := finish(t, state)
		t.Logf("trial %d: killed after %.2f of %.2f s with %d stages finished, %d batches acknowledged", i+1, at.Seconds(), wall.Seconds(), len(before.stages), before.batch)
		compare(t, state, before, want, got)
		if t.Failed() {
			t.Fatalf("trial %d of %d", i+1, trials)
		}
	}
	for _, phase := range []string{"rl", "pivot"} {
		state := upTo(t, phase)
		killDrained(t, state, phase)
		before := look(t, state)
		_, done := before.stages[phase]
		t.Logf("killed when %s was drained, its stage.json written: %v", phase, done)
		if done && os.Getenv(binaryEnv) == "" || before.batch == 0 {
			t.Errorf("%s: not in the window before stage.json: %d batches, stages %v", phase, before.batch, before.stages)
		}
		compare(t, state, before, want, finish(t, state))
		if t.Failed() {
			t.Fatal("killed when drained: " + phase)
		}
	}
}

// upTo is a state directory to run a phase in: a new one for a built quarry; for the test binary the shared run's without
// the phase and what comes after it, which spares the rest.
func upTo(t *testing.T, phase string) string {
	t.Helper()
	if os.Getenv(binaryEnv) != "" {
		return t.TempDir()
	}
	state := copyState(t)
	for _, name := range map[string][]string{"rl": {"rl", "pivot", "report"}, "pivot": {"pivot", "report"}}[phase] {
		if err := os.RemoveAll(stageDir(t, state, name)); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

// suicidal is a log that kills the process when an RL phase says that it is drained.
type suicidal struct {
	slog.Handler
	phase string
}

func (suicidal) Enabled(context.Context, slog.Level) bool { return true }

func (h suicidal) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if r.Message == drainedNote && a.Value.String() == h.phase {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return true
	})
	return nil
}

// killDrained runs until a phase is drained and is killed there: the test binary by itself, a built one by what it logs,
// which may be a moment late.
func killDrained(t *testing.T, state, phase string) {
	t.Helper()
	cmd := runCommand(t, state)
	if os.Getenv(binaryEnv) == "" {
		cmd = command(t, "drained "+phase+" "+state)
	} else {
		cmd.Args = append(cmd.Args, "--log-level", "info")
	}
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if strings.Contains(lines.Text(), drainedNote) && strings.Contains(lines.Text(), `"phase":"`+phase+`"`) {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the run to be killed when %s is drained: %v", phase, err)
	}
}

// uninterrupted is the run to compare with, and how long it takes: for the test binary the one all tests share.
func uninterrupted(t *testing.T) (report.Doc, time.Duration) {
	t.Helper()
	if os.Getenv(binaryEnv) != "" {
		began := time.Now()
		return finish(t, t.TempDir()), time.Since(began)
	}
	data, err := os.ReadFile(filepath.Join(os.Getenv(runEnv), "runs", "demo-small", ReportJSON))
	if err != nil {
		t.Fatal(err)
	}
	var doc report.Doc
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc, time.Duration(doc.Seconds * float64(time.Second))
}

func envNumber(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("%s is %q, expected a number above 0", name, text)
	}
	return n
}

// runCommand is one run of the loop in a process of its own, its document on standard output.
func runCommand(t *testing.T, state string) *exec.Cmd {
	t.Helper()
	bin := os.Getenv(binaryEnv)
	if bin == "" {
		return command(t, "run "+state)
	}
	cmd := exec.CommandContext(t.Context(), bin, "run", "demo-small", "--state-dir", state, "-o", "json")
	cmd.Dir = filepath.Join("..", "..")
	return cmd
}

// finish runs to the end.
func finish(t *testing.T, state string) report.Doc {
	t.Helper()
	var said strings.Builder
	cmd := runCommand(t, state)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the run failed: %v\n%s%s", err, out, said.String())
	}
	var doc report.Doc
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// killAfter starts a run and kills it, unless it ends first.
func killAfter(t *testing.T, state string, at time.Duration) {
	t.Helper()
	cmd := runCommand(t, state)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(at, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("before the kill: %v", err)
	}
}

// snapshot is what a state directory already promises: it may not change any more.
type snapshot struct {
	stages map[string]string // name of a finished stage: hash of its stage.json
	acked  map[string]string // path of an acknowledged batch's files and weights: hash
	batch  int               // acknowledged batches
}

func look(t *testing.T, state string) snapshot {
	t.Helper()
	s := snapshot{stages: map[string]string{}, acked: map[string]string{}}
	stages := filepath.Join(state, "runs", "demo-small", "stages")
	for _, path := range glob(t, filepath.Join(stages, "*", "stage.json")) {
		dir := filepath.Base(filepath.Dir(path))
		s.stages[dir[:strings.LastIndexByte(dir, '-')]] = fileSHA(t, path)
	}
	for _, db := range glob(t, filepath.Join(stages, "*", "journal.db")) {
		dir := filepath.Dir(db)
		for _, rec := range acked(t, db) {
			s.batch++
			files := glob(t, filepath.Join(dir, rec.T1, "data", "*"))
			files = append(files, filepath.Join(dir, rec.T1, "manifest.json"), (&RLRun{Dir: dir}).weights(rec.Version))
			for _, f := range files {
				s.acked[f] = fileSHA(t, f)
			}
			if d := digest(t, filepath.Join(dir, rec.T1)); d != rec.T1Digest {
				t.Errorf("batch %s has digest %s, its acknowledgement says %s", rec.T1, d, rec.T1Digest)
			}
		}
	}
	return s
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// acked reads the step records of a journal's acknowledgements from a copy, so that the run itself has to recover the
// original. No batch may stand there twice.
func acked(t *testing.T, db string) []StepRecord {
	t.Helper()
	dir := t.TempDir()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		data, err := os.ReadFile(db + suffix)
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "journal.db"+suffix), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	j, err := journal.Open(filepath.Join(dir, "journal.db"), rollout.SchemaName, rollout.SchemaVersion)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var out []StepRecord
	err = j.Replay(func(je journal.Event) error {
		var e rollout.Event
		if err := json.Unmarshal(je.Body, &e); err != nil {
			return err
		}
		a, ok := e.Body.(rollout.Acked)
		if !ok {
			return nil
		}
		if a.Batch != len(out) {
			t.Errorf("%s: batch %d is acknowledged after %d batches", db, a.Batch, len(out))
		}
		var rec StepRecord
		if err := json.Unmarshal(a.Record, &rec); err != nil {
			return err
		}
		out = append(out, rec)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func compare(t *testing.T, state string, before snapshot, want, got report.Doc) {
	t.Helper()
	if got.Gauge != 0 {
		t.Errorf("conservation %d", got.Gauge)
	}
	if diff := cmp.Diff(digests(want), digests(got)); diff != "" {
		t.Errorf("datasets differ from the uninterrupted run's:\n%s", diff)
	}
	if diff := cmp.Diff(steps(want), steps(got)); diff != "" {
		t.Errorf("steps differ from the uninterrupted run's:\n%s", diff)
	}
	for _, s := range got.Stages {
		if _, done := before.stages[s.Name]; done != s.Cached {
			t.Errorf("stage %s: finished before the kill %v, taken from there %v", s.Name, done, s.Cached)
		}
	}
	after := look(t, state)
	for name, sha := range before.stages {
		if after.stages[name] != sha {
			t.Errorf("stage.json of %s changed", name)
		}
	}
	for path, sha := range before.acked {
		if after.acked[path] != sha {
			t.Errorf("%s was acknowledged before the kill and changed", path)
		}
	}
	if n := len(after.stages); n != len(want.Stages) {
		t.Errorf("%d stages are finished, expected %d", n, len(want.Stages))
	}
}

// digests are those of the datasets that do not depend on timing.
func digests(d report.Doc) map[string]string {
	out := map[string]string{}
	for _, ds := range d.Datasets {
		if ds.Kind != "T1" {
			out[ds.Kind] = ds.SHA256
		}
	}
	return out
}

func steps(d report.Doc) []int {
	var out []int
	for _, s := range d.RL.Steps {
		out = append(out, s.Step)
	}
	return out
}
