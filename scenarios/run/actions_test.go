package run

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// mustCheck runs a scenario of one cell, with the invariants checked.
func mustCheck(t testing.TB, src string, set ...string) *record.Cell {
	t.Helper()
	base, cells := mustLoad(t, src, scenarios.Options{Set: set})
	res, err := Run(context.Background(), base, cells, Options{CheckInvariants: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Cells) != 1 {
		t.Fatalf("%d cells", len(res.Cells))
	}
	return &res.Cells[0]
}

// TestOrderOfShutdown: 100 requests a second arrive, at 0 ms, 10 ms ..., and each takes 50 ms.
func TestOrderOfShutdown(t *testing.T) {
	const src = `
name: shutdown
until: drained
server: {close: 1ms}
pool: {model: handoff, max_total: 20}
workload: {arrivals: {constant: 100/s}, request: [acquire, query: 50ms, release]}
`
	// Orderly: the 1000 requests before 10 s are served, the last of them, which arrived at 9.99 s, until 10.04 s; then the pool
	// closes its connections, all at the same time.
	c := mustCheck(t, src, "actions=[{at: 10s, do: shut_down}]")
	if c.Requests.OK != 1000 || c.Requests.Failed != 0 || c.Actions[0].Took != record.Exact(41*ms) || c.Makespan.Value != 10040*ms {
		t.Errorf("orderly: %+v, %+v, makespan %v", c.Requests, c.Actions, c.Makespan.Value)
	}
	// The pool first: what arrives in the second until the workload stops fails; what went on does not.
	c = mustCheck(t, src, "actions=[{at: 10s, do: close}, {at: 11s, do: stop}]")
	if c.Requests.OK != 1000 || c.Requests.Outcomes[record.PoolIsClosed] != 100 || c.Actions[1].Took != record.Exact(0) {
		t.Errorf("the pool first: %+v, %+v", c.Requests, c.Actions)
	}
	// Killed: the five requests of the last 50 ms are lost.
	c = mustCheck(t, src, "actions=[{at: 10s, do: kill}]")
	if c.Requests.OK != 995 || c.Requests.Outcomes[record.Killed] != 5 || c.Levels.Size.Final.Value != 0 || c.Server.Closed != c.Server.Opened {
		t.Errorf("killed: %+v, size %v, server %+v", c.Requests, c.Levels.Size.Final, c.Server)
	}
}

// TestRestartRepairsALeak: a pool of 50 serves 50 requests, one a second, and then no more; a restart gives it 50 new ones. What
// waits at the end of a life is lost: the requests of the last 10 s, which is the timeout.
func TestRestartRepairsALeak(t *testing.T) {
	c := mustCheck(t, `
name: leak
until: 300s
pool: {model: semaphore, max: 50, acquire_timeout: 10s}
workload: {arrivals: {constant: 1/s}, request: [acquire, query: 5ms, leak: 100%, release]}
actions: [{at: 100s, do: restart}, {at: 200s, do: kill}, {at: 210s, do: restart}, {at: 300s, do: kill}]`)
	q := c.Requests
	// Lives from 0, 100 and 210 s: arrivals 0..99, 0..99 and 0..89 of each; those from 50 on fail if they have 10 s left to do so.
	if q.OK != 150 || q.Outcomes[record.Killed] != 30 || q.Outcomes[record.AcquireTimeout] != 40+40+30 || q.Unfinished != 0 {
		t.Errorf("%+v", q)
	}
	if c.Levels.Size.Max.Value != 50 || c.Levels.Size.Final.Value != 0 || c.Levels.InUse.Final.Value != 0 || c.Levels.Waiting.Final.Value != 0 {
		t.Errorf("levels at the end %+v", c.Levels)
	}
}

// TestDowntime: a program that is down makes no requests and has no sessions. 100 requests a second of 4 ms come in its first life
// until 9.995 s, and in its second one from 14.995 s on.
func TestDowntime(t *testing.T) {
	const src = `
name: downtime
until: 29990ms
services:
  - {name: api, instances: 2, pool: {model: semaphore, max: 2}, workload: {arrivals: {constant: 100/s}, request: [acquire, query: 4ms, release]}}
actions: [{at: 9995ms, service: api, instance: 2, do: restart, down: 5s}]`
	c := mustCheck(t, src)
	if one, two := c.Pools[0].Requests, c.Pools[1].Requests; one.OK != 2999 || two.OK != 1000+1500 || two.Total != two.OK {
		t.Errorf("%+v and %+v", one, two)
	}
	// The size of its pool is 1 but for 5 s and the two first requests' connects, which take no time: (29.99 - 5) / 29.99.
	if got, want := c.Pools[1].Levels.Size.Mean.Value, 24.99/29.99; math.Abs(got-want) > 1e-6 {
		t.Errorf("mean size %v, want %v", got, want)
	}
	if a := c.Actions[0]; a.Do != "restart" || a.To != "after 5s" {
		t.Errorf("%+v", a)
	}
	// A run that ends when it is drained waits for the second life.
	c = mustCheck(t, src, "until=drained", "services.api.workload.limit=1")
	if c.Requests.OK != 3 || c.Makespan.Value != 14999*ms {
		t.Errorf("drained: %+v, makespan %v", c.Requests, c.Makespan.Value)
	}
	// One by one: the second instance exits when the first is back.
	c = mustCheck(t, src, "actions=[{at: 5s, every: 5s, service: api, do: restart, down: 5s}]")
	for i, want := range []record.Float{record.ExactFloat(24.99 / 29.99), record.ExactFloat(24.99 / 29.99)} {
		if got := c.Pools[i].Levels.Size.Mean.Value; math.Abs(got-want.Value) > 1e-6 {
			t.Errorf("one by one, instance %d: mean size %v, want %v", i+1, got, want.Value)
		}
	}
}

// TestPause: 100 requests a second of 5 ms each; from 1 s to 2 s the program stands still. The request of 1.00 s + k x 10 ms, for k
// from 0 to 99, is begun at 2 s and takes 1005 ms - k x 10 ms from its arrival. The one of 1.99 s and those before 1 s notice nothing:
// so of 400 requests the mean latency is (300 x 5 + 100 x 1005 - 4950 x 10) / 400 = 131.25 ms.
func TestPause(t *testing.T) {
	c := mustCheck(t, `
name: pause
until: drained
pool: none
workload: {arrivals: {constant: 100/s}, limit: 400, request: [acquire, query: 5ms, release]}
actions: [{at: 1s, pause: 1s}]`)
	if c.Latency.Max.Value != 1005*ms || c.Latency.Mean.Value != 131250*time.Microsecond || c.Requests.OK != 400 {
		t.Errorf("max %v, mean %v of %+v", c.Latency.Max.Value, c.Latency.Mean.Value, c.Requests)
	}
	// A timer that came due in the pause loses against an answer that came before it: the connect of 500 ms, begun at 0.9 s, is
	// over at 1.4 s, the timeout due at 1.6 s, and the program awake at 2 s.
	const timed = `
name: timed
until: drained
server: {connect: 500ms}
pool: {model: handoff, acquire_timeout: 700ms}
workload: {script: [{at: 900ms}]}
`
	if c := mustCheck(t, timed, "actions=[{at: 1s, pause: 1s}]"); c.Requests.OK != 1 || c.Latency.Max.Value != 1100*ms {
		t.Errorf("the answer comes first: %+v, %v", c.Requests, c.Latency.Max.Value)
	}
	// With a timeout of 300 ms, due at 1.2 s, it is the other way round.
	if c := mustCheck(t, timed, "actions=[{at: 1s, pause: 1s}]", "pool.acquire_timeout=300ms"); c.Requests.Outcomes[record.AcquireTimeout] != 1 {
		t.Errorf("the timer comes first: %+v", c.Requests)
	}
	// The deadline of a request counts from its arrival, though the program was asleep then: of those that arrive in the pause, the
	// ones of 1.80 s and later have 200 ms or more left at its end, and those before have ended by then, or end at once.
	c = mustCheck(t, `
name: pause with a deadline
until: drained
pool: none
workload: {arrivals: {constant: 100/s}, limit: 400, deadline: 200ms, request: [acquire, query: 5ms, release]}
actions: [{at: 1s, pause: 1s}]`)
	if got := c.Requests.Outcomes[record.RequestTimeout]; got != 81 {
		t.Errorf("%d are late, want those of 1.00 s to 1.80 s", got)
	}
	// A pause on top of another goes on to the later end.
	if c := mustCheck(t, timed, "actions=[{at: 1s, pause: 1s}, {at: 1500ms, pause: 1s}, {at: 1600ms, pause: 1ms}]"); c.Latency.Max.Value != 1600*ms {
		t.Errorf("two pauses: %v", c.Latency.Max.Value)
	}
}

// TestMovingToANewServer: sqlx keeps a connection until it is returned at an age above max_lifetime. With one client that always
// comes back after 10 ms, that is within 10 ms and one query of the age of 10 minutes; it was opened in the first 20 ms.
func TestMovingToANewServer(t *testing.T) {
	c := mustCheck(t, `
name: move
until: 1000s
server: {connect: 20ms}
servers: [{name: next, connect: 40ms}]
pool: {model: sqlx, max_connections: 5, max_lifetime: 10m}
workload: {clients: 1, think: 10ms, request: [acquire, query: 5ms, release]}
actions: [{at: 300s, connect_to: next}]`)
	took := c.Actions[0].Took.Value
	if least := 300*time.Second + 20*ms; took < least || took > least+15*ms {
		t.Errorf("moved after %v", took)
	}
	if c.Servers[0].Name != "server" || c.Servers[0].Opened != 1 || c.Servers[0].Open.Value != 0 || c.Servers[0].Emptied.Value != 300*time.Second+took {
		t.Errorf("the old server: %+v", c.Servers[0])
	}
	if c.Servers[1].Name != "next" || c.Servers[1].Opened != 1 || c.Servers[1].Open.Value != 1 || c.Servers[1].Emptied.Known {
		t.Errorf("the new server: %+v", c.Servers[1])
	}
	if c.Requests.Failed > 0 || c.Server.Opened != 2 || c.Server.PeakOpen > 2 {
		t.Errorf("%+v, server %+v", c.Requests, c.Server)
	}
}

// TestFailover: the primary is demoted at 10 s, and its name leads to the new one 5 s later. Until then every query fails. Then
// each connection fails until it is gone, here at once, since there is no pool.
func TestFailover(t *testing.T) {
	c := mustCheck(t, `
name: failover
until: drained
server: {faults: [{at: 10s, read_only: true}]}
servers: [{name: standby}]
pool: none
workload: {arrivals: {constant: 10/s}, limit: 200, request: [acquire, query: 5ms, release]}
actions: [{at: 15s, connect_to: standby}]`)
	if c.Requests.Outcomes[record.OtherError] != 50 || c.Requests.OK != 150 || c.Servers[1].Opened != 50 {
		t.Errorf("%+v, servers %+v", c.Requests, c.Servers)
	}
}

// TestRollingRelease: three old instances of 10 connections make way for three new ones, one after the other, new before old: at
// most 40 connections are open at once.
func TestRollingRelease(t *testing.T) {
	c := mustCheck(t, `
name: release
until: drained
services:
  - name: old
    instances: 3
    pool: {model: semaphore, max: 10}
    workload: {clients: 10, think: 5ms, request: [acquire, query: 5ms, release]}
  - name: new
    instances: 3
    start_at: 10s
    start_every: 10s
    pool: {model: semaphore, max: 10}
    workload: {clients: 10, think: 5ms, request: [acquire, query: 5ms, release]}
actions:
  - {at: 11s, every: 10s, service: old, do: shut_down}
  - {at: 60s, service: new, do: shut_down}`)
	if c.Server.PeakOpen != 40 || c.Requests.Failed > 0 || c.Server.Opened != 60 || c.Server.Closed != 60 {
		t.Errorf("%+v, server %+v", c.Requests, c.Server)
	}
	// The instance that starts at 20 s and stops at 60 s serves 10 clients with a request every 10 ms for 40 s.
	if got := c.Pools[4].Requests.OK; got != 40000 {
		t.Errorf("%s served %d", c.Pools[4].Name, got)
	}
}

// TestProgramsOfSeveralPools: what is done to a program is done to its pools together.
func TestProgramsOfSeveralPools(t *testing.T) {
	const src = `
name: family
until: drained
services:
  - {name: api, instances: 2, pool: {model: sqlx, max_connections: 10}, workload: {clients: 20, repeat: 100, request: [acquire, query: 5ms, release]}}
  - {name: jobs, instances: 2, pool: {model: sqlx, max_connections: 4, parent: api}, workload: {clients: 6, repeat: 100, request: [acquire, query: 5ms, release]}}
`
	free := mustCheck(t, src)
	paused := mustCheck(t, src, "actions=[{at: 50ms, service: jobs, instance: 2, pause: 1s}]")
	for i, later := range []time.Duration{0, time.Second, 0, time.Second} { // api-1, api-2, jobs-1, jobs-2
		was, is := free.Pools[i].Latency.Max.Value, paused.Pools[i].Latency.Max.Value
		if is < was || is-was < later-10*ms || is-was > later {
			t.Errorf("%s: longest latency %v, with the pause %v", free.Pools[i].Name, was, is)
		}
	}
	c := mustCheck(t, src, "actions=[{at: 50ms, service: api, instance: 1, do: kill}]")
	for i, killed := range []bool{true, false, true, false} {
		if got := c.Pools[i].Requests.Outcomes[record.Killed] > 0; got != killed {
			t.Errorf("%s: killed is %v", c.Pools[i].Name, got)
		}
	}
	c = mustCheck(t, src, "actions=[{at: 50ms, service: jobs, do: restart}]")
	for _, p := range c.Pools { // the second life serves all, after a first one that had to break off
		if p.Requests.OK < 600 || p.Requests.Outcomes[record.Killed] == 0 || p.Requests.Unfinished > 0 {
			t.Errorf("%s: %+v", p.Name, p.Requests)
		}
	}
}

// TestRandomActions: whatever is done to whatever pool, the books are right, and who has exited leaves nothing behind.
func TestRandomActions(t *testing.T) {
	pools := []string{
		"{model: semaphore, max: 3, acquire_timeout: 40ms}", "{model: handoff, max_total: 3, acquire_timeout: 40ms, close_grace: 50ms}",
		"{model: sqlx, max_connections: 3, acquire_timeout: 40ms, max_lifetime: 100ms, idle_timeout: 60ms}",
		"{model: sqlx, max_connections: 3, min_connections: 2, start: eager, acquire_timeout: 200ms}", "none", "{model: asyncio, max_size: 3, checkout_timeout: 40ms}",
	}
	requests := []string{
		"acquire, query: 5ms, release", "acquire, query: {exponential: {mean: 8ms}}, leak: 2%, release",
		"acquire, query: 3ms, acquire, query: 3ms, release, release", "cancel: {after: 12ms}, acquire, query: 9ms, call: 3ms, discard",
	}
	deeds := []string{"do: stop", "do: close", "do: shut_down", "do: kill", "do: restart", "connect_to: other", "connect_to: server", "pause: 30ms", "pause: 110ms", "connect_to: pooler"}
	faults := []string{"", "faults: [{at: 80ms, restart: true, for: 50ms}]", "faults: [{at: 30ms, for: 60ms, read_only: true}, {at: 200ms, partition: true, for: 20ms}]"}
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(what string, from []string) string { return rapid.SampledFrom(from).Draw(t, what) }
		var b strings.Builder
		fmt.Fprintf(&b, "name: random\nuntil: 2s\nseed: %d\n", rapid.IntRange(1, 1000).Draw(t, "seed"))
		fmt.Fprintf(&b, "server: {cores: 3, connect: 7ms, close: 2ms, %s}\n", draw("faults", faults))
		b.WriteString("servers: [{name: other, connect: {exponential: {mean: 9ms}}, connection_limit: 5}]\n")
		pooler := rapid.Bool().Draw(t, "pooler")
		if pooler {
			b.WriteString("pooler: {mode: transaction, default_pool_size: 4, max_client_connections: 8}\n")
		}
		b.WriteString("services:\n")
		for i := range 2 {
			fmt.Fprintf(&b, "  - {name: s%d, instances: 2, pool: %s, workload: {arrivals: {poisson: 150/s}, limit: 150, threads: 9, request: [%s]}}\n",
				i, draw("pool", pools), draw("request", requests))
		}
		b.WriteString("actions:\n")
		n := rapid.IntRange(1, 6).Draw(t, "actions")
		for range n {
			do := draw("do", deeds)
			if do == "connect_to: pooler" && !pooler {
				do = "pause: 1ms"
			}
			fmt.Fprintf(&b, "  - {at: %dms, service: s%d, instance: %d, %s}\n", 10*rapid.IntRange(0, 40).Draw(t, "at"),
				rapid.IntRange(0, 1).Draw(t, "service"), rapid.IntRange(1, 2).Draw(t, "instance"), do)
		}
		for i := range 2 {
			fmt.Fprintf(&b, "  - {at: 1900ms, service: s%d, do: kill}\n", i)
		}
		base, cells, err := scenarios.Load("random.yaml", []byte(b.String()), scenarios.Options{})
		if err != nil {
			if !strings.Contains(err.Error(), "has exited") {
				t.Fatalf("%v\n%s", err, b.String())
			}
			return
		}
		ran++
		res, err := Run(context.Background(), base, cells, Options{CheckInvariants: true, Workers: 1, Stages: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		c := &res.Cells[0]
		if q := c.Requests; q.Unfinished != 0 || q.OK+q.Failed != q.Total {
			t.Fatalf("%+v\n%s", q, b.String())
		}
		for _, l := range []record.Level3{c.Levels.Size, c.Levels.Idle, c.Levels.InUse, c.Levels.Waiting, c.Levels.Opening} {
			if l.Final.Value != 0 {
				t.Fatalf("levels at the end %+v\n%s", c.Levels, b.String())
			}
		}
		if !pooler && c.Server.Opened != c.Server.Closed {
			t.Fatalf("server %+v\n%s", c.Server, b.String())
		}
		if pooler && c.Pooler != nil && c.Pooler.Clients.Final.Value != 0 {
			t.Fatalf("pooler %+v\n%s", c.Pooler.Clients, b.String())
		}
		if slices.ContainsFunc(c.Servers, func(s record.ServerCell) bool { return s.Opened != s.Closed && !pooler }) {
			t.Fatalf("servers %+v\n%s", c.Servers, b.String())
		}
	})
	if ran < 20 {
		t.Errorf("only %d scenarios ran", ran)
	}
}
