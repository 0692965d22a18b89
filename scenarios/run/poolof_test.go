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
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/simtest"
)

// Several services on one pool.

// TestClassesOfOneQueue: two Poisson streams with equal service on one pool are one M/M/c queue with the rate of both, and by PASTA
// each waits as long as the other, whatever its share.
func TestClassesOfOneQueue(t *testing.T) {
	const src = `
name: two classes
estimate: steady
until: 200s
warmup: 10s
replications: 10
server: {cores: 8}
services:
  - {name: rare, pool_of: common, workload: {arrivals: {poisson: 280/s}, request: [acquire, query: {exponential: {mean: 5ms}}, release]}}
  - {name: common, pool: {model: semaphore, max: 8}, workload: {arrivals: {poisson: 1000/s}, request: [acquire, query: {exponential: {mean: 5ms}}, release]}}
`
	res := mustRun(t, src, scenarios.Options{})
	c := &res.Cells[0]
	want := 1e9 * simtest.ErlangC(8, 6.4) / (1600 - 1280)
	for _, p := range c.Pools {
		w := p.Wait.Mean
		if half := float64(w.Hi-w.Lo) / 2; math.Abs(float64(w.Value)-want) > 2*half || half > 0.1*want {
			t.Errorf("%s: mean wait %v, %v to %v, want %v", p.Name, w.Value, w.Lo, w.Hi, time.Duration(want))
		}
	}
	within(t, "rate of the rare", c.Pools[0].Throughput.Value, 280, 0.02)
	within(t, "rate of the common", c.Pools[1].Throughput.Value, 1000, 0.02)
	within(t, "in use", c.Pools[1].Levels.InUse.Mean.Value, 6.4, 0.02)
	within(t, "waiting, by Little's law", c.Pools[0].Levels.Waiting.Mean.Value, 280*want/1e9, 0.1)

	// Nobody waits: both lose what Erlang's loss formula says of the sum.
	c = &mustRun(t, strings.ReplaceAll(src, "acquire,", "acquire: {try: true},"), scenarios.Options{}).Cells[0]
	for _, p := range c.Pools {
		f, want := p.FailedRate, simtest.ErlangB(8, 6.4)
		if half := (f.Hi - f.Lo) / 2; math.Abs(f.Value-want) > 2*half || half > 0.05*want {
			t.Errorf("%s: share lost %+v, want %v", p.Name, f, want)
		}
	}
}

// TestPoolOfAnother: what is a pool's is there once, and not at those who use it.
func TestPoolOfAnother(t *testing.T) {
	const src = `
name: once
until: 10s
server: {connection_limit: 100, connect: 20ms}
services:
  - {name: web, instances: 2, pool: {model: sqlx, max_connections: 10}, workload: {arrivals: {constant: 10/s}, request: [acquire, query: 10ms, {leak: 1%}, release]}}
  - {name: jobs, pool_of: web, workload: {clients: 3, request: [acquire, query: 10ms, release]}}
  - {name: other, pool: {model: semaphore, max: 5}, workload: {clients: 1, request: [acquire, query: 10ms, release]}}
`
	c := mustCheck(t, src)
	if rows := c.Budget.Rows; len(rows) != 2 || rows[0].Service != "web" || rows[0].Demand != 20 || c.Budget.Demand != 25 {
		t.Errorf("budget %+v, want 20 of web and 5 of other", rows)
	}
	if len(c.Leaks) != 1 || c.Leaks[0].Service != "web" || c.Leaks[0].Capacity != 10 {
		t.Errorf("leaks %+v, want those of web alone", c.Leaks)
	}
	for _, p := range c.Pools {
		if jobs := strings.HasPrefix(p.Name, "jobs"); jobs != (p.PoolOf != "") || jobs == p.Levels.Size.Mean.Known || !p.Levels.Waiting.Mean.Known {
			t.Errorf("%s: pool of %q, levels %+v", p.Name, p.PoolOf, p.Levels)
		}
	}
	if s := c.Services[1]; s.Name != "jobs" || s.PoolOf != "web" || s.Levels.InUse.Max.Known || c.Pools[3].PoolOf != "web-2" {
		t.Errorf("%+v, %s", s, c.Pools[3].PoolOf)
	}
	for check, want := range map[string]record.Status{"size.max{service=jobs-1}>0": record.NotEvaluated, "waiting.max{service=jobs}<=6": record.Passed} {
		e, err := record.ParseCheck(check)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Evaluate(c).Status; got != want {
			t.Errorf("%s: %s, want %s", check, got, want)
		}
	}
	// One pool and its two classes are no budget of several pools.
	if c := mustCheck(t, src, "services[2]={name: other, pool_of: web, instances: 2, workload: {clients: 1, request: [acquire, release], think: 1s}}",
		"services[0].instances=1", "services[1].instances=1", "services[2].instances=1"); c.Budget != nil {
		t.Errorf("budget %+v for one pool", c.Budget)
	}
}

