package server

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
)

// mistakes collects the paths that a Validate reports.
func mistakes(t *testing.T, validate func(bad func(path, message string))) string {
	t.Helper()
	var paths []string
	validate(func(path, message string) {
		if message == "" {
			t.Errorf("%s: no message", path)
		}
		if path == "" {
			path = "-"
		}
		paths = append(paths, path)
	})
	return strings.Join(paths, " ")
}

func TestValidateOptions(t *testing.T) {
	bad := dist.Fixed(-1)
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{Cores: -1, ConnectionLimit: -1, SuperuserReserved: -1, Reserved: -2}, "cores connection_limit superuser_reserved reserved"},
		{Options{Cores: 1 << 21}, "cores"},
		{Options{ConnectionLimit: 4, SuperuserReserved: 2, Reserved: 2}, "connection_limit"},
		{Options{Reserved: 2}, "connection_limit"},
		{Options{ConnectionLimit: 5, SuperuserReserved: 2, Reserved: 2}, ""},
		{Options{Roles: []Role{{Name: "a"}, {Name: "", Limit: -1}, {Name: "a"}}}, "roles[1].name roles[1].limit roles[2].name"},
		{Options{Connect: bad, LoginCPU: bad, Close: bad, CloseHard: bad, Ping: bad, RoundTrip: bad},
			"connect.constant login_cpu.constant close.constant close_hard.constant ping.constant round_trip.constant"},
		{Options{ConnectPlan: []time.Duration{1, -1}, RefuseAfter: -1, TimerOverhead: -1, StatementTimeout: -1},
			"connect_plan[1] refuse_after timer_overhead statement_timeout"},
		{Options{Contention: Contention{Sigma: math.NaN(), Kappa: 2}}, "contention.sigma contention.kappa"},
		{Options{Faults: []Fault{{}, {Refuse: true}, {Refuse: true, Stall: true}}}, "faults[0] faults[2]"},
		{Options{Faults: []Fault{{At: -1, For: -1, Partition: true}}}, "faults[0].at faults[0].for"},
		{Options{Faults: []Fault{{Connect: &bad}, {Slow: -1}, {Slow: math.Inf(1)}, {Slow: math.NaN()}}},
			"faults[0].connect.constant faults[1].slow faults[2].slow faults[3].slow"},
		{Options{Faults: []Fault{{DropIdle: &DropIdle{Hang: -1}}}}, "faults[0].drop_idle.after faults[0].drop_idle.hang"},
		{Options{Faults: []Fault{{Terminate: -1}, {Kill: -1}, {Kill: 1, For: 5}, {Terminate: 1, For: 5}}},
			"faults[0].terminate faults[1].kill faults[2].for faults[3].for"},
		{Options{Faults: []Fault{{Failover: &Failover{Hang: -1}}, {Failover: &Failover{Hang: 1, ReadOnly: true}}}}, "faults[0].failover.hang faults[1].failover"},
		{Options{Faults: []Fault{{Restart: true, For: 5}, {Failover: &Failover{}}, {Error: true}, {TransientError: true}, {StartingUp: true}, {AuthFailure: true}}}, ""},
	} {
		if got := mistakes(t, c.o.Validate); got != c.want {
			t.Errorf("%+v: mistakes at %q, want %q", c.o, got, c.want)
		}
	}
}

