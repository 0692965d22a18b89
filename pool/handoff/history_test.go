package handoff

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
	"poolwise/sim/simtest"
)

// history is a random life of a pool under shuffled ties. All its times are whole milliseconds, so that much happens at once. It
// watches the contract from outside; Verify does so from inside, after every event.
type history struct {
	t     *rapid.T
	opt   Options
	sim   *sim.Sim
	srv   *server.Server
	pool  *Pool
	id    sim.ActorID
	plans []func(b int32)

	begun    int64
	requests map[int64]*request // not answered yet
	loans    []pool.Conn        // under way
	spent    []pool.Conn        // ended
	queue    []int64            // the numbers of those that wait
	overtook map[int64]bool     // it left the queue while another was first
	waited   map[int64]bool
	granted  map[int64]sim.Time
	alarms   map[int64]bool // of loans: raised, and not taken back
	leaks    int            // returns that are none
	lost     int            // Leaked facts
	detached int
	closing  bool
	closed   bool
}

type request struct {
	ticket  pool.Ticket
	longest time.Duration
}

func ms(t *rapid.T, from, to int, label string) time.Duration {
	return time.Duration(rapid.IntRange(from, to).Draw(t, label)) * time.Millisecond
}

func newHistory(t *rapid.T) *history {
	h := &history{t: t, sim: new(sim.Sim), requests: map[int64]*request{}, overtook: map[int64]bool{}, waited: map[int64]bool{},
		granted: map[int64]sim.Time{}, alarms: map[int64]bool{}}
	h.opt = Options{
		MaxTotal:          rapid.IntRange(1, 4).Draw(t, "max_total"),
		AcquireTimeout:    20 * time.Millisecond,
		Validation:        rapid.SampledFrom([]Validation{AfterIdle, Always, Background, Never}).Draw(t, "validate"),
		ValidateAfterIdle: ms(t, 0, 3, "validate_after_idle"),
		ValidationPeriod:  ms(t, 1, 10, "validation_period"),
		MaxLifetime:       ms(t, 0, 10, "max_lifetime"),
		Reset:             rapid.Bool().Draw(t, "reset"),
		Race:              rapid.SampledFrom([]Race{GrantWins, DeadlineFirst}).Draw(t, "race"),
		WakeDelay:         ms(t, 0, 2, "wake_delay"),
		LeakDetection:     ms(t, 0, 5, "leak_detection_threshold"),
		CloseGrace:        ms(t, 0, 30, "close_grace"),
	}
	so := server.Options{
		Connect: dist.Fixed(ms(t, 0, 4, "connect")),
		Ping:    dist.Fixed(ms(t, 0, 2, "ping")),
		Close:   dist.Fixed(ms(t, 0, 2, "close")),
	}
	if rapid.Bool().Draw(t, "faults") {
		so.Faults = []server.Fault{{At: ms(t, 0, 20, "refuse at"), For: ms(t, 1, 20, "refuse for"), Refuse: true}}
		so.RefuseAfter = ms(t, 0, 2, "refuse_after")
	}
	if rapid.Bool().Draw(t, "shuffle") {
		h.sim.SetChooser(simtest.Shuffle(rapid.Uint64().Draw(t, "seed")), 0)
	}
	h.id = h.sim.Add(h)
	h.srv = server.New(h.sim, h, 1, so)
	h.pool = New(pool.Env{Sim: h.sim, Server: h.srv, Sink: h}, h.opt)
	h.sim.Check = h.check
	h.soon(func() { h.pool.Start(nobody) })
	h.sim.Run(0)
	return h
}

// Handle implements sim.Actor.
func (h *history) Handle(ev sim.Event) { h.plans[ev.A](ev.B) }

func (h *history) then(f func(b int32)) sim.Reply {
	h.plans = append(h.plans, f)
	return sim.Reply{To: h.id, A: int32(len(h.plans) - 1)}
}

func (h *history) soon(f func()) { h.sim.Soon(h.then(func(int32) { f() }).Event(0)) }

// plan does f within the next milliseconds.
func (h *history) plan(t *rapid.T, f func()) {
	h.sim.After(ms(t, 0, 3, "in"), h.then(func(int32) { f() }).Event(0))
}

