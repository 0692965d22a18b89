package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
	"poolwise/sim/wording"
)

// This file has what is said first where throughput says nothing: of open workloads, of sweeps over the load, and of variants.

// overload says that more is asked for than there is, if that is so.
func overload(c *record.Cell) []string {
	const until = "; the queue grows, or requests fail, as long as that lasts."
	o := tooMuch(c)
	switch {
	case o == nil:
		if says := overloadAtPeak(c); says != nil {
			return says
		}
		return allTaken(c)
	case o.Of == record.OfCores:
		return []string{fmt.Sprintf("More work arrives than the cores can do: %s requests a second with %s of core time each are %s"+until,
			perSecond(o.Rate), digest.Duration(o.Each.Value), worth(o))}
	case o.Of == record.OfPooler:
		return []string{fmt.Sprintf("The pooler's %s are the bottleneck: %s requests a second that occupy one for %s each need %s"+until,
			digest.Plural(int64(o.Have), "server connection", "server connections"), perSecond(o.Rate), digest.Duration(o.Each.Value), digest.Number(o.Load.Value))}
	}
	says := []string{fmt.Sprintf("More connections are asked for than %s may have: %s requests a second that keep one for %s each would occupy %s, of %d"+until,
		whosePool(c, o), perSecond(o.Rate), digest.Duration(o.Each.Value), digest.Number(o.Load.Value), o.Have)}
	for i := range c.Offered {
		if o := &c.Offered[i]; o.Of == record.OfCores && o.Load.Known && o.Load.Lo > float64(o.Have) {
			says = append(says, "More connections alone would not do: the work is "+worth(o)+".")
		}
	}
	return says
}

// overloadAtPeak says that more is asked for than there is while a timetable is at its highest rate.
func overloadAtPeak(c *record.Cell) []string {
	for i := range c.Offered {
		if o := &c.Offered[i]; o.Of == record.OfCores && o.Peak.Known && o.Peak.Value > float64(o.Have) {
			return []string{fmt.Sprintf("At the highest rate of the timetable more work arrives than the cores can do (%s cores' worth, on %s): until it is over the queue grows, or requests fail.",
				digest.Number(o.Peak.Value), digest.Plural(int64(o.Have), "core", "cores"))}
		}
	}
	return nil
}

// allTaken says that a pool has no connection to spare while more arrives than is served. How many it would need cannot be told where
// those who give up keep theirs for less time than they would.
func allTaken(c *record.Cell) []string {
	if !arriving(c.Arrivals, c.Throughput) {
		return nil
	}
	for i := range c.Offered {
		if o := &c.Offered[i]; o.Of == record.OfConnections && o.Busy.Known && o.Busy.Value >= 0.97 {
			return []string{fmt.Sprintf("All connections of %s are taken all the time, and of %s requests a second that arrive %s are served; the queue grows, or requests fail, as long as that lasts.",
				whosePool(c, o), perSecond(c.Arrivals), perSecond(c.Throughput))}
		}
	}
	return nil
}

// tooMuch returns what more is asked of than there is: cores, or else the pooler's server connections, or else those of the pool that
// lacks most. Where the first are too few, requests keep what comes after them for longer, so that this seems to be too little, too.
func tooMuch(c *record.Cell) (most *record.Offered) {
	rank := []string{record.OfConnections, record.OfPooler, record.OfCores}
	for i := range c.Offered {
		o := &c.Offered[i]
		if o.TooMuch() && (most == nil || cmp.Or(cmp.Compare(slices.Index(rank, o.Of), slices.Index(rank, most.Of)),
			cmp.Compare(o.Load.Value/float64(o.Have), most.Load.Value/float64(most.Have))) > 0) {
			most = o
		}
	}
	return most
}

// overloaded says the same in few words, empty if it is not so.
func overloaded(c *record.Cell) string {
	switch o := tooMuch(c); {
	case o == nil:
		return ""
	case o.Of == record.OfCores:
		return overloadKind(c) + " (" + worth(o) + ")"
	case o.Of == record.OfPooler:
		return fmt.Sprintf("the pooler's %d server connections are the bottleneck (%s needed)", o.Have, digest.Number(o.Load.Value))
	default:
		return fmt.Sprintf("more connections are asked for than %s may have (%s, of %d)", whosePool(c, o), digest.Number(o.Load.Value), o.Have)
	}
}

