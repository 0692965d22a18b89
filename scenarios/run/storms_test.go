package run

import (
	"math"
	"testing"
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/simtest"
)

// Overload that outlives its cause, or does not, and what looks like it.

// served returns the successful requests a second in a part of a story.
func (s story) served(from, to time.Duration) float64 {
	return float64(len(s.from(from, to).ended(record.RequestEnded, record.OK))) / (to - from).Seconds()
}

// TestRetryStorm: 5 s of 1200/s leave 3000 logins, at 600/s 5 s of work. Without retries the rest of 600 - 400 a second works them off by
// 30 s. With three attempts for each of 400 requests a second it never ends; with three for 100 it does.
func TestRetryStorm(t *testing.T) {
	_, s := tell(t, "retry-storm", "no retries")
	within(t, "no retries: served before", s.served(0, 10*time.Second), 400, 0.06) // four standard deviations of 4000 arrivals
	if n := s.served(16*time.Second, 26*time.Second); n > 0 {                      // the queue is longer than 600, 1 s, until 27 s
		t.Errorf("no retries: %.0f/s are served while the queue is longer than their patience", n)
	}
	within(t, "no retries: served after", s.served(32*time.Second, 100*time.Second), 400, 0.03)

	for _, label := range []string{"three attempts", "three, with pauses"} {
		_, s := tell(t, "retry-storm", label)
		if n := s.served(20*time.Second, 100*time.Second); n > 0 {
			t.Errorf("%s: %.0f/s are served after the trigger", label, n)
		}
	}
	_, s = tell(t, "retry-storm", "three, but only 100/s")
	within(t, "only 100/s: served in the end", s.served(80*time.Second, 100*time.Second), 100, 0.09)
}

// TestSqlxRetryStorm: 961/s can be served. The trigger leaves 5 s x (2000 - 961), less what times out, and 261/s work it off within
// 20 s. With retries 4 x 700/s come, for good.
func TestSqlxRetryStorm(t *testing.T) {
	for _, label := range []string{"5 s", "1 s"} {
		_, s := tell(t, "sqlx-retry-storm", label)
		within(t, label+": served in the end", s.served(45*time.Second, 60*time.Second), 700, 0.04)
		if label == "5 s" {
			if n := len(s.from(40*time.Second, time.Hour).ended(record.RequestEnded, record.AcquireTimeout)); n > 0 {
				t.Errorf("5 s: %d time out after 40 s", n)
			}
		}
	}
	_, s := tell(t, "sqlx-retry-storm", "1 s, four times")
	if n := s.served(45*time.Second, 60*time.Second); n > 70 {
		t.Errorf("four times: %.0f/s are served long after the trigger, want less than a tenth of 700", n)
	}
}

// TestIdlePassedBy: two jobs of twelve find no room at the server, and no idle connection either when they come. They never look
// again.
func TestIdlePassedBy(t *testing.T) {
	c, s := tell(t, "idle-passed-by", "20")
	if c.Requests.Outcomes[record.AcquireTimeout] != 2 || c.Requests.Failed != 2 {
		t.Errorf("20: %+v, want two timeouts", c.Requests)
	}
	for _, f := range s.ended(record.AcquireEnded, record.AcquireTimeout) {
		if f.Took != 30*time.Second {
			t.Errorf("20: a timeout after %v", f.Took)
		}
	}
	if lo, _ := s.gaugesOf(0, 10*time.Second, 29*time.Second); lo.idle != 10 {
		t.Errorf("20: %d idle while the two still wait and all others are done, want 10", lo.idle)
	}
	c, _ = tell(t, "idle-passed-by", "10")
	if c.Requests.Failed > 0 || c.Wait.Max.Value > 105*ms { // for the end of a job, and a connect
		t.Errorf("10: %d failed, longest wait %v", c.Requests.Failed, c.Wait.Max.Value)
	}
}

