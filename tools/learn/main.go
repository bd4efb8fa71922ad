// Command learn says whether the loop learns, and for the right reason. For each seed it runs the preset demo, then two
// controls from the same start weights: one with the advantage's sign turned, one with the total rewards permuted
// across the episodes of a step. It prints what it measured, holds it against the criteria of
// docs/design/0002-learning.md, and ends with a line of the kind of go test.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	binary, root, preset, state, json, markdown string
	seeds                                       uint64
	keep                                        bool
	timeout                                     time.Duration
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("learn", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.binary, "quarry", "bin/quarry", "the program under test")
	fs.StringVar(&o.root, "root", ".", "folder of the repository, where the data folder of the preset starts")
	fs.StringVar(&o.preset, "preset", "demo", "preset or spec to run")
	fs.Uint64Var(&o.seeds, "seeds", 2, "run the seeds 1 to this one")
	fs.StringVar(&o.state, "state", "", "state folder (default a temporary one)")
	fs.BoolVar(&o.keep, "keep", false, "keep the state folder")
	fs.StringVar(&o.json, "json", "", "write the results to this file")
	fs.StringVar(&o.markdown, "markdown", "", "write the results page to this file")
	fs.DurationVar(&o.timeout, "timeout", 10*time.Minute, "bound of one run")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("%q: learn takes flags only", fs.Arg(0))
	}
	if o.seeds < 1 || o.timeout <= 0 {
		return o, errors.New("-seeds is at least 1 and -timeout above 0")
	}
	return o, nil
}

// run returns the exit code: 0 when every check passes, 1 when one fails, 2 when the suite could not run.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err == nil {
		var ok bool
		if ok, err = suite(ctx, o, stdout, stderr); err == nil && !ok {
			return 1
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 2
	}
	return 0
}

func suite(ctx context.Context, o options, stdout, stderr io.Writer) (ok bool, err error) {
	if o.state == "" {
		if o.state, err = os.MkdirTemp("", "quarry-learn-"); err != nil {
			return false, err
		}
	}
	if o.state, err = filepath.Abs(o.state); err != nil { // the runs have another working folder
		return false, err
	}
	if o.keep {
		fmt.Fprintln(stderr, "state folder:", o.state)
	} else {
		defer os.Remove(o.state) // when it is empty: a folder that the user named may hold more
	}
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return false, err
	}
	l := &lab{binary: binary, root: o.root, timeout: o.timeout, log: stderr}
	base, err := l.preset(ctx, o.preset)
	if err != nil {
		return false, err
	}
	res := results{Date: time.Now().UTC().Truncate(time.Second), Commit: commit(binary), Machine: machine(), Preset: o.preset}
	began := time.Now()
	for n := uint64(1); n <= o.seeds; n++ {
		dir := filepath.Join(o.state, fmt.Sprintf("seed-%d", n))
		s, err := l.seed(ctx, base, n, dir)
		if !o.keep {
			if err := os.RemoveAll(dir); err != nil {
				return false, err
			}
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if errors.Is(err, errStopped) {
			return false, err
		}
		if err != nil {
			s.Error = err.Error()
			fmt.Fprintf(stderr, "seed %d: %v\n", n, err)
		}
		res.Seeds = append(res.Seeds, s)
	}
	res.Seconds = time.Since(began).Seconds()
	res.Checks = checks(res.Seeds)
	fmt.Fprint(stdout, res.text())
	return res.failed() == 0, res.write(o)
}
