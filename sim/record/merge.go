package record

import (
	"fmt"
	"math"
	"slices"
	"time"

	"poolwise/sim"
)

// Merge makes one cell of the replications of one setting, given in order of seed, and names the pools by index. Counts are
// summed, histograms merged exactly; with two replications or more, figures get the Student t interval at 95 % of their values
// in the replications, which for a percentile is widened, if need be, to include the value of the merged histogram.
func Merge(settings Settings, pools []string, runs []*Run) Cell {
	c := Cell{Settings: settings, Replications: len(runs), Warnings: []string{}}
	if len(runs) > 1 {
		for i := range runs {
			one := Merge(settings, pools, runs[i:i+1])
			one.dropCurves()
			c.Each = append(c.Each, one)
		}
	}
	parts := make([][]*Part, len(runs))
	for i, r := range runs {
		for j := range r.Parts {
			parts[i] = append(parts[i], &r.Parts[j])
		}
	}
	var merged Part
	c.Requests, c.Latency, c.Wait, c.Hold, c.FailedAfter = mergeParts(parts, &merged)
	c.Curves = Curves{Latency: &merged.Latency, Wait: &merged.Wait, Failed: &merged.Failed}
	c.SlowAcquires, c.PoolNotes, c.Timeouts = merged.Slow, merged.Notes, merged.Timeouts
	c.Connect, _ = summarize(len(runs), func(i int) *Histogram { return &runs[i].Connect })
	c.Throughput = acrossFloat(len(runs), func(i int) (float64, bool) { return runs[i].throughput(parts[i]) })
	c.Arrivals = mergeArrivals(runs, parts)
	c.FailedRate = mergeFailedRate(parts)
	c.Makespan = acrossDuration(len(runs), func(i int) time.Duration { return time.Duration(lastEnd(parts[i])) })
	c.Leaked = acrossFloat(len(runs), func(i int) (float64, bool) {
		var n int64
		for _, p := range parts[i] {
			n += p.Leaked
		}
		return float64(n), true
	})
	c.Levels = mergeLevels(len(runs), func(i int) *Levels { return &runs[i].Levels })
	for i, r := range runs {
		c.Server.add(&r.Server)
		if i == 0 {
			c.Curves.Levels = r.Series
		}
	}
	c.Server.CoreUtilisation = acrossFloat(len(runs), func(i int) (float64, bool) {
		u := runs[i].Server.CoreUtilisation
		return u.Value, u.Known
	})
	c.Pooler = mergePooler(runs)
	c.Stages = mergeStages(pools, runs)
	c.Servers, c.Actions = mergeServers(runs), mergeActions(runs)
	c.Leaks = mergeLeaks(pools, runs)
	c.Diagnoses = slices.Concat(mergeFindings(pools, runs), c.leakDiagnoses(), c.noteDiagnoses())
	c.Warnings = append(c.Warnings, mergeWarnings(runs)...)
	c.Warnings = append(c.Warnings, mergeGrowth(runs)...)
	if len(pools) > 1 {
		for j, name := range pools {
			p := mergePools(name, j, 1, runs)
			p.Levels = mergeLevels(len(runs), func(i int) *Levels { return &runs[i].Parts[j].Levels })
			c.Pools = append(c.Pools, p)
		}
	}
	c.Services = c.mergeGroups(runs)
	c.nameOwners(runs[0], pools)
	c.keepCurves()
	if c.Exact() {
		c.FailedRate.exact()
		for _, all := range [][]PoolCell{c.Pools, c.Services} {
			for i := range all {
				all[i].FailedRate.exact()
			}
		}
	}
	return c
}

// mergePools makes a cell of n pools from the first on, without their levels.
func mergePools(name string, first, n int, runs []*Run) PoolCell {
	pc := PoolCell{Name: name}
	parts := make([][]*Part, len(runs))
	for i, r := range runs {
		for j := range n {
			parts[i] = append(parts[i], &r.Parts[first+j])
		}
	}
	var merged Part
	pc.Requests, pc.Latency, pc.Wait, pc.Hold, pc.FailedAfter = mergeParts(parts, &merged)
	pc.Timeouts = merged.Timeouts
	pc.Throughput = acrossFloat(len(runs), func(i int) (float64, bool) { return runs[i].throughput(parts[i]) })
	pc.Arrivals = mergeArrivals(runs, parts)
	pc.FailedRate = mergeFailedRate(parts)
	pc.Curves = Curves{Latency: &merged.Latency, Wait: &merged.Wait, Failed: &merged.Failed}
	return pc
}