// TestConnectStampede: 2000 logins of 10 ms take two cores 10 s. Two at a time leave most of the cores to the queries.
func TestConnectStampede(t *testing.T) {
	_, s := tell(t, "connect-stampede", "2")
	within(t, "two at a time: served at once after the restart", s.served(20500*ms, 22500*ms), 1500, 0.08) // four standard deviations
	_, s = tell(t, "connect-stampede", "2000")
	if n := s.served(20500*ms, 29500*ms); n > 75 {
		t.Errorf("2000: %.0f/s are served while they log in, want less than a twentieth of 1500", n)
	}
	var last sim.Time
	for _, f := range s.from(20*time.Second, time.Hour).ended(record.ConnectEnded, record.OK) {
		last = f.At
	}
	// The last of them is begun when its caller comes, the 2000th of 1500/s.
	within(t, "2000: the last login ends, s after the restart", float64(last)/1e9-20.1, 10+2000./1500, 0.05)
	// Up to 2 s x 1500/s wait then, and 2000/s - 1500/s work them off.
	within(t, "2000: served when all have", s.served(42*time.Second, 50*time.Second), 1500, 0.04)
}

// TestStreamsHoldConnections: 0.5 streams a second of 90 s want 45 connections. Thirty sustain a third of a stream a second.
func TestStreamsHoldConnections(t *testing.T) {
	c, s := tell(t, "streams-hold-connections", "30, held")
	if c.Requests.Outcomes[record.AcquireTimeout] != c.Requests.Failed || c.FailedAfter.Min.Value != 30*time.Second {
		t.Errorf("30: %v after %v, want timeouts after 30 s", c.Requests.Outcomes, c.FailedAfter.Min.Value)
	}
	// In eight minutes 160 streams, which end at random; three standard deviations.
	streams := s.from(2*time.Minute, 10*time.Minute).of(record.CallBegan)
	within(t, "30: streams a second", float64(len(streams))/480, 30./90, 3/math.Sqrt(160))
	if lo, _ := s.gaugesOf(0, 3*time.Minute, 10*time.Minute); lo.inUse < 29 {
		t.Errorf("30: %d in use", lo.inUse)
	}
	c, _ = tell(t, "streams-hold-connections", "120, held")
	if c.Requests.Outcomes[record.TooManyConnections] != c.Requests.Failed || c.Requests.Failed == 0 || c.Server.PeakOpen != 100 {
		t.Errorf("120: %v, %d open, want refusals only, and 100", c.Requests.Outcomes, c.Server.PeakOpen)
	}
	// The query alone: 10/s x 5 ms.
	c, _ = tell(t, "streams-hold-connections", "30, given back")
	if c.Requests.Failed > 0 {
		t.Errorf("given back: %d failed", c.Requests.Failed)
	}
	within(t, "given back: in use", c.Levels.InUse.Mean.Value, 0.05, 0.1)
}

// TestPinnedConnections: four connections that are not pinned give 4 / 10 ms, and with four ways of 5 ms more 4 / 30 ms.
func TestPinnedConnections(t *testing.T) {
	for label, want := range map[string]struct {
		rate float64
		left int64 // of the requests in the end, at most
	}{
		"360/s":               {360, 100},
		"440/s":               {400, 440 * 30},
		"440/s, none pinned":  {440, 100},
		"360/s, slow network": {4 / 0.03, 360 * 30},
	} {
		c, _ := tell(t, "pinned-connections", label)
		app := c.Pools[0]
		within(t, label+": rate", app.Throughput.Value, want.rate, 0.04) // four standard deviations of 10,000 arrivals
		if app.Requests.Unfinished > want.left || app.Requests.Failed > 0 {
			t.Errorf("%s: %+v", label, app.Requests)
		}
	}
}

