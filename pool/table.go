package pool

import (
	"fmt"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Entry is what a Table knows about one connection. Models read it and write the fields below the line; State belongs to the
// Table.
type Entry struct {
	state   record.State
	Session server.Session // NoSession until it is open
	Number  int32          // the server's number of the session, 0 until it is open
	// ---
	Born      sim.Time // when it was opened
	IdleSince sim.Time // when it last became idle
	Request   int64    // number of the request that holds it, -1 for none
	Part      int16    // of that request, if there is one
	LentAt    sim.Time // when it was last lent
	Lent      bool     // it has been lent before
}

// State returns the place of the connection.
func (e *Entry) State() record.State { return e.state }

// Table holds the connections of one pool. It is the only writer of their states and of the counts, so size, idle and in-use
// figures cannot disagree with the connections; every change is noted as a fact.
type Table struct {
	sim   *sim.Sim
	sink  record.Sink
	index int16
	conns []Entry
	free  []Conn
	count [record.NumStates]int
}

// NewTable returns an empty table for the pool of env.
func NewTable(env Env) Table { return Table{sim: env.Sim, sink: env.Sink, index: env.Index} }

// Add makes a connection in the given state and returns its name.
func (t *Table) Add(to record.State) Conn {
	var c Conn
	if n := len(t.free); n > 0 {
		c, t.free = t.free[n-1], t.free[:n-1]
	} else {
		c = Conn(len(t.conns))
		t.conns = append(t.conns, Entry{})
	}
	t.conns[c] = Entry{Session: server.NoSession, Request: -1}
	t.Move(c, record.None, to)
	return c
}

// Move takes a connection from one state to another. It panics if the connection is not where the model thinks it is.
func (t *Table) Move(c Conn, from, to record.State) {
	e := &t.conns[c]
	if e.state != from {
		panic(fmt.Sprintf("pool: connection %d is %v, not %v, on its way to %v", c, e.state, from, to))
	}
	e.state = to
	t.count[from]--
	t.count[to]++
	request := e.Request
	if e.Part != t.index { // see Env.NoteHeld
		request = -1
	}
	t.sink.Note(record.Fact{At: t.sim.Now(), Kind: record.ConnMoved, Pool: t.index, Conn: e.Number, Request: request, Move: record.Between(from, to)})
}

// Remove takes a connection out of the pool; its name may be reused at once.
func (t *Table) Remove(c Conn, from record.State) {
	t.Move(c, from, record.None)
	t.free = append(t.free, c)
}

// Forget frees the name of a connection that has been moved to None.
func (t *Table) Forget(c Conn) {
	if s := t.conns[c].state; s != record.None {
		panic(fmt.Sprintf("pool: connection %d forgotten while %v", c, s))
	}
	t.free = append(t.free, c)
}

// Opened notes that the connection c, being opened, has its session. It stays where it is.
func (t *Table) Opened(c Conn, s server.Session, number int32) {
	e := &t.conns[c]
	e.Session, e.Number, e.Born = s, number, t.sim.Now()
}

// Lend moves a connection from a state to InUse, held by a request of a part.
func (t *Table) Lend(c Conn, from record.State, part int16, request int64) {
	e := &t.conns[c]
	e.Part, e.Request, e.LentAt, e.Lent = part, request, t.sim.Now(), true
	t.Move(c, from, record.InUse)
}

// GiveBack moves a lent connection to another state: its holder has let go of it.
func (t *Table) GiveBack(c Conn, to record.State) {
	e := &t.conns[c]
	now := t.sim.Now()
	t.sink.Note(record.Fact{At: now, Kind: record.Returned, Pool: e.Part, Conn: e.Number, Request: e.Request, Took: now.Sub(e.LentAt)})
	t.Move(c, record.InUse, to)
	e.Request = -1
}

// Entry returns what is known of c; the pointer is valid until the next Add.
func (t *Table) Entry(c Conn) *Entry { return &t.conns[c] }

// Count returns how many connections are in a state.
func (t *Table) Count(s record.State) int { return t.count[s] }

// Size returns how many connections the pool has, those being opened and closed included.
func (t *Table) Size() int { return len(t.conns) - len(t.free) }

// Stats returns the figures of a pool that counts its connections as the table does.
func (t *Table) Stats(waiting, leaked int) Stats {
	return Stats{Size: t.Size(), Idle: t.count[record.Idle], InUse: t.count[record.InUse], Waiting: waiting, Leaked: leaked}
}

// Each calls f for every connection of the pool, in the order of their names.
func (t *Table) Each(f func(Conn, *Entry)) {
	for c := range t.conns {
		if t.conns[c].state != record.None {
			f(Conn(c), &t.conns[c])
		}
	}
}

// Verify panics if the counts disagree with the connections.
func (t *Table) Verify() {
	var count [record.NumStates]int
	for i := range t.conns {
		count[t.conns[i].state]++
	}
	if count[record.None] != len(t.free) {
		panic(fmt.Sprintf("pool: %d connections are in no state, %d names are free", count[record.None], len(t.free)))
	}
	for s := record.None + 1; s < record.NumStates; s++ {
		if count[s] != t.count[s] {
			panic(fmt.Sprintf("pool: %d connections are %v, the count says %d", count[s], s, t.count[s]))
		}
	}
}
