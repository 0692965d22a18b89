package pooler

import (
	"time"

	"poolwise/sim"
	"poolwise/sim/fifo"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// pool has the server connections of one role and its clients that wait for one.
type pool struct {
	role    int16
	clients int                   // sessions that hold a slot
	count   [record.NumStates]int // server connections by state
	idle    fifo.Ring[int32]      // the free ones, the one that was used last at the back
	waiting int                   // operations in the queue, a list through the operations
	first   server.Op             //
	last    server.Op             //
	greets  bool                  // there has been a server connection
	failed  bool                  // the last connect to the server failed,
	failure record.Outcome        // so,
	tried   sim.Time              // and this is when the last one began
	expired sim.Time              // when a server connection was closed last for its age
	spared  bool                  // one was
	alarm   sim.Timer
	alarmAt sim.Time
}

// pool returns the pool of a role, made if need be.
func (p *Pooler) pool(role int16) *pool {
	for int(role) >= len(p.pools) {
		p.pools = append(p.pools, &pool{
			role: int16(len(p.pools)), first: server.NoOp, last: server.NoOp, alarmAt: sim.Forever,
		})
	}
	return p.pools[role]
}

// size returns how many server connections there are, those being opened included.
func (q *pool) size() int { return q.open() + q.count[record.Opening] }

// open returns how many server connections are open.
func (q *pool) open() int { return q.count[record.Idle] + q.count[record.InUse] + q.testing() }

// testing returns how many are being checked or reset.
func (q *pool) testing() int { return q.count[record.Checking] + q.count[record.Returning] }

// failing reports whether there is no server connection and none could be opened: who comes now is turned away (check_fast_fail).
func (q *pool) failing() bool { return q.failed && q.open() == 0 }

// enqueue: a client waits, behind all others.
func (p *Pooler) enqueue(q *pool, o server.Op) {
	x := &p.ops[o]
	x.stage, x.since, x.prev, x.next = queued, p.sim.Now(), q.last, server.NoOp
	if q.last == server.NoOp {
		q.first = o
	} else {
		p.ops[q.last].next = o
	}
	q.last = o
	q.waiting++
	if p.noteAll {
		p.note(record.Fact{Kind: record.PoolerWaitBegan, Pool: x.caller.Pool, Conn: p.number(x.session)})
	}
	p.wakeBy(q, x.since.Add(p.patience()))
}

// dequeue: a client waits no longer, because of how.
func (p *Pooler) dequeue(q *pool, o server.Op, how record.Outcome) (waited time.Duration) {
	x := &p.ops[o]
	if x.prev == server.NoOp {
		q.first = x.next
	} else {
		p.ops[x.prev].next = x.next
	}
	if x.next == server.NoOp {
		q.last = x.prev
	} else {
		p.ops[x.next].prev = x.prev
	}
	q.waiting--
	waited = p.sim.Now().Sub(x.since)
	if p.noteAll {
		p.note(record.Fact{Kind: record.PoolerWaitEnded, Pool: x.caller.Pool, Conn: p.number(x.session), Outcome: how, Took: waited})
	}
	return waited
}

// number returns the number of a session, 0 for none.
func (p *Pooler) number(s server.Session) int32 {
	if s == server.NoSession {
		return 0
	}
	return p.clients[s].number
}

// offer gives a server connection that is free to the client that has waited longest; without one it is idle.
func (p *Pooler) offer(q *pool, i int32) {
	p.greet(q)
	if o := q.first; o != server.NoOp {
		p.lend(q, i, o, p.dequeue(q, o, record.OK))
		return
	}
	p.rest(q, i)
}

// greet lets those in who wait in their connect, now that the pooler knows what to say. They need no server connection.
func (p *Pooler) greet(q *pool) {
	for q.first != server.NoOp && p.ops[q.first].kind == opConnect {
		o := q.first
		p.dequeue(q, o, record.OK)
		p.connectEnded(o)
	}
}

// serve lets the clients that wait have what is idle, tests what has been so for long, and opens what is wanting.
func (p *Pooler) serve(q *pool) {
	for q.waiting > 0 {
		i, o := p.fresh(q), q.first
		if i == noLink {
			break
		}
		p.lend(q, i, o, p.dequeue(q, o, record.OK))
	}
	for q.waiting > q.testing() && q.idle.Len() > 0 {
		p.test(q, q.idle.PopBack(), record.Idle, record.Checking)
	}
	p.grow(q)
}

// turnAway fails all that wait.
func (p *Pooler) turnAway(q *pool, out record.Outcome) {
	for q.first != server.NoOp {
		p.failFirst(q, out)
	}
}

// failFirst fails the one that has waited longest.
func (p *Pooler) failFirst(q *pool, out record.Outcome) {
	o := q.first
	x := &p.ops[o]
	p.dequeue(q, o, out)
	x.outcome = out
	if x.kind != opConnect {
		p.cutOff(x.session)
	}
	p.finish(o)
}

// wakeBy lets the pool be looked at no later than at a time.
func (p *Pooler) wakeBy(q *pool, at sim.Time) {
	if at >= q.alarmAt {
		return
	}
	p.sim.Cancel(q.alarm)
	q.alarmAt = max(at, p.sim.Now())
	q.alarm = p.sim.ArmAt(q.alarmAt, sim.Event{To: p.id, Kind: alarmRings, A: int32(q.role)})
}

// alarmRings does what is due by time: it cuts off who has waited for too long, closes what has been idle or open for too long,
// and opens what may be opened now.
func (p *Pooler) alarmRings(q *pool) {
	now := p.sim.Now()
	q.alarm, q.alarmAt = sim.Timer{}, sim.Forever
	for q.first != server.NoOp && p.ops[q.first].since.Add(p.patience()) <= now {
		p.failFirst(q, record.QueueTimeout)
	}
	if q.first != server.NoOp {
		p.wakeBy(q, p.ops[q.first].since.Add(p.patience()))
	}
	p.closeExpired(q)
	p.serve(q)
}