// Note implements record.Sink: nobody overtakes.
func (h *history) Note(f record.Fact) {
	switch f.Kind {
	case record.WaitBegan:
		if n := len(h.queue); n > 0 && h.queue[n-1] > f.Request {
			h.t.Errorf("%d queues behind %v", f.Request, h.queue)
		}
		h.queue = append(h.queue, f.Request)
		h.waited[f.Request] = true
	case record.WaitEnded:
		i := slices.Index(h.queue, f.Request)
		h.queue = slices.Delete(h.queue, i, i+1)
		h.overtook[f.Request] = i > 0
	case record.AcquireEnded:
		if f.Outcome != record.OK {
			break
		}
		h.granted[f.Request] = f.At
		if h.overtook[f.Request] {
			h.t.Errorf("%d got a connection, but others had waited longer", f.Request)
		}
		if !h.waited[f.Request] && len(h.queue) > 0 && h.queue[0] < f.Request {
			h.t.Errorf("%d got a connection, but %v wait", f.Request, h.queue)
		}
	case record.Leaked:
		h.lost++
	case record.Returned:
		// One who returns it in the instant in which the alarm is due may be before it.
		still, raised := h.alarms[f.Request]
		if late := h.opt.LeakDetection > 0 && f.Took > h.opt.LeakDetection; late != raised && f.Took != h.opt.LeakDetection || still {
			h.t.Errorf("%d returns it after %v, alarm raised: %v, not taken back: %v", f.Request, f.Took, raised, still)
		}
		delete(h.alarms, f.Request)
	case record.PoolNote:
		h.noted(f)
	}
}

// noted: no session state gets over a reset; an alarm is of a loan that has lasted for the threshold, and a false one has been raised.
func (h *history) noted(f record.Fact) {
	switch f.Outcome {
	case record.SessionStateLeaked:
		if h.opt.Reset {
			h.t.Errorf("session state reached %d", f.Request)
		}
	case record.LeakAlarm:
		if at, ok := h.granted[f.Request]; !ok || f.At.Sub(at) != h.opt.LeakDetection || h.alarms[f.Request] {
			h.t.Errorf("an alarm about %d, which has it since %v", f.Request, at)
		}
		h.alarms[f.Request] = true
	case record.FalseLeakAlarm:
		if !h.alarms[f.Request] {
			h.t.Errorf("a false alarm about %d that was none", f.Request)
		}
		h.alarms[f.Request] = false
	}
}

// check looks at the pool from outside.
func (h *history) check() {
	h.pool.Verify()
	s := h.pool.Stats()
	if n := h.srv.Stats().Open; n > h.opt.MaxTotal+h.detached {
		h.t.Fatalf("%d sessions", n)
	}
	if s.InUse < len(h.loans) || s.Waiting != len(h.queue) || h.lost != s.Leaked {
		h.t.Fatalf("%d loans, %d wait, %d lost, but %+v", len(h.loans), len(h.queue), h.lost, s)
	}
	if h.opt.Race == GrantWins && h.lost != h.leaks {
		h.t.Fatalf("%d slots are lost, %d were not returned", h.lost, h.leaks)
	}
	lent := map[server.Session]bool{}
	for _, c := range h.loans {
		ses := h.pool.Session(c)
		if ses == server.NoSession || lent[ses] {
			h.t.Fatalf("session %d is lent twice, or there is none", ses)
		}
		lent[ses] = true
	}
}

// acquire asks for a connection; try and a timeout of 0 as in pool.Request.
func (h *history) acquire(timeout time.Duration, try bool) {
	n := h.begun
	h.begun++
	q := &request{longest: timeout + h.opt.WakeDelay}
	if timeout == 0 {
		q.longest = h.opt.AcquireTimeout + h.opt.WakeDelay
	}
	if try {
		q.longest = 0
	}
	h.requests[n] = q
	began, refused := h.sim.Now(), h.closing
	q.ticket = h.pool.Acquire(pool.Request{Number: n, Timeout: timeout, Try: try, Reply: h.then(func(b int32) {
		if h.requests[n] != q {
			h.t.Fatalf("%d is answered twice", n)
		}
		delete(h.requests, n)
		if took := h.sim.Now().Sub(began); took > q.longest {
			h.t.Errorf("%d took %v, want at most %v", n, took, q.longest)
		}
		if b >= 0 {
			h.loans = append(h.loans, pool.Conn(b))
		}
		switch o := server.OutcomeOf(b); o {
		case record.OK:
			if refused || h.closing {
				h.t.Errorf("%d got a connection of a closed pool", n)
			}
		case record.PoolIsClosed:
			if !h.closing {
				h.t.Errorf("%d: %v", n, o)
			}
		case record.AcquireTimeout, record.CreateFailed, record.Cancelled:
			if refused {
				h.t.Errorf("%d: %v from a closed pool", n, o)
			}
		default:
			h.t.Errorf("%d: %v", n, o)
		}
	})})
}

// giveBack returns the loan of that place.
func (h *history) giveBack(i int, how pool.End) {
	c := h.loans[i]
	h.loans = slices.Delete(h.loans, i, i+1)
	h.spent = append(h.spent, c)
	switch how {
	case pool.Leak:
		h.leaks++
	case pool.Detach:
		h.detached++
	}
	h.pool.Return(c, how, h.then(func(b int32) {
		if b != 0 {
			h.t.Errorf("a return is answered %v", server.OutcomeOf(b))
		}
	}))
}