// lacking says of what there is too little, and how much would be used.
func lacking(c *record.Cell) string {
	o := tooMuch(c)
	switch o.Of {
	case record.OfCores:
		return worth(o)
	case record.OfPooler:
		return digest.Number(o.Load.Value) + " needed"
	}
	return fmt.Sprintf("%s of the %d of %s", digest.Number(o.Load.Value), o.Have, whosePool(c, o))
}

// overloadKind says only what more is asked of than there is, without whose it is and the figures.
func overloadKind(c *record.Cell) string {
	switch o := tooMuch(c); {
	case o == nil:
		return ""
	case o.Of == record.OfCores:
		return "more work arrives than the cores can do"
	case o.Of == record.OfPooler:
		return "the pooler's server connections are the bottleneck"
	default:
		return "more connections are asked for than pools may have"
	}
}

// worth says how many cores the work would keep busy, and how many there are.
func worth(o *record.Offered) string {
	return fmt.Sprintf("%s cores' worth, on %s", digest.Number(o.Load.Value), digest.Plural(int64(o.Have), "core", "cores"))
}

// whosePool names the pools of which too much is asked.
func whosePool(c *record.Cell, o *record.Offered) string {
	switch {
	case o.Service == "":
		return "the pool"
	case slices.ContainsFunc(c.Services, func(p record.PoolCell) bool { return p.Name == o.Service }):
		return "the pools of " + digest.Printable(o.Service)
	}
	return "the pool of " + digest.Printable(o.Service)
}

// perSecond writes a rate for a sentence that says that it is one.
func perSecond(f record.Float) string { return strings.TrimSuffix(digest.Rate(f.Value), "/s") }

// arriving reports whether visibly more requests arrive than are served.
func arriving(arrivals, throughput record.Float) bool {
	return arrivals.Known && throughput.Known && arrivals.Value-throughput.Value > 0.02*arrivals.Value
}

// timeouts says what the pool was at when acquires timed out, unless it was mostly something else than is known.
func timeouts(c *record.Cell) []string {
	t, all := c.Timeouts, c.Timeouts.All()
	if all == 0 || t.Other*2 > all {
		return nil
	}
	held := "all connections were lent"
	if o := tooMuch(c); o != nil && o.Of == record.OfPooler {
		held += ", while who had them waited for the pooler"
	}
	var parts, shares []string
	for _, p := range []struct {
		n    int64
		what string
	}{
		{t.Leaked, "all slots had leaked"}, {t.Held, held}, {t.Opening, "connections were being opened" + opening(c)},
		{t.Checking, "connections were being checked before they were lent"}, {t.Returning, "connections were being taken back"},
	} {
		if p.n*20 >= all*19 {
			return []string{"When acquires timed out, " + p.what + "."}
		}
		if p.n > 0 {
			parts, shares = append(parts, p.what), append(shares, digest.Share(float64(p.n)/float64(all)))
		}
	}
	for i := range parts {
		parts[i] += " (" + shares[i]
		if i == 0 {
			parts[i] += " of them"
		}
		parts[i] += ")"
	}
	return []string{"When acquires timed out, " + wording.Or(parts) + "."}
}

// opening says what was measured of connects: of those of clients to the pooler, if there is one.
func opening(c *record.Cell) string {
	connect, refused := c.Connect, c.Server.Refused
	if c.Pooler != nil {
		connect, refused = c.Pooler.Connect, c.Pooler.Refused
	}
	switch {
	case refused > 0:
		if c.Pooler != nil {
			return ", which the pooler refused"
		}
		return ", which the server refused"
	case !connect.P50.Known || !connect.Max.Known:
		return ""
	case connect.Max.Value < 2*connect.P50.Value:
		return ", which takes " + digest.Duration(connect.Mean.Value)
	}
	return fmt.Sprintf(", which took %s in the median and up to %s where it succeeded", digest.Duration(connect.P50.Value), digest.Duration(connect.Max.Value))
}

