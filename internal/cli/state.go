// Package cli is the command line: it reads flags, settings and specs, passes implementations from package to package
// and prints results. It is the one place that composes them; each command only decodes its flags and calls a function.
package cli

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/quarry-rl/quarry/configs"
)

// State is everything of the process that commands may touch. It is built once in main; tests build their own and run
// the real root command with it.
type State struct {
	Version string   // of the program
	Args    []string // without the program's name
	Dir     string   // folder that relative paths start from; empty is the process's own
	Env     func(name string) (string, bool)
	Stdin   io.Reader
	Stdout  io.Writer // results only
	Stderr  io.Writer // progress, log, errors
	Signals <-chan os.Signal
	Exit    func(code int) // ends the process at once, for the second signal
}

// NewState is the state of this process.
func NewState(version string) *State {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	return &State{
		Version: version,
		Args:    os.Args[1:],
		Env:     os.LookupEnv,
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Signals: signals,
		Exit:    os.Exit,
	}
}

// Path resolves a path the user gave.
func (s *State) Path(p string) string {
	if s.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(s.Dir, p)
}

// Spec loads a preset by name or a spec by its path.
func (s *State) Spec(arg string) (configs.Run, error) {
	if configs.IsPreset(arg) {
		return configs.Load(arg)
	}
	return configs.Load(s.Path(arg))
}

// app is what a command gets: the state, and what the root command derived from it before the command ran.
type app struct {
	*State
	Settings configs.Settings
	Log      *slog.Logger
}

// JSON says whether the result goes to stdout as one JSON document.
func (a *app) JSON() bool { return a.Settings.Output == "json" }
