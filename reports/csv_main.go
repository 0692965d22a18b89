package reports

import (
	"io"
	"strconv"
	"strings"
	"time"

	"poolwise/sim/record"
)

// CSVMain writes what one wants in a spreadsheet, one row for each cell: CSV has all there is. The columns are the settings, by their
// keys; then, in this order:
//
//	service                                             (if asked for: "(all)", or the service that the row is about)
//	replications
//	requests, ok, failed, unfinished                    (counts over all replications; unfinished if there were any)
//	failed_rate, throughput_per_s                       (a share from 0 to 1)
//	latency_p50_ms, latency_p95_ms, latency_p99_ms, wait_p99_ms
//	in_use_mean, in_use_max, waiting_max                (the highest of all replications)
//	server_peak_open, server_refused, core_utilisation  (a share from 0 to 1)
//	leaked
//	pooler_waiting_max, pooler_wait_p99_ms, pooler_timeouts (if there is a pooler)
//	outcome_NAME                                        (failed requests, for every outcome that occurred)
//	stage_NAME_ms, stage_NAME_slowest_ms                (if asked for: the mean time in every stage that took any)
//	checks                                              (if there are any: passed, failed or inconclusive)
//	warnings
//
// If any cell has replications, a figure F that is estimated is followed by F_lo and F_hi, its interval at 95 %: all shares, rates
// and times, but those of stages. An unknown figure is an empty field, and so is one that a service has not.
func CSVMain(w io.Writer, r *record.Result) error { return CSVWith(w, r, CSVOptions{}) }

// mainColumns are the columns that hang on what there is.
type mainColumns struct {
	unfinished bool
	outcomes   [record.NumOutcomes]bool
	stages     [record.NumStages]bool
}

func (m *mainColumns) look(c *record.Cell) {
	m.unfinished = m.unfinished || c.Requests.Unfinished > 0
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
	r.begin(c)
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
	r.plain("in_use_max", highest(c.Levels.InUse))
	r.plain("waiting_max", highest(c.Levels.Waiting))
	r.shared("server_peak_open", c.Server.PeakOpen)
	r.shared("server_refused", c.Server.Refused)
	r.float("core_utilisation", c.Server.CoreUtilisation)
	r.plain("leaked", c.Leaked)
	if r.pooler {
		p := c.Pooler
		if p == nil {
			p = &record.PoolerCell{}
		}
		r.plain("pooler_waiting_max", highest(p.Levels.Waiting))
		r.millis("pooler_wait_p99_ms", p.Wait.P99)
		r.shared("pooler_timeouts", p.Timeouts)
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
	r.verdict()
	r.put("warnings", strings.Join(c.Warnings, "; "))
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
