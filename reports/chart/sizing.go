package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// SizingCurve draws throughput, latency and the share of failed requests against a setting that is swept over numbers. If other
// settings vary as well, there is a line for each combination of them, and of the percentiles only p99. Values to use are marked.
func SizingCurve(r *record.Result, key, format string, use ...float64) ([]byte, error) {
	lines := digest.Lines(r, key)
	if lines == nil {
		return nil, fmt.Errorf("sizing curve: want a setting that is swept over numbers, have %q", key)
	}
	c := &sizing{key: digest.Printable(key), use: use, limits: limits(r)}
	for _, i := range some(len(lines), mostLines) {
		c.lines = append(c.lines, lines[i])
	}
	if len(lines) > len(c.lines) {
		c.remark = fmt.Sprintf("%d of %d lines are shown, evenly chosen. ", len(c.lines), len(lines))
	}
	for _, l := range c.lines {
		for _, p := range l.Points {
			c.points = append(c.points, p)
			c.failures = c.failures || p.Cell.Requests.Failed > 0
		}
	}
	if !c.failures {
		c.remark += "No request failed."
	}
	if len(c.lines) == 1 {
		c.judge(r)
	} else {
		c.remark = strings.TrimSpace(strings.TrimSpace(c.remark) + " With several lines, regions and what arrives are not shown.")
	}
	c.findServices(r)
	return render(format, func(s *sheet) { c.draw(s, r) })
}

// sizing is a sizing curve: lines over one setting.
type sizing struct {
	key      string
	use      []float64 // values that are marked
	remark   string
	lines    []digest.Line
	points   []digest.Point // of all lines
	services []serviceLine  // of the only line, if there are several
	quantile percentile     // that is drawn of them
	failures bool
	limits   []limit
	checks   [][]record.Check // of each point of the only line; nil if not all have some
	x        scale
}

func (c *sizing) draw(s *sheet, r *record.Result) {
	top := s.title(r, "throughput and latency against "+c.key, strings.TrimSpace(c.remark))
	var values []float64
	var ticks []tick
	for _, p := range c.points {
		values = append(values, p.Value)
		ticks = append(ticks, tick{v: p.Value, label: p.Label})
	}
	slices.Sort(values)
	c.x = spread(slices.Compact(values))
	c.x.from, c.x.to = 64, width-margin

	if len(c.lines) > 1 {
		// The names of the settings once, then their values.
		var keys []string
		for _, kv := range c.lines[0].Others {
			keys = append(keys, digest.Printable(kv.Key))
		}
		what := headInk.fit(strings.Join(keys, ", "), width/2)
		s.text(margin, top-8, start, what, headInk)
		strokes := nested(len(c.lines))
		entries := make([]entry, len(c.lines))
		for i, l := range c.lines {
			entries[i] = entry{name: labelInk.fit(valuesOf(l.Others), 180), color: palette[i], width: strokes[i].width}
		}
		top = s.legend(margin+headInk.width(what)+2*space, width-margin, top-8, entries) - 8
	}

	// From the bottom: the axis, the failures if there are any, latency, throughput, the names of the regions.
	const foot, head = 30, 24
	bottom := vg.Length(margin + foot)
	roof := top
	var stretches []stretch
	if len(c.lines) == 1 {
		var rows int
		if stretches, rows = c.stretches(); rows > 0 {
			roof -= 3 + 11*vg.Length(rows)
		}
	}
	lowest := bottom
	if c.failures {
		lowest += (roof-bottom)*0.15 + head
	}
	room := roof - lowest - 2*head
	latency := s.newPanel(c.x, c.latencies(), lowest, lowest+room*0.54)
	throughput := s.newPanel(c.x, c.throughputs(), latency.y.to+head, roof-head)
	for _, a := range stretches {
		s.rectangle(a.tint, a.from, bottom, a.to, top)
	}
	for _, a := range stretches {
		for i, row := range a.rows {
			s.text(a.at, top-11-11*vg.Length(a.row+i), middle, row, labelInk)
		}
	}
	for _, v := range c.use {
		x, high := c.x.at(v), throughput.y.to
		for _, p := range c.points {
			if f := p.Cell.Throughput; p.Value == v && f.Known {
				high = min(high, throughput.y.at(f.Value)) // what is above it is the label of the best
			}
		}
		// Not where the heads of panels are.
		s.line(green, 1.2, true, vg.Point{X: x, Y: throughput.y.from}, vg.Point{X: x, Y: high})
		s.line(green, 1.2, true, vg.Point{X: x, Y: latency.y.from}, vg.Point{X: x, Y: latency.y.to})
		if c.failures {
			s.line(green, 1.2, true, vg.Point{X: x, Y: bottom}, vg.Point{X: x, Y: lowest - head})
		}
		text := "use " + digest.Number(v)
		align := start
		if x+4+useInk.width(text) > c.x.to {
			align, x = end, x-8
		}
		s.text(x+4, throughput.y.from+5, align, text, useInk)
	}
	c.throughput(throughput)
	throughput.limits(of(c.limits, "throughput"), nil)
	c.latency(latency)
	latency.limits(c.latencyLimits(), nil)
	for i, k := range nested(len(c.services)) {
		latency.limits(in(k.color, c.services[i].limits), nil)
	}
	last := latency
	if c.failures {
		last = s.newPanel(c.x, c.shares(), bottom, lowest-head)
		c.failed(last)
		last.limits(of(c.limits, "failed_rate"), nil)
	}
	last.foot(ticks, c.key)
}

