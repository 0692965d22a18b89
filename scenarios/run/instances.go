package run

import (
	"reflect"

	"poolwise/pool"
	"poolwise/pool/models"
	"poolwise/scenarios"
	"poolwise/sim/record"
)

// limitOf returns what limits the connections of a service: the server's limit without what is kept for others, that of its
// role, or that of the pooler. Without any it is the zero value.
func limitOf(s *scenarios.Scenario, v *scenarios.Service) record.Instances {
	if s.Pooler != nil && !v.Direct {
		n := s.Pooler.MaxClientConnections
		return record.Instances{Of: "pooler", Limit: n, Left: n}
	}
	var l record.Instances
	superuser, useReserved, roleLimit := false, false, 0
	for _, r := range s.Server.Roles {
		if r.Name == v.Role {
			superuser, useReserved, roleLimit = r.Superuser, r.UseReserved, r.Limit
		}
	}
	if n := s.Server.ConnectionLimit; n > 0 {
		l = record.Instances{Of: "server", Limit: n, Superuser: s.Server.SuperuserReserved, Reserved: s.Server.Reserved}
		if superuser {
			l.Superuser = 0
		}
		if superuser || useReserved {
			l.Reserved = 0
		}
		l.Left = n - l.Superuser - l.Reserved
	}
	if roleLimit > 0 && (l.Limit == 0 || roleLimit < l.Left) {
		l = record.Instances{Of: "role", Limit: roleLimit, Left: roleLimit}
	}
	return l
}

// instances applies the budget rule to the sized service: what the limit leaves, beside the connections that other services may
// open, is divided among the instances that there are at the peak. It is nil for one instance, or without a limit.
func instances(s *scenarios.Scenario, v *scenarios.Service, surge int) *record.Instances {
	l := limitOf(s, v)
	if l.Limit == 0 || v.Instances+surge < 2 {
		return nil
	}
	for _, other := range s.All() {
		if child, ok := other.Pool.Options.(pool.ChildOptions); other.Owner() == v.Owner() || other.PoolOf != "" || ok && child.ParentName() != "" {
			continue // a child opens connections in the place of its parent, and who has no pool opens none
		}
		if o := limitOf(s, &other); o.Of == l.Of && (l.Of != "role" || other.Role == v.Role) {
			l.Others += other.Instances * sizeOf(other.Pool)
		}
	}
	l.Left = max(l.Left-l.Others, 0)
	l.Instances, l.Surge = v.Instances, surge
	l.Each, l.Without = l.Left/(v.Instances+surge), l.Left/v.Instances
	return &l
}

// sizeOf returns the size that the options of a pool give it, 0 for one without.
func sizeOf(p *scenarios.Pool) int {
	m, _ := models.Named(p.Model)
	o := reflect.ValueOf(p.Options).Elem()
	for i := range o.NumField() {
		if m.Size != "" && o.Type().Field(i).Tag.Get("yaml") == m.Size {
			return int(o.Field(i).Int())
		}
	}
	return 0
}