func TestValidateQuery(t *testing.T) {
	fine, bad := dist.Fixed(5), dist.Fixed(-1)
	for _, c := range []struct {
		q    QuerySpec
		want string
	}{
		{QuerySpec{}, ""},
		{QuerySpec{Service: fine}, ""},
		{QuerySpec{Service: bad}, "constant"},
		{QuerySpec{Phases: []Phase{}}, "phases"},
		{QuerySpec{Service: fine, Phases: []Phase{{CPU: &fine}}}, "phases"},
		{QuerySpec{Phases: []Phase{{}, {CPU: &fine, IO: &fine}, {CPU: &bad}, {IO: &bad, Chance: ptr(dist.Probability(2))}}},
			"phases[0] phases[1] phases[2].cpu.constant phases[3].io.constant phases[3].chance"},
	} {
		if got := mistakes(t, c.q.Validate); got != c.want {
			t.Errorf("%+v: mistakes at %q, want %q", c.q, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	var d Discipline
	for text, want := range map[string]Discipline{"fifo": FIFO, "sharing": Sharing} {
		if err := d.UnmarshalText([]byte(text)); err != nil || d != want || d.String() != text {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
	var e LimitError
	for text, want := range map[string]LimitError{"53300": Error53300, "1040": Error1040} {
		if err := e.UnmarshalText([]byte(text)); err != nil || e != want || e.String() != text {
			t.Errorf("%s: %v, %v", text, e, err)
		}
	}
	var q QuerySpec
	if err := q.UnmarshalText([]byte("5ms")); err != nil || *q.Service.Constant != 5*time.Millisecond {
		t.Errorf("%+v, %v", q, err)
	}
	for _, text := range []string{"", "lifo", "FIFO", "-5ms", "0"} {
		if d.UnmarshalText([]byte(text)) == nil || e.UnmarshalText([]byte(text)) == nil || q.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func TestRoles(t *testing.T) {
	o := Options{Roles: []Role{{Name: "app"}, {Name: "admin"}}}
	for name, want := range map[string]int16{"": 0, "app": 1, "admin": 2, "other": -1} {
		if got, ok := o.Role(name); ok != (want >= 0) || ok && got != want {
			t.Errorf("role %q is %d, %v; want %d", name, got, ok, want)
		}
	}
}

// TestMisuse: a caller's mistake is a panic that names it, not a wrong result.
func TestMisuse(t *testing.T) {
	nobody := sim.Reply{To: sim.Nobody}
	for name, use := range map[string]func(s *Server){
		"a session that does not exist": func(s *Server) { s.Number(3) },
		"an operation that is over":     func(s *Server) { s.Abort(0) },
		"a session in use":              func(s *Server) { s.Ping(0, nobody); s.Ping(0, nobody) },
		"a session that ended":          func(s *Server) { s.Drop(0, 0); s.Drop(0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLooper(Options{}, fixed5, 1)
			defer func() {
				if m, ok := recover().(string); !ok || !strings.HasPrefix(m, "server: ") {
					t.Errorf("panic %q", m)
				}
			}()
			use(l.srv)
		})
	}
}

// TestExtremes: times at the end of what can be counted neither overflow nor keep a run from ending.
func TestExtremes(t *testing.T) {
	long := QuerySpec{Service: dist.Distribution{Uniform: &dist.Uniform{Min: dist.Max / 2, Max: dist.Max}}}
	longest := dist.Fixed(dist.Max)
	for name, o := range map[string]Options{
		"fifo":       {Cores: 1},
		"no limit":   {},
		"sharing":    {Cores: 1, Discipline: Sharing},
		"contention": {Contention: Contention{Sigma: 1, Kappa: 1}},
		"both":       {Cores: 2, Discipline: Sharing, Contention: Contention{Sigma: 1, Kappa: 1}},
		"slow":       {Faults: []Fault{{Slow: 1e6}}},
		"overhead":   {Ping: longest, RoundTrip: longest, TimerOverhead: dist.Max},
		"late":       {Faults: []Fault{{At: dist.Max, For: dist.Max, Restart: true}, {At: 1, For: dist.Max, Partition: true}}},
		"timeout":    {StatementTimeout: dist.Max},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLooper(o, long, 4)
			l.stop = 8
			for n := 0; !l.sim.RunSome(sim.Forever, 1); n++ {
				verify(t, l.srv)
				if n > 1000 {
					t.Fatal("no end")
				}
			}
			if st := l.srv.Stats(); st.Busy < 0 {
				t.Errorf("busy for %v", st.Busy)
			}
		})
	}
}

// TestSameLuck: a query of a number takes the same time, whoever sends it when; a ping draws from a distribution of its own.
func TestSameLuck(t *testing.T) {
	times := func(cores int, order []int64) map[int64]time.Duration {
		c := newTalk(t)
		c.srv = New(c.sim, c, 7, Options{Cores: cores, Ping: exponential5.Service, RoundTrip: exponential5.Service})
		c.backend = c.srv
		q := c.srv.Compile(&exponential5)
		c.do("connect a")
		took := map[int64]time.Duration{}
		for i, n := range order {
			if i%3 == 0 {
				c.do("ping a")
				c.sim.Run(sim.Forever)
			}
			began := c.sim.Now()
			c.srv.Query(c.sessions["a"], q, n, c.reply("a", opDone))
			c.sim.Run(sim.Forever)
			took[n] = c.sim.Now().Sub(began)
		}
		return took
	}
	first, second := times(0, []int64{1, 2, 3, 4, 5}), times(1, []int64{5, 3, 1, 4, 2})
	if !maps.Equal(first, second) {
		t.Errorf("the queries took %v, and in another order %v", first, second)
	}
	if len(slices.Compact(slices.Sorted(maps.Values(first)))) != 5 {
		t.Errorf("the queries took %v, want five different times", first)
	}
}

// TestSaturation: what would be longer than can be counted is the longest there is.
func TestSaturation(t *testing.T) {
	s := New(new(sim.Sim), nowhere{}, 1, Options{Contention: Contention{Sigma: 1}})
	s.shared.atServer = 3 // a factor of 1 + (3-1)
	for _, c := range []struct{ got, want time.Duration }{
		{times(2, 2.5), 5},
		{times(dist.Max, 1e6), dist.Max},
		{times(dist.Max, 1), dist.Max},
		{plus(2, 3), 5},
		{plus(dist.Max, 1), dist.Max},
		{plus(dist.Max, dist.Max), dist.Max},
		{s.shared.slowed(10), 30},
		{s.shared.slowed(dist.Max / 2), dist.Max},
		{s.shared.slowed(dist.Max), dist.Max},
		{time.Duration(product(1<<30, 1<<31)), 1 << 61},
		{time.Duration(product(1<<40, 1<<40)), 1 << 62},
		{time.Duration(saturated(1<<62, 1<<31, 1<<30)), 1 << 62},
	} {
		if c.got != c.want {
			t.Errorf("have %d, want %d", c.got, c.want)
		}
	}
	var c cores
	for range 10 {
		c.take(0)
	}
	c.count(sim.Forever-1, 0)
	if c.area != dist.Max {
		t.Errorf("10 cores busy to the end of time: %v", c.area)
	}
}
