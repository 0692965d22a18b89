package server

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
)

// session is what is known of a Session.
type session struct {
	live     bool // its owner has it
	holds    bool // a slot of the limits, until its end is noted
	dead     bool // its next use will fail
	readOnly bool // every query on it fails: it is one of a server that was failed over, or of a standby
	verdict  record.Outcome
	hang     time.Duration // how long the next use of a dead one hangs
	caller   Caller
	number   int32
	op       Op    // under way on it
	tx       int32 // its transaction, 0 for none
	opened   sim.Time
	used     sim.Time
}

// session returns what is known of a session that its owner has.
func (s *Server) session(ses Session) *session {
	if ses < 0 || int(ses) >= len(s.sessions) || !s.sessions[ses].live {
		panic(fmt.Sprintf("server: session %d does not exist", ses))
	}
	return &s.sessions[ses]
}

// Connect implements Backend.
func (s *Server) Connect(c Caller, r sim.Reply) Op {
	o, p := s.begin(opConnect, NoSession, r)
	p.caller = c
	p.query = &s.login
	p.number = s.attempts
	p.rand = s.connects.At(p.number)
	s.attempts++
	s.stats.Attempts++
	s.sink.Note(record.Fact{At: s.sim.Now(), Kind: record.ConnectBegan, Request: -1, Pool: c.Pool})
	if s.during(connectHang) != nil {
		p.stage, p.due = stuck, sim.Forever
		return o
	}
	if s.during(refuse) != nil {
		p.outcome = record.ConnectRefused
		s.sleepFor(o, p, ending, s.opts.RefuseAfter)
		return o
	}
	l := &s.connect
	if w := s.during(connectTime); w != nil {
		l = &w.connect
	} else if p.number < int64(len(s.plan)) {
		l = &s.plan[p.number]
	}
	st := ending
	if len(s.login.phases) > 0 {
		st = travelling
	}
	s.send(o, p, st, l)
	return o
}

// send lets a new operation wait for a latency, behind a partition if there is one, or if it needs an answer from the server, behind
// a stall.
func (s *Server) send(o Op, p *operation, st stage, l *latency) {
	if (p.kind == opConnect || p.kind == opPing) && s.stalls() {
		s.holdUntil(o, p, st, s.stalledUntil.Add(l.withOverhead(l.sample(&p.rand))))
		return
	}
	if len(s.windows[partition]) > 0 {
		if w := s.during(partition); w != nil {
			s.holdUntil(o, p, st, w.to.Add(l.withOverhead(l.sample(&p.rand))))
			return
		}
	}
	s.sleep(o, p, st, l)
}

// connected ends a connect: it opens a session or says why not.
func (s *Server) connected(o Op, p *operation) {
	if p.outcome == record.OK {
		p.outcome = s.admit(p.caller)
	}
	f := record.Fact{At: s.sim.Now(), Kind: record.ConnectEnded, Request: -1, Pool: p.caller.Pool, Outcome: p.outcome, Took: s.sim.Now().Sub(p.began)}
	if p.outcome != record.OK {
		s.stats.Refused++
		s.sink.Note(f)
		s.end(o, Code(p.outcome))
		return
	}
	ses := s.open(p.caller)
	f.Conn = s.sessions[ses].number
	s.sink.Note(f)
	s.end(o, int32(ses))
}

// admit says how a connect that has paid its latency ends.
func (s *Server) admit(c Caller) record.Outcome {
	for _, f := range failures {
		if s.during(f.effect) != nil {
			return f.outcome
		}
	}
	limit, kept := s.opts.ConnectionLimit, s.opts.SuperuserReserved+s.opts.Reserved
	full := false
	if c.Role > 0 {
		r := &s.opts.Roles[c.Role-1]
		full = r.Limit > 0 && s.roles[c.Role] >= r.Limit
		switch {
		case r.Superuser:
			kept = 0
		case r.UseReserved:
			kept = s.opts.SuperuserReserved
		}
	}
	if full || limit > 0 && s.stats.Open >= limit-kept {
		if s.opts.LimitError == Error1040 {
			return record.MySQLTooMany
		}
		return record.TooManyConnections
	}
	return record.OK
}

