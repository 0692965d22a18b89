package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"poolwise/reports"
	"poolwise/scenarios"
	runner "poolwise/scenarios/run"
	"poolwise/sim/record"
)

func newRun() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario, its sweep and replications included",
		Long: `Run a scenario, its sweep and its replications included, and say what came of it. FILE is a scenario
file, the name of a built-in scenario (poolwise list), or - for standard input.

Exit status: 0 done and all checks passed; 1 an error, an interruption included; 2 a check failed or
had nothing to measure; 3 warnings, with --fail-on-warn; 4 a check is inconclusive. If several apply,
it is the lowest of them. After an error or an interruption no file has been written.`,
		Example: `  poolwise run sizing-knee
  poolwise run burst.yaml --set pool.max=16 --replications 20 --check 'p(99)<200ms'
  poolwise run burst.yaml --format json -o result.json --plots out`,
		Args:              oneFile,
		ValidArgsFunction: completeFile,
	}
	o := newRunOptions(cmd, false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) }
	return cmd
}

// runOptions are the flags of run and sweep.
type runOptions struct {
	overrides
	destination
	format      *choice
	plots       string
	plotFormat  *choice
	hgrm        string
	trace       string
	traceFormat *choice
	invariants  bool
	failOnWarn  bool
	workers     int
	quiet       bool
	noColour    bool
}

// newRunOptions adds the flags to a command; those of sweep have --over.
func newRunOptions(cmd *cobra.Command, over bool) *runOptions {
	o := &runOptions{}
	f := cmd.Flags()
	f.SortFlags = false
	if over {
		o.addOver(cmd)
	}
	o.addSet(cmd)
	o.addRest(cmd)
	o.format = choose(cmd, "format", "`FORMAT`: format of the report: text, json (schema "+record.Schema+", times in ns), csv or markdown", "text", "json", "csv", "markdown")
	o.destination.add(f)
	f.StringVar(&o.plots, "plots", "", "`DIR`: draw plots into this folder, which is made if need be; default none")
	o.plotFormat = choose(cmd, "plot-format", "`FORMAT`: format of the plots: svg or png", "svg", "png")
	f.StringVar(&o.hgrm, "hgrm", "", "`FILE`: write the latencies of served requests as HdrHistogram percentiles, in ms; each of several cells to a file of its own: out.hgrm becomes out-pool.max-8.hgrm; default none")
	f.StringVar(&o.trace, "trace", "", "`FILE`: write all that happens in the first replication of the first cell, about 100 bytes a fact; default none")
	o.traceFormat = choose(cmd, "trace-format", "`FORMAT`: format of the trace: text or jsonl (times in ns)", "text", "jsonl")
	f.BoolVar(&o.invariants, "check-invariants", false, "check the invariants of every pool after every event, which is much slower; default off")
	f.BoolVar(&o.failOnWarn, "fail-on-warn", false, "exit with 3 if there is a warning, or if a check of level warning has not passed; default off")
	f.IntVar(&o.workers, "workers", 0, "`N`: replications that run at the same time, which changes no figure; default 0, one on each processor")
	f.BoolVar(&o.quiet, "quiet", false, "no progress and no messages but errors; default off")
	f.BoolVar(&o.noColour, "no-colour", false, "no colours in text, as with NO_COLOR in the environment; default off: colours on a terminal")
	o.addWidth(f)
	return o
}

// oneFile is the argument of the commands that take one.
func oneFile(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("want a FILE: a scenario file, the name of a built-in scenario, or - for standard input")
	case 1:
		return nil
	}
	return usagef("want one FILE, have %d: %q", len(args), args)
}

// check reports a mistake in the flags.
func (o *runOptions) check() error {
	if o.workers < 0 {
		return usagef("--workers: want at least 1, or 0 for one on each processor, have %d", o.workers)
	}
	return o.destination.check()
}

