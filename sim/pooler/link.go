package pooler

import (
	"fmt"
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// link is a server connection. Its states are those of a connection in a pool; closing takes the pooler no time.
type link struct {
	state   record.State
	role    int16
	session server.Session // NoSession until it is open
	number  int32          // the server's number of it
	client  server.Session // that has it; NoSession
	work    server.Op      // the client's operation that runs on it; NoOp
	op      server.Op      // the server's operation under way on it
	opened  sim.Time       // when its connect began
	used    sim.Time       // when the server last answered on it
	limit   sim.Timer      // server_connect_timeout
}

// noLink is no server connection.
const noLink int32 = -1

// dead are the outcomes after which a server connection is of no use.
var dead = [record.NumOutcomes]bool{record.AdminShutdown: true, record.ConnectionReset: true, record.ConnectionTimeout: true}

// unsaid are the outcomes of a connect that do not come from the server: it could not be reached.
var unsaid = [record.NumOutcomes]bool{record.ConnectRefused: true, record.ConnectionReset: true, record.ConnectionTimeout: true}

// move takes a server connection from one state to another. It is the only writer of states and counts. waited is how long its
// client has waited for one that is lent.
func (p *Pooler) move(q *pool, i int32, from, to record.State, waited time.Duration) {
	l := &p.links[i]
	if l.state != from {
		panic(fmt.Sprintf("pooler: server connection %d (number %d) is %v, not %v, on its way to %v", i, l.number, l.state, from, to))
	}
	l.state = to
	if from != record.None {
		q.count[from]--
	}
	if to != record.None {
		q.count[to]++
	}
	if p.noteAll {
		f := record.Fact{Kind: record.PoolerMoved, Pool: -1, Conn: l.number, Move: record.Between(from, to), Took: waited}
		if l.client != server.NoSession {
			f.Pool = p.clients[l.client].caller.Pool
		}
		p.note(f)
	}
}

// fresh takes the server connection out of the idle ones that was used last, if it can be lent as it is; noLink without one.
// Those that the server has ended are closed on the way.
func (p *Pooler) fresh(q *pool) int32 {
	for q.idle.Len() > 0 {
		i := q.idle.PopBack()
		switch {
		case p.watcher != nil && p.watcher.Ended(p.links[i].session):
			p.drop(q, i)
		case p.o.ServerCheckDelay != nil && p.sim.Now().Sub(p.links[i].used) > *p.o.ServerCheckDelay:
			q.idle.Push(i)
			return noLink // and so have all others
		default:
			return i
		}
	}
	return noLink
}

// lend: idle, or free otherwise -> in use, for the operation o of a client.
func (p *Pooler) lend(q *pool, i int32, o server.Op, waited time.Duration) {
	l, s := &p.links[i], p.ops[o].session
	l.client = s
	p.clients[s].link = i
	p.move(q, i, l.state, record.InUse, waited)
	if p.tell {
		c := &p.clients[s]
		p.note(record.Fact{Kind: record.PoolerServes, Pool: c.caller.Pool, Conn: c.number})
	}
	p.run(o, i)
}

// run lets the operation of a client run on its server connection.
func (p *Pooler) run(o server.Op, i int32) {
	x, l := &p.ops[o], &p.links[i]
	x.stage = running
	l.work = o
	r := p.answer(i)
	if x.kind == opPing {
		l.op = p.backend.Ping(l.session, r)
	} else {
		l.op = p.backend.Query(l.session, x.query, x.number, r)
	}
}

// answer is where the answer to what runs on a server connection goes.
func (p *Pooler) answer(i int32) sim.Reply { return sim.Reply{To: p.id, Kind: answered, A: i} }

// answered goes on with a server connection on which something has ended.
func (p *Pooler) answered(i, b int32) {
	l := &p.links[i]
	if l.op == server.NoOp || l.state == record.Opening {
		return // it was dropped while the answer was on its way, within this event
	}
	q := p.pools[l.role]
	l.op, l.used = server.NoOp, p.sim.Now()
	lost := dead[server.OutcomeOf(b)]
	if l.work == server.NoOp {
		if server.OutcomeOf(b) != record.OK {
			p.drop(q, i)
		} else {
			p.free(q, i)
		}
		p.serve(q)
		return
	}
	o := l.work
	l.work = server.NoOp
	s := l.client
	c := &p.clients[s]
	c.op = server.NoOp
	if x := &p.ops[o]; x.kind == opQuery && b >= 0 {
		c.inTx = x.query.Begins() || c.inTx && !x.query.Commits()
	}
	if lost {
		c.link, c.inTx = noLink, false
		p.drop(q, i)
		p.cutOff(s)
	}
	p.end(o, b)
	switch {
	case lost:
		p.serve(q)
	case p.o.Mode != SessionMode && !c.inTx:
		c.link = noLink
		p.release(q, i)
	}
}

// release: in use -> whatever follows, as its client has let go of it (release_server).
func (p *Pooler) release(q *pool, i int32) {
	l := &p.links[i]
	l.client = server.NoSession
	if p.o.Mode == SessionMode && p.o.ServerResetQuery && !p.tooOld(q, l) {
		p.test(q, i, record.InUse, record.Returning)
		return
	}
	p.free(q, i)
	p.grow(q)
}

// test pings the server before the connection is lent again.
func (p *Pooler) test(q *pool, i int32, from, to record.State) {
	p.move(q, i, from, to, 0)
	l := &p.links[i]
	l.op = p.backend.Ping(l.session, sim.Reply{To: p.id, Kind: answered, A: i})
}

// free lets others have a server connection, unless it is too old.
func (p *Pooler) free(q *pool, i int32) {
	if l := &p.links[i]; p.tooOld(q, l) {
		q.expired, q.spared = p.sim.Now(), true
		p.hangUp(q, i)
		return
	}
	p.offer(q, i)
}

// rest: any -> idle.
func (p *Pooler) rest(q *pool, i int32) {
	p.move(q, i, p.links[i].state, record.Idle, 0)
	q.idle.Push(i)
	p.wakeBy(q, p.expiry(q, i))
	if p.o.MinPoolSize > 0 {
		p.wakeBy(q, p.expiry(q, *q.idle.Front())) // which may have been kept for being one of too few
	}
}

// tooOld reports whether a server connection is to be closed for its age (life_over).
func (p *Pooler) tooOld(q *pool, l *link) bool { return p.endOfLife(q, l) <= p.sim.Now() }

// endOfLife returns when a server connection may be closed for its age: between two of them a share of the lifetime passes, so
// that not all have to be opened anew at once.
func (p *Pooler) endOfLife(q *pool, l *link) sim.Time {
	if p.o.ServerLifetime == nil {
		return sim.Forever
	}
	life := *p.o.ServerLifetime
	at := l.opened.Add(life)
	if q.spared {
		at = max(at, q.expired.Add(life/time.Duration(p.o.DefaultPoolSize)))
	}
	return at
}

// expiry returns when an idle server connection is to be closed.
func (p *Pooler) expiry(q *pool, i int32) sim.Time {
	l := &p.links[i]
	at := p.endOfLife(q, l)
	if p.o.ServerIdleTimeout != nil && (p.o.MinPoolSize == 0 || q.open() > p.o.MinPoolSize) {
		at = min(at, l.used.Add(*p.o.ServerIdleTimeout))
	}
	return at
}

// closeExpired closes the idle server connections whose time has come, and sees to it that the others will be.
func (p *Pooler) closeExpired(q *pool) {
	now, next := p.sim.Now(), sim.Forever
	for range q.idle.Len() {
		i := q.idle.Pop()
		l := &p.links[i]
		switch {
		case p.watcher != nil && p.watcher.Ended(l.session):
			p.drop(q, i)
		case p.tooOld(q, l):
			q.expired, q.spared = now, true
			p.hangUp(q, i)
		case p.expiry(q, i) <= now:
			p.hangUp(q, i)
		default:
			q.idle.Push(i)
		}
	}
	for n := range q.idle.Len() {
		next = min(next, p.expiry(q, *q.idle.At(q.idle.Head() + uint64(n))))
	}
	p.wakeBy(q, next)
}

// hangUp closes a server connection, with the protocol's goodbye. The pooler does not wait for the end of that.
func (p *Pooler) hangUp(q *pool, i int32) {
	s := p.links[i].session
	p.forget(q, i)
	p.backend.Close(s, sim.Reply{To: sim.Nobody})
}

// drop closes a server connection that cannot be spoken to.
func (p *Pooler) drop(q *pool, i int32) {
	s := p.links[i].session
	p.forget(q, i)
	p.backend.Drop(s, record.Dropped)
}

// forget: any -> none.
func (p *Pooler) forget(q *pool, i int32) {
	p.move(q, i, p.links[i].state, record.None, 0)
	p.links[i].op = server.NoOp
	p.freeLinks = append(p.freeLinks, i)
}

// grow opens server connections while clients wait for whom none is being opened or tested, or there are fewer than
// min_pool_size (launch_new_connection).
func (p *Pooler) grow(q *pool) {
	for q.waiting > q.testing()+q.count[record.Opening] || q.size() < p.o.MinPoolSize && q.clients > 0 {
		at := p.mayOpen(q)
		if at > p.sim.Now() {
			p.wakeBy(q, at)
			return
		}
		p.openLink(q)
	}
}

// probe opens a server connection for nobody, if it may: whether the server is back nobody waits to find out.
func (p *Pooler) probe(q *pool) {
	if p.mayOpen(q) <= p.sim.Now() {
		p.openLink(q)
	}
}

// mayOpen returns from when on one more server connection may be opened, Forever if that is open.
func (p *Pooler) mayOpen(q *pool) sim.Time {
	now := p.sim.Now()
	at := now
	if q.count[record.Opening] >= p.o.ConnectsAtOnce {
		return sim.Forever
	}
	if q.failed {
		at = max(at, q.tried.Add(p.o.ServerLoginRetry))
	}
	if size := q.size(); size >= p.o.DefaultPoolSize {
		if size >= p.o.DefaultPoolSize+p.o.ReservePoolSize || q.waiting == 0 {
			return sim.Forever
		}
		at = max(at, p.ops[q.first].since.Add(p.o.ReservePoolTimeout))
	}
	if p.o.ConnectEvery > 0 {
		at = p.nextTick(q, at)
	}
	return at
}

// nextTick returns the first multiple of connect_every from a time on at which no connect has begun; the first is not at 0.
func (p *Pooler) nextTick(q *pool, from sim.Time) sim.Time {
	every := p.o.ConnectEvery
	tick := from - from%sim.Time(every)
	if tick < from || tick == q.tried {
		tick = tick.Add(every)
	}
	return tick
}

// openLink: none -> opening.
func (p *Pooler) openLink(q *pool) {
	var i int32
	if n := len(p.freeLinks); n > 0 {
		i, p.freeLinks = p.freeLinks[n-1], p.freeLinks[:n-1]
	} else {
		i = int32(len(p.links))
		p.links = append(p.links, link{})
	}
	now := p.sim.Now()
	p.links[i] = link{role: q.role, session: server.NoSession, client: server.NoSession, work: server.NoOp, opened: now}
	p.move(q, i, record.None, record.Opening, 0)
	q.tried = now
	l := &p.links[i]
	l.op = p.backend.Connect(server.Caller{Pool: -1, Role: q.role}, sim.Reply{To: p.id, Kind: connected, A: i})
	if p.o.ServerConnectTimeout != nil {
		l.limit = p.sim.Arm(p.connectLimit, sim.Event{To: p.id, Kind: overdue, A: i})
	}
}

// connected: opening -> in use or idle, or none.
func (p *Pooler) connected(i, b int32) {
	l := &p.links[i]
	q := p.pools[l.role]
	p.sim.Cancel(l.limit)
	l.limit = sim.Timer{}
	if out := server.OutcomeOf(b); out != record.OK {
		p.connectFailed(q, i, out)
		return
	}
	l.session, l.number, l.op, l.used = server.Session(b), p.backend.Number(server.Session(b)), server.NoOp, p.sim.Now()
	q.failed, q.greets = false, true
	p.offer(q, i)
	p.serve(q)
}

// connectOverdue: opening -> none, after server_connect_timeout.
func (p *Pooler) connectOverdue(i int32) {
	l := &p.links[i]
	l.limit = sim.Timer{}
	p.backend.Abort(l.op)
	p.connectFailed(p.pools[l.role], i, record.ConnectionTimeout)
}

func (p *Pooler) connectFailed(q *pool, i int32, out record.Outcome) {
	p.forget(q, i)
	q.failed, q.failure = true, out
	if q.open() == 0 && !unsaid[out] {
		p.turnAway(q, out)
	}
	p.grow(q)
}
