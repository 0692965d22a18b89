package chart

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

func levelsOverTime(t *testing.T, r *record.Result, cell int) drawing {
	t.Helper()
	svg, err := LevelsOverTime(r, cell, "svg")
	if err != nil {
		t.Fatal(err)
	}
	return read(t, svg)
}

// filled returns how many areas are of a colour.
func (d drawing) filled(hex string) (n int) { return d.count("fill:#" + hex) }

func TestLevelsOverTime(t *testing.T) {
	d := levelsOverTime(t, lab(3), 1)
	for _, want := range []string{
		"sizing-knee: connections over time at pool.max=4", "Connections, maximum 4", "Waiting for a connection, at the most 116",
		"Requests that ended, per second", "in use", "most in use", "connecting", "idle", "waiting", "served", "time", "0", "200 ms",
		// 400 requests end evenly in 300 bins: 2 or 3 in two bins, and 4 in three.
		"Areas: mean of 6.47 ms each. Thin lines: the most in it. First of the replications.",
		"first all lent at 32.3 ms", // after 15 of 300 bins of 647 ms, all connecting till then
	} {
		if !d.has(want) {
			t.Errorf("no text %q in %v", want, d.texts)
		}
	}
	if d.has("failed") {
		t.Error("failures are drawn where there are none")
	}
	// One area, and its sample in the legend.
	for name, hex := range map[string]string{"in use": "0072B2", "connecting": "E69F00", "idle": "CFE3DC", "waiting": "F0B48C", "served": "9ECBE8"} {
		if n := d.filled(hex); n != 2 {
			t.Errorf("%d areas are %s, want 2", n, name)
		}
	}
	if d := levelsOverTime(t, lab(1), 5); !d.has("failed") || d.filled("D55E00") != 2 || !d.has("first all lent at 14.5 ms") ||
		!d.has("247 failures from 967 µs to 290 ms") {
		t.Errorf("failures are not drawn; texts %v", d.texts)
	}
}

// TestLevelsSayWhenNoneIsIdle: connections that are pinged are not lent, and yet there is none to lend.
func TestLevelsSayWhenNoneIsIdle(t *testing.T) {
	s := &record.Series{Bin: time.Second, Names: []string{"size", "idle", "in_use", "waiting", "connecting"}}
	of := &record.Course{Slots: 4,
		Mean: [][]float64{{4, 4, 4}, {2, 0, 0}, {2, 1, 4}, {0, 2, 9}, {0, 0, 0}},
		Max:  [][]int64{{4, 4, 4}, {3, 0, 0}, {3, 2, 4}, {0, 3, 9}, {0, 0, 0}},
	}
	if got := whenFull(s, of); got != "none idle from 1.00 s, first all lent at 2.00 s" {
		t.Errorf("pinged, then lent: %q", got)
	}
	of.Mean[4][1] = 3 // they are under way
	if got := whenFull(s, of); got != "first all lent at 2.00 s" {
		t.Errorf("under way, then lent: %q", got)
	}
	of.Max[2][0] = 4 // lent before
	if got := whenFull(s, of); got != "all lent right at the start" {
		t.Errorf("lent at once: %q", got)
	}
}

// TestServicesHaveInksOfTheirOwn: none is that of a state, and they differ in grey.
func TestServicesHaveInksOfTheirOwn(t *testing.T) {
	grey := func(c color.Color) float64 {
		r, g, b, _ := c.RGBA()
		return (0.299*float64(r) + 0.587*float64(g) + 0.114*float64(b)) / 257
	}
	for i, a := range serviceInks {
		if slices.Contains([]color.Color{inUseInk, otherInk, connectingInk, idleInk, waitingInk, servedInk, failedInk}, a) {
			t.Errorf("%v is that of a state", a)
		}
		for j, b := range serviceInks[:i] {
			if d := math.Abs(grey(a) - grey(b)); d < 10 || d < 40 && i == j+1 && i < 4 {
				t.Errorf("%v and %v differ by %.0f in grey", a, b, d)
			}
		}
	}
}

