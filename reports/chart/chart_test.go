package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

const about = "Throughput and latency against pool size, one 4-core server that allows 20 connections."

func lab(replications int) *record.Result {
	return reporttest.Result("sizing-knee", about, reporttest.Lab, replications)
}

// drawing is what an SVG shows.
type drawing struct {
	texts []text
	paths []path
}

type text struct {
	s    string
	x, y float64
}

type path struct {
	style string
	x     []float64 // of its points
}

var numbers = regexp.MustCompile(`-?[0-9][0-9.e+-]*`)

// read takes an SVG apart; everything must lie on the sheet.
func read(t interface{ Fatalf(string, ...any) }, svg []byte) drawing {
	var d drawing
	high := float64(height)
	number := func(s string, most float64) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || !(v >= -1 && v <= most+1) {
			t.Fatalf("%q is not on the sheet", s)
		}
		return v
	}
	for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return d
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attr := map[string]string{}
		for _, a := range e.Attr {
			attr[a.Name.Local] = a.Value
		}
		switch e.Name.Local {
		case "svg":
			high, _ = strconv.ParseFloat(strings.TrimSuffix(attr["height"], "pt"), 64)
		case "text":
			var s string
			if err := dec.DecodeElement(&s, &e); err != nil {
				t.Fatalf("%v", err)
			}
			d.texts = append(d.texts, text{s, number(attr["x"], width), number(strings.TrimPrefix(attr["y"], "-"), high)})
		case "path":
			if strings.ContainsAny(attr["d"], "NIn") { // NaN, Inf
				t.Fatalf("path %s", attr["d"])
			}
			p := path{style: attr["style"]}
			for _, point := range strings.FieldsFunc(attr["d"], func(r rune) bool { return strings.ContainsRune("MLZ", r) }) {
				xy := numbers.FindAllString(point, -1)
				p.x = append(p.x, number(xy[0], width))
				number(xy[1], high)
			}
			d.paths = append(d.paths, p)
		}
	}
}

func (d drawing) has(s string) bool {
	return slices.ContainsFunc(d.texts, func(t text) bool { return t.s == s })
}

// says reports whether some text contains another.
func (d drawing) says(s string) bool {
	return slices.ContainsFunc(d.texts, func(t text) bool { return strings.Contains(t.s, s) })
}

// where returns the place of a text.
func (d drawing) where(s string) text {
	return d.texts[slices.IndexFunc(d.texts, func(t text) bool { return t.s == s })]
}

// count returns how many paths have a style.
func (d drawing) count(style string) (n int) {
	for _, p := range d.paths {
		if strings.Contains(p.style, style) {
			n++
		}
	}
	return n
}

// dots returns how many circles there are of a radius and a colour.
func dots(svg []byte, radius, colour string) int {
	return len(regexp.MustCompile(`A`+regexp.QuoteMeta(radius)+`,[^"]*" style="fill:#`+colour+`"`).FindAll(svg, -1))
}

