package run

import (
	"fmt"
	"math"
	"time"

	"poolwise/pool"
	"poolwise/scenarios"
	"poolwise/sim/dist"
	"poolwise/sim/pooler"
	"poolwise/sim/record"
	"poolwise/sim/server"
	"poolwise/workload"
)

// need is what one request of a program asks for in the mean, where that can be said.
type need struct {
	loans   float64 // of connections
	core    float64 // core time in nanoseconds, without any slow-down
	noLoans bool    // the number of loans, or their end, depends on luck that is not known in the mean
	noCore  bool    // the core time does
}

// needOf works out what a request needs. What comes after a step that may end it counts only as far as it is reached.
func needOf(o *server.Options, steps []workload.Step) need {
	var n need
	n.add(o, steps, 1)
	return n
}

// add adds steps that are taken with a chance.
func (n *need) add(o *server.Options, steps []workload.Step, chance float64) {
	for i := range steps {
		s := &steps[i]
		p := chance
		if s.Chance != nil {
			p *= float64(*s.Chance)
		}
		switch {
		case s.Acquire != nil:
			n.loans += p
			n.noLoans = n.noLoans || s.Acquire.Try
		case s.Query != nil:
			core, ok := coreTime(o, s.Query)
			n.core += float64(p * core)
			n.noCore = n.noCore || !ok || s.CancelAfter != nil
		case s.Leak != nil:
			n.noLoans = true
		case s.Return != nil:
			n.noLoans = n.noLoans || *s.Return == workload.Leak || *s.Return == workload.Detach
		case s.Cancel != nil:
			n.noLoans, n.noCore = true, true
		case s.Fail != nil:
			chance *= 1 - float64(*s.Fail)
		case s.Do != nil:
			n.add(o, s.Do, p)
		}
	}
}

// coreTime returns the mean time on a core of a query, without contention; false if it is not known.
func coreTime(o *server.Options, q *server.QuerySpec) (nanoseconds float64, ok bool) {
	phase := func(d *dist.Distribution, chance float64) {
		mean, known := d.Mean()
		_, fixed := d.IsFixed()
		ok = ok && known && (fixed || o.StatementTimeout == 0)
		if mean > 0 {
			nanoseconds += float64(chance * float64(mean+o.TimerOverhead))
		}
	}
	ok = true
	if q.Phases == nil {
		phase(&q.Service, 1)
	}
	for i := range q.Phases {
		p := &q.Phases[i]
		if p.CPU == nil {
			continue
		}
		chance := 1.0
		if p.Chance != nil {
			chance = float64(*p.Chance)
		}
		phase(p.CPU, chance)
	}
	return nanoseconds, ok
}

// offered says what the open workloads of a scenario ask of the cores and of the connections of each service. The arrivals and
// the time for which a request keeps a connection are measured; the core time is that of the scenario, for what fails gets none.
func offered(sc *scenarios.Scenario, c *record.Cell) []record.Offered {
	var all []record.Offered
	if o, ok := offeredToCores(sc, c); ok {
		all = append(all, o)
	}
	if o, ok := offeredToPooler(sc, c); ok {
		all = append(all, o)
	}
	services := sc.All()
	for i := range services {
		if services[i].PoolOf == "" {
			if o, ok := offeredToPool(sc, c, services, &services[i]); ok {
				all = append(all, o)
			}
		}
	}
	return all
}

// offeredToPool says what is asked of the connections of a service, by itself and by those that use its pool.
func offeredToPool(sc *scenarios.Scenario, c *record.Cell, services []scenarios.Service, owner *scenarios.Service) (record.Offered, bool) {
	have, pool := owner.Capacity()*owner.Instances, poolsOf(c, owner, len(services))
	if pool == nil {
		return record.Offered{}, false
	}
	var rate, load record.Float
	for i := range services {
		v := &services[i]
		if v.Owner() != owner.Name {
			continue
		}
		p, n := poolsOf(c, v, len(services)), needOf(&sc.Server, v.Workload.Request)
		if p == nil || n.noLoans {
			return record.Offered{}, false
		}
		if p.Arrivals.Known && p.Hold.Mean.Known {
			each := record.Exact(time.Duration(math.Round(n.loans * float64(p.Hold.Mean.Value) * aroundLoans(pool))))
			rate, load = plus(rate, p.Arrivals), plus(load, times(p.Arrivals, each))
		}
	}
	if have == 0 || !load.Known || load.Value == 0 {
		return record.Offered{}, false
	}
	o := record.Offered{Of: record.OfConnections, Service: owner.Name, Rate: rate, Each: perRequest(load, rate), Load: load, Have: have}
	if len(services) == 1 {
		o.Service = ""
	}
	o.Busy = record.ExactFloat(min((pool.Levels.Size.Mean.Value-pool.Levels.Idle.Mean.Value)/float64(have), 1))
	return o, true
}

