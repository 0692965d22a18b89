package pool

import "fmt"

// Waiters is a queue of tickets in which any one can leave in constant time: a doubly linked list whose links lie in a slice
// indexed by ticket. The zero value is an empty queue.
type Waiters struct {
	link  []link
	first Ticket
	last  Ticket
	n     int
}

type link struct {
	prev, next Ticket // tickets plus one; 0 is the end of the list
	queued     bool
}

// Len returns how many wait.
func (w *Waiters) Len() int { return w.n }

// Push appends t, which must not be queued.
func (w *Waiters) Push(t Ticket) {
	for int(t) >= len(w.link) {
		w.link = append(w.link, link{})
	}
	if w.link[t].queued {
		panic(fmt.Sprintf("pool: acquire %d queued twice", t))
	}
	w.link[t] = link{prev: w.last, queued: true}
	if w.last == 0 {
		w.first = t + 1
	} else {
		w.link[w.last-1].next = t + 1
	}
	w.last = t + 1
	w.n++
}

// PushFront puts t, which must not be queued, before all others.
func (w *Waiters) PushFront(t Ticket) {
	if w.n == 0 {
		w.Push(t)
		return
	}
	for int(t) >= len(w.link) {
		w.link = append(w.link, link{})
	}
	if w.link[t].queued {
		panic(fmt.Sprintf("pool: acquire %d queued twice", t))
	}
	w.link[t] = link{next: w.first, queued: true}
	w.link[w.first-1].prev = t + 1
	w.first = t + 1
	w.n++
}

// Front returns the one that has waited longest, NoTicket if none waits.
func (w *Waiters) Front() Ticket { return w.first - 1 }

// Back returns the one that has waited for the shortest time, NoTicket if none waits.
func (w *Waiters) Back() Ticket { return w.last - 1 }

// Next returns the one behind t, NoTicket if t is the last.
func (w *Waiters) Next(t Ticket) Ticket { return w.link[t].next - 1 }

// Pop removes and returns the one that has waited longest, NoTicket if none waits.
func (w *Waiters) Pop() Ticket {
	t := w.Front()
	if t != NoTicket {
		w.Remove(t)
	}
	return t
}

// Queued reports whether t waits.
func (w *Waiters) Queued(t Ticket) bool { return int(t) < len(w.link) && w.link[t].queued }

// Remove takes t out of the queue; it must be there.
func (w *Waiters) Remove(t Ticket) {
	if !w.Queued(t) {
		panic(fmt.Sprintf("pool: acquire %d leaves a queue that it is not in", t))
	}
	l := w.link[t]
	if l.prev == 0 {
		w.first = l.next
	} else {
		w.link[l.prev-1].next = l.next
	}
	if l.next == 0 {
		w.last = l.prev
	} else {
		w.link[l.next-1].prev = l.prev
	}
	w.link[t] = link{}
	w.n--
}
