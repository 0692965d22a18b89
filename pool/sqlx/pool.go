package sqlx

import (
	"fmt"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/fifo"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Pool is the model: PoolInner of the real one.
type Pool struct {
	env    pool.Env
	sim    *sim.Sim
	id     sim.ActorID
	o      Options
	parent *Pool // options.parent_pool

	afterConnect, beforeAcquire, afterRelease *hook // nil for none

	backend server.Backend // connect_options: where new connections go
	table   pool.Table     // the connections, with the states that reports know
	links   []link         // what the table does not know of them

	size     int                  // connections that exist, are being opened or are being closed
	sem      semaphore            // its permits are the right to have one connection out of the queue
	idle     fifo.Ring[pool.Conn] // idle_conns
	numIdle  int                  // num_idle: counted beside the queue, and not by close()
	closed   bool                 // is_closed
	onClosed closeEvent

	tasks  []*task
	unused []*task
	yields []yielded // of the whole family; only the root has them

	limitOf    time.Duration // the timeout armed last, and its delay
	limitDelay sim.Delay

	wordy bool // somebody wants to know what an acquire is at

	handles int  // that keep the pool alive, as the count of its Arc does
	owned   bool // the program has one of them
	dropped bool // none was left

	// What explains the number of permits to Verify.
	leaked   int // loans that never come back
	invented int // given back by close() though nobody had taken them
	lentOut  int // taken by children
	children int
}

// link is what a pool knows of a connection beside its entry in the table.
type link struct {
	home   server.Backend // where it is
	leaked bool           // its loan will never end
}

// New returns a pool that is not yet started. The options must be valid. A pool whose options name a parent needs SetParent
// before Start.
func New(env pool.Env, o Options) *Pool {
	p := &Pool{
		env: env, sim: env.Sim, o: o, backend: env.Server, table: pool.NewTable(env), handles: 1, owned: true,
		afterConnect:  newHook(o.AfterConnect, env, "after_connect"),
		beforeAcquire: newHook(o.BeforeAcquire, env, "before_acquire"),
		afterRelease:  newHook(o.AfterRelease, env, "after_release"),
		sem:           semaphore{fair: o.Fair, permits: o.MaxConnections, total: o.MaxConnections},
		limitOf:       -1,
		wordy:         record.Wants(env.Sink, record.AcquireTurned),
	}
	p.id = env.Sim.Add(p)
	return p
}

// ParentName implements pool.Child.
func (p *Pool) ParentName() string { return p.o.Parent }

// SetParent implements pool.Child: the semaphore of p is empty, and it takes permits from the parent's. The two must be
// compatible (see Options.ValidateChild).
func (p *Pool) SetParent(parent pool.Pool) {
	q, ok := parent.(*Pool)
	if !ok {
		panic(fmt.Sprintf("sqlx: a %T as parent", parent))
	}
	p.o.ValidateChild(q.o, func(path, message string) { panic("sqlx: child pool: " + path + ": " + message) })
	p.parent = q
	p.sem = semaphore{fair: p.o.Fair}
	q.handles++
	q.children++
}

// Start builds the pool: PoolOptions::connect_lazy_with or connect_with. A pool whose start failed is gone.
func (p *Pool) Start(r sim.Reply) {
	if p.o.Parent != "" && p.parent == nil {
		panic(fmt.Sprintf("sqlx: a pool starts without its parent %q", p.o.Parent))
	}
	p.spawnMaintenanceTasks()
	if p.o.Start == Lazy {
		p.sim.Answer(r, 0)
		return
	}
	p.connectWith(r)
}

// Acquire implements pool.Pool: PoolInner::acquire, polled once by its caller, or try_acquire. The real pool has no timeout of
// a single call: the request's is one that its caller puts around the future.
func (p *Pool) Acquire(r pool.Request) pool.Ticket {
	p.env.NoteFor(r.Part, record.Fact{Kind: record.AcquireBegan, Request: r.Number})
	if r.Try {
		p.sim.Answer(r.Reply, p.tryAcquire(r.Part, r.Number))
		return pool.NoTicket
	}
	if p.closed {
		p.env.NoteFor(r.Part, record.Fact{Kind: record.AcquireEnded, Request: r.Number, Outcome: record.PoolIsClosed})
		p.sim.Answer(r.Reply, server.Code(record.PoolIsClosed))
		return pool.NoTicket
	}
	t := p.newTask(acquiring)
	gen := t.gen
	t.reply, t.part, t.request = r.Reply, r.Part, r.Number
	p.handles++
	p.acquire(t, r.Timeout)
	p.pending(t, gen)
	if t.gen != gen {
		return pool.NoTicket
	}
	return pool.Ticket(t.id)
}

// Cancel implements pool.Pool: the future of the acquire is dropped, whatever it is at.
func (p *Pool) Cancel(ticket pool.Ticket) {
	t := p.underWay(ticket)
	p.abandon(t)
	p.failed(t, record.Cancelled)
}

// PollThenCancel is how a caller cancels whose own timer, around the future of the acquire, fires in the task that polls it: the
// future is polled once more, and only if it is still not ready is it dropped. The answer is the connection or Cancelled.
func (p *Pool) PollThenCancel(ticket pool.Ticket) {
	t := p.underWay(ticket)
	gen := t.running()
	p.cutOff(t)
	if !p.look(t) {
		p.pending(t, gen)
	}
}

// CancelAfterPoll is the same for a caller whose timer fires in the poll under way: it follows the Acquire in the same handler.
func (p *Pool) CancelAfterPoll(ticket pool.Ticket) {
	t := p.underWay(ticket)
	p.cutOff(t)
	p.pending(t, t.gen)
}

// cutOff lets the poll under way be the last of an acquire, unless its own timeout, which comes first, makes it so.
func (p *Pool) cutOff(t *task) {
	if now := p.sim.Now(); now < t.expires {
		t.expires, t.late = now, record.Cancelled
	}
}

func (p *Pool) underWay(ticket pool.Ticket) *task {
	if ticket < 0 || int(ticket) >= len(p.tasks) || p.tasks[ticket].state == unused || p.tasks[ticket].kind != acquiring {
		panic(fmt.Sprintf("sqlx: acquire %d is not under way", ticket))
	}
	return p.tasks[ticket]
}

// Session implements pool.Pool.
func (p *Pool) Session(c pool.Conn) server.Session { return p.table.Entry(c).Session }

// Backend returns the server that a connection goes to.
func (p *Pool) Backend(c pool.Conn) server.Backend { return p.links[c].home }

// SetConnectOptions makes later connects go to b: Pool::set_connect_options. Connections that are open stay where they are.
func (p *Pool) SetConnectOptions(b server.Backend) { p.backend = b }

// Drop lets go of the handle that the program has, if it still has it. With the last handle the pool goes, without a goodbye to
// the server; acquires under way, loans, returns and children have handles of their own.
func (p *Pool) Drop() {
	if p.owned {
		p.owned = false
		p.letGo()
	}
}

// Options returns the options of the pool.
func (p *Pool) Options() Options { return p.o }

// Owned reports whether the program still has its handle.
func (p *Pool) Owned() bool { return p.owned }

// Dropped reports whether the pool is gone, because the last handle was dropped or its start failed.
func (p *Pool) Dropped() bool { return p.dropped }

// Stats implements pool.Pool. The real pool has size and num_idle.
func (p *Pool) Stats() pool.Stats { return pool.Stats{Size: p.size, Idle: p.numIdle, Leaked: p.leaked} }

// turn notes that an acquire goes on with a connection in hand.
func (p *Pool) turn(t *task, in record.State) {
	if p.wordy && t.kind == acquiring {
		p.env.NoteFor(t.part, record.Fact{Kind: record.AcquireTurned, Request: t.request, Move: record.Between(in, record.None)})
	}
}

// reply is where the server answers a task.
func (p *Pool) reply(t *task) sim.Reply { return sim.Reply{To: p.id, Kind: answer, A: t.id} }

// home returns the server where a connection is.
func (p *Pool) home(c pool.Conn) server.Backend { return p.links[c].home }

// opening puts a new connection, yet to be opened, into the hand of a task that has a guard for it.
func (p *Pool) opening(t *task) {
	t.conn = p.table.Add(record.Opening)
	e := p.table.Entry(t.conn)
	e.Part, e.Request = t.part, t.request
	if int(t.conn) == len(p.links) {
		p.links = append(p.links, link{})
	}
	p.links[t.conn].home = p.backend
}

// gone lets go of a connection that is no more, and of its guard.
func (p *Pool) gone(t *task, from record.State) {
	p.table.Remove(t.conn, from)
	t.conn = pool.NoConn
	p.dropGuard()
}

// dropConn drops the connection in hand, whatever it is at, and then its guard.
func (p *Pool) dropConn(t *task) {
	e := p.table.Entry(t.conn)
	switch {
	case t.op != server.NoOp && t.state != pinging: // a connect, or a close that takes its session along
		p.home(t.conn).Abort(t.op)
	case e.Session != server.NoSession:
		p.home(t.conn).Drop(e.Session, record.Dropped)
	}
	t.op = server.NoOp
	p.gone(t, e.State())
}

// dropGuard is the drop of a DecrementSizeGuard that was not cancelled.
func (p *Pool) dropGuard() {
	p.size--
	p.sem.release(1)
}

// letGo drops a handle.
func (p *Pool) letGo() {
	p.handles--
	if p.handles == 0 {
		p.drop()
	}
}

// drop is the drop of PoolInner: the permits taken from the parent go back to it, if they are not lost, and then the
// idle connections are dropped.
func (p *Pool) drop() {
	p.dropped = true
	p.markClosed()
	if p.parent != nil {
		n := p.sem.permits
		p.sem.permits, p.sem.total = 0, p.sem.total-n
		p.parent.lentOut -= n
		p.parent.sem.add(n)
	}
	for p.idle.Len() > 0 {
		c := p.idle.Pop()
		p.home(c).Drop(p.table.Entry(c).Session, record.Dropped)
		p.table.Remove(c, record.Idle)
	}
	if p.parent != nil {
		p.parent.children--
		p.parent.letGo()
	}
}

// Verify implements pool.Pool: it panics if an invariant of the pool does not hold.
func (p *Pool) Verify() {
	p.table.Verify()
	must := func(ok bool, format string, args ...any) {
		if !ok {
			panic("sqlx: " + fmt.Sprintf(format, args...))
		}
	}
	guards, handles := 0, p.children
	if p.owned {
		handles++
	}
	for _, t := range p.tasks {
		if t.state == unused {
			continue
		}
		if t.conn != pool.NoConn {
			guards++
		}
		if t.holdsPool() {
			handles++
		}
	}
	loans := p.table.Count(record.InUse) - p.leaked
	idle := p.table.Count(record.Idle)

	must(p.size >= 0 && p.size <= p.o.MaxConnections, "size %d is not within 0 and %d", p.size, p.o.MaxConnections)
	must(idle == p.idle.Len(), "%d connections are idle, %d are in the queue", idle, p.idle.Len())
	must(p.dropped || p.size == idle+loans+p.leaked+guards,
		"size %d is not %d idle, %d lent, %d leaked and %d floating connections", p.size, idle, loans, p.leaked, guards)
	must(p.closed || p.numIdle == idle, "num_idle is %d with %d in the queue", p.numIdle, idle)
	must(p.sem.permits >= 0 && p.sem.permits+p.sem.assigned()+p.sem.out == p.sem.total,
		"%d permits free, %d assigned and %d out are not %d", p.sem.permits, p.sem.assigned(), p.sem.out, p.sem.total)
	must(p.sem.out == loans+guards+p.sem.kept,
		"%d permits are out, with %d loans, %d floating connections and %d kept over a yield", p.sem.out, loans, guards, p.sem.kept)
	if p.parent == nil {
		want := p.o.MaxConnections - p.leaked + p.invented - p.lentOut
		must(p.sem.total == want, "there are %d permits, and should be %d - %d leaked + %d invented - %d lent out",
			p.sem.total, p.o.MaxConnections, p.leaked, p.invented, p.lentOut)
	}
	must(!p.sem.fair || p.sem.permits == 0 || p.sem.queue.Len() == 0,
		"%d wait while %d permits are free", p.sem.queue.Len(), p.sem.permits)
	must(p.handles == handles+loans,
		"%d handles, with %d of program, tasks and children and %d loans", p.handles, handles, loans)
	must(p.dropped == (p.handles == 0), "dropped is %v with %d handles", p.dropped, p.handles)
}
