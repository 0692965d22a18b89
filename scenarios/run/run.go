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
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/record"
)

// Options say how to run, none of which changes a figure.
type Options struct {
	// Workers is how many replications run at the same time; 0 means one for each processor.
	Workers int
	// CheckInvariants checks the invariants of every pool after every event; much slower.
	CheckInvariants bool
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
	runs, err := runAll(ctx, cells, opt)
	if err != nil {
		return nil, err
	}
	res := &record.Result{
		Schema: record.Schema,
		Scenario: record.Scenario{
			Name: base.Name, About: base.About, Hash: base.Hash(), Seed: base.Seed, Estimate: base.Estimate.String(),
		},
		Cells: make([]record.Cell, len(cells)),
	}
	for i, c := range cells {
		res.Cells[i] = record.Merge(c.Settings, c.Scenario.PoolNames(), runs[i])
		var checked []record.Figure
		for _, want := range c.Scenario.Checks {
			checked = append(checked, mustParse(want.Expr).Figure)
		}
		res.Cells[i].KeepSamples(checked)
	}
	judge(res, cells)
	return res, nil
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
				got = record.Check{Expr: got.Expr, Status: record.Off, Unit: got.Unit}
			}
			got.Cell, got.Settings, got.Line, got.Level = i, c.Settings, want.Line, want.Level.String()
			res.Checks = append(res.Checks, got)
		}
	}
	res.Verdict = record.Verdict(res.Checks)
}

// job is one replication of one cell.
type job struct{ cell, replication int }

// maxReplications is the most that are run, of all cells together: what each measured is kept.
const maxReplications = 1_000_000

// runAll runs all replications of all cells and returns what they measured, by cell and replication.
func runAll(ctx context.Context, cells []scenarios.Cell, opt Options) ([][]*record.Run, error) {
	total := 0
	for _, c := range cells {
		if total += c.Scenario.Replications; total > maxReplications {
			return nil, fmt.Errorf("more than %d replications in all; want fewer cells or replications", maxReplications)
		}
	}
	var jobs []job
	runs := make([][]*record.Run, len(cells))
	for i, c := range cells {
		runs[i] = make([]*record.Run, c.Scenario.Replications)
		for j := range c.Scenario.Replications {
			jobs = append(jobs, job{i, j})
		}
	}
	errs := make([]error, len(jobs))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		next, done atomic.Int64
		progress   sync.Mutex
		group      sync.WaitGroup
	)
	workers := opt.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	for range min(workers, len(jobs)) {
		group.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= len(jobs) || ctx.Err() != nil {
					return
				}
				j := jobs[n]
				r, err := replicate(ctx, cells[j.cell], j, opt)
				if err != nil {
					errs[n] = err
					cancel()
					return
				}
				runs[j.cell][j.replication] = r
				progress.Lock()
				d := int(done.Add(1))
				if opt.Progress != nil {
					opt.Progress(d, len(jobs))
				}
				progress.Unlock()
			}
		})
	}
	group.Wait()
	// The first error in order of the jobs, but a real one before the interruptions that it caused.
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
	}
	if d := int(done.Load()); d < len(jobs) {
		return nil, &Interrupted{Done: d, Total: len(jobs), Err: context.Cause(ctx)}
	}
	return runs, nil
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
	w := newWorld(sc, seed, from, extra...)
	if opt.CheckInvariants {
		w.sim.Check = w.verify
	}
	if err := w.run(ctx); err != nil {
		return nil, inCell(c, err)
	}
	r := w.finish()
	if j.replication > 0 {
		r.Series = record.Series{} // only the first is drawn
	}
	if late {
		r.Warnings = append(r.Warnings, "no end of the warm-up was found in the first half of the run: it is too short, or never settles")
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
