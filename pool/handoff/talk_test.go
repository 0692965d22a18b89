package handoff

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// talk is a conversation with a pool before a server. What happens to connections, acquires and returns is a line each; Verify
// looks on after every event.
type talk struct {
	sim     *sim.Sim
	srv     *server.Server
	pool    *Pool
	id      sim.ActorID
	out     strings.Builder
	names   []string // of the acquires, by request number
	tickets []pool.Ticket
	loans   []pool.Conn // the last loan of each
	queries int64
	plans   []func() // what the events todo do
}

// after does f in an event of its own.
func (c *talk) after(d time.Duration, f func()) {
	c.plans = append(c.plans, f)
	c.sim.After(d, sim.Event{To: c.id, Kind: todo, A: int32(len(c.plans) - 1)})
}

const (
	todo     sim.Kind = iota // A: plan
	acquired                 // A: request
	returned
	queried
	poolClosed
)

func newTalk(t testing.TB, o Options, so server.Options) *talk {
	t.Helper()
	bad := func(path, message string) { t.Fatalf("%s: %s", path, message) }
	o.Validate(bad)
	so.Validate(bad)
	c := &talk{sim: new(sim.Sim)}
	c.id = c.sim.Add(c)
	c.srv = server.New(c.sim, c, 1, so)
	c.pool = New(pool.Env{Sim: c.sim, Server: c.srv, Sink: c}, o)
	c.sim.Check = c.pool.Verify
	c.pool.Start(nobody)
	return c
}

// Note implements record.Sink.
func (c *talk) Note(f record.Fact) {
	switch f.Kind {
	case record.ConnMoved:
		name := "conn"
		if f.Conn > 0 {
			name += " " + strconv.Itoa(int(f.Conn))
		}
		fmt.Fprintf(&c.out, "%v %s: %v -> %v%s\n", f.At, name, f.Move.From(), f.Move.To(), c.of(f.Request))
	case record.ConnectEnded, record.PingEnded, record.SessionEnded, record.SessionDiscarded:
		fmt.Fprintf(&c.out, "%v %v %v", f.At, f.Kind, f.Outcome)
		if f.Conn > 0 {
			fmt.Fprintf(&c.out, " conn=%d", f.Conn)
		}
		c.out.WriteByte('\n')
	case record.ConnectGaveUp, record.Leaked, record.WaitBegan, record.WaitEnded:
		fmt.Fprintf(&c.out, "%v %v%s\n", f.At, f.Kind, c.of(f.Request))
	case record.Returned:
		fmt.Fprintf(&c.out, "%v return of conn %d%s after %v\n", f.At, f.Conn, c.of(f.Request), f.Took)
	case record.PoolNote:
		fmt.Fprintf(&c.out, "%v note %v%s\n", f.At, f.Outcome, c.of(f.Request))
	}
}

// of names a request.
func (c *talk) of(request int64) string {
	if request < 0 || int(request) >= len(c.names) {
		return ""
	}
	return " (" + c.names[request] + ")"
}

// Handle implements sim.Actor.
func (c *talk) Handle(ev sim.Event) {
	if ev.Kind == todo {
		c.plans[ev.A]()
		return
	}
	name := "pool"
	if ev.Kind != poolClosed {
		name = c.names[ev.A]
	}
	switch ev.Kind {
	case acquired:
		if ev.B >= 0 {
			c.loans[ev.A] = pool.Conn(ev.B)
			fmt.Fprintf(&c.out, "%v %s has conn %d\n", c.sim.Now(), name, c.srv.Number(c.pool.Session(c.loans[ev.A])))
			return
		}
		fmt.Fprintf(&c.out, "%v %s fails: %v\n", c.sim.Now(), name, server.OutcomeOf(ev.B))
	case returned:
		fmt.Fprintf(&c.out, "%v %s returned: %v\n", c.sim.Now(), name, server.OutcomeOf(ev.B))
	case queried:
		fmt.Fprintf(&c.out, "%v %s's query: %v\n", c.sim.Now(), name, server.OutcomeOf(ev.B))
	case poolClosed:
		fmt.Fprintf(&c.out, "%v closed, %d not returned\n", c.sim.Now(), ev.B)
	}
}

func (c *talk) reply(kind sim.Kind, a int32) sim.Reply { return sim.Reply{To: c.id, Kind: kind, A: a} }

// acquire asks for a connection under a new name.
func (c *talk) acquire(name string, timeout time.Duration, try bool) int32 {
	i := int32(len(c.names))
	c.names, c.loans, c.tickets = append(c.names, name), append(c.loans, pool.NoConn), append(c.tickets, pool.NoTicket)
	c.tickets[i] = c.pool.Acquire(pool.Request{Reply: c.reply(acquired, i), Number: int64(i), Timeout: timeout, Try: try})
	return i
}

var ends = map[string]pool.End{
	"release": pool.Release, "discard": pool.Discard, "close_on_drop": pool.CloseOnDrop, "detach": pool.Detach, "leak": pool.Leak,
	"broken": pool.Broken,
}

