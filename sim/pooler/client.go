package pooler

import (
	"fmt"
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// client returns what is known of a session that its owner has.
func (p *Pooler) client(s server.Session) *client {
	if s < 0 || int(s) >= len(p.clients) || !p.clients[s].live {
		panic(fmt.Sprintf("pooler: session %d does not exist", s))
	}
	return &p.clients[s]
}

// Connect implements server.Backend.
func (p *Pooler) Connect(c server.Caller, r sim.Reply) server.Op {
	o, x := p.begin(opConnect, server.NoSession, c, r)
	x.number = p.attempts
	x.rand = p.connects.At(x.number)
	p.attempts++
	p.pool(c.Role)
	p.sleep(o, x, travelling, &p.connect)
	return o
}

// arrived: travelling -> logging in, or refused.
func (p *Pooler) arrived(o server.Op) {
	x := &p.ops[o]
	q := p.pools[x.caller.Role]
	switch {
	case p.slots >= p.o.MaxClientConnections:
		x.outcome = p.o.LimitError.outcome()
	case q.failing():
		x.outcome = record.OtherError // 08P01
		p.probe(q)
	}
	if x.outcome != record.OK {
		p.connectEnded(o)
		return
	}
	p.slots++
	x.slotted = true
	if p.login.none() {
		p.loggedIn(o)
		return
	}
	x.rand = p.logins.At(x.number)
	p.loggedInAll = max(p.loggedInAll, p.sim.Now()).Add(p.login.sample(&x.rand))
	wait := latency{constant: p.loggedInAll.Sub(p.sim.Now())}
	p.sleep(o, x, loggingIn, &wait)
}

// loggedIn: logging in -> open, or queued for the first server connection, of which the pooler learns what to greet clients with.
func (p *Pooler) loggedIn(o server.Op) {
	q := p.pools[p.ops[o].caller.Role]
	if q.greets {
		p.connectEnded(o)
		p.grow(q) // to min_pool_size
		return
	}
	p.enqueue(q, o)
	p.serve(q)
}

// connectEnded ends a connect: it opens a session or says why not.
func (p *Pooler) connectEnded(o server.Op) {
	x := &p.ops[o]
	f := record.Fact{Kind: record.PoolerConnected, Pool: x.caller.Pool, Outcome: x.outcome, Took: p.sim.Now().Sub(x.began)}
	if x.outcome != record.OK {
		if x.slotted {
			p.slots--
		}
		p.note(f)
		p.end(o, server.Code(x.outcome))
		return
	}
	s := p.open(x.caller)
	f.Conn = p.clients[s].number
	p.note(f)
	p.end(o, int32(s))
}

// open makes a session, whose slot is taken already.
func (p *Pooler) open(c server.Caller) server.Session {
	var s server.Session
	if n := len(p.freeClients); n > 0 {
		s, p.freeClients = p.freeClients[n-1], p.freeClients[:n-1]
	} else {
		s = server.Session(len(p.clients))
		p.clients = append(p.clients, client{})
	}
	p.numbers++
	p.clients[s] = client{live: true, holds: true, caller: c, number: p.numbers, op: server.NoOp, link: noLink, opened: p.sim.Now()}
	p.pools[c.Role].clients++
	return s
}

// use prepares a query or ping on a session, which must be free for it.
func (p *Pooler) use(kind opKind, s server.Session, r sim.Reply) (server.Op, *operation, *client) {
	c := p.client(s)
	if c.op != server.NoOp {
		panic(fmt.Sprintf("pooler: %v on session %d (number %d) during a %v", kind, s, c.number, p.ops[c.op].kind))
	}
	o, x := p.begin(kind, s, c.caller, r)
	c.op = o
	return o, x, c
}

// Ping implements server.Backend.
func (p *Pooler) Ping(s server.Session, r sim.Reply) server.Op {
	o, x, c := p.use(opPing, s, r)
	p.pinged++
	if p.roundTrip.sampler != nil {
		x.rand = p.roundTrips.At(-p.pinged) // queries have the other numbers
	}
	p.send(o, x, c)
	return o
}

// Query implements server.Backend.
func (p *Pooler) Query(s server.Session, query *server.Query, number int64, r sim.Reply) server.Op {
	o, x, c := p.use(opQuery, s, r)
	x.query, x.number = query, number
	if p.roundTrip.sampler != nil {
		x.rand = p.roundTrips.At(number)
	}
	p.send(o, x, c)
	return o
}

// send lets a query or ping travel to the pooler and back. The time of both ways passes before it asks for a server connection.
func (p *Pooler) send(o server.Op, x *operation, c *client) {
	switch {
	case c.cutOff:
		x.outcome = record.ConnectionReset
		p.sleep(o, x, ending, &p.roundTrip)
	case p.roundTrip.none():
		p.want(o)
	default:
		p.sleep(o, x, travelling, &p.roundTrip)
	}
}

// want: travelling -> running, if the client has a server connection or finds one free; else queued, or cut off.
func (p *Pooler) want(o server.Op) {
	x := &p.ops[o]
	q := p.pools[x.caller.Role]
	if i := p.clients[x.session].link; i != noLink {
		p.run(o, i)
		return
	}
	if q.waiting == 0 {
		if i := p.fresh(q); i != noLink {
			p.lend(q, i, o, 0)
			return
		}
	}
	if q.failing() {
		p.cutOff(x.session)
		p.fail(o, x, q.failure)
		p.probe(q)
		return
	}
	p.enqueue(q, o)
	p.serve(q)
}

// cutOff ends a client's session without its doing. Its owner learns that with its next use.
func (p *Pooler) cutOff(s server.Session) {
	c := &p.clients[s]
	c.cutOff = true
	p.leave(c, record.Killed)
}

// leave frees the slot of a client.
func (p *Pooler) leave(c *client, how record.Outcome) {
	c.holds = false
	p.slots--
	p.pools[c.caller.Role].clients--
	p.note(record.Fact{Kind: record.PoolerLeft, Pool: c.caller.Pool, Conn: c.number, Outcome: how, Took: p.sim.Now().Sub(c.opened)})
}

// Close implements server.Backend.
func (p *Pooler) Close(s server.Session, r sim.Reply) server.Op {
	return p.beginClose(opClose, s, &p.close, r)
}

// CloseHard implements server.Backend. It takes no time.
func (p *Pooler) CloseHard(s server.Session, r sim.Reply) server.Op {
	return p.beginClose(opCloseHard, s, &nothing, r)
}

func (p *Pooler) beginClose(kind opKind, s server.Session, l *latency, r sim.Reply) server.Op {
	c := p.client(s)
	p.giveUp(c)
	o, x := p.begin(kind, s, c.caller, r)
	c.op = o
	x.rand = p.closes.At(int64(c.number))
	p.sleep(o, x, ending, l)
	return o
}

// Drop implements server.Backend.
func (p *Pooler) Drop(s server.Session, how record.Outcome) {
	p.giveUp(p.client(s))
	p.endSession(s, how)
}

// endSession ends a session for its owner; its name is free then. A server connection that it has is for others.
func (p *Pooler) endSession(s server.Session, how record.Outcome) {
	c := &p.clients[s]
	q := p.pools[c.caller.Role]
	if c.holds {
		p.leave(c, how)
	}
	i, inTx := c.link, c.inTx
	c.live, c.link, c.inTx = false, noLink, false
	p.freeClients = append(p.freeClients, s)
	switch {
	case i == noLink:
	case inTx: // nobody knows what it was about to do
		p.drop(q, i)
		p.serve(q)
	default:
		p.release(q, i)
	}
}

// giveUp ends what is under way on a session that ends. A server connection that was at work for it is of no use to others.
func (p *Pooler) giveUp(c *client) {
	o := c.op
	if o == server.NoOp {
		return
	}
	c.op = server.NoOp
	x, q := &p.ops[o], p.pools[c.caller.Role]
	x.reply.To = sim.Nobody
	switch x.stage {
	case queued:
		p.dequeue(q, o, record.Cancelled)
	case running:
		i := c.link
		c.link, c.inTx = noLink, false
		p.drop(q, i)
	default:
		p.wake(x)
	}
	was := x.stage
	p.end(o, 0)
	if was == running || was == queued {
		p.serve(q)
	}
}

// Abort implements server.Backend.
func (p *Pooler) Abort(o server.Op) {
	x := p.op(o)
	switch x.kind {
	case opConnect:
		q := p.pools[x.caller.Role]
		if x.stage == queued {
			p.dequeue(q, o, record.Cancelled)
		}
		p.wake(x)
		x.reply.To, x.outcome = sim.Nobody, record.Cancelled
		p.connectEnded(o)
	case opClose, opCloseHard:
		p.giveUp(&p.clients[x.session])
		p.endSession(x.session, record.Dropped)
	default:
		x.reply.To = sim.Nobody
	}
}

// Due implements server.Backend.
func (p *Pooler) Due(o server.Op) sim.Time {
	x := p.op(o)
	open := !p.pools[x.caller.Role].greets // it may have to wait for that
	switch x.stage {
	case ending:
		return x.due
	case running:
		return p.backend.Due(p.links[p.clients[x.session].link].op)
	case queued:
		return x.since.Add(p.patience())
	case loggingIn:
		if !open {
			return x.due
		}
	case travelling:
		if x.kind == opConnect && p.login.none() && !open {
			return x.due
		}
	}
	return sim.Forever
}

// patience returns how long a client waits for a server connection.
func (p *Pooler) patience() time.Duration {
	if p.o.QueryWaitTimeout == nil {
		return forever
	}
	return *p.o.QueryWaitTimeout
}

const forever = time.Duration(sim.Forever)

// Settle implements server.Settler: what ends at the server is settled there.
func (p *Pooler) Settle(o server.Op) bool {
	x := p.op(o)
	if x.stage == running {
		return p.settler != nil && p.settler.Settle(p.links[p.clients[x.session].link].op)
	}
	if now := p.sim.Now(); x.due != now || p.Due(o) != now || x.stage == queued {
		return false
	}
	p.wake(x)
	p.slept(o)
	return x.kind == opFree
}

// Number implements server.Backend.
func (p *Pooler) Number(s server.Session) int32 { return p.client(s).number }

// Alive implements server.Backend.
func (p *Pooler) Alive(s server.Session) bool {
	c := p.client(s)
	return !c.cutOff && (c.link == noLink || p.backend.Alive(p.links[c.link].session))
}
