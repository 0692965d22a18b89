package server

import (
	"testing"
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
)

// TestEndedIsWhatTheServerHasSaid: of sessions that are dead, one is known to be so that the server has ended, up to when its owner
// has been told; not one that was lost, nor behind a partition.
func TestEndedIsWhatTheServerHasSaid(t *testing.T) {
	s := &sender{sim: new(sim.Sim)}
	s.id = s.sim.Add(s)
	s.srv = New(s.sim, s, 1, Options{Faults: []Fault{
		{At: 5, Kill: 1}, {At: 10, Terminate: 1}, {At: 15, For: 5, Partition: true},
	}})
	s.jobs = make([]job, 3)
	s.sim.Soon(sim.Event{To: s.id, Kind: start})
	s.sim.Run(1)
	ended := func() (all [3]bool) {
		for i := range all {
			all[i] = s.srv.Ended(Session(i))
		}
		return all
	}
	for _, c := range []struct {
		at   sim.Time
		want [3]bool // sessions 1, which is lost, 2, which the server ends, and 3, which lives
	}{{1, [3]bool{}}, {6, [3]bool{}}, {11, [3]bool{false, true, false}}, {16, [3]bool{}}, {20, [3]bool{false, true, false}}} {
		s.sim.Run(c.at)
		if got := ended(); got != c.want {
			t.Errorf("at %v: ended %v, want %v", time.Duration(c.at), got, c.want)
		}
	}
	s.srv.Ping(1, sim.Reply{To: sim.Nobody})
	s.sim.Soon(sim.Event{To: s.id, Kind: arrive + 10}) // an event for the ping to end in
	s.sim.Run(21)
	if s.srv.Ended(1) {
		t.Error("the owner has been told, and the server says it again")
	}
	s.srv.Drop(1, record.Dropped)
}
