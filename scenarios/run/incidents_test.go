package run

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/simtest"
)

// What was reported in public.

// TestLeakPerCall: 50 calls, and then nothing but failures after 10 s; and once more after the restart.
func TestLeakPerCall(t *testing.T) {
	_, s := tell(t, "leak-per-call", "every call")
	served := s.ended(record.AcquireEnded, record.OK)
	if len(served) != 100 {
		t.Fatalf("%d calls are served, want 2 x 50", len(served))
	}
	// One call a second, from 0 s on; the second life begins at 90.5 s.
	if a, b := served[49].At, served[50].At; a > sim.Time(50*time.Second) || b < sim.Time(90*time.Second) {
		t.Errorf("the 50th call is served at %v and the next one at %v", a, b)
	}
	failed := s.ended(record.AcquireEnded, record.AcquireTimeout)
	if first := failed[0]; first.At != sim.Time(60*time.Second) {
		t.Errorf("the first failure is at %v, want call 51, of 50 s, to fail at 60 s", first.At)
	}
	for _, f := range failed {
		if f.Took != 10*time.Second {
			t.Fatalf("a call fails after %v, want 10 s", f.Took)
		}
	}
	// 500 calls on the average in each life, with a standard deviation of sqrt(50 x 0.9) / 0.1.
	_, s = tell(t, "leak-per-call", "1 in 10")
	for life, span := range [][2]time.Duration{{0, 90500 * ms}, {90500 * ms, 180 * time.Second}} {
		n := len(s.from(span[0], span[1]).ended(record.AcquireEnded, record.OK))
		within(t, fmt.Sprintf("1 in 10: calls of life %d", life+1), float64(n), 500, 4*math.Sqrt(50*0.9)/0.1/500)
	}
	c, _ := tell(t, "leak-per-call", "none")
	if c.Requests.Failed > 0 || c.Server.Opened != 2 {
		t.Errorf("without leaks: %d failed, %d opened, want none, and one in each life", c.Requests.Failed, c.Server.Opened)
	}
}

// TestLeakThreshold: of 72,000 jobs as many raise a false alarm as hold for longer than the threshold, P(hold > t) of them, with four
// standard deviations; ln hold is normal with the mean ln 150 ms and the variance 2 ln 2, so that the mean is twice the median. The other
// alarms are as many as there are leaks. All are raised when the threshold is over.
func TestLeakThreshold(t *testing.T) {
	const jobs = 72_000
	for label, threshold := range map[string]time.Duration{"0s": 0, "2s": 2 * time.Second, "5s": 5 * time.Second, "60s": time.Minute} {
		c, s := tell(t, "leak-threshold", label)
		want := 0.0
		if threshold > 0 {
			want = jobs * math.Erfc(math.Log(threshold.Seconds()/0.15)/math.Sqrt(2*math.Ln2)/math.Sqrt2) / 2
		}
		alarms, wrong := c.PoolNotes[record.LeakAlarm], c.PoolNotes[record.FalseLeakAlarm]
		if math.Abs(float64(wrong)-want) > 4*math.Sqrt(want) {
			t.Errorf("%v: %d false alarms, want %.4g", threshold, wrong, want)
		}
		leaks := int64(len(s.of(record.Leaked)))
		if float64(leaks) < 1 || math.Abs(float64(leaks)-jobs/10_000.) > 4*math.Sqrt(jobs/10_000.) {
			t.Errorf("%v: %d leaks, want one in 10,000", threshold, leaks)
		}
		if threshold > 0 && alarms-wrong != leaks || threshold == 0 && alarms > 0 {
			t.Errorf("%v: %d alarms, %d of them false, and %d leaks", threshold, alarms, wrong, leaks)
		}
		granted := map[int32]sim.Time{}
		for _, f := range s {
			switch {
			case f.Kind == record.ConnMoved && f.Move.To() == record.InUse:
				granted[f.Conn] = f.At
			case f.Kind == record.PoolNote && f.Outcome == record.LeakAlarm && f.At.Sub(granted[f.Conn]) != threshold:
				t.Fatalf("%v: an alarm after %v", threshold, f.At.Sub(granted[f.Conn]))
			}
		}
	}
}

