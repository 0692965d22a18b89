package server

import (
	"fmt"

	"poolwise/sim"
	"poolwise/sim/record"
)

// Route is a Backend between a program and one or more others: the program's sockets and what it knows of addresses. It leads to
// one of the others, as a host name or the options of a connect do: connects go where it leads at the time; a session stays where
// it was opened. And it keeps an answer until the program looks at it. A program that stands still (sim.Freeze, of all its actors
// but Outside) finds what came meanwhile in the order in which it came, and an operation that it gives up before it has seen the
// answer is given up. It implements Settler, Watcher, Exiter, Transactional,
// Canceller and Blocker as far as the others do.
type Route struct {
	sim    *sim.Sim
	inside sim.ActorID // of the program
	outer  outside
	way    []Backend
	to     int // where it leads

	ops  []carried
	free []Op
}

// carried is an operation of the program.
type carried struct {
	live    bool
	come    bool // its answer is there, and b is what it says
	connect bool
	way     int
	own     Op      // as the backend knows it, until the answer has come
	session Session // of the program; NoSession of a connect
	b       int32
	gen     int32
	reply   sim.Reply
}

// outside is the part of a Route that does not stand still with its program.
type outside struct {
	*Route
	id sim.ActorID
}

// NewRoute returns a route that leads to the first of the backends.
func NewRoute(sm *sim.Sim, backends ...Backend) *Route {
	r := &Route{sim: sm, way: backends}
	r.inside = sm.Add(r)
	r.outer = outside{Route: r}
	r.outer.id = sm.Add(r.outer)
	return r
}

// Lead makes later connects go to the backend of number i, from 0.
func (r *Route) Lead(i int) { r.to = i }

// Outside returns the actor that goes on while the program stands still.
func (r *Route) Outside() sim.ActorID { return r.outer.id }

// The session s of backend i of n has the name s*n + i.

func (r *Route) named(s Session, way int) Session { return s*Session(len(r.way)) + Session(way) }

// find returns the backend of a session, its number and the name that the session has there.
func (r *Route) find(s Session) (Backend, int, Session) {
	n := Session(len(r.way))
	return r.way[s%n], int(s % n), s / n
}

// begin makes an operation. Its answer comes to outside.
func (r *Route) begin(way int, s Session, reply sim.Reply) (Op, sim.Reply) {
	var o Op
	if n := len(r.free); n > 0 {
		o, r.free = r.free[n-1], r.free[:n-1]
	} else {
		o = Op(len(r.ops))
		r.ops = append(r.ops, carried{})
	}
	r.ops[o] = carried{live: true, way: way, session: s, gen: r.ops[o].gen, reply: reply}
	return o, r.inner(o)
}

// inner is where a backend's answer to an operation goes.
func (r *Route) inner(o Op) sim.Reply {
	return sim.Reply{To: r.outer.id, Kind: sim.Kind(r.ops[o].gen), A: int32(o)}
}

func (r *Route) op(o Op) *carried {
	c := &r.ops[o]
	if !c.live {
		panic(fmt.Sprintf("server: operation %d of a route is over", o))
	}
	return c
}

// end frees the name of an operation.
func (r *Route) end(o Op) {
	c := &r.ops[o]
	c.live, c.come = false, false
	c.gen++
	r.free = append(r.free, o)
}

// Handle takes the answer of a backend and puts it before the program.
func (u outside) Handle(ev sim.Event) {
	c := &u.ops[ev.A]
	if !c.live || c.gen != int32(ev.Kind) { // given up
		return
	}
	c.come, c.b = true, ev.B
	if c.connect && ev.B >= 0 {
		c.b = int32(u.named(Session(ev.B), c.way))
	}
	u.sim.Answer(sim.Reply{To: u.inside, Kind: ev.Kind, A: ev.A}, 0)
}

// Handle shows the program an answer.
func (r *Route) Handle(ev sim.Event) {
	if c := &r.ops[ev.A]; c.live && c.gen == int32(ev.Kind) {
		r.show(Op(ev.A))
	}
}

func (r *Route) show(o Op) {
	reply, b := r.ops[o].reply, r.ops[o].b
	r.end(o)
	r.sim.Answer(reply, b)
}

