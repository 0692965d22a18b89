package pool

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"poolwise/sim"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// asker is an actor that keeps what it is told.
type asker struct {
	sim  *sim.Sim
	told []told
}

type told struct {
	At   sim.Time
	Kind sim.Kind
	A, B int32
}

func (a *asker) Handle(ev sim.Event) {
	if ev.Kind != nothing {
		a.told = append(a.told, told{a.sim.Now(), ev.Kind, ev.A, ev.B})
	}
}

const (
	answered sim.Kind = iota
	ring
	nothing
)

// booth is a set of acquires with what is around it.
type booth struct {
	Acquires
	sim   *sim.Sim
	facts notes
	asker *asker
	id    sim.ActorID
}

func newBooth() *booth {
	b := &booth{sim: new(sim.Sim)}
	b.asker = &asker{sim: b.sim}
	b.id = b.sim.Add(b.asker)
	b.Acquires = NewAcquires(Env{Sim: b.sim, Sink: &b.facts, Index: 7})
	return b
}

func (b *booth) begin(number int64) Ticket {
	return b.Begin(Request{Reply: sim.Reply{To: b.id, Kind: answered, A: int32(number)}, Part: 5, Number: number})
}

// run lets time pass. Answers to what was done before are continuations of an event of which nothing else comes.
func (b *booth) run(d time.Duration) sim.Time {
	b.sim.Soon(sim.Event{To: b.id, Kind: nothing})
	b.sim.Run(b.sim.Now().Add(d))
	return b.sim.Now()
}

func fact(at sim.Time, kind record.FactKind, request int64) record.Fact {
	return record.Fact{At: at, Kind: kind, Pool: 5, Request: request}
}

