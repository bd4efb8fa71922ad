package cli

import (
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts run the program as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"quarry": func() { os.Exit(Run(context.Background(), NewState("v0.0.0-test"))) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// exits CODE ARG...: runs quarry in this process and demands the exit code, which testscript's exec cannot.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want := args[0]
	st := &State{
		Version: "v0.0.0-test",
		Args:    args[1:],
		Dir:     ts.Getenv("WORK"),
		Env: func(name string) (string, bool) {
			v := ts.Getenv(name)
			return v, v != ""
		},
		Stdout: ts.Stdout(),
		Stderr: ts.Stderr(),
		Exit:   func(int) {},
	}
	if got := Run(context.Background(), st); strconv.Itoa(got) != want {
		ts.Fatalf("exit code %d, want %s", got, want)
	}
}
