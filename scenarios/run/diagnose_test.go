package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"poolwise/scenarios"
	"poolwise/sim/record"
)

// diagnosis returns the only diagnosis of a cell of some kinds, nil if there is none.
func diagnosis(t *testing.T, c *record.Cell, kinds ...record.FindingKind) *record.Diagnosis {
	t.Helper()
	var found *record.Diagnosis
	for i := range c.Diagnoses {
		for _, k := range kinds {
			if c.Diagnoses[i].Kind != k {
				continue
			}
			if found != nil {
				t.Fatalf("two diagnoses: %+v", c.Diagnoses)
			}
			found = &c.Diagnoses[i]
		}
	}
	return found
}

// TestNestedAcquires: 50 threads that each need two connections at once. A pool of 50 can be filled by those that hold one and wait
// for another; then nothing happens until the first acquire timeout, 30 s after the second acquires. A pool of 51 always has one more.
func TestNestedAcquires(t *testing.T) {
	const src = `
name: nested
until: drained
server: {connect: 10ms}
pool: {model: %s}
workload:
  clients: 50
  repeat: 1
  request: [acquire, query: 5ms, acquire, query: 5ms, release, release]
`
	for _, pool := range []string{"semaphore, max: %d", "handoff, max_total: %d", "sqlx, max_connections: %d"} {
		for size, deadlock := range map[int]bool{10: true, 50: true, 51: false} {
			c := mustCheck(t, fmt.Sprintf(src, fmt.Sprintf(pool, size)))
			d := diagnosis(t, c, record.Deadlocked)
			if (d != nil) != deadlock {
				t.Errorf("%s of %d: %+v", pool, size, c.Diagnoses)
				continue
			}
			if !deadlock {
				if c.Requests.OK != 50 || c.Makespan.Value > time.Second || diagnosis(t, c, record.CanDeadlock) != nil {
					t.Errorf("%s of %d: %+v, %v", pool, size, c.Requests, c.Diagnoses)
				}
				continue
			}
			want := fmt.Sprintf("%d requests hold all %d connections: all wait for another connection; the smallest safe pool for 50 requests at once is 51", size, size)
			if d.Text != want || d.At.Value != 15*ms || c.Requests.Outcomes[record.AcquireTimeout] == 0 || c.Requests.OK > 0 && c.Latency.Min.Value < 30*time.Second {
				t.Errorf("%s of %d: %+v\nof %+v in %v", pool, size, d, c.Requests, c.Makespan.Value)
			}
		}
	}
	// One after the other they do not meet, but they could.
	c := mustCheck(t, fmt.Sprintf(src, "semaphore, max: 2"), "workload.stagger={uniform: {max: 20s}}", "workload.clients=5")
	if c.Requests.OK != 5 || diagnosis(t, c, record.Deadlocked) != nil || diagnosis(t, c, record.CanDeadlock) == nil {
		t.Errorf("staggered: %+v, %+v", c.Requests, c.Diagnoses)
	}
}

