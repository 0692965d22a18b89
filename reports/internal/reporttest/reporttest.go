// Package reporttest has results for the tests of reports and charts: the published figures of the pool-sizing lab, and any
// result at all.
package reporttest

import (
	"fmt"
	"math"
	"time"

	"pgregory.net/rapid"

	"poolwise/sim"
	"poolwise/sim/record"
)

// Row is what was measured at one setting.
type Row struct {
	Settings        record.Settings
	Took            time.Duration // from the start to the end of the last request
	OK, Failed      int64
	How             record.Outcome // of the failed ones
	P50, P99        time.Duration
	Size            float64
	Opened, Refused int64
	PeakOpen        int64
}

// Set returns one setting.
func Set(key string, value any) record.Settings {
	return record.Settings{{Key: key, Value: fmt.Sprint(value)}}
}

const ms = time.Millisecond

// Lab is the pool-sizing lab: 100 tasks with 4 queries each against a server of 4 cores that allows 20 connections.
var Lab = []Row{
	{Set("pool.max", 2), 1310 * ms, 400, 0, 0, 320 * ms, 331 * ms, 2, 2, 0, 2},
	{Set("pool.max", 4), 667 * ms, 400, 0, 0, 160 * ms, 173 * ms, 4, 4, 0, 4},
	{Set("pool.max", 8), 679 * ms, 400, 0, 0, 163 * ms, 183 * ms, 8, 8, 0, 8},
	{Set("pool.max", 16), 690 * ms, 400, 0, 0, 164 * ms, 204 * ms, 16, 16, 0, 16},
	{Set("pool.max", 20), 692 * ms, 400, 0, 0, 172 * ms, 192 * ms, 20, 20, 0, 20},
	{Set("pool.max", 40), 299 * ms, 153, 247, record.TooManyConnections, 71 * ms, 96 * ms, 20, 20, 247, 20},
}

// Empty makes a result without cells.
func Empty(name, about string) *record.Result {
	return &record.Result{
		Schema:   record.Schema,
		Scenario: record.Scenario{Name: name, About: about, Hash: "9f2c", Seed: 1, Estimate: "terminating"},
		Verdict:  record.Passed,
	}
}

// Fleet is one cell with several pools, of which the last are refused by the server.
func Fleet(pools, refused int) *record.Result {
	r := Empty("fleet", "Instances of 10 connections each against one server.")
	fleet := record.Run{Server: record.ServerStats{Opened: int64(pools-refused) * 10, Refused: int64(refused) * 100, PeakOpen: int64(pools-refused) * 10}}
	var names []string
	for i := range pools {
		row := Row{Took: 100 * ms, OK: 100, P50: 10 * ms, P99: 30 * ms, Size: 10}
		if i >= pools-refused {
			row = Row{Took: 100 * ms, Failed: 100, How: record.ConnectRefused}
		}
		run := row.run(1)
		fleet.End, fleet.Series, fleet.Levels = run.End, run.Series, run.Levels
		fleet.Parts = append(fleet.Parts, run.Parts...)
		names = append(names, fmt.Sprintf("payments-%d", i+1))
	}
	for _, l := range []*record.Level3{&fleet.Levels.Size, &fleet.Levels.InUse} {
		*l = record.Level3{Mean: record.ExactFloat(float64(pools-refused) * 10), Max: record.ExactFloat(float64(pools-refused) * 10)}
	}
	fleet.Groups = []record.GroupRun{{Group: record.Group{Name: "payments", N: pools}, Levels: fleet.Levels}}
	r.Cells = []record.Cell{record.Merge(nil, names, []*record.Run{&fleet})}
	return r
}

// Check adds checks of every cell to a result.
func Check(r *record.Result, exprs ...string) *record.Result {
	for _, x := range exprs {
		e, err := record.ParseCheck(x)
		if err != nil {
			panic(err)
		}
		for i := range r.Cells {
			k := e.Evaluate(&r.Cells[i])
			k.Cell = i
			r.Checks = append(r.Checks, k)
		}
	}
	r.Verdict = record.Verdict(r.Checks)
	return r
}

// Result makes a result of rows. With several replications each differs a little from the next.
func Result(name, about string, rows []Row, replications int) *record.Result {
	r := Empty(name, about)
	for _, row := range rows {
		var runs []*record.Run
		for i := range replications {
			runs = append(runs, row.run(1+0.03*float64((i*7)%5-2)/2))
		}
		r.Cells = append(r.Cells, record.Merge(row.Settings, []string{"pool"}, runs))
	}
	return r
}

