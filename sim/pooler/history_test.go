package pooler

import (
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// user is a caller of the random histories: it remembers what it asked for and checks what it is told.
type user struct {
	t       *rapid.T
	sim     *sim.Sim
	id      sim.ActorID
	srv     *server.Server
	pooler  *Pooler
	act     func()         // what to do in the event under way
	pending map[int32]*ask // by the A of its reply
	next    int32
	mine    []server.Session
	queries int64

	waiting map[int16][]int32 // clients in the queue of a role, by the facts; 0 for one that waits in its connect
	open    int               // sessions of the server, by the facts
	links   [record.NumStates]int
}

const (
	acting sim.Kind = iota
	told
)

type ask struct {
	kind    opKind
	op      server.Op
	session server.Session
	given   bool // up: nothing is to be heard of it
}

func (u *user) Note(f record.Fact) {
	if f.At != u.sim.Now() {
		u.t.Fatalf("a fact of %v noted at %v", f.At, u.sim.Now())
	}
	switch f.Kind {
	case record.ConnectEnded:
		if f.Outcome == record.OK {
			u.open++
		}
		if f.Pool != -1 {
			u.t.Fatalf("a connect of pool %d to the server", f.Pool)
		}
	case record.SessionEnded:
		u.open--
	case record.PoolerWaitBegan:
		u.waiting[f.Pool] = append(u.waiting[f.Pool], f.Conn)
	case record.PoolerWaitEnded:
		q := u.waiting[f.Pool]
		i := slices.Index(q, f.Conn)
		switch {
		case i < 0:
			u.t.Fatalf("client %d ends a wait that it did not begin", f.Conn)
		case i > 0 && f.Outcome != record.Cancelled:
			u.t.Fatalf("client %d leaves the queue with %v before %v", f.Conn, f.Outcome, q[:i])
		case f.Outcome == record.QueueTimeout && f.Took != *u.pooler.o.QueryWaitTimeout:
			u.t.Fatalf("client %d was cut off after %v", f.Conn, f.Took)
		}
		u.waiting[f.Pool] = slices.Delete(q, i, i+1)
	case record.PoolerMoved:
		u.links[f.Move.From()]--
		u.links[f.Move.To()]++
	}
}

func (u *user) Handle(ev sim.Event) {
	if ev.Kind == acting {
		u.act()
		return
	}
	a, ok := u.pending[ev.A]
	if !ok || a.given {
		u.t.Fatalf("an answer %v that nobody waits for", server.OutcomeOf(ev.B))
	}
	delete(u.pending, ev.A)
	out := server.OutcomeOf(ev.B)
	switch a.kind {
	case opConnect:
		if out == record.OK {
			u.mine = append(u.mine, server.Session(ev.B))
		}
	case opClose, opCloseHard:
		if out != record.OK {
			u.t.Fatalf("a close ended with %v", out)
		}
	default:
		if u.pooler.Alive(a.session) != (out == record.OK || out == record.QueryCancelled) {
			u.t.Fatalf("a %v ended with %v, and its session is alive: %v", a.kind, out, u.pooler.Alive(a.session))
		}
	}
}

// ask begins an operation and waits for its answer.
func (u *user) ask(kind opKind, s server.Session, begin func(r sim.Reply) server.Op) {
	u.next++
	a := &ask{kind: kind, session: s}
	u.pending[u.next] = a
	a.op = begin(sim.Reply{To: u.id, Kind: told, A: u.next})
}

// forget drops what is pending on a session that is no more.
func (u *user) forget(s server.Session) {
	for k, a := range u.pending {
		if a.session == s && a.kind != opConnect {
			delete(u.pending, k)
		}
	}
	u.mine = slices.DeleteFunc(u.mine, func(m server.Session) bool { return m == s })
}

// some returns a key of pending that passes the test.
func (u *user) some(t *rapid.T, test func(a *ask) bool) int32 {
	var all []int32
	for k, a := range u.pending {
		if !a.given && test(a) {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		t.Skip("nothing pending")
	}
	slices.Sort(all)
	return rapid.SampledFrom(all).Draw(t, "pending")
}

// someOptions draws a pooler.
func someOptions(t *rapid.T) Options {
	few := func(name string) dist.Distribution {
		return dist.Fixed(time.Duration(rapid.IntRange(0, 4).Draw(t, name)))
	}
	limit := func(name string, most int) *time.Duration {
		d := time.Duration(rapid.IntRange(0, most).Draw(t, name))
		if d == 0 {
			return nil
		}
		return &d
	}
	o := Options{
		Mode:                 Mode(rapid.IntRange(0, 2).Draw(t, "mode")),
		MaxClientConnections: rapid.IntRange(1, 9).Draw(t, "clients"),
		DefaultPoolSize:      rapid.IntRange(1, 3).Draw(t, "size"),
		ReservePoolSize:      rapid.IntRange(0, 1).Draw(t, "reserve"),
		ReservePoolTimeout:   time.Duration(rapid.IntRange(1, 9).Draw(t, "reserve_timeout")),
		ServerIdleTimeout:    limit("idle", 40),
		ServerLifetime:       limit("lifetime", 60),
		ServerCheckDelay:     limit("check", 15),
		ServerResetQuery:     rapid.Bool().Draw(t, "reset"),
		ServerConnectTimeout: limit("connect_timeout", 9),
		ServerLoginRetry:     time.Duration(rapid.IntRange(1, 15).Draw(t, "retry")),
		ConnectsAtOnce:       rapid.IntRange(1, 3).Draw(t, "at_once"),
		ConnectEvery:         time.Duration(rapid.SampledFrom([]int{0, 0, 7}).Draw(t, "every")),
		ClientConnect:        few("client_connect"),
		ClientLogin:          few("client_login"),
		ClientClose:          few("client_close"),
		RoundTrip:            few("round_trip"),
	}
	o.MinPoolSize = rapid.IntRange(0, o.DefaultPoolSize).Draw(t, "min")
	wait := time.Duration(rapid.IntRange(1, 60).Draw(t, "wait")) // else histories could end with somebody who waits for ever
	o.QueryWaitTimeout = &wait
	if o.ServerConnectTimeout == nil { // else with somebody who opens for ever
		d := 10 * time.Nanosecond
		o.ServerConnectTimeout = &d
	}
	o.Validate(func(path, message string) { t.Fatalf("%s: %s", path, message) })
	return o
}

// someServer draws a server with faults, which end.
func someServer(t *rapid.T) server.Options {
	few := func(name string) dist.Distribution {
		return dist.Fixed(time.Duration(rapid.IntRange(0, 5).Draw(t, name)))
	}
	o := server.Options{
		Cores:            rapid.IntRange(0, 2).Draw(t, "cores"),
		ConnectionLimit:  rapid.SampledFrom([]int{0, 0, 2, 4}).Draw(t, "limit"),
		Roles:            []server.Role{{Name: "app", Limit: rapid.IntRange(0, 2).Draw(t, "role_limit")}},
		Connect:          few("connect"),
		LoginCPU:         few("login_cpu"),
		Close:            few("close"),
		Ping:             few("ping"),
		RoundTrip:        few("server_round_trip"),
		StatementTimeout: time.Duration(rapid.SampledFrom([]int{0, 0, 9}).Draw(t, "statement_timeout")),
	}
	for range rapid.IntRange(0, 3).Draw(t, "faults") {
		f := server.Fault{At: time.Duration(rapid.IntRange(0, 80).Draw(t, "at"))}
		lasts := time.Duration(rapid.IntRange(1, 40).Draw(t, "for"))
		switch rapid.IntRange(0, 8).Draw(t, "fault") {
		case 0:
			f.Refuse, f.For = true, lasts
		case 1:
			f.Stall, f.For = true, lasts
		case 2:
			f.StartingUp, f.For = true, lasts
		case 3:
			f.Partition, f.For = true, lasts
		case 4:
			f.DropIdle, f.For = &server.DropIdle{After: 5, Hang: time.Duration(rapid.IntRange(0, 1).Draw(t, "hang") * 20)}, lasts
		case 5:
			f.Restart, f.For = true, lasts
		case 6:
			f.Terminate = 2
		case 7:
			f.Kill = rapid.IntRange(1, 6).Draw(t, "kill")
		case 8:
			f.Failover = &server.Failover{Hang: time.Duration(rapid.IntRange(0, 1).Draw(t, "hang") * 20)}
		}
		o.Faults = append(o.Faults, f)
	}
	o.Validate(func(path, message string) { t.Fatalf("%s: %s", path, message) })
	return o
}

// TestRandomHistories: whatever is asked of the pooler, and whatever happens to the server, every operation is answered once, who
// waits is served in order, limits hold, nobody waits while a server connection is idle or may be opened (Verify), and when all
// clients have gone and time has passed, the server has no session left.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := &user{t: t, sim: new(sim.Sim), pending: map[int32]*ask{}, waiting: map[int16][]int32{}}
		u.id = u.sim.Add(u)
		u.srv = server.New(u.sim, u, 1, someServer(t))
		u.pooler = New(u.sim, u, 1, u.srv, someOptions(t))
		u.sim.Check = func() {
			u.pooler.Verify()
			st := u.pooler.Stats()
			if st.Opening != u.links[record.Opening] || st.Idle != u.links[record.Idle] || st.InUse != u.links[record.InUse] {
				t.Fatalf("%+v, by the facts %v", st, u.links)
			}
			if at := u.srv.Stats(); at.Open != u.open {
				t.Fatalf("%d sessions at the server, by the facts %d", at.Open, u.open)
			}
			waiting := 0
			for _, q := range u.waiting {
				waiting += len(q)
			}
			if st.Waiting != waiting {
				t.Fatalf("%d wait, by the facts %d", st.Waiting, waiting)
			}
		}
		do := func(act func()) {
			u.act = act
			u.sim.Soon(sim.Event{To: u.id, Kind: acting})
			u.sim.Run(u.sim.Now())
		}
		session := func(t *rapid.T, free bool) server.Session {
			var can []server.Session
			for _, s := range u.mine {
				if !free || u.pooler.clients[s].op == server.NoOp {
					can = append(can, s)
				}
			}
			if len(can) == 0 {
				t.Skip("no session")
			}
			return rapid.SampledFrom(can).Draw(t, "session")
		}
		end := func(s server.Session, how int) {
			u.forget(s)
			do(func() {
				switch how {
				case 0:
					u.ask(opClose, s, func(r sim.Reply) server.Op { return u.pooler.Close(s, r) })
				case 1:
					u.ask(opCloseHard, s, func(r sim.Reply) server.Op { return u.pooler.CloseHard(s, r) })
				case 2:
					u.pooler.Drop(s, record.Dropped)
				case 3:
					u.pooler.Drop(s, record.ClosedHard)
				}
			})
		}
		query := func(t *rapid.T) {
			s := session(t, true)
			q := server.QuerySpec{Service: dist.Fixed(time.Duration(rapid.IntRange(0, 12).Draw(t, "service")))}
			u.queries++
			do(func() {
				u.ask(opQuery, s, func(r sim.Reply) server.Op { return u.pooler.Query(s, u.srv.Compile(&q), u.queries, r) })
			})
		}
		connect := func(t *rapid.T) {
			role := int16(rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "role"))
			c := server.Caller{Pool: role, Role: role} // so that facts tell the role
			do(func() {
				u.ask(opConnect, server.NoSession, func(r sim.Reply) server.Op { return u.pooler.Connect(c, r) })
			})
		}
		t.Repeat(map[string]func(*rapid.T){
			"connect":       connect,
			"connect again": connect,
			"query":         query,
			"query again":   query,
			"query more":    query,
			"transaction": func(t *rapid.T) {
				s := session(t, true)
				q := rapid.SampledFrom([]*server.Query{server.Begin, server.Commit}).Draw(t, "statement")
				u.queries++
				do(func() { u.ask(opQuery, s, func(r sim.Reply) server.Op { return u.pooler.Query(s, q, u.queries, r) }) })
			},
			"rollback": func(t *rapid.T) {
				s := session(t, true)
				do(func() { u.pooler.Rollback(s) })
			},
			"cancel": func(t *rapid.T) {
				op := u.pending[u.some(t, func(a *ask) bool { return a.kind == opQuery })].op
				do(func() { u.pooler.CancelQuery(op) })
			},
			"ping": func(t *rapid.T) {
				s := session(t, true)
				do(func() { u.ask(opPing, s, func(r sim.Reply) server.Op { return u.pooler.Ping(s, r) }) })
			},
			"end": func(t *rapid.T) { end(session(t, false), rapid.IntRange(0, 3).Draw(t, "how")) },
			"abort": func(t *rapid.T) {
				k := u.some(t, func(*ask) bool { return true })
				a := u.pending[k]
				do(func() {
					u.pooler.Abort(a.op)
					if a.kind == opQuery || a.kind == opPing {
						a.given = true // it ends by itself
					} else {
						delete(u.pending, k)
					}
				})
			},
			"settle": func(t *rapid.T) {
				k := u.some(t, func(a *ask) bool { return u.pooler.Due(a.op) == u.sim.Now() })
				settled := false
				do(func() { settled = u.pooler.Settle(u.pending[k].op) })
				if _, waits := u.pending[k]; settled && waits {
					t.Fatalf("it was settled, but no answer came")
				}
			},
			"due": func(t *rapid.T) { // an operation whose end is known ends then, or later by what comes between
				k := u.some(t, func(a *ask) bool { return u.pooler.Due(a.op) < sim.Forever })
				due := u.pooler.Due(u.pending[k].op)
				if due < u.sim.Now() {
					t.Fatalf("operation %d was due at %v, and it is %v", u.pending[k].op, due, u.sim.Now())
				}
			},
			"wait": func(t *rapid.T) {
				u.sim.Run(u.sim.Now().Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "time"))))
			},
			"wait long": func(t *rapid.T) {
				u.sim.Run(u.sim.Now().Add(time.Duration(rapid.IntRange(20, 100).Draw(t, "time"))))
			},
		})
		u.sim.Run(u.sim.Now().Add(1000))
		for _, a := range u.pending {
			if !a.given {
				t.Fatalf("a %v was never answered: %+v", a.kind, u.pooler.ops[a.op])
			}
		}
		for len(u.mine) > 0 {
			end(u.mine[0], 0)
		}
		u.sim.Run(u.sim.Now().Add(1000))
		st := u.pooler.Stats()
		if st.Clients != 0 || st.Waiting != 0 || st.InUse != 0 || st.Opening != 0 || st.Testing != 0 {
			t.Fatalf("all have gone, and %+v", st)
		}
		if o := u.pooler.o; o.ServerIdleTimeout != nil && o.MinPoolSize == 0 && (st.Servers != 0 || u.open != 0) {
			t.Fatalf("%d server connections and %d sessions are left: %+v", st.Servers, u.open, st)
		}
	})
}