// TestRowLockAndSecondConnection: one request has a row locked and asks for a second connection; others wait for the row, each with a
// connection. With as many of them as the pool has connections left, nothing moves until a timeout; with one less, all end at once.
// Without the lock, the pool alone shows nothing.
func TestRowLockAndSecondConnection(t *testing.T) {
	const src = `
name: row lock
until: drained
services:
  - name: app
    pool: {model: semaphore, max: 10}
    workload:
      clients: %d
      repeat: 1
      stagger: %s
      request:
        - acquire
        - begin
        - query: {phases: [{lock: task}, {cpu: 5ms}]}
        - {do: [call: 20ms, acquire, query: 5ms, release], chance: 100%%}
        - commit
        - release
checks: ["deadlocks%s0"]
`
	for waiters, deadlock := range map[int]bool{9: true, 12: true, 8: false} {
		check := "=="
		if deadlock {
			check = ">"
		}
		base, cells := mustLoad(t, fmt.Sprintf(src, waiters+1, "0ms", check), scenarios.Options{})
		_ = base
		w := newWorld(cells[0].Scenario, 1, 0)
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := w.finish()
		c := record.Merge(nil, []string{"app"}, []*record.Run{r})
		d := diagnosis(t, &c, record.Deadlocked)
		if (d != nil) != deadlock {
			t.Errorf("%d waiters: %+v", waiters, c.Diagnoses)
			continue
		}
		if deadlock && d.Text != "10 requests hold all 10 connections: 1 waits for another connection and 9 wait for a row that is locked" {
			t.Errorf("%d waiters: %s", waiters, d.Text)
		}
		if !deadlock && (c.Requests.OK != int64(waiters+1) || c.Makespan.Value > time.Second) {
			t.Errorf("%d waiters: %+v in %v", waiters, c.Requests, c.Makespan.Value)
		}
	}
	// Without the row nobody waits with a connection in hand but for another connection: 12 fill the pool, too, at the same moment;
	// 9 do not.
	src2 := strings.Replace(fmt.Sprintf(src, 9, "0ms", "=="), "{phases: [{lock: task}, {cpu: 5ms}]}", "5ms", 1)
	if c := mustCheck(t, src2); c.Requests.OK != 9 || diagnosis(t, c, record.Deadlocked) != nil {
		t.Errorf("without the row: %+v, %+v", c.Requests, c.Diagnoses)
	}
}

// TestThreadsAndPoolWaitForEachOther: with 15 connections and 40 threads, 54 requests at once finish and 55 stall until the acquire
// timeout, if a connection is given back in another thread than it was taken in; else no number stalls.
func TestThreadsAndPoolWaitForEachOther(t *testing.T) {
	const src = `
name: threads
until: drained
pool: {model: semaphore, max: 15, acquire_timeout: 30s}
workload:
  clients: %d
  repeat: 1
  threads: 40
  request: [%s]
`
	const other = "acquire, query: 10ms, switch_thread, release"
	c := mustCheck(t, fmt.Sprintf(src, 54, other))
	// 54 requests on 15 connections of 10 ms are four rounds.
	if c.Requests.OK != 54 || c.Makespan.Value != 40*ms || len(c.Diagnoses) != 0 {
		t.Errorf("54: %+v in %v, %+v", c.Requests, c.Makespan.Value, c.Diagnoses)
	}
	c = mustCheck(t, fmt.Sprintf(src, 55, other))
	d := diagnosis(t, c, record.Deadlocked)
	if d == nil || d.At.Value != 10*ms || c.Makespan.Value < 30*time.Second || c.Requests.Outcomes[record.AcquireTimeout] == 0 {
		t.Fatalf("55: %+v in %v, %+v", c.Requests, c.Makespan.Value, c.Diagnoses)
	}
	if want := "15 requests hold all 15 connections: all wait for a thread, while all threads wait for connections; 54 requests at once would be safe"; d.Text != want {
		t.Errorf("%s", d.Text)
	}
	c = mustCheck(t, fmt.Sprintf(src, 200, "acquire, query: 10ms, release"))
	if c.Requests.OK != 200 || len(c.Diagnoses) != 0 {
		t.Errorf("in one thread: %+v, %+v", c.Requests, c.Diagnoses)
	}
}

// TestIdleInTransaction: one request a minute stays in its transaction for 40 minutes, looking at the database every minute, on a
// pool of 20. Without a limit the pool is used up after 20 minutes; with one of 30 s the server ends the session, the next look finds
// out, and the connection is free again.
func TestIdleInTransaction(t *testing.T) {
	const src = `
name: idle in transaction
until: 60m
pool: {model: semaphore, max: 20, acquire_timeout: 10s}
workload:
  arrivals: {constant: 1/m}
  request: [acquire, begin, query: 2ms, %s commit, release]
`
	stuck := strings.Repeat("call: 1m, query: 1ms, ", 40)
	c := mustCheck(t, fmt.Sprintf(src, stuck))
	if c.Requests.Outcomes[record.AcquireTimeout] != 20 || c.Levels.InUse.Max.Value != 20 { // those of minutes 20 to 39
		t.Errorf("without a limit: %+v, in use %v", c.Requests, c.Levels.InUse.Max.Value)
	}
	c = mustCheck(t, fmt.Sprintf(src, stuck), "server.idle_in_transaction_timeout=30s")
	if c.Requests.Outcomes[record.AcquireTimeout] != 0 || c.Requests.Outcomes[record.AdminShutdown] != 59 || c.Server.IdleEnded != 60 || c.Levels.InUse.Max.Value > 2 {
		t.Errorf("with a limit: %+v, in use %v", c.Requests, c.Levels.InUse.Max.Value)
	}
}

