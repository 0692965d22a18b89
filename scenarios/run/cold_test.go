package run

import (
	"math"
	"testing"
	"time"

	"poolwise/sim/record"
)

// Pools that are cold, and connections that have died.

// TestColdStartTick: the clients wait in their connect for the first server connection, which takes a tick and 2 ms. From then on they
// allow 5 s for one of their own: that first one, and one at each tick of 333 ms. The source saw about 18 served. At 25 ms there is
// room for 200.
func TestColdStartTick(t *testing.T) {
	for label, want := range map[string]int64{"333 ms": 1 + 5000/333, "333 ms, pool of 64": 1 + 5000/333, "25 ms": min(64, 1+5000/25)} {
		c, s := tell(t, "cold-start-tick", label)
		if c.Requests.OK != want || c.Requests.Outcomes[record.QueueTimeout] != 64-want {
			t.Errorf("%s: %+v, want %d served and the others timed out", label, c.Requests, want)
		}
		for _, f := range s.ended(record.RequestEnded, record.QueueTimeout) {
			if f.Took != 333*ms+2*ms+5*time.Second {
				t.Fatalf("%s: a client gives up after %v", label, f.Took)
			}
		}
	}
}

// TestTimeoutBelowConnect: a connect of 1.2 s never fits into 1 s, at any size and however often it is tried.
func TestTimeoutBelowConnect(t *testing.T) {
	for label, want := range map[string]struct{ ok, opened int64 }{
		"pool of 100":                {0, 0},
		"pool of 10":                 {0, 0},
		"timeout of 2 s":             {30, 10},
		"opened beforehand":          {30, 10},
		"connects in the background": {20, 10},
	} {
		c, s := tell(t, "timeout-below-connect", label)
		if c.Requests.OK != want.ok || c.Requests.Failed != 30-want.ok || c.Server.Opened != want.opened {
			t.Errorf("%s: %+v, %d opened, want %+v", label, c.Requests, c.Server.Opened, want)
		}
		for _, f := range s.of(record.RequestEnded) {
			if f.Outcome != record.OK && f.Took != time.Second {
				t.Errorf("%s: a request fails after %v", label, f.Took)
			}
		}
	}
}

// TestFirewallDropsIdle: what becomes of the request after 400 s of silence.
func TestFirewallDropsIdle(t *testing.T) {
	for label, want := range map[string]struct {
		outcome record.Outcome
		took    time.Duration
	}{
		"no validation, silence":     {record.ConnectionTimeout, 924 * time.Second},
		"no validation, reset":       {record.ConnectionReset, 1 * ms},            // a round trip
		"validation, silence":        {record.AcquireTimeout, 60 * time.Second},   // the first ping is not over by then
		"validation of 5 s, silence": {record.OK, 8*5*time.Second + 20*ms + 7*ms}, // eight pings, a connect, the query and the reset
		"validation, reset":          {record.OK, 8*1*ms + 20*ms + 7*ms},          // the same
		"validated once a minute":    {record.OK, 7 * ms},                         // no ping, no connect
		"sqlx, idle_timeout 5 min":   {record.AcquireTimeout, 60 * time.Second},   // the scan at 300 s finds them idle for less
		"sqlx, idle_timeout 170 s":   {record.OK, 20*ms + 6*ms},                   // the one at 340 s for more
	} {
		_, s := tell(t, "firewall-drops-idle", label)
		var last record.Fact
		for _, f := range s.from(390*time.Second, time.Hour).of(record.RequestEnded) {
			last = f
		}
		if last.Request != 8 || last.Outcome != want.outcome || last.Took != want.took {
			t.Errorf("%s: request %d ends %v after %v, want number 8, %v after %v", label, last.Request, last.Outcome, last.Took, want.outcome, want.took)
		}
	}
}

// connects returns how many connects begin from an instant on, before another.
func (s story) connects(from, to time.Duration) int {
	return len(s.from(from, to).of(record.ConnectBegan))
}

// mostConnects returns the most connects that begin within a window of a length, from an instant on.
func (s story) mostConnects(window, from time.Duration) int {
	most, first := 0, 0
	began := s.from(from, time.Hour).of(record.ConnectBegan)
	for i := range began {
		for began[i].At.Sub(began[first].At) >= window {
			first++
		}
		most = max(most, i+1-first)
	}
	return most
}

