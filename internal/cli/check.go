package cli

import (
	"github.com/spf13/cobra"
)

func newCheck(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "check SPEC",
		Short:   "Validate a spec and print it with all defaults",
		Example: "  quarry check demo\n  quarry check my.yaml -o json",
		Args:    exactArgs("SPEC"),
		RunE: func(_ *cobra.Command, args []string) error {
			run, err := a.Spec(args[0])
			if err != nil {
				return err
			}
			if a.JSON() {
				return writeJSON(a.Stdout, run)
			}
			text, err := run.YAML()
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(text)
			return outputError(err)
		},
	}
}
