package record

import (
	"time"

	"poolwise/sim"
)

// Deed says what an action of the scenario did.
type Deed struct {
	At       time.Duration `json:"at"`
	Do       string        `json:"do"` // stop, close, shut_down, kill, restart, connect_to, pause
	To       string        `json:"to,omitempty"`
	Service  string        `json:"service,omitempty"`
	Instance int           `json:"instance,omitempty"` // from 1; 0 for all
}

// ActionCell is an action of the scenario and what came of it.
type ActionCell struct {
	Deed
	// Took is how long it was until it was complete, for the instance that took longest: stop, until the last request had ended;
	// close and shut_down, until the pool was closed; connect_to, until no connection was left elsewhere. It is unknown if that did
	// not happen in every replication, and of the others.
	Took        Duration `json:"took"`
	NotReturned Float    `json:"not_returned"` // connections that a close gave up waiting for, as far as the pool says
}

// ActionRun is what came of an action in one replication.
type ActionRun struct {
	Deed
	Done        bool
	Took        time.Duration
	NotReturned int
}

func mergeActions(runs []*Run) []ActionCell {
	var all []ActionCell
	for j := range runs[0].Actions {
		done := true
		for _, r := range runs {
			done = done && r.Actions[j].Done
		}
		a := ActionCell{Deed: runs[0].Actions[j].Deed}
		if done {
			a.Took = acrossDuration(len(runs), func(i int) time.Duration { return runs[i].Actions[j].Took })
		}
		if a.Do == "close" || a.Do == "shut_down" {
			a.NotReturned = acrossFloat(len(runs), func(i int) (float64, bool) {
				return float64(runs[i].Actions[j].NotReturned), runs[i].Actions[j].Done
			})
		}
		all = append(all, a)
	}
	return all
}

// longest returns the longest Took of the actions that do one of some things, unknown if one of them was not complete.
func (c *Cell) longest(deeds ...string) Float {
	var worst Float
	for _, a := range c.Actions {
		for _, d := range deeds {
			if a.Do != d {
				continue
			}
			if !a.Took.Known {
				return Float{}
			}
			if f := a.Took.float(); !worst.Known || f.Value > worst.Value {
				worst = f
			}
		}
	}
	return worst
}

// ServerCell is one of several servers.
type ServerCell struct {
	Name string `json:"name"`
	ServerStats
	Open    Float    `json:"open"`    // sessions at the end
	Emptied Duration `json:"emptied"` // when its last session ended; unknown if it had none or has some left in a replication
}

// ServerRun is one of several servers in one replication.
type ServerRun struct {
	Name string
	ServerStats
	Open    int64
	Emptied sim.Time // when its last session ended
}

func mergeServers(runs []*Run) []ServerCell {
	var all []ServerCell
	for j := range runs[0].Servers {
		c := ServerCell{Name: runs[0].Servers[j].Name}
		emptied := true
		for _, r := range runs {
			v := &r.Servers[j]
			c.add(&v.ServerStats)
			emptied = emptied && v.Opened > 0 && v.Open == 0
		}
		c.CoreUtilisation = acrossFloat(len(runs), func(i int) (float64, bool) {
			u := runs[i].Servers[j].CoreUtilisation
			return u.Value, u.Known
		})
		c.Open = acrossFloat(len(runs), func(i int) (float64, bool) { return float64(runs[i].Servers[j].Open), true })
		if emptied {
			c.Emptied = acrossDuration(len(runs), func(i int) time.Duration { return time.Duration(runs[i].Servers[j].Emptied) })
		}
		all = append(all, c)
	}
	return all
}

// add adds the counts of another replication.
func (s *ServerStats) add(o *ServerStats) {
	s.Opened += o.Opened
	s.Closed += o.Closed
	s.Refused += o.Refused
	s.IdleEnded += o.IdleEnded
	s.PeakOpen = max(s.PeakOpen, o.PeakOpen)
}
