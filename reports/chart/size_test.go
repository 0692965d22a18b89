package chart

import (
	"fmt"
	"strings"
	"testing"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

// TestSizeIsMarked: a line stands at the size to use, with a label beside it that has room at both ends, and the levels are those of
// that size.
func TestSizeIsMarked(t *testing.T) {
	r := reporttest.Result("lab", "", reporttest.Lab, 5)
	s := &record.Sizing{Key: "pool.max", Scenario: r.Scenario}
	for i, c := range r.Cells {
		size, _ := record.SizeOf(c.Settings, "pool.max")
		s.Sizes = append(s.Sizes, record.Sized{Size: size, Cell: r.Cells[i]})
	}
	draw := func() (names []string, curve drawing) {
		all, err := Size(s, "svg")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			names = append(names, c.Name)
		}
		return names, read(t, all[0].Bytes)
	}
	names, plain := draw()
	if got := strings.Join(names, " "); got != "sizing-curve.svg percentiles.svg percentiles-wait.svg" || plain.count("stroke:#009E73") != 0 {
		t.Errorf("without a size to use: %s, or a mark", got)
	}
	for _, use := range []int{2, 8, 40} {
		s.Use = &use
		names, d := draw()
		if got, want := strings.Join(names, " "), fmt.Sprintf("sizing-curve.svg percentiles.svg percentiles-wait.svg levels-pool.max-%d.svg", use); got != want {
			t.Errorf("charts %s, want %s", got, want)
		}
		label := fmt.Sprintf("use %d", use)
		if !d.has(label) || d.count("stroke:#009E73") != 3 { // in each of three panels
			t.Errorf("size %d is not marked", use)
			continue
		}
		for _, p := range d.paths {
			if strings.Contains(p.style, "stroke:#009E73") && (p.x[0] != p.x[1] || p.x[0] < d.where(fmt.Sprint(use)).x || p.x[0] > d.where(fmt.Sprint(use)).x+20) {
				t.Errorf("size %d: the line is at %v, the label of the axis at %v", use, p.x, d.where(fmt.Sprint(use)).x)
			}
		}
		if end := float64(d.where(label).x) + float64(useInk.width(label)); end > width-margin {
			t.Errorf("size %d: the label ends at %v", use, end)
		}
	}
	if _, err := Size(s, "gif"); err == nil {
		t.Error("no error for an unknown format")
	}
}
