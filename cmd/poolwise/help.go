package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Tell more about a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return commandNames(cmd.Root()), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return unknownCommand(cmd.Root(), args)
			case len(rest) > 0:
				return usagef("want at most one COMMAND, have %q", args)
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			help(about, nil)
			return nil
		},
	}
}

// help prints what a command does, how it is called, and what its flags mean.
func help(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	usage := cmd.CommandPath() + " COMMAND"
	if cmd.Runnable() {
		usage = strings.TrimSuffix(cmd.UseLine(), " [flags]")
		if cmd.HasAvailableFlags() {
			usage += " [flags]"
		}
	}
	fmt.Fprintf(w, "%s\n\nUsage:\n  %s\n", text, usage)
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		l := listing{heads: []string{"command", "does"}}
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				l.rows = append(l.rows, []string{c.Name(), c.Short})
			}
		}
		section(w, "Commands", l)
	}
	l := listing{heads: []string{"flag", "means"}}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			l.rows = append(l.rows, flagHelp(f))
		}
	})
	section(w, "Flags", l)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n%s COMMAND --help tells more about a command.\n", cmd.CommandPath())
	}
}

func section(w io.Writer, title string, l listing) {
	fmt.Fprintf(w, "\n%s:\n", title)
	_ = l.text(w, "  ", 100) // as with all help, there is nobody to tell of an error
}

// flagHelp returns the names of a flag with what it takes, and what it means with its default.
func flagHelp(f *pflag.Flag) []string {
	takes, usage := pflag.UnquoteUsage(f)
	names := "    --" + f.Name
	if f.Shorthand != "" {
		names = "-" + f.Shorthand + ", --" + f.Name
	}
	if f.Value.Type() != "bool" {
		names += " " + takes
		usage = strings.TrimPrefix(usage, takes+": ")
	}
	if c, ok := f.Value.(*choice); ok {
		usage += "; default " + c.words[0]
	}
	return []string{names, usage}
}
