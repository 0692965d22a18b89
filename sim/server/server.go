// Package server is the synthetic database server: what a pool connects to. It has two hard limits, sessions and cores, and
// what makes real ones hurt: latencies, reserved slots, contention, statement timeouts and faults on a timeline (Options).
//
// A connect pays its latency first and is then looked at: a fault, or a limit, turns it away. From its success a session holds
// a slot of the limits until the end of its close, or until it is dropped or killed. That a session was killed its owner learns
// only by using it. A query is a list of phases: cpu phases need a core, io phases do not. Cores are either held to the end of
// a phase, with a first-come first-served queue, or shared (see Discipline).
//
// Times are sim.Time and time.Duration, in nanoseconds. How an operation ends is a record.Outcome in its answer; there are no
// errors at run time. Everything is noted to a record.Sink. A panic is a bug of the caller: a session used twice at a time or
// after its end, an operation given up that is over. Not modelled: memory, result sizes, locks other than exclusive
// ones of rows.
package server

import (
	"fmt"
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
)

// Server is the server. It implements Backend and sim.Actor.
type Server struct {
	sim  *sim.Sim
	id   sim.ActorID
	sink record.Sink
	opts Options

	noteQueries bool // the sink wants to know of queries

	connect, close, closeHard latency
	ping                      latency // with the round trip
	roundTrip                 latency
	login                     Query
	plan                      []latency
	statementLimit            sim.Delay
	idleLimit                 sim.Delay
	cancelRequest             latency
	connects, closes, pings   sim.Stream
	roundTrips, services      sim.Stream
	cancels                   sim.Stream
	windows                   [numEffects][]window
	incidents                 []incident
	stalledUntil              sim.Time
	stalledBy                 *compiled
	faults                    []compiled

	ops          []operation
	freeOps      []Op
	sessions     []session
	freeSessions []Session
	roles        []int  // open sessions of each role
	numbers      *int32 // of sessions, counted up by all servers of a world
	readOnly     int    // windows that are open in which every query fails
	attempts     int64
	pinged       int64

	cores  cores
	shared sharing
	tx     transactions
	stats  Stats
}

// The kinds of events.
const (
	slept       sim.Kind = iota // A: operation, B: its generation
	overdue                     // statement timeout. A: operation
	shareDue                    // a phase on shared cores ends
	incidentDue                 // A: index of the incident
	idleOverdue                 // a transaction was idle for too long. A: session
	cancelDue                   // a cancel request has come. A: operation, B: its generation
	deadlockDue                 // it has waited for a lock for deadlock_timeout. A: operation
)

// opKind says what an operation is.
type opKind uint8

const (
	opFree opKind = iota
	opConnect
	opPing
	opQuery
	opClose
	opCloseHard
)

var opNames = [...]string{"nothing", "connect", "ping", "query", "close", "hard close"}

func (k opKind) String() string { return opNames[k] }

// stage says what an operation is waiting for.
type stage uint8

const (
	travelling stage = iota // to the server: a connect's latency, a query's round trip
	queued                  // for a core
	running                 // holds a core
	sharingCPU              // progresses on shared cores
	waiting                 // an io phase
	locking                 // for a lock
	ending                  // its last wait; its outcome is known or will be looked at
	stuck                   // for ever
)

// operation is what is known of an Op.
type operation struct {
	kind    opKind
	stage   stage
	begun   bool           // QueryBegan was noted
	inside  bool           // counts as active at the server
	givenUp bool           // by Abort or Drop: it is nobody's
	outcome record.Outcome // not OK: how it will end
	caller  Caller
	session Session // NoSession once a query is given up by Drop
	conn    int32   // number of the session
	gen     int32   // counts the operations of this name: a wait of 0, which cannot be cancelled, may outlive its own
	phase   int32   // the next one of query
	reply   sim.Reply
	query   *Query // also of a connect: its login
	rand    sim.Rand
	number  int64 // of a connect or query: the key of its draws
	began   sim.Time
	since   sim.Time // when it was queued
	due     sim.Time // when the present wait ends
	timer   sim.Timer
	limit   sim.Timer // statement timeout
	overdue sim.Time  // when it comes
	prev    Op        // in the queue for cores
	next    Op
	place   int32 // in the heap of shared cores; of the lock that it waits for
	tx      int32 // the transaction whose locks it uses, once it has taken one
}

// New returns a server with the options o, which must be valid, and adds it to sm.
func New(sm *sim.Sim, sink record.Sink, seed uint64, o Options) *Server {
	return newServer(sm, sink, seed, "", new(int32), o)
}

