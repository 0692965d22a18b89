package asyncio

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
	"poolwise/sim/simtest"
)

// load is the load test of the simulator: tasks that hold a slot for 0.1 s and sometimes forget it, or fail and give it back.
type load struct {
	sim   *sim.Sim
	pool  *Pool
	id    sim.ActorID
	seed  uint64
	leak  float64
	fail  float64
	tasks []task

	succeeded, failed, timedOut, leaked int
	waits                               []time.Duration // of those who got a slot
}

type task struct {
	loan  pool.Conn
	began sim.Time
	more  int // tasks to do after this one
}

const (
	begin sim.Kind = iota // A: task
	got
	worked
)

// newLoad lets n tasks begin at once, each of which is followed by others up to repeat.
func newLoad(o Options, seed uint64, n, repeat int, leak, fail float64) *load {
	l := &load{sim: new(sim.Sim), seed: seed, leak: leak, fail: fail, tasks: make([]task, n)}
	l.id = l.sim.Add(l)
	l.pool = New(pool.Env{Sim: l.sim, Sink: l}, o)
	l.sim.Check = l.pool.Verify
	l.pool.Start(sim.Reply{To: sim.Nobody})
	for i := range l.tasks {
		l.tasks[i].more = repeat
		l.sim.Soon(sim.Event{To: l.id, Kind: begin, A: int32(i)})
	}
	return l
}

// Note implements record.Sink.
func (l *load) Note(f record.Fact) {
	if f.Kind == record.Leaked {
		l.leaked++
	}
}

// Handle implements sim.Actor.
func (l *load) Handle(ev sim.Event) {
	k := &l.tasks[ev.A]
	switch ev.Kind {
	case begin:
		if k.more == 0 {
			return
		}
		k.more--
		k.began = l.sim.Now()
		l.pool.Acquire(pool.Request{Number: int64(ev.A), Reply: sim.Reply{To: l.id, Kind: got, A: ev.A}})
	case got:
		if ev.B < 0 {
			l.timedOut++
			l.sim.Soon(sim.Event{To: l.id, Kind: begin, A: ev.A})
			return
		}
		l.waits = append(l.waits, l.sim.Now().Sub(k.began))
		k.loan = pool.Conn(ev.B)
		l.sim.After(100*time.Millisecond, sim.Event{To: l.id, Kind: worked, A: ev.A})
	case worked:
		luck := sim.NewStream(l.seed, "luck").At(int64(ev.A)<<32 | int64(k.more))
		how := pool.Release
		switch {
		case luck.Unit() < l.fail:
			l.failed++ // a transient database error: the slot is returned
		case luck.Unit() < l.leak:
			l.succeeded++
			how = pool.Leak
		default:
			l.succeeded++
		}
		l.pool.Return(k.loan, how, sim.Reply{To: sim.Nobody})
		l.sim.Soon(sim.Event{To: l.id, Kind: begin, A: ev.A})
	}
}

// "succeeded + failed + timed out = total; capacity at the end = 10 - leaked"
func TestLoad(t *testing.T) {
	drained := false
	for seed := range uint64(20) {
		l := newLoad(DefaultOptions(), seed, 30, 1, 0.10, 0.01)
		l.sim.Run(sim.Forever)
		if n := l.succeeded + l.failed + l.timedOut; n != 30 {
			t.Errorf("seed %d: %d + %d + %d tasks, want 30", seed, l.succeeded, l.failed, l.timedOut)
		}
		s := l.pool.Stats()
		if s.Idle != 10-l.leaked || s.Leaked != l.leaked || s.InUse != l.leaked {
			t.Errorf("seed %d: %+v with %d leaks", seed, s, l.leaked)
		}
		drained = drained || l.leaked > 0
	}
	if !drained {
		t.Error("no leak in 600 tasks")
	}
}

// "with leak 0 and no errors every request succeeds and the mean wait is 0.1 s (waves at 0, 0.1 and 0.2 s)"
func TestWaves(t *testing.T) {
	l := newLoad(DefaultOptions(), 1, 30, 1, 0, 0)
	l.sim.Run(sim.Forever)
	if l.succeeded != 30 {
		t.Errorf("%d of 30 succeed", l.succeeded)
	}
	var want []time.Duration
	for wave := range 3 {
		want = append(want, slices.Repeat([]time.Duration{time.Duration(wave) * 100 * time.Millisecond}, 10)...)
	}
	if !slices.Equal(l.waits, want) {
		t.Errorf("waits %v", l.waits)
	}
	if l.sim.Now() != sim.Time(300*time.Millisecond) {
		t.Errorf("the end is at %v, want 300ms", l.sim.Now())
	}
}

