package server

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/simtest"
)

// talk is one conversation with a server. Every fact and every answer is a line of it.
type talk struct {
	t        *testing.T
	script   simtest.Script
	sim      *sim.Sim
	srv      *Server
	route    *Route  // nil without a second server
	backend  Backend // the server, or the route to it and the second one
	id       sim.ActorID
	out      strings.Builder
	names    []string // of the operations, by the A of their replies
	sessions map[string]Session
	ops      map[string]Op
	replies  map[string]sim.Reply
	numbers  int64
}

const (
	opDone sim.Kind = iota
	connectDone
)

// newTalk returns a conversation that has no server yet.
func newTalk(t *testing.T) *talk {
	c := &talk{t: t, sim: new(sim.Sim), sessions: map[string]Session{}, ops: map[string]Op{}, replies: map[string]sim.Reply{}}
	c.id = c.sim.Add(c)
	c.script = simtest.Script{Sim: c.sim, To: c.id, Command: c.command}
	return c
}

func (c *talk) Note(f record.Fact) {
	fmt.Fprintf(&c.out, "%v %v", f.At, f.Kind)
	switch f.Kind {
	case record.ConnectEnded, record.PingEnded, record.QueryEnded, record.CloseBegan, record.SessionEnded, record.SessionDiscarded:
		fmt.Fprintf(&c.out, " %v", f.Outcome)
	}
	if f.Conn > 0 {
		fmt.Fprintf(&c.out, " conn=%d", f.Conn)
	}
	if f.Took > 0 {
		fmt.Fprintf(&c.out, " took=%v", f.Took)
	}
	c.out.WriteByte('\n')
}

func (c *talk) Handle(ev sim.Event) {
	if c.script.Handle(ev) {
		return
	}
	name := c.names[ev.A]
	if ev.Kind == connectDone && ev.B >= 0 {
		c.sessions[name] = Session(ev.B)
	}
	delete(c.ops, name)
	fmt.Fprintf(&c.out, "%v %s: %v\n", c.sim.Now(), name, OutcomeOf(ev.B))
}

func (c *talk) reply(name string, kind sim.Kind) sim.Reply {
	c.names = append(c.names, name)
	c.replies[name] = sim.Reply{To: c.id, Kind: kind, A: int32(len(c.names) - 1)}
	return c.replies[name]
}

// do does a line of the script.
func (c *talk) do(line string) {
	if err := c.script.Do(line); err != nil {
		c.t.Fatalf("%q: %v", line, err)
	}
	if strings.TrimSpace(line) == "drain" {
		fmt.Fprintf(&c.out, "the end at %v\n", c.sim.Now())
	}
}

