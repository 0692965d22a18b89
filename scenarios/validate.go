package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"poolwise/pool"
	"poolwise/pool/models"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// The bounds of a scenario as a whole.
const (
	maxInstances    = 10000 // of all services together
	maxReplications = 100000
	maxChecks       = 1000
)

// Validate reports every mistake in s: the dotted path of the value, and what is wrong and what would be right.
func (s *Scenario) Validate(bad func(path, message string)) {
	s.validateTimes(bad)
	s.Server.Validate(under(bad, "server"))
	if s.Pooler != nil {
		s.Pooler.Validate(under(bad, "pooler"))
	}
	single := s.Pool != nil || s.Workload != nil
	switch {
	case single && s.Services != nil:
		bad("services", "want either services or one pool and workload, have both")
	case single:
		all := s.All()
		all[0].validate(s, bad)
		s.validateParent(&all[0], bad)
	case len(s.Services) == 0:
		bad("pool", "there is no pool: want pool and workload, or services; without a pool it is {model: none}")
	}
	s.validateServices(bad)
	s.validateServers(bad)
	s.validateActions(bad)
	if s.Replications < 1 || s.Replications > maxReplications {
		bad("replications", fmt.Sprintf("want 1 to %d, have %d", maxReplications, s.Replications))
	}
	if len(s.Checks) > maxChecks {
		bad("checks", fmt.Sprintf("want at most %d, have %d", maxChecks, len(s.Checks)))
		return
	}
	var names []string
	if s.instances() <= maxInstances {
		for _, v := range s.Services {
			if v.Instances > 1 {
				names = append(names, v.Name)
			}
		}
		names = append(names, s.PoolNames()...)
	}
	for i, c := range s.Checks {
		s.validateCheck(c, names, under(bad, fmt.Sprintf("checks[%d]", i)))
	}
}

func (s *Scenario) validateTimes(bad func(path, message string)) {
	switch {
	case s.Until == Until{}:
		bad("until", "want drained, for a run that ends by itself, or a duration such as 60s")
	case s.Estimate == Steady && s.Until.Drained:
		bad("until", "want a duration: a steady estimate is about the long run, and drained is about the end")
	}
	switch {
	case s.Warmup == Warmup{}:
	case s.Estimate == Terminating:
		bad("warmup", "want estimate: steady beside it: a terminating estimate is about the whole run, its beginning included")
	case s.Until.Time > 0 && s.Warmup.Time >= s.Until.Time:
		bad("warmup", fmt.Sprintf("want less than until (%v), have %v", s.Until, s.Warmup))
	}
}

// instances returns how many instances of services there are.
func (s *Scenario) instances() int { return s.count(func(*Service) bool { return true }) }

// pools returns how many pools there are.
func (s *Scenario) pools() int { return s.count(func(v *Service) bool { return v.PoolOf == "" }) }

func (s *Scenario) count(which func(*Service) bool) int {
	n := 0
	for _, v := range s.All() {
		if which(&v) {
			n += max(0, min(v.Instances, maxInstances+1))
		}
	}
	return n
}

func (s *Scenario) validateServices(bad func(path, message string)) {
	if s.instances() > maxInstances {
		bad("services", fmt.Sprintf("want at most %d instances of all services together", maxInstances))
	}
	owner := map[string]int{} // of the names of pools and of services with several
	for i := range s.Services {
		v := &s.Services[i]
		bad := under(bad, fmt.Sprintf("services[%d]", i))
		if v.Name == "" {
			bad("name", "want a name")
		}
		names := v.poolNames()
		if v.Instances > 1 {
			names = append(names, v.Name)
		}
		for _, name := range names {
			if was, twice := owner[name]; twice {
				bad("name", fmt.Sprintf("services[%d], or one of its pools, is called %q already", was, name))
				break
			}
			owner[name] = i
		}
		if v.Instances < 1 || v.Instances > maxInstances {
			bad("instances", fmt.Sprintf("want 1 to %d, have %d", maxInstances, v.Instances))
		}
		if v.StartAt < 0 {
			bad("start_at", fmt.Sprintf("want a duration that is not negative, have %v", v.StartAt))
		}
		if v.StartEvery < 0 {
			bad("start_every", fmt.Sprintf("want a duration that is not negative, have %v", v.StartEvery))
		}
		if v.Direct && s.Pooler == nil {
			bad("direct", "there is no pooler to connect past")
		}
		v.validate(s, bad)
		s.validateParent(v, bad)
		s.validatePoolOf(v, bad)
	}
}

