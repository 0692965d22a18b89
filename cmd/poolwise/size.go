package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"poolwise/reports"
	"poolwise/reports/chart"
	"poolwise/scenarios"
	runner "poolwise/scenarios/run"
	"poolwise/sim/record"
)

func newSize() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "size FILE",
		Short: "Find the size to give a pool",
		Long: `Find the size to give a pool: the smallest that meets the checks with confidence or, if there are no
checks, the knee of the curve; with it the sizes that cannot be told apart from it, those that miss a
check, and the first at which the server refuses connections. FILE is a scenario file, the name of a
built-in scenario, or - for standard input.

The sizes to choose from are those of --over, or of the scenario's own sweep, or else all up to what
the server's limit allows. Up to twelve are run all; of more a coarse grid, which is halved where the
curve turns. Replications are spent on the sizes that are in question, until all verdicts together hold
with a confidence of 95 %, or the budget is spent.

Where the scenario has several instances, it says what the server's limit leaves to each; where its
server has contention, it fits the universal scalability law; and it says where an M/M/c calculation
would have gone wrong.

Exit status: 0 there is a size to use; 1 an error, an interruption included; 2 no size meets the checks;
3 warnings, with --fail-on-warn; 4 it cannot be told: the checks are too close to call with so many
replications. If several apply, it is the lowest of them.`,
		Example: `  poolwise size sizing-knee --check 'p(99)<170ms'
  poolwise size burst.yaml --over pool.max=1..40
  poolwise size fleet.yaml --over services.api.pool.max=2..30:2 --surge 2 --plots out`,
		Args:              oneFile,
		ValidArgsFunction: completeFile,
	}
	o := newSizeOptions(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) }
	return cmd
}

// sizeOptions are the flags of size.
type sizeOptions struct {
	runOptions
	indifference share
	budget       int
	surge        int
}

func newSizeOptions(cmd *cobra.Command) *sizeOptions {
	o := &sizeOptions{indifference: runner.DefaultIndifference}
	f := cmd.Flags()
	f.SortFlags = false
	o.addOver(cmd)
	f.Lookup("over").Usage = "`PATH=VALUE,...`: sizes to choose from, as in pool.max=1..40 or pool.max=4,8,16; default those of the scenario's sweep, or else from 1 to what the server's limit allows"
	o.addOnly(cmd, false)
	f.Lookup("only").Usage = "`AXIS=VALUE`: find the size under this setting of the scenario's sweep, as in variant=shared; may be repeated, for several axes"
	o.fixed = true
	o.addSet(cmd)
	o.addSeed(cmd)
	o.addCheck(cmd)
	f.Var(&o.indifference, "indifference", "`SHARE`: up to how large a difference nobody minds, as a share of the figure; default 2%")
	f.IntVar(&o.budget, "budget", runner.DefaultSizeBudget, fmt.Sprintf("`N`: most replications of all sizes together; default %d", runner.DefaultSizeBudget))
	f.IntVar(&o.least, "min-replications", runner.DefaultMinReplications, fmt.Sprintf("`N`: replications of a size to begin with; default %d", runner.DefaultMinReplications))
	f.IntVar(&o.most, "max-replications", runner.DefaultSizeMaximum, fmt.Sprintf("`N`: most replications of one size; default %d", runner.DefaultSizeMaximum))
	f.IntVar(&o.surge, "surge", 0, "`N`: instances more at the peak than the scenario has, as during a release: sizes that do not fit then are left out; default 0")
	o.addReports(cmd, record.SizingSchema)
	o.addPlots(cmd)
	o.addSimulation(f)
	return o
}

// check reports a mistake in the flags.
func (o *sizeOptions) check() error {
	var all []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			all = append(all, usagef(format, args...))
		}
	}
	bad(len(o.over) > 1, "want one --over, the sizes to choose from, have %d", len(o.over))
	bad(o.budget < 1, "--budget: want at least 1, have %d", o.budget)
	bad(o.least < 2, "--min-replications: want at least 2, since one says nothing about luck, have %d", o.least)
	bad(o.most < o.least, "--max-replications: want at least as many as --min-replications (%d), have %d", o.least, o.most)
	bad(o.surge < 0, "--surge: want 0 or more, have %d", o.surge)
	return joined(append(all, o.runOptions.check()))
}

