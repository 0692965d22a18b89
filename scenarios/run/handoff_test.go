package run

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/sim"
	"poolwise/sim/record"
)

// What a published study counted with its pool.

// TestHandoffManyThreads: 16 threads x 40 loans on 4 connections. Each of 160 rounds takes the query and its way (1.2 ms), the reset
// (0.2 ms) and the wake-up (0.05 ms), but for the last, which nobody waits for.
func TestHandoffManyThreads(t *testing.T) {
	c, s := tell(t, "handoff-many-threads", "")
	if c.Requests.OK != 640 || c.Requests.Total != 640 {
		t.Errorf("%+v, want 640 successes", c.Requests)
	}
	if lo, hi := s.gaugesOf(0, 20*ms, 900*ms); lo.size != 4 || hi.size != 4 {
		t.Errorf("size from %d to %d, want 4", lo.size, hi.size)
	}
	if lo, hi := s.gaugesOf(0, 1001*ms, 2*time.Second); lo != hi || lo != (gauges{}) {
		t.Errorf("after the close: %+v to %+v, want nothing", lo, hi)
	}
	if c.Server.PeakOpen != 4 || c.Server.Closed != c.Server.Opened {
		t.Errorf("%+v, want at most 4 sessions and all of them closed", c.Server)
	}
	if c.Makespan.Value < 10*ms+159*1450*time.Microsecond || c.Makespan.Value > 10*ms+160*1450*time.Microsecond {
		t.Errorf("makespan %v, want 160 rounds of 1.45 ms after the connect", c.Makespan.Value)
	}
}

// TestHandoffExhausted: 200 ms and 0 ms, and an empty queue.
func TestHandoffExhausted(t *testing.T) {
	c, s := tell(t, "handoff-exhausted", "")
	var after []time.Duration
	for _, f := range s.ended(record.AcquireEnded, record.AcquireTimeout) {
		after = append(after, f.Took)
	}
	if d := cmp.Diff([]time.Duration{0, 200 * ms}, after); d != "" {
		t.Errorf("timeouts after (-want +got):\n%s", d)
	}
	if c.Levels.Waiting.Final.Value != 0 || c.Levels.Idle.Final.Value != 1 {
		t.Errorf("%v waiting and %v idle in the end, want 0 and 1", c.Levels.Waiting.Final.Value, c.Levels.Idle.Final.Value)
	}
}

// TestHandoffLostGrant: the waiter wakes at its deadline of 1 ms, or when it is granted the connection, and has the lock 50 µs later.
// If it looks at the grant first, it fails only in rounds whose two returns both come after 1.05 ms, a quarter of a quarter. If
// it looks at the deadline first, a slot is lost whenever the first return comes from 0.95 to 1.05 ms, which is every second round.
func TestHandoffLostGrant(t *testing.T) {
	c, s := tell(t, "handoff-lost-grant", "grant_wins")
	within(t, "timeouts if the grant wins", float64(c.Requests.Failed), 5000./16, 4*math.Sqrt(15./5000))
	if len(s.of(record.Leaked)) > 0 || c.Levels.InUse.Final.Value != 0 || c.Levels.Idle.Final.Value != 2 {
		t.Errorf("the grant wins: %d lost, %v", len(s.of(record.Leaked)), c.Levels)
	}
	// At rest, between two rounds, both can be had.
	granted := s.grants()
	for round := range 5000 {
		if n := granted[sim.Time(round)*sim.Time(10*ms)]; n != 2 {
			t.Fatalf("the grant wins: round %d gets %d connections at once, want 2", round, n)
		}
	}

	c, s = tell(t, "handoff-lost-grant", "deadline_first")
	lost := s.of(record.Leaked)
	if len(lost) != 2 {
		t.Fatalf("the deadline first: %d slots lost, want both", len(lost))
	}
	// Ten rounds without a loss have a probability of one in 1024.
	if first, second := lost[0].At, lost[1].At; first > sim.Time(100*ms) || second-first > sim.Time(100*ms) {
		t.Errorf("the deadline first: slots are lost at %v and %v, want the first few rounds", first, second)
	}
	if n := len(s.from(time.Duration(lost[1].At)+1, time.Hour).ended(record.AcquireEnded, record.OK)); n > 0 {
		t.Errorf("the deadline first: %d acquires succeed when both slots are lost", n)
	}
	if c.Levels.InUse.Final.Value != 2 {
		t.Errorf("the deadline first: the ledger says %v lent, want 2, to nobody", c.Levels.InUse.Final.Value)
	}
	// Between the two losses one can be had.
	granted = s.grants()
	for at := (lost[0].At/sim.Time(10*ms) + 1) * sim.Time(10*ms); at <= lost[1].At; at += sim.Time(10 * ms) {
		if granted[at] != 1 {
			t.Errorf("the deadline first: at %v, after one loss, %d connections are to be had, want 1", at, granted[at])
		}
	}
}

