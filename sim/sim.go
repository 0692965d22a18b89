// Package sim is the kernel: a virtual clock, an event loop with one documented order, and counter-based random streams.
//
// An event is a value (see Event); it is handed to its actor when the clock reaches it. The order of events is total:
// by time, and at equal times by the order in which they were scheduled. Only two things stand outside that order. A
// continuation (Continue, Answer) is the rest of the event in hand and runs right after it, before anything else: the actor
// asked goes on in the asker's name, as a function that returns. And a Chooser, if set, picks among the events of one
// instant (or window).
//
// Nothing here allocates per event once the queues have reached their working size. Times are Time and time.Duration,
// nanoseconds. A panic is a bug of an actor (an event in the past, an unknown actor); there are no errors.
package sim

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Nobody is no actor: a Reply to it is not given.
const Nobody ActorID = -1

// viaTimer is the To of a cancellable event of the heap: A is its slot, B its generation.
const viaTimer ActorID = -2

const (
	maxLanes  = 64 // distinct delays that get a lane of their own
	minToTidy = 64 // dead timers that the heap bears before it is rebuilt
)

// Sim is one simulated world. The zero value is ready to use; its clock stands at 0.
type Sim struct {
	now     Time
	seq     uint64
	fired   uint64
	stopped bool
	actors  []Actor

	heap  heap
	soon  batch[due] // due now, in the order of scheduling
	rest  tail       // continuations of the event in hand
	lanes []lane
	delay []time.Duration // of each lane
	first int             // the lane whose head is earliest
	next  place           // of that head, never if all are empty

	slots []slot // of cancellable events in the heap
	free  []int32
	dead  int // cancelled ones still in the heap

	freezable bool // timers go to the heap

	chooser Chooser
	window  time.Duration
	ready   []due   // the events a Chooser chooses from
	choices []Event // as it is shown them

	// Check, if set, is called after every event and its continuations: the place for tests of invariants.
	Check func()
}

type slot struct {
	ev  Event
	gen int32
}

// Delay is a constant delay that timers can be armed for (see Sim.Delay).
type Delay struct {
	d    time.Duration
	lane int32 // index+1; 0: none, timers go to the heap
}

// Timer names an armed timer. The zero value names none.
type Timer struct {
	pos  uint64 // in the lane's ring, or the slot
	gen  int32  // of the slot
	lane int32  // index+1, -1 for the heap, 0 for none
}

// Chooser decides which of several events that are ready together runs first. Choose is told how many there are (at least
// two), in the order of scheduling, and returns the index of the one to run; the others stay ready.
type Chooser interface {
	Choose(ready []Event) int
}

// Add makes a an actor and returns its name.
func (s *Sim) Add(a Actor) ActorID {
	s.actors = append(s.actors, a)
	return ActorID(len(s.actors) - 1)
}

// Actors returns how many actors there are: the name of the next.
func (s *Sim) Actors() ActorID { return ActorID(len(s.actors)) }

// Now returns the current time.
func (s *Sim) Now() Time { return s.now }

// Fired returns how many events have been handled, continuations included.
func (s *Sim) Fired() uint64 { return s.fired }

// SetChooser makes c choose among the events due at one instant or, with a window, within that time of the earliest. An
// event that is overtaken runs late, at the time of the one that overtook it. Set it before anything is scheduled.
func (s *Sim) SetChooser(c Chooser, window time.Duration) {
	if s.seq > 0 {
		panic("sim: a Chooser set after something was scheduled")
	}
	s.chooser, s.window = c, window
}

// At schedules ev for time t, which must not be past.
func (s *Sim) At(t Time, ev Event) {
	if t < s.now {
		panic(fmt.Sprintf("sim: event for %v scheduled at %v: %+v", t, s.now, ev))
	}
	e := due{place{t, s.number()}, ev}
	if t == s.now {
		s.soon.push(e)
		return
	}
	s.heap.push(e)
}

// After schedules ev for d from now; d must not be negative.
func (s *Sim) After(d time.Duration, ev Event) { s.At(s.now.Add(d), ev) }

// Soon schedules ev for now, behind everything that is due already.
func (s *Sim) Soon(ev Event) {
	s.soon.push(due{place{s.now, s.number()}, ev})
}

// Continue schedules ev as the rest of the event in hand: it runs next, before anything else that is due. Several
// continuations run in the order in which they were asked for.
func (s *Sim) Continue(ev Event) {
	s.rest.push(ev)
}

