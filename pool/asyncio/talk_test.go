package asyncio

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// talk is a conversation with a semaphore: what happens to slots, acquires and releases is a line each. Verify looks on after
// every event.
type talk struct {
	sim     *sim.Sim
	pool    *Pool
	id      sim.ActorID
	out     strings.Builder
	names   []string // of the acquires, by request number
	tickets []pool.Ticket
	loans   []pool.Conn
	plans   []func()
}

const (
	todo     sim.Kind = iota // A: plan
	acquired                 // A: request
	released
	poolClosed
)

func newTalk(t testing.TB, o Options) *talk {
	o.Validate(func(path, message string) { t.Fatalf("%s: %s", path, message) })
	c := &talk{sim: new(sim.Sim)}
	c.id = c.sim.Add(c)
	c.pool = New(pool.Env{Sim: c.sim, Sink: c}, o)
	c.sim.Check = c.pool.Verify
	c.after(0, func() { c.pool.Start(sim.Reply{To: sim.Nobody}) })
	c.sim.Run(0)
	c.out.Reset()
	return c
}

// Note implements record.Sink.
func (c *talk) Note(f record.Fact) {
	who := ""
	if f.Request >= 0 && int(f.Request) < len(c.names) {
		who = " (" + c.names[f.Request] + ")"
	}
	switch f.Kind {
	case record.ConnMoved:
		fmt.Fprintf(&c.out, "%v slot: %v -> %v%s\n", f.At, f.Move.From(), f.Move.To(), who)
	case record.Leaked, record.WaitBegan, record.WaitEnded:
		fmt.Fprintf(&c.out, "%v %v%s\n", f.At, f.Kind, who)
	case record.Returned:
		fmt.Fprintf(&c.out, "%v %v%s after %v\n", f.At, f.Kind, who, f.Took)
	case record.PoolNote:
		fmt.Fprintf(&c.out, "%v note %v%s\n", f.At, f.Outcome, who)
	}
}

// Handle implements sim.Actor.
func (c *talk) Handle(ev sim.Event) {
	switch ev.Kind {
	case todo:
		c.plans[ev.A]()
	case acquired:
		c.loans[ev.A] = pool.Conn(ev.B)
		fmt.Fprintf(&c.out, "%v %s: %v\n", c.sim.Now(), c.names[ev.A], server.OutcomeOf(ev.B))
	case released:
		fmt.Fprintf(&c.out, "%v %s released: %v\n", c.sim.Now(), c.names[ev.A], server.OutcomeOf(ev.B))
	case poolClosed:
		fmt.Fprintf(&c.out, "%v closed\n", c.sim.Now())
	}
}

// after does f in an event of its own.
func (c *talk) after(d time.Duration, f func()) {
	c.plans = append(c.plans, f)
	c.sim.After(d, sim.Event{To: c.id, Kind: todo, A: int32(len(c.plans) - 1)})
}

// command does one line such as "acquire a timeout=5ms".
func (c *talk) command(t *testing.T, line string) {
	w := strings.Fields(line)
	who := func() int32 {
		for i, name := range c.names {
			if len(w) > 1 && name == w[1] {
				return int32(i)
			}
		}
		t.Fatalf("%q: nobody has that name", line)
		return 0
	}
	switch w[0] {
	case "acquire", "try":
		i := int32(len(c.names))
		c.names, c.loans, c.tickets = append(c.names, w[1]), append(c.loans, pool.NoConn), append(c.tickets, pool.NoTicket)
		r := pool.Request{Reply: sim.Reply{To: c.id, Kind: acquired, A: i}, Number: int64(i), Try: w[0] == "try"}
		if len(w) > 2 {
			r.Timeout = parseTime(t, strings.TrimPrefix(w[2], "timeout="))
		}
		c.tickets[i] = c.pool.Acquire(r)
	case "release", "leak":
		how := pool.Release
		if w[0] == "leak" {
			how = pool.Leak
		}
		i := who()
		c.pool.Return(c.loans[i], how, sim.Reply{To: c.id, Kind: released, A: i})
	case "cancel":
		c.pool.Cancel(c.tickets[who()])
	case "close":
		c.pool.Close(sim.Reply{To: c.id, Kind: poolClosed})
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

// TestTalk holds the semaphore to the conversations in testdata/talk: "pool" makes a new one, "do" takes commands, one a line
// (those of one line come before what follows from the first of them), and prints what follows.
func TestTalk(t *testing.T) {
	datadriven.Walk(t, "testdata/talk", func(t *testing.T, path string) {
		var c *talk
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "pool" {
				o := DefaultOptions()
				for _, a := range d.CmdArgs {
					switch a.Key {
					case "max_size":
						o.MaxSize, _ = strconv.Atoi(a.Vals[0])
					case "checkout_timeout":
						o.CheckoutTimeout = parseTime(t, a.Vals[0])
					default:
						t.Fatalf("%s: unknown option %s", d.Pos, a.Key)
					}
				}
				c = newTalk(t, o)
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
			fmt.Fprintf(&c.out, "capacity=%d free=%d waiting=%d\n", s.Size-s.Leaked, s.Idle, s.Waiting)
			out := c.out.String()
			c.out.Reset()
			return out
		})
	})
}