// edges returns where the stretch of each point begins and ends: half-way to its neighbours.
func (c *sizing) edges(points []digest.Point) []vg.Length {
	at := func(i int) vg.Length { return c.x.at(points[i].Value) }
	n := len(points)
	if n == 1 {
		return []vg.Length{c.x.from, c.x.to}
	}
	edges := []vg.Length{max(at(0)-(at(1)-at(0))/2, c.x.from)}
	for i := 1; i < n; i++ {
		edges = append(edges, (at(i-1)+at(i))/2)
	}
	return append(edges, min(at(n-1)+(at(n-1)-at(n-2))/2, c.x.to))
}

var arrivingInk = rgb(0xb4bac1)

var tints = map[digest.Region]color.Color{
	digest.Below: rgb(0xeceff3), digest.Flat: rgb(0xe0f1ea), digest.Beyond: rgb(0xeceff3), digest.Failing: rgb(0xfbe8dd), digest.Refusing: rgb(0xfbe8dd),
}

// stretch is a region of the only line, with its name in some rows.
type stretch struct {
	first, after int       // the points
	from, to, at vg.Length // at: the middle of the name
	tint         color.Color
	rows         []string
	row          int    // where the name begins
	short        string // a name for where there is less room
}

// throughputIsGiven reports whether throughput is as much as is asked for, as long as all is well, so that it says nothing of a
// setting.
func throughputIsGiven(l *digest.Line) bool { return l.IsLoad() || l.Open() }

// regionsOf returns the regions of a line. Less throughput under less load is no region of its own.
func regionsOf(l *digest.Line) []digest.Region {
	regions := l.Regions()
	if !l.IsLoad() {
		return regions
	}
	for i, p := range l.Points {
		switch r := &regions[i]; {
		case p.Clean():
			*r = digest.Flat
		case *r != digest.Refusing:
			*r = digest.Failing
		}
	}
	return regions
}

// leastForRegions is how many points a line with regions has at the least: two or three do not say where one begins.
const leastForRegions = 4

// stretches are the regions that the points are in: by their checks if they have some, else by failures and throughput. It returns
// as well how many rows their names take.
func (c *sizing) stretches() (all []stretch, rows int) {
	l := &c.lines[0]
	if len(l.Points) < leastForRegions && c.checks == nil {
		return nil, 0
	}
	regions := regionsOf(l)
	_, flat := l.Flat()
	alike := func(i, j int) bool { return regions[i] == regions[j] }
	if c.checks != nil {
		alike = func(i, j int) bool { return standingOf(c.checks[i]) == standingOf(c.checks[j]) }
	}
	edges := c.edges(l.Points)
	for i := 0; i < len(regions); {
		a := stretch{first: i}
		for ; i < len(regions) && alike(i, a.first); i++ {
		}
		a.after, a.from, a.to = i, edges[a.first], edges[i]
		region := l.Name(regions[a.first], flat >= 0 && a.first > flat)
		if c.checks != nil {
			if slices.ContainsFunc(regions[a.first:a.after], func(r digest.Region) bool { return r != regions[a.first] }) {
				region = ""
			}
			c.name(&a, region)
		} else {
			tint, ok := tints[regions[a.first]]
			if !ok {
				continue
			}
			if regions[a.first] == digest.Flat && throughputIsGiven(l) {
				region = "no request fails"
			}
			a.tint, a.rows = tint, []string{region}
		}
		var rows []string
		for _, text := range a.rows {
			if labelInk.width(text) > a.to-a.from {
				rows = append(rows, breakInTwo(text)...)
			} else {
				rows = append(rows, text)
			}
		}
		a.rows = rows
		all = append(all, a)
	}
	return all, c.placeNames(all)
}

