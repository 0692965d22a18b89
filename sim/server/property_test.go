package server

import (
	"flag"
	"fmt"
	"math/big"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
)

// job is a query of the comparison with the reference: it comes at a time and may be killed at another (0: it is not).
type job struct {
	at, kill int64
	work     int64
}

// reference is processor sharing by the letter: the work left of every job, in exact fractions, taken down from event to
// event at the rate min(1, cores/n)/slowdown(n). It returns the time at which each job ended and whether by being killed.
func reference(jobs []job, cores int, slowdown func(n int) *big.Rat) (ends []int64, killed []bool) {
	ends, killed = make([]int64, len(jobs)), make([]bool, len(jobs))
	left := make([]*big.Rat, len(jobs))
	over := 0
	rate := func() *big.Rat {
		n := 0
		for i := range left {
			if left[i] != nil {
				n++
			}
		}
		if n == 0 {
			return new(big.Rat)
		}
		r := big.NewRat(1, 1)
		if cores > 0 && n > cores {
			r.SetFrac64(int64(cores), int64(n))
		}
		return r.Quo(r, slowdown(n))
	}
	for now := int64(0); over < len(jobs); {
		for i, j := range jobs {
			if j.at == now {
				left[i] = big.NewRat(j.work, 1)
			}
			if j.kill == now && left[i] != nil {
				left[i], ends[i], killed[i] = nil, now, true
				over++
			}
		}
		for i := range left {
			if left[i] != nil && left[i].Sign() <= 0 {
				left[i], ends[i] = nil, now
				over++
			}
		}
		r, next := rate(), int64(1<<62)
		for i, j := range jobs {
			for _, t := range []int64{j.at, j.kill} {
				if t > now {
					next = min(next, t)
				}
			}
			if left[i] != nil {
				d := new(big.Rat).Quo(left[i], r)
				ceil := new(big.Int).Add(d.Num(), new(big.Int).Sub(d.Denom(), big.NewInt(1)))
				next = min(next, now+ceil.Quo(ceil, d.Denom()).Int64())
			}
		}
		for i := range left {
			if left[i] != nil {
				left[i].Sub(left[i], new(big.Rat).Mul(r, big.NewRat(next-now, 1)))
			}
		}
		now = next
	}
	return ends, killed
}

// sender sends the jobs, each on a session of its own.
type sender struct {
	sim    *sim.Sim
	id     sim.ActorID
	srv    *Server
	jobs   []job
	ends   []int64
	killed []bool
}

func (s *sender) Note(record.Fact) {}

func (s *sender) Handle(ev sim.Event) {
	switch ev.Kind {
	case start:
		for range s.jobs {
			s.srv.Connect(Caller{}, sim.Reply{To: sim.Nobody})
		}
	case arrive:
		q := QuerySpec{Service: dist.Fixed(time.Duration(s.jobs[ev.A].work))}
		s.srv.Query(Session(ev.A), s.srv.Compile(&q), 1, sim.Reply{To: s.id, Kind: done, A: ev.A})
	case opened: // here: to be killed
		s.srv.Kill(s.srv.Number(Session(ev.A)))
	case done:
		s.ends[ev.A], s.killed[ev.A] = int64(s.sim.Now()), OutcomeOf(ev.B) != record.OK
	}
}

func TestSharingAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cores := rapid.IntRange(0, 4).Draw(t, "cores")
		contention := Contention{
			Sigma: rapid.SampledFrom([]float64{0, 0, 0.5, 0.25}).Draw(t, "sigma"),
			Kappa: rapid.SampledFrom([]float64{0, 0, 0.125}).Draw(t, "kappa"),
		}
		if cores == 0 {
			contention.Sigma = 0.5
		}
		jobs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) job {
			j := job{at: rapid.Int64Range(1, 60).Draw(t, "at"), work: rapid.Int64Range(1, 40).Draw(t, "work")}
			if rapid.IntRange(0, 4).Draw(t, "killed") == 0 {
				j.kill = j.at + rapid.Int64Range(1, 60).Draw(t, "kill")
			}
			return j
		}), 1, 8).Draw(t, "jobs")

		s := &sender{sim: new(sim.Sim), jobs: jobs, ends: make([]int64, len(jobs)), killed: make([]bool, len(jobs))}
		s.id = s.sim.Add(s)
		s.srv = New(s.sim, s, 1, Options{Cores: cores, Discipline: Sharing, Contention: contention})
		s.sim.Soon(sim.Event{To: s.id, Kind: start})
		for i, j := range jobs {
			s.sim.At(sim.Time(j.at), sim.Event{To: s.id, Kind: arrive, A: int32(i)})
			if j.kill > 0 {
				s.sim.At(sim.Time(j.kill), sim.Event{To: s.id, Kind: opened, A: int32(i)})
			}
		}
		s.sim.Check = func() { verify(t, s.srv) }
		s.sim.Run(sim.Forever)

		ends, killed := reference(jobs, cores, func(n int) *big.Rat {
			m := int64(n)
			f := new(big.Rat).SetFloat64(contention.Sigma)
			f.Mul(f, big.NewRat(m-1, 1))
			k := new(big.Rat).SetFloat64(contention.Kappa)
			f.Add(f, k.Mul(k, big.NewRat(m*(m-1), 1)))
			return f.Add(f, big.NewRat(1, 1))
		})
		if !slices.Equal(s.ends, ends) || !slices.Equal(s.killed, killed) {
			t.Fatalf("ends %v killed %v, the reference has %v and %v", s.ends, s.killed, ends, killed)
		}
	})
}

// verify checks what must hold of a server between any two events.
func verify(t interface{ Fatalf(string, ...any) }, s *Server) {
	st := s.Stats()
	open, roles := 0, make([]int, len(s.roles))
	live := 0
	for i := range s.sessions {
		se := &s.sessions[i]
		if !se.live {
			continue
		}
		live++
		if se.holds {
			open++
			roles[se.caller.Role]++
		}
		if se.op != NoOp && s.ops[se.op].session != Session(i) {
			t.Fatalf("session %d: its operation %d is of session %d", i, se.op, s.ops[se.op].session)
		}
	}
	if live+len(s.freeSessions) != len(s.sessions) {
		t.Fatalf("%d sessions live and %d free of %d", live, len(s.freeSessions), len(s.sessions))
	}
	if open != st.Open || !slices.Equal(roles, s.roles) || st.Opened-st.Closed != int64(open) {
		t.Fatalf("open %d, counted %d, opened %d, closed %d; roles %v, counted %v", open, st.Open, st.Opened, st.Closed, roles, s.roles)
	}
	if l := s.opts.ConnectionLimit; l > 0 && open > l {
		t.Fatalf("%d sessions open, %d are allowed", open, l)
	}
	if l, kept := s.opts.ConnectionLimit, s.opts.SuperuserReserved+s.opts.Reserved; kept > 0 && roles[0] > l-kept {
		t.Fatalf("%d sessions of the default role, %d are allowed", roles[0], l-kept)
	}
	for i, r := range s.opts.Roles {
		if r.Limit > 0 && roles[i+1] > r.Limit {
			t.Fatalf("%d sessions of role %s, %d are allowed", roles[i+1], r.Name, r.Limit)
		}
	}
	stages, under, inside := map[stage]int{}, 0, 0
	for o := range s.ops {
		p := &s.ops[o]
		if p.kind == opFree {
			if p.timer != (sim.Timer{}) || p.limit != (sim.Timer{}) || p.inside || p.begun || p.givenUp || p.phase != 0 || p.outcome != record.OK {
				t.Fatalf("operation %d is over and not clean: %+v", o, p)
			}
			continue
		}
		under++
		stages[p.stage]++
		if p.inside {
			inside++
		}
	}
	if under+len(s.freeOps) != len(s.ops) {
		t.Fatalf("%d operations under way and %d free of %d", under, len(s.freeOps), len(s.ops))
	}
	if stages[queued] != st.Queued || stages[sharingCPU] != len(s.shared.heap) || inside != s.shared.atServer {
		t.Fatalf("stages %v, %d inside; counted %d queued, %d sharing, %d inside", stages, inside, st.Queued, len(s.shared.heap), s.shared.atServer)
	}
	n := 0
	for o, last := s.cores.first, NoOp; o != NoOp; o = s.ops[o].next {
		if s.ops[o].prev != last || s.ops[o].stage != queued {
			t.Fatalf("operation %d in the queue is at stage %d, behind %d", o, s.ops[o].stage, s.ops[o].prev)
		}
		last = o
		n++
	}
	if n != st.Queued {
		t.Fatalf("%d in the queue, counted %d", n, st.Queued)
	}
	verifyLocks(t, s, stages[locking])
	cores := s.opts.Cores
	busy := stages[running]
	if s.shared.used {
		busy = len(s.shared.heap)
		if cores > 0 {
			busy = min(busy, cores)
		}
	}
	if st.Running != busy || cores > 0 && busy > cores {
		t.Fatalf("%d cores are busy, counted %d, there are %d", busy, st.Running, cores)
	}
	if st.Queued > 0 && busy < cores {
		t.Fatalf("%d wait for a core, %d of %d are busy", st.Queued, busy, cores)
	}
	if cores > 0 && st.Busy > time.Duration(cores)*time.Duration(s.sim.Now()) {
		t.Fatalf("%d cores were busy for %v in %v", cores, st.Busy, s.sim.Now())
	}
	for i, e := range s.shared.heap {
		if int(s.ops[e.op].place) != i || i > 0 && e.before(&s.shared.heap[(i-1)/2]) {
			t.Fatalf("operation %d is out of place in the heap", e.op)
		}
	}
}

