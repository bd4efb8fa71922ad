package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lab is the scratch folder of one run, with what several rows share.
type lab struct {
	root   string // of the repository
	dir    string // scratch
	builds map[string]build
	demo   *demoRun // nil until it was tried
}

// demoRun is what came of the demo: two rows read it, and neither repeats a run that failed.
type demoRun struct {
	usage usage
	err   error
}

// build is a program made with an empty cache.
type build struct {
	binary string
	cpu    float64 // seconds, user and system, of the whole toolchain
}

// usage is what one process took.
type usage struct {
	wall   time.Duration
	cpu    time.Duration
	memory float64 // peak resident bytes
}

func newLab(root string) (*lab, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "quarry-bench-")
	if err != nil {
		return nil, err
	}
	return &lab{root: abs, dir: dir, builds: map[string]build{}}, nil
}

func (l *lab) close() { os.RemoveAll(l.dir) }

// command runs a program to its end and measures it and the children it waited for.
func command(ctx context.Context, dir string, env []string, stdout *bytes.Buffer, name string, args ...string) (usage, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if stdout != nil {
		cmd.Stdout = stdout
	}
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		tail := bytes.TrimSpace(stderr.Bytes())
		if stdout != nil {
			tail = append(bytes.TrimSpace(stdout.Bytes()), tail...)
		}
		return usage{}, fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, tail[max(0, len(tail)-1000):])
	}
	u := usage{wall: wall, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.memory = float64(r.Maxrss)
		if runtime.GOOS != "darwin" {
			u.memory *= 1024 // Linux counts in KiB
		}
	}
	return u, nil
}

// program is something to build: a package of the repository, or a file written to the scratch folder.
type program struct {
	name, target, source string
}

var (
	quarryMain  = program{name: "quarry", target: "./cmd/quarry"}
	emptyServer = program{name: "empty", source: `package main

import "net/http"

func main() {
	if err := http.ListenAndServe("127.0.0.1:0", nil); err != nil {
		panic(err)
	}
}
`}
)

// build makes p with an empty build cache, once per run; the module cache stays, for downloads are no compile time.
func (l *lab) build(ctx context.Context, p program) (build, error) {
	if b, ok := l.builds[p.name]; ok {
		return b, nil
	}
	dir, target := l.root, p.target
	if p.source != "" {
		dir, target = filepath.Join(l.dir, p.name), "."
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return build{}, err
		}
		for name, text := range map[string]string{"main.go": p.source, "go.mod": "module empty\n\ngo 1.26.0\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				return build{}, err
			}
		}
	}
	b := build{binary: filepath.Join(l.dir, p.name+".bin")}
	u, err := command(ctx, dir, l.buildEnv(p), nil, "go", "build", "-o", b.binary, target)
	if err != nil {
		return build{}, err
	}
	b.cpu = u.cpu.Seconds()
	l.builds[p.name] = b
	// Linked once more without symbols, out of the same cache.
	_, err = command(ctx, dir, l.buildEnv(p), nil, "go", "build", "-ldflags=-s -w", "-o", b.binary+".stripped", target)
	return b, err
}

func (l *lab) buildEnv(p program) []string {
	return []string{"CGO_ENABLED=0", "GOCACHE=" + filepath.Join(l.dir, p.name+".cache")}
}

func buildCPU(p program) measure {
	return func(ctx context.Context, l *lab) (float64, error) {
		b, err := l.build(ctx, p)
		return b.cpu, err
	}
}

func buildSize(p program) measure    { return size(p, "") }
func strippedSize(p program) measure { return size(p, ".stripped") }

func size(p program, suffix string) measure {
	return func(ctx context.Context, l *lab) (float64, error) {
		b, err := l.build(ctx, p)
		if err != nil {
			return 0, err
		}
		info, err := os.Stat(b.binary + suffix)
		if err != nil {
			return 0, err
		}
		return float64(info.Size()) / 1e6, nil
	}
}

// runDemo runs the preset demo in a fresh state folder, once per run of the benchmarks.
func (l *lab) runDemo(ctx context.Context) (usage, error) {
	if l.demo == nil {
		u, err := l.playDemo(ctx)
		l.demo = &demoRun{u, err}
	}
	return l.demo.usage, l.demo.err
}

func (l *lab) playDemo(ctx context.Context) (usage, error) {
	binary := filepath.Join(l.dir, "quarry.bin")
	if b, ok := l.builds[quarryMain.name]; ok {
		binary = b.binary
	} else if _, err := command(ctx, l.root, []string{"CGO_ENABLED=0"}, nil, "go", "build", "-o", binary, quarryMain.target); err != nil {
		return usage{}, err
	}
	return command(ctx, l.root, []string{"QUARRY_STATE_DIR=" + filepath.Join(l.dir, "state")}, nil, binary, "run", "demo", "-o", "json")
}

func demoWall(ctx context.Context, l *lab) (float64, error) {
	u, err := l.runDemo(ctx)
	return u.wall.Seconds(), err
}

func demoMemory(ctx context.Context, l *lab) (float64, error) {
	u, err := l.runDemo(ctx)
	return u.memory / 1e6, err
}

// goBench runs one benchmark of the module, a/b being b of a, three times and returns the median of a metric it reports.
func goBench(name, metric string, packages ...string) measure {
	return func(ctx context.Context, l *lab) (float64, error) {
		var out bytes.Buffer
		args := append([]string{"test", "-run=^$", "-bench=^" + strings.ReplaceAll(name, "/", "$/^") + "$", "-count=3"}, packages...)
		if _, err := command(ctx, l.root, nil, &out, "go", args...); err != nil {
			return 0, err
		}
		values, err := parseBench(out.String(), name, metric)
		if err != nil {
			return 0, err
		}
		slices.Sort(values)
		return values[len(values)/2], nil
	}
}

// script runs a Python peer, which needs the packages that it names, and takes a number from what it prints. PYTHON names
// the interpreter that has them.
func script(number, file, data string) measure {
	return func(ctx context.Context, l *lab) (float64, error) {
		var out bytes.Buffer
		if _, err := command(ctx, filepath.Join(l.root, "bench"), nil, &out, cmp.Or(os.Getenv("PYTHON"), "python3"), file, filepath.Join(os.Getenv(dataEnv), data)); err != nil {
			return 0, err
		}
		m := regexp.MustCompile(number).FindStringSubmatch(out.String())
		if m == nil {
			return 0, fmt.Errorf("%s printed nothing like %s", file, number)
		}
		return strconv.ParseFloat(m[1], 64)
	}
}

// parseBench reads the values of one metric from the output of go test -bench.
func parseBench(out, name, metric string) ([]float64, error) {
	var values []float64
	seen := false
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		if cores, ok := strings.CutPrefix(f[0], name); !ok || cores != "" && cores[0] != '-' { // as in BenchmarkWalk-2
			continue
		}
		seen = true
		for i := 2; i+1 < len(f); i += 2 { // name, iterations, then value and unit in turn
			if f[i+1] != metric {
				continue
			}
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil || v <= 0 {
				return nil, fmt.Errorf("%s: %s %s is no measurement", name, f[i], metric)
			}
			values = append(values, v)
		}
	}
	switch {
	case !seen:
		return nil, fmt.Errorf("%s did not run", name)
	case len(values) == 0:
		return nil, fmt.Errorf("%s reports no %s", name, metric)
	}
	return values, nil
}
