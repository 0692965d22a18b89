package server

import (
	"fmt"
	"strings"
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
)

// Fault is one thing that goes wrong. Exactly one of its effects is set: a window, which lasts from At for For, or an
// incident, which happens at At.
type Fault struct {
	At  time.Duration `yaml:"at" doc:"when, from the start; default 0"`
	For time.Duration `yaml:"for" doc:"how long, for the effects that last; by default to the end of the run; 0s in a file: not at all"`

	// Windows. Half-open: what happens exactly at At is struck, what happens exactly at At+For is not.
	Refuse         bool               `yaml:"refuse" doc:"connects that start in the interval are refused after refuse_after"`
	ConnectHang    bool               `yaml:"connect_hang" doc:"connects that start in the interval are accepted and never finish their handshake"`
	Error          bool               `yaml:"error" doc:"connects that would succeed in the interval fail with an error that is not worth a retry"`
	TransientError bool               `yaml:"transient_error" doc:"connects that would succeed in the interval fail with an error that is"`
	StartingUp     bool               `yaml:"starting_up" doc:"connects that would succeed in the interval fail with 57P03, cannot_connect_now"`
	AuthFailure    bool               `yaml:"auth_failure" doc:"connects that would succeed in the interval fail to authenticate"`
	Connect        *dist.Distribution `yaml:"connect" doc:"connects that start in the interval take so long"`
	Slow           float64            `yaml:"slow" doc:"query phases that start in the interval take so many times as long"`
	ReadOnly       bool               `yaml:"read_only" doc:"every query that starts in the interval fails: a standby, or a primary that was demoted; sessions and connects go on"`
	Stall          bool               `yaml:"stall" doc:"the server stands still: what it is at goes on at the end of the interval, and what comes meanwhile begins then"`
	Partition      bool               `yaml:"partition" doc:"nothing passes the network: what is sent or would be answered in the interval is at its end"`
	DropIdle       *DropIdle          `yaml:"drop_idle" doc:"a firewall forgets sessions that were idle for some time"`

	// Incidents.
	Restart   bool      `yaml:"restart" doc:"every session ends (57P01); connects are refused for the time of for (0: none)"`
	Terminate int       `yaml:"terminate" doc:"the server ends this many sessions (57P01), the oldest first"`
	Kill      int       `yaml:"kill" doc:"the session of this number, from 1, is gone without a word"`
	Failover  *Failover `yaml:"failover" doc:"another server takes over; connects are refused for the time of for (0: none)"`
}

// DropIdle is a firewall or load balancer that forgets a session once it was idle for longer than After. The next use finds
// out: it hangs for Hang, until the client's TCP gives up, or is reset at once.
type DropIdle struct {
	After time.Duration `yaml:"after" doc:"idle time that is forgotten, above 0"`
	Hang  time.Duration `yaml:"hang" doc:"how long the next use hangs (about 924s with the defaults of Linux); 0 (default) it is reset at once"`
}

// Failover says what becomes of the sessions of the server that is left.
type Failover struct {
	Hang     time.Duration `yaml:"hang" doc:"what is under way and the next use hang so long; 0 (default) they are reset at once"`
	ReadOnly bool          `yaml:"read_only" doc:"sessions live on at the old server, where every query fails; default false"`
}

// effect is a row of the table of effects.
type effect struct {
	name   string
	window bool // it lasts; otherwise it is an incident
	isSet  func(f *Fault) bool
	check  func(f *Fault, bad func(path, message string)) // of its own fields; may be nil
}

// effectID names an effect: its row.
type effectID uint8

const (
	refuse effectID = iota
	connectHang
	failError
	failTransient
	failStartingUp
	failAuth
	connectTime
	slow
	readOnly
	stall
	partition
	dropIdle
	restart
	terminate
	kill
	failover
	numEffects
)