// giveBackAgain returns a loan that has ended.
func (h *history) giveBackAgain(i int, how pool.End) {
	before := h.pool.Stats()
	h.pool.Return(h.spent[i], how, h.then(func(b int32) {
		if server.OutcomeOf(b) != record.Rejected {
			h.t.Errorf("a second return is answered %v", server.OutcomeOf(b))
		}
	}))
	if after := h.pool.Stats(); after != before {
		h.t.Errorf("a second return turns %+v into %+v", before, after)
	}
}

// cancel interrupts the acquire of that place among those not answered.
func (h *history) cancel(i int) {
	var open []int64
	for n := range h.requests {
		open = append(open, n)
	}
	slices.Sort(open)
	h.pool.Cancel(h.requests[open[i]].ticket)
}

func (h *history) close() {
	h.closing = true
	began := h.sim.Now()
	h.pool.Close(h.then(func(b int32) {
		h.closed = true
		if int(b) < len(h.loans) || h.sim.Now().Sub(began) > h.opt.CloseGrace {
			h.t.Errorf("close ends after %v with %d, %d loans", h.sim.Now().Sub(began), b, len(h.loans))
		}
		if b == 0 && h.pool.Stats().Size > 0 && h.sim.Now().Sub(began) < h.opt.CloseGrace {
			h.t.Errorf("close ends early: %+v", h.pool.Stats())
		}
	}))
}

var howToEnd = []pool.End{
	pool.Release, pool.Release, pool.Release, pool.Release, pool.Discard, pool.CloseOnDrop, pool.Broken, pool.Detach, pool.Leak,
}

func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		pick := func(t *rapid.T) int { return rapid.IntRange(0, 1000).Draw(t, "which") }
		acquire := func(t *rapid.T) {
			timeout, try := ms(t, 0, 8, "timeout"), rapid.IntRange(0, 9).Draw(t, "try") == 0
			h.plan(t, func() { h.acquire(timeout, try) })
		}
		giveBack := func(t *rapid.T) {
			i, how := pick(t), rapid.SampledFrom(howToEnd).Draw(t, "how")
			h.plan(t, func() {
				if len(h.loans) > 0 {
					h.giveBack(i%len(h.loans), how)
				}
			})
		}
		run := func(t *rapid.T) { h.sim.Run(h.sim.Now().Add(ms(t, 0, 4, "for"))) }
		t.Repeat(map[string]func(*rapid.T){
			"acquire": acquire, "acquire too": acquire, "acquire as well": acquire,
			"return": giveBack, "return too": giveBack,
			"run": run, "run on": run,
			"return again": func(t *rapid.T) {
				i, how := pick(t), rapid.SampledFrom(howToEnd).Draw(t, "how")
				h.plan(t, func() {
					if len(h.spent) > 0 {
						h.giveBackAgain(i%len(h.spent), how)
					}
				})
			},
			"cancel": func(t *rapid.T) {
				i := pick(t)
				h.plan(t, func() {
					if len(h.requests) > 0 {
						h.cancel(i % len(h.requests))
					}
				})
			},
			"dirty": func(t *rapid.T) {
				i := pick(t)
				h.plan(t, func() {
					if len(h.loans) > 0 {
						h.pool.Dirty(h.loans[i%len(h.loans)], pool.OpenTransaction)
					}
				})
			},
			"kill": func(t *rapid.T) {
				n := rapid.IntRange(1, 20).Draw(t, "session")
				h.plan(t, func() { h.srv.Kill(int32(n)) })
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
					return
				}
				h.plan(t, func() {
					if !h.closing {
						h.close()
					}
				})
			},
		})
		h.settle()
	})
}

// settle lets all end: every connection is given back, and then the pool has what it should have.
func (h *history) settle() {
	for range 100 {
		h.sim.Run(h.sim.Now().Add(10 * time.Millisecond))
		for len(h.loans) > 0 {
			h.soon(func() { h.giveBack(0, pool.Release) })
			h.sim.Run(h.sim.Now())
		}
	}
	s := h.pool.Stats()
	busy := s.Size - s.Idle - h.lost
	if busy == 1 && h.opt.Validation == Background { // one is being tested
		busy = 0
	}
	if len(h.requests) > 0 || s.Waiting > 0 || busy != 0 {
		h.t.Fatalf("at rest %d are not answered, %d slots are lost, and %+v", len(h.requests), h.lost, s)
	}
	if h.closing {
		if !h.closed || s.Idle > 0 || h.srv.Stats().Open > h.lost+h.detached {
			h.t.Fatalf("closed %v: %+v, %d sessions", h.closed, s, h.srv.Stats().Open)
		}
		return
	}
	want := h.opt.MaxTotal - h.lost
	for range h.opt.MaxTotal {
		h.soon(func() { h.acquire(100*time.Millisecond, false) })
	}
	h.sim.Run(h.sim.Now().Add(200 * time.Millisecond))
	if len(h.loans) != want {
		h.t.Fatalf("%d of %d can be had, %d are lost", len(h.loans), h.opt.MaxTotal, h.lost)
	}
}
