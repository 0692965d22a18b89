package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// world is one Driver with a pool and a server that do what a test wants of them and check how they are used.
type world struct {
	sim    sim.Sim
	pool   *fakePool
	server *fakeServer
	driver *Driver
	facts  []record.Fact
	log    []string
	done   int
}

func newWorld(o Options, seed uint64) *world {
	w := &world{}
	w.pool = &fakePool{w: w, size: 1}
	w.pool.id = w.sim.Add(w.pool)
	w.server = &fakeServer{w: w}
	w.server.id = w.sim.Add(w.server)
	env := Env{
		Sim: &w.sim, Pool: w.pool, Server: w.server, Options: &server.Options{}, Sink: w, Seed: seed,
		Done: sim.Reply{To: w.sim.Add(w), A: 7},
	}
	w.driver = New(env, o)
	return w
}

// Handle takes the driver's word that it is done.
func (w *world) Handle(ev sim.Event) {
	w.done++
	w.sayf("done")
}

func (w *world) Note(f record.Fact) {
	w.facts = append(w.facts, f)
	switch f.Kind {
	case record.RequestBegan:
		if f.At != w.sim.Now() {
			w.sayf("%v %d, meant for %v", f.Kind, f.Request, f.At)
			return
		}
		w.sayf("%v %d", f.Kind, f.Request)
	case record.QuerySent, record.CallBegan: // the conversations show what follows
	default:
		w.sayf("%v %d %v took=%v", f.Kind, f.Request, f.Outcome, f.Took)
	}
}

func (w *world) sayf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%-8v", w.sim.Now())+fmt.Sprintf(format, args...))
}

// held returns how many connections are lent.
func (w *world) held() int {
	n := 0
	for _, c := range w.pool.conns {
		if c.lent {
			n++
		}
	}
	return n
}

// vacant reports whether all slots of the driver are free, and each once.
func (w *world) vacant() bool {
	free := slices.Sorted(slices.Values(w.driver.free))
	for i, f := range free {
		if int(f) != i || w.driver.slots[i].state != vacant {
			return false
		}
	}
	return len(free) == len(w.driver.slots) && w.driver.live == 0
}

// fakePool lends size connections, first come first served, and breaks when it is used against its contract.
type fakePool struct {
	w    *world
	id   sim.ActorID
	size int
	// What a test may set.
	bare    bool                                       // no sessions
	asleep  bool                                       // whoever waits is woken by an event of its own, and may meanwhile cancel
	grant   time.Duration                              // how long a grant takes
	slow    time.Duration                              // how long a return takes
	refuse  func(n int, r pool.Request) record.Outcome // what the n-th acquire ends with, from 1
	reject  func(c pool.Conn) bool                     // a return
	timeout time.Duration                              // without one of the request's own

	dirty map[server.Session]pool.SessionState // what borrowers have left

	asked   int
	tickets []fakeTicket
	conns   []fakeConn
	waiting []int32
	ends    []fakeEnd
}

// fakeEnd is a return.
type fakeEnd struct {
	request int64
	how     pool.End
}

type fakeTicket struct {
	r       pool.Request
	pending bool // not answered
	granted bool // it has a connection, its answer is on the way
	conn    pool.Conn
	timer   sim.Timer
}

type fakeConn struct {
	lent, gone bool
	request    int64
}

// statefulPool is a fakePool that is told what is left in its sessions.
type statefulPool struct{ *fakePool }

func (p statefulPool) Dirty(c pool.Conn, what pool.SessionState) {
	if !p.conns[c].lent {
		panic(fmt.Sprintf("connection %d made dirty without a loan", c))
	}
	p.w.sayf("  dirty %d: %d", c, what)
	if p.dirty == nil {
		p.dirty = map[server.Session]pool.SessionState{}
	}
	p.dirty[server.Session(c)] |= what
}

func (p statefulPool) State(c pool.Conn) pool.SessionState { return p.dirty[server.Session(c)] }

// spoilt reports whether a session ended with its loan, and all that it had.
func (p *fakePool) spoilt(s server.Session) bool { return p.conns[s].gone }

const (
	fakeTimeout sim.Kind = iota // A: ticket
	fakeGranted                 // A: ticket
	fakeBack                    // A: index into later
)

var endNames = [...]string{"release", "discard", "close_on_drop", "detach", "leak", "broken"}