// TestLifetimeHerd: the start opens 200 connections, 200 x 50 ms / 4 cores = 2.5 s. All are due two minutes later. Each is used about
// once a second (20/s on 20), so that all are replaced within 2.5 s and a few uses.
func TestLifetimeHerd(t *testing.T) {
	c, s := tell(t, "lifetime-herd", "born together")
	for generation := range 2 {
		due := time.Duration(generation+1) * 2 * time.Minute
		if n := s.connects(due-100*time.Second, due); n > 0 {
			t.Errorf("born together: %d connects before %v", n, due)
		}
		if n := s.connects(due, due+10*time.Second); n != 200 {
			t.Errorf("born together: %d connects within 10 s from %v, want 200", n, due)
		}
	}
	// A query of 2 ms on the average has its p99 at 2 ms x ln 100 = 9.2 ms. For 2 % of the time the cores have logins to do.
	calm, _ := tell(t, "lifetime-herd", "behind a pooler")
	within(t, "behind a pooler: p99, ms", float64(calm.Latency.P99.Value)/1e6, 9.21, 0.05)
	if c.Latency.P99.Value < 3*calm.Latency.P99.Value {
		t.Errorf("born together: p99 %v, not much more than %v without the herd", c.Latency.P99.Value, calm.Latency.P99.Value)
	}
	// Twelve seconds from one instance to the next, twenty connections each.
	_, s = tell(t, "lifetime-herd", "born over two minutes")
	if n := s.mostConnects(10*time.Second, 0); n != 20 {
		t.Errorf("born over two minutes: %d connects within 10 s, want those of one instance, 20", n)
	}
	// One every 2 min / 200 = 600 ms.
	_, s = tell(t, "lifetime-herd", "behind a pooler")
	s = s.where(func(f record.Fact) bool { return f.Pool == -1 }) // those of the pooler
	if n := s.mostConnects(10*time.Second, 100*time.Second); n > 18 {
		t.Errorf("behind a pooler: %d connects within 10 s, want at most 10 s / 600 ms and one or two more", n)
	}
	if n := s.connects(2*time.Minute, 5*time.Minute); n < 280 || n > 302 {
		t.Errorf("behind a pooler: %d connects in three minutes, want one every 600 ms", n)
	}
}

// TestNewReplica: half of the instances are told of the replica. Without a lifetime none of their 100 connections moves; with one of
// two minutes all of them have after that and a few uses more, and the others are where they were.
func TestNewReplica(t *testing.T) {
	for label, want := range map[string]float64{"none": 0, "2 min": 100} {
		c, _ := tell(t, "new-replica", label)
		if old, added := c.Servers[0], c.Servers[1]; added.Open.Value != want || old.Open.Value != 200-want {
			t.Errorf("lifetime %s: %v connections at the old one and %v at the new one in the end, want %v there", label, old.Open.Value, added.Open.Value, want)
		}
		for _, a := range c.Actions {
			if a.Took.Known != (want > 0) {
				t.Errorf("lifetime %s: instance %d has moved after %v", label, a.Instance, a.Took)
			}
			if a.Took.Known && (a.Took.Value > time.Minute+10*time.Second || a.Took.Value < 59*time.Second) {
				t.Errorf("lifetime %s: instance %d has moved after %v, want 2 min after its start", label, a.Instance, a.Took.Value)
			}
		}
	}
}

// TestLifetimeJitter: without jitter all 200 connections are replaced within the 2.5 s that as many logins take and a use of each, at 2
// minutes and again at 4. With it the first generation dies uniformly from 2 to 4 minutes: in 10 s a twelfth of 200, binomial, with four
// standard deviations; the second cannot begin to before 4 minutes. A use lasts for 1 s.
func TestLifetimeJitter(t *testing.T) {
	workers := func(s story) story { return s.where(func(f record.Fact) bool { return f.Pool < 10 }) }
	herd, s := tell(t, "lifetime-jitter", "0s")
	s = workers(s)
	for generation := range 2 {
		due := time.Duration(generation+1) * 2 * time.Minute
		if n := s.connects(due, due+12*time.Second); n != 200 {
			t.Errorf("no jitter: %d connects from %v to 12 s later, want 200", n, due)
		}
	}
	if n := s.connects(0, time.Hour); n != 600 {
		t.Errorf("no jitter: %d connects, want three generations", n)
	}
	calm, s := tell(t, "lifetime-jitter", "2m")
	s = workers(s)
	if n := s.connects(10*time.Second, 2*time.Minute); n != 0 {
		t.Errorf("jitter: %d connects before the lifetime is over", n)
	}
	if n, most := s.mostConnects(10*time.Second, 10*time.Second), 200./12+4*math.Sqrt(200./12*11/12); float64(n) > most {
		t.Errorf("jitter: %d connects within 10 s, want at most %.0f", n, most)
	}
	within(t, "jitter: connects of the first generation", float64(s.connects(2*time.Minute, 4*time.Minute+2*time.Second)), 200, 0.03)
	// The p99 of a query of 2 ms on the average is 2 ms x ln 100 = 9.2 ms. Without jitter the cores have logins to do for 2 x 2.5 s of
	// 350, which is more than one query in a hundred.
	within(t, "jitter: the neighbour's p99, ms", float64(calm.Pools[10].Latency.P99.Value)/1e6, 2*math.Log(100), 0.05)
	if p := herd.Pools[10].Latency.P999.Value; p < 5*14*ms {
		t.Errorf("no jitter: the neighbour's p99.9 is %v, not much more than 2 ms x ln 1000", p)
	}
}
