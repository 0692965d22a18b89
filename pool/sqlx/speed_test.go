package sqlx

import (
	"testing"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// mill is a closed workload: each of its clients acquires, holds and gives back, again and again.
type mill struct {
	sim  *sim.Sim
	id   sim.ActorID
	pool *Pool
	hold sim.Delay
	conn []pool.Conn
	ok   int
	late int
}

const (
	millAcquires sim.Kind = iota
	millGot
	millHeld
)

type nowhere struct{}

func (nowhere) Note(record.Fact) {}

func newMill(clients int, o Options) *mill {
	m := &mill{sim: &sim.Sim{}, conn: make([]pool.Conn, clients)}
	m.id = m.sim.Add(m)
	so := server.Options{Connect: dist.Fixed(20 * time.Millisecond), Ping: dist.Fixed(time.Millisecond)}
	srv := server.New(m.sim, nowhere{}, 1, so)
	m.pool = New(pool.Env{Sim: m.sim, Server: srv, Sink: nowhere{}}, o)
	m.hold = m.sim.Delay(5 * time.Millisecond)
	m.pool.Start(sim.Reply{To: sim.Nobody})
	for i := range m.conn {
		m.sim.Soon(sim.Event{To: m.id, Kind: millAcquires, A: int32(i)})
	}
	return m
}

func (m *mill) Handle(ev sim.Event) {
	switch ev.Kind {
	case millGot:
		if server.OutcomeOf(ev.B) == record.OK {
			m.ok++
			m.conn[ev.A] = pool.Conn(ev.B)
			m.sim.Arm(m.hold, sim.Event{To: m.id, Kind: millHeld, A: ev.A})
			return
		}
		m.late++
	case millHeld:
		m.pool.Return(m.conn[ev.A], pool.Release, sim.Reply{To: sim.Nobody})
	}
	m.pool.Acquire(pool.Request{Reply: sim.Reply{To: m.id, Kind: millGot, A: ev.A}, Number: int64(ev.A)})
}

// TestNothingIsAllocatedInSteadyState holds for waiters served, waiters timed out, idle connections and scans.
func TestNothingIsAllocatedInSteadyState(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		name    string
		clients int
		timeout time.Duration
	}{{"idle", 2, second}, {"waiting", 20, second}, {"timing out", 100, 30 * time.Millisecond}} {
		o := DefaultOptions()
		o.MaxConnections = 4
		o.AcquireTimeout = c.timeout
		o.IdleTimeout = &second
		m := newMill(c.clients, o)
		m.sim.Run(sim.Time(2 * time.Second))
		if n := testing.AllocsPerRun(5, func() { m.sim.Run(m.sim.Now().Add(time.Second)) }); n > 0 {
			t.Errorf("%s: %v allocations in a second", c.name, n)
		}
		if m.ok < 1000 || (m.late > 0) != (c.timeout < second) {
			t.Errorf("%s: %d acquires served, %d timed out", c.name, m.ok, m.late)
		}
		m.pool.Verify()
	}
}

func BenchmarkAcquireAndReturn(b *testing.B) {
	o := DefaultOptions()
	o.MaxConnections = 8
	m := newMill(100, o)
	m.sim.Run(sim.Time(time.Second))
	before, fired := m.ok, m.sim.Fired()
	b.ReportAllocs()
	for b.Loop() {
		m.sim.Run(m.sim.Now().Add(time.Second))
	}
	n := m.ok - before
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/acquire")
	b.ReportMetric(float64(m.sim.Fired()-fired)/float64(n), "events/acquire")
}
