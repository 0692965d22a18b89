package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

const about = "Throughput and latency against pool size, one 4-core server that allows 20 connections."

// results are those that testdata shows reports of.
var results = map[string]func() *record.Result{
	"nothing":      func() *record.Result { return reporttest.Empty("nothing", "") },
	"no-requests":  func() *record.Result { return reporttest.Result("idle", "", []reporttest.Row{{}}, 1) },
	"lab":          func() *record.Result { return checkedLab(1) },
	"replications": func() *record.Result { return checkedLab(5) },
	"one-cell": func() *record.Result {
		return reporttest.Check(reporttest.Result("one", about, reporttest.Lab[1:2], 1), "p(99)<200ms", "p(99.9)<1s", "waiting.max<50")
	},
	"too-few-samples": func() *record.Result {
		row := reporttest.Lab[1]
		row.OK = 15
		return reporttest.Result("few", "", []reporttest.Row{row}, 1)
	},
	"all-failed": func() *record.Result {
		row := reporttest.Row{Took: 20 * time.Millisecond, Failed: 12_345, How: record.ConnectRefused, Refused: 12_345}
		return reporttest.Check(reporttest.Result("down", "", []reporttest.Row{row}, 1), "p(99)<200ms", "failed_rate<0.1%")
	},
	"all-cells-failed": func() *record.Result {
		rows := slices.Clone(reporttest.Lab)
		for i := range rows {
			rows[i].Failed, rows[i].How = 10*int64(i+1), record.AcquireTimeout
		}
		return reporttest.Result("hopeless", "", rows, 1)
	},
	"fleet":       func() *record.Result { return reporttest.Fleet(12, 2) },
	"large-fleet": func() *record.Result { return reporttest.Fleet(40, 3) },
	"diagnosed": func() *record.Result {
		r := reporttest.Fleet(3, 1)
		c := &r.Cells[0]
		c.Replications = 5
		c.Diagnoses = []record.Diagnosis{
			{Service: "payments", Kind: record.Deadlocked, Replications: 4, Instances: 2, At: record.Exact(15 * time.Millisecond),
				Text: "10 requests hold all 10 connections: all wait for another connection; the smallest safe pool for 50 requests at once is 51"},
			{Kind: record.Leaking, Replications: 5, Instances: 1, Text: "all 50 slots are lost for ever; none was left after 49s"},
			{Service: "jobs", Kind: record.CanDeadlock, Text: "a request holds 1 while it waits for one more"},
		}
		c.Budget = &record.Budget{Limit: 200, Reserved: 13, Demand: 232, Left: -45, Rows: []record.BudgetRow{
			{Service: "others", Instances: 1, Peak: 1, PerInstance: 40, Demand: 40},
			{Service: "api", Instances: 6, Peak: 8, PerInstance: 24, Demand: 192, Available: 147, Safe: 18, WithoutPeak: 24, NeedsAtPeak: 192, Used: record.ExactFloat(147.5)},
		}}
		return r
	},
	"operated": func() *record.Result { // moved to another server and stopped
		r := reporttest.Result("operated", "", reporttest.Lab[1:2], 1)
		c := &r.Cells[0]
		c.Settings = nil
		c.Servers = []record.ServerCell{
			{Name: "server", ServerStats: record.ServerStats{Opened: 4, Closed: 4, PeakOpen: 4}, Open: record.ExactFloat(0), Emptied: record.Exact(31 * time.Minute)},
			{Name: "standby", ServerStats: record.ServerStats{Opened: 4, PeakOpen: 4}, Open: record.ExactFloat(4)},
		}
		c.Actions = []record.ActionCell{
			{Deed: record.Deed{At: 90 * time.Second, Do: "connect_to", To: "standby", Service: "api"}, Took: record.Exact(29*time.Minute + 30*time.Second)},
			{Deed: record.Deed{At: 2 * time.Minute, Do: "pause", To: "200ms", Service: "api", Instance: 2}},
			{Deed: record.Deed{At: time.Hour, Do: "close", Service: "api"}, Took: record.Exact(10 * time.Second), NotReturned: record.ExactFloat(3)},
		}
		return r
	},
	"grid": func() *record.Result {
		var rows []reporttest.Row
		for _, cores := range []int{4, 8} {
			for _, row := range reporttest.Lab[1:] {
				row.Settings = append(reporttest.Set("server.cores", cores), row.Settings...)
				rows = append(rows, row)
			}
		}
		return reporttest.Result("grid", "", rows, 1)
	},
	"words": func() *record.Result { // settings that are no numbers, and a name that is wide
		rows := slices.Clone(reporttest.Lab[1:3])
		rows[0].Settings, rows[1].Settings = reporttest.Set("pool.model", "sqlx"), reporttest.Set("pool.model", "連接池")
		r := reporttest.Result("größe\n連接", "a|b *c*", rows, 1)
		r.Cells[0].Warnings = []string{"both", "only\x1b[31m here"}
		r.Cells[1].Warnings = []string{"both"}
		return r
	},
	"unfinished": func() *record.Result {
		r := reporttest.Result("steady", "", reporttest.Lab[:3], 1)
		for i := range r.Cells {
			r.Cells[i].Requests.Unfinished = 7
			r.Cells[i].Requests.Total += 7
		}
		r.Cells[0].Leaked = record.ExactFloat(1)
		return r
	},
	"extremes": func() *record.Result {
		rows := []reporttest.Row{
			{Settings: reporttest.Set("pool.max", 1), Took: 90 * time.Minute, OK: 100, P50: time.Nanosecond, P99: 2 * time.Microsecond, Size: 0.001},
			{Settings: reporttest.Set("pool.max", 1_000_000), Took: 400 * 24 * time.Hour, OK: 2000, P50: 3 * time.Hour, P99: 300 * 24 * time.Hour, Size: 1e6, Opened: 20_000, PeakOpen: 1e6},
		}
		return reporttest.Result("extremes", "", rows, 1)
	},
	"overload": func() *record.Result {
		return open(160, 1, reporttest.Row{Took: 10 * time.Second, OK: 990, Failed: 610, How: record.AcquireTimeout, P50: 2 * time.Second, P99: 2100 * time.Millisecond, Size: 10})
	},
	"overload-of-connections": func() *record.Result { // the cores are idle for want of connections
		r := open(160, 2, reporttest.Row{Took: 10 * time.Second, OK: 800, Failed: 800, How: record.AcquireTimeout, P50: time.Second, P99: 2100 * time.Millisecond, Size: 10, Opened: 10, PeakOpen: 10, Refused: 500})
		c := &r.Cells[0]
		c.Offered[0].Load, c.Offered[0].Busy = record.ExactFloat(2.4), record.ExactFloat(0.5)
		c.Offered[1].Each, c.Offered[1].Load, c.Offered[1].Busy = record.Exact(80*time.Millisecond), record.ExactFloat(12.8), record.ExactFloat(1)
		c.Timeouts = record.Timeouts{Held: 600, Opening: 200}
		return r
	},
	"overload-at-peak": func() *record.Result {
		r := open(80, 1, openSizes[2])
		r.Cells[0].Settings, r.Cells[0].Offered[0].Peak = nil, record.ExactFloat(1.6)
		return r
	},
	"open-sizes": func() *record.Result { // 100 a second arrive at each size, of which one of 2 serves half
		return open(100, 4, openSizes...)
	},
	"open-sizes-checked": func() *record.Result {
		return reporttest.Check(open(100, 4, openSizes...), "p(99)<60ms", "failed_rate<0.1%")
	},
	"open-sizes-overloaded": func() *record.Result { // half of what one core can do
		rows := slices.Clone(openSizes[:3])
		for i := range rows {
			rows[i].OK, rows[i].Failed, rows[i].How, rows[i].P50, rows[i].P99 = 500, 500, record.AcquireTimeout, time.Second, time.Second
		}
		return open(200, 1, rows...)
	},
	"open-timeouts": func() *record.Result { // a sweep that is none of sizes
		rows := slices.Clone(openSizes[1:])
		for i := range rows {
			rows[i].Settings = reporttest.Set("pool.acquire_timeout", []string{"1s", "2s", "5s", "10s"}[i])
		}
		return open(100, 4, rows...)
	},
	"load": func() *record.Result {
		r := open(100, 1,
			reporttest.Row{Settings: reporttest.Set("workload.arrivals.poisson", "50/s"), Took: 10 * time.Second, OK: 500, P50: 12 * time.Millisecond, P99: 40 * time.Millisecond, Size: 4},
			reporttest.Row{Settings: reporttest.Set("workload.arrivals.poisson", "80/s"), Took: 10 * time.Second, OK: 800, P50: 15 * time.Millisecond, P99: 90 * time.Millisecond, Size: 4},
			reporttest.Row{Settings: reporttest.Set("workload.arrivals.poisson", "95/s"), Took: 10 * time.Second, OK: 950, P50: 50 * time.Millisecond, P99: 600 * time.Millisecond, Size: 4},
			reporttest.Row{Settings: reporttest.Set("workload.arrivals.poisson", "160/s"), Took: 10 * time.Second, OK: 1000, Failed: 600, How: record.AcquireTimeout, P50: 2 * time.Second, P99: 2 * time.Second, Size: 4})
		for i := range r.Cells[:3] {
			r.Cells[i].Offered = nil
		}
		return r
	},
	"clients": func() *record.Result {
		rows := slices.Clone(reporttest.Lab)
		for i := range rows {
			rows[i].Settings = reporttest.Set("workload.clients", 10*(i+1))
		}
		return reporttest.Result("clients", "", rows, 1)
	},
	"variants": func() *record.Result { // one overloaded, one that does not start
		rows := slices.Clone(openSizes[:3])
		for i := range rows {
			rows[i].Settings = reporttest.Set("variant", []string{"as it is", "one more", "two more"}[i])
		}
		r := open(100, 4, rows...)
		r.Cells[0].Offered[0].Busy, r.Cells[0].Offered[0].Load = record.ExactFloat(1), record.ExactFloat(5)
		r.Cells[1].Offered[1].Busy, r.Cells[1].Offered[1].Load = record.ExactFloat(1), record.ExactFloat(4.1)
		r.Cells[2].Diagnoses = []record.Diagnosis{{Service: "new", Kind: record.NotStarted, Instances: 1, Replications: 1, Text: "could not start"}}
		return r
	},
	"few-fail": func() *record.Result { // 1 of 20,000 at one size, which is chance, and 30 of 20,000 at another
		rows := slices.Clone(reporttest.Lab[1:4])
		for i, failed := range []int64{1, 0, 30} {
			rows[i].OK, rows[i].Failed, rows[i].How = 20_000-failed, failed, record.AcquireTimeout
		}
		return reporttest.Result("few-fail", "", rows, 1)
	},
	"hundred": func() *record.Result {
		var rows []reporttest.Row
		for i := range 100 {
			row := reporttest.Lab[min(i, 4)]
			if i >= 90 {
				row = reporttest.Lab[5]
				row.OK, row.Failed = int64(400-3*i), int64(3*i)
			}
			row.Settings = reporttest.Set("pool.max_connections", i+1)
			rows = append(rows, row)
		}
		return reporttest.Check(reporttest.Result("hundred", "", rows, 1), "failed<=0")
	},
}

