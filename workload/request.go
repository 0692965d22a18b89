package workload

import (
	"fmt"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// slot is a request that goes on.
//
//	threading -> running                                                it has its thread, if there are any
//	running -> acquiring, querying, calling, returning -> running ...   step by step
//	        -> pausing -> running                                       a failed attempt, and the next
//	        -> vacant                                                   it has ended
//	returning -> over -> vacant                                         it gave up while the pool took a connection back
type slot struct {
	number  int64
	arrived sim.Time // when it was meant to
	start   int32    // its first step
	pc      int32    // its next step
	answer  int32    // the pool.Ticket or server.Op that it waits for
	state   state
	attempt uint8          // from 0
	held    uint8          // connections
	gaveUp  record.Outcome // how it ends as soon as its acquire is answered; OK: it has not given up
	marks   uint32         // bit n: connection n of those held will not be given back; bit 16+n: it is in a transaction
	thread  bool           // it has one
	holder  int32          // its place among those that hold connections, if they are watched
	since   sim.Time       // when it began to wait while it held one

	timer    sim.Timer // of a call or a pause
	deadline sim.Timer
	patience sim.Timer
	patient  sim.Time // until then, if patience is armed
	luck     sim.Rand // of the attempt
	call     sim.Rand // of the attempt
}

// state is what a request waits for.
type state uint8

const (
	vacant    state = iota // the slot is free
	running                // for nothing
	acquiring              // for a connection
	querying               // for the answer of a query
	calling                // for the end of a call
	returning              // for the pool to take a connection back
	pausing                // for the next attempt
	threading              // for a thread
	over                   // it has ended, but the pool has yet to take a connection back
)

var stateNames = [...]string{"vacant", "running", "acquiring", "querying", "calling", "returning", "pausing", "threading", "over"}

func (s state) String() string { return stateNames[s] }

// dead are the outcomes of a query after which its session is of no use. Those of a connect are among them: a pooler that cannot have
// a server connection for a query says so, and closes the client's.
var dead = [record.NumOutcomes]bool{
	record.AdminShutdown: true, record.ConnectionReset: true, record.ConnectionTimeout: true,
	record.QueueTimeout: true, record.ConnectRefused: true, record.TooManyConnections: true, record.MySQLTooMany: true,
	record.CannotConnectNow: true, record.AuthFailed: true,
}

// begin makes a request that was meant to arrive at a given time.
func (d *Driver) begin(number int64, at sim.Time, start int32) {
	var i int32
	if n := len(d.free); n > 0 {
		i, d.free = d.free[n-1], d.free[:n-1]
	} else {
		i = int32(len(d.slots))
		d.slots = append(d.slots, slot{})
		for range d.depth {
			d.conns = append(d.conns, pool.NoConn)
		}
	}
	d.live++
	s := &d.slots[i]
	*s = slot{number: number, arrived: at, start: start, state: running}
	d.env.Sink.Note(record.Fact{At: at, Kind: record.RequestBegan, Pool: d.env.Index, Request: number})
	if d.deadline != nil {
		d.armDeadline(i, s)
	}
	if d.threads != nil {
		s.pc = -1
		d.wantThread(i)
		return
	}
	d.attempt(i)
}

// armDeadline ends a request some time after its intended arrival, which is past if the program stood still then.
func (d *Driver) armDeadline(i int32, s *slot) {
	ev := sim.Event{To: d.id, Kind: expired, A: i}
	if now := d.env.Sim.Now(); s.arrived < now {
		s.deadline = d.env.Sim.ArmAt(max(now, s.arrived.Add(d.within)), ev)
		return
	}
	s.deadline = d.env.Sim.Arm(*d.deadline, ev)
}

// attempt goes through the steps from the first. Each attempt has draws of its own, whatever the one before came to.
func (d *Driver) attempt(i int32) {
	s := &d.slots[i]
	s.pc = s.start
	n := s.number*maxAttempts + int64(s.attempt)
	if d.random {
		s.luck = d.streams.luck.At(n)
	}
	if d.calls {
		s.call = d.streams.call.At(n)
	}
	d.advance(i)
}

// advance goes on with the steps until one has to wait.
func (d *Driver) advance(i int32) {
	s := &d.slots[i]
	s.state = running
	for {
		st := &d.steps[s.pc]
		s.pc++
		switch st.op {
		case opAcquire, opNested:
			if st.op == opNested {
				s.since = d.env.Sim.Now()
			}
			s.state = acquiring
			r := d.reply(granted, i)
			s.answer = int32(d.env.Pool.Acquire(pool.Request{Reply: r, Part: d.env.Index, Number: s.number, Timeout: st.timeout, Try: st.try}))
			if b, ok := d.env.Sim.Answered(r); !ok || !d.lent(i, s, b) {
				return
			}
			s.state = running
		case opQuery:
			d.query(i, st)
			return
		case opBegin:
			s.marks |= inTransaction << (s.held - 1)
			d.query(i, st)
			return
		case opCommit:
			s.marks &^= inTransaction << (s.held - 1)
			d.query(i, st)
			return
		case opHurried:
			d.query(i, st)
			d.hurry(i, s, st)
			return
		case opDirty:
			if p, ok := d.env.Pool.(pool.Stateful); ok {
				p.Dirty(d.conns[int(i)*d.depth+int(s.held)-1], st.dirt)
			}
		case opAgain:
			s.state = returning
			d.env.Pool.Return(d.conns[int(i)*d.depth+int(s.held)], pool.Release, d.reply(returned, i))
			return
		case opSwitch:
			if d.threads != nil {
				d.leaveThread(i)
				d.wantThread(i)
				return
			}
		case opCall:
			if st.wait.never() {
				continue
			}
			s.state = calling
			if d.wordy {
				d.noteCall(s)
			}
			s.timer = d.sleep(&st.wait, &s.call, sim.Event{To: d.id, Kind: called, A: i})
			return
		case opReturn:
			s.state = returning
			r := d.reply(returned, i)
			d.giveOne(i, s, st.how, r)
			if b, ok := d.env.Sim.Answered(r); !ok || !d.taken(i, s, b) {
				return
			}
			s.state = running
		case opLeak:
			if s.luck.Unit() < st.chance {
				s.marks |= 1<<s.held - 1
			}
		case opFail:
			if s.luck.Unit() < st.chance {
				d.fail(i, record.Failed, pool.Release)
				return
			}
		case opTake:
			if s.luck.Unit() >= st.chance {
				s.pc += st.skip
			}
		case opCancel:
			d.limitPatience(i, st)
		case opPatient:
			d.env.Sim.Cancel(s.patience)
			s.patience = sim.Timer{}
		case opEnd:
			d.finish(i, record.OK, pool.Release)
			return
		}
	}
}

func (d *Driver) reply(kind sim.Kind, i int32) sim.Reply {
	return sim.Reply{To: d.id, Kind: kind, A: i}
}

// query runs a query on the connection acquired last. Where the model has no connections, there is no server to run it: it
// takes its time all the same.
func (d *Driver) query(i int32, st *step) {
	s := &d.slots[i]
	n := d.queryNumber(s, st)
	session := d.env.Pool.Session(d.conns[int(i)*d.depth+int(s.held)-1])
	if d.wordy {
		d.noteQuery(s, session)
	}
	if session == server.NoSession {
		s.state = calling
		d.draws = d.streams.query.At(n)
		s.timer = d.sleep(&st.wait, &d.draws, sim.Event{To: d.id, Kind: called, A: i})
		return
	}
	s.state = querying
	s.answer = int32(d.env.Server.Query(session, st.query, n, d.reply(queried, i)))
}

// noteQuery notes that a request waits for a query.
func (d *Driver) noteQuery(s *slot, session server.Session) {
	f := record.Fact{At: d.env.Sim.Now(), Kind: record.QuerySent, Pool: d.env.Index, Request: s.number}
	if session != server.NoSession {
		f.Conn = d.env.Server.Number(session)
	}
	d.env.Sink.Note(f)
}

// noteCall notes that a request is at work outside the database.
func (d *Driver) noteCall(s *slot) {
	f := record.Fact{At: d.env.Sim.Now(), Kind: record.CallBegan, Pool: d.env.Index, Request: s.number}
	if s.held > 0 {
		f.Move = record.Between(record.InUse, record.None)
	}
	d.env.Sink.Note(f)
}

// queryNumber returns the number of a query of a request.
func (d *Driver) queryNumber(s *slot, st *step) int64 {
	return d.firstQuery + s.number*maxQueries + int64(s.attempt)*d.queries + st.ordinal
}

// sleep sends ev after a wait. Only a request that may give up needs the timer.
func (d *Driver) sleep(w *wait, r *sim.Rand, ev sim.Event) sim.Timer {
	if d.hasty {
		return w.arm(d.env.Sim, r, ev)
	}
	w.send(d.env.Sim, r, ev)
	return sim.Timer{}
}

// granted is the answer to an acquire.
func (d *Driver) granted(i, b int32) {
	if d.lent(i, d.mustBe(i, acquiring), b) {
		d.advance(i)
	}
}

// lent takes the answer to an acquire, and reports whether the request goes on with its steps.
func (d *Driver) lent(i int32, s *slot, b int32) bool {
	if b >= 0 {
		d.conns[int(i)*d.depth+int(s.held)] = pool.Conn(b)
		s.held++
		if d.watch != nil && s.held == 1 {
			d.watch.add(d, i)
		}
	}
	switch {
	case s.gaveUp != record.OK: // even if the connection came at the last moment
		d.finish(i, s.gaveUp, pool.Release)
	case b < 0:
		if d.watch != nil && server.OutcomeOf(b) == record.AcquireTimeout {
			d.watch.look()
		}
		d.fail(i, server.OutcomeOf(b), pool.Release)
	default:
		return true
	}
	return false
}

func (d *Driver) queried(i, b int32) {
	d.mustBe(i, querying)
	if b >= 0 {
		d.advance(i)
		return
	}
	o, how := server.OutcomeOf(b), pool.Release
	if dead[o] {
		how = pool.Broken
	}
	d.fail(i, o, how)
}

func (d *Driver) returned(i, b int32) {
	if d.slots[i].state == over {
		d.vacate(i)
		return
	}
	if d.taken(i, d.mustBe(i, returning), b) {
		d.advance(i)
	}
}

// taken takes the answer to a return, and reports whether the request goes on with its steps.
func (d *Driver) taken(i int32, s *slot, b int32) bool {
	s.state = running
	if b < 0 {
		d.fail(i, server.OutcomeOf(b), pool.Release)
	}
	return b >= 0
}

// limitPatience lets the caller give up after a while, unless it will do so earlier anyway.
func (d *Driver) limitPatience(i int32, st *step) {
	s := &d.slots[i]
	d.draws = d.streams.patience.At(s.number*maxAttempts + int64(s.attempt))
	until := d.env.Sim.Now().Add(st.wait.sample(&d.draws))
	if s.patience != (sim.Timer{}) {
		if s.patient <= until {
			return
		}
		d.env.Sim.Cancel(s.patience)
	}
	s.patience = d.env.Sim.ArmAt(until, sim.Event{To: d.id, Kind: impatient, A: i})
	s.patient = until
}

// giveUp ends a request from outside. A query under way leaves its connection in a state that nobody knows: it is closed.
func (d *Driver) giveUp(i int32, o record.Outcome) {
	s := &d.slots[i]
	switch s.state {
	case acquiring:
		s.gaveUp = o
		d.env.Pool.Cancel(pool.Ticket(s.answer)) // which answers in this event
	case querying:
		d.env.Server.Abort(server.Op(s.answer))
		d.finish(i, o, pool.Discard)
	case calling, pausing:
		d.env.Sim.Cancel(s.timer)
		d.finish(i, o, pool.Release)
	case returning:
		d.finish(i, o, pool.Release)
	case threading:
		if d.threads.queue.Queued(pool.Ticket(i)) {
			d.threads.queue.Remove(pool.Ticket(i))
		}
		d.finish(i, o, pool.Release)
	default:
		panic(fmt.Sprintf("workload: request %d gives up while %v", s.number, s.state))
	}
}

// fail ends an attempt: what it holds goes back, the connection acquired last by how.
func (d *Driver) fail(i int32, o record.Outcome, how pool.End) {
	s := &d.slots[i]
	if d.retries == nil || int(s.attempt) == len(d.retries.pauses) || !d.retries.on[o] {
		d.finish(i, o, how)
		return
	}
	d.giveBack(i, how)
	now := d.env.Sim.Now()
	d.env.Sink.Note(record.Fact{At: now, Kind: record.RequestRetry, Pool: d.env.Index, Request: s.number, Outcome: o, Took: now.Sub(s.arrived)})
	s.state = pausing
	d.draws = d.streams.retry.At(s.number*maxAttempts + int64(s.attempt))
	s.timer = d.env.Sim.ArmAt(now.Add(d.retries.pause(s.attempt, &d.draws)), sim.Event{To: d.id, Kind: paused, A: i})
	s.attempt++
}

// finish ends a request: what it holds goes back, the connection acquired last by how.
func (d *Driver) finish(i int32, o record.Outcome, how pool.End) {
	d.giveBack(i, how)
	s := &d.slots[i]
	if d.hasty {
		d.env.Sim.Cancel(s.deadline)
		d.env.Sim.Cancel(s.patience)
	}
	now := d.env.Sim.Now()
	n := s.number
	d.env.Sink.Note(record.Fact{At: now, Kind: record.RequestEnded, Pool: d.env.Index, Request: n, Outcome: o, Took: now.Sub(s.arrived)})
	d.live--
	if d.threads != nil {
		d.leaveThread(i)
	}
	if s.state == returning {
		s.state = over
	} else {
		d.vacate(i)
	}
	if d.clients > 0 {
		d.turnAfter(n)
		if d.maxEnds > 0 {
			d.checkProgress(now)
		}
	}
	d.checkDone()
}

// giveBack returns all that a request holds, as guards do when they go out of scope: nobody waits for it.
func (d *Driver) giveBack(i int32, how pool.End) {
	s := &d.slots[i]
	for s.held > 0 {
		d.giveOne(i, s, how, sim.Reply{To: sim.Nobody})
		how = pool.Release
	}
}

// giveOne ends the loan of the connection acquired last, unless that is forgotten.
func (d *Driver) giveOne(i int32, s *slot, how pool.End, r sim.Reply) {
	s.held--
	c := d.conns[int(i)*d.depth+int(s.held)]
	if s.marks>>s.held&(forgotten|inTransaction) != 0 {
		how = d.unmark(s, c, how)
	}
	if d.watch != nil && s.held == 0 {
		d.watch.remove(d, i)
	}
	d.env.Pool.Return(c, how, r)
}

// The marks of a connection that is held.
const (
	forgotten     = 1
	inTransaction = 1 << maxDepth
)

// unmark returns how a marked connection goes back: not at all if it is forgotten; and a transaction that is open is rolled back,
// unless the pool sees to that, or does not.
func (d *Driver) unmark(s *slot, c pool.Conn, how pool.End) pool.End {
	marks := s.marks >> s.held
	s.marks &^= (forgotten | inTransaction) << s.held
	if marks&forgotten != 0 {
		return pool.Leak
	}
	if how != pool.Release {
		return how
	}
	if p, ok := d.env.Pool.(pool.Stateful); ok {
		p.Dirty(c, pool.OpenTransaction)
	} else if t, ok := d.env.Server.(server.Transactional); ok {
		if session := d.env.Pool.Session(c); session != server.NoSession {
			t.Rollback(session)
		}
	}
	return how
}

// hurry lets the query that has just begun be cancelled at the server if it goes on for too long.
func (d *Driver) hurry(i int32, s *slot, st *step) {
	if s.state == querying {
		n := d.queryNumber(s, st)
		d.draws = d.streams.statement.At(n)
		st.limit.send(d.env.Sim, &d.draws, sim.Event{To: d.id, Kind: tooLong, A: i, B: int32(n)})
	}
}

// cancelQuery asks the server to end a query, if that goes on.
func (d *Driver) cancelQuery(i, number int32) {
	s := &d.slots[i]
	if s.state != querying || int32(d.queryNumber(s, &d.steps[s.pc-1])) != number {
		return
	}
	if c, ok := d.env.Server.(server.Canceller); ok {
		c.CancelQuery(server.Op(s.answer))
	}
}

func (d *Driver) vacate(i int32) {
	d.slots[i].state = vacant
	d.free = append(d.free, i)
}

// mustBe returns the slot of a request that waits for what has come. It panics if the request does not.
func (d *Driver) mustBe(i int32, want state) *slot {
	s := &d.slots[i]
	if s.state != want {
		panic(fmt.Sprintf("workload: request %d is %v, but is told the end of %v", s.number, s.state, want))
	}
	return s
}