// Answer gives the answer b as a continuation: who asked goes on at once, in the same event.
func (s *Sim) Answer(r Reply, b int32) {
	if r.To != Nobody {
		s.Continue(r.Event(b))
	}
}

// Answered takes the answer to r if it has been given and is what would run next. Who asked and has nothing else left to do in
// this event may go on with it at once: that comes to the same, and saves the way through the loop.
func (s *Sim) Answered(r Reply) (b int32, ok bool) {
	if next := &s.rest.one; !s.rest.any || next.A != r.A || next.Kind != r.Kind || next.To != r.To {
		return 0, false
	}
	s.fired++
	return s.rest.take().B, true
}

// Wake gives the answer b as an event of its own, due now behind everything else: who asked was asleep and is woken.
func (s *Sim) Wake(r Reply, b int32) {
	if r.To != Nobody {
		s.Soon(r.Event(b))
	}
}

// Delay returns a delay for Arm. Equal delays share a lane, a queue whose length is at most the number of timers armed
// within one delay; beyond 64 distinct delays timers go to the heap, which is slower and otherwise the same.
func (s *Sim) Delay(d time.Duration) Delay {
	if d < 0 {
		panic(fmt.Sprintf("sim: negative delay %v", d))
	}
	for i := range s.delay {
		if s.delay[i] == d {
			return Delay{d, int32(i + 1)}
		}
	}
	if len(s.lanes) == maxLanes {
		return Delay{d: d}
	}
	if len(s.lanes) == 0 {
		s.next = never
	}
	s.lanes, s.delay = append(s.lanes, lane{head: never}), append(s.delay, d)
	return Delay{d, int32(len(s.lanes))}
}

// Arm schedules ev after the delay and returns its timer.
func (s *Sim) Arm(d Delay, ev Event) Timer {
	if d.lane == 0 || s.chooser != nil || s.freezable { // what is held back must stay cancellable: only the heap's timers are
		return s.ArmAt(s.now.Add(d.d), ev)
	}
	i := int(d.lane - 1)
	p := place{s.now.Add(d.d), s.number()}
	l := &s.lanes[i]
	if l.head == never {
		l.head = p
		if p.before(s.next) {
			s.first, s.next = i, p
		}
	}
	return Timer{pos: l.ring.Push(due{p, ev}), lane: d.lane}
}

// ArmAt schedules ev for time t, which must not be past, and returns its timer.
func (s *Sim) ArmAt(t Time, ev Event) Timer {
	var i int32
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		i = int32(len(s.slots))
		s.slots = append(s.slots, slot{})
	}
	s.slots[i].ev = ev
	gen := s.slots[i].gen
	s.At(t, Event{To: viaTimer, A: i, B: gen})
	return Timer{pos: uint64(i), gen: gen, lane: -1}
}

// Cancel disarms a timer in constant time and reports whether it was armed: not zero, not fired, not cancelled before. A
// cancelled timer never fires and does not keep a run going.
func (s *Sim) Cancel(t Timer) bool {
	switch {
	case t.lane > 0:
		i := int(t.lane - 1)
		l := &s.lanes[i]
		ev := l.ring.At(t.pos)
		if ev == nil || ev.To == Nobody {
			return false
		}
		ev.To = Nobody
		if t.pos == l.ring.Head() {
			l.trim()
			if i == s.first {
				s.findFirst()
			}
		}
		return true
	case t.lane < 0:
		sl := &s.slots[t.pos]
		if sl.gen != t.gen {
			return false
		}
		s.freeSlot(int32(t.pos))
		s.dead++
		if s.dead > minToTidy && 2*s.dead > s.heap.len() {
			before := s.heap.len()
			s.heap.keep(func(e *due) bool { return e.To != viaTimer || s.slots[e.A].gen == e.B })
			s.dead -= before - s.heap.len()
		}
		return true
	}
	return false
}

func (s *Sim) freeSlot(i int32) {
	s.slots[i].gen++
	s.free = append(s.free, i)
}

func (s *Sim) number() uint64 { s.seq++; return s.seq }

// findFirst looks for the lane with the earliest head.
func (s *Sim) findFirst() {
	s.next = never
	for i := range s.lanes {
		if head := s.lanes[i].head; head.before(s.next) {
			s.first, s.next = i, head
		}
	}
}

// Stop ends the run after the event in hand and its continuations. What is queued stays queued: a later Run goes on there.
func (s *Sim) Stop() { s.stopped = true }

