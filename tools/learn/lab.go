package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/quarry-rl/quarry/internal/report"
)

// The values of rl.advantage.
const (
	normal   = "normal"
	flipped  = "flipped"
	permuted = "permuted"
)

// seldom is an eval.every that leaves the last step only.
const seldom = 1_000_000

// lab runs the program under test.
type lab struct {
	binary  string
	root    string // working folder of the runs
	timeout time.Duration
	log     io.Writer
}

// outcome is one finished run.
type outcome struct {
	doc       report.Doc
	cpu, wall float64 // seconds of the process
}

// preset is the full spec of a preset as JSON, which is YAML too.
func (l *lab) preset(ctx context.Context, name string) ([]byte, error) {
	out, _, err := l.command(ctx, "check", name, "-o", "json")
	return out, err
}

// vary sets the seed and makes a control of the spec. The true run keeps everything else as it is.
func vary(spec []byte, seed uint64, advantage string) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(spec))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	rl, _ := m["rl"].(map[string]any)
	eval, _ := m["eval"].(map[string]any)
	if m["seed"] == nil || rl["advantage"] != normal || eval["every"] == nil {
		return nil, fmt.Errorf("spec: seed, eval.every and rl.advantage: %s are needed to vary them", normal)
	}
	m["seed"] = seed
	if advantage != normal {
		rl["advantage"], eval["every"] = advantage, seldom
	}
	return json.Marshal(m)
}

// play runs one spec in a state folder. Runs of one seed share the folder, so that the stages before RL are computed once.
func (l *lab) play(ctx context.Context, base []byte, seed uint64, advantage, state string) (outcome, error) {
	spec, err := vary(base, seed, advantage)
	if err != nil {
		return outcome{}, err
	}
	if err := os.MkdirAll(state, 0o755); err != nil {
		return outcome{}, err
	}
	path := filepath.Join(state, advantage+".yaml")
	if err := os.WriteFile(path, spec, 0o644); err != nil {
		return outcome{}, err
	}
	out, o, err := l.command(ctx, "run", path, "-o", "json", "--state-dir", state)
	if err != nil {
		return outcome{}, err
	}
	if err := json.Unmarshal(out, &o.doc); err != nil {
		return outcome{}, fmt.Errorf("document of %s: %w", advantage, err)
	}
	if o.doc.Schema != report.Schema || len(o.doc.RL.Steps) == 0 {
		return outcome{}, fmt.Errorf("document of %s: schema %q with %d RL steps, want %q", advantage, o.doc.Schema, len(o.doc.RL.Steps), report.Schema)
	}
	fmt.Fprintf(l.log, "seed %d %-8s %5.1f s, %5.1f s CPU\n", seed, advantage, o.wall, o.cpu)
	return o, nil
}

// command runs the program to its end. It is asked to stop before it is killed.
func (l *lab) command(ctx context.Context, args ...string) ([]byte, outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, fmt.Errorf("no end after %s", l.timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, l.binary, args...)
	cmd.Dir = l.root
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		err = fmt.Errorf("quarry %s: %w: %s", args[0], err, lastLines(stderr.String(), 3))
		switch {
		case ctx.Err() != nil:
			err = errors.Join(context.Cause(ctx), err)
		case outside(err):
			err = errors.Join(errStopped, err)
		}
		return nil, outcome{}, err
	}
	o := outcome{wall: time.Since(began).Seconds(), cpu: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	return stdout.Bytes(), o, nil
}

// errStopped marks a run that neither ended nor failed by itself. It says nothing about learning.
var errStopped = errors.New("a run was stopped from outside, nothing is measured")

// outside says whether a run could not start, was killed, or ended as the program does when it is asked to stop.
func outside(err error) bool {
	var exit *exec.ExitError
	return !errors.As(err, &exit) || exit.ExitCode() == 130 || exit.ExitCode() < 0
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
