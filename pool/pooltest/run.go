package pooltest

import (
	"fmt"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Model is the adapter of one pool model for golden cases: what is its own in them. All else is the same for all models.
type Model struct {
	// Build decodes what the model has to say about the options of server and pools, and makes them: w.Server and the pools, by
	// Add, not yet started. Keys that it does not know are errors.
	Build func(w *World, c *Case) error
	// Waits reports whether the program waits for the start of the pool, so that its end is part of the case.
	Waits func(p pool.Pool) bool
	// Outcomes names the ends of an acquire; any other is "error".
	Outcomes map[record.Outcome]string
	// Timeouts says that a call may have a timeout of its own.
	Timeouts bool
	// Ops are the operations of clients beside acquire and try_acquire: what client i does when it arrives.
	Ops map[string]func(w *World, i int)
	// Ends are the ways in which clients end a loan.
	Ends map[string]pool.End
	// Returned notes that the call that gave back has returned, if that is part of the case. It may be nil.
	Returned func(o *Outcome, then string, at Ms)
	// Actions are those beside close and kill.
	Actions map[string]Act
	// Sample reads what the pools report.
	Sample func(w *World) Sample
	// Counts are the counts of the server that every case has, Sometimes those that a case has if they are not 0.
	Counts, Sometimes []string
}

// Act is a kind of action.
type Act struct {
	Takes   string // the value that it takes: conn, n, ms or none
	Returns bool   // when it returns is part of the case, and Do is given a reply for that
	Do      func(w *World, p pool.Pool, a Action, r sim.Reply)
}

// models are the adapters by name.
var models = map[string]Model{"sqlx": sqlxModel}

// actions are those of all models.
var actions = map[string]Act{
	"close": {Returns: true, Do: func(_ *World, p pool.Pool, _ Action, r sim.Reply) { p.Close(r) }},
	"kill":  {Takes: "conn", Do: func(w *World, _ pool.Pool, a Action, _ sim.Reply) { w.Server.Kill(*a.Conn) }},
}

// World is one run of a case: the tasks of its clients, its actions and its samples, around the model.
type World struct {
	Sim    *sim.Sim
	Server *server.Server
	Got    Expect

	pools   map[string]pool.Pool // by name; that of the case is ""
	order   []pool.Pool          // in which they are made and started
	ready   []func()             // done when the first is ready, before the others start
	model   Model
	c       *Case
	id      sim.ActorID
	clients []client
	actions []Action
	done    []*Done        // of each action that returns
	held    map[int32]bool // connections that a client has had
	began   map[int32]Ms   // when the close of a connection began
}

// client is a scripted client: the task that the real one runs in.
type client struct {
	Client
	pool    pool.Pool
	ticket  pool.Ticket
	conn    pool.Conn
	session server.Session
	cancel  sim.Timer
	got     *Outcome // nil until its operation has ended
}

// The events of a world. A is the index of a client, an action or a sample.
const (
	poolStarts sim.Kind = iota
	poolStarted
	clientStarts
	clientArrives
	clientGot     // B is the answer of the acquire
	clientGivesUp // its cancel timer has fired
	clientHeld
	clientReturned
	clientKept // what it took out of the pool it has kept long enough
	actionStarts
	actionDue
	actionDone
	samplerStarts
	sampleDue
)

// Run runs a case and returns what the model did. The error says what in the case cannot be understood. check, if not nil,
// is called after every event.
func Run(c *Case, check func(p pool.Pool)) (*Expect, error) {
	w := &World{Sim: &sim.Sim{}, pools: map[string]pool.Pool{}, model: c.model, c: c, held: map[int32]bool{}, began: map[int32]Ms{}}
	w.Got.Clients = map[string]*Outcome{}
	w.Got.Server.Counts = map[string]Ms{}
	w.id = w.Sim.Add(w)
	if err := c.model.Build(w, c); err != nil {
		return nil, err
	}
	if err := w.decode(); err != nil {
		return nil, err
	}
	if check != nil {
		w.Sim.Check = func() {
			for _, p := range w.order {
				check(p)
			}
		}
	}
	w.Sim.Soon(sim.Event{To: w.id, Kind: poolStarts})
	w.Sim.Run(c.Until.Time() - 1) // a recording ends ahead of all else at its end
	w.finish()
	return &w.Got, nil
}

// Add adds a pool under the name by which clients call it; that of the case has none and comes first.
func (w *World) Add(name string, p pool.Pool) {
	w.pools[name] = p
	w.order = append(w.order, p)
}

// WhenReady lets f be done when the pool of the case is ready, before any other starts.
func (w *World) WhenReady(f func()) { w.ready = append(w.ready, f) }

// decode reads clients and actions, and looks for what means nothing.
func (w *World) decode() error {
	for i, text := range w.c.Clients {
		cl := client{ticket: pool.NoTicket, conn: pool.NoConn, session: server.NoSession}
		if err := Strict(text, &cl.Client); err != nil {
			return fmt.Errorf("clients[%d]: %w", i, err)
		}
		cl.pool = w.pools[cl.Pool]
		_, ends := w.model.Ends[cl.Then]
		_, known := w.model.Ops[cl.Op]
		switch {
		case cl.pool == nil:
			return fmt.Errorf("clients[%d]: there is no pool %q", i, cl.Pool)
		case !ends:
			return fmt.Errorf("clients[%d]: unknown then %q", i, cl.Then)
		case !known && cl.Op != "acquire" && cl.Op != "try_acquire":
			return fmt.Errorf("clients[%d]: unknown op %q", i, cl.Op)
		case cl.Timeout != nil && !w.model.Timeouts:
			return fmt.Errorf("clients[%d]: timeout: an acquire of this pool has none of its own", i)
		}
		w.clients = append(w.clients, cl)
	}
	for i, text := range w.c.Actions {
		var a Action
		if err := Strict(text, &a); err != nil {
			return fmt.Errorf("actions[%d]: %w", i, err)
		}
		act, ok := w.act(a.Do)
		switch {
		case !ok:
			return fmt.Errorf("actions[%d]: unknown action %q", i, a.Do)
		case w.pools[a.Pool] == nil:
			return fmt.Errorf("actions[%d]: there is no pool %q", i, a.Pool)
		case a.takes() != act.Takes:
			return fmt.Errorf("actions[%d]: %s takes %q, have %q", i, a.Do, act.Takes, a.takes())
		}
		w.actions = append(w.actions, a)
	}
	w.done = make([]*Done, len(w.actions))
	return nil
}

func (w *World) act(name string) (Act, bool) {
	if a, ok := w.model.Actions[name]; ok {
		return a, true
	}
	a, ok := actions[name]
	return a, ok
}

// finish completes what happened with what never did.
func (w *World) finish() {
	for _, d := range w.done {
		if d != nil {
			w.Got.Actions = append(w.Got.Actions, *d)
		}
	}
	counts := map[string]Ms{}
	for _, name := range w.model.Counts {
		counts[name] = w.Got.Server.Counts[name]
	}
	for _, name := range w.model.Sometimes {
		if n := w.Got.Server.Counts[name]; n > 0 {
			counts[name] = n
		}
	}
	w.Got.Server.Counts = counts
}

// Handle implements sim.Actor.
func (w *World) Handle(ev sim.Event) {
	i := int(ev.A)
	switch ev.Kind {
	case poolStarts:
		w.order[0].Start(sim.Reply{To: w.id, Kind: poolStarted})
	case poolStarted:
		w.started(server.OutcomeOf(ev.B))
	case clientStarts:
		w.at(w.clients[i].At, clientArrives, i)
	case clientArrives:
		w.arrive(i)
	case clientGot:
		w.got(i, ev.B)
	case clientGivesUp:
		w.giveUp(i, false)
	case clientHeld:
		w.giveBack(i)
	case clientReturned:
		if w.model.Returned != nil {
			w.model.Returned(w.clients[i].got, w.clients[i].Then, w.now())
		}
	case clientKept:
		w.Server.Close(w.clients[i].session, sim.Reply{To: sim.Nobody})
	case actionStarts:
		w.at(w.actions[i].At, actionDue, i)
	case actionDue:
		w.do(i)
	case actionDone:
		at := w.now()
		w.done[i].DoneAt = &at
	case samplerStarts:
		w.sampleNext(0)
	case sampleDue:
		s := w.model.Sample(w)
		s.At = w.c.SampleAt[i]
		w.Got.Samples = append(w.Got.Samples, s)
		w.sampleNext(i + 1)
	}
}

// sampleNext waits for the time of sample i, if there is one.
func (w *World) sampleNext(i int) {
	if i < len(w.c.SampleAt) {
		w.at(w.c.SampleAt[i], sampleDue, i)
	}
}

func (w *World) now() Ms { return Ms(w.Sim.Now()) }

// at lets an event come at a time, or at once in the same poll if that is not later than now, as a sleep does.
func (w *World) at(at Ms, kind sim.Kind, i int) sim.Timer {
	ev := sim.Event{To: w.id, Kind: kind, A: int32(i)}
	if at <= w.now() {
		w.Sim.Continue(ev)
		return sim.Timer{}
	}
	return w.Sim.ArmAt(at.Time(), ev)
}

// started: the pool of the case is ready. The other pools and all tasks start now, in the order of the file.
func (w *World) started(o record.Outcome) {
	if w.model.Waits(w.order[0]) {
		w.Got.Start = &Start{At: w.now(), Outcome: w.outcome(o)}
	}
	if o != record.OK {
		return
	}
	for _, ready := range w.ready {
		ready()
	}
	for _, p := range w.order[1:] {
		p.Start(sim.Reply{To: sim.Nobody})
	}
	for i := range w.clients {
		w.Sim.Soon(sim.Event{To: w.id, Kind: clientStarts, A: int32(i)})
	}
	for i := range w.actions {
		w.Sim.Soon(sim.Event{To: w.id, Kind: actionStarts, A: int32(i)})
	}
	w.Sim.Soon(sim.Event{To: w.id, Kind: samplerStarts})
}

func (w *World) outcome(o record.Outcome) string {
	if name, ok := w.model.Outcomes[o]; ok {
		return name
	}
	return "error"
}

func (w *World) arrive(i int) {
	cl := &w.clients[i]
	if op, ok := w.model.Ops[cl.Op]; ok {
		op(w, i)
		return
	}
	r := pool.Request{Reply: sim.Reply{To: w.id, Kind: clientGot, A: int32(i)}, Number: int64(i), Try: cl.Op == "try_acquire"}
	if cl.Timeout != nil {
		r.Timeout = time.Duration(*cl.Timeout)
	}
	cl.ticket = cl.pool.Acquire(r)
	switch {
	case cl.CancelAt == nil || cl.ticket == pool.NoTicket:
	case *cl.CancelAt <= w.now():
		w.giveUp(i, true)
	default:
		cl.cancel = w.at(*cl.CancelAt, clientGivesUp, i)
	}
}

// taskCancel is what a pool can do that runs in its callers' tasks: a caller whose cancel timer fires looks at the acquire
// first, in a poll of its own or in the one under way.
type taskCancel interface {
	PollThenCancel(pool.Ticket)
	CancelAfterPoll(pool.Ticket)
}

// giveUp: the client's cancel timer has fired, in the poll that began the acquire or later.
func (w *World) giveUp(i int, polled bool) {
	cl := &w.clients[i]
	p, ok := cl.pool.(taskCancel)
	switch {
	case cl.got != nil:
	case !ok:
		cl.pool.Cancel(cl.ticket)
	case polled:
		p.CancelAfterPoll(cl.ticket)
	default:
		p.PollThenCancel(cl.ticket)
	}
}

func (w *World) got(i int, b int32) {
	cl := &w.clients[i]
	w.Sim.Cancel(cl.cancel)
	o := server.OutcomeOf(b)
	cl.got = &Outcome{Outcome: w.outcome(o), At: w.now()}
	w.Got.Clients[cl.ID] = cl.got
	if o != record.OK {
		return
	}
	cl.conn = pool.Conn(b)
	cl.session = cl.pool.Session(cl.conn)
	cl.got.Conn = w.Server.Number(cl.session)
	fresh := !w.held[cl.got.Conn]
	w.held[cl.got.Conn] = true
	cl.got.Fresh = &fresh
	w.at(w.now()+cl.Hold, clientHeld, i)
}

func (w *World) giveBack(i int) {
	cl := &w.clients[i]
	at := w.now()
	cl.got.ReleasedAt = &at
	cl.pool.Return(cl.conn, w.model.Ends[cl.Then], sim.Reply{To: w.id, Kind: clientReturned, A: int32(i)})
	if cl.Keep != nil {
		w.at(w.now()+*cl.Keep, clientKept, i)
	}
}

func (w *World) do(i int) {
	a := w.actions[i]
	act, _ := w.act(a.Do)
	r := sim.Reply{To: sim.Nobody}
	if act.Returns {
		r = sim.Reply{To: w.id, Kind: actionDone, A: int32(i)}
		w.done[i] = &Done{At: a.At, Do: a.Do, Pool: a.Pool}
	}
	act.Do(w, w.pools[a.Pool], a, r)
}

// Note implements record.Sink: it writes down the server's view, and the runs of hooks, in exact order.
func (w *World) Note(f record.Fact) {
	at := Ms(f.At)
	t := &w.Got.Server
	log := func(what string) { w.Got.Log = append(w.Got.Log, Entry{At: at, What: what, Conn: f.Conn}) }
	count := func(name string) { t.Counts[name] += Count(1) }
	switch f.Kind {
	case record.ConnectBegan:
		log("connect")
	case record.ConnectEnded:
		switch f.Outcome {
		case record.OK:
			log("opened")
			t.Opened = append(t.Opened, Opened{Conn: f.Conn, Started: at - Ms(f.Took), At: at})
		case record.ConnectRefused:
			log("refused")
			count("refused")
			t.RefusedAt = append(t.RefusedAt, at)
		case record.TransientError, record.TooManyConnections, record.CannotConnectNow:
			log("rejected")
			count("rejected")
		default:
			log("connect_error")
			count("errors")
		}
	case record.ConnectGaveUp:
		log("connect_abandoned")
		count("aborted")
	case record.PingBegan:
		log("ping")
		count("pings")
	case record.PingEnded:
		if f.Outcome == record.OK {
			log("ping_ok")
		} else {
			log("ping_failed")
		}
	case record.HookBegan:
		switch f.Move.From() {
		case record.Opening:
			log("after_connect")
		case record.Checking:
			log("before_acquire")
		default:
			log("after_release")
		}
	case record.CloseBegan:
		w.began[f.Conn] = at
		if f.Outcome == record.ClosedHard {
			log("closing_hard")
		} else {
			log("closing")
		}
	case record.SessionEnded:
		log(f.Outcome.String())
		c := Closed{Conn: f.Conn, At: at, How: f.Outcome.String()}
		if began, ok := w.began[f.Conn]; ok && began < at && f.Outcome != record.Killed {
			c.Began = &began
		}
		t.Closed = append(t.Closed, c)
	case record.SessionDiscarded: // its end was noted before
		log(f.Outcome.String())
	}
}