// Run handles every event due before or at end, in order, and then sets the clock to end. It ends early when Stop is called;
// the clock then stays where it is. With end Forever it runs until nothing is left and leaves the clock at the last event.
func (s *Sim) Run(end Time) {
	for !s.RunSome(end, math.MaxInt) {
	}
}

// RunSome is Run for at most n events, continuations included: it reports whether the run is over. It gives a caller the chance to
// look up from long work, even if that goes in circles.
func (s *Sim) RunSome(end Time, n int) bool {
	if !s.rest.any { // else the last event goes on, and what it asked for holds
		s.stopped = false
	}
	for ; n > 0; n-- {
		var ev Event
		if s.rest.any {
			ev = s.rest.take()
		} else {
			if s.stopped {
				return true
			}
			e, ok := s.take(end)
			if !ok {
				if end != Forever {
					s.now = max(s.now, end)
				}
				return true
			}
			s.now, ev = e.at, e.Event
		}
		s.fired++
		s.actors[ev.To].Handle(ev)
		if s.Check != nil && !s.rest.any {
			s.Check()
		}
	}
	return s.stopped && !s.rest.any
}

// take removes the next event that was not cancelled.
func (s *Sim) take(end Time) (e due, ok bool) {
	for {
		if s.chooser == nil {
			e, ok = s.earliest(end)
		} else {
			e, ok = s.choose(end)
		}
		if !ok || e.To != viaTimer {
			return e, ok
		}
		if e.Event, ok = s.resolve(e.Event); ok {
			return e, true
		}
	}
}

// earliest removes the first event in the order (At, seq), if it is due by end: the least of the heads of the heap, the
// events due now and the lanes.
func (s *Sim) earliest(end Time) (due, bool) {
	const heap, soon, lanes = 0, 1, 2
	first, from, p := s.heap.min(), heap, never
	if first != nil {
		p = first.place
	}
	if !s.soon.empty() {
		if e := s.soon.front(); e.before(p) {
			first, from, p = e, soon, e.place
		}
	}
	if len(s.lanes) > 0 && s.next.before(p) {
		first, from, p = s.lanes[s.first].ring.Front(), lanes, s.next
	}
	if p.at > end || first == nil {
		return due{}, false
	}
	e := *first
	switch from {
	case heap:
		s.heap.drop()
	case soon:
		s.soon.drop()
	case lanes:
		l := &s.lanes[s.first]
		l.ring.Drop()
		l.trim()
		s.findFirst()
	}
	return e, true
}

// choose removes the event that the Chooser wants first, of all that are due at the earliest instant or within the window
// after it.
func (s *Sim) choose(end Time) (due, bool) {
	live := s.ready[:0]
	for _, ev := range s.ready {
		if ev.To != viaTimer || s.slots[ev.A].gen == ev.B {
			live = append(live, ev)
		} else {
			s.dead--
		}
	}
	s.ready = live
	limit := end
	if len(s.ready) > 0 {
		limit = min(end, s.ready[0].at.Add(s.window))
	}
	for {
		ev, ok := s.earliest(limit)
		if !ok {
			break
		}
		if ev.To == viaTimer && s.slots[ev.A].gen != ev.B {
			s.dead--
			continue
		}
		i := len(s.ready)
		for i > 0 && ev.before(s.ready[i-1].place) {
			i--
		}
		s.ready = slices.Insert(s.ready, i, ev)
		limit = min(limit, s.ready[0].at.Add(s.window))
	}
	if len(s.ready) == 0 || s.ready[0].at > end {
		return due{}, false
	}
	i := 0
	if len(s.ready) > 1 {
		s.choices = s.choices[:0]
		for i := range s.ready {
			s.choices = append(s.choices, s.ready[i].Event)
		}
		i = s.chooser.Choose(s.choices)
	}
	next := s.ready[i]
	s.ready = slices.Delete(s.ready, i, i+1)
	next.at = max(next.at, s.now)
	return next, true
}

// resolve turns a cancellable event into the one that was asked for, or reports that it was cancelled.
func (s *Sim) resolve(e Event) (Event, bool) {
	sl := &s.slots[e.A]
	if sl.gen != e.B {
		s.dead--
		return Event{}, false
	}
	if s.freezable && s.holdBack(e) {
		return Event{}, false
	}
	s.freeSlot(e.A)
	return sl.ev, true
}
