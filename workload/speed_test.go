package workload

import (
	"testing"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// instant is a pool and a server that answer at once and cost next to nothing: what is left is the driver and the kernel.
type instant struct {
	pool.Pool
	sim *sim.Sim
}

type instantServer struct {
	server.Backend
	sim *sim.Sim
}

func (p *instant) Handle(sim.Event)                   {}
func (p *instant) Note(record.Fact)                   {}
func (p *instant) Session(pool.Conn) server.Session   { return 0 }
func (p *instant) Acquire(r pool.Request) pool.Ticket { p.sim.Answer(r.Reply, 0); return 0 }
func (p *instant) Cancel(pool.Ticket)                 { panic("nobody waits") }
func (p *instant) Return(_ pool.Conn, _ pool.End, r sim.Reply) {
	p.sim.Answer(r, 0)
}
func (p instantServer) Number(server.Session) int32 { return 1 }
func (p instantServer) Query(_ server.Session, _ *server.Query, _ int64, r sim.Reply) server.Op {
	p.sim.Answer(r, 0)
	return 0
}

// newInstant returns a driver on an instant pool, started.
func newInstant(o Options) (*sim.Sim, *Driver) {
	s := &sim.Sim{}
	p := &instant{sim: s}
	d := New(Env{Sim: s, Pool: p, Server: instantServer{sim: s}, Options: &server.Options{}, Sink: p, Seed: 1, Done: sim.Reply{To: sim.Nobody}}, o)
	d.Start()
	return s, d
}

func ptr[T any](v T) *T { return &v }

func query(d time.Duration) Step {
	return Step{Query: &server.QuerySpec{Service: dist.Fixed(d)}}
}

func call(d dist.Distribution) Step { return Step{Call: &d} }

func acquireStep() Step        { return Step{Acquire: &Acquire{}} }
func returnStep(r Return) Step { return Step{Return: &r} }

// openOptions is the workload of M1: poisson arrivals, one query each.
func openOptions() Options {
	return Options{
		Arrivals: &Arrivals{Poisson: ptr(dist.Rate(1280))},
		Request:  []Step{acquireStep(), query(5 * time.Millisecond), returnStep(Release)},
	}
}

func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	s, d := newInstant(openOptions())
	for d.next < int64(b.N) {
		s.RunSome(sim.Forever, 1000)
	}
}

// BenchmarkClosed has a think time, as time would stand still otherwise.
func BenchmarkClosed(b *testing.B) {
	b.ReportAllocs()
	s, _ := newInstant(Options{
		Clients: ptr(100), Think: dist.Fixed(time.Second),
		Request: []Step{acquireStep(), query(5 * time.Millisecond), returnStep(Release)},
	})
	for s.Fired() < 4*uint64(b.N) {
		s.RunSome(sim.Forever, 1000)
	}
}
