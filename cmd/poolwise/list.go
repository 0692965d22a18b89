package main

import (
	"io"

	"github.com/spf13/cobra"

	"poolwise/scenarios"
)

func newList() *cobra.Command {
	var to destination
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the built-in scenarios",
		Long:  "List the built-in scenarios. Run one with poolwise run NAME, read it with poolwise show NAME.",
		Example: `  poolwise list
  poolwise list --format json`,
		Args: noArguments,
	}
	format := addFormat(cmd, &to)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := to.check(); err != nil {
			return err
		}
		type entry struct {
			Name  string `json:"name"`
			About string `json:"about"`
		}
		l := listing{heads: []string{"name", "about"}}
		var all []entry
		for _, s := range scenarios.List() {
			l.rows = append(l.rows, []string{s.Name, s.About})
			all = append(all, entry{s.Name, s.About})
		}
		l.json = all
		return to.write(cmd.OutOrStdout(), func(w io.Writer) error { return l.write(w, format.value, to.columns(w)) })
	}
	return cmd
}

// noArguments is the argument check of commands without any.
func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("it takes no arguments, have %q", args)
	}
	return nil
}
