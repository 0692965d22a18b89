package sqlx

import "poolwise/pool"

// closeEvent is PoolInner::on_closed, an event_listener::Event: it wakes those that listen in the order in which they began.
type closeEvent struct {
	queue     pool.Waiters
	listeners []waker
	free      []pool.Ticket
}

// listen adds a listener, to be dropped when it has heard or does not care any more.
func (e *closeEvent) listen(w waker) pool.Ticket {
	var i pool.Ticket
	if n := len(e.free); n > 0 {
		i, e.free = e.free[n-1], e.free[:n-1]
		e.listeners[i] = w
	} else {
		i = pool.Ticket(len(e.listeners))
		e.listeners = append(e.listeners, w)
	}
	e.queue.Push(i)
	return i
}

// drop ends the listening of i.
func (e *closeEvent) drop(i pool.Ticket) {
	e.queue.Remove(i)
	e.free = append(e.free, i)
}

// notify wakes all that listen.
func (e *closeEvent) notify() {
	for i := e.queue.Front(); i != pool.NoTicket; i = e.queue.Next(i) {
		e.listeners[i].wake()
	}
}