// openSizes are sizes of a pool at which 100 requests a second arrive: the first is too small, the second slow, the others alike.
var openSizes = []reporttest.Row{
	{Settings: reporttest.Set("pool.max", 2), Took: 10 * time.Second, OK: 500, Failed: 500, How: record.AcquireTimeout, P50: 2 * time.Second, P99: 2 * time.Second, Size: 2},
	{Settings: reporttest.Set("pool.max", 4), Took: 10 * time.Second, OK: 1000, P50: 40 * time.Millisecond, P99: 90 * time.Millisecond, Size: 4},
	{Settings: reporttest.Set("pool.max", 8), Took: 10 * time.Second, OK: 1000, P50: 20 * time.Millisecond, P99: 50 * time.Millisecond, Size: 8},
	{Settings: reporttest.Set("pool.max", 16), Took: 10 * time.Second, OK: 1000, P50: 20 * time.Millisecond, P99: 49 * time.Millisecond, Size: 16},
	{Settings: reporttest.Set("pool.max", 32), Took: 10 * time.Second, OK: 1000, P50: 20 * time.Millisecond, P99: 52 * time.Millisecond, Size: 32},
}

// open makes the result of an open workload: so many requests a second, each with 10 ms of core time and 30 ms of a connection.
func open(perSecond float64, cores int, rows ...reporttest.Row) *record.Result {
	r := reporttest.Result("open", "", rows, 1)
	for i := range r.Cells {
		c := &r.Cells[i]
		offer := func(of string, each time.Duration, have int, busy float64) {
			c.Offered = append(c.Offered, record.Offered{Of: of, Rate: record.ExactFloat(perSecond), Each: record.Exact(each),
				Load: record.ExactFloat(perSecond * each.Seconds()), Have: have, Busy: record.ExactFloat(busy)})
		}
		c.Arrivals = record.ExactFloat(perSecond)
		offer(record.OfCores, 10*time.Millisecond, cores, min(perSecond/100/float64(cores), 1))
		offer(record.OfConnections, 30*time.Millisecond, int(rows[i].Size), min(perSecond*0.03/rows[i].Size, 1))
		if c.Requests.Failed > 0 {
			c.Timeouts.Held = c.Requests.Failed
		}
	}
	return r
}