// run makes the run of a row; stretch makes it slower or faster.
func (row Row) run(stretch float64) *record.Run {
	at := func(d time.Duration) time.Duration { return time.Duration(float64(d) * stretch) }
	p := record.Part{LastEnd: sim.Time(at(row.Took))}
	for i := range row.OK {
		q := float64(i) / float64(row.OK)
		var d float64
		switch {
		case q < 0.5:
			d = float64(row.P50) * (0.1 + 0.9*math.Sqrt(2*q))
		default:
			d = float64(row.P50) + float64(row.P99-row.P50)*(q-0.5)/0.49
		}
		p.Latency.Record(at(time.Duration(d)))
		p.Wait.Record(at(time.Duration(0.9 * d)))
		p.Hold.Record(at(time.Duration(0.1 * d)))
	}
	for range row.Failed {
		p.Failed.Record(at(20 * ms))
	}
	p.Requests = record.Requests{Total: row.OK + row.Failed, OK: row.OK, Failed: row.Failed}
	p.Requests.Outcomes[row.How] = row.Failed
	if row.How == record.OK {
		p.Requests.Outcomes = record.Counts{}
	}
	level := func(mean, highest, last float64) record.Level3 {
		return record.Level3{Mean: record.ExactFloat(mean * stretch), Max: record.ExactFloat(highest), Final: record.ExactFloat(last)}
	}
	p.Levels = record.Levels{
		Size: level(row.Size, row.Size, row.Size), InUse: level(0.98*row.Size, row.Size, 0), Idle: level(0.02*row.Size, row.Size, row.Size),
		Waiting: level(max(96-row.Size, 0), max(100-row.Size, 0), 0), Opening: level(0.1, row.Size, 0),
	}
	run := &record.Run{
		End: sim.Time(at(row.Took)), Parts: []record.Part{p}, Levels: p.Levels, Series: row.series(at(row.Took)),
		Server: record.ServerStats{Opened: row.Opened, Refused: row.Refused, PeakOpen: row.PeakOpen, CoreUtilisation: record.ExactFloat(min(0.24*row.Size, 0.97))},
	}
	for range row.Opened {
		run.Connect.Record(20 * ms)
	}
	return run
}

// series makes levels over time: connecting first, then all in use while the queue shrinks.
func (row Row) series(took time.Duration) record.Series {
	const bins = 300
	s := record.Series{Bin: max(took/bins, 1), End: took, Names: []string{"size", "idle", "in_use", "waiting", "connecting"}}
	s.N, s.Slots = 1, int(row.Size)
	s.Mean, s.Max = make([][]float64, 5), make([][]int64, 5)
	for i := range bins {
		x := float64(i) / bins
		v := [5]float64{row.Size, 0, row.Size, 96 * (1 - x), 0}
		switch {
		case x < 0.05:
			v = [5]float64{row.Size, 0, 0, 96, row.Size}
		case x > 0.95:
			v[1], v[2] = row.Size*(x-0.95)*20, row.Size*(1-x)*20
		}
		for j := range v {
			s.Mean[j] = append(s.Mean[j], v[j])
			s.Max[j] = append(s.Max[j], int64(math.Ceil(v[j]*1.2)))
		}
		share := func(n int64) int64 { return n*int64(i+1)/bins - n*int64(i)/bins }
		s.Ended = append(s.Ended, record.Ends{OK: share(row.OK), Failed: share(row.Failed)})
	}
	return s
}

// Any draws any result at all, likely or not.
func Any() *rapid.Generator[*record.Result] {
	return rapid.Custom(func(t *rapid.T) *record.Result {
		keys := rapid.SliceOfN(text, 0, 3).Draw(t, "keys")
		r := &record.Result{
			Scenario: record.Scenario{Name: text.Draw(t, "name"), About: text.Draw(t, "about"), Seed: rapid.Uint64().Draw(t, "seed")},
			Verdict:  record.Passed,
		}
		for range rapid.IntRange(0, 6).Draw(t, "cells") {
			r.Cells = append(r.Cells, anyCell(t, keys))
		}
		return r
	})
}

