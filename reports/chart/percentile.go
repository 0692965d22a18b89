package chart

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// PercentileCurve draws latency against percentile, each nine as wide as the one before: a line for each cell, or for each service
// of a cell that has several, or for a few of them if there are many. A line ends at the percentile that its number of requests can
// show; those that lie on each other are one.
func PercentileCurve(r *record.Result, format string) ([]byte, error) {
	if !hasLatencies(r) {
		return nil, errors.New("percentiles: the result has fewer than two latencies; one that was read from JSON has figures only")
	}
	return render(format, func(s *sheet) { latencies.draw(s, r) })
}

// WaitCurve draws the waits for a connection as PercentileCurve does latency.
func WaitCurve(r *record.Result, format string) ([]byte, error) {
	if !hasWaits(r) {
		return nil, errors.New("waits: the result has fewer than two; one that was read from JSON has figures only")
	}
	return render(format, func(s *sheet) { waits.draw(s, r) })
}

// distributions are durations to draw by percentile.
type distributions struct {
	title, head string
	selector    string // in checks
	of          func(*record.Curves) *record.Histogram
}

var (
	latencies = &distributions{"latency by percentile", "Latency of served requests", "",
		func(c *record.Curves) *record.Histogram { return c.Latency }}
	waits = &distributions{"wait for a connection by percentile", "Wait of acquires that got a connection", "{wait}",
		func(c *record.Curves) *record.Histogram { return c.Wait }}
)

func hasLatencies(r *record.Result) bool {
	return slices.ContainsFunc(r.Cells, func(c record.Cell) bool { return latencies.measured(&c.Curves) })
}

// hasWaits reports whether somebody waited.
func hasWaits(r *record.Result) bool {
	return slices.ContainsFunc(r.Cells, func(c record.Cell) bool { return waits.measured(&c.Curves) && c.Curves.Wait.Max() > 0 })
}

// measured reports whether there is enough for a line: one value is none.
func (d *distributions) measured(c *record.Curves) bool { h := d.of(c); return h != nil && h.N() > 1 }

// source is what has a line: a cell, or one of its services.
type source struct {
	name     string
	requests record.Requests
	of       *record.Histogram
}

// sources are those of a result: the services of cells with several, and all requests of a cell if it has none or if a check is about
// them. Of too many cells with services some are shown, so that each has all of its.
func (d *distributions) sources(r *record.Result, keys []string, all bool) (s []source, services bool, remark string) {
	var cells []*record.Cell
	each := 1
	for i := range r.Cells {
		if c := &r.Cells[i]; d.measured(&c.Curves) {
			cells = append(cells, c)
			each = max(each, len(d.parts(c)))
		}
	}
	if most := mostLines / each; each > 1 && len(cells) > most {
		var shown []*record.Cell
		for _, i := range some(len(cells), max(most, 2)) {
			shown = append(shown, cells[i])
		}
		remark = fmt.Sprintf("%d of %d settings are shown, evenly chosen.", len(shown), len(cells))
		cells = shown
	}
	for _, c := range cells {
		name := cellName(keys, c)
		parts := d.parts(c)
		for _, p := range parts {
			services = true
			s = append(s, source{joined(digest.Printable(p.Name), name), p.Requests, d.of(&p.Curves)})
		}
		switch {
		case len(parts) == 0:
			s = append(s, source{name, c.Requests, d.of(&c.Curves)})
		case all:
			s = append(s, source{joined("all", name), c.Requests, d.of(&c.Curves)})
		}
	}
	return s, services, remark
}

// joined puts what is not empty beside each other.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// parts are the services of a cell that have a line.
func (d *distributions) parts(c *record.Cell) []*record.PoolCell {
	return slices.DeleteFunc(parts(c), func(p *record.PoolCell) bool { return !d.measured(&p.Curves) })
}

// tail is the line of a source.
type tail struct {
	name   string
	ok     string // the share that was served, if not all
	more   int    // others that have the same
	n      float64
	stroke stroke
	dashed bool
	points []mark
}