// TestCancelLosesSlot: after each wave a safe pool has three idle connections. The other one is dead after three losses, and the
// losses are those that come within 50 µs of a deadline: 0.1 of 30 ms, so 1 in 300 returns, 1 in 100 waves.
func TestCancelLosesSlot(t *testing.T) {
	for _, label := range []string{"handed back", "sqlx", "semaphore"} {
		_, s := tell(t, "cancel-loses-slot", label)
		for wave := range 1000 {
			at := time.Duration(wave) * 400 * ms
			if wave%50 == 0 { // as gauges go through all of the story
				if lo, _ := s.gaugesOf(0, at+300*ms, at+400*ms); lo.idle != 3 {
					t.Fatalf("%s: %d idle after wave %d, want 3", label, lo.idle, wave)
				}
			}
		}
	}
	_, s := tell(t, "cancel-loses-slot", "forgotten")
	lost := s.of(record.Leaked)
	if len(lost) != 3 {
		t.Fatalf("forgotten: %d slots lost, want all three", len(lost))
	}
	if n := len(s.from(time.Duration(lost[2].At)+1, time.Hour).ended(record.AcquireEnded, record.OK)); n > 0 {
		t.Errorf("forgotten: %d acquires succeed with all slots lost", n)
	}
	if n := len(s.from(time.Duration(lost[2].At)+1, time.Hour).ended(record.AcquireEnded, record.AcquireTimeout)); n == 0 {
		t.Error("forgotten: nobody notices")
	}
}

// TestCancelAtAnyTime: whenever callers give up, a pool without the flaw has all its connections again when all is quiet.
func TestCancelAtAnyTime(t *testing.T) {
	for _, label := range []string{"handed back", "sqlx", "semaphore"} {
		for after := range 40 {
			c, s := tell(t, "cancel-loses-slot", label, "workload.arrivals.bursts.count=3",
				fmt.Sprintf("workload.request=[{cancel: {after: %dms}}, acquire, call: 10ms, release]", after+1),
				"server.connect=5ms", "server.round_trip=1ms")
			if c.Levels.InUse.Final.Value != 0 || c.Levels.Waiting.Final.Value != 0 || len(s.of(record.Leaked)) > 0 {
				t.Errorf("%s, given up after %d ms: %+v", label, after+1, c.Levels)
			}
		}
	}
}

// TestIdleOrder: the longest idle first, as many stay as have a turn within the idle timeout, min(50, 600 s x rate); the most
// recently used first, one.
func TestIdleOrder(t *testing.T) {
	for label, want := range map[string]float64{"longest idle, every 10 s": 50, "longest idle, every 13 s": 46} {
		if c, _ := tell(t, "idle-order", label); c.Levels.Size.Final.Value != want {
			t.Errorf("%s: %v connections in the end, want %v", label, c.Levels.Size.Final.Value, want)
		}
	}
	c, s := tell(t, "idle-order", "most recently used, every 10 s")
	if n := c.Pooler.Levels.Size.Final.Value; n != 1 {
		t.Errorf("most recently used: %v connections in the end, want 1", n)
	}
	closed := s.of(record.SessionEnded)
	if len(closed) != 49 || closed[0].At < sim.Time(600*time.Second) || closed[48].At > sim.Time(602*time.Second) {
		t.Errorf("most recently used: %d closed from %v on, want 49, after 600 s of idleness", len(closed), closed[0].At)
	}
}

// TestPortsRunOut: 28,232 ports last for 28,232 / rate, if that is less than the 60 s after which the first comes back.
func TestPortsRunOut(t *testing.T) {
	for label, rate := range map[string]float64{"480/s": 480, "1883/s": 1883} {
		var first sim.Time
		follow(t, "ports-run-out", label, func(f record.Fact) {
			if first == 0 && f.Kind == record.ConnectEnded && f.Outcome != record.OK {
				first = f.At
			}
		})
		within(t, label+": first failure, s", float64(first)/1e9, 28232/rate, 0.001)
	}
	if c := setting(t, runPlain(t, "ports-run-out"), "460/s"); c.Requests.Failed > 0 {
		t.Errorf("460/s: %d failed", c.Requests.Failed)
	}
}

