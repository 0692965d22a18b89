package sim

import (
	"math"
	"math/bits"
)

// ActorID names an actor of one simulation, in the order of Add.
type ActorID int32

// Kind says what an event is about; each actor has its own small enumeration.
type Kind int32

// Event is what an actor is told: a value. It has four fields, as many as Go keeps of a struct in registers.
type Event struct {
	To   ActorID
	Kind Kind
	A, B int32 // what Kind says they are: an index, a generation
}

// due is an event in a queue.
type due struct {
	place
	Event
}

// place is where an event stands in the order of all: by time, and those of equal time as they were scheduled.
type place struct {
	at  Time
	seq uint64
}

// never is behind all events.
var never = place{Forever, math.MaxUint64}

// before reports the order of two places. at is never negative, so one 128-bit subtraction decides without a branch that the
// processor would guess wrong half of the time.
func (p place) before(q place) bool {
	_, borrow := bits.Sub64(p.seq, q.seq, 0)
	_, borrow = bits.Sub64(uint64(p.at), uint64(q.at), borrow)
	return borrow != 0
}

// Reply says where an answer goes: the event {To, Kind, A} with the result in B. Who asks fills it in, who answers hands it
// to Sim.Answer or Sim.Wake.
type Reply struct {
	To   ActorID
	Kind Kind
	A    int32
}

// Event returns the answer b as an event.
func (r Reply) Event(b int32) Event { return Event{To: r.To, Kind: r.Kind, A: r.A, B: b} }

// Actor is a part of the simulated world that owns some state and is told of events.
type Actor interface {
	// Handle reacts to one event. It may change its own state, call other actors' methods and schedule events; it is never
	// called while another Handle is under way.
	Handle(ev Event)
}
