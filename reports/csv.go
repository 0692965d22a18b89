package reports

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// CSV writes one row for each cell, with all there is; CSVMain has what one usually wants. The first columns are the settings, by their keys; then, in this order:
//
//	replications
//	requests_total, requests_ok, requests_failed, requests_unfinished, requests_retries     (counts over all replications)
//	outcome_NAME                                                                            (failed requests, for every outcome)
//	arrivals_per_second (of open workloads), throughput_per_second, failed_share, makespan_ns
//	X_n, X_mean_ns, X_min_ns, X_max_ns, X_p50_ns, X_p90_ns, X_p95_ns, X_p99_ns, X_p999_ns   (X: latency, wait, hold, connect, failed_after)
//	Y_mean, Y_max, Y_final                                                                  (Y: size, idle, in_use, waiting, connecting)
//	server_opened, server_closed, server_refused, server_peak_open, server_core_utilisation_share
//	leaked, slow_acquires, warnings
//
// If there is a pooler, its figures follow, pooler_ before each: clients, waiting, size and in_use as Y, wait and connect as X, and
// refused and timeouts. If it was asked where the time went, these follow, G being all, slowest and failed (requests), and S every stage:
//
//	stages_G_n, stages_G_latency_mean_ns, stages_G_S_mean_ns, stages_G_S_share
//
// If any cell has replications, each estimated figure F (all but counts and warnings) is followed by F_lo and F_hi, its
// interval at 95 %. An unknown figure is an empty field. Shares are from 0 to 1.
func CSV(w io.Writer, r *record.Result) error {
	keys := settingKeys(r)
	head := csvRow{head: true}
	for i := range r.Cells {
		head.intervals = head.intervals || r.Cells[i].Replications > 1
		head.stages = head.stages || r.Cells[i].Stages != nil
		head.pooler = head.pooler || r.Cells[i].Pooler != nil
	}
	head.cell(keys, &record.Cell{})
	c := csv.NewWriter(w)
	if err := c.Write(head.fields); err != nil {
		return err
	}
	for i := range r.Cells {
		row := csvRow{intervals: head.intervals, pooler: head.pooler, stages: head.stages}
		row.cell(keys, &r.Cells[i])
		if err := c.Write(row.fields); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// csvRow collects the fields of a row, or the names of its columns.
type csvRow struct {
	head      bool
	intervals bool
	pooler    bool
	stages    bool
	fields    []string
}

func (r *csvRow) put(name, value string) {
	if r.head {
		value = name
	}
	r.fields = append(r.fields, value)
}

func (r *csvRow) count(name string, n int64) { r.put(name, strconv.FormatInt(n, 10)) }

func (r *csvRow) float(name string, f record.Float) {
	write := func(name string, known bool, v float64) {
		s := ""
		if known {
			s = strconv.FormatFloat(v, 'g', 9, 64)
		}
		r.put(name, s)
	}
	write(name, f.Known, f.Value)
	if r.intervals {
		write(name+"_lo", f.Interval, f.Lo)
		write(name+"_hi", f.Interval, f.Hi)
	}
}

func (r *csvRow) duration(name string, d record.Duration) {
	write := func(name string, known bool, ns int64) {
		s := ""
		if known {
			s = strconv.FormatInt(ns, 10)
		}
		r.put(name, s)
	}
	write(name+"_ns", d.Known, int64(d.Value))
	if r.intervals {
		write(name+"_ns_lo", d.Interval, int64(d.Lo))
		write(name+"_ns_hi", d.Interval, int64(d.Hi))
	}
}

func (r *csvRow) summary(name string, s *record.Summary) {
	r.count(name+"_n", s.N)
	r.duration(name+"_mean", s.Mean)
	r.duration(name+"_min", s.Min)
	r.duration(name+"_max", s.Max)
	r.duration(name+"_p50", s.P50)
	r.duration(name+"_p90", s.P90)
	r.duration(name+"_p95", s.P95)
	r.duration(name+"_p99", s.P99)
	r.duration(name+"_p999", s.P999)
}

func (r *csvRow) level(name string, l record.Level3) {
	r.float(name+"_mean", l.Mean)
	r.float(name+"_max", l.Max)
	r.float(name+"_final", l.Final)
}

func (r *csvRow) cell(keys []string, c *record.Cell) {
	for _, key := range keys {
		v, _ := digest.Value(c.Settings, key)
		r.put(key, v)
	}
	r.count("replications", int64(c.Replications))
	r.count("requests_total", c.Requests.Total)
	r.count("requests_ok", c.Requests.OK)
	r.count("requests_failed", c.Requests.Failed)
	r.count("requests_unfinished", c.Requests.Unfinished)
	r.count("requests_retries", c.Requests.Retries)
	for o := record.OK + 1; o < record.NumOutcomes; o++ {
		r.count("outcome_"+o.String(), c.Requests.Outcomes[o])
	}
	r.float("arrivals_per_second", c.Arrivals)
	r.float("throughput_per_second", c.Throughput)
	r.float("failed_share", c.FailedRate)
	r.duration("makespan", c.Makespan)
	r.summary("latency", &c.Latency)
	r.summary("wait", &c.Wait)
	r.summary("hold", &c.Hold)
	r.summary("connect", &c.Connect)
	r.summary("failed_after", &c.FailedAfter)
	r.level("size", c.Levels.Size)
	r.level("idle", c.Levels.Idle)
	r.level("in_use", c.Levels.InUse)
	r.level("waiting", c.Levels.Waiting)
	r.level("connecting", c.Levels.Opening)
	r.count("server_opened", c.Server.Opened)
	r.count("server_closed", c.Server.Closed)
	r.count("server_refused", c.Server.Refused)
	r.count("server_peak_open", c.Server.PeakOpen)
	r.float("server_core_utilisation_share", c.Server.CoreUtilisation)
	r.float("leaked", c.Leaked)
	r.count("slow_acquires", c.SlowAcquires)
	r.put("warnings", strings.Join(c.Warnings, "; "))
	if r.pooler {
		r.ofPooler(c.Pooler)
	}
	if r.stages {
		r.split("all", c.Stages, func(s *record.StageCell) *record.StageSplit { return &s.All })
		r.split("slowest", c.Stages, func(s *record.StageCell) *record.StageSplit { return &s.Slowest })
		r.split("failed", c.Stages, func(s *record.StageCell) *record.StageSplit { return s.Failed })
	}
}

// ofPooler puts the figures of the pooler; of a cell without one, empty fields and zeros.
func (r *csvRow) ofPooler(p *record.PoolerCell) {
	if p == nil {
		p = &record.PoolerCell{}
	}
	r.level("pooler_clients", p.Clients)
	r.level("pooler_waiting", p.Levels.Waiting)
	r.level("pooler_size", p.Levels.Size)
	r.level("pooler_in_use", p.Levels.InUse)
	r.summary("pooler_wait", &p.Wait)
	r.summary("pooler_connect", &p.Connect)
	r.count("pooler_refused", p.Refused)
	r.count("pooler_timeouts", p.Timeouts)
}

// split puts where the time of some requests went; of a cell that does not know, empty fields.
func (r *csvRow) split(group string, c *record.StageCell, of func(*record.StageCell) *record.StageSplit) {
	s := &record.StageSplit{}
	if c != nil && of(c) != nil {
		s = of(c)
	}
	name := "stages_" + group
	r.count(name+"_n", s.N)
	r.duration(name+"_latency_mean", s.Latency)
	for i, p := range s.Stages {
		stage := name + "_" + record.Stage(i).String()
		r.duration(stage+"_mean", p.Mean)
		share := ""
		if p.Mean.Known {
			share = strconv.FormatFloat(p.Share, 'g', 9, 64)
		}
		r.put(stage+"_share", share)
	}
}
