package workload

import (
	"poolwise/sim"
	"poolwise/sim/server"
)

// Deadlock says that all connections of a pool were held by requests that waited for something which only they themselves could
// have given up: another connection, a thread, a row that one of them has locked.
type Deadlock struct {
	At      sim.Time // when the last of them began to wait, as far as that is known
	Holders int      // requests
	Conns   int      // connections that they hold
	// What they wait for.
	ForConnection, ForThread, ForLock int
}

// watch looks for deadlocks. It knows who holds connections, and looks at them only when an acquire has timed out, and at the end.
type watch struct {
	holders []int32 // slots
	found   *Deadlock
}

func (w *watch) add(d *Driver, i int32) {
	d.slots[i].holder = int32(len(w.holders))
	w.holders = append(w.holders, i)
}

func (w *watch) remove(d *Driver, i int32) {
	last := len(w.holders) - 1
	here := d.slots[i].holder
	w.holders[here] = w.holders[last]
	d.slots[w.holders[here]].holder = here
	w.holders = w.holders[:last]
}

// look notes a deadlock if there is one and none was found before.
func (w *watch) look(d *Driver) {
	if w.found != nil || len(w.holders) == 0 {
		return
	}
	var f Deadlock
	for _, i := range w.holders {
		s := &d.slots[i]
		f.Holders++
		f.Conns += int(s.held)
		switch s.state {
		case acquiring:
			f.ForConnection++
			f.At = max(f.At, s.since)
		case threading:
			f.ForThread++
			f.At = max(f.At, s.since)
		case querying:
			b, ok := d.env.Server.(server.Blocker)
			if !ok || !b.Blocked(server.Op(s.answer)) {
				return
			}
			f.ForLock++
		default:
			return
		}
	}
	if st := d.env.Pool.Stats(); st.Idle > 0 || st.Size-st.Leaked != f.Conns {
		return // somebody will give back a connection, or it is being opened
	}
	if f.ForConnection == 0 && f.ForThread == 0 || f.ForThread > 0 && !d.threadsStuck() {
		return
	}
	w.found = &f
}

// Deadlock returns the first deadlock that was found, nil if there was none. It looks once more at what is now.
func (d *Driver) Deadlock() *Deadlock {
	if d.watch == nil {
		return nil
	}
	d.watch.look(d)
	return d.watch.found
}
