package pooler

import (
	"fmt"

	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Verify panics if an invariant of the pooler does not hold. It is for the time between two events.
func (p *Pooler) Verify() {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			panic("pooler: " + fmt.Sprintf(format, args...))
		}
	}
	slots := 0
	for s := range p.clients {
		c := &p.clients[s]
		if !c.live {
			continue
		}
		if c.holds {
			slots++
		}
		must(c.holds != c.cutOff, "client %d holds a slot: %v, and was cut off: %v", c.number, c.holds, c.cutOff)
		if c.op != server.NoOp {
			x := &p.ops[c.op]
			must(x.kind != opFree && x.session == server.Session(s), "client %d has operation %d, a %v of session %d", c.number, c.op, x.kind, x.session)
			must(x.stage != running || c.link != noLink && p.links[c.link].work == c.op, "the %v of client %d runs on a server connection that does not know", x.kind, c.number)
		}
		must(!c.inTx || c.link != noLink, "client %d is in a transaction without a server connection", c.number)
		if c.link != noLink {
			l := &p.links[c.link]
			must(l.state == record.InUse && l.client == server.Session(s), "client %d has server connection %d, %v for session %d", c.number, l.number, l.state, l.client)
			must(p.o.Mode == SessionMode || c.inTx || l.work != server.NoOp, "client %d keeps server connection %d for nothing", c.number, l.number)
		}
	}
	for o := range p.ops {
		if p.ops[o].slotted {
			slots++
		}
	}
	must(slots == p.slots && slots <= p.o.MaxClientConnections, "%d client slots are taken, counted %d, there are %d", slots, p.slots, p.o.MaxClientConnections)
	counts := make([][record.NumStates]int, len(p.pools))
	for i := range p.links {
		l := &p.links[i]
		if l.state == record.None {
			continue
		}
		counts[l.role][l.state]++
		busy := l.state != record.Idle && (l.state != record.InUse || l.work != server.NoOp)
		must(busy == (l.op != server.NoOp), "server connection %d is %v, with operation %d of the server", l.number, l.state, l.op)
		must(l.state != record.InUse || p.clients[l.client].link == int32(i), "server connection %d is in use for a client that does not know", l.number)
	}
	for role, q := range p.pools {
		must(counts[role] == q.count, "role %d: server connections by state %v, counted %v", role, counts[role], q.count)
		p.verifyPool(q, must)
	}
}

func (p *Pooler) verifyPool(q *pool, must func(bool, string, ...any)) {
	now := p.sim.Now()
	must(q.size() <= p.o.DefaultPoolSize+p.o.ReservePoolSize, "%d server connections of role %d", q.size(), q.role)
	must(q.count[record.Opening] <= p.o.ConnectsAtOnce, "%d server connections of role %d are being opened", q.count[record.Opening], q.role)
	must(q.idle.Len() == q.count[record.Idle], "%d server connections are idle, counted %d", q.idle.Len(), q.count[record.Idle])
	n, last := 0, server.NoOp
	for o := q.first; o != server.NoOp; o = p.ops[o].next {
		x := &p.ops[o]
		must(x.stage == queued && x.prev == last && x.caller.Role == q.role, "operation %d in the queue is at stage %d, behind %d", o, x.stage, x.prev)
		must(last == server.NoOp || p.ops[last].since <= x.since, "operation %d has overtaken %d", last, o)
		must(x.since.Add(p.patience()) >= now, "operation %d has waited since %v", o, x.since)
		last = o
		n++
	}
	must(n == q.waiting && last == q.last, "%d wait, counted %d", n, q.waiting)
	if q.waiting == 0 {
		return
	}
	must(q.idle.Len() == 0 || q.waiting <= q.testing(), "%d clients wait while %d server connections are idle and %d are tested", q.waiting, q.idle.Len(), q.testing())
	if q.waiting > q.testing()+q.count[record.Opening] {
		at := p.mayOpen(q)
		must(at > now || q.alarmAt <= now, "%d clients wait while a server connection may be opened", q.waiting)
		must(q.alarmAt <= at, "%d clients wait, and nobody will look when a server connection may be opened at %v", q.waiting, at)
	}
}
