package sim

// yielded in the sequence number of an event puts it behind all others of its instant.
const yielded = 1 << 63

// Yield schedules ev for now, behind everything that is due now and everything that this will schedule for now: the place of
// a task that gives way to all others that are ready to run, as a cooperative runtime has it. Events that yield at one instant
// keep their order.
func (s *Sim) Yield(ev Event) {
	s.heap.push(due{place{s.now, s.number() | yielded}, ev})
}