// TestStartWithThePool: a class begins with the pool that it uses, or later; and once more after a restart.
func TestStartWithThePool(t *testing.T) {
	const src = `
name: start
until: 100s
server: {connect: 1s}
services:
  - {name: late, pool_of: web, start_at: 10s, start_every: 1s, instances: 2, workload: {clients: 1, repeat: 1, request: [acquire, release]}}
  - {name: soon, pool_of: web, instances: 2, workload: {clients: 1, repeat: 1, request: [acquire, release]}}
  - {name: web, pool: {model: sqlx, start: eager}, start_at: 20s, start_every: 5s, instances: 2, workload: {clients: 1, repeat: 1, request: [acquire, release]}}
actions: [{at: 50s, service: web, instance: 2, do: restart}]
`
	_, s := storyOf(t, src)
	want := []sim.Time{30, 36, 21, 26, 21, 26} // eager pools are ready after a second
	for pool, at := range want {
		began := s.where(func(f record.Fact) bool { return f.Kind == record.RequestBegan && f.Pool == int16(pool) })
		ats := []sim.Time{at * 1e9}
		switch pool {
		case 1:
			ats = append(ats, 61e9)
		case 3, 5:
			ats = append(ats, 51e9)
		}
		var got []sim.Time
		for _, f := range began {
			got = append(got, f.At)
		}
		if !slices.Equal(got, ats) {
			t.Errorf("instance %d makes requests at %v, want %v", pool, got, ats)
		}
	}
}