// shift is a query of the comparison with the reference.
type shift struct{ at, service int64 }

// TestIsAQueueWithSeveralServers: the clients of a pooler of n server connections that open at once are served as those of a queue
// with n servers, first come first served: each begins when it comes or, if that is later, when the first of them is free
// (Kiefer and Wolfowitz 1955).
func TestIsAQueueWithSeveralServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "servers")
		jobs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) shift {
			return shift{rapid.Int64Range(1, 100).Draw(t, "at"), rapid.Int64Range(1, 30).Draw(t, "service")}
		}), 1, 25).Draw(t, "jobs")
		slices.SortStableFunc(jobs, func(a, b shift) int { return int(a.at - b.at) })
		free, want := make([]int64, n), make([]int64, len(jobs))
		for i, j := range jobs {
			first := slices.Index(free, slices.Min(free))
			free[first] = max(j.at, free[first]) + j.service
			want[i] = free[first]
		}

		o := DefaultOptions()
		o.Mode, o.DefaultPoolSize, o.ConnectsAtOnce = TransactionMode, n, n
		w := newCrowd(server.Options{}, o, len(jobs), nil)
		got := make([]int64, len(jobs))
		w.then = func(i int32) { got[i] = int64(w.sim.Now()) }
		w.sim.Check = w.pooler.Verify
		for i, j := range jobs {
			w.query(sim.Time(j.at), int32(i), time.Duration(j.service))
		}
		w.sim.Run(sim.Time(10_000))
		if !slices.Equal(got, want) {
			t.Fatalf("ends %v, the reference has %v", got, want)
		}
	})
}

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		flag.Set("rapid.checks", "1000") // cheap here
	}
	os.Exit(m.Run())
}