// follow runs a setting of a built-in scenario and shows all that happens.
func follow(t *testing.T, name, label string, see func(record.Fact)) *record.Cell {
	t.Helper()
	base, cells := load(t, name, scenarios.Options{})
	for _, c := range cells {
		if c.Settings[0].Value != label {
			continue
		}
		res, err := Run(context.Background(), base, []scenarios.Cell{c}, Options{Trace: func([]string) record.Sink { return seeing(see) }})
		if err != nil {
			t.Fatal(err)
		}
		return &res.Cells[0]
	}
	t.Fatalf("%s has no setting %q", name, label)
	return nil
}

type seeing func(record.Fact)

// Note implements record.Sink.
func (s seeing) Note(f record.Fact) { s(f) }

// runPlain runs a built-in scenario as a user does.
func runPlain(t *testing.T, name string, set ...string) *record.Result {
	t.Helper()
	base, cells := load(t, name, scenarios.Options{Set: set})
	res, err := Run(context.Background(), base, cells, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestBurstOnFive: ten rounds of 2 ms on five connections, and one more connection that nobody waited for; or 45 connects of 150 ms.
func TestBurstOnFive(t *testing.T) {
	c, s := tell(t, "burst-on-five", "wait")
	if app := c.Pools[1]; app.Requests.OK != 50 || app.Latency.Max.Value != 20*ms {
		t.Errorf("callers that wait: %d ok, the last after %v, want 50 and 20 ms", app.Requests.OK, app.Latency.Max.Value)
	}
	if n := s.connects(time.Second, time.Hour); c.Server.Opened > 6 || n > 1 {
		t.Errorf("callers that wait: %d opened, %d of them for the burst, want 6 at most and 1", c.Server.Opened, n)
	}
	c, s = tell(t, "burst-on-five", "connect")
	for i, p := range c.Pools {
		if p.Name != "app" {
			continue
		}
		if p.Requests.OK != 50 || p.Latency.Max.Value != 152*ms || p.Levels.Size.Final.Value != 50 {
			t.Errorf("callers that connect: %d ok, the last after %v, size %v, want 50, 152 ms and 50", p.Requests.OK, p.Latency.Max.Value, p.Levels.Size.Final.Value)
		}
		mine := s.where(func(f record.Fact) bool { return f.Pool == int16(i) && f.Kind == record.ConnectBegan })
		if len(mine) != 5+45 {
			t.Errorf("callers that connect: %d connects, want the 5 of the start and 45", len(mine))
		}
	}
}

// TestLoginPath: the queue of logins is 5 s long after 5 x 600 / 275 s. Who comes later is logged in for nothing.
func TestLoginPath(t *testing.T) {
	const turn = 5.0 * 600 / 275
	arrived := map[int64]sim.Time{}
	first, late := sim.Forever, 0
	c := follow(t, "login-path", "8", func(f record.Fact) {
		switch {
		case f.Kind == record.RequestBegan:
			arrived[f.Request] = f.At
		case f.Kind != record.RequestEnded:
		case f.Outcome == record.RequestTimeout:
			first = min(first, arrived[f.Request])
		case f.Outcome == record.OK && arrived[f.Request] > sim.Time(13*time.Second):
			late++
		}
	})
	// The number of clients in 10.9 s is Poisson: one in a hundred, and 875/275 times that for the queue.
	within(t, "arrival of the first that gives up, s", float64(first)/1e9, turn, 0.1)
	if late > 0 {
		t.Errorf("%d are served that came after 13 s", late)
	}
	within(t, "served", float64(c.Requests.OK), 875*turn, 0.1) // those who came by then
	if c := setting(t, runPlain(t, "login-path"), "12"); c.Requests.Failed > 0 {
		t.Errorf("12 instances: %d failed", c.Requests.Failed)
	}
}

// TestFleetCeiling: 5600 clients of workers, of which 5000 get a connection and keep it; each of the others has four refusals, each of
// the neighbour's hundred has ten.
func TestFleetCeiling(t *testing.T) {
	res := runPlain(t, "fleet-ceiling")
	c := setting(t, res, "40")
	if c.Server.PeakOpen != 5000 || c.Requests.Outcomes[record.TooManyConnections] != 600*4+100*10 || c.Requests.Failed != c.Server.Refused {
		t.Errorf("pools of 40: %+v, %+v", c.Server, c.Requests)
	}
	for _, p := range c.Pools {
		if p.Name == "neighbour" && p.Requests.OK > 0 {
			t.Errorf("pools of 40: the neighbour has %d successes", p.Requests.OK)
		}
	}
	c = setting(t, res, "25")
	if c.Server.PeakOpen != 140*25+100 || c.Server.Refused > 0 || c.Requests.Failed > 0 {
		t.Errorf("pools of 25: %+v, %d failed, want 3600 open and no failure", c.Server, c.Requests.Failed)
	}
}

// TestReleaseWithMinimum: for any limit from 135 to 179 the fourth does not start. At 180 it does.
func TestReleaseWithMinimum(t *testing.T) {
	for limit, starts := range map[int]bool{136: false, 150: false, 179: false, 180: true} {
		c, s := tell(t, "release-with-minimum", "45", fmt.Sprintf("server.connection_limit=%d", limit), "checks=[]")
		for i, p := range c.Pools {
			if (p.Requests.OK > 0) != (p.Name != "new" || starts) {
				t.Errorf("limit %d: %s serves %d", limit, p.Name, p.Requests.OK)
			}
			if p.Name == "new" && !starts {
				n := s.where(func(f record.Fact) bool { return f.Pool == int16(i) }).ended(record.ConnectEnded, record.OK)
				if len(n) != limit-135 {
					t.Errorf("limit %d: the new one opens %d connections, want %d", limit, len(n), limit-135)
				}
			}
		}
	}
	c, _ := tell(t, "release-with-minimum", "0")
	if c.Requests.Failed > 0 || c.Server.Refused > 0 || c.Pools[3].Requests.OK == 0 {
		t.Errorf("minimum 0: %+v, %+v", c.Server, c.Pools[3].Requests)
	}
}

// TestReconnectLoop: 25 / 2 ms; pauses of 10, 20, ... 640 ms and then 1 s; and one every 15 s.
func TestReconnectLoop(t *testing.T) {
	for label, want := range map[string]float64{
		"no pause": 31 * 25 / 0.002,
		// 10 + 20 + ... + 640 ms = 1.27 s for 8 attempts, and from then on one each 1.002 s.
		"pauses up to 1 s": 25 * (8 + math.Floor((31-1.27-8*0.002)/1.002)),
		"one prober":       3,
	} {
		n := 0
		follow(t, "reconnect-loop", label, func(f record.Fact) {
			if f.Kind == record.ConnectEnded {
				n++
			}
		})
		within(t, label+": attempts in 31 s", float64(n), want, 0.001)
	}
}

// TestSizeByTail: who has to wait, by Erlang's formula for six of n; that the holds are lognormal changes little of it. p99 of the wait
// is that of a simulation by others with as many jobs.
func TestSizeByTail(t *testing.T) {
	for label, want := range map[string]struct {
		n   int
		p99 float64 // s
	}{"7": {7, 2.5}, "8": {8, 0.95}, "10": {10, 0.23}, "12": {12, 0.04}} {
		jobs, waited := 0.0, 0.0
		c := follow(t, "size-by-tail", label, func(f record.Fact) {
			if f.Kind == record.AcquireEnded {
				jobs++
				if f.Took > 0 {
					waited++
				}
			}
		})
		within(t, label+": share that waits", waited/jobs, simtest.ErlangC(want.n, 6), 0.08)
		within(t, label+": p99 of the wait, s", c.Wait.P99.Value.Seconds(), want.p99, 0.3)
	}
	if c := follow(t, "size-by-tail", "25", func(record.Fact) {}); c.Wait.Max.Value > 0 {
		t.Errorf("25: somebody waits %v", c.Wait.Max.Value)
	}
}
