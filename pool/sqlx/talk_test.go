package sqlx

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// talk is a conversation with a pool and perhaps its child. What the server sees and how acquires end is a line each.
type talk struct {
	t      *testing.T
	sim    *sim.Sim
	id     sim.ActorID
	srv    *server.Server
	spare  *server.Server // where set_connect_options leads to
	pools  map[string]*Pool
	out    strings.Builder
	script []string
	calls  map[string]*caller
	names  []string // of the calls, by request number
	edges  map[string]bool
}

// caller is somebody who has called acquire.
type caller struct {
	number int
	pool   *Pool
	ticket pool.Ticket
	conn   pool.Conn
	raw    server.Session // a connection taken out of the pool
}

const (
	scriptLine sim.Kind = iota // A: line of the script
	acquireEnded
	loanEnded
	closeEnded
	startEnded
)

// TestConversations plays the conversations of testdata. Together they take connections along every edge that States lists, and
// along no other.
func TestConversations(t *testing.T) {
	edges := map[string]bool{}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var c *talk
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "pool":
				c = newTalk(t, d)
				c.edges = edges
			case "child":
				c.addPool("child", d.CmdArgs)
			case "run":
				c.run(d)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			out := c.out.String()
			c.out.Reset()
			return out
		})
	})
	want := map[string]bool{}
	for _, s := range States {
		edge, _, _ := strings.Cut(s, ":")
		want[edge] = true
	}
	if diff := cmp.Diff(want, edges); diff != "" {
		t.Errorf("edges of States (-) and edges taken (+):\n%s", diff)
	}
}

// newTalk makes a server, whose options are the input, and a pool. It is started at the beginning of the first run.
func newTalk(t *testing.T, d *datadriven.TestData) *talk {
	c := &talk{t: t, sim: &sim.Sim{}, pools: map[string]*Pool{}, calls: map[string]*caller{}}
	c.id = c.sim.Add(c)
	var o server.Options
	for _, arg := range strings.Fields(d.Input) {
		c.serverOption(&o, arg)
	}
	o.Validate(func(path, message string) { t.Fatalf("server: %s: %s", path, message) })
	c.srv = server.New(c.sim, c, 1, o)
	c.spare = server.New(c.sim, c, 2, server.Options{Connect: o.Connect, Ping: o.Ping, Close: o.Close})
	c.addPool("", d.CmdArgs)
	c.sim.Check = func() {
		for _, p := range c.pools {
			p.Verify()
		}
	}
	return c
}

func (c *talk) addPool(name string, args []datadriven.CmdArg) {
	o := DefaultOptions()
	o.TimerLateness = 0
	for _, a := range args {
		c.poolOption(&o, a.Key, a.Vals)
	}
	o.Validate(func(path, message string) { c.t.Fatalf("%s: %s", path, message) })
	p := New(pool.Env{Sim: c.sim, Server: c.srv, Sink: c, Index: int16(len(c.pools))}, o)
	if name != "" {
		p.SetParent(c.pools[""])
	}
	c.pools[name] = p
}

func (c *talk) poolOption(o *Options, key string, vals []string) {
	value := strings.Join(vals, ",")
	integer := func() int {
		n, err := strconv.Atoi(value)
		c.must(err)
		return n
	}
	perhaps := func() *time.Duration {
		if value == "none" {
			return nil
		}
		d := c.duration(value)
		return &d
	}
	hook := func() *Hook { // takes, results
		h := &Hook{Takes: dist.Fixed(c.duration(vals[0])), Results: make([]HookResult, len(vals)-1)}
		for i := range h.Results {
			c.must(h.Results[i].UnmarshalText([]byte(vals[i+1])))
		}
		return h
	}
	switch key {
	case "max_connections":
		o.MaxConnections = integer()
	case "min_connections":
		o.MinConnections = integer()
	case "acquire_timeout":
		o.AcquireTimeout = c.duration(value)
	case "acquire_slow_threshold":
		o.AcquireSlowThreshold = c.duration(value)
	case "idle_timeout":
		o.IdleTimeout = perhaps()
	case "max_lifetime":
		o.MaxLifetime = perhaps()
	case "test_before_acquire":
		o.TestBeforeAcquire = value == "true"
	case "fair":
		o.Fair = value == "true"
	case "start":
		c.must(o.Start.UnmarshalText([]byte(value)))
	case "timer_lateness":
		o.TimerLateness = c.duration(value)
	case "timer_granularity":
		o.TimerGranularity = c.duration(value)
	case "after_connect":
		o.AfterConnect = hook()
	case "before_acquire":
		o.BeforeAcquire = hook()
	case "after_release":
		o.AfterRelease = hook()
	default:
		c.t.Fatalf("unknown option %s", key)
	}
}

