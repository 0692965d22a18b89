package reports

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// CSVMain writes what one wants in a spreadsheet, one row for each cell: CSV has all there is. The columns are the settings, by their
// keys; then, in this order:
//
//	replications
//	requests, ok, failed, unfinished                    (counts over all replications; unfinished if there were any)
//	failed_rate, throughput_per_s                       (a share from 0 to 1)
//	latency_p50_ms, latency_p95_ms, latency_p99_ms, wait_p99_ms
//	in_use_mean, in_use_max, waiting_max
//	server_peak_open, server_refused, core_utilisation  (a share from 0 to 1)
//	leaked
//	pooler_waiting_max, pooler_wait_p99_ms, pooler_timeouts (if there is a pooler)
//	outcome_NAME                                        (failed requests, for every outcome that occurred)
//	stage_NAME_ms, stage_NAME_slowest_ms                (if asked for: the mean time in every stage that took any)
//	warnings
//
// If any cell has replications, a figure F that is estimated is followed by F_lo and F_hi, its interval at 95 %: all shares, rates
// and times, but those of stages. An unknown figure is an empty field.
func CSVMain(w io.Writer, r *record.Result) error {
	m := mainColumns{keys: settingKeys(r)}
	for i := range r.Cells {
		m.look(&r.Cells[i])
	}
	c := csv.NewWriter(w)
	head := mainRow{csvRow: csvRow{head: true, intervals: m.intervals}}
	head.cell(&m, &record.Cell{})
	if err := c.Write(head.fields); err != nil {
		return err
	}
	for i := range r.Cells {
		row := mainRow{csvRow: csvRow{intervals: m.intervals}}
		row.cell(&m, &r.Cells[i])
		if err := c.Write(row.fields); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// mainColumns are the columns that hang on what there is.
type mainColumns struct {
	keys       []string
	intervals  bool
	unfinished bool
	pooler     bool
	outcomes   [record.NumOutcomes]bool
	stages     [record.NumStages]bool
}

func (m *mainColumns) look(c *record.Cell) {
	m.intervals = m.intervals || c.Replications > 1
	m.unfinished = m.unfinished || c.Requests.Unfinished > 0
	m.pooler = m.pooler || c.Pooler != nil
	for o, n := range c.Requests.Outcomes {
		m.outcomes[o] = m.outcomes[o] || n > 0
	}
	if c.Stages == nil {
		return
	}
	for _, split := range []*record.StageSplit{&c.Stages.All, &c.Stages.Slowest} {
		for i, p := range split.Stages {
			m.stages[i] = m.stages[i] || p.Mean.Known && p.Mean.Value > 0
		}
	}
}

// mainRow is a row whose times are in milliseconds.
type mainRow struct{ csvRow }

func (r *mainRow) cell(m *mainColumns, c *record.Cell) {
	for _, key := range m.keys {
		v, _ := digest.Value(c.Settings, key)
		r.put(key, v)
	}
	r.count("replications", int64(c.Replications))
	r.count("requests", c.Requests.Total)
	r.count("ok", c.Requests.OK)
	r.count("failed", c.Requests.Failed)
	if m.unfinished {
		r.count("unfinished", c.Requests.Unfinished)
	}
	r.float("failed_rate", c.FailedRate)
	r.float("throughput_per_s", c.Throughput)
	r.millis("latency_p50_ms", c.Latency.P50)
	r.millis("latency_p95_ms", c.Latency.P95)
	r.millis("latency_p99_ms", c.Latency.P99)
	r.millis("wait_p99_ms", c.Wait.P99)
	r.plain("in_use_mean", c.Levels.InUse.Mean)
	r.plain("in_use_max", c.Levels.InUse.Max)
	r.plain("waiting_max", c.Levels.Waiting.Max)
	r.count("server_peak_open", c.Server.PeakOpen)
	r.count("server_refused", c.Server.Refused)
	r.float("core_utilisation", c.Server.CoreUtilisation)
	r.plain("leaked", c.Leaked)
	if m.pooler {
		p := c.Pooler
		if p == nil {
			p = &record.PoolerCell{}
		}
		r.plain("pooler_waiting_max", p.Levels.Waiting.Max)
		r.millis("pooler_wait_p99_ms", p.Wait.P99)
		r.count("pooler_timeouts", p.Timeouts)
	}
	for o, occurred := range m.outcomes {
		if occurred {
			r.count("outcome_"+record.Outcome(o).String(), c.Requests.Outcomes[o])
		}
	}
	for i, took := range m.stages {
		if !took {
			continue
		}
		s := c.Stages
		if s == nil {
			s = &record.StageCell{}
		}
		name := "stage_" + record.Stage(i).String()
		r.put(name+"_ms", milliseconds(s.All.Stages[i].Mean))
		r.put(name+"_slowest_ms", milliseconds(s.Slowest.Stages[i].Mean))
	}
	r.put("warnings", strings.Join(c.Warnings, "; "))
}

// plain puts a figure without its interval.
func (r *mainRow) plain(name string, f record.Float) {
	intervals := r.intervals
	r.intervals = false
	r.float(name, f)
	r.intervals = intervals
}

// millis puts a duration, with its interval.
func (r *mainRow) millis(name string, d record.Duration) {
	r.put(name, milliseconds(d))
	if r.intervals {
		bound := func(at time.Duration) string { return milliseconds(record.Duration{Value: at, Known: d.Interval}) }
		r.put(name+"_lo", bound(d.Lo))
		r.put(name+"_hi", bound(d.Hi))
	}
}

// milliseconds writes a duration in milliseconds, exactly; an unknown one is empty.
func milliseconds(d record.Duration) string {
	if !d.Known {
		return ""
	}
	sign, ns := "", int64(d.Value)
	if ns < 0 {
		sign, ns = "-", -ns
	}
	s := sign + strconv.FormatInt(ns/1e6, 10)
	if rest := ns % 1e6; rest > 0 {
		s += "." + strings.TrimRight(strconv.FormatInt(1e6+rest, 10)[1:], "0")
	}
	return s
}
