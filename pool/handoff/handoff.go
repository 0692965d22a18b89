// Package handoff models a bounded pool with an explicit queue of waiters and direct hand-off, as a published study built it for
// threads and a database over blocking sockets: one lock, a ledger, a queue of idle connections, a queue of waiters.
//
//	           acquire                                      return
//	              |                                            |
//	  idle? ------+--> too old: Closing, then the next         v
//	   |          |                                        Returning: rolled back and reset, a round trip
//	   | to be    | good                                       |
//	   v tested   v                                            +--> failed, broken or pool closed: Closing, then
//	Checking --> InUse                                         |      the slot is a create permit for the first waiter
//	   | fails                                                 +--> somebody waits: InUse, granted to the first waiter
//	   +--> Closing, then the next                             +--> nobody waits: Idle
//	  none idle, total < max_total: Opening (reserved first) --> InUse, or create_failed and a permit to the first waiter
//	  otherwise: wait, until granted a connection or a permit to create one
//
// The ledger: total = idle + borrowed + creating, and never more than max_total. Connections that are tested, reset or closed
// count as borrowed; a slot is reserved before its connection is opened, and free again when its connection is closed.
//
// Nobody overtakes: new arrivals see only idle connections and spare capacity, and while somebody waits there is neither. What
// becomes free is granted to the waiter at the head of the queue at once, and waits for that waiter to wake up.
//
// A woken waiter has the lock again only after WakeDelay. So a grant can be written when the deadline has passed and the waiter
// is on its way to say so. With GrantWins it looks at the grant first: a connection is taken, late as it is; a permit goes to the
// next, for there is no time left to connect. With DeadlineFirst, the bug on purpose, it leaves, and what it was granted stays
// on the ledger for ever; a Leaked fact is noted, of which the real pool knows nothing.
//
// An acquire ends in OK, AcquireTimeout, Cancelled (interrupted), PoolIsClosed or CreateFailed; a PoolNote then has the outcome
// of the connect. It never lasts beyond its deadline but for WakeDelay: a connect under way then is given up, its slot is free
// for the next; a connection under test then is as good as dead, and is closed. Neither is the acquire's any more: one that
// failed holds nothing. The same goes for an interrupt; a connection that was granted goes to the next waiter or is idle, a
// permit goes to the next. A try is an acquire with a timeout of 0, and fails with AcquireTimeout: it takes the idle connection
// whose turn it is if that can be lent without a round trip, and opens none.
//
// Idle connections are lent in the order in which they became idle. MaxLifetime is looked at there only: a connection handed
// from borrower to waiter grows as old as it likes.
//
// Each loan has a lease number (pool.Leases), so a second or stale return changes nothing: it is answered Rejected, and noted as
// a PoolNote with that outcome. Session knows nothing of a loan that has ended. The pool is Stateful: with Reset off, what a
// borrower leaves in its session is there for the next, which is noted as SessionStateLeaked.
//
// With LeakDetection each loan has a timer. A loan that lasts longer than that raises an alarm, a PoolNote with the outcome LeakAlarm:
// the detector measures how long a connection is out of the pool, and knows of leaks nothing else. A return after the alarm takes it
// back, which is noted as FalseLeakAlarm.
//
// A return is answered when its reset or close is done. Discard, CloseOnDrop and Broken are a return of a connection that was
// marked broken (found dead, for the last: it gets no goodbye). The real pool has no Detach; here it frees the slot.
//
// Close: later acquires and all waiters fail at once, granted ones too if they have not woken yet; idle connections are closed,
// others when they are free. It ends when no connection is left, or after CloseGrace; the B of its answer is the number of
// connections not returned then.
//
// Times are sim.Time, waits time.Duration. Cancelling a statement is between workload and server: the pool sees the return.
package handoff

