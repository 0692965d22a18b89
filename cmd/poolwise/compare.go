package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"poolwise/reports"
	"poolwise/scenarios"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

func newCompare() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare BEFORE [AFTER]",
		Short: "Compare two scenarios, the settings of one, or either with a saved result",
		Long: `Compare two scenarios, figure by figure: what was before, what is after, the difference with its
interval, and a verdict. BEFORE and AFTER are scenario files, built-in scenarios, or results saved with
--format json; their cells are matched by their settings. With BEFORE alone, its settings (--over, or
its own sweep) are compared with the first of them; with --baseline, it is what comes after the saved
result.

Equal seeds make the same requests on both sides, so the replications are compared pair by pair. A
figure is better or worse if its difference is significant at 5 %, after Holm's correction for the
number of figures (those that checks name by themselves, then all others), and larger than the zone of
indifference; times are compared by their logarithms. It shows no difference if the whole
interval at 95 % is in that zone; else it is inconclusive. A scenario that has one replication gets 10,
or as many as the saved result that it is compared with.

The checks of AFTER are judged, those against a baseline (p(99)<=baseline*1.05) by BEFORE.

Exit status: 0 done and all checks passed; 1 an error, an interruption included; 2 a check failed or
had nothing to measure, or with --fail-on a figure is worse; 3 warnings, with --fail-on-warn; 4 a check
is inconclusive, or with --fail-on inconclusive a figure is, or a setting is in one of the two only. If
several apply, it is the lowest of them.`,
		Example: `  poolwise compare before.yaml after.yaml --format markdown -o comment.md
  poolwise compare burst.yaml --over pool.max=8,16,32 --replications 20
  poolwise compare burst.yaml --baseline main.json --fail-on worse`,
		Args:              oneOrTwoFiles,
		ValidArgsFunction: completeFile,
	}
	o := newCompareOptions(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func oneOrTwoFiles(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("want BEFORE and AFTER: scenario files, names of built-in scenarios, or saved results")
	case 1:
		return nil
	case 2:
		if args[0] == "-" && args[1] == "-" {
			return usagef("want - once: standard input can be read only once")
		}
		return nil
	}
	return usagef("want BEFORE and AFTER, have %d: %q", len(args), args)
}

// compareOptions are the flags of compare.
type compareOptions struct {
	simulation
	baseline     string
	indifference share
	failOn       *choice
}

func newCompareOptions(cmd *cobra.Command) *compareOptions {
	o := &compareOptions{indifference: reports.DefaultIndifference}
	f := cmd.Flags()
	f.SortFlags = false
	o.addOver(cmd)
	o.addOnly(cmd, true)
	o.addSet(cmd)
	o.addRest(cmd)
	f.Lookup("replications").Usage = "`N`: runs of each setting, under the seeds seed, seed+1, ...; default those of the scenario or, if that is 1, those of the saved result, or else 10"
	f.StringVar(&o.baseline, "baseline", "", "`FILE`: a saved result in the place of BEFORE; default none")
	f.Var(&o.indifference, "indifference", "`SHARE`: up to how large a difference nobody minds, as a share of the figure before; default 2%")
	o.failOn = choose(cmd, "fail-on", "`VERDICT`: exit with 2 if a figure is worse; with inconclusive, exit with 4 if one is inconclusive, too; never, worse or inconclusive", "never", "worse", "inconclusive")
	o.addReports(cmd, reports.ComparisonSchema)
	o.addSimulation(f)
	return o
}

// share is a flag that takes a share: 2% or 0.02.
type share float64

// String implements pflag.Value.
func (s *share) String() string { return strconv.FormatFloat(float64(*s)*100, 'g', 6, 64) + "%" }

// Type implements pflag.Value.
func (s *share) Type() string { return "share" }

// Set implements pflag.Value.
func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return errors.New("want a share such as 2% or 0.02, at most 100%")
	}
	*s = share(v)
	return nil
}

// side is one of what is compared: a scenario to run, or a saved result.
type side struct {
	name  string
	src   source
	job   job
	saved *record.Result
}

// run compares.
func (o *compareOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	sides, err := o.sides(cmd, args)
	if err != nil {
		return err
	}
	ctx, stop := interruptible()
	defer stop()

	var files outputs
	defer files.discard()
	for _, s := range sides {
		files.keep(s.src)
	}
	reported, err := o.begin(&files)
	if err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	var jobs []job
	for _, s := range sides {
		if s.saved == nil {
			jobs = append(jobs, s.job)
		}
	}
	ran, err := o.simulate(ctx, stderr, nil, jobs...)
	if err != nil {
		return err
	}
	var results []*record.Result
	for _, s := range sides {
		if s.saved == nil {
			s.saved, ran = ran[0], ran[1:]
		}
		results = append(results, s.saved)
	}
	c := o.compare(results)
	write := func(w io.Writer, format string) error {
		return o.report(w, format, c, sides[len(sides)-1].src.annotated())
	}
	if err := reported.write(write); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err := files.commit(); err != nil {
		return err
	}
	if err := o.print(cmd.OutOrStdout(), write); err != nil {
		return err
	}
	if err := o.appendSummary(write); err != nil {
		return err
	}
	return o.conclude(stderr, c)
}

