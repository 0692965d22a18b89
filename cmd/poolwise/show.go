package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"poolwise/scenarios"
	"poolwise/sim/wording"
)

func newShow() *cobra.Command {
	var to destination
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Print a built-in scenario as the file that it is",
		Example: `  poolwise show sizing-knee
  poolwise show sizing-knee -o mine.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("want the NAME of one built-in scenario; poolwise list shows them")
			}
			return nil
		},
		ValidArgsFunction: completeBuiltin,
	}
	to.add(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		text, err := scenarios.Open(args[0])
		if err != nil {
			if best := wording.Near(args[0], builtinNames()); best != nil {
				return fmt.Errorf("there is no built-in scenario %q, did you mean %s?", args[0], wording.Or(best))
			}
			return fmt.Errorf("there is no built-in scenario %q; poolwise list shows them", args[0])
		}
		return to.write(cmd.OutOrStdout(), func(w io.Writer) error { return writeAll(w, text) })
	}
	return cmd
}
