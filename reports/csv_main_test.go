package reports

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

// mainTable reads what CSVMain writes.
func mainTable(t *testing.T, r *record.Result) (head []string, rows []map[string]string) {
	t.Helper()
	var b bytes.Buffer
	if err := CSVMain(&b, r); err != nil {
		t.Fatal(err)
	}
	return csvTable(t, &b)
}

// csvTable reads CSV: the head, and each row by its names.
func csvTable(t *testing.T, b *bytes.Buffer) (head []string, rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(b).ReadAll() // which refuses rows of another length
	if err != nil {
		t.Fatal(err)
	}
	for _, fields := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			if _, twice := row[name]; twice {
				t.Errorf("two columns %s", name)
			}
			row[name] = fields[i]
		}
		rows = append(rows, row)
	}
	return all[0], rows
}

// TestMainColumns: the columns that are always there, in order, those of what there is, and the unit of times in their names.
func TestMainColumns(t *testing.T) {
	interval := func(value, lo, hi time.Duration) record.Duration {
		return record.Duration{Value: value, Lo: lo, Hi: hi, Known: true, Interval: true}
	}
	cell := record.Cell{
		Settings: record.Settings{{Key: "pool.max", Value: "4"}}, Replications: 1,
		Requests: record.Requests{Total: 10, OK: 7, Failed: 3},
		Latency:  record.Summary{P50: record.Exact(1500 * time.Microsecond), P95: record.Exact(20 * time.Millisecond), P99: record.Exact(30000001)},
		Levels:   record.Levels{InUse: record.Level3{Mean: record.ExactFloat(3.25), Max: record.ExactFloat(4)}},
	}
	cell.Requests.Outcomes[record.AcquireTimeout] = 3
	want := "pool.max,replications,requests,ok,failed,failed_rate,throughput_per_s,latency_p50_ms,latency_p95_ms,latency_p99_ms,wait_p99_ms," +
		"in_use_mean,in_use_max,waiting_max,server_peak_open,server_refused,core_utilisation,leaked,outcome_acquire_timeout,warnings"
	head, rows := mainTable(t, &record.Result{Cells: []record.Cell{cell}})
	if diff := cmp.Diff(strings.Split(want, ","), head); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"pool.max": "4", "requests": "10", "ok": "7", "failed": "3", "outcome_acquire_timeout": "3", "latency_p50_ms": "1.5", "latency_p95_ms": "20",
		"latency_p99_ms": "30.000001", "wait_p99_ms": "", "in_use_mean": "3.25", "in_use_max": "4", "throughput_per_s": "",
	} {
		if got := rows[0][name]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}

	cell.Replications = 5
	cell.Requests.Unfinished = 1
	cell.Latency.P99 = interval(30*time.Millisecond, 29*time.Millisecond, 31500*time.Microsecond)
	cell.Pooler = &record.PoolerCell{Timeouts: 6, Wait: record.Summary{P99: record.Exact(7 * time.Millisecond)}}
	head, rows = mainTable(t, &record.Result{Cells: []record.Cell{cell, {Settings: record.Settings{{Key: "pool.max", Value: "8"}}, Replications: 5}}})
	text := strings.Join(head, ",")
	for _, part := range []string{",failed,unfinished,failed_rate,failed_rate_lo,failed_rate_hi,", ",latency_p99_ms,latency_p99_ms_lo,latency_p99_ms_hi,",
		",in_use_mean,in_use_max,waiting_max,", ",leaked,pooler_waiting_max,pooler_wait_p99_ms,pooler_wait_p99_ms_lo,pooler_wait_p99_ms_hi,pooler_timeouts,outcome_"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	for name, want := range map[string]string{"latency_p99_ms_lo": "29", "latency_p99_ms_hi": "31.5", "latency_p95_ms_lo": "", "pooler_timeouts": "6", "pooler_wait_p99_ms": "7"} {
		if got := rows[0][name]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if rows[1]["outcome_acquire_timeout"] != "0" || rows[1]["pooler_wait_p99_ms"] != "" {
		t.Errorf("the other cell: %v", rows[1])
	}
}

// TestHighestOfReplications: the maximum of a level is the highest, as in the text, and not the mean of maxima.
func TestHighestOfReplications(t *testing.T) {
	level := record.Level3{Max: record.Float{Value: 4.5, Lo: 3, Hi: 6, Known: true, Interval: true}, Most: record.ExactFloat(7)}
	r := &record.Result{Cells: []record.Cell{{Replications: 2, Levels: record.Levels{Waiting: level, InUse: level}}}}
	_, rows := mainTable(t, r)
	if rows[0]["waiting_max"] != "7" || rows[0]["in_use_max"] != "7" {
		t.Errorf("%v", rows[0])
	}
	var b bytes.Buffer
	if err := CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	if _, rows := csvTable(t, &b); rows[0]["waiting_max"] != "7" {
		t.Errorf("of all columns: %v", rows[0])
	}
}

// TestRowsOfServices: below the row of a cell, one for each service, with its checks; what a service has not for itself is empty.
func TestRowsOfServices(t *testing.T) {
	r := reporttest.Fleet(3, 1)
	r.Cells[0].Pools[0].Name, r.Cells[0].Pools[0].Service = "jobs", ""
	reporttest.Check(r, "ok{service=jobs}==100", "failed{service=payments}==0", "throughput>1/s")
	for _, all := range []bool{false, true} {
		var b bytes.Buffer
		if err := CSVWith(&b, r, CSVOptions{All: all, Services: true}); err != nil {
			t.Fatal(err)
		}
		head, rows := csvTable(t, &b)
		if head[0] != "service" || len(rows) != 3 {
			t.Fatalf("%v: %d rows", head, len(rows))
		}
		for i, want := range []map[string]string{
			{"service": "(all)", "checks": "failed", "server_refused": "100"},
			{"service": "jobs", "checks": "passed", "server_refused": ""},
			{"service": "payments", "checks": "failed", "server_refused": ""},
		} {
			for name, want := range want {
				if got := rows[i][name]; got != want {
					t.Errorf("row %d, %s: %q, want %q", i, name, got, want)
				}
			}
		}
		ok := "ok"
		if all {
			ok = "requests_ok"
			if rows[1]["connect_n"] != "" || rows[0]["connect_n"] == "" || rows[0]["failed_after_n"] != "100" {
				t.Errorf("connects %q, of jobs %q; failed %q", rows[0]["connect_n"], rows[1]["connect_n"], rows[0]["failed_after_n"])
			}
		}
		if rows[0][ok] != "200" || rows[1][ok] != "100" {
			t.Errorf("%s: %v, of jobs %v", ok, rows[0][ok], rows[1][ok])
		}
	}
}

// TestMainColumnsOfStages: a pair for every stage that took any time.
func TestMainColumnsOfStages(t *testing.T) {
	r := reporttest.Staged(1)
	head, rows := mainTable(t, r)
	n := 0
	for i, p := range r.Cells[0].Stages.All.Stages {
		name := "stage_" + record.Stage(i).String() + "_ms"
		got, has := rows[0][name]
		if p.Mean.Value > 0 {
			n++
			if want := milliseconds(p.Mean); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		} else if has && r.Cells[0].Stages.Slowest.Stages[i].Mean.Value == 0 {
			t.Errorf("%s is there, and took no time", name)
		}
	}
	if n == 0 {
		t.Error(head)
	}
}