// command does one line such as "query a 5ms io=20ms as q1".
func (c *talk) command(line string) {
	t := c.t
	w := strings.Fields(line)
	word := func(i int) string {
		if i >= len(w) {
			t.Fatalf("%q: too few words", line)
		}
		return w[i]
	}
	as := ""
	if n := len(w); n > 2 && w[n-2] == "as" {
		as, w = w[n-1], w[:n-2]
	}
	session := func() Session {
		s, ok := c.sessions[word(1)]
		if !ok {
			t.Fatalf("%q: no session %s", line, word(1))
		}
		return s
	}
	begin := func(name string, op Op) {
		if as != "" {
			name = as
		}
		c.ops[name] = op
	}
	label := func(name string) string {
		if as != "" {
			return as
		}
		return name
	}
	switch word(0) {
	case "connect":
		var who Caller
		for _, arg := range w[2:] {
			name, _ := strings.CutPrefix(arg, "role=")
			role, ok := c.srv.opts.Role(name)
			if !ok {
				t.Fatalf("%q: no role %s", line, name)
			}
			who.Role = role
		}
		begin(word(1), c.backend.Connect(who, c.reply(word(1), connectDone)))
	case "ping":
		begin(word(1), c.backend.Ping(session(), c.reply(label(word(1)), opDone)))
	case "query":
		q := QuerySpec{}
		for _, arg := range w[2:] {
			kind, value, ok := strings.Cut(arg, "=")
			if !ok {
				kind, value = "cpu", arg
			}
			if kind == "lock" {
				q.Phases = append(q.Phases, Phase{Lock: value})
				continue
			}
			d := dist.Fixed(parseTime(t, value))
			if kind == "io" {
				q.Phases = append(q.Phases, Phase{IO: &d})
			} else {
				q.Phases = append(q.Phases, Phase{CPU: &d})
			}
		}
		c.numbers++
		begin(word(1), c.backend.Query(session(), c.srv.Compile(&q), c.numbers, c.reply(label(word(1)), opDone)))
	case "begin", "commit":
		q := map[string]*Query{"begin": Begin, "commit": Commit}[word(0)]
		c.numbers++
		begin(word(1), c.backend.Query(session(), q, c.numbers, c.reply(label(word(1)), opDone)))
	case "rollback":
		c.backend.(Transactional).Rollback(session())
	case "cancel":
		c.backend.(Canceller).CancelQuery(c.ops[word(1)])
	case "blocked":
		fmt.Fprintf(&c.out, "%v\n", c.backend.(Blocker).Blocked(c.ops[word(1)], c.replies[word(1)]))
	case "close":
		begin(word(1), c.backend.Close(session(), c.reply(label(word(1)), opDone)))
	case "close_hard":
		begin(word(1), c.backend.CloseHard(session(), c.reply(label(word(1)), opDone)))
	case "drop":
		c.backend.Drop(session(), record.Dropped)
	case "drop_hard":
		c.backend.Drop(session(), record.ClosedHard)
	case "abort":
		c.backend.Abort(c.ops[word(1)])
	case "hangup": // the end of the program, whose pool is number 0
		c.backend.(Exiter).Hangup(0)
	case "lead":
		n, _ := strconv.Atoi(word(1))
		c.route.Lead(n)
	case "where":
		_, way, _ := c.route.find(session())
		fmt.Fprintf(&c.out, "%d\n", way)
	case "freeze": // the program that has the route
		c.sim.Freeze(c.sim.Now().Add(parseTime(t, word(1))), c.id, c.route.inside)
	case "kill":
		n, _ := strconv.Atoi(word(1))
		fmt.Fprintf(&c.out, "was open: %v\n", c.srv.Kill(int32(n)))
	case "kill_all":
		c.srv.KillAll()
	case "due":
		fmt.Fprintf(&c.out, "%v\n", c.backend.Due(c.ops[word(1)]))
	case "settle":
		fmt.Fprintf(&c.out, "settled: %v\n", c.backend.(Settler).Settle(c.ops[word(1)]))
	case "alive":
		fmt.Fprintf(&c.out, "%v\n", c.backend.Alive(session()))
	case "stats":
		st := c.srv.Stats()
		fmt.Fprintf(&c.out, "open=%d peak=%d opened=%d closed=%d killed=%d attempts=%d refused=%d given_up=%d running=%d queued=%d busy=%v\n",
			st.Open, st.PeakOpen, st.Opened, st.Closed, st.Killed, st.Attempts, st.Refused, st.GivenUp, st.Running, st.Queued, st.Busy)
	default:
		t.Fatalf("unknown command %q", line)
	}
}

func parseTime(t *testing.T, s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// options reads the arguments of "server", which are options by their yaml names, and its input: a line for each fault and role.
func options(t *testing.T, d *datadriven.TestData) Options {
	var o Options
	for _, a := range d.CmdArgs {
		if known, err := simtest.Set(&o, a.Key, a.Vals...); err != nil || !known {
			d.Fatalf(t, "option %s: known %v, %v", a.Key, known, err)
		}
	}
	if err := simtest.SetLines(&o, d.Input); err != nil {
		d.Fatalf(t, "%v", err)
	}
	o.Validate(func(path, message string) { d.Fatalf(t, "%s: %s", path, message) })
	return o
}

// TestTalk holds the server to the conversations in testdata/talk: "server" makes a new one, with its faults and roles as input, and "beside" a
// second one; "do" takes commands, one a line, and prints what follows from them.
func TestTalk(t *testing.T) {
	datadriven.Walk(t, "testdata/talk", func(t *testing.T, path string) {
		var c *talk
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "server" {
				c = newTalk(t)
				c.sim.Freezable()
				c.srv = New(c.sim, c, 1, options(t, d))
				c.backend = c.srv
				return ""
			}
			if d.Cmd == "beside" { // a second server, and a route that leads to the first
				c.route = NewRoute(c.sim, c.srv, c.srv.Beside(c, 1, "second", options(t, d)))
				c.backend = c.route
				return ""
			}
			c.t = t
			for line := range strings.Lines(d.Input) {
				c.do(line)
			}
			out := c.out.String()
			c.out.Reset()
			return out
		})
	})
}