// Beside returns a further server of the world of s, such as its standby. The numbers of their sessions go on from each other, its
// random draws, keyed by its name, are its own. Queries are compiled for both if they have the same TimerOverhead, and callers
// have a role at both if these are the same.
func (s *Server) Beside(sink record.Sink, seed uint64, name string, o Options) *Server {
	return newServer(s.sim, sink, seed, name+" ", s.numbers, o)
}

func newServer(sm *sim.Sim, sink record.Sink, seed uint64, prefix string, numbers *int32, o Options) *Server {
	s := &Server{sim: sm, sink: sink, opts: o, numbers: numbers}
	s.id = sm.Add(s)
	s.noteQueries = record.Wants(sink, record.QueryQueued) || record.Wants(sink, record.QueryBegan) || record.Wants(sink, record.QueryEnded)
	overhead := o.TimerOverhead
	s.connect = newLatency(sm, o.Connect, overhead)
	for _, d := range o.ConnectPlan {
		s.plan = append(s.plan, latency{constant: d, overhead: overhead})
	}
	s.close = newLatency(sm, o.Close, 0)
	s.closeHard = newLatency(sm, o.CloseHard, 0)
	s.ping = compileLatency(sm, newSum(o.Ping, o.RoundTrip), overhead)
	s.roundTrip = newLatency(sm, o.RoundTrip, overhead)
	if login := newLatency(sm, o.LoginCPU, overhead); !login.none() {
		s.login.add(phase{latency: login, cpu: true, chance: 1})
	}
	s.connects = sim.NewStream(seed, prefix+"connect")
	s.closes = sim.NewStream(seed, prefix+"close")
	s.pings = sim.NewStream(seed, prefix+"ping")
	s.roundTrips = sim.NewStream(seed, prefix+"round_trip")
	s.services = sim.NewStream(seed, prefix+"service")
	s.cancels = sim.NewStream(seed, prefix+"cancel")
	s.cancelRequest = newLatency(sm, o.CancelRequest, 0)
	if o.IdleInTransactionTimeout > 0 {
		s.idleLimit = sm.Delay(o.IdleInTransactionTimeout)
	}
	if o.StatementTimeout > 0 {
		s.statementLimit = sm.Delay(o.StatementTimeout)
	}
	s.roles = make([]int, len(o.Roles)+1)
	s.cores = cores{limit: o.Cores, first: NoOp, last: NoOp}
	s.shared.init(s)
	s.addFaults()
	return s
}

// Handle implements sim.Actor.
func (s *Server) Handle(ev sim.Event) {
	switch ev.Kind {
	case slept:
		if o := Op(ev.A); s.ops[o].gen == ev.B {
			s.slept(o)
		}
	case overdue:
		o := Op(ev.A)
		s.ops[o].limit = sim.Timer{}
		s.fail(o, record.QueryCancelled)
		s.dispatch()
	case shareDue:
		s.shared.due()
	case incidentDue:
		s.happen(s.incidents[ev.A])
	case idleOverdue:
		s.stats.IdleEnded++
		s.kill(Session(ev.A), record.AdminShutdown, 0)
	case cancelDue:
		s.cancelled(Op(ev.A), ev.B)
	case deadlockDue:
		s.lookForCircle(Op(ev.A))
	}
}

// begin makes an operation.
func (s *Server) begin(kind opKind, ses Session, r sim.Reply) (Op, *operation) {
	var o Op
	if n := len(s.freeOps); n > 0 {
		o, s.freeOps = s.freeOps[n-1], s.freeOps[:n-1]
	} else {
		o = Op(len(s.ops))
		s.ops = append(s.ops, operation{})
	}
	p := &s.ops[o] // what is not set here was left zero by end, or is set where it is used: this is on the hot path
	p.kind, p.session, p.reply, p.began = kind, ses, r, s.sim.Now()
	return o, p
}

// op returns an operation under way.
func (s *Server) op(o Op) *operation {
	p := &s.ops[o]
	if p.kind == opFree {
		panic(fmt.Sprintf("server: operation %d is over", o))
	}
	return p
}

// end frees the name of an operation and gives its answer.
func (s *Server) end(o Op, b int32) {
	p := &s.ops[o]
	r := p.reply
	p.kind, p.stage, p.outcome, p.phase = opFree, travelling, record.OK, 0
	p.begun, p.givenUp = false, false
	p.gen++
	s.freeOps = append(s.freeOps, o)
	s.sim.Answer(r, b)
}

