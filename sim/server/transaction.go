package server

import (
	"fmt"
	"hash/fnv"

	"poolwise/sim"
	"poolwise/sim/record"
)

// Transactional is a Backend with transactions that last longer than a query (see Begin and Commit).
type Transactional interface {
	// Rollback ends the transaction of a session, if one is open, and frees its locks: the rollback that goes along with what the
	// session does next, before it is another's.
	Rollback(s Session)
}

// Canceller is a Backend that can end a query at its session's wish.
type Canceller interface {
	// CancelQuery asks for the end of a query under way, over a connection of its own, which takes Options.CancelRequest. The query
	// then ends as any other, with QueryCancelled, unless it has ended before or has not begun. There is no answer of its own.
	CancelQuery(op Op)
}

// Blocker is a Backend that tells who waits for whom.
type Blocker interface {
	// Blocked reports whether the query op, asked for with r, waits for a lock that another session has. One that is over, its answer
	// on the way, does not.
	Blocked(op Op, r sim.Reply) bool
}

// Begin and Commit are statements: a round trip, and nothing to do at the server. From the end of Begin on the session has a
// transaction, and keeps the locks that its queries take, until the end of Commit (or Rollback, which is the same here).
var (
	Begin  = &Query{control: begins}
	Commit = &Query{control: commits}
)

// control says what a query does to the transaction of its session.
type control uint8

const (
	works   control = iota // nothing
	begins                 // opens one
	commits                // ends it
)

// Begins reports whether a query opens a transaction.
func (q *Query) Begins() bool { return q.control == begins }

// Commits reports whether a query ends the transaction of its session.
func (q *Query) Commits() bool { return q.control == commits }

// transaction is what holds locks: that of a session, or of a single query. It is named by its place plus one; 0 is none.
type transaction struct {
	locks int32     // the first of them, a place plus one; 0: none
	waits Op        // its query that waits for a lock, NoOp for none
	idle  sim.Timer // idle_in_transaction_timeout
}

// lock is a row that is locked.
type lock struct {
	row         row
	holder      int32 // the transaction
	next        int32 // lock of that
	first, last Op    // that wait for it
}

// row names a row.
type row struct {
	table  uint64
	number int
}

// transactions are those of a server, and its locks.
type transactions struct {
	used  bool // there are any
	all   []transaction
	free  []int32
	locks []lock
	spare []int32
	held  map[row]int32 // the place of the lock
	open  int           // sessions that have one
}

// tableOf names a table by its name, so that queries that were compiled apart mean the same.
func tableOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// beginTransaction makes one.
func (s *Server) beginTransaction() int32 {
	t := &s.tx
	if n := len(t.free); n > 0 {
		tx := t.free[n-1]
		t.free = t.free[:n-1]
		return tx
	}
	t.all = append(t.all, transaction{waits: NoOp})
	return int32(len(t.all))
}

// endTransaction frees the locks of a transaction: each goes to who has waited longest.
func (s *Server) endTransaction(tx int32) {
	x := &s.tx.all[tx-1]
	s.sim.Cancel(x.idle)
	locks := x.locks
	*x = transaction{waits: NoOp}
	s.tx.free = append(s.tx.free, tx)
	for locks != 0 {
		l := &s.tx.locks[locks-1]
		here := locks - 1
		locks, l.next, l.holder = l.next, 0, 0
		if o := l.first; o != NoOp {
			s.unqueue(o)
			s.hold(here, s.ops[o].tx)
			s.noteBegan(&s.ops[o], s.sim.Now().Sub(s.ops[o].since))
			s.sleepFor(o, &s.ops[o], waiting, 0)
			continue
		}
		delete(s.tx.held, l.row)
		s.tx.spare = append(s.tx.spare, here)
	}
}

// hold gives a lock to a transaction.
func (s *Server) hold(place, tx int32) {
	l, x := &s.tx.locks[place], &s.tx.all[tx-1]
	l.holder, l.next = tx, x.locks
	x.locks = place + 1
}

// take takes the lock of a phase for a query, and reports whether it has it; otherwise it waits.
func (s *Server) take(o Op, p *operation, ph *phase) bool {
	s.tx.used = true
	r := row{table: ph.table}
	if ph.rows > 1 {
		r.number = p.rand.Below(ph.rows)
	}
	if p.tx == 0 && p.session != NoSession {
		p.tx = s.sessions[p.session].tx
	}
	if p.tx == 0 {
		p.tx = s.beginTransaction()
	}
	place, held := s.tx.held[r]
	switch {
	case !held:
		if n := len(s.tx.spare); n > 0 {
			place, s.tx.spare = s.tx.spare[n-1], s.tx.spare[:n-1]
		} else {
			place = int32(len(s.tx.locks))
			s.tx.locks = append(s.tx.locks, lock{})
		}
		s.tx.locks[place] = lock{row: r, first: NoOp, last: NoOp}
		if s.tx.held == nil {
			s.tx.held = map[row]int32{}
		}
		s.tx.held[r] = place
		s.hold(place, p.tx)
		return true
	case s.tx.locks[place].holder == p.tx:
		return true
	}
	l := &s.tx.locks[place]
	p.stage, p.due, p.since, p.place = locking, sim.Forever, s.sim.Now(), place
	p.prev, p.next = l.last, NoOp
	if l.last == NoOp {
		l.first = o
	} else {
		s.ops[l.last].next = o
	}
	l.last = o
	s.tx.all[p.tx-1].waits = o
	if d := s.opts.deadlockTimeout(); d > 0 {
		p.timer = s.sim.Arm(s.sim.Delay(d), sim.Event{To: s.id, Kind: deadlockDue, A: int32(o)})
	}
	s.noteQuery(record.QueryBlocked, p, record.OK, 0)
	p.begun = false
	return false
}

