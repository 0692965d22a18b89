package pool

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// notes is a sink that keeps every fact.
type notes []record.Fact

func (n *notes) Note(f record.Fact) { *n = append(*n, f) }

// take returns the facts since the last call.
func (n *notes) take() []record.Fact {
	facts := *n
	*n = nil
	return facts
}

func moved(at sim.Time, conn int32, request int64, from, to record.State) record.Fact {
	return record.Fact{At: at, Kind: record.ConnMoved, Pool: 7, Conn: conn, Request: request, Move: record.Between(from, to)}
}

// One connection from its opening to its end, with every fact and field on the way.
func TestLifeInTheTable(t *testing.T) {
	var facts notes
	s := new(sim.Sim)
	table := NewTable(Env{Sim: s, Sink: &facts, Index: 7})
	noted := func(want ...record.Fact) {
		t.Helper()
		if diff := cmp.Diff(want, facts.take()); diff != "" {
			t.Errorf("facts (-want +got):\n%s", diff)
		}
		table.Verify()
	}
	at := func(ms int) sim.Time { // lets time pass
		s.Run(sim.Time(ms) * sim.Time(time.Millisecond))
		return s.Now()
	}

	c := table.Add(record.Opening)
	noted(moved(0, 0, -1, record.None, record.Opening))
	if e := table.Entry(c); e.Session != server.NoSession || e.Request != -1 || e.Lent {
		t.Errorf("a new connection is %+v", *e)
	}

	born := at(1)
	table.Opened(c, 5, 42)
	noted() // the server says so
	lent := at(2)
	table.Lend(c, record.Opening, 7, 1000)
	noted(moved(lent, 42, 1000, record.Opening, record.InUse))
	if diff := cmp.Diff(Entry{state: record.InUse, Session: 5, Number: 42, Born: born, Request: 1000, Part: 7, LentAt: lent, Lent: true},
		*table.Entry(c), cmp.AllowUnexported(Entry{})); diff != "" {
		t.Errorf("a lent connection (-want +got):\n%s", diff)
	}

	back := at(5)
	table.GiveBack(c, record.Idle)
	noted(
		record.Fact{At: back, Kind: record.Returned, Pool: 7, Conn: 42, Request: 1000, Took: 3 * time.Millisecond},
		moved(back, 42, 1000, record.InUse, record.Idle),
	)
	if e := table.Entry(c); e.Request != -1 || !e.Lent || e.State() != record.Idle {
		t.Errorf("an idle connection is %+v", *e)
	}

	gone := at(9)
	table.Remove(c, record.Idle)
	noted(moved(gone, 42, -1, record.Idle, record.None))

	// The name is used again, and nothing is left of the last use.
	if again := table.Add(record.Opening); again != c {
		t.Errorf("connection %d, want the free name %d", again, c)
	}
	noted(moved(gone, 0, -1, record.None, record.Opening))
	if diff := cmp.Diff(Entry{state: record.Opening, Session: server.NoSession, Request: -1}, *table.Entry(c), cmp.AllowUnexported(Entry{})); diff != "" {
		t.Errorf("a connection of a used name (-want +got):\n%s", diff)
	}
}