// "leaks of 5-10 % of releases drain the pool to zero under moderate traffic": after that every task times out. The tenth leak is
// expected after 10/p loans; a hundred times as many are tried.
func TestLeaksDrainThePool(t *testing.T) {
	for _, p := range []float64{0.05, 0.10} {
		l := newLoad(DefaultOptions(), 1, 30, 1000, p, 0)
		l.sim.Run(sim.Forever)
		if s := l.pool.Stats(); s.Size-s.Leaked != 0 {
			t.Errorf("leak probability %v: capacity %d after %d loans", p, s.Size-s.Leaked, l.succeeded)
		}
		if n := float64(l.succeeded); n < 10 || n > 40/p {
			t.Errorf("leak probability %v: the pool was empty after %v loans, want about %v", p, n, 10/p)
		}
	}
}

// history is a random life of a semaphore under shuffled ties.
type history struct {
	t       *rapid.T
	sim     *sim.Sim
	pool    *Pool
	id      sim.ActorID
	plans   []func(b int32)
	begun   int64
	open    []int64 // acquires not answered
	tickets map[int64]pool.Ticket
	loans   []pool.Conn
	spent   []pool.Conn
	queue   []int64
	passed  map[int64]bool // it left the queue while another was first
	leaks   int
	extra   int
	noted   int
	closed  bool
}

// Handle implements sim.Actor.
func (h *history) Handle(ev sim.Event) { h.plans[ev.A](ev.B) }

func (h *history) then(f func(b int32)) sim.Reply {
	h.plans = append(h.plans, f)
	return sim.Reply{To: h.id, A: int32(len(h.plans) - 1)}
}

func (h *history) after(d time.Duration, f func()) {
	h.sim.After(d, h.then(func(int32) { f() }).Event(0))
}

// Note implements record.Sink: nobody overtakes.
func (h *history) Note(f record.Fact) {
	switch f.Kind {
	case record.WaitBegan:
		h.queue = append(h.queue, f.Request)
	case record.WaitEnded:
		i := slices.Index(h.queue, f.Request)
		h.queue = slices.Delete(h.queue, i, i+1)
		h.passed[f.Request] = i > 0
	case record.AcquireEnded:
		if f.Outcome == record.OK && (h.passed[f.Request] || len(h.queue) > 0 && h.queue[0] < f.Request) {
			h.t.Errorf("%d got a slot while %v wait", f.Request, h.queue)
		}
	case record.PoolNote:
		h.noted++
	}
}

func (h *history) check() {
	h.pool.Verify()
	s := h.pool.Stats()
	if s.Size != h.pool.opt.MaxSize+h.extra || s.Leaked != h.leaks || h.noted != h.extra || s.InUse < len(h.loans)+h.leaks || s.Waiting != len(h.queue) {
		h.t.Fatalf("%d loans, %d leaks, %d extra of which %d noted, %d wait, but %+v", len(h.loans), h.leaks, h.extra, h.noted, len(h.queue), s)
	}
}

func (h *history) acquire(timeout time.Duration, try bool) {
	n := h.begun
	h.begun++
	h.open = append(h.open, n)
	longest, began := timeout, h.sim.Now()
	switch {
	case try:
		longest = 0
	case timeout == 0:
		longest = h.pool.opt.CheckoutTimeout
	}
	h.tickets[n] = h.pool.Acquire(pool.Request{Number: n, Timeout: timeout, Try: try, Reply: h.then(func(b int32) {
		i := slices.Index(h.open, n)
		if i < 0 {
			h.t.Fatalf("%d is answered twice", n)
		}
		h.open = slices.Delete(h.open, i, i+1)
		if took := h.sim.Now().Sub(began); took > longest {
			h.t.Errorf("%d took %v, want at most %v", n, took, longest)
		}
		if b >= 0 {
			h.loans = append(h.loans, pool.Conn(b))
		}
		if o := server.OutcomeOf(b); o == record.OK && h.closed || o == record.PoolIsClosed && !h.closed {
			h.t.Errorf("%d: %v, closed %v", n, o, h.closed)
		}
	})})
}

