package run

import (
	"math"
	"slices"
	"strings"
	"testing"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// TestOfferedLoad: a request takes 10 ms of the one core, and keeps a connection for longer while it waits for that core. What is
// offered follows from the rate alone; it is too much from 100 a second on.
func TestOfferedLoad(t *testing.T) {
	const src = `
name: offered
until: 100s
server: {cores: 1}
pool: {model: semaphore, max: 5, acquire_timeout: 500ms}
workload:
  arrivals: {constant: 60/s}
  request: [acquire, query: {phases: [{io: 1ms}, {cpu: {uniform: {min: 5ms, max: 15ms}}}]}, release]
`
	for _, c := range []struct {
		rate       string
		load       float64
		much, fail bool
	}{
		{"60/s", 0.6, false, false},
		{"160/s", 1.6, true, true},
	} {
		cell := mustCheck(t, src, "workload.arrivals.constant="+c.rate)
		cores := cell.Offered[0]
		if cores.Of != record.OfCores || cores.Have != 1 || math.Abs(cores.Load.Value-c.load) > 0.001 || cores.Each.Value != 10*ms {
			t.Errorf("%s: %+v", c.rate, cores)
		}
		if cores.TooMuch() != c.much || (cell.Requests.Failed > 0) != c.fail {
			t.Errorf("%s: too much %v, %+v", c.rate, cores.TooMuch(), cell.Requests)
		}
	}
	// A connection is kept through a call of 90 ms: 5 of them serve 50 a second, and the core has time.
	cell := mustCheck(t, src, "workload.request=[acquire, query: 10ms, call: 90ms, release]")
	if o := cell.Offered[1]; o.Of != record.OfConnections || o.Have != 5 || math.Abs(o.Load.Value-6) > 0.01 || !o.TooMuch() || cell.Offered[0].TooMuch() {
		t.Errorf("%+v", cell.Offered)
	}
	if n := cell.Timeouts; n.Held == 0 || n.Opening != 0 || n.Other != 0 {
		t.Errorf("%+v", n)
	}
	// 80 a second in the mean, but 160 for a quarter of the time: then it is too much, not on the whole.
	cell = mustCheck(t, src, "workload.arrivals={phases: [{for: 50s, rate: 60/s}, {for: 25s, rate: 140/s, to: 180/s}, {rate: 40/s}]}")
	if o := cell.Offered[0]; o.TooMuch() || math.Abs(o.Peak.Value-1.6) > 0.001 || math.Abs(o.Load.Value-0.8) > 0.05 {
		t.Errorf("%+v", o)
	}
	cell = mustCheck(t, src, "workload.arrivals={phases: [{for: 99s, rate: 60/s}, {for: 100ms, rate: 160/s}, {rate: 60/s}]}")
	if o := cell.Offered[0]; o.Peak.Known {
		t.Errorf("6 requests too many are no queue: %+v", o)
	}
	// Clients that wait for their answers ask for no more than they get.
	cell = mustCheck(t, strings.Replace(src, "arrivals: {constant: 60/s}", "clients: 50", 1))
	if cell.Offered != nil || cell.Arrivals.Known {
		t.Errorf("%+v", cell.Offered)
	}
}

// TestNeeds: what a request needs in the mean, worked out by hand.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		request string
		want    need
	}{
		{"[acquire, query: 10ms, release]", need{loans: 1, core: 10e6}},
		{"[acquire, query: {phases: [{io: 7ms}, {cpu: 2ms}, {cpu: 4ms, chance: 50%}]}, release]", need{loans: 1, core: 4e6}},
		{"[acquire, {query: 10ms, chance: 25%}, release, call: 5ms, acquire, query: 1ms, release]", need{loans: 2, core: 3.5e6}},
		{"[{do: [acquire, query: 10ms, release], chance: 10%}, acquire, query: 1ms, release]", need{loans: 1.1, core: 2e6}},
		{"[acquire, query: 10ms, fail: 50%, query: 10ms, release]", need{loans: 1, core: 15e6}},
		{"[acquire, query: 10ms, leak: 1%, release]", need{loans: 1, core: 10e6, noLoans: true}},
		{"[acquire, {query: 10ms, cancel_after: 5ms}, release]", need{loans: 1, core: 10e6, noCore: true}},
		{"[acquire, query: {exponential: {mean: 10ms}, at_most: 1s}, release]", need{loans: 1, noCore: true}},
	} {
		base, _ := mustLoad(t, "name: needs\nuntil: 1s\npool: {model: semaphore, max: 1}\nworkload: {clients: 1, request: "+c.request+"}", scenarios.Options{})
		got := needOf(&base.Server, base.Workload.Request)
		if math.Abs(got.loans-c.want.loans) > 1e-9 || math.Abs(got.core-c.want.core) > 1 || got.noLoans != c.want.noLoans || got.noCore != c.want.noCore {
			t.Errorf("%s: %+v, want %+v", c.request, got, c.want)
		}
	}
}

// TestSharedPoolIsOfferedBoth: two classes of 30 requests a second each keep one of 10 connections for 100 ms and 200 ms: together
// they would occupy 9 of them.
func TestSharedPoolIsOfferedBoth(t *testing.T) {
	cell := mustCheck(t, `
name: shared
until: 20s
services:
  - name: app
    pool: {model: semaphore, max: 10}
    workload: {arrivals: {constant: 30/s}, request: [acquire, query: 100ms, release]}
  - name: job
    pool_of: app
    workload: {arrivals: {constant: 30/s}, request: [acquire, query: 200ms, release]}
`)
	if len(cell.Offered) != 1 || cell.Offered[0].Service != "app" || math.Abs(cell.Offered[0].Load.Value-9) > 0.05 || cell.Offered[0].Have != 10 {
		t.Errorf("%+v", cell.Offered)
	}
}