func sizingCurve(t *testing.T, r *record.Result) []byte {
	svg, err := SizingCurve(r, "pool.max", "svg")
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

func TestSizingCurveOfTheLab(t *testing.T) {
	svg := sizingCurve(t, lab(1))
	d := read(t, svg)
	for _, want := range []string{
		"sizing-knee: throughput and latency against pool.max", about, "pool.max", "2", "4", "8", "16", "20", "40",
		"Throughput, requests served per second", "Latency of served requests", "Share of failed requests", "p50", "p95", "p99",
		"600/s", "300 ms", "100 %", "too small", "flat", "past the server's limit", "62 %", "38 % ok",
	} {
		if !d.has(want) {
			t.Errorf("no text %q", want)
		}
	}
	// Six points of throughput and six of p95, both blue, and six of p50.
	for colour, want := range map[string]int{"0072B2": 12, "56B4E9": 6} {
		if n := dots(svg, "3", colour); n != want {
			t.Errorf("%d dots of colour %s, want %d", n, colour, want)
		}
	}
	if n := dots(svg, "1.8", "FFFFFF"); n != 4+1 {
		t.Errorf("%d hollow dots, want those of the 4 lines at 40 and the legend's", n)
	}
	if n := d.count("stroke-dasharray"); n != 4 {
		t.Errorf("%d dashed lines, want those of the 4 lines from 20 to 40", n)
	}
	if n := d.count("stroke-width:0.8"); n != 0 {
		t.Errorf("%d pieces of error bars without replications", n)
	}
	// The regions meet between the settings that they are about.
	edge := func(style string) (from, to float64) {
		for _, p := range d.paths {
			if strings.Contains(p.style, style) {
				return slices.Min(p.x), slices.Max(p.x)
			}
		}
		t.Fatalf("nothing is filled with %s", style)
		return 0, 0
	}
	_, small := edge("ECEFF3")
	flat, limit := edge("E0F1EA")
	past, _ := edge("FBE8DD")
	bar, _ := edge("D55E00")
	if x2, x4, x20, x40 := d.where("2").x, d.where("4").x, d.where("20").x, d.where("40").x; small != flat || limit != past || bar != past ||
		small < x2 || small > x4 || limit < x20 || limit > x40 {
		t.Errorf("edges %v=%v and %v=%v=%v; settings at %v, %v, %v, %v", small, flat, limit, past, bar, x2, x4, x20, x40)
	}
}

func TestSizingCurveWithoutFailures(t *testing.T) {
	d := read(t, sizingCurve(t, reporttest.Result("clean", "", reporttest.Lab[:5], 1)))
	if !d.has("No request failed.") || d.has("Share of failed requests") || d.count("stroke-dasharray") > 0 || d.count("#D55E00") > 0 {
		t.Error("failures are drawn where there are none")
	}
}

func TestSizingCurveOfFailuresOnly(t *testing.T) {
	rows := slices.Clone(reporttest.Lab)
	for i := range rows {
		rows[i].OK, rows[i].Failed, rows[i].How, rows[i].Refused = 0, 400, record.ConnectRefused, 400
	}
	svg := sizingCurve(t, reporttest.Result("down", "", rows, 1))
	d := read(t, svg)
	if !d.has("the server refuses") || !d.has("100 %") || !d.has("0 % ok") || d.has("flat") {
		t.Errorf("texts %v", d.texts)
	}
	if !d.has("no request was served") || d.has("p50") || d.has("some requests failed") {
		t.Errorf("the legend has what is not drawn: %v", d.texts)
	}
	if n := dots(svg, "3", "56B4E9"); n != 0 {
		t.Errorf("%d latencies of nothing", n)
	}
}

// An interval has an error bar of three pieces, unless its mark hides it.
func TestSizingCurveIntervals(t *testing.T) {
	r := lab(5)
	if n := read(t, sizingCurve(t, r)).count("stroke-width:0.8"); n != 0 {
		t.Errorf("%d pieces of error bars that cannot be seen", n)
	}
	for _, i := range []int{1, 4} {
		f := &r.Cells[i].Throughput
		f.Lo, f.Hi, f.Interval = f.Value/2, f.Value*1.2, true
	}
	if n := read(t, sizingCurve(t, r)).count("stroke-width:0.8"); n != 2*3 {
		t.Errorf("%d pieces of error bars, want those of two intervals", n)
	}
}

// TestSizingCurveOfArrivals: where requests arrive on their own, what arrives is drawn beside what is served, and nothing is called flat;
// less throughput under less load is no shortcoming.
func TestSizingCurveOfArrivals(t *testing.T) {
	open := func(key string, unit string) *record.Result {
		var rows []reporttest.Row
		for i, n := range []int64{100, 200, 300, 300} {
			row := reporttest.Row{Settings: reporttest.Set(key, fmt.Sprint((i+1)*10, unit)), Took: time.Second, OK: n, P50: 1, P99: 2}
			rows = append(rows, row)
		}
		for i := range rows[2:] {
			rows[2+i].OK, rows[2+i].Failed, rows[2+i].How = 250, 50, record.AcquireTimeout
		}
		r := reporttest.Result("open", "", rows, 1)
		for i, n := range []float64{100, 200, 900, 900} {
			r.Cells[i].Arrivals = record.ExactFloat(n)
		}
		return r
	}
	for _, c := range []struct {
		key, unit string
		want      []string
	}{
		{"workload.arrivals.poisson", "/s", []string{"no request fails", "requests fail"}},
		{"pool.max", "", []string{"too small", "no request fails", "requests fail"}},
	} {
		svg, err := SizingCurve(open(c.key, c.unit), c.key, "svg")
		if err != nil {
			t.Fatal(err)
		}
		d := read(t, svg)
		for _, want := range append(c.want, "Requests per second", "served", "arriving", "1000/s") {
			if !d.has(want) {
				t.Errorf("%s: no text %q in %v", c.key, want, d.texts)
			}
		}
		if d.has("flat") || d.has("less throughput") {
			t.Errorf("%s: texts %v", c.key, d.texts)
		}
	}
}

// TestSizingCurveOfFewPoints: two or three settings have no regions.
func TestSizingCurveOfFewPoints(t *testing.T) {
	for n, want := range map[int]bool{2: false, 3: false, 4: true} {
		if got := read(t, sizingCurve(t, reporttest.Result("few", "", reporttest.Lab[:n], 1))).has("flat"); got != want {
			t.Errorf("%d points: regions %v, want %v", n, got, want)
		}
	}
}

// ofServices makes a result whose cells have two services each, which are unlike.
func ofServices(sizes ...int) *record.Result {
	r := reporttest.Empty("mixed", "")
	for _, n := range sizes {
		c := services().Cells[0]
		c.Settings = reporttest.Set("pool.max", n)
		r.Cells = append(r.Cells, c)
	}
	return r
}

// TestSizingCurveOfServices: each service has a line of its own; all requests together have one if a check is about them.
func TestSizingCurveOfServices(t *testing.T) {
	r := ofServices(2, 4)
	r.Cells[1].Services[0].Latency.P99 = record.Duration{} // too few samples
	d := read(t, sizingCurve(t, r))
	if !d.has("Latency of served requests, p95") || !d.has("jobs") || !d.has("payments") || d.has("all") {
		t.Errorf("texts %v", d.texts)
	}
	if d := read(t, sizingCurve(t, reporttest.Check(r, "p(95)<1s"))); !d.has("all") {
		t.Errorf("texts %v", d.texts)
	}
}

// grid varies two settings.
func grid(cores int) *record.Result {
	var rows []reporttest.Row
	for c := range cores {
		for _, row := range reporttest.Lab {
			row.Settings = append(reporttest.Set("server.cores", c+1), row.Settings...)
			rows = append(rows, row)
		}
	}
	return reporttest.Result("grid", "", rows, 1)
}

func TestSizingCurveOfSeveralSettings(t *testing.T) {
	svg := sizingCurve(t, grid(3))
	d := read(t, svg)
	if !d.has("server.cores") || d.where("3").x-d.where("1").x > 100 || !d.has("Latency of served requests, p99") || d.has("flat") {
		t.Errorf("texts %v", d.texts)
	}
	if n := dots(svg, "2.9", "E69F00"); n != 18 { // between those below, 3.2, and those above, 2.6
		t.Errorf("%d dots of the second line, want 6 each of throughput, p99 and the share of failures", n)
	}
	if d := read(t, sizingCurve(t, grid(12))); !d.says("8 of 12 lines are shown, evenly chosen. With") || !d.has("12") {
		t.Errorf("texts %v", d.texts)
	}
}

// However many settings there are, no two labels of the axis overlap, and the first and the last are there.
func TestAxisLabelsDoNotOverlap(t *testing.T) {
	for _, n := range []int{2, 7, 120} {
		var rows []reporttest.Row
		for i := range n {
			row := reporttest.Row{Settings: reporttest.Set("pool.max", (i+1)*100), Took: time.Second, OK: 10, P50: 1, P99: 2}
			rows = append(rows, row)
		}
		d := read(t, sizingCurve(t, reporttest.Result("many", "", rows, 1)))
		y := d.where("100").y
		row := slices.DeleteFunc(slices.Clone(d.texts), func(t text) bool { return t.y != y })
		slices.SortFunc(row, func(a, b text) int { return int(a.x - b.x) })
		if last := row[len(row)-1].s; last != strconv.Itoa(100*n) {
			t.Errorf("%d settings: the last label is %s", n, last)
		}
		for i := 1; i < len(row); i++ {
			if end := row[i-1].x + float64(labelInk.width(row[i-1].s)); end > row[i].x {
				t.Errorf("%d settings: %s ends at %v, %s begins at %v", n, row[i-1].s, end, row[i].s, row[i].x)
			}
		}
	}
}

func TestPercentileCurve(t *testing.T) {
	svg, err := PercentileCurve(lab(1), "svg")
	if err != nil {
		t.Fatal(err)
	}
	d := read(t, svg)
	for _, want := range []string{"sizing-knee: latency by percentile", "percentile", "0 %", "50 %", "90 %", "99 %", "300 ms", "pool.max", "2", "40 (38 % ok)"} {
		if !d.has(want) {
			t.Errorf("no text %q", want)
		}
	}
	if d.has("99.9 %") {
		t.Error("99.9 % of 400 requests")
	}
	if zero, ninety, more := d.where("0 %").x, d.where("90 %").x, d.where("99 %").x; more-ninety < 0.9*(ninety-zero) || more-ninety > 1.1*(ninety-zero) {
		t.Errorf("0, 90 and 99 %% are at %v, %v, %v: a nine is not as wide as another", zero, ninety, more)
	}
	if n := d.count("stroke-dasharray"); n != 2 {
		t.Errorf("%d dashed lines, want that of 40 and its legend", n)
	}
}

// TestPercentilesThatCoincide: lines that cannot be told apart are one, those of another share served are not, and of many that can
// be some are shown.
func TestPercentilesThatCoincide(t *testing.T) {
	curve := func(r *record.Result) drawing {
		svg, err := PercentileCurve(r, "svg")
		if err != nil {
			t.Fatal(err)
		}
		return read(t, svg)
	}
	same := reporttest.Lab[1]
	other, failing := same, same
	other.Settings, failing.Settings = reporttest.Set("pool.max", 5), reporttest.Set("pool.max", 6)
	failing.Failed, failing.How = 400, record.AcquireTimeout
	d := curve(reporttest.Result("same", "", []reporttest.Row{same, other, failing}, 1))
	if !d.has("4; 5") || !d.has("6 (50 % ok)") || !d.has("Curves that cannot be told apart are drawn as one.") {
		t.Errorf("texts %v", d.texts)
	}
	var rows []reporttest.Row
	for i := range 24 {
		rows = append(rows, reporttest.Row{Settings: reporttest.Set("pool.max", i+1), Took: time.Second, OK: 400,
			P50: time.Duration(24-i) * 10 * time.Millisecond, P99: time.Duration(24-i) * 20 * time.Millisecond})
	}
	if d := curve(reporttest.Result("many", "", rows, 1)); !d.has("8 of 24 curves are shown, evenly chosen.") || !d.has("1") || !d.has("24") || d.has("2") {
		t.Errorf("texts %v", d.texts)
	}
}

// TestPercentilesOfServices: each service of each setting has a line; those of all requests have one if a check is about them. Where
// there are too many, all services of some settings are shown.
func TestPercentilesOfServices(t *testing.T) {
	curve := func(r *record.Result) drawing {
		svg, err := PercentileCurve(r, "svg")
		if err != nil {
			t.Fatal(err)
		}
		return read(t, svg)
	}
	several := func(n int) *record.Result {
		var sizes []int
		for i := range n {
			sizes = append(sizes, i+1)
		}
		r := ofServices(sizes...)
		for i := range r.Cells {
			c := &r.Cells[i]
			c.Pools, c.Services = slices.Clone(c.Pools), slices.Clone(c.Services)
			for j, p := range []*record.PoolCell{&c.Pools[0], &c.Services[0]} {
				h := new(record.Histogram)
				for k := range 1000 {
					h.Record(time.Duration(1+3*i+40*j) * time.Duration(100+k) * time.Microsecond)
				}
				p.Curves.Latency = h
			}
			c.Services[0].Requests.Failed = 0
		}
		return r
	}
	d := curve(several(2))
	for _, want := range []string{"service, pool.max", "jobs, 1", "payments, 1", "jobs, 2", "payments, 2"} {
		if !d.has(want) {
			t.Errorf("no text %q in %v", want, d.texts)
		}
	}
	if d.has("1") || d.has("all, 1 (67 % ok)") {
		t.Errorf("requests of all services have a line: %v", d.texts)
	}
	if d := curve(reporttest.Check(several(2), "p(99)<1s")); !d.has("all, 1; all, 2 (67 % ok)") {
		t.Errorf("texts %v", d.texts)
	}
	if d := curve(several(12)); !d.has("4 of 12 settings are shown, evenly chosen.") || !d.has("jobs, 12") || !d.has("payments, 12") || d.has("jobs, 2") {
		t.Errorf("texts %v", d.texts)
	}
}

// TestRegionsByChecks: where there are checks, it is they that say which settings do, and one that is missed is named.
func TestRegionsByChecks(t *testing.T) {
	d := read(t, sizingCurve(t, reporttest.Check(lab(1), "p(99)<250ms")))
	if !d.says("misses p(99)<250ms") || d.has("flat") || d.has("no request fails") {
		t.Errorf("texts %v", d.texts)
	}
	d = read(t, sizingCurve(t, reporttest.Check(lab(1), "p(99)<1h")))
	if !d.has("all checks pass") || d.says("misses") || d.filled("FBE8DD") != 0 {
		t.Errorf("texts %v", d.texts)
	}
	// The wait that a check is about is drawn, and its limit.
	for _, r := range []*record.Result{ofServices(1, 2, 4, 8), lab(1)} {
		r = reporttest.Check(r, "p(99){wait}<1s")
		for i := range r.Cells {
			r.Cells[i].Wait.P99 = record.Duration{Value: time.Second, Known: true}
		}
		if d = read(t, sizingCurve(t, r)); d.has("wait") == d.has("wait p99") || d.has("all") || !d.has("p(99){wait}<1s") {
			t.Errorf("the wait is not drawn: %v", d.texts)
		}
	}
}

// TestLimitsAreDrawn: a check has a dotted line at its limit, on the panel of its figure, once however many settings there are.
func TestLimitsAreDrawn(t *testing.T) {
	r := reporttest.Check(lab(1), "p(99)<250ms", "p(95)<1h", "throughput>300/s", "failed_rate<1%", "p(99){wait}<10ms", "leaked<=0", "p(90)<20ms")
	d := read(t, sizingCurve(t, r))
	lines := func(d drawing) int { return d.count("stroke-dasharray:1,1.8") }
	if n := lines(d); n != 4 {
		t.Errorf("%d limits, want those of p99, of the wait, throughput and failures", n)
	}
	for _, s := range []string{"p(99)<250ms", "p(99){wait}<10ms", "p(95)<1h is above", "throughput>300/s", "failed_rate<1%"} {
		if !d.has(s) {
			t.Errorf("no text %q in %v", s, d.texts)
		}
	}
	if d.has("p(90)<20ms") || d.has("leaked<=0") {
		t.Error("limits are drawn of what is not")
	}
	// 250 ms is half-way between 200 ms and 300 ms on this linear axis.
	d = read(t, sizingCurve(t, reporttest.Check(lab(1), "p(99)<250ms")))
	low, high, at := d.where("200 ms").y, d.where("300 ms").y, d.where("p(99)<250ms").y
	if at < low || at > high {
		t.Errorf("the limit of 250 ms is at %v, 200 ms at %v, 300 ms at %v", at, low, high)
	}
	svg, err := PercentileCurve(r, "svg")
	if err != nil {
		t.Fatal(err)
	}
	d = read(t, svg)
	if n := lines(d); n != 2 {
		t.Errorf("%d limits, want those of p99 and p90", n)
	}
	for _, p := range d.paths {
		if strings.Contains(p.style, "stroke-dasharray:1,1.8") {
			if end := slices.Max(p.x); end > d.where("99 %").x+20 || end < d.where("90 %").x {
				t.Errorf("a limit ends at %v, 99 %% is at %v", end, d.where("99 %").x)
			}
		}
	}
	if svg, err = WaitCurve(r, "svg"); err != nil {
		t.Fatal(err)
	}
	d = read(t, svg)
	if n := lines(d); n != 1 || !d.has("p(99){wait}<10ms") || !d.has("sizing-knee: wait for a connection by percentile") {
		t.Errorf("%d limits of waits; texts %v", n, d.texts)
	}
	for i := range r.Checks {
		r.Checks[i].Status = record.Off
	}
	if lines(read(t, sizingCurve(t, r))) != 0 {
		t.Error("checks that are off are drawn")
	}
}

func names(all []Named) []string {
	var names []string
	for _, n := range all {
		names = append(names, n.Name)
	}
	return names
}

func TestAll(t *testing.T) {
	levels := func(format string, n int) []string {
		var names []string
		for _, max := range []int{2, 4, 8, 16, 20, 40}[:n] {
			names = append(names, fmt.Sprintf("levels-pool.max-%d.%s", max, format))
		}
		return names
	}
	for name, c := range map[string]struct {
		r    *record.Result
		want []string
	}{
		"lab":         {lab(1), append([]string{"sizing-curve.svg", "percentiles.svg", "percentiles-wait.svg"}, levels("svg", 6)...)},
		"one cell":    {reporttest.Result("one", "", reporttest.Lab[:1], 1), append([]string{"percentiles.svg", "percentiles-wait.svg"}, levels("svg", 1)...)},
		"fleet":       {reporttest.Fleet(3, 1), []string{"percentiles.svg", "percentiles-wait.svg", "levels.svg"}},
		"one request": {reporttest.Result("one", "", []reporttest.Row{{Took: time.Second, OK: 1, P50: time.Second, P99: time.Second, Size: 1}}, 1), []string{"levels.svg"}},
		"no cells":    {reporttest.Empty("nothing", ""), nil},
		"from JSON":   {&record.Result{Cells: []record.Cell{{}}}, nil},
	} {
		all, err := All(c.r, "svg")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, names(all)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	all, err := All(grid(2), "svg")
	if err != nil {
		t.Fatal(err)
	}
	if got := names(all); got[0] != "sizing-curve-server.cores.svg" || got[1] != "sizing-curve-pool.max.svg" || len(got) != 4+mostLevels {
		t.Errorf("several settings: %v", got)
	}
	left := fmt.Sprintf("For room, %d of %d settings are left out", len(grid(2).Cells)-mostLevels, len(grid(2).Cells))
	if len(grid(2).Cells) > mostLevels != read(t, all[len(all)-1].Bytes).says(left) {
		t.Errorf("nothing says that %q", left)
	}
}

// TestNamesOfFiles: they have no needless dashes, and no two are the same, not even where capitals count as small letters.
func TestNamesOfFiles(t *testing.T) {
	all, err := All(named(1, "2 + 18", "2-18", "A, and (b)", "a and b", "- 4 -"), "svg")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"levels-variant-2-18.svg", "levels-variant-2-18-2.svg", "levels-variant-A-and-b.svg", "levels-variant-a-and-b-2.svg", "levels-variant-4.svg"}
	if diff := cmp.Diff(want, names(all)[len(all)-len(want):]); diff != "" {
		t.Error(diff)
	}
}

// PNGs are pictures of the size that is promised.
func TestPNG(t *testing.T) {
	b, err := SizingCurve(lab(1), "pool.max", "png")
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != 900 || size.Y != 600 {
		t.Errorf("size %v", size)
	}
}

func TestDeterminism(t *testing.T) {
	for _, format := range []string{"svg", "png"} {
		first, err := All(lab(3), format)
		if err != nil {
			t.Fatal(err)
		}
		second, err := All(lab(3), format)
		if err != nil {
			t.Fatal(err)
		}
		for i := range first {
			if !bytes.Equal(first[i].Bytes, second[i].Bytes) {
				t.Errorf("two drawings of %s differ", first[i].Name)
			}
		}
	}
}

func TestMistakes(t *testing.T) {
	r := lab(1)
	empty := &record.Result{Cells: []record.Cell{{}}}
	for want, err := range map[string]error{
		`chart: want svg or png, have format "pdf"`:                                                          second(PercentileCurve(r, "pdf")),
		`sizing curve: want a setting that is swept over numbers, have "pool.min"`:                           second(SizingCurve(r, "pool.min", "svg")),
		"percentiles: the result has fewer than two latencies; one that was read from JSON has figures only": second(PercentileCurve(empty, "svg")),
		"waits: the result has fewer than two; one that was read from JSON has figures only":                 second(WaitCurve(empty, "svg")),
		"levels: there is no such cell":                                                                      second(LevelsOverTime(r, 6, "svg")),
		"levels: the result has no levels over time; one that was read from JSON has figures only":           second(LevelsOverTime(empty, 0, "svg")),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := All(r, "pdf"); err == nil || !strings.Contains(err.Error(), "sizing-curve: chart: want svg or png") {
		t.Errorf("error %v", err)
	}
}

func second(_ []byte, err error) error { return err }

// TestNamesOfLimitsKeepOff: the name of a limit is not written over a figure.
func TestNamesOfLimitsKeepOff(t *testing.T) {
	d := read(t, sizingCurve(t, reporttest.Check(lab(1), "failed_rate<0.1%")))
	name := d.where("failed_rate<0.1%")
	right, left := name.x+float64(limitInk.width(name.s)), name.x
	for _, x := range d.texts {
		if x.s != name.s && x.y > name.y-8 && x.y < name.y+8 && x.x < right && x.x+float64(noteInk.width(x.s)) > left {
			t.Errorf("%v is written over %v", name, x)
		}
	}
}

// Any result has charts, with everything on the sheet, and names that are names of files.
func TestAnyResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all, err := All(reporttest.Any().Draw(t, "result"), "svg")
		if err != nil {
			t.Fatal(err)
		}
		got := names(all)
		for i, n := range all {
			read(t, n.Bytes)
			if strings.ContainsAny(n.Name, "/\\:*?\"<>|\x1b \n") || slices.Index(got, n.Name) != i {
				t.Fatalf("file name %q", n.Name)
			}
		}
	})
}