// TestLevelsShowTheMaximum: the line of the maximum is at its height, if that is on the axis at all.
func TestLevelsShowTheMaximum(t *testing.T) {
	for slots, drawn := range map[int]bool{0: false, 8: true, 100: false} {
		r := reporttest.Result("one", "", reporttest.Lab[1:2], 1)
		r.Cells[0].Curves.Levels.Slots = slots
		r.Cells[0].Curves.Levels.N = 2
		d := levelsOverTime(t, r, 0)
		line := func(p path) bool { return p.style == "fill:none;stroke:#000000" } // one point wide
		if got := slices.ContainsFunc(d.paths, line); got != drawn {
			t.Errorf("%d slots: drawn %v, want %v", slots, got, drawn)
		}
		if slots == 8 && !d.has("Connections, maximum 8 (2 × 4)") {
			t.Errorf("texts %v", d.texts)
		}
	}
}

// TestTheServersLimitIsDrawn: below the maximum of the only pools, and of a pooler that nobody bypasses.
func TestTheServersLimitIsDrawn(t *testing.T) {
	for limit, want := range map[int]string{0: "Connections, maximum 8", 6: "Connections, maximum 8, the server allows 6", 8: "Connections, maximum 8"} {
		r := reporttest.Result("one", "", reporttest.Lab[2:3], 1)
		r.Cells[0].Curves.Levels.Limit = limit
		if d := levelsOverTime(t, r, 0); !d.has(want) || (d.count("stroke-dasharray") == 1) != (limit == 6) {
			t.Errorf("a limit of %d: texts %v", limit, d.texts)
		}
	}
	r := reporttest.Result("one", "", reporttest.Lab[2:3], 1)
	c := &r.Cells[0]
	s := &c.Curves.Levels
	pooler := s.Course
	pooler.Ended, pooler.Slots = nil, 25
	s.Limit, s.Pooler, c.Pooler = 20, &pooler, &record.PoolerCell{Levels: c.Levels}
	c.Server.PeakOpen = int64(c.Levels.Size.Max.Value)
	if d := levelsOverTime(t, r, 0); !d.has("pooler: server connections, maximum 25, the server allows 20") {
		t.Errorf("texts %v", d.texts)
	}
	c.Server.PeakOpen++
	if d := levelsOverTime(t, r, 0); !d.has("pooler: server connections, maximum 25") {
		t.Errorf("with others that go straight to the server: texts %v", d.texts)
	}
}

// TestConnectsAreNoConnections: what is under way is not among what the services have, which stays below the server's limit.
func TestConnectsAreNoConnections(t *testing.T) {
	r := services()
	s := &r.Cells[0].Curves.Levels
	for i := range s.Services {
		c := &s.Services[i]
		c.Mean, c.Max = slices.Clone(c.Mean), slices.Clone(c.Max)
		for _, l := range []struct {
			name string
			n    int
		}{{"size", 15}, {"in_use", 10}, {"idle", 0}, {"connecting", 5}} {
			at := slices.Index(s.Names, l.name)
			c.Mean[at], c.Max[at] = make([]float64, len(c.Mean[at])), make([]int64, len(c.Max[at]))
			for j := range c.Mean[at] {
				c.Mean[at][j], c.Max[at][j] = float64(l.n), int64(l.n)
			}
		}
	}
	o := newOvertime(r, &r.Cells[0])
	for i := range o.each {
		if got := o.each[i].established(); slices.Max(got) > 10.001 || slices.Min(got) < 9.999 {
			t.Errorf("%d: %v connections, want 10", i, got)
		}
	}
}

// TestFewFailuresAreSeen: one failure among many requests has a mark at the top, many are an area only.
func TestFewFailuresAreSeen(t *testing.T) {
	const n = 100
	draw := func(failed int64) drawing {
		s := record.Series{Bin: time.Second, End: n * time.Second, Names: []string{"in_use"}}
		s.Mean, s.Max = [][]float64{make([]float64, n)}, [][]int64{make([]int64, n)}
		s.Ended = make([]record.Ends, n)
		for i := range s.Ended {
			s.Ended[i].OK = 1000
		}
		s.Ended[70].Failed = failed
		return levelsOverTime(t, &record.Result{Cells: []record.Cell{{Curves: record.Curves{Levels: s}}}}, 0)
	}
	if d := draw(1); d.filled("D55E00") != 3 || !d.has("1 failure at 70.0 s") {
		t.Errorf("one failure: %d red areas, want its own, its mark and the legend's; texts %v", d.filled("D55E00"), d.texts)
	}
	if d := draw(500); d.filled("D55E00") != 2 || !d.has("500 failures at 70.0 s") {
		t.Errorf("500 failures: %d red areas; texts %v", d.filled("D55E00"), d.texts)
	}
}

