package chart

import (
	"errors"
	"image/color"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// Settings draws throughput, latency and the share of failed requests of each cell, one below the other, where they are named and
// not numbered; where there are several services, of each of them. Of many cells some are shown.
func Settings(r *record.Result, format string) ([]byte, error) {
	c := newRows(r)
	if len(c.rows) < 2 {
		return nil, errors.New("settings: the result has one setting and one service, and nothing to put beside them")
	}
	return renderHigh(format, c.height(), func(s *sheet) { c.draw(s, r) })
}

// rows are a chart with a row for each cell or service.
type rows struct {
	keys     []string // of the settings that vary
	rows     []entity
	cells    int // shown
	services bool
	remark   string
	limits   []limit
}

// entity is what has a row.
type entity struct {
	name       string
	part       bool // a service of the row before
	requests   record.Requests
	throughput record.Float
	latency    *record.Summary // nil: it is shown service by service
	failed     *record.Summary // how long failing took
	limits     []limit         // of its latency, by checks that select it
}

// farAbove is how many times the p99 the maximum is, at least, to have a mark of its own.
const farAbove = 3

// longest returns the maximum, if it tells more than the percentiles.
func (e *entity) longest() (time.Duration, bool) {
	if e.latency == nil {
		return 0, false
	}
	top, p99 := e.latency.Max, e.latency.P99
	return top.Value, top.Known && (!p99.Known || top.Value/farAbove > p99.Value)
}

// failing returns the median of how long failing took, which may not be known, and the longest.
func (e *entity) failing() (median, longest record.Duration) {
	if e.failed == nil || e.requests.Failed == 0 {
		return record.Duration{}, record.Duration{}
	}
	return e.failed.P50, e.failed.Max
}

const (
	mostRows    = 36
	mostParts   = 6 // services that have rows of their own
	highRow     = 22
	lowRow      = 17 // of a service
	rowsTop     = 110
	rowsFoot    = 34
	widestLabel = 190
)

func newRows(r *record.Result) *rows {
	c := &rows{keys: digest.Varying(r), limits: limits(r)}
	each := 1
	for i := range r.Cells {
		if n := len(parts(&r.Cells[i])); n > 0 {
			each = max(each, n+1)
		}
	}
	shown := notable(r, max(mostRows/each, 2))
	c.cells = len(shown)
	c.remark = leftOut(len(shown), len(r.Cells))
	for _, i := range shown {
		cell := &r.Cells[i]
		name := cellName(c.keys, cell)
		services := parts(cell)
		if name == "" && len(services) > 0 {
			name = "all services"
		}
		all := entity{name, false, cell.Requests, cell.Throughput, &cell.Latency, &cell.FailedAfter, nil}
		if len(services) > 0 && len(ofDurations(c.limits, "")) == 0 {
			all.latency, all.failed = nil, nil // percentiles of unlike requests together say little
		}
		c.rows = append(c.rows, all)
		for _, p := range services {
			c.services = true
			e := entity{digest.Printable(p.Name), true, p.Requests, p.Throughput, &p.Latency, nil, serviceLimits(r, p.Name)}
			if h := p.Curves.Failed; h != nil {
				failed := h.Summary()
				e.failed = &failed
			}
			c.rows = append(c.rows, e)
		}
	}
	if c.some(func(e *entity) bool { return len(e.limits) > 0 }) {
		c.remark += " Dotted: the limits of a service's checks."
	}
	return c
}

// parts are the services of a cell, if there are several and not too many: those of several instances, and pools that are in none.
func parts(c *record.Cell) []*record.PoolCell {
	var all []*record.PoolCell
	of := ""
	for i := range c.Pools {
		p := &c.Pools[i]
		switch {
		case p.Service == "":
			all = append(all, p)
		case p.Service != of:
			for j := range c.Services {
				if c.Services[j].Name == p.Service {
					all = append(all, &c.Services[j])
				}
			}
		}
		of = p.Service
	}
	if len(all) < 2 || len(all) > mostParts {
		return nil
	}
	return all
}

// deservesRows reports whether a result has settings without numbers, or services.
func deservesRows(r *record.Result, numbered bool) bool {
	return len(r.Cells) > 1 && !numbered || slices.ContainsFunc(r.Cells, func(c record.Cell) bool { return len(parts(&c)) > 0 })
}

func (c *rows) high(e *entity) vg.Length {
	if e.part {
		return lowRow
	}
	return highRow
}

func (c *rows) height() vg.Length {
	return max(rowsTop+c.needed()+rowsFoot+margin, height/2)
}

// needed is the height of all rows.
func (c *rows) needed() (sum vg.Length) {
	for i := range c.rows {
		sum += c.high(&c.rows[i])
	}
	return sum
}

func (c *rows) draw(s *sheet, r *record.Result) {
	what := "throughput, latency and failures"
	if len(c.keys) > 0 {
		what += " by " + keyNames(c.keys)
	} else {
		what += " by service"
	}
	top := s.title(r, what, strings.TrimSpace("Latency is that of served requests; hollow where some failed."+c.remark)) - 28

	var wide vg.Length
	for i := range c.rows {
		wide = max(wide, c.ink(&c.rows[i]).width(c.rows[i].name)+c.indent(&c.rows[i]))
	}
	left := margin + min(wide, widestLabel) + 2*space
	const gap = 26
	room := width - margin - left - 2*gap
	throughput := scale{from: left, to: left + 0.27*room}
	latency := scale{from: throughput.to + gap, to: throughput.to + gap + 0.51*room}
	failed := scale{from: latency.to + gap, to: width - margin}

	bottom := vg.Length(margin + rowsFoot)
	var rates, times []float64
	var entries []entry
	for i := range c.rows {
		rates = append(rates, heights([]mark{throughputMark(&record.Cell{Throughput: c.rows[i].throughput})})...)
		times = append(times, c.rows[i].times()...)
	}
	for _, q := range percentiles {
		if c.some(func(e *entity) bool { return e.latency != nil && q.of(&record.Cell{Latency: *e.latency}).known }) {
			entries = append(entries, entry{name: q.name, color: q.color, width: 4})
		}
	}
	if c.some(func(e *entity) bool { _, far := e.longest(); return far }) {
		entries = append(entries, entry{name: "max", color: black, shape: tickShape})
	}
	if c.some(func(e *entity) bool { median, _ := e.failing(); return median.Known }) {
		entries = append(entries, entry{name: "failed after, p50", color: red, shape: crossShape})
	}
	if c.some(func(e *entity) bool { _, longest := e.failing(); return longest.Known }) {
		entries = append(entries, entry{name: "failed after, max", color: red, shape: tickShape})
	}
	for i := range c.rows {
		times = within(times, c.rows[i].limits)
	}
	set := func(place *scale, s scale) { s.from, s.to = place.from, place.to; *place = s }
	set(&throughput, upTo(within(rates, of(c.limits, "throughput")), 1e9, 0.3)) // for the figures
	set(&latency, upTo(within(times, ofDurations(c.limits, "")), 30, 0.08))
	set(&failed, c.shares())

	across := func(x scale) *panel { return &panel{sheet: s, x: x, y: scale{from: bottom, to: top}} }
	p, q, f := across(throughput), across(latency), across(failed)
	throughput.parts = 3
	p.columns(throughput.ticks(digest.Rate), "requests served per second")
	q.columns(latency.durations(), "latency")
	f.columns([]tick{{v: 0, label: "0 %"}, {v: failed.hi, label: trimmed(failed.hi*100) + " %"}}, "failed")
	at := vg.Length(width - margin + 3*space)
	for _, e := range entries {
		at -= e.room()
	}
	p.legend(min(q.x.from-space, at), width-margin+3*space, top+19, entries)

	var mids []vg.Length
	y, stretch := top, (top-bottom)/c.needed()
	for i := range c.rows {
		e := &c.rows[i]
		high := c.high(e) * stretch
		if !e.part && i > 0 {
			s.line(pale, 0.7, false, vg.Point{X: margin, Y: y}, vg.Point{X: width - margin, Y: y})
		}
		y -= high
		mid := y + high/2
		k := c.ink(e)
		s.text(margin+c.indent(e), mid-3, start, k.fit(e.name, left-margin-c.indent(e)-space), k)
		p.rate(e, mid, c.high(e)*0.3)
		q.spread(e, mid, c.high(e)*0.22)
		for _, l := range e.limits {
			if l.v <= q.x.hi && l.v >= q.x.lo {
				at := q.x.at(l.v)
				s.StrokeLines(limitStyle, []vg.Point{{X: at, Y: y}, {X: at, Y: y + high}})
			}
		}
		f.share(e, mid, c.high(e)*0.3)
		mids = append(mids, mid)
	}
	p.limitColumns("Throughput", of(c.limits, "throughput"))
	q.limitColumns("Latency", ofDurations(c.limits, ""))
	f.limitColumns("Failed", of(c.limits, "failed_rate"))
	for i, mid := range mids { // over the lines at the limits
		p.rateFigure(&c.rows[i], mid)
		f.shareFigure(&c.rows[i], mid)
	}
}

func (c *rows) ink(e *entity) ink {
	if !e.part && c.services {
		return headInk
	}
	return labelInk
}

func (c *rows) indent(e *entity) vg.Length {
	if e.part {
		return 10
	}
	return 0
}

func (c *rows) shares() scale {
	var v []record.Requests
	for i := range c.rows {
		v = append(v, c.rows[i].requests)
	}
	return sharesUpTo(v)
}

// columns draws the vertical lines of the ticks, labelled below.
func (p *panel) columns(ticks []tick, what string) {
	for _, t := range ticks {
		x := p.x.at(t.v)
		p.line(pale, 0.5, false, vg.Point{X: x, Y: p.y.from}, vg.Point{X: x, Y: p.y.to})
	}
	p.foot(ticks, what)
}

// rate draws a bar of the throughput, and its interval.
func (p *panel) rate(e *entity, y, half vg.Length) {
	f := e.throughput
	if !f.Known {
		return
	}
	ground := color.Color(blue)
	if e.part {
		ground = sky
	}
	p.rectangle(ground, p.x.from, y-half, p.x.at(f.Value), y+half)
	if f.Interval {
		p.line(black, 0.8, false, vg.Point{X: p.x.at(f.Lo), Y: y}, vg.Point{X: p.x.at(f.Hi), Y: y})
	}
}

// rateFigure writes the throughput beside its bar.
func (p *panel) rateFigure(e *entity, y vg.Length) {
	f := e.throughput
	if !f.Known {
		p.text(p.x.from+3, y-3, start, digest.Dash, labelInk)
		return
	}
	x := p.x.at(f.Value)
	if f.Interval {
		x = max(x, p.x.at(f.Hi))
	}
	p.halo(x+3, y-3, start, digest.Rate(f.Value), labelInk)
}

// times are the durations that the row must have room for.
func (e *entity) times() []float64 {
	var all []float64
	if e.latency != nil {
		for _, q := range percentiles {
			all = append(all, heights([]mark{q.of(&record.Cell{Latency: *e.latency})})...)
		}
	}
	if longest, far := e.longest(); far {
		all = append(all, float64(longest))
	}
	median, longest := e.failing()
	for _, d := range []record.Duration{median, longest} {
		if d.Known {
			all = append(all, float64(d.Value))
		}
	}
	return all
}

// some reports whether some row is such.
func (c *rows) some(such func(*entity) bool) bool {
	for i := range c.rows {
		if such(&c.rows[i]) {
			return true
		}
	}
	return false
}

// spread draws the percentiles of latency on one line, with their intervals, and the maximum if that is far above them; below it,
// how long failing took.
func (p *panel) spread(e *entity, y, apart vg.Length) {
	if median, longest := e.failing(); longest.Known {
		p.failing(median, longest, y-apart)
		y += apart
	}
	if e.latency == nil {
		return
	}
	var marks []mark
	for _, q := range percentiles {
		marks = append(marks, q.of(&record.Cell{Latency: *e.latency}))
	}
	first := slices.IndexFunc(marks, func(m mark) bool { return m.known })
	longest, far := e.longest()
	if first < 0 && !far {
		p.text(p.x.from+3, y-3, start, digest.Dash, labelInk)
		return
	}
	careful := e.requests.Failed > 0
	var line []vg.Point
	for _, m := range marks {
		if m.known {
			line = append(line, vg.Point{X: p.x.at(m.y), Y: y})
		}
	}
	if far {
		at := vg.Point{X: p.x.at(float64(longest)), Y: y}
		line = append(line, at)
		p.mark(tickShape, black, at)
	}
	p.line(grey, 1, careful, line[0], line[len(line)-1])
	for i, q := range percentiles {
		if m := marks[i]; m.known && m.interval {
			p.StrokeLines(draw.LineStyle{Color: q.color, Width: 2.2}, []vg.Point{{X: p.x.at(m.lo), Y: y}, {X: p.x.at(m.hi), Y: y}})
		}
	}
	for i, q := range percentiles {
		if m := marks[i]; m.known {
			// A smaller mark is seen on a larger one that has the same place.
			p.dot(q.color, 4.6-vg.Length(i), careful, vg.Point{X: p.x.at(m.y), Y: y})
		}
	}
}

// failing draws the median and the longest of how long failing took.
func (p *panel) failing(median, longest record.Duration, y vg.Length) {
	to := vg.Point{X: p.x.at(float64(longest.Value)), Y: y}
	if median.Known {
		from := vg.Point{X: p.x.at(float64(median.Value)), Y: y}
		p.line(red, 0.8, false, from, to)
		p.mark(crossShape, red, from)
	}
	p.mark(tickShape, red, to)
}

// share draws a bar of the share that failed.
func (p *panel) share(e *entity, y, half vg.Length) {
	if share := failedShare(e.requests); share > 0 {
		p.rectangle(red, p.x.from, y-half, p.x.at(share), y+half)
	}
}

// shareFigure writes the share that failed beside its bar, or in it.
func (p *panel) shareFigure(e *entity, y vg.Length) {
	share := failedShare(e.requests)
	x := p.x.at(share)
	text, k := digest.Share(share), labelInk
	if share > 0 {
		k = noteInk
	}
	if x+3+k.width(text) > p.x.to+margin {
		p.text(x-3, y-3, end, text, ink{white, k.size, false})
		return
	}
	p.halo(x+3, y-3, start, text, k)
}

// limitColumns writes what the columns show above them, and draws lines at limits down the rows, with their names above, as many
// as there is room for.
func (p *panel) limitColumns(what string, all []limit) {
	base := p.y.to + 5
	p.text(p.x.from, base, start, what, headInk)
	at := p.x.from + headInk.width(what) + 2*space
	for _, l := range all {
		if l.v > p.x.hi || l.v < p.x.lo {
			continue
		}
		x := p.x.at(l.v)
		p.StrokeLines(limitStyle, []vg.Point{{X: x, Y: p.y.from}, {X: x, Y: p.y.to}})
		if name := limitInk.fit(digest.Printable(l.expr), p.x.to+space-at); name != "…" {
			p.text(at, base, start, name, limitInk)
			at += limitInk.width(name) + 2*space
		}
	}
}
