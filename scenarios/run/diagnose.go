package run

import (
	"fmt"
	"slices"
	"strings"

	"poolwise/scenarios"
	"poolwise/sim/record"
	"poolwise/sim/wording"
	"poolwise/workload"
)

// findDeadlock notes the deadlock on the pool of a member, if it has one and there was one.
func (w *world) findDeadlock(a int32) {
	m := &w.members[a]
	if m.owner != a {
		return
	}
	if f := m.driver.Deadlock(); f != nil {
		w.findings = append(w.findings, record.Finding{Pool: int16(a), Kind: record.Deadlocked, At: f.At, Text: deadlock(w.scenario.Users(m.service.Name), f)})
	}
}

// deadlock says who waited for whom, and what would have been safe.
func deadlock(users []*scenarios.Service, f *workload.Deadlock) string {
	var waits []string
	for _, k := range []struct {
		n    int
		what string
	}{
		{f.ForConnection, "another connection"},
		{f.ForThread, "a thread, while all threads wait for connections"},
		{f.ForLock, "a row that is locked"},
	} {
		switch {
		case k.n == f.Holders:
			waits = append(waits, "all wait for "+k.what)
		case k.n == 1:
			waits = append(waits, "1 waits for "+k.what)
		case k.n > 0:
			waits = append(waits, fmt.Sprintf("%d wait for %s", k.n, k.what))
		}
	}
	text := fmt.Sprintf("%d requests hold all %d connections: %s", f.Holders, f.Conns, wording.And(waits))
	if f.Holders == 1 {
		text = strings.Replace(text, "1 requests hold all", "1 request holds all", 1)
	}
	return text + safety(users, f)
}

// safety says what would have been safe, as far as that can be said of the services that use the pool.
func safety(users []*scenarios.Service, f *workload.Deadlock) string {
	var in []*scenarios.Service // the deadlock
	smallest, known := 1, true
	for _, v := range users {
		if kept := v.Workload.Nesting(); kept > 0 || v.Workload.Threads != nil {
			in = append(in, v)
			smallest += v.AtOnce() * kept
			known = known && v.AtOnce() > 0
		}
	}
	switch v := in[0]; {
	case len(in) > 1 && known && f.ForThread == 0 && f.ForLock == 0:
		return fmt.Sprintf("; the smallest safe pool is %d", smallest)
	case len(in) > 1:
		return ""
	case f.ForThread > 0:
		return fmt.Sprintf("; %d requests at once would be safe", v.Capacity()+*v.Workload.Threads-1)
	case f.ForLock > 0:
		return ""
	case v.Workload.Clients != nil:
		clients := *v.WorkloadOf(0).Clients
		return fmt.Sprintf("; the smallest safe pool for %d requests at once is %d", clients, scenarios.SafeSize(clients, v.Workload.Nesting()))
	case v.Workload.Arrivals != nil && v.Workload.Arrivals.Bursts != nil:
		burst := v.Workload.Arrivals.Bursts.Size
		return fmt.Sprintf("; the smallest safe pool for a burst of %d is %d", burst, scenarios.SafeSize(burst, v.Workload.Nesting()))
	default:
		return fmt.Sprintf("; a pool of %d is safe for %d requests at once", v.Capacity(), (v.Capacity()-1)/v.Workload.Nesting())
	}
}

// diagnose adds to a cell what follows from its scenario: what can go wrong and has not, and the budget of connections.
func diagnose(sc *scenarios.Scenario, c *record.Cell) {
	for _, h := range sc.Hazards() {
		if !slices.ContainsFunc(c.Diagnoses, func(d record.Diagnosis) bool { return d.Kind == record.Deadlocked && d.Service == h.Service }) {
			c.Diagnoses = append(c.Diagnoses, h)
		}
	}
	c.Warnings = append(c.Warnings, sc.Warnings()...)
	if d := recovery(sc, c); d != nil {
		c.Diagnoses = append(c.Diagnoses, *d)
	}
	c.Offered = offered(sc, c)
	c.Budget = sc.Budget()
	if text := overLimit(sc, c); text != "" {
		c.Warnings = append(c.Warnings, text)
	}
	if c.Budget == nil {
		return
	}
	for i := range c.Budget.Rows {
		row := &c.Budget.Rows[i]
		for _, all := range [][]record.PoolCell{c.Pools, c.Services} {
			for j := range all {
				if all[j].Name == row.Service {
					row.Used = all[j].Levels.Size.Max
				}
			}
		}
		if row.Service == scenarios.ViaPooler && c.Pooler != nil {
			row.Used = c.Pooler.Levels.Size.Max
		}
	}
}
