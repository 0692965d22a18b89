package sim

import (
	"fmt"

	"poolwise/sim/fifo"
)

// Freezable prepares for Freeze, before anything is scheduled: timers then all go to the heap, where a timer that comes due
// during a freeze can still be cancelled at its end. The order of events is the same, the loop a little slower.
func (s *Sim) Freezable() {
	if s.seq > 0 {
		panic("sim: made freezable after something was scheduled")
	}
	s.freezable = true
}

// Freeze lets actors stand still together until a time, as a program does in a pause of its garbage collector or its machine,
// while everything else goes on. What comes for them meanwhile, continuations too, they are told at the end: each as an event of
// its own, in order, and before anything else that is due then. Calls of their methods are not kept from them. To freeze the same
// actors again while they are frozen moves the end, if it is later.
func (s *Sim) Freeze(until Time, actors ...ActorID) {
	switch {
	case !s.freezable:
		panic("sim: Freeze without Freezable")
	case until < s.now || until == Forever:
		panic(fmt.Sprintf("sim: actors %v frozen at %v until %v", actors, s.now, until))
	case until == s.now:
		return
	}
	var f *freeze
	for _, id := range actors {
		st, frozen := s.actors[id].(*still)
		if frozen != (f != nil) && id != actors[0] || frozen && f != nil && st.freeze != f {
			panic(fmt.Sprintf("sim: of the actors %v some are frozen already, and not together", actors))
		}
		if frozen {
			f = st.freeze
		}
	}
	if f == nil {
		f = &freeze{sim: s}
		f.id = s.Add(f)
		for _, id := range actors {
			s.actors[id] = &still{f, s.actors[id]}
			f.actors = append(f.actors, id)
		}
	}
	if until > f.until {
		f.until = until
		s.first0(until, f.id)
	}
}

// first0 schedules an event that comes before all others of its instant.
func (s *Sim) first0(at Time, to ActorID) { s.heap.push(due{place{at: at}, Event{To: to}}) }

// freeze is some actors that stand still.
type freeze struct {
	sim    *Sim
	id     ActorID
	actors []ActorID
	until  Time
	held   fifo.Ring[Event] // what they are told at the end; a timer stays what it was in the heap
}

// still stands in the place of an actor that is frozen.
type still struct {
	*freeze
	actor Actor
}

// Handle holds an event back.
func (st *still) Handle(ev Event) { st.held.Push(ev) }

// Handle is the end of the freeze, and then each of the events that were held back.
func (f *freeze) Handle(Event) {
	if f.sim.now < f.until {
		return // it was prolonged
	}
	for _, id := range f.actors {
		if st, ok := f.sim.actors[id].(*still); ok && st.freeze == f {
			f.sim.actors[id] = st.actor
		}
	}
	f.actors = nil
	for f.held.Len() > 0 {
		ev := f.held.Pop()
		if ev.To == viaTimer {
			var ok bool
			if ev, ok = f.sim.resolve(ev); !ok {
				continue
			}
		}
		if f.held.Len() > 0 {
			f.sim.first0(f.sim.now, f.id)
		}
		f.sim.actors[ev.To].Handle(ev)
		return
	}
}

// holdBack holds back a timer that is due for a frozen actor, and reports whether it did. It stays cancellable.
func (s *Sim) holdBack(ev Event) bool {
	st, ok := s.actors[s.slots[ev.A].ev.To].(*still)
	if ok {
		st.held.Push(ev)
	}
	return ok
}

// Remove takes an actor out of the world: events to it, also those that are queued, have no effect.
func (s *Sim) Remove(id ActorID) { s.actors[id] = gone{} }

type gone struct{}

func (gone) Handle(Event) {}
