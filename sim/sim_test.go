package sim

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// log is an actor that notes what it is told and may answer with an action.
type log struct {
	sim  *Sim
	id   ActorID
	got  []note
	then func(Event)
}

type note struct {
	At   Time
	Kind Kind
	A    int32
}

func newLog(s *Sim) *log {
	l := &log{sim: s}
	l.id = s.Add(l)
	return l
}

func (l *log) Handle(ev Event) {
	l.got = append(l.got, note{l.sim.Now(), ev.Kind, ev.A})
	if l.then != nil {
		l.then(ev)
	}
}

func (l *log) event(a int32) Event { return Event{To: l.id, A: a} }

func (l *log) order() (as []int32) {
	for _, n := range l.got {
		as = append(as, n.A)
	}
	return as
}

func wantOrder(t *testing.T, l *log, want ...int32) {
	t.Helper()
	if d := gocmp.Diff(want, l.order()); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}

func TestEqualTimesRunInOrderOfScheduling(t *testing.T) {
	var s Sim
	l := newLog(&s)
	ms := s.Delay(time.Millisecond)
	s.After(time.Millisecond, l.event(1)) // heap
	s.Arm(ms, l.event(2))                 // lane
	s.ArmAt(Time(time.Millisecond), l.event(3))
	s.Arm(ms, l.event(4))
	s.At(Time(time.Millisecond), l.event(5))
	s.Soon(l.event(0))
	s.Run(Forever)
	wantOrder(t, l, 0, 1, 2, 3, 4, 5)
}

func TestContinuationRunsBeforeEverythingElse(t *testing.T) {
	var s Sim
	l := newLog(&s)
	l.then = func(ev Event) {
		if ev.A == 1 {
			s.Soon(l.event(5))
			s.Continue(l.event(2))
			s.Answer(Reply{To: l.id, A: 3}, 7)
			s.Answer(Reply{To: Nobody, A: 9}, 7)
		}
	}
	s.Soon(l.event(1))
	s.Soon(l.event(4))
	s.Run(Forever)
	wantOrder(t, l, 1, 2, 3, 4, 5)
}

func TestRunAtItsEdges(t *testing.T) {
	var s Sim
	l := newLog(&s)
	for i := range int32(4) {
		s.At(Time(i)*10, l.event(i))
	}
	s.Run(10)
	wantOrder(t, l, 0, 1)
	if s.Now() != 10 {
		t.Errorf("now %d after Run(10)", s.Now())
	}
	s.Run(15) // nothing is due: the clock moves all the same
	if s.Now() != 15 {
		t.Errorf("now %d after Run(15)", s.Now())
	}
	if s.RunSome(Forever, 1) {
		t.Error("over after one of two events")
	}
	l.then = func(Event) { s.Stop() }
	s.Run(100)
	if s.Now() != 30 {
		t.Errorf("stopped at 30, clock says %d", s.Now())
	}
	l.then = nil
	s.Run(Forever)
	if s.Now() != 30 {
		t.Errorf("nothing left, clock says %d", s.Now())
	}
	wantOrder(t, l, 0, 1, 2, 3)
}

func TestStopLeavesTheRestQueued(t *testing.T) {
	var s Sim
	l := newLog(&s)
	l.then = func(ev Event) {
		if ev.A == 1 {
			s.Stop()
			s.Continue(l.event(2)) // still part of the event in hand
		}
	}
	s.Soon(l.event(1))
	s.Soon(l.event(3))
	s.Run(Forever)
	wantOrder(t, l, 1, 2)
	s.Run(Forever)
	wantOrder(t, l, 1, 2, 3)
}

func TestCancelledTimersDoNotMoveTheClock(t *testing.T) {
	var s Sim
	l := newLog(&s)
	lane := s.Arm(s.Delay(time.Hour), l.event(1))
	heap := s.ArmAt(Time(time.Hour), l.event(2))
	s.At(5, l.event(3))
	for _, timer := range []Timer{lane, heap} {
		if !s.Cancel(timer) || s.Cancel(timer) || s.Cancel(Timer{}) {
			t.Error("Cancel: want true once, then false; false for the zero timer")
		}
	}
	s.Run(Forever)
	wantOrder(t, l, 3)
	if s.Now() != 5 {
		t.Errorf("now %d, want 5", s.Now())
	}
	fired := s.Arm(s.Delay(time.Hour), l.event(4))
	s.Run(Forever)
	if s.Cancel(fired) {
		t.Error("a timer that has fired was cancelled")
	}
}

