package sqlx

import (
	"time"

	"poolwise/sim/record"
)

// period returns the time between two scans: the smaller of the timeouts that are set, 0 if none is.
func (o *Options) period() time.Duration {
	switch {
	case o.IdleTimeout == nil && o.MaxLifetime == nil:
		return 0
	case o.IdleTimeout == nil:
		return *o.MaxLifetime
	case o.MaxLifetime == nil:
		return *o.IdleTimeout
	}
	return min(*o.IdleTimeout, *o.MaxLifetime)
}

// spawnMaintenanceTasks is spawn_maintenance_tasks. The task listens for the end of the pool before anybody else.
func (p *Pool) spawnMaintenanceTasks() {
	if p.o.period() > 0 {
		t := p.spawn(maintaining)
		t.hears = p.onClosed.listen(p.waker(t))
	} else if p.o.MinConnections > 0 {
		p.spawn(warming)
	}
}

// warm is the first poll of the only refill of a pool without timeouts.
func (p *Pool) warm(t *task) {
	if p.dropped {
		p.end(t)
		return
	}
	p.handles++
	p.refill(t)
}

// scan starts a scan: when the next one is due and how many connections there are to look at is decided now.
func (p *Pool) scan(t *task) {
	if p.closed { // or dropped
		p.endMaintenance(t)
		return
	}
	p.handles++
	t.next = p.sim.Now().Add(p.o.period())
	t.left = p.numIdle
	p.scanOn(t)
}

// scanOn looks at connections until it has to close one, in which case it goes on when that one is closed and the minimum
// refilled. One that stays goes to the end of the queue and is idle since now.
func (p *Pool) scanOn(t *task) {
	for t.left > 0 {
		t.left--
		if !p.tryPermit() {
			continue
		}
		p.popIdle(t, &p.sem)
		e := p.table.Entry(t.conn)
		if p.beyond(p.o.IdleTimeout, e.IdleSince) || p.beyond(p.o.MaxLifetime, e.Born) {
			p.closeGracefully(t, record.Idle)
			return
		}
		p.release(t, record.Idle)
	}
	p.scanned(t)
}

// scanned lets go of the pool and waits for the next scan. A scan that took longer than the period is followed by the next one
// as soon as all others have run.
func (p *Pool) scanned(t *task) {
	t.state = sleeping
	p.letGo()
	now := p.sim.Now()
	if now > t.next {
		p.yield(t)
		return
	}
	if at := p.tick(t.next).Add(p.o.TimerLateness); at > now {
		p.arm(t, at)
		return
	}
	p.scan(t)
}

// endMaintenance drops the future of the task because the pool is closed: a close or a connect under way is cut short.
func (p *Pool) endMaintenance(t *task) {
	held := t.holdsPool()
	p.abandon(t)
	p.onClosed.drop(t.hears)
	p.end(t)
	if held {
		p.letGo()
	}
}
