package server

import (
	"testing"
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
)

type nowhere struct{}

func (nowhere) Note(record.Fact)           {}
func (nowhere) Wants(record.FactKind) bool { return false }

// looper keeps n sessions busy: the end of each query begins the next.
type looper struct {
	sim  *sim.Sim
	id   sim.ActorID
	srv  *Server
	q    *Query
	next int64
	stop int64
	open []Session
}

func (l *looper) Handle(ev sim.Event) {
	if ev.Kind == 0 { // connected
		l.open = append(l.open, Session(ev.B))
		return
	}
	if OutcomeOf(ev.B) != record.OK {
		return
	}
	if l.next++; l.next >= l.stop {
		l.sim.Stop()
	}
	l.srv.Query(l.open[ev.A], l.q, l.next, sim.Reply{To: l.id, Kind: 1, A: ev.A})
}

func newLooper(o Options, q QuerySpec, n int) *looper {
	l := &looper{sim: new(sim.Sim)}
	l.id = l.sim.Add(l)
	l.srv = New(l.sim, nowhere{}, 1, o)
	l.q = l.srv.Compile(&q)
	for range n {
		l.srv.Connect(Caller{}, sim.Reply{To: l.id})
	}
	l.sim.Soon(sim.Event{To: l.id, Kind: 0, B: -1})
	l.sim.Run(0)
	l.open = l.open[:0]
	for i := range n {
		l.open = append(l.open, Session(i))
		l.sim.Soon(sim.Event{To: l.id, Kind: 1, A: int32(i)})
	}
	return l
}

func (l *looper) run(n int64) {
	l.stop = l.next + n
	l.sim.Run(sim.Forever)
}

// bare does the kernel's part of the same work: a timer and an answer a query.
type bare struct {
	sim  *sim.Sim
	id   sim.ActorID
	d    sim.Delay
	draw sim.Sampler
	next int64
	stop int64
}

func (l *bare) Handle(ev sim.Event) {
	if ev.Kind == 0 {
		l.sim.Answer(sim.Reply{To: l.id, Kind: 1, A: ev.A}, 0)
		return
	}
	if l.next++; l.next >= l.stop {
		l.sim.Stop()
	}
	if l.draw != nil {
		r := sim.NewStream(1, "").At(l.next)
		l.sim.After(l.draw.Sample(&r), sim.Event{To: l.id, Kind: 0, A: ev.A})
		return
	}
	l.sim.Arm(l.d, sim.Event{To: l.id, Kind: 0, A: ev.A})
}

func benchmark(b *testing.B, o Options, q QuerySpec, n int) {
	l := newLooper(o, q, n)
	l.run(10000)
	b.ReportAllocs()
	b.ResetTimer()
	l.run(int64(b.N))
}

var (
	fixed5       = QuerySpec{Service: dist.Fixed(5 * time.Millisecond)}
	exponential5 = QuerySpec{Service: dist.Distribution{Exponential: &dist.Exponential{Mean: 5 * time.Millisecond}}}
)

func BenchmarkQuery(b *testing.B) {
	kernel := func(b *testing.B, draw sim.Sampler, n int) {
		l := &bare{sim: new(sim.Sim), draw: draw}
		l.id = l.sim.Add(l)
		l.d = l.sim.Delay(5 * time.Millisecond)
		for i := range n {
			l.sim.Soon(sim.Event{To: l.id, Kind: 1, A: int32(i)})
		}
		l.stop = int64(b.N)
		l.sim.Run(sim.Forever)
	}
	b.Run("constant/kernel", func(b *testing.B) { kernel(b, nil, 4) })
	b.Run("constant/server", func(b *testing.B) { benchmark(b, Options{Cores: 4}, fixed5, 4) })
	b.Run("constant/queue", func(b *testing.B) { benchmark(b, Options{Cores: 4}, fixed5, 8) })
	b.Run("exponential/kernel", func(b *testing.B) { kernel(b, exponential5.Service.Sampler(), 8) })
	b.Run("exponential/server", func(b *testing.B) { benchmark(b, Options{}, exponential5, 8) })
	b.Run("sharing/8on4", func(b *testing.B) { benchmark(b, Options{Cores: 4, Discipline: Sharing}, exponential5, 8) })
	b.Run("sharing/100on4", func(b *testing.B) { benchmark(b, Options{Cores: 4, Discipline: Sharing}, exponential5, 100) })
}

// TestNoAllocation: a query allocates nothing once everything has its working size.
func TestNoAllocation(t *testing.T) {
	phases := QuerySpec{Phases: []Phase{{IO: &exponential5.Service}, {CPU: &exponential5.Service, Chance: ptr(dist.Probability(0.5))}}}
	for name, c := range map[string]struct {
		o Options
		q QuerySpec
	}{
		"constant":          {Options{Cores: 4}, fixed5},
		"exponential":       {Options{Cores: 4}, exponential5},
		"phases":            {Options{Cores: 4, RoundTrip: exponential5.Service}, phases},
		"sharing":           {Options{Cores: 4, Discipline: Sharing}, exponential5},
		"contention":        {Options{Cores: 4, Contention: Contention{Sigma: 0.1}}, exponential5},
		"statement_timeout": {Options{Cores: 4, StatementTimeout: 20 * time.Millisecond}, exponential5},
		"slow":              {Options{Cores: 4, Faults: []Fault{{Slow: 2}}}, fixed5},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLooper(c.o, c.q, 12)
			l.run(20000)
			if n := testing.AllocsPerRun(5, func() { l.run(5000) }); n > 0 {
				t.Errorf("%v allocations in 5000 queries", n)
			}
		})
	}
}
