package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"poolwise/sim"
)

// Diagnosis is something that went wrong or can go wrong, in words.
type Diagnosis struct {
	Service      string      `json:"service,omitempty"`
	Kind         FindingKind `json:"kind"`
	Replications int         `json:"replications"` // in which it was seen; 0 of what can happen
	Instances    int         `json:"instances"`    // of the service that it happened to, at most
	At           Duration    `json:"at"`           // when it first happened; unknown of what can happen
	Text         string      `json:"text"`         // as it was first seen
}

// FindingKind says what sort of thing a finding is.
type FindingKind string

// The kinds.
const (
	Deadlocked    FindingKind = "deadlock"      // holders of connections waited for each other
	CanDeadlock   FindingKind = "can_deadlock"  // by the scenario they can
	Leaking       FindingKind = "leak"          // slots were lost for ever
	NeverReleased FindingKind = "kept"          // the number of connections in use only ever rose
	Recovered     FindingKind = "recovered"     // from a peak of the load, a fault or a pause
	NotRecovered  FindingKind = "not_recovered" // by the end of the run
	NotStarted    FindingKind = "not_started"   // the pool of an instance could not be built
	LeakAlarms    FindingKind = "leak_alarms"   // the pool took connections for leaked
	ReturnedTwice FindingKind = "returned_twice"
	SessionState  FindingKind = "session_state" // a borrower had what another had left in the session
)

// Finding is a diagnosis of one replication.
type Finding struct {
	Pool int16 // -1 for all together
	Kind FindingKind
	At   sim.Time
	Text string
}

// mergeFindings puts together what was found of the pools of one service. The text is that of the replication of the lowest seed
// that has it, of the pool that came first.
func mergeFindings(pools []string, runs []*Run) []Diagnosis {
	type key struct {
		kind    FindingKind
		service string
	}
	var order []key
	firsts := map[key][]sim.Time{} // in each replication that has it
	all := map[key]*Diagnosis{}
	for _, r := range runs {
		seen := map[key]int{}
		found := slices.Clone(r.Findings)
		slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.At, b.At) })
		for _, f := range found {
			k := key{f.Kind, r.serviceOf(f.Pool, pools)}
			if seen[k]++; seen[k] == 1 {
				firsts[k] = append(firsts[k], f.At)
			}
			if all[k] == nil {
				all[k] = &Diagnosis{Service: k.service, Kind: k.kind, Text: f.Text}
				order = append(order, k)
			}
			all[k].Instances = max(all[k].Instances, seen[k])
		}
	}
	var list []Diagnosis
	for _, k := range order {
		d := all[k]
		d.Replications = len(firsts[k])
		d.At = acrossDuration(len(firsts[k]), func(i int) time.Duration { return time.Duration(firsts[k][i]) })
		list = append(list, *d)
	}
	return list
}

// serviceOf names the service of a pool, or the pool itself if it is the only one of its service.
func (r *Run) serviceOf(pool int16, pools []string) string {
	for _, g := range r.Groups {
		if int(pool) >= g.First && int(pool) < g.First+g.N {
			return g.Name
		}
	}
	if pool < 0 || int(pool) >= len(pools) {
		return ""
	}
	return pools[pool]
}

// Deadlocks reports whether there was a deadlock in any replication.
func (c *Cell) Deadlocks() bool { return c.deadlocks().Value > 0 }

// deadlocks returns the share of the replications in which there was a deadlock.
func (c *Cell) deadlocks() Float {
	most := 0
	for _, d := range c.Diagnoses {
		if d.Kind == Deadlocked {
			most = max(most, d.Replications)
		}
	}
	return ExactFloat(float64(most) / float64(max(c.Replications, 1)))
}

// LeakCell is how the pools of a service lose their slots.
type LeakCell struct {
	Service  string `json:"service,omitempty"`
	Capacity int    `json:"capacity"` // of one instance
	Leaked   Float  `json:"leaked"`   // slots of one instance, on the average, over all its lives
	// EmptyAfter is how long after its start the first instance to be empty had no slot left; if none was, the time after which
	// one would be at the rate of the run: the capacity times the mean time from one leak to the next. Extrapolated says so.
	EmptyAfter   Duration `json:"empty_after"`
	Extrapolated bool     `json:"extrapolated"`
}

// leak is what is known of the slots of one pool.
type leak struct {
	capacity int64    // 0 unknown
	lost     int64    // since its start
	since    sim.Time // that start
	empty    time.Duration
	emptied  bool
}

// Capacity tells the recorder how many slots a pool has, before the first fact.
func (r *Recorder) Capacity(pool, slots int) { r.parts[pool].leak.capacity = int64(slots) }

// leakedAt notes the loss of a slot.
func (p *part) leakedAt(at sim.Time) {
	p.leaked++
	p.leak.lost++
	if l := &p.leak; l.lost == l.capacity && !l.emptied {
		l.emptied, l.empty = true, at.Sub(l.since)
	}
}

// restarted: the pool that follows has all its slots.
func (p *part) restarted(at sim.Time) { p.leak.lost, p.leak.since = 0, at }