// TestCancelledStatement: the caller has a statement of 10 s cancelled after 300 ms. It ends with 57014, and the same connection
// answers the next query: one connection is opened in all.
func TestCancelledStatement(t *testing.T) {
	c := mustCheck(t, `
name: cancel
until: drained
server: {connect: 5ms, cancel_request: 5ms}
pool: {model: handoff, max_total: 4}
workload:
  clients: 1
  repeat: 2
  think: 10ms
  request: [acquire, query: 5ms, {query: 10s, cancel_after: 300ms}, release]`)
	// Each takes 5 ms, and 305 ms to the end of the statement; the first has to connect before.
	if c.Requests.Outcomes[record.QueryCancelled] != 2 || c.FailedAfter.Max.Value != 315*ms || c.FailedAfter.Min.Value != 310*ms || c.Server.Opened != 1 {
		t.Errorf("%+v after %v; server %+v", c.Requests, c.FailedAfter, c.Server)
	}
}

// TestDoubleReturn: the second return is rejected, and changes nothing: the next two loans are different connections.
func TestDoubleReturn(t *testing.T) {
	c := mustCheck(t, `
name: double return
until: drained
services:
  - {name: bug, pool: {model: handoff, max_total: 2}, workload: {clients: 1, repeat: 3, request: [acquire, release, return_again]}}
  - {name: good, pool: {model: handoff, max_total: 2}, workload: {clients: 2, repeat: 5, request: [acquire, query: 5ms, release]}}`)
	bug := c.Pools[0]
	if bug.Requests.Outcomes[record.Rejected] != 3 || c.PoolNotes[record.Rejected] != 3 || bug.Levels.Idle.Final.Value != 1 || bug.Levels.Size.Max.Value != 1 {
		t.Errorf("%+v, notes %v, levels %+v", bug.Requests, c.PoolNotes, bug.Levels)
	}
}

// TestForgottenCommit: who gives back a connection in a transaction leaves the next borrower a row that is locked, unless the pool
// resets its sessions.
func TestForgottenCommit(t *testing.T) {
	for reset, want := range map[bool]int64{true: 0, false: 1} {
		c := mustCheck(t, fmt.Sprintf(`
name: forgotten
until: drained
server: {statement_timeout: 1s}
services:
  - name: forgetful
    pool: {model: handoff, max_total: 1, reset: %v}
    workload: {clients: 1, repeat: 1, request: [acquire, begin, query: {phases: [{lock: task}, {cpu: 5ms}]}, release]}
  - name: other
    start_at: 1s
    pool: {model: handoff, max_total: 1}
    workload: {clients: 1, repeat: 1, request: [acquire, query: {phases: [{lock: task}, {cpu: 5ms}]}, release]}`, reset))
		if got := c.Pools[1].Requests.Outcomes[record.QueryCancelled]; got != want {
			t.Errorf("reset %v: %+v", reset, c.Pools[1].Requests)
		}
	}
}

