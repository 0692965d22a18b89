package scenarios

import (
	"fmt"
	"slices"
	"time"

	"poolwise/sim/dist"
	"poolwise/sim/server"
	"poolwise/sim/wording"
)

// MainServer is the name of the scenario's own server, for Action.ConnectTo.
const MainServer = "server"

// ViaPooler is the name of its pooler.
const ViaPooler = "pooler"

// Server is a further server beside the main one: a standby, a new primary, one with other latencies.
type Server struct {
	Name           string `yaml:"name" doc:"text, needed; for connect_to"`
	server.Options `yaml:",inline"`
}

// Action is something that is done to a service at a given time, by its operators or by itself. Exactly one of Do, ConnectTo and
// Pause is set.
type Action struct {
	At        time.Duration  `yaml:"at" doc:"duration, default 0s; when"`
	Service   string         `yaml:"service" doc:"text, needed if there are several; to which service"`
	Instance  *int           `yaml:"instance" doc:"count from 1, default all; to which of its instances"`
	Every     time.Duration  `yaml:"every" doc:"duration, default 0s; from one instance to the next, if it is done to all"`
	Do        *Deed          `yaml:"do" doc:"stop, close, shut_down, kill or restart; stop: no further request comes, those that go on end; close: the pool is closed, whatever goes on; shut_down: stop, close when the last request has ended, and exit; kill: exit at once; restart: exit, and start anew with a new pool"`
	Down      time.Duration  `yaml:"down" doc:"duration, default 0s; with restart: from the exit until it starts anew"`
	ConnectTo string         `yaml:"connect_to" doc:"text; later connects go to the server of that name, or to server or pooler; what is open stays where it is: new connect options, a changed address, a failover"`
	Pause     *time.Duration `yaml:"pause" doc:"duration, 0s for none; the program stands still, workload and pool, as in a pause of its garbage collector"`
}

// Deed is what can be done to an instance.
type Deed uint8

// The deeds.
const (
	Stop Deed = iota
	Close
	ShutDown
	Kill
	Restart
)

var deeds = []string{"stop", "close", "shut_down", "kill", "restart"}

// String returns the word for d.
func (d Deed) String() string { return deeds[d] }

// UnmarshalText reads the word.
func (d *Deed) UnmarshalText(text []byte) error { return wording.Number(d, deeds, text) }

// Exits reports whether the instance is no more afterwards, unless it is restarted.
func (a *Action) Exits() bool { return a.Do != nil && (*a.Do == ShutDown || *a.Do == Kill) }

// When returns the time at which it is done to an instance, by its number from 0, and whether it is done to that one at all.
func (a *Action) When(instance int) (time.Duration, bool) {
	if a.Instance != nil {
		return a.At, instance == *a.Instance-1
	}
	return later(a.At, a.Every, instance), true
}

// later returns at + n x every; past the end of time it is dist.Max.
func later(at, every time.Duration, n int) time.Duration {
	if every > 0 && n > 0 && every > (dist.Max-at)/time.Duration(n) {
		return dist.Max
	}
	return at + time.Duration(n)*every
}

