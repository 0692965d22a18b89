package pool

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The queue is a slice in which everybody finds its place at once.
func TestWaitersAgainstASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Waiters
		var want []Ticket
		ticket := rapid.Map(rapid.IntRange(0, 9), func(i int) Ticket { return Ticket(i) })
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				if k := ticket.Draw(t, "ticket"); !slices.Contains(want, k) {
					w.Push(k)
					want = append(want, k)
				}
			},
			"push to the front": func(t *rapid.T) {
				if k := ticket.Draw(t, "ticket"); !slices.Contains(want, k) {
					w.PushFront(k)
					want = slices.Insert(want, 0, k)
				}
			},
			"pop": func(t *rapid.T) {
				first := NoTicket
				if len(want) > 0 {
					first, want = want[0], want[1:]
				}
				if got := w.Pop(); got != first {
					t.Fatalf("popped %d, want %d", got, first)
				}
			},
			"leave": func(t *rapid.T) {
				if len(want) > 0 {
					i := rapid.IntRange(0, len(want)-1).Draw(t, "place")
					w.Remove(want[i])
					want = slices.Delete(want, i, i+1)
				}
			},
			"": func(t *rapid.T) {
				var got []Ticket
				for k := w.Front(); k != NoTicket; k = w.Next(k) {
					got = append(got, k)
				}
				if !slices.Equal(got, want) || w.Len() != len(want) {
					t.Fatalf("%v wait, Len %d; want %v", got, w.Len(), want)
				}
				last := NoTicket
				if len(want) > 0 {
					last = want[len(want)-1]
				}
				if got := w.Back(); got != last {
					t.Fatalf("the last is %d, want %d", got, last)
				}
				for k := range Ticket(12) { // some of which have never been in the queue
					if w.Queued(k) != slices.Contains(want, k) {
						t.Fatalf("%d is queued: %v", k, w.Queued(k))
					}
				}
			},
		})
	})
}

func TestWaitersPanic(t *testing.T) {
	queue := func() *Waiters {
		w := new(Waiters)
		w.Push(3)
		w.Push(1)
		return w
	}
	mustPanic(t, "pool: acquire 3 queued twice", func() { queue().Push(3) })
	mustPanic(t, "pool: acquire 1 queued twice", func() { queue().PushFront(1) })
	mustPanic(t, "pool: acquire 2 leaves a queue that it is not in", func() { queue().Remove(2) })
	mustPanic(t, "pool: acquire 7 leaves a queue that it is not in", func() { queue().Remove(7) })
}

// mustPanic reports unless f panics with that message.
func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("panic %v, want %s", got, want)
		}
	}()
	f()
}
