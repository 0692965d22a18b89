package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"poolwise/scenarios"
)

func newInit() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented scenario file to start from",
		Long:  "Write a commented scenario file to start from: to FILE, poolwise.yaml by default, or to stdout (-).",
		Example: `  poolwise init
  poolwise init burst.yaml && poolwise run burst.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("want at most one FILE, have %d: %q", len(args), args)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it exists; default off")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		to := destination{file: "poolwise.yaml"}
		if len(args) == 1 {
			to.file = args[0]
		}
		if !force && !to.toStdout() {
			if _, err := os.Lstat(to.file); !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: it exists already; --force replaces it", to.file)
			}
		}
		err := to.write(cmd.OutOrStdout(), func(w io.Writer) error { return writeAll(w, []byte(scenarios.Starter())) })
		if err == nil && !to.toStdout() {
			fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s; run it with: poolwise run %s\n", to.file, to.file)
		}
		return err
	}
	return cmd
}
