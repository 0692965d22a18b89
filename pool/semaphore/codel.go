package semaphore

import (
	"time"

	"poolwise/sim"
	"poolwise/sim/record"
)

// codel decides who waits in vain, as DBConnection.ConnectionPool of Elixir's db_connection 2 does, in the functions named below. Of
// each interval it keeps the least time that anybody served had waited. If that is above target, the pool was slow all through the
// interval: in the next, who has waited for more than twice the target when a permit comes back is dropped, and the first who has not is
// served. An interval ends with the first return after it. If none comes, a poll looks every interval whether the queue has moved,
// and drops if not. The real one counts milliseconds.
type codel struct {
	target, interval time.Duration
	delay            time.Duration // the least of the interval
	slow             bool          // the last one was
	next             sim.Time      // when the interval ends
	busy             bool          // somebody has found nothing, and since then no permit has come back for which nobody waited
	last             sim.Time      // at the last poll: since when the first had waited, or that time if nobody did
}

// startPoll is start_poll: first has waited since then.
func (p *Pool) startPoll(since sim.Time) {
	p.codel.last = since
	p.env.Sim.ArmAt(p.env.Sim.Now().Add(p.codel.interval), sim.Event{To: p.id, Kind: polls})
}

// setBusy: somebody asks, and there is nothing.
func (p *Pool) setBusy() {
	if p.codel != nil {
		p.codel.busy = true
	}
}

// returned is dequeue and what it calls: a permit has come back, and those who have waited too long for it are dropped.
func (p *Pool) returned() {
	c, now := p.codel, p.env.Sim.Now()
	if !c.busy {
		return
	}
	ended := now >= c.next
	if ended {
		c.slow, c.next = c.delay > c.target, now.Add(c.interval)
	} else if c.slow {
		p.dropSlow()
	}
	t := p.acquires.Front()
	if t < 0 {
		c.delay, c.busy = 0, false
		return
	}
	if waited := now.Sub(p.acquires.Get(t).Began); ended || waited < c.delay {
		c.delay = waited
	}
}

// dropSlow drops all who have waited for more than twice the target.
func (p *Pool) dropSlow() {
	now := p.env.Sim.Now()
	for t := p.acquires.Front(); t >= 0 && now.Sub(p.acquires.Get(t).Began) > 2*p.codel.target; t = p.acquires.Front() {
		p.acquires.Fail(t, record.QueueTimeout)
	}
}

// poll is the timeout of poll, and timeout.
func (p *Pool) poll() {
	c, now := p.codel, p.env.Sim.Now()
	if p.closed {
		return
	}
	t := p.acquires.Front()
	if t < 0 {
		p.startPoll(now)
		return
	}
	since := p.acquires.Get(t).Began
	stuck := since <= c.last
	p.startPoll(since)
	if !stuck || now < c.next {
		return
	}
	c.slow = c.delay > c.target
	c.delay, c.next = now.Sub(since), now.Add(c.interval)
	if c.slow {
		p.dropSlow()
	}
}
