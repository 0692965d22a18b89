package record

import (
	"slices"

	"poolwise/sim"
)

// demand is what is measured of what was asked of a pool.
type demand struct {
	first, last sim.Time // arrivals of requests that count
	timeouts    Timeouts
	leftOpening sim.Time // when an attempt to connect was last given up
}

// Timeouts counts acquires that timed out by what their pool was at.
type Timeouts struct {
	Held      int64 `json:"held"`                // all connections that there may be were lent
	Opening   int64 `json:"opening"`             // connections were being opened
	Checking  int64 `json:"checking,omitempty"`  // of the connections that were not idle, most were being checked
	Returning int64 `json:"returning,omitempty"` // most were being reset, rolled back or closed after a loan
	Leaked    int64 `json:"leaked,omitempty"`    // all slots were lost
	Other     int64 `json:"other"`
}

// All is how many there are.
func (t Timeouts) All() int64 {
	return t.Held + t.Opening + t.Checking + t.Returning + t.Leaked + t.Other
}

func (t *Timeouts) add(o *Timeouts) {
	t.Held += o.Held
	t.Opening += o.Opening
	t.Checking += o.Checking
	t.Returning += o.Returning
	t.Leaked += o.Leaked
	t.Other += o.Other
}

// arrived notes a request that counts.
func (p *part) arrived(at sim.Time) {
	if p.began == 0 {
		p.first = at
	}
	p.began++
	p.last = at
}

// timedOut notes an acquire that timed out. Whoever waits times out while the connection that it waits for is held, or opened, by
// another; whoever opens one itself gives it up just before.
func (r *Recorder) timedOut(f *Fact) {
	t, p := &r.parts[f.Pool].timeouts, &r.parts[f.Pool]
	if r.poolOf != nil {
		p = &r.parts[r.poolOf[f.Pool]]
	}
	size, opening, full := p.level[levelSize].value, p.level[Opening].value, p.leak.capacity
	checking, returning := p.level[Checking].value, p.level[Returning].value+p.level[Closing].value
	switch {
	case full > 0 && p.leak.lost >= full:
		t.Leaked++
	case opening > 0 || p.leftOpening == f.At:
		t.Opening++
	case 2*checking > size-p.level[Idle].value:
		t.Checking++
	case 2*returning > size-p.level[Idle].value:
		t.Returning++
	case full > 0 && size+p.leak.lost >= full && p.level[Idle].value == 0:
		t.Held++
	default:
		t.Other++
	}
}

// arrivals returns how many requests a second arrive at open workloads, from the first of them to the last; false if there are
// none, or too few to tell, or if they end in the first half of the run.
func (r *Run) arrivals(parts []*Part) (perSecond float64, ok bool) {
	open := slices.Clone(parts)
	open = slices.DeleteFunc(open, func(p *Part) bool { return !p.Open || p.Requests.Total == 0 })
	if len(open) == 0 {
		return 0, false
	}
	first, last, n := open[0].First, open[0].Last, int64(0)
	for _, p := range open {
		first, last, n = min(first, p.First), max(last, p.Last), n+p.Requests.Total
	}
	const few = 30
	span := last.Sub(first)
	if n < few || span <= 0 || span < r.End.Sub(r.From)/2 {
		return 0, false
	}
	return float64(n-1) / span.Seconds(), true
}

// mergeArrivals estimates the rate of arrivals at the open workloads among some pools.
func mergeArrivals(runs []*Run, parts [][]*Part) Float {
	return acrossFloat(len(runs), func(i int) (float64, bool) { return runs[i].arrivals(parts[i]) })
}

// Offered is what open workloads ask of something that there is a number of: cores, or the connections of a pool. Where it is more
// than there is, a queue grows for as long as it lasts, or requests fail.
type Offered struct {
	Of      string   `json:"of"`                // OfCores, OfConnections or OfPooler
	Service string   `json:"service,omitempty"` // of connections: whose, if there are several services
	Rate    Float    `json:"rate"`              // requests a second that arrive
	Each    Duration `json:"each"`              // how long each occupies one: core time by the scenario, measured time of a connection
	Load    Float    `json:"load"`              // rate x each: how many would be busy if all were done
	Peak    Float    `json:"peak,omitzero"`     // load at the highest of rates on a timetable, where that lasts long enough to fill a queue
	Have    int      `json:"have"`              // how many there are
	Busy    Float    `json:"busy"`              // share of them that was busy in the run
}

// What is offered load.
const (
	OfCores       = "cores"
	OfConnections = "connections"        // of a pool
	OfPooler      = "pooler connections" // to the server
)

// TooMuch reports whether more was asked than there is, for sure: the load is above it, with all of its interval, and nearly all
// that there is was busy. Half a percent is too little to speak of: the rate of what has arrived is not that exact.
func (o *Offered) TooMuch() bool {
	return o.Load.Known && o.Load.Lo > 1.005*float64(o.Have) && o.Busy.Known && o.Busy.Value >= 0.95
}

// Grows reports whether the run was still filling up when it ended: more and more requests held a connection or waited for one,
// from quarter to quarter without levelling off, and to hold them back took a share of the arrivals worth speaking of.
func (r *Run) Grows() bool {
	const (
		quarters = 4
		least    = 5    // requests
		share    = 0.02 // of the arrivals
	)
	s := &r.Series
	if s.Bin <= 0 || len(s.Mean) <= seriesWaiting {
		return false
	}
	from := int((r.From + sim.Time(s.Bin) - 1) / sim.Time(s.Bin))
	n := (min(int(r.End/sim.Time(s.Bin)), len(s.Mean[0])) - from) / quarters
	if n < 8 {
		return false
	}
	var level [quarters]float64
	for q := range level {
		for i := range n {
			at := from + q*n + i
			level[q] += (s.Mean[seriesInUse][at] + s.Mean[seriesWaiting][at]) / float64(n)
		}
	}
	lowest := level[quarters-1]
	for i := range n {
		at := from + (quarters-1)*n + i
		lowest = min(lowest, s.Mean[seriesInUse][at]+s.Mean[seriesWaiting][at])
	}
	var arrived int64
	for i := range r.Parts {
		arrived += r.Parts[i].Requests.Total
	}
	step := level[3] - level[2]
	return level[0] < level[1] && level[1] < level[2] && step > 0.5*(level[2]-level[1]) &&
		level[3] >= least && level[3] > 1.1*level[2] && lowest > level[1] &&
		step > share*float64(arrived)/quarters
}