// validatePoolOf checks a service that uses the pool of another: what belongs to the pool is not its own to say.
func (s *Scenario) validatePoolOf(v *Service, bad func(path, message string)) {
	if v.PoolOf == "" {
		return
	}
	if v.Pool != nil {
		bad("pool_of", "want either pool or pool_of, have both")
	}
	owner := s.service(v.PoolOf)
	switch {
	case owner == nil:
		bad("pool_of", fmt.Sprintf("there is no service %q", v.PoolOf))
		return
	case owner.PoolOf != "":
		bad("pool_of", fmt.Sprintf("want a service with a pool of its own; %q uses that of %q", v.PoolOf, owner.PoolOf))
		return
	case owner.Pool != nil && owner.Pool.Model == "none":
		bad("pool_of", fmt.Sprintf("%q has no pool (model none): each request there has a connection of its own; want pool: none here, too", v.PoolOf))
	}
	if v.Instances != owner.Instances {
		bad("instances", fmt.Sprintf("want as many as %q has, whose pools they use (%d), have %d", v.PoolOf, owner.Instances, v.Instances))
	}
	for _, f := range []struct {
		name string
		set  bool
	}{{"role", v.Role != ""}, {"direct", v.Direct}} {
		if f.set {
			bad(f.name, fmt.Sprintf("belongs to the pool: say it at %q, or leave it out", v.PoolOf))
		}
	}
}

// validateParent checks a pool that takes what it lends from the pool of another service: instance by instance, as two pools of
// one program.
func (s *Scenario) validateParent(v *Service, bad func(path, message string)) {
	name := parentOf(v)
	if name == "" {
		return
	}
	parent := s.service(name)
	if parent == nil {
		bad("pool.parent", fmt.Sprintf("there is no service %q", name))
		return
	}
	if parent.PoolOf != "" {
		bad("pool.parent", fmt.Sprintf("want a service with a pool of its own; %q uses that of %q", name, parent.PoolOf))
		return
	}
	seen := map[string]bool{}
	for up := name; up != ""; up = parentOf(s.service(up)) {
		if seen[up] {
			bad("pool.parent", fmt.Sprintf("%q is its own parent in the end", name))
			return
		}
		seen[up] = true
	}
	if parent.Pool != nil {
		v.Pool.Options.(pool.ChildOptions).ValidateChild(parent.Pool.Options, under(bad, "pool"))
	}
	if v.Instances != parent.Instances {
		bad("instances", fmt.Sprintf("want as many as the parent %q has (%d), have %d", name, parent.Instances, v.Instances))
	}
	if v.StartAt < parent.StartAt || v.StartEvery < parent.StartEvery {
		bad("start_at", fmt.Sprintf("want no instance to start before that of the parent %q", name))
	}
}

