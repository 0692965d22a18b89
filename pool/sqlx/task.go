package sqlx

import (
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// A task is what a task of the runtime is to the real pool, or the part of one that lies in the pool: the future of an acquire
// runs in its caller's task. It runs until it has to wait, and is then in a state with a name. One event is one poll.
type task struct {
	id    int32
	gen   int32 // changes whenever a wake is used up and whenever the slot is: what is meant for an earlier use is stale
	kind  kind
	state state
	woken bool // queued to be polled

	conn  pool.Conn // in hand, with the guard that gives back its size and its permit; NoConn if there is none
	op    server.Op // of the server, that it waits for; NoOp if it waits for something else
	timer sim.Timer // of a sleep, a hook or the end of a fixed time
	rings sim.Time  // when it fires

	reply   sim.Reply // to whoever waits for the task
	request int64     // for which it works, -1 for none
	part    int16     // of that request; of the pool itself for none
	began   sim.Time
	expires sim.Time       // when a timeout cuts off what it is at now; Forever for never
	late    record.Outcome // of an acquire that is cut off
	within  time.Duration  // the timeout of the whole acquire
	toArm   bool           // the timer of that timeout, when the first poll has ended
	limit   sim.Timer      // that timer

	// acquire_permit
	own        pool.Ticket // in the pool's semaphore
	parents    pool.Ticket // in the parent's semaphore
	asksParent bool
	hears      pool.Ticket // the pool's close event
	hearsToo   pool.Ticket // the parent's
	permit     *semaphore  // of a permit that was of no use and is kept over one yield
	gaveWay    sim.Time    // when it last yielded

	// connect and try_min_connections
	deadline   sim.Time // unrounded, as the real one compares it
	backoff    time.Duration
	maxBackoff time.Duration
	filling    bool // the connection is for the idle queue

	hook HookResult // how the call under way ends
	left int        // of a scan: connections still to be looked at; of close: permits to ask for
	next sim.Time   // when the next scan is due
}

// kind says what a task is there for.
type kind uint8

const (
	acquiring   kind = iota // PoolInner::acquire, in its caller's task
	starting                // PoolOptions::connect_with, in the program's
	returning               // PoolConnection::return_to_pool, spawned by the drop of a loan
	dropping                // PoolConnection::take_and_close, spawned by the drop of a loan with close_on_drop
	discarding              // PoolConnection::close, in its caller's task
	refilling               // return_to_pool without a connection: only the refill
	warming                 // the one refill at the start of a pool without timeouts
	maintaining             // spawn_maintenance_tasks
	closing                 // PoolInner::close, in its caller's task
)

// state says what a task waits for.
type state uint8

const (
	unused         state = iota // the slot is free
	spawned                     // to run for the first time
	waiting                     // a permit, or the end of the pool
	yielding                    // all others
	pinging                     // the answer to a ping
	inHook                      // before_acquire or after_release
	ending                      // the end of a session that it closes
	connecting                  // the server
	inAfterConnect              // the hook of that name
	endingFresh                 // the end of a session that after_connect did not like
	backingOff                  // the next attempt to connect
	sleeping                    // the next scan
)

// The events of a pool. A is a task.
const (
	wake     sim.Kind = iota // it is polled because something that it waits for has come; B is its gen
	timer                    // its timer has fired
	limit                    // the timer of the whole acquire has fired
	answer                   // the server has answered B
	yieldEnd                 // all tasks that yielded are woken; A is nothing
)

// waker names a task of a pool, of the same family or not.
type waker struct {
	pool *Pool
	task *task
}

// wake queues the task to be polled, once, behind all that are queued already.
func (w waker) wake() {
	if t := w.task; !t.woken {
		t.woken = true
		w.pool.sim.Soon(sim.Event{To: w.pool.id, Kind: wake, A: t.id, B: t.gen})
	}
}

// newTask returns a task about to run.
func (p *Pool) newTask(k kind) *task {
	var t *task
	if n := len(p.unused); n > 0 {
		t, p.unused = p.unused[n-1], p.unused[:n-1]
	} else {
		t = &task{id: int32(len(p.tasks))}
		p.tasks = append(p.tasks, t)
	}
	*t = task{
		id: t.id, gen: t.gen, kind: k, state: spawned, conn: pool.NoConn, op: server.NoOp, request: -1, part: p.env.Index,
		expires: sim.Forever, late: record.AcquireTimeout, gaveWay: -1, own: noWait, parents: noWait, hears: noWait, hearsToo: noWait,
	}
	return t
}

// spawn queues a new task behind all that are queued already: rt::spawn.
func (p *Pool) spawn(k kind) *task {
	t := p.newTask(k)
	p.waker(t).wake()
	return t
}

func (p *Pool) waker(t *task) waker { return waker{p, t} }

// end ends a task, which holds nothing any more.
func (p *Pool) end(t *task) {
	p.sim.Cancel(t.limit)
	t.state = unused
	t.woken = false
	t.gen++
	p.unused = append(p.unused, t)
}

// Handle implements sim.Actor: it polls a task.
func (p *Pool) Handle(ev sim.Event) {
	if ev.Kind == yieldEnd {
		p.yieldsEnd()
		return
	}
	t := p.tasks[ev.A]
	switch {
	case ev.Kind == wake && ev.B != t.gen:
		return // it ran earlier in this instant, for another reason
	case ev.Kind == limit && p.sim.Now() < t.expires:
		t.limit = p.sim.ArmAt(t.expires, ev) // the timer of the runtime is coarser
		return
	}
	gen := t.running()
	switch ev.Kind {
	case wake:
		p.woken(t)
	case timer:
		p.slept(t)
	case limit:
		if p.look(t) {
			return
		}
	case answer:
		t.op = server.NoOp
		p.answered(t, ev.B)
	}
	p.pending(t, gen)
}

// running uses up a wake, if there is one under way, and returns the gen of the task as it runs.
func (t *task) running() int32 {
	if t.woken {
		t.woken = false
		t.gen++
	}
	return t.gen
}

// look polls a task for a reason that it does not know of: what it waits for may have come all the same, or come in this very
// instant. It reports whether the poll goes on with an answer of the server, which comes next.
func (p *Pool) look(t *task) bool {
	switch {
	case t.state == waiting:
		p.pollPermit(t)
	case t.op != server.NoOp:
		s, ok := p.home(t.conn).(server.Settler)
		return ok && s.Settle(t.op)
	case t.rings <= p.sim.Now() && p.sim.Cancel(t.timer):
		p.slept(t)
	}
	return false
}

// woken goes on with a task that was spawned or woken.
func (p *Pool) woken(t *task) {
	switch t.state {
	case spawned:
		p.begin(t)
	case waiting:
		if t.kind == closing {
			p.pollPermits(t)
		} else {
			p.pollPermit(t)
		}
	case yielding:
		p.yieldEnded(t)
	}
}

// yieldEnded: yielding -> the next scan, or another try.
func (p *Pool) yieldEnded(t *task) {
	if t.kind == maintaining {
		p.scan(t)
	} else {
		p.retry(t)
	}
}

// begin is the first poll of a spawned task.
func (p *Pool) begin(t *task) {
	switch t.kind {
	case returning:
		p.returnToPool(t)
	case dropping:
		p.takeAndClose(t)
	case refilling:
		p.refill(t)
	case warming:
		p.warm(t)
	case maintaining:
		p.scan(t)
	}
}

// slept goes on with a task whose timer has fired.
func (p *Pool) slept(t *task) {
	switch t.state {
	case inHook:
		p.hookEnded(t)
	case inAfterConnect:
		p.afterConnectEnded(t)
	case backingOff:
		p.attempt(t)
	case sleeping:
		p.scan(t)
	case yielding:
		p.yieldEnded(t)
	}
	// In any other state it was the end of a fixed time, which pending looks at.
}

// answered goes on with a task that the server has answered.
func (p *Pool) answered(t *task, b int32) {
	switch t.state {
	case pinging:
		p.pinged(t, server.OutcomeOf(b) == record.OK)
	case ending:
		p.ended(t)
	case connecting:
		p.connected(t, b)
	case endingFresh:
		p.freshEnded(t)
	}
}

// pending ends a poll. If the task waits now, its limits are looked at, which come after what it waits for.
func (p *Pool) pending(t *task, gen int32) {
	for t.gen == gen { // else it is over, and its slot may be another's
		switch {
		case t.toArm || p.sim.Now() >= t.expires || t.kind == maintaining && p.closed:
			if p.answerIsDue(t) {
				return
			}
		default:
			return
		}
		switch {
		case p.sim.Now() >= t.expires:
			p.expire(t)
		case t.toArm:
			p.armLimit(t)
		default:
			p.endMaintenance(t)
		}
	}
}

// answerIsDue reports whether what the task waits for from the server ends at this very instant: then this poll finds it ended,
// and the answer is on its way.
func (p *Pool) answerIsDue(t *task) bool {
	return t.op != server.NoOp && p.home(t.conn).Due(t.op) <= p.sim.Now()
}

// expire ends what a task is at because its time is over: the timeout around the future returns, and the future is dropped.
func (p *Pool) expire(t *task) {
	t.expires = sim.Forever
	switch {
	case t.filling:
		p.abandon(t)
		p.filled(t, record.AcquireTimeout)
	case t.kind == dropping:
		p.abandon(t)
		p.refill(t)
	default:
		p.abandon(t)
		p.failed(t, t.late)
	}
}

// abandon drops the future that a task is at, with all that it holds: a connection goes without a goodbye.
func (p *Pool) abandon(t *task) {
	switch t.state {
	case waiting:
		p.leaveQueues(t)
	case yielding:
		p.dropPermit(t)
	}
	p.sim.Cancel(t.timer)
	if t.conn != pool.NoConn {
		p.dropConn(t)
	}
}

// yield queues the task behind all that are ready to run and all that those make ready: rt::yield_now. The tasks of a family
// that yield at one instant are woken together, in order.
//
// A child that holds more permits than it may have connections can go in circles here: its real acquire keeps a processor busy
// until a connection is back or its time is over. No time would pass in that, so from the second round on a round takes a while.
func (p *Pool) yield(t *task) {
	t.state = yielding
	now := p.sim.Now()
	if t.gaveWay == now {
		p.arm(t, now.Add(max(p.o.TimerGranularity, spin)))
		return
	}
	t.gaveWay = now
	root := p
	for root.parent != nil {
		root = root.parent
	}
	root.yields = append(root.yields, yielded{p.waker(t), t.gen})
	if len(root.yields) == 1 {
		p.sim.Yield(sim.Event{To: root.id, Kind: yieldEnd})
	}
}

// spin is the least time that a round of an acquire takes that goes in circles.
const spin = time.Millisecond

// yielded is a task that has yielded.
type yielded struct {
	waker
	gen int32
}

func (p *Pool) yieldsEnd() {
	for _, y := range p.yields {
		if y.task.gen == y.gen {
			y.wake()
		}
	}
	p.yields = p.yields[:0]
}

// holdsPool reports whether the task has a handle of the pool.
func (t *task) holdsPool() bool {
	switch {
	case t.kind == maintaining:
		return t.state != spawned && t.state != sleeping && t.state != yielding
	case t.kind == warming:
		return t.state != spawned
	}
	return true
}

// tick returns when a timer for time at fires.
func (p *Pool) tick(at sim.Time) sim.Time {
	if g := sim.Time(p.o.TimerGranularity); g > 0 {
		if rest := at % g; rest > 0 {
			at = at.Add(time.Duration(g - rest))
		}
	}
	return at.Add(p.env.Lateness)
}

// arm sets the task's timer for time at; it fires as an event of its own even if that is now, and never at the end of time.
func (p *Pool) arm(t *task, at sim.Time) {
	t.rings = at
	if at == sim.Forever {
		return
	}
	t.timer = p.sim.ArmAt(at, sim.Event{To: p.id, Kind: timer, A: t.id})
}