var effects = [numEffects]effect{
	refuse:         {"refuse", true, func(f *Fault) bool { return f.Refuse }, nil},
	connectHang:    {"connect_hang", true, func(f *Fault) bool { return f.ConnectHang }, nil},
	failError:      {"error", true, func(f *Fault) bool { return f.Error }, nil},
	failTransient:  {"transient_error", true, func(f *Fault) bool { return f.TransientError }, nil},
	failStartingUp: {"starting_up", true, func(f *Fault) bool { return f.StartingUp }, nil},
	failAuth:       {"auth_failure", true, func(f *Fault) bool { return f.AuthFailure }, nil},
	connectTime: {"connect", true, func(f *Fault) bool { return f.Connect != nil }, func(f *Fault, bad func(string, string)) {
		f.Connect.Validate(under(bad, "connect"))
	}},
	slow: {"slow", true, func(f *Fault) bool { return f.Slow != 0 }, func(f *Fault, bad func(string, string)) {
		if !(f.Slow > 0 && f.Slow <= 1e6) {
			bad("slow", fmt.Sprintf("want a factor above 0 and at most 1e6, have %v", f.Slow))
		}
	}},
	stall:     {"stall", true, func(f *Fault) bool { return f.Stall }, nil},
	readOnly:  {"read_only", true, func(f *Fault) bool { return f.ReadOnly }, nil},
	partition: {"partition", true, func(f *Fault) bool { return f.Partition }, nil},
	dropIdle: {"drop_idle", true, func(f *Fault) bool { return f.DropIdle != nil }, func(f *Fault, bad func(string, string)) {
		if f.DropIdle.After <= 0 {
			bad("drop_idle.after", fmt.Sprintf("want a duration above 0, have %v", f.DropIdle.After))
		}
		if f.DropIdle.Hang < 0 {
			bad("drop_idle.hang", fmt.Sprintf("want a duration that is not negative, have %v", f.DropIdle.Hang))
		}
	}},
	restart: {"restart", false, func(f *Fault) bool { return f.Restart }, nil},
	terminate: {"terminate", false, func(f *Fault) bool { return f.Terminate != 0 }, func(f *Fault, bad func(string, string)) {
		if f.Terminate < 0 {
			bad("terminate", fmt.Sprintf("want a number of sessions, have %d", f.Terminate))
		}
		noFor(f, "terminate", bad)
	}},
	kill: {"kill", false, func(f *Fault) bool { return f.Kill != 0 }, func(f *Fault, bad func(string, string)) {
		if f.Kill < 0 {
			bad("kill", fmt.Sprintf("want the number of a session, from 1, have %d", f.Kill))
		}
		noFor(f, "kill", bad)
	}},
	failover: {"failover", false, func(f *Fault) bool { return f.Failover != nil }, func(f *Fault, bad func(string, string)) {
		switch {
		case f.Failover.Hang < 0:
			bad("failover.hang", fmt.Sprintf("want a duration that is not negative, have %v", f.Failover.Hang))
		case f.Failover.Hang > 0 && f.Failover.ReadOnly:
			bad("failover", "want one of hang and read_only")
		}
	}},
}

func noFor(f *Fault, name string, bad func(path, message string)) {
	if f.For != 0 {
		bad("for", fmt.Sprintf("%s happens at one instant; it takes no for", name))
	}
}

func (f *Fault) validate(bad func(path, message string)) {
	if f.At < 0 {
		bad("at", fmt.Sprintf("want a duration that is not negative, have %v", f.At))
	}
	if f.For < 0 {
		bad("for", fmt.Sprintf("want a duration that is not negative, have %v", f.For))
	}
	var set, all []string
	for i := range effects {
		e := &effects[i]
		all = append(all, e.name)
		if !e.isSet(f) {
			continue
		}
		set = append(set, e.name)
		if e.check != nil {
			e.check(f, bad)
		}
	}
	switch len(set) {
	case 0:
		bad("", "want one of "+strings.Join(all, ", "))
	case 1:
	default:
		bad("", "want one effect a fault, have "+strings.Join(set, " and "))
	}
}

// compiled is a fault of the timeline.
type compiled struct {
	*Fault
	struck bool // it has had an effect
}

// window is an effect that lasts, from included, to excluded.
type window struct {
	from, to sim.Time
	fault    *compiled
	connect  latency // of connectTime
}

// incident is an effect of one instant, or one end of a window.
type incident struct {
	effect effectID
	fault  *compiled
	over   bool     // the window ends
	until  sim.Time // of a stall
}

// addFaults compiles the timeline: windows are looked up when they may count, incidents are events.
func (s *Server) addFaults() {
	s.faults = make([]compiled, len(s.opts.Faults))
	for i := range s.faults {
		f := &s.faults[i]
		f.Fault = &s.opts.Faults[i]
		for id := range numEffects {
			e := &effects[id]
			if !e.isSet(f.Fault) {
				continue
			}
			from, to := sim.Time(0).Add(f.At), sim.Forever
			if f.For > 0 {
				to = from.Add(f.For)
			}
			if id == readOnly {
				s.switches(f, from, to)
				continue
			}
			if id == stall {
				s.incident(from, incident{effect: stall, fault: f, until: to})
				continue
			}
			if e.window {
				w := window{from: from, to: to, fault: f}
				if id == connectTime {
					w.connect = newLatency(s.sim, *f.Connect, s.opts.TimerOverhead)
				}
				s.windows[id] = append(s.windows[id], w)
				continue
			}
			s.incident(from, incident{effect: id, fault: f})
			if f.For > 0 && (id == restart || id == failover) {
				s.windows[refuse] = append(s.windows[refuse], window{from: from, to: to, fault: f})
			}
		}
	}
}