// notStarted says which services could not start.
func notStarted(r *record.Result) (says []string) {
	for i := range r.Cells {
		c := &r.Cells[i]
		for _, d := range c.Diagnoses {
			if d.Kind != record.NotStarted {
				continue
			}
			who := digest.Printable(d.Service)
			switch {
			case d.Instances > 1:
				who = fmt.Sprintf("%d instances of %s", d.Instances, who)
			case who == "":
				who = "the service"
			}
			s := who + " could not start and made no request"
			if len(r.Cells) > 1 {
				s += at(c)
			}
			says = append(says, s+".")
		}
	}
	return says
}

// loadHeadline says of a sweep over the load where it begins to break.
func loadHeadline(l *digest.Line) []string {
	key, open := digest.Printable(l.Key), l.Open()
	breaks, why := -1, []string(nil)
	for i := range l.Points {
		if why = breaking(l, i, open); why != nil {
			breaks = i
			break
		}
	}
	last := len(l.Points) - 1
	var says []string
	switch {
	case breaks < 0:
		says = append(says, fmt.Sprintf("At %s %s %s%s.", key, values(l, upTo(last)), failing(l, upTo(last)), p99s(l, 0, last)))
	case breaks == 0:
		says = append(says, fmt.Sprintf("Already at %s %s, %s.", key, l.Points[0].Label, wording.And(why)))
	default:
		text := fmt.Sprintf("%s begins to break at %s: %s; at %s %s", key, l.Points[breaks].Label, wording.And(why),
			l.Points[breaks-1].Label, failing(l, []int{breaks - 1}))
		if before := l.Points[breaks-1].Cell.Latency.P99; before.Known {
			text += ", and p99 is " + digest.Duration(before.Value)
		}
		says = append(says, text+".")
	}
	if !open {
		says = append(says, saturation(l)...)
	}
	if breaks >= 0 {
		var more []int // points beyond at which requests fail
		for i := breaks + 1; i <= last; i++ {
			if !l.Points[i].Clean() && l.Points[i].Cell.Requests.Failed > 0 {
				more = append(more, i)
			}
		}
		for _, group := range runs(more) {
			says = append(says, failingStretch(l, group))
		}
	}
	return says
}

// failing says how many of the requests fail at clean points.
func failing(l *digest.Line, points []int) string {
	share := 0.0
	for _, i := range points {
		share = max(share, 1-digest.OKShare(l.Points[i].Cell.Requests))
	}
	if share == 0 {
		return "no request fails"
	}
	return "at most " + digest.Share(share) + " of the requests fail"
}

func upTo(n int) []int {
	all := make([]int, n+1)
	for i := range all {
		all[i] = i
	}
	return all
}

// breaking says what is wrong at a point and was not at the one before: nil if nothing is. The p99 of more clients is longer anyway.
func breaking(l *digest.Line, i int, open bool) (why []string) {
	c := l.Points[i].Cell
	if s := overloaded(c); s != "" {
		why = append(why, s)
	}
	if q := c.Requests; !l.Points[i].Clean() {
		if q.OK == 0 && q.Failed == 0 {
			why = append(why, "no request is served")
		} else {
			why = append(why, digest.Share(1-digest.OKShare(q))+" of the requests fail")
		}
	}
	if i == 0 || !open {
		return why
	}
	const jump = 3
	if before, now := l.Points[i-1].Cell.Latency.P99, c.Latency.P99; before.Known && now.Known && now.Value > jump*before.Value {
		why = append(why, fmt.Sprintf("p99 jumps from %s to %s", digest.Duration(before.Value), digest.Duration(now.Value)))
	}
	return why
}

// p99s says how the p99 goes from one point to another.
func p99s(l *digest.Line, from, to int) string {
	a, b := l.Points[from].Cell.Latency.P99, l.Points[to].Cell.Latency.P99
	if !a.Known || !b.Known || from == to {
		return ""
	}
	return fmt.Sprintf("; p99 is %s at %s and %s at %s", digest.Duration(a.Value), l.Points[from].Label, digest.Duration(b.Value), l.Points[to].Label)
}

// saturation says from which point on of a sweep of clients their number adds nothing to the throughput.
func saturation(l *digest.Line) []string {
	first, last := l.Flat()
	if first < 0 || first == last {
		return nil
	}
	s := fmt.Sprintf("From %s on throughput stays at %s", l.Points[first].Label, digest.Rate(l.Points[l.Best()].Cell.Throughput.Value))
	return []string{s + p99s(l, first, last) + "."}
}

