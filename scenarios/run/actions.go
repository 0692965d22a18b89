package run

import (
	"time"

	"poolwise/scenarios"
	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// deed is an action of the scenario as it is done to one instance.
type deed struct {
	action int // index
	member int32
	life   int32 // of the member, when it was done
	began  sim.Time
	ended  sim.Time
	done   bool // completely
	waited bool // it is a close that keeps the run going
	leaves bool // it is the exit of a restart, whose start is another deed
	left   int  // connections not returned
	ending int  // workloads that it waits for
}

// prepare readies a world of n members for the actions, before anything else is made.
func (w *world) prepare(n int) {
	for i := range w.scenario.Actions {
		a := &w.scenario.Actions[i]
		if (a.Pause != nil || a.ConnectTo != "") && w.moves == nil {
			w.sim.Freezable()
			w.moves = newMoves(w, n)
		}
	}
}

// plan schedules the actions, behind the starts of the same time.
func (w *world) plan() {
	for i := range w.scenario.Actions {
		a := &w.scenario.Actions[i]
		target := w.scenario.Target(a).Name
		for j := range w.members {
			m := &w.members[j]
			at, ok := a.When(m.instance)
			if m.service.Name != target || !ok {
				continue
			}
			if a.Do != nil && *a.Do == scenarios.Restart {
				w.busy += len(m.program)
				if a.Down > 0 {
					w.schedule(at, deed{action: i, member: int32(j), leaves: true})
					at += min(a.Down, dist.Max-at)
				}
			}
			w.schedule(at, deed{action: i, member: int32(j)})
		}
	}
}

// schedule adds a deed, to be done at a time.
func (w *world) schedule(at time.Duration, d deed) {
	w.sim.At(sim.Time(at), sim.Event{To: w.id, Kind: acting, A: int32(len(w.deeds))})
	w.deeds = append(w.deeds, d)
}

// act does a deed.
func (w *world) act(i int32) {
	d := &w.deeds[i]
	a := &w.scenario.Actions[d.action]
	m := &w.members[d.member]
	now := w.sim.Now()
	exits := a.Do != nil && *a.Do >= scenarios.Kill
	switch {
	case m.exited && !exits:
		return
	case m.frozen > now && !exits && a.Pause == nil: // it stands still, and hears of it at the end
		w.sim.At(m.frozen, sim.Event{To: w.id, Kind: acting, A: i})
		return
	}
	d.began, d.life = now, m.life
	switch {
	case a.Pause != nil:
		w.pause(m, *a.Pause)
	case a.ConnectTo != "":
		w.moves.begin(i, d.member, w.place(a.ConnectTo))
	case *a.Do == scenarios.Kill || d.leaves:
		w.exit(m)
	case *a.Do == scenarios.Restart:
		w.restart(m)
	case *a.Do == scenarios.Close:
		w.closePool(i)
	case *a.Do == scenarios.ShutDown:
		w.stop(i, m.users)
	default:
		w.stop(i, []int32{d.member})
	}
}

// stop lets no further request come to some members; when their workloads are over the deed goes on.
func (w *world) stop(i int32, members []int32) {
	w.deeds[i].ending = 1
	for _, a := range members {
		if m := &w.members[a]; !m.over {
			w.deeds[i].ending++
			m.ending = append(m.ending, i)
			m.driver.Stop()
		}
	}
	w.stopped(i)
}

// place returns the index of a place that pools can connect to.
func (w *world) place(name string) int {
	for i, n := range w.scenario.Places() {
		if n == name {
			return i
		}
	}
	panic("run: no place " + name + " in a valid scenario")
}

// complete notes that a deed is done completely.
func (w *world) complete(i int32) {
	w.deeds[i].done, w.deeds[i].ended = true, w.sim.Now()
}

// stopped goes on with a stop or a shut_down when one more of its workloads is over.
func (w *world) stopped(i int32) {
	if w.deeds[i].ending--; w.deeds[i].ending > 0 {
		return
	}
	if a := &w.scenario.Actions[w.deeds[i].action]; *a.Do == scenarios.ShutDown {
		w.closePool(i)
		return
	}
	w.complete(i)
}

// closePool closes the pool of a deed. A run to the end waits for it, unless it may never come to an end because of a leak.
func (w *world) closePool(i int32) {
	d := &w.deeds[i]
	m := &w.members[d.member]
	if d.waited = m.pool.Stats().Leaked == 0; d.waited {
		w.busy++
		m.closes++
	}
	m.pool.Close(sim.Reply{To: w.id, Kind: closed, A: i})
}

// closed ends a close. The program of a shut_down exits then.
func (w *world) closed(i, notReturned int32) {
	d := &w.deeds[i]
	m := &w.members[d.member]
	if d.life != m.life || m.exited {
		return
	}
	d.left = max(int(notReturned), 0)
	w.complete(i)
	if a := &w.scenario.Actions[d.action]; *a.Do == scenarios.ShutDown {
		w.exit(m)
	} else if d.waited {
		m.closes--
		w.rest(1)
	}
}

// exit ends a program: what it had at the servers ends with it, and what it was about to do is not done.
func (w *world) exit(m *member) {
	for _, a := range m.program {
		if !w.members[a].exited {
			w.findDeadlock(a)
		}
	}
	for _, a := range m.program {
		w.exitOne(a)
	}
}

func (w *world) exitOne(a int32) {
	m := &w.members[a]
	if m.exited {
		return
	}
	m.exited, m.ending, m.frozen = true, nil, 0
	for id := m.actors[0]; id < m.actors[1]; id++ {
		w.sim.Remove(id)
	}
	m.driver.Kill()
	for _, p := range w.places {
		if e, ok := p.(server.Exiter); ok {
			e.Hangup(int16(a))
		}
	}
	w.sink.Note(record.Fact{At: w.sim.Now(), Kind: record.Exited, Pool: int16(a), Request: -1})
	closes := m.closes
	m.closes = 0
	w.over(m)
	w.rest(closes)
}

// restart starts a program anew, behind everything else that is due now.
func (w *world) restart(m *member) {
	w.exit(m)
	for _, a := range m.program {
		m := &w.members[a]
		m.life++
		m.over, m.exited = false, false
	}
	for _, a := range m.program {
		if m := &w.members[a]; m.owner == a {
			w.build(m)
		}
	}
	for _, a := range m.program {
		w.adopt(a)
		if w.members[a].owner == a {
			w.sim.Soon(sim.Event{To: w.id, Kind: starting, A: w.name(a)})
		}
	}
}

// pause lets a program stand still.
func (w *world) pause(m *member, d time.Duration) {
	until := w.sim.Now().Add(d)
	if until == sim.Forever || until <= m.frozen {
		return
	}
	var all []sim.ActorID
	for _, a := range m.program {
		m := &w.members[a]
		m.frozen = until
		for id := m.actors[0]; id < m.actors[1]; id++ {
			if id != m.route.Outside() {
				all = append(all, id)
			}
		}
		w.sink.Note(record.Fact{At: w.sim.Now(), Kind: record.Paused, Pool: int16(a), Request: -1, Took: d})
	}
	w.sim.Freeze(until, all...)
}

// report adds what the actions did, and each of several servers.
func (w *world) report(r *record.Run) {
	for i := range w.scenario.Actions {
		r.Actions = append(r.Actions, w.reportAction(i))
	}
	for _, s := range w.servers {
		r.Server.IdleEnded += s.Stats().IdleEnded
	}
	if len(w.servers) < 2 {
		return
	}
	for i, s := range w.servers {
		st := s.Stats()
		v := record.ServerRun{
			Name: w.scenario.Places()[i], Open: int64(st.Open), Emptied: st.Emptied,
			ServerStats: record.ServerStats{Opened: st.Opened, Closed: st.Closed, Refused: st.Refused, PeakOpen: int64(st.PeakOpen), IdleEnded: st.IdleEnded},
		}
		if span := float64(w.sim.Now()) * float64(s.Cores()); span > 0 {
			v.CoreUtilisation = record.ExactFloat(float64(st.Busy) / span)
		}
		r.Servers = append(r.Servers, v)
	}
}

func (w *world) reportAction(n int) record.ActionRun {
	a := &w.scenario.Actions[n]
	r := record.ActionRun{Deed: record.Deed{At: a.At, Do: "connect_to", To: a.ConnectTo, Service: a.Service}, Done: true}
	switch {
	case a.Pause != nil:
		r.Do, r.To = "pause", a.Pause.String()
	case a.Do != nil:
		r.Do = a.Do.String()
		if a.Down > 0 {
			r.To = "after " + a.Down.String()
		}
	}
	if a.Instance != nil {
		r.Instance = *a.Instance
	}
	for i := range w.deeds {
		if d := &w.deeds[i]; d.action == n {
			r.Done = r.Done && d.done
			r.Took = max(r.Took, d.ended.Sub(d.began))
			r.NotReturned += d.left
		}
	}
	return r
}

// moves follows the pools that actions move from one place to another: how many connections each has where.
type moves struct {
	w    *world
	open [][]int // by place and pool
	to   []int   // by pool: where it connects to
	deed []int32 // by pool: what moves it, -1 for nothing
}

func newMoves(w *world, n int) *moves {
	m := &moves{w: w, to: make([]int, n), deed: make([]int32, n)}
	for range w.scenario.Places() {
		m.open = append(m.open, make([]int, n))
	}
	for i := range m.deed {
		m.deed[i] = -1
	}
	return m
}

// begin lets later connects of a pool go elsewhere.
func (m *moves) begin(deed, member int32, place int) {
	m.deed[member], m.to[member] = deed, place
	m.w.members[member].route.Lead(place)
	m.w.sink.Note(record.Fact{At: m.w.sim.Now(), Kind: record.Rerouted, Pool: int16(member), Request: -1})
	m.look(member)
}

// look sees whether connections of a pool are left where they should not be.
func (m *moves) look(pool int32) {
	i := m.deed[pool]
	if i < 0 {
		return
	}
	left := 0
	for place, open := range m.open {
		if place != m.to[pool] {
			left += open[pool]
		}
	}
	m.w.deeds[i].done = left == 0
	if left == 0 {
		m.w.complete(i)
	}
}

// at returns the sink of the facts of a place.
func (w *world) at(place int) record.Sink {
	if w.moves == nil {
		return w.sink
	}
	return census{w.sink, w.moves, place}
}

// census counts the connections of each pool at one place.
type census struct {
	record.Sink
	moves *moves
	place int
}

// Note implements record.Sink.
func (c census) Note(f record.Fact) {
	c.Sink.Note(f)
	d := 0
	switch f.Kind {
	case record.ConnectEnded, record.PoolerConnected:
		if f.Outcome == record.OK {
			d = 1
		}
	case record.SessionEnded, record.PoolerLeft:
		d = -1
	}
	if d != 0 && f.Pool >= 0 {
		c.moves.open[c.place][f.Pool] += d
		if c.place != c.moves.to[f.Pool] {
			c.moves.look(int32(f.Pool))
		}
	}
}

// Wants reports whether the facts of a kind are looked at.
func (c census) Wants(k record.FactKind) bool {
	switch k {
	case record.ConnectEnded, record.PoolerConnected, record.SessionEnded, record.PoolerLeft:
		return true
	}
	return record.Wants(c.Sink, k)
}
