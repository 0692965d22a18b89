package run

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The bare loops are what a programmer would write by hand for one model and nothing else: a heap of structs, a switch, a
// histogram, draws by inversion. They are the yardstick for the speed of the simulator, and are themselves checked against
// the exact answers.

// bareEvent is an event of a bare loop: what happens at a time, seq telling equal times apart.
type bareEvent struct {
	at   int64
	seq  uint64
	kind int32
	who  int32
}

func (e *bareEvent) before(f *bareEvent) bool {
	_, borrow := bits.Sub64(e.seq, f.seq, 0)
	_, borrow = bits.Sub64(uint64(e.at), uint64(f.at), borrow)
	return borrow != 0
}

// bareHeap is a binary heap.
type bareHeap struct {
	ev  []bareEvent
	seq uint64
}

func (h *bareHeap) push(at int64, kind, who int32) {
	h.seq++
	e := bareEvent{at, h.seq, kind, who}
	h.ev = append(h.ev, e)
	i := len(h.ev) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !e.before(&h.ev[p]) {
			break
		}
		h.ev[i] = h.ev[p]
		i = p
	}
	h.ev[i] = e
}

// replace puts an event in the place of the first, which has been handled.
func (h *bareHeap) replace(at int64, kind, who int32) {
	h.seq++
	h.down(bareEvent{at, h.seq, kind, who})
}

func (h *bareHeap) drop() {
	last := len(h.ev) - 1
	e := h.ev[last]
	h.ev = h.ev[:last]
	if last > 0 {
		h.down(e)
	}
}

func (h *bareHeap) down(e bareEvent) {
	i, n := 0, len(h.ev)
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h.ev[c+1].before(&h.ev[c]) {
			c++
		}
		if !h.ev[c].before(&e) {
			break
		}
		h.ev[i] = h.ev[c]
		i = c
	}
	h.ev[i] = e
}

// bareRing is a queue.
type bareRing struct {
	buf        []bareWaiter
	head, tail uint64
}

type bareWaiter struct {
	since int64
	left  bool
}

func (r *bareRing) push(w bareWaiter) uint64 {
	if r.tail-r.head == uint64(len(r.buf)) {
		buf := make([]bareWaiter, max(16, 2*len(r.buf)))
		for p := r.head; p < r.tail; p++ {
			buf[p&uint64(len(buf)-1)] = r.buf[p&uint64(len(r.buf)-1)]
		}
		r.buf = buf
	}
	r.buf[r.tail&uint64(len(r.buf)-1)] = w
	r.tail++
	return r.tail - 1
}

func (r *bareRing) at(p uint64) *bareWaiter { return &r.buf[p&uint64(len(r.buf)-1)] }

// bareResult is what a bare loop measures.
type bareResult struct {
	served, left int64
	waits        *hdrhistogram.Histogram
	waited       int64 // sum of the waits of those served
	end          int64
}

// bareMMc is M1, and with patience M3: Poisson arrivals, exponential service, c servers, one queue; a customer who has waited
// for the patience leaves (0: nobody does). All are patient alike, so they leave in the order in which they came: the queue is
// the queue of deadlines, too.
func bareMMc(seed uint64, customers int64, c int, meanArrival, meanService float64, patience time.Duration) bareResult {
	const arrival, departure = 0, 1
	rng := rand.New(rand.NewPCG(seed, 0))
	draw := func(mean float64) int64 { return int64(-math.Log(1-rng.Float64()) * mean) }
	res := bareResult{waits: hdrhistogram.New(1, int64(time.Hour), 3)}
	var h bareHeap
	var queue bareRing
	var deadline uint64 // the first in the queue whose deadline has not passed
	free := c
	var now, arrived int64
	serve := func(wait int64) {
		res.served++
		res.waited += wait
		_ = res.waits.RecordValue(wait)
	}
	h.push(draw(meanArrival), arrival, 0)
	for len(h.ev) > 0 {
		e := h.ev[0]
		if patience > 0 {
			for deadline = max(deadline, queue.head); deadline < queue.tail; deadline++ {
				w := queue.at(deadline)
				if w.since+int64(patience) > e.at {
					break
				}
				w.left = true
				res.left++
			}
		}
		now = e.at
		switch e.kind {
		case arrival:
			arrived++
			if arrived < customers {
				h.replace(now+draw(meanArrival), arrival, 0)
			} else {
				h.drop()
			}
			if free > 0 {
				free--
				serve(0)
				h.push(now+draw(meanService), departure, 0)
			} else {
				queue.push(bareWaiter{since: now})
			}
		case departure:
			for queue.head < queue.tail && queue.at(queue.head).left {
				queue.head++
			}
			if queue.head < queue.tail {
				serve(now - queue.at(queue.head).since)
				queue.head++
				h.replace(now+draw(meanService), departure, 0)
			} else {
				free++
				h.drop()
			}
		}
	}
	res.end = now
	return res
}

// bareClosed is M2: tasks that acquire one of a few permits, run a query of constant time on a server with fewer cores, and
// release, again and again. Acquire, start, finish and release are events; those due now go to a queue of their own.
func bareClosed(queries int64, tasks, permits, cores int, service time.Duration) bareResult {
	const acquire, start, finish, release = 0, 1, 2, 3
	res := bareResult{waits: hdrhistogram.New(1, int64(time.Hour), 3)}
	var h bareHeap
	type due struct{ kind, who int32 }
	ring := make([]due, 1024)
	var head, tail uint64
	soon := func(kind, who int32) {
		if tail-head == uint64(len(ring)) {
			panic("bare loop: queue full")
		}
		ring[tail&1023] = due{kind, who}
		tail++
	}
	since := make([]int64, tasks)
	var waiting, runnable bareRing // since is used for the task
	var now int64
	for i := range tasks {
		soon(acquire, int32(i))
	}
	for res.served < queries {
		var d due
		if head < tail {
			d = ring[head&1023]
			head++
		} else {
			now = h.ev[0].at
			d = due{h.ev[0].kind, h.ev[0].who}
			h.drop()
		}
		switch d.kind {
		case acquire:
			since[d.who] = now
			if permits > 0 {
				permits--
				soon(start, d.who)
			} else {
				waiting.push(bareWaiter{since: int64(d.who)})
			}
		case start:
			if cores > 0 {
				cores--
				h.push(now+int64(service), finish, d.who)
			} else {
				runnable.push(bareWaiter{since: int64(d.who)})
			}
		case finish:
			if runnable.head < runnable.tail {
				h.push(now+int64(service), finish, int32(runnable.at(runnable.head).since))
				runnable.head++
			} else {
				cores++
			}
			soon(release, d.who)
		case release:
			res.served++
			_ = res.waits.RecordValue(now - since[d.who])
			if waiting.head < waiting.tail {
				soon(start, int32(waiting.at(waiting.head).since))
				waiting.head++
			} else {
				permits++
			}
			soon(acquire, d.who)
		}
	}
	res.end = now
	return res
}
