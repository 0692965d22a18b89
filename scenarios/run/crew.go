package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// crew runs replications of cells on all processors and keeps what each of them measured. What it has run so far does not
// depend on the number of processors, so whoever decides by that how many more to run decides the same everywhere.
type crew struct {
	cells []scenarios.Cell
	opt   Options
	runs  [][]*record.Run // by cell and replication
	done  int             // replications
	total int             // that are to be expected, as far as is known
}

func newCrew(cells []scenarios.Cell, opt Options) *crew {
	return &crew{cells: cells, opt: opt, runs: make([][]*record.Run, len(cells))}
}

// job is one replication of one cell.
type job struct{ cell, replication int }

// maxReplications is the most that are run, of all cells together: what each measured is kept.
const maxReplications = 1_000_000

// upTo runs what is missing for n[i] replications of each cell i.
func (c *crew) upTo(ctx context.Context, n []int) error {
	var jobs []job
	for i, has := range c.runs {
		for j := len(has); j < n[i]; j++ {
			jobs = append(jobs, job{i, j})
		}
		if c.done+len(jobs) > maxReplications {
			return fmt.Errorf("more than %d replications in all; want fewer cells or replications", maxReplications)
		}
	}
	for i, has := range c.runs {
		c.runs[i] = append(has, make([]*record.Run, max(n[i]-len(has), 0))...)
	}
	c.total = max(c.total, c.done+len(jobs))
	return c.run(ctx, jobs)
}

// run runs replications for which there is room.
func (c *crew) run(ctx context.Context, jobs []job) error {
	errs := make([]error, len(jobs))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		next     atomic.Int64
		progress sync.Mutex
		group    sync.WaitGroup
		before   = c.done
	)
	workers := c.opt.Workers
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
				r, err := replicate(ctx, c.cells[j.cell], j, c.opt)
				if err != nil {
					errs[n] = err
					cancel()
					return
				}
				c.runs[j.cell][j.replication] = r
				progress.Lock()
				c.done++
				if c.opt.Progress != nil {
					c.opt.Progress(c.done, c.total)
				}
				progress.Unlock()
			}
		})
	}
	group.Wait()
	// The first error in order of the jobs, but a real one before the interruptions that it caused.
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	if c.done < before+len(jobs) {
		return &Interrupted{Done: c.done, Total: c.total, Err: context.Cause(ctx)}
	}
	return nil
}

// merge makes the cell of what has been run of cell i.
func (c *crew) merge(i int) record.Cell {
	sc := c.cells[i].Scenario
	cell := record.Merge(c.cells[i].Settings, sc.PoolNames(), c.runs[i])
	diagnose(sc, &cell)
	return cell
}
