package run

import (
	"fmt"
	"time"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// disturbance is what a scenario does to a run for a while: a peak of the load, faults, pauses.
type disturbance struct {
	from, to time.Duration
	what     string // empty for none
}

func (d *disturbance) add(from, to time.Duration, what string) {
	switch {
	case d.what == "":
		*d = disturbance{from, to, what}
		return
	case d.what != what:
		d.what = "the last of its disturbances"
	}
	d.from, d.to = min(d.from, from), max(d.to, to)
}

// disturbed returns what the scenario does, from the beginning of the first to the end of the last.
func disturbed(sc *scenarios.Scenario, faults []record.Fault) (d disturbance) {
	for _, v := range sc.All() {
		if v.Workload.Arrivals == nil {
			continue
		}
		phases, at := v.WorkloadOf(0).Arrivals.Phases, time.Duration(0)
		for i := range phases {
			if phases[i].For == nil {
				break
			}
			to := at + *phases[i].For
			const much = 1.2
			rises := i > 0 && phases[i].Rate.PerSecond() > much*phases[i-1].Rate.PerSecond()
			if rises && i+1 < len(phases) && phases[i].To == nil && phases[i].Rate.PerSecond() > much*phases[i+1].Rate.PerSecond() {
				d.add(at, to, "the peak of the load")
			}
			at = to
		}
	}
	for _, f := range faults {
		if f.For > 0 {
			d.add(f.At, f.At+f.For, "the fault")
		}
	}
	for _, a := range sc.Actions {
		if a.Pause != nil && *a.Pause > time.Millisecond && a.Every == 0 {
			d.add(a.At, a.At+*a.Pause, "the pause")
		}
	}
	return d
}

// recovery says whether a cell recovered from a disturbance that is over, as far as its first replication shows; nil if it was not harmed,
// or if that cannot be told.
func recovery(sc *scenarios.Scenario, c *record.Cell) *record.Diagnosis {
	s := &c.Curves.Levels
	d := disturbed(sc, s.Faults)
	if d.what == "" {
		return nil
	}
	r, ok := s.Recovery(d.from, d.to)
	if !ok || !r.Harmed {
		return nil
	}
	percent := func(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }
	switch after := r.After.Round(100 * time.Millisecond); {
	case r.Recovered && 4*after <= d.to-d.from:
		return nil // it was over soon after the disturbance
	case r.Recovered:
		return &record.Diagnosis{Kind: record.Recovered, Replications: c.Replications, Instances: 1,
			Text: fmt.Sprintf("%s was over at %v, and its consequences about %v later: no more requests fail or wait than before", d.what, d.to, after)}
	case r.Persists:
		text := fmt.Sprintf("%s was over at %v, and it had not recovered by the end, %v later: %s of the requests fail then (before: %s)",
			d.what, d.to, r.UntilTheEnd.Round(100*time.Millisecond), percent(r.AtTheEnd), percent(r.Before))
		if r.AtTheEnd < r.Before+0.05 { // it is the queue
			text = fmt.Sprintf("%s was over at %v, and it had not recovered by the end, %v later: %.3g requests wait for a connection then",
				d.what, d.to, r.UntilTheEnd.Round(100*time.Millisecond), r.WaitAtEnd)
		}
		return &record.Diagnosis{Kind: record.NotRecovered, Replications: c.Replications, Instances: 1, Text: text}
	}
	return nil
}