// open makes a session.
func (s *Server) open(c Caller) Session {
	var ses Session
	if n := len(s.freeSessions); n > 0 {
		ses, s.freeSessions = s.freeSessions[n-1], s.freeSessions[:n-1]
	} else {
		ses = Session(len(s.sessions))
		s.sessions = append(s.sessions, session{})
	}
	*s.numbers++
	now := s.sim.Now()
	s.sessions[ses] = session{live: true, holds: true, readOnly: s.readOnly > 0, caller: c, number: *s.numbers, op: NoOp, opened: now, used: now}
	s.roles[c.Role]++
	s.stats.Opened++
	s.stats.Open++
	s.stats.PeakOpen = max(s.stats.PeakOpen, s.stats.Open)
	return ses
}

// use prepares an operation on a session, which must be free for it.
func (s *Server) use(kind opKind, ses Session, r sim.Reply) (Op, *operation, *session) {
	se := s.session(ses)
	if se.op != NoOp {
		panic(fmt.Sprintf("server: %v on session %d (number %d) during a %v", kind, ses, se.number, s.ops[se.op].kind))
	}
	if w := s.forgotten(se); w != nil {
		s.lose(se, record.ConnectionReset, w.fault.DropIdle.Hang)
	}
	if s.tx.used {
		s.busyAgain(se)
	}
	o, p := s.begin(kind, ses, r)
	p.caller, p.conn = se.caller, se.number
	se.op = o
	return o, p, se
}

// forgotten returns the fault by which a firewall has forgotten the session, nil if none has.
func (s *Server) forgotten(se *session) *window {
	if len(s.windows[dropIdle]) == 0 || se.dead {
		return nil
	}
	w := s.openNow(dropIdle)
	if w == nil || s.sim.Now().Sub(se.used) <= w.fault.DropIdle.After {
		return nil
	}
	w.fault.struck = true
	return w
}

// lose makes a session dead: its next use fails with the verdict, or hangs before the client gives up.
func (s *Server) lose(se *session, verdict record.Outcome, hang time.Duration) {
	se.dead, se.verdict, se.hang = true, verdict, hang
	if hang > 0 {
		se.verdict = record.ConnectionTimeout
	}
}

// sentence returns how a use of a dead session fails. That the server ended it, it tells once.
func (se *session) sentence() record.Outcome {
	v := se.verdict
	se.verdict, se.hang = record.ConnectionReset, 0
	return v
}

// Ping implements Backend.
func (s *Server) Ping(ses Session, r sim.Reply) Op {
	o, p, se := s.use(opPing, ses, r)
	s.sink.Note(record.Fact{At: s.sim.Now(), Kind: record.PingBegan, Request: -1, Pool: p.caller.Pool, Conn: p.conn})
	s.pinged++
	if se.dead && se.hang > 0 {
		hang := se.hang
		p.outcome = se.sentence()
		s.sleepFor(o, p, ending, hang)
		return o
	}
	p.rand = s.pings.At(s.pinged)
	s.send(o, p, ending, &s.ping)
	return o
}

func (s *Server) pingEnded(o Op, p *operation) {
	se := &s.sessions[p.session]
	se.op, se.used = NoOp, s.sim.Now()
	if se.dead && p.outcome == record.OK {
		p.outcome = se.sentence()
	}
	s.sink.Note(record.Fact{At: s.sim.Now(), Kind: record.PingEnded, Request: -1, Pool: p.caller.Pool, Conn: p.conn, Outcome: p.outcome, Took: s.sim.Now().Sub(p.began)})
	s.end(o, Code(p.outcome))
}

// Query implements Backend.
func (s *Server) Query(ses Session, q *Query, number int64, r sim.Reply) Op {
	o, p, se := s.use(opQuery, ses, r)
	s.stats.Queries++
	p.query = q
	p.number = number
	if s.roundTrip.sampler != nil {
		p.rand = s.roundTrips.At(number)
	}
	switch {
	case se.dead && se.hang > 0:
		hang := se.hang
		p.outcome = se.sentence()
		s.sleepFor(o, p, ending, hang)
	case se.dead:
		p.outcome = se.sentence()
		s.send(o, p, ending, &s.roundTrip)
	case se.readOnly:
		p.outcome = record.OtherError
		s.send(o, p, ending, &s.roundTrip)
	case s.roundTrip.none() && len(s.windows[partition]) == 0:
		s.arrive(o)
	default:
		s.send(o, p, travelling, &s.roundTrip)
	}
	return o
}

