package pooltest

import (
	"time"

	"pgregory.net/rapid"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
	"poolwise/sim/simtest"
)

// Subject is what History plays with.
type Subject struct {
	// New makes the pools, one or a family, not yet started, with options drawn from t. It returns how many connections the first
	// lends at once to those who ask when it is at rest: 0 if its options do not promise that.
	New func(t *rapid.T, env pool.Env) (pools []pool.Pool, lends int)
	// Ends are the ways in which loans end.
	Ends []pool.End
	// Endless says that the model waits for ever for a connect that never ends: there are none then.
	Endless bool
	// Rest is the time after which the pool has come to rest if nobody does anything: longer than every timeout of its own.
	Rest time.Duration
}

// History plays one random history: acquires, tries, cancels, returns in all ways, sessions killed, a server that refuses,
// stalls and fails, the pool closed. Times are few, so that much comes together, and what is due at one instant runs in
// random order. The pool verifies itself after every event. Every acquire must be answered once, and no connection be lent
// twice. In the end, when the server is well and all loans are back, the pool must be able to lend all that it has not lost at
// once, and account for every session that is open.
func History(t *rapid.T, s Subject) {
	h := newCrowd(t, s)
	step := func(do deed) func(*rapid.T) {
		return func(t *rapid.T) {
			h.plan(chore{do: do, which: rapid.IntRange(0, 20).Draw(t, "which"), how: rapid.SampledFrom(s.Ends).Draw(t, "how")})
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"acquire": step(acquire),
		"try":     step(try),
		"hurry":   step(hurry),
		"cancel":  step(cancel),
		"return":  step(giveBack),
		"kill":    step(kill),
		"close":   h.rarely(closePool),
		"drop":    h.rarely(dropPool),
		"pass":    func(t *rapid.T) { h.sim.Run(h.sim.Now().Add(rapid.SampledFrom(spans).Draw(t, "time"))) },
	})
	h.takeStock()
}

// spans are the times of a history: few, and sums of each other.
var spans = []time.Duration{
	0, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
}

// faults are how long the server's faults last.
var faults = []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond}

const (
	recovered = 300 * time.Millisecond // when all faults of the server are over
	calm      = 20 * time.Second       // longer than anything takes then
)

// deed is something that somebody does.
type deed uint8

const (
	acquire deed = iota
	try
	hurry // an acquire with a timeout of its own
	cancel
	giveBack
	kill
	closePool
	dropPool // the program lets go of a pool that is not closed, if the model knows that
)

// chore is a deed with the luck that decides the details.
type chore struct {
	do    deed
	which int
	how   pool.End
}

// crowd is everybody who uses the pool of a history.
type crowd struct {
	t      *rapid.T
	sim    *sim.Sim
	id     sim.ActorID
	srv    *server.Server
	pools  []pool.Pool
	lends  int
	rest   time.Duration
	limit  bool // of the server's connections
	chores []chore
	calls  []call

	starting int  // pools that are not ready yet
	closing  int  // calls of Close that have not returned
	closed   bool // or gone: a pool of the family is
	dropped  map[any]bool
	leaked   int
	detached []server.Session
}

// call is one acquire and what became of it.
type call struct {
	pool      pool.Pool
	ticket    pool.Ticket // NoTicket once it is answered
	conn      pool.Conn   // NoConn unless it holds one
	answers   int
	cancelled bool
}

// The events of a crowd.
const (
	crowdStarts sim.Kind = iota
	crowdStarted
	crowdDoes // A is the chore
	crowdGot  // A is the call
	crowdClosed
)

func newCrowd(t *rapid.T, s Subject) *crowd {
	h := &crowd{t: t, sim: &sim.Sim{}, rest: s.Rest, dropped: map[any]bool{}}
	h.sim.SetChooser(simtest.Shuffle(rapid.Uint64().Draw(t, "ties")), 0)
	h.id = h.sim.Add(h)
	span := func(name string) time.Duration { return rapid.SampledFrom(spans).Draw(t, name) }
	o := server.Options{
		Connect: dist.Fixed(span("connect")), Ping: dist.Fixed(span("ping")),
		Close: dist.Fixed(span("close")), CloseHard: dist.Fixed(span("close_hard")),
		RefuseAfter:     span("refuse_after"),
		ConnectionLimit: max(0, rapid.IntRange(-5, 5).Draw(t, "limit")),
	}
	h.limit = o.ConnectionLimit > 0
	for range rapid.IntRange(0, 3).Draw(t, "faults") {
		f := server.Fault{At: span("at"), For: rapid.SampledFrom(faults).Draw(t, "for")}
		kinds := 4
		if s.Endless {
			kinds = 3
		}
		switch rapid.IntRange(0, kinds).Draw(t, "fault") {
		case 0:
			f.Refuse = true
		case 1:
			f.Error = true
		case 2:
			f.TransientError = true
		case 3:
			f.StartingUp = true
		case 4:
			f.Stall = true
		}
		o.Faults = append(o.Faults, f)
	}
	h.srv = server.New(h.sim, nowhere{}, 1, o)
	h.pools, h.lends = s.New(t, pool.Env{Sim: h.sim, Server: h.srv, Sink: nowhere{}, Seed: 1})
	h.sim.Check = func() {
		for _, p := range h.pools {
			p.Verify()
		}
	}
	h.sim.Soon(sim.Event{To: h.id, Kind: crowdStarts})
	h.sim.Run(0)
	return h
}

// nowhere is a sink that keeps nothing.
type nowhere struct{}

func (nowhere) Note(record.Fact) {}