// TestStepsFitARhythm: 10 requests every 5 s, in 512 bins of 4 s, are the same in every step but those at the ends; requests that come at random
// or one by one keep the shortest steps.
func TestStepsFitARhythm(t *testing.T) {
	series := func(every int) *record.Series {
		s := &record.Series{Bin: 4 * time.Second}
		s.Mean, s.Ended = [][]float64{make([]float64, 512)}, make([]record.Ends, 512)
		for at := 0; at < 512*4; at += every {
			s.Ended[at/4].OK += 10
		}
		return s
	}
	o := &overtime{}
	if got := o.steps(series(5)); got != 5 {
		t.Errorf("a rhythm of 5 s has steps of %d bins of 4 s, want 5", got)
	}
	for _, every := range []int{1, 4, 1000} {
		if got := o.steps(series(every)); got != 4 {
			t.Errorf("requests every %d s have steps of %d bins, want 4, the least for 512", every, got)
		}
	}
}

// services makes a result of two services, one of them of several instances, behind a pooler.
func services() *record.Result {
	r := reporttest.Fleet(3, 1)
	c := &r.Cells[0]
	s := &c.Curves.Levels
	one := s.Course
	one.N, one.Slots = 1, 10
	two := s.Course
	two.First, two.N, two.Slots = 1, 2, 20
	s.Services = []record.Course{one, two}
	c.Pools[0].Name, c.Pools[0].Service = "jobs", ""
	return r
}

// TestLevelsOfServices: each has its panels, one below the other, after that of all of them, on a sheet that is high enough.
func TestLevelsOfServices(t *testing.T) {
	r := services()
	s := &r.Cells[0].Curves.Levels
	pooler := s.Course
	pooler.Ended = nil
	s.Pooler, r.Cells[0].Pooler = &pooler, &record.PoolerCell{}
	r.Cells[0].Budget = &record.Budget{Limit: 100, Reserved: 3, Rows: []record.BudgetRow{{}}}
	d := levelsOverTime(t, r, 0)
	order := []string{
		"All connections", "jobs: connections, maximum 10", "jobs: waiting for a connection, at the most 116", "jobs: requests that ended, per second",
		"payments: connections, maximum 20 (2 × 10)", "payments: waiting for a connection, at the most 116", "payments: requests that ended, per second",
		"pooler: server connections", "pooler: waiting for a connection, at the most 116", "time",
	}
	for i, want := range order {
		if !d.has(want) {
			t.Fatalf("no text %q in %v", want, d.texts)
		}
		if i > 0 && d.where(want).y >= d.where(order[i-1]).y {
			t.Errorf("%q is not below %q", want, order[i-1])
		}
	}
	if d.has("pooler: requests that ended, per second") {
		t.Error("requests end at the pooler")
	}
	// Without the pooler, what the server allows is known.
	s.Pooler, r.Cells[0].Pooler = nil, nil
	if d := levelsOverTime(t, r, 0); !d.has("All connections, the server allows 97") {
		t.Errorf("texts %v", d.texts)
	}
}

