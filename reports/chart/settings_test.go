package chart

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

// named makes a result whose settings have names.
func named(replications int, names ...string) *record.Result {
	var rows []reporttest.Row
	for i, name := range names {
		row := reporttest.Lab[i%len(reporttest.Lab)]
		row.Settings = reporttest.Set("variant", name)
		rows = append(rows, row)
	}
	return reporttest.Result("variants", "", rows, replications)
}

func settings(t *testing.T, r *record.Result) drawing {
	t.Helper()
	svg, err := Settings(r, "svg")
	if err != nil {
		t.Fatal(err)
	}
	return read(t, svg)
}

// TestSettings: a row for each name, in order, with its figures, and lines at the limits of the checks.
func TestSettings(t *testing.T) {
	r := reporttest.Check(named(1, "two", "four", "eight", "sixteen", "twenty", "forty"), "p(99)<250ms", "failed_rate<1%", "throughput>300/s", "p(99){wait}<1ms")
	d := settings(t, r)
	for _, want := range []string{"variants: throughput, latency and failures by variant", "Throughput", "Latency", "Failed", "618/s", "62 %", "0 %", "p50",
		"p(99)<250ms", "failed_rate<1%", "throughput>300/s"} {
		if !d.has(want) {
			t.Errorf("no text %q in %v", want, d.texts)
		}
	}
	names := []string{"two", "four", "eight", "sixteen", "twenty", "forty"}
	for i := 1; i < len(names); i++ {
		if d.where(names[i]).y >= d.where(names[i-1]).y {
			t.Errorf("%s is not below %s", names[i], names[i-1])
		}
	}
	if n := d.count("stroke-dasharray:1,1.8"); n != 3 {
		t.Errorf("%d limits, want 3", n)
	}
	if red := d.filled("D55E00"); red != 1 {
		t.Errorf("%d bars of failures, want that of forty", red)
	}
	if n := d.filled("0072B2"); n < 6 {
		t.Errorf("%d bars of throughput", n)
	}
	if r := settings(t, named(5, "two", "four")); r.count("stroke-width:2.2") == 0 {
		t.Error("the intervals of replications are not drawn")
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("number %d of many", i))
	}
	if d := settings(t, named(1, many...)); !d.says("64 of 100 settings are left out") ||
		!d.has(many[0]) || !d.has(many[99]) {
		t.Errorf("texts %v", d.texts)
	}
}

// TestSettingsShowTheLongest: where there are too few requests for a p99, or the maximum is far above it, the maximum has a mark; how
// long failing took has marks of its own. The legend has what is drawn.
func TestSettingsShowTheLongest(t *testing.T) {
	row := func(name string, ok, failed int64) reporttest.Row {
		r := reporttest.Row{Settings: reporttest.Set("variant", name), Took: time.Second, OK: ok, Failed: failed, P50: 10 * time.Millisecond, P99: 20 * time.Millisecond}
		if failed > 0 {
			r.How = record.AcquireTimeout
		}
		return r
	}
	result := func(rows ...reporttest.Row) *record.Result { return reporttest.Result("longest", "", rows, 1) }
	far := result(row("a", 400, 0), row("b", 400, 0))
	far.Cells[0].Latency.Max = record.Exact(70 * time.Millisecond)
	for name, c := range map[string]struct {
		r    *record.Result
		want []string // of the legend, after p50
	}{
		"enough": {result(row("a", 400, 0), row("b", 400, 0)), []string{"p95", "p99"}},
		"few":    {result(row("a", 8, 0), row("b", 8, 1)), []string{"max", "failed after, max"}},
		"some":   {result(row("a", 30, 0), row("b", 400, 2)), []string{"p95", "p99", "max", "failed after, p50", "failed after, max"}},
		"far":    {far, []string{"p95", "p99", "max"}},
	} {
		d := settings(t, c.r)
		for _, entry := range []string{"p95", "p99", "max", "failed after, p50", "failed after, max"} {
			if want := slices.Contains(c.want, entry); d.has(entry) != want {
				t.Errorf("%s: legend has %q: %v, want %v", name, entry, !want, want)
			}
		}
	}
	// However many entries, the legend is one row, above the heads of the columns.
	wide := result(row("a name that is as wide as there is room for, or more", 30, 2), row("b", 400, 2))
	if d := settings(t, wide); d.where("p50").y != d.where("failed after, max").y || d.where("failed after, max").y <= d.where("Latency").y {
		t.Errorf("legend: %v, %v, head %v", d.where("p50"), d.where("failed after, max"), d.where("Latency"))
	}
	// 20 ms and 70 ms on one scale from 0: the mark is where it must be.
	d := settings(t, far)
	twenty := d.where("20 ms").x + float64(labelInk.width("20 ms"))/2
	var ticks []float64
	for _, p := range d.paths {
		if p.style == "fill:none;stroke:#000000;stroke-width:1.8" {
			ticks = append(ticks, p.x[0])
		}
	}
	forty := d.where("40 ms").x + float64(labelInk.width("40 ms"))/2
	if want := twenty + 2.5*(forty-twenty); len(ticks) != 2 || ticks[1] < want-1 || ticks[1] > want+1 {
		t.Errorf("the maxima are marked at %v, want one in the legend and one at %v", ticks, want)
	}
}

// TestSettingsOfServices: each service of a few has a row below that of all, and one with several instances has one.
func TestSettingsOfServices(t *testing.T) {
	r := services()
	c := &r.Cells[0]
	c.Services[0].Instances = 2
	d := settings(t, r)
	for _, want := range []string{"fleet: throughput, latency and failures by service", "all services", "jobs", "payments"} {
		if !d.has(want) {
			t.Errorf("no text %q in %v", want, d.texts)
		}
	}
	// Percentiles of unlike requests together are drawn only if a check is about them.
	dots := func(d drawing) int { return d.filled("56B4E9") }
	if all, one := dots(settings(t, reporttest.Check(r, "p(99)<1s"))), dots(d); all != one+1 {
		t.Errorf("%d light blue areas, with the total %d, want one more", one, all)
	}
	// A check of a service is drawn in its row only.
	r.Checks = nil
	d = settings(t, reporttest.Check(r, "p(99){service=payments}<20ms", "p(99){service=nobody}<20ms", "failed{service=jobs}==0"))
	if n := d.count("stroke-dasharray:1,1.8"); n != 1 || !d.has("Latency is that of served requests; hollow where some failed. Dotted: the limits of a service's checks.") {
		t.Errorf("%d limits, want that of payments; texts %v", n, d.texts)
	}
	r.Checks = nil
	all, err := All(r, "svg")
	if err != nil {
		t.Fatal(err)
	}
	if got := names(all); !slices.Contains(got, "services.svg") {
		t.Errorf("charts %v", got)
	}
	if got, err := All(named(1, "a", "b"), "svg"); err != nil || !slices.Contains(names(got), "settings.svg") {
		t.Errorf("charts %v", names(got))
	}
	if _, err := Settings(reporttest.Fleet(3, 1), "svg"); err == nil {
		t.Error("one setting and one service are put beside nothing")
	}
}