// aroundLoans is by what the time for which a request has a connection is to be multiplied for it to have in it the checks before the
// loan, and the reset and the roll-back after it, during which nobody else can have the connection.
func aroundLoans(p *record.PoolCell) float64 {
	lent := p.Levels.InUse.Mean.Value
	if lent <= 0 {
		return 1
	}
	l := &p.Levels
	around := l.Size.Mean.Value - l.Idle.Mean.Value - lent - l.Opening.Mean.Value
	return 1 + max(around, 0)/lent
}

// offeredToPooler says what is asked of the server connections of a pooler that lends them for a transaction or a query: the arrivals,
// and the time for which one served a request, both measured. It can be said if all requests arrive of themselves, and all connect as
// one role, for each role has connections of its own.
func offeredToPooler(sc *scenarios.Scenario, c *record.Cell) (record.Offered, bool) {
	if sc.Pooler == nil || sc.Pooler.Mode == pooler.SessionMode || c.Pooler == nil {
		return record.Offered{}, false
	}
	services := sc.All()
	var rate record.Float
	var served float64 // requests a second that had a server connection, or may have had one
	role, first := "", true
	for i := range services {
		v := &services[i]
		if v.Direct {
			continue
		}
		p := poolsOf(c, v, len(services))
		if p == nil || !p.Arrivals.Known || !p.Throughput.Known || p.Requests.OK == 0 || !first && v.Role != role {
			return record.Offered{}, false
		}
		role, first = v.Role, false
		q := &p.Requests
		others := q.Failed - q.Outcomes[record.AcquireTimeout] - q.Outcomes[record.NoneAvailable] - q.Outcomes[record.QueueTimeout]
		rate, served = plus(rate, p.Arrivals), served+float64(p.Throughput.Value*(1+float64(others)/float64(q.OK)))
	}
	l := &c.Pooler.Levels
	busy := l.Size.Mean.Value - l.Idle.Mean.Value - l.Opening.Mean.Value
	if served <= 0 || busy <= 0 {
		return record.Offered{}, false
	}
	have := sc.Pooler.DefaultPoolSize + sc.Pooler.ReservePoolSize
	each := record.Exact(time.Duration(math.Round(busy / served * float64(time.Second))))
	return record.Offered{
		Of: record.OfPooler, Rate: rate, Each: each, Load: times(rate, each), Have: have,
		Busy: record.ExactFloat(min(busy/float64(have), 1)),
	}, true
}

// perRequest is the load of one request.
func perRequest(load, rate record.Float) record.Duration {
	return record.Exact(time.Duration(math.Round(load.Value / rate.Value * float64(time.Second))))
}

// offeredToCores says what they ask of the cores of the one server there is, all together.
func offeredToCores(sc *scenarios.Scenario, c *record.Cell) (record.Offered, bool) {
	if sc.Server.Cores == 0 || len(sc.Servers) > 0 || !c.Server.CoreUtilisation.Known {
		return record.Offered{}, false
	}
	services := sc.All()
	var rate, load record.Float
	var varies *scenarios.Service // the only one whose rate is on a timetable
	var steady, each float64      // load of the others, and core time of its requests in seconds
	for i := range services {
		v := &services[i]
		p := poolsOf(c, v, len(services))
		if p == nil || !p.Arrivals.Known {
			continue // what closed workloads ask for comes on top
		}
		n := needOf(&sc.Server, v.Workload.Request)
		if n.noCore {
			return record.Offered{}, false
		}
		core := record.Exact(time.Duration(math.Round(n.core)))
		rate, load = plus(rate, p.Arrivals), plus(load, times(p.Arrivals, core))
		if len(v.Workload.Arrivals.Phases) > 0 && varies == nil {
			varies, each = v, core.Value.Seconds()
		} else {
			steady += times(p.Arrivals, core).Value
		}
	}
	if !load.Known || load.Value == 0 {
		return record.Offered{}, false
	}
	o := record.Offered{Of: record.OfCores, Rate: rate, Each: perRequest(load, rate), Load: load, Have: sc.Server.Cores, Busy: c.Server.CoreUtilisation}
	if varies != nil && each > 0 {
		peak, lasts := highest(varies.WorkloadOf(0).Arrivals.Phases, sc.Until)
		at := steady + float64(peak*each)*float64(varies.Instances)
		const enough = 20 // requests too many, to speak of a queue
		if (at-float64(o.Have))/each*lasts.Seconds() > enough {
			o.Peak = record.ExactFloat(at)
		}
	}
	return o, true
}

