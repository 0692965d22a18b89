package run

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// How many replications a cell has at least and at most when it runs for a precision, by default.
const (
	DefaultMinReplications = 5
	DefaultMaxReplications = 100
)

// batch is how many replications are run between two looks at how exact the figures are.
const batch = 5

// hash names all that decides the result: with a precision that is in the place of the scenario's number of replications.
func (o Options) hash(s *scenarios.Scenario) string {
	if o.Precision == 0 {
		return s.Hash()
	}
	c := *s
	c.Replications = 0
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %v %d %d", c.Hash(), o.Precision, o.least(), o.most())
	return fmt.Sprintf("%016x", h.Sum64())
}

func (o Options) least() int { return cmp.Or(o.MinReplications, DefaultMinReplications) }

func (o Options) most() int { return max(cmp.Or(o.MaxReplications, DefaultMaxReplications), o.least()) }

// precise runs every cell until its figures are exact enough, or it has had the most replications, and says in each which it
// was. This is the sequential procedure of Law (Simulation Modeling and Analysis, 2015, 9.4.1; Chow and Robbins 1965): whether to
// go on is decided after each batch, by all replications that there are, so that it does not depend on the number of
// processors. Since an interval that happens to be narrow ends it, the last one covers slightly less than its 95 %.
func (c *crew) precise(ctx context.Context) ([]record.Cell, error) {
	least, most := c.opt.least(), c.opt.most()
	merged := make([]record.Cell, len(c.cells))
	n := make([]int, len(c.cells))
	for {
		going := false
		for i := range n {
			if merged[i].Stopped == nil {
				n[i] = min(max(len(c.runs[i])+batch, least), most)
			}
		}
		if err := c.upTo(ctx, n); err != nil {
			return nil, err
		}
		for i := range merged {
			if merged[i].Stopped != nil {
				continue
			}
			merged[i] = c.merge(i)
			merged[i].Stopped = stopped(&merged[i], c.cells[i].Scenario.Checks, c.opt.Precision, n[i] == most)
			going = going || merged[i].Stopped == nil
		}
		if !going {
			return merged, nil
		}
	}
}

// stopped reports what ends the replications of a cell, nil if they go on.
func stopped(c *record.Cell, checks []scenarios.Check, want float64, last bool) *record.Stopped {
	s := &record.Stopped{By: record.ByPrecision, Wanted: want}
	widest := -1.0
	for _, f := range preciseFigures(checks) {
		w := relativeWidth(f, c, checks)
		if w > widest {
			widest, s.Figure, s.Precision = w, f.String(), record.Float{}
			if !math.IsInf(w, 0) {
				s.Precision = record.ExactFloat(w)
			}
		}
	}
	switch {
	case widest <= want:
		return s
	case last:
		s.By = record.ByMaximum
		return s
	}
	return nil
}

// preciseFigures returns the figures that have to be exact: those of the checks, or else throughput and p(99).
func preciseFigures(checks []scenarios.Check) []record.Figure {
	var all []record.Figure
	for _, k := range checks {
		if f := mustParse(k.Expr).Figure; k.Level != scenarios.OffLevel && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	if all == nil {
		all = []record.Figure{mustFigure("throughput"), mustFigure("p(99)")}
	}
	return all
}

func mustFigure(name string) record.Figure {
	f, err := record.ParseFigure(name)
	if err != nil {
		panic("run: " + err.Error())
	}
	return f
}

// relativeWidth returns half the width of Student's interval of a figure as a share of its mean over the replications. (The
// interval that is reported may be wider: it has the percentile of all replications together in it, from which the mean of theirs
// differs by more than luck.) Of a figure that is 0 there is no share: it is exact once its checks are decided. One that cannot be
// measured, since nothing succeeds, is as exact as it will be.
func relativeWidth(f record.Figure, c *record.Cell, checks []scenarios.Check) float64 {
	v := record.MeanAt(f.Sample(c), 0.05)
	if !v.Known {
		v = f.Measure(c)
	}
	switch {
	case !v.Known && c.Requests.OK == 0:
		return 0
	case !v.Known || !v.Interval:
		return math.Inf(1)
	case v.Value != 0:
		return max(v.Hi-v.Value, v.Value-v.Lo) / math.Abs(v.Value)
	}
	for _, k := range checks {
		if e := mustParse(k.Expr); e.Figure == f && e.Evaluate(c).Status == record.Inconclusive {
			return math.Inf(1)
		}
	}
	return 0
}