// service returns the service of a name, nil if there is none.
func (s *Scenario) service(name string) *Service {
	i := slices.IndexFunc(s.Services, func(v Service) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Services[i]
}

// parentOf returns the name of the service whose pool is the parent of the pool of v, empty for none.
func parentOf(v *Service) string {
	if v == nil || v.Pool == nil {
		return ""
	}
	if o, ok := v.Pool.Options.(pool.ChildOptions); ok {
		return o.ParentName()
	}
	return ""
}

// validate checks one service of s.
func (v *Service) validate(s *Scenario, bad func(path, message string)) {
	switch {
	case v.Pool != nil:
		if m, ok := models.Named(v.Pool.Model); ok {
			m.Validate(v.Pool.Options, under(bad, "pool"))
		}
	case v.PoolOf == "":
		bad("pool", "there is no pool: want a model and its options; without a pool it is {model: none}")
	}
	if v.Workload == nil {
		bad("workload", "there is no workload: want clients, arrivals or a script, and a request")
	} else {
		v.Workload.Validate(under(bad, "workload"))
		v.validateShared(s, under(bad, "workload"))
		s.validateFit(v, under(bad, "workload"))
		if s.Until.Drained && v.Workload.Endless() && !s.stops(v) {
			bad("workload", "it never ends, so until: drained is never reached: want repeat for clients, limit for arrivals, a stop among the actions, or a duration as until")
		}
	}
	if _, ok := s.Server.Role(v.Role); !ok {
		var names []string
		for _, r := range s.Server.Roles {
			names = append(names, r.Name)
		}
		if names == nil {
			bad("role", fmt.Sprintf("the server has no roles, and so no %q", v.Role))
		} else {
			bad("role", fmt.Sprintf("the server has no role %q; it has %s", v.Role, wording.And(names)))
		}
	}
}

// validateShared checks that there is something to share, and somebody to share it with.
func (v *Service) validateShared(s *Scenario, bad func(path, message string)) {
	switch c := v.Workload.Clients; {
	case !v.Workload.Shared:
	case s.Services == nil:
		bad("shared", "is about services with several instances; want services, or leave it out")
	case c != nil && *c < v.Instances:
		bad("clients", fmt.Sprintf("want at least one for each of the %d instances that share them, have %d", v.Instances, *c))
	}
}

// validateFit checks that the pool can do what the workload does with it.
func (s *Scenario) validateFit(v *Service, bad func(path, message string)) {
	p := v.Pool
	if owner := s.service(v.PoolOf); v.PoolOf != "" && owner != nil {
		p = owner.Pool
	}
	if p == nil {
		return
	}
	m, ok := models.Named(p.Model)
	if ok && !m.Stateful && v.Workload.LeavesState() {
		bad("request", fmt.Sprintf("dirty is for pools that know what is left in their sessions; %s does not", m.Name))
	}
	if ok && !m.Lessor && v.Workload.ReturnsAgain() {
		bad("request", fmt.Sprintf("return_again is for pools that tell a second return from a first; with %s it cannot happen", m.Name))
	}
}

// validateCheck checks one check; names are those of the services with several instances, and of the pools.
func (s *Scenario) validateCheck(c Check, names []string, bad func(path, message string)) {
	if c.Expr == "" {
		bad("expr", "want a check such as p(99)<200ms")
		return
	}
	e, err := record.ParseCheck(c.Expr)
	if err != nil {
		bad("", err.Error())
		return
	}
	switch {
	case e.OfPooler() && s.Pooler == nil:
		bad("", "it is about a pooler, and there is none")
	case e.OfPool() && s.poolOf(e.Service()) != "":
		bad("", fmt.Sprintf("%q has no pool of its own; want %s", e.Service(), e.Of(s.poolOf(e.Service()))))
	case e.Service() == "" || names == nil || slices.Contains(names, e.Service()):
	case s.Services == nil:
		bad("", "there is only one service here; leave out service="+e.Service())
	default:
		bad("", fmt.Sprintf("there is no %q; there are %s", e.Service(), few(names)))
	}
}

// poolOf returns whose pool a service or one of its instances uses, empty if it has its own or there is none of that name.
func (s *Scenario) poolOf(name string) string {
	for i := range s.Services {
		v := &s.Services[i]
		owner := s.service(v.PoolOf)
		switch j := slices.Index(v.poolNames(), name); {
		case v.PoolOf == "" || owner == nil:
		case v.Name == name:
			return owner.Name
		case j >= 0 && j < owner.Instances:
			return owner.poolNames()[j]
		}
	}
	return ""
}

// few lists names, but not hundreds.
func few(names []string) string {
	if most := 8; len(names) > most {
		return strings.Join(names[:most-2], ", ") + " ... " + names[len(names)-1]
	}
	return wording.And(names)
}

// under returns a bad for what lies below path.
func under(bad func(path, message string), path string) func(string, string) {
	return func(p, message string) { bad(join(path, p), message) }
}
