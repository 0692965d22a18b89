package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// mustLoad returns the scenario that src describes.
func mustLoad(t testing.TB, src string, o scenarios.Options) (*scenarios.Scenario, []scenarios.Cell) {
	t.Helper()
	base, cells, err := scenarios.Load("test.yaml", []byte(src), o)
	if err != nil {
		t.Fatal(err)
	}
	return base, cells
}

func mustRun(t testing.TB, src string, o scenarios.Options) *record.Result {
	t.Helper()
	base, cells := mustLoad(t, src, o)
	res, err := Run(context.Background(), base, cells, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func asJSON(t *testing.T, res *record.Result) string {
	t.Helper()
	b, err := json.MarshalIndent(res, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const busy = `
name: busy
until: drained
replications: 6
server: {cores: 2, connect: {exponential: {mean: 20ms}}, connection_limit: 6, discipline: sharing}
pool: {model: semaphore, max: 4, acquire_timeout: 80ms}
workload:
  arrivals: {poisson: 150/s}
  limit: 2000
  retry: {attempts: 3, backoff: 5ms, jitter: full}
  request:
    - acquire
    - query: {lognormal: {p50: 8ms, p99: 60ms}}
    - call: {exponential: {mean: 3ms}}
    - leak: 0.01%
    - release
sweep: {pool.max: [2, 4, 8]}
checks: ["p(99)<1s", "failed_rate<50%"]
`

// TestSameBytesOnAnyNumberOfProcessors: the result does not depend on how many replications run at the same time, nor on
// whether invariants are checked or facts are traced on the way.
func TestSameBytesOnAnyNumberOfProcessors(t *testing.T) {
	base, cells := mustLoad(t, busy, scenarios.Options{})
	var want string
	facts := 0
	for i, opt := range []Options{
		{Workers: 1},
		{Workers: 1},
		{Workers: 7},
		{Workers: 3, CheckInvariants: true},
		{Workers: 2, Trace: func([]string) record.Sink { return counting{&facts} }},
	} {
		res, err := Run(context.Background(), base, cells, opt)
		if err != nil {
			t.Fatal(err)
		}
		got := asJSON(t, res)
		if i == 0 {
			want = got
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("options %d: (-first +this):\n%s", i, d)
		}
	}
	if facts == 0 {
		t.Error("nothing was traced")
	}
}

type counting struct{ n *int }

func (c counting) Note(record.Fact) { *c.n++ }

// TestSeedsAndReplications: replication i of seed s is the run of seed s+i, and another seed gives another result.
func TestSeedsAndReplications(t *testing.T) {
	both := mustRun(t, busy, scenarios.Options{Set: []string{"replications=2", "seed=5"}})
	first := mustRun(t, busy, scenarios.Options{Set: []string{"replications=1", "seed=5"}})
	second := mustRun(t, busy, scenarios.Options{Set: []string{"replications=1", "seed=6"}})
	for i := range both.Cells {
		var sum record.Counts
		for o := range sum {
			sum[o] = first.Cells[i].Requests.Outcomes[o] + second.Cells[i].Requests.Outcomes[o]
		}
		if both.Cells[i].Requests.Outcomes != sum {
			t.Errorf("cell %d: outcomes of two replications are not the sum of both", i)
		}
	}
	if cmp.Equal(first.Cells[0].Latency, second.Cells[0].Latency) {
		t.Error("seeds 5 and 6 give the same latencies")
	}
}

// TestPoolsMeetTheSameRequests: in every cell the same requests arrive at the same times and are served for the same time, if
// nothing makes them wait or fail.
func TestPoolsMeetTheSameRequests(t *testing.T) {
	const src = `
name: crn
until: drained
pool: {model: semaphore, max: 1000}
workload:
  arrivals: {poisson: 100/s}
  limit: 5000
  request: [acquire, query: {exponential: {mean: 20ms}}, call: {gamma: {shape: 2, mean: 5ms}}, release]
sweep:
  pool: [none, {model: semaphore, max: 500}, {model: semaphore, max: 1000}]
`
	res := mustRun(t, src, scenarios.Options{})
	for _, c := range res.Cells[1:] {
		if d := cmp.Diff(res.Cells[0].Latency, c.Latency); d != "" {
			t.Errorf("%s: (-no pool +this):\n%s", c.Settings, d)
		}
	}
	if n := res.Cells[0].Latency.N; n != 5000 {
		t.Errorf("%d requests", n)
	}
}

func TestChecksAreJudgedInEveryCell(t *testing.T) {
	const src = `
name: checks
until: drained
server: {cores: 1}
pool: {model: semaphore, max: 1}
workload: {clients: 10, repeat: 10, request: [acquire, query: 5ms, release]}
sweep: {pool.max: [1, 2]}
checks:
  - failed_rate<=0%
  - {expr: "p(50)<1ms", level: warn}
  - {expr: "p(50)<1ms", level: off}
`
	res := mustRun(t, src, scenarios.Options{})
	var got []string
	for _, c := range res.Checks {
		got = append(got, string(c.Status)+" "+c.Level+" "+c.Settings.String())
	}
	want := []string{
		"passed error pool.max=1", "failed warning pool.max=1", "off off pool.max=1",
		"passed error pool.max=2", "failed warning pool.max=2", "off off pool.max=2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if res.Verdict != record.Passed {
		t.Errorf("verdict %s: a failed warning is no failed check", res.Verdict)
	}
	res = mustRun(t, src, scenarios.Options{Set: []string{"checks=[p(50)<1ms]"}})
	if res.Verdict != record.FailedCheck {
		t.Errorf("verdict %s", res.Verdict)
	}
}

func TestInterruptedRunSaysWhatWasFinished(t *testing.T) {
	base, cells := mustLoad(t, busy, scenarios.Options{Set: []string{"replications=1000"}})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	start := time.Now()
	_, err := Run(ctx, base, cells, Options{Workers: 1, Progress: func(done, total int) {
		if done == 3 {
			cancel()
		}
	}})
	var stopped *Interrupted
	if !errors.As(err, &stopped) || stopped.Done < 3 || stopped.Done > 4 || stopped.Total != 3000 || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v to stop", d)
	}
}

func TestARunThatGoesInCirclesIsGivenUp(t *testing.T) {
	for name, src := range map[string]string{
		"no time passes": `
name: circle
until: 1s
pool: none
workload: {clients: 2, request: [acquire, release]}`,
		"it passes once": `
name: circle
until: 10s
pool: {model: semaphore, max: 1}
workload: {clients: 1, request: [acquire, {query: 1ms, chance: 0.00001%}, release]}`,
	} {
		base, cells := mustLoad(t, src, scenarios.Options{})
		_, err := Run(context.Background(), base, cells, Options{})
		if err == nil || !strings.Contains(err.Error(), "no time has passed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLeakedPoolCannotDrain: with a pool that never times out, a leak leaves requests that nothing can end; the run ends
// all the same and says so.
func TestLeakedPoolCannotDrain(t *testing.T) {
	res := mustRun(t, `
name: stuck
until: drained
pool: {model: semaphore, max: 1, acquire_timeout: 0s}
workload: {clients: 2, repeat: 2, request: [acquire, query: 5ms, leak: 100%, release]}`, scenarios.Options{})
	c := res.Cells[0]
	if c.Requests.OK != 1 || c.Requests.Unfinished != 2 || len(c.Warnings) != 1 {
		t.Errorf("%+v, warnings %q", c.Requests, c.Warnings)
	}
}

func TestSteadyRunsLeaveTheWarmUpOut(t *testing.T) {
	const src = `
name: steady
estimate: steady
until: 200s
server: {cores: 1, connect: 5s}
pool: {model: semaphore, max: 1}
workload: {clients: 1, think: {exponential: {mean: 10ms}}, request: [acquire, query: {exponential: {mean: 10ms}}, release]}
`
	// The first request waits 5 s for its connection and no other does.
	for warmup, longest := range map[string]bool{"none": true, "10s": false, "auto": false} {
		res := mustRun(t, src, scenarios.Options{Set: []string{"warmup=" + warmup}})
		c := res.Cells[0]
		if got := c.Latency.Max.Value > 5*time.Second; got != longest {
			t.Errorf("warmup %s: longest latency %v", warmup, c.Latency.Max.Value)
		}
		if len(c.Warnings) > 0 {
			t.Errorf("warmup %s: %q", warmup, c.Warnings)
		}
		if warmup == "10s" && (c.Requests.Total < 9000 || c.Requests.Total > 10000) {
			t.Errorf("%d requests in 190 s at 50 a second", c.Requests.Total)
		}
	}
}

// TestThroughputOfTheLongRun: one connection and queries of 10 ms are 100 a second, however long the requests wait that are under
// way when the warm-up ends: here 500 ms.
func TestThroughputOfTheLongRun(t *testing.T) {
	res := mustRun(t, `
name: long run
estimate: steady
until: 3s
warmup: 1s
pool: {model: semaphore, max: 1}
workload: {clients: 50, request: [acquire, query: 10ms, release]}
`, scenarios.Options{})
	c := res.Cells[0]
	if c.Throughput.Value < 99.5 || c.Throughput.Value > 100.5 {
		t.Errorf("throughput %v, want 100", c.Throughput.Value)
	}
	if c.Latency.N < 149 || c.Latency.N > 151 { // of those that began in the last two seconds, 50 are under way
		t.Errorf("%d latencies, want 150", c.Latency.N)
	}
}

// TestMaintenanceDoesNotKeepARunGoing: the request waits for ever, and the pool's own timers go on for ever.
func TestMaintenanceDoesNotKeepARunGoing(t *testing.T) {
	for name, src := range map[string]string{
		"a silent network": `
name: silent
until: drained
server: {faults: [{at: 1s, partition: true}]}
pool: {model: handoff, validate: background, validation_period: 1ms}
workload: {clients: 1, repeat: 1, request: [acquire, query: 2s, release]}`,
		"a second connection that there is not": `
name: two of one
until: drained
pool: {model: sqlx, max_connections: 1, min_connections: 1, idle_timeout: 1ms, max_lifetime: 1ms, acquire_timeout: 2500000h}
workload: {clients: 1, repeat: 1, request: [acquire, acquire, release, release]}`,
	} {
		c := mustRun(t, src, scenarios.Options{}).Cells[0]
		if c.Requests.Unfinished != 1 || !slices.ContainsFunc(c.Warnings, func(s string) bool { return strings.Contains(s, "nothing could end") }) {
			t.Errorf("%s: %+v, warnings %q", name, c.Requests, c.Warnings)
		}
	}
}
