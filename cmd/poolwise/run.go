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
	"github.com/spf13/pflag"

	"poolwise/reports"
	"poolwise/reports/chart"
	"poolwise/scenarios"
	runner "poolwise/scenarios/run"
	"poolwise/sim/record"
	"poolwise/sim/wording"
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
  poolwise run burst.yaml --format json -o result.json --plots out
  poolwise run burst.yaml --baseline main.json --also github=- --also junit=checks.xml`,
		Args:              oneFile,
		ValidArgsFunction: completeFile,
	}
	o := newRunOptions(cmd, false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) }
	return cmd
}

// simulation are the flags of all commands that run scenarios.
type simulation struct {
	overrides
	reporting
	stages     bool
	invariants bool
	failOnWarn bool
	workers    int
	quiet      bool

	precision   share
	least, most int // replications, with a precision or of a size
}

// addSimulation adds what is not about the scenario and its reports.
func (o *simulation) addSimulation(f *pflag.FlagSet) {
	f.BoolVar(&o.invariants, "check-invariants", false, "check the invariants of every pool after every event, which is much slower; default off")
	f.BoolVar(&o.failOnWarn, "fail-on-warn", false, "exit with 3 if there is a warning, or if a check of level warning has not passed; default off")
	f.IntVar(&o.workers, "workers", 0, "`N`: replications that run at the same time, which changes no figure; default 0, one on each processor")
	f.BoolVar(&o.quiet, "quiet", false, "no progress and no messages but errors; default off")
	o.addLayout(f)
}

// runOptions are the flags of run and sweep.
type runOptions struct {
	simulation
	baseline    string
	plots       string
	plotFormat  *choice
	hgrm        string
	trace       string
	traceFormat *choice
}

// newRunOptions adds the flags to a command; those of sweep have --over.
func newRunOptions(cmd *cobra.Command, over bool) *runOptions {
	o := &runOptions{}
	f := cmd.Flags()
	f.SortFlags = false
	if over {
		o.addOver(cmd)
	}
	o.addOnly(cmd, !over)
	o.addSet(cmd)
	o.addRest(cmd)
	f.Var(&o.precision, "precision", "`SHARE`: run each setting until half the 95 % interval of the figures in its checks (or else of throughput and p(99)) is at most this share of them, in the place of --replications; default none")
	f.IntVar(&o.least, "min-replications", runner.DefaultMinReplications, fmt.Sprintf("`N`: least replications with --precision; default %d", runner.DefaultMinReplications))
	f.IntVar(&o.most, "max-replications", runner.DefaultMaxReplications, fmt.Sprintf("`N`: most replications with --precision; default %d", runner.DefaultMaxReplications))
	f.StringVar(&o.baseline, "baseline", "", "`FILE|none`: a result saved with --format json, which checks such as 'p(99)<=baseline*1.05' compare with, cell by cell; none turns those checks off, for the run that makes the first baseline; by default they fail")
	o.addReports(cmd, record.Schema)
	o.csv = choose(cmd, "columns", "`WHICH`: columns of csv: main, which are those for a spreadsheet, times in ms; or all there are, times in ns", "main", "all")
	o.rows = choose(cmd, "rows", "`WHICH`: rows of csv: settings, one for each; or services, below it one for each of its services", "settings", "services")
	f.BoolVar(&o.stages, "stages", false, "say where the time of requests went: stage by stage, of all, of the slowest 1 % and of those that failed; a run takes 1.2 to 1.6 times as long; default on for text and plots of a single setting, otherwise off")
	o.addPlots(cmd)
	f.StringVar(&o.hgrm, "hgrm", "", "`FILE`: write the latencies of served requests as HdrHistogram percentiles, in ms; each of several cells to a file of its own: out.hgrm becomes out-pool.max-8.hgrm; default none")
	f.StringVar(&o.trace, "trace", "", "`FILE`: write all that happens in the first replication of the first cell, about 100 bytes a fact; default none")
	o.traceFormat = choose(cmd, "trace-format", "`FORMAT`: format of the trace: text or jsonl (times in ns)", "text", "jsonl")
	o.addSimulation(f)
	return o
}

// addPlots adds the flags of plots.
func (o *runOptions) addPlots(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.plots, "plots", "", "`DIR`: draw plots into this folder, which is made if need be; default none")
	o.plotFormat = choose(cmd, "plot-format", "`FORMAT`: format of the plots: svg or png", "svg", "png")
}

// checkPrecision reports a mistake in the flags about precision.
func (o *runOptions) checkPrecision() error {
	on := o.flags.Changed("precision")
	for _, name := range []string{"min-replications", "max-replications"} {
		if o.flags.Changed(name) && !on {
			return usagef("--%s goes with --precision; --replications sets their number", name)
		}
	}
	switch {
	case !on:
	case o.flags.Changed("replications"):
		return usagef("want --replications or --precision, not both")
	case o.precision == 0:
		return usagef("--precision: want a share above 0, such as 5%%")
	case o.least < 2:
		return usagef("--min-replications: want at least 2, since one has no interval, have %d", o.least)
	case o.most < o.least:
		return usagef("--max-replications: want at least as many as --min-replications (%d), have %d", o.least, o.most)
	}
	return nil
}

// oneFile is the argument of the commands that take one.
func oneFile(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("want a FILE: a scenario file, the name of a built-in scenario, or - for standard input")
	case 1:
		return nil
	}
	for _, a := range args {
		if strings.Contains(a, "=") {
			return usagef("want one FILE, have %d: %q, did you mean --set %s?", len(args), args, a)
		}
	}
	return usagef("want one FILE, have %d: %q", len(args), args)
}

// check reports a mistake in the flags.
func (o *simulation) check() error {
	var workers error
	if o.workers < 0 {
		workers = usagef("--workers: want at least 1, or 0 for one on each processor, have %d", o.workers)
	}
	return joined([]error{workers, o.checkSweep(), o.reporting.check()})
}

// run runs a scenario.
func (o *runOptions) run(cmd *cobra.Command, file string) error {
	if err := joined([]error{o.check(), o.checkPrecision()}); err != nil {
		return err
	}
	var baseline *record.Result
	var noSaved error
	if o.baseline != "" && o.baseline != noBaseline {
		baseline, noSaved = readSaved(o.baseline)
	}
	src, err := readSource(file, cmd.InOrStdin())
	if err := joined([]error{noSaved, err}); err != nil {
		return err
	}
	if hasSchema(src.text) {
		return fmt.Errorf("%s: this is a saved result and no scenario; compare takes it, and --baseline", src.name)
	}
	base, cells, err := o.load(src)
	if err != nil {
		return err
	}
	asked := cmd.Flags().Changed("stages")
	if !asked {
		o.stages = len(cells) == 1 && (o.writes("text") || o.plots != "")
	}
	ctx, stop := interruptible()
	defer stop()

	var files runFiles
	defer files.discard()
	files.keep(src)
	if err := files.begin(o, cells); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	results, err := o.simulate(ctx, stderr, files.traceSink(o), job{base, cells})
	if err != nil {
		return err
	}
	res := results[0]
	if err := files.endTrace(o); err != nil {
		return err
	}
	switch {
	case baseline != nil:
		res.JudgeAgainst(res.Baseline(baseline))
	case o.baseline == noBaseline:
		res.WithoutBaseline()
	}
	write := func(w io.Writer, format string) error {
		if !asked && format != "text" { // what programs read does not depend on what people read
			return o.report(w, format, withoutStages(res), src.annotated())
		}
		return o.report(w, format, res, src.annotated())
	}
	draw := func(format string) ([]chart.Named, error) { return chart.All(res, format) }
	if err := files.complete(ctx, o, res, write, draw); err != nil {
		return err
	}
	if err := o.print(cmd.OutOrStdout(), write); err != nil {
		return err
	}
	if err := o.appendSummary(write); err != nil {
		return err
	}
	o.tellPlots(stderr, &files)
	if o.baseline != noBaseline && !o.quiet {
		tellBaseline(stderr, res, baseline)
	}
	return o.conclude(stderr, res)
}

// tellPlots says where the plots are.
func (o *runOptions) tellPlots(stderr io.Writer, files *runFiles) {
	if o.plots != "" && !o.quiet {
		fmt.Fprintf(stderr, "wrote %s to %s\n", count(files.drawn, "plot"), o.plots)
	}
}

// withoutStages returns a result that does not know where the time went.
func withoutStages(res *record.Result) *record.Result {
	r := *res
	r.Cells = slices.Clone(res.Cells)
	for i := range r.Cells {
		r.Cells[i].Stages = nil
	}
	return &r
}

// noBaseline is the word for a baseline that is not there yet.
const noBaseline = "none"

// interruptible returns a context that ends when the user interrupts, closes the terminal or ends the job; a second time kills.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// job is a scenario to run, with the cells of its sweep.
type job struct {
	base  *scenarios.Scenario
	cells []scenarios.Cell
}

// replications returns how many runs there are.
func (j job) replications() (n int) {
	for _, c := range j.cells {
		n += c.Scenario.Replications
	}
	return n
}

// simulate runs scenarios, one after the other.
func (o *simulation) simulate(ctx context.Context, stderr io.Writer, trace func(pools []string) record.Sink, jobs ...job) ([]*record.Result, error) {
	total, before := 0, 0
	for _, j := range jobs {
		total += j.replications()
	}
	opt := runner.Options{Workers: o.workers, CheckInvariants: o.invariants, Trace: trace, Stages: o.stages}
	if !o.quiet && isTerminal(stderr) {
		p := newProgress(stderr, total, time.Second)
		defer p.stop()
		opt.Progress = func(done, of int) { p.set(before+done, max(total, before+of)) } // with a precision they become more
	}
	opt.Precision, opt.MinReplications, opt.MaxReplications = float64(o.precision), o.least, o.most
	var results []*record.Result
	for _, j := range jobs {
		res, err := runner.Run(ctx, j.base, j.cells, opt)
		var stopped *runner.Interrupted
		if errors.As(err, &stopped) {
			stopped.Done, stopped.Total = before+stopped.Done, max(total, before+stopped.Total)
			return nil, fmt.Errorf("%w; nothing was written", stopped)
		}
		if err != nil {
			return nil, err
		}
		results = append(results, res)
		before += j.replications()
	}
	return results, nil
}

// report writes a report of a result.
func (o *simulation) report(w io.Writer, format string, res *record.Result, file string) error {
	switch format {
	case "json":
		return reports.JSON(w, res)
	case "csv":
		return reports.CSVWith(w, res, reports.CSVOptions{All: o.csv.value == "all", Services: o.rows.value == "services"})
	case "markdown":
		return reports.Markdown(w, res)
	case "junit":
		return reports.JUnit(w, res, file)
	case "github":
		return reports.Annotations(w, res, file)
	case "summary":
		return reports.Summary(w, res)
	}
	return reports.Text(w, res, o.layout(w))
}

// conclude returns the exit status, and says what a report for machines does not tell those who watch.
func (o *simulation) conclude(stderr io.Writer, res *record.Result) error {
	if !o.seen() && !o.quiet {
		tellChecks(stderr, res)
	}
	var status exitStatus
	status.checks(res.Verdict)
	if o.failOnWarn && warnings(res) {
		status.add(warned)
	}
	return status.error()
}

// checks adds what the verdict on the checks says.
func (s *exitStatus) checks(verdict record.Status) {
	switch verdict {
	case record.FailedCheck:
		s.add(checkFailed)
	case record.Inconclusive:
		s.add(inconclusive)
	}
}

// add adds a reason not to end with 0; of several the lowest counts.
func (s *exitStatus) add(reason exitStatus) {
	if *s == done || reason < *s {
		*s = reason
	}
}

// error returns s as an error, nil if all is well.
func (s exitStatus) error() error {
	if s == done {
		return nil
	}
	return s
}

// tellBaseline says where a baseline was of no use.
func tellBaseline(w io.Writer, res, baseline *record.Result) {
	against := slices.ContainsFunc(res.Checks, func(k record.Check) bool {
		e, err := record.ParseCheck(k.Expr)
		return err == nil && e.Against() && k.Level != record.LevelOff
	})
	switch {
	case baseline == nil && against:
		fmt.Fprintln(w, "no baseline was given for the checks that compare with one: want --baseline FILE, or --baseline none for the run that makes the first")
		return
	case baseline == nil:
		return
	case !against:
		fmt.Fprintln(w, "no check compares with the baseline, as p(99)<=baseline*1.05 does")
		return
	}
	if none := notInBaseline(res, baseline); none != "" {
		fmt.Fprintln(w, "the baseline has no cell with "+none)
	}
}

// notInBaseline says which settings a baseline does not have, and which it has; empty if it has all.
func notInBaseline(res, baseline *record.Result) string {
	of := res.Baseline(baseline)
	var none []string
	for i, c := range res.Cells {
		if of(i) == nil {
			none = append(none, c.Settings.String())
		}
	}
	switch {
	case none == nil:
		return ""
	case len(axesOf(baseline)) == 0:
		return wording.Or(none) + ": it was saved without settings"
	}
	return wording.Or(none) + ": it has " + sweepOf(baseline)
}

// warnings reports whether there is anything to warn of.
func warnings(res *record.Result) bool {
	for i := range res.Cells {
		if len(res.Cells[i].Warnings) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(res.Checks, warnsOf)
}

// warnsOf reports whether a check of level warning has not passed.
func warnsOf(k record.Check) bool {
	return k.Level == record.LevelWarning && k.Status != record.Passed
}

// tellChecks says which checks have not passed.
func tellChecks(w io.Writer, res *record.Result) {
	type result struct {
		expr, level string
		status      record.Status
	}
	var order []result
	cells := map[result][]record.Settings{}
	for _, c := range res.Checks {
		r := result{c.Expr, "", c.Status}
		if c.Status == record.Passed || c.Status == record.Off {
			continue
		}
		if c.Level == record.LevelWarning {
			r.level = " (warning)"
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
		fmt.Fprintf(w, "check %s%s: %s%s\n", strings.ReplaceAll(string(r.status), "_", " "), r.level, r.expr, where)
	}
}
