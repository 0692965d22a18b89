package main

import (
	"io"

	"github.com/spf13/cobra"

	"poolwise/scenarios"
)

func newSchema() *cobra.Command {
	var to destination
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario files",
		Long: `Print the JSON Schema (draft 2020-12) of scenario files, with which an editor can complete and check
them. It knows the form of every value; whether they make sense together, poolwise check tells.`,
		Example: `  poolwise schema -o poolwise.schema.json
  # and in the first line of a scenario file:
  # yaml-language-server: $schema=poolwise.schema.json`,
		Args: noArguments,
	}
	to.add(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		text, err := scenarios.Schema()
		if err != nil {
			return err
		}
		return to.write(cmd.OutOrStdout(), func(w io.Writer) error { return writeAll(w, text) })
	}
	return cmd
}
