// Package fifo has one generic first-in first-out queue, a ring that grows by doubling and never shrinks, so a queue that
// has reached its working length allocates nothing more.
package fifo

// Ring is a queue. The zero value is an empty one, ready to use.
type Ring[T any] struct {
	buf  []T // length zero or a power of two
	head uint64
	tail uint64 // both count up for ever; the place of n in buf is n & (len-1)
}

// Len returns how many elements are queued.
func (r *Ring[T]) Len() int { return int(r.tail - r.head) }

// Push appends v and returns its position: the count of elements pushed before it.
func (r *Ring[T]) Push(v T) uint64 {
	if r.Len() == len(r.buf) {
		r.grow()
	}
	pos := r.tail
	r.buf[pos&uint64(len(r.buf)-1)] = v
	r.tail++
	return pos
}

// Pop removes and returns the oldest element. It panics on an empty queue.
func (r *Ring[T]) Pop() T {
	v := *r.Front()
	r.head++
	return v
}

// Drop removes the oldest element. It panics on an empty queue.
func (r *Ring[T]) Drop() {
	if r.head == r.tail {
		panic("fifo: drop from an empty queue")
	}
	r.head++
}

// Front returns the oldest element, valid until the next Push. It panics on an empty queue.
func (r *Ring[T]) Front() *T {
	if r.head == r.tail {
		panic("fifo: front of an empty queue")
	}
	return &r.buf[r.head&uint64(len(r.buf)-1)]
}

// At returns the element at position pos, as given by Push, or nil when that element has left the queue. The pointer is
// valid until the next Push.
func (r *Ring[T]) At(pos uint64) *T {
	if pos < r.head || pos >= r.tail {
		return nil
	}
	return &r.buf[pos&uint64(len(r.buf)-1)]
}

// Head returns the position of the oldest element; the youngest is at Head()+Len()-1.
func (r *Ring[T]) Head() uint64 { return r.head }

// PopBack removes and returns the youngest element. It panics on an empty queue.
func (r *Ring[T]) PopBack() T {
	if r.head == r.tail {
		panic("fifo: back of an empty queue")
	}
	r.tail--
	return r.buf[r.tail&uint64(len(r.buf)-1)]
}

func (r *Ring[T]) grow() {
	n := max(2*len(r.buf), 8)
	buf := make([]T, n)
	for pos := r.head; pos < r.tail; pos++ {
		buf[pos&uint64(n-1)] = r.buf[pos&uint64(len(r.buf)-1)]
	}
	r.buf = buf
}
