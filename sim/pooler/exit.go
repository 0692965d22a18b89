package pooler

import (
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