func (s *Server) queryEnded(o Op, p *operation) {
	if p.session != NoSession {
		se := &s.sessions[p.session]
		se.op, se.used = NoOp, s.sim.Now()
	}
	noted := p.outcome
	if p.givenUp && noted == record.OK {
		noted = record.Cancelled
	}
	s.noteQuery(record.QueryEnded, p, noted, s.sim.Now().Sub(p.began))
	if s.tx.used {
		s.settleTransaction(p)
	}
	s.end(o, Code(p.outcome))
}

// Close implements Backend.
func (s *Server) Close(ses Session, r sim.Reply) Op {
	return s.beginClose(opClose, ses, &s.close, r)
}

// CloseHard implements Backend.
func (s *Server) CloseHard(ses Session, r sim.Reply) Op {
	return s.beginClose(opCloseHard, ses, &s.closeHard, r)
}

func (s *Server) beginClose(kind opKind, ses Session, l *latency, r sim.Reply) Op {
	se := s.session(ses)
	s.giveUp(se)
	o, p := s.begin(kind, ses, r)
	p.caller, p.conn = se.caller, se.number
	se.op = o
	s.sink.Note(record.Fact{At: s.sim.Now(), Kind: record.CloseBegan, Request: -1, Pool: p.caller.Pool, Conn: p.conn, Outcome: kind.closes()})
	p.rand = s.closes.At(int64(p.conn))
	s.send(o, p, ending, l)
	return o
}

// closes returns how a kind of close ends its session.
func (k opKind) closes() record.Outcome {
	if k == opCloseHard {
		return record.ClosedHard
	}
	return record.ClosedGracefully
}

func (s *Server) closed(o Op, p *operation) {
	s.endSession(p.session, p.kind.closes())
	s.end(o, 0)
}

// Drop implements Backend.
func (s *Server) Drop(ses Session, how record.Outcome) {
	se := s.session(ses)
	if how == record.ClosedHard {
		if !s.closeHard.none() {
			s.CloseHard(ses, sim.Reply{To: sim.Nobody})
			return
		}
		s.sink.Note(record.Fact{At: s.sim.Now(), Kind: record.CloseBegan, Request: -1, Pool: se.caller.Pool, Conn: se.number, Outcome: how})
	}
	s.giveUp(se)
	s.endSession(ses, how)
}

// endSession ends a session for its owner, and at the server if it was not killed before. Its name is free then.
func (s *Server) endSession(ses Session, how record.Outcome) {
	se := &s.sessions[ses]
	kind := record.SessionDiscarded
	if se.holds {
		kind = record.SessionEnded
		s.freeSlot(se)
	}
	now := s.sim.Now()
	s.sink.Note(record.Fact{At: now, Kind: kind, Request: -1, Pool: se.caller.Pool, Conn: se.number, Outcome: how, Took: now.Sub(se.opened)})
	se.live = false
	s.freeSessions = append(s.freeSessions, ses)
}

func (s *Server) freeSlot(se *session) {
	se.holds = false
	s.roles[se.caller.Role]--
	s.stats.Open--
	s.stats.Closed++
	if s.stats.Open == 0 {
		s.stats.Emptied = s.sim.Now()
	}
}

// giveUp gives up what is under way on a session that ends. A query runs on, for nobody.
func (s *Server) giveUp(se *session) {
	if s.tx.used {
		s.abandon(se)
	}
	if se.op == NoOp {
		return
	}
	o := se.op
	se.op = NoOp
	p := &s.ops[o]
	p.reply.To = sim.Nobody
	if p.kind != opQuery {
		s.withdraw(o, p)
		s.end(o, 0)
		return
	}
	p.givenUp, p.session = true, NoSession
	if p.stage == ending || p.stage == stuck { // it only waits for its answer to come
		s.withdraw(o, p)
		s.queryEnded(o, p)
	}
}

