package sqlx

import (
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

const (
	firstBackoff  = 10 * time.Millisecond
	refillTimeout = 300 * time.Second // of min_connections_maintenance without a deadline of its own
)

// connect is PoolInner::connect with the guard in hand. Whether the pool is closed is looked at here and never again.
func (p *Pool) connect(t *task) {
	left := t.deadline.Sub(p.sim.Now())
	switch {
	case p.closed:
		p.connectFailed(t, record.PoolIsClosed)
	case left < 0:
		p.connectFailed(t, record.AcquireTimeout)
	default:
		p.turn(t, record.Opening)
		t.backoff, t.maxBackoff = firstBackoff, left/5
		p.attempt(t)
	}
}

// attempt is one turn of the loop of connect. The timeout around the attempt ends where that around the whole acquire does;
// only a refill, which has none, needs it.
func (p *Pool) attempt(t *task) {
	now := p.sim.Now()
	if now > t.deadline {
		p.connectFailed(t, record.AcquireTimeout)
		return
	}
	t.state = connecting
	p.links[t.conn].home = p.backend
	t.op = p.backend.Connect(server.Caller{Pool: p.env.Index, Role: p.env.Role}, p.reply(t))
	if t.filling {
		t.expires = p.tick(t.deadline)
		p.arm(t, t.expires)
	}
}

// connected: connecting -> open, another attempt later, or failed.
func (p *Pool) connected(t *task, b int32) {
	if t.filling {
		p.sim.Cancel(t.timer)
		t.expires = sim.Forever
	}
	switch o := server.OutcomeOf(b); o {
	case record.OK:
		p.opened(t, server.Session(b))
	case record.ConnectRefused, record.TooManyConnections, record.CannotConnectNow, record.TransientError:
		p.backOff(t)
	default:
		p.connectFailed(t, o)
	}
}

func (p *Pool) opened(t *task, s server.Session) {
	number := p.home(t.conn).Number(s)
	p.table.Opened(t.conn, s, number)
	if p.afterConnect == nil {
		p.connectEnded(t)
	} else if p.runHook(t, p.afterConnect, int64(number), inAfterConnect) {
		p.afterConnectEnded(t)
	}
}

// afterConnectEnded: inAfterConnect -> usable, from now on with an age, or not, which is as good as no connection.
func (p *Pool) afterConnectEnded(t *task) {
	if t.hook == HookOK {
		p.table.Entry(t.conn).Born = p.sim.Now()
		p.connectEnded(t)
		return
	}
	p.closeHard(t, record.Opening)
	t.state = endingFresh
}

// freshEnded: endingFresh -> backingOff, with the same guard.
func (p *Pool) freshEnded(t *task) {
	p.table.Remove(t.conn, record.Closing)
	p.opening(t)
	p.backOff(t)
}

// backOff lets the next attempt wait. The first wait is not capped.
func (p *Pool) backOff(t *task) {
	at := p.tick(p.sim.Now().Add(t.backoff))
	t.backoff = min(2*t.backoff, t.maxBackoff)
	if at <= p.sim.Now() {
		p.attempt(t)
		return
	}
	t.state = backingOff
	p.arm(t, at)
}

// connectEnded goes on with the new connection.
func (p *Pool) connectEnded(t *task) {
	if !t.filling {
		p.lend(t, record.Opening)
		return
	}
	p.release(t, record.Opening)
	p.tryMinConnections(t)
}

// connectFailed ends a connect; the guard is dropped.
func (p *Pool) connectFailed(t *task, o record.Outcome) {
	p.gone(t, record.Opening)
	if t.filling {
		p.filled(t, o)
	} else {
		p.failed(t, o)
	}
}

// fill is PoolInner::try_min_connections: connections are opened one after the other until there are min_connections.
func (p *Pool) fill(t *task, deadline sim.Time) {
	t.filling, t.deadline = true, deadline
	p.tryMinConnections(t)
}

// tryMinConnections is one turn of its loop. It never waits for a permit.
func (p *Pool) tryMinConnections(t *task) {
	switch {
	case p.size >= p.o.MinConnections || !p.sem.tryAcquire(1):
		p.filled(t, record.OK)
	case p.tryIncrementSize(t, &p.sem):
		p.connect(t)
	default:
		p.sem.release(1)
		p.filled(t, record.OK)
	}
}

// refill is PoolInner::min_connections_maintenance, at the end of a task.
func (p *Pool) refill(t *task) { p.fill(t, p.sim.Now().Add(refillTimeout)) }

// filled goes on after a fill. The program that starts the pool gets its error; otherwise it is only noted.
func (p *Pool) filled(t *task, o record.Outcome) {
	t.filling = false
	if t.kind == starting {
		if o == record.OK {
			p.acquire(t, 0)
		} else {
			p.failed(t, o)
		}
		return
	}
	if o != record.OK && o != record.PoolIsClosed {
		p.env.Note(record.Fact{Kind: record.PoolNote, Request: -1, Outcome: o})
	}
	if t.kind == maintaining {
		p.scanOn(t)
	} else {
		p.done(t)
	}
}