// Target returns the service that an action is about, nil if there is none.
func (s *Scenario) Target(a *Action) *Service {
	all := s.All()
	if a.Service == "" && len(all) == 1 {
		return &all[0]
	}
	i := slices.IndexFunc(all, func(v Service) bool { return v.Name == a.Service && v.Name != "" })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// Places returns the names of what pools can connect to: server, the further servers, and pooler if there is one.
func (s *Scenario) Places() []string {
	names := []string{MainServer}
	for _, v := range s.Servers {
		names = append(names, v.Name)
	}
	if s.Pooler != nil {
		names = append(names, ViaPooler)
	}
	return names
}

// validateServers checks the further servers, which callers and queries of the main one must fit.
func (s *Scenario) validateServers(bad func(path, message string)) {
	if most := 15; len(s.Servers) > most {
		bad("servers", fmt.Sprintf("want at most %d, have %d", most, len(s.Servers)))
		return
	}
	seen := map[string]bool{MainServer: true, ViaPooler: true}
	for i := range s.Servers {
		v := &s.Servers[i]
		bad := under(bad, fmt.Sprintf("servers[%d]", i))
		switch {
		case v.Name == "":
			bad("name", "want a name")
		case seen[v.Name]:
			bad("name", fmt.Sprintf("%q is the name of something else", v.Name))
		}
		seen[v.Name] = true
		v.Options.Validate(bad)
		if v.TimerOverhead != s.Server.TimerOverhead {
			bad("timer_overhead", fmt.Sprintf("want that of server (%v): it belongs to the clock of the measurement, have %v", s.Server.TimerOverhead, v.TimerOverhead))
		}
		if !slices.EqualFunc(v.Roles, s.Server.Roles, func(a, b server.Role) bool { return a.Name == b.Name }) {
			bad("roles", "want the roles of server, in their order; limits may differ")
		}
	}
}

func (s *Scenario) validateActions(bad func(path, message string)) {
	const most = 100
	if len(s.Actions) > most {
		bad("actions", fmt.Sprintf("want at most %d, have %d", most, len(s.Actions)))
		return
	}
	for i := range s.Actions {
		s.validateAction(i, under(bad, fmt.Sprintf("actions[%d]", i)))
	}
}

func (s *Scenario) validateAction(n int, bad func(path, message string)) {
	a := &s.Actions[n]
	var set []string
	for _, e := range []struct {
		name string
		set  bool
	}{{"do", a.Do != nil}, {"connect_to", a.ConnectTo != ""}, {"pause", a.Pause != nil}} {
		if e.set {
			set = append(set, e.name)
		}
	}
	if len(set) != 1 {
		have := "none"
		if set != nil {
			have = wording.And(set)
		}
		bad("", "want one of do, connect_to and pause, have "+have)
	}
	pause := time.Duration(0)
	if a.Pause != nil {
		pause = *a.Pause
	}
	for _, d := range []struct {
		path  string
		value time.Duration
	}{{"at", a.At}, {"every", a.Every}, {"down", a.Down}, {"pause", pause}} {
		if d.value < 0 {
			bad(d.path, fmt.Sprintf("want a duration that is not negative, have %v", d.value))
		}
	}
	if a.Down != 0 && (a.Do == nil || *a.Do != Restart) {
		bad("down", "is for do: restart, from the exit until it starts anew")
	}
	if a.ConnectTo != "" && !slices.Contains(s.Places(), a.ConnectTo) {
		bad("connect_to", fmt.Sprintf("want %s, have %q", wording.Or(s.Places()), a.ConnectTo))
	}
	v := s.Target(a)
	if v == nil {
		s.noTarget(a, bad)
		return
	}
	if v.PoolOf != "" && (a.Do == nil || *a.Do != Stop) {
		bad("service", fmt.Sprintf("want %q: all but a stop is done to the program and its pool, which are those of that service", v.PoolOf))
		return
	}
	switch {
	case a.Instance == nil:
	case *a.Instance < 1 || *a.Instance > v.Instances:
		bad("instance", fmt.Sprintf("want 1 to %d, have %d", v.Instances, *a.Instance))
		return
	case a.Every != 0:
		bad("every", "is from one instance to the next, and this is about one")
	}
	if a.Do != nil && *a.Do == ShutDown && s.sharesProgram(v) {
		bad("do", "want stop and close, or kill: its program has another pool, its parent or child, which would exit too")
	}
	for i := range min(v.Instances, maxInstances) {
		if at, ok := a.When(i); ok && !s.possible(n, v, i, at, bad) {
			return // once is enough
		}
	}
}

// noTarget says what is wrong with the service of an action.
func (s *Scenario) noTarget(a *Action, bad func(path, message string)) {
	var names []string
	for _, v := range s.Services {
		names = append(names, v.Name)
	}
	switch {
	case s.Services == nil && a.Service != "":
		bad("service", "there is only one service here; leave it out")
	case len(names) > 0 && a.Service == "":
		bad("service", "want one of "+few(names))
	case len(names) > 0:
		bad("service", fmt.Sprintf("there is no service %q; there are %s", a.Service, few(names)))
	}
}

// possible reports whether an instance is there at the time of action n, and says why not.
func (s *Scenario) possible(n int, v *Service, instance int, at time.Duration, bad func(path, message string)) bool {
	if start := v.starts(instance); at < start {
		bad("at", fmt.Sprintf("want a time when the instance has started (%v), have %v", start, at))
		return false
	}
	gone, since, back := false, time.Duration(-1), time.Duration(0)
	for i := range s.Actions {
		b := &s.Actions[i]
		if t := s.Target(b); t == nil || t.Name != v.Owner() || !b.Exits() && (b.Do == nil || *b.Do != Restart) {
			continue
		}
		// Of what is done at one time, that which is listed last counts.
		if then, ok := b.When(instance); ok && then >= since && (then < at || then == at && i < n) {
			gone, since, back = b.Exits(), then, then+min(b.Down, dist.Max-then)
		}
	}
	if at < back {
		bad("at", fmt.Sprintf("instance %d is down from %v to %v", instance+1, since, back))
		return false
	}
	if a := &s.Actions[n]; a.Do != nil && *a.Do >= Kill { // also what is left of a shut_down
		return true
	}
	if gone {
		bad("at", fmt.Sprintf("instance %d has exited at %v, and was not restarted", instance+1, since))
	}
	return !gone
}

// starts returns when an instance starts.
func (v *Service) starts(instance int) time.Duration {
	return later(v.StartAt, v.StartEvery, instance)
}

// sharesProgram reports whether the pool of a service is the parent or the child of another's.
func (s *Scenario) sharesProgram(v *Service) bool {
	if parentOf(v) != "" {
		return true
	}
	return slices.ContainsFunc(s.Services, func(u Service) bool { return v.Name != "" && parentOf(&u) == v.Name })
}

// stops reports whether actions let no further request come to any instance of a service.
func (s *Scenario) stops(v *Service) bool {
	stopped := make([]bool, min(max(v.Instances, 0), maxInstances))
	since := make([]time.Duration, len(stopped)) // when that was decided
	for i := range s.Actions {
		a := &s.Actions[i]
		t := s.Target(a)
		if t == nil || a.Do == nil || *a.Do == Close || t.Name != v.Name && (t.Name != v.Owner() || *a.Do == Stop) {
			continue
		}
		for j := range stopped {
			if at, ok := a.When(j); ok && at >= since[j] {
				stopped[j], since[j] = *a.Do != Restart, at
			}
		}
	}
	return !slices.Contains(stopped, false)
}