// sleep lets the operation wait for a latency in the given stage. The wait for nothing takes no event of its own.
func (s *Server) sleep(o Op, p *operation, st stage, l *latency) {
	if l.lane {
		p.stage = st
		p.due = s.sim.Now().Add(plus(l.constant, l.overhead))
		p.timer = s.sim.Arm(l.delay, sim.Event{To: s.id, Kind: slept, A: int32(o), B: p.gen})
		return
	}
	s.sleepFor(o, p, st, l.withOverhead(l.sample(&p.rand)))
}

// sleepFor lets the operation wait for d; beyond the end of time it waits for ever.
func (s *Server) sleepFor(o Op, p *operation, st stage, d time.Duration) {
	p.stage = st
	p.due = s.sim.Now().Add(d)
	ev := sim.Event{To: s.id, Kind: slept, A: int32(o), B: p.gen}
	switch {
	case d == 0:
		s.sim.Continue(ev)
	case p.due < sim.Forever:
		p.timer = s.sim.ArmAt(p.due, ev)
	}
}

// wake cuts the present wait of an operation short.
func (s *Server) wake(p *operation) {
	s.sim.Cancel(p.timer)
	p.timer = sim.Timer{}
}

// slept goes on with an operation whose wait is over.
func (s *Server) slept(o Op) {
	p := &s.ops[o]
	p.timer = sim.Timer{}
	switch p.stage {
	case travelling:
		s.arrive(o)
	case running:
		s.cores.release(s.sim.Now())
		s.nextPhase(o)
		s.dispatch()
	case waiting:
		s.nextPhase(o)
	case ending:
		s.finish(o)
	default:
		panic(fmt.Sprintf("server: operation %d woke at stage %d", o, p.stage))
	}
}

// arrive starts the phases of a query, or of a login.
func (s *Server) arrive(o Op) {
	p := &s.ops[o]
	if s.stalls() {
		s.holdUntil(o, p, travelling, s.stalledUntil)
		return
	}
	p.inside = true
	s.shared.active(+1)
	if p.query.draws && p.kind == opQuery {
		p.rand = s.services.At(p.number)
	}
	if s.opts.StatementTimeout > 0 && p.kind == opQuery {
		p.overdue = s.sim.Now().Add(s.opts.StatementTimeout)
		p.limit = s.sim.Arm(s.statementLimit, sim.Event{To: s.id, Kind: overdue, A: int32(o)})
	}
	s.nextPhase(o)
}

// nextPhase starts the next phase that takes place, or finishes.
func (s *Server) nextPhase(o Op) {
	p := &s.ops[o]
	for int(p.phase) < len(p.query.phases) {
		ph := &p.query.phases[p.phase]
		p.phase++
		if ph.chance < 1 && p.rand.Unit() >= ph.chance {
			continue
		}
		if ph.cpu {
			s.wantCore(o, p, ph)
			return
		}
		if ph.table != 0 {
			if s.take(o, p, ph) {
				continue
			}
			return
		}
		s.noteBegan(p, 0)
		s.sleepFor(o, p, waiting, plus(ph.withOverhead(s.phaseTime(p, ph)), s.stalledFor()))
		return
	}
	s.leave(p)
	if p.stage == travelling { // no phase took place: it must not end within the call
		s.tx.used = s.tx.used || p.query.control != works
		s.sleepFor(o, p, ending, 0)
		return
	}
	s.finish(o)
}

// leave takes an operation out of the server's active ones.
func (s *Server) leave(p *operation) {
	if !p.inside {
		return
	}
	p.inside = false
	s.shared.active(-1)
	if s.opts.StatementTimeout > 0 {
		s.sim.Cancel(p.limit)
		p.limit = sim.Timer{}
	}
}

// phaseTime draws the time of a phase, slowed down by faults.
func (s *Server) phaseTime(p *operation, ph *phase) time.Duration {
	d := ph.sample(&p.rand)
	if len(s.windows[slow]) > 0 {
		if w := s.during(slow); w != nil {
			d = times(d, w.fault.Slow)
		}
	}
	return d
}

// times returns d times a factor.
func times(d time.Duration, factor float64) time.Duration {
	x := float64(d) * factor
	if x >= 0x1p63 {
		return 1<<63 - 1
	}
	return time.Duration(x)
}

