package run

import (
	"poolwise/scenarios"
	"poolwise/sim/record"
)

// bound adds to the levels over time what they cannot pass: what the server allows, and what a pooler does.
func bound(sc *scenarios.Scenario, s *record.Series) {
	if o := &sc.Server; o.ConnectionLimit > 0 && len(sc.Servers) == 0 {
		s.Limit = max(o.ConnectionLimit-o.SuperuserReserved-o.Reserved, 0)
	}
	if sc.Pooler == nil || s.Pooler == nil {
		return
	}
	// It has server connections for each role.
	roles := map[string]bool{}
	for i := range sc.Services {
		if v := &sc.Services[i]; !v.Direct && v.PoolOf == "" {
			roles[v.Role] = true
		}
	}
	s.Pooler.Slots = max(len(roles), 1) * (sc.Pooler.DefaultPoolSize + sc.Pooler.ReservePoolSize)
}