func (p *fakePool) Start(r sim.Reply) {}
func (p *fakePool) Close(r sim.Reply) {}
func (p *fakePool) Stats() (st pool.Stats) {
	for _, c := range p.conns {
		switch {
		case c.gone:
		case c.lent:
			st.Size++
		default:
			st.Size++
			st.Idle++
		}
	}
	return st
}
func (p *fakePool) Verify() {}
func (p *fakePool) out() (n int) {
	for _, c := range p.conns {
		if c.lent || c.gone {
			n++
		}
	}
	return n
}

func (p *fakePool) Acquire(r pool.Request) pool.Ticket {
	p.asked++
	t := int32(len(p.tickets))
	p.tickets = append(p.tickets, fakeTicket{r: r, pending: true})
	p.w.sayf("  %d: acquire", r.Number)
	if p.refuse != nil {
		if o := p.refuse(p.asked, r); o != record.OK {
			p.answer(t, server.Code(o))
			return pool.Ticket(t)
		}
	}
	limit := r.Timeout
	if limit == 0 {
		limit = p.timeout
	}
	switch {
	case p.out() < p.size:
		p.lend(t)
	case r.Try:
		p.answer(t, server.Code(record.NoneAvailable))
	default:
		p.waiting = append(p.waiting, t)
		if limit > 0 {
			p.tickets[t].timer = p.w.sim.ArmAt(p.w.sim.Now().Add(limit), sim.Event{To: p.id, Kind: fakeTimeout, A: t})
		}
	}
	return pool.Ticket(t)
}

// lend takes a connection and gives it to the acquire, at once or after a while.
func (p *fakePool) lend(t int32) {
	q := &p.tickets[t]
	p.w.sim.Cancel(q.timer)
	c := slices.IndexFunc(p.conns, func(c fakeConn) bool { return !c.lent && !c.gone })
	if c < 0 {
		c = len(p.conns)
		p.conns = append(p.conns, fakeConn{})
	}
	p.conns[c].lent, p.conns[c].request = true, q.r.Number
	q.granted, q.conn = true, pool.Conn(c)
	switch {
	case p.grant > 0:
		p.w.sim.After(p.grant, sim.Event{To: p.id, Kind: fakeGranted, A: t})
	case p.asleep:
		p.w.sim.Soon(sim.Event{To: p.id, Kind: fakeGranted, A: t})
	default:
		p.answer(t, int32(c))
	}
}

func (p *fakePool) answer(t, b int32) {
	q := &p.tickets[t]
	if !q.pending {
		panic(fmt.Sprintf("acquire %d answered twice", t))
	}
	q.pending = false
	p.w.sim.Cancel(q.timer)
	p.w.sim.Answer(q.r.Reply, b)
}

func (p *fakePool) Cancel(ticket pool.Ticket) {
	t := int32(ticket)
	q := &p.tickets[t]
	if !q.pending {
		panic(fmt.Sprintf("acquire %d cancelled after its answer", t))
	}
	p.w.sayf("  %d: cancel", q.r.Number)
	p.waiting = slices.DeleteFunc(p.waiting, func(u int32) bool { return u == t })
	p.answer(t, server.Code(record.Cancelled))
	if q.granted {
		p.conns[q.conn].lent = false
		p.serve()
	}
}

func (p *fakePool) Return(c pool.Conn, how pool.End, r sim.Reply) {
	if !p.conns[c].lent {
		panic(fmt.Sprintf("connection %d returned without a loan", c))
	}
	if !p.bare && p.w.server.busy(server.Session(c)) && how != pool.Discard && how != pool.Leak {
		panic(fmt.Sprintf("connection %d returned during a query", c))
	}
	awaited := ""
	if r.To != sim.Nobody {
		awaited = ", awaited"
	}
	p.w.sayf("  return %d: %s%s", c, endNames[how], awaited)
	p.ends = append(p.ends, fakeEnd{p.conns[c].request, how})
	p.conns[c].lent = false
	b := int32(0)
	if p.reject != nil && p.reject(c) {
		b = server.Code(record.Rejected)
	}
	switch how {
	case pool.Leak:
		p.conns[c].gone = true
	case pool.Detach, pool.Discard, pool.CloseOnDrop, pool.Broken:
		p.conns[c] = fakeConn{gone: true}
		p.size++ // another may take its place
	}
	if p.slow > 0 {
		if r.To != sim.Nobody {
			p.w.sim.After(p.slow, r.Event(b))
		}
	} else {
		p.w.sim.Answer(r, b)
	}
	p.serve()
}