// dropCurves forgets the curves of all.
func (c *Cell) dropCurves() {
	c.Curves = Curves{}
	dropCurves(c.Pools)
	dropCurves(c.Services)
}

func dropCurves(pools []PoolCell) {
	for i := range pools {
		pools[i].Curves = Curves{}
	}
}

// keepCurves forgets the curves of instances, and those of services if there are many: histograms are large.
func (c *Cell) keepCurves() {
	n := len(c.Services)
	for i := range c.Pools {
		if c.Pools[i].Service == "" {
			n++
		} else {
			dropCurves(c.Pools[i : i+1])
		}
	}
	if n > MaxCourses {
		dropCurves(c.Pools)
		dropCurves(c.Services)
	}
}

// mergeParts merges the parts of each run, then the runs, into merged, and describes the result.
func mergeParts(parts [][]*Part, merged *Part) (req Requests, latency, wait, hold, failed Summary) {
	each := make([]Part, len(parts))
	for i, ps := range parts {
		e := &each[i]
		for _, p := range ps {
			e.Latency.Merge(&p.Latency)
			e.Wait.Merge(&p.Wait)
			e.Hold.Merge(&p.Hold)
			e.Failed.Merge(&p.Failed)
			req.add(&p.Requests)
			merged.Slow += p.Slow
			merged.Notes.add(&p.Notes)
			merged.Timeouts.add(&p.Timeouts)
		}
		merged.Wait.Merge(&e.Wait)
	}
	var l, f *Histogram
	latency, l = summarize(len(each), func(i int) *Histogram { return &each[i].Latency })
	wait, _ = summarize(len(each), func(i int) *Histogram { return &each[i].Wait })
	hold, _ = summarize(len(each), func(i int) *Histogram { return &each[i].Hold })
	failed, f = summarize(len(each), func(i int) *Histogram { return &each[i].Failed })
	merged.Latency, merged.Failed = *l, *f
	return req, latency, wait, hold, failed
}

func (r *Requests) add(o *Requests) {
	r.Total += o.Total
	r.OK += o.OK
	r.Failed += o.Failed
	r.Unfinished += o.Unfinished
	r.Retries += o.Retries
	r.Outcomes.add(&o.Outcomes)
}

func (c *Counts) add(o *Counts) {
	for i, n := range o {
		c[i] += n
	}
}

// summarize merges n histograms and describes the result, with intervals across them.
func summarize(n int, of func(int) *Histogram) (Summary, *Histogram) {
	all := new(Histogram)
	for i := range n {
		all.Merge(of(i))
	}
	s := all.Summary()
	if n < 2 || all.N() == 0 {
		return s, all
	}
	widen := func(d *Duration, f func(*Histogram) time.Duration) {
		if !d.Known {
			return
		}
		var v []float64
		for i := range n {
			if h := of(i); h.N() > 0 {
				v = append(v, float64(f(h)))
			}
		}
		mean, half, ok := studentT(v)
		if !ok {
			return
		}
		d.Interval = true
		d.Lo = min(d.Value, time.Duration(math.Round(max(mean-half, 0))))
		d.Hi = max(d.Value, time.Duration(math.Round(mean+half)))
	}
	widen(&s.Mean, (*Histogram).Mean)
	for _, q := range s.percentiles() {
		widen(q.to, func(h *Histogram) time.Duration { return h.At(q.p) })
	}
	return s, all
}

func (r *Run) throughput(parts []*Part) (float64, bool) {
	end := r.End
	if r.From == 0 {
		if last := lastEnd(parts); r.drained() && last > 0 {
			end = last
		}
	}
	span := end.Sub(r.From).Seconds()
	if span <= 0 {
		return 0, false
	}
	var ok int64
	for _, p := range parts {
		ok += p.Requests.OK + p.Early
	}
	return float64(ok) / span, true
}

