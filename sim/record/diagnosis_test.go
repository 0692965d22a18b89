package record

import (
	"testing"
	"time"

	"poolwise/sim"
)

// TestLeaks: two instances of 3 slots each lose slots until 100 s. The first loses its third at 60 s, is restarted at 70 s and loses
// one more; the second loses two.
func TestLeaks(t *testing.T) {
	second := func(n int) sim.Time { return sim.Time(time.Duration(n) * time.Second) }
	play := func(restartAt, third int) Cell {
		r := NewRecorder(2, 0)
		r.Group([]Group{{Name: "app", N: 2}})
		r.Capacity(0, 3)
		r.Capacity(1, 3)
		for _, at := range []int{10, 20} {
			r.Note(Fact{At: second(at), Kind: Leaked, Pool: 0})
			r.Note(Fact{At: second(at), Kind: Leaked, Pool: 1})
		}
		if restartAt < third {
			r.Note(Fact{At: second(restartAt), Kind: Exited, Pool: 0, Request: -1})
		}
		r.Note(Fact{At: second(third), Kind: Leaked, Pool: 0})
		if restartAt > third {
			r.Note(Fact{At: second(restartAt), Kind: Exited, Pool: 0, Request: -1})
			r.Note(Fact{At: second(90), Kind: Leaked, Pool: 0})
		}
		return Merge(nil, []string{"app-1", "app-2"}, []*Run{r.Finish(second(100), 0, 0)})
	}
	c := play(70, 60)
	if l := c.Leaks[0]; l.Service != "app" || l.Capacity != 3 || l.Leaked.Value != 3 || l.Extrapolated || l.EmptyAfter != Exact(60*time.Second) {
		t.Errorf("%+v", l)
	}
	// Restarted before, no instance runs empty. Five slots of two instances in 100 s are one in 40 s for each: three in 120 s.
	c = play(50, 60)
	if l := c.Leaks[0]; l.Leaked.Value != 2.5 || !l.Extrapolated || l.EmptyAfter != Exact(120*time.Second) {
		t.Errorf("%+v", l)
	}
	if len(c.Diagnoses) != 1 || c.Diagnoses[0].Text != "of 3 slots 2.5 are lost for ever; at this rate none is left after 2m0s" {
		t.Errorf("%+v", c.Diagnoses)
	}
	e, err := ParseCheck("empty_after>=2m")
	if err != nil {
		t.Fatal(err)
	}
	if k := e.Evaluate(&c); k.Status != Passed {
		t.Errorf("%+v", k)
	}
}

// TestConnectionsThatAreKept: the level only ever rises if its minima do; a busy pool and one that empties now and then are none.
func TestConnectionsThatAreKept(t *testing.T) {
	run := func(level func(second int) (low, high int)) Cell {
		r := NewRecorder(1, 0)
		now := 0
		move := func(at, to int) {
			for ; now < to; now++ {
				r.Note(Fact{At: sim.Time(at) * sim.Time(ms), Kind: ConnMoved, Move: Between(None, InUse)})
			}
			for ; now > to; now-- {
				r.Note(Fact{At: sim.Time(at) * sim.Time(ms), Kind: ConnMoved, Move: Between(InUse, None)})
			}
		}
		for s := range 120 {
			low, high := level(s)
			move(1000*s, high)
			move(1000*s+500, low)
		}
		return Merge(nil, []string{""}, []*Run{r.Finish(sim.Time(120*time.Second), 0, 0)})
	}
	for name, tt := range map[string]struct {
		level func(s int) (low, high int)
		kept  bool
	}{
		"one kept in 20 s": {func(s int) (int, int) { return s / 20, s/20 + 7 }, true},
		"always full":      {func(s int) (int, int) { return 10, 10 }, false},
		"busy":             {func(s int) (int, int) { return s % 7, 10 }, false},
		"two steps only":   {func(s int) (int, int) { return 2 + s/50, 10 }, false},
		"emptied once":     {func(s int) (int, int) { return s / 20 * min(1, (s-100)*(s-100)), 10 }, false},
	} {
		c := run(tt.level)
		kept := len(c.Diagnoses) == 1 && c.Diagnoses[0].Kind == NeverReleased
		if kept != tt.kept {
			t.Errorf("%s: %+v", name, c.Diagnoses)
		}
	}
}

// TestFindingsOfAService: what happens to several instances is said once, as it was seen first, and counted.
func TestFindingsOfAService(t *testing.T) {
	part := []Part{{}, {}, {}}
	groups := []GroupRun{{Group: Group{Name: "app", First: 1, N: 2}}}
	at := func(n int) sim.Time { return sim.Time(time.Duration(n) * time.Second) }
	runs := []*Run{
		{Parts: part, Groups: groups},
		{Parts: part, Groups: groups, Findings: []Finding{{1, Deadlocked, at(9), "late"}, {2, Deadlocked, at(3), "early"}, {0, Deadlocked, at(5), "jobs"}}},
		{Parts: part, Groups: groups, Findings: []Finding{{2, Deadlocked, at(5), "other"}}},
	}
	got := Merge(nil, []string{"jobs", "app-1", "app-2"}, runs).Diagnoses
	if len(got) != 2 || got[0].Service != "app" || got[1].Service != "jobs" {
		t.Fatalf("%+v", got)
	}
	if d := got[0]; d.Text != "early" || d.Replications != 2 || d.Instances != 2 || d.At.Value != 4*time.Second {
		t.Errorf("%+v", d)
	}
}
