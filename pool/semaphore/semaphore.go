// Package semaphore models the small teaching pool of a published Rust lab: a semaphore of max permits, a mutex-protected
// vector of idle connections used as a stack, and a guard that returns its connection when it is dropped.
//
//	           get: no permit free             permit handed over
//	(caller) ------------------------> waiting ------------------+
//	    |  permit free                    | timeout              v
//	    +------------------------------------------------> permit held
//	                                      v                 | idle: pop the youngest       | none left: connect
//	                                acquire_timeout         v                              v
//	                                                  Idle -> InUse              Opening -> InUse, or the connect's error
//
// The permits bound the connections: a permit is held from the grant to the end of the loan, an idle connection holds none.
// Only the wait for a permit is under the timeout; there is no connect timeout, no idle timeout, no minimum, no background
// task and no retry. A drop pushes the connection and then gives the permit to the longest waiter; PermitFirst reverses
// that, which lets a waiter find the list empty and open one connection too many.
//
// A try is a get that does not wait for a permit; with one it connects like any other.
//
// Waiters, QueueTarget and the jitter of the lifetime are not the lab's: they are what other pools do, one thing at a time to compare.
// QueueTarget is the queue of Elixir's db_connection (see codel). With Waiters.Barging a permit that comes back is free at once: a
// waiter is woken, and may find that somebody was faster.
//
// Times are sim.Time, waits time.Duration. Acquires end in OK, AcquireTimeout, Cancelled, NoneAvailable (Try), PoolIsClosed, QueueTimeout
// (QueueTarget) or the outcome of the connect.
package semaphore

