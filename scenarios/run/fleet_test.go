package run

import (
	"testing"
	"time"

	"poolwise/sim/record"
	"poolwise/sim/simtest"
)

// Several programs on one server.

// TestReleaseOverBudget: 200 - 3 - 10 - 40 = 147 connections are left for eight instances during the release. Eight of 18 fit. Of 24
// six take 144, the first new instance gets 3, and the second nothing until the first old one is gone.
func TestReleaseOverBudget(t *testing.T) {
	c, _ := tell(t, "rolling-release", "18")
	if c.Requests.Failed > 0 || c.Server.Refused > 0 || c.Server.PeakOpen != 10+40+8*18 {
		t.Errorf("18: %d failed, %+v, want no failure and a peak of 194", c.Requests.Failed, c.Server)
	}
	if row := c.Budget.Rows[2]; row.Available != 147 || row.Safe != 18 || row.WithoutPeak != 24 || row.NeedsAtPeak != 192 {
		t.Errorf("budget: %+v, want 147 in all, 18 for each, and 24 without the peak, which needs 192", row)
	}
	c, s := tell(t, "rolling-release", "24")
	if c.Server.PeakOpen != 197 {
		t.Errorf("24: %d sessions, want all 197 that ordinary roles may have", c.Server.PeakOpen)
	}
	for _, f := range s.from(0, 13*time.Second).of(record.RequestEnded) {
		if f.Outcome != record.OK {
			t.Fatalf("24: a request fails at %v, before the release", f.At)
		}
	}
	release := s.from(13*time.Second, 20*time.Second) // six old and two new
	for i, p := range c.Pools {
		want := -1
		switch p.Name {
		case "app-7":
			want = 147 - 6*24
		case "app-8":
			want = 0
		default:
			continue
		}
		mine := release.where(func(f record.Fact) bool { return f.Pool == int16(i) })
		if n := len(mine.ended(record.ConnectEnded, record.OK)); n != want {
			t.Errorf("24: %s gets %d connections, want %d", p.Name, n, want)
		}
		if n := len(mine.ended(record.RequestEnded, record.OK)); n > 0 != (want > 0) {
			t.Errorf("24: %s serves %d requests with %d connections", p.Name, n, want)
		}
		if n := len(mine.ended(record.RequestEnded, record.TooManyConnections)); n == 0 {
			t.Errorf("24: nothing fails at %s", p.Name)
		}
	}
}

// TestPollerStarvesCustomers: rejections by Erlang's loss formula, for 20/s x 350 ms = 7 customers at a time. The page has five
// connections nearly all the time: 20 ms of each 1 s it has none, and it is itself rejected now and then.
func TestPollerStarvesCustomers(t *testing.T) {
	const load = 20 * 0.35
	for label, want := range map[string]struct{ share, within float64 }{
		"shared, without the page": {simtest.ErlangB(15, load), 0.4}, // a hundred rejections or so, and they come in clumps
		"shared":                   {simtest.ErlangB(10, load), 0.15},
		"split 12 and 3":           {simtest.ErlangB(12, load), 0.15},
	} {
		c, _ := tell(t, "poller-starves-customers", label)
		r := c.Pools[0].Requests
		within(t, label+": share of customers rejected", float64(r.Failed)/float64(r.Total), want.share, want.within)
		if r.Failed != r.Outcomes[record.QueueTimeout]+r.Outcomes[record.NoneAvailable] {
			t.Errorf("%s: %+v, want rejections only", label, r)
		}
	}
	// Split, three rows of five are shown.
	c, _ := tell(t, "poller-starves-customers", "split 12 and 3")
	if r := c.Pools[1].Requests; r.OK+r.Unfinished != r.Total*3/5 {
		t.Errorf("the administrator's: %+v, want three of five served", r)
	}
}