func (d *distributions) draw(s *sheet, r *record.Result) {
	keys := digest.Varying(r)
	checks := ofDurations(limits(r), d.selector)
	sources, services, remark := d.sources(r, keys, len(checks) > 0)
	if services {
		keys = slices.Concat([]string{"service"}, keys)
	}
	var all []tail
	nines := 1.0
	var values []float64
	for _, s := range sources {
		t := newTail(s)
		for _, m := range t.points {
			values = append(values, m.y)
			nines = max(nines, m.x)
		}
		all = append(all, t)
	}
	x := scale{hi: nines, from: 64, to: width - margin - 10}
	y := upTo(within(values, checks), 100, 0.05)
	y.to = height - 2*margin - 90 // near enough
	all = together(all, y)
	var tails []tail
	shown := some(len(all), mostLines)
	for i, k := range nested(len(shown)) {
		t := all[shown[i]]
		t.stroke = k
		tails = append(tails, t)
	}
	if len(all) > len(tails) {
		remark += fmt.Sprintf(" %d of %d curves are shown, evenly chosen.", len(tails), len(all))
	}
	if slices.ContainsFunc(tails, func(t tail) bool { return t.more > 0 }) {
		remark += " Curves that cannot be told apart are drawn as one."
	}
	top := s.title(r, d.title, strings.TrimSpace(remark))

	what := headInk.fit(keyNames(keys), widestName)
	wide := headInk.width(what) - sample - space
	for _, t := range tails {
		wide = max(wide, labelInk.width(t.label()))
	}
	if wide > 0 { // the legend stands at the right
		x.to -= wide + sample + 2*space
	}
	p := s.newPanel(x, y, margin+30, top-16)
	p.grid(p.y.durations())
	for _, t := range nineTicks(nines) {
		p.line(pale, 0.5, false, p.point(t.v, p.y.lo), vg.Point{X: p.x.at(t.v), Y: p.y.to})
	}
	p.head(d.head)
	var ends []vg.Length
	for _, t := range tails {
		var points []vg.Point
		for _, m := range t.points {
			points = append(points, p.point(m.x, m.y))
		}
		p.line(t.stroke.color, t.stroke.width, t.dashed, points...)
		p.dot(t.stroke.color, t.stroke.radius, t.dashed, points[len(points)-1])
		ends = append(ends, points[len(points)-1].Y)
	}
	// A limit of a percentile ends at it.
	p.limits(checks, func(l limit) vg.Length {
		if q, ok := percentileOf(strings.TrimSuffix(l.figure, d.selector)); ok && q < 100 {
			return p.x.at(-math.Log10(1 - q/100))
		}
		return p.x.to
	})
	for i, y := range apart(ends, 13, p.y.from) {
		if t := tails[i]; t.label() != "" {
			s.entry(p.x.to+2*space, y-3, entry{name: t.label(), color: t.stroke.color, dashed: t.dashed, width: t.stroke.width})
		}
	}
	s.text(p.x.to+2*space, p.y.to+6, start, what, headInk)
	p.foot(nineTicks(nines), "percentile")
}

// apart moves heights as little as it must for labels not to overlap, nor to go below bottom.
func apart(heights []vg.Length, by, bottom vg.Length) []vg.Length {
	order := make([]int, len(heights)) // from the top
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(heights[b], heights[a]) })
	moved := slices.Clone(heights)
	for i := 1; i < len(order); i++ {
		moved[order[i]] = min(moved[order[i]], moved[order[i-1]]-by)
	}
	for i, n := range slices.Backward(order) {
		least := bottom
		if i < len(order)-1 {
			least = moved[order[i+1]] + by
		}
		moved[n] = max(moved[n], least)
	}
	return moved
}

func newTail(s source) tail {
	t := tail{name: s.name, n: float64(s.of.N())}
	if s.requests.Failed > 0 {
		t.dashed, t.ok = true, digest.Share(digest.OKShare(s.requests))+" ok"
	}
	n := t.n
	for _, step := range digest.Percentiles(s.of, 10) {
		x := math.Log10(n) // the greatest value
		if step.Percentile < 100 {
			x = min(x, -math.Log10(1-step.Percentile/100))
		}
		t.points = append(t.points, mark{x: x, y: float64(step.Value)})
	}
	return t
}

// label is what the legend calls the line.
func (t *tail) label() string {
	name := labelInk.fit(t.name, widestName)
	switch {
	case t.ok == "":
		return name
	case t.name == "":
		return t.ok
	}
	ok := " (" + t.ok + ")"
	return labelInk.fit(t.name, widestName-labelInk.width(ok)) + ok
}

// widestName is the room for a name in the legend: the curves keep half of the sheet.
const widestName = 240

// together makes one line of those that nobody could tell apart.
func together(all []tail, y scale) []tail {
	var kept []tail
next:
	for _, t := range all {
		for i := range kept {
			if k := &kept[i]; k.ok == t.ok && k.covers(&t, y) {
				k.name += "; " + t.name
				k.more++
				continue next
			}
		}
		kept = append(kept, t)
	}
	return kept
}

// covers reports whether two lines are the same to the eye, as far as both have ten requests beyond.
func (t *tail) covers(o *tail, y scale) bool {
	const apart = 1.5
	until := math.Log10(min(t.n, o.n) / 10)
	for x := 0.05; x <= until; x += 0.05 {
		if d := y.at(t.at(x)) - y.at(o.at(x)); d > apart || d < -apart {
			return false
		}
	}
	return until > 0.5
}

// at returns the latency of a percentile, as far as the line goes.
func (t *tail) at(nines float64) float64 {
	i := 0
	for i < len(t.points)-1 && t.points[i].x < nines {
		i++
	}
	return t.points[i].y
}

// nineTicks labels 0 %, 50 %, 90 %, 99 %, 99.9 % and so on.
func nineTicks(nines float64) []tick {
	all := []tick{{v: 0, label: "0 %"}, {v: math.Log10(2), label: "50 %"}}
	for i := 1; float64(i) <= nines; i++ {
		label := "90 %"
		if i > 1 {
			label = "99"
			for j := range i - 2 {
				if j == 0 {
					label += "."
				}
				label += "9"
			}
			label += " %"
		}
		all = append(all, tick{v: float64(i), label: label})
	}
	return all
}
