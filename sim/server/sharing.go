package server

import (
	"math"
	"math/bits"
	"time"

	"poolwise/sim"
)

// sharing is the processor sharing of the cores. Virtual time is the work that each of the n phases under way has been given
// since the start: it goes at the rate min(1, cores/n), with contention divided by the slow-down of the queries at the server.
// A phase is done when virtual time has gone on by its work; so the order in which phases end is known when they begin, a
// heap keeps it, and one timer, for the head of the heap, is pending.
//
// Virtual time is a fixed-point number of nanoseconds with 64 binary places, rounded down at each change of the rate. A phase
// that lacks less than 2^-32 ns is done, so that the rounding moves no end, and an end falls on the next whole nanosecond of the
// clock.
type sharing struct {
	srv       *Server
	used      bool // otherwise only active counts
	contended bool
	sigma     uint64 // times 2^32
	kappa     uint64
	atServer  int // queries at the server: the n of contention

	now   vtime
	since sim.Time // the instant of now, later than the clock's while the server stands still
	heap  []share
	seq   uint64
	timer sim.Timer
	calm  bool // ends are being dealt with: the timer is set afterwards
}

// vtime is a virtual time: nanoseconds and 2^-64 nanoseconds.
type vtime struct{ hi, lo uint64 }

type share struct {
	end vtime
	seq uint64 // equal ends in the order of their beginnings
	op  Op
}

func (a *share) before(b *share) bool {
	_, borrow := bits.Sub64(a.seq, b.seq, 0)
	_, borrow = bits.Sub64(a.end.lo, b.end.lo, borrow)
	_, borrow = bits.Sub64(a.end.hi, b.end.hi, borrow)
	return borrow != 0
}

func (h *sharing) init(s *Server) {
	c := s.opts.Contention
	h.srv = s
	h.sigma, h.kappa = uint64(float64(c.Sigma*0x1p32)+0.5), uint64(float64(c.Kappa*0x1p32)+0.5)
	h.contended = h.sigma|h.kappa != 0
	h.used = s.opts.Discipline == Sharing && (s.opts.Cores > 0 || h.contended)
}

// slowdown returns the factor of contention, times 2^32.
func (h *sharing) slowdown() uint64 {
	n := uint64(max(h.atServer, 1))
	return saturated(saturated(1<<32, h.sigma, n-1), h.kappa, product(n, n-1))
}

// saturated returns a + b*c, at most 2^62.
func saturated(a, b, c uint64) uint64 { return min(a+product(b, c), 1<<62) }

// product returns b*c, at most 2^62.
func product(b, c uint64) uint64 {
	hi, lo := bits.Mul64(b, c)
	if hi > 0 {
		return 1 << 62
	}
	return min(lo, 1<<62)
}

// slowed returns d slowed down by the queries at the server now.
func (h *sharing) slowed(d time.Duration) time.Duration {
	hi, lo := bits.Mul64(uint64(d), h.slowdown())
	if hi >= 1<<31 {
		return math.MaxInt64
	}
	return time.Duration(hi<<32 | lo>>32)
}

// active counts a query that arrives at the server or leaves it.
func (h *sharing) active(d int) {
	if h.used && h.contended {
		h.change(d)
	} else {
		h.atServer += d
	}
}

// change counts a query on which the rate depends.
func (h *sharing) change(d int) {
	h.advance()
	h.atServer += d
	h.rearm()
}

// running returns how many cores are at work.
func (h *sharing) running() int {
	n := len(h.heap)
	if c := h.srv.opts.Cores; c > 0 {
		n = min(n, c)
	}
	return n
}

// rate returns the rate of virtual time as a fraction, at most 1.
func (h *sharing) rate() (num, den uint64) {
	num, den = uint64(h.running()), uint64(len(h.heap))
	if h.contended {
		num, den = num<<32, product(den, h.slowdown())
	}
	return num, den
}

// advance brings virtual time up to the clock.
func (h *sharing) advance() {
	t := h.srv.sim.Now()
	if t <= h.since { // also while the server stands still
		return
	}
	dt := uint64(t - h.since)
	h.srv.cores.count(t, 0)
	h.since = t
	if len(h.heap) == 0 {
		return
	}
	num, den := h.rate()
	if num == den {
		h.now.hi += dt
		return
	}
	hi, lo := bits.Mul64(dt, num)
	whole, rest := bits.Div64(hi, lo, den) // num <= den, so that the quotient is at most dt
	part, _ := bits.Div64(rest, 0, den)
	var carry uint64
	h.now.lo, carry = bits.Add64(h.now.lo, part, 0)
	h.now.hi += whole + carry
}