// drained reports whether every request has ended: the rate is then counted up to the last of them.
func (r *Run) drained() bool {
	for i := range r.Parts {
		if r.Parts[i].Requests.Unfinished > 0 {
			return false
		}
	}
	return true
}

func lastEnd(parts []*Part) (last sim.Time) {
	for _, p := range parts {
		last = max(last, p.LastEnd)
	}
	return last
}

func mergeLevels(n int, of func(int) *Levels) Levels {
	level := func(pick func(*Levels) *Level3) Level3 {
		return mergeLevel3(n, func(i int) *Level3 { return pick(of(i)) })
	}
	return Levels{
		Size:    level(func(l *Levels) *Level3 { return &l.Size }),
		Idle:    level(func(l *Levels) *Level3 { return &l.Idle }),
		InUse:   level(func(l *Levels) *Level3 { return &l.InUse }),
		Waiting: level(func(l *Levels) *Level3 { return &l.Waiting }),
		Opening: level(func(l *Levels) *Level3 { return &l.Opening }),
	}
}

func mergeLevel3(n int, of func(int) *Level3) Level3 {
	one := func(f func(*Level3) *Float) Float {
		return acrossFloat(n, func(i int) (float64, bool) { return f(of(i)).Value, true })
	}
	l := Level3{
		Mean:  one(func(l *Level3) *Float { return &l.Mean }),
		Max:   one(func(l *Level3) *Float { return &l.Max }),
		Final: one(func(l *Level3) *Float { return &l.Final }),
	}
	if n > 1 {
		most := 0.0
		for i := range n {
			most = max(most, of(i).Max.Value)
		}
		l.Most = ExactFloat(most)
	}
	return l
}

// mergeWarnings lists the warnings of the runs, each once, saying in how many runs it was given.
func mergeWarnings(runs []*Run) []string {
	var order []string
	count := map[string]int{}
	for _, r := range runs {
		for _, w := range r.Warnings {
			if count[w] == 0 {
				order = append(order, w)
			}
			count[w]++
		}
	}
	for i, w := range order {
		if count[w] < len(runs) {
			order[i] = inSome(w, count[w], len(runs))
		}
	}
	return order
}

// mergeGrowth gives the warnings of growth if a tenth of the runs do: below capacity, a few grow by chance.
func mergeGrowth(runs []*Run) []string {
	n, text := 0, ""
	for _, r := range runs {
		if r.Growth != "" {
			n, text = n+1, r.Growth
		}
	}
	switch {
	case n == 0 || n*10 < len(runs):
		return nil
	case n < len(runs):
		text = inSome(text, n, len(runs))
	}
	return []string{text}
}

func inSome(text string, n, of int) string {
	return fmt.Sprintf("%s (in %d of %d replications)", text, n, of)
}

// acrossFloat estimates a number that is never negative from its values in n replications; those without a value are left out.
func acrossFloat(n int, of func(int) (float64, bool)) Float {
	var v []float64
	for i := range n {
		if x, ok := of(i); ok {
			v = append(v, x)
		}
	}
	if len(v) == 0 {
		return Float{}
	}
	mean, half, ok := studentT(v)
	return Float{Value: mean, Lo: max(mean-half, 0), Hi: mean + half, Known: true, Interval: ok}
}

func acrossDuration(n int, of func(int) time.Duration) Duration {
	f := acrossFloat(n, func(i int) (float64, bool) { return float64(of(i)), true })
	round := func(x float64) time.Duration { return time.Duration(math.Round(x)) }
	return Duration{Value: round(f.Value), Lo: round(max(f.Lo, 0)), Hi: round(f.Hi), Known: f.Known, Interval: f.Interval}
}

// studentT returns the mean of v and half the width of its 95 % interval; without two values there is none.
func studentT(v []float64) (mean, half float64, ok bool) {
	if len(v) < 2 {
		for _, x := range v {
			mean += x
		}
		return mean / float64(len(v)), 0, false
	}
	mean, half = studentTAt(v, 0.05)
	return mean, half, true
}
