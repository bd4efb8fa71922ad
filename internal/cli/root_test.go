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

// TestTextIsSafe: whatever stands in a file name, a name or a text, no result steers the terminal or turns its line.
func TestTextIsSafe(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b]0;title\a": "?[31mred?]0;title?", "a\u009b31m": "a?31m", "a\x9b31m": "a\ufffd31m", "a\u202eb\u2066c\u200e": "abc", "a\tb\nc\rd\u2028e": "a b c d e",
		"a\u00adb\ufeff": "ab", "\U000e0041": "", "\v\f\b\x00\x7f": "?????", "👨\u200d👩 שלום 北京 می\u200cخواهم": "👨\u200d👩 שלום 北京 می\u200cخواهم",
	} {
		var b bytes.Buffer
		a := &app{State: &State{Stdout: &b}}
		if err := a.print(nil, []row{{"x" + in, "y" + in}, {"z" + in, ""}, {"n", 7}}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[0], "x"+want) || !strings.HasSuffix(lines[0], "  y"+want) || lines[1] != "z"+want {
			t.Errorf("%q: %q, want %q", in, b.String(), want)
		}
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