// user is a caller of the random histories: it remembers what it asked for and checks what it is told.
type user struct {
	t       *rapid.T
	sim     *sim.Sim
	id      sim.ActorID
	srv     *Server
	act     func()         // what to do in the event under way
	pending map[int32]*ask // by the A of its reply
	next    int32
	mine    []Session
	queries int64
	facts   map[int32][]record.Fact // of each connection
	open    int                     // connections, by the facts
}

type ask struct {
	kind    opKind
	op      Op
	session Session
}

func (u *user) Note(f record.Fact) {
	if f.At != u.sim.Now() {
		u.t.Fatalf("a fact of %v noted at %v", f.At, u.sim.Now())
	}
	switch {
	case f.Kind == record.ConnectEnded && f.Outcome == record.OK:
		u.open++
	case f.Kind == record.SessionEnded:
		u.open--
	}
	if f.Conn > 0 {
		u.facts[f.Conn] = append(u.facts[f.Conn], f)
	}
}

func (u *user) Handle(ev sim.Event) {
	if ev.Kind == start {
		u.act()
		return
	}
	a, ok := u.pending[ev.A]
	if !ok {
		u.t.Fatalf("an answer %v that nobody waits for", OutcomeOf(ev.B))
	}
	delete(u.pending, ev.A)
	out := OutcomeOf(ev.B)
	switch a.kind {
	case opConnect:
		if out == record.OK {
			u.mine = append(u.mine, Session(ev.B))
		}
	case opClose, opCloseHard:
		if out != record.OK {
			u.t.Fatalf("a close ended with %v", out)
		}
	}
}

// ask begins an operation and waits for its answer.
func (u *user) ask(kind opKind, s Session, begin func(r sim.Reply) Op) {
	u.next++
	r := sim.Reply{To: u.id, Kind: done, A: u.next}
	a := &ask{kind: kind, session: s}
	u.pending[u.next] = a
	a.op = begin(r)
}

// forget drops what is pending on a session that is no more.
func (u *user) forget(s Session) {
	for k, a := range u.pending {
		if a.session == s {
			delete(u.pending, k)
		}
	}
	u.mine = slices.DeleteFunc(u.mine, func(m Session) bool { return m == s })
}

func (u *user) busy(s Session) bool { return u.srv.sessions[s].op != NoOp }

// inCircle reports whether a query that waits for a lock waits for itself.
func inCircle(s *Server, o Op) bool {
	seen := map[int32]bool{} // transactions that it waits for
	for p := &s.ops[o]; p.stage == locking; {
		holder := s.tx.locks[p.place].holder
		if holder == s.ops[o].tx {
			return true
		}
		if seen[holder] || s.tx.all[holder-1].waits == NoOp {
			return false
		}
		seen[holder] = true
		p = &s.ops[s.tx.all[holder-1].waits]
	}
	return false
}