// serverOption sets one of name=duration, or of refuse=, error=, transient=, starting=, auth= and stall= with from..to.
func (c *talk) serverOption(o *server.Options, arg string) {
	key, value, _ := strings.Cut(arg, "=")
	fault := server.Fault{}
	switch key {
	case "connect":
		for _, v := range strings.Split(value, ",") {
			o.ConnectPlan = append(o.ConnectPlan, c.duration(v))
		}
		o.Connect = dist.Fixed(o.ConnectPlan[len(o.ConnectPlan)-1])
		return
	case "ping":
		o.Ping = dist.Fixed(c.duration(value))
		return
	case "close":
		o.Close = dist.Fixed(c.duration(value))
		return
	case "close_hard":
		o.CloseHard = dist.Fixed(c.duration(value))
		return
	case "refuse_after":
		o.RefuseAfter = c.duration(value)
		return
	case "limit":
		n, err := strconv.Atoi(value)
		c.must(err)
		o.ConnectionLimit = n
		return
	case "limit_error":
		c.must(o.LimitError.UnmarshalText([]byte(value)))
		return
	case "refuse":
		fault.Refuse = true
	case "error":
		fault.Error = true
	case "transient":
		fault.TransientError = true
	case "starting":
		fault.StartingUp = true
	case "auth":
		fault.AuthFailure = true
	case "stall":
		fault.ConnectHang = true
	default:
		c.t.Fatalf("unknown server option %s", key)
	}
	from, to, _ := strings.Cut(value, "..")
	fault.At = c.duration(from)
	fault.For = c.duration(to) - fault.At
	o.Faults = append(o.Faults, fault)
}

func (c *talk) must(err error) {
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *talk) duration(s string) time.Duration {
	if s == "0" {
		return 0
	}
	d, err := time.ParseDuration(s)
	c.must(err)
	return d
}

// run schedules the lines of a script, each "time command", and runs up to the time in the argument. Lines of one time are
// executed in order, each as a task of its own.
func (c *talk) run(d *datadriven.TestData) {
	if c.sim.Now() == 0 {
		c.script = append(c.script, "start")
		c.sim.Soon(sim.Event{To: c.id, Kind: scriptLine, A: int32(len(c.script) - 1)})
	}
	for _, line := range strings.Split(d.Input, "\n") {
		at, command, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			d.Fatalf(c.t, "want a time and a command, have %q", line)
		}
		c.script = append(c.script, command)
		c.sim.At(sim.Time(c.duration(at)), sim.Event{To: c.id, Kind: scriptLine, A: int32(len(c.script) - 1)})
	}
	c.sim.Run(sim.Time(c.duration(d.CmdArgs[0].Key)))
}

// Handle implements sim.Actor.
func (c *talk) Handle(ev sim.Event) {
	switch ev.Kind {
	case scriptLine:
		c.command(c.script[ev.A])
	case acquireEnded:
		if o := server.OutcomeOf(ev.B); o == record.OK {
			c.calls[c.names[ev.A]].conn = pool.Conn(ev.B)
		}
	case closeEnded:
		c.say("close() returns %v", server.OutcomeOf(ev.B))
	case startEnded:
		c.say("start returns %v", server.OutcomeOf(ev.B))
	}
}

func (c *talk) say(format string, args ...any) {
	fmt.Fprintf(&c.out, "%v %s\n", c.sim.Now(), fmt.Sprintf(format, args...))
}

