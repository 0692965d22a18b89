package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"poolwise/scenarios"
	"poolwise/sim/wording"
)

// exitStatus is what a command that has said everything ends with.
type exitStatus int

// The statuses, the same in every command.
const (
	done         exitStatus = iota
	failed                  // usage, scenario, files, an interruption
	checkFailed             // or not evaluated
	warned                  // with --fail-on-warn
	inconclusive            // an interval straddles the limit of a check
)

// Error implements error, so that a command can return a status.
func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// usageError is a mistake in the command line.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// run runs a command line and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if _, _, err := root.Find(args); err != nil && !strings.HasPrefix(args[0], "__") { // cobra's own, not yet there
		return int(complain(root, unknownCommand(root, args), stderr))
	}
	cmd, err := root.ExecuteC()
	if errors.As(err, new(*flagError)) {
		err = flagMistakes(args)
	}
	return int(complain(cmd, err, stderr))
}

// complain shows an error, unless the command has done so, and returns the status.
func complain(cmd *cobra.Command, err error, stderr io.Writer) exitStatus {
	var (
		status   exitStatus
		usage    *usageError
		mistakes scenarios.Errors
	)
	switch {
	case err == nil:
		return done
	case errors.As(err, &status):
		return status
	case errors.Is(err, syscall.EPIPE): // nobody reads any more, as after head
		return failed
	case errors.As(err, &usage):
		for _, e := range each(err) {
			fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), e)
		}
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
	case errors.As(err, &mistakes):
		fmt.Fprintln(stderr, err) // a place in front of each line
	default:
		for _, e := range each(err) {
			fmt.Fprintf(stderr, "poolwise: %v\n", e)
		}
	}
	return failed
}

// each returns the errors that were joined in one.
func each(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

func newRoot() *cobra.Command {
	cobra.EnableCommandSorting = false
	root := &cobra.Command{
		Use:   "poolwise",
		Short: "Predict how a connection pool behaves",
		Long: `Poolwise predicts how a connection pool behaves before production finds out. It simulates pools,
the requests that use them and the database server behind them: the same scenario and seed give the
same bytes everywhere.`,
		Example: `  poolwise list                        built-in scenarios
  poolwise run sizing-knee             run one of them
  poolwise init                        write a scenario file of your own, commented
  poolwise run poolwise.yaml --set pool.max=16
  poolwise compare poolwise.yaml --over pool.max=8,16`,
		Version:           version(debug.ReadBuildInfo()),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("poolwise {{.Version}}\n")
	root.SetHelpFunc(help)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return &flagError{err}
	})
	root.SetGlobalNormalizationFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "color", "colour"))
	})
	root.AddCommand(newRun(), newSweep(), newCompare(), newSize(), newCheck(), newList(), newShow(), newInit(), newModels(), newMetrics(), newKeys(), newSchema(), newCompletion())
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	return root
}

// unknownCommand says which command was probably meant.
func unknownCommand(root *cobra.Command, args []string) error {
	name := args[slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })]
	if name == "version" {
		return usagef("unknown command %q; it is a flag: poolwise --version", name)
	}
	if best := wording.Near(name, commandNames(root)); best != nil {
		return usagef("unknown command %q, did you mean %s?", name, wording.Or(best))
	}
	return usagef("unknown command %q; want %s", name, wording.Or(commandNames(root)))
}

func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// flagError is a flag that cannot be read.
type flagError struct{ error }

// flagMistakes returns all flags of a command line that cannot be read, in our words. The parser stops at the first; it is read again
// without that.
func flagMistakes(args []string) error {
	var all []error
	for {
		cmd, rest, err := newRoot().Find(args)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil || errors.Is(err, pflag.ErrHelp) {
			return joined(all)
		}
		all = append(all, explainFlag(cmd, err))
		i, n := mistaken(args, err)
		if n == 0 || i < 0 {
			return joined(all)
		}
		args = slices.Concat(args[:i], args[i+n:])
	}
}

// mistaken returns where in a command line the flag of an error is, and of how many words; none if that is not known.
func mistaken(args []string, err error) (at, n int) {
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		word := "--" + unknown.GetSpecifiedName()
		return slices.IndexFunc(args, func(a string) bool { return a == word || strings.HasPrefix(a, word+"=") }), 1
	case errors.As(err, &value):
		for i, a := range args {
			switch name, have, ok := strings.Cut(a, "="); {
			case !strings.HasPrefix(a, "-"):
			case ok && have == value.GetValue() && strings.HasSuffix(name, value.GetFlag().Name):
				return i, 1
			case !ok && i+1 < len(args) && args[i+1] == value.GetValue():
				return i, 2
			}
		}
	}
	return 0, 0
}

// explainFlag puts what is wrong with a flag in our words.
func explainFlag(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return usagef("unknown flag --%s%s", unknown.GetSpecifiedName(), meant(cmd, unknown.GetSpecifiedName()))
	case errors.As(err, &unknown):
		return usagef("unknown flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &value):
		f, have := value.GetFlag(), value.GetValue()
		if c, ok := f.Value.(*choice); ok {
			return usagef("--%s: %s, have %q%s", f.Name, want(f, value.Unwrap()), have, c.meant(have))
		}
		return usagef("--%s: %s, have %q", f.Name, want(f, value.Unwrap()), have)
	case errors.As(err, &missing):
		name, _ := pflag.UnquoteUsage(missing.GetFlag())
		return usagef("--%s needs a value: --%s %s", missing.GetFlag().Name, missing.GetFlag().Name, name)
	}
	return &usageError{err.Error()}
}

// want says what a flag takes.
func want(f *pflag.Flag, cause error) string {
	switch f.Value.Type() {
	case "int":
		return "want a whole number"
	case "uint64":
		return "want a whole number from 0 to 18446744073709551615"
	case "bool":
		return "want true or false"
	}
	return cause.Error()
}

// meant is the rest of a message about an unknown flag: the flag, or the command, that was probably meant.
func meant(cmd *cobra.Command, name string) string {
	if strings.Contains(name, ".") && cmd.Flags().Lookup("set") != nil {
		return ", did you mean --set " + name + "=VALUE?"
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if best := wording.Near(name, names); best != nil {
		return ", did you mean --" + strings.Join(best, " or --") + "?"
	}
	var others []string
	for _, c := range cmd.Root().Commands() {
		if c.Flags().Lookup(name) != nil {
			others = append(others, c.Name())
		}
	}
	if others == nil {
		return ""
	}
	return "; it belongs to poolwise " + wording.Or(others)
}

var pseudoVersion = regexp.MustCompile(`\d{14}-[0-9a-f]{12}(\+dirty)?$`)

// version names the build: the release, or the revision it was made from, and what made it. No result contains it.
func version(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "(unknown version)"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" || pseudoVersion.MatchString(v) {
		v = "(development)"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if revision := settings["vcs.revision"]; revision != "" {
		v += " revision " + revision[:min(len(revision), 12)]
	}
	if settings["vcs.modified"] == "true" {
		v += ", modified"
	}
	if info.GoVersion != "" {
		v += ", " + info.GoVersion
	}
	if system := settings["GOOS"]; system != "" {
		v += " " + system + "/" + settings["GOARCH"]
	}
	return v
}
