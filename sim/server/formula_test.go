package server

import (
	"math"
	"testing"
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/simtest"
)

// source sends queries to a server at the times of a Poisson process, each on a session of its own.
type source struct {
	sim      *sim.Sim
	id       sim.ActorID
	srv      *Server
	q        *Query
	gaps     sim.Sampler
	arrivals sim.Stream
	began    []sim.Time      // of the query on each session
	needs    []time.Duration // its service time
	free     []Session
	sent     int64
	limit    int64
	sojourn  []time.Duration
	waited   []time.Duration
	work     []time.Duration // service times
	stretch  []float64       // sojourn over service time
	service  sim.Sampler
}

const (
	start sim.Kind = iota
	arrive
	opened
	done
)

func (s *source) Note(f record.Fact) {
	if f.Kind == record.QueryBegan {
		s.waited = append(s.waited, f.Took)
	}
}

func (s *source) Handle(ev sim.Event) {
	switch ev.Kind {
	case start:
		for range 3000 {
			s.srv.Connect(Caller{}, sim.Reply{To: s.id, Kind: opened})
		}
		s.sim.Soon(sim.Event{To: s.id, Kind: arrive})
	case opened:
		s.free = append(s.free, Session(ev.B))
		s.began, s.needs = append(s.began, 0), append(s.needs, 0)
	case arrive:
		if s.sent == s.limit {
			return
		}
		ses := s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		s.began[ses] = s.sim.Now()
		s.srv.Query(ses, s.q, s.sent, sim.Reply{To: s.id, Kind: done, A: int32(ses)})
		r := s.srv.services.At(s.sent) // the draw that the server makes
		s.needs[ses] = s.service.Sample(&r)
		s.work = append(s.work, s.needs[ses])
		s.sent++
		r = s.arrivals.At(s.sent)
		s.sim.After(s.gaps.Sample(&r), sim.Event{To: s.id, Kind: arrive})
	case done:
		sojourn := s.sim.Now().Sub(s.began[ev.A])
		s.sojourn = append(s.sojourn, sojourn)
		s.stretch = append(s.stretch, float64(sojourn)/float64(s.needs[ev.A]))
		s.free = append(s.free, Session(ev.A))
	}
}

// offer sends n queries of the given mean distance to a server.
func offer(o Options, service dist.Distribution, distance time.Duration, n int64) *source {
	s := &source{sim: new(sim.Sim), limit: n, gaps: dist.Distribution{Exponential: &dist.Exponential{Mean: distance}}.Sampler(), arrivals: sim.NewStream(1, "arrivals")}
	s.id = s.sim.Add(s)
	s.srv = New(s.sim, s, 1, o)
	s.service = service.Sampler()
	s.q = s.srv.Compile(&QuerySpec{Service: service})
	s.sim.Soon(sim.Event{To: s.id, Kind: start})
	s.sim.Run(sim.Forever)
	return s
}

// near checks a mean against what a formula says: within 4 standard errors by the method of batch means, and these small.
func near(t *testing.T, what string, values []float64, want float64) {
	t.Helper()
	const batches = 25
	size := len(values) / batches
	var means []float64
	total := 0.0
	for b := range batches {
		sum := 0.0
		for _, v := range values[b*size : (b+1)*size] {
			sum += v
		}
		means = append(means, sum/float64(size))
		total += sum / float64(size)
	}
	mean, ss := total/batches, 0.0
	for _, m := range means {
		ss += (m - mean) * (m - mean)
	}
	se := math.Sqrt(ss / (batches - 1) / batches)
	t.Logf("%s: %.5g +- %.2g, the formula says %.5g", what, mean, se, want)
	if se > 0.04*want {
		t.Errorf("%s: a standard error of %.3g says nothing about %.5g", what, se, want)
	}
	if math.Abs(mean-want) > 4*se {
		t.Errorf("%s: have %.5g +- %.2g, want %.5g", what, mean, se, want)
	}
}

func millis(ds []time.Duration) []float64 {
	var ms []float64
	for _, d := range ds {
		ms = append(ms, float64(d)/1e6)
	}
	return ms
}

