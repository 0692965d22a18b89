package chart

import (
	"errors"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// LevelsOverTime draws the levels of one cell's pools over time, in its first replication: connections by state, and those who
// wait. A line is the mean of a short while, the band above it reaches up to the maximum.
func LevelsOverTime(r *record.Result, cell int, format string) ([]byte, error) {
	if cell < 0 || cell >= len(r.Cells) {
		return nil, errors.New("levels: there is no such cell")
	}
	c := &r.Cells[cell]
	all := levels(c.Curves.Levels)
	if all == nil {
		return nil, errors.New("levels: the result has no levels over time; one that was read from JSON has figures only")
	}
	return render(format, func(s *sheet) { drawLevels(s, r, c, all) })
}

// level is the course of one level.
type level struct {
	name      string
	color     color.Color
	mean, max []float64
}

var levelInks = map[string]color.Color{"size": grey, "idle": green, "in use": blue, "connecting": orange, "waiting": red}

// levels returns the courses of a series, nil if there is none.
func levels(s record.Series) []level {
	if s.Bin <= 0 {
		return nil
	}
	var all []level
	for i, name := range s.Names {
		if i >= len(s.Mean) || i >= len(s.Max) || len(s.Mean[i]) == 0 {
			continue
		}
		l := level{name: strings.ReplaceAll(name, "_", " ")}
		l.color = levelInks[l.name]
		if l.color == nil {
			l.color = palette[i%mostLines]
		}
		for j, mean := range s.Mean[i] {
			if math.IsNaN(mean) || math.IsInf(mean, 0) {
				mean = 0
			}
			highest := mean
			if j < len(s.Max[i]) {
				highest = max(mean, float64(s.Max[i][j]))
			}
			l.mean, l.max = append(l.mean, mean), append(l.max, highest)
		}
		all = append(all, l)
	}
	return all
}

func drawLevels(s *sheet, r *record.Result, c *record.Cell, all []level) {
	remark := "Line: mean; band: up to the maximum."
	if c.Replications > 1 {
		remark += " First of the replications."
	}
	what := "connections over time"
	if label := digest.Label(c.Settings); label != "" {
		what += " at " + label
	}
	top := s.title(r, what, remark)

	bins := 0
	for _, l := range all {
		bins = max(bins, len(l.mean))
	}
	x := scale{hi: float64(c.Curves.Levels.Bin) * float64(bins), from: 64, to: width - margin - 10}
	waiting := slices.DeleteFunc(slices.Clone(all), func(l level) bool { return l.name != "waiting" })
	others := slices.DeleteFunc(slices.Clone(all), func(l level) bool { return l.name == "waiting" })

	const foot, head = 30, 24
	bottom := vg.Length(margin + foot)
	roof := top - head
	last := (*panel)(nil)
	if len(waiting) > 0 {
		to := roof
		if len(others) > 0 {
			to = bottom + (roof-bottom)*0.36
			if room(waiting).empty {
				to = bottom + 12
			}
		}
		last = s.newPanel(x, room(waiting), bottom, to)
		last.levels("Waiting for a connection", waiting, c.Curves.Levels.Bin)
		bottom = to + head
	}
	if len(others) > 0 {
		p := s.newPanel(x, room(others), bottom, roof)
		p.levels("Connections", others, c.Curves.Levels.Bin)
		if last == nil {
			last = p
		}
	}
	last.foot(last.x.durations(), "time")
}

func room(all []level) scale {
	var v []float64
	for _, l := range all {
		v = append(v, l.max...)
	}
	return upTo(v, math.Inf(1), 0.1)
}

func (p *panel) levels(what string, all []level, bin time.Duration) {
	p.grid(p.y.ticks(trimmed))
	var entries []entry
	for _, l := range all {
		highest := p.steps(l.max, bin)
		slices.Reverse(highest)
		p.FillPolygon(translucent(l.color), append(p.steps(l.mean, bin), highest...))
		if len(all) > 1 {
			entries = append(entries, entry{name: l.name, color: l.color})
		}
	}
	for _, l := range all {
		p.line(l.color, 1.5, false, p.steps(l.mean, bin)...)
	}
	p.head(what, entries...)
}

// steps draws a value for each bin, neighbours that are equal as one.
func (p *panel) steps(values []float64, bin time.Duration) []vg.Point {
	var points []vg.Point
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			points[len(points)-1] = p.point(float64(bin)*float64(i+1), v)
			continue
		}
		points = append(points, p.point(float64(bin)*float64(i), v), p.point(float64(bin)*float64(i+1), v))
	}
	return points
}

func translucent(c color.Color) color.Color {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = 50
	return n
}
