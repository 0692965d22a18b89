package server

import (
	"poolwise/sim"
	"poolwise/sim/record"
)

// Session names a session of a server from the answer of its connect until it is closed or dropped by its owner; the name is
// then reused. A session that the server killed keeps its name until its owner has dropped it. Number tells sessions apart for
// good.
type Session int32

// NoSession is no session.
const NoSession Session = -1

// Op names an operation under way (a connect, ping, query or close), until its answer has been given or it is aborted.
type Op int32

// NoOp is no operation.
const NoOp Op = -1

// Caller says for whom a connection is asked.
type Caller struct {
	Pool int16 // index of the pool
	Role int16 // 0 is the default role, which has no limit of its own; n is Options.Roles[n-1] (see Options.Role)
}

// Backend is what a pool connects to: a Server, or a pooler before one. The answer to each call is given with sim.Answer (a
// continuation of the event in which the operation ended), never inside the call. Its B is 0 or more for success and
// Code(outcome) for failure.
type Backend interface {
	// Connect opens a session; the answer's B is the Session.
	Connect(c Caller, r sim.Reply) Op
	// Ping is one round trip on the session.
	Ping(s Session, r sim.Reply) Op
	// Query runs the query; number keys its random draws (each query of a run has its own number).
	Query(s Session, q *Query, number int64, r sim.Reply) Op
	// Close ends the session with the protocol's goodbye, which takes Options.Close; its slot at the server is free then.
	Close(s Session, r sim.Reply) Op
	// CloseHard ends the session by shutting its socket, which takes Options.CloseHard.
	CloseHard(s Session, r sim.Reply) Op
	// Drop ends the session without a word: at once, or after Options.CloseHard if how is ClosedHard. No answer. An operation
	// under way on it is given up with it: a ping ends, a close is cut short, a query runs on at the server for nobody.
	Drop(s Session, how record.Outcome)
	// Abort gives up an operation: no answer will come. A connect under way is dropped, and a close is cut short: the session
	// is dropped. A query or ping whose asker has gone is left to end by itself; until then the session takes no other query
	// or ping, and what becomes of it is its owner's to decide.
	Abort(op Op)
	// Due returns when the operation will end if nothing comes between, Forever if that is open (a query that waits for a core).
	Due(op Op) sim.Time
	// Number returns the number of the session, from 1 in the order in which connects succeeded: the Conn of facts.
	Number(s Session) int32
	// Alive reports whether the session would answer: what only its next use can tell the pool. For tests and reports.
	Alive(s Session) bool
}

// Code is the B of a failed answer.
func Code(o record.Outcome) int32 { return -int32(o) }

// OutcomeOf returns the outcome that an answer's B stands for: OK if it is a success.
func OutcomeOf(b int32) record.Outcome {
	if b >= 0 {
		return record.OK
	}
	return record.Outcome(-b)
}

// HardCloser is a Backend that tells when a hard close is over, for pools that wait for it.
type HardCloser interface {
	// CloseHard ends the session as Drop with ClosedHard does; the answer comes after Options.CloseHard.
	CloseHard(s Session, r sim.Reply) Op
}

// Settler is a Backend that lets an asker look at its operation ahead of time within one instant: a task that wakes for another
// reason at the very instant at which its operation ends finds it ended.
type Settler interface {
	// Settle ends the operation now, its answer a continuation of the event in hand, if it is due now; it reports whether it was.
	Settle(op Op) bool
}

// Exiter is a Backend that notices the end of a program.
type Exiter interface {
	// Hangup ends all sessions of a pool and drops its connects under way. Nobody is left to be told.
	Hangup(pool int16)
}
