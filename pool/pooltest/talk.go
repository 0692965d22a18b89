package pooltest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"poolwise/pool"
	table "poolwise/pool/models"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
	"poolwise/sim/simtest"
)

// Hooks are what a model adds to its conversations; all of it may be left out.
type Hooks struct {
	// State returns the line that ends each answer; the figures of Stats if it is nil.
	State func(s pool.Stats) string
	// Commands are further commands "WORD NAME ARGS": each is told the last loan of that name. What it returns is a line, if
	// it is not empty.
	Commands map[string]func(p pool.Pool, loan pool.Conn, args []string) string
}

// Talk holds the model of that name to the conversations in testdata/talk. Verify looks on after every event; together the
// conversations must take connections along every edge that the model's States list, and along no other.
//
//	pool OPTION=VALUE ...     makes and starts a pool before a server. Options of both have their yaml names.
//	fault at=1s for=2s refuse what goes wrong at the server, a line each
//	----
//
//	do                        commands, a line each. What follows from one at once comes before the next is given.
//	acquire NAME [timeout=D]  asks for a connection
//	try NAME                  asks for one that can be had at once
//	return NAME [HOW]         ends the last loan of that name: release (if not said), discard, close_on_drop, detach, leak or broken
//	cancel NAME               gives up the last acquire of that name
//	query NAME D              runs a query on the connection
//	kill N                    ends session N without a word
//	close                     closes the pool
//	run D, after D COMMAND, COMMAND ; COMMAND, and what else simtest.Script has
//	----
//
// The answer to do is what happened, a line each, and a line on the state of the pool. What has no session yet is a slot.
func Talk(t *testing.T, model string, hooks Hooks) {
	m, ok := table.Named(model)
	if !ok {
		t.Fatalf("there is no model %q", model)
	}
	if hooks.State == nil {
		hooks.State = func(s pool.Stats) string {
			return fmt.Sprintf("size=%d idle=%d in_use=%d waiting=%d leaked=%d", s.Size, s.Idle, s.InUse, s.Waiting, s.Leaked)
		}
	}
	edges := map[string]bool{}
	datadriven.Walk(t, "testdata/talk", func(t *testing.T, path string) {
		var c *talk
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch {
			case d.Cmd == "pool":
				c = newTalk(t, d, m, hooks, edges)
			case d.Cmd == "do" && c != nil:
				c.t, c.d = t, d
				c.do()
			default:
				d.Fatalf(t, "want pool, then do; have %s", d.Cmd)
			}
			return c.answer()
		})
	})
	t.Run("edges", func(t *testing.T) {
		want := map[string]bool{}
		for _, s := range m.States {
			edge, _, _ := strings.Cut(s, ":")
			want[edge] = true
		}
		if diff := cmp.Diff(want, edges); diff != "" {
			t.Errorf("edges of States (-) and edges taken (+):\n%s", diff)
		}
	})
}

// talk is a conversation with a pool before a server.
type talk struct {
	t     *testing.T
	d     *datadriven.TestData
	hooks Hooks
	edges map[string]bool // that connections have taken

	sim     *sim.Sim
	id      sim.ActorID
	srv     *server.Server
	pool    pool.Pool
	out     strings.Builder
	script  simtest.Script
	calls   []talkCall
	queries int64
}

// talkCall is an acquire.
type talkCall struct {
	name   string
	number int32 // of its request, its place in calls
	ticket pool.Ticket
	loan   pool.Conn
}

// The events of a talk.
const (
	talkStarts sim.Kind = iota
	talkStarted
	talkGot // A: the call
	talkReturned
	talkQueried
	talkClosed
)

func newTalk(t *testing.T, d *datadriven.TestData, m table.Model, hooks Hooks, edges map[string]bool) *talk {
	c := &talk{t: t, d: d, hooks: hooks, edges: edges, sim: new(sim.Sim)}
	c.id = c.sim.Add(c)
	c.script = simtest.Script{Sim: c.sim, To: c.id, Command: c.command}
	o, so := m.Defaults(), server.Options{}
	for _, a := range d.CmdArgs {
		ours, err := simtest.Set(o, a.Key, a.Vals...)
		c.must(err)
		servers, err := simtest.Set(&so, a.Key, a.Vals...)
		c.must(err)
		if ours == servers {
			d.Fatalf(t, "want an option of the pool or of the server, have %s, which is neither or both", a.Key)
		}
	}
	c.must(simtest.SetLines(&so, d.Input))
	bad := func(path, message string) { d.Fatalf(t, "%s: %s", path, message) }
	m.Validate(o, bad)
	so.Validate(bad)
	c.srv = server.New(c.sim, c, 1, so)
	c.pool = m.New(pool.Env{Sim: c.sim, Server: c.srv, Sink: c, Seed: 1}, o)
	c.sim.Check = c.pool.Verify
	c.sim.Soon(sim.Event{To: c.id, Kind: talkStarts})
	c.sim.Run(0)
	return c
}

func (c *talk) must(err error) {
	if err != nil {
		c.d.Fatalf(c.t, "%v", err)
	}
}

// answer returns what has been said since the last answer.
func (c *talk) answer() string {
	defer c.out.Reset()
	if c.d.Cmd == "do" {
		c.say("%s", c.hooks.State(c.pool.Stats()))
	}
	return c.out.String()
}

func (c *talk) say(format string, args ...any) { fmt.Fprintf(&c.out, format+"\n", args...) }

// do gives the commands of the input.
func (c *talk) do() {
	for line := range strings.Lines(c.d.Input) {
		c.must(c.script.Do(line))
	}
}

func (c *talk) time(word string) time.Duration {
	d, err := time.ParseDuration(word)
	c.must(err)
	return d
}

