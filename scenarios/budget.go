package scenarios

import (
	"cmp"
	"slices"
	"time"

	"poolwise/pool/models"
	"poolwise/sim/record"
)

// Budget divides the connections that the main server allows among the services that connect to it, each at its peak: the most
// instances that are alive at once, old and new ones together. It is nil if the server has no limit, or if there is only one
// pool. A service whose pools have no limit has no part in it. Pools behind the pooler count by the pooler.
func (s *Scenario) Budget() *record.Budget {
	o := &s.Server
	if o.ConnectionLimit == 0 || s.pools() < 2 {
		return nil
	}
	b := &record.Budget{Limit: o.ConnectionLimit, Reserved: o.SuperuserReserved + o.Reserved}
	var roles []int16 // of the rows
	add := func(name, role string, instances, peak, each int) {
		r, _ := o.Role(role)
		roles = append(roles, r)
		b.Rows = append(b.Rows, record.BudgetRow{Service: name, Instances: instances, Peak: peak, PerInstance: each, Demand: peak * each})
		b.Demand += peak * each
	}
	pooled := map[string]bool{} // roles that connect through the pooler, of which each has server connections of its own
	for i := range s.Services {
		v := &s.Services[i]
		if v.PoolOf != "" {
			continue // its connections are counted there
		}
		if s.Pooler != nil && !v.Direct {
			if !pooled[v.Role] {
				pooled[v.Role] = true
				add(ViaPooler, v.Role, 1, 1, s.Pooler.DefaultPoolSize+s.Pooler.ReservePoolSize)
			}
			continue
		}
		m, _ := models.Named(v.Pool.Model)
		if each := m.Capacity(v.Pool.Options); each > 0 && m.Name != "asyncio" { // which has no connections
			atEnd, peak := s.alive(v)
			add(v.Name, v.Role, atEnd, peak, each)
		}
	}
	b.Left = b.Limit - b.Reserved - b.Demand
	for i := range b.Rows {
		row := &b.Rows[i]
		allowed := b.Limit - s.kept(roles[i]) - (b.Demand - row.Demand)
		if r := roles[i]; r > 0 && o.Roles[r-1].Limit > 0 {
			ofRole := o.Roles[r-1].Limit
			for j := range b.Rows {
				if j != i && roles[j] == r {
					ofRole -= b.Rows[j].Demand
				}
			}
			allowed = min(allowed, ofRole)
		}
		row.Available = max(allowed, 0)
		row.Safe = row.Available / max(row.Peak, 1)
		row.WithoutPeak = row.Available / max(row.Instances, 1)
		row.NeedsAtPeak = row.WithoutPeak * row.Peak
	}
	return b
}

// kept returns how many sessions of the limit a role may not use.
func (s *Scenario) kept(role int16) int {
	if role > 0 {
		switch r := &s.Server.Roles[role-1]; {
		case r.Superuser:
			return 0
		case r.UseReserved:
			return s.Server.SuperuserReserved
		}
	}
	return s.Server.SuperuserReserved + s.Server.Reserved
}

// alive returns how many instances of a service are alive when its timetable is over, and the most that are alive at once. One
// that starts when another exits is alive together with it.
func (s *Scenario) alive(v *Service) (atEnd, peak int) {
	type change struct {
		at       time.Duration
		order    int // starts first, then as the actions are listed
		instance int
		dies     bool
	}
	var all []change
	for i := range v.Instances {
		all = append(all, change{at: v.starts(i), instance: i})
	}
	for n := range s.Actions {
		a := &s.Actions[n]
		if t := s.Target(a); t == nil || t.Name != v.Name || !a.Exits() && (a.Do == nil || *a.Do != Restart) {
			continue
		}
		for i := range v.Instances {
			if at, ok := a.When(i); ok {
				all = append(all, change{at, n + 1, i, a.Exits()})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	living := make([]bool, v.Instances)
	for _, c := range all {
		switch {
		case c.dies && living[c.instance]:
			atEnd--
		case !c.dies && !living[c.instance]:
			atEnd++
		}
		living[c.instance] = !c.dies
		peak = max(peak, atEnd)
	}
	return atEnd, peak
}
