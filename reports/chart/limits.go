package chart

import (
	"image/color"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// limit is a check that is drawn: a figure and what it is held against.
type limit struct {
	figure string // as written in a check
	expr   string
	v      float64
	above  bool        // the figure should be above it
	color  color.Color // nil for the usual
}

// limits returns the checks of a result whose figures have a panel, each once.
func limits(r *record.Result) []limit {
	var all []limit
	for _, c := range r.Checks {
		if c.Status == record.Off || slices.ContainsFunc(all, func(l limit) bool { return l.expr == c.Expr }) {
			continue
		}
		e, err := record.ParseCheck(c.Expr)
		if err != nil || e.Service() != "" {
			continue
		}
		if v, ok := e.Limit(); ok {
			all = append(all, limit{figure: e.Figure.String(), expr: c.Expr, v: v, above: e.WantsMore()})
		}
	}
	return all
}

// serviceLimits returns the checks of percentiles, the mean and the median of latency that select a service.
func serviceLimits(r *record.Result, service string) []limit {
	var all []limit
	for _, c := range r.Checks {
		e, err := record.ParseCheck(c.Expr)
		if err != nil || c.Status == record.Off || e.Service() != service ||
			slices.ContainsFunc(all, func(l limit) bool { return l.expr == c.Expr }) {
			continue
		}
		if v, ok := e.Limit(); ok {
			all = append(all, limit{figure: e.Figure.Of("").String(), expr: c.Expr, v: v, above: e.WantsMore()})
		}
	}
	return ofDurations(all, "")
}

// of returns those of some figures.
func of(all []limit, figures ...string) []limit {
	return slices.DeleteFunc(slices.Clone(all), func(l limit) bool { return !slices.Contains(figures, l.figure) })
}

// ofDurations returns those of percentiles and the mean of latency or, with a selector, of other durations.
func ofDurations(all []limit, selector string) []limit {
	return slices.DeleteFunc(slices.Clone(all), func(l limit) bool {
		figure, of := strings.CutSuffix(l.figure, selector)
		_, percentile := percentileOf(figure)
		return !of || !percentile && figure != "avg" && figure != "med"
	})
}

// percentileOf returns the N of p(N).
func percentileOf(figure string) (float64, bool) {
	s, found := strings.CutPrefix(figure, "p(")
	s, closed := strings.CutSuffix(s, ")")
	v, err := strconv.ParseFloat(s, 64)
	return v, found && closed && err == nil
}

// within adds to the values of a panel the limits that are near enough to be shown beside them.
func within(values []float64, all []limit) []float64 {
	most := slices.Max(append([]float64{0}, values...))
	for _, l := range all {
		if l.v > 0 && l.v <= 3*most {
			values = append(values, l.v)
		}
	}
	return values
}

// limits draws lines at limits, up to places on the x axis, with their names where nothing is in the way, or else above the panel,
// if there is room; one that is above the panel has its name only.
func (p *panel) limits(all []limit, to func(limit) vg.Length) {
	for _, l := range all {
		x, y := p.x.to, p.y.at(l.v)
		if to != nil {
			x = to(l)
		}
		name := digest.Printable(l.expr)
		heights := []vg.Length{y + 2.5, y - 9} // of the name
		switch {
		case l.v > p.y.hi:
			name, heights = name+" is above", []vg.Length{p.y.to - 8, p.y.to - 18}
		case l.v < p.y.lo:
			continue
		default:
			p.StrokeLines(l.style(), []vg.Point{{X: p.x.from, Y: y}, {X: x, Y: y}})
			if l.above {
				heights[0], heights[1] = heights[1], heights[0]
			}
		}
		p.name(name, x-3, heights, l.ink())
	}
}

// name writes the name of a limit at one of some heights, as far right as there is room up to x, or else above the panel.
func (p *panel) name(name string, x vg.Length, heights []vg.Length, k ink) {
	wide := k.width(name)
	for _, y := range heights {
		for at := x; at-wide > p.x.from && y > p.y.from && y+k.size <= p.y.to+4; at -= 5 {
			if p.take(at-wide, y-1, at, y+k.size-2) {
				p.halo(at, y, end, name, k)
				return
			}
		}
	}
	if p.headed == 0 || p.headed+wide > p.headedTo {
		p.halo(x, max(heights[0], p.y.from+2), end, name, k)
		return
	}
	p.text(p.headed, p.y.to+6, start, name, k)
	p.headed += wide + 3*space
}

// take takes the place of something that is not to be written over, if it is free.
func (s *sheet) take(x0, y0, x1, y1 vg.Length) bool {
	for _, t := range s.taken {
		if x0 < t.Max.X && t.Min.X < x1 && y0 < t.Max.Y && t.Min.Y < y1 {
			return false
		}
	}
	s.keep(x0, y0, x1, y1)
	return true
}

// keep takes a place, whatever is there already.
func (s *sheet) keep(x0, y0, x1, y1 vg.Length) {
	s.taken = append(s.taken, vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}})
}

// keepLine takes the places along a line.
func (s *sheet) keepLine(a, b vg.Point) {
	const parts = 12
	for n := range parts {
		i := vg.Length(n)
		x0, y0 := a.X+(b.X-a.X)*i/parts, a.Y+(b.Y-a.Y)*i/parts
		x1, y1 := a.X+(b.X-a.X)*(i+1)/parts, a.Y+(b.Y-a.Y)*(i+1)/parts
		s.keep(x0, min(y0, y1)-0.5, x1, max(y0, y1)+0.5)
	}
}

var limitStyle = draw.LineStyle{Color: black, Width: 0.9, Dashes: []vg.Length{1, 1.8}}

// style is how the line is drawn, in the colour of what it is the limit of.
func (l *limit) style() draw.LineStyle {
	style := limitStyle
	if l.color != nil {
		style.Color = l.color
	}
	return style
}

func (l *limit) ink() ink {
	k := limitInk
	if l.color != nil {
		k.color = l.color
	}
	return k
}

// in returns limits in a colour.
func in(c color.Color, all []limit) []limit {
	all = slices.Clone(all)
	for i := range all {
		all[i].color = c
	}
	return all
}

var limitInk = ink{black, 8.5, false}

// halo writes a text on a pale ground, so that it can be read over lines.
func (s *sheet) halo(x, y vg.Length, align float64, str string, k ink) {
	w := k.width(str)
	from := x - vg.Length(align)*w
	s.rectangle(veil, max(from-1.5, 0), y-2, min(from+w+1.5, width), y+k.size-1)
	s.text(x, y, align, str, k)
}
