package semaphore

import (
	"fmt"
	"time"

	"poolwise/pool"
	"poolwise/sim"
	"poolwise/sim/wording"
)

// Waiters says how those who wait are treated, where that is not as in the lab: what other pools do, each for its own reasons.
type Waiters struct {
	Order     Order         `yaml:"order" doc:"whose turn it is when a permit comes back: who has waited longest (fifo), who came last (lifo), or anybody (random); default fifo"`
	Barging   bool          `yaml:"barging" doc:"a permit that comes back is free: a waiter is woken, and who asks before that waiter looks has it; default false: it is handed over"`
	WakeDelay time.Duration `yaml:"wake_delay" doc:"with barging: time until a woken waiter looks for its permit; default 0s"`
	LosePlace bool          `yaml:"lose_place" doc:"with barging: a waiter that was woken for nothing waits on behind all others; default false: it keeps its place"`
}

// Order is whose turn it is among those who wait.
type Order uint8

// The orders.
const (
	FIFO Order = iota
	LIFO
	Random
)

var orders = []string{"fifo", "lifo", "random"}

// String returns the word for o.
func (o Order) String() string { return orders[o] }

// UnmarshalText reads the word.
func (o *Order) UnmarshalText(text []byte) error { return wording.Number(o, orders, text) }

func (w *Waiters) validate(bad func(path, message string)) {
	if w.WakeDelay < 0 {
		bad("wake_delay", fmt.Sprintf("want a duration of at least 0s, have %v", w.WakeDelay))
	}
	if w.Barging {
		return
	}
	if w.WakeDelay != 0 {
		bad("wake_delay", "is for barging: a permit that is handed over waits for its waiter")
	}
	if w.LosePlace {
		bad("lose_place", "is for barging: nobody loses a permit that is handed over")
	}
}

// line is the waiters that have not been woken.
type line struct {
	Waiters
	queue pool.Waiters  // FIFO and LIFO
	bag   []pool.Ticket // Random
	at    []int32       // by ticket: its place in the bag
	luck  sim.Stream
	drawn int64

	woken []bool // by ticket: it has been, and has not looked yet
	awake int    // how many
	delay sim.Delay
}

func newLine(env pool.Env, w Waiters) line {
	return line{
		Waiters: w, luck: sim.NewStream(env.Seed, fmt.Sprintf("semaphore %d waiters", env.Index)), delay: env.Sim.Delay(w.WakeDelay),
	}
}

// join puts a waiter behind all others.
func (l *line) join(t pool.Ticket) {
	if l.Order != Random {
		l.queue.Push(t)
		return
	}
	for int(t) >= len(l.at) {
		l.at = append(l.at, 0)
	}
	l.at[t] = int32(len(l.bag))
	l.bag = append(l.bag, t)
}

// rejoin puts a waiter back that was woken for nothing.
func (l *line) rejoin(t pool.Ticket) {
	switch {
	case l.Order == FIFO && !l.LosePlace:
		l.queue.PushFront(t)
	case l.Order == LIFO && l.LosePlace: // the next to come is served first
		l.queue.PushFront(t)
	default:
		l.join(t)
	}
}

// next takes the waiter out of the line whose turn it is; there must be one.
func (l *line) next() (t pool.Ticket) {
	switch l.Order {
	case FIFO:
		t = l.queue.Front()
	case LIFO:
		t = l.queue.Back()
	default:
		r := l.luck.At(l.drawn)
		l.drawn++
		t = l.bag[r.Below(len(l.bag))]
	}
	l.leave(t)
	return t
}

// leave takes a waiter out of the line, woken or not.
func (l *line) leave(t pool.Ticket) {
	switch {
	case int(t) < len(l.woken) && l.woken[t]:
		l.woken[t] = false
		l.awake--
	case l.Order != Random:
		l.queue.Remove(t)
	default:
		last := len(l.bag) - 1
		l.bag[l.at[t]] = l.bag[last]
		l.at[l.bag[last]] = l.at[t]
		l.bag = l.bag[:last]
	}
}

// wake takes the waiter out of the line whose turn it is, to look for a permit.
func (l *line) wake() pool.Ticket {
	t := l.next()
	for int(t) >= len(l.woken) {
		l.woken = append(l.woken, false)
	}
	l.woken[t] = true
	l.awake++
	return t
}

func (l *line) len() int { return l.queue.Len() + len(l.bag) }
