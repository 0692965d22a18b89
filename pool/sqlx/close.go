package sqlx

import (
	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// markClosed is PoolInner::mark_closed: all that wait are woken to find the pool closed.
func (p *Pool) markClosed() {
	if !p.closed {
		p.closed = true
		p.env.Note(record.Fact{Kind: record.PoolClosed, Request: -1})
	}
	p.onClosed.notify()
}

// Close implements pool.Pool: Pool::close(). Its future is polled once.
func (p *Pool) Close(r sim.Reply) {
	if p.dropped {
		p.sim.Answer(r, 0)
		return
	}
	p.markClosed()
	t := p.newTask(closing)
	t.reply, t.left = r, 1
	p.handles++
	p.closeRound(t)
}

// CancelClose drops the futures of all calls of Close that have not returned; they are answered Cancelled. A connection that
// one of them was closing is dropped. The pool stays closed, and what is still idle stays open.
func (p *Pool) CancelClose() {
	for _, t := range p.tasks {
		if t.kind == closing && t.state != unused {
			p.abandon(t)
			p.sim.Answer(t.reply, server.Code(record.Cancelled))
			p.done(t)
		}
	}
}

// closeRound is the loop of close(), from the round that it has come to. All that is idle is closed, one after the other. Then as
// many permits as the round has are taken, to wait for what is not idle, and given back at once. The loop ends after the round
// of max_connections, or when nothing is left. An idle connection holds no permit, and yet its end gives one back: so close()
// waits for one return less for each that it closes.
func (p *Pool) closeRound(t *task) {
	for t.left <= p.o.MaxConnections && (p.idle.Len() > 0 || p.size > 0) {
		if p.idle.Len() > 0 {
			t.conn = p.idle.Pop()
			p.sem.conjure()
			p.invented++
			p.closeGracefully(t, record.Idle)
			return
		}
		t.own = p.sem.acquire(t.left, p.waker(t))
		if t.own != noWait {
			t.state = waiting
			return
		}
		p.roundEnded(t)
	}
	p.sim.Answer(t.reply, 0)
	p.done(t)
}

// pollPermits: waiting -> the next round.
func (p *Pool) pollPermits(t *task) {
	if p.sem.poll(t.own) {
		t.own = noWait
		p.roundEnded(t)
		p.closeRound(t)
	}
}

func (p *Pool) roundEnded(t *task) {
	p.sem.release(t.left)
	t.left++
}