// openSizeHeadline names the smallest size that does for a load that does not depend on it: the smallest that passes the checks, or
// else whose share of failures and p99 cannot be told from the best.
func openSizeHeadline(l *digest.Line, r *record.Result) []string {
	key := digest.Printable(l.Key)
	cells := make([]*record.Cell, len(l.Points))
	for i, p := range l.Points {
		cells[i] = p.Cell
	}
	if text := noSizeIsEnough(cells, l.Key); text != "" {
		return append([]string{text}, sizeByFigures(l, key, "as good as any")...)
	}
	says := sizeByChecks(l, r, key)
	if says == nil {
		says = sizeByFigures(l, key, "enough")
	}
	return append(says, overloadedAlong(l)...)
}

// noSizeIsEnough says that what is behind the pool cannot do the work at any size: the cores, or the server connections of the pooler
// unless it is their number that varies. It is empty if that is not so.
func noSizeIsEnough(cells []*record.Cell, key string) string {
	var first *record.Offered
	for _, c := range cells {
		i := slices.IndexFunc(c.Offered, func(o record.Offered) bool {
			behind := o.Of == record.OfCores || o.Of == record.OfPooler && !strings.HasPrefix(key, "pooler.")
			return behind && o.Load.Known && o.Load.Lo > float64(o.Have)
		})
		if i < 0 {
			return ""
		}
		if first == nil {
			first = &c.Offered[i]
		}
	}
	switch {
	case first == nil:
		return ""
	case first.Of == record.OfPooler:
		return fmt.Sprintf("No size of the pool is enough: the pooler's %d server connections are the bottleneck (%s needed).", first.Have, digest.Number(first.Load.Value))
	}
	return "No size of the pool is enough: more work arrives than the cores can do (" + worth(first) + ")."
}

// sizeByChecks goes by the checks; nil without any.
func sizeByChecks(l *digest.Line, r *record.Result, key string) []string {
	verdicts := map[*record.Cell][]record.Check{}
	for _, k := range r.Checks {
		if k.Status != record.Off && k.Level != record.LevelWarning && k.Cell >= 0 && k.Cell < len(r.Cells) {
			c := &r.Cells[k.Cell]
			verdicts[c] = append(verdicts[c], k)
		}
	}
	passes, open := -1, []int(nil)
	for i, p := range l.Points {
		if verdicts[p.Cell] == nil {
			return nil
		}
		switch record.Verdict(verdicts[p.Cell]) {
		case record.Passed:
			if passes < 0 {
				passes = i
			}
		case record.Inconclusive:
			if passes < 0 {
				open = append(open, i)
			}
		}
	}
	var s string
	switch {
	case passes < 0 && open == nil:
		return []string{"At no value of " + key + " are the checks passed."}
	case passes < 0:
		return []string{"It cannot be told which " + key + " passes the checks: " + values(l, open) + closeToCall(open) + ", and no other does."}
	default:
		c := l.Points[passes].Cell
		s = fmt.Sprintf("%s %s is the smallest that passes the checks", key, l.Points[passes].Label)
		if c.Latency.P99.Known {
			s += ", with p99 " + digest.Duration(c.Latency.P99.Value)
		}
		if open != nil {
			s += "; " + values(l, open) + closeToCall(open)
		}
	}
	says := []string{s + "."}
	if passes > 0 {
		for _, k := range verdicts[l.Points[passes-1].Cell] {
			if k.Status == record.FailedCheck {
				says = append(says, fmt.Sprintf("At %s %s fails, with %s.", l.Points[passes-1].Label, digest.Printable(k.Expr), digest.InUnit(k.Value, k.Unit)))
			}
		}
	}
	return says
}

func closeToCall(points []int) string {
	if len(points) == 1 {
		return " is too close to call"
	}
	return " are too close to call"
}