// mostNameRows is how many rows the names of the regions take at the most.
const mostNameRows = 4

// placeNames puts the names of regions into the first rows that have room, those that are good first.
func (c *sizing) placeNames(all []stretch) (used int) {
	var taken [mostNameRows]row
	place := func(a *stretch) bool {
		half := vg.Length(0)
		for _, text := range a.rows {
			half = max(half, labelInk.width(text)/2)
		}
		a.at = min(max((a.from+a.to)/2, c.x.from+half), c.x.to-half)
		for a.row = 0; a.row+len(a.rows) <= mostNameRows; a.row++ {
			rows := taken[a.row : a.row+len(a.rows)]
			if slices.ContainsFunc(rows, func(r row) bool { return !r.free(a.at, 2*half+space) }) {
				continue
			}
			for i := range rows {
				rows[i].fits(a.at, 2*half+space)
			}
			used = max(used, a.row+len(a.rows))
			return true
		}
		a.rows = nil
		return false
	}
	good := tints[digest.Flat]
	for _, first := range []bool{true, false} {
		for i := range all {
			if a := &all[i]; (a.tint == good) == first && !place(a) && a.short != "" {
				a.rows = breakInTwo(a.short)
				place(a)
			}
		}
	}
	return used
}

// judge finds the checks of each point.
func (c *sizing) judge(r *record.Result) {
	checks := judged(r)
	of := map[*record.Cell][]record.Check{}
	for i := range r.Cells {
		of[&r.Cells[i]] = checks[i]
	}
	var all [][]record.Check
	for _, p := range c.points {
		if len(of[p.Cell]) == 0 {
			return
		}
		all = append(all, of[p.Cell])
	}
	c.checks = all
}

var openInk = rgb(0xfbf3d0)

// name names a stretch by its checks: by one that is missed, or cannot be told, at the point next to a better stretch.
func (c *sizing) name(a *stretch, region string) {
	switch standingOf(c.checks[a.first]) {
	case stands:
		a.tint, a.rows = tints[digest.Flat], []string{"all checks pass"}
	case open:
		a.tint, a.short = openInk, "cannot be told"
		if what, status := c.deciding(a, record.Inconclusive); status {
			a.rows = []string{"too close to call:", what}
		} else {
			what, _ = c.deciding(a, record.NotEvaluated)
			a.rows = []string{"not measured:", what}
		}
	case misses:
		a.tint, a.short = tints[digest.Failing], "misses checks"
		what, _ := c.deciding(a, record.FailedCheck)
		a.rows = []string{"misses " + what}
		if region != "" {
			a.rows = []string{region + ":", a.rows[0]}
		}
	}
}

// deciding returns the check with a status at the point of a stretch next to the rest, and how many others there are.
func (c *sizing) deciding(a *stretch, status record.Status) (string, bool) {
	from, to := a.first, a.after
	var all []string
	add := func(i int) {
		for _, k := range c.checks[i] {
			if k.Status == status && !slices.Contains(all, k.Expr) {
				all = append(all, k.Expr)
			}
		}
	}
	if to < len(c.checks) {
		add(to - 1)
	}
	for i := from; i < to; i++ {
		add(i)
	}
	if len(all) == 0 {
		return "", false
	}
	what := labelInk.fit(digest.Printable(all[0]), 150)
	if n := len(all) - 1; n > 0 {
		what += fmt.Sprintf(" and %d more", n)
	}
	return what, true
}

// breakInTwo splits a text at the space nearest to its middle.
func breakInTwo(s string) []string {
	best := -1
	for i, r := range s {
		if r == ' ' && (best < 0 || abs(2*i-len(s)) < abs(2*best-len(s))) {
			best = i
		}
	}
	if best < 0 {
		return []string{s}
	}
	return []string{s[:best], s[best+1:]}
}

func abs(n int) int { return max(n, -n) }

// marks makes marks of the points of a line.
func marks(points []digest.Point, of func(*record.Cell) mark) []mark {
	all := make([]mark, len(points))
	for i, p := range points {
		all[i] = of(p.Cell)
		all[i].x, all[i].careful = p.Value, p.Cell.Requests.Failed > 0
	}
	return all
}