// tolerance is what a phase that is done may lack, in 2^-64 ns.
const tolerance = 1 << 32

// lacks returns how much virtual time lacks to v, 0 if it has reached it.
func (h *sharing) lacks(v vtime) vtime {
	lo, borrow := bits.Sub64(v.lo, h.now.lo, 0)
	hi, borrow := bits.Sub64(v.hi, h.now.hi, borrow)
	if borrow != 0 {
		return vtime{}
	}
	return vtime{hi, lo}
}

// done reports whether virtual time has reached v.
func (h *sharing) done(v vtime) bool {
	d := h.lacks(v)
	return d.hi == 0 && d.lo < tolerance
}

// until returns the whole nanoseconds after which virtual time has reached v, rounded up: half of the tolerance is left out of
// the sum, the other half is for the rounding of virtual time until then.
func (h *sharing) until(v vtime) time.Duration {
	if h.done(v) {
		return 0
	}
	d := h.lacks(v)
	lo, borrow := bits.Sub64(d.lo, tolerance/2, 0)
	hi := d.hi - borrow
	num, den := h.rate()
	carry, fraction := bits.Mul64(lo, den)
	top, whole := bits.Mul64(hi, den) // d * den has 192 bits: top, whole, fraction
	if fraction > 0 {
		carry++ // at most den
	}
	whole, carry = bits.Add64(whole, carry, 0)
	if top += carry; top >= num {
		return math.MaxInt64
	}
	t, rest := bits.Div64(top, whole, num)
	if rest > 0 {
		t++
	}
	return time.Duration(min(t, math.MaxInt64))
}

// add begins a phase of d.
func (h *sharing) add(o Op, p *operation, d time.Duration) {
	if d == 0 {
		h.srv.sleepFor(o, p, waiting, 0)
		return
	}
	h.advance()
	h.seq++
	p.stage, p.due = sharingCPU, sim.Forever
	h.heap = append(h.heap, share{})
	h.up(len(h.heap)-1, share{vtime{h.now.hi + uint64(d), h.now.lo}, h.seq, o})
	h.rearm()
}

// remove takes a phase out before its end.
func (h *sharing) remove(o Op) {
	h.advance()
	h.take(int(h.srv.ops[o].place))
	h.rearm()
}

// due ends what is done.
func (h *sharing) due() {
	h.timer = sim.Timer{}
	h.advance()
	h.calm = true
	for len(h.heap) > 0 && h.done(h.heap[0].end) {
		o := h.heap[0].op
		h.take(0)
		h.srv.ops[o].stage = running // done: it waits for nothing
		h.srv.nextPhase(o)
	}
	h.calm = false
	h.rearm()
}

// rearm counts the cores at work and sets the timer for the next end.
func (h *sharing) rearm() {
	s := h.srv
	s.cores.count(s.sim.Now(), h.running()-s.cores.busy)
	if h.calm {
		return
	}
	s.sim.Cancel(h.timer)
	h.timer = sim.Timer{}
	if len(h.heap) > 0 {
		if at := max(s.sim.Now(), h.since).Add(h.until(h.heap[0].end)); at < sim.Forever {
			h.timer = s.sim.ArmAt(at, sim.Event{To: s.id, Kind: shareDue})
		}
	}
}

// take removes the element at place i of the heap.
func (h *sharing) take(i int) {
	last := len(h.heap) - 1
	e := h.heap[last]
	h.heap = h.heap[:last]
	if i == last {
		return
	}
	if i > 0 && e.before(&h.heap[(i-1)/2]) {
		h.up(i, e)
	} else {
		h.down(i, e)
	}
}

// up places e at i or above.
func (h *sharing) up(i int, e share) {
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h.heap[parent]) {
			break
		}
		h.set(i, h.heap[parent])
		i = parent
	}
	h.set(i, e)
}

// down places e at i or below.
func (h *sharing) down(i int, e share) {
	for {
		child := 2*i + 1
		if child >= len(h.heap) {
			break
		}
		if child+1 < len(h.heap) && h.heap[child+1].before(&h.heap[child]) {
			child++
		}
		if !h.heap[child].before(&e) {
			break
		}
		h.set(i, h.heap[child])
		i = child
	}
	h.set(i, e)
}

func (h *sharing) set(i int, e share) {
	h.heap[i] = e
	h.srv.ops[e.op].place = int32(i)
}
