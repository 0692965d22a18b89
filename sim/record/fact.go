package record

import (
	"fmt"
	"time"

	"poolwise/sim"
)

// Fact is one thing that happened. Which fields count depends on the Kind; the others are zero. Parts of the run, and the requests of
// each, are numbered from 0, connections from 1 in the order in which their connect succeeded. Where several parts use one pool, facts
// about a request are of the part that it belongs to, and facts about a connection of the part that has the pool.
//
// It has eight fields: with the receiver of Note they are as many as Go passes in registers, and one more would cost each of
// the dozen facts of a query more than the recorder does.
type Fact struct {
	At      sim.Time
	Request int64         // number of the request, -1 for none
	Took    time.Duration // how long the thing that ended had lasted
	Conn    int32         // number of the connection, 0 for none (an attempt has none yet)
	Pool    int16         // index of the part (an instance of a service, which mostly has a pool of its own), -1 for none
	Kind    FactKind
	Outcome Outcome // of what ended
	Move    Move    // of ConnMoved and PoolerMoved; of HookBegan, AcquireTurned and CallBegan, From is where the connection is meanwhile
}

// FactKind says what happened.
type FactKind uint8

// The kinds of facts, by who notes them.
const (
	// The workload.
	RequestBegan FactKind = iota // its intended arrival is At
	RequestEnded                 // Outcome, Took since the intended arrival
	RequestRetry                 // another attempt will follow
	QuerySent                    // the request waits for a query from now on; Conn is the connection's number, 0 where no server runs it
	ThreadWanted                 // the request waits for a thread from now on
	CallBegan                    // the request is at work outside the database from now on; Move.From is InUse if it keeps a connection meanwhile
	// A pool.
	AcquireBegan  // a caller asks for a connection
	AcquireEnded  // Outcome; Took since AcquireBegan
	AcquireTurned // the acquire goes on with a connection in hand, until WaitBegan; Move.From is where that is: Opening, Checking
	WaitBegan     // the acquire is queued
	WaitEnded     // the acquire left the queue, whatever follows
	Returned      // the caller gave the connection back; Took since it was granted
	ConnMoved     // a connection's place in the pool went From -> To (None: not in the pool)
	Leaked        // a slot of the pool is lost for ever
	SlowAcquire   // an acquire took longer than the pool's threshold; Took
	PoolClosed    // the pool was marked closed
	PoolNote      // something worth counting in the report; Outcome says what
	HookBegan     // a hook of the user runs on the connection; Move.From is the state that it is in meanwhile
	// The program that a pool belongs to.
	Paused   // it stands still; Took is for how long
	Exited   // it has ended, and all that the pool had with it
	Rerouted // later connects go elsewhere
	// The server.
	ConnectBegan  // an attempt to connect
	ConnectEnded  // Outcome; Took; with OK the session is open from now on
	ConnectGaveUp // the pool dropped the attempt; Took
	PingBegan
	PingEnded    // Outcome
	QueryQueued  // it waits for a core
	QueryBlocked // it waits for a lock
	QueryBegan   // it makes progress: noted at its first phase and after each QueryQueued or QueryBlocked; Took is how long it waited
	QueryEnded   // Outcome; Took since the query arrived
	CloseBegan   // a close; Outcome says which: ClosedGracefully, ClosedHard
	SessionEnded // Outcome says how: ClosedGracefully, ClosedHard, Dropped, Killed
	// SessionDiscarded: the pool let go of a session that had ended before (Killed); Outcome says how it did.
	SessionDiscarded
	// A pooler before the server. Conn is the number of a client's session there.
	PoolerConnected // a client's connect ended: Outcome, Took; with OK its session is open from now on
	PoolerLeft      // a client's session ended; Outcome says how: ClosedGracefully, ClosedHard, Dropped, Killed (by the pooler)
	PoolerWaitBegan // the client waits for a server connection; without a Conn it does so in its connect
	PoolerWaitEnded // it waits no longer; Outcome is OK if it was served; Took
	PoolerMoved     // a server connection went From -> To (None: not there), as in a pool; Conn is the server's number of it; to InUse: Took is how long its client has waited for it
	PoolerServes    // noted after PoolerMoved to InUse: Conn is the number of the client's session that is served from now on
	numFactKinds
)