var made = map[string]*record.Result{}

// result makes a result, or returns the one made before.
func result(name string) *record.Result {
	if made[name] == nil {
		made[name] = results[name]()
	}
	return made[name]
}

func checkedLab(replications int) *record.Result {
	r := reporttest.Result("sizing-knee", about, reporttest.Lab, replications)
	r.Cells[2].Warnings = append(r.Cells[2].Warnings, "the clients were slower than the arrivals")
	return reporttest.Check(r, "p(99)<200ms", "failed_rate<0.1%")
}

func TestReports(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "compare":
				return compareReport(t, d)
			case "checks":
				return checksReport(t, d)
			}
			var name string
			d.ScanArgs(t, "result", &name)
			o := Options{Colour: d.HasArg("colour")}
			d.MaybeScanArgs(t, "width", &o.Width)
			r := result(name)
			var b bytes.Buffer
			var err error
			switch d.Cmd {
			case "text":
				err = Text(&b, r, o)
			case "markdown":
				err = Markdown(&b, r)
			case "csv":
				err = CSV(&b, r)
			case "json":
				err = JSON(&b, r)
			case "hgrm":
				err = HGRM(&b, &r.Cells[1])
			default:
				d.Fatalf(t, "no such report")
			}
			if err != nil {
				return err.Error()
			}
			return strings.ReplaceAll(b.String(), "\x1b", "^[")
		})
	})
}

