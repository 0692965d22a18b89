package server

import (
	"fmt"
	"math/bits"
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
)

// cores are the cores of the discipline fifo: a count and a queue, a list through the operations that wait.
type cores struct {
	limit       int // 0 for none
	busy        int
	queued      int
	first, last Op
	area        time.Duration // core time used up to since, at most dist.Max
	since       sim.Time
}

// free reports whether an operation may take a core at once; one that waits goes first.
func (c *cores) free() bool { return c.limit == 0 || c.busy < c.limit && c.first == NoOp }

func (c *cores) take(now sim.Time) { c.count(now, +1) }

func (c *cores) release(now sim.Time) {
	if c.busy == 0 {
		panic("server: a core released that nobody holds")
	}
	c.count(now, -1)
}

func (c *cores) count(now sim.Time, d int) {
	if now > c.since {
		hi, area := bits.Mul64(uint64(now-c.since), uint64(c.busy))
		if hi > 0 || area > uint64(dist.Max) {
			area = uint64(dist.Max)
		}
		c.area = plus(c.area, time.Duration(area))
		c.since = now
	}
	c.busy += d
}

func (c *cores) push(ops []operation, o Op) {
	ops[o].prev, ops[o].next = c.last, NoOp
	if c.last == NoOp {
		c.first = o
	} else {
		ops[c.last].next = o
	}
	c.last = o
	c.queued++
}

func (c *cores) remove(ops []operation, o Op) {
	p := &ops[o]
	if p.stage != queued {
		panic(fmt.Sprintf("server: operation %d leaves a queue that it is not in", o))
	}
	if p.prev == NoOp {
		c.first = p.next
	} else {
		ops[p.prev].next = p.next
	}
	if p.next == NoOp {
		c.last = p.prev
	} else {
		ops[p.next].prev = p.prev
	}
	c.queued--
}
