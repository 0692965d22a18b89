package sqlx

import "poolwise/pool"

// semaphore is sqlx_core::sync::AsyncSemaphore: the semaphore of tokio if it is fair, that of futures-intrusive if it is not.
//
// Fair: a permit that comes back is assigned to the head of the queue by the very call that gives it back, before that task has
// run, so nobody can overtake. A task that asks for several takes what there is at once and queues for the rest.
//
// Not fair: a permit that comes back is free for whoever asks first. The head of the queue is woken and taken out of the queue;
// if it finds no permit it waits again at the head.
type semaphore struct {
	fair    bool
	permits int // free
	out     int // handed out
	total   int // free, assigned to waiters and handed out: what there is
	kept    int // of those handed out, in the hand of a task that yields

	queue pool.Waiters // of those in waits that are queued, in order
	waits []wait
	free  []pool.Ticket
}

// wait is an acquire of a semaphore under way.
type wait struct {
	waker
	want int
	got  int // assigned so far, if fair
}

// noWait is no acquire of a semaphore.
const noWait = pool.NoTicket

// acquire asks for want permits: it has them if it returns noWait, and otherwise waits until poll says so or drop gives up.
func (s *semaphore) acquire(want int, w waker) pool.Ticket {
	if s.tryAcquire(want) {
		return noWait
	}
	var i pool.Ticket
	if n := len(s.free); n > 0 {
		i, s.free = s.free[n-1], s.free[:n-1]
	} else {
		i = pool.Ticket(len(s.waits))
		s.waits = append(s.waits, wait{})
	}
	s.waits[i] = wait{waker: w, want: want}
	if s.fair {
		s.waits[i].got, s.permits = s.permits, 0
	}
	s.queue.Push(i)
	return i
}

// poll reports whether the wait is over: the permits are the caller's then, and i is no wait any more.
func (s *semaphore) poll(i pool.Ticket) bool {
	w := &s.waits[i]
	switch {
	case s.fair && w.got < w.want:
		return false
	case !s.fair && s.permits < w.want:
		if !s.queue.Queued(i) {
			s.queue.PushFront(i)
		}
		return false
	case s.fair:
		s.out += w.want
	default:
		if s.queue.Queued(i) {
			s.queue.Remove(i)
		}
		s.permits, s.out = s.permits-w.want, s.out+w.want
	}
	s.end(i)
	return true
}

// end frees the slot of a wait.
func (s *semaphore) end(i pool.Ticket) {
	s.waits[i] = wait{}
	s.free = append(s.free, i)
}

// drop gives up a wait. What it was assigned, or woken for, goes to the next.
func (s *semaphore) drop(i pool.Ticket) {
	got, queued := s.waits[i].got, s.queue.Queued(i)
	if queued {
		s.queue.Remove(i)
	}
	s.end(i)
	if got > 0 || !queued {
		s.put(got)
	}
}

// tryAcquire takes n permits if they are free.
func (s *semaphore) tryAcquire(n int) bool {
	if s.permits < n {
		return false
	}
	s.permits, s.out = s.permits-n, s.out+n
	return true
}

// release gives back n permits that were handed out.
func (s *semaphore) release(n int) {
	s.out -= n
	s.put(n)
}

// add brings in n permits from elsewhere.
func (s *semaphore) add(n int) {
	s.total += n
	s.put(n)
}

// conjure makes a permit that counts as handed out from the start.
func (s *semaphore) conjure() { s.total, s.out = s.total+1, s.out+1 }

// forget takes a permit that was handed out, and does not come back, out of the books.
func (s *semaphore) forget() { s.total, s.out = s.total-1, s.out-1 }

// put makes n permits free.
func (s *semaphore) put(n int) {
	s.permits += n
	if s.fair {
		s.assign()
	} else {
		s.notify()
	}
}

// assign gives the free permits to the waiters, in order, and wakes those that have all they want.
func (s *semaphore) assign() {
	for s.permits > 0 && s.queue.Len() > 0 {
		i := s.queue.Front()
		w := &s.waits[i]
		n := min(s.permits, w.want-w.got)
		s.permits, w.got = s.permits-n, w.got+n
		if w.got < w.want {
			return
		}
		s.queue.Remove(i)
		w.wake()
	}
}

// notify wakes as many waiters, in order, as the free permits would do for. They are not theirs yet.
func (s *semaphore) notify() {
	left := s.permits
	for s.queue.Len() > 0 {
		i := s.queue.Front()
		w := &s.waits[i]
		if left < w.want {
			return
		}
		left -= w.want
		s.queue.Remove(i)
		w.wake()
	}
}

// assigned returns how many permits have been assigned to waiters.
func (s *semaphore) assigned() int {
	n := 0
	for i := range s.waits {
		n += s.waits[i].got
	}
	return n
}
