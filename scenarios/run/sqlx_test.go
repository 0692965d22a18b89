package run

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/record"
)

// story is all that happened in a run.
type story []record.Fact

// Note implements record.Sink.
func (s *story) Note(f record.Fact) { *s = append(*s, f) }

// tell runs one setting of a built-in scenario and returns what was measured and all that happened. label is the label or the
// value of the setting, empty if there is only one. The scenario's own checks must pass.
func tell(t *testing.T, name, label string, set ...string) (*record.Cell, story) {
	t.Helper()
	base, cells := load(t, name, scenarios.Options{Set: set})
	for _, c := range cells {
		if label != "" && c.Settings[0].Value != label || label == "" && len(cells) > 1 {
			continue
		}
		var s story
		res, err := Run(context.Background(), base, []scenarios.Cell{c}, Options{
			CheckInvariants: base.Until.Drained, // those are the small ones
			Trace:           func([]string) record.Sink { return &s },
		})
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict != record.Passed {
			t.Errorf("%s %s: checks: %+v", name, label, res.Checks)
		}
		return &res.Cells[0], s
	}
	t.Fatalf("%s has no setting %q", name, label)
	return nil, nil
}

// of returns the facts of a kind.
func (s story) of(k record.FactKind) story {
	return s.where(func(f record.Fact) bool { return f.Kind == k })
}

func (s story) where(is func(record.Fact) bool) story {
	var some story
	for _, f := range s {
		if is(f) {
			some = append(some, f)
		}
	}
	return some
}

// from returns the facts from an instant on, before another.
func (s story) from(from, to time.Duration) story {
	return s.where(func(f record.Fact) bool { return f.At >= sim.Time(from) && f.At < sim.Time(to) })
}

// ended returns the facts of a kind with an outcome.
func (s story) ended(k record.FactKind, o record.Outcome) story {
	return s.where(func(f record.Fact) bool { return f.Kind == k && f.Outcome == o })
}

// times returns when the facts were, in milliseconds.
func (s story) times() []float64 {
	var at []float64
	for _, f := range s {
		at = append(at, float64(f.At)/1e6)
	}
	return at
}

// gauges are the numbers that a pool shows of itself, and the number in use.
type gauges struct{ size, idle, inUse int }

// add counts d connections in a state.
func (g *gauges) add(state record.State, d int) {
	switch state {
	case record.None:
		g.size -= d
	case record.Idle:
		g.idle += d
	case record.InUse:
		g.inUse += d
	}
}

// gaugesOf returns the lowest and the highest that the gauges of a pool show between two instants. What lasts no time does not
// count.
func (s story) gaugesOf(pool int16, from, to time.Duration) (lo, hi gauges) {
	var now gauges
	lo = gauges{math.MaxInt, math.MaxInt, math.MaxInt}
	shown := func(since, until sim.Time) {
		if max(since, sim.Time(from)) < min(until, sim.Time(to)) {
			lo = gauges{min(lo.size, now.size), min(lo.idle, now.idle), min(lo.inUse, now.inUse)}
			hi = gauges{max(hi.size, now.size), max(hi.idle, now.idle), max(hi.inUse, now.inUse)}
		}
	}
	last := sim.Time(0)
	for _, f := range s {
		if f.Kind != record.ConnMoved || f.Pool != pool {
			continue
		}
		shown(last, f.At)
		last = f.At
		now.add(f.Move.From(), -1)
		now.add(f.Move.To(), +1)
	}
	shown(last, sim.Forever)
	return lo, hi
}

// What was measured on the real pool.

// TestSqlxFIFO: the ten waiters (requests 1 to 10) get the connection in the order of asking. The holder returns it at 220 ms
// (20 of connect, 200 of use); each of the others then takes 7 ms: ping on return 1, ping on acquire 1, use 5. No try succeeds
// before they are through.
func TestSqlxFIFO(t *testing.T) {
	_, s := tell(t, "sqlx-fifo", "")
	var order []int64
	var at []float64
	for _, f := range s.ended(record.AcquireEnded, record.OK) {
		order, at = append(order, f.Request), append(at, float64(f.At)/1e6)
	}
	if d := cmp.Diff([]int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 19}, order); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]float64{20, 222, 229, 236, 243, 250, 257, 264, 271, 278, 285, 300}, at); d != "" {
		t.Errorf("times (-want +got):\n%s", d)
	}
}

