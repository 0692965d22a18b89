package pooler

import (
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// Hangup implements server.Exiter: the sockets of a program close when it ends.
func (p *Pooler) Hangup(pool int16) {
	for o := range p.ops {
		if x := &p.ops[o]; x.kind == opConnect && x.caller.Pool == pool {
			p.Abort(server.Op(o))
		}
	}
	for s := range p.clients {
		if c := &p.clients[s]; c.live && c.caller.Pool == pool {
			p.Drop(server.Session(s), record.Dropped)
		}
	}
}

// Rollback implements server.Transactional: the client goes on without a transaction, and its server connection is for others.
func (p *Pooler) Rollback(s server.Session) {
	c := p.client(s)
	if !c.inTx {
		return
	}
	c.inTx = false
	i := c.link
	if t, ok := p.backend.(server.Transactional); ok {
		t.Rollback(p.links[i].session)
	}
	if p.o.Mode != SessionMode {
		c.link = noLink
		p.release(p.pools[c.caller.Role], i)
	}
}

// CancelQuery implements server.Canceller. A query that waits for a server connection is not there to be cancelled.
func (p *Pooler) CancelQuery(o server.Op) {
	if x := p.op(o); x.stage == running {
		if c, ok := p.backend.(server.Canceller); ok {
			c.CancelQuery(p.links[p.clients[x.session].link].op)
		}
	}
}

// Blocked implements server.Blocker.
func (p *Pooler) Blocked(o server.Op, r sim.Reply) bool {
	x := &p.ops[o]
	b, ok := p.backend.(server.Blocker)
	if !ok || x.kind != opQuery || x.reply != r || x.stage != running {
		return false
	}
	i := p.clients[x.session].link
	return b.Blocked(p.links[i].op, p.answer(i))
}