// highest returns the highest mean rate of a phase before the end of a run, and how long that phase lasts.
func highest(phases []workload.Phase, until scenarios.Until) (perSecond float64, lasts time.Duration) {
	at := time.Duration(0)
	for _, p := range phases {
		left := time.Hour // of a phase without an end in a run without one: long enough
		if !until.Drained {
			left = until.Time - at
		}
		took := left
		if p.For != nil {
			took = min(*p.For, left)
		}
		if took <= 0 {
			break
		}
		mean := p.Rate.PerSecond()
		if p.To != nil && p.For != nil { // to where it is by then
			mean += float64((p.To.PerSecond() - mean) / 2 * took.Seconds() / p.For.Seconds())
		}
		if mean > perSecond {
			perSecond, lasts = mean, took
		}
		at += took
	}
	return perSecond, lasts
}

// poolsOf returns what was measured of a service, nil if it is not there.
func poolsOf(c *record.Cell, v *scenarios.Service, services int) *record.PoolCell {
	for _, all := range [][]record.PoolCell{c.Services, c.Pools} {
		for i := range all {
			if all[i].Name == v.Name {
				return &all[i]
			}
		}
	}
	if services > 1 {
		return nil
	}
	return &record.PoolCell{Requests: c.Requests, Arrivals: c.Arrivals, Throughput: c.Throughput, Hold: c.Hold, Levels: c.Levels}
}

// times returns a rate multiplied by a time, both means.
func times(perSecond record.Float, d record.Duration) record.Float {
	s := d.Value.Seconds()
	perSecond.Value, perSecond.Lo, perSecond.Hi = perSecond.Value*s, perSecond.Lo*s, perSecond.Hi*s
	return perSecond
}

// plus adds estimates; the interval of the sum is at its widest.
func plus(a, b record.Float) record.Float {
	if !a.Known {
		return b
	}
	return record.Float{Value: a.Value + b.Value, Lo: a.Lo + b.Lo, Hi: a.Hi + b.Hi, Known: true, Interval: a.Interval || b.Interval}
}

// overLimit says that pools may open more connections than the server allows; empty if they cannot, or if a run of a single pool
// says so by the connects that are refused.
func overLimit(sc *scenarios.Scenario, c *record.Cell) string {
	services := sc.All()
	who, limit, demand := "the pools of all instances together", 0, 0
	switch b := c.Budget; {
	case b != nil:
		limit, demand = b.Limit-b.Reserved, b.Demand
		for i := range services {
			if child, ok := services[i].Pool.Options.(pool.ChildOptions); ok && child.ParentName() != "" {
				for _, row := range b.Rows {
					if row.Service == services[i].Name {
						demand -= row.Demand // it opens connections in the place of its parent
					}
				}
			}
		}
	case len(services) == 1 && services[0].Instances == 1 && services[0].Pool.Model != "asyncio": // which has no connections
		who = "the pool"
		l := limitOf(sc, &services[0])
		if l.Limit == 0 || l.Of == "pooler" || c.Server.Refused > 0 {
			return ""
		}
		limit, demand = l.Left, services[0].Capacity()
	}
	if demand <= limit {
		return ""
	}
	s := fmt.Sprintf("%s could open %d connections, and the server allows %d", who, demand, limit)
	if c.Server.Refused == 0 {
		s += fmt.Sprintf("; in this run it did not come to that: at most %d were open", c.Server.PeakOpen)
	}
	return s
}
