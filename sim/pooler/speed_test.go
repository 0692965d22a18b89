package pooler

import (
	"testing"
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// loop keeps n clients busy: the end of each query begins the next.
type loop struct {
	*crowd
	stop int64
}

func newLoop(o Options, service dist.Distribution, n int, sink record.Sink) *loop {
	l := &loop{crowd: newCrowd(server.Options{}, o, n, sink)}
	q := l.srv.Compile(&server.QuerySpec{Service: service})
	l.then = func(i int32) {
		if l.number >= l.stop {
			l.sim.Stop()
		}
		l.Handle(sim.Event{Kind: crowdAsks, A: i})
	}
	for i := range l.queries {
		l.queries[i] = q
		l.sim.Soon(sim.Event{To: l.id, Kind: crowdAsks, A: int32(i)})
	}
	return l
}

func (l *loop) run(n int64) {
	l.stop = l.number + n
	l.sim.Run(sim.Forever)
}

var (
	fixed5       = dist.Fixed(5 * time.Millisecond)
	exponential5 = dist.Distribution{Exponential: &dist.Exponential{Mean: 5 * time.Millisecond}}
)

func options(mode Mode, size int) Options {
	o := DefaultOptions()
	o.Mode, o.DefaultPoolSize = mode, size
	return o
}

// TestNoAllocation: a query through the pooler allocates nothing once everything has its working size.
func TestNoAllocation(t *testing.T) {
	far := options(TransactionMode, 4)
	far.RoundTrip = exponential5
	for name, c := range map[string]struct {
		o       Options
		service dist.Distribution
		clients int
	}{
		"free":       {options(TransactionMode, 12), exponential5, 12},
		"waiting":    {options(TransactionMode, 4), fixed5, 12},
		"session":    {options(SessionMode, 12), exponential5, 12},
		"round trip": {far, exponential5, 12},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoop(c.o, c.service, c.clients, record.NewRecorder(1, 0))
			l.run(20000)
			if n := testing.AllocsPerRun(5, func() { l.run(5000) }); n > 0 {
				t.Errorf("%v allocations in 5000 queries", n)
			}
		})
	}
}

func BenchmarkQuery(b *testing.B) {
	for _, c := range []struct {
		name    string
		o       Options
		clients int
		sink    record.Sink
	}{
		{"free", options(TransactionMode, 8), 8, nil},
		{"free/recorded", options(TransactionMode, 8), 8, record.NewRecorder(1, 0)},
		{"waiting", options(TransactionMode, 8), 100, nil},
		{"waiting/recorded", options(TransactionMode, 8), 100, record.NewRecorder(1, 0)},
		{"session", options(SessionMode, 8), 8, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := newLoop(c.o, exponential5, c.clients, c.sink)
			l.run(10000)
			b.ReportAllocs()
			b.ResetTimer()
			l.run(int64(b.N))
		})
	}
}
