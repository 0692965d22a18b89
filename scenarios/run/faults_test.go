package run

import (
	"math"
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
