package run

import (
	"fmt"
	"math"

	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// faults names the faults of a scenario, for charts.
func faults(sc *scenarios.Scenario) (all []record.Fault) {
	add := func(of string, faults []server.Fault) {
		for i := range faults {
			f := &faults[i]
			length := f.For
			if length == 0 && !incident(f) {
				length = math.MaxInt64 - f.At // to the end
			}
			at := f.At
			if f.DropIdle != nil { // nothing can have been silent for long enough before
				late := min(max(f.DropIdle.After-at, 0), length)
				at, length = at+late, length-late
			}
			all = append(all, record.Fault{At: at, For: length, What: nameFault(f) + of, Unseen: f.DropIdle != nil || f.Partition})
		}
	}
	add("", sc.Server.Faults)
	for i := range sc.Servers {
		add(" ("+sc.Servers[i].Name+")", sc.Servers[i].Faults)
	}
	return all
}

// incident reports whether a fault is of one instant.
func incident(f *server.Fault) bool {
	return f.Restart || f.Terminate > 0 || f.Kill > 0 || f.Failover != nil
}

// nameFault says in a few words what a fault does.
func nameFault(f *server.Fault) string {
	switch {
	case f.Refuse:
		return "connects refused"
	case f.ConnectHang:
		return "connects hang"
	case f.Stall:
		return "server stalls"
	case f.Error, f.TransientError:
		return "connects fail"
	case f.StartingUp:
		return "starting up"
	case f.AuthFailure:
		return "logins fail"
	case f.Connect != nil:
		return "slow connects"
	case f.Slow != 0:
		return fmt.Sprintf("queries %g times as long", f.Slow)
	case f.ReadOnly:
		return "read-only"
	case f.Partition:
		return "network cut"
	case f.DropIdle != nil:
		return "firewall forgets the silent"
	case f.Restart:
		return "server restarts"
	case f.Terminate > 0:
		return fmt.Sprintf("%d sessions end", f.Terminate)
	case f.Kill > 0:
		return "a session is killed"
	case f.Failover != nil:
		return "failover"
	}
	return "fault"
}

// idleFaults says which faults the figures show nothing of: those that have struck nothing, be it that nothing of what they act on took
// place meanwhile, and those that are over when the measured part of the run begins.
func (w *world) idleFaults(from sim.Time) (all []string) {
	for i, s := range w.servers {
		o, of := &w.scenario.Server, ""
		if i > 0 {
			o, of = &w.scenario.Servers[i-1].Options, " of "+w.scenario.Servers[i-1].Name
		}
		for j := range o.Faults {
			f := &o.Faults[j]
			name := fmt.Sprintf("the fault at %v%s (%s)", f.At, of, nameFault(f))
			switch end := sim.Time(0).Add(f.At).Add(f.For); {
			case !s.Struck(j):
				all = append(all, name+" had no effect: there was nothing for it to act on")
			case end < from && (f.For > 0 || incident(f)):
				all = append(all, name+" is over before what is measured begins: to see what it does, set estimate: terminating")
			}
		}
	}
	return all
}