var (
	text = rapid.SampledFrom([]string{
		"", "pool.max", "api.pool.max_connections", "größe 連接", "a|b*c_d<e>&\"f\"", "line\nbreak\ttab\x1b[31m", "services.web.arrivals", "wait",
	})
	value = rapid.SampledFrom([]string{
		"0", "1", "2", "8", "40", "1e300", "1e-9", "-3", "10ms", "1h", "200/s", "5%", "sqlx", "", "NaN", "Inf",
	})
	count    = rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1<<60))
	duration = rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1e9), rapid.Int64Range(0, math.MaxInt64))
	number   = rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64(), rapid.SampledFrom([]float64{0, 1, math.NaN(), math.Inf(1)}))
)

func anyCell(t *rapid.T, keys []string) record.Cell {
	c := record.Cell{
		Replications: rapid.IntRange(0, 3).Draw(t, "replications"),
		Requests:     anyRequests(t),
		Latency:      anySummary(t), Wait: anySummary(t), FailedAfter: anySummary(t),
		Throughput: anyFloat(t), FailedRate: anyFloat(t), Makespan: anyDuration(t), Leaked: anyFloat(t),
		Levels: record.Levels{Size: anyLevel(t), Waiting: anyLevel(t)},
		Server: record.ServerStats{Opened: count.Draw(t, "opened"), Refused: count.Draw(t, "refused"), CoreUtilisation: anyFloat(t)},
		Stages: anyStages(t),
		Curves: record.Curves{Latency: anyHistogram(t), Levels: anySeries(t)},
	}
	for _, k := range keys {
		if rapid.IntRange(0, 9).Draw(t, "has key") > 0 {
			c.Settings = append(c.Settings, record.Setting{Key: k, Value: value.Draw(t, "value")})
		}
	}
	if rapid.Bool().Draw(t, "warns") {
		c.Warnings = append(c.Warnings, text.Draw(t, "warning"))
	}
	for range rapid.IntRange(0, 2).Draw(t, "pools") {
		c.Pools = append(c.Pools, record.PoolCell{Name: text.Draw(t, "pool"), Requests: anyRequests(t), Latency: anySummary(t)})
	}
	if n := rapid.SampledFrom([]int{0, 0, 2, 20}).Draw(t, "instances"); n > 0 {
		s := record.PoolCell{Name: text.Draw(t, "service"), Instances: n, Requests: anyRequests(t), FailedRate: anyFloat(t)}
		c.Services = append(c.Services, s)
		for range n {
			c.Pools = append(c.Pools, record.PoolCell{Name: text.Draw(t, "pool"), Service: s.Name, Requests: anyRequests(t), FailedRate: anyFloat(t)})
		}
	}
	if rapid.Bool().Draw(t, "open") {
		c.Arrivals = anyFloat(t)
		c.Timeouts = record.Timeouts{Held: count.Draw(t, "held") / 4, Opening: count.Draw(t, "opening") / 4, Other: count.Draw(t, "other") / 4}
		for _, of := range []string{record.OfCores, record.OfConnections} {
			c.Offered = append(c.Offered, record.Offered{
				Of: of, Service: text.Draw(t, "offered to"), Rate: anyFloat(t), Each: anyDuration(t), Load: anyFloat(t), Have: int(count.Draw(t, "have")), Busy: anyFloat(t),
			})
		}
	}
	for range rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "diagnoses") {
		c.Diagnoses = append(c.Diagnoses, record.Diagnosis{
			Kind:    rapid.SampledFrom([]record.FindingKind{record.Deadlocked, record.CanDeadlock, record.Leaking, record.NeverReleased, record.NotStarted, "other"}).Draw(t, "kind"),
			Service: text.Draw(t, "service"), Text: text.Draw(t, "text"), At: anyDuration(t),
			Instances: int(count.Draw(t, "instances")), Replications: int(count.Draw(t, "seen")),
		})
	}
	if rapid.IntRange(0, 3).Draw(t, "budget") == 0 {
		row := record.BudgetRow{Service: text.Draw(t, "service"), Instances: int(count.Draw(t, "instances")), WithoutPeak: int(count.Draw(t, "without")), Used: anyFloat(t)}
		c.Budget = &record.Budget{Limit: int(count.Draw(t, "limit")), Left: int(rapid.Int64().Draw(t, "left")), Rows: []record.BudgetRow{row}}
	}
	for range rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "servers") {
		c.Servers = append(c.Servers, record.ServerCell{Name: text.Draw(t, "server"), Open: anyFloat(t), Emptied: anyDuration(t), ServerStats: c.Server})
	}
	for range rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "actions") {
		c.Actions = append(c.Actions, record.ActionCell{
			Deed: record.Deed{At: time.Duration(duration.Draw(t, "at")), Do: text.Draw(t, "do"), Service: text.Draw(t, "of"), Instance: int(count.Draw(t, "instance"))},
			Took: anyDuration(t), NotReturned: anyFloat(t),
		})
	}
	return c
}

