package workload

import (
	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
)

// threads are what requests run on: a count and a queue of slots, first come first served.
type threads struct {
	limit int
	busy  int
	queue pool.Waiters
}

// wantThread lets a request go on as soon as it has a thread.
func (d *Driver) wantThread(i int32) {
	s := &d.slots[i]
	s.state, s.since = threading, d.env.Sim.Now()
	if t := d.threads; t.busy < t.limit {
		t.busy++
		s.thread = true
		d.inThread(i)
	} else {
		if d.wordy {
			d.env.Sink.Note(record.Fact{At: s.since, Kind: record.ThreadWanted, Pool: d.env.Index, Request: s.number})
		}
		t.queue.Push(pool.Ticket(i))
	}
}

// inThread goes on with a request that has its thread: from its first step, or where it left the last one.
func (d *Driver) inThread(i int32) {
	if d.slots[i].pc < 0 {
		d.attempt(i)
	} else {
		d.advance(i)
	}
}

// leaveThread gives the thread of a request to the one that has waited longest, which is woken.
func (d *Driver) leaveThread(i int32) {
	s, t := &d.slots[i], d.threads
	if !s.thread {
		return
	}
	s.thread = false
	next := t.queue.Pop()
	if next == pool.NoTicket {
		t.busy--
		return
	}
	n := &d.slots[next]
	n.thread = true
	d.env.Sim.Soon(sim.Event{To: d.id, Kind: threaded, A: int32(next), B: int32(n.number)})
}

// threadsStuck reports whether all threads are taken, by requests that wait for a connection.
func (d *Driver) threadsStuck() bool {
	for i := range d.slots {
		if s := &d.slots[i]; s.thread && s.state != acquiring {
			return false
		}
	}
	return d.threads.busy == d.threads.limit
}