// storyOf runs a scenario of one cell with its invariants checked and where the time went, and returns all that happened.
func storyOf(t interface {
	Helper()
	Fatal(...any)
}, src string, set ...string) (*record.Cell, story) {
	t.Helper()
	base, cells, err := scenarios.Load("test.yaml", []byte(src), scenarios.Options{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	var s story
	res, err := Run(context.Background(), base, cells, Options{
		CheckInvariants: true, Stages: true, Trace: func([]string) record.Sink { return &s },
	})
	if err != nil {
		t.Fatal(err)
	}
	return &res.Cells[0], s
}

// TestOneProgram: what is done to the service that has the pool is done to all that use it. Each class has 100 requests a second of
// 50 ms, at 0 ms, 10 ms, ...
func TestOneProgram(t *testing.T) {
	const src = `
name: program
until: drained
server: {close: 1ms}
services:
  - {name: web, pool: {model: handoff, max_total: 20}, workload: {arrivals: {constant: 100/s}, request: [acquire, query: 50ms, release]}}
  - {name: jobs, pool_of: web, workload: {arrivals: {constant: 100/s}, request: [acquire, query: 50ms, release]}}
`
	type count struct{ ok, killed, closed int64 }
	for actions, want := range map[string][2]count{
		"[{at: 10s, service: web, do: shut_down}]": {{ok: 1000}, {ok: 1000}},
		"[{at: 10s, service: web, do: kill}]":      {{ok: 995, killed: 5}, {ok: 995, killed: 5}},
		// Only the jobs, at first.
		"[{at: 10s, service: jobs, do: stop}, {at: 20s, service: web, do: shut_down}]": {{ok: 2000}, {ok: 1000}},
		// The pool is closed for both, a second before they stop.
		"[{at: 10s, service: web, do: close}, {at: 11s, service: web, do: stop}, {at: 11s, service: jobs, do: stop}]": {{ok: 1000, closed: 100}, {ok: 1000, closed: 100}},
		// Nobody has a connection that was opened before the restart: what went on is lost. Each life has 1000.
		"[{at: 10s, service: web, do: restart}, {at: 20s, service: web, do: shut_down}]": {{ok: 1995, killed: 5}, {ok: 1995, killed: 5}},
	} {
		c, s := storyOf(t, src, "actions="+actions)
		for i, p := range c.Pools {
			got := count{p.Requests.OK, p.Requests.Outcomes[record.Killed], p.Requests.Outcomes[record.PoolIsClosed]}
			if got != want[i] || p.Requests.Unfinished > 0 {
				t.Errorf("%s: %s %+v, %d unfinished, want %+v", actions, p.Name, got, p.Requests.Unfinished, want[i])
			}
		}
		if open := len(s.ended(record.ConnectEnded, record.OK)) - len(s.of(record.SessionEnded)); strings.Contains(actions, "shut_down") && open != 0 {
			t.Errorf("%s: %d sessions are open in the end", actions, open)
		}
	}
	// A pause of 1 s, from 5 s on: nobody begins a query meanwhile.
	_, s := storyOf(t, src, "actions=[{at: 5s, service: web, pause: 1s}, {at: 10s, service: web, do: shut_down}]")
	if n := len(s.from(5*time.Second+1, 6*time.Second).of(record.QuerySent)); n > 0 {
		t.Errorf("%d queries are sent in the pause", n)
	}
	if n := len(s.of(record.Paused)); n != 2 {
		t.Errorf("%d services stand still, want both", n)
	}
}

// TestDeadlockOfClasses: three requests of each of two classes hold one connection and want another. With six connections they wait
// for each other, with seven they do not; none of the classes could fill six alone. A third class that holds connections and waits
// for nothing does not change that, but while one of its requests has a connection there is no deadlock yet.
func TestDeadlockOfClasses(t *testing.T) {
	const src = `
name: classes
until: 20s
services:
  - {name: a, pool: {model: semaphore, max: 6, acquire_timeout: 5s}, workload: {clients: 3, repeat: 1, request: [acquire, call: 10ms, acquire, release, release]}}
  - {name: b, pool_of: a, workload: {clients: 3, repeat: 1, request: [acquire, call: 10ms, acquire, release, release]}}
  - {name: c, pool_of: a, start_at: 10s, workload: {clients: 9, repeat: 3, request: [acquire, call: 3s, release]}}
`
	c, _ := storyOf(t, src)
	d := diagnosis(t, c, record.Deadlocked)
	if want := "6 requests hold all 6 connections: all wait for another connection; the smallest safe pool is 7"; d.Service != "a" || d.Text != want || d.At.Value != 10*ms {
		t.Errorf("%+v, want at 10 ms: %s", d, want)
	}
	c, _ = storyOf(t, src, "services.a.pool.max=7")
	if c.Requests.OK != 6+9*2 || len(c.Diagnoses) > 0 { // of 27 calls of 3 s on 7 from 10 s on, 21 are through, or to be, at 20 s
		if len(c.Diagnoses) > 0 || c.Requests.Failed > 0 {
			t.Errorf("7: %+v, %+v", c.Requests, c.Diagnoses)
		}
	}
	// By the scenario alone: it can, though the requests of b come when those of a are long done.
	c, _ = storyOf(t, src, "services.b.start_at=1s")
	d = diagnosis(t, c, record.CanDeadlock)
	if want := "requests of a and b hold connections while they wait for one more: together they can fill the pool of 6 and wait for each other; the smallest safe pool is 7"; d.Service != "a" || d.Text != want {
		t.Errorf("%+v, want %s", d, want)
	}
	// Somebody else has the last connection, and gives it back after 1 s: that is no deadlock, though the others wait for 1 s.
	c, _ = storyOf(t, src, "services.c.start_at=0s", "services.c.workload.clients=1", "services.c.workload.repeat=1", "services.c.workload.request=[acquire, call: 1s, release]",
		"services.a.pool.max=7", "services.a.pool.acquire_timeout=500ms")
	if len(c.Diagnoses) > 0 {
		t.Errorf("%+v", c.Diagnoses)
	}
}

// TestHistoriesOfClasses runs random classes on one pool of a random model, through restarts, pauses and kills. The pool verifies
// itself after each event, and the stages of every request add up to its latency (or the run panics). Each class gets an end for each
// beginning and gives back what it was lent and has not lost; the figures of the classes add up to those of all; and the connections
// in use in the end are those that somebody holds or has lost.
func TestHistoriesOfClasses(t *testing.T) {
	pools := []string{
		"{model: semaphore, max: %d, acquire_timeout: 20ms}", "{model: sqlx, max_connections: %d, acquire_timeout: 20ms, after_release: {takes: 1ms, false_probability: 20%%}}",
		"{model: handoff, max_total: %d, acquire_timeout: 20ms, close_grace: 1s}", "{model: asyncio, max_size: %d, checkout_timeout: 20ms}",
	}
	requests := []string{
		"[acquire, query: 5ms, release]", "[acquire: {try: true}, call: 3ms, release]", "[acquire: {timeout: 5ms}, query: {exponential: {mean: 5ms}}, discard]",
		"[acquire, query: 2ms, acquire, query: 2ms, release, release]", "[acquire, {leak: 5%}, query: 1ms, release]",
		"[{cancel: {after: 5ms}}, acquire, query: 4ms, close_on_drop]", "[acquire, begin, query: 3ms, {fail: 30%}, commit, release]",
	}
	actions := []string{
		"{at: 60ms, service: owner, do: restart}", "{at: 40ms, service: owner, pause: 30ms}", "{at: 120ms, service: owner, do: kill}",
		"{at: 80ms, service: second, do: stop}", "{at: 100ms, service: owner, do: close}",
	}
	rapid.Check(t, func(t *rapid.T) {
		load := func(name string) string {
			request := rapid.SampledFrom(requests).Draw(t, name+" does")
			if rapid.Bool().Draw(t, name+" is closed") {
				return fmt.Sprintf("{clients: %d, repeat: 20, request: %s}", rapid.IntRange(1, 4).Draw(t, name+" clients"), request)
			}
			return fmt.Sprintf("{arrivals: {poisson: %d/s}, limit: 60, request: %s}", rapid.IntRange(50, 1000).Draw(t, name+" rate"), request)
		}
		var does []string
		for _, a := range actions {
			if rapid.IntRange(0, 3).Draw(t, a) == 0 {
				does = append(does, a)
			}
		}
		src := fmt.Sprintf(`
name: history
until: drained
seed: %d
server: {cores: 2, connect: 2ms, round_trip: 100us}
services:
  - {name: first, pool_of: owner, start_at: 3ms, workload: %s}
  - {name: owner, pool: %s, workload: %s}
  - {name: second, pool_of: owner, workload: %s}
actions: [%s]
`, rapid.Uint64Range(1, 1000).Draw(t, "seed"), load("first"),
			fmt.Sprintf(rapid.SampledFrom(pools).Draw(t, "pool"), rapid.IntRange(1, 6).Draw(t, "size")), load("owner"), load("second"), strings.Join(does, ", "))
		c, s := storyOf(t, src)
		classes(t, c, s)
	})
}

// classes checks a history of three classes on the pool of the second.
func classes(t *rapid.T, c *record.Cell, s story) {
	type tally struct{ began, ended, asked, answered, granted, returned, waits int }
	var of [3]tally
	var inUse int
	for _, f := range s {
		if f.Pool < 0 {
			continue
		}
		k := &of[f.Pool]
		switch f.Kind {
		case record.RequestBegan:
			k.began++
		case record.RequestEnded:
			k.ended++
		case record.AcquireBegan:
			k.asked++
		case record.AcquireEnded:
			k.answered++
			if f.Outcome == record.OK {
				k.granted++
			}
		case record.Returned:
			k.returned++
		case record.WaitBegan:
			k.waits++
		case record.WaitEnded:
			k.waits--
		case record.Exited: // all that it had ends without a word
			k.asked, k.granted, k.waits = k.answered, k.returned, 0
			if f.Pool == 1 {
				inUse = 0
			}
		case record.ConnMoved:
			if f.Pool != 1 {
				t.Fatalf("a connection of class %d: %+v", f.Pool, f)
			}
			if f.Move.From() == record.InUse {
				inUse--
			}
			if f.Move.To() == record.InUse {
				inUse++
			}
		case record.Leaked:
			if f.Pool != 1 {
				t.Fatalf("a slot of class %d: %+v", f.Pool, f)
			}
		}
	}
	var sum record.Requests
	var holds, waits int64
	held := 0
	for i, k := range of {
		p := &c.Pools[i]
		if k.began != k.ended || k.asked != k.answered || k.waits != 0 || k.granted < k.returned {
			t.Errorf("%s: %+v", p.Name, k)
		}
		if p.Requests.Total != int64(k.began) || p.Hold.N != int64(k.returned) {
			t.Errorf("%s: %d requests and %d holds are counted of %d and %d", p.Name, p.Requests.Total, p.Hold.N, k.began, k.returned)
		}
		sum.Total += p.Requests.Total
		sum.OK += p.Requests.OK
		sum.Failed += p.Requests.Failed
		holds += p.Hold.N
		waits += p.Wait.N
		held += k.granted - k.returned
	}
	if sum.Total != c.Requests.Total || sum.OK != c.Requests.OK || sum.Failed != c.Requests.Failed || holds != c.Hold.N || waits != c.Wait.N {
		t.Errorf("the classes have %+v, %d holds, %d waits; all together %+v, %d, %d", sum, holds, waits, c.Requests, c.Hold.N, c.Wait.N)
	}
	if inUse != held || float64(inUse) != c.Pools[1].Levels.InUse.Final.Value {
		t.Errorf("%d connections are in use and %d held or lost; %v are recorded", inUse, held, c.Pools[1].Levels.InUse.Final.Value)
	}
}
