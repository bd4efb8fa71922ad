package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// leaves are the commands that do something, by their path.
func leaves() map[string]*cobra.Command {
	out := map[string]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if acts := !c.HasSubCommands() || c.Flags().Lookup(flagOut) != nil; acts && c.Name() != "help" {
			out[c.CommandPath()] = c
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&State{Stdout: io.Discard, Stderr: io.Discard}))
	return out
}

// TestCommandsPage demands a section with an example for every command, and that a script runs each example but those
// that need a run's folder or the whole demo, which Go tests run.
func TestCommandsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	ran := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			for _, prefix := range []string{"exits 0 ", "exec quarry "} {
				if args, ok := strings.CutPrefix(line, prefix); ok {
					ran["quarry "+args] = true
				}
			}
		}
	}
	elsewhere := map[string]bool{"quarry train rl": true, "quarry run": true, "quarry kg serve": true, "quarry synth show": true, "quarry kg extract": true} // TestStagesGiveWhatTheRunGives, TestServe, TestExtract
	sections := strings.Split(string(page), "\n## ")[1:]
	known := leaves()
	for _, s := range sections {
		head, body, _ := strings.Cut(s, "\n")
		path := strings.TrimSpace(strings.TrimRight(head, "ABCDEFGHIJKLMNOPQRSTUVWXYZ "))
		if known[path] == nil {
			t.Errorf("docs/commands.md describes %q, which is no command", path)
		}
		delete(known, path)
		examples := 0
		for line := range strings.Lines(body) {
			if cmd, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    quarry "); ok {
				examples++
				if cmd = "quarry " + cmd; !ran[cmd] && !elsewhere[path] {
					t.Errorf("no script runs the example %s", cmd)
				}
			}
		}
		if examples == 0 {
			t.Errorf("%s has no example", path)
		}
	}
	for path := range known {
		t.Errorf("docs/commands.md has no section of %s", path)
	}
}

// TestHelpExamples parses every example of the help with the flags of its command.
func TestHelpExamples(t *testing.T) {
	for path, c := range leaves() {
		if c.Example == "" {
			t.Errorf("%s --help has no example", path)
		}
		for line := range strings.Lines(c.Example) {
			args, ok := strings.CutPrefix(strings.TrimSpace(line), path)
			if !ok || args != "" && args[0] != ' ' {
				t.Errorf("%s: example %q is of another command", path, line)
				continue
			}
			cmd := leaves()[path] // fresh flags
			if err := cmd.ParseFlags(fields(args)); err != nil {
				t.Errorf("%s: example %q: %v", path, line, err)
				continue
			}
			if err := cmd.Args(cmd, cmd.Flags().Args()); err != nil {
				t.Errorf("%s: example %q: %v", path, line, err)
			}
		}
	}
}

// fields splits as a shell does, for double quotes without escapes.
func fields(s string) []string {
	var out []string
	for i, part := range strings.Split(s, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
