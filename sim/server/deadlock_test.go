package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
)

// clients run transactions: each locks some tables, one query after the other, and commits, or rolls back what failed.
type clients struct {
	sim      *sim.Sim
	id       sim.ActorID
	srv      *Server
	sessions []Session
	locks    [][]*Query // what is left of each
	number   int64
	failed   []record.Outcome
	done     int
}

const connectNow = connectDone + 1

func (c *clients) Note(record.Fact) {}

func (c *clients) Handle(ev sim.Event) {
	i := ev.A
	switch o := OutcomeOf(ev.B); {
	case ev.Kind == connectNow:
		c.srv.Connect(Caller{}, sim.Reply{To: c.id, Kind: connectDone, A: i})
	case o != record.OK:
		c.failed = append(c.failed, o)
		c.srv.Rollback(c.sessions[i])
		c.done++
	case ev.Kind == connectDone:
		c.sessions[i] = Session(ev.B)
		c.query(i, Begin)
	case len(c.locks[i]) > 0:
		q := c.locks[i][0]
		c.locks[i] = c.locks[i][1:]
		c.query(i, q)
	default:
		c.done++
	}
}

func (c *clients) query(i int32, q *Query) {
	c.number++
	c.srv.Query(c.sessions[i], q, c.number, sim.Reply{To: c.id, Kind: opDone, A: i})
}

// TestDeadlocksEnd: whatever transactions lock, all of them end, some by 40P01. If all lock the tables in one order, none fails, which
// is why one does that.
func TestDeadlocksEnd(t *testing.T) {
	circles := 0
	rapid.Check(t, func(t *rapid.T) {
		c := &clients{sim: new(sim.Sim)}
		c.id = c.sim.Add(c)
		timeout := time.Duration(rapid.IntRange(1, 8).Draw(t, "deadlock_timeout"))
		c.srv = New(c.sim, c, 1, Options{DeadlockTimeout: &timeout})
		ordered := rapid.Bool().Draw(t, "in one order")
		for i := range rapid.IntRange(2, 5).Draw(t, "transactions") {
			tables := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 4).Draw(t, "tables")
			if ordered {
				slices.Sort(tables)
			}
			t.Logf("transaction %d locks %s", i, strings.Join(tables, ", "))
			var queries []*Query
			for _, table := range tables {
				d := dist.Fixed(time.Duration(rapid.IntRange(0, 4).Draw(t, "time")))
				queries = append(queries, c.srv.Compile(&QuerySpec{Phases: []Phase{{IO: &d}, {Lock: table}}}))
			}
			c.sessions, c.locks = append(c.sessions, NoSession), append(c.locks, append(queries, Commit))
			c.sim.Soon(sim.Event{To: c.id, Kind: connectNow, A: int32(i)})
		}
		c.sim.Run(sim.Forever)
		if c.done != len(c.sessions) {
			t.Fatalf("%d of %d transactions ended", c.done, len(c.sessions))
		}
		for _, o := range c.failed {
			if ordered || o != record.DeadlockDetected {
				t.Fatalf("a transaction failed: %v", o)
			}
			circles++
		}
		if len(c.srv.tx.held) > 0 {
			t.Fatalf("%d rows are still locked", len(c.srv.tx.held))
		}
	})
	if circles < 50 {
		t.Errorf("only %d deadlocks in all histories", circles)
	}
}