// command does one of: acquire, try, cancel, poll_then_cancel, release, close, close_on_drop, detach and leak NAME, all with a
// trailing "child" for the child; kill NUMBER; state; close_pool, cancel_close and drop_pool; move (connect options); soon COMMAND,
// for a command behind what is due now.
func (c *talk) command(line string) {
	w := append(strings.Fields(line), "", "")
	who := w[1]
	of := ""
	if w[1] == "child" || w[2] == "child" {
		of = "child"
	}
	p := c.pools[of]
	ends := map[string]pool.End{
		"release": pool.Release, "close": pool.Discard, "close_on_drop": pool.CloseOnDrop, "detach": pool.Detach, "leak": pool.Leak,
		"broken": pool.Broken,
	}
	if how, ok := ends[w[0]]; ok {
		k := c.calls[who]
		if k == nil || k.conn == pool.NoConn {
			c.t.Fatalf("%v: %s has no connection", c.sim.Now(), who)
		}
		k.raw = k.pool.Session(k.conn)
		k.pool.Return(k.conn, how, sim.Reply{To: c.id, Kind: loanEnded})
		return
	}
	switch w[0] {
	case "soon":
		c.script = append(c.script, strings.TrimPrefix(line, "soon "))
		c.sim.Soon(sim.Event{To: c.id, Kind: scriptLine, A: int32(len(c.script) - 1)})
	case "start":
		c.pools[""].Start(sim.Reply{To: c.id, Kind: startEnded})
		if child := c.pools["child"]; child != nil {
			child.Start(sim.Reply{To: sim.Nobody})
		}
	case "acquire", "try":
		n := len(c.names)
		c.names = append(c.names, who)
		k := &caller{number: n, pool: p, conn: pool.NoConn}
		c.calls[who] = k
		r := pool.Request{Reply: sim.Reply{To: c.id, Kind: acquireEnded, A: int32(n)}, Number: int64(n), Try: w[0] == "try"}
		if v, ok := strings.CutPrefix(w[2], "within="); ok {
			r.Timeout = c.duration(v)
		}
		k.ticket = p.Acquire(r)
	case "cancel":
		c.calls[who].pool.Cancel(c.calls[who].ticket)
	case "poll_then_cancel":
		c.calls[who].pool.PollThenCancel(c.calls[who].ticket)
	case "kill":
		n, err := strconv.Atoi(who)
		c.must(err)
		c.srv.Kill(int32(n))
	case "state":
		for _, name := range []string{"", "child"} {
			if q := c.pools[name]; q != nil && !q.Dropped() {
				st := q.Stats()
				c.say("%s", strings.TrimSpace(fmt.Sprintf("%s size=%d idle=%d open=%d", name, st.Size, st.Idle, c.srv.Stats().Open)))
			}
		}
	case "close_pool":
		p.Close(sim.Reply{To: c.id, Kind: closeEnded})
	case "cancel_close":
		p.CancelClose()
	case "drop_pool":
		p.Drop()
	case "move":
		p.SetConnectOptions(c.spare)
	default:
		c.t.Fatalf("unknown command %q", line)
	}
}

// Note implements record.Sink.
func (c *talk) Note(f record.Fact) {
	name := ""
	if f.Request >= 0 {
		name = c.names[f.Request]
	}
	conn := ""
	if f.Conn > 0 {
		conn = fmt.Sprintf(" %d", f.Conn)
	}
	switch f.Kind {
	case record.ConnMoved:
		c.edges[fmt.Sprintf("%v -> %v", f.Move.From(), f.Move.To())] = true
	case record.AcquireEnded:
		if f.Outcome == record.OK && f.Conn > 0 {
			c.say("acquire %s: connection%s", name, conn)
		} else {
			c.say("acquire %s: %v", name, f.Outcome)
		}
	case record.SlowAcquire:
		c.say("acquire %s was slow: %v", name, f.Took)
	case record.Leaked:
		c.say("connection%s leaked", conn)
	case record.PoolNote:
		c.say("refill: %v", f.Outcome)
	case record.PoolClosed:
		c.say("pool %d is closed", f.Pool)
	case record.HookBegan:
		c.say("hook%s (%v)", conn, f.Move.From())
	case record.ConnectBegan:
		c.say("connect")
	case record.ConnectEnded:
		if f.Outcome == record.OK {
			c.say("opened%s", conn)
		} else {
			c.say("%v", f.Outcome)
		}
	case record.ConnectGaveUp:
		c.say("connect given up")
	case record.PingBegan:
		c.say("ping%s", conn)
	case record.PingEnded:
		c.say("ping%s: %v", conn, f.Outcome)
	case record.CloseBegan:
		c.say("closing%s: %v", conn, f.Outcome)
	case record.SessionEnded:
		c.say("ended%s: %v", conn, f.Outcome)
	case record.SessionDiscarded:
		c.say("let go of%s: %v", conn, f.Outcome)
	}
}
