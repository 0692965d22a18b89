package server

import (
	"math"
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
