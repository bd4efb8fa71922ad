package loop

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/datasets"
	"github.com/quarry-rl/quarry/internal/report"
	"github.com/quarry-rl/quarry/kg"
	"github.com/quarry-rl/quarry/rollout/pocket"
)

const (
	// partEnv tells a child process of the test binary what to do instead of the tests.
	partEnv = "LOOP_TEST_PART"
	// runEnv is the state directory of an uninterrupted run of demo-small, built once for all tests that only read.
	runEnv = "LOOP_TEST_RUN"
	// corpusEnv is the data folder that run is made from.
	corpusEnv = "LOOP_TEST_CORPUS"
)

func TestMain(m *testing.M) {
	if part := os.Getenv(partEnv); part != "" {
		os.Exit(child(part))
	}
	os.Exit(withRun(m.Run))
}

func withRun(tests func() int) int {
	dir, err := os.MkdirTemp("", "loop-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	corpus, state := filepath.Join(dir, "corpus"), filepath.Join(dir, "state")
	os.Setenv(corpusEnv, corpus)
	os.Setenv(runEnv, state)
	if err = os.Mkdir(corpus, 0o755); err == nil {
		err = writeCorpus(corpus, corpusSize)
	}
	if err == nil {
		_, err = runSmall(context.Background(), state, quiet())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the run that the tests share:", err)
		return 1
	}
	return tests()
}

const corpusSize = 240 // documents

// small is demo-small on part of the documents with fewer walks and tries: it costs a fraction under the race detector.
func small() (configs.Run, error) {
	spec, err := configs.Load("demo-small")
	spec.Concurrency = 64
	spec.Synth.Walks, spec.Synth.CrossShare = 600, 0
	spec.Synth.Train, spec.Synth.Tier, spec.Synth.Heldout = 16, 8, 6
	spec.Synth.MinTrain, spec.Synth.MinHeldout = 4, 4
	spec.Filter = configs.Filter{Attempts: 3, MaxAttempts: 6, ClosedBook: 2, SingleQuery: 2}
	spec.RL.Groups, spec.Eval.Every = 4, 4
	return spec, err
}

// runSmall runs it as the command does and gives the report's document as JSON.
func runSmall(ctx context.Context, state string, log *slog.Logger) ([]byte, error) {
	spec, err := small()
	if err != nil {
		return nil, err
	}
	doc, err := Run(ctx, Options{Spec: spec, Data: os.Getenv(corpusEnv), StateDir: state, Version: "test", Command: "demo-small", Log: log, Progress: silent{}})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = report.JSON(&out, doc)
	return out.Bytes(), err
}

// child is the process that a test starts. It prints what it made, or how it failed.
func child(part string) int {
	ctx := context.Background()
	part, arg, _ := strings.Cut(part, " ")
	var out []byte
	var err error
	switch part {
	case "serve":
		err = serve(ctx, arg)
	case "run":
		out, err = runSmall(ctx, arg, quiet())
	case "drained": // kills itself between the end of an RL phase and its stage.json
		phase, dir, _ := strings.Cut(arg, " ")
		out, err = runSmall(ctx, dir, slog.New(suicidal{quiet().Handler(), phase}))
	case "limited": // no file may grow beyond the limit: the disk is full in the middle of one
		kb, dir, _ := strings.Cut(arg, " ")
		var limit uint64
		if limit, err = strconv.ParseUint(kb, 10, 32); err == nil {
			err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit << 10, Max: limit << 10})
		}
		if err == nil {
			out, err = runSmall(ctx, dir, quiet())
		}
	default:
		err = errors.New("unknown part " + part)
	}
	if err != nil {
		out, _ = json.Marshal(said{quarry.KindOf(err), err.Error(), quarry.HintOf(err)})
	}
	os.Stdout.Write(out)
	return min(len(quarry.KindOf(err)), 1)
}

// said is how a child failed.
type said struct {
	Kind quarry.Kind
	Err  string
	Hint string
}

// command is a child process of the test binary.
func command(t *testing.T, part string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), partEnv+"="+part)
	return cmd
}

// serve runs an engine on the weights until its standard input ends, and prints its URL.
func serve(ctx context.Context, weights string) error {
	r := pocket.NewReader()
	srv, err := pocket.NewServer(pocket.Options{Enumerator: r, FeatureSet: r.Features(), WeightsPath: weights, CacheContexts: 1000})
	if err != nil {
		return err
	}
	url, stop, err := srv.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(url)
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return stop()
}

// startServe serves weights from another process. kill ends it as a crash does.
func startServe(t *testing.T, weights string) (url string, kill func()) {
	t.Helper()
	cmd := command(t, "serve "+weights)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = stdin.Close()
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the engine said %q: %v", line, err)
	}
	return strings.TrimSpace(line), kill
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// silent is a progress nobody watches.
type silent struct{}

func (silent) Stage(string)            {}
func (silent) Update(int, int, string) {}
func (silent) Done(string)             {}
func (silent) Fail(string)             {}

// stageDir finds a stage of a state directory of demo-small.
func stageDir(t *testing.T, state, name string) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(state, "runs", "demo-small", "stages", name+"-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%d directories of stage %s in %s (%v)", len(dirs), name, state, err)
	}
	return dirs[0]
}

// shared is a stage of the run all tests share: read only.
func shared(t *testing.T, name string) string {
	t.Helper()
	return stageDir(t, os.Getenv(runEnv), name)
}

// newEnv is an environment on the shared run's graph.
func newEnv(t *testing.T, endpoint string, change func(*configs.Run)) *Env {
	t.Helper()
	spec, err := small()
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&spec)
	}
	g, err := kg.Open(shared(t, "kg"))
	if err != nil {
		t.Fatal(err)
	}
	return NewEnv(spec, g, endpoint, quiet(), silent{})
}

// questions reads a file of a shared stage.
func questions(t *testing.T, stage, file string) []quarry.Question {
	t.Helper()
	qs, err := ReadQuestions(filepath.Join(shared(t, stage), file), "")
	if err != nil {
		t.Fatal(err)
	}
	return qs
}

// rows reads a dataset.
func rows[T datasets.Row](t *testing.T, dir string) []T {
	t.Helper()
	ds, err := datasets.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := datasets.Read[T](ds)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// digest is that of a dataset's manifest, which names its files by their hashes; each file is hashed anew.
func digest(t *testing.T, dir string) string {
	t.Helper()
	ds, err := datasets.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range ds.Manifest.Files {
		if got := fileSHA(t, filepath.Join(dir, f.Path)); got != f.SHA256 {
			t.Fatalf("%s: %s has hash %s, its manifest says %s", dir, f.Path, got, f.SHA256)
		}
	}
	return ds.Manifest.Digest()
}

func fileSHA(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