// Every step of an acquire is noted for the part that asks, with the time that it took, and its end is told to who asked.
func TestFactsOfAnAcquire(t *testing.T) {
	b := newBooth()
	check := func(facts []record.Fact, want ...told) {
		t.Helper()
		b.run(0)
		if diff := cmp.Diff(facts, b.facts.take()); diff != "" {
			t.Errorf("facts (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, b.asker.told); diff != "" {
			t.Errorf("told (-want +got):\n%s", diff)
		}
		b.asker.told = nil
	}
	ended := func(at sim.Time, request int64, o record.Outcome, took time.Duration) record.Fact {
		return record.Fact{At: at, Kind: record.AcquireEnded, Pool: 5, Request: request, Outcome: o, Took: took}
	}
	answer := func(at sim.Time, request, b int32) told {
		return told{At: at, Kind: answered, A: request, B: b}
	}

	began := b.run(time.Millisecond)
	first, second, third := b.begin(100), b.begin(101), b.begin(102)
	b.Enqueue(second)
	b.Enqueue(third)
	check([]record.Fact{
		fact(began, record.AcquireBegan, 100), fact(began, record.AcquireBegan, 101), fact(began, record.AcquireBegan, 102),
		fact(began, record.WaitBegan, 101), fact(began, record.WaitBegan, 102),
	})

	now := b.run(3 * time.Millisecond)
	b.Grant(first, 9)
	check([]record.Fact{ended(now, 100, record.OK, 3*time.Millisecond)}, answer(now, 100, 9))

	if got := b.Dequeue(); got != second {
		t.Errorf("acquire %d is taken out, want %d", got, second)
	}
	check([]record.Fact{fact(now, record.WaitEnded, 101)})

	b.Fail(second, record.CreateFailed)
	b.Fail(third, record.AcquireTimeout) // from the queue
	check([]record.Fact{
		ended(now, 101, record.CreateFailed, 3*time.Millisecond),
		fact(now, record.WaitEnded, 102), ended(now, 102, record.AcquireTimeout, 3*time.Millisecond),
	}, answer(now, 101, server.Code(record.CreateFailed)), answer(now, 102, server.Code(record.AcquireTimeout)))

	if got := b.Dequeue(); got != NoTicket {
		t.Errorf("acquire %d is taken out of an empty queue", got)
	}
	check(nil)
}

// Closing ends those that wait, in their order, and leaves the others under way.
func TestFailQueued(t *testing.T) {
	b := newBooth()
	first, busy, second := b.begin(1), b.begin(2), b.begin(3)
	b.Enqueue(second)
	b.Enqueue(first)
	b.FailQueued(record.PoolIsClosed)
	b.run(0)
	code := server.Code(record.PoolIsClosed)
	if diff := cmp.Diff([]told{{Kind: answered, A: 3, B: code}, {Kind: answered, A: 1, B: code}}, b.asker.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if b.Len() != 0 || b.UnderWay() != 1 || b.Get(busy).Number != 2 {
		t.Errorf("%d wait, %d under way", b.Len(), b.UnderWay())
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct{ own, byDefault, want time.Duration }{{0, 3, 3}, {2, 3, 2}, {4, 3, 4}, {4, 0, 4}, {0, 0, 0}} {
		r := Request{Timeout: c.own}
		if got := r.Limit(c.byDefault); got != c.want {
			t.Errorf("own %v, default %v: have %v, want %v", c.own, c.byDefault, got, c.want)
		}
	}
}

// deaf is a sink that does not want the beginning of acquires.
type deaf struct{ notes }

func (*deaf) Wants(k record.FactKind) bool { return k != record.AcquireBegan }

func TestNobodyWantsTheBeginning(t *testing.T) {
	sink := new(deaf)
	a := NewAcquires(Env{Sim: new(sim.Sim), Sink: sink, Index: 7})
	a.Begin(Request{Reply: sim.Reply{To: sim.Nobody}})
	if len(sink.notes) != 0 {
		t.Errorf("noted %v", sink.notes)
	}
}

// A ticket is used again, and begins afresh; an event about its last use is told from one about this.
func TestTicketIsUsedAgain(t *testing.T) {
	b := newBooth()
	t1 := b.begin(1)
	q := b.Get(t1)
	gen := q.Gen
	q.Conn, q.Op = 3, 4
	b.Arm(t1, time.Millisecond, sim.Event{To: b.id, Kind: ring})
	if !b.Live(t1, gen) || b.Live(t1, gen+1) || b.Live(t1, gen-1) {
		t.Error("not live in its generation alone")
	}
	b.Fail(t1, record.Cancelled)
	if b.Live(t1, gen) {
		t.Error("live after its end")
	}
	b.run(500 * time.Microsecond)
	t2 := b.Begin(Request{Reply: sim.Reply{To: b.id, Kind: answered}, Number: 2, Timeout: time.Second, Try: true})
	if t2 != t1 {
		t.Errorf("ticket %d, want the free one %d", t2, t1)
	}
	want := Acquire{
		Request: Request{Reply: sim.Reply{To: b.id, Kind: answered}, Number: 2, Timeout: time.Second, Try: true},
		Began:   sim.Time(500 * time.Microsecond), Conn: NoConn, Op: server.NoOp, Gen: b.Get(t2).Gen, live: true,
	}
	if diff := cmp.Diff(want, *b.Get(t2), cmp.AllowUnexported(Acquire{}, sim.Timer{})); diff != "" {
		t.Errorf("the second acquire (-want +got):\n%s", diff)
	}
	if b.Live(t2, gen) || !b.Live(t2, b.Get(t2).Gen) {
		t.Error("the second acquire is taken for the first")
	}
	b.run(time.Second)
	for _, ev := range b.asker.told {
		if ev.Kind == ring {
			t.Error("the timer of the first acquire rings in the second")
		}
	}
}

func TestArmed(t *testing.T) {
	rings := func(b *booth) (at []sim.Time) {
		b.run(time.Second)
		for _, ev := range b.asker.told {
			if ev.Kind == ring {
				at = append(at, ev.At)
			}
		}
		return at
	}
	ms := func(n int) sim.Time { return sim.Time(n) * sim.Time(time.Millisecond) }

	b := newBooth() // two delays in turn
	for i, d := range []time.Duration{2, 1, 2, 0} {
		b.Arm(b.begin(int64(i)), d*time.Millisecond, sim.Event{To: b.id, Kind: ring})
	}
	if got, want := rings(b), []sim.Time{0, ms(1), ms(2), ms(2)}; !slices.Equal(got, want) {
		t.Errorf("rings at %v, want %v", got, want)
	}

	b = newBooth()
	k := b.begin(1)
	b.Arm(k, time.Millisecond, sim.Event{To: b.id, Kind: ring})
	b.Disarm(k)
	b.Disarm(k) // nothing is armed
	b.run(2 * time.Millisecond)
	b.Arm(k, time.Millisecond, sim.Event{To: b.id, Kind: ring})
	if got, want := rings(b), []sim.Time{ms(3)}; !slices.Equal(got, want) {
		t.Errorf("rings at %v, want %v", got, want)
	}
}

func TestStaleTicketsPanic(t *testing.T) {
	b := newBooth()
	over := b.begin(1)
	b.Grant(over, 1)
	mustPanic(t, "pool: acquire 0 is not under way", func() { b.Get(over) })
	mustPanic(t, "pool: acquire 0 is not under way", func() { b.Grant(over, 1) })
	mustPanic(t, "pool: acquire 0 is not under way", func() { b.Fail(over, record.Cancelled) })
	mustPanic(t, "pool: acquire 1 is not under way", func() { b.Get(1) })
	mustPanic(t, "pool: acquire -1 is not under way", func() { b.Get(NoTicket) })
}

// Whatever happens, each acquire is answered once and in its own name, a ticket is nobody else's until then, the queue is that of a
// slice, and a generation is live as long as its acquire.
func TestAcquiresAgainstAMap(t *testing.T) {
	type use struct {
		ticket Ticket
		gen    int32
	}
	rapid.Check(t, func(t *rapid.T) {
		b := newBooth()
		open := map[Ticket]int64{} // numbers
		var queue []Ticket
		var spent []use
		var answers []int32 // numbers, in order
		next := int64(0)
		pick := func(t *rapid.T, of func(Ticket) bool) (Ticket, bool) {
			var all []Ticket
			for k := range Ticket(next) {
				if _, ok := open[k]; ok && of(k) {
					all = append(all, k)
				}
			}
			if len(all) == 0 {
				return NoTicket, false
			}
			return rapid.SampledFrom(all).Draw(t, "ticket"), true
		}
		end := func(t *rapid.T, end func(Ticket)) {
			k, ok := pick(t, func(Ticket) bool { return true })
			if !ok {
				return
			}
			spent = append(spent, use{k, b.Get(k).Gen})
			answers = append(answers, int32(open[k]))
			delete(open, k)
			queue = slices.DeleteFunc(queue, func(q Ticket) bool { return q == k })
			end(k)
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				k := b.begin(next)
				if n, used := open[k]; used {
					t.Fatalf("ticket %d is still that of acquire %d", k, n)
				}
				open[k] = next
				next++
			},
			"enqueue": func(t *rapid.T) {
				if k, ok := pick(t, func(k Ticket) bool { return !slices.Contains(queue, k) }); ok {
					b.Enqueue(k)
					queue = append(queue, k)
				}
			},
			"dequeue": func(t *rapid.T) {
				first := NoTicket
				if len(queue) > 0 {
					first, queue = queue[0], queue[1:]
				}
				if got := b.Dequeue(); got != first {
					t.Fatalf("acquire %d is taken out, want %d", got, first)
				}
			},
			"grant": func(t *rapid.T) { end(t, func(k Ticket) { b.Grant(k, 1) }) },
			"fail":  func(t *rapid.T) { end(t, func(k Ticket) { b.Fail(k, record.AcquireTimeout) }) },
			"": func(t *rapid.T) {
				b.run(0)
				var got []int32
				for _, ev := range b.asker.told {
					got = append(got, ev.A)
				}
				if !slices.Equal(got, answers) {
					t.Fatalf("answered %v, want %v", got, answers)
				}
				for k, n := range open {
					if q := b.Get(k); q.Number != n || !b.Live(k, q.Gen) || b.Queued(k) != slices.Contains(queue, k) {
						t.Fatalf("acquire %d is %+v, queued %v", n, *q, b.Queued(k))
					}
				}
				for _, u := range spent {
					if b.Live(u.ticket, u.gen) {
						t.Fatalf("generation %d of ticket %d is over", u.gen, u.ticket)
					}
				}
				if b.UnderWay() != len(open) || b.Len() != len(queue) {
					t.Fatalf("%d under way and %d queued, want %d and %d", b.UnderWay(), b.Len(), len(open), len(queue))
				}
			},
		})
	})
}
