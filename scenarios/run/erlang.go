package run

import (
	"fmt"
	"math"
	"time"

	"poolwise/scenarios"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/workload"
)

// erlang compares the mean wait of a cell with what an M/M/c calculation says of size servers; nil where there is nothing to
// calculate: without arrivals at a rate, with several services or acquires within acquires, or if nothing was measured.
func erlang(s *scenarios.Scenario, v *scenarios.Service, size int, c *record.Cell) *record.ErlangC {
	if q := c.Requests; v == nil || len(s.All()) > 1 || q.Total == 0 || q.Failed > q.Total/2 || !c.Hold.Mean.Known || !c.Wait.Mean.Known || acquires(v.Workload.Request) != 1 {
		return nil
	}
	rate, ok := meanRate(v.WorkloadOf(0).Arrivals, s.Until.Time)
	if !ok {
		return nil
	}
	rate *= float64(c.Hold.N) / float64(c.Requests.Total)
	e := &record.ErlangC{
		Servers: size, Arrivals: record.ExactFloat(rate), Hold: c.Hold.Mean, Simulated: c.Wait.Mean, Reasons: []string{},
	}
	load := rate * c.Hold.Mean.Value.Seconds()
	e.Load = record.ExactFloat(load)
	wait, stable := erlangWait(size, load, float64(c.Hold.Mean.Value))
	w := c.Wait.Mean
	e.Wrong = true
	if stable {
		e.Wait = record.Exact(time.Duration(math.Round(wait)))
		e.Wrong = (wait < float64(w.Lo) || wait > float64(w.Hi)) && math.Abs(wait-float64(w.Value)) > 0.2*float64(w.Value)
	}
	if e.Wrong {
		e.Reasons = append(e.Reasons, whyNotErlang(s, v, size, c)...)
	}
	return e
}

// erlangWait returns the mean wait in an M/M/c queue that is offered load erlangs; false if that is too much.
func erlangWait(servers int, load, hold float64) (wait float64, stable bool) {
	c := float64(servers)
	if load >= c {
		return 0, false
	}
	b := 1.0 // Erlang B, by its recursion in the number of servers
	for i := 1.0; i <= c; i++ {
		b = float64(load*b) / (i + float64(load*b))
	}
	waits := c * b / (c - float64(load*(1-b)))
	return waits * hold / (c - load), true
}

// meanRate returns the mean rate of arrivals up to the end of a run, if they are of a kind that has one.
func meanRate(a *workload.Arrivals, until time.Duration) (perSecond float64, ok bool) {
	switch {
	case a == nil:
		return 0, false
	case a.Poisson != nil:
		perSecond = a.Poisson.PerSecond()
	case a.Constant != nil:
		perSecond = a.Constant.PerSecond()
	case a.Modulated != nil:
		var sum, stays float64
		for _, st := range a.Modulated.States {
			sum += float64(st.Rate.PerSecond() * st.MeanStay.Seconds())
			stays += st.MeanStay.Seconds()
		}
		perSecond = sum / stays
	case len(a.Phases) > 0 && until > 0:
		perSecond = phasesRate(a.Phases, until)
	case a.Bursts == nil:
		return 0, false
	}
	if b := a.Bursts; b != nil {
		if b.Count != nil { // the rate is not the same in the long run
			return 0, false
		}
		perSecond += float64(b.Size) / b.Every.Seconds() / float64(a.Shares())
	}
	return perSecond, true
}

// phasesRate returns the mean rate of phases from the start to an end.
func phasesRate(phases []workload.Phase, until time.Duration) float64 {
	arrivals, left := 0.0, until
	for _, p := range phases {
		whole := left
		if p.For != nil {
			whole = *p.For
		}
		took := min(whole, left)
		from, to := p.Rate.PerSecond(), p.Rate.PerSecond()
		if p.To != nil {
			to = p.To.PerSecond()
		}
		at := from + float64((to-from)*took.Seconds()/whole.Seconds()) // where the line is then
		arrivals += float64((from + at) / 2 * took.Seconds())
		left -= took
	}
	return arrivals / until.Seconds()
}

