// Package run runs scenarios: it builds one world for each replication of each cell of a sweep, runs them on all processors,
// and merges what they measured in order of seed, so that the result is the same on any number of processors.
//
// It owns randomness: replication i of a scenario with seed s runs under seed s+i, in every cell, and every draw is keyed by
// seed, purpose and number (sim.Stream). Times in results are nanoseconds. Errors are those of the context and of scenarios
// that go in circles; a panic is a bug and says which replication it was.
package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/record"
)

// Options say how to run. But for those about precision, none changes a figure; Stages adds some.
type Options struct {
	// Precision, if it is above 0, is how exact the figures have to be: half the width of the interval at 95 %, as a share of the
	// figure. Then every cell runs until the figures named in its checks (throughput and p(99) without checks) are as exact as
	// that, from MinReplications to MaxReplications times; the replications of the scenario do not count. See Precise.
	Precision                        float64
	MinReplications, MaxReplications int // with Precision; 0: DefaultMinReplications and DefaultMaxReplications
	// Workers is how many replications run at the same time; 0 means one for each processor.
	Workers int
	// CheckInvariants checks the invariants of every pool after every event; much slower.
	CheckInvariants bool
	// Stages asks where the time of requests went: for Cell.Stages.
	Stages bool
	// Trace, if set, is called with the names of the pools and returns what takes the facts of the first replication of the
	// first cell.
	Trace func(pools []string) record.Sink
	// Progress, if set, is told after each replication how many are over, of how many. It is not called twice at a time.
	Progress func(done, total int)
}

// Interrupted is the error of a run that was stopped from outside: what had been finished by then.
type Interrupted struct {
	Done, Total int // replications
	Err         error
}

// Error says how far the run had come.
func (e *Interrupted) Error() string {
	return fmt.Sprintf("interrupted: %d of %d replications were finished", e.Done, e.Total)
}

// Unwrap returns the reason, the error of the context.
func (e *Interrupted) Unwrap() error { return e.Err }

// Run runs every cell with its replications and judges the checks. base is the scenario without its sweep; cells are valid, as
// scenarios.Load returns them.
func Run(ctx context.Context, base *scenarios.Scenario, cells []scenarios.Cell, opt Options) (*record.Result, error) {
	merged, err := replicateAll(ctx, cells, opt)
	if err != nil {
		return nil, err
	}
	res := &record.Result{
		Schema: record.Schema,
		Scenario: record.Scenario{
			Name: base.Name, About: base.About, Hash: opt.hash(base), Seed: base.Seed, Estimate: base.Estimate.String(),
		},
		Cells: merged,
	}
	for i, c := range cells {
		var checked []record.Figure
		for _, want := range c.Scenario.Checks {
			checked = append(checked, mustParse(want.Expr).Figure)
		}
		res.Cells[i].KeepSamples(checked)
	}
	judge(res, cells)
	return res, nil
}

// replicateAll runs the replications of every cell and merges them.
func replicateAll(ctx context.Context, cells []scenarios.Cell, opt Options) ([]record.Cell, error) {
	c := newCrew(cells, opt)
	if opt.Precision > 0 {
		return c.precise(ctx)
	}
	n := make([]int, len(cells))
	for i := range cells {
		n[i] = cells[i].Scenario.Replications
	}
	if err := c.upTo(ctx, n); err != nil {
		return nil, err
	}
	merged := make([]record.Cell, len(cells))
	for i := range cells {
		merged[i] = c.merge(i)
	}
	return merged, nil
}

func mustParse(check string) record.Expr {
	e, err := record.ParseCheck(check)
	if err != nil {
		panic(fmt.Sprintf("run: check %q of a valid scenario: %v", check, err))
	}
	return e
}

// judge evaluates the checks of every cell. One that is off is listed and not evaluated.
func judge(res *record.Result, cells []scenarios.Cell) {
	res.Checks = []record.Check{}
	for i, c := range cells {
		for _, want := range c.Scenario.Checks {
			expr := mustParse(want.Expr)
			got := expr.Evaluate(&res.Cells[i])
			if want.Level == scenarios.OffLevel {
				got = got.SwitchedOff()
			}
			got.Cell, got.Settings, got.Line, got.Level = i, c.Settings, want.Line, want.Level.String()
			res.Checks = append(res.Checks, got)
		}
	}
	res.Verdict = record.Verdict(res.Checks)
}

// replicate runs one replication: twice if the run itself has to show how long its warm-up is.
func replicate(ctx context.Context, c scenarios.Cell, j job, opt Options) (run *record.Run, err error) {
	sc := c.Scenario
	seed := sc.Seed + uint64(j.replication)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a bug in poolwise: seed %d, settings %v: %v\n%s", seed, c.Settings, p, debug.Stack())
		}
	}()
	from, late := sim.Time(sc.Warmup.Time), false
	if sc.Warmup.Auto {
		var warm record.WarmUp
		pilot := newWorld(sc, seed, 0, &warm)
		if err := pilot.run(ctx); err != nil {
			return nil, inCell(c, err)
		}
		from, late = warm.Cut()
	}
	var extra []record.Sink
	if opt.Trace != nil && j == (job{}) {
		extra = append(extra, opt.Trace(sc.PoolNames()))
	}
	var stages *record.Stages
	if opt.Stages {
		stages = record.NewStages(from, j.replication == 0)
		stages.PoolOf(poolOf(sc))
		extra = append(extra, stages)
	}
	w := newWorld(sc, seed, from, extra...)
	if opt.CheckInvariants {
		w.sim.Check = w.verify
	}
	if err := w.run(ctx); err != nil {
		return nil, inCell(c, err)
	}
	r := w.finish()
	r.Series.Faults = faults(sc)
	bound(sc, &r.Series)
	if stages != nil {
		r.Stages = stages.Finish()
	}
	if j.replication > 0 {
		r.Series = record.Series{} // only the first is drawn
	}
	if late {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no end of the warm-up was found in the first half of the run: it is too short, or never settles; say what to leave out, as in warmup: %v, or run for longer", sc.Until.Time/10))
	}
	return r, nil
}

// inCell says in which cell of a sweep an error came up.
func inCell(c scenarios.Cell, err error) error {
	if len(c.Settings) == 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("with %s: %w", c.Settings, err)
}