var factNames = [numFactKinds]string{
	"request", "request_end", "request_retry", "query_sent", "thread_wait", "call",
	"acquire", "acquire_end", "acquire_turn", "wait", "wait_end", "return", "move", "leak", "slow_acquire", "pool_close", "note", "hook",
	"pause", "exit", "reroute",
	"connect", "connect_end", "connect_gave_up", "ping", "ping_end", "query_queued", "query_blocked", "query", "query_end", "close", "session_end", "session_discard",
	"pooler_connect_end", "pooler_leave", "pooler_wait", "pooler_wait_end", "pooler_move", "pooler_serve",
}

// String returns the name of the kind as it stands in a trace.
func (k FactKind) String() string {
	if int(k) < len(factNames) {
		return factNames[k]
	}
	return fmt.Sprintf("fact(%d)", uint8(k))
}

// State is the place of a connection in its pool.
type State uint8

// The states. Every one but None counts in the size of the pool.
const (
	None      State = iota // not in the pool
	Opening                // being connected
	Idle                   // open and free
	Checking               // being tested before it is lent
	InUse                  // lent
	Returning              // given back, not yet free
	Closing                // being closed
	NumStates
)

var stateNames = [NumStates]string{"none", "opening", "idle", "checking", "in_use", "returning", "closing"}

// String returns the name of the state.
func (s State) String() string {
	if s < NumStates {
		return stateNames[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// Move is a way from one state to another.
type Move uint8

// Between returns the way between two states.
func Between(from, to State) Move { return Move(from)<<4 | Move(to) }

// From returns where the way begins.
func (m Move) From() State { return State(m >> 4) }

// To returns where it ends.
func (m Move) To() State { return State(m & 15) }

// Outcome is how a request, an acquire, a connect or a query ended.
type Outcome uint8

// The outcomes. The names (String) are those of the result schema.
const (
	OK                 Outcome = iota
	AcquireTimeout             // no connection within the acquire's own limit
	PoolIsClosed               // the pool was closed
	Cancelled                  // the caller gave up
	NoneAvailable              // a try that found nothing
	CreateFailed               // the pool could not create a connection
	ConnectRefused             // connection refused
	TooManyConnections         // 53300 of PostgreSQL
	MySQLTooMany               // 1040 of MySQL
	CannotConnectNow           // 57P03: starting up, shutting down
	AuthFailed                 // authentication failed
	AdminShutdown              // 57P01: the server ended the session
	ConnectionReset            // the session is gone without a word
	ConnectionTimeout          // the network gave no answer in time
	QueryCancelled             // 57014: statement timeout or cancel
	DeadlockDetected           // 40P01: it waited for a lock in a circle
	RequestTimeout             // the deadline of the whole request
	HookRejected               // a hook of the pool said no
	QueueTimeout               // a pooler's query wait timeout, or a pool that keeps its queue short
	TransientError             // a retryable error of the database of no particular kind
	OtherError                 // an error of no particular kind
	Failed                     // the request's own failure (a fail step)
	Rejected                   // a return that was not accepted (double, stale)
	ClosedGracefully
	ClosedHard
	Dropped
	Killed
	SessionStateLeaked // a connection was lent with what an earlier borrower had left in its session
	OverReleased       // a return that nothing was lent for was accepted: the capacity rose
	LeakAlarm          // a loan has lasted so long that the pool takes its connection for leaked
	FalseLeakAlarm     // the connection of such a loan was returned after all
	NumOutcomes
)

var outcomeNames = [NumOutcomes]string{
	"ok", "acquire_timeout", "pool_closed", "cancelled", "none_available", "create_failed", "connect_refused",
	"too_many_connections", "mysql_too_many_connections", "cannot_connect_now", "auth_failed", "admin_shutdown",
	"connection_reset", "connection_timeout", "query_cancelled", "deadlock_detected", "request_timeout", "hook_rejected", "queue_timeout",
	"transient_error", "error", "failed", "rejected", "graceful", "hard", "dropped", "killed",
	"session_state_leaked", "over_released", "leak_alarm", "false_leak_alarm",
}

// String returns the name of the outcome in reports.
func (o Outcome) String() string {
	if o < NumOutcomes {
		return outcomeNames[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// OutcomeNamed returns the outcome of a name.
func OutcomeNamed(name string) (Outcome, bool) {
	for o, n := range outcomeNames {
		if n == name {
			return Outcome(o), true
		}
	}
	return 0, false
}

// Sink takes every fact of a run, in order.
type Sink interface{ Note(f Fact) }

// Wants reports whether the sink may look at facts of a kind. Who notes very many of one kind asks once, and saves them if not.
// A sink says so by a method Wants(FactKind) bool; one without it wants everything.
func Wants(s Sink, k FactKind) bool {
	w, ok := s.(interface{ Wants(k FactKind) bool })
	return !ok || w.Wants(k)
}
