// Package asyncio models the semaphore of a published asyncio starvation simulator, which stands for a pool: a counting semaphore
// of max_size permits, and tasks that sometimes forget to release. There are no connections: a slot is a slot.
//
//	          acquire                     release
//	             |                           |
//	a slot free? +--> InUse                  +--> somebody waits: InUse, the first waiter is woken, and no other
//	             |                           +--> nobody waits: Idle
//	             +--> wait, at most checkout_timeout
//
// A leak (pool.Leak) skips the release: the slot stays InUse and the capacity falls by one, for ever. A release does not look
// whether its caller has a permit: one too many adds a slot, and the capacity rises above max_size. The real semaphore says
// nothing; here it is noted as a PoolNote with the outcome OverReleased, and answered OK all the same.
//
// A slot that was handed to a waiter beats a deadline that is due; a waiter that is cancelled in between hands it on. Times are
// sim.Time, waits time.Duration. Acquires end in OK, AcquireTimeout, Cancelled, NoneAvailable (Try) or PoolIsClosed. All ways to
// end a loan but Leak are a release. The semaphore cannot be closed; Close here turns later acquires and all waiters away.
package asyncio

import (
	"fmt"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Options are those of the simulator; DefaultOptions returns the defaults of its load test.
type Options struct {
	MaxSize         int           `yaml:"max_size" doc:"permits; at least 1; default 10"`
	CheckoutTimeout time.Duration `yaml:"checkout_timeout" doc:"longest wait for a permit where the request gives none; above 0; default 500ms"`
}

// DefaultOptions returns the defaults.
func DefaultOptions() Options { return Options{MaxSize: 10, CheckoutTimeout: 500 * time.Millisecond} }

const (
	maxSize  = 100_000
	maxSlots = 1 << 20 // releases beyond it are noted and add nothing
)

// Validate reports the mistakes in o.
func (o Options) Validate(bad func(path, message string)) {
	if o.MaxSize < 1 || o.MaxSize > maxSize {
		bad("max_size", fmt.Sprintf("want 1 to %d permits, have %d", maxSize, o.MaxSize))
	}
	if o.CheckoutTimeout <= 0 {
		bad("checkout_timeout", fmt.Sprintf("want a duration above 0s, have %v", o.CheckoutTimeout))
	}
}

// States is the state machine of a slot, an edge a line.
var States = []string{
	"none -> idle: the semaphore is made; or it is released once too often",
	"idle -> in_use: acquire; or handed to the first waiter",
	"in_use -> idle: release; a leaked slot stays in_use",
}

const (
	handed   sim.Kind = iota // A: ticket that was handed a slot, B: its generation
	timedOut                 // A: ticket
)

// Pool is the model. It implements pool.Pool and pool.Lessor.
type Pool struct {
	env      pool.Env
	opt      Options
	id       sim.ActorID
	table    pool.Table // of slots
	leases   pool.Leases
	acquires pool.Acquires
	free     []pool.Conn
	handed   int // slots on their way to a waiter
	leaked   int
	extra    int // slots made by releases once too often
	closed   bool
}

// New returns a pool with valid options.
func New(env pool.Env, opt Options) *Pool {
	p := &Pool{env: env, opt: opt, table: pool.NewTable(env), acquires: pool.NewAcquires(env), leases: pool.NewLeases(maxSlots)}
	p.id = env.Sim.Add(p)
	return p
}

// Start implements pool.Pool: it makes the semaphore.
func (p *Pool) Start(r sim.Reply) {
	for range p.opt.MaxSize {
		p.free = append(p.free, p.table.Add(record.Idle))
	}
	p.env.Sim.Answer(r, 0)
}

// Acquire implements pool.Pool.
func (p *Pool) Acquire(r pool.Request) pool.Ticket {
	t := p.acquires.Begin(r)
	switch {
	case p.closed:
		p.acquires.Fail(t, record.PoolIsClosed)
	case len(p.free) > 0:
		c := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		p.table.Lend(c, record.Idle, r.Part, r.Number)
		p.acquires.Grant(t, p.leases.Begin(c))
	case r.Try:
		p.acquires.Fail(t, record.NoneAvailable)
	default:
		p.acquires.Enqueue(t)
		p.acquires.Arm(t, r.Limit(p.opt.CheckoutTimeout), sim.Event{To: p.id, Kind: timedOut, A: int32(t)})
	}
	return t
}

// Handle implements sim.Actor.
func (p *Pool) Handle(ev sim.Event) {
	t := pool.Ticket(ev.A)
	switch ev.Kind {
	case handed:
		if p.acquires.Live(t, ev.B) { // not cancelled meanwhile
			p.woken(t)
		}
	case timedOut:
		p.acquires.Fail(t, record.AcquireTimeout)
	}
}

// woken: the waiter goes on with the slot that it was handed.
func (p *Pool) woken(t pool.Ticket) {
	if p.closed {
		p.giveUp(t, record.PoolIsClosed)
		return
	}
	c := p.acquires.Get(t).Conn
	p.handed--
	p.acquires.Grant(t, p.leases.Begin(c))
}

// Cancel implements pool.Pool.
func (p *Pool) Cancel(t pool.Ticket) { p.giveUp(t, record.Cancelled) }

// giveUp ends an acquire without a slot. One that it was handed goes on.
func (p *Pool) giveUp(t pool.Ticket, o record.Outcome) {
	c := p.acquires.Get(t).Conn
	p.acquires.Fail(t, o)
	if c != pool.NoConn {
		p.handed--
		p.table.Move(c, record.InUse, record.Idle)
		p.release(c)
	}
}

// Return implements pool.Pool.
func (p *Pool) Return(loan pool.Conn, how pool.End, r sim.Reply) {
	c, lent := p.leases.Conn(loan)
	switch {
	case lent && how == pool.Leak:
		p.leases.End(c)
		p.leaked++
		e := p.table.Entry(c)
		p.env.NoteHeld(e.Part, record.Fact{Kind: record.Leaked, Request: e.Request})
	case lent:
		p.leases.End(c)
		p.table.GiveBack(c, record.Idle)
		p.release(c)
	case how != pool.Leak:
		p.overRelease()
	}
	p.env.Sim.Answer(r, 0)
}

// overRelease is a release without a permit: the semaphore counts it like any other.
func (p *Pool) overRelease() {
	p.env.Note(record.Fact{Kind: record.PoolNote, Request: -1, Outcome: record.OverReleased})
	if p.table.Size() < maxSlots {
		p.extra++
		p.release(p.table.Add(record.Idle))
	}
}

// release hands a free slot to the first waiter, and wakes that one only; or it stays free.
func (p *Pool) release(c pool.Conn) {
	t := p.acquires.Dequeue()
	if t == pool.NoTicket {
		p.free = append(p.free, c)
		return
	}
	p.acquires.Disarm(t)
	q := p.acquires.Get(t)
	q.Conn = c
	p.handed++
	p.table.Lend(c, record.Idle, q.Part, q.Number)
	p.env.Sim.Soon(sim.Event{To: p.id, Kind: handed, A: int32(t), B: q.Gen})
}

// Lent implements pool.Lessor.
func (p *Pool) Lent(loan pool.Conn) bool {
	_, ok := p.leases.Conn(loan)
	return ok
}

// Session implements pool.Pool: there are none.
func (p *Pool) Session(pool.Conn) server.Session { return server.NoSession }

// Close implements pool.Pool.
func (p *Pool) Close(r sim.Reply) {
	p.closed = true
	p.env.Note(record.Fact{Kind: record.PoolClosed, Request: -1})
	p.acquires.FailQueued(record.PoolIsClosed)
	p.env.Sim.Answer(r, 0)
}

// Stats implements pool.Pool. The capacity that is left is Size - Leaked.
func (p *Pool) Stats() pool.Stats { return p.table.Stats(p.acquires.Len(), p.leaked) }

// Verify implements pool.Pool: slots are conserved, nobody waits while one is free, and each one in use is lent, on its way to
// a waiter, or leaked.
func (p *Pool) Verify() {
	p.table.Verify()
	if n := p.table.Size(); n != 0 && n != p.opt.MaxSize+p.extra { // none before Start
		panic(fmt.Sprintf("asyncio: %d slots, want %d and %d extra", n, p.opt.MaxSize, p.extra))
	}
	if len(p.free) != p.table.Count(record.Idle) {
		panic(fmt.Sprintf("asyncio: %d slots in the list, %d idle", len(p.free), p.table.Count(record.Idle)))
	}
	if p.acquires.Len() > 0 && len(p.free) > 0 {
		panic(fmt.Sprintf("asyncio: %d wait while %d slots are free", p.acquires.Len(), len(p.free)))
	}
	if n := p.leases.Len() + p.handed + p.leaked; n != p.table.Count(record.InUse) {
		panic(fmt.Sprintf("asyncio: %d slots are in use, but %d lent, %d handed over and %d leaked", p.table.Count(record.InUse),
			p.leases.Len(), p.handed, p.leaked))
	}
}
