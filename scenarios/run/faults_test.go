package run

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/scenarios"
	"poolwise/sim/record"
	"poolwise/sim/server"
)

// TestFaultsAreNamed: a window without a length lasts to the end, an incident is at an instant.
func TestFaultsAreNamed(t *testing.T) {
	sc := &scenarios.Scenario{}
	sc.Server.Faults = []server.Fault{
		{At: time.Second, For: 2 * time.Second, Refuse: true}, {At: 5 * time.Second, Slow: 2.5}, {At: 7 * time.Second, Restart: true},
	}
	want := []record.Fault{
		{At: time.Second, For: 2 * time.Second, What: "connects refused"},
		{At: 5 * time.Second, For: math.MaxInt64 - 5*time.Second, What: "queries 2.5 times as long"},
		{At: 7 * time.Second, What: "server restarts"},
	}
	if diff := cmp.Diff(want, faults(sc)); diff != "" {
		t.Error(diff)
	}
	if name := nameFault(&server.Fault{}); name != "fault" {
		t.Errorf("nothing is called %q", name)
	}
}

// TestDatabaseStall: what has piled up is gone after the length of the stall times the rate, over what the database can do beside it.
func TestDatabaseStall(t *testing.T) {
	for label, load := range map[string]float64{"80 %": 0.8, "90 %": 0.9, "95 %": 0.95} {
		_, s := tell(t, "database-stall", label)
		want := 5 * load / (1 - load)
		over, waited := s.ended(record.WaitEnded, record.OK), 0.0
		for _, f := range over {
			waited = max(waited, (time.Duration(f.At) - 15*time.Second).Seconds())
		}
		within(t, label+": time until nobody waits", waited, want, 0.01)
	}
}

// TestFaultsWithoutEffect: a fault that strikes nothing is named, as it often is another than was meant.
func TestFaultsWithoutEffect(t *testing.T) {
	const src = `
name: f
until: drained
server:
  cores: 2
  connect: 1ms
  faults: [%s]
pool: {model: semaphore, max: 2}
workload:
  clients: 2
  repeat: 300
  request: [acquire, query: 1ms, release]`
	for fault, none := range map[string]bool{
		"{at: 100ms, for: 100ms, connect_hang: true}": true, // all connections are open
		"{at: 100ms, for: 100ms, refuse: true}":       true,
		"{at: 100ms, for: 100ms, stall: true}":        false,
		"{at: 100ms, for: 100ms, partition: true}":    false,
		"{at: 100ms, for: 100ms, slow: 3}":            false,
		"{at: 100ms, drop_idle: {after: 1s}}":         true, // none is idle for so long
		"{drop_idle: {after: 1us}}":                   true,
		"{at: 100ms, restart: true}":                  false,
		"{at: 10s, restart: true}":                    true, // the run is over
		"{at: 0s, for: 1s, refuse: true}":             false,
	} {
		base, cells := mustLoad(t, fmt.Sprintf(src, fault), scenarios.Options{})
		res, err := Run(context.Background(), base, cells, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(res.Cells[0].Warnings, "\n"), "had no effect"); got != none {
			t.Errorf("%s: said to have no effect: %v; warnings %q", fault, got, res.Cells[0].Warnings)
		}
	}
}

// TestFaultInTheWarmUp: of a fault that is over before anything is measured the figures show nothing, and that is said.
func TestFaultInTheWarmUp(t *testing.T) {
	const src = `
until: 20s
estimate: steady
warmup: %s
server: {cores: 2, faults: [{at: 1s, for: %s, stall: true}, {at: 3s, restart: true}]}
pool: {model: semaphore, max: 2}
workload: {clients: 2, think: 10ms, request: [acquire, query: 1ms, release]}`
	for _, c := range []struct {
		warmup, length string
		over           int
	}{{"5s", "2s", 2}, {"5s", "5s", 1}, {"2s", "2s", 0}, {"none", "2s", 0}} {
		base, cells := mustLoad(t, fmt.Sprintf(src, c.warmup, c.length), scenarios.Options{})
		res, err := Run(context.Background(), base, cells, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(strings.Join(res.Cells[0].Warnings, "\n"), "is over before what is measured begins"); got != c.over {
			t.Errorf("warm-up %s, a stall of %s: %d faults are said to be over, want %d: %q", c.warmup, c.length, got, c.over, res.Cells[0].Warnings)
		}
	}
}