func (p *fakePool) serve() {
	for len(p.waiting) > 0 && p.out() < p.size {
		t := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.lend(t)
	}
}

func (p *fakePool) Handle(ev sim.Event) {
	q := &p.tickets[ev.A]
	switch ev.Kind {
	case fakeTimeout:
		p.waiting = slices.DeleteFunc(p.waiting, func(u int32) bool { return u == ev.A })
		p.answer(ev.A, server.Code(record.AcquireTimeout))
	case fakeGranted:
		if q.pending {
			p.answer(ev.A, int32(q.conn))
		}
	}
}

func (p *fakePool) Session(c pool.Conn) server.Session {
	if !p.conns[c].lent {
		panic(fmt.Sprintf("session of connection %d, which is not lent", c))
	}
	if p.bare {
		return server.NoSession
	}
	return server.Session(c)
}

// fakeServer runs each query for as long as takes says.
type fakeServer struct {
	server.Backend // for what no workload calls
	w              *world
	id             sim.ActorID
	takes          func(number int64) (time.Duration, record.Outcome)

	ops     []fakeOp
	numbers []int64 // of all queries
	begun   map[server.Session]bool
	blocked bool // queries wait for locks
}

type fakeOp struct {
	session server.Session
	reply   sim.Reply
	outcome record.Outcome
	running bool
}

func (s *fakeServer) busy(session server.Session) bool {
	return slices.ContainsFunc(s.ops, func(o fakeOp) bool { return o.running && o.session == session })
}

// Rollback implements server.Transactional.
func (s *fakeServer) Rollback(session server.Session) {
	if !s.w.pool.conns[session].lent || s.busy(session) {
		panic(fmt.Sprintf("rollback on session %d, which is not free for it", session))
	}
	s.w.sayf("  rollback on %d", session)
	s.begun[session] = false
}

// CancelQuery implements server.Canceller: at once.
func (s *fakeServer) CancelQuery(op server.Op) {
	o := &s.ops[op]
	if !o.running || o.reply.To == sim.Nobody {
		panic(fmt.Sprintf("operation %d cancelled after its end", op))
	}
	s.w.sayf("  cancel query on %d", o.session)
	o.outcome = record.QueryCancelled
	s.w.sim.Continue(sim.Event{To: s.id, A: int32(op)})
}

// Blocked implements server.Blocker.
func (s *fakeServer) Blocked(server.Op, sim.Reply) bool { return s.blocked }

func (s *fakeServer) Query(session server.Session, q *server.Query, number int64, r sim.Reply) server.Op {
	if s.busy(session) {
		panic(fmt.Sprintf("two queries on session %d", session))
	}
	what := ""
	switch q {
	case server.Begin, server.Commit:
		if s.begun == nil {
			s.begun = map[server.Session]bool{}
		}
		s.begun[session] = q == server.Begin
		what = map[bool]string{true: ": begin", false: ": commit"}[q == server.Begin]
	}
	s.w.sayf("  query %d on %d%s", number, session, what)
	s.numbers = append(s.numbers, number)
	op := fakeOp{session: session, reply: r, running: true}
	d := 5 * time.Millisecond
	if s.takes != nil {
		d, op.outcome = s.takes(number)
	}
	s.ops = append(s.ops, op)
	s.w.sim.After(d, sim.Event{To: s.id, A: int32(len(s.ops) - 1)})
	return server.Op(len(s.ops) - 1)
}

func (s *fakeServer) Number(session server.Session) int32 { return int32(session) + 1 }

func (s *fakeServer) Abort(op server.Op) {
	o := &s.ops[op]
	if !o.running || o.reply.To == sim.Nobody {
		panic(fmt.Sprintf("operation %d aborted after its end", op))
	}
	s.w.sayf("  abort query on %d", o.session)
	o.reply.To = sim.Nobody
}

func (s *fakeServer) Handle(ev sim.Event) {
	o := &s.ops[ev.A]
	if !o.running {
		return // it was cancelled
	}
	o.running = false
	b := int32(0)
	if o.outcome != record.OK {
		b = server.Code(o.outcome)
	}
	s.w.sim.Answer(o.reply, b)
}

// text returns the log.
func (w *world) text() string { return strings.Join(w.log, "\n") + "\n" }