func TestFormulas(t *testing.T) {
	ms := time.Millisecond
	exponential := func(mean time.Duration) dist.Distribution {
		return dist.Distribution{Exponential: &dist.Exponential{Mean: mean}}
	}
	const n = 400_000
	t.Run("MMc", func(t *testing.T) {
		s := offer(Options{Cores: 8}, exponential(5*ms), 781250*time.Nanosecond, n) // 8 cores at 0.8
		wait := simtest.ErlangC(8, 6.4) * 5 / (8 - 6.4)
		if math.Abs(wait-1.4301) > 1e-4 {
			t.Fatalf("Erlang C gives a mean wait of %v", wait)
		}
		near(t, "mean wait (ms)", millis(s.waited), wait)
		near(t, "mean sojourn (ms)", millis(s.sojourn), wait+5)
		var late []float64 // share of waits above the 99th percentile, 11.95 ms
		for _, w := range s.waited {
			if w > 11950*time.Microsecond {
				late = append(late, 1)
			} else {
				late = append(late, 0)
			}
		}
		if got := mean(late); math.Abs(got-0.01) > 0.0015 {
			t.Errorf("%.4f of the waits are above 11.95ms, want 0.01", got)
		}
		utilisation(t, s, 0.8)
	})
	t.Run("MD1", func(t *testing.T) { // Pollaczek and Khinchine
		s := offer(Options{Cores: 1}, dist.Fixed(5*ms), 7*ms, n)
		rho := 5.0 / 7
		near(t, "mean wait (ms)", millis(s.waited), 5*rho/2/(1-rho))
		utilisation(t, s, rho)
	})
	heavy := dist.Distribution{Lognormal: &dist.Lognormal{Mean: ptr(5 * ms), CV: ptr(1.5)}}
	for _, c := range []struct {
		name    string
		service dist.Distribution
	}{{"constant", dist.Fixed(5 * ms)}, {"exponential", exponential(5 * ms)}, {"lognormal", heavy}} {
		// The mean sojourn time of processor sharing depends on the mean of the service time alone, and a job of x takes
		// x/(1-rho) on average (Kleinrock 1967).
		t.Run("MG1-PS/"+c.name, func(t *testing.T) {
			s := offer(Options{Cores: 1, Discipline: Sharing}, c.service, 8*ms, n)
			near(t, "mean sojourn (ms)", millis(s.sojourn), 5/(1-5.0/8))
			near(t, "mean stretch", s.stretch, 1/(1-5.0/8))
			utilisation(t, s, 5.0/8)
		})
		// With several cores the number at the server is distributed as in M/M/c, whatever the service times (Kelly 1979).
		t.Run("MGc-PS/"+c.name, func(t *testing.T) {
			s := offer(Options{Cores: 4, Discipline: Sharing}, c.service, 1600*time.Microsecond, n)
			a := 5.0 / 1.6
			near(t, "mean sojourn (ms)", millis(s.sojourn), 5+simtest.ErlangC(4, a)*5/(4-a))
			utilisation(t, s, a/4)
		})
	}
	t.Run("USL", func(t *testing.T) { // n clients without a limit of cores: n/(1 + sigma(n-1) + kappa n(n-1)) times as fast as one
		for _, clients := range []int{1, 4, 30} {
			for _, d := range []Discipline{FIFO, Sharing} {
				l := newLooper(Options{Discipline: d, Contention: Contention{Sigma: 0.05, Kappa: 0.002}}, fixed5, clients)
				l.run(20000)
				x := float64(clients)
				want := x / (1 + 0.05*(x-1) + 0.002*x*(x-1))
				if got := 20000 / (float64(l.sim.Now()) / 5e6); math.Abs(got/want-1) > 2e-3 {
					t.Errorf("%v clients, %v: %.4f times as fast as one, want %.4f", clients, d, got, want)
				}
			}
		}
	})
}

func ptr[T any](v T) *T { return &v }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// utilisation checks the busy time of the cores: exactly the work done, and near the offered load (the utilisation law).
func utilisation(t *testing.T, s *source, want float64) {
	t.Helper()
	st := s.srv.Stats()
	var work time.Duration
	for _, w := range s.work {
		work += w
	}
	if s.srv.shared.used {
		// An end falls on the next whole nanosecond, so that each end may keep a core for up to one more.
		if st.Busy < work || st.Busy > work+time.Duration(len(s.work)*s.srv.Cores()) {
			t.Errorf("the cores were busy for %v, the work was %v", st.Busy, work)
		}
	} else if st.Busy != work {
		t.Errorf("the cores were busy for %v, the work was %v", st.Busy, work)
	}
	if got := float64(st.Busy) / float64(s.srv.Cores()) / float64(s.sim.Now()); math.Abs(got/want-1) > 0.02 {
		t.Errorf("the cores were used to %.4f, want %.4f", got, want)
	}
}