// wantCore starts a cpu phase, or queues it.
func (s *Server) wantCore(o Op, p *operation, ph *phase) {
	switch {
	case s.shared.used:
		s.noteBegan(p, 0)
		s.shared.add(o, p, ph.withOverhead(s.phaseTime(p, ph)))
	case s.cores.free():
		s.cores.take(s.sim.Now())
		s.noteBegan(p, 0)
		s.run(o, p, ph)
	default:
		p.stage, p.due, p.since = queued, sim.Forever, s.sim.Now()
		s.cores.push(s.ops, o)
		s.noteQuery(record.QueryQueued, p, record.OK, 0)
		p.begun = false
	}
}

// run holds a core, just taken, for the time of a phase.
func (s *Server) run(o Op, p *operation, ph *phase) {
	if ph.lane && len(s.windows[slow]) == 0 && !s.shared.contended && s.stalledUntil == 0 {
		s.sleep(o, p, running, &ph.latency)
		return
	}
	d := s.phaseTime(p, ph)
	if s.shared.contended {
		d = s.shared.slowed(d)
	}
	s.sleepFor(o, p, running, plus(ph.withOverhead(d), s.stalledFor()))
}

// dispatch gives free cores to those that wait for one.
func (s *Server) dispatch() {
	for s.cores.first != NoOp && s.cores.busy < s.cores.limit {
		o := s.cores.first
		s.cores.remove(s.ops, o)
		s.cores.take(s.sim.Now())
		p := &s.ops[o]
		s.noteBegan(p, s.sim.Now().Sub(p.since))
		s.run(o, p, &p.query.phases[p.phase-1])
	}
}

// fail ends an operation under way with an outcome, wherever it is. A core that it held is free then, for dispatch.
func (s *Server) fail(o Op, out record.Outcome) {
	p := s.op(o)
	p.outcome = out
	s.withdraw(o, p)
	s.finish(o)
}

// withdraw takes an operation from whatever it waits for. A core that it held is free then, for dispatch.
func (s *Server) withdraw(o Op, p *operation) {
	switch p.stage {
	case queued:
		s.cores.remove(s.ops, o)
	case locking:
		s.unqueue(o)
	case running:
		s.wake(p)
		s.cores.release(s.sim.Now())
	case sharingCPU:
		s.shared.remove(o)
	default:
		s.wake(p)
	}
	s.leave(p)
}

// finish ends an operation, unless a partition holds its answer back.
func (s *Server) finish(o Op) {
	p := &s.ops[o]
	if s.heldBack(o, p) {
		return
	}
	switch p.kind {
	case opConnect:
		s.connected(o, p)
	case opPing:
		s.pingEnded(o, p)
	case opQuery:
		s.queryEnded(o, p)
	default:
		s.closed(o, p)
	}
}

// heldBack keeps an operation until the end of a partition, and reports whether there is one.
func (s *Server) heldBack(o Op, p *operation) bool {
	if len(s.windows[partition]) == 0 || p.givenUp {
		return false
	}
	w := s.during(partition)
	if w == nil {
		return false
	}
	s.holdUntil(o, p, ending, w.to)
	return true
}

// holdUntil lets an operation wait until t.
func (s *Server) holdUntil(o Op, p *operation, st stage, t sim.Time) {
	s.sleepFor(o, p, st, t.Sub(s.sim.Now()))
}

// Due implements Backend.
func (s *Server) Due(o Op) sim.Time {
	p := s.op(o)
	due := p.due
	switch {
	case p.stage == stuck:
		return sim.Forever
	case p.stage == queued, p.stage == sharingCPU, p.stage == locking, // open
		(p.kind == opQuery || p.kind == opConnect) && p.stage != ending && int(p.phase) < len(p.query.phases): // phases to come
		due = sim.Forever
	}
	if s.opts.StatementTimeout > 0 && p.limit != (sim.Timer{}) {
		due = min(due, p.overdue)
	}
	for i := range s.windows[partition] {
		if w := &s.windows[partition][i]; w.from <= due && due < w.to {
			due = w.to
		}
	}
	return due
}

// noteBegan notes that a query makes progress, if that was not so before.
func (s *Server) noteBegan(p *operation, waited time.Duration) {
	if !p.begun {
		p.begun = true
		s.noteQuery(record.QueryBegan, p, record.OK, waited)
	}
}

func (s *Server) noteQuery(k record.FactKind, p *operation, out record.Outcome, took time.Duration) {
	if p.kind == opQuery && s.noteQueries {
		s.sink.Note(record.Fact{At: s.sim.Now(), Kind: k, Request: -1, Pool: p.caller.Pool, Conn: p.conn, Outcome: out, Took: took})
	}
}