func TestEventInThePastPanics(t *testing.T) {
	var s Sim
	l := newLog(&s)
	s.Run(10)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	s.At(9, l.event(0))
}

func TestTimeSaturates(t *testing.T) {
	if got := Time(5).Add(math.MaxInt64); got != Forever {
		t.Errorf("5ns + 292 years = %v", got)
	}
	if got := Time(5).Add(-3); got != 2 {
		t.Errorf("5ns - 3ns = %v", got)
	}
}

// TestAgainstASortedList drives kernel and a dumb twin, a sorted list, through the same random history.
func TestAgainstASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Sim
		l := newLog(&s)
		type entry struct {
			at  Time
			seq int
			a   int32
		}
		var (
			twin   []entry
			timers = map[int32]Timer{}
			want   []note
			next   int32
			count  int
		)
		delays := make([]Delay, 70) // more than there are lanes
		for i := range delays {
			delays[i] = s.Delay(time.Duration(i % 67))
		}
		add := func(at Time) int32 {
			count++
			next++
			twin = append(twin, entry{at, count, next})
			return next
		}
		t.Repeat(map[string]func(*rapid.T){
			"at": func(t *rapid.T) {
				at := s.Now() + Time(rapid.IntRange(0, 50).Draw(t, "in"))
				s.At(at, l.event(add(at)))
			},
			"soon": func(t *rapid.T) { s.Soon(l.event(add(s.Now()))) },
			"arm": func(t *rapid.T) {
				i := rapid.IntRange(0, len(delays)-1).Draw(t, "delay")
				a := add(s.Now() + Time(i%67))
				timers[a] = s.Arm(delays[i], l.event(a))
			},
			"arm at": func(t *rapid.T) {
				at := s.Now() + Time(rapid.IntRange(0, 50).Draw(t, "in"))
				a := add(at)
				timers[a] = s.ArmAt(at, l.event(a))
			},
			"cancel": func(t *rapid.T) {
				if next == 0 {
					t.Skip("nothing armed")
				}
				a := rapid.Int32Range(1, next).Draw(t, "timer")
				timer, armed := timers[a]
				if !armed {
					t.Skip("not a timer")
				}
				i := slices.IndexFunc(twin, func(e entry) bool { return e.a == a })
				if got := s.Cancel(timer); got != (i >= 0) {
					t.Fatalf("Cancel = %v, pending %v", got, i >= 0)
				}
				if i >= 0 {
					twin = slices.Delete(twin, i, i+1)
				}
			},
			"run": func(t *rapid.T) {
				end := s.Now() + Time(rapid.IntRange(0, 40).Draw(t, "for"))
				slices.SortFunc(twin, func(x, y entry) int {
					return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.seq, y.seq))
				})
				for len(twin) > 0 && twin[0].at <= end {
					want = append(want, note{At: twin[0].at, A: twin[0].a})
					twin = twin[1:]
				}
				s.Run(end)
				if d := gocmp.Diff(want, l.got); d != "" {
					t.Fatalf("history (-want +got):\n%s", d)
				}
			},
		})
	})
}

// shuffle is a Chooser that picks by a stream.
type shuffle struct {
	r     Rand
	asked int
}

func (c *shuffle) Choose(ready []Event) int { c.asked++; return c.r.Below(len(ready)) }

type last struct{}

func (last) Choose(ready []Event) int { return len(ready) - 1 }

func TestChooserReversesTies(t *testing.T) {
	var s Sim
	s.SetChooser(last{}, 0)
	l := newLog(&s)
	for i := range int32(3) {
		s.At(10, l.event(i))
	}
	s.At(11, l.event(9))
	s.Run(Forever)
	wantOrder(t, l, 2, 1, 0, 9)
}