// A connection that a request of another part has: the return is that part's, and where it is the pool's, without a number that
// could be taken for one of the pool's own requests.
func TestLentToAnotherPart(t *testing.T) {
	var facts notes
	env := Env{Sim: new(sim.Sim), Sink: &facts, Index: 7}
	table := NewTable(env)
	c := table.Add(record.Idle)
	table.Lend(c, record.Idle, 5, 1000)
	e := table.Entry(c)
	env.NoteHeld(e.Part, record.Fact{Kind: record.Leaked, Request: e.Request})
	table.GiveBack(c, record.Idle)
	if diff := cmp.Diff([]record.Fact{
		moved(0, 0, -1, record.None, record.Idle),
		moved(0, 0, -1, record.Idle, record.InUse),
		{Kind: record.Leaked, Pool: 7, Request: -1},
		{Kind: record.Returned, Pool: 5, Request: 1000},
		moved(0, 0, -1, record.InUse, record.Idle),
	}, facts.take()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	// The next is one of its own again.
	table.Lend(c, record.Idle, 7, 1000)
	if diff := cmp.Diff([]record.Fact{moved(0, 0, 1000, record.Idle, record.InUse)}, facts.take()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// What a pool notes is of that pool, and now.
func TestNoteOfAPool(t *testing.T) {
	var facts notes
	env := Env{Sim: new(sim.Sim), Sink: &facts, Index: 7}
	env.Sim.Run(sim.Time(time.Second))
	env.Note(record.Fact{Kind: record.Leaked, Conn: 3, Request: 4})
	if diff := cmp.Diff([]record.Fact{{At: sim.Time(time.Second), Kind: record.Leaked, Pool: 7, Conn: 3, Request: 4}}, facts.take()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// A detached connection has left the pool when it is given back, and its name is free when it is forgotten.
func TestDetachedIsForgotten(t *testing.T) {
	table := NewTable(Env{Sim: new(sim.Sim), Sink: new(notes)})
	c := table.Add(record.Opening)
	table.Lend(c, record.Opening, 7, 1)
	table.GiveBack(c, record.None)
	if e := table.Entry(c); e.State() != record.None {
		t.Errorf("it is %v", e.State())
	}
	table.Forget(c)
	table.Verify()
	if table.Size() != 0 || table.Add(record.Idle) != c {
		t.Errorf("size %d, or the name is not free", table.Size())
	}
}

func TestTablePanics(t *testing.T) {
	table := func() *Table {
		table := NewTable(Env{Sim: new(sim.Sim), Sink: new(notes)})
		table.Add(record.Idle)
		return &table
	}
	mustPanic(t, "pool: connection 0 is idle, not in_use, on its way to closing", func() { table().Move(0, record.InUse, record.Closing) })
	mustPanic(t, "pool: connection 0 is idle, not closing, on its way to none", func() { table().Remove(0, record.Closing) })
	mustPanic(t, "pool: connection 0 is idle, not opening, on its way to in_use", func() { table().Lend(0, record.Opening, 0, 1) })
	mustPanic(t, "pool: connection 0 is idle, not in_use, on its way to idle", func() { table().GiveBack(0, record.Idle) })
	mustPanic(t, "pool: connection 0 forgotten while idle", func() { table().Forget(0) })
	mustPanic(t, "pool: 1 connections are in no state, 0 names are free", func() {
		table := table()
		table.Move(0, record.Idle, record.None) // and not forgotten
		table.Verify()
	})
	mustPanic(t, "pool: 0 connections are idle, the count says 1", func() {
		table := table()
		table.conns[0].state = record.InUse // behind its back
		table.Verify()
	})
}

// The counts are those of a map from names to states, whatever happens; and each change is one fact, from where the connection
// was to where it is.
func TestTableAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var facts notes
		table := NewTable(Env{Sim: new(sim.Sim), Sink: &facts, Index: 7})
		states := map[Conn]record.State{}
		state := rapid.Map(rapid.IntRange(int(record.None)+1, int(record.NumStates)-1), func(i int) record.State { return record.State(i) })
		pick := func(t *rapid.T) (Conn, bool) {
			var all []Conn
			table.Each(func(c Conn, _ *Entry) { all = append(all, c) })
			if len(all) == 0 {
				return NoConn, false
			}
			return rapid.SampledFrom(all).Draw(t, "conn"), true
		}
		var want []record.Fact
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				to := state.Draw(t, "to")
				c := table.Add(to)
				if _, used := states[c]; used {
					t.Fatalf("connection %d is there twice", c)
				}
				states[c] = to
				want = append(want, moved(0, 0, -1, record.None, to))
			},
			"move": func(t *rapid.T) {
				if c, ok := pick(t); ok {
					to := state.Draw(t, "to")
					table.Move(c, states[c], to)
					want = append(want, moved(0, 0, -1, states[c], to))
					states[c] = to
				}
			},
			"remove": func(t *rapid.T) {
				if c, ok := pick(t); ok {
					table.Remove(c, states[c])
					want = append(want, moved(0, 0, -1, states[c], record.None))
					delete(states, c)
				}
			},
			"": func(t *rapid.T) {
				table.Verify()
				if diff := cmp.Diff(want, facts.take()); diff != "" {
					t.Fatalf("facts (-want +got):\n%s", diff)
				}
				want = nil
				var count [record.NumStates]int
				for _, s := range states {
					count[s]++
				}
				for s := record.None + 1; s < record.NumStates; s++ {
					if table.Count(s) != count[s] {
						t.Fatalf("%d connections are %v, want %d", table.Count(s), s, count[s])
					}
				}
				if got, want := table.Stats(2, 1), (Stats{len(states), count[record.Idle], count[record.InUse], 2, 1}); got != want {
					t.Fatalf("have %+v, want %+v", got, want)
				}
				got, last := map[Conn]record.State{}, NoConn
				table.Each(func(c Conn, e *Entry) {
					if c <= last {
						t.Fatalf("connection %d comes after %d", c, last)
					}
					got[c], last = e.State(), c
				})
				if diff := cmp.Diff(states, got); diff != "" || table.Size() != len(states) {
					t.Fatalf("size %d, connections (-want +got):\n%s", table.Size(), diff)
				}
			},
		})
	})
}