// TestWarnings: what a run warns of, and what not.
func TestWarnings(t *testing.T) {
	const one = `
name: warned
until: 60s
server: {cores: 1, connection_limit: 20}
pool: {model: semaphore, max: 5, acquire_timeout: 100s}
workload: {arrivals: {poisson: 50/s}, request: [acquire, query: 10ms, release]}
`
	const fleet = `
name: fleet
until: 10s
server: {connection_limit: 20}
services:
  - name: app
    instances: 3
    pool: {model: semaphore, max: 8}
    workload: {clients: 1, think: 1s, request: [acquire, query: 10ms, release]}
`
	const (
		grows      = "more and more requests wait, to the end of the run"
		steady     = "there is no steady state"
		unfinished = "requests were still going on"
		could      = "could open 24 connections, and the server allows 20; in this run it did not come to that: at most"
		did        = "together could open 24 connections, and the server allows 20"
	)
	for name, c := range map[string]struct {
		src  string
		set  []string
		want []string
	}{
		"a stable queue":            {one, nil, nil},
		"a queue that grows":        {one, []string{"workload.arrivals.poisson=130/s"}, []string{grows, unfinished}},
		"in steady state":           {one, []string{"workload.arrivals.poisson=130/s", "estimate=steady", "warmup=5s"}, []string{steady}},
		"a queue that is full":      {one, []string{"workload.arrivals.poisson=130/s", "pool.acquire_timeout=300ms"}, nil},
		"one of many unfinished":    {strings.Replace(one, "arrivals: {poisson: 50/s}", "clients: 1", 1), nil, nil},
		"all unfinished":            {strings.Replace(one, "arrivals: {poisson: 50/s}", "clients: 3", 1), []string{"workload.request[1].query=90s"}, []string{unfinished}},
		"one pool above the limit":  {one, []string{"pool.max=24"}, []string{"the pool " + could}},
		"a fleet above the limit":   {fleet, nil, []string{"the pools of all instances together " + could}},
		"that is refused":           {fleet, []string{"services.app.workload.clients=20", "services.app.workload.think=10ms"}, []string{did}},
		"a fleet at the limit":      {fleet, []string{"server.connection_limit=24"}, nil},
		"reserved connections too":  {fleet, []string{"server.connection_limit=24", "server.superuser_reserved=3"}, []string{"allows 21;"}},
		"the pool is behind others": {fleet, []string{"pooler={default_pool_size: 10}"}, nil},
	} {
		got := mustCheck(t, c.src, c.set...).Warnings
		ok := len(got) == len(c.want)
		for _, want := range c.want {
			ok = ok && slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) })
		}
		if !ok {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNotStarted: the second of two programs opens its pool before it serves, and the server has no connection left for it.
func TestNotStarted(t *testing.T) {
	cell := mustCheck(t, `
name: eager
until: 5s
server: {connection_limit: 4}
services:
  - name: old
    pool: {model: sqlx, max_connections: 4, min_connections: 4, start: eager}
    workload: {clients: 1, think: 100ms, request: [acquire, query: 10ms, release]}
  - name: new
    start_at: 1s
    pool: {model: sqlx, max_connections: 4, min_connections: 4, start: eager, acquire_timeout: 1s}
    workload: {clients: 1, request: [acquire, query: 10ms, release]}
`)
	d := diagnosis(t, cell, record.NotStarted)
	if d == nil || d.Service != "new" || d.At.Value < 2*1000*ms || cell.Requests.Failed != 0 {
		t.Errorf("%+v, %+v", d, cell.Requests)
	}
	if !slices.ContainsFunc(cell.Warnings, func(s string) bool { return strings.HasPrefix(s, "new could not start") }) {
		t.Errorf("%q", cell.Warnings)
	}
}

// A pooler that lends ten server connections for a transaction of 12 ms, as it takes where nobody waits, can do 833 a second; at 1000
// it would need twelve. That the connections of the pools are all lent then is a consequence.
func TestPoolerIsTheBottleneck(t *testing.T) {
	const src = `
name: pooler
until: 30s
server: {cores: 8, connection_limit: 100, connect: 20ms, round_trip: 500us}
pooler: {mode: transaction, default_pool_size: 10, max_client_connections: 300}
pool: {model: handoff, max_total: 200, acquire_timeout: 1s}
workload:
  arrivals: {poisson: 1000/s}
  request: [acquire, begin, query: {phases: [{io: 2ms}, {cpu: 3ms}]}, call: 5ms, commit, release]
`
	for size, much := range map[string]bool{"10": true, "20": false} {
		cell := mustCheck(t, src, "pooler.default_pool_size="+size)
		i := slices.IndexFunc(cell.Offered, func(o record.Offered) bool { return o.Of == record.OfPooler })
		if i < 0 {
			t.Fatalf("of %s: %+v", size, cell.Offered)
		}
		if o := cell.Offered[i]; o.TooMuch() != much || math.Abs(o.Load.Value-12) > 0.3 {
			t.Errorf("of %s: too much %v, %+v", size, o.TooMuch(), o)
		}
		if p50 := cell.Latency.P50.Value; size == "20" && p50.Round(ms) != 12*ms {
			t.Errorf("a transaction takes %v", p50)
		}
	}
}