// verifyLocks: every transaction is one of a session or of an operation, and every lock has one, which knows it; those who wait for
// a lock are in its queue.
func verifyLocks(t interface{ Fatalf(string, ...any) }, s *Server, waiting int) {
	x := &s.tx
	owners := make([]int, len(x.all)+1)
	open := 0
	for i := range s.sessions {
		if tx := s.sessions[i].tx; tx != 0 {
			if !s.sessions[i].live || !s.sessions[i].holds {
				t.Fatalf("session %d is over, and in transaction %d", i, tx)
			}
			owners[tx]++
			open++
		}
	}
	if open != x.open {
		t.Fatalf("%d sessions are in a transaction, counted %d", open, x.open)
	}
	for o := range s.ops {
		if p := &s.ops[o]; p.tx != 0 && (p.kind != opQuery || p.session == NoSession || s.sessions[p.session].tx != p.tx) {
			owners[p.tx]++
		}
	}
	for _, tx := range x.free {
		owners[tx]++
	}
	for tx, n := range owners[1:] {
		if n != 1 {
			t.Fatalf("transaction %d has %d owners", tx+1, n)
		}
	}
	if len(x.held)+len(x.spare) != len(x.locks) {
		t.Fatalf("%d locks held and %d spare of %d", len(x.held), len(x.spare), len(x.locks))
	}
	known := 0
	for tx := range x.all {
		for l := x.all[tx].locks; l != 0; l = x.locks[l-1].next {
			known++
			if x.locks[l-1].holder != int32(tx+1) {
				t.Fatalf("lock %d is of transaction %d, not %d", l-1, x.locks[l-1].holder, tx+1)
			}
		}
	}
	queue := 0
	for tx := range x.all {
		if o := x.all[tx].waits; o != NoOp && (s.ops[o].stage != locking || s.ops[o].tx != int32(tx+1)) {
			t.Fatalf("transaction %d waits by operation %d: %+v", tx+1, o, s.ops[o])
		}
	}
	for r, place := range x.held {
		l := &x.locks[place]
		if l.row != r || l.holder == 0 {
			t.Fatalf("lock %d of %v: %+v", place, r, l)
		}
		for o, last := l.first, NoOp; o != NoOp; o = s.ops[o].next {
			if s.ops[o].prev != last || s.ops[o].stage != locking || s.ops[o].place != place {
				t.Fatalf("operation %d waits for lock %d, behind %d: %+v", o, place, last, s.ops[o])
			}
			if x.all[s.ops[o].tx-1].waits != o {
				t.Fatalf("operation %d waits for a lock, and its transaction %d does not", o, s.ops[o].tx)
			}
			last = o
			queue++
		}
	}
	if known != len(x.held) || queue != waiting {
		t.Fatalf("%d locks of transactions, %d held; %d wait, %d in queues", known, len(x.held), waiting, queue)
	}
}

