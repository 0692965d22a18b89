package record

import "poolwise/sim"

// PoolerCell is what a pooler before the server did. The figures of the server in the same cell are about the pooler's server
// connections and what bypasses it: Connect is of their connects, Server.PeakOpen the most that were open at once.
type PoolerCell struct {
	Clients  Level3  `json:"clients"`  // sessions of clients that are open
	Connect  Summary `json:"connect"`  // of successful connects of clients
	Refused  int64   `json:"refused"`  // connects of clients that failed, summed over the replications
	Wait     Summary `json:"wait"`     // from when a client wants a server connection until it has one
	Timeouts int64   `json:"timeouts"` // waits that ended at the pooler's query_wait_timeout, summed
	Levels   Levels  `json:"levels"`   // of the server connections; waiting: of clients that wait for one
}

// PoolerRun is what was measured of a pooler in one replication.
type PoolerRun struct {
	Clients           Level3
	Connect, Wait     Histogram
	Refused, Timeouts int64
	Levels            Levels
}

// poolerPart measures a pooler.
type poolerPart struct {
	clients           Level
	connect           Histogram
	refused, timeouts int64
	servers           part // its wait and its levels
}

func (r *Recorder) notePooler(f *Fact) {
	if r.pooler == nil {
		r.pooler = &poolerPart{}
		r.series.add(levelsOf(&r.pooler.servers))
		r.courses.pooler = len(r.series.courses) - 1
	}
	p := r.pooler
	waiting := &p.servers.level[levelWaiting]
	switch f.Kind {
	case PoolerConnected:
		switch f.Outcome {
		case OK:
			p.clients.Add(f.At, 1)
			p.connect.Record(f.Took)
		case Cancelled:
		default:
			p.refused++
		}
	case PoolerLeft:
		p.clients.Add(f.At, -1)
	case PoolerWaitBegan:
		waiting.Add(f.At, 1)
	case PoolerWaitEnded:
		waiting.Add(f.At, -1)
		if f.Outcome == QueueTimeout {
			p.timeouts++
		}
	case PoolerMoved:
		if f.Move.To() == InUse && f.At >= r.from {
			p.servers.wait.Record(f.Took)
		}
		if f.Move.From() != f.Move.To() {
			r.moved(&p.servers, f)
		}
	}
}

func (p *poolerPart) restart(at sim.Time) {
	if p != nil {
		p.clients.restart(at)
		p.servers.restart(at)
	}
}

func (p *poolerPart) finish(from, end sim.Time) *PoolerRun {
	if p == nil {
		return nil
	}
	return &PoolerRun{
		Clients: p.clients.level3(from, end), Connect: p.connect, Wait: p.servers.wait, Refused: p.refused, Timeouts: p.timeouts,
		Levels: p.servers.levels(from, end),
	}
}

// mergePooler makes the part of a cell that is about a pooler, nil without one. A replication in which nobody used it counts as
// one in which nothing happened.
func mergePooler(runs []*Run) *PoolerCell {
	each, some := make([]*PoolerRun, len(runs)), false
	for i, r := range runs {
		each[i] = r.Pooler
		if each[i] == nil {
			each[i] = (&poolerPart{}).finish(r.From, r.End)
		}
		some = some || r.Pooler != nil
	}
	if !some {
		return nil
	}
	c := &PoolerCell{
		Clients: mergeLevel3(len(each), func(i int) *Level3 { return &each[i].Clients }),
		Levels:  mergeLevels(len(each), func(i int) *Levels { return &each[i].Levels }),
	}
	c.Connect, _ = summarize(len(each), func(i int) *Histogram { return &each[i].Connect })
	c.Wait, _ = summarize(len(each), func(i int) *Histogram { return &each[i].Wait })
	for _, e := range each {
		c.Refused += e.Refused
		c.Timeouts += e.Timeouts
	}
	return c
}
