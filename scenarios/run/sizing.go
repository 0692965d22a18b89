package run

import (
	"fmt"
	"math"

	"poolwise/sim/record"
)

// result says what the search has found.
func (s *search) result() *record.Sizing {
	use, refused := s.best(), s.refusedFrom()
	r := &record.Sizing{
		Schema: record.SizingSchema,
		Scenario: record.Scenario{
			Name: s.base.Name, About: s.base.About, Hash: s.base.Hash(), Seed: s.base.Seed, Estimate: s.base.Estimate.String(),
		},
		Key: s.opt.Key, Basis: record.ByKnee, Undecided: []int{}, Alike: []int{}, Unsettled: []int{},
		Indifference: s.opt.Indifference, Figures: []string{}, Sizes: []record.Sized{},
		Confidence: record.Confidence{Level: confidence, Checks: s.alphaChecks, Comparisons: s.alphaPairs, Looks: s.looks},
		Warnings:   append([]string{}, s.warnings...),
	}
	if s.bound() {
		r.Basis = record.ByChecks
	}
	if s.guarded || s.locks {
		r.Guard = s.checks[len(s.checks)-1].String()
	}
	for _, f := range s.figures {
		r.Figures = append(r.Figures, f.String())
	}
	for i := range s.all {
		if !s.ran(i) {
			continue
		}
		z := s.sizedResult(i, use, refused)
		for j := range z.Checks {
			z.Checks[j].Cell = len(r.Sizes)
		}
		switch z.Relation {
		case record.SizeUnsettled:
			r.Unsettled = append(r.Unsettled, z.Size)
			r.Alike = append(r.Alike, z.Size)
		case record.SizeUsed, record.SizeAlike:
			r.Alike = append(r.Alike, z.Size)
		case record.SizeUndecided:
			if use < 0 || i < use {
				r.Undecided = append(r.Undecided, z.Size)
			}
		}
		r.Sizes = append(r.Sizes, z)
	}
	r.Verdict = s.verdict(use, len(r.Undecided) > 0)
	if use >= 0 {
		r.Use = &s.all[use].size
		for i := s.before(use); i >= 0 && r.Below == nil; i = s.before(i) {
			r.Below = s.miss(i)
		}
		if i := s.missedFrom(use); i >= 0 {
			r.Above = s.miss(i)
		}
	} else if i := s.closest(); i >= 0 && s.bound() {
		check, _ := s.excess(i)
		r.Closest = &record.Miss{Size: s.all[i].size, Check: s.all[i].checks[check]}
	}
	if i := s.cleanFrom(); i >= 0 {
		b := &s.all[s.before(i)]
		r.Clean = &record.Clean{Size: s.all[i].size, Below: b.size, FailedRate: b.cell.FailedRate, Deadlock: b.cell.Deadlocks()}
	}
	if refused >= 0 {
		r.RefusedFrom = &s.all[refused].size
	}
	if last := len(s.all) - 1; use >= 0 && !s.bound() && last > 0 && refused < 0 && s.tooLarge == nil {
		if z := r.Sizes[len(r.Sizes)-1]; use == last || z.Relation == record.SizeBetter {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the curve still gets better at the largest size, %d: the knee may lie beyond; try larger ones with --over", s.all[last].size))
		}
	}
	r.Knee = s.kneeResult()
	r.Search = s.how(len(r.Sizes))
	v := sized(s.base, s.opt.Key)
	r.USL = usl(s.base, v, r.Sizes)
	if v != nil {
		r.Instances = instances(s.base, v, s.opt.Surge)
	}
	if use >= 0 {
		r.ErlangC = erlang(s.base, v, s.all[use].size, &s.all[use].cell)
	}
	return r
}

func (s *search) verdict(use int, undecided bool) record.Status {
	switch {
	case use >= 0:
		return record.Passed
	case undecided, s.short && s.gaps() != nil:
		return record.Inconclusive
	}
	return record.FailedCheck
}

// sizedResult describes a candidate that was run.
func (s *search) sizedResult(i, use, refused int) record.Sized {
	c := &s.all[i]
	z := record.Sized{Size: c.size, Verdict: c.verdict, Checks: c.checks, Versus: []record.Versus{}, Cell: c.cell}
	if use >= 0 && i != use {
		z.Versus = s.versus(i, use)
	}
	switch {
	case i == use:
		z.Relation = record.SizeUsed
	case c.verdict == record.FailedCheck:
		z.Relation = record.SizeMisses
	case c.verdict == record.Inconclusive:
		z.Relation = record.SizeUndecided
	case refused >= 0 && i >= refused:
		z.Relation = record.SizeRefused
	case use >= 0:
		z.Relation = relation(z.Versus)
	}
	return z
}

// miss returns the check that a candidate misses by most; nil if it misses none.
func (s *search) miss(i int) *record.Miss {
	if s.all[i].verdict != record.FailedCheck {
		return nil
	}
	worst, most := -1, math.Inf(-1)
	for j := range s.checks {
		k := &s.checks[j]
		got := &s.all[i].checks[j]
		if !k.binding() || got.Status != record.FailedCheck && got.Status != record.NotEvaluated {
			continue
		}
		by := math.MaxFloat64
		if got.Status == record.FailedCheck {
			by = k.Excess(got.Value)
		}
		if by > most {
			worst, most = j, by
		}
	}
	if worst < 0 {
		return nil
	}
	return &record.Miss{Size: s.all[i].size, Check: s.all[i].checks[worst]}
}

func (s *search) kneeResult() *record.Knee {
	k, ok := s.knee()
	if !ok {
		return nil
	}
	x := mustFigure("throughput")
	share := func(i int) record.Float { return record.ExactFloat(1 + s.change(x, i, k.best)) }
	r := &record.Knee{Size: s.all[k.at].size, Best: s.all[k.best].size, Fastest: s.all[k.fastest].size, Throughput: share(k.at)}
	if i := s.before(k.at); i >= 0 {
		r.Below, r.BelowShare = s.all[i].size, share(i)
	}
	return r
}

// how says how the sizes were chosen that were run.
func (s *search) how(ran int) record.Search {
	h := record.Search{
		From: s.all[0].size, To: s.all[len(s.all)-1].size, Sizes: len(s.all), Method: record.SearchAll, Why: "All sizes were run.",
		Replications: s.crew.done, Budget: s.opt.Budget, Most: s.opt.MaxReplications, Spent: s.short,
	}
	if ran == len(s.all) {
		return h
	}
	h.Method = record.SearchBisection
	t := s.target()
	if t < 0 {
		h.Why = "A coarse grid was run, and halved around the size that comes nearest."
		return h
	}
	size := s.all[t].size
	switch {
	case s.scan:
		h.Method = record.SearchScan
		which := "every size"
		if s.short {
			which = "as many sizes as the budget allowed"
		}
		h.Why = fmt.Sprintf("A coarse grid was run, and then %s below %d: the curve could not be halved, since %s.", which, size, s.scanned)
	case s.bound():
		h.Why = fmt.Sprintf("A coarse grid was run, and halved where the curve turns: up to %d, no figure that misses its limit gets worse from one size to the next.", size)
	default:
		h.Why = fmt.Sprintf("A coarse grid was run, and halved where the curve turns: up to %d, throughput does not fall from one size to the next.", size)
	}
	return h
}