// compare compares two results, or the settings of one.
func (o *compareOptions) compare(results []*record.Result) *reports.Comparison {
	opt := reports.CompareOptions{Indifference: float64(o.indifference)}
	if len(results) == 1 {
		return reports.CompareCells(results[0], 0, opt)
	}
	return reports.Compare(results[0], results[1], opt)
}

// sides reads what is to be compared: two, or one with several settings.
func (o *compareOptions) sides(cmd *cobra.Command, args []string) ([]*side, error) {
	var sides []*side
	var errs []error
	if o.baseline != "" {
		if len(args) == 2 {
			return nil, usagef("want --baseline or BEFORE, not both: --baseline is in the place of BEFORE")
		}
		saved, err := readSaved(o.baseline)
		sides, errs = append(sides, &side{name: o.baseline, saved: saved}), append(errs, err)
	}
	for _, arg := range args {
		s, err := readSide(arg, cmd.InOrStdin())
		sides, errs = append(sides, s), append(errs, err)
	}
	if err := joined(errs); err != nil {
		return nil, err
	}
	if err := o.prepare(sides); err != nil {
		return nil, err
	}
	return sides, checkSides(sides)
}

// readSide reads a scenario or a saved result.
func readSide(arg string, stdin io.Reader) (*side, error) {
	src, err := readUpTo(arg, stdin, record.MaxSaved)
	if err != nil {
		return nil, err
	}
	s := &side{name: arg, src: src}
	if looksSaved(arg, src.text) {
		s.src = source{path: src.path}
		s.saved, err = record.ReadResult(bytes.NewReader(src.text))
		return s, at(src.name, err)
	}
	if len(src.text) > maxText {
		return nil, at(src.name, tooLong(maxText))
	}
	return s, nil
}

// prepare applies the overrides to the scenarios, and the checks to saved results.
func (o *compareOptions) prepare(sides []*side) error {
	scenario := false
	var saved *record.Result
	for _, s := range sides {
		if s.saved == nil {
			scenario = true
		} else {
			saved = s.saved
		}
	}
	if !scenario {
		for _, name := range []string{"set", "over", "only", "no-sweep", "seed", "replications"} {
			if o.flags.Changed(name) {
				return usagef("--%s changes nothing here: what was saved stays as it is", name)
			}
		}
	}
	var mistakes scenarios.Errors
	for i, s := range sides {
		flags := o.overrides
		if i < len(sides)-1 {
			flags.checks = nil // they are about what comes after
		}
		var err error
		if s.saved != nil {
			err = flags.checkSaved(s.saved)
		} else {
			s.job, err = flags.loadSide(s.src, saved)
		}
		var some scenarios.Errors
		switch {
		case errors.As(err, &some):
			for _, m := range some { // those of flags are the same in both
				if !slices.ContainsFunc(mistakes, func(x *scenarios.Error) bool { return x.Error() == m.Error() }) {
					mistakes = append(mistakes, m)
				}
			}
		case err != nil:
			return err
		}
	}
	if mistakes != nil {
		return mistakes
	}
	return nil
}

// loadSide reads a scenario with the overrides. One replication would say nothing about luck, so it gets more, unless it was asked
// for: as many as the saved result has that it is compared with.
func (o *overrides) loadSide(src source, saved *record.Result) (job, error) {
	base, cells, err := o.load(src)
	if err != nil {
		return job{}, err
	}
	if o.flags.Changed("replications") || slices.ContainsFunc(o.set, func(s string) bool { return strings.HasPrefix(s, "replications=") }) {
		return job{base, cells}, nil
	}
	if slices.ContainsFunc(cells, func(c scenarios.Cell) bool { return c.Scenario.Replications > 1 }) {
		return job{base, cells}, nil
	}
	n := defaultReplications
	if saved != nil {
		n = saved.Cells[0].Replications
	}
	more := *o
	more.set = append(slices.Clone(o.set), fmt.Sprintf("replications=%d", n))
	base, cells, err = more.load(src)
	return job{base, cells}, err
}

// defaultReplications is enough for intervals that say something.
const defaultReplications = 10

// checkSaved adds the further checks to a saved result.
func (o *overrides) checkSaved(r *record.Result) error {
	added, mistakes := o.parseChecks()
	for _, k := range added {
		e, err := record.ParseCheck(k.Expr)
		if err != nil {
			return err
		}
		for i := range r.Cells {
			got := e.Evaluate(&r.Cells[i])
			if k.Level == scenarios.OffLevel {
				got = got.SwitchedOff()
			}
			got.Cell, got.Level = i, k.Level.String()
			r.Checks = append(r.Checks, got)
		}
	}
	if mistakes != nil {
		return mistakes
	}
	return nil
}

