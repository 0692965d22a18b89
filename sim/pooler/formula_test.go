package pooler

import (
	"math"
	"testing"
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
	"poolwise/sim/simtest"
)

// arrivals sends queries through a pooler at the times of a Poisson process, each as a client of its own.
type arrivals struct {
	sim    *sim.Sim
	id     sim.ActorID
	pooler *Pooler
	query  *server.Query
	gaps   sim.Sampler
	random sim.Stream
	free   []server.Session
	sent   int64
	limit  int64
	waits  []time.Duration // for a server connection
	busy   time.Duration   // server connections in use, summed over time
	inUse  int
	since  sim.Time
}

const (
	opens sim.Kind = iota
	enters
	arrives
	leaves // A: session
)

func (s *arrivals) Note(f record.Fact) {
	if f.Kind != record.PoolerMoved {
		return
	}
	s.busy += s.sim.Now().Sub(s.since) * time.Duration(s.inUse)
	s.since = s.sim.Now()
	if f.Move.From() == record.InUse {
		s.inUse--
	}
	if f.Move.To() == record.InUse {
		s.inUse++
		s.waits = append(s.waits, f.Took)
	}
}

func (s *arrivals) Handle(ev sim.Event) {
	switch ev.Kind {
	case opens:
		for range s.pooler.o.MaxClientConnections {
			s.pooler.Connect(server.Caller{}, sim.Reply{To: s.id, Kind: enters})
		}
	case enters:
		s.free = append(s.free, server.Session(ev.B))
		if len(s.free) == s.pooler.o.MaxClientConnections {
			s.sim.Soon(sim.Event{To: s.id, Kind: arrives})
		}
	case arrives:
		if s.sent == s.limit {
			return
		}
		ses := s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		s.pooler.Query(ses, s.query, s.sent, sim.Reply{To: s.id, Kind: leaves, A: int32(ses)})
		s.sent++
		r := s.random.At(s.sent)
		s.sim.After(s.gaps.Sample(&r), sim.Event{To: s.id, Kind: arrives})
	case leaves:
		s.free = append(s.free, server.Session(ev.A))
	}
}

// TestMMc: clients whose queries come as a Poisson process and take exponential times find the server connections of a pooler as
// customers the servers of M/M/c: the mean wait is that of Erlang's C formula, and the mean number in use is the offered load.
func TestMMc(t *testing.T) {
	const c, n = 8, 400_000
	service, gap := 5*time.Millisecond, 781250*time.Nanosecond // 8 server connections, used to 0.8
	exponential := func(mean time.Duration) dist.Distribution {
		return dist.Distribution{Exponential: &dist.Exponential{Mean: mean}}
	}
	o := DefaultOptions()
	o.Mode, o.DefaultPoolSize, o.ConnectsAtOnce, o.MaxClientConnections = TransactionMode, c, c, 2000
	s := &arrivals{sim: new(sim.Sim), gaps: exponential(gap).Sampler(), random: sim.NewStream(1, "arrivals"), limit: n}
	s.id = s.sim.Add(s)
	srv := server.New(s.sim, nowhere{}, 1, server.Options{})
	s.pooler = New(s.sim, s, 1, srv, o)
	s.query = srv.Compile(&server.QuerySpec{Service: exponential(service)})
	s.sim.Soon(sim.Event{To: s.id, Kind: opens})
	s.sim.Run(sim.Forever)

	if len(s.waits) != n {
		t.Fatalf("%d queries were served, of %d", len(s.waits), n)
	}
	load := float64(service) / float64(gap)
	wait := simtest.ErlangC(c, load) * 5 / (c - load)
	if math.Abs(wait-1.4301) > 1e-4 { // as published tables have it
		t.Fatalf("Erlang C gives a mean wait of %v", wait)
	}
	var batch [25]float64 // means, in ms
	for i, w := range s.waits {
		batch[i*len(batch)/n] += float64(w) / 1e6 / (n / float64(len(batch)))
	}
	mean, ss := 0.0, 0.0
	for _, b := range batch {
		mean += b / float64(len(batch))
	}
	for _, b := range batch {
		ss += (b - mean) * (b - mean)
	}
	se := math.Sqrt(ss / float64(len(batch)-1) / float64(len(batch)))
	t.Logf("mean wait %.4f +- %.4f ms, the formula says %.4f", mean, se, wait)
	if se > 0.04*wait || math.Abs(mean-wait) > 4*se {
		t.Errorf("mean wait %.4f +- %.4f ms, want %.4f", mean, se, wait)
	}
	if got := float64(s.busy) / (n * float64(gap)); math.Abs(got/load-1) > 0.02 {
		t.Errorf("%.3f server connections were in use on average, want %.3f", got, load)
	}
	if st := srv.Stats(); st.PeakOpen != c {
		t.Errorf("%d sessions at the server, want %d", st.PeakOpen, c)
	}
}

