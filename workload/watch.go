package workload

import (
	"slices"

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

// watch looks for deadlocks of one pool. It knows who holds connections, and looks at them only when an acquire has timed out, and at
// the end.
type watch struct {
	drivers []*Driver // all that use the pool
	holders []holder
	found   *Deadlock
}

// holder is a request that holds connections.
type holder struct {
	driver int32 // its place in drivers
	slot   int32
}

// OnePool tells drivers that they use one pool, before the first of them starts: a deadlock there is one of them all.
func OnePool(drivers ...*Driver) {
	if !slices.ContainsFunc(drivers, func(d *Driver) bool { return d.watch != nil }) {
		return
	}
	w := &watch{drivers: drivers}
	for i, d := range drivers {
		d.watch, d.place = w, int32(i)
	}
}

func (w *watch) slot(h holder) *slot { return &w.drivers[h.driver].slots[h.slot] }

func (w *watch) add(d *Driver, i int32) {
	d.slots[i].holder = int32(len(w.holders))
	w.holders = append(w.holders, holder{d.place, i})
}

func (w *watch) remove(d *Driver, i int32) {
	last := len(w.holders) - 1
	here := d.slots[i].holder
	w.holders[here] = w.holders[last]
	w.slot(w.holders[here]).holder = here
	w.holders = w.holders[:last]
}

// look notes a deadlock if there is one and none was found before.
func (w *watch) look() {
	if w.found != nil || len(w.holders) == 0 {
		return
	}
	var f Deadlock
	for _, h := range w.holders {
		s := w.slot(h)
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
			b, ok := w.drivers[h.driver].env.Server.(server.Blocker)
			if !ok || !b.Blocked(server.Op(s.answer), w.drivers[h.driver].reply(queried, h.slot)) {
				return
			}
			f.ForLock++
		default:
			return
		}
	}
	if st := w.drivers[0].env.Pool.Stats(); st.Idle > 0 || st.Size-st.Leaked != f.Conns {
		return // somebody will give back a connection, or it is being opened
	}
	if f.ForConnection == 0 && f.ForThread == 0 || f.ForThread > 0 && !w.threadsStuck() {
		return
	}
	w.found = &f
}

// threadsStuck reports whether no driver whose requests hold connections and wait for a thread will have one free.
func (w *watch) threadsStuck() bool {
	for i, d := range w.drivers {
		waits := func(h holder) bool { return h.driver == int32(i) && w.slot(h).state == threading }
		if slices.ContainsFunc(w.holders, waits) && !d.threadsStuck() {
			return false
		}
	}
	return true
}

// Deadlock returns the first deadlock of the pool that was found, nil if there was none. It looks once more at what is now.
func (d *Driver) Deadlock() *Deadlock {
	if d.watch == nil {
		return nil
	}
	d.watch.look()
	return d.watch.found
}
