package pooler

import (
	"fmt"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Pooler is the pooler. It implements server.Backend, server.Settler, server.Exiter and sim.Actor.
type Pooler struct {
	sim     *sim.Sim
	id      sim.ActorID
	sink    record.Sink
	o       Options
	backend server.Backend
	watcher server.Watcher // nil if the backend is none
	settler server.Settler // nil if the backend is none
	noteAll bool           // the sink wants to know of moves and waits
	tell    bool           // the sink wants to know whom server connections serve

	connect, login, close, roundTrip     latency
	connects, logins, closes, roundTrips sim.Stream
	connectLimit                         sim.Delay

	clients     []client
	freeClients []server.Session
	slots       int   // client connections: open, or being made and past their latency
	numbers     int32 // of clients' sessions, counted up
	attempts    int64 // connects begun
	pinged      int64
	loggedInAll sim.Time // when the logins that have begun, one after the other, are over

	ops     []operation
	freeOps []server.Op

	links     []link
	freeLinks []int32
	pools     []*pool // by role
}

// The kinds of events.
const (
	slept      sim.Kind = iota // A: operation, B: its generation
	answered                   // A: server connection, B: the server's answer to what runs on it
	connected                  // A: server connection, B: the server's answer to its connect
	overdue                    // server_connect_timeout. A: server connection
	alarmRings                 // A: role
)

// client is a session of a client.
type client struct {
	live   bool // its owner has it
	holds  bool // a client slot, until its end is noted
	cutOff bool // by the pooler: its next use fails
	inTx   bool // it is in a transaction, and keeps its server connection
	caller server.Caller
	number int32
	op     server.Op // under way on it
	link   int32     // the server connection that it has; noLink
	opened sim.Time
}

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
	travelling stage = iota // to the pooler
	loggingIn               // a connect: for the logins before it and its own
	queued                  // for a server connection; a connect: for the first one
	running                 // at the server
	ending                  // its last wait; its outcome is known
)

// operation is what is known of an Op.
type operation struct {
	kind    opKind
	stage   stage
	slotted bool           // a connect that has a client slot
	outcome record.Outcome // not OK: how it will end
	caller  server.Caller
	session server.Session // NoSession of a connect
	gen     int32          // counts the operations of this name: a wait of 0, which cannot be cancelled, may outlive its own
	reply   sim.Reply
	query   *server.Query
	number  int64
	rand    sim.Rand
	began   sim.Time
	since   sim.Time // when it was queued
	due     sim.Time // when the present wait ends
	timer   sim.Timer
	prev    server.Op // in the queue
	next    server.Op
}

// New returns a pooler with the options o, which must be valid, before a backend, and adds it to sm.
func New(sm *sim.Sim, sink record.Sink, seed uint64, backend server.Backend, o Options) *Pooler {
	p := &Pooler{sim: sm, sink: sink, o: o, backend: backend}
	p.id = sm.Add(p)
	p.watcher, _ = backend.(server.Watcher)
	p.settler, _ = backend.(server.Settler)
	p.noteAll = record.Wants(sink, record.PoolerMoved) || record.Wants(sink, record.PoolerWaitBegan) || record.Wants(sink, record.PoolerWaitEnded)
	p.tell = record.Wants(sink, record.PoolerServes)
	p.connect, p.login = newLatency(sm, o.ClientConnect), newLatency(sm, o.ClientLogin)
	p.close, p.roundTrip = newLatency(sm, o.ClientClose), newLatency(sm, o.RoundTrip)
	p.connects = sim.NewStream(seed, "pooler.client_connect")
	p.logins = sim.NewStream(seed, "pooler.client_login")
	p.closes = sim.NewStream(seed, "pooler.client_close")
	p.roundTrips = sim.NewStream(seed, "pooler.round_trip")
	if o.ServerConnectTimeout != nil {
		p.connectLimit = sm.Delay(*o.ServerConnectTimeout)
	}
	return p
}

// Handle implements sim.Actor.
func (p *Pooler) Handle(ev sim.Event) {
	switch ev.Kind {
	case slept:
		if o := server.Op(ev.A); p.ops[o].gen == ev.B {
			p.slept(o)
		}
	case answered:
		p.answered(ev.A, ev.B)
	case connected:
		p.connected(ev.A, ev.B)
	case overdue:
		p.connectOverdue(ev.A)
	case alarmRings:
		p.alarmRings(p.pools[ev.A])
	}
}