// command does one line such as "acquire a timeout=5ms".
func (c *talk) command(t *testing.T, line string) {
	w := strings.Fields(line)
	word := func(i int) string {
		if i >= len(w) {
			t.Fatalf("%q: too few words", line)
		}
		return w[i]
	}
	who := func() int32 { // the last of the name
		for i := len(c.names) - 1; i >= 0; i-- {
			if c.names[i] == word(1) {
				return int32(i)
			}
		}
		t.Fatalf("%q: nobody has that name", line)
		return 0
	}
	switch word(0) {
	case "acquire":
		var timeout time.Duration
		for _, arg := range w[2:] {
			v, ok := strings.CutPrefix(arg, "timeout=")
			if !ok {
				t.Fatalf("%q: %s?", line, arg)
			}
			timeout = parseTime(t, v)
		}
		c.acquire(word(1), timeout, false)
	case "try":
		c.acquire(word(1), 0, true)
	case "return":
		i, how := who(), pool.Release
		if len(w) > 2 {
			how = ends[w[2]]
		}
		c.pool.Return(c.loans[i], how, c.reply(returned, i))
	case "cancel":
		c.pool.Cancel(c.tickets[who()])
	case "dirty":
		for _, what := range w[2:] {
			c.pool.Dirty(c.loans[who()], map[string]pool.SessionState{
				"transaction": pool.OpenTransaction, "parameter": pool.ChangedParameter,
			}[what])
		}
	case "state":
		s := c.pool.State(c.loans[who()])
		fmt.Fprintf(&c.out, "transaction open: %v, parameter changed: %v\n", s&pool.OpenTransaction != 0, s&pool.ChangedParameter != 0)
	case "session":
		fmt.Fprintf(&c.out, "has a session: %v\n", c.pool.Session(c.loans[who()]) != server.NoSession)
	case "query":
		i := who()
		d := dist.Fixed(parseTime(t, word(2)))
		c.queries++
		c.srv.Query(c.pool.Session(c.loans[i]), c.srv.Compile(&server.QuerySpec{Service: d}), c.queries, c.reply(queried, i))
	case "close":
		c.pool.Close(c.reply(poolClosed, 0))
	default:
		t.Fatalf("unknown command %q", line)
	}
}

func parseTime(t testing.TB, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// options reads the arguments of "pool": those of the pool, and those of the server.
func options(t *testing.T, d *datadriven.TestData) (Options, server.Options) {
	o, so := DefaultOptions(), server.Options{}
	for _, a := range d.CmdArgs {
		v := a.Vals[0]
		number := func() int {
			n, err := strconv.Atoi(v)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		ok := func(err error) {
			if err != nil {
				t.Fatalf("%s: %v", d.Pos, err)
			}
		}
		switch a.Key {
		case "max_total":
			o.MaxTotal = number()
		case "acquire_timeout":
			o.AcquireTimeout = parseTime(t, v)
		case "validate":
			ok(o.Validation.UnmarshalText([]byte(v)))
		case "validate_after_idle":
			o.ValidateAfterIdle = parseTime(t, v)
		case "validation_period":
			o.ValidationPeriod = parseTime(t, v)
		case "max_lifetime":
			o.MaxLifetime = parseTime(t, v)
		case "reset":
			o.Reset = v == "true"
		case "race":
			ok(o.Race.UnmarshalText([]byte(v)))
		case "wake_delay":
			o.WakeDelay = parseTime(t, v)
		case "close_grace":
			o.CloseGrace = parseTime(t, v)
		case "connect":
			so.Connect = dist.Fixed(parseTime(t, v))
		case "ping":
			so.Ping = dist.Fixed(parseTime(t, v))
		case "close":
			so.Close = dist.Fixed(parseTime(t, v))
		case "statement_timeout":
			so.StatementTimeout = parseTime(t, v)
		case "terminate": // terminate=(3,1s)
			n := number()
			so.Faults = append(so.Faults, server.Fault{At: parseTime(t, a.Vals[1]), Terminate: n})
		case "refuse_after":
			so.RefuseAfter = parseTime(t, v)
		case "refuse": // refuse=(from,for)
			so.Faults = append(so.Faults, server.Fault{At: parseTime(t, v), For: parseTime(t, a.Vals[1]), Refuse: true})
		default:
			t.Fatalf("%s: unknown option %s", d.Pos, a.Key)
		}
	}
	return o, so
}

// TestTalk holds the pool to the conversations in testdata/talk: "pool" makes a new one, "do" takes commands, one a line
// (those of one line come before what follows from the first of them), and prints what follows, the ledger last.
func TestTalk(t *testing.T) {
	datadriven.Walk(t, "testdata/talk", func(t *testing.T, path string) {
		var c *talk
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "pool" {
				o, so := options(t, d)
				c = newTalk(t, o, so)
				return ""
			}
			for line := range strings.Lines(d.Input) {
				if wait, ok := strings.CutPrefix(line, "run "); ok {
					c.sim.Run(c.sim.Now().Add(parseTime(t, strings.TrimSpace(wait))))
					continue
				}
				var wait time.Duration
				if words := strings.Fields(line); words[0] == "after" {
					wait, line = parseTime(t, words[1]), strings.Join(words[2:], " ")
				}
				c.after(wait, func() {
					for command := range strings.SplitSeq(line, ";") {
						c.command(t, command)
					}
				})
				c.sim.Run(c.sim.Now())
			}
			s := c.pool.Stats()
			fmt.Fprintf(&c.out, "total=%d idle=%d borrowed=%d creating=%d waiting=%d leaked=%d\n",
				s.Size, s.Idle, s.InUse, s.Size-s.Idle-s.InUse, s.Waiting, s.Leaked)
			out := c.out.String()
			c.out.Reset()
			return out
		})
	})
}