// grants counts the acquires that are granted at each instant.
func (s story) grants() map[sim.Time]int {
	n := map[sim.Time]int{}
	for _, f := range s.ended(record.AcquireEnded, record.OK) {
		n[f.At]++
	}
	return n
}

// TestHandoffShortTimeout: 843 + 57 were published; which share times out hangs on the loans, the sum does not.
func TestHandoffShortTimeout(t *testing.T) {
	c, _ := tell(t, "handoff-short-timeout", "")
	if n := c.Requests.OK + c.Requests.Outcomes[record.AcquireTimeout]; n != 900 || c.Requests.OK < 450 || c.Requests.Failed == 0 {
		t.Errorf("%+v, want 900 successes and timeouts, some of each", c.Requests)
	}
	if c.Server.Opened != 2 || c.Levels.Size.Final.Value != 2 {
		t.Errorf("%d sessions and a total of %v, want 2 and 2", c.Server.Opened, c.Levels.Size.Final.Value)
	}
}

// TestHandoffInterrupt: the queue is 1 and then 0; the connection is idle from its return to the next acquire.
func TestHandoffInterrupt(t *testing.T) {
	c, s := tell(t, "handoff-interrupt", "")
	if d := cmp.Diff([]float64{100}, s.of(record.WaitBegan).times()); d != "" {
		t.Errorf("queued (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]float64{400}, s.of(record.WaitEnded).times()); d != "" {
		t.Errorf("left the queue (-want +got):\n%s", d)
	}
	if n := len(s.ended(record.AcquireEnded, record.Cancelled)); n != 1 {
		t.Errorf("%d interrupts, want 1", n)
	}
	if lo, _ := s.gaugesOf(0, 1010*ms, 1500*ms); lo.idle != 1 {
		t.Errorf("idle %d after the return, want 1", lo.idle)
	}
	if c.Requests.OK != 2 || c.Server.Opened != 1 {
		t.Errorf("%d ok, %d opened, want 2 and 1", c.Requests.OK, c.Server.Opened)
	}
}

// TestHandoffCancelledStatement: 57014 after the 316 ms that were published, and the same connection answers the next query.
func TestHandoffCancelledStatement(t *testing.T) {
	c, s := tell(t, "handoff-cancelled-statement", "")
	ended := s.of(record.QueryEnded)
	if len(ended) != 2 || ended[0].Conn != ended[1].Conn {
		t.Fatalf("queries %+v, want two on one connection", ended)
	}
	for _, f := range ended {
		if f.Outcome == record.QueryCancelled && f.Took != 316*ms || f.Outcome == record.OK && f.Took != 5*ms {
			t.Errorf("a query ended %v after %v", f.Outcome, f.Took)
		}
	}
	if c.Requests.Outcomes[record.QueryCancelled] != 1 || c.Server.Opened != 1 || c.Server.Closed != 0 {
		t.Errorf("%v, %+v, want one cancelled, and one connection created", c.Requests.Outcomes, c.Server)
	}
}

// TestHandoffDirtySession: the same connection, without what the first borrower left in it, or with both.
func TestHandoffDirtySession(t *testing.T) {
	for reset, want := range map[string]int64{"true": 0, "false": 1} {
		c, s := tell(t, "handoff-dirty-session", reset)
		if c.PoolNotes[record.SessionStateLeaked] != want {
			t.Errorf("reset %s: noted %v, want %d loans with somebody's session state", reset, c.PoolNotes, want)
		}
		if d := c.Diagnoses; int64(len(d)) != want || want > 0 && (d[0].Kind != record.SessionState || !strings.HasPrefix(d[0].Text, "1 of the loans")) {
			t.Errorf("reset %s: the report says %+v", reset, d)
		}
		queries := s.of(record.QueryEnded)
		if len(queries) != 2 || queries[0].Conn != queries[1].Conn || c.Requests.OK != 2 {
			t.Errorf("reset %s: %+v, want two queries on one connection", reset, queries)
		}
	}
}

// TestReturnedTwice: the second return is rejected, and the loans go on, two at a time, on two connections. The semaphore has one
// permit more for each.
func TestReturnedTwice(t *testing.T) {
	c, s := tell(t, "double-return", "handoff")
	if c.PoolNotes[record.Rejected] != 18 || c.Server.PeakOpen != 2 {
		t.Errorf("handoff: noted %v, %d open, want 18 rejections and 2", c.PoolNotes, c.Server.PeakOpen)
	}
	busy := map[int32]bool{}
	for _, f := range s {
		switch f.Kind {
		case record.QueryBegan:
			if busy[f.Conn] {
				t.Fatalf("handoff: connection %d is lent twice at once", f.Conn)
			}
			busy[f.Conn] = true
		case record.QueryEnded:
			busy[f.Conn] = false
		}
	}
	if len(busy) != 2 {
		t.Errorf("handoff: %d connections are used, want 2", len(busy))
	}
	if n := len(s.ended(record.AcquireEnded, record.OK)); n != 18 {
		t.Errorf("handoff: %d loans, want 18", n)
	}
	c, _ = tell(t, "double-return", "asyncio")
	if c.PoolNotes[record.OverReleased] != 18 || c.Levels.Idle.Final.Value != 2+18 || c.Levels.InUse.Max.Value != 6 {
		t.Errorf("asyncio: noted %v, %v; want 18 permits too many, and all six of a burst at once", c.PoolNotes, c.Levels)
	}
	if d := c.Diagnoses; len(d) != 1 || d[0].Kind != record.ReturnedTwice || !strings.HasPrefix(d[0].Text, "18 returns that nothing was lent for were accepted") {
		t.Errorf("asyncio: the report says %+v", d)
	}
}

// TestHandoffEndedSessions: three new connections and three loans that succeed, or three first uses that fail with 57P01.
func TestHandoffEndedSessions(t *testing.T) {
	c, s := tell(t, "handoff-ended-sessions", "before each loan")
	later := s.from(2*time.Second, time.Hour)
	if n, opened := len(later.ended(record.RequestEnded, record.OK)), len(later.ended(record.ConnectEnded, record.OK)); n != 3 || opened != 3 {
		t.Errorf("with validation: %d loans succeed on %d new connections, want 3 and 3", n, opened)
	}
	if c.Requests.Failed > 0 {
		t.Errorf("with validation: %d fail", c.Requests.Failed)
	}
	c, s = tell(t, "handoff-ended-sessions", "never")
	failed := s.ended(record.RequestEnded, record.AdminShutdown)
	if len(failed) != 3 || c.Requests.Failed != 3 || len(s.from(2*time.Second, time.Hour).of(record.ConnectBegan)) > 0 {
		t.Errorf("without validation: %v, want three failures with 57P01", c.Requests.Outcomes)
	}
}

// TestHandoffDeadPort: five failures, and no slot is taken between them; 2 loans succeed.
func TestHandoffDeadPort(t *testing.T) {
	c, s := tell(t, "handoff-dead-port", "")
	if c.Requests.Outcomes[record.CreateFailed] != 5 || c.PoolNotes[record.ConnectRefused] != 5 || c.Requests.OK != 2 {
		t.Errorf("%+v, noted %v, want five create failures and two successes", c.Requests, c.PoolNotes)
	}
	for i := range 5 {
		at := time.Duration(i) * 100 * ms
		if _, hi := s.gaugesOf(0, at+2*ms, at+100*ms); hi.size != 0 {
			t.Errorf("total %d after failure %d, want 0", hi.size, i+1)
		}
	}
}

// TestHandoffClose: both waiters fail at the close, whoever comes later does too; the close takes until the holder's return.
func TestHandoffClose(t *testing.T) {
	c, s := tell(t, "handoff-close", "")
	if d := cmp.Diff([]float64{300, 300, 400}, s.ended(record.AcquireEnded, record.PoolIsClosed).times()); d != "" {
		t.Errorf("closed (-want +got):\n%s", d)
	}
	if a := c.Actions[0]; a.Took.Value != 200*ms || a.NotReturned.Value != 0 {
		t.Errorf("the close took %v and %v were not returned, want 200 ms and 0", a.Took.Value, a.NotReturned.Value)
	}
	if c.Requests.OK != 1 || c.Server.Opened != 1 || c.Server.Closed != 1 {
		t.Errorf("%d ok, %+v, want the holder to succeed and no session to be left", c.Requests.OK, c.Server)
	}
	// With a grace period that is shorter than the holder needs, the close gives up waiting for it.
	c, _ = tell(t, "handoff-close", "", "pool.close_grace=50ms", "checks=[]")
	if a := c.Actions[0]; a.Took.Value != 50*ms || a.NotReturned.Value != 1 {
		t.Errorf("with a grace of 50 ms the close took %v and %v were not returned, want 50 ms and 1", a.Took.Value, a.NotReturned.Value)
	}
}

// TestHandoffRoleLimit: pools of four get their 240 loans each. With pools of six two processes have six connections and 240 loans
// each, and the third has none: 240 times 53300.
func TestHandoffRoleLimit(t *testing.T) {
	c, _ := tell(t, "handoff-role-limit", "4")
	for _, p := range c.Pools {
		if p.Requests.OK != 240 || p.Requests.Failed > 0 {
			t.Errorf("pools of 4, %s: %+v, want 240 successes", p.Name, p.Requests)
		}
	}
	if c.Server.Refused > 0 {
		t.Errorf("pools of 4: %d refused", c.Server.Refused)
	}
	c, s := tell(t, "handoff-role-limit", "6")
	for i, want := range []struct{ ok, failed, size int }{{240, 0, 6}, {240, 0, 6}, {0, 240, 0}} {
		p := c.Pools[i]
		if p.Requests.OK != int64(want.ok) || p.Requests.Outcomes[record.CreateFailed] != int64(want.failed) {
			t.Errorf("pools of 6, %s: %+v, want %d successes and %d failures", p.Name, p.Requests, want.ok, want.failed)
		}
		got := s.where(func(f record.Fact) bool {
			return f.Kind == record.ConnectEnded && f.Outcome == record.OK && int(f.Pool) == i
		})
		if len(got) != want.size {
			t.Errorf("pools of 6, %s: %d connections, want %d", p.Name, len(got), want.size)
		}
	}
	if c.PoolNotes[record.TooManyConnections] != 240 {
		t.Errorf("pools of 6: noted %v, want 240 x 53300", c.PoolNotes)
	}
	// It takes the full handshake to be refused.
	for _, f := range s.ended(record.ConnectEnded, record.TooManyConnections) {
		if f.Took != 10*ms {
			t.Fatalf("refused after %v, want 10 ms", f.Took)
		}
	}
}
