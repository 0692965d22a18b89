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
	c.findServices()
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
		stretches = c.stretches()
		for _, a := range stretches {
			roof = min(roof, top-3-11*vg.Length(len(a.rows)))
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
		for i, row := range a.rows {
			s.text(a.at, top-11-11*vg.Length(i), middle, row, labelInk)
		}
	}
	for _, v := range c.use {
		x, high := c.x.at(v), throughput.y.to
		for _, p := range c.points {
			if f := p.Cell.Throughput; p.Value == v && f.Known {
				high = min(high, throughput.y.at(f.Value)) // what is above it is the label of the best
			}
		}
		s.line(green, 1.2, true, vg.Point{X: x, Y: bottom}, vg.Point{X: x, Y: high})
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

// stretch is a region of the only line, with its name in one row or two.
type stretch struct {
	from, to, at vg.Length // at: the middle of the name
	tint         color.Color
	rows         []string
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

func (c *sizing) stretches() []stretch {
	l := &c.lines[0]
	if len(l.Points) < leastForRegions {
		return nil
	}
	edges, regions := c.edges(l.Points), regionsOf(l)
	_, flat := l.Flat()
	var all []stretch
	var names row
	for i := 0; i < len(regions); {
		first := i
		for ; i < len(regions) && regions[i] == regions[first]; i++ {
		}
		tint, ok := tints[regions[first]]
		if !ok {
			continue
		}
		a := stretch{from: edges[first], to: edges[i], tint: tint}
		a.rows = []string{l.Name(regions[first], flat >= 0 && first > flat)}
		if regions[first] == digest.Flat && throughputIsGiven(l) {
			a.rows[0] = "no request fails"
		}
		if labelInk.width(a.rows[0]) > a.to-a.from {
			a.rows = breakInTwo(a.rows[0])
		}
		half := vg.Length(0)
		for _, row := range a.rows {
			half = max(half, labelInk.width(row)/2)
		}
		a.at = min(max((a.from+a.to)/2, c.x.from+half), c.x.to-half)
		if !names.fits(a.at, 2*half+space) {
			a.rows = nil
		}
		all = append(all, a)
	}
	return all
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
}

// findServices takes the latencies apart by service if there is one line, and the same few services at each of its points: the
// percentiles of unlike requests together say little. Those of all requests are there, too, if a check is about them. The
// percentile is the highest that is known of all.
func (c *sizing) findServices() {
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
				all = append(all, serviceLine{name: name})
			}
			if all[j].name != name {
				return
			}
			cell := &record.Cell{Requests: p.Requests, Latency: p.Latency}
			all[j].points = append(all[j].points, digest.Point{Cell: cell, Value: pt.Value, Label: pt.Label})
		}
	}
	if len(c.latencyLimits()) > 0 {
		all = append(all, serviceLine{"all", c.points})
	}
	for _, q := range slices.Backward(percentiles) {
		c.quantile = q
		if !slices.ContainsFunc(all, func(s serviceLine) bool {
			return slices.ContainsFunc(marks(s.points, q.of), func(m mark) bool { return !m.known })
		}) {
			break
		}
	}
	c.services = all
}

// drawn are the percentiles that are drawn: of several lines the last only, and one of services.
func (c *sizing) drawn() []percentile {
	if len(c.services) > 0 {
		return []percentile{c.quantile}
	}
	if len(c.lines) > 1 {
		return percentiles[len(percentiles)-1:]
	}
	return percentiles
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
	return upTo(within(v, c.latencyLimits()), 30, 0.2)
}

// latencyLimits are the limits of the percentiles that are drawn.
func (c *sizing) latencyLimits() []limit {
	var figures []string
	for _, q := range c.drawn() {
		figures = append(figures, "p("+q.name[1:]+")")
	}
	return of(c.limits, figures...)
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

// failed draws the share of failed requests: bars for the only line, else steps for each line that has any.
func (c *sizing) failed(p *panel) {
	p.head("Share of failed requests")
	var ticks []tick
	for _, v := range []float64{0, p.y.hi / 2, p.y.hi} {
		ticks = append(ticks, tick{v: v, label: trimmed(v*100) + " %"})
	}
	p.grid(ticks)
	for i, l := range c.lines {
		edges := c.edges(l.Points)
		var steps []vg.Point
		highest := 0
		for j, pt := range l.Points {
			share := failedShare(pt.Cell.Requests)
			y := p.y.at(share)
			steps = append(steps, vg.Point{X: edges[j], Y: y}, vg.Point{X: edges[j+1], Y: y})
			if share > failedShare(l.Points[highest].Cell.Requests) {
				highest = j
			}
		}
		switch {
		case failedShare(l.Points[highest].Cell.Requests) == 0:
		case len(c.lines) > 1:
			p.shareSteps(c.strokes()[i], l.Points, steps)
		default:
			p.bars(l.Points, steps, highest)
		}
	}
}

// shareSteps draws the steps of the shares, where there are any.
func (p *panel) shareSteps(k stroke, points []digest.Point, steps []vg.Point) {
	for i := 0; i < len(points); {
		first := i
		for i < len(points) && failedShare(points[i].Cell.Requests) > 0 {
			i++
		}
		if i > first {
			p.line(k.color, k.width, false, steps[2*first:2*i]...)
		}
		i++
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
		text, k := digest.Share(share), noteInk
		if k.width(text) > b.X-a.X && i != highest {
			continue
		}
		y := a.Y + 3
		if y+8 > p.y.to { // there is no room above
			k.color, y = white, a.Y-10
		}
		p.text(min((a.X+b.X)/2, p.x.to-k.width(text)/2), y, middle, text, k)
	}
}
