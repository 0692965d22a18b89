package run

import (
	"testing"

	"poolwise/scenarios"
	"poolwise/sim/pooler"
	"poolwise/sim/record"
)

// TestBounds: what is reserved is not for pools; a pooler has its pool, and the reserve, for each role that comes through it.
func TestBounds(t *testing.T) {
	sc := &scenarios.Scenario{Pooler: &scenarios.Pooler{Options: pooler.Options{DefaultPoolSize: 20, ReservePoolSize: 5}}}
	sc.Server.ConnectionLimit, sc.Server.SuperuserReserved, sc.Server.Reserved = 100, 3, 2
	sc.Services = []scenarios.Service{{Role: "a"}, {Role: "b"}, {Role: "a"}, {Role: "c", Direct: true}}
	s := &record.Series{Pooler: &record.Course{}}
	bound(sc, s)
	if s.Limit != 95 || s.Pooler.Slots != 2*25 {
		t.Errorf("limit %d, pooler %d", s.Limit, s.Pooler.Slots)
	}
	sc.Services, sc.Server.ConnectionLimit = nil, 0
	s = &record.Series{Pooler: &record.Course{}}
	if bound(sc, s); s.Limit != 0 || s.Pooler.Slots != 25 {
		t.Errorf("without a limit: %d, pooler %d", s.Limit, s.Pooler.Slots)
	}
}
