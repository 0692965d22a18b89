package main

import "github.com/spf13/cobra"

func newSweep() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sweep FILE --over PATH=VALUE,...",
		Short: "Run a scenario at several settings",
		Long: `Run a scenario at several settings, in place of its own sweep. Several --over make a grid, whose
first varies slowest. All else is as with poolwise run, the exit status too.`,
		Example: `  poolwise sweep burst.yaml --over pool.max=2,4,8,16
  poolwise sweep burst.yaml --over server.cores=2,4 --over pool.max=2,4,8 --format csv`,
		Args:              oneFile,
		ValidArgsFunction: completeFile,
	}
	o := newRunOptions(cmd, true)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(o.over) == 0 {
			return usagef("want at least one --over, such as --over pool.max=2,4,8; poolwise run has the sweep of the file")
		}
		return o.run(cmd, args[0])
	}
	return cmd
}
