package chart

import (
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
	above  bool // the figure should be above it
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
			all = append(all, limit{e.Figure.String(), c.Expr, v, e.WantsMore()})
		}
	}
	return all
}

// serviceLimits returns the checks of percentiles, the mean and the median of latency that select a service.
func serviceLimits(r *record.Result, service string) []limit {
	var all []limit
	for _, c := range r.Checks {
		e, err := record.ParseCheck(c.Expr)
		if err != nil || c.Status == record.Off || e.Service() != service {
			continue
		}
		if v, ok := e.Limit(); ok {
			all = append(all, limit{e.Figure.Of("").String(), c.Expr, v, e.WantsMore()})
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

// limits draws lines at limits, up to places on the x axis, with their names; one that is above the panel has its name only.
func (p *panel) limits(all []limit, to func(limit) vg.Length) {
	var taken []vg.Length
	for _, l := range all {
		x, y := p.x.to, p.y.at(l.v)
		if to != nil {
			x = to(l)
		}
		name, base := digest.Printable(l.expr), y+2.5
		switch {
		case l.v > p.y.hi:
			name, base = name+" is above", p.y.to-8
		case l.v < p.y.lo:
			continue
		default:
			p.StrokeLines(limitStyle, []vg.Point{{X: p.x.from, Y: y}, {X: x, Y: y}})
			if l.above {
				base = y - 9
			}
		}
		for slices.ContainsFunc(taken, func(t vg.Length) bool { return t-9 < base && base < t+9 }) {
			base -= 9.5
		}
		taken = append(taken, base)
		if base > p.y.from-2 {
			p.halo(x-3, base, end, name, limitInk)
		}
	}
}

var limitStyle = draw.LineStyle{Color: black, Width: 0.9, Dashes: []vg.Length{1, 1.8}}

var limitInk = ink{black, 8.5, false}

// halo writes a text on a pale ground, so that it can be read over lines.
func (s *sheet) halo(x, y vg.Length, align float64, str string, k ink) {
	w := k.width(str)
	from := x - vg.Length(align)*w
	s.rectangle(veil, from-1.5, y-2, from+w+1.5, y+k.size-1)
	s.text(x, y, align, str, k)
}