// lookForCircle ends a query that waits, through the locks of others who wait, for one that its own transaction has. As with
// PostgreSQL, it is not who closed the circle that fails, but who looks first once it is closed.
func (s *Server) lookForCircle(o Op) {
	p := &s.ops[o]
	p.timer = sim.Timer{}
	at := o
	for range s.tx.all { // another circle, which this one only waits for, has no end
		holder := s.tx.locks[s.ops[at].place].holder
		if holder == p.tx {
			s.fail(o, record.DeadlockDetected)
			s.dispatch()
			return
		}
		if at = s.tx.all[holder-1].waits; at == NoOp {
			return
		}
	}
}

// unqueue takes a query out of the queue for a lock.
func (s *Server) unqueue(o Op) {
	p := &s.ops[o]
	if p.stage != locking {
		panic(fmt.Sprintf("server: operation %d leaves the queue of a lock that it is not in", o))
	}
	s.wake(p)
	s.tx.all[p.tx-1].waits = NoOp
	l := &s.tx.locks[p.place]
	if p.prev == NoOp {
		l.first = p.next
	} else {
		s.ops[p.prev].next = p.next
	}
	if p.next == NoOp {
		l.last = p.prev
	} else {
		s.ops[p.next].prev = p.prev
	}
}

// Blocked implements Blocker.
func (s *Server) Blocked(o Op, r sim.Reply) bool {
	p := &s.ops[o]
	return p.kind == opQuery && p.reply == r && p.stage == locking
}

// settleTransaction is what the end of a query means for the transaction of its session.
func (s *Server) settleTransaction(p *operation) {
	own := p.tx
	p.tx = 0
	if p.session == NoSession {
		if own != 0 {
			s.endTransaction(own)
		}
		return
	}
	se := &s.sessions[p.session]
	if own != 0 && own != se.tx { // of this query alone
		s.endTransaction(own)
	}
	switch {
	case se.dead:
	case p.query.control == begins && p.outcome == record.OK && se.tx == 0:
		se.tx = s.beginTransaction()
		s.tx.used = true
		s.tx.open++
	case p.query.control == commits && p.outcome == record.OK:
		s.leaveTransaction(se)
	}
	if se.tx != 0 && s.opts.IdleInTransactionTimeout > 0 {
		s.tx.all[se.tx-1].idle = s.sim.Arm(s.idleLimit, sim.Event{To: s.id, Kind: idleOverdue, A: int32(p.session)})
	}
}

// leaveTransaction ends the transaction of a session, if it has one.
func (s *Server) leaveTransaction(se *session) {
	if se.tx != 0 {
		s.endTransaction(se.tx)
		se.tx = 0
		s.tx.open--
	}
}

// Rollback implements Transactional.
func (s *Server) Rollback(ses Session) { s.leaveTransaction(s.session(ses)) }

// busyAgain stops the clock of an idle transaction.
func (s *Server) busyAgain(se *session) {
	if se.tx != 0 {
		x := &s.tx.all[se.tx-1]
		s.sim.Cancel(x.idle)
		x.idle = sim.Timer{}
	}
}

// abandon ends the transaction of a session that ends, or leaves it to a query that runs on for nobody.
func (s *Server) abandon(se *session) {
	if se.tx != 0 && se.op != NoOp && s.ops[se.op].kind == opQuery {
		s.ops[se.op].tx, se.tx = se.tx, 0
		s.tx.open--
		return
	}
	s.leaveTransaction(se)
}

// killTransaction ends what a session that is killed holds: its process at the server is gone.
func (s *Server) killTransaction(se *session) {
	if se.op != NoOp {
		if p := &s.ops[se.op]; p.tx != 0 {
			if p.stage == locking { // it is not to be given what its own transaction frees
				s.unqueue(se.op)
				p.stage = ending
			}
			if p.tx != se.tx {
				s.endTransaction(p.tx)
			}
			p.tx = 0
		}
	}
	s.leaveTransaction(se)
}

// CancelQuery implements Canceller.
func (s *Server) CancelQuery(o Op) {
	p := s.op(o)
	ev := sim.Event{To: s.id, Kind: cancelDue, A: int32(o), B: p.gen}
	r := s.cancels.At(p.number)
	if d := s.cancelRequest.sample(&r); d > 0 {
		s.sim.After(d, ev)
	} else {
		s.sim.Continue(ev)
	}
}

// cancelled: a cancel request has come. It means the query that is at the server then; if that has ended, nothing.
func (s *Server) cancelled(o Op, gen int32) {
	if p := &s.ops[o]; p.gen == gen && p.kind == opQuery && p.inside {
		s.fail(o, record.QueryCancelled)
		s.dispatch()
	}
}