func throughputMark(c *record.Cell) mark {
	f := c.Throughput
	return mark{y: f.Value, lo: f.Lo, hi: f.Hi, known: f.Known, interval: f.Interval}
}

func arrivalsMark(c *record.Cell) mark {
	return mark{y: c.Arrivals.Value, known: c.Arrivals.Known}
}

// arrivals draws a broad line of what arrives, below that of what is served.
func (p *panel) arrivals(all []mark) {
	var points []vg.Point
	for _, m := range all {
		points = append(points, p.point(m.x, m.y))
	}
	p.line(arrivingInk, 4, false, points...)
}

// durationMark makes a mark of a duration of a cell.
func durationMark(of func(*record.Cell) record.Duration) func(*record.Cell) mark {
	return func(c *record.Cell) mark {
		d := of(c)
		return mark{y: float64(d.Value), lo: float64(d.Lo), hi: float64(d.Hi), known: d.Known, interval: d.Interval}
	}
}

// heights are the values that a panel must have room for.
func heights(all []mark) []float64 {
	var v []float64
	for _, m := range all {
		if m.known {
			v = append(v, m.y)
		}
		if m.known && m.interval {
			v = append(v, m.hi)
		}
	}
	return v
}

func (c *sizing) throughputs() scale {
	v := heights(marks(c.points, throughputMark))
	if c.arrive() {
		v = append(v, heights(marks(c.points, arrivalsMark))...)
	}
	return upTo(within(v, of(c.limits, "throughput")), 1000, 0.15)
}

// arrive reports whether it is known, of the only line, how many requests arrive.
func (c *sizing) arrive() bool { return len(c.lines) == 1 && c.lines[0].Open() }

func (c *sizing) throughput(p *panel) {
	p.grid(p.y.ticks(digest.Rate))
	if !c.arrive() {
		p.head("Throughput, requests served per second")
	} else {
		p.head("Requests per second", entry{name: "served", color: blue}, entry{name: "arriving", color: arrivingInk, width: 4})
		p.arrivals(marks(c.points, arrivalsMark))
	}
	strokes := c.strokes()
	for i, l := range c.lines {
		p.curve(strokes[i], marks(l.Points, throughputMark))
	}
	if len(c.lines) == 1 {
		if best := c.lines[0].Best(); best >= 0 {
			b := c.lines[0].Points[best]
			at := p.point(b.Value, max(b.Cell.Throughput.Value, b.Cell.Throughput.Hi))
			p.text(at.X, at.Y+6, middle, digest.Rate(b.Cell.Throughput.Value), labelInk)
		}
	}
}

// percentile is a percentile of latency that is drawn.
type percentile struct {
	name  string
	color color.Color
	of    func(*record.Cell) mark
}

var percentiles = []percentile{
	{"p50", sky, durationMark(func(c *record.Cell) record.Duration { return c.Latency.P50 })},
	{"p95", blue, durationMark(func(c *record.Cell) record.Duration { return c.Latency.P95 })},
	{"p99", black, durationMark(func(c *record.Cell) record.Duration { return c.Latency.P99 })},
}

// serviceLine is the latency of a service, at points whose cells have nothing else.
type serviceLine struct {
	name   string
	points []digest.Point
	limits []limit
}

// findServices takes the latencies apart by service if there is one line, and the same few services at each of its points: the
// percentiles of unlike requests together say little. Those of all requests are there, too, if a check is about them. The
// percentile is the highest that is known of all.
func (c *sizing) findServices(r *record.Result) {
	if len(c.lines) > 1 {
		return
	}
	var all []serviceLine
	for i, pt := range c.points {
		parts := parts(pt.Cell)
		if len(parts) == 0 || i > 0 && len(parts) != len(all) {
			return
		}
		for j, p := range parts {
			name := digest.Printable(p.Name)
			if i == 0 {
				all = append(all, serviceLine{name: name, limits: serviceLimits(r, p.Name)})
			}
			if all[j].name != name {
				return
			}
			cell := &record.Cell{Requests: p.Requests, Latency: p.Latency}
			all[j].points = append(all[j].points, digest.Point{Cell: cell, Value: pt.Value, Label: pt.Label})
		}
	}
	if slices.ContainsFunc(percentiles, func(q percentile) bool { return len(of(c.limits, q.figure())) > 0 }) {
		all = append(all, serviceLine{name: "all", points: c.points})
	}
	for _, q := range slices.Backward(percentiles) {
		c.quantile = q
		if !slices.ContainsFunc(all, func(s serviceLine) bool {
			return slices.ContainsFunc(marks(s.points, q.of), func(m mark) bool { return !m.known })
		}) {
			break
		}
	}
	for i := range all {
		all[i].limits = of(all[i].limits, c.quantile.figure())
	}
	if limits := of(c.limits, c.quantile.wait().figure()); len(limits) > 0 {
		waits := serviceLine{name: "wait", limits: limits}
		for _, pt := range c.points {
			cell := &record.Cell{Requests: pt.Cell.Requests, Latency: pt.Cell.Wait}
			waits.points = append(waits.points, digest.Point{Cell: cell, Value: pt.Value, Label: pt.Label})
		}
		all = append(all, waits)
	}
	c.services = all
}