func (h *history) giveBack(i int, how pool.End) {
	c := h.loans[i]
	h.loans = slices.Delete(h.loans, i, i+1)
	h.spent = append(h.spent, c)
	if how == pool.Leak {
		h.leaks++
	}
	h.pool.Return(c, how, sim.Reply{To: sim.Nobody})
}

func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{t: t, sim: new(sim.Sim), tickets: map[int64]pool.Ticket{}, passed: map[int64]bool{}}
		ms := func(t *rapid.T, to int, label string) time.Duration {
			return time.Duration(rapid.IntRange(0, to).Draw(t, label)) * time.Millisecond
		}
		if rapid.Bool().Draw(t, "shuffle") {
			h.sim.SetChooser(simtest.Shuffle(rapid.Uint64().Draw(t, "seed")), 0)
		}
		h.id = h.sim.Add(h)
		h.pool = New(pool.Env{Sim: h.sim, Sink: h}, Options{MaxSize: rapid.IntRange(1, 3).Draw(t, "max_size"), CheckoutTimeout: 10 * time.Millisecond})
		h.pool.Start(sim.Reply{To: sim.Nobody})
		h.sim.Check = h.check
		acquire := func(t *rapid.T) {
			timeout, try := ms(t, 5, "timeout"), rapid.IntRange(0, 9).Draw(t, "try") == 0
			h.after(ms(t, 3, "in"), func() { h.acquire(timeout, try) })
		}
		one := func(t *rapid.T, n func() int, f func(i int)) {
			i := rapid.IntRange(0, 1000).Draw(t, "which")
			h.after(ms(t, 3, "in"), func() {
				if n() > 0 {
					f(i % n())
				}
			})
		}
		giveBack := func(t *rapid.T) {
			how := rapid.SampledFrom([]pool.End{pool.Release, pool.Release, pool.Release, pool.Discard, pool.Broken, pool.Leak}).Draw(t, "how")
			one(t, func() int { return len(h.loans) }, func(i int) { h.giveBack(i, how) })
		}
		run := func(t *rapid.T) { h.sim.Run(h.sim.Now().Add(ms(t, 4, "for"))) }
		t.Repeat(map[string]func(*rapid.T){
			"acquire": acquire, "acquire too": acquire, "return": giveBack, "return too": giveBack, "run": run, "run on": run,
			"release again": func(t *rapid.T) {
				one(t, func() int { return len(h.spent) }, func(i int) {
					h.extra++
					h.pool.Return(h.spent[i], pool.Release, sim.Reply{To: sim.Nobody})
				})
			},
			"cancel": func(t *rapid.T) {
				one(t, func() int { return len(h.open) }, func(i int) { h.pool.Cancel(h.tickets[h.open[i]]) })
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					h.after(0, func() { h.closed = true; h.pool.Close(sim.Reply{To: sim.Nobody}) })
				}
			},
		})
		h.sim.Run(sim.Forever)
		for len(h.loans) > 0 {
			h.after(0, func() { h.giveBack(0, pool.Release) })
			h.sim.Run(sim.Forever)
		}
		if s := h.pool.Stats(); len(h.open) > 0 || s.Idle != s.Size-h.leaks {
			t.Fatalf("at rest %v are not answered, and %+v", h.open, s)
		}
	})
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	o := DefaultOptions()
	o.CheckoutTimeout = 150 * time.Millisecond
	l := newLoad(o, 1, 30, 1<<30, 0, 0)
	l.sim.Check = nil
	l.waits = make([]time.Duration, 0, 1<<20)
	l.sim.Run(sim.Time(time.Second))
	late, ok := l.timedOut, l.succeeded
	if n := testing.AllocsPerRun(10, func() { l.sim.Run(l.sim.Now().Add(time.Second)) }); n != 0 {
		t.Errorf("%v allocations in a second", n)
	}
	if l.timedOut == late || l.succeeded == ok {
		t.Errorf("%d timeouts, %d loans: the test does not see what it should", l.timedOut-late, l.succeeded-ok)
	}
}

func TestValidateReportsEveryMistake(t *testing.T) {
	var got []string
	Options{MaxSize: 0, CheckoutTimeout: 0}.Validate(func(path, message string) { got = append(got, fmt.Sprintf("%s: %s", path, message)) })
	want := []string{"max_size: want 1 to 100000 permits, have 0", "checkout_timeout: want a duration above 0s, have 0s"}
	if !slices.Equal(got, want) {
		t.Errorf("have\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	DefaultOptions().Validate(func(path, message string) { t.Errorf("default: %s: %s", path, message) })
}