// Connect implements Backend.
func (r *Route) Connect(c Caller, reply sim.Reply) Op {
	o, inner := r.begin(r.to, NoSession, reply)
	r.ops[o].connect = true
	r.ops[o].own = r.way[r.to].Connect(c, inner)
	return o
}

// Ping implements Backend.
func (r *Route) Ping(s Session, reply sim.Reply) Op {
	b, way, own := r.find(s)
	o, inner := r.begin(way, s, reply)
	r.ops[o].own = b.Ping(own, inner)
	return o
}

// Query implements Backend.
func (r *Route) Query(s Session, q *Query, number int64, reply sim.Reply) Op {
	b, way, own := r.find(s)
	o, inner := r.begin(way, s, reply)
	r.ops[o].own = b.Query(own, q, number, inner)
	return o
}

// Close implements Backend.
func (r *Route) Close(s Session, reply sim.Reply) Op {
	b, way, own := r.find(s)
	r.giveUp(s)
	o, inner := r.begin(way, s, reply)
	r.ops[o].own = b.Close(own, inner)
	return o
}

// CloseHard implements Backend.
func (r *Route) CloseHard(s Session, reply sim.Reply) Op {
	b, way, own := r.find(s)
	r.giveUp(s)
	o, inner := r.begin(way, s, reply)
	r.ops[o].own = b.CloseHard(own, inner)
	return o
}

// Drop implements Backend.
func (r *Route) Drop(s Session, how record.Outcome) {
	b, _, own := r.find(s)
	r.giveUp(s)
	b.Drop(own, how)
}

// giveUp gives up what is under way on a session that ends; the backend does so, too.
func (r *Route) giveUp(s Session) {
	for o := range r.ops {
		if c := &r.ops[o]; c.live && c.session == s {
			r.end(Op(o))
		}
	}
}

// Abort implements Backend.
func (r *Route) Abort(o Op) {
	c := *r.op(o)
	r.end(o)
	switch {
	case !c.come:
		r.way[c.way].Abort(c.own)
	case c.connect && c.b >= 0: // nobody will ever use it
		b, _, own := r.find(Session(c.b))
		b.Drop(own, record.Dropped)
	}
}

// Due implements Backend.
func (r *Route) Due(o Op) sim.Time {
	c := r.op(o)
	if c.come {
		return r.sim.Now()
	}
	return r.way[c.way].Due(c.own)
}

// Settle implements Settler.
func (r *Route) Settle(o Op) bool {
	c := r.op(o)
	if c.come {
		r.show(o)
		return true
	}
	s, ok := r.way[c.way].(Settler)
	return ok && s.Settle(c.own)
}

// Rollback implements Transactional.
func (r *Route) Rollback(s Session) {
	b, _, own := r.find(s)
	if t, ok := b.(Transactional); ok {
		t.Rollback(own)
	}
}

// CancelQuery implements Canceller.
func (r *Route) CancelQuery(o Op) {
	c := r.op(o)
	if k, ok := r.way[c.way].(Canceller); ok && !c.come {
		k.CancelQuery(c.own)
	}
}

// Blocked implements Blocker.
func (r *Route) Blocked(o Op, reply sim.Reply) bool {
	c := &r.ops[o]
	b, ok := r.way[c.way].(Blocker)
	return ok && c.live && !c.come && c.reply == reply && b.Blocked(c.own, r.inner(o))
}

// Number implements Backend.
func (r *Route) Number(s Session) int32 {
	b, _, own := r.find(s)
	return b.Number(own)
}

// Alive implements Backend.
func (r *Route) Alive(s Session) bool {
	b, _, own := r.find(s)
	return b.Alive(own)
}

// Ended implements Watcher.
func (r *Route) Ended(s Session) bool {
	b, _, own := r.find(s)
	w, ok := b.(Watcher)
	return ok && w.Ended(own)
}

// Hangup implements Exiter. Connects that it drops are not answered.
func (r *Route) Hangup(pool int16) {
	for _, b := range r.way {
		if e, ok := b.(Exiter); ok {
			e.Hangup(pool)
		}
	}
}