// whyNotErlang lists what M/M/c takes for granted and the scenario, or its result, does not have.
func whyNotErlang(s *scenarios.Scenario, v *scenarios.Service, size int, c *record.Cell) []string {
	why := []string{}
	add := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if kind := notPoisson(v.Workload.Arrivals); kind != "" {
		add("arrivals are %s, not Poisson", kind)
	}
	if kind := notExponential(v.Workload.Request); kind != "" {
		add("%s, not exponential", kind)
	}
	if n := size * v.Instances; s.Server.Cores > 0 && n > s.Server.Cores {
		add("a hold includes the queue for the cores: up to %d queries share %d", n, s.Server.Cores)
	}
	if k := s.Server.Contention; k.Sigma > 0 || k.Kappa > 0 {
		add("queries slow each other down (contention), so holds depend on how many there are")
	}
	if q := c.Requests; q.Failed > 0 {
		add("%.2g %% of the requests failed, and their waits are not in the mean", 100*float64(q.Failed)/float64(q.Total))
	}
	mean := float64(c.Wait.Mean.Value)
	if least := c.Wait.Min; least.Known && float64(least.Value) > mean/20 {
		add("a grant takes %v at the least, queue or not", least.Value.Round(time.Microsecond))
	}
	if d := c.Connect.Mean; d.Known && float64(d.Value)*float64(c.Connect.N) > mean/20*float64(c.Wait.N) {
		add("some waits are for a connect, of %v on the average", d.Value.Round(time.Microsecond))
	}
	if s.Estimate == scenarios.Terminating {
		add("the run begins empty, and the formula is for the long run")
	}
	if len(s.Server.Faults) > 0 {
		add("the server has faults on its timetable")
	}
	if len(s.Actions) > 0 {
		add("services are stopped, moved or the like on a timetable")
	}
	return why
}

// notPoisson says what arrivals are, empty for Poisson ones.
func notPoisson(a *workload.Arrivals) string {
	switch {
	case a.Bursts != nil:
		return "in bursts"
	case a.Constant != nil:
		return "regular"
	case a.Modulated != nil:
		return "modulated: their rate jumps"
	case len(a.Phases) > 0:
		return "at a rate that changes"
	}
	return ""
}

// notExponential says what a hold is made of, empty if that is one query whose time is exponential, or cannot be said.
func notExponential(steps []workload.Step) string {
	var kinds []string
	held := 0
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Do != nil:
			return ""
		case s.Acquire != nil:
			held++
		case s.Return != nil:
			held--
		case s.Call != nil && held > 0:
			kinds = append(kinds, "")
		case s.Query != nil && s.Query.Phases == nil:
			kinds = append(kinds, kindOf(&s.Query.Service))
		case s.Query != nil && len(s.Query.Phases) == 1 && s.Query.Phases[0].CPU != nil:
			kinds = append(kinds, kindOf(s.Query.Phases[0].CPU))
		case s.Query != nil:
			kinds = append(kinds, "", "")
		}
	}
	switch {
	case len(kinds) > 1:
		return "a hold is the sum of several times"
	case len(kinds) == 0 || kinds[0] == "exponential" || kinds[0] == "":
		return ""
	}
	return "query times are " + kinds[0]
}

// kindOf names the kind of a distribution.
func kindOf(d *dist.Distribution) string {
	switch {
	case d.Exponential != nil && d.AtMost == nil:
		return "exponential"
	case d.Exponential != nil:
		return "cut off"
	case d.Uniform != nil:
		return "uniform"
	case d.Lognormal != nil:
		return "lognormal"
	case d.Gamma != nil:
		return "gamma"
	case d.Weibull != nil:
		return "Weibull"
	case d.Pareto != nil:
		return "Pareto"
	case d.Mixture != nil:
		return "a mixture"
	case d.Empirical != nil:
		return "measured samples"
	}
	return "constant"
}
