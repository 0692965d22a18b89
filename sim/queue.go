package sim

import "poolwise/sim/fifo"

// heap is a 4-ary heap of events by value. After a pop its root is a hole: a push then fills it with one sift instead of
// two, which is what a handler that schedules one successor makes of it.
type heap struct {
	ev   []due
	hole bool // ev[0] was taken and not yet replaced
}

func (h *heap) len() int {
	if h.hole {
		return len(h.ev) - 1
	}
	return len(h.ev)
}

// min returns the earliest event, nil if there is none.
func (h *heap) min() *due {
	if !h.hole {
		if len(h.ev) == 0 {
			return nil
		}
		return &h.ev[0]
	}
	if len(h.ev) == 1 {
		return nil
	}
	return &h.ev[least(h.ev, 1)]
}

// least returns the earliest of ev[i] and its brothers up to ev[i+3].
func least(ev []due, i int) int {
	m, first := i, ev[i].place
	for c := i + 1; c < min(i+4, len(ev)); c++ {
		if p := ev[c].place; p.before(first) {
			m, first = c, p
		}
	}
	return m
}

// drop removes the earliest event; there must be one.
func (h *heap) drop() {
	h.fill()
	h.hole = true
}

func (h *heap) push(e due) {
	if h.hole {
		h.hole = false
		h.down(0, e)
		return
	}
	h.ev = append(h.ev, e)
	i := len(h.ev) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(h.ev[parent].place) {
			break
		}
		h.ev[i] = h.ev[parent]
		i = parent
	}
	h.ev[i] = e
}

// fill closes the hole with the last event.
func (h *heap) fill() {
	if !h.hole {
		return
	}
	h.hole = false
	last := len(h.ev) - 1
	e := h.ev[last]
	h.ev = h.ev[:last]
	if last > 0 {
		h.down(0, e)
	}
}

// down places e at i or below.
func (h *heap) down(i int, e due) {
	ev := h.ev
	for 4*i+1 < len(ev) {
		m := least(ev, 4*i+1)
		if !ev[m].before(e.place) {
			break
		}
		ev[i] = ev[m]
		i = m
	}
	ev[i] = e
}

// keep drops the events that fail the test and restores the order of the heap.
func (h *heap) keep(test func(*due) bool) {
	h.fill()
	kept := h.ev[:0]
	for i := range h.ev {
		if test(&h.ev[i]) {
			kept = append(kept, h.ev[i])
		}
	}
	h.ev = kept
	for i := (len(kept) - 2) / 4; i >= 0 && len(kept) > 1; i-- {
		h.down(i, kept[i])
	}
}

// batch is a queue that is emptied again and again, as those of what is due now are: a slice that is filled at one end and
// read at the other, and begins anew when it is empty.
type batch[T any] struct {
	ev   []T
	next int
}

func (b *batch[T]) empty() bool { return b.next == len(b.ev) }
func (b *batch[T]) push(e T)    { b.ev = append(b.ev, e) }
func (b *batch[T]) front() *T   { return &b.ev[b.next] }

func (b *batch[T]) drop() {
	b.next++
	if b.next == len(b.ev) {
		b.next, b.ev = 0, b.ev[:0]
	}
}

// tail is the queue of continuations. There is nearly always one at a time, which stays out of the slice.
type tail struct {
	one  Event
	any  bool
	more batch[Event] // what came after one
}

func (q *tail) push(e Event) {
	if q.any {
		q.more.push(e)
		return
	}
	q.one, q.any = e, true
}

// take removes and returns the first event.
func (q *tail) take() Event {
	e := q.one
	q.any = !q.more.empty()
	if q.any {
		q.refill()
	}
	return e
}

func (q *tail) refill() {
	q.one = *q.more.front()
	q.more.drop()
}

// lane holds the timers of one constant delay. They come due in the order in which they were armed, so a ring is an exact
// priority queue for them. A cancelled one stays in its place, with To = Nobody, until it is at the head.
type lane struct {
	ring fifo.Ring[due]
	head place // of the first timer, never if there is none
}

// trim drops cancelled timers at the head.
func (l *lane) trim() {
	l.head = never
	for l.ring.Len() > 0 {
		if first := l.ring.Front(); first.To != Nobody {
			l.head = first.place
			return
		}
		l.ring.Drop()
	}
}
