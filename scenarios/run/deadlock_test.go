package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/record"
)

// Waits in a circle.

// stalls reports whether no request ends before an instant, although there are some.
func (s story) stalls(until time.Duration) bool {
	return len(s.of(record.RequestBegan)) > 0 && len(s.from(0, until).of(record.RequestEnded)) == 0
}

// TestTwoConnectionsEach: with fifty or fewer connections nothing ends before the timeout of 30 s, and then there is one success for
// each failure of a holder, to which it owes its second connection. With 51 all are through at once, and the report says so.
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
		d := c.Diagnoses
		if len(d) != 1 || d[0].Kind != record.Deadlocked || !strings.HasSuffix(d[0].Text, "the smallest safe pool for 50 requests at once is 51") {
			t.Errorf("%s: %+v, want the deadlock and the size that is safe", label, d)
		}
	}
	for _, label := range []string{"51", "50, one by one"} {
		c, _ := tell(t, "two-connections-each", label)
		if c.Requests.OK != 50 || c.Wait.Max.Value > time.Second {
			t.Errorf("%s: %d ok, longest wait %v, want all 50 and no wait of a second", label, c.Requests.OK, c.Wait.Max.Value)
		}
		// It can deadlock is said of the smaller pool, where it did not, and not of the safe one.
		can := slices.ContainsFunc(c.Diagnoses, func(d record.Diagnosis) bool { return d.Kind == record.CanDeadlock })
		if can != (label == "50, one by one") || len(c.Diagnoses) > 1 {
			t.Errorf("%s: %+v", label, c.Diagnoses)
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
					fmt.Sprintf("workload.clients=%d", jobs), fmt.Sprintf("pool.max_total=%d", pool))
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

// TestThreadsAndPool: with P connections and W threads, P + W requests at once stand still until the timeout, and one less does not. On
// the same thread any number is served.
func TestThreadsAndPool(t *testing.T) {
	for label, stands := range map[string]bool{"54": false, "55": true, "100": true, "100, returned on the same thread": false} {
		c, s := tell(t, "threads-and-pool", label)
		if got := s.stalls(30 * time.Second); got != stands {
			t.Errorf("%s at once: standstill %v, want %v", label, got, stands)
		}
		if stands != (c.Requests.Failed > 0) {
			t.Errorf("%s at once: %d failed", label, c.Requests.Failed)
		}
	}
	for _, pool := range []int{1, 2, 5} {
		for _, threads := range []int{1, 3, 8} {
			for _, more := range []int{-1, 0} {
				_, s := tell(t, "threads-and-pool", "", "sweep={}", fmt.Sprintf("pool.max_total=%d", pool),
					fmt.Sprintf("workload.threads=%d", threads), fmt.Sprintf("workload.arrivals.bursts.size=%d", pool+threads+more))
				if got, want := s.stalls(30*time.Second), more == 0; got != want {
					t.Errorf("%d connections, %d threads, %d requests: standstill %v, want %v", pool, threads, pool+threads+more, got, want)
				}
			}
		}
	}
}

// TestRowLockAndPool: with N connections, N workers leave none for the one that has the row, and N - 1 do. Nor do they stand still if
// one connection is enough.
func TestRowLockAndPool(t *testing.T) {
	for label, stands := range map[string]bool{"9": false, "10": true, "10, one connection": false} {
		c, s := tell(t, "row-lock-and-pool", label)
		if got := s.stalls(30 * time.Second); got != stands {
			t.Errorf("%s workers: standstill %v, want %v", label, got, stands)
		}
		// One has to give up; with its connection the others go through.
		if want := map[bool]int64{true: 1}[stands]; c.Requests.Outcomes[record.AcquireTimeout] != want || c.Requests.Failed != want {
			t.Errorf("%s workers: %v, want %d timeouts", label, c.Requests.Outcomes, want)
		}
	}
	for _, pool := range []int{2, 5, 30} {
		for _, workers := range []int{pool - 1, pool} {
			_, s := tell(t, "row-lock-and-pool", "", "sweep={}", fmt.Sprintf("pool.max_total=%d", pool), fmt.Sprintf("workload.clients=%d", workers))
			if got, want := s.stalls(30*time.Second), workers == pool; got != want {
				t.Errorf("%d connections, %d workers: standstill %v, want %v", pool, workers, got, want)
			}
		}
	}
}

// TestOpenTransaction: the row is locked at 60 s (and the connect of the job). Two requests a second need it, so nineteen wait for
// it after 9.5 s, with a standard deviation of sqrt(19) / 2 s. Then nobody is served until the lock is gone.
func TestOpenTransaction(t *testing.T) {
	for label, end := range map[string]time.Duration{"none": 11 * time.Minute, "30 s": 90 * time.Second} {
		_, s := tell(t, "idle-in-transaction", label)
		first := s.ended(record.AcquireEnded, record.AcquireTimeout)[0]
		if at := first.At.Add(-first.Took).Sub(0).Seconds(); at < 60 || at > 69.5+3*2.2 {
			t.Errorf("%s: the first acquire in vain is at %.1f s, want 69.5 s, give or take a few", label, at)
		}
		if n := s.served(76*time.Second, end); n > 0 {
			t.Errorf("%s: %.1f/s are served while all of the pool waits for the row", label, n)
		}
		within(t, label+": served afterwards", s.served(end+10*time.Second, 12*time.Minute), 20, 0.15)
		if n := len(s.from(end+7*time.Second, time.Hour).ended(record.AcquireEnded, record.AcquireTimeout)); n > 0 {
			t.Errorf("%s: %d time out when it is over", label, n)
		}
	}
}

// TestDeadlockOfAnAnswerOnItsWay: a request whose query is over, but which has not been told yet, waits for nobody.
func TestDeadlockOfAnAnswerOnItsWay(t *testing.T) {
	for workload, login := range map[string]string{
		"{clients: 10, request: [acquire, query: 0s, acquire, release, release]}":                           "1s",
		"{arrivals: {poisson: 10/s}, request: [acquire, query: {phases: [{lock: u}]}, query: 0s, release]}": "{exponential: {mean: 1s}}",
	} {
		for seed := range 5 {
			base, cells := mustLoad(t, `
until: 20s
server: {cores: 2, login_cpu: `+login+`}
pool: {model: sqlx, acquire_timeout: 1s}
workload: `+workload, scenarios.Options{Set: []string{fmt.Sprint("seed=", seed)}})
			if _, err := Run(context.Background(), base, cells, Options{CheckInvariants: true}); err != nil {
				t.Errorf("%s, seed %d: %v", workload, seed, err)
			}
		}
	}
}