func anyRequests(t *rapid.T) record.Requests {
	q := record.Requests{OK: count.Draw(t, "ok"), Failed: count.Draw(t, "failed"), Unfinished: count.Draw(t, "unfinished")}
	q.Total = q.OK + q.Failed + q.Unfinished
	q.Outcomes[rapid.IntRange(1, int(record.NumOutcomes)-1).Draw(t, "outcome")] = q.Failed
	return q
}

func anyDuration(t *rapid.T) record.Duration {
	d := record.Exact(time.Duration(duration.Draw(t, "duration")))
	d.Known = rapid.Bool().Draw(t, "known")
	if d.Interval = rapid.Bool().Draw(t, "interval"); d.Interval {
		d.Lo, d.Hi = d.Value/2, d.Value+min(d.Value, math.MaxInt64-d.Value)
	}
	return d
}

func anyFloat(t *rapid.T) record.Float {
	f := record.ExactFloat(number.Draw(t, "number"))
	f.Known = rapid.Bool().Draw(t, "known")
	if f.Interval = rapid.Bool().Draw(t, "interval"); f.Interval {
		f.Lo, f.Hi = f.Value-1, f.Value*2
	}
	return f
}

func anyLevel(t *rapid.T) record.Level3 {
	return record.Level3{Mean: anyFloat(t), Max: anyFloat(t), Final: anyFloat(t), Most: anyFloat(t)}
}

func anySummary(t *rapid.T) record.Summary {
	return record.Summary{N: count.Draw(t, "n"), Mean: anyDuration(t), Max: anyDuration(t), P50: anyDuration(t), P95: anyDuration(t), P99: anyDuration(t)}
}

func anyHistogram(t *rapid.T) *record.Histogram {
	if rapid.IntRange(0, 3).Draw(t, "histogram") > 0 { // they are large
		return nil
	}
	h := new(record.Histogram)
	for range rapid.IntRange(0, 30).Draw(t, "values") {
		h.Record(time.Duration(duration.Draw(t, "value")))
	}
	return h
}

func anySeries(t *rapid.T) record.Series {
	s := record.Series{
		Bin: time.Duration(duration.Draw(t, "bin")), End: time.Duration(duration.Draw(t, "end")), WarmUp: time.Duration(duration.Draw(t, "warm")),
		Names:  rapid.SliceOfN(rapid.SampledFrom([]string{"size", "idle", "waiting", "in_use", "other"}), 0, 5).Draw(t, "names"),
		Course: anyCourse(t),
	}
	for range rapid.SampledFrom([]int{0, 0, 2, record.MaxCourses}).Draw(t, "courses") {
		s.Services = append(s.Services, anyCourse(t))
	}
	if rapid.IntRange(0, 3).Draw(t, "pooler") == 0 {
		c := anyCourse(t)
		s.Pooler = &c
	}
	for range rapid.SampledFrom([]int{0, 0, 4}).Draw(t, "faults") {
		s.Faults = append(s.Faults, record.Fault{
			At: time.Duration(duration.Draw(t, "from")), For: time.Duration(duration.Draw(t, "for")), What: text.Draw(t, "what"),
		})
	}
	return s
}

func anyCourse(t *rapid.T) record.Course {
	c := record.Course{First: rapid.IntRange(0, 3).Draw(t, "first"), N: rapid.IntRange(0, 3).Draw(t, "pools"), Slots: int(count.Draw(t, "slots"))}
	for range rapid.IntRange(0, 5).Draw(t, "means") {
		c.Mean = append(c.Mean, rapid.SliceOfN(number, 0, 5).Draw(t, "mean"))
	}
	for range rapid.IntRange(0, 5).Draw(t, "maxima") {
		c.Max = append(c.Max, rapid.SliceOfN(count, 0, 5).Draw(t, "max"))
	}
	for range rapid.IntRange(0, 5).Draw(t, "ends") {
		c.Ended = append(c.Ended, record.Ends{OK: count.Draw(t, "well"), Failed: count.Draw(t, "badly")})
	}
	return c
}
