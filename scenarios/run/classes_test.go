package run

import (
	"math"
	"testing"
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
)

// Incidents of several classes of requests on one pool.

// TestCallInTransaction: the connections that are needed are rate x hold, summed over the classes. What is too much for the pool is
// turned away from both alike, after the timeout: the share (need - 30) / need.
func TestCallInTransaction(t *testing.T) {
	res := runPlain(t, "call-in-transaction")
	c := setting(t, res, "held, 30 % tools")
	within(t, "held: connections in use", c.Levels.InUse.Mean.Value, 250*0.104+583*0.004, 0.03)
	list, tools := c.Pools[0].Wait.Mean, c.Pools[1].Wait.Mean // first come first served: by PASTA they wait alike
	within(t, "held: wait of tools", float64(tools.Value), float64(list.Value), 0.05)
	if c.Requests.Failed > 0 || list.Value < 8*ms {
		t.Errorf("held: %d failed, who need 4 ms wait for %v", c.Requests.Failed, list.Value)
	}
	within(t, "given back: connections in use", setting(t, res, "given back, 45 %").Levels.InUse.Mean.Value, 833*0.004, 0.03)
	if w := setting(t, res, "given back, 45 %").Wait.P99; w.Value > 0 {
		t.Errorf("given back: p99 of wait %v", w.Value)
	}
	// Who is late: exp(-6) of 250/s in 180 s.
	c = setting(t, res, "limit of 600 ms")
	late := 250 * 180 * math.Exp(-6)
	within(t, "sessions ended by the server", float64(c.Server.IdleEnded), late, 4/math.Sqrt(late))
	if n := c.Requests.Outcomes[record.AdminShutdown]; n != c.Requests.Failed || n != c.Server.IdleEnded {
		t.Errorf("limit: %+v, %d ended", c.Requests, c.Server.IdleEnded)
	}
	// The wait grows by need / 30 - 1 seconds a second, to 30 s after 83 s; what came then is decided 30 s later.
	need := 375*0.104 + 458*0.004
	var asked, failed [2]int
	first := sim.Forever
	follow(t, "call-in-transaction", "held, 45 % tools", func(f record.Fact) {
		if f.Kind != record.AcquireEnded {
			return
		}
		if f.Outcome == record.AcquireTimeout {
			first = min(first, f.At)
		}
		if f.At > sim.Time(130*time.Second) {
			asked[f.Pool]++
			if f.Outcome == record.AcquireTimeout {
				failed[f.Pool]++
			}
		}
	})
	within(t, "the first timeout, s", float64(first)/1e9, 30/(need/30-1)+30, 0.1)
	for class, n := range asked {
		within(t, "share of timeouts", float64(failed[class])/float64(n), (need-30)/need, 0.1)
	}
}

// TestSlowTenants: four statements a second of 5 s each want the whole pool of 20, and have it soon after each episode has begun, to
// its end; of 2 s each they want eight, which is Poisson: 18, with which the pool would be full, have a probability of 0.16 %.
func TestSlowTenants(t *testing.T) {
	for label, want := range map[string]struct {
		limit               time.Duration
		least, most         time.Duration // that the pool is full
		waitLeast, waitMost time.Duration // p99 of those who are not slow
	}{
		"limit of 5 s":      {5 * time.Second, 3 * 15 * time.Second, 3 * 40 * time.Second, 100 * ms, 5 * time.Second},
		"limit of 2 s":      {2 * time.Second, 0, time.Second, 0, 20 * ms},
		"pool of their own": {5 * time.Second, 0, time.Second, 0, 20 * ms},
	} {
		var inUse, readings int
		var full time.Duration
		var last sim.Time
		c := follow(t, "slow-tenants", label, func(f record.Fact) {
			if f.Kind != record.ConnMoved || f.Pool != 0 {
				return
			}
			if inUse == 20 {
				full += f.At.Sub(last)
			}
			if inUse == 20 && f.At/1e10 > last/1e10 { // a gauge that is read every 10 s
				readings++
			}
			last = f.At
			if f.Move.From() == record.InUse {
				inUse--
			}
			if f.Move.To() == record.InUse {
				inUse++
			}
		})
		if full < want.least || full > want.most || readings > 12 {
			t.Errorf("%s: the pool is full for %v, and so say %d of 36 readings; want %v to %v", label, full, readings, want.least, want.most)
		}
		if w := c.Pools[0].Wait.P99.Value; w < want.waitLeast || w > want.waitMost {
			t.Errorf("%s: p99 of wait of the others %v, want %v to %v", label, w, want.waitLeast, want.waitMost)
		}
		slow := c.Pools[1]
		if h := slow.Hold; h.Mean.Value < want.limit || h.Max.Value > want.limit+ms || slow.Requests.OK > 0 {
			t.Errorf("%s: slow statements have connections for %v to %v, want %v", label, h.Mean.Value, h.Max.Value, want.limit)
		}
		if c.Pools[0].Requests.Failed > 0 {
			t.Errorf("%s: %+v", label, c.Pools[0].Requests)
		}
	}
}
