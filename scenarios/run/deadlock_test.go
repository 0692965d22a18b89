package run

import (
	"fmt"
	"testing"
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
)

// Waits in a circle.

// stalls reports whether no request ends before an instant, although there are some.
func (s story) stalls(until time.Duration) bool {
	return len(s.of(record.RequestBegan)) > 0 && len(s.from(0, until).of(record.RequestEnded)) == 0
}

// TestTwoConnectionsEach: with fifty or fewer connections nothing ends before the timeout of 30 s, and then there is one success for
// each failure of a holder, to which it owes its second connection. With 51 all are through at once.
func TestTwoConnectionsEach(t *testing.T) {
	for label, pool := range map[string]int64{"10, as reported": 10, "50, one too few": 50} {
		c, s := tell(t, "two-connections-each", label)
		if !s.stalls(30 * time.Second) {
			t.Errorf("%s: a request ends before 30 s", label)
		}
		if c.Requests.OK != pool/2 || c.Requests.Outcomes[record.AcquireTimeout] != 50-pool/2 {
			t.Errorf("%s: %+v, want %d served by as many that fail", label, c.Requests, pool/2)
		}
		if lo, hi := s.gaugesOf(0, 100*ms, 30*time.Second); lo != hi || lo.inUse != int(pool) {
			t.Errorf("%s: %+v to %+v, want all %d in use and waiting for more", label, lo, hi, pool)
		}
	}
	for _, label := range []string{"51", "50, one by one"} {
		c, _ := tell(t, "two-connections-each", label)
		if c.Requests.OK != 50 || c.Wait.Max.Value > time.Second {
			t.Errorf("%s: %d ok, longest wait %v, want all 50 and no wait of a second", label, c.Requests.OK, c.Wait.Max.Value)
		}
	}
}

// TestDeadlockFormula: T jobs that each need C connections deadlock on T x (C - 1), and not on one more.
func TestDeadlockFormula(t *testing.T) {
	steps := map[int]string{
		2: "[acquire, query: 5ms, acquire, query: 5ms, release, release]",
		3: "[acquire, query: 5ms, acquire, query: 5ms, acquire, query: 5ms, release, release, release]",
		4: "[acquire, query: 5ms, acquire, query: 5ms, acquire, query: 5ms, acquire, query: 5ms, release, release, release, release]",
	}
	for each, request := range steps {
		for _, jobs := range []int{2, 3, 7} {
			for _, more := range []int{0, 1} {
				pool := jobs*(each-1) + more
				_, s := tell(t, "two-connections-each", "", "sweep={}", "workload.request="+request,
					fmt.Sprintf("workload.arrivals.bursts.size=%d", jobs), fmt.Sprintf("pool.max_total=%d", pool))
				if got, want := s.stalls(30*time.Second), more == 0; got != want {
					t.Errorf("%d jobs with %d connections each on %d: deadlock %v, want %v", jobs, each, pool, got, want)
				}
			}
		}
	}
}

// TestTwelveJobs: the source's start times, and the same six jobs in every model.
func TestTwelveJobs(t *testing.T) {
	for _, model := range []string{"handoff", "sqlx", "semaphore", "asyncio"} {
		_, s := tell(t, "twelve-jobs", model)
		for i, f := range s.ended(record.AcquireEnded, record.OK) {
			if want := sim.Time(i/2) * sim.Time(2*time.Second); f.Request != int64(i) || f.At != want {
				t.Errorf("%s: job %d starts at %v, want job %d at %v", model, f.Request, f.At, i, want)
			}
		}
	}
}