// TestManyClientsFewServerConnections: 500 clients, each with a query at the same instant, on 30 server connections: all are served,
// in 17 rounds of 30, and the server never sees more than 30 sessions.
func TestManyClientsFewServerConnections(t *testing.T) {
	o := DefaultOptions()
	o.Mode, o.MaxClientConnections, o.DefaultPoolSize, o.ConnectsAtOnce = TransactionMode, 500, 30, 30
	w := newCrowd(server.Options{ConnectionLimit: 200}, o, 500, nil)
	served, last := 0, sim.Time(0)
	w.then = func(int32) { served, last = served+1, w.sim.Now() }
	w.sim.Check = w.pooler.Verify
	for i := range int32(500) {
		w.query(sim.Time(time.Second), i, 10*time.Millisecond)
	}
	w.sim.Run(sim.Time(time.Minute))
	if served != 500 || w.failed != nil {
		t.Errorf("%d were served, %d failed: %v", served, len(w.failed), w.failed)
	}
	if st := w.srv.Stats(); st.PeakOpen != 30 || st.Refused != 0 {
		t.Errorf("%d sessions at the server, want 30; %d refused", st.PeakOpen, st.Refused)
	}
	if want := sim.Time(time.Second + 17*10*time.Millisecond); last != want { // 500/30 rounded up
		t.Errorf("the last was served at %v, want %v", last, want)
	}
}

// TestGrowthAtTicks: 64 clients of a pooler in mode session that opens one server connection a tick and lets nobody wait for more than
// 5 s. With a tick of 333 ms the one that it has and those of 15 ticks serve 16 of them; with one of 25 ms, all (200 ticks).
func TestGrowthAtTicks(t *testing.T) {
	for _, c := range []struct {
		every time.Duration
		want  int
	}{{333 * time.Millisecond, 1 + 5000/333}, {25 * time.Millisecond, 64}} {
		o := DefaultOptions()
		wait := 5 * time.Second
		o.DefaultPoolSize, o.ConnectEvery, o.QueryWaitTimeout = 100, c.every, &wait
		w := newCrowd(server.Options{}, o, 64, nil)
		w.then = func(int32) {}
		w.sim.Run(sim.Time(c.every)) // the first server connection
		for i := range int32(64) {
			w.query(sim.Time(c.every), i, time.Millisecond)
		}
		w.sim.Run(sim.Time(time.Minute))
		if got := 64 - len(w.failed); got != c.want {
			t.Errorf("tick %v: %d of 64 were served, want %d", c.every, got, c.want)
		}
		for _, out := range w.failed {
			if out != record.QueueTimeout {
				t.Errorf("tick %v: a client failed with %v", c.every, out)
			}
		}
	}
}

// TestLoginsOneAfterTheOther: 7,000 connects a second to a pooler that can log in 4,800, by clients that give up after 5 s. The backlog
// grows by 2,200 a second, so that waits reach 5 s after 5 s * 4800/2200 = 10.9 s; from then on the pooler works for clients that
// have gone. At 7,200 logins a second nobody gives up.
func TestLoginsOneAfterTheOther(t *testing.T) {
	for _, c := range []struct {
		rate int
		late time.Duration // when the first client comes that will give up; 0 for nobody
	}{{4800, 10909 * time.Millisecond}, {7200, 0}} {
		o := DefaultOptions()
		o.MaxClientConnections, o.ClientLogin = 1_000_000, dist.Fixed(time.Second/time.Duration(c.rate))
		w := &knocker{sim: new(sim.Sim)}
		w.id = w.sim.Add(w)
		w.pooler = New(w.sim, nowhere{}, 1, server.New(w.sim, nowhere{}, 1, server.Options{}), o)
		w.sim.At(0, sim.Event{To: w.id, Kind: knocks})
		w.sim.Run(sim.Time(30 * time.Second))
		if c.late == 0 {
			if w.gaveUp != 0 {
				t.Errorf("%d logins a second: %d clients gave up", c.rate, w.gaveUp)
			}
			continue
		}
		if math.Abs(float64(w.first)/float64(c.late)-1) > 0.01 {
			t.Errorf("%d logins a second: the first who gives up comes at %v, want about %v", c.rate, w.first, c.late)
		}
		if w.in > 4800*16 { // those who came before, and none after: 4,800 a second up to 15.9 s
			t.Errorf("%d logins a second: %d are in", c.rate, w.in)
		}
	}
}

// knocker connects 7,000 times a second, up to 25 s, and gives up a connect after 5 s.
type knocker struct {
	sim    *sim.Sim
	id     sim.ActorID
	pooler *Pooler
	ops    []server.Op
	inside []bool
	in     int
	gaveUp int
	first  time.Duration // when the first came who gave up
}

const (
	knocks  sim.Kind = iota
	letIn            // A: number
	goesOff          // A: number
)

const between = time.Second / 7000

func (k *knocker) Handle(ev sim.Event) {
	switch ev.Kind {
	case knocks:
		n := int32(len(k.ops))
		k.inside = append(k.inside, false)
		k.ops = append(k.ops, k.pooler.Connect(server.Caller{}, sim.Reply{To: k.id, Kind: letIn, A: n}))
		k.sim.After(5*time.Second, sim.Event{To: k.id, Kind: goesOff, A: n})
		if k.sim.Now() < sim.Time(25*time.Second) {
			k.sim.After(between, sim.Event{To: k.id, Kind: knocks})
		}
	case letIn:
		k.inside[ev.A] = true
		k.in++
	case goesOff:
		if k.inside[ev.A] {
			return
		}
		if k.gaveUp == 0 {
			k.first = time.Duration(k.sim.Now()) - 5*time.Second
		}
		k.gaveUp++
		k.pooler.Abort(k.ops[ev.A])
	}
}