// mergeLeaks makes a row for each service whose pools have leaked.
func mergeLeaks(pools []string, runs []*Run) []LeakCell {
	var order []string
	members := map[string][]int{}
	for j := range runs[0].Parts {
		s := runs[0].serviceOf(int16(j), pools)
		if members[s] == nil {
			order = append(order, s)
		}
		members[s] = append(members[s], j)
	}
	var all []LeakCell
	for _, s := range order {
		c := LeakCell{Service: s}
		any, emptied := false, true
		for _, r := range runs {
			first := false
			for _, j := range members[s] {
				p := &r.Parts[j]
				any = any || p.Leaked > 0
				first = first || p.Emptied
				c.Capacity = p.Capacity
			}
			emptied = emptied && first
		}
		if !any {
			continue
		}
		n := float64(len(members[s]))
		leaked := func(r *Run) (sum int64) {
			for _, j := range members[s] {
				sum += r.Parts[j].Leaked
			}
			return sum
		}
		c.Leaked = acrossFloat(len(runs), func(i int) (float64, bool) { return float64(leaked(runs[i])) / n, true })
		c.Extrapolated = !emptied
		after := acrossFloat(len(runs), func(i int) (float64, bool) {
			r := runs[i]
			if emptied {
				var least time.Duration
				for _, j := range members[s] {
					if p := &r.Parts[j]; p.Emptied && (least == 0 || p.EmptyAfter < least) {
						least = p.EmptyAfter
					}
				}
				return float64(least), true
			}
			lost := leaked(r)
			return min(float64(c.Capacity)*float64(r.End)*n/float64(max(lost, 1)), 1<<62), lost > 0 && c.Capacity > 0
		})
		c.EmptyAfter = after.duration()
		all = append(all, c)
	}
	return all
}

// emptyAfter returns the shortest time after which a service has no slot left.
func (c *Cell) emptyAfter() Float {
	var least Float
	for _, l := range c.Leaks {
		if f := l.EmptyAfter.float(); f.Known && (!least.Known || f.Value < least.Value) {
			least = f
		}
	}
	return least
}

// findKept notes a number of connections in use that only ever rises, though no slot was lost.
func (r *Recorder) findKept(run *Run) {
	for i := range run.Parts {
		if run.Parts[i].Leaked > 0 {
			return
		}
	}
	if from, to, ok := rises(r.series.min[seriesInUse]); ok {
		run.Findings = append(run.Findings, Finding{Pool: -1, Kind: NeverReleased, Text: fmt.Sprintf(
			"the connections in use never fell below what they had been before: at least %d at first and %d at last; they are kept, or the load grows", from, to)})
	}
}

// Restarts reports whether a pool is built anew in the run, with all its slots.
func (c *Cell) Restarts() bool {
	return slices.ContainsFunc(c.Actions, func(a ActionCell) bool { return a.Do == "restart" })
}

// leakDiagnoses says of each leak in words when the pool is empty.
func (c *Cell) leakDiagnoses() (all []Diagnosis) {
	howLong := "for ever"
	if c.Restarts() {
		howLong = "until a restart"
	}
	for _, l := range c.Leaks {
		d := Diagnosis{Service: l.Service, Kind: Leaking, Replications: c.Replications, Instances: 1}
		switch after := rounded(l.EmptyAfter.Value); {
		case l.Capacity == 0 || !l.EmptyAfter.Known:
			d.Text = "slots are lost " + howLong
		case l.Extrapolated:
			d.Text = fmt.Sprintf("of %d slots %.3g are lost %s; at this rate none is left after %v", l.Capacity, l.Leaked.Value, howLong, after)
		default:
			d.At = l.EmptyAfter
			d.Text = fmt.Sprintf("all %d slots are lost %s; none was left after %v", l.Capacity, howLong, after)
		}
		all = append(all, d)
	}
	return all
}

// noteDiagnoses says in words what the pools noted about themselves and no table shows.
func (c *Cell) noteDiagnoses() (all []Diagnosis) {
	n := func(o Outcome) int64 { return c.PoolNotes[o] }
	add := func(kind FindingKind, format string, args ...any) {
		d := Diagnosis{Kind: kind, Replications: c.Replications, Instances: 1, Text: fmt.Sprintf(format, args...)}
		if c.Replications > 1 {
			d.Text += ", in all replications together"
		}
		all = append(all, d)
	}
	switch alarms, wrong := n(LeakAlarm), n(FalseLeakAlarm); {
	case alarms == 0:
	case wrong == 0:
		add(LeakAlarms, "%d of connections that were not returned", alarms)
	case wrong == alarms:
		add(LeakAlarms, "%d, all false: every connection was returned after all", alarms)
	default:
		add(LeakAlarms, "%d, of which %d were false, as the connection was returned after all, and %d were not", alarms, wrong, alarms-wrong)
	}
	if k := n(Rejected); k > 0 {
		add(ReturnedTwice, "%d returns of loans that had ended were rejected, and changed nothing", k)
	}
	if k := n(OverReleased); k > 0 {
		add(ReturnedTwice, "%d returns that nothing was lent for were accepted: each lets the pool lend one more at once than its maximum", k)
	}
	if k := n(SessionStateLeaked); k > 0 {
		add(SessionState, "%d of the loans began with what an earlier borrower had left in the session", k)
	}
	return all
}

// rounded makes a duration short enough for a sentence.
func rounded(d time.Duration) time.Duration {
	switch {
	case d < 10*time.Second:
		return d.Round(time.Millisecond)
	case d < 10*time.Minute:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// rises reports whether a level only ever rises: the minima of its windows, the first of which is left out, never fall, and rise in
// at least a quarter of them. It returns the first and the last.
func rises(lowest []int64) (from, to int64, ok bool) {
	const windows = 12
	n := len(lowest) / windows
	if n == 0 {
		return 0, 0, false
	}
	steps := 0
	var before int64
	for w := 1; w < windows; w++ {
		least := slices.Min(lowest[w*n : (w+1)*n])
		if w == 1 {
			from, before = least, least
		}
		switch {
		case least < before:
			return 0, 0, false
		case least > before:
			steps++
		}
		before = least
	}
	return from, before, steps >= windows/4
}
