// Package none models no pool at all: every acquire opens a connection of its own and the end of the loan closes it. It is
// what the others are compared with.
//
//	Opening -> InUse -> Closing
//
// An acquire, a try like any other, ends in OK, Cancelled, PoolIsClosed or the outcome of the connect; it has no limit but the
// connect's own.
package none

import (
	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Options has nothing: there is nothing to set.
type Options struct{}

// DefaultOptions returns the defaults.
func DefaultOptions() Options { return Options{} }

// Validate has nothing to report.
func (o Options) Validate(func(path, message string)) {}

// States is the state machine of a connection, an edge a line.
var States = []string{
	"none -> opening: acquire",
	"opening -> in_use: the connect succeeded",
	"opening -> none: the connect failed; the caller gets its error",
	"in_use -> closing: any end of the loan but detach and leak",
	"in_use -> none: it was detached",
	"closing -> none: closed",
}

const (
	connected sim.Kind = iota // A: ticket, B: session or code
	closed                    // A: connection
)

// Pool is the model. It implements pool.Pool.
type Pool struct {
	env      pool.Env
	id       sim.ActorID
	table    pool.Table
	acquires pool.Acquires
	leaked   int
	closed   bool
}

// New returns the model.
func New(env pool.Env, _ Options) *Pool {
	p := &Pool{env: env, table: pool.NewTable(env), acquires: pool.NewAcquires(env)}
	p.id = env.Sim.Add(p)
	return p
}

// Start implements pool.Pool.
func (p *Pool) Start(r sim.Reply) { p.env.Sim.Answer(r, 0) }

// Acquire implements pool.Pool.
func (p *Pool) Acquire(r pool.Request) pool.Ticket {
	t := p.acquires.Begin(r)
	switch {
	case p.closed:
		p.acquires.Fail(t, record.PoolIsClosed)
	default:
		q := p.acquires.Get(t)
		p.acquires.Turn(t, record.Opening)
		q.Conn = p.table.Add(record.Opening)
		q.Op = p.env.Server.Connect(server.Caller{Pool: p.env.Index, Role: p.env.Role}, sim.Reply{To: p.id, Kind: connected, A: int32(t)})
	}
	return t
}

// Handle implements sim.Actor.
func (p *Pool) Handle(ev sim.Event) {
	switch ev.Kind {
	case connected:
		t := pool.Ticket(ev.A)
		c := p.acquires.Get(t).Conn
		if ev.B < 0 {
			p.table.Remove(c, record.Opening)
			p.acquires.Fail(t, server.OutcomeOf(ev.B))
			return
		}
		s := server.Session(ev.B)
		p.table.Opened(c, s, p.env.Server.Number(s))
		q := p.acquires.Get(t)
		p.table.Lend(c, record.Opening, q.Part, q.Number)
		p.acquires.Grant(t, c)
	case closed:
		p.table.Remove(pool.Conn(ev.A), record.Closing)
	}
}

// Cancel implements pool.Pool: the attempt to connect is dropped.
func (p *Pool) Cancel(t pool.Ticket) {
	q := p.acquires.Get(t)
	p.env.Server.Abort(q.Op)
	p.table.Remove(q.Conn, record.Opening)
	p.acquires.Fail(t, record.Cancelled)
}

// Return implements pool.Pool: whatever the way, the connection is closed, but for Detach and Leak, which leave it open.
func (p *Pool) Return(c pool.Conn, how pool.End, r sim.Reply) {
	switch how {
	case pool.Detach:
		p.table.GiveBack(c, record.None)
		p.table.Forget(c)
	case pool.Leak:
		p.leaked++
		e := p.table.Entry(c)
		p.env.NoteHeld(e.Part, record.Fact{Kind: record.Leaked, Conn: e.Number, Request: e.Request})
	default:
		p.table.GiveBack(c, record.Closing)
		p.env.Server.Close(p.table.Entry(c).Session, sim.Reply{To: p.id, Kind: closed, A: int32(c)})
	}
	p.env.Sim.Answer(r, 0)
}

// Session implements pool.Pool.
func (p *Pool) Session(c pool.Conn) server.Session { return p.table.Entry(c).Session }

// Close implements pool.Pool: later acquires fail; loans go on.
func (p *Pool) Close(r sim.Reply) {
	p.closed = true
	p.env.Note(record.Fact{Kind: record.PoolClosed, Request: -1})
	p.env.Sim.Answer(r, 0)
}

// Stats implements pool.Pool.
func (p *Pool) Stats() pool.Stats { return p.table.Stats(p.acquires.Len(), p.leaked) }

// Verify implements pool.Pool.
func (p *Pool) Verify() { p.table.Verify() }
