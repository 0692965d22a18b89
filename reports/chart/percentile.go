package chart

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// PercentileCurve draws latency against percentile, each nine as wide as the one before: a line for each cell, or for a few of
// them if there are many. A line ends at the percentile that its number of requests can show.
func PercentileCurve(r *record.Result, format string) ([]byte, error) {
	if !hasLatencies(r) {
		return nil, errors.New("percentiles: the result has no latencies; one that was read from JSON has figures only")
	}
	return render(format, func(s *sheet) { drawPercentiles(s, r) })
}

func hasLatencies(r *record.Result) bool {
	for i := range r.Cells {
		if measured(&r.Cells[i]) {
			return true
		}
	}
	return false
}

func measured(c *record.Cell) bool { return c.Curves.Latency != nil && c.Curves.Latency.N() > 0 }

// tail is the line of a cell.
type tail struct {
	name   string
	color  color.Color
	dashed bool
	points []mark
}

func drawPercentiles(s *sheet, r *record.Result) {
	var cells []*record.Cell
	for i := range r.Cells {
		if measured(&r.Cells[i]) {
			cells = append(cells, &r.Cells[i])
		}
	}
	remark := ""
	var tails []tail
	for _, i := range some(len(cells), mostLines) {
		tails = append(tails, newTail(cells[i], palette[len(tails)]))
	}
	if len(cells) > len(tails) {
		remark = fmt.Sprintf("%d of %d settings are shown, evenly chosen.", len(tails), len(cells))
	}
	top := s.title(r, "latency by percentile", remark)

	var wide vg.Length
	var values []float64
	nines := 1.0
	for _, t := range tails {
		wide = max(wide, labelInk.width(t.name))
		for _, m := range t.points {
			values = append(values, m.y)
			nines = max(nines, m.x)
		}
	}
	x := scale{hi: nines, from: 64, to: width - margin - 10}
	if wide > 0 { // the legend stands at the right
		x.to -= wide + sample + 2*space
	}
	p := s.newPanel(x, upTo(values, 300, 0.05), margin+30, top-16)
	p.grid(p.y.durations())
	for _, t := range nineTicks(nines) {
		p.line(pale, 0.5, false, p.point(t.v, p.y.lo), vg.Point{X: p.x.at(t.v), Y: p.y.to})
	}
	p.head("Latency of served requests")
	var ends []vg.Length
	for _, t := range tails {
		var points []vg.Point
		for _, m := range t.points {
			points = append(points, p.point(m.x, m.y))
		}
		p.line(t.color, 1.8, t.dashed, points...)
		p.dot(t.color, 3, t.dashed, points[len(points)-1])
		ends = append(ends, points[len(points)-1].Y)
	}
	for i, y := range apart(ends, 13, p.y.from) {
		if t := tails[i]; t.name != "" {
			s.entry(p.x.to+2*space, y-3, entry{name: t.name, color: t.color, dashed: t.dashed})
		}
	}
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

func newTail(c *record.Cell, ink color.Color) tail {
	t := tail{name: digest.Label(c.Settings), color: ink}
	if c.Requests.Failed > 0 {
		t.dashed = true
		share := digest.Share(digest.OKShare(c.Requests)) + " ok"
		if t.name == "" {
			t.name = share
		} else {
			t.name = labelInk.fit(t.name, 130) + " (" + share + ")"
		}
	}
	t.name = labelInk.fit(t.name, 210)
	n := float64(c.Curves.Latency.N())
	for _, step := range digest.Percentiles(c.Curves.Latency, 10) {
		x := math.Log10(n) // the greatest value
		if step.Percentile < 100 {
			x = min(x, -math.Log10(1-step.Percentile/100))
		}
		t.points = append(t.points, mark{x: x, y: float64(step.Value)})
	}
	return t
}

// nineTicks labels 0 %, 50 %, 90 %, 99 %, 99.9 % and so on.
func nineTicks(nines float64) []tick {
	all := []tick{{0, "0 %"}, {math.Log10(2), "50 %"}}
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
		all = append(all, tick{float64(i), label})
	}
	return all
}
