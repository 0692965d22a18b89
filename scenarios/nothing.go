package scenarios

import (
	"slices"

	"poolwise/sim/server"
	"poolwise/workload"
)

// withoutNothing leaves out what is written as lasting no time or doing nothing, as sweeps begin with it: a pause or a phase of 0s, a
// fault for 0s, no burst, a single attempt. A fault of which nothing says how long lasts to the end, so its text decides; root is that
// of the scenario.
func (s *Scenario) withoutNothing(root *node) {
	s.Actions = slices.DeleteFunc(s.Actions, func(a Action) bool { return a.Pause != nil && *a.Pause == 0 })
	s.Server.Faults = lasting(s.Server.Faults, root.get("server"))
	for i := range s.Servers {
		if n := root.get("servers"); n != nil && n.kind == list && i < len(n.items) {
			s.Servers[i].Faults = lasting(s.Servers[i].Faults, n.items[i])
		}
	}
	trim(s.Workload)
	for i := range s.Services {
		trim(s.Services[i].Workload)
	}
}

// lasting leaves out the faults of a server that last 0s.
func lasting(faults []server.Fault, n *node) []server.Fault {
	texts := n.get("faults")
	if texts == nil || texts.kind != list || len(texts.items) != len(faults) {
		return faults
	}
	var all []server.Fault
	for i, f := range faults {
		instant := f.Restart || f.Terminate != 0 || f.Kill != 0 || f.Failover != nil
		if length := texts.items[i].get("for"); instant || length == nil || f.For != 0 {
			all = append(all, f)
		}
	}
	return all
}

// trim does so for a workload.
func trim(w *workload.Options) {
	if w == nil {
		return
	}
	if w.Retry != nil && w.Retry.Attempts == 1 {
		w.Retry = nil
	}
	a := w.Arrivals
	if a == nil {
		return
	}
	a.Phases = slices.DeleteFunc(a.Phases, func(p workload.Phase) bool { return p.For != nil && *p.For == 0 })
	if a.Bursts != nil && a.Bursts.Count != nil && *a.Bursts.Count == 0 {
		a.Bursts = nil
	}
}