// begin makes an operation.
func (p *Pooler) begin(kind opKind, s server.Session, c server.Caller, r sim.Reply) (server.Op, *operation) {
	var o server.Op
	if n := len(p.freeOps); n > 0 {
		o, p.freeOps = p.freeOps[n-1], p.freeOps[:n-1]
	} else {
		o = server.Op(len(p.ops))
		p.ops = append(p.ops, operation{})
	}
	x := &p.ops[o] // what is not set here was left zero by end, or is set where it is used: this is on the hot path
	x.kind, x.session, x.caller, x.reply, x.began = kind, s, c, r, p.sim.Now()
	return o, x
}

// op returns an operation under way.
func (p *Pooler) op(o server.Op) *operation {
	x := &p.ops[o]
	if x.kind == opFree {
		panic(fmt.Sprintf("pooler: operation %d is over", o))
	}
	return x
}

// end frees the name of an operation and gives its answer.
func (p *Pooler) end(o server.Op, b int32) {
	x := &p.ops[o]
	r := x.reply
	x.kind, x.stage, x.outcome, x.slotted = opFree, travelling, record.OK, false
	x.gen++
	p.freeOps = append(p.freeOps, o)
	p.sim.Answer(r, b)
}

// sleep lets the operation wait for a latency in the given stage. The wait for nothing takes no event of its own.
func (p *Pooler) sleep(o server.Op, x *operation, st stage, l *latency) {
	x.stage = st
	ev := sim.Event{To: p.id, Kind: slept, A: int32(o), B: x.gen}
	d := l.sample(&x.rand)
	x.due = p.sim.Now().Add(d)
	switch {
	case d == 0:
		p.sim.Continue(ev)
	case l.lane:
		x.timer = p.sim.Arm(l.delay, ev)
	case x.due < sim.Forever:
		x.timer = p.sim.ArmAt(x.due, ev)
	}
}

// fail ends an operation with an outcome, but not within the call that asked for it.
func (p *Pooler) fail(o server.Op, x *operation, out record.Outcome) {
	x.outcome = out
	p.sleep(o, x, ending, &nothing)
}

// wake cuts the present wait of an operation short.
func (p *Pooler) wake(x *operation) {
	p.sim.Cancel(x.timer)
	x.timer = sim.Timer{}
}

// slept goes on with an operation whose wait is over.
func (p *Pooler) slept(o server.Op) {
	x := &p.ops[o]
	x.timer = sim.Timer{}
	switch {
	case x.stage == ending:
		p.finish(o)
	case x.stage == loggingIn:
		p.loggedIn(o)
	case x.stage != travelling:
		panic(fmt.Sprintf("pooler: operation %d woke at stage %d", o, x.stage))
	case x.kind == opConnect:
		p.arrived(o)
	default:
		p.want(o)
	}
}

// finish ends an operation of which the server has no part.
func (p *Pooler) finish(o server.Op) {
	x := &p.ops[o]
	switch x.kind {
	case opConnect:
		p.connectEnded(o)
	case opClose, opCloseHard:
		p.clients[x.session].op = server.NoOp
		p.endSession(x.session, x.kind.closes())
		p.end(o, 0)
	default:
		p.clients[x.session].op = server.NoOp
		p.end(o, server.Code(x.outcome))
	}
}

// closes returns how a kind of close ends its session.
func (k opKind) closes() record.Outcome {
	if k == opCloseHard {
		return record.ClosedHard
	}
	return record.ClosedGracefully
}

// note notes a fact of now that belongs to no request.
func (p *Pooler) note(f record.Fact) {
	f.At, f.Request = p.sim.Now(), -1
	p.sink.Note(f)
}

// Stats are what a pooler has counted, and how it stands.
type Stats struct {
	Clients int // client connections, those being made included
	Waiting int // clients that wait for a server connection
	Servers int // server connections, those being opened included
	Opening int
	Idle    int
	InUse   int
	Testing int // being checked or reset
}

// Stats returns the figures of now.
func (p *Pooler) Stats() Stats {
	s := Stats{Clients: p.slots}
	for _, q := range p.pools {
		s.Waiting += q.waiting
		s.Servers += q.size()
		s.Opening += q.count[record.Opening]
		s.Idle += q.count[record.Idle]
		s.InUse += q.count[record.InUse]
		s.Testing += q.testing()
	}
	return s
}
