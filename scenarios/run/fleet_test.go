package run

import (
	"math"
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

// TestPollerStarvesCustomers: rejections by Erlang's loss formula, for 20/s x 350 ms = 7 customers at a time, and with the page by what
// the formula comes from: the page takes up to five of what customers leave for 4.9 s of each 5 s.
func TestPollerStarvesCustomers(t *testing.T) {
	const load = 20 * 0.35
	if with, formula := lostBesidePage(20, 0.35, 15), simtest.ErlangB(10, load); math.Abs(with/formula-1) > 0.1 {
		t.Errorf("beside the page %v of the customers are lost, of seven in ten %v", with, formula)
	}
	for label, want := range map[string]struct{ share, within float64 }{
		"shared, without the page": {simtest.ErlangB(15, load), 0.4}, // a hundred rejections or so, and they come in clumps
		"shared":                   {lostBesidePage(20, 0.35, 15), 0.08},
		"split 12 and 3":           {simtest.ErlangB(12, load), 0.15},
	} {
		c, s := tell(t, "poller-starves-customers", label)
		r := c.Pools[0].Requests
		within(t, label+": share of customers rejected", float64(r.Failed)/float64(r.Total), want.share, want.within)
		if r.Failed != r.Outcomes[record.NoneAvailable] {
			t.Errorf("%s: %+v, want rejections only", label, r)
		}
		// Both are in one pool, or each in its own.
		lent := s.where(func(f record.Fact) bool {
			return f.Kind == record.ConnMoved && f.Move.To() == record.InUse && f.Pool == 1
		})
		if split := label == "split 12 and 3"; (len(lent) > 0) != split || (c.Pools[1].PoolOf == "") != split {
			t.Errorf("%s: the administrator's pool lends %d times", label, len(lent))
		}
	}
	// Split, three rows of five are shown.
	c, _ := tell(t, "poller-starves-customers", "split 12 and 3")
	if r := c.Pools[1].Requests; r.OK+r.Unfinished != r.Total*3/5 {
		t.Errorf("the administrator's: %+v, want three of five served", r)
	}
}

// lostBesidePage returns the share of Poisson arrivals that find none of size servers free, if every 5 s up to five of those that are
// free are taken for 4.9 s: the balance of arrivals and ends in each state, in steps of 1 ms.
func lostBesidePage(rate, hold float64, size int) float64 {
	const step = 0.001
	p := make([]float64, size+1) // of so many customers, when the page asks
	p[0] = 1
	lost := 0.0
	for range 20 { // by then it depends on the beginning no more
		next := make([]float64, size+1)
		lost = 0
		for taken := range 6 { // the pages that find so many free, five at the most
			q := make([]float64, size+1)
			for k := range p {
				if min(size-k, 5) == taken {
					q[k] = p[k]
				}
			}
			for ms := range 5000 {
				limit := size
				if ms < 4900 {
					limit -= taken
				}
				lost += q[limit] * step / 5
				flow := make([]float64, size+2) // from k-1 to k, less that from k to k-1
				for k := 1; k <= size; k++ {
					flow[k] = -q[k] * float64(k) / hold * step
					if k <= limit {
						flow[k] += q[k-1] * rate * step
					}
				}
				for k := range q {
					q[k] += flow[k] - flow[k+1]
				}
			}
			for k := range q {
				next[k] += q[k]
			}
		}
		p = next
	}
	return lost
}