// TestOldPrimary: instance k was born at 30 k s, and its connections die 300 s later, so that in minute m after the failover the
// share of errors is 1 - (m + 1/2) / 5.
func TestOldPrimary(t *testing.T) {
	_, s := tell(t, "old-primary", "live on")
	for m := range 5 {
		from := 5*time.Minute + time.Duration(m)*time.Minute
		ended := s.from(from, from+time.Minute).of(record.RequestEnded)
		share := float64(len(ended.ended(record.RequestEnded, record.OtherError))) / float64(len(ended))
		if want := 1 - (float64(m)+0.5)/5; math.Abs(share-want) > 0.08 {
			t.Errorf("minute %d after the failover: %.0f %% fail, want %.0f %%", m+1, 100*share, 100*want)
		}
	}
	if n := len(s.from(602*time.Second, time.Hour).ended(record.RequestEnded, record.OtherError)); n > 0 {
		t.Errorf("%d errors more than a lifetime after the failover", n)
	}
	c, s := tell(t, "old-primary", "are reset")
	under := 0 // queries under way at the failover
	for _, f := range s.from(0, 5*time.Minute) {
		switch f.Kind {
		case record.QueryBegan:
			under++
		case record.QueryEnded:
			under--
		}
	}
	if c.Requests.Failed > int64(under)+1 {
		t.Errorf("reset: %d failed, with %d queries under way", c.Requests.Failed, under)
	}
}

// TestLongerThanTheCaller: 110/s on 100/s, so one in eleven is turned away, whatever the timeout; and who is served has a time left that
// is exponential with the rate of the excess, 10/s (M/M/c with constant patience): its median is ln 2 / 10 s.
func TestLongerThanTheCaller(t *testing.T) {
	for _, c := range runPlain(t, "longer-than-the-caller").Cells {
		timeout, err := time.ParseDuration(c.Settings[0].Value)
		if err != nil {
			t.Fatal(err)
		}
		within(t, c.Settings.String()+": failed", c.FailedRate.Value, 1./11, 0.1)
		within(t, c.Settings.String()+": median of the wait, s", c.Wait.P50.Value.Seconds(), timeout.Seconds()-math.Ln2/10, 0.01)
		within(t, c.Settings.String()+": throughput", c.Throughput.Value, 100, 0.02)
		late := c.Curves.Latency.At(1) > 5*time.Second
		if want := timeout > 5*time.Second; late != want {
			t.Errorf("%s: 1 %% of the answers come within %v; all of them late %v, want %v", c.Settings, c.Curves.Latency.At(1), late, want)
		}
	}
}

// TestReadinessProbe: a probe fails with the probability that an arrival waits for more than 2 s: that of M/M/5, C(5, a) exp(-(10 - r) 2 s)
// with r requests a second on each pod and a = r / 2; all do where more come than can be served. Probes come 10 s after each other and
// queues last for longer than that, so that the error of the share is not that of independent draws: a quarter of it, or of the formula.
func TestReadinessProbe(t *testing.T) {
	res := runPlain(t, "readiness-probe")
	probes := func(label string) *record.PoolCell {
		c := setting(t, res, label)
		for i := range c.Services {
			if c.Services[i].Name == "probe" {
				return &c.Services[i]
			}
		}
		t.Fatalf("%s: no probes", label)
		return nil
	}
	for label, pods := range map[string]float64{"8": 8, "7": 7} {
		r := 64 / pods
		within(t, label+" pods: probes that fail", probes(label).FailedRate.Value, simtest.ErlangC(5, r/2)*math.Exp(-(10-r)*2), 0.25)
	}
	for label, want := range map[string]float64{"6": 1, "6, probe beside the pool": 0, "6, pools of 20": 0} {
		if got := probes(label); got.FailedRate.Value != want || got.Requests.Total < 6*300-6 {
			t.Errorf("%s: %+v, want a share of %v to fail", label, got.Requests, want)
		}
	}
	// With seven, each pod would be taken out within the hour: three of its probes in a row fail.
	inRow, most := map[int16]int{}, map[int16]int{}
	follow(t, "readiness-probe", "7", func(f record.Fact) {
		if f.Kind == record.RequestEnded && f.Pool >= 7 {
			inRow[f.Pool]++
			if f.Outcome == record.OK {
				inRow[f.Pool] = 0
			}
			most[f.Pool] = max(most[f.Pool], inRow[f.Pool])
		}
	})
	for pod := int16(7); pod < 14; pod++ {
		if most[pod] < 3 {
			t.Errorf("7 pods: at most %d probes of pod %d fail in a row", most[pod], pod-6)
		}
	}
}