// run runs a scenario.
func (o *runOptions) run(cmd *cobra.Command, file string) error {
	if err := o.check(); err != nil {
		return err
	}
	src, err := readSource(file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	base, cells, err := o.load(src)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills

	var files runFiles
	defer files.discard()
	if err := files.begin(o, cells); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	res, err := o.simulate(ctx, stderr, base, cells, &files)
	if err != nil {
		return err
	}
	if err := files.complete(ctx, o, res); err != nil {
		return err
	}
	if o.toStdout() {
		if err := o.report(cmd.OutOrStdout(), res); err != nil {
			return err
		}
	}
	if o.plots != "" && !o.quiet {
		fmt.Fprintf(stderr, "wrote %s to %s\n", count(files.drawn, "plot"), o.plots)
	}
	return o.conclude(stderr, res)
}

// simulate runs the cells.
func (o *runOptions) simulate(ctx context.Context, stderr io.Writer, base *scenarios.Scenario, cells []scenarios.Cell, files *runFiles) (*record.Result, error) {
	opt := runner.Options{Workers: o.workers, CheckInvariants: o.invariants}
	var trace *record.Trace
	if files.trace != nil {
		opt.Trace = func(pools []string) record.Sink {
			trace = record.NewTrace(files.trace, o.traceFormat.value == "jsonl", pools)
			return trace
		}
	}
	if !o.quiet && isTerminal(stderr) {
		total := 0
		for _, c := range cells {
			total += c.Scenario.Replications
		}
		p := newProgress(stderr, total, time.Second)
		defer p.stop()
		opt.Progress = p.set
	}
	res, err := runner.Run(ctx, base, cells, opt)
	var stopped *runner.Interrupted
	if errors.As(err, &stopped) {
		return nil, fmt.Errorf("%w; nothing was written", stopped)
	}
	if err != nil {
		return nil, err
	}
	if trace != nil {
		if err := trace.Close(); err != nil {
			return nil, fmt.Errorf("%s: %w", o.trace, reason(err))
		}
	}
	return res, nil
}

// report writes the report.
func (o *runOptions) report(w io.Writer, res *record.Result) error {
	switch o.format.value {
	case "json":
		return reports.JSON(w, res)
	case "csv":
		return reports.CSV(w, res)
	case "markdown":
		return reports.Markdown(w, res)
	}
	return reports.Text(w, res, reports.Options{Width: o.columns(w), Colour: o.colour(w)})
}

// colour reports whether text is to be coloured.
func (o *runOptions) colour(w io.Writer) bool {
	return !o.noColour && isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// conclude returns the exit status, and says what a report for machines does not tell those who watch.
func (o *runOptions) conclude(stderr io.Writer, res *record.Result) error {
	seen := o.toStdout() && (o.format.value == "text" || o.format.value == "markdown")
	status := done
	worse := func(s exitStatus) {
		if status == done || s < status {
			status = s
		}
	}
	switch res.Verdict {
	case record.FailedCheck:
		worse(checkFailed)
	case record.Inconclusive:
		worse(inconclusive)
	}
	if o.failOnWarn && warnings(res) {
		worse(warned)
	}
	if !seen && !o.quiet {
		tellChecks(stderr, res)
	}
	if status == done {
		return nil
	}
	return status
}

// warnings reports whether there is anything to warn of.
func warnings(res *record.Result) bool {
	for i := range res.Cells {
		if len(res.Cells[i].Warnings) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(res.Checks, func(c record.Check) bool {
		return c.Level == scenarios.WarningLevel.String() && c.Status != record.Passed
	})
}

// tellChecks says which checks have not passed.
func tellChecks(w io.Writer, res *record.Result) {
	type result struct {
		expr   string
		status record.Status
	}
	var order []result
	cells := map[result][]record.Settings{}
	for _, c := range res.Checks {
		r := result{c.Expr, c.Status}
		if c.Status == record.Passed {
			continue
		}
		if cells[r] == nil {
			order = append(order, r)
		}
		cells[r] = append(cells[r], c.Settings)
	}
	for _, r := range order {
		where := ""
		switch in := cells[r]; {
		case len(res.Cells) == 1:
		case len(in) == 1:
			where = " at " + in[0].String()
		default:
			where = fmt.Sprintf(" in %d of %d cells", len(in), len(res.Cells))
		}
		fmt.Fprintf(w, "check %s: %s%s\n", strings.ReplaceAll(string(r.status), "_", " "), r.expr, where)
	}
}