// wait is that percentile of the wait for a connection.
func (q percentile) wait() percentile {
	return percentile{"wait " + q.name, purple, func(c *record.Cell) mark { return q.of(&record.Cell{Latency: c.Wait}) }}
}

// figure is how a check names it.
func (q percentile) figure() string {
	if of, wait := strings.CutPrefix(q.name, "wait "); wait {
		return "p(" + of[1:] + "){wait}"
	}
	return "p(" + q.name[1:] + ")"
}

// drawn are the percentiles that are drawn: of several lines the last only, and one of services; of one line those of the wait that
// have a check, too.
func (c *sizing) drawn() []percentile {
	if len(c.services) > 0 {
		return []percentile{c.quantile}
	}
	if len(c.lines) > 1 {
		return percentiles[len(percentiles)-1:]
	}
	all := slices.Clone(percentiles)
	for _, q := range percentiles {
		if w := q.wait(); len(of(c.limits, w.figure())) > 0 {
			all = append(all, w)
		}
	}
	return all
}

func (c *sizing) latencies() scale {
	var v []float64
	for _, q := range c.drawn() {
		if len(c.services) == 0 {
			v = append(v, heights(marks(c.points, q.of))...)
		}
		for _, s := range c.services {
			v = append(v, heights(marks(s.points, q.of))...)
		}
	}
	v = within(v, c.latencyLimits())
	for _, s := range c.services {
		v = within(v, s.limits)
	}
	return upTo(v, 30, 0.2)
}

// latencyLimits are the limits of the percentiles that are drawn.
func (c *sizing) latencyLimits() []limit {
	var all []limit
	for _, q := range c.drawn() {
		limits := of(c.limits, q.figure())
		if strings.HasPrefix(q.name, "wait ") {
			limits = in(q.color, limits)
		}
		all = append(all, limits...)
	}
	return all
}

// strokes are those of the lines.
func (c *sizing) strokes() []stroke {
	if len(c.lines) == 1 {
		return []stroke{plain.in(blue)}
	}
	return nested(len(c.lines))
}

func (c *sizing) latency(p *panel) {
	p.grid(p.y.durations())
	what := "Latency of served requests"
	var entries []entry
	for i, k := range nested(len(c.services)) {
		s := c.services[i]
		what = "Latency of served requests, " + c.quantile.name
		entries = append(entries, entry{name: labelInk.fit(s.name, 60), color: k.color, width: k.width})
		p.curve(k, marks(s.points, c.quantile.of))
	}
	for i, l := range c.lines {
		if len(c.services) > 0 {
			break
		}
		for _, q := range c.drawn() {
			k := plain.in(q.color)
			if len(c.lines) > 1 {
				k, what = c.strokes()[i], "Latency of served requests, "+q.name
			} else if len(heights(marks(l.Points, q.of))) > 0 {
				entries = append(entries, entry{name: q.name, color: q.color})
			}
			p.curve(k, marks(l.Points, q.of))
		}
	}
	served := slices.ContainsFunc(c.points, func(pt digest.Point) bool { return pt.Cell.Requests.OK > 0 })
	if !served {
		p.text((p.x.from+p.x.to)/2, (p.y.from+p.y.to)/2, middle, "no request was served", labelInk)
	}
	if c.failures && served {
		entries = append(entries, entry{name: "some requests failed", color: black, hollow: true})
	}
	p.head(what, entries...)
	if len(c.lines) == 1 {
		c.okShares(p)
	}
}

