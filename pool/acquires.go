package pool

import (
	"fmt"
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Acquire is one acquire under way.
type Acquire struct {
	Request
	Began sim.Time
	Conn  Conn      // the connection in hand: being opened or checked; NoConn
	Op    server.Op // the operation of the server that it waits for; NoOp
	Gen   int32     // tells this use of the ticket from earlier ones: what an event about it carries
	timer sim.Timer
	live  bool
}

// Acquires are the acquires of one pool that have not been answered, and the queue of those that wait. It notes their facts.
type Acquires struct {
	Waiters

	env   Env
	wordy bool // somebody wants to know when an acquire begins
	turns bool // and what it goes on with
	slots []Acquire
	free  []Ticket

	limit time.Duration // the timeout that was armed last, and its delay
	delay sim.Delay
}

// NewAcquires returns an empty set for the pool of env.
func NewAcquires(env Env) Acquires {
	return Acquires{env: env, limit: -1, wordy: record.Wants(env.Sink, record.AcquireBegan), turns: record.Wants(env.Sink, record.AcquireTurned)}
}

// Begin notes a new acquire and returns its ticket.
func (a *Acquires) Begin(r Request) Ticket {
	var t Ticket
	if n := len(a.free); n > 0 {
		t, a.free = a.free[n-1], a.free[:n-1]
	} else {
		t = Ticket(len(a.slots))
		a.slots = append(a.slots, Acquire{})
	}
	now := a.env.Sim.Now()
	q := &a.slots[t]
	q.Reply, q.Part, q.Number, q.Timeout, q.Try = r.Reply, r.Part, r.Number, r.Timeout, r.Try
	q.Began, q.Conn, q.Op, q.live = now, NoConn, server.NoOp, true
	q.Gen++
	if a.wordy {
		a.env.Sink.Note(record.Fact{At: now, Kind: record.AcquireBegan, Pool: r.Part, Request: r.Number})
	}
	return t
}

// Turn notes that the acquire goes on with a connection in hand that is opened or checked, until it waits again or ends.
func (a *Acquires) Turn(t Ticket, in record.State) {
	if a.turns {
		q := &a.slots[t]
		a.env.Sink.Note(record.Fact{At: a.env.Sim.Now(), Kind: record.AcquireTurned, Pool: q.Part, Request: q.Number, Move: record.Between(in, record.None)})
	}
}

// Get returns the acquire of a ticket; the pointer is valid until the next Begin. It panics if the acquire was answered.
func (a *Acquires) Get(t Ticket) *Acquire {
	if t < 0 || int(t) >= len(a.slots) || !a.slots[t].live {
		panic(fmt.Sprintf("pool: acquire %d is not under way", t))
	}
	return &a.slots[t]
}

// Live reports whether the acquire that had the ticket in generation gen has not been answered.
func (a *Acquires) Live(t Ticket, gen int32) bool { return a.slots[t].live && a.slots[t].Gen == gen }

// UnderWay returns how many acquires are under way, waiting or not.
func (a *Acquires) UnderWay() int { return len(a.slots) - len(a.free) }

// Enqueue lets the acquire wait behind all others.
func (a *Acquires) Enqueue(t Ticket) {
	a.Push(t)
	q := &a.slots[t]
	a.env.Sink.Note(record.Fact{At: a.env.Sim.Now(), Kind: record.WaitBegan, Pool: q.Part, Request: q.Number})
}

// Dequeue takes the one that has waited longest out of the queue, NoTicket if none waits.
func (a *Acquires) Dequeue() Ticket {
	t := a.Front()
	if t != NoTicket {
		a.Leave(t)
	}
	return t
}

// Leave takes the acquire out of the queue.
func (a *Acquires) Leave(t Ticket) {
	a.Remove(t)
	q := &a.slots[t]
	a.env.Sink.Note(record.Fact{At: a.env.Sim.Now(), Kind: record.WaitEnded, Pool: q.Part, Request: q.Number})
}

// Arm sends ev after d if the acquire has not been answered by then, or disarmed.
func (a *Acquires) Arm(t Ticket, d time.Duration, ev sim.Event) {
	if d != a.limit {
		a.limit, a.delay = d, a.env.Sim.Delay(d)
	}
	a.slots[t].timer = a.env.Sim.Arm(a.delay, ev)
}

// Disarm takes back what Arm did.
func (a *Acquires) Disarm(t Ticket) {
	a.env.Sim.Cancel(a.slots[t].timer)
	a.slots[t].timer = sim.Timer{}
}

// Grant ends an acquire with a connection.
func (a *Acquires) Grant(t Ticket, c Conn) { a.end(t, record.OK, int32(c)) }

// Fail ends an acquire without one.
func (a *Acquires) Fail(t Ticket, o record.Outcome) { a.end(t, o, server.Code(o)) }

// FailQueued ends all that wait, in the order in which they wait.
func (a *Acquires) FailQueued(o record.Outcome) {
	for t := a.Front(); t != NoTicket; t = a.Front() {
		a.Fail(t, o)
	}
}

func (a *Acquires) end(t Ticket, o record.Outcome, b int32) {
	q := a.Get(t)
	if a.Queued(t) {
		a.Leave(t)
	}
	if q.timer != (sim.Timer{}) {
		a.env.Sim.Cancel(q.timer)
	}
	now := a.env.Sim.Now()
	a.env.Sink.Note(record.Fact{At: now, Kind: record.AcquireEnded, Pool: q.Part, Request: q.Number, Outcome: o, Took: now.Sub(q.Began)})
	a.env.Sim.Answer(q.Reply, b)
	q.live, q.timer = false, sim.Timer{}
	a.free = append(a.free, t)
}