func TestChooserWindowRunsOvertakenEventsLate(t *testing.T) {
	var s Sim
	s.SetChooser(last{}, 5)
	l := newLog(&s)
	s.At(10, l.event(0))
	s.At(14, l.event(1))
	s.At(16, l.event(2))
	s.Run(Forever)
	want := []note{{At: 14, A: 1}, {At: 14, A: 0}, {At: 16, A: 2}}
	if d := gocmp.Diff(want, l.got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestChooserCannotRunACancelledTimer(t *testing.T) {
	var s Sim
	s.SetChooser(last{}, 0)
	l := newLog(&s)
	timer := s.Arm(s.Delay(10), l.event(0))
	s.At(10, l.event(1))
	l.then = func(ev Event) {
		if !s.Cancel(timer) {
			t.Error("a timer that is held back cannot be cancelled")
		}
	}
	s.Run(Forever)
	wantOrder(t, l, 1)
}

// TestChooserLosesNothing: whatever is chosen, each event runs once and none before its time.
func TestChooserLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Sim
		c := &shuffle{r: NewStream(rapid.Uint64().Draw(t, "seed"), "ties").At(0)}
		s.SetChooser(c, time.Duration(rapid.IntRange(0, 5).Draw(t, "window")))
		l := newLog(&s)
		at := rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 30).Draw(t, "times")
		for i, x := range at {
			s.ArmAt(Time(x), l.event(int32(i)))
		}
		s.Run(Forever)
		if len(l.got) != len(at) {
			t.Fatalf("%d of %d events ran", len(l.got), len(at))
		}
		seen := map[int32]bool{}
		for _, n := range l.got {
			if seen[n.A] || n.At < Time(at[n.A]) {
				t.Fatalf("event %d for %d ran at %d, again %v", n.A, at[n.A], n.At, seen[n.A])
			}
			seen[n.A] = true
		}
	})
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	var s Sim
	l := &counter{}
	id := s.Add(l)
	timeout := s.Delay(time.Second)
	var jittered, constant Timer
	l.handle = func(ev Event) {
		switch ev.Kind {
		case 0:
			s.After(time.Duration(1+ev.A), ev)
			s.Cancel(constant)
			constant = s.Arm(timeout, Event{To: id, Kind: 1})
			s.Cancel(jittered)
			jittered = s.ArmAt(s.Now().Add(50+time.Duration(ev.A)), Event{To: id, Kind: 1})
			s.Soon(Event{To: id, Kind: 2})
			s.Continue(Event{To: id, Kind: 2})
		}
	}
	for i := range int32(100) {
		s.Soon(Event{To: id, A: i})
	}
	s.Run(10_000)
	if n := testing.AllocsPerRun(10, func() { s.Run(s.Now() + 1000) }); n != 0 {
		t.Errorf("%v allocations in 1000 ns of simulated time", n)
	}
}

type counter struct{ handle func(Event) }

func (c *counter) Handle(ev Event) { c.handle(ev) }

func TestStreamsAreKeyedBySeedPurposeNumberAndDraw(t *testing.T) {
	first := func(seed uint64, purpose string, number int64, draw int) uint64 {
		r := NewStream(seed, purpose).At(number)
		for range draw {
			r.Bits()
		}
		return r.Bits()
	}
	base := first(1, "service", 1, 0)
	if base != first(1, "service", 1, 0) {
		t.Error("the same key gave two numbers")
	}
	for name, other := range map[string]uint64{
		"seed": first(2, "service", 1, 0), "purpose": first(1, "servicf", 1, 0), "number": first(1, "service", 2, 0), "draw": first(1, "service", 1, 1),
	} {
		if other == base {
			t.Errorf("another %s gave the same number", name)
		}
	}
}