// Labels keep their order and their distance, and stay where they are if they can.
func TestLabelsAreMovedApart(t *testing.T) {
	for _, c := range []struct{ in, want []vg.Length }{
		{nil, nil},
		{[]vg.Length{50, 90, 20}, []vg.Length{50, 90, 20}},
		{[]vg.Length{50, 50, 50, 90}, []vg.Length{50, 40, 30, 90}},
		{[]vg.Length{12, 11, 13}, []vg.Length{20, 10, 30}},
	} {
		if got := apart(c.in, 10, 10); !slices.Equal(got, c.want) {
			t.Errorf("%v is moved to %v, want %v", c.in, got, c.want)
		}
	}
}

func TestSomeAreEvenlyChosen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, most := rapid.IntRange(0, 1000).Draw(t, "n"), rapid.IntRange(2, 20).Draw(t, "most")
		got := some(n, most)
		if len(got) != min(n, most) {
			t.Fatalf("%d of %d", len(got), n)
		}
		for i := 1; i < len(got); i++ {
			if gap := got[i] - got[i-1]; gap < 1 || gap > n/(len(got)-1)+1 {
				t.Fatalf("some %v", got)
			}
		}
		if n > 0 && (got[0] != 0 || got[len(got)-1] != n-1) {
			t.Fatalf("some %v of %d", got, n)
		}
	})
}

