package sim

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const ms = Time(time.Millisecond)

// Events, continuations and timers of a frozen actor come at the end, in their order, and before what is due then.
func TestFreeze(t *testing.T) {
	var s Sim
	s.Freezable()
	l, other := newLog(&s), newLog(&s)
	other.then = func(ev Event) { s.Continue(l.event(ev.A)) }
	s.At(10*ms, l.event(7)) // due at the end, and scheduled before all others; 8 after them
	s.At(2*ms, l.event(1))
	s.ArmAt(3*ms, l.event(2))
	s.Arm(s.Delay(4*time.Millisecond), l.event(3))
	s.At(5*ms, other.event(4))
	s.At(6*ms, l.event(5))
	s.At(9*ms, l.event(6))
	s.Run(1 * ms)
	s.Freeze(10*ms, l.id)
	s.At(10*ms, l.event(8))
	s.Run(9 * ms)
	if len(l.got) > 0 || len(other.got) != 1 {
		t.Errorf("a frozen actor was told of %v, the other of %v", l.got, other.got)
	}
	s.Run(Forever)
	wantOrder(t, l, 1, 2, 3, 4, 5, 6, 7, 8)
	for _, n := range l.got {
		if n.At != 10*ms {
			t.Errorf("%v, want all at 10ms", n)
		}
	}
	s.After(time.Millisecond, l.event(9))
	s.Run(Forever)
	if got := l.got[8]; got.At != 11*ms {
		t.Errorf("after the freeze: %v", got)
	}
}

// A timer that came due during the freeze can be cancelled by what comes before it at the end.
func TestFrozenTimersCanBeCancelled(t *testing.T) {
	var s Sim
	s.Freezable()
	l := newLog(&s)
	timer := s.Arm(s.Delay(3*time.Millisecond), l.event(2))
	s.At(2*ms, l.event(1))
	l.then = func(ev Event) {
		if ev.A == 1 && !s.Cancel(timer) {
			t.Error("the timer was not armed any more")
		}
	}
	s.Freeze(10*ms, l.id)
	s.Run(Forever)
	wantOrder(t, l, 1)
}

// A second freeze can only prolong the first; one that is over can be followed by another.
func TestFreezeAgain(t *testing.T) {
	var s Sim
	s.Freezable()
	l := newLog(&s)
	s.At(1*ms, l.event(1))
	s.ArmAt(2*ms, l.event(2))
	s.Freeze(5*ms, l.id)
	s.Run(3 * ms)
	s.Freeze(8*ms, l.id)
	s.Freeze(4*ms, l.id)
	s.Run(9 * ms)
	s.At(10*ms, l.event(3))
	s.Freeze(12*ms, l.id)
	s.Run(Forever)
	want := []note{{At: 8 * ms, A: 1}, {At: 8 * ms, A: 2}, {At: 12 * ms, A: 3}}
	if d := gocmp.Diff(want, l.got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestRemovedActorsHearNothing(t *testing.T) {
	var s Sim
	s.Freezable()
	l := newLog(&s)
	s.At(1*ms, l.event(1))
	s.At(3*ms, l.event(2))
	s.Run(1 * ms)
	s.Freeze(2*ms, l.id)
	s.Remove(l.id) // also while it is frozen
	s.Run(Forever)
	wantOrder(t, l, 1)
}

// What one frozen actor asks of another at the end is answered before the next event that was held back.
func TestFrozenTogether(t *testing.T) {
	var s Sim
	s.Freezable()
	asks, answers := newLog(&s), newLog(&s)
	asks.then = func(ev Event) {
		if ev.A < 10 {
			s.Continue(answers.event(ev.A))
		}
	}
	answers.then = func(ev Event) { s.Continue(asks.event(10 * ev.A)) }
	s.At(2*ms, asks.event(1))
	s.At(3*ms, asks.event(2))
	s.Freeze(5*ms, asks.id, answers.id)
	s.Run(Forever)
	wantOrder(t, asks, 1, 10, 2, 20)
	wantOrder(t, answers, 1, 2)
}

// TestFreezeAgainstALaterTwin: what happens to actors that are frozen together is what happens to such as are told of everything
// at the end of the freeze in the first place, and the others notice nothing.
func TestFreezeAgainstALaterTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := Time(rapid.IntRange(0, 20).Draw(t, "from"))
		until := from + Time(rapid.IntRange(0, 20).Draw(t, "for"))
		type entry struct {
			at    Time
			to    int
			timer bool
		}
		var all []entry
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			all = append(all, entry{Time(rapid.IntRange(0, 50).Draw(t, "at")), rapid.IntRange(0, 2).Draw(t, "to"), rapid.Bool().Draw(t, "timer")})
		}
		play := func(freeze bool) (mine, others []note) {
			var s Sim
			s.Freezable()
			l, m, o := newLog(&s), newLog(&s), newLog(&s)
			m.then = func(ev Event) { l.got = append(l.got, m.got[len(m.got)-1]) } // one log of both
			if freeze && from == 0 {
				s.Freeze(until, l.id, m.id)
			}
			for i, e := range all {
				to, at := []*log{l, m, o}[e.to], e.at
				if e.timer {
					s.ArmAt(at, to.event(int32(i)))
				} else {
					s.At(at, to.event(int32(i)))
				}
			}
			if from > 0 {
				s.Run(from - 1)
			}
			if freeze && from > 0 {
				s.Freeze(until, l.id, m.id)
			}
			s.Run(Forever)
			return l.got, o.got
		}
		want, wantOthers := play(false)
		for i := range want {
			if at := &want[i].At; *at >= from && *at < until {
				*at = until
			}
		}
		got, others := play(true)
		if d := gocmp.Diff(want, got); d != "" {
			t.Fatalf("frozen from %v to %v (-want +got):\n%s", from, until, d)
		}
		if d := gocmp.Diff(wantOthers, others); d != "" {
			t.Fatalf("others (-want +got):\n%s", d)
		}
	})
}
