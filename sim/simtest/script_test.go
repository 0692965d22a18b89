package simtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"poolwise/sim"
)

// echo is a conversation that says what it is told and when.
type echo struct {
	script Script
	said   []string
}

func (e *echo) Handle(ev sim.Event) {
	if !e.script.Handle(ev) {
		e.say(fmt.Sprintf("event %d", ev.Kind))
	}
}

func (e *echo) say(what string) {
	e.said = append(e.said, fmt.Sprintf("%v %s", e.script.Sim.Now(), what))
}

func newEcho() *echo {
	e := new(echo)
	e.script.Sim = new(sim.Sim)
	e.script.To = e.script.Sim.Add(e)
	e.script.Command = func(command string) {
		e.say(command)
		if command == "answer" { // the rest of the event
			e.script.Sim.Answer(sim.Reply{To: e.script.To, Kind: 7}, 0)
		}
	}
	return e
}

func TestScript(t *testing.T) {
	for _, c := range []struct {
		lines, want []string
	}{
		{[]string{"answer ; b", "c"}, []string{"0s answer", "0s b", "0s event 7", "0s c"}},
		{[]string{"after 2ms a ; b", "c", "run 1ms", "d", "run 1ms"}, []string{"0s c", "1ms d", "2ms a", "2ms b"}},
		{[]string{"run 5ms", "at 7ms a", "at 6ms b", "to 6ms", "c", "to 6ms"}, []string{"6ms b", "6ms c"}},
		{[]string{"at 0s a", "b"}, []string{"0s a", "0s b"}}, // what was planned first
		{[]string{"after 1h a", "after 2h answer", "drain", "b"}, []string{"1h0m0s a", "2h0m0s answer", "2h0m0s event 7", "2h0m0s b"}},
	} {
		e := newEcho()
		for _, line := range c.lines {
			if err := e.script.Do(line); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if diff := cmp.Diff(c.want, e.said); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.lines, diff)
		}
	}
	for _, line := range []string{"run", "to noon", "at 3 a", "after a"} {
		if err := newEcho().script.Do(line); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
}

func TestShuffle(t *testing.T) {
	order := func(seed uint64) []string {
		e := new(echo)
		e.script.Sim = new(sim.Sim)
		e.script.Sim.SetChooser(Shuffle(seed), 0)
		to := e.script.Sim.Add(e)
		for kind := range sim.Kind(6) {
			e.script.Sim.Soon(sim.Event{To: to, Kind: kind})
		}
		e.script.Sim.Run(0)
		return e.said
	}
	orders := map[string]bool{}
	for seed := range uint64(100) {
		got := order(seed)
		if !slices.Equal(got, order(seed)) {
			t.Errorf("seed %d gives two orders", seed)
		}
		orders[fmt.Sprint(got)] = true
		slices.Sort(got)
		if len(slices.Compact(got)) != 6 {
			t.Errorf("seed %d: %v", seed, got)
		}
	}
	if len(orders) < 80 { // of 720; 100 draws have about 7 in common
		t.Errorf("%d orders of 100", len(orders))
	}
}

// M/M/1: a customer waits with probability a. M/M/2: with a^2/(2+a), by hand. M/M/2/2: a^2/2 of 1 + a + a^2/2.
func TestErlang(t *testing.T) {
	for _, c := range []struct{ have, want float64 }{
		{ErlangC(1, 0.7), 0.7}, {ErlangC(2, 1), 1.0 / 3}, {ErlangC(2, 1.5), 2.25 / 3.5}, {ErlangB(1, 1), 0.5}, {ErlangB(2, 1), 0.2},
	} {
		if math.Abs(c.have-c.want) > 1e-12 {
			t.Errorf("have %v, want %v", c.have, c.want)
		}
	}
}