// trim takes the error of the last bits from v.
func trim(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 9, 64), 64)
	return v
}

// A scale puts values in their order, and its ticks on round values that it has room for.
func TestScales(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e15), 1, 20).Draw(t, "values")
		s := upTo(values, 30, 0.1)
		s.to = 100
		slices.Sort(values)
		for i := 1; i < len(values); i++ {
			if s.at(values[i]) < s.at(values[i-1]) {
				t.Fatalf("%v is below %v", values[i], values[i-1])
			}
		}
		if top := s.position(values[len(values)-1]); top > 0.99 {
			t.Fatalf("no room above the greatest: %v", top)
		}
		ticks := s.round()
		if len(ticks) > 24 {
			t.Fatalf("%d ticks", len(ticks))
		}
		round := func(v float64) bool {
			return slices.Contains([]string{"1", "2", "5"}, strconv.FormatFloat(v, 'e', -1, 64)[:1])
		}
		for i, v := range ticks {
			switch {
			case v < s.lo || v > s.hi:
				t.Fatalf("tick %v from %v to %v", v, s.lo, s.hi)
			case s.log && !round(trim(v)), !s.log && i > 0 && !round(trim(v-ticks[i-1])):
				t.Fatalf("ticks %v", ticks)
			}
		}
	})
}