// run looks for the size.
func (o *sizeOptions) run(cmd *cobra.Command, file string) error {
	if err := o.check(); err != nil {
		return err
	}
	src, err := readSource(file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if hasSchema(src.text) {
		return fmt.Errorf("%s: this is a saved result and no scenario", src.name)
	}
	base, cells, key, err := o.sizes(src)
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()

	var files runFiles
	defer files.discard()
	files.keep(src)
	if err := files.begin(&o.runOptions, cells); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	opt := runner.SizeOptions{
		Key: key, Indifference: float64(o.indifference), Surge: o.surge,
		MinReplications: o.least, MaxReplications: o.most, Budget: o.budget,
		Options: runner.Options{Workers: o.workers, CheckInvariants: o.invariants},
	}
	if !o.quiet && isTerminal(stderr) {
		p := newProgress(stderr, o.budget, time.Second)
		defer p.stop()
		opt.Progress = p.set
	}
	sizing, err := runner.Size(ctx, base, cells, opt)
	var stopped *runner.Interrupted
	if errors.As(err, &stopped) {
		return fmt.Errorf("%w; nothing was written", stopped)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", src.name, err)
	}
	write := func(w io.Writer, format string) error { return o.report(w, format, sizing, src.annotated()) }
	draw := func(format string) ([]chart.Named, error) { return chart.Size(sizing, format) }
	if err := files.complete(ctx, &o.runOptions, sizing.Result(), write, draw); err != nil {
		return err
	}
	if err := o.print(cmd.OutOrStdout(), write); err != nil {
		return err
	}
	if err := o.appendSummary(write); err != nil {
		return err
	}
	o.tellPlots(stderr, &files)
	return o.conclude(stderr, sizing)
}

// sizes reads the scenario, with a cell for each size to choose from, and returns the path of the size.
func (o *sizeOptions) sizes(src source) (base *scenarios.Scenario, cells []scenarios.Cell, key string, err error) {
	flags := o.overrides
	if len(o.over) == 0 {
		flags.checks = nil
		if base, _, err = flags.load(src); err != nil {
			return nil, nil, "", err
		}
		axis, err := runner.Sizes(base)
		if err != nil {
			return nil, nil, "", fmt.Errorf("%s: %w", src.name, err)
		}
		flags = o.overrides
		flags.over = []string{axis}
	}
	key, _, _ = strings.Cut(flags.over[0], "=")
	base, cells, err = flags.load(src)
	var mistakes scenarios.Errors
	if errors.As(err, &mistakes) && len(o.over) == 0 {
		for _, e := range mistakes {
			if strings.HasPrefix(e.Msg, "--over ") {
				e.Msg = "it is the size to be found (" + key + "); leave it out, or give the sizes to choose from with --over"
			}
		}
	}
	return base, cells, key, err
}

// report writes a report on the sizes.
func (o *sizeOptions) report(w io.Writer, format string, s *record.Sizing, file string) error {
	switch format {
	case "json":
		return reports.SizeJSON(w, s)
	case "csv":
		return reports.SizeCSV(w, s)
	case "markdown":
		return reports.SizeMarkdown(w, s)
	case "junit":
		return reports.SizeJUnit(w, s, file)
	case "github":
		return reports.SizeAnnotations(w, s, file)
	case "summary":
		return reports.SizeSummary(w, s)
	}
	return reports.SizeText(w, s, o.layout(w))
}

// conclude returns the exit status, and says what a report for machines does not tell those who watch.
func (o *sizeOptions) conclude(stderr io.Writer, s *record.Sizing) error {
	if !o.seen() && !o.quiet {
		for _, text := range reports.SizeHeadline(s) {
			fmt.Fprintln(stderr, text)
		}
	}
	var status exitStatus
	status.checks(s.Verdict)
	if o.failOnWarn && (len(s.Warnings) > 0 || s.Use != nil && warnings(&record.Result{Cells: []record.Cell{s.Of(*s.Use).Cell}, Checks: s.Of(*s.Use).Checks})) {
		status.add(warned)
	}
	return status.error()
}