// plan lets a chore be done now, among all else that is due.
func (h *crowd) plan(c chore) {
	h.chores = append(h.chores, c)
	h.sim.Soon(sim.Event{To: h.id, Kind: crowdDoes, A: int32(len(h.chores) - 1)})
}

// rarely plans something after which little can happen.
func (h *crowd) rarely(do deed) func(*rapid.T) {
	return func(t *rapid.T) {
		if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
			h.plan(chore{do: do, which: rapid.IntRange(0, 20).Draw(t, "which")})
		}
	}
}

// Handle implements sim.Actor.
func (h *crowd) Handle(ev sim.Event) {
	switch ev.Kind {
	case crowdStarts:
		for _, p := range h.pools {
			h.starting++
			p.Start(sim.Reply{To: h.id, Kind: crowdStarted})
		}
	case crowdStarted:
		h.starting--
		if server.OutcomeOf(ev.B) != record.OK {
			h.closed = true
		}
	case crowdDoes:
		if h.starting == 0 { // nobody has the pool before
			h.do(h.chores[ev.A])
		}
	case crowdGot:
		h.got(int(ev.A), ev.B)
	case crowdClosed:
		h.closing--
	}
}

func (h *crowd) do(c chore) {
	switch c.do {
	case acquire, try, hurry:
		r := pool.Request{Reply: sim.Reply{To: h.id, Kind: crowdGot, A: int32(len(h.calls))}, Number: int64(len(h.calls)), Try: c.do == try}
		if c.do == hurry {
			r.Timeout = 10 * time.Millisecond
		}
		p := h.pools[c.which%len(h.pools)]
		h.calls = append(h.calls, call{pool: p, ticket: pool.NoTicket, conn: pool.NoConn})
		ticket := p.Acquire(r)
		h.calls[r.Number].ticket = ticket
	case cancel:
		if q := h.pick(c.which, func(q *call) bool { return q.ticket != pool.NoTicket }); q != nil {
			q.cancelled = true
			q.pool.Cancel(q.ticket)
		}
	case giveBack:
		if q := h.pick(c.which, func(q *call) bool { return q.conn != pool.NoConn }); q != nil {
			h.end(q, c.how)
		}
	case kill:
		h.srv.Kill(int32(c.which))
	case closePool:
		h.closed = true
		h.closing++
		h.pools[c.which%len(h.pools)].Close(sim.Reply{To: h.id, Kind: crowdClosed})
	case dropPool:
		if p, ok := h.pools[c.which%len(h.pools)].(interface{ Drop() }); ok && !h.dropped[p] {
			h.closed = true
			h.dropped[p] = true
			p.Drop()
		}
	}
}

// pick returns one of the calls that pass the test, nil if none does.
func (h *crowd) pick(which int, test func(*call) bool) *call {
	var all []*call
	for i := range h.calls {
		if test(&h.calls[i]) {
			all = append(all, &h.calls[i])
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[which%len(all)]
}

func (h *crowd) end(q *call, how pool.End) {
	switch how {
	case pool.Leak:
		h.leaked++
	case pool.Detach:
		h.detached = append(h.detached, q.pool.Session(q.conn))
	}
	q.pool.Return(q.conn, how, sim.Reply{To: sim.Nobody})
	q.conn = pool.NoConn
}

func (h *crowd) got(i int, b int32) {
	q := &h.calls[i]
	o := server.OutcomeOf(b)
	q.ticket = pool.NoTicket
	if q.answers++; q.answers > 1 {
		h.t.Fatalf("acquire %d is answered again, with %v", i, o)
	}
	if q.cancelled && o != record.Cancelled {
		h.t.Fatalf("acquire %d was cancelled, and ends with %v", i, o)
	}
	if o != record.OK {
		return
	}
	for j := range h.calls {
		if h.calls[j].conn == pool.Conn(b) && h.calls[j].pool == q.pool {
			h.t.Fatalf("acquire %d gets connection %d, which acquire %d has", i, b, j)
		}
	}
	q.conn = pool.Conn(b)
}

// takeStock brings everything to rest and looks at what is left.
func (h *crowd) takeStock() {
	h.sim.Run(max(h.sim.Now(), sim.Time(recovered)).Add(h.rest))
	h.returnAll()
	for i := range h.calls {
		if h.calls[i].answers != 1 {
			h.t.Fatalf("acquire %d is answered %d times", i, h.calls[i].answers)
		}
	}
	for _, s := range h.detached {
		h.srv.Drop(s, record.Dropped)
	}
	if h.closing > 0 && h.leaked == 0 {
		h.t.Fatalf("%d calls of Close have not returned", h.closing)
	}
	before := len(h.calls)
	for range h.lends - h.leaked {
		h.plan(chore{do: acquire, which: 0})
	}
	h.sim.Run(h.sim.Now().Add(calm))
	lent := 0
	for i := range h.calls[before:] {
		if h.calls[before+i].conn != pool.NoConn {
			lent++
		}
	}
	if want := max(h.lends-h.leaked, 0); !h.limit && !h.closed && lent != want {
		h.t.Fatalf("at rest %d of %d connections can be had", lent, want)
	}
	h.returnAll()
	size := 0
	for _, p := range h.pools {
		size += p.Stats().Size
	}
	if open := h.srv.Stats().Open; open > size {
		h.t.Fatalf("%d sessions are open, size is %d", open, size)
	}
}

// returnAll gives back all loans and waits for the pool to come to rest.
func (h *crowd) returnAll() {
	for i := range h.calls {
		if h.calls[i].conn != pool.NoConn {
			h.plan(chore{do: giveBack, how: pool.Release})
		}
	}
	h.sim.Run(h.sim.Now().Add(calm))
}