// TestStreamsLookRandom checks uniformity (chi-square over 64 cells, 63 degrees of freedom: 0.1 % of good generators exceed
// 104) along numbers, along draws, and of the bits in which neighbours differ.
func TestStreamsLookRandom(t *testing.T) {
	const n = 64 * 2000
	series := map[string]func(i int) uint64{
		"numbers": func(i int) uint64 { r := NewStream(7, "x").At(int64(i)); return r.Bits() },
		"draws": func() func(int) uint64 {
			r := NewStream(7, "x").At(0)
			return func(int) uint64 { return r.Bits() }
		}(),
		"seeds": func(i int) uint64 { r := NewStream(uint64(i), "x").At(0); return r.Bits() },
	}
	for name, at := range series {
		var high, low [64]int
		flips, prev := 0, uint64(0)
		for i := range n {
			v := at(i)
			high[v>>58]++
			low[v&63]++
			flips += bits.OnesCount64(v ^ prev)
			prev = v
		}
		for which, cells := range map[string][64]int{"high": high, "low": low} {
			chi := 0.0
			for _, c := range cells {
				d := float64(c) - n/64
				chi += d * d / (n / 64)
			}
			if chi > 104 {
				t.Errorf("%s: chi-square of the %s bits %.0f", name, which, chi)
			}
		}
		// 32 bits differ on average, with a standard deviation of 4/sqrt(n).
		if mean := float64(flips) / n; math.Abs(mean-32) > 4*4/math.Sqrt(n) {
			t.Errorf("%s: neighbours differ in %.3f bits", name, mean)
		}
	}
}

func TestUnitIsInsideTheInterval(t *testing.T) {
	r := NewStream(1, "unit").At(0)
	sum := 0.0
	const n = 100_000
	for range n {
		u := r.Unit()
		if u <= 0 || u >= 1 {
			t.Fatalf("unit %v", u)
		}
		sum += u
	}
	if mean := sum / n; math.Abs(mean-0.5) > 4/math.Sqrt(12*n) {
		t.Errorf("mean %v", mean)
	}
}

func TestBelowIsUniform(t *testing.T) {
	r := NewStream(1, "below").At(0)
	var cells [7]float64
	const n = 70_000
	for range n {
		cells[r.Below(7)]++
	}
	chi := 0.0
	for _, c := range cells {
		chi += (c - n/7) * (c - n/7) / (n / 7)
	}
	if chi > 22.5 { // 6 degrees of freedom, 0.1 %
		t.Errorf("chi-square %.1f: %v", chi, cells)
	}
}

func BenchmarkSuccessor(b *testing.B) {
	var s Sim
	l := &counter{}
	id := s.Add(l)
	l.handle = func(ev Event) { s.After(time.Duration(100+ev.A), ev) }
	for i := range int32(8) {
		s.Soon(Event{To: id, A: i})
	}
	b.ReportAllocs()
	for b.Loop() {
		s.RunSome(Forever, 1)
	}
}

func BenchmarkArmAndCancel(b *testing.B) {
	var s Sim
	l := &counter{}
	id := s.Add(l)
	d := s.Delay(time.Second)
	b.ReportAllocs()
	for b.Loop() {
		s.Cancel(s.Arm(d, Event{To: id}))
	}
}

// TestCirclesDoNotKeepTheCaller: continuations that go on for ever are cut into pieces like anything else, and a Stop holds until all
// continuations of its event are done, wherever the pieces end.
func TestCirclesDoNotKeepTheCaller(t *testing.T) {
	var s Sim
	l := newLog(&s)
	l.then = func(Event) { s.Continue(l.event(1)) }
	s.At(0, l.event(0))
	for range 3 {
		if s.RunSome(Forever, 10) {
			t.Fatal("a circle was over")
		}
	}
	if len(l.got) != 30 {
		t.Errorf("%d events in three pieces of ten", len(l.got))
	}
	for piece := 1; piece < 8; piece++ {
		var s Sim
		l := newLog(&s)
		l.then = func(ev Event) {
			switch ev.A {
			case 0:
				s.Stop()
				s.Continue(l.event(1))
			case 1:
				s.Continue(l.event(2))
			}
		}
		s.At(1, l.event(0))
		s.At(1, l.event(9))
		for !s.RunSome(Forever, piece) {
		}
		wantOrder(t, l, 0, 1, 2)
	}
}