// sizeByFigures goes by the share of failures and the p99. enough is what the smallest of those is that cannot be told apart.
func sizeByFigures(l *digest.Line, key, enough string) []string {
	good := leastFailing(l)
	if len(good) == 0 {
		return []string{"At no value of " + key + " is a request served."}
	}
	best := slices.MinFunc(good, func(i, j int) int {
		return cmp.Compare(l.Points[i].Cell.Latency.P99.Value, l.Points[j].Cell.Latency.P99.Value)
	})
	p99 := mustFigure("p(99)")
	alike := slices.DeleteFunc(slices.Clone(good), func(i int) bool { return !cannotTell(p99, l.Points[i].Cell, l.Points[best].Cell) })
	use := alike[0]
	c := l.Points[use].Cell
	s := fmt.Sprintf("%s %s does best", key, l.Points[use].Label)
	if len(alike) > 1 {
		s = fmt.Sprintf("%s %s is %s", key, l.Points[use].Label, enough)
	}
	var facts []string
	if q := c.Requests; q.Failed > 0 {
		facts = append(facts, digest.Share(1-digest.OKShare(q))+" of the requests fail")
	} else {
		facts = append(facts, "no request fails")
	}
	if c.Latency.P99.Known {
		facts = append(facts, "p99 is "+digest.Duration(c.Latency.P99.Value))
	}
	s += ": " + wording.And(facts)
	if len(alike) > 1 {
		s += "; " + values(l, alike) + " cannot be told apart"
	}
	says := []string{s + "."}
	if use == len(l.Points)-1 {
		says = append(says, "It is the largest that was run; larger ones may do better.")
	}
	var slower, failing []int
	for i := range l.Points {
		switch p := l.Points[i]; {
		case slices.Contains(alike, i):
		case slices.Contains(good, i):
			slower = append(slower, i)
		case p.Cell.Requests.Failed > 0:
			failing = append(failing, i)
		}
	}
	for _, group := range runs(slower) {
		first, last := l.Points[group[0]].Cell.Latency.P99, l.Points[group[len(group)-1]].Cell.Latency.P99
		text := digest.Duration(first.Value)
		switch {
		case len(group) == 2:
			text += " and " + digest.Duration(last.Value)
		case len(group) > 2:
			text += " to " + digest.Duration(last.Value)
		}
		says = append(says, fmt.Sprintf("At %s p99 is %s.", values(l, group), text))
	}
	for _, group := range runs(failing) {
		says = append(says, failingStretch(l, group))
	}
	return says
}

// leastFailing returns the points whose share of failures cannot be told from the smallest.
func leastFailing(l *digest.Line) (good []int) {
	least := -1
	for i, p := range l.Points {
		if p.Cell.Requests.OK > 0 && (least < 0 || digest.OKShare(p.Cell.Requests) > digest.OKShare(l.Points[least].Cell.Requests)) {
			least = i
		}
	}
	if least < 0 {
		return nil
	}
	share := mustFigure("failed_rate")
	for i, p := range l.Points {
		if p.Cell.Requests.OK > 0 && (p.Clean() && l.Points[least].Clean() || cannotTell(share, p.Cell, l.Points[least].Cell)) {
			good = append(good, i)
		}
	}
	return good
}

// cannotTell reports whether a figure of two cells may be the same: it is nearly, or the interval of the difference, replication by
// replication, says so.
func cannotTell(f record.Figure, a, b *record.Cell) bool {
	d := f.Contrast(b, a, true)
	if !d.Difference.Known {
		return a == b || !d.Before.Known && !d.After.Known
	}
	size := max(d.Difference.Value, -d.Difference.Value)
	tolerance := digest.Tolerance / 100.0 * d.Before.Value
	if f.Unit() == "ratio" {
		tolerance = 0.001 // of all requests
	}
	return size <= tolerance || d.Difference.Interval && d.Difference.Lo <= 0 && d.Difference.Hi >= 0
}

func mustFigure(name string) record.Figure {
	f, err := record.ParseFigure(name)
	if err != nil {
		panic("reports: " + err.Error())
	}
	return f
}

// labelOf names a cell in a sentence: by its label alone, or by the path that it sets.
func labelOf(c *record.Cell, key string) string {
	label, _ := digest.Value(c.Settings, key)
	if !digest.IsLabel(key) {
		label = key + "=" + label
	}
	return quoted(label)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// quoted sets a label of several words off from the sentence.
func quoted(label string) string {
	label = digest.Printable(label)
	if strings.ContainsAny(label, " ,;:") {
		return `"` + label + `"`
	}
	return label
}
