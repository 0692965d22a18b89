package scenarios

import (
	"fmt"

	"poolwise/pool/models"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// Hazards returns what can go wrong by the scenario alone, whether or not it does: requests that hold connections while they wait
// for another, or for a thread, can fill a pool and wait for each other.
func (s *Scenario) Hazards() []record.Diagnosis {
	var all []record.Diagnosis
	services := s.All()
	for i := range services {
		v := &services[i]
		text := v.canDeadlock()
		switch {
		case text == "" && v.PoolOf == "":
			text = canDeadlockTogether(v, s.Users(v.Name))
		case text != "" && v.PoolOf != "":
			text = "of " + v.Name + ": " + text
		}
		if text != "" {
			all = append(all, record.Diagnosis{Service: v.Owner(), Kind: record.CanDeadlock, Text: text})
		}
	}
	return all
}

// Warnings returns what is probably a mistake, though it can be meant.
func (s *Scenario) Warnings() []string {
	var all []string
	for _, v := range s.All() {
		if v.Workload == nil || v.Pool == nil {
			continue
		}
		for _, path := range v.Workload.LeavesTransactions() {
			at := "workload." + path
			if v.Name != "" {
				at = "services." + v.Name + "." + at
			}
			text := at + ": a release within a transaction: want commit or rollback before it"
			if m, ok := models.Named(v.Pool.Model); ok && m.Stateful {
				text += ", or dirty: transaction if it is meant to be left open"
			}
			all = append(all, text)
		}
	}
	return all
}

// Users returns the services that use the pool of one, itself the first.
func (s *Scenario) Users(owner string) []*Service {
	var users []*Service
	all := s.All()
	for _, own := range []bool{true, false} {
		for i := range all {
			if v := &all[i]; v.Owner() == owner && own == (v.PoolOf == "") {
				users = append(users, v)
			}
		}
	}
	return users
}

// canDeadlockTogether says how requests of several services come to wait for each other on the pool of v, empty if they cannot, or if
// those of one can do so alone.
func canDeadlockTogether(v *Service, users []*Service) string {
	safe, nested := 1, 0
	var names []string
	for _, u := range users {
		if u.canDeadlock() != "" {
			return ""
		}
		if kept := u.Workload.Nesting(); kept > 0 {
			safe += u.AtOnce() * kept // alone they cannot, so their number has a limit
			nested++
			names = append(names, u.Name)
		}
	}
	if size := v.Capacity(); nested < 2 || size == 0 || size >= safe {
		return ""
	}
	return fmt.Sprintf("requests of %s hold connections while they wait for one more: together they can fill the pool of %d and wait for each other; the smallest safe pool is %d",
		wording.And(names), v.Capacity(), safe)
}

// AtOnce returns how many requests of one instance can go on at once and hold connections, 0 for any number.
func (v *Service) AtOnce() int {
	n := 0
	w := v.WorkloadOf(0)
	if w.Clients != nil {
		n = *w.Clients
	}
	if a := w.Arrivals; a != nil && a.Bursts != nil && a.Bursts.Count != nil && *a.Bursts.Count == 1 &&
		a.Poisson == nil && a.Constant == nil && a.Phases == nil && a.Modulated == nil && a.Trace == nil {
		n = a.Bursts.Size // there are no more
	}
	if w.Threads != nil && (n == 0 || n > *w.Threads) {
		n = *w.Threads
	}
	return n
}

// Capacity returns the most connections of the pool of one instance, 0 if there is no limit.
func (v *Service) Capacity() int {
	m, _ := models.Named(v.Pool.Model)
	return m.Capacity(v.Pool.Options)
}

// canDeadlock says how requests of one instance can come to wait for each other, empty if they cannot.
func (v *Service) canDeadlock() string {
	size, requests := v.Capacity(), 0
	if size == 0 {
		return ""
	}
	w := v.WorkloadOf(0)
	if w.Clients != nil {
		requests = *w.Clients
	}
	if w.Threads != nil && w.SwitchesThreads() {
		if most := size + *w.Threads; requests == 0 || requests >= most {
			return fmt.Sprintf("requests give up their thread while they hold a connection: %d at once, as many as there are connections and threads, can block all %d threads in acquires while all %d connections wait for a thread; %d at once are safe",
				most, *w.Threads, size, most-1)
		}
		return ""
	}
	requests = v.AtOnce()
	kept := w.Nesting()
	switch {
	case kept == 0 || requests > 0 && size >= SafeSize(requests, kept):
		return ""
	case kept >= size:
		return fmt.Sprintf("a request holds %d while it waits for one more, and the pool has %d: it can never have them", kept, size)
	}
	text := fmt.Sprintf("a request holds %d while it waits for one more: %d at once fill the pool of %d and wait for each other",
		kept, (size+kept-1)/kept, size)
	if requests > 0 {
		text += fmt.Sprintf("; the smallest safe pool for %d at once is %d (%d x %d + 1)", requests, SafeSize(requests, kept), requests, kept)
	}
	return text
}

// SafeSize returns the smallest pool in which so many requests at once cannot wait for each other, each of which holds so many
// connections while it waits for one more: with all of them waiting there is one connection more than they hold, so one of them gets
// what it waits for, and ends.
func SafeSize(requests, kept int) int { return requests*kept + 1 }
