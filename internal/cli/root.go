package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quarry-rl/quarry"
	"github.com/quarry-rl/quarry/configs"
	"github.com/quarry-rl/quarry/internal/telemetry"
	"github.com/spf13/cobra"
)

// commands is the command tree: one constructor per command, in the order the help shows them.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newRun,
		newKG,
		newSynth,
		newRollout,
		newScore,
		newPivot,
		newBuild,
		newTrain,
		newEval,
		newCheck,
		newVersion,
	}
}

// Run executes the command line of st and returns the exit code. The first signal cancels the context, and commands
// return at their next durable point, from which the same command resumes; the second ends the process at once.
func Run(ctx context.Context, st *State) int {
	ctx, stop := withSignals(ctx, st)
	defer stop()
	err := newRoot(st).ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if cause := context.Cause(ctx); errors.Is(err, context.Canceled) && cause != nil && quarry.KindOf(err) == quarry.KindInternal {
		err = cause // the bare "context canceled" of a library says less
	}
	printError(st.Stderr, err)
	return exitCode(err)
}

// withSignals cancels the context at the first signal and exits at the second, until stop is called.
func withSignals(ctx context.Context, st *State) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			select {
			case sig := <-st.Signals:
				if n > 0 {
					st.Exit(130)
					return
				}
				fmt.Fprintf(st.Stderr, "%s: finishing what is under way; once more ends at once\n", sig)
				cancel(&quarry.Error{Op: "run", Kind: quarry.KindCanceled, Subject: sig.String(), Msg: "stopped on request",
					Hint: "the same command again resumes"})
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() {
		close(quit)
		<-done
		cancel(nil)
	}
}

func newRoot(st *State) *cobra.Command {
	a := &app{State: st}
	root := &cobra.Command{
		Use:   "quarry",
		Short: "Dig training data for deep-research agents out of knowledge graphs, and train on it",
		Long: "quarry digs training data for deep-research agents out of knowledge graphs, and runs the reinforcement\n" +
			"learning that turns it into a better model.",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              onlySubcommands,
		RunE:              showHelp,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetArgs(append([]string{}, st.Args...)) // never nil: cobra would read os.Args
	root.SetIn(st.Stdin)
	root.SetOut(st.Stdout)
	root.SetErr(st.Stderr)
	root.SetHelpCommand(newHelp())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Msg: flagError(err), Hint: cmd.CommandPath() + " --help lists the flags"}
	})
	defaults := configs.DefaultSettings()
	flags := root.PersistentFlags()
	flags.String("config", "", "settings file (default "+configs.SettingsFile+" in the working folder, if there)")
	flags.String(configs.FlagName("state_dir"), defaults.StateDir, "folder of runs and journals")
	flags.String(configs.FlagName("endpoint"), defaults.Endpoint, "URL of an engine; empty is the embedded one")
	flags.String(configs.FlagName("log_level"), defaults.LogLevel, "debug, info, warn or error")
	flags.StringP(configs.FlagName("output"), "o", defaults.Output, "form of the result on stdout: text or json")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.load(cmd) }
	for _, c := range commands() {
		root.AddCommand(c(a))
	}
	return root
}

// flagError says what a flag's value should have been, where the library quotes the parser of Go.
func flagError(err error) string {
	msg, parser, found := strings.Cut(err.Error(), ": strconv.")
	if !found {
		return msg
	}
	want := "a number"
	switch {
	case strings.HasPrefix(parser, "ParseBool"):
		want = "true or false"
	case strings.HasPrefix(parser, "ParseUint"):
		want = "a whole number from 0 to 18446744073709551615"
	case strings.HasPrefix(parser, "ParseInt"), strings.HasPrefix(parser, "Atoi"):
		want = "a whole number"
	}
	if strings.Contains(parser, "out of range") {
		want += "; this one is too large"
	}
	return msg + ": expected " + want
}

// load derives settings and logger once the flags are parsed.
func (a *app) load(cmd *cobra.Command) error {
	flags := cmd.Flags()
	file, err := flags.GetString("config")
	if err != nil {
		return err
	}
	a.Settings, err = configs.LoadSettings(configs.Sources{
		Dir: a.Dir, File: file, Env: a.Env,
		Flag: func(name string) (string, bool) {
			f := flags.Lookup(name)
			return f.Value.String(), f.Changed
		},
	})
	if err != nil {
		return err
	}
	a.Log, err = telemetry.NewLogger(a.Stderr, a.Settings.LogLevel, a.JSON())
	return err
}

// newHelp replaces cobra's, which takes an unknown topic for a success.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND]",
		Short:             "Help about any command",
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // help works with bad settings too
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return onlySubcommands(topic, rest)
			}
			return showHelp(topic, nil)
		},
	}
}

// showHelp is the RunE of a command that only groups others.
func showHelp(cmd *cobra.Command, _ []string) error { return outputError(cmd.Help()) }

// onlySubcommands is the Args of a command that only groups others.
func onlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hint := "commands: " + strings.Join(names, ", ")
	if near := configs.Suggest(args[0], names); near != "" {
		hint = fmt.Sprintf("did you mean %s %s?", cmd.CommandPath(), near)
	}
	return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Subject: args[0], Msg: "unknown command", Hint: hint}
}

// exactArgs is the Args of a command that takes exactly the named arguments.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		usage := "usage: " + strings.TrimSpace(cmd.CommandPath()+" "+strings.Join(names, " "))
		switch {
		case len(args) < len(names):
			return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Msg: names[len(args)] + " is missing", Hint: "for example: " + example(cmd)}
		case len(args) > len(names):
			return &quarry.Error{Op: cmd.CommandPath(), Kind: quarry.KindInvalid, Subject: args[len(names)], Msg: "one argument too many", Hint: usage}
		}
		return nil
	}
}
