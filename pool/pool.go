// Package pool has what all pool models share: the contract between a workload and a pool (Pool, Request, the ways to end a
// loan), the Table of connections, which is the one writer of their states and of the counts, and the queue of waiters.
//
// Calls go down: a workload calls the pool, the pool calls its server. Every answer comes back as an event (sim.Reply), never
// inside the call. Times are sim.Time, waits time.Duration. How an acquire ends is a value, a record.Outcome; there are no
// errors at run time. A panic names a broken invariant: a bug of a model.
package pool

import (
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Conn names a connection of a pool from its grant until the loan ends: an index into the pool's Table, reused afterwards.
type Conn int32

// NoConn is no connection.
const NoConn Conn = -1

// Ticket names an acquire under way, from the call until its answer or Cancel.
type Ticket int32

// NoTicket is no acquire.
const NoTicket Ticket = -1

// Request is one call of acquire. Its answer's B is the Conn lent, or server.Code(outcome).
type Request struct {
	Reply   sim.Reply
	Try     bool          // a try_acquire: it does not wait for others; what it does itself the model says
	Part    int16         // that asks: the Pool of facts about the request; that of the pool itself unless others use it, too
	Number  int64         // of the request among those of its part: names it in facts and keys random draws
	Timeout time.Duration // this call's own limit, where the real pool takes one per call; 0 means the pool's default
}

// Limit returns the call's own limit, or else the pool's default.
func (r *Request) Limit(byDefault time.Duration) time.Duration {
	if r.Timeout > 0 {
		return r.Timeout
	}
	return byDefault
}

// End is a way to end a loan.
type End uint8

// The ways to end a loan. A model treats one that its real pool does not have as the nearest that it has; its package says so.
const (
	Release     End = iota // give the connection back
	Discard                // close it: awaited by the caller
	CloseOnDrop            // mark it and drop the handle
	Detach                 // take it out of the pool, open; the pool forgets it
	Leak                   // never give it back; the pool goes on counting it
	Broken                 // give it back after its session was found dead
)

// Pool is a pool model. All methods return at once.
type Pool interface {
	sim.Actor
	// Start begins the pool's life: what the real one does when it is built (opening connections, starting its maintenance).
	// The answer, OK or a Code, comes when the program that built it may go on.
	Start(r sim.Reply)
	// Acquire asks for a connection.
	Acquire(r Request) Ticket
	// Cancel gives up an acquire that has not been answered; its answer will be Cancelled, in the same event.
	Cancel(t Ticket)
	// Return ends a loan. The answer (OK, or the Code of Rejected) comes when the real call would return: for a release that
	// goes on in the background at once. A Reply with To == sim.Nobody wants no answer.
	Return(c Conn, how End, r sim.Reply)
	// Session returns the session of a lent connection, server.NoSession for a model without connections.
	Session(c Conn) server.Session
	// Close closes the pool as the real one does; the answer comes when its close returns.
	Close(r sim.Reply)
	// Stats returns what the real pool would report now.
	Stats() Stats
	// Verify panics if an invariant of the model does not hold.
	Verify()
}

// Stats are the figures that a pool reports about itself. A model whose real pool has no such figure leaves it 0.
type Stats struct {
	Size    int // connections that exist or are being opened
	Idle    int
	InUse   int
	Waiting int // acquires queued
	Leaked  int // slots lost for ever
}

// Env is what every model is built from.
type Env struct {
	Sim    *sim.Sim
	Server server.Backend
	Sink   record.Sink
	Seed   uint64
	Index  int16 // of this pool among the parts of the run: the Pool of facts
	Role   int16 // for the server's limits
	// Lateness is how much later than asked real timers fire; 0 is an exact clock.
	Lateness time.Duration
}

// Note notes a fact of the pool, now: it fills in At and Pool.
func (e *Env) Note(f record.Fact) { e.NoteFor(e.Index, f) }

// NoteFor notes a fact of a request of a part.
func (e *Env) NoteFor(part int16, f record.Fact) {
	f.At, f.Pool = e.Sim.Now(), part
	e.Sink.Note(f)
}

// NoteHeld notes a fact of the pool about a connection that a request of a part holds. Only requests of the pool's own part have
// their number in it: those of others have one that means nothing here.
func (e *Env) NoteHeld(part int16, f record.Fact) {
	if part != e.Index {
		f.Request = -1
	}
	e.Note(f)
}