// checkSides reports, before anything runs, that there is nothing to compare.
func checkSides(sides []*side) error {
	var results []*record.Result
	for _, s := range sides {
		results = append(results, s.settings())
	}
	if len(results) == 1 {
		if len(results[0].Cells) < 2 {
			return usagef("want AFTER, --baseline, or several settings to compare, as in --over pool.max=8,16: %s has only one", sides[0].name)
		}
		return nil
	}
	if pairs, _, _ := record.Match(results[0], results[1]); len(pairs) == 0 {
		return fmt.Errorf("nothing to compare: no setting is in both; %s sweeps %s, and %s %s%s",
			sides[0].name, sweepOf(results[0]), sides[1].name, sweepOf(results[1]), sameSweep(sides, results))
	}
	return nil
}

// settings returns a result with the settings of the cells, and nothing else.
func (s *side) settings() *record.Result {
	if s.saved != nil {
		return s.saved
	}
	r := &record.Result{}
	for _, c := range s.job.cells {
		r.Cells = append(r.Cells, record.Cell{Settings: c.Settings})
	}
	return r
}

// axis is a path of settings with its values, in order.
type axis struct {
	key    string
	values []string
}

func axesOf(r *record.Result) []axis {
	var all []axis
	for _, c := range r.Cells {
		for _, set := range c.Settings {
			i := slices.IndexFunc(all, func(a axis) bool { return a.key == set.Key })
			if i < 0 {
				i = len(all)
				all = append(all, axis{key: set.Key})
			}
			if a := &all[i]; !slices.Contains(a.values, set.Value) {
				a.values = append(a.values, set.Value)
			}
		}
	}
	return all
}

// sweepOf says what a result sweeps.
func sweepOf(r *record.Result) string {
	var all []string
	for _, a := range axesOf(r) {
		values := a.values
		if n := len(values); n > 8 {
			values = append(slices.Clone(values[:6]), "...", values[n-1])
		}
		all = append(all, fmt.Sprintf("%s (%s)", a.key, strings.Join(values, ", ")))
	}
	if all == nil {
		return "nothing"
	}
	return wording.And(all)
}

// sameSweep is the rest of a message about sides without a common setting: how to give them one.
func sameSweep(sides []*side, results []*record.Result) string {
	from := results[0] // whose sweep both could have: what is saved, or else what is swept
	if sides[0].saved == nil && (sides[1].saved != nil || len(axesOf(from)) == 0) {
		from = results[1]
	}
	if sides[0].saved != nil && sides[1].saved != nil {
		return ""
	}
	axes := axesOf(from)
	if len(axes) == 0 {
		return "; --no-sweep leaves the sweep out"
	}
	advice := ""
	for _, a := range axes {
		values := strings.Join(a.values, ",")
		if !strings.ContainsAny(a.key, ".[") || strings.ContainsAny(a.key+values, " {}'\"") {
			return "; give them the same sweep"
		}
		advice += fmt.Sprintf(" --over %s=%s", a.key, values)
	}
	if sides[0].saved != nil || sides[1].saved != nil {
		return ";" + advice + " repeats that of the saved result"
	}
	return ";" + advice + " gives both the same sweep, and --no-sweep none"
}

// report writes a report of a comparison.
func (o *compareOptions) report(w io.Writer, format string, c *reports.Comparison, file string) error {
	switch format {
	case "json":
		return reports.CompareJSON(w, c)
	case "csv":
		return reports.CompareCSV(w, c)
	case "markdown", "summary":
		return reports.CompareMarkdown(w, c)
	case "junit":
		return reports.CompareJUnit(w, c, file, o.failing()...)
	case "github":
		return reports.CompareAnnotations(w, c, file, o.status(c) != done)
	}
	return reports.CompareText(w, c, o.layout(w))
}

// failing returns the verdicts on figures that are failures.
func (o *compareOptions) failing() []reports.Verdict {
	switch o.failOn.value {
	case "worse":
		return []reports.Verdict{reports.Worse}
	case "inconclusive":
		return []reports.Verdict{reports.Worse, reports.Inconclusive}
	}
	return nil
}

// status returns the exit status that the figures ask for.
func (o *compareOptions) status(c *reports.Comparison) (status exitStatus) {
	fail := o.failing()
	if slices.Contains(fail, reports.Worse) && c.Count(reports.Worse) > 0 {
		status.add(checkFailed)
	}
	unmatched := len(c.Unmatched.Before) + len(c.Unmatched.After)
	if slices.Contains(fail, reports.Inconclusive) && c.Count(reports.Inconclusive)+unmatched > 0 {
		status.add(inconclusive)
	}
	return status
}

// conclude returns the exit status, and says what a report for machines does not tell those who watch.
func (o *compareOptions) conclude(stderr io.Writer, c *reports.Comparison) error {
	if !o.seen() && !o.quiet {
		for _, s := range c.Headline() {
			fmt.Fprintln(stderr, s)
		}
	}
	status := o.status(c)
	status.checks(c.Checked)
	if o.failOnWarn && (len(c.Warnings) > 0 || slices.ContainsFunc(c.Checks, warnsOf)) {
		status.add(warned)
	}
	return status.error()
}