import (
	"cmp"
	"fmt"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Options are those of the lab's pool; DefaultOptions returns the defaults.
type Options struct {
	Max            int           `yaml:"max" doc:"permits: connections that may be lent or open at once; at least 1; default 8"`
	AcquireTimeout time.Duration `yaml:"acquire_timeout" doc:"longest wait for a permit where the request gives none; 0 waits for ever; default 30s"`
	MaxLifetime    time.Duration `yaml:"max_lifetime" doc:"an idle connection of this age is dropped when its turn comes; 0 never; default 30m"`
	TestOnAcquire  bool          `yaml:"test_on_acquire" doc:"is_valid makes a round trip before an idle connection is lent; default false: it only knows what the last use found"`
	PermitFirst    bool          `yaml:"permit_first" doc:"the bug on purpose: the permit is given back before the connection, so a waiter may open one too many; default false"`
	LifetimeJitter time.Duration `yaml:"lifetime_jitter" doc:"each connection lives longer by a random time of up to this; default 0s"`
	RedrawJitter   bool          `yaml:"redraw_jitter" doc:"the bug on purpose: that time is drawn anew each time that the age is looked at, not once for each connection; default false"`
	QueueTarget    time.Duration `yaml:"queue_target" doc:"if everybody has waited for longer than this in a whole queue_interval, who has waited for twice as long is dropped (CoDel, as in db_connection, which has 50ms); default 0s: nobody is"`
	QueueInterval  time.Duration `yaml:"queue_interval" doc:"with queue_target: how long the pool must be slow before it drops; default 0s, which is 1s as in db_connection"`
	Waiters        Waiters       `yaml:"waiters" doc:"how those who wait for a permit are treated; default as in the lab"`
}

// DefaultOptions returns the defaults.
func DefaultOptions() Options {
	return Options{Max: 8, AcquireTimeout: 30 * time.Second, MaxLifetime: 30 * time.Minute}
}

// maxPermits is the largest pool that the tables are made for.
const maxPermits = 1_000_000

// Validate reports the mistakes in o.
func (o Options) Validate(bad func(path, message string)) {
	if o.Max < 1 || o.Max > maxPermits {
		bad("max", fmt.Sprintf("want 1 to %d permits, have %d", maxPermits, o.Max))
	}
	if o.AcquireTimeout < 0 {
		bad("acquire_timeout", fmt.Sprintf("want a duration of at least 0s, have %v", o.AcquireTimeout))
	}
	if o.MaxLifetime < 0 {
		bad("max_lifetime", fmt.Sprintf("want a duration of at least 0s, have %v", o.MaxLifetime))
	}
	if o.LifetimeJitter < 0 {
		bad("lifetime_jitter", fmt.Sprintf("want a duration of at least 0s, have %v", o.LifetimeJitter))
	}
	if o.LifetimeJitter > 0 && o.MaxLifetime == 0 {
		bad("lifetime_jitter", "is on top of max_lifetime, and there is none")
	}
	if o.RedrawJitter && o.LifetimeJitter == 0 {
		bad("redraw_jitter", "is about lifetime_jitter, and there is none")
	}
	if o.QueueTarget < 0 {
		bad("queue_target", fmt.Sprintf("want a duration of at least 0s, have %v", o.QueueTarget))
	}
	if o.QueueInterval < 0 {
		bad("queue_interval", fmt.Sprintf("want a duration of at least 0s, have %v", o.QueueInterval))
	}
	if o.QueueInterval > 0 && o.QueueTarget == 0 {
		bad("queue_interval", "is about queue_target, and there is none")
	}
	if o.QueueTarget > 0 && o.Waiters != (Waiters{}) {
		bad("queue_target", "is for waiters that are served in the order of arrival, and handed what comes back: leave out waiters")
	}
	o.Waiters.validate(func(path, message string) { bad("waiters."+path, message) })
}

// States is the state machine of a connection, an edge a line.
var States = []string{
	"none -> opening: a permit is held and no idle connection is left",
	"opening -> in_use: the connect succeeded",
	"opening -> none: the connect failed; the caller gets its error, the permit is free",
	"idle -> in_use: the most recently returned one is popped",
	"idle -> checking: test_on_acquire makes a round trip",
	"checking -> in_use: it is valid",
	"checking -> none: it is not; the next is popped",
	"idle -> none: it is too old, or its last use found it broken",
	"in_use -> idle: the guard is dropped",
	"in_use -> returning: it is, with permit_first: the permit is free already",
	"returning -> idle: the connection is in the list",
	"in_use -> none: it was detached",
	"in_use -> closing: discard",
	"closing -> none: closed",
}

const (
	permitted sim.Kind = iota // A: ticket that was handed a permit, B: its generation
	timedOut                  // A: ticket
	connected                 // A: ticket, B: session or code
	checked                   // A: ticket, B: code
	pushed                    // A: connection, PermitFirst only: it reaches the list
	closed                    // A: connection
	looks                     // A: ticket that was woken, B: its generation
	polls                     // of codel
)

// Pool is the model. It implements pool.Pool.
type Pool struct {
	env      pool.Env
	opt      Options
	id       sim.ActorID
	table    pool.Table
	acquires pool.Acquires
	permits  int         // free ones
	held     int         // permits given out
	leaked   int         // permits lost for ever
	idle     []pool.Conn // the most recently returned last
	broken   []bool      // by connection: the last use found it dead
	line     *line       // nil if waiters are treated as in the lab: the acquires know their order
	codel    *codel      // nil for none
	luck     sim.Stream  // of the lifetimes
	looked   int64       // how often they were drawn
	closed   bool
}

// New returns a pool with valid options.
func New(env pool.Env, opt Options) *Pool {
	p := &Pool{env: env, opt: opt, permits: opt.Max, table: pool.NewTable(env), acquires: pool.NewAcquires(env)}
	p.id = env.Sim.Add(p)
	if opt.Waiters != (Waiters{}) {
		l := newLine(env, opt.Waiters)
		p.line = &l
	}
	if opt.QueueTarget > 0 {
		p.codel = &codel{target: opt.QueueTarget, interval: cmp.Or(opt.QueueInterval, time.Second)}
	}
	if opt.LifetimeJitter > 0 {
		p.luck = sim.NewStream(env.Seed, fmt.Sprintf("semaphore %d lifetimes", env.Index))
	}
	return p
}

// Start implements pool.Pool: the pool opens nothing by itself.
func (p *Pool) Start(r sim.Reply) {
	if p.codel != nil {
		p.codel.next = p.env.Sim.Now()
		p.startPoll(p.env.Sim.Now())
	}
	p.env.Sim.Answer(r, 0)
}

// Acquire is get(wait): wait for a permit, then take or open a connection.
func (p *Pool) Acquire(r pool.Request) pool.Ticket {
	t := p.acquires.Begin(r)
	switch {
	case p.closed:
		p.acquires.Fail(t, record.PoolIsClosed)
	case p.permits > 0:
		p.permits--
		p.held++
		p.take(t)
	case r.Try:
		p.setBusy()
		p.acquires.Fail(t, record.NoneAvailable)
	default:
		p.setBusy()
		p.acquires.Enqueue(t)
		if p.line != nil {
			p.line.join(t)
		}
		if limit := r.Limit(p.opt.AcquireTimeout); limit > 0 {
			p.acquires.Arm(t, limit, sim.Event{To: p.id, Kind: timedOut, A: int32(t)})
		}
	}
	return t
}

// take goes on with a permit in hand: the youngest idle connection that is good, or else a new one.
func (p *Pool) take(t pool.Ticket) {
	q := p.acquires.Get(t)
	for n := len(p.idle); n > 0; n = len(p.idle) {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		e := p.table.Entry(c)
		if p.broken[c] || p.opt.MaxLifetime > 0 && p.env.Sim.Now().Sub(e.Born) >= p.lifetime(e) {
			p.drop(c, record.Idle)
			continue
		}
		if p.opt.TestOnAcquire {
			p.acquires.Turn(t, record.Checking)
			p.table.Move(c, record.Idle, record.Checking)
			q.Conn = c
			q.Op = p.env.Server.Ping(e.Session, sim.Reply{To: p.id, Kind: checked, A: int32(t)})
			return
		}
		p.table.Lend(c, record.Idle, q.Part, q.Number)
		p.acquires.Grant(t, c)
		return
	}
	p.acquires.Turn(t, record.Opening)
	q.Conn = p.table.Add(record.Opening)
	p.setBroken(q.Conn, false)
	q.Op = p.env.Server.Connect(server.Caller{Pool: p.env.Index, Role: p.env.Role}, sim.Reply{To: p.id, Kind: connected, A: int32(t)})
}

// lifetime returns how old a connection may grow, as far as is known now.
func (p *Pool) lifetime(e *pool.Entry) time.Duration {
	d := p.opt.MaxLifetime
	if p.opt.LifetimeJitter == 0 {
		return d
	}
	n := int64(e.Number)
	if p.opt.RedrawJitter {
		n = p.looked
		p.looked++
	}
	r := p.luck.At(n)
	return d + min(time.Duration(r.Unit()*float64(p.opt.LifetimeJitter)), dist.Max-d)
}

// Handle implements sim.Actor.
func (p *Pool) Handle(ev sim.Event) {
	t := pool.Ticket(ev.A)
	switch ev.Kind {
	case permitted:
		if !p.acquires.Live(t, ev.B) { // cancelled meanwhile; the permit went on
			return
		}
		if p.closed {
			p.release()
			p.acquires.Fail(t, record.PoolIsClosed)
			return
		}
		p.take(t)
	case timedOut:
		p.leave(t)
		p.acquires.Fail(t, record.AcquireTimeout)
		p.wake()
	case looks:
		p.looks(t, ev.B)
	case polls:
		p.poll()
	case connected:
		p.connected(t, ev.B)
	case checked:
		p.checked(t, ev.B)
	case pushed:
		p.push(pool.Conn(ev.A), record.Returning)
	case closed:
		p.table.Remove(pool.Conn(ev.A), record.Closing)
		p.release()
	}
}

func (p *Pool) connected(t pool.Ticket, b int32) {
	q := p.acquires.Get(t)
	if b < 0 {
		p.table.Remove(q.Conn, record.Opening)
		p.release()
		p.acquires.Fail(t, server.OutcomeOf(b))
		return
	}
	s := server.Session(b)
	p.table.Opened(q.Conn, s, p.env.Server.Number(s))
	p.table.Lend(q.Conn, record.Opening, q.Part, q.Number)
	p.acquires.Grant(t, q.Conn)
}

func (p *Pool) checked(t pool.Ticket, b int32) {
	q := p.acquires.Get(t)
	c := q.Conn
	q.Conn, q.Op = pool.NoConn, server.NoOp
	if b < 0 {
		p.drop(c, record.Checking)
		p.take(t)
		return
	}
	p.table.Lend(c, record.Checking, q.Part, q.Number)
	p.acquires.Grant(t, c)
}

// Cancel implements pool.Pool: what the acquire had in hand is dropped, as with a Rust future.
func (p *Pool) Cancel(t pool.Ticket) {
	q := p.acquires.Get(t)
	switch {
	case p.acquires.Queued(t): // it holds nothing
		p.leave(t)
	case q.Conn == pool.NoConn: // it was handed a permit and has not run yet: the permit goes on
		p.release()
	case p.table.Entry(q.Conn).State() == record.Checking:
		p.env.Server.Abort(q.Op)
		p.drop(q.Conn, record.Checking)
		p.release()
	default:
		p.env.Server.Abort(q.Op)
		p.table.Remove(q.Conn, record.Opening)
		p.release()
	}
	p.acquires.Fail(t, record.Cancelled)
	p.wake()
}

// Return implements pool.Pool. CloseOnDrop is Discard. A detached connection stays open and is forgotten; its permit is free.
func (p *Pool) Return(c pool.Conn, how pool.End, r sim.Reply) {
	switch how {
	case pool.Release, pool.Broken:
		p.setBroken(c, how == pool.Broken)
		if p.opt.PermitFirst {
			p.table.GiveBack(c, record.Returning)
			p.release()
			p.env.Sim.Soon(sim.Event{To: p.id, Kind: pushed, A: int32(c)})
			break
		}
		p.table.GiveBack(c, record.Idle)
		p.keep(c)
		p.release()
	case pool.Discard, pool.CloseOnDrop:
		p.table.GiveBack(c, record.Closing)
		p.env.Server.Close(p.table.Entry(c).Session, sim.Reply{To: p.id, Kind: closed, A: int32(c)})
	case pool.Detach:
		p.table.GiveBack(c, record.None)
		p.table.Forget(c)
		p.release()
	case pool.Leak:
		p.leaked++
		p.held--
		e := p.table.Entry(c)
		p.env.NoteHeld(e.Part, record.Fact{Kind: record.Leaked, Conn: e.Number, Request: e.Request})
	}
	p.env.Sim.Answer(r, 0)
}

// push puts a connection on top of the idle stack.
func (p *Pool) push(c pool.Conn, from record.State) {
	p.table.Move(c, from, record.Idle)
	p.keep(c)
}

func (p *Pool) keep(c pool.Conn) {
	if p.closed {
		p.drop(c, record.Idle)
		return
	}
	p.table.Entry(c).IdleSince = p.env.Sim.Now()
	p.idle = append(p.idle, c)
}

// release gives a permit back: to the waiter whose turn it is, who is woken, or to the semaphore.
func (p *Pool) release() {
	if p.codel != nil {
		p.returned()
	}
	t := pool.NoTicket
	switch {
	case p.line == nil:
		t = p.acquires.Dequeue()
	case !p.line.Barging && p.line.len() > 0:
		t = p.line.next()
		p.acquires.Leave(t)
	}
	if t != pool.NoTicket {
		p.acquires.Disarm(t) // a permit that has been handed over beats a deadline that is due
		p.env.Sim.Soon(sim.Event{To: p.id, Kind: permitted, A: int32(t), B: p.acquires.Get(t).Gen})
		return
	}
	p.permits++
	p.held--
	p.wake()
}

// wake wakes, with barging, a waiter for each permit that is free.
func (p *Pool) wake() {
	if p.line == nil || !p.line.Barging {
		return
	}
	for p.line.awake < p.permits && p.line.len() > 0 {
		t := p.line.wake()
		p.env.Sim.Arm(p.line.delay, sim.Event{To: p.id, Kind: looks, A: int32(t), B: p.acquires.Get(t).Gen})
	}
}

// looks: a waiter that was woken looks for a permit. Somebody may have been faster.
func (p *Pool) looks(t pool.Ticket, gen int32) {
	if !p.acquires.Live(t, gen) { // it has given up meanwhile
		return
	}
	p.line.leave(t)
	if p.permits == 0 {
		p.line.rejoin(t)
		return
	}
	p.acquires.Leave(t)
	p.acquires.Disarm(t)
	p.permits--
	p.held++
	p.take(t)
}

// leave takes a waiter that gives up out of the line.
func (p *Pool) leave(t pool.Ticket) {
	if p.line != nil {
		p.line.leave(t)
	}
}

// drop throws a connection away without a word.
func (p *Pool) drop(c pool.Conn, from record.State) {
	p.env.Server.Drop(p.table.Entry(c).Session, record.Dropped)
	p.table.Remove(c, from)
}

func (p *Pool) setBroken(c pool.Conn, b bool) {
	for int(c) >= len(p.broken) {
		p.broken = append(p.broken, false)
	}
	p.broken[c] = b
}

// Session implements pool.Pool.
func (p *Pool) Session(c pool.Conn) server.Session { return p.table.Entry(c).Session }

// Close closes the semaphore: waiters fail at once, idle connections are dropped, lent ones when they come back. It does not
// wait for those.
func (p *Pool) Close(r sim.Reply) {
	p.closed = true
	p.env.Note(record.Fact{Kind: record.PoolClosed, Request: -1})
	for t := p.acquires.Front(); t != pool.NoTicket; t = p.acquires.Next(t) {
		p.leave(t)
	}
	p.acquires.FailQueued(record.PoolIsClosed)
	for _, c := range p.idle {
		p.drop(c, record.Idle)
	}
	p.idle = p.idle[:0]
	p.env.Sim.Answer(r, 0)
}

// Stats implements pool.Pool.
func (p *Pool) Stats() pool.Stats { return p.table.Stats(p.acquires.Len(), p.leaked) }

// Verify implements pool.Pool: permits are conserved, nobody waits while one is free, and, unless PermitFirst is set, there
// are never more connections than permits.
func (p *Pool) Verify() {
	p.table.Verify()
	if p.permits < 0 || p.permits+p.held+p.leaked != p.opt.Max {
		panic(fmt.Sprintf("semaphore: %d free + %d held + %d leaked permits are not %d", p.permits, p.held, p.leaked, p.opt.Max))
	}
	asleep := p.acquires.Len()
	if l := p.line; l != nil {
		if asleep = l.len(); asleep+l.awake != p.acquires.Len() {
			panic(fmt.Sprintf("semaphore: %d wait in line and %d are awake, of %d", asleep, l.awake, p.acquires.Len()))
		}
		if l.awake >= p.permits {
			asleep = 0 // each permit has somebody who is on the way to it
		}
	}
	if p.permits > 0 && asleep > 0 {
		panic(fmt.Sprintf("semaphore: %d wait while %d permits are free", asleep, p.permits))
	}
	if len(p.idle) != p.table.Count(record.Idle) {
		panic(fmt.Sprintf("semaphore: %d connections in the list, %d idle", len(p.idle), p.table.Count(record.Idle)))
	}
	if n := p.table.Size(); !p.opt.PermitFirst && n > p.opt.Max {
		panic(fmt.Sprintf("semaphore: %d connections for %d permits", n, p.opt.Max))
	}
}
