package server

import (
	"poolwise/sim"
	"poolwise/sim/record"
)

// Route is a Backend that leads to one of several others, as a host name, an address or the options of a connect do. Connects go
// where it leads at the time; a session stays where it was opened. It implements Settler, Watcher and Exiter as
// far as the others do.
type Route struct {
	sim *sim.Sim
	id  sim.ActorID
	way []Backend
	to  int // where it leads

	connects []connecting // by the A of their answers
	free     []int32
}

// connecting is a connect under way.
type connecting struct {
	reply sim.Reply
	op    Op // as its asker knows it; NoOp of a free place
}

// NewRoute returns a route that leads to the first of the backends.
func NewRoute(sm *sim.Sim, backends ...Backend) *Route {
	r := &Route{sim: sm, way: backends}
	r.id = sm.Add(r)
	return r
}

// Lead makes later connects go to the backend of number i, from 0.
func (r *Route) Lead(i int) { r.to = i }

// Where returns the number of the backend of a session.
func (r *Route) Where(s Session) int { return int(s) % len(r.way) }

// A session or operation of backend i of n that has the name x there has the name x*n + i here.

func (r *Route) session(s Session) (Backend, Session) {
	n := Session(len(r.way))
	return r.way[s%n], s / n
}

func (r *Route) op(o Op) (Backend, Op) {
	n := Op(len(r.way))
	return r.way[o%n], o / n
}

// named returns the name of an operation on a session.
func (r *Route) named(o Op, s Session) Op {
	n := Op(len(r.way))
	return o*n + Op(s)%n
}

// Connect implements Backend.
func (r *Route) Connect(c Caller, reply sim.Reply) Op {
	var i int32
	if n := len(r.free); n > 0 {
		i, r.free = r.free[n-1], r.free[:n-1]
	} else {
		i = int32(len(r.connects))
		r.connects = append(r.connects, connecting{})
	}
	o := r.way[r.to].Connect(c, sim.Reply{To: r.id, Kind: sim.Kind(r.to), A: i})
	r.connects[i] = connecting{reply, o*Op(len(r.way)) + Op(r.to)}
	return r.connects[i].op
}

// Handle implements sim.Actor: a connect is answered. The kind of the event is the number of the backend.
func (r *Route) Handle(ev sim.Event) {
	b := ev.B
	if b >= 0 {
		b = b*int32(len(r.way)) + int32(ev.Kind)
	}
	r.sim.Answer(r.connects[ev.A].reply, b)
	r.forget(ev.A)
}

func (r *Route) forget(i int32) {
	r.connects[i].op = NoOp
	r.free = append(r.free, i)
}

// Ping implements Backend.
func (r *Route) Ping(s Session, reply sim.Reply) Op {
	b, own := r.session(s)
	return r.named(b.Ping(own, reply), s)
}

// Query implements Backend.
func (r *Route) Query(s Session, q *Query, number int64, reply sim.Reply) Op {
	b, own := r.session(s)
	return r.named(b.Query(own, q, number, reply), s)
}

// Close implements Backend.
func (r *Route) Close(s Session, reply sim.Reply) Op {
	b, own := r.session(s)
	return r.named(b.Close(own, reply), s)
}

// CloseHard implements Backend.
func (r *Route) CloseHard(s Session, reply sim.Reply) Op {
	b, own := r.session(s)
	return r.named(b.CloseHard(own, reply), s)
}

// Drop implements Backend.
func (r *Route) Drop(s Session, how record.Outcome) {
	b, own := r.session(s)
	b.Drop(own, how)
}

// Abort implements Backend.
func (r *Route) Abort(o Op) {
	for i := range r.connects {
		if r.connects[i].op == o {
			r.forget(int32(i))
			break
		}
	}
	b, own := r.op(o)
	b.Abort(own)
}

// Due implements Backend.
func (r *Route) Due(o Op) sim.Time {
	b, own := r.op(o)
	return b.Due(own)
}

// Settle implements Settler.
func (r *Route) Settle(o Op) bool {
	b, own := r.op(o)
	s, ok := b.(Settler)
	return ok && s.Settle(own)
}

// Number implements Backend.
func (r *Route) Number(s Session) int32 {
	b, own := r.session(s)
	return b.Number(own)
}

// Alive implements Backend.
func (r *Route) Alive(s Session) bool {
	b, own := r.session(s)
	return b.Alive(own)
}

// Ended implements Watcher.
func (r *Route) Ended(s Session) bool {
	b, own := r.session(s)
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