// TestLeakEmptiesThePool: with one leak a call, call 51 of a pool of 50 is the first to fail, 10 s after it came. With a leak in ten, at
// 10 calls a second, the pool is empty after 50 s on the average.
func TestLeakEmptiesThePool(t *testing.T) {
	const src = `
name: leak
until: 200s
replications: %d
pool: {model: semaphore, max: 50, acquire_timeout: 10s}
workload: {arrivals: {constant: %s}, request: [acquire, query: 5ms, leak: %s, release]}
`
	c := mustCheck(t, fmt.Sprintf(src, 1, "1/s", "100%"))
	// The 50th call comes at 49 s and is over 5 ms later.
	if l := c.Leaks[0]; l.Capacity != 50 || l.Extrapolated || l.EmptyAfter != record.Exact(49*time.Second+5*ms) {
		t.Errorf("%+v", c.Leaks)
	}
	if d := diagnosis(t, c, record.Leaking); d == nil || d.Text != "all 50 slots are lost for ever; none was left after 49s" {
		t.Errorf("%+v", c.Diagnoses)
	}
	if c.Requests.OK != 50 || c.FailedAfter.Min.Value != 10*time.Second {
		t.Errorf("%+v, %+v", c.Requests, c.FailedAfter)
	}
	c = mustCheck(t, fmt.Sprintf(src, 100, "10/s", "10%"))
	// The time to the 50th leak is 50 geometric times of 1 s on the average, with a standard deviation of 6.7 s; of 100, 0.67 s.
	if l := c.Leaks[0]; l.Extrapolated || l.EmptyAfter.Value < 48*time.Second || l.EmptyAfter.Value > 52*time.Second {
		t.Errorf("%+v", c.Leaks)
	}
	// Not reached in the time of the run: extrapolated. 5000 slots at a leak in a second.
	c = mustCheck(t, fmt.Sprintf(src, 20, "10/s", "10%"), "pool.max=5000")
	if l := c.Leaks[0]; !l.Extrapolated || l.EmptyAfter.Value < 4800*time.Second || l.EmptyAfter.Value > 5200*time.Second {
		t.Errorf("%+v", c.Leaks)
	}
}

// TestBudgetBesideTheRun: six instances of 24 are within the limit of 200 that is left to them, but not with two more for the time of
// a release: the ones that come last are refused, while the budget says that 18 is safe.
func TestBudgetBesideTheRun(t *testing.T) {
	const src = `
name: budget
until: 4s
server: {connection_limit: 200, superuser_reserved: 3, reserved: 10}
services:
  - {name: others, pool: {model: semaphore, max: 40}, workload: {clients: 40, think: 1ms, request: [acquire, query: 100ms, release]}}
  - {name: api, instances: 8, start_at: 100ms, start_every: 100ms, pool: {model: handoff, max_total: 24}, workload: {clients: 24, think: 50ms, request: [acquire, query: 100ms, release]}}
actions:
  - {at: 2s, service: api, instance: 1, do: shut_down}
  - {at: 3s, service: api, instance: 2, do: shut_down}
`
	c := mustCheck(t, src)
	row := c.Budget.Rows[1]
	if row.Safe != 18 || row.WithoutPeak != 24 || row.NeedsAtPeak != 192 || row.Used.Value < 147 || c.Server.Refused == 0 || c.Budget.Left >= 0 {
		t.Errorf("%+v, server %+v", c.Budget, c.Server)
	}
	c = mustCheck(t, src, "services.api.pool.max_total=18")
	if c.Server.Refused != 0 || c.Budget.Left != 200-13-40-8*18 || c.Budget.Rows[1].Used.Value != 144 {
		t.Errorf("%+v, server %+v", c.Budget, c.Server)
	}
}

// TestRecoveryFromAPeak: at 1200 requests a second for 5 s, a pool of 8 that does 800 a second has 2000 waiting, less those who give up. At
// 400 a second they are served within 5 s more; at 790 it takes a hundred times as long, beyond the end.
func TestRecoveryFromAPeak(t *testing.T) {
	const src = `
name: peak
until: 60s
server: {}
pool: {model: semaphore, max: 8, acquire_timeout: 60s}
workload:
  arrivals: {phases: [{for: 10s, rate: 400/s, spacing: constant}, {for: 5s, rate: 1200/s, spacing: constant}, {rate: AFTER, spacing: constant}]}
  request: [acquire, query: 10ms, release]
`
	for after, want := range map[string]record.FindingKind{"400/s": record.Recovered, "790/s": record.NotRecovered} {
		c := mustCheck(t, strings.ReplaceAll(src, "AFTER", after))
		if d := diagnosis(t, c, want); d == nil {
			t.Errorf("at %s: %+v, want %s", after, c.Diagnoses, want)
		}
	}
	if c := mustCheck(t, strings.NewReplacer("1200/s", "401/s", "AFTER", "400/s").Replace(src)); len(c.Diagnoses) > 0 {
		t.Errorf("without a peak: %+v", c.Diagnoses)
	}
}