// TestMomentsAreMarked: times are tinted, and what happened at one instant stands together.
func TestMomentsAreMarked(t *testing.T) {
	r := lab(1)
	c := &r.Cells[0]
	s := &c.Curves.Levels
	s.WarmUp = 100 * time.Millisecond
	s.Faults = []record.Fault{{At: 600 * time.Millisecond, For: 100 * time.Millisecond, What: "connects refused"}, {At: time.Hour, What: "never"}}
	for _, a := range []record.Deed{
		{At: time.Second, Do: "stop", Service: "app", Instance: 2}, {At: time.Second, Do: "shut_down", Service: "jobs"}, {At: 300 * time.Millisecond, Do: "restart"},
		{At: 800 * time.Millisecond, Do: "connect_to", To: "replica", Service: "app", Instance: 2}, {At: 800 * time.Millisecond, Do: "connect_to", To: "replica", Service: "app", Instance: 3},
	} {
		c.Actions = append(c.Actions, record.ActionCell{Deed: a})
	}
	d := levelsOverTime(t, r, 0)
	for _, want := range []string{"warm-up", "connects refused", "stop app-2, shut down jobs", "restart", "connect to replica app-2 to 3"} {
		if !d.has(want) {
			t.Errorf("no text %q in %v", want, d.texts)
		}
	}
	if d.has("never") {
		t.Error("what is after the end is marked")
	}
	if d.filled("E6E8EB") != 1 || d.filled("FBE8DD") != 1 {
		t.Error("the times are not tinted")
	}
	if n := d.count("stroke-dasharray"); n != 4*3 {
		t.Errorf("%d dashed lines, want those of four moments on three panels", n)
	}
	at := func(s string) float64 { return d.where(s).x + float64(labelInk.width(s))/2 }
	if tint := d.paths[slices.IndexFunc(d.paths, func(p path) bool { return strings.Contains(p.style, "FBE8DD") })]; at("connects refused") < slices.Min(tint.x) ||
		at("connects refused") > slices.Max(tint.x) {
		t.Errorf("the fault is at %v, its name at %v", tint.x, at("connects refused"))
	}
}

// TestWindowsKeepTheMostAndTheSum: however many bins there are, the most is there, and requests are counted once.
func TestWindowsKeepTheMostAndTheSum(t *testing.T) {
	for _, n := range []int{1, 2, 159, 160, 161, 320, 500, 512} {
		s := record.Series{Bin: time.Second, End: time.Duration(n) * time.Second, Names: []string{"in_use"}}
		s.Mean, s.Max = [][]float64{make([]float64, n)}, [][]int64{make([]int64, n)}
		s.Ended = make([]record.Ends, n)
		for i := range n {
			s.Mean[0][i], s.Max[0][i] = 2, 3
			s.Ended[i] = record.Ends{OK: 1}
		}
		s.Max[0][n-1] = 50
		o := newOvertime(&record.Result{}, &record.Cell{Curves: record.Curves{Levels: s}})
		c := o.each[0]
		if len(c.ok) > mostWindows || c.inUse.most() != 50 || c.inUse.max[len(c.ok)-1] != 50 || slices.Min(c.inUse.mean) != 2 || slices.Max(c.inUse.mean) != 2 {
			t.Errorf("%d bins: %d windows, %+v", n, len(c.ok), c.inUse)
		}
		var sum float64
		for w, v := range c.ok {
			sum += v * o.length(w).Seconds()
		}
		if got := int(sum + 0.5); got != n {
			t.Errorf("%d bins: %d requests", n, got)
		}
		if rate := slices.Max(c.ok); rate > 1.001 || slices.Min(c.ok) < 0.999 {
			t.Errorf("%d bins: a request a second is drawn as %v", n, c.ok)
		}
	}
}

// TestHerdsAreSeen: 200 connects at once that are over in a moment have a line, those that the mean shows have none.
func TestHerdsAreSeen(t *testing.T) {
	for mean, want := range map[float64]bool{1: true, 100: false} {
		r := reporttest.Result("herd", "", reporttest.Lab[1:2], 1)
		s := &r.Cells[0].Curves.Levels
		size, connecting := slices.Index(s.Names, "size"), slices.Index(s.Names, "connecting")
		for i := range s.Max[size] {
			s.Mean[size][i], s.Max[size][i] = 200, 200
			s.Mean[connecting][i], s.Max[connecting][i] = 0, 0
		}
		s.Mean[connecting][20], s.Max[connecting][20] = mean*2, 200 // a step has two bins
		if d := levelsOverTime(t, r, 0); d.has("most connecting") != want || d.has("connecting") == false {
			t.Errorf("a mean of %v: want a line %v", mean, want)
		}
	}
}
