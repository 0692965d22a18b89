package sqlx

import (
	"fmt"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// connectWith is PoolOptions::connect_with. The fill and the acquire have acquire_timeout each.
func (p *Pool) connectWith(r sim.Reply) {
	t := p.newTask(starting)
	gen := t.gen
	t.reply = r
	p.handles++
	if p.o.MinConnections > 0 {
		p.fill(t, p.sim.Now().Add(p.o.AcquireTimeout))
	} else {
		p.acquire(t, 0)
	}
	p.pending(t, gen)
}

// acquire is PoolInner::acquire, all of it under one timeout from here on. within is the caller's own one, 0 for none.
func (p *Pool) acquire(t *task, within time.Duration) {
	t.began = p.sim.Now()
	t.deadline = t.began.Add(p.o.AcquireTimeout)
	t.within = p.o.AcquireTimeout
	if within > 0 {
		t.within = min(t.within, within)
	}
	t.expires, t.toArm = p.tick(t.began.Add(t.within)), true
	p.acquirePermit(t)
}

// armLimit arms the timer of the whole acquire, which the real timeout does after the first poll of what it is around. Timers
// of one delay are cheap: so what is armed between two ticks of the runtime's timers is the time before rounding, and the rest
// when that has come.
func (p *Pool) armLimit(t *task) {
	t.toArm = false
	if t.expires == sim.Forever {
		return
	}
	d := t.within
	if now := p.sim.Now(); p.tick(now) == now {
		d = t.expires.Sub(now)
	}
	if d != p.limitOf {
		p.limitOf, p.limitDelay = d, p.sim.Delay(d)
	}
	t.limit = p.sim.Arm(p.limitDelay, sim.Event{To: p.id, Kind: limit, A: t.id})
}

// acquirePermit is the first poll of PoolInner::acquire_permit: a permit of the pool's own semaphore, or the end of the pool.
// A child that is not at its maximum asks its parent as well, but not yet: it wakes itself for that.
func (p *Pool) acquirePermit(t *task) {
	t.asksParent = p.parent != nil && p.size < p.o.MaxConnections
	if p.isClosed(t) {
		p.failed(t, record.PoolIsClosed)
		return
	}
	t.own = p.sem.acquire(1, p.waker(t))
	if t.own == noWait {
		p.permitted(t, &p.sem)
		return
	}
	t.state = waiting
	t.hears = p.onClosed.listen(p.waker(t))
	if t.asksParent {
		t.hearsToo = p.parent.onClosed.listen(p.waker(t))
		p.waker(t).wake()
	}
	if t.kind == acquiring {
		p.env.NoteFor(t.part, record.Fact{Kind: record.WaitBegan, Request: t.request})
	}
}

// isClosed reports whether the pool is closed, or its parent for one who asks there: a closed parent is noticed only so, and
// closes the child.
func (p *Pool) isClosed(t *task) bool {
	if !p.closed && t.asksParent && p.parent.closed {
		p.markClosed()
	}
	return p.closed
}

// pollPermit is a later poll of acquire_permit. The permit counts before the end of the pool, but in a child after it.
func (p *Pool) pollPermit(t *task) {
	switch {
	case t.asksParent && p.isClosed(t):
		p.leaveQueues(t)
		p.failed(t, record.PoolIsClosed)
	case p.sem.poll(t.own):
		t.own = noWait
		p.permitted(t, &p.sem)
	case t.asksParent:
		if p.pollParent(t) {
			p.permitted(t, &p.parent.sem)
		}
	case p.closed:
		p.leaveQueues(t)
		p.failed(t, record.PoolIsClosed)
	}
}

// pollParent asks for a permit of the parent, or looks whether it is there.
func (p *Pool) pollParent(t *task) bool {
	if t.parents == noWait {
		t.parents = p.parent.sem.acquire(1, p.waker(t))
	} else if p.parent.sem.poll(t.parents) {
		t.parents = noWait
	}
	return t.parents == noWait
}

// leaveQueues drops all that a waiting task waits in, in the order in which the real one drops it.
func (p *Pool) leaveQueues(t *task) {
	if t.hearsToo != noWait {
		p.parent.onClosed.drop(t.hearsToo)
		t.hearsToo = noWait
	}
	if t.parents != noWait {
		p.parent.sem.drop(t.parents)
		t.parents = noWait
	}
	if t.hears != noWait {
		p.onClosed.drop(t.hears)
		t.hears = noWait
	}
	if t.own != noWait {
		p.sem.drop(t.own)
		t.own = noWait
	}
	if t.kind == acquiring {
		p.env.NoteFor(t.part, record.Fact{Kind: record.WaitEnded, Request: t.request})
	}
}

// permitted goes on with a permit: an idle connection, or a new one, or neither, which happens in a child that has reached its
// maximum meanwhile, in a pool that has been closed meanwhile, and in one that has more permits than connections. The permit is
// then kept while all others run.
func (p *Pool) permitted(t *task, from *semaphore) {
	if t.state == waiting {
		p.leaveQueues(t)
	}
	switch {
	case p.idle.Len() > 0:
		p.popIdle(t, from)
		p.checkIdleConn(t)
	case p.tryIncrementSize(t, from):
		p.connect(t)
	case p.parent == nil && !p.closed && p.sem.total <= p.o.MaxConnections:
		panic(fmt.Sprintf("sqlx: a permit, but size is %d and nothing idle", p.size))
	default:
		t.permit = from
		from.kept++
		p.yield(t)
	}
}

// retry starts over after a yield. The permit goes back to where it came from.
func (p *Pool) retry(t *task) {
	p.dropPermit(t)
	p.acquirePermit(t)
}

func (p *Pool) dropPermit(t *task) {
	if from := t.permit; from != nil {
		t.permit = nil
		from.kept--
		from.release(1)
	}
}

// fromPermit is DecrementSizeGuard::from_permit: a permit becomes that of a connection of this pool, from where it will come
// back to this pool's semaphore, also if it was the parent's.
func (p *Pool) fromPermit(from *semaphore) {
	if from != &p.sem {
		from.forget()
		p.parent.lentOut++
		p.sem.conjure()
	}
}

// popIdle is PoolInner::pop_idle: the connection that was put into the queue first; there must be one.
func (p *Pool) popIdle(t *task, from *semaphore) {
	t.conn = p.idle.Pop()
	p.numIdle--
	p.fromPermit(from)
	e := p.table.Entry(t.conn)
	e.Part, e.Request = t.part, t.request
}

// tryIncrementSize is PoolInner::try_increment_size: the right to open one more connection, and the guard for it.
func (p *Pool) tryIncrementSize(t *task, from *semaphore) bool {
	if p.closed || p.size >= p.o.MaxConnections {
		return false
	}
	p.size++
	p.fromPermit(from)
	p.opening(t)
	return true
}

// tryAcquire is Pool::try_acquire: a connection that lies idle with a permit that is free, or none. Nothing is checked. It
// returns the answer.
func (p *Pool) tryAcquire(part int16, request int64) int32 {
	f := record.Fact{Kind: record.AcquireEnded, Request: request, Outcome: record.NoneAvailable}
	b := server.Code(f.Outcome)
	if p.tryPermit() {
		c := p.idle.Pop()
		p.numIdle--
		p.table.Lend(c, record.Idle, part, request)
		p.handles++
		f.Outcome, f.Conn = record.OK, p.table.Entry(c).Number
		b = int32(c)
	}
	p.env.NoteFor(part, f)
	return b
}

// tryPermit is the part of PoolInner::try_acquire before pop_idle: it takes a permit if the pool is open, a permit is free and
// a connection idle.
func (p *Pool) tryPermit() bool {
	return !p.closed && p.idle.Len() > 0 && p.sem.tryAcquire(1)
}

// checkIdleConn is check_idle_conn: what an idle connection has to go through before it is lent.
func (p *Pool) checkIdleConn(t *task) {
	if !p.o.TestBeforeAcquire && p.beforeAcquire == nil {
		p.lend(t, record.Idle)
		return
	}
	p.turn(t, record.Checking)
	p.table.Move(t.conn, record.Idle, record.Checking)
	if p.o.TestBeforeAcquire {
		p.ping(t)
		return
	}
	p.tested(t)
}

func (p *Pool) ping(t *task) {
	t.state = pinging
	t.op = p.home(t.conn).Ping(p.table.Entry(t.conn).Session, p.reply(t))
}

// pinged: pinging -> the next check, idle or the end of a connection that is dead.
func (p *Pool) pinged(t *task, alive bool) {
	switch {
	case t.kind == returning && alive:
		p.release(t, record.Returning)
		p.done(t)
	case t.kind == returning:
		p.closeHard(t, record.Returning)
	case alive:
		p.tested(t)
	default:
		p.closeHard(t, record.Checking)
	}
}

// tested is check_idle_conn after the ping.
func (p *Pool) tested(t *task) {
	if p.beforeAcquire == nil {
		p.lend(t, record.Checking)
	} else if p.runHook(t, p.beforeAcquire, p.luck(t), inHook) {
		p.hookEnded(t)
	}
}

// hookEnded: inHook -> what before_acquire or after_release wants.
func (p *Pool) hookEnded(t *task) {
	state := record.Checking
	if t.kind == returning {
		state = record.Returning
	}
	switch {
	case t.hook == HookFalse:
		p.closeGracefully(t, state)
	case t.hook == HookError:
		p.closeHard(t, state)
	case t.kind == returning:
		p.ping(t)
	default:
		p.lend(t, record.Checking)
	}
}

// lend ends an acquire with the connection in hand. Its guard is cancelled: from now on the loan has the permit, and the
// handle of the pool. At the start of the pool nobody is there to have it: it goes into the idle queue, unpinged.
func (p *Pool) lend(t *task, from record.State) {
	if t.kind == starting {
		p.release(t, from)
		p.sim.Answer(t.reply, 0)
		p.done(t)
		return
	}
	c, took := t.conn, p.sim.Now().Sub(t.began)
	t.conn = pool.NoConn
	p.table.Lend(c, from, t.part, t.request)
	p.env.NoteFor(t.part, record.Fact{Kind: record.AcquireEnded, Request: t.request, Conn: p.table.Entry(c).Number, Took: took})
	if took > p.o.AcquireSlowThreshold {
		p.env.NoteFor(t.part, record.Fact{Kind: record.SlowAcquire, Request: t.request, Conn: p.table.Entry(c).Number, Took: took})
	}
	p.sim.Answer(t.reply, int32(c))
	p.end(t)
}

// failed ends an acquire, which holds nothing any more, without a connection.
func (p *Pool) failed(t *task, o record.Outcome) {
	if t.kind == acquiring {
		p.env.NoteFor(t.part, record.Fact{Kind: record.AcquireEnded, Request: t.request, Outcome: o, Took: p.sim.Now().Sub(t.began)})
	}
	p.sim.Answer(t.reply, server.Code(o))
	p.done(t)
	if t.kind == starting {
		p.Drop() // the program never gets its handle
	}
}

// done ends a task that has a handle of the pool.
func (p *Pool) done(t *task) {
	p.end(t)
	p.letGo()
}
