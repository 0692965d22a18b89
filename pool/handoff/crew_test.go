package handoff

import (
	"testing"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// world is a server and some pools on it, and what a test does to them: it counts notes, connects and leaks.
type world struct {
	sim   *sim.Sim
	srv   *server.Server
	pools []*Pool
	id    sim.ActorID
	plans []func(b int32)

	notes    [record.NumOutcomes]int
	connects [record.NumOutcomes]int
	leaks    int
}

// Note implements record.Sink.
func (w *world) Note(f record.Fact) {
	switch f.Kind {
	case record.PoolNote:
		w.notes[f.Outcome]++
	case record.ConnectEnded:
		w.connects[f.Outcome]++
	case record.Leaked:
		w.leaks++
	}
}

// newWorld makes n pools with the same options, of the first role if there is one. Verify looks on after every event.
func newWorld(t testing.TB, n int, o Options, so server.Options) *world {
	t.Helper()
	bad := func(path, message string) { t.Fatalf("%s: %s", path, message) }
	o.Validate(bad)
	so.Validate(bad)
	w := &world{sim: new(sim.Sim)}
	w.id = w.sim.Add(w)
	w.srv = server.New(w.sim, w, 1, so)
	for i := range n {
		p := New(pool.Env{Sim: w.sim, Server: w.srv, Sink: w, Index: int16(i), Role: int16(min(len(so.Roles), 1))}, o)
		p.Start(nobody)
		w.pools = append(w.pools, p)
	}
	w.sim.Check = func() {
		for _, p := range w.pools {
			p.Verify()
		}
	}
	return w
}

// Handle implements sim.Actor.
func (w *world) Handle(ev sim.Event) { w.plans[ev.A](ev.B) }

// then is the reply that does f with the answer.
func (w *world) then(f func(b int32)) sim.Reply {
	w.plans = append(w.plans, f)
	return sim.Reply{To: w.id, A: int32(len(w.plans) - 1)}
}

// after does f in an event of its own.
func (w *world) after(d time.Duration, f func()) {
	w.sim.After(d, w.then(func(int32) { f() }).Event(0))
}

// run does f, and what comes within d.
func (w *world) run(d time.Duration, f func()) {
	w.after(0, f)
	w.sim.Run(w.sim.Now().Add(d))
}

// obtainable returns how many connections can be had at this moment, and gives them back.
func (w *world) obtainable(p *Pool) int {
	var got []pool.Conn
	w.run(0, func() {
		for range p.opt.MaxTotal {
			p.Acquire(pool.Request{Try: true, Reply: w.then(func(b int32) {
				if b >= 0 {
					got = append(got, pool.Conn(b))
				}
			})})
		}
	})
	w.run(0, func() {
		for _, c := range got {
			p.Return(c, pool.Release, nobody)
		}
	})
	return len(got)
}

// close closes p, lets all end and returns how many connections were not returned.
func (w *world) close(p *Pool) int {
	left := -1
	w.after(0, func() { p.Close(w.then(func(b int32) { left = int(b) })) })
	w.sim.Run(sim.Forever)
	return left
}

// crew is some threads that use one pool, each one loan after the other.
type crew struct {
	*world
	pool     *Pool
	timeout  time.Duration
	hold     func(loan int64) time.Duration
	acquires int64
	outcomes [record.NumOutcomes]int
}

// start lets n threads, each of which asks for a number of loans, begin after a while.
func (c *crew) start(after time.Duration, n, loans int) {
	for range n {
		c.after(after, func() { c.next(loans) })
	}
}

// next is a thread that asks for some more loans.
func (c *crew) next(loans int) {
	if loans == 0 {
		return
	}
	number := c.acquires
	c.acquires++
	c.pool.Acquire(pool.Request{Number: number, Timeout: c.timeout, Reply: c.then(func(b int32) {
		c.outcomes[server.OutcomeOf(b)]++
		if b < 0 {
			c.next(loans - 1)
			return
		}
		c.after(c.hold(number), func() {
			c.pool.Return(pool.Conn(b), pool.Release, c.then(func(int32) { c.next(loans - 1) }))
		})
	})})
}

func fixed(d time.Duration) func(int64) time.Duration {
	return func(int64) time.Duration { return d }
}

func wantStats(t *testing.T, p *Pool, want pool.Stats) {
	t.Helper()
	if got := p.Stats(); got != want {
		t.Errorf("have %+v, want %+v", got, want)
	}
}
