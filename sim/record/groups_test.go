package record

import (
	"testing"
	"time"

	"poolwise/sim"
)

// TestGroups: of three pools, the last two are one service. They have 4 connections each, from 10 s to 20 s and from 15 s to 25 s, so
// 8 together from 15 s to 20 s, and on the average of 40 s (4 x 10 + 4 x 10) / 40 = 2. The largest of the service is that of one
// time, not the sum of the largest of each.
func TestGroups(t *testing.T) {
	r := NewRecorder(3, 0)
	r.Group([]Group{{Name: "app", First: 1, N: 2}})
	second := func(n int) sim.Time { return sim.Time(time.Duration(n) * time.Second) }
	move := func(at int, pool int16, n int, m Move) {
		for range n {
			r.Note(Fact{At: second(at), Kind: ConnMoved, Pool: pool, Move: m})
		}
	}
	move(0, 0, 7, Between(None, InUse))
	move(10, 1, 4, Between(None, InUse))
	move(15, 2, 4, Between(None, InUse))
	move(20, 1, 4, Between(InUse, None))
	r.Note(Fact{At: second(25), Kind: Exited, Pool: 2, Request: -1})
	for pool := range int16(3) {
		for range pool + 1 {
			r.Note(Fact{At: second(30), Kind: RequestBegan, Pool: pool})
			r.Note(Fact{At: second(31), Kind: RequestEnded, Pool: pool, Took: time.Second})
		}
	}
	c := Merge(nil, []string{"jobs", "app-1", "app-2"}, []*Run{r.Finish(second(40), 0, 0)})
	if len(c.Services) != 1 {
		t.Fatalf("%d services", len(c.Services))
	}
	s := c.Services[0]
	if s.Name != "app" || s.Instances != 2 || s.Requests.OK != 5 || s.Latency.N != 5 {
		t.Errorf("%+v", s)
	}
	if l := s.Levels.InUse; l.Max.Value != 8 || l.Mean.Value != 2 || l.Final.Value != 0 {
		t.Errorf("in use %+v", l)
	}
	if l := c.Levels.InUse; l.Max.Value != 15 || l.Final.Value != 7 {
		t.Errorf("in use, all together: %+v", l)
	}
	// Curves are of services, and of pools in none, not of instances.
	if h := s.Curves.Latency; h == nil || h.N() != 5 || c.Pools[0].Curves.Latency == nil || c.Pools[1].Curves.Latency != nil {
		t.Errorf("curves %+v, %+v, %+v", s.Curves, c.Pools[0].Curves, c.Pools[1].Curves)
	}
	for check, want := range map[string]Status{
		"ok{service=app}==5": Passed, "in_use.max{service=app}==8": Passed, "ok{service=app-2}==3": Passed, "ok{service=web}==0": NotEvaluated,
	} {
		e, err := ParseCheck(check)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Evaluate(&c).Status; got != want {
			t.Errorf("%s: %s", check, got)
		}
	}
}

// A service that has all pools has the levels of all together.
func TestGroupOfAll(t *testing.T) {
	r := NewRecorder(2, 0)
	r.Group([]Group{{Name: "app", N: 2}})
	for pool := range int16(2) {
		r.Note(Fact{Kind: ConnMoved, Pool: pool, Move: Between(None, Idle)})
	}
	c := Merge(nil, []string{"app-1", "app-2"}, []*Run{r.Finish(sim.Time(time.Second), 0, 0)})
	if got := c.Services[0].Levels.Idle; got != c.Levels.Idle || got.Max.Value != 2 {
		t.Errorf("idle %+v", got)
	}
}
