package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/quarry-rl/quarry"
	"github.com/spf13/cobra"
)

func TestExitCodes(t *testing.T) {
	for kind, want := range map[quarry.Kind]int{
		quarry.KindInvalid: 2, quarry.KindNotFound: 3, quarry.KindExists: 3, quarry.KindConflict: 4, quarry.KindUnavailable: 5,
		quarry.KindExhausted: 6, quarry.KindGate: 7, quarry.KindCorrupt: 8, quarry.KindUnscorable: 8, quarry.KindCanceled: 130,
		quarry.KindInternal: 1,
	} {
		err := fmt.Errorf("while: %w", &quarry.Error{Kind: kind})
		if got := exitCode(err); got != want {
			t.Errorf("%s: %d, want %d", kind, got, want)
		}
	}
	if exitCode(nil) != 0 || exitCode(errors.New("plain")) != 1 {
		t.Errorf("nil %d, plain %d", exitCode(nil), exitCode(errors.New("plain")))
	}
}

func TestPrintError(t *testing.T) {
	inner := &quarry.Error{Op: "lease", Kind: quarry.KindConflict, Subject: "b\x1b[31m1", Msg: "lost\nit", Hint: "run\tagain"}
	var b bytes.Buffer
	printError(&b, errors.Join(fmt.Errorf("outer: %w", inner), errors.New("plain")))
	want := "error: outer: lease: b?[31m1: lost it\nhint: run again\nerror: plain\n"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}

// TestSignals follows the first signal to the cause every command sees, and the second to the exit.
func TestSignals(t *testing.T) {
	signals, exited := make(chan os.Signal), make(chan int, 1)
	var stderr bytes.Buffer
	st := &State{Signals: signals, Stderr: &stderr, Exit: func(code int) { exited <- code }}
	ctx, stop := withSignals(t.Context(), st)
	if ctx.Err() != nil {
		t.Fatal("canceled before any signal")
	}
	signals <- os.Interrupt
	<-ctx.Done()
	cause := context.Cause(ctx)
	if exitCode(cause) != 130 || quarry.HintOf(cause) == "" {
		t.Errorf("cause %v: code %d, hint %q", cause, exitCode(cause), quarry.HintOf(cause))
	}
	signals <- syscall.SIGTERM
	if code := <-exited; code != 130 {
		t.Errorf("second signal: code %d", code)
	}
	stop()
	if !strings.HasPrefix(stderr.String(), "interrupt: ") || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("stderr %q", stderr.String())
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestStdoutThatFails(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"version", "-o", "json"}, {"check", "demo"}, {"check", "demo", "-o", "json"}} {
		var stderr bytes.Buffer
		st := &State{Args: args, Dir: t.TempDir(), Stdout: fullDisk{}, Stderr: &stderr, Stdin: strings.NewReader("")}
		if code := Run(t.Context(), st); code != 5 || !strings.HasPrefix(stderr.String(), "error: write output: stdout: ") {
			t.Errorf("%v: code %d, %q", args, code, stderr.String())
		}
	}
}

// TestEveryCommandHasHelp keeps a command from entering the tree without a sentence, an argument check and a body.
func TestEveryCommandHasHelp(t *testing.T) {
	var walk func(parent *cobra.Command)
	walk = func(parent *cobra.Command) {
		for _, c := range parent.Commands() {
			if c.Short == "" || c.Args == nil || c.RunE == nil || strings.HasSuffix(c.Short, ".") {
				t.Errorf("%s: short %q, args %t, run %t", c.CommandPath(), c.Short, c.Args != nil, c.RunE != nil)
			}
			walk(c)
		}
	}
	walk(newRoot(&State{Stdout: io.Discard, Stderr: io.Discard}))
}