import (
	"fmt"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/fifo"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// States is the state machine of a connection, an edge a line.
var States = []string{
	"none -> opening: a slot is reserved by an acquire, or granted to the first waiter as a permit",
	"opening -> in_use: the connect succeeded",
	"opening -> none: the connect failed or was given up, or the permit came too late; the slot goes to the first waiter",
	"opening -> closing: the pool was closed meanwhile",
	"idle -> in_use: it is the longest idle",
	"idle -> checking: it is, and has to be tested; or the background validation tests it",
	"idle -> closing: it is, and too old; or the pool is closed",
	"checking -> in_use: it is good",
	"checking -> idle: the background validation found it good",
	"checking -> closing: it is dead, or the acquire ended meanwhile",
	"in_use -> returning: its borrower gives it back; or the waiter that it was granted to has left",
	"in_use -> none: it was detached",
	"returning -> in_use: granted to the first waiter, who wakes",
	"returning -> idle: nobody waits",
	"returning -> closing: the reset failed, it was marked broken, or the pool is closed",
	"closing -> none: closed; the slot goes to the acquire that found it useless, or to the first waiter",
}

const (
	expired   sim.Kind = iota // A: ticket; its deadline has come
	regained                  // A: ticket, B: its generation; the woken waiter has the lock again
	connected                 // A: ticket, B: session or code
	validated                 // A: ticket, B: code
	reset                     // A: connection, B: code
	closed                    // A: connection
	sweep                     // a round of the background validation begins
	swept                     // A: connection, B: code
	graceOver                 // close waits no longer
	overdue                   // A: connection; its loan has lasted for LeakDetection
)

// Pool is the model. It implements pool.Pool, pool.Stateful and pool.Lessor.
type Pool struct {
	env      pool.Env
	opt      Options
	id       sim.ActorID
	table    pool.Table
	places   []place // what the table does not know, by connection
	leases   pool.Leases
	acquires pool.Acquires
	idle     fifo.Ring[pool.Conn]
	wakeUp   sim.Delay
	alarm    sim.Delay
	leaked   int // slots that are nobody's for ever

	unswept int // idle connections that the round of background validation has yet to test
	sweeper sim.Timer

	closed bool
	closer sim.Reply // waits for the connections to come back
	grace  sim.Timer
}

// place is what the pool knows of a connection beside the table.
type place struct {
	whose pool.Ticket       // the acquire that has it in hand, or has been granted it; NoTicket
	lost  bool              // it is nobody's for ever
	left  pool.SessionState // what borrowers have left in the session
	reply sim.Reply         // for the return under way

	alarm sim.Timer // of the loan; zero when it has gone off
}

var nobody = sim.Reply{To: sim.Nobody}

// New returns a pool with valid options.
func New(env pool.Env, opt Options) *Pool {
	p := &Pool{
		env: env, opt: opt, table: pool.NewTable(env), acquires: pool.NewAcquires(env), leases: pool.NewLeases(opt.MaxTotal),
		wakeUp: env.Sim.Delay(opt.WakeDelay), alarm: env.Sim.Delay(opt.LeakDetection), closer: nobody,
	}
	p.id = env.Sim.Add(p)
	return p
}

// Start implements pool.Pool: the pool opens nothing by itself.
func (p *Pool) Start(r sim.Reply) {
	p.rest()
	p.env.Sim.Answer(r, 0)
}

// Acquire implements pool.Pool.
func (p *Pool) Acquire(r pool.Request) pool.Ticket {
	t := p.acquires.Begin(r)
	if r.Try && !p.closed {
		p.try(t)
		return t
	}
	gen := p.acquires.Get(t).Gen
	p.take(t)
	if p.acquires.Live(t, gen) {
		p.acquires.Arm(t, p.limit(p.acquires.Get(t)), sim.Event{To: p.id, Kind: expired, A: int32(t)})
	}
	return t
}

// limit returns how long the acquire may last.
func (p *Pool) limit(q *pool.Acquire) time.Duration { return q.Limit(p.opt.AcquireTimeout) }

// try is an acquire that has no time to test or to open a connection.
func (p *Pool) try(t pool.Ticket) {
	if p.idle.Len() > 0 {
		if c := *p.idle.Front(); !p.tooOld(c) && !p.toTest(c) {
			p.idle.Pop()
			p.lend(t, c, record.Idle)
			return
		}
	}
	p.acquires.Fail(t, record.AcquireTimeout)
}

// take goes on with an acquire that has nothing in hand.
func (p *Pool) take(t pool.Ticket) {
	switch {
	case p.closed:
		p.acquires.Fail(t, record.PoolIsClosed)
	case p.idle.Len() > 0:
		p.takeIdle(t, p.idle.Pop())
	case p.table.Size() < p.opt.MaxTotal:
		p.reserve(t)
		p.create(t)
	default:
		p.acquires.Enqueue(t)
	}
}

func (p *Pool) takeIdle(t pool.Ticket, c pool.Conn) {
	switch {
	case p.tooOld(c):
		p.acquires.Turn(t, record.Checking)
		p.hold(t, c)
		p.destroy(c, record.Idle, false)
	case p.toTest(c):
		p.acquires.Turn(t, record.Checking)
		p.hold(t, c)
		p.table.Move(c, record.Idle, record.Checking)
		p.acquires.Get(t).Op = p.env.Server.Ping(p.table.Entry(c).Session, sim.Reply{To: p.id, Kind: validated, A: int32(t)})
	default:
		p.lend(t, c, record.Idle)
	}
}

func (p *Pool) tooOld(c pool.Conn) bool {
	return p.opt.MaxLifetime > 0 && p.env.Sim.Now().Sub(p.table.Entry(c).Born) > p.opt.MaxLifetime
}

func (p *Pool) toTest(c pool.Conn) bool {
	switch p.opt.Validation {
	case Always:
		return true
	case AfterIdle:
		return p.env.Sim.Now().Sub(p.table.Entry(c).IdleSince) > p.opt.ValidateAfterIdle
	}
	return false
}

// hold puts c into the hands of an acquire; letGo takes it out.
func (p *Pool) hold(t pool.Ticket, c pool.Conn) {
	p.acquires.Get(t).Conn = c
	p.places[c].whose = t
}

func (p *Pool) letGo(c pool.Conn) pool.Ticket {
	t := p.places[c].whose
	p.places[c].whose = pool.NoTicket
	if t != pool.NoTicket {
		q := p.acquires.Get(t)
		q.Conn, q.Op = pool.NoConn, server.NoOp
	}
	return t
}

// reserve takes a slot for a connection that the acquire will open.
func (p *Pool) reserve(t pool.Ticket) {
	c := p.table.Add(record.Opening)
	for int(c) >= len(p.places) {
		p.places = append(p.places, place{})
	}
	p.places[c] = place{whose: pool.NoTicket, reply: nobody}
	p.hold(t, c)
}

func (p *Pool) create(t pool.Ticket) {
	p.acquires.Turn(t, record.Opening)
	who := server.Caller{Pool: p.env.Index, Role: p.env.Role}
	op := p.env.Server.Connect(who, sim.Reply{To: p.id, Kind: connected, A: int32(t)})
	p.acquires.Get(t).Op = op
}

// lend ends an acquire with a connection.
func (p *Pool) lend(t pool.Ticket, c pool.Conn, from record.State) {
	q := p.acquires.Get(t)
	p.letGo(c)
	if from == record.InUse { // granted before
		p.table.Entry(c).LentAt = p.env.Sim.Now()
	} else {
		p.table.Lend(c, from, q.Part, q.Number)
	}
	if p.places[c].left != 0 {
		p.note(record.SessionStateLeaked, c, q.Part, q.Number)
	}
	if p.opt.LeakDetection > 0 {
		p.places[c].alarm = p.env.Sim.Arm(p.alarm, sim.Event{To: p.id, Kind: overdue, A: int32(c)})
	}
	p.acquires.Grant(t, p.leases.Begin(c))
}

// Handle implements sim.Actor.
func (p *Pool) Handle(ev sim.Event) {
	switch ev.Kind {
	case expired:
		p.expired(pool.Ticket(ev.A))
	case regained:
		if t := pool.Ticket(ev.A); p.acquires.Live(t, ev.B) {
			p.regained(t)
		}
	case connected:
		p.connected(pool.Ticket(ev.A), ev.B)
	case validated:
		p.validated(pool.Ticket(ev.A), ev.B)
	case reset:
		p.reset(pool.Conn(ev.A), ev.B)
	case closed:
		p.destroyed(pool.Conn(ev.A))
	case sweep:
		p.unswept = p.idle.Len()
		p.sweepNext()
	case swept:
		p.swept(pool.Conn(ev.A), ev.B)
	case graceOver:
		p.closeEnds()
	case overdue:
		p.overdue(pool.Conn(ev.A))
	}
}

// connected: Opening -> InUse, or the slot is free for the first waiter.
func (p *Pool) connected(t pool.Ticket, b int32) {
	q := p.acquires.Get(t)
	c := q.Conn
	q.Op = server.NoOp
	if b < 0 {
		p.note(server.OutcomeOf(b), pool.NoConn, q.Part, q.Number)
		p.giveUp(t, record.CreateFailed)
		return
	}
	s := server.Session(b)
	p.table.Opened(c, s, p.env.Server.Number(s))
	if p.closed {
		p.letGo(c)
		p.acquires.Fail(t, record.PoolIsClosed)
		p.destroy(c, record.Opening, false)
		return
	}
	p.lend(t, c, record.Opening)
}

// validated: Checking -> InUse, or -> Closing, and the acquire goes on to the next.
func (p *Pool) validated(t pool.Ticket, b int32) {
	q := p.acquires.Get(t)
	c := q.Conn
	q.Op = server.NoOp
	switch {
	case b < 0:
		p.destroy(c, record.Checking, true)
	case p.closed:
		p.destroy(c, record.Checking, false)
	default:
		p.lend(t, c, record.Checking)
	}
}

// destroy closes a connection, which keeps its slot until that is done. There is no goodbye to a dead one.
func (p *Pool) destroy(c pool.Conn, from record.State, dead bool) {
	p.table.Move(c, from, record.Closing)
	s, r := p.table.Entry(c).Session, sim.Reply{To: p.id, Kind: closed, A: int32(c)}
	if dead {
		p.env.Server.CloseHard(s, r)
	} else {
		p.env.Server.Close(s, r)
	}
}

// destroyed: Closing -> None. The acquire that found the connection useless goes on with the slot; nobody's slot is offered.
func (p *Pool) destroyed(c pool.Conn) {
	t := p.letGo(c)
	p.table.Remove(c, record.Closing)
	p.answer(c)
	if t != pool.NoTicket {
		p.take(t)
	}
	p.offer()
}

// answer tells the return of c, if one waits, that it is over.
func (p *Pool) answer(c pool.Conn) {
	p.env.Sim.Answer(p.places[c].reply, 0)
	p.places[c].reply = nobody
}

// offer grants a spare slot, if there is one, to the first waiter: a permit to create a connection.
func (p *Pool) offer() {
	switch {
	case p.closed:
		p.checkClosed()
	case p.table.Size() < p.opt.MaxTotal:
		if t := p.acquires.Dequeue(); t != pool.NoTicket {
			p.reserve(t)
			p.wake(t)
		}
	}
}

// pass gives a connection that has become free to the first waiter, or else it is idle.
func (p *Pool) pass(c pool.Conn, from record.State) {
	if p.closed {
		p.destroy(c, from, false)
		return
	}
	if t := p.acquires.Dequeue(); t != pool.NoTicket {
		p.hold(t, c)
		q := p.acquires.Get(t)
		p.table.Lend(c, from, q.Part, q.Number)
		p.wake(t)
	} else {
		p.table.Move(c, from, record.Idle)
		p.table.Entry(c).IdleSince = p.env.Sim.Now()
		p.idle.Push(c)
	}
	p.answer(c)
}

// wake wakes the thread of a waiter, which has the lock again after WakeDelay.
func (p *Pool) wake(t pool.Ticket) {
	p.env.Sim.Arm(p.wakeUp, sim.Event{To: p.id, Kind: regained, A: int32(t), B: p.acquires.Get(t).Gen})
}

// expired: the deadline has come. A waiter is woken, and may be granted something until it has the lock; one that has been
// granted something is on its way already.
func (p *Pool) expired(t pool.Ticket) {
	switch {
	case p.acquires.Queued(t):
		p.wake(t)
	case p.granted(t):
	default:
		p.giveUp(t, record.AcquireTimeout)
	}
}

// granted reports whether the acquire, which does not wait, has been granted something and has not taken it yet.
func (p *Pool) granted(t pool.Ticket) bool {
	q := p.acquires.Get(t)
	return q.Op == server.NoOp && p.table.Entry(q.Conn).State() != record.Closing
}

// regained: the waiter has the lock again and looks why it was woken.
func (p *Pool) regained(t pool.Ticket) {
	q := p.acquires.Get(t)
	late := p.env.Sim.Now() >= q.Began.Add(p.limit(q))
	switch {
	case late && p.opt.Race == DeadlineFirst:
		p.forget(t)
	case p.closed:
		p.giveUp(t, record.PoolIsClosed)
	case p.acquires.Queued(t):
		p.giveUp(t, record.AcquireTimeout)
	case p.table.Entry(q.Conn).State() == record.InUse:
		p.lend(t, q.Conn, record.InUse)
	case late:
		p.giveUp(t, record.AcquireTimeout)
	default:
		p.create(t)
	}
}

// forget is the bug of DeadlineFirst: the acquire fails and whatever it was granted is left as it is.
func (p *Pool) forget(t pool.Ticket) {
	q := p.acquires.Get(t)
	if c := q.Conn; c != pool.NoConn {
		p.letGo(c)
		p.lose(c, q.Part, q.Number)
	}
	p.acquires.Fail(t, record.AcquireTimeout)
}

// lose: nobody has the connection, or the slot, any more, and nobody will give it back.
func (p *Pool) lose(c pool.Conn, part int16, request int64) {
	p.places[c].lost = true
	p.leaked++
	p.env.NoteHeld(part, record.Fact{Kind: record.Leaked, Conn: p.table.Entry(c).Number, Request: request})
}

// giveUp ends an acquire without a connection. What it has in hand goes to others.
func (p *Pool) giveUp(t pool.Ticket, o record.Outcome) {
	q := p.acquires.Get(t)
	c, op := q.Conn, q.Op
	if c == pool.NoConn {
		p.acquires.Fail(t, o)
		return
	}
	p.letGo(c)
	p.acquires.Fail(t, o)
	switch p.table.Entry(c).State() {
	case record.InUse: // granted
		p.table.Move(c, record.InUse, record.Returning)
		p.table.Entry(c).Request = -1
		p.pass(c, record.Returning)
	case record.Opening:
		if op != server.NoOp {
			p.env.Server.Abort(op)
		}
		p.table.Remove(c, record.Opening)
		p.offer()
	case record.Checking:
		p.destroy(c, record.Checking, true)
	case record.Closing: // its slot is offered when it is closed
	}
}

// Cancel implements pool.Pool: an interrupt.
func (p *Pool) Cancel(t pool.Ticket) { p.giveUp(t, record.Cancelled) }

// overdue: the loan has lasted for LeakDetection, or its connection was lost meanwhile.
func (p *Pool) overdue(c pool.Conn) {
	p.places[c].alarm = sim.Timer{}
	e := p.table.Entry(c)
	p.note(record.LeakAlarm, c, e.Part, e.Request)
}

// calm ends the watch over a loan that is given back. If the alarm has gone off, it was a false one.
func (p *Pool) calm(c pool.Conn) {
	if p.opt.LeakDetection > 0 && !p.env.Sim.Cancel(p.places[c].alarm) {
		e := p.table.Entry(c)
		p.note(record.FalseLeakAlarm, c, e.Part, e.Request)
	}
}

// Return implements pool.Pool.
func (p *Pool) Return(loan pool.Conn, how pool.End, r sim.Reply) {
	c, ok := p.leases.Conn(loan)
	if !ok {
		p.note(record.Rejected, pool.NoConn, p.env.Index, -1)
		p.env.Sim.Answer(r, server.Code(record.Rejected))
		return
	}
	p.leases.End(c)
	if how != pool.Leak {
		p.calm(c)
	}
	switch how {
	case pool.Leak:
		e := p.table.Entry(c)
		p.lose(c, e.Part, e.Request)
		p.env.Sim.Answer(r, 0)
	case pool.Detach:
		p.table.GiveBack(c, record.None)
		p.table.Forget(c)
		p.env.Sim.Answer(r, 0)
		p.offer()
	default:
		p.table.GiveBack(c, record.Returning)
		p.places[c].reply = r
		p.returning(c, how)
	}
}

// returning is what the returning thread does.
func (p *Pool) returning(c pool.Conn, how pool.End) {
	switch {
	case how != pool.Release:
		p.destroy(c, record.Returning, how == pool.Broken)
	case p.opt.Reset && !p.closed:
		p.env.Server.Ping(p.table.Entry(c).Session, sim.Reply{To: p.id, Kind: reset, A: int32(c)})
	default:
		p.pass(c, record.Returning)
	}
}

// reset: the session has been rolled back and reset, or is dead.
func (p *Pool) reset(c pool.Conn, b int32) {
	if b < 0 {
		p.destroy(c, record.Returning, true)
		return
	}
	if p.places[c].left&pool.OpenTransaction != 0 {
		if t, ok := p.env.Server.(server.Transactional); ok {
			t.Rollback(p.table.Entry(c).Session)
		}
	}
	p.places[c].left = 0
	p.pass(c, record.Returning)
}

// Lent implements pool.Lessor.
func (p *Pool) Lent(loan pool.Conn) bool {
	_, ok := p.leases.Conn(loan)
	return ok
}

// Session implements pool.Pool.
func (p *Pool) Session(loan pool.Conn) server.Session {
	if c, ok := p.leases.Conn(loan); ok {
		return p.table.Entry(c).Session
	}
	return server.NoSession
}

// Dirty implements pool.Stateful.
func (p *Pool) Dirty(loan pool.Conn, what pool.SessionState) {
	if c, ok := p.leases.Conn(loan); ok {
		p.places[c].left |= what
	}
}

// State implements pool.Stateful.
func (p *Pool) State(loan pool.Conn) pool.SessionState {
	if c, ok := p.leases.Conn(loan); ok {
		return p.places[c].left
	}
	return 0
}

// rest lets the background validation, if there is one, pause until its next round.
func (p *Pool) rest() {
	if p.opt.Validation == Background && !p.closed {
		p.sweeper = p.env.Sim.ArmAt(p.env.Sim.Now().Add(p.opt.ValidationPeriod), sim.Event{To: p.id, Kind: sweep})
	}
}

// sweepNext tests the next idle connection, the longest idle first, or ends the round.
func (p *Pool) sweepNext() {
	if p.unswept == 0 || p.idle.Len() == 0 {
		p.rest()
		return
	}
	p.unswept--
	c := p.idle.Pop()
	p.table.Move(c, record.Idle, record.Checking)
	p.env.Server.Ping(p.table.Entry(c).Session, sim.Reply{To: p.id, Kind: swept, A: int32(c)})
}

func (p *Pool) swept(c pool.Conn, b int32) {
	if b < 0 {
		p.destroy(c, record.Checking, true)
	} else {
		p.pass(c, record.Checking)
	}
	p.sweepNext()
}

// Close implements pool.Pool. A second close does not wait.
func (p *Pool) Close(r sim.Reply) {
	if p.closed {
		p.env.Sim.Answer(r, p.notReturned())
		return
	}
	p.closed, p.closer = true, r
	p.env.Note(record.Fact{Kind: record.PoolClosed, Request: -1})
	p.env.Sim.Cancel(p.sweeper)
	for t := p.acquires.Front(); t != pool.NoTicket; t = p.acquires.Next(t) {
		p.wake(t)
	}
	for p.idle.Len() > 0 {
		p.destroy(p.idle.Pop(), record.Idle, false)
	}
	p.grace = p.env.Sim.ArmAt(p.env.Sim.Now().Add(p.opt.CloseGrace), sim.Event{To: p.id, Kind: graceOver})
	p.checkClosed()
}

// checkClosed ends the close when no connection is left.
func (p *Pool) checkClosed() {
	if p.table.Size() == 0 {
		p.env.Sim.Cancel(p.grace)
		p.closeEnds()
	}
}

func (p *Pool) closeEnds() {
	p.env.Sim.Wake(p.closer, p.notReturned())
	p.closer = nobody
}

// notReturned returns how many connections are still lent, or lost.
func (p *Pool) notReturned() int32 { return int32(p.table.Count(record.InUse)) }

// note notes something worth counting about a request of a part, or none.
func (p *Pool) note(o record.Outcome, c pool.Conn, part int16, request int64) {
	f := record.Fact{Kind: record.PoolNote, Request: request, Outcome: o}
	if c != pool.NoConn {
		f.Conn = p.table.Entry(c).Number
	}
	p.env.NoteFor(part, f)
}

// Stats implements pool.Pool. InUse is the borrowed of the ledger.
func (p *Pool) Stats() pool.Stats {
	total, idle, creating := p.table.Size(), p.table.Count(record.Idle), p.table.Count(record.Opening)
	return pool.Stats{Size: total, Idle: idle, InUse: total - idle - creating, Waiting: p.acquires.Len(), Leaked: p.leaked}
}

// Verify implements pool.Pool: the ledger is right, nobody waits while something is free, and every connection that is not idle is
// in the hands of exactly one borrower, acquire or task, or known to be lost.
func (p *Pool) Verify() {
	p.table.Verify()
	count := p.table.Count
	borrowed := count(record.Checking) + count(record.InUse) + count(record.Returning) + count(record.Closing)
	total := count(record.Idle) + borrowed + count(record.Opening)
	if total != p.table.Size() || total > p.opt.MaxTotal {
		panic(fmt.Sprintf("handoff: %d idle + %d borrowed + %d creating, total %d of at most %d", count(record.Idle), borrowed,
			count(record.Opening), p.table.Size(), p.opt.MaxTotal))
	}
	if p.idle.Len() != count(record.Idle) {
		panic(fmt.Sprintf("handoff: %d connections in the queue, %d idle", p.idle.Len(), count(record.Idle)))
	}
	if n := p.acquires.Len(); n > 0 && !p.closed && (count(record.Idle) > 0 || total < p.opt.MaxTotal) {
		panic(fmt.Sprintf("handoff: %d wait while %d connections are idle and %d of %d exist", n, count(record.Idle), total, p.opt.MaxTotal))
	}
	lost := 0
	p.table.Each(func(c pool.Conn, e *pool.Entry) {
		p.verifyPlace(c, e)
		if p.places[c].lost {
			lost++
		}
	})
	if lost != p.leaked {
		panic(fmt.Sprintf("handoff: %d slots are lost, the count says %d", lost, p.leaked))
	}
}

// verifyPlace panics unless the connection is where its state says.
func (p *Pool) verifyPlace(c pool.Conn, e *pool.Entry) {
	pl := &p.places[c]
	inHand := pl.whose != pool.NoTicket
	if inHand && p.acquires.Get(pl.whose).Conn != c {
		panic(fmt.Sprintf("handoff: connection %d is said to be in the hands of acquire %d", c, pl.whose))
	}
	hands := 0
	for _, h := range []bool{inHand, p.leases.Lent(c), pl.lost} {
		if h {
			hands++
		}
	}
	switch e.State() {
	case record.InUse, record.Opening:
		if hands != 1 {
			panic(fmt.Sprintf("handoff: connection %d is %v in %d hands", c, e.State(), hands))
		}
	case record.Checking, record.Closing: // an acquire's, or that of a task of the pool
	default:
		if hands != 0 {
			panic(fmt.Sprintf("handoff: connection %d is %v in %d hands", c, e.State(), hands))
		}
	}
}