// Handle implements sim.Actor.
func (c *talk) Handle(ev sim.Event) {
	if c.script.Handle(ev) {
		return
	}
	name := ""
	if ev.Kind >= talkGot && ev.Kind < talkClosed {
		name = c.calls[ev.A].name
	}
	now, outcome := c.sim.Now(), server.OutcomeOf(ev.B)
	switch ev.Kind {
	case talkStarts:
		c.pool.Start(sim.Reply{To: c.id, Kind: talkStarted})
	case talkStarted:
		if outcome != record.OK {
			c.say("%v start fails: %v", now, outcome)
		}
	case talkGot:
		if outcome != record.OK {
			c.say("%v %s fails: %v", now, name, outcome)
			return
		}
		loan := pool.Conn(ev.B)
		c.calls[ev.A].loan = loan
		if s := c.pool.Session(loan); s != server.NoSession {
			c.say("%v %s has conn %d", now, name, c.srv.Number(s))
		} else {
			c.say("%v %s has a slot", now, name)
		}
	case talkReturned:
		c.say("%v %s returned: %v", now, name, outcome)
	case talkQueried:
		c.say("%v %s's query: %v", now, name, outcome)
	case talkClosed:
		switch {
		case outcome != record.OK:
			c.say("%v close fails: %v", now, outcome)
		case ev.B > 0:
			c.say("%v closed, %d not returned", now, ev.B)
		default:
			c.say("%v closed", now)
		}
	}
}

// ends are the ways to end a loan, as return has them.
var ends = map[string]pool.End{
	"release": pool.Release, "discard": pool.Discard, "close_on_drop": pool.CloseOnDrop, "detach": pool.Detach, "leak": pool.Leak,
	"broken": pool.Broken,
}

// command does what one says, such as "acquire a timeout=5ms".
func (c *talk) command(line string) {
	w := strings.Fields(line)
	word := func(i int) string {
		if i >= len(w) {
			c.d.Fatalf(c.t, "%q: too few words", line)
		}
		return w[i]
	}
	last := func() *talkCall { // of the name
		for i := len(c.calls) - 1; i >= 0; i-- {
			if c.calls[i].name == word(1) {
				return &c.calls[i]
			}
		}
		c.d.Fatalf(c.t, "%q: nobody has that name", line)
		return nil
	}
	lent := func() *talkCall { // that has or had a connection
		q := last()
		if q.loan == pool.NoConn {
			c.d.Fatalf(c.t, "%q at %v: %s has nothing", line, c.sim.Now(), q.name)
		}
		return q
	}
	switch word(0) {
	case "acquire", "try":
		n := int32(len(c.calls))
		c.calls = append(c.calls, talkCall{name: word(1), number: n, loan: pool.NoConn})
		r := pool.Request{Reply: sim.Reply{To: c.id, Kind: talkGot, A: n}, Number: int64(n), Try: w[0] == "try"}
		if len(w) > 2 {
			timeout, ok := strings.CutPrefix(w[2], "timeout=")
			if !ok || r.Try || len(w) > 3 {
				c.d.Fatalf(c.t, "%q: want a name and perhaps the timeout of an acquire", line)
			}
			r.Timeout = c.time(timeout)
		}
		ticket := c.pool.Acquire(r)
		c.calls[n].ticket = ticket
	case "return":
		how := pool.Release
		if len(w) > 2 {
			var ok bool
			if how, ok = ends[w[2]]; !ok {
				c.d.Fatalf(c.t, "%q: no loan ends so", line)
			}
		}
		q := lent()
		c.pool.Return(q.loan, how, sim.Reply{To: c.id, Kind: talkReturned, A: q.number})
	case "cancel":
		c.pool.Cancel(last().ticket)
	case "query":
		q := lent()
		spec := server.QuerySpec{Service: dist.Fixed(c.time(word(2)))}
		c.queries++
		c.srv.Query(c.pool.Session(q.loan), c.srv.Compile(&spec), c.queries, sim.Reply{To: c.id, Kind: talkQueried, A: q.number})
	case "kill":
		n, err := strconv.Atoi(word(1))
		c.must(err)
		c.srv.Kill(int32(n))
	case "close":
		c.pool.Close(sim.Reply{To: c.id, Kind: talkClosed})
	default:
		f, ok := c.hooks.Commands[w[0]]
		if !ok {
			c.d.Fatalf(c.t, "unknown command %q", line)
		}
		if text := f(c.pool, lent().loan, w[2:]); text != "" {
			c.say("%s", text)
		}
	}
}

// Note implements record.Sink.
func (c *talk) Note(f record.Fact) {
	what, of := "slot", ""
	if f.Conn > 0 {
		what = fmt.Sprintf("conn %d", f.Conn)
	}
	if f.Request >= 0 && int(f.Request) < len(c.calls) {
		of = fmt.Sprintf(" (%s)", c.calls[f.Request].name)
	}
	switch f.Kind {
	case record.ConnMoved:
		edge := fmt.Sprintf("%v -> %v", f.Move.From(), f.Move.To())
		c.edges[edge] = true
		c.say("%v %s: %s%s", f.At, what, edge, of)
	case record.ConnectEnded, record.PingEnded, record.SessionEnded, record.SessionDiscarded:
		if f.Conn > 0 {
			c.say("%v %v %v conn=%d", f.At, f.Kind, f.Outcome, f.Conn)
		} else {
			c.say("%v %v %v", f.At, f.Kind, f.Outcome)
		}
	case record.ConnectGaveUp, record.Leaked, record.WaitBegan, record.WaitEnded:
		c.say("%v %v%s", f.At, f.Kind, of)
	case record.Returned:
		c.say("%v return of %s%s after %v", f.At, what, of, f.Took)
	case record.PoolNote:
		c.say("%v note %v%s", f.At, f.Outcome, of)
	}
}