func TestRandomHistories(t *testing.T) {
	few := func(t *rapid.T, name string) dist.Distribution {
		return dist.Fixed(time.Duration(rapid.IntRange(0, 5).Draw(t, name)))
	}
	rapid.Check(t, func(t *rapid.T) {
		deadlockTimeout := time.Duration(rapid.SampledFrom([]int{0, 7}).Draw(t, "deadlock_timeout"))
		o := Options{
			DeadlockTimeout:          &deadlockTimeout,
			Cores:                    rapid.IntRange(0, 3).Draw(t, "cores"),
			Discipline:               Discipline(rapid.IntRange(0, 1).Draw(t, "discipline")),
			ConnectionLimit:          rapid.SampledFrom([]int{0, 4, 6}).Draw(t, "limit"),
			Roles:                    []Role{{Name: "app", Limit: 2}, {Name: "admin", Superuser: true}, {Name: "ops", UseReserved: true}},
			Connect:                  few(t, "connect"),
			LoginCPU:                 few(t, "login_cpu"),
			Close:                    few(t, "close"),
			CloseHard:                few(t, "close_hard"),
			Ping:                     few(t, "ping"),
			RoundTrip:                few(t, "round_trip"),
			StatementTimeout:         time.Duration(rapid.SampledFrom([]int{0, 9}).Draw(t, "statement_timeout")),
			IdleInTransactionTimeout: time.Duration(rapid.SampledFrom([]int{0, 0, 15}).Draw(t, "idle_in_transaction_timeout")),
			CancelRequest:            few(t, "cancel_request"),
			Contention:               Contention{Kappa: rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "kappa")},
		}
		if o.ConnectionLimit > 0 {
			o.SuperuserReserved, o.Reserved = rapid.IntRange(0, 1).Draw(t, "superuser"), rapid.IntRange(0, 1).Draw(t, "reserved")
		}
		for range rapid.IntRange(0, 3).Draw(t, "faults") {
			f := Fault{At: time.Duration(rapid.IntRange(0, 60).Draw(t, "at"))}
			id := effectID(rapid.IntRange(0, int(numEffects)-1).Draw(t, "effect"))
			if effects[id].window || id == restart || id == failover {
				f.For = time.Duration(rapid.IntRange(1, 30).Draw(t, "for"))
			}
			d := few(t, "connect")
			switch id {
			case refuse:
				f.Refuse = true
			case connectHang:
				f.ConnectHang = true
			case stall:
				f.Stall = true
			case failError:
				f.Error = true
			case failTransient:
				f.TransientError = true
			case failStartingUp:
				f.StartingUp = true
			case failAuth:
				f.AuthFailure = true
			case connectTime:
				f.Connect = &d
			case slow:
				f.Slow = 2.5
			case readOnly:
				f.ReadOnly = true
			case partition:
				f.Partition = true
			case dropIdle:
				f.DropIdle = &DropIdle{After: 5, Hang: time.Duration(rapid.IntRange(0, 1).Draw(t, "hang") * 20)}
			case restart:
				f.Restart = true
			case terminate:
				f.Terminate = 2
			case kill:
				f.Kill = rapid.IntRange(1, 6).Draw(t, "kill")
			case failover:
				f.Failover = &Failover{Hang: time.Duration(rapid.IntRange(0, 1).Draw(t, "hang") * 20)}
			}
			o.Faults = append(o.Faults, f)
		}
		o.Validate(func(path, message string) { t.Fatalf("%s: %s", path, message) })

		u := &user{t: t, sim: new(sim.Sim), pending: map[int32]*ask{}, facts: map[int32][]record.Fact{}}
		u.id = u.sim.Add(u)
		u.srv = New(u.sim, u, 1, o)
		u.sim.Check = func() {
			verify(t, u.srv)
			if st := u.srv.Stats(); st.Open != u.open {
				t.Fatalf("%d sessions open, by the facts %d", st.Open, u.open)
			}
		}
		do := func(act func()) {
			u.act = act
			u.sim.Soon(sim.Event{To: u.id, Kind: start})
			u.sim.Run(u.sim.Now())
		}
		session := func(t *rapid.T, free bool) Session {
			var can []Session
			for _, s := range u.mine {
				if !free || !u.busy(s) {
					can = append(can, s)
				}
			}
			if len(can) == 0 {
				t.Skip("no session")
			}
			return rapid.SampledFrom(can).Draw(t, "session")
		}
		t.Repeat(map[string]func(*rapid.T){
			"connect": func(t *rapid.T) {
				c := Caller{Role: int16(rapid.IntRange(0, 3).Draw(t, "role"))}
				do(func() { u.ask(opConnect, NoSession, func(r sim.Reply) Op { return u.srv.Connect(c, r) }) })
			},
			"ping": func(t *rapid.T) {
				s := session(t, true)
				do(func() { u.ask(opPing, s, func(r sim.Reply) Op { return u.srv.Ping(s, r) }) })
			},
			"query": func(t *rapid.T) {
				s := session(t, true)
				q := QuerySpec{Phases: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Phase {
					d := few(t, "time")
					p := Phase{CPU: &d}
					if rapid.Bool().Draw(t, "io") {
						p = Phase{IO: &d}
					}
					if rapid.IntRange(0, 2).Draw(t, "lock") == 0 {
						rows := rapid.IntRange(1, 2).Draw(t, "rows")
						p = Phase{Lock: "accounts", Rows: &rows}
					}
					if rapid.Bool().Draw(t, "chance") {
						p.Chance = ptr(dist.Probability(0.5))
					}
					return p
				}), 1, 3).Draw(t, "phases")}
				u.queries++
				do(func() {
					u.ask(opQuery, s, func(r sim.Reply) Op { return u.srv.Query(s, u.srv.Compile(&q), u.queries, r) })
				})
			},
			"transaction": func(t *rapid.T) {
				s := session(t, true)
				q := rapid.SampledFrom([]*Query{Begin, Begin, Commit}).Draw(t, "statement")
				u.queries++
				do(func() { u.ask(opQuery, s, func(r sim.Reply) Op { return u.srv.Query(s, q, u.queries, r) }) })
			},
			"rollback": func(t *rapid.T) {
				s := session(t, true)
				do(func() { u.srv.Rollback(s) })
			},
			"cancel": func(t *rapid.T) {
				var all []int32
				for k, a := range u.pending {
					if a.kind == opQuery {
						all = append(all, k)
					}
				}
				if len(all) == 0 {
					t.Skip("no query")
				}
				slices.Sort(all)
				op := u.pending[rapid.SampledFrom(all).Draw(t, "pending")].op
				do(func() { u.srv.CancelQuery(op) })
			},
			"close": func(t *rapid.T) {
				s := session(t, false)
				hard := rapid.Bool().Draw(t, "hard")
				u.forget(s)
				do(func() {
					if hard {
						u.ask(opCloseHard, s, func(r sim.Reply) Op { return u.srv.CloseHard(s, r) })
					} else {
						u.ask(opClose, s, func(r sim.Reply) Op { return u.srv.Close(s, r) })
					}
				})
			},
			"drop": func(t *rapid.T) {
				s := session(t, false)
				how := rapid.SampledFrom([]record.Outcome{record.Dropped, record.ClosedHard}).Draw(t, "how")
				u.forget(s)
				do(func() { u.srv.Drop(s, how) })
			},
			"abort": func(t *rapid.T) {
				if len(u.pending) == 0 {
					t.Skip("nothing pending")
				}
				var all []int32
				for k := range u.pending {
					all = append(all, k)
				}
				slices.Sort(all)
				k := rapid.SampledFrom(all).Draw(t, "pending")
				a := u.pending[k]
				do(func() {
					delete(u.pending, k)
					u.srv.Abort(a.op)
				})
			},
			"settle": func(t *rapid.T) {
				var due []int32
				for k, a := range u.pending {
					if u.srv.Due(a.op) == u.sim.Now() {
						due = append(due, k)
					}
				}
				if len(due) == 0 {
					t.Skip("nothing due")
				}
				slices.Sort(due)
				k := rapid.SampledFrom(due).Draw(t, "pending")
				do(func() { u.srv.Settle(u.pending[k].op) })
			},
			"kill": func(t *rapid.T) {
				if *u.srv.numbers == 0 {
					t.Skip("no session yet")
				}
				n := rapid.Int32Range(1, *u.srv.numbers).Draw(t, "number")
				do(func() { u.srv.Kill(n) })
			},
			"wait": func(t *rapid.T) {
				u.sim.Run(u.sim.Now().Add(time.Duration(rapid.IntRange(1, 12).Draw(t, "time"))))
			},
		})
		u.sim.Run(sim.Forever)
		for _, a := range u.pending { // what the end of time leaves unanswered was stalled, or waits for a lock that is kept
			if st := u.srv.ops[a.op].stage; st != stuck && st != locking {
				t.Fatalf("a %v was never answered: %+v", a.kind, u.srv.ops[a.op])
			}
			if deadlockTimeout > 0 && inCircle(u.srv, a.op) {
				t.Fatalf("a query waits in a circle for ever: %+v", u.srv.ops[a.op])
			}
		}
		for conn, facts := range u.facts {
			if err := consistent(facts); err != nil {
				t.Fatalf("connection %d: %v", conn, err)
			}
		}
	})
}

