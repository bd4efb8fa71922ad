package cli

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/quarry-rl/quarry/internal/loop"
	"github.com/quarry-rl/quarry/internal/report"
)

func newRun(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "run SPEC",
		Short: "Run the whole loop of a spec or preset, reusing every stage that is cached",
		Long: "Run executes kg, synth, filter, sft, dpo, rl, pivot and report in order. Stages whose inputs did not\n" +
			"change are reused; after a stop or a kill the same command goes on where it was.",
		Example: "  quarry run demo\n  quarry run my.yaml -o json",
		Args:    exactArgs("SPEC"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := a.Spec(args[0])
			if err != nil {
				return err
			}
			tty, width := terminal(a.Stderr, a.Env)
			doc, err := loop.Run(cmd.Context(), loop.Options{Spec: spec, Data: a.Path(spec.Data), StateDir: a.Path(a.Settings.StateDir), Endpoint: a.Settings.Endpoint,
				Version: a.Version, Command: args[0], Log: a.Log, Progress: report.NewProgress(a.Stderr, tty, width, time.Now)})
			if err != nil {
				return err
			}
			if a.JSON() {
				return outputError(report.JSON(a.Stdout, doc))
			}
			color, width := terminal(a.Stdout, a.Env)
			return outputError(report.Text(a.Stdout, doc, width, color))
		},
	}
}

// terminal says whether w is a terminal and how many columns to use.
func terminal(w any, env func(string) (string, bool)) (tty bool, width int) {
	width = 100
	if c, ok := env("COLUMNS"); ok {
		if n, err := strconv.Atoi(c); err == nil && n >= 40 {
			width = n
		}
	}
	f, ok := w.(*os.File)
	if !ok {
		return false, width
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false, width
	}
	if _, no := env("NO_COLOR"); no {
		return false, width
	}
	return true, width
}
