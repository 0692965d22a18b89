package chart

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
)

// panel is a rectangle of a sheet with two axes.
type panel struct {
	*sheet
	x, y             scale
	headed, headedTo vg.Length // what is free above it
}

// newPanel lays a panel between two heights.
func (s *sheet) newPanel(x, y scale, bottom, top vg.Length) *panel {
	y.from, y.to = bottom, top
	return &panel{sheet: s, x: x, y: y}
}

func (p *panel) point(x, y float64) vg.Point { return vg.Point{X: p.x.at(x), Y: p.y.at(y)} }

// grid draws the horizontal lines of the ticks, labelled on the left.
func (p *panel) grid(ticks []tick) {
	var labels row
	for _, minor := range []bool{false, true} {
		for _, t := range ticks {
			if t.minor != minor {
				continue
			}
			y := p.y.at(t.v)
			p.line(pale, 0.5, false, vg.Point{X: p.x.from, Y: y}, vg.Point{X: p.x.to, Y: y})
			if labels.fits(y, labelInk.size) {
				p.text(p.x.from-5, y-3, end, labelInk.fit(t.label, p.x.from-10), labelInk)
			}
		}
	}
}

// foot draws the axis below: its line, the labels that fit, the first and the last before others, and what it is.
func (p *panel) foot(ticks []tick, what string) {
	y := p.y.from
	p.line(grey, 0.7, false, vg.Point{X: p.x.from, Y: y}, vg.Point{X: p.x.to, Y: y})
	var labels row
	place := func(t tick) {
		if x := p.x.at(t.v); labels.fits(x, labelInk.width(t.label)+6) {
			p.text(x, y-13, middle, t.label, labelInk)
		}
	}
	for _, t := range ticks {
		p.line(grey, 0.7, false, vg.Point{X: p.x.at(t.v), Y: y}, vg.Point{X: p.x.at(t.v), Y: y - 3})
	}
	if n := len(ticks); n > 1 {
		place(ticks[0])
		place(ticks[n-1])
	}
	for _, t := range ticks {
		place(t)
	}
	p.text((p.x.from+p.x.to)/2, y-26, middle, labelInk.fit(what, p.x.to-p.x.from), headInk)
}

// row is a row of labels that must not overlap: the middles and widths of those that stand in it.
type row [][2]vg.Length

// fits takes the place around x if it is free.
func (r *row) fits(x, width vg.Length) bool {
	if !r.free(x, width) {
		return false
	}
	*r = append(*r, [2]vg.Length{x, width})
	return true
}

func (r *row) free(x, width vg.Length) bool {
	return !slices.ContainsFunc(*r, func(l [2]vg.Length) bool { return 2*max(x-l[0], l[0]-x) < width+l[1] })
}

// head writes what a panel shows above it, and the legend at the right end.
func (p *panel) head(what string, entries ...entry) {
	p.text(p.x.from, p.y.to+6, start, what, headInk)
	p.headed = p.x.from + headInk.width(what) + 3*space
	x := p.x.to + 3*space
	for _, e := range entries {
		x -= e.room()
	}
	p.headedTo = x
	p.legend(x, p.x.to+3*space, p.y.to+6, entries)
}

// mark is a figure to draw, with its interval if it has one.
type mark struct {
	x, y, lo, hi float64
	known        bool
	interval     bool
	careful      bool // it is of the few that were served
}

// stroke is how a line is drawn.
type stroke struct {
	color  color.Color
	width  vg.Length
	radius vg.Length // of its marks
}

var plain = stroke{width: 1.6, radius: 3}

// in returns the stroke in a colour.
func (k stroke) in(c color.Color) stroke {
	k.color = c
	return k
}

// nested are strokes for lines of which some may lie on each other: each is narrower than those drawn before it, which are seen on
// both sides of it.
func nested(n int) []stroke {
	all := make([]stroke, n)
	for i := range all {
		below := vg.Length(n - 1 - i)
		all[i] = stroke{palette[i], 1.4 + 0.5*below, 2.6 + 0.3*below}
	}
	return all
}

// curve draws marks and the lines between neighbours; those to be read with care are hollow, with dashed lines.
func (p *panel) curve(k stroke, marks []mark) {
	c, radius := k.color, k.radius
	if len(marks) > 60 {
		radius = k.radius / 2
	}
	for i := 1; i < len(marks); i++ {
		if a, b := marks[i-1], marks[i]; a.known && b.known {
			p.line(c, k.width, a.careful || b.careful, p.point(a.x, a.y), p.point(b.x, b.y))
			p.keepLine(p.point(a.x, a.y), p.point(b.x, b.y))
		}
	}
	for _, m := range marks {
		if m.known && m.interval && p.y.at(m.hi)-p.y.at(m.lo) > 2*radius {
			p.whisker(c, m.x, m.lo, m.hi)
		}
	}
	for _, m := range marks {
		if m.known {
			at := p.point(m.x, m.y)
			p.dot(c, radius, m.careful, at)
			p.keep(at.X-radius, at.Y-radius, at.X+radius, at.Y+radius)
		}
	}
}

// whisker draws an interval.
func (p *panel) whisker(c color.Color, x, lo, hi float64) {
	a, b := p.point(x, lo), p.point(x, hi)
	p.line(c, 0.8, false, a, b)
	for _, e := range []vg.Point{a, b} {
		p.line(c, 0.8, false, vg.Point{X: e.X - 2.5, Y: e.Y}, vg.Point{X: e.X + 2.5, Y: e.Y})
	}
}