// consistent checks the order of the facts of one connection.
func consistent(facts []record.Fact) error {
	opened, ended, discarded := false, false, false
	queries := 0 // begun, or queued before that, and not ended
	waits := 0
	pings := 0
	for _, f := range facts {
		switch f.Kind {
		case record.ConnectEnded:
			if opened {
				return fmt.Errorf("opened twice")
			}
			opened = true
		case record.SessionEnded:
			if !opened || ended {
				return fmt.Errorf("ended %v at %v, opened %v, ended before %v", f.Outcome, f.At, opened, ended)
			}
			ended = true
		case record.SessionDiscarded:
			if !ended || discarded {
				return fmt.Errorf("discarded at %v, ended %v, discarded before %v", f.At, ended, discarded)
			}
			discarded = true
		case record.PingBegan:
			pings++
		case record.PingEnded:
			if pings--; pings < 0 {
				return fmt.Errorf("a ping ended at %v that had not begun", f.At)
			}
		case record.QueryQueued:
			waits++
		case record.QueryBegan:
			if waits > 0 {
				waits--
			}
			queries++
		case record.QueryEnded:
			if f.Outcome == record.OK && queries == 0 && f.Took > 0 {
				// A query none of whose phases took place ends without having begun, after the round trip alone.
				continue
			}
			queries, waits = 0, 0
		}
	}
	return nil
}

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		flag.Set("rapid.checks", "2000") // cheap here
	}
	os.Exit(m.Run())
}