// TestSqlxAcquireTimeout: 300 ms after the acquire, which is a whole millisecond, as the timers of tokio are.
func TestSqlxAcquireTimeout(t *testing.T) {
	_, s := tell(t, "sqlx-acquire-timeout", "")
	if d := cmp.Diff([]float64{300}, s.ended(record.AcquireEnded, record.AcquireTimeout).times()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestSqlxMinConnections: the sizes after 500 ms that were measured.
func TestSqlxMinConnections(t *testing.T) {
	for start, size := range map[string]int{"lazy": 0, "lazy without timeouts": 3, "eager": 3} {
		c, s := tell(t, "sqlx-min-connections", start)
		if lo, hi := s.gaugesOf(0, 499*ms, 500*ms); lo != hi || lo.size != size || lo.idle != size {
			t.Errorf("%s: %+v to %+v, want size and idle %d", start, lo, hi, size)
		}
		// Only where the three are open is there anything for a try_acquire.
		if got := c.Requests.OK == 1; got != (size == 3) {
			t.Errorf("%s: try_acquire: %v", start, got)
		}
	}
}

// TestSqlxTryAcquire: size is 0 until somebody acquires, however often try_acquire is called.
func TestSqlxTryAcquire(t *testing.T) {
	_, s := tell(t, "sqlx-try-acquire", "")
	if _, hi := s.gaugesOf(0, 0, 100*ms); hi != (gauges{}) {
		t.Errorf("before anybody acquires: %+v", hi)
	}
	if d := cmp.Diff([]float64{0, 50}, s.ended(record.AcquireEnded, record.NoneAvailable).times()); d != "" {
		t.Errorf("tries in vain (-want +got):\n%s", d)
	}
}

// TestSqlxReturnTask: dropped at 50 ms (20 of connect, 30 of use), idle 1 ms later, when its ping has been answered.
func TestSqlxReturnTask(t *testing.T) {
	_, s := tell(t, "sqlx-return-task", "")
	if lo, hi := s.gaugesOf(0, 50*ms, 51*ms); lo != hi || lo != (gauges{size: 1}) {
		t.Errorf("after the drop: %+v to %+v, want size 1 and idle 0", lo, hi)
	}
	if lo, hi := s.gaugesOf(0, 51*ms, 52*ms); lo != hi || lo != (gauges{size: 1, idle: 1}) {
		t.Errorf("after the return task: %+v to %+v, want size 1 and idle 1", lo, hi)
	}
}

// TestSqlxRefusedConnects: pauses of 10, 20, 40 ... ms, each at most a fifth of the time left at the first attempt: 60 ms of 300,
// 6 s of 30. A refusal takes no time.
func TestSqlxRefusedConnects(t *testing.T) {
	for timeout, want := range map[string][]float64{
		"300 ms":       {0, 10, 30, 70, 130, 190, 250},
		"default 30 s": {0, 10, 30, 70, 150, 310, 630},
	} {
		_, s := tell(t, "sqlx-refused-connects", timeout)
		if d := cmp.Diff(want, s.of(record.ConnectBegan).times()); d != "" {
			t.Errorf("%s: attempts (-want +got):\n%s", timeout, d)
		}
		end, at := record.AcquireTimeout, 300.0
		if timeout != "300 ms" {
			end, at = record.OK, 650 // the connect of 20 ms that was not refused
		}
		if d := cmp.Diff([]float64{at}, s.ended(record.AcquireEnded, end).times()); d != "" {
			t.Errorf("%s: end (-want +got):\n%s", timeout, d)
		}
		// All the time the slot is taken.
		if lo, _ := s.gaugesOf(0, 0, 300*ms); lo.size != 1 {
			t.Errorf("%s: size %d while the server refuses, want 1", timeout, lo.size)
		}
	}
}

// TestSqlxBeforeAcquire: the first acquire connects; each of the nine others has its idle connection rejected, which costs the
// ping (1 ms), after false a graceful close (1 ms), and a connect (20 ms).
func TestSqlxBeforeAcquire(t *testing.T) {
	for hook, want := range map[string]struct {
		opened int64
		wait   time.Duration
		how    record.Outcome
	}{
		"none":          {1, 1 * ms, record.OK},
		"returns false": {10, 22 * ms, record.ClosedGracefully},
		"returns error": {10, 21 * ms, record.ClosedHard},
	} {
		c, s := tell(t, "sqlx-before-acquire", hook)
		if c.Requests.OK != 10 || c.Server.Opened != want.opened {
			t.Errorf("%s: %d ok, %d opened, want 10 and %d", hook, c.Requests.OK, c.Server.Opened, want.opened)
		}
		for i, f := range s.ended(record.AcquireEnded, record.OK) {
			if i > 0 && f.Took != want.wait {
				t.Errorf("%s: acquire %d took %v, want %v", hook, i, f.Took, want.wait)
			}
		}
		if want.how != record.OK {
			if n := len(s.ended(record.CloseBegan, want.how)); n != 9 {
				t.Errorf("%s: %d connections closed as %v, want 9", hook, n, want.how)
			}
		}
	}
}

// TestSqlxSaturation: 10 connections at 10.4 ms each serve 961/s. At 700/s the pool is not full for long; at 1200/s, from when the
// queue has formed to the end, size is 10 and nothing idle, at every instant.
func TestSqlxSaturation(t *testing.T) {
	c, s := tell(t, "sqlx-saturation", "700/s, below capacity")
	if c.Requests.Failed > 0 || c.Wait.P99.Value > 100*ms {
		t.Errorf("at 700/s: %d failed, p99 of acquire %v", c.Requests.Failed, c.Wait.P99.Value)
	}
	if _, hi := s.gaugesOf(0, time.Second, 30*time.Second); hi.idle < 5 {
		t.Errorf("at 700/s: at most %d idle", hi.idle)
	}
	for _, demand := range []string{"1200/s, above capacity", "1200/s without a test"} {
		c, s := tell(t, "sqlx-saturation", demand)
		if lo, hi := s.gaugesOf(0, time.Second, 30*time.Second); lo.size != 10 || hi.size != 10 || hi.idle != 0 {
			t.Errorf("%s: %+v to %+v, want size 10 and idle 0 all the time", demand, lo, hi)
		}
		// p99 of those that are served runs into the timeout of 2 s: within 1 %. Who fails does so then, on a whole millisecond.
		within(t, demand+": p99 of acquire", float64(c.Wait.P99.Value), 2e9, 0.01)
		if lo, hi := c.FailedAfter.Min.Value, c.FailedAfter.Max.Value; lo < 2*time.Second || hi > 2001*ms {
			t.Errorf("%s: failures after %v to %v, want 2 s", demand, lo, hi)
		}
	}
	// Without the ping before each loan ten connections give 10 / 10.2 ms, to the end. The first connect costs 2 of 30000 ms.
	c, _ = tell(t, "sqlx-saturation", "1200/s without a test")
	within(t, "throughput without a test", c.Throughput.Value, 10/0.0102, 0.01)
}

// TestSqlxChurn: while the network flaps, as soon as each of the up to ten connections has been used once, nothing is ever idle,
// size swings, and each request opens a connection. Before and after, connections are reused.
func TestSqlxChurn(t *testing.T) {
	_, s := tell(t, "sqlx-churn", "")
	lo, hi := s.gaugesOf(0, 2200*ms, 4*time.Second)
	if hi.idle != 0 {
		t.Errorf("%d idle while the network flaps", hi.idle)
	}
	// At 150/s a request keeps its connection for 20 + 12 + 1 ms on the average, so about 5 are there, Poisson; and when
	// the server refuses, 10.
	if lo.size > 2 || hi.size != 10 {
		t.Errorf("size from %d to %d while the network flaps, want a swing from at most 2 to 10", lo.size, hi.size)
	}
	flap := s.from(2200*ms, 4*time.Second)
	requests, opened := len(flap.of(record.RequestBegan)), len(flap.ended(record.ConnectEnded, record.OK))
	// Some requests are under way at either end.
	within(t, "connections opened while the network flaps", float64(opened), float64(requests), 0.05)
	if n := len(flap.ended(record.SessionEnded, record.ClosedHard)); n < opened*9/10 {
		t.Errorf("%d of %d connections closed hard", n, opened)
	}
	if n := len(s.from(4200*ms, time.Hour).of(record.ConnectBegan)); n > 10 {
		t.Errorf("%d connects when all is well again", n)
	}
}

// Incidents.

// TestSqlxSlowQuery: 4 slow queries a second of 30 s each want 120 connections. A pool of n is full of them after n/4 s, and whoever
// comes then waits for acquire_timeout. With a limit of 0.5 s they want 2.
func TestSqlxSlowQuery(t *testing.T) {
	for variant, size := range map[string]float64{"slow query": 10, "larger pool of 30": 30, "larger pool of 100": 100} {
		c, s := tell(t, "sqlx-slow-query", variant)
		// The slow queries come at random, so n of them take n/4 s with a standard deviation of sqrt(n)/4 s; three are allowed.
		first := s.ended(record.AcquireEnded, record.AcquireTimeout)[0]
		full, spread := size/4, 3*math.Sqrt(size)/4
		if at := float64(first.At.Add(-first.Took)) / 1e9; math.Abs(at-full) > spread {
			t.Errorf("%s: the first acquire to fail came at %.1f s, want %.1f s give or take %.1f", variant, at, full, spread)
		}
		within(t, variant+": p99 of acquire", float64(c.Wait.P99.Value), 2e9, 0.05)
	}
	// The pool of 10 is full well before 10 s, and remains so at least until the first slow query ends.
	_, s := tell(t, "sqlx-slow-query", "slow query")
	if lo, hi := s.gaugesOf(0, 10*time.Second, 30*time.Second); lo.size != 10 || hi.idle != 0 {
		t.Errorf("%+v to %+v, want size 10 and idle 0", lo, hi)
	}
	// An acquire that finds an idle connection takes a ping, 0.5 ms, and one that does not a connect, 20 ms.
	for _, variant := range []string{"no slow query", "statement timeout"} {
		c, _ := tell(t, "sqlx-slow-query", variant)
		if c.Wait.P99.Value > 20*ms || c.Requests.Outcomes[record.AcquireTimeout] > 0 {
			t.Errorf("%s: p99 of acquire %v, failures %v", variant, c.Wait.P99.Value, c.Requests.Outcomes)
		}
		if variant == "statement timeout" { // one in 50 of all requests fails, with four standard deviations for their number
			n := float64(c.Requests.Total)
			within(t, "share of cancelled queries", float64(c.Requests.Outcomes[record.QueryCancelled])/n, 0.02, 4*math.Sqrt(0.02*0.98/n)/0.02)
		}
	}
}

// TestSqlxOneDeadline: a queue with patience of 1 s under an overload of 1100/s on 1000/s. The time left at the head of the queue is
// exponential with the rate of the excess, 100/s (the waiting time of M/M/c with constant patience), so its median is
// ln 2 / 100 = 6.9 ms. A connect of 50 ms has to fit in, which it does with probability exp(-5) = 0.7 %.
func TestSqlxOneDeadline(t *testing.T) {
	c, s := tell(t, "sqlx-one-deadline", "1100/s, no restart")
	var left []float64
	for _, f := range s.from(15*time.Second, 40*time.Second).ended(record.AcquireEnded, record.OK) {
		began := f.At.Add(-f.Took)
		deadline := (began.Add(time.Second) + sim.Time(ms) - 1) / sim.Time(ms) * sim.Time(ms) // the timer's
		left = append(left, float64(deadline-f.At)/1e6)
	}
	slices.Sort(left)
	// 25 s are about 250 times the 0.1 s that such a queue remembers, so the standard error of the median is about 0.6 ms, 9 %.
	within(t, "median time left, ms", left[len(left)/2], 1000*math.Ln2/100, 0.25)
	within(t, "throughput without a restart", c.Throughput.Value, 1000, 0.02)

	// After the restart (the last half; the queries under way fail) there is next to none of it: every arrival makes an attempt
	// to connect, and is given up.
	_, s = tell(t, "sqlx-one-deadline", "1100/s, restart")
	after := s.from(21*time.Second, 40*time.Second)
	if served := len(after.ended(record.AcquireEnded, record.OK)); served > 1100*19/100 {
		t.Errorf("%d requests were served after the restart, want hardly any of %d", served, 1100*19)
	}
	within(t, "logins a second after the restart", float64(len(after.of(record.ConnectBegan)))/19, 1100, 0.05)
	if lo, _ := s.gaugesOf(0, 21*time.Second, 40*time.Second); lo.size != 10 {
		t.Errorf("size %d, want 10, all of them being opened", lo.size)
	}

	// Below capacity everybody at the head has time enough. Ten connections come back in one connect time.
	c, s = tell(t, "sqlx-one-deadline", "900/s, restart")
	if c.Requests.Outcomes[record.AcquireTimeout] > 0 || c.Server.Opened != 20 {
		t.Errorf("at 900/s: %v, %d connections opened, want 20", c.Requests.Outcomes, c.Server.Opened)
	}
	reopened := s.from(20*time.Second, 40*time.Second).ended(record.ConnectEnded, record.OK).times()
	if last := reopened[len(reopened)-1]; last > 20_000+200 { // with the use that found out before
		t.Errorf("at 900/s the last connection was back at %.0f ms", last)
	}
}

// TestSqlxColdBurst: n logins of 50 ms at a time share 4 cores and take n x 12.5 ms. 100 of them do not fit into the timeout of 1 s,
// 80 would. So a cold pool of 100 opens only what was begun before the crowd came, and everything else is given up.
func TestSqlxColdBurst(t *testing.T) {
	c, s := tell(t, "sqlx-cold-burst", "100, cold")
	if c.Server.Opened > 25 { // of those that began a login in the first 50 ms, at 400/s
		t.Errorf("%d connections opened, want a few", c.Server.Opened)
	}
	if c.Server.CoreUtilisation.Value < 0.99 {
		t.Errorf("cores busy for %.2f, want all the time", c.Server.CoreUtilisation.Value)
	}
	// What is open gets its share of the cores for queries: k of 100 at work, on cores that can serve 4 / 5 ms = 800 a second.
	within(t, "throughput", c.Throughput.Value, 8*float64(c.Server.Opened), 0.15)
	// Whoever is not served begins a login and gives it up: 400/s less those. 5 % is four standard deviations.
	late := s.from(5*time.Second, 20*time.Second)
	within(t, "logins a second", float64(len(late.of(record.ConnectBegan)))/15, 400-c.Throughput.Value, 0.05)
	if n := len(late.ended(record.ConnectEnded, record.OK)); n > 0 {
		t.Errorf("%d logins were through after 5 s", n)
	}

	for variant, want := range map[string]struct {
		opened int64   // at most
		serves float64 // seconds of 20
	}{
		"100, warm start of 15": {40, 20 - 15*0.055}, // 400/s x about 7 ms are in use, and now and then a crowd
		"100, timeout of 3 s":   {100, 20},
		"20, cold":              {20, 20},
	} {
		c, _ := tell(t, "sqlx-cold-burst", variant)
		if c.Requests.Failed > 0 || c.Server.Opened > want.opened {
			t.Errorf("%s: %d failed, %d opened, want none and at most %d", variant, c.Requests.Failed, c.Server.Opened, want.opened)
		}
		within(t, variant+": requests served", float64(c.Requests.OK), 400*want.serves, 0.05) // four standard deviations
	}
}

// TestSqlxSilentPeer: each request that keeps its connection for 90 s gives it back dead, and the ping hangs for 924 s. When ten of
// them hang, nobody gets a connection any more, until the first of the ten has ended.
func TestSqlxSilentPeer(t *testing.T) {
	_, s := tell(t, "sqlx-silent-peer", "kept during the call")
	// The pings under way, oldest first. One that is answered takes 1 ms.
	var under story
	for _, f := range s {
		if len(under) == 10 && f.At > under[9].At.Add(time.Second) {
			break
		}
		switch f.Kind {
		case record.PingBegan:
			under = append(under, f)
		case record.PingEnded:
			under = slices.DeleteFunc(under, func(p record.Fact) bool { return p.Conn == f.Conn })
		}
	}
	if len(under) != 10 {
		t.Fatalf("%d pings hang, want all ten", len(under))
	}
	first, dead := time.Duration(under[0].At), time.Duration(under[9].At)
	// Long calls come once a minute, at random: ten take 10 minutes, with a standard deviation of sqrt(10), and the last takes 90 s.
	if d := dead - 90*time.Second; math.Abs(d.Minutes()-10) > 3*math.Sqrt(10) {
		t.Errorf("the pool is dead after %v", dead)
	}
	end := min(first+924*time.Second, 20*time.Minute)
	if n := len(s.from(dead, end).ended(record.AcquireEnded, record.OK)); n > 0 {
		t.Errorf("%d acquires succeeded from %v to %v, in a dead pool", n, dead, end)
	}
	if lo, hi := s.gaugesOf(0, dead, end); lo != hi || lo != (gauges{size: 10}) {
		t.Errorf("dead: %+v to %+v, want size 10, and nothing idle or in use", lo, hi)
	}
	for _, variant := range []string{"returned before the call", "TCP gives up after 10 s", "nothing forgets"} {
		c, _ := tell(t, "sqlx-silent-peer", variant)
		// A permit that hangs for 10 s once a minute is one sixth of ten.
		if c.Requests.Failed > 0 || c.Wait.P99.Value > 20*ms {
			t.Errorf("%s: %d failed, p99 of acquire %v", variant, c.Requests.Failed, c.Wait.P99.Value)
		}
	}
}

// Operating a pool.

// TestSqlxLoadClasses holds what each class looks like.
func TestSqlxLoadClasses(t *testing.T) {
	// Low: idle connections are hit, so an acquire takes the ping, 1 ms, and a request 1 + 1 + 5 + 2. Only the first ones connect.
	c, _ := tell(t, "sqlx-load-classes", "low")
	within(t, "low: p99 of acquire", float64(c.Wait.P99.Value), 1e6, 0.001) // percentiles have three digits
	within(t, "low: p50", float64(c.Latency.P50.Value), 9e6, 0.001)
	if c.Requests.Failed > 0 {
		t.Errorf("low: %d failed", c.Requests.Failed)
	}
	// Medium: half of the ten permits are taken by 500/s x 10 ms; two of these ms go to pings.
	c, _ = tell(t, "sqlx-load-classes", "medium")
	within(t, "medium: in use", c.Levels.InUse.Mean.Value, 500*0.008, 0.05)
	if c.Requests.Failed > 0 || c.Wait.P99.Value > 20*ms {
		t.Errorf("medium: %d failed, p99 of acquire %v", c.Requests.Failed, c.Wait.P99.Value)
	}
	// Saturated: 1300/s where 10 / 10 ms = 1000/s can be served. Waits climb to the timeout of 1 s, in order of asking.
	c, s := tell(t, "sqlx-load-classes", "saturated")
	within(t, "saturated: p99 of acquire", float64(c.Wait.P99.Value), 1e9, 0.01)
	if lo, hi := s.gaugesOf(0, 2*time.Second, 30*time.Second); lo.size != 10 || hi.idle != 0 {
		t.Errorf("saturated: %+v to %+v, want size 10 and idle 0", lo, hi)
	}
	if c.Throughput.Value > 1000 {
		t.Errorf("saturated: %.0f/s from a pool that can give 1000", c.Throughput.Value)
	}
	last := int64(-1)
	for _, f := range s.of(record.WaitEnded) { // out of the queue by being served or by timing out
		if f.Request < last {
			t.Fatalf("saturated: request %d left the queue after %d", f.Request, last)
		}
		last = f.Request
	}
	// Flapping: nothing idle once each connection has been used, and one closed hard for most of 150/s x 10 s, less what waits
	// for a server that refuses.
	_, s = tell(t, "sqlx-load-classes", "flapping")
	lo, hi := s.gaugesOf(0, 10_200*ms, 20*time.Second)
	if hi.idle != 0 || lo.size > 2 || hi.size != 10 {
		t.Errorf("flapping: %+v to %+v, want idle 0 and size from next to nothing to 10", lo, hi)
	}
	if hard := len(s.ended(record.SessionEnded, record.ClosedHard)); hard < 900 {
		t.Errorf("flapping: %d connections closed hard, want 900 of 1500 at least", hard)
	}
	if n := len(s.from(21*time.Second, time.Hour).of(record.ConnectBegan)); n > 10 {
		t.Errorf("flapping: %d connects when all is well again", n)
	}
}

// TestSqlxTestBeforeAcquire: a hundred reuses. Each takes one round trip of 2 ms less, to the nanosecond, and one of two pings stays.
func TestSqlxTestBeforeAcquire(t *testing.T) {
	var took [2][]time.Duration
	for i, test := range []string{"true", "false"} {
		_, s := tell(t, "sqlx-test-before-acquire", test)
		for _, f := range s.ended(record.RequestEnded, record.OK) {
			took[i] = append(took[i], f.Took)
		}
		// One on each of 101 returns, and one on each of 100 reuses.
		if got, want := len(s.of(record.PingBegan)), 201-100*i; got != want {
			t.Errorf("test_before_acquire %s: %d pings, want %d", test, got, want)
		}
	}
	if len(took[0]) != 101 || len(took[1]) != 101 {
		t.Fatalf("%d and %d requests", len(took[0]), len(took[1]))
	}
	for i := range took[0] {
		want := 2 * ms
		if i == 0 {
			want = 0 // a new connection is not tested
		}
		if got := took[0][i] - took[1][i]; got != want {
			t.Errorf("request %d: %v saved, want %v", i, got, want)
		}
	}
}

// TestSqlxSizingRule: min(20 x 2, (200 - 20) / 5) = 36 for each pool never meets the limit. Pools of 40 want 200 where 180 are to be
// had; clients see timeouts, and most of them in the instance that started last.
func TestSqlxSizingRule(t *testing.T) {
	fits, _ := tell(t, "sqlx-sizing-rule", "36")
	if fits.Requests.Failed > 0 || fits.Server.Refused > 0 || fits.Server.PeakOpen > 180 {
		t.Errorf("36: %d failed, %d refused, %d open", fits.Requests.Failed, fits.Server.Refused, fits.Server.PeakOpen)
	}
	over, _ := tell(t, "sqlx-sizing-rule", "40")
	if over.Server.Refused == 0 || over.Server.PeakOpen != 180 {
		t.Errorf("40: %d refused, %d open, want 180", over.Server.Refused, over.Server.PeakOpen)
	}
	if n := over.Requests.Outcomes[record.AcquireTimeout]; n == 0 || n != over.Requests.Failed {
		t.Errorf("40: failures %v, want timeouts only", over.Requests.Outcomes)
	}
	last, before := over.Pools[4], fits.Pools[4]
	if last.Requests.Failed < over.Requests.Failed/2 || last.Throughput.Value > 0.7*before.Throughput.Value {
		t.Errorf("40: the last instance has %d of %d failures and %.0f/s, with 36 it had %.0f/s",
			last.Requests.Failed, over.Requests.Failed, last.Throughput.Value, before.Throughput.Value)
	}
}

// TestSqlxFleetOverLimit: the 2 x 10 x 20 requests of the last two instances fail: at the acquire_timeout of 3 s where sqlx tries
// again, and after one connect of 20 ms with the server's error where it does not.
func TestSqlxFleetOverLimit(t *testing.T) {
	for database, want := range map[string]struct {
		outcome record.Outcome
		after   time.Duration
	}{
		"PostgreSQL (53300)": {record.AcquireTimeout, 3 * time.Second},
		"MySQL (1040)":       {record.MySQLTooMany, 20 * ms},
	} {
		c, s := tell(t, "sqlx-fleet-over-limit", database)
		if n := c.Requests.Outcomes[want.outcome]; n != 400 || c.Requests.Failed != 400 {
			t.Errorf("%s: %v, want 400 %v", database, c.Requests.Outcomes, want.outcome)
		}
		for _, f := range s.ended(record.AcquireEnded, want.outcome) {
			if f.Pool < 10 || f.Took != want.after {
				t.Fatalf("%s: an acquire of pool %d fails after %v, want pools 10 and 11, after %v", database, f.Pool, f.Took, want.after)
			}
		}
	}
}

// TestSqlxSlowGrowth: with one connection a minute kept, the twentieth is the last. Until then nothing fails; and size, which an
// idle_timeout shrinks in a healthy pool, is never below the number kept.
func TestSqlxSlowGrowth(t *testing.T) {
	_, s := tell(t, "sqlx-slow-growth", "kept for ever")
	kept := s.of(record.Leaked)
	if len(kept) != 20 {
		t.Fatalf("%d connections kept, want 20", len(kept))
	}
	// One a minute at random: the twentieth comes after 20 minutes with a standard deviation of sqrt(20).
	used := time.Duration(kept[19].At)
	if math.Abs(used.Minutes()-20) > 3*math.Sqrt(20) {
		t.Errorf("used up after %v", used)
	}
	for i, f := range kept {
		next := 40 * time.Minute
		if i < 19 {
			next = time.Duration(kept[i+1].At)
		}
		if lo, _ := s.gaugesOf(0, time.Duration(f.At), next); lo.size < i+1 {
			t.Errorf("size %d with %d connections kept", lo.size, i+1)
		}
	}
	if n := len(s.from(used+ms, time.Hour).ended(record.AcquireEnded, record.OK)); n > 0 {
		t.Errorf("%d acquires succeed after the last connection is gone", n)
	}
	// Throughput is flat until shortly before: 10/s, four standard deviations for the number of arrivals.
	almost := kept[17].At.Sub(0)
	n := float64(len(s.from(0, almost).ended(record.RequestEnded, record.OK)))
	within(t, "requests served before", n, 10*almost.Seconds(), 4/math.Sqrt(10*almost.Seconds()))

	// The healthy pool: 10/s x 23 ms is less than one connection in use. What a crowd has opened is closed again.
	_, s = tell(t, "sqlx-slow-growth", "nothing kept")
	if n := len(s.ended(record.SessionEnded, record.ClosedGracefully)); n == 0 {
		t.Error("nothing was closed for being idle")
	}
	if _, hi := s.gaugesOf(0, 0, 40*time.Minute); hi.size > 8 {
		t.Errorf("size up to %d with nothing kept", hi.size)
	}

	// Kept for 10 minutes: Little's law gives 10 in use. Their number is Poisson, and 20 or more for 0.3 % of the time.
	c, s := tell(t, "sqlx-slow-growth", "kept 10 minutes")
	if c.FailedRate.Value > 0.01 {
		t.Errorf("kept 10 minutes: %d failed", c.Requests.Failed)
	}
	if lo, hi := s.gaugesOf(0, 15*time.Minute, 40*time.Minute); lo.inUse > 10 || hi.inUse < 10 {
		t.Errorf("kept 10 minutes: %d to %d in use, want about 10", lo.inUse, hi.inUse)
	}

	// Lost slots: the same requests lose them, with the same luck, and as many fail; but the server never sees a connection too many
	// and size is that of the pool from the beginning.
	lost, s := tell(t, "sqlx-slow-growth", "lost slots")
	if n := len(s.of(record.Leaked)); n != 20 {
		t.Errorf("%d slots lost, want 20", n)
	}
	if lost.Server.PeakOpen > 0 || lost.Levels.Size.Mean.Value != 20 {
		t.Errorf("lost slots: %d open, size %v", lost.Server.PeakOpen, lost.Levels.Size.Mean.Value)
	}
}

// TestSqlxRestart: on a cold pool everybody who comes in the first 40 ms (connect 30, login 10) pays for a connect, and everybody
// later who finds nothing idle. An eager start has its ten connections before the first request; 200/s x 8 ms is less than two of
// them in use.
func TestSqlxRestart(t *testing.T) {
	c, s := tell(t, "sqlx-restart", "lazy, min_connections 0")
	paid := int64(0)
	for _, f := range s.ended(record.AcquireEnded, record.OK) {
		if f.Took >= 40*ms {
			paid++
		} else if f.At < sim.Time(40*ms) {
			t.Errorf("an acquire ended at %v", f.At)
		}
	}
	if early := int64(len(s.from(0, 40*ms).of(record.RequestBegan))); paid != c.Server.Opened || paid < early {
		t.Errorf("lazy: %d acquires paid for a connect, %d connections, %d requests in the first 40 ms", paid, c.Server.Opened, early)
	}
	c, _ = tell(t, "sqlx-restart", "eager, min_connections 10")
	if c.Server.Opened != 10 || c.Wait.Max.Value > ms {
		t.Errorf("eager: %d opened, longest acquire %v, want 10 and a ping of 1 ms", c.Server.Opened, c.Wait.Max.Value)
	}
}

// TestSqlxDeadIdle: ten dead connections. With the test each costs one failed ping and one connect (20 ms) and nobody fails; without
// it the first query on each fails, and nobody waits.
func TestSqlxDeadIdle(t *testing.T) {
	c, s := tell(t, "sqlx-dead-idle", "true")
	if c.Requests.OK != 100 {
		t.Errorf("with the test %d of 100 succeed", c.Requests.OK)
	}
	failed := s.where(func(f record.Fact) bool { return f.Kind == record.PingEnded && f.Outcome != record.OK })
	late := s.where(func(f record.Fact) bool { return f.Kind == record.AcquireEnded && f.Took == 21*ms })
	if len(failed) != 10 || len(late) != 10 {
		t.Errorf("%d pings failed and %d acquires took 1 + 20 ms, want 10 and 10", len(failed), len(late))
	}
	c, s = tell(t, "sqlx-dead-idle", "false")
	if c.Requests.Failed != 10 || c.Requests.Outcomes[record.AdminShutdown] != 10 {
		t.Errorf("without the test: %v, want 10 admin_shutdown", c.Requests.Outcomes)
	}
	first := map[int32]bool{}
	for _, f := range s.ended(record.QueryEnded, record.AdminShutdown) {
		first[f.Conn] = true
	}
	if len(first) != 10 {
		t.Errorf("without the test the query fails on %d connections, want each of ten", len(first))
	}
}

// TestSqlxChildPool: 200 statements of a second through 20 connections take 10 s and the first connect, and leave 80 for requests
// that need about 1000/s x 21.5 ms. A child of 100 takes what comes back; nothing is left for the requests, for good.
func TestSqlxChildPool(t *testing.T) {
	c, s := tell(t, "sqlx-child-pool", "20 of 100")
	if c.Requests.Failed > 0 {
		t.Errorf("20 of 100: %v", c.Requests.Outcomes)
	}
	if _, hi := s.gaugesOf(1, 0, 30*time.Second); hi.size != 20 {
		t.Errorf("20 of 100: the job has up to %d connections", hi.size)
	}
	done := s.where(func(f record.Fact) bool { return f.Kind == record.RequestEnded && f.Pool == 1 })
	within(t, "20 of 100: end of the job, s after its start", float64(done[len(done)-1].At)/1e9-5, 10.02, 0.01)
	if c.Pools[0].Wait.P99.Value > 20*ms {
		t.Errorf("20 of 100: p99 of the requests' acquires %v", c.Pools[0].Wait.P99.Value)
	}

	_, s = tell(t, "sqlx-child-pool", "no real limit")
	if _, hi := s.gaugesOf(1, 0, 30*time.Second); hi.size != 100 {
		t.Errorf("no real limit: the job has up to %d connections", hi.size)
	}
	// The requests in hand at 5 s are through within a second, ten times their longest queries. Then none is served, not even
	// when the job is over.
	after := s.from(6*time.Second, 30*time.Second).ended(record.AcquireEnded, record.OK)
	if n := len(after.where(func(f record.Fact) bool { return f.Pool == 0 })); n > 0 {
		t.Errorf("no real limit: %d requests get a connection after the job has come", n)
	}
	ended := s.where(func(f record.Fact) bool {
		return f.Kind == record.RequestEnded && f.Pool == 1 && f.Outcome == record.OK
	})
	if len(ended) != 200 || ended[199].At > sim.Time(10*time.Second) {
		t.Errorf("no real limit: %d of the job's statements are done", len(ended))
	}
}

// TestSqlxShutdownOrder: in half a second 50 requests come to a pool that is closed; those that hold a connection end well.
func TestSqlxShutdownOrder(t *testing.T) {
	c, _ := tell(t, "sqlx-shutdown-order", "requests first")
	if c.Requests.Failed > 0 || c.Requests.Total == 0 {
		t.Errorf("requests first: %+v", c.Requests)
	}
	c, s := tell(t, "sqlx-shutdown-order", "pool first")
	came := s.from(2*time.Second, 2500*ms).of(record.RequestBegan)
	if n := int64(len(came)); n < 22 || c.Requests.Outcomes[record.PoolIsClosed] != n || c.Requests.Failed != n {
		t.Errorf("pool first: %d requests come when it is closed, failures %v, want as many", n, c.Requests.Outcomes)
	}
	if n := len(s.from(2*time.Second, time.Hour).ended(record.RequestEnded, record.OK)); n == 0 {
		t.Error("pool first: no request that had a connection ended well")
	}
}

// TestSqlxNewConnectOptions: the connections are born at 10 s and 20 ms. When they are a minute old they go at their next use, and ten of
// them have a turn each in about half a second at 20/s; unused, they go at the next scan, at 120 s.
func TestSqlxNewConnectOptions(t *testing.T) {
	for label, want := range map[string]struct{ from, to time.Duration }{
		"busy":   {70*time.Second + 20*ms, 72 * time.Second},
		"unused": {120 * time.Second, 120*time.Second + 20*ms},
	} {
		c, _ := tell(t, "sqlx-new-connect-options", label)
		if took := c.Actions[0].Took; !took.Known || took.Value < want.from-30*time.Second || took.Value > want.to-30*time.Second {
			t.Errorf("%s: all have moved after %v, want from %v to %v", label, took.Value, want.from-30*time.Second, want.to-30*time.Second)
		}
		if old := c.Servers[0]; old.Opened != 10 {
			t.Errorf("%s: %d opened at the old place, want 10", label, old.Opened)
		}
	}
}