// Where it is possible, no line is longer than the width that was asked for.
func TestTextFits(t *testing.T) {
	for name := range results {
		var b bytes.Buffer
		if err := Text(&b, result(name), Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := uniseg.StringWidth(line); n > 100 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: spaces at the end: %q", name, line)
			}
		}
	}
}

// The colours are the only difference that they make.
func TestColourIsDecoration(t *testing.T) {
	escape := regexp.MustCompile("\x1b\\[[0-9]*m")
	for name := range results {
		var without, with bytes.Buffer
		err := errors.Join(Text(&without, result(name), Options{}), Text(&with, result(name), Options{Colour: true}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(without.String(), escape.ReplaceAllString(with.String(), "")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestJSONReadsBack(t *testing.T) {
	for name := range results {
		var b bytes.Buffer
		if err := JSON(&b, result(name)); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(b.String(), "}\n") || !strings.HasPrefix(b.String(), "{\n  \"schema\": ") {
			t.Errorf("%s: not indented by two spaces and ended by a newline", name)
		}
		var again record.Result
		if err := json.Unmarshal(b.Bytes(), &again); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var b2 bytes.Buffer
		if err := JSON(&b2, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.String(), b2.String()); diff != "" {
			t.Errorf("%s: written again after reading:\n%s", name, diff)
		}
	}
}

// Every row has the columns of the head, each named once, and the figures are those of the cell.
func TestCSVColumns(t *testing.T) {
	for _, name := range []string{"lab", "replications", "grid", "nothing"} {
		r := result(name)
		var b bytes.Buffer
		if err := CSV(&b, r); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll() // which refuses rows of another length
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1+len(r.Cells) {
			t.Fatalf("%s: %d rows for %d cells", name, len(rows)-1, len(r.Cells))
		}
		column := map[string]int{}
		for i, head := range rows[0] {
			if _, twice := column[head]; twice {
				t.Errorf("%s: two columns %s", name, head)
			}
			column[head] = i
		}
		for i, c := range r.Cells {
			field := func(name string) string { return rows[i+1][column[name]] }
			number := func(d record.Duration) string { return strconv.FormatInt(int64(d.Value), 10) }
			got := []string{field("pool.max"), field("requests_failed"), field("outcome_too_many_connections"), field("latency_p99_ns"), field("wait_max_ns"), field("makespan_ns")}
			failed := strconv.FormatInt(c.Requests.Failed, 10)
			want := []string{c.Settings[len(c.Settings)-1].Value, failed, failed, number(c.Latency.P99), number(c.Wait.Max), number(c.Makespan)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, cell %d:\n%s", name, i, diff)
			}
			if _, has := column["latency_p99_ns_lo"]; has != (c.Replications > 1) {
				t.Errorf("%s: intervals %v with %d replications", name, has, c.Replications)
			}
		}
	}
}

// Each line of the percentile output is true of the values.
func TestHGRM(t *testing.T) {
	h := new(record.Histogram)
	for i := range 1000 {
		h.Record(time.Duration(i+1) * time.Millisecond)
	}
	var b bytes.Buffer
	if err := HGRM(&b, &record.Cell{Curves: record.Curves{Latency: h}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if head := strings.Fields(lines[0]); !slices.Equal(head, []string{"Value", "Percentile", "TotalCount", "1/(1-Percentile)"}) {
		t.Errorf("head %q", head)
	}
	n := 0
	for _, line := range lines[2:] {
		if strings.HasPrefix(line, "#") {
			continue
		}
		n++
		var value, percentile float64
		var count int64
		if _, err := fmt.Sscan(line, &value, &percentile, &count); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if percentile > float64(count)/1000 {
			t.Errorf("%q: percentile %v with %d of 1000", line, percentile, count)
		}
		if value < float64(count) || value > float64(count)*1.001 {
			t.Errorf("%q: %d values are at most %d ms", line, count, count)
		}
	}
	if n < 40 || !strings.HasPrefix(lines[n+1], "    1000.000 1.000000000000       1000") {
		t.Errorf("%d lines, the last %q", n, lines[n+1])
	}
	// 1..n has the mean (n+1)/2 and the standard deviation sqrt((n^2-1)/12); buckets are 0.1 % wide.
	if want := "#[Mean    =      500.500, StdDeviation   =      288."; !strings.HasPrefix(lines[n+2], want) {
		t.Errorf("%q, want %s...", lines[n+2], want)
	}
	if want := "#[Max     =     1000.000, Total count    =         1000]"; lines[n+3] != want {
		t.Errorf("%q, want %q", lines[n+3], want)
	}
	if err := HGRM(io.Discard, &record.Cell{}); err == nil {
		t.Error("no error without a histogram")
	}
}

// Any result gives reports, the same ones each time, and no control characters from its texts.
func TestAnyResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reporttest.Any().Draw(t, "result")
		o := Options{Width: rapid.IntRange(-1, 200).Draw(t, "width")}
		var first, second bytes.Buffer
		for _, b := range []*bytes.Buffer{&first, &second} {
			if err := errors.Join(Text(b, r, o), Markdown(b, r), CSV(io.Discard, r)); err != nil {
				t.Fatal(err)
			}
		}
		if first.String() != second.String() {
			t.Fatal("two reports of one result differ")
		}
		if strings.ContainsAny(first.String(), "\x1b\t") {
			t.Fatalf("control characters in:\n%s", first.String())
		}
		JSON(io.Discard, r) // an error if a figure is not a number
		for i := range r.Cells {
			HGRM(io.Discard, &r.Cells[i]) // an error if there is no histogram
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestErrorsOfTheWriter(t *testing.T) {
	r := result("lab")
	for name, err := range map[string]error{
		"text": Text(full{}, r, Options{}), "markdown": Markdown(full{}, r), "csv": CSV(full{}, r), "json": JSON(full{}, r), "hgrm": HGRM(full{}, &r.Cells[0]),
	} {
		if err == nil || err.Error() != "disk full" {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