// Abort implements Backend.
func (s *Server) Abort(o Op) {
	p := s.op(o)
	p.reply.To = sim.Nobody
	switch p.kind {
	case opConnect:
		s.withdraw(o, p)
		s.stats.GivenUp++
		s.sink.Note(record.Fact{At: s.sim.Now(), Kind: record.ConnectGaveUp, Request: -1, Pool: p.caller.Pool, Took: s.sim.Now().Sub(p.began)})
		s.end(o, 0)
		s.dispatch()
	case opClose, opCloseHard:
		ses := p.session
		s.giveUp(&s.sessions[ses])
		s.endSession(ses, record.Dropped)
	default:
		p.givenUp = true
	}
}

// Number implements Backend.
func (s *Server) Number(ses Session) int32 { return s.session(ses).number }

// Alive implements Backend.
func (s *Server) Alive(ses Session) bool {
	se := s.session(ses)
	return !se.dead && s.forgotten(se) == nil
}

// Kill ends the session of a number without a word to its owner, as if its process or network had gone, and reports whether it
// was open.
func (s *Server) Kill(number int32) bool {
	for i := range s.sessions {
		if se := &s.sessions[i]; se.live && se.holds && se.number == number {
			s.kill(Session(i), record.ConnectionReset, 0)
			s.dispatch()
			return true
		}
	}
	return false
}

// KillAll does so with every session, in the order of their numbers.
func (s *Server) KillAll() {
	s.killAll(record.ConnectionReset, 0)
	s.dispatch()
}

func (s *Server) killAll(verdict record.Outcome, hang time.Duration) {
	for _, ses := range s.oldest(len(s.sessions)) {
		s.kill(ses, verdict, hang)
	}
}

// oldest returns the n oldest sessions that are open, by number.
func (s *Server) oldest(n int) []Session {
	var open []Session
	for i := range s.sessions {
		if s.sessions[i].live && s.sessions[i].holds {
			open = append(open, Session(i))
		}
	}
	slices.SortFunc(open, func(a, b Session) int { return cmp.Compare(s.sessions[a].number, s.sessions[b].number) })
	return open[:min(n, len(open))]
}

// kill ends a session at the server. A query on it fails at once, a ping at its end; a close goes on. If the end makes no
// noise on the network (hang), they hang. A core that becomes free is left to dispatch, for when all are dead that are to die.
func (s *Server) kill(ses Session, verdict record.Outcome, hang time.Duration) {
	se := &s.sessions[ses]
	s.freeSlot(se)
	s.lose(se, verdict, hang)
	s.stats.Killed++
	now := s.sim.Now()
	s.sink.Note(record.Fact{At: now, Kind: record.SessionEnded, Request: -1, Pool: se.caller.Pool, Conn: se.number, Outcome: record.Killed, Took: now.Sub(se.opened)})
	if s.tx.used {
		s.killTransaction(se)
	}
	if se.op == NoOp {
		return
	}
	o, p := se.op, &s.ops[se.op]
	if p.kind != opPing && p.kind != opQuery || p.outcome != record.OK {
		return
	}
	switch {
	case hang > 0:
		p.outcome = se.sentence()
		s.withdraw(o, p)
		s.sleepFor(o, p, ending, hang)
	case p.kind == opQuery:
		s.fail(o, se.sentence())
	}
}

// setReadOnly makes every open session one that answers, but fails every query; or lets queries succeed again.
func (s *Server) setReadOnly(on bool) {
	for _, ses := range s.oldest(len(s.sessions)) {
		s.sessions[ses].readOnly = on
	}
}

// Hangup ends all sessions of a pool and drops its connects under way, without a word to it: its program has ended.
func (s *Server) Hangup(pool int16) {
	for o := range s.ops {
		if p := &s.ops[o]; p.kind == opConnect && p.caller.Pool == pool {
			s.Abort(Op(o))
		}
	}
	for i := range s.sessions {
		if se := &s.sessions[i]; se.live && se.caller.Pool == pool {
			s.giveUp(se)
			s.endSession(Session(i), record.Dropped)
		}
	}
}

// failConnects ends the connects under way, in the order in which they began: the server that they spoke to is gone.
func (s *Server) failConnects() {
	var under []Op
	for o := range s.ops {
		if p := &s.ops[o]; p.kind == opConnect && p.outcome == record.OK {
			under = append(under, Op(o))
		}
	}
	slices.SortFunc(under, func(a, b Op) int { return cmp.Compare(s.ops[a].number, s.ops[b].number) })
	for _, o := range under {
		s.fail(o, record.ConnectionReset)
	}
}