// okShares says above points with failures of how many requests the latencies are; where there is no room for all, of those with
// the most failures.
func (c *sizing) okShares(p *panel) {
	points := slices.DeleteFunc(slices.Clone(c.points), func(pt digest.Point) bool { return pt.Cell.Requests.Failed == 0 })
	slices.SortStableFunc(points, func(a, b digest.Point) int {
		return cmp.Compare(digest.OKShare(a.Cell.Requests), digest.OKShare(b.Cell.Requests))
	})
	var labels row
	for _, pt := range points {
		text := digest.Share(digest.OKShare(pt.Cell.Requests)) + " ok"
		wide := noteInk.width(text)
		if x := min(p.x.at(pt.Value), p.x.to-wide/2); labels.fits(x, wide+space) {
			p.text(x, p.y.to-8, middle, text, noteInk)
			p.keep(x-wide/2, p.y.to-9, x+wide/2, p.y.to)
		}
	}
}

func failedShare(q record.Requests) float64 {
	if q.OK+q.Failed == 0 {
		return 0
	}
	return 1 - digest.OKShare(q)
}

func (c *sizing) shares() scale {
	var v []record.Requests
	for _, p := range c.points {
		v = append(v, p.Cell.Requests)
	}
	return sharesUpTo(v)
}

// sharesUpTo is a scale up to 1, 10 or 100 % for the shares that failed.
func sharesUpTo(all []record.Requests) scale {
	most := 0.0
	for _, q := range all {
		most = max(most, failedShare(q))
	}
	for _, hi := range []float64{0.01, 0.1} {
		if most <= hi {
			return scale{hi: hi}
		}
	}
	return scale{hi: 1}
}

// failed draws the share of failed requests: bars for the only line, else points for each line.
func (c *sizing) failed(p *panel) {
	p.head("Share of failed requests")
	var ticks []tick
	for _, v := range []float64{0, p.y.hi / 2, p.y.hi} {
		ticks = append(ticks, tick{v: v, label: trimmed(v*100) + " %"})
	}
	p.grid(ticks)
	if len(c.lines) > 1 {
		c.failedLines(p)
		return
	}
	points := c.lines[0].Points
	edges := c.edges(points)
	var steps []vg.Point
	highest := 0
	for j, pt := range points {
		share := failedShare(pt.Cell.Requests)
		y := p.y.at(share)
		steps = append(steps, vg.Point{X: edges[j], Y: y}, vg.Point{X: edges[j+1], Y: y})
		if share > failedShare(points[highest].Cell.Requests) {
			highest = j
		}
	}
	p.bars(points, steps, highest)
}

// failedLines draws the share of failed requests of each of several lines, the figure beside the points where any failed: the
// highest first, as far as there is room.
func (c *sizing) failedLines(p *panel) {
	type value struct {
		share float64
		at    vg.Point
		color color.Color
	}
	var values []value
	for i, k := range c.strokes() {
		all := marks(c.lines[i].Points, func(c *record.Cell) mark { return mark{y: failedShare(c.Requests), known: true} })
		for j := range all {
			all[j].careful = false // it is of all requests
			if all[j].y > 0 {
				values = append(values, value{all[j].y, p.point(all[j].x, all[j].y), k.color})
			}
		}
		p.curve(k, all)
	}
	slices.SortStableFunc(values, func(a, b value) int { return cmp.Compare(b.share, a.share) })
	for _, v := range values {
		text, k := digest.Share(v.share), ink{v.color, noteInk.size, false}
		half := k.width(text) / 2
		x := min(v.at.X, p.x.to-half)
		for _, y := range []vg.Length{v.at.Y + 6, v.at.Y - 13} {
			if y > p.y.from && y < p.y.to && p.take(x-half, y-1, x+half, y+7) {
				p.text(x, y, middle, text, k)
				break
			}
		}
	}
}

// bars fills the steps of the shares and labels those that are wide enough, and the highest.
func (p *panel) bars(points []digest.Point, steps []vg.Point, highest int) {
	for i, pt := range points {
		a, b := steps[2*i], steps[2*i+1]
		share := failedShare(pt.Cell.Requests)
		if share == 0 {
			continue
		}
		p.rectangle(red, a.X, p.y.from, b.X, a.Y)
		p.keep(a.X, p.y.from, b.X, a.Y)
		text, k := digest.Share(share), noteInk
		if k.width(text) > b.X-a.X && i != highest {
			continue
		}
		y := a.Y + 3
		if y+8 > p.y.to { // there is no room above
			k.color, y = white, a.Y-10
		}
		half := k.width(text) / 2
		x := min((a.X+b.X)/2, p.x.to-half)
		p.text(x, y, middle, text, k)
		p.keep(x-half, y-2, x+half, y+8)
	}
}
