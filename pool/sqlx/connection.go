package sqlx

import (
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// closeOnDropTimeout is CLOSE_ON_DROP_TIMEOUT: the longest time of such a close.
const closeOnDropTimeout = 5 * time.Second

// Return implements pool.Pool: the end of a PoolConnection. Broken is a release: the ping on return finds out.
func (p *Pool) Return(c pool.Conn, how pool.End, r sim.Reply) {
	if !p.Lent(c) {
		p.sim.Answer(r, server.Code(record.Rejected))
		return
	}
	switch how {
	case pool.Discard: // close().await
		p.table.GiveBack(c, record.Closing)
		t := p.newTask(discarding)
		t.conn, t.reply = c, r
		p.endSession(t)
		return
	case pool.CloseOnDrop: // close_on_drop() and the drop
		p.table.GiveBack(c, record.Closing)
		p.spawn(dropping).conn = c
	case pool.Detach:
		p.table.GiveBack(c, record.None)
		p.table.Forget(c)
		p.dropGuard()
		p.dropEmpty()
	case pool.Leak:
		e := p.table.Entry(c)
		p.env.NoteHeld(e.Part, record.Fact{Kind: record.Leaked, Conn: e.Number, Request: e.Request})
		p.links[c].leaked = true
		p.leaked++
		p.sem.forget()
		p.dropEmpty()
	default: // the drop
		t, e := p.spawn(returning), p.table.Entry(c)
		t.conn, t.request, t.part = c, e.Request, e.Part
		p.table.GiveBack(c, record.Returning)
	}
	p.sim.Answer(r, 0)
}

// Lent implements pool.Lessor: a handle is dropped once, so that a second return of c in the same event is told.
func (p *Pool) Lent(c pool.Conn) bool {
	return c >= 0 && int(c) < len(p.links) && p.table.Entry(c).State() == record.InUse && !p.links[c].leaked
}

// dropEmpty is the drop of a PoolConnection whose connection was taken out.
func (p *Pool) dropEmpty() {
	if p.o.MinConnections > 0 {
		p.spawn(refilling)
	} else {
		p.letGo()
	}
}

// discarded ends the close of one connection, awaited by its caller.
func (p *Pool) discarded(t *task) {
	p.gone(t, record.Closing)
	p.sim.Answer(t.reply, 0)
	p.dropEmpty()
	p.end(t)
}

// returnToPool is the first poll of Floating::return_to_pool, which holds permit and size slot to its end.
func (p *Pool) returnToPool(t *task) {
	switch {
	case p.closed || p.beyond(p.o.MaxLifetime, p.table.Entry(t.conn).Born):
		p.closeGracefully(t, record.Returning)
	case p.afterRelease == nil:
		p.ping(t)
	case p.runHook(t, p.afterRelease, p.luck(t), inHook):
		p.hookEnded(t)
	}
}

// takeAndClose is the first poll of PoolConnection::take_and_close.
func (p *Pool) takeAndClose(t *task) {
	p.endSession(t)
	t.expires = p.tick(p.sim.Now().Add(closeOnDropTimeout))
	p.arm(t, t.expires)
}

// release is PoolInner::release: first into the queue, then the permit back, so that who gets the permit finds the connection.
func (p *Pool) release(t *task, from record.State) {
	c := t.conn
	t.conn = pool.NoConn
	if p.idle.Len() == p.o.MaxConnections {
		panic("sqlx: connection queue overflow in release()")
	}
	e := p.table.Entry(c)
	e.IdleSince, e.Request = p.sim.Now(), -1
	if from != record.Idle {
		p.table.Move(c, from, record.Idle)
	}
	p.idle.Push(c)
	p.sem.release(1)
	p.numIdle++
}

// beyond reports whether more than limit has passed since then.
func (p *Pool) beyond(limit *time.Duration, since sim.Time) bool {
	return limit != nil && p.sim.Now().Sub(since) > *limit
}

// closeGracefully is Floating::close.
func (p *Pool) closeGracefully(t *task, from record.State) {
	p.table.Move(t.conn, from, record.Closing)
	p.endSession(t)
}

func (p *Pool) endSession(t *task) {
	t.state = ending
	t.op = p.home(t.conn).Close(p.table.Entry(t.conn).Session, p.reply(t))
}

// closeHard is Floating::close_hard.
func (p *Pool) closeHard(t *task, from record.State) {
	p.table.Move(t.conn, from, record.Closing)
	t.state = ending
	s := p.table.Entry(t.conn).Session
	if b, ok := p.home(t.conn).(server.HardCloser); ok {
		t.op = b.CloseHard(s, p.reply(t))
		return
	}
	p.home(t.conn).Drop(s, record.ClosedHard)
	p.sim.Answer(p.reply(t), 0)
}

// ended: ending -> what each task does when its connection is closed.
func (p *Pool) ended(t *task) {
	switch t.kind {
	case acquiring, starting: // the guard is good for a new one
		p.table.Remove(t.conn, record.Closing)
		p.opening(t)
		p.connect(t)
	case returning:
		p.gone(t, record.Closing)
		p.refill(t)
	case dropping:
		p.sim.Cancel(t.timer)
		t.expires = sim.Forever
		p.gone(t, record.Closing)
		p.refill(t)
	case discarding:
		p.discarded(t)
	case maintaining:
		p.gone(t, record.Closing)
		p.fill(t, t.next)
	case closing:
		p.gone(t, record.Closing)
		p.closeRound(t)
	}
}
