package pooler

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
	"poolwise/sim/server"
	"poolwise/sim/simtest"
)

// talk is one conversation with a pooler before a server. Every fact but those of queries, and every answer, is a line of it.
type talk struct {
	t        *testing.T
	script   simtest.Script
	sim      *sim.Sim
	srv      *server.Server
	pooler   *Pooler
	id       sim.ActorID
	out      strings.Builder
	names    []string // of the operations, by the A of their replies
	sessions map[string]server.Session
	ops      map[string]server.Op
	numbers  int64
	quiet    bool // facts are not wanted
}

const (
	opDone sim.Kind = iota
	connectDone
)

func (c *talk) Note(f record.Fact) {
	if c.quiet {
		return
	}
	who := "conn"
	switch f.Kind {
	case record.QueryQueued, record.QueryBegan, record.CloseBegan, record.PingBegan, record.PoolerServes:
		return
	case record.PoolerConnected, record.PoolerLeft, record.PoolerWaitBegan, record.PoolerWaitEnded:
		who = "client"
	}
	fmt.Fprintf(&c.out, "%v %v", f.At, f.Kind)
	if f.Conn > 0 {
		fmt.Fprintf(&c.out, " %s=%d", who, f.Conn)
	}
	switch f.Kind {
	case record.PoolerMoved:
		fmt.Fprintf(&c.out, " %v -> %v", f.Move.From(), f.Move.To())
	case record.PoolerWaitBegan, record.ConnectBegan, record.ConnectGaveUp:
	default:
		fmt.Fprintf(&c.out, " %v", f.Outcome)
	}
	if f.Took > 0 && f.Kind != record.PoolerLeft && f.Kind != record.SessionEnded && f.Kind != record.SessionDiscarded {
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
		c.sessions[name] = server.Session(ev.B)
	}
	delete(c.ops, name)
	fmt.Fprintf(&c.out, "%v %s: %v\n", c.sim.Now(), name, server.OutcomeOf(ev.B))
}

func (c *talk) reply(name string, kind sim.Kind) sim.Reply {
	c.names = append(c.names, name)
	return sim.Reply{To: c.id, Kind: kind, A: int32(len(c.names) - 1)}
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

// command does one line such as "query a 5ms as q1".
func (c *talk) command(line string) {
	w := strings.Fields(line)
	word := func(i int) string {
		if i >= len(w) {
			c.t.Fatalf("%q: too few words", line)
		}
		return w[i]
	}
	as := ""
	if n := len(w); n > 2 && w[n-2] == "as" {
		as, w = w[n-1], w[:n-2]
	}
	session := func() server.Session {
		s, ok := c.sessions[word(1)]
		if !ok {
			c.t.Fatalf("%q: no session %s", line, word(1))
		}
		return s
	}
	begin := func(kind sim.Kind, ask func(sim.Reply) server.Op) {
		name := word(1)
		if as != "" {
			name = as
		}
		c.ops[name] = ask(c.reply(name, kind))
	}
	switch word(0) {
	case "connect":
		var who server.Caller
		for _, arg := range w[2:] {
			name, _ := strings.CutPrefix(arg, "role=")
			n, err := strconv.Atoi(name)
			if err != nil {
				c.t.Fatalf("%q: no role %s", line, name)
			}
			who.Role = int16(n)
		}
		begin(connectDone, func(r sim.Reply) server.Op { return c.pooler.Connect(who, r) })
	case "ping":
		begin(opDone, func(r sim.Reply) server.Op { return c.pooler.Ping(session(), r) })
	case "query":
		q := c.srv.Compile(&server.QuerySpec{Service: dist.Fixed(c.time(word(2)))})
		c.numbers++
		begin(opDone, func(r sim.Reply) server.Op { return c.pooler.Query(session(), q, c.numbers, r) })
	case "begin", "commit":
		q := map[string]*server.Query{"begin": server.Begin, "commit": server.Commit}[word(0)]
		c.numbers++
		begin(opDone, func(r sim.Reply) server.Op { return c.pooler.Query(session(), q, c.numbers, r) })
	case "rollback":
		c.pooler.Rollback(session())
	case "cancel":
		c.pooler.CancelQuery(c.ops[word(1)])
	case "close":
		begin(opDone, func(r sim.Reply) server.Op { return c.pooler.Close(session(), r) })
	case "close_hard":
		begin(opDone, func(r sim.Reply) server.Op { return c.pooler.CloseHard(session(), r) })
	case "drop":
		c.pooler.Drop(session(), record.Dropped)
	case "abort":
		c.pooler.Abort(c.ops[word(1)])
	case "due":
		fmt.Fprintf(&c.out, "%v\n", c.pooler.Due(c.ops[word(1)]))
	case "settle":
		fmt.Fprintf(&c.out, "settled: %v\n", c.pooler.Settle(c.ops[word(1)]))
	case "alive":
		fmt.Fprintf(&c.out, "%v\n", c.pooler.Alive(session()))
	case "number":
		fmt.Fprintf(&c.out, "%v\n", c.pooler.Number(session()))
	case "stats":
		st, at := c.pooler.Stats(), c.srv.Stats()
		fmt.Fprintf(&c.out, "clients=%d waiting=%d servers=%d opening=%d idle=%d in_use=%d testing=%d; at the server open=%d peak=%d opened=%d\n",
			st.Clients, st.Waiting, st.Servers, st.Opening, st.Idle, st.InUse, st.Testing, at.Open, at.PeakOpen, at.Opened)
	case "quiet":
		c.quiet = true
	case "loud":
		c.quiet = false
	default:
		c.t.Fatalf("unknown command %q", line)
	}
}

func (c *talk) time(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

// TestTalk holds the pooler to the conversations in testdata/talk: "pooler" makes a new one. Its first line of input is its options
// by their yaml names, the others those of the server, its roles and faults. "do" takes commands, one a line, and prints what
// follows from them.
func TestTalk(t *testing.T) {
	datadriven.Walk(t, "testdata/talk", func(t *testing.T, path string) {
		var c *talk
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "pooler" {
				c = &talk{t: t, sim: new(sim.Sim), sessions: map[string]server.Session{}, ops: map[string]server.Op{}}
				c.id = c.sim.Add(c)
				c.script = simtest.Script{Sim: c.sim, To: c.id, Command: c.command}
				o, so := DefaultOptions(), server.Options{}
				first, rest, _ := strings.Cut(d.Input, "\n")
				for _, err := range []error{simtest.SetAll(&o, first), simtest.SetLines(&so, rest)} {
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
				}
				bad := func(path, message string) { d.Fatalf(t, "%s: %s", path, message) }
				o.Validate(bad)
				so.Validate(bad)
				c.srv = server.New(c.sim, c, 1, so)
				c.pooler = New(c.sim, c, 1, c.srv, o)
				c.sim.Check = c.pooler.Verify
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
