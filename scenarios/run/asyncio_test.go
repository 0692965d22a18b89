package run

import (
	"fmt"
	"math"
	"testing"
	"time"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// setting returns the cell of a label, or the value of a setting.
func setting(t *testing.T, res *record.Result, label string) *record.Cell {
	t.Helper()
	for i := range res.Cells {
		if res.Cells[i].Settings[0].Value == label {
			return &res.Cells[i]
		}
	}
	t.Fatalf("there is no setting %q", label)
	return nil
}

// TestAsyncioLoadTest: every task ends in one of three ways, and what is left of ten permits is ten less what was leaked, run by
// run. Without leaks and errors there are three waves, which wait 0, 100 and 200 ms.
func TestAsyncioLoadTest(t *testing.T) {
	res := runBuiltin(t, "asyncio-load-test")
	c := setting(t, res, "defaults")
	if c.Requests.Total != 30*50 {
		t.Errorf("%d tasks, want 30 in each of 50 runs", c.Requests.Total)
	}
	for i, run := range c.Each {
		r := run.Requests
		if r.OK+r.Outcomes[record.Failed]+r.Outcomes[record.AcquireTimeout] != 30 {
			t.Errorf("run %d: %+v, want 30 together", i, r)
		}
		if left := run.Levels.Idle.Final.Value; left != 10-run.Leaked.Value {
			t.Errorf("run %d: %v permits are left and %v leaked, want ten together", i, left, run.Leaked.Value)
		}
	}
	// One in ten of the successful tasks leaks, one in a hundred of all fails; four standard deviations.
	n := float64(c.Requests.Total)
	within(t, "share of errors", float64(c.Requests.Outcomes[record.Failed])/n, 0.01, 4*math.Sqrt(0.99/0.01/n))
	n = float64(c.Requests.OK)
	within(t, "share of leaks", c.Leaked.Value*50/n, 0.1, 4*math.Sqrt(0.9/0.1/n))

	c = setting(t, res, "no leaks, no errors")
	if c.Requests.OK != 30*50 || c.Leaked.Value != 0 {
		t.Errorf("%d ok, %v leaked, want all and none", c.Requests.OK, c.Leaked.Value)
	}
	if c.Wait.Mean.Value != 100*ms || c.Makespan.Value != 300*ms {
		t.Errorf("mean wait %v, makespan %v, want 100 ms and 300 ms", c.Wait.Mean.Value, c.Makespan.Value)
	}
	_, s := tell(t, "asyncio-load-test", "no leaks, no errors", "replications=1")
	waves := map[time.Duration]int{}
	for _, f := range s.ended(record.AcquireEnded, record.OK) {
		waves[f.Took]++
	}
	if len(waves) != 3 || waves[0] != 10 || waves[100*ms] != 10 || waves[200*ms] != 10 {
		t.Errorf("waits %v, want ten each of 0, 100 and 200 ms", waves)
	}
}

// empty returns when the last of ten permits was leaked, and checks what follows.
func empty(t *testing.T, s story) time.Duration {
	t.Helper()
	lost := s.of(record.Leaked)
	if len(lost) != 10 {
		t.Fatalf("%d permits leaked, want all ten", len(lost))
	}
	at := time.Duration(lost[9].At)
	for _, f := range s.from(at+1, math.MaxInt64).of(record.AcquireEnded) {
		if f.Outcome != record.AcquireTimeout || f.Took != 500*ms {
			t.Fatalf("an acquire of the empty pool: %v after %v", f.Outcome, f.Took)
		}
	}
	return at
}

// TestAsyncioDrain: ten leaks need a number of successful tasks with a negative binomial distribution: 10/p on the average, with
// the variance 10 (1-p) / p², whatever the traffic.
func TestAsyncioDrain(t *testing.T) {
	res := runBuiltin(t, "asyncio-drain")
	for label, p := range map[string]float64{"1 %": 0.01, "5 %": 0.05, "10 %": 0.1} {
		c := setting(t, res, label)
		if c.Leaked.Value != 10 || c.Levels.InUse.Final.Value != 10 {
			t.Errorf("%s: %v leaked, %v in use in the end, want ten", label, c.Leaked.Value, c.Levels.InUse.Final.Value)
		}
		runs := float64(c.Replications)
		within(t, label+": tasks done", float64(c.Requests.OK), runs*10/p, 4*math.Sqrt(10*(1-p)/runs)/10)
	}
	if c := setting(t, res, "0 %"); c.Requests.Failed > 0 {
		t.Errorf("without leaks %d fail", c.Requests.Failed)
	}

	// The time: one leak in 1/p tasks, at 50/s, or 10 c a second if c permits are too few for that.
	const p, runs = 0.1, 30
	mean, variance := 0.0, 0.0
	for c := range 10 {
		leak := p * min(50, 10*float64(c+1)) // a second
		mean += 1 / leak
		variance += 1 / (leak * leak)
	}
	sum := 0.0
	for seed := range runs {
		_, s := tell(t, "asyncio-drain", "10 %", "replications=1", "until=20s", fmt.Sprintf("seed=%d", seed+1))
		sum += empty(t, s).Seconds()
	}
	within(t, "time to empty, s", sum/runs, mean, 3*math.Sqrt(variance/runs)/mean)
}

// TestAsyncioDrainSaturated: with somebody always waiting each permit works on by itself, one task after the other, until one of them
// leaks it: its life is geometric, in tasks. The pool lives as long as the longest of ten.
func TestAsyncioDrainSaturated(t *testing.T) {
	const runs = 40
	q, mean, square := 0.9, 0.0, 0.0
	for k, alive := 0, 1.0; k < 1000; k++ { // alive is q^k: a permit does its task k
		some := 1 - math.Pow(1-alive, 10)
		mean, square = mean+some, square+float64(2*k+1)*some
		alive *= q
	}
	sum := 0.0
	for seed := range runs {
		var s story
		base, cells := mustLoad(t, `
until: 20s
pool: {model: asyncio, max_size: 10, checkout_timeout: 500ms}
workload: {clients: 30, request: [acquire, call: 100ms, leak: 10%, release]}
`, scenarios.Options{Set: []string{fmt.Sprintf("seed=%d", seed+1)}})
		if _, err := Run(t.Context(), base, cells, Options{Trace: func([]string) record.Sink { return &s }}); err != nil {
			t.Fatal(err)
		}
		sum += empty(t, s).Seconds()
	}
	within(t, "time to empty, s", sum/runs, mean/10, 3*math.Sqrt((square-mean*mean)/runs)/mean)
}
