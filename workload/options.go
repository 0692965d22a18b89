// Package workload is what asks a pool for connections. Options is the plain data of the workload section of a scenario: where
// requests come from (clients that take turns, arrivals at given rates, a script or a trace) and what each does (a program of
// steps). A Driver runs it against a pool.Pool and a server.Backend.
//
// Times are sim.Time and time.Duration, in nanoseconds. The latency of a request counts from its intended arrival: of an open
// workload the time at which it was to arrive, of a closed one the moment at which its client turned to it. A request that ends
// or fails gives back what it holds, as code with guards does: by release, as broken if the session was found dead, by discard
// if a query was under way when it gave up. How a request ends is a record.Outcome in its fact; mistakes in Options are reported
// by Validate, all at once; a panic is a bug.
//
// Every random number belongs to a purpose and to the number of a request, never to the order of events. So under one seed two
// pools meet the same arrivals, service times and luck, request by request (common random numbers).
//
// Poisson processes with a changing rate are drawn by a change of time (Çinlar 1975): measured in the integral of the rate,
// their gaps are exponential with mean 1. Modulated ones (MMPP) are such with a rate that a Markov chain sets.
package workload

import (
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Options is the workload of one service: who asks for connections and when (one of clients, arrivals and script), and what
// each request does.
type Options struct {
	Clients  *int              `yaml:"clients" doc:"count, none by default; a closed workload: that many clients, each one request after the other"`
	Repeat   *int64            `yaml:"repeat" doc:"count, at least 1, for ever by default; requests of each client"`
	Think    dist.Distribution `yaml:"think" doc:"duration, default 0; pause of a client between the end of a request and its next"`
	Stagger  dist.Distribution `yaml:"stagger" doc:"duration, default 0; when each client begins its first request"`
	Arrivals *Arrivals         `yaml:"arrivals" doc:"an open workload: requests arrive whether or not earlier ones have ended"`
	Limit    *int64            `yaml:"limit" doc:"count, at least 1, no limit by default; arrivals end after that many"`
	Shared   bool              `yaml:"shared" doc:"true or false, default false; the clients, or the rates, bursts, trace and limit of arrivals, are those of the whole service, spread evenly over its instances, over those too that have not started or have exited; by default they are those of each instance"`
	Script   []Scripted        `yaml:"script" doc:"a scripted workload: acquires at given times"`
	Threads  *int              `yaml:"threads" doc:"count, at least 1, none by default; threads that requests run on: each needs one from its first step to its end, and waits for one first come first served"`
	Deadline *time.Duration    `yaml:"deadline" doc:"duration, none by default; longest time of a request from its intended arrival, retries included; beyond it the outcome is request_timeout"`
	Retry    *Retry            `yaml:"retry" doc:"what a request does when it has failed; by default it stays failed"`
	Request  []Step            `yaml:"request" doc:"the steps of each request, in order"`
}

// Arrivals says when requests arrive. Exactly one of poisson, constant, phases, modulated and trace is set, or none if there
// are bursts, which come on top.
type Arrivals struct {
	Poisson   *dist.Rate `yaml:"poisson" doc:"rate; independent arrivals, exponential gaps"`
	Constant  *dist.Rate `yaml:"constant" doc:"rate; equal gaps, the first arrival at 0"`
	Phases    []Phase    `yaml:"phases" doc:"rates that change on a timetable"`
	Modulated *Modulated `yaml:"modulated" doc:"poisson arrivals whose rate jumps between states at random times (MMPP)"`
	Trace     *Trace     `yaml:"trace" doc:"arrival times from a file"`
	Bursts    *Bursts    `yaml:"bursts" doc:"many arrivals at one instant, again and again, on top of the others"`

	part part `yaml:"-"` // of them, whose rates are its own already
}

// Phase is a stretch of time with one rate, or with a rate that changes linearly.
type Phase struct {
	For     *time.Duration `yaml:"for" doc:"duration, 0s to leave the phase out; only the last phase may say nothing, and then it never ends"`
	Rate    dist.Rate      `yaml:"rate" doc:"rate, 0/s for a pause; at the beginning of the phase"`
	To      *dist.Rate     `yaml:"to" doc:"rate, default the same as rate; at the end of the phase, reached along a straight line"`
	Spacing Spacing        `yaml:"spacing" doc:"poisson or constant, default poisson; whether gaps are random or as regular as the rate allows"`
}

// Spacing says how the arrivals of a phase are spread.
type Spacing uint8

// The spacings.
const (
	PoissonSpacing  Spacing = iota // independent of each other
	ConstantSpacing                // at the instants at which the integral of the rate reaches a whole number
)

// Bursts are arrivals of many requests at one instant.
type Bursts struct {
	Size   int           `yaml:"size" doc:"count, at least 1; requests of each burst"`
	Every  time.Duration `yaml:"every" doc:"duration, above 0; from one burst to the next; needed unless count is 1"`
	Offset time.Duration `yaml:"offset" doc:"duration, default 0; when the first burst comes"`
	Count  *int64        `yaml:"count" doc:"count, 0 for none beside other arrivals, no limit by default; how many bursts"`
}

// Modulated is a Markov-modulated Poisson process. Its states follow each other in the order given, and the first follows the
// last; each stay is exponentially distributed.
type Modulated struct {
	States     []ModulatedState `yaml:"states" doc:"at least two"`
	Stationary bool             `yaml:"stationary" doc:"true or false, default false; begin in a state drawn in proportion to mean_stay, as a process that has run for long, and not in the first"`
}

// ModulatedState is one state of Modulated.
type ModulatedState struct {
	Rate     dist.Rate     `yaml:"rate" doc:"rate, 0/s for silence; of arrivals in this state"`
	MeanStay time.Duration `yaml:"mean_stay" doc:"duration, above 0; mean time until the next state"`
}

// Trace is a list of arrival times. Whoever reads the scenario reads the file, with ParseTrace, and fills in Times.
type Trace struct {
	File  string     `yaml:"file" doc:"path, from the scenario file's folder; one arrival a line, its offset from the start as a duration (1.5s) or in seconds (1.5)"`
	Times []sim.Time `yaml:"-"`
}

// Scripted is one acquire at a given time. It holds what it gets for a while and gives it back.
type Scripted struct {
	ID       string         `yaml:"id" doc:"text, default the number of the entry; its name"`
	At       time.Duration  `yaml:"at" doc:"duration, default 0; when it asks"`
	Op       ScriptOp       `yaml:"op" doc:"acquire or try_acquire, default acquire"`
	Hold     time.Duration  `yaml:"hold" doc:"duration, default 0; how long it keeps the connection"`
	Then     Return         `yaml:"then" doc:"release, discard, close_on_drop, detach or leak, default release; how it ends the loan"`
	Timeout  *time.Duration `yaml:"timeout" doc:"duration, above 0, default the pool's; this acquire's own limit"`
	CancelAt *time.Duration `yaml:"cancel_at" doc:"duration, none by default; when it gives up if it still waits for its connection"`
}

// ScriptOp is the call that a Scripted makes.
type ScriptOp uint8

// The calls.
const (
	AcquireOp ScriptOp = iota
	TryAcquireOp
)

// Return is a way to end a loan.
type Return uint8

// The ways to end a loan, as pool.End has them.
const (
	Release     Return = iota // give it back
	Discard                   // close it and wait for that
	CloseOnDrop               // mark it and drop it: it is closed behind the request's back
	Detach                    // take it out of the pool, open, for ever
	Leak                      // never give it back
)

// Act is a step that needs nothing but its name.
type Act uint8

// The acts.
const (
	BeginTx      Act = iota // begin a transaction on the connection acquired last
	CommitTx                // commit it
	RollbackTx              // roll it back, which is the same to the server
	ReturnAgain             // the bug of a double return
	SwitchThread            // give up the thread, queue for another and go on there
)

// Dirt is what a request leaves in a session, as pool.SessionState has it.
type Dirt uint8

// What can be left.
const (
	Transaction Dirt = iota
	Parameter
)

// Retry says what follows a failed attempt of a request: after a pause it begins its steps again.
type Retry struct {
	Attempts   int            `yaml:"attempts" doc:"count, 1 to 64; attempts in all, the first included; 1 is no retry"`
	Backoff    time.Duration  `yaml:"backoff" doc:"duration, default 0; pause before the second attempt"`
	Factor     *float64       `yaml:"factor" doc:"number, at least 1, default 2; each further pause is that many times the one before"`
	MaxBackoff *time.Duration `yaml:"max_backoff" doc:"duration, above 0, no limit by default; longest pause"`
	Jitter     Jitter         `yaml:"jitter" doc:"0% to 100% or full, default 0%; each pause is shortened by a random share of itself up to this; full is 100%"`
	On         []Failure      `yaml:"on" doc:"outcomes, default every failure; the failures that are worth another attempt"`
}

// Jitter is the greatest share by which a pause is shortened at random, 0 to 1.
type Jitter float64

// Failure is an outcome of a request after which another attempt makes sense: not ok, and not cancelled or request_timeout,
// with which the request is over.
type Failure record.Outcome

// Step is one step of a request: exactly one of acquire, query, call, return, dirty, act, leak, fail, cancel and do. A step that
// needs no more than its name may be written as that: acquire, release, discard, close_on_drop, detach, leak, begin, commit,
// rollback, return_again, switch_thread.
type Step struct {
	Acquire     *Acquire           `yaml:"acquire" doc:"ask for a connection, in addition to those that the request holds already"`
	Query       *server.QuerySpec  `yaml:"query" doc:"run a query on the connection acquired last"`
	Call        *dist.Distribution `yaml:"call" doc:"duration; work outside the database; what is held stays held"`
	Return      *Return            `yaml:"return" doc:"release, discard, close_on_drop, detach or leak; ends the loan of the connection acquired last"`
	Dirty       *Dirt              `yaml:"dirty" doc:"transaction or parameter; what is left in the session of the connection acquired last when it is returned, in pools that know"`
	Act         *Act               `yaml:"act" doc:"begin, commit, rollback, return_again or switch_thread; begin, commit, rollback: a round trip that begins or ends a transaction of the connection acquired last; return_again: give back once more what was given back last; switch_thread: give up the thread and go on when another is free"`
	Leak        *dist.Probability  `yaml:"leak" doc:"probability; that this request forgets to return what it holds now"`
	Fail        *dist.Probability  `yaml:"fail" doc:"probability; that the request fails here"`
	Cancel      *Cancel            `yaml:"cancel" doc:"from here on the caller's patience is limited"`
	Do          []Step             `yaml:"do" doc:"several steps, which return what they acquire; for a chance that they are taken"`
	CancelAfter *dist.Distribution `yaml:"cancel_after" doc:"duration, none by default; with query: the caller has it cancelled at the server when it has gone on for so long; it then fails (57014), and the connection is good"`
	Chance      *dist.Probability  `yaml:"chance" doc:"probability, default 100%; that the step is taken at all; for query, call, cancel and do"`
}

// Acquire is a request for a connection.
type Acquire struct {
	Timeout *time.Duration `yaml:"timeout" doc:"duration, above 0, default the pool's; this acquire's own limit, in pools that take one"`
	Try     bool           `yaml:"try" doc:"true or false, default false; take a connection that is free now or none"`
}

// Cancel is a caller that gives up.
type Cancel struct {
	After dist.Distribution `yaml:"after" doc:"duration; the outcome is cancelled if the request still goes on that long after this step"`
}
