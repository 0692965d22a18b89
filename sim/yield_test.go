package sim

import "testing"

// relay handles an event by scheduling the next one Soon, until the count in A is used up.
type relay struct {
	sim *Sim
	id  ActorID
	log []int32 // B of the events, in order
}

func (r *relay) Handle(ev Event) {
	r.log = append(r.log, ev.B)
	if ev.A > 0 {
		r.sim.Soon(Event{To: r.id, A: ev.A - 1, B: ev.B})
	}
}

func TestYieldGivesWayToWhatIsDueAndWhatThatSchedules(t *testing.T) {
	var s Sim
	r := &relay{sim: &s}
	r.id = s.Add(r)
	s.At(5, Event{To: r.id, B: 3})
	s.Yield(Event{To: r.id, B: 1})
	s.Yield(Event{To: r.id, B: 2})
	s.Soon(Event{To: r.id, A: 2, B: 0})
	s.Run(Forever)
	want := []int32{0, 0, 0, 1, 2, 3}
	if len(r.log) != len(want) {
		t.Fatalf("handled %v, want %v", r.log, want)
	}
	for i := range want {
		if r.log[i] != want[i] {
			t.Fatalf("handled %v, want %v", r.log, want)
		}
	}
}