// incident lets something happen at a time.
func (s *Server) incident(at sim.Time, i incident) {
	s.incidents = append(s.incidents, i)
	s.sim.At(at, sim.Event{To: s.id, Kind: incidentDue, A: int32(len(s.incidents) - 1)})
}

// switches compiles a window during which the sessions are in another state: only its ends are looked at, not each use.
func (s *Server) switches(f *compiled, from, to sim.Time) {
	i := incident{effect: readOnly, fault: f}
	s.incident(from, i)
	if to < sim.Forever {
		i.over = true
		s.incident(to, i)
	}
}

// during returns the window of an effect that is open now and so has its effect, nil if there is none. Of several the first listed
// counts.
func (s *Server) during(id effectID) *window {
	w := s.openNow(id)
	if w != nil {
		w.fault.struck = true
	}
	return w
}

// openNow returns it for who only looks.
func (s *Server) openNow(id effectID) *window {
	now := s.sim.Now()
	for i := range s.windows[id] {
		if w := &s.windows[id][i]; w.from <= now && now < w.to {
			return w
		}
	}
	return nil
}

// failures of a connect that would succeed, in the order in which they are looked at.
var failures = []struct {
	effect  effectID
	outcome record.Outcome
}{
	{failError, record.OtherError},
	{failAuth, record.AuthFailed},
	{failStartingUp, record.CannotConnectNow},
	{failTransient, record.TransientError},
}

// Struck reports whether the fault of a place in Options.Faults has had an effect so far.
func (s *Server) Struck(fault int) bool { return s.faults[fault].struck }

// happen lets an incident happen.
func (s *Server) happen(i incident) {
	if i.effect != stall && (s.stats.Open > 0 || len(s.ops) > len(s.freeOps)) { // sessions, or connects under way
		i.fault.struck = true
	}
	switch i.effect {
	case restart:
		s.killAll(record.AdminShutdown, 0)
		s.failConnects()
	case terminate:
		for _, ses := range s.oldest(i.fault.Terminate) {
			s.kill(ses, record.AdminShutdown, 0)
		}
	case kill:
		s.Kill(int32(i.fault.Kill))
	case stall:
		s.standStill(i.fault, i.until)
	case readOnly:
		if i.over {
			s.readOnly--
		} else {
			s.readOnly++
		}
		s.setReadOnly(s.readOnly > 0)
	case failover:
		if i.fault.Failover.ReadOnly {
			s.setReadOnly(true)
			break
		}
		s.killAll(record.ConnectionReset, i.fault.Failover.Hang)
		s.failConnects()
	}
	s.dispatch()
}

// standStill lets the server stand still until a time: whatever it is at is put off. What begins meanwhile is put off where it begins.
func (s *Server) standStill(f *compiled, until sim.Time) {
	now := s.sim.Now()
	longer := until.Sub(max(now, s.stalledUntil))
	if longer <= 0 {
		return
	}
	for o := range s.ops {
		p := &s.ops[o]
		if p.timer != (sim.Timer{}) && p.needsServer() {
			f.struck = true
			s.wake(p)
			s.sleepFor(Op(o), p, p.stage, p.due.Add(longer).Sub(now))
		}
	}
	s.stalledUntil, s.stalledBy = until, f
	if s.shared.used {
		f.struck = f.struck || len(s.shared.heap) > 0
		s.shared.advance()
		s.shared.since = until
		s.shared.rearm()
	}
}

// needsServer reports whether the present wait of an operation is for something that the server does.
func (p *operation) needsServer() bool {
	switch p.stage {
	case running, waiting:
		return true
	case travelling, ending:
		return (p.kind == opConnect || p.kind == opPing) && p.outcome == record.OK
	}
	return false
}

// stalls reports whether the server stands still, for what would begin now.
func (s *Server) stalls() bool {
	if s.stalledUntil <= s.sim.Now() {
		return false
	}
	s.stalledBy.struck = true
	return true
}

// stalledFor returns how long the server goes on standing still.
func (s *Server) stalledFor() time.Duration { return max(s.stalledUntil.Sub(s.sim.Now()), 0) }
