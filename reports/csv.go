package reports

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// CSVOptions say what a table in CSV has.
type CSVOptions struct {
	All      bool // every column there is, and not only those that one usually wants
	Services bool // below the row of a cell, one for each of its services
}

// CSV writes one row for each cell, with all there is; CSVMain has what one usually wants. The first columns are the settings, by their keys; then, in this order:
//
//	service                                                                                 (if asked for: "(all)", or the service that the row is about)
//	replications
//	requests_total, requests_ok, requests_failed, requests_unfinished, requests_retries     (counts over all replications)
//	outcome_NAME                                                                            (failed requests, for every outcome)
//	arrivals_per_second (of open workloads), throughput_per_second, failed_share, makespan_ns
//	X_n, X_mean_ns, X_min_ns, X_max_ns, X_p50_ns, X_p90_ns, X_p95_ns, X_p99_ns, X_p999_ns   (X: latency, wait, hold, connect, failed_after)
//	Y_mean, Y_max, Y_final                                                                  (Y: size, idle, in_use, waiting, connecting)
//	server_opened, server_closed, server_refused, server_peak_open, server_core_utilisation_share
//	leaked, slow_acquires
//	checks                                                                                  (if there are any: passed, failed or inconclusive)
//	warnings
//
// If there is a pooler, its figures follow, pooler_ before each: clients, waiting, size and in_use as Y, wait and connect as X, and
// refused and timeouts. If it was asked where the time went, these follow, G being all, slowest and failed (requests), and S every stage:
//
//	stages_G_n, stages_G_latency_mean_ns, stages_G_S_mean_ns, stages_G_S_share
//
// If any cell has replications, each estimated figure F (all but counts, the highest of a level and warnings) is followed by F_lo and
// F_hi, its interval at 95 %. Y_max is the highest of all replications. An unknown figure is an empty field, and so is one that a
// service has not. The checks of a service are those that select it, those of a cell all. Shares are from 0 to 1.
func CSV(w io.Writer, r *record.Result) error { return CSVWith(w, r, CSVOptions{All: true}) }

// CSVWith writes what the options say.
func CSVWith(w io.Writer, r *record.Result, o CSVOptions) error {
	head := csvRow{head: true, options: o, keys: settingKeys(r), checked: len(r.Checks) > 0}
	columns := &mainColumns{}
	for i := range r.Cells {
		head.intervals = head.intervals || r.Cells[i].Replications > 1
		head.stages = head.stages || r.Cells[i].Stages != nil
		head.pooler = head.pooler || r.Cells[i].Pooler != nil
		columns.look(&r.Cells[i])
	}
	c := csv.NewWriter(w)
	write := func(cell *record.Cell, service string, checks record.Status) error {
		row := head
		row.service, row.checks = service, checks
		if o.All {
			row.cell(cell)
		} else {
			main := mainRow{row}
			main.cell(columns, cell)
			row = main.csvRow
		}
		return c.Write(row.fields)
	}
	if err := write(&record.Cell{}, "", ""); err != nil {
		return err
	}
	head.head = false
	for i := range r.Cells {
		cell := &r.Cells[i]
		if err := write(cell, "", verdictOf(r, i, "")); err != nil {
			return err
		}
		if !o.Services {
			continue
		}
		for _, p := range rowsOfServices(cell) {
			if err := write(p.cellOf(cell), p.Name, verdictOf(r, i, p.Name)); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

// serviceRow is a service of a cell.
type serviceRow struct{ *record.PoolCell }

// rowsOfServices returns the services of a cell: those of several instances, and pools that are in none.
func rowsOfServices(c *record.Cell) []serviceRow {
	var all []serviceRow
	of := ""
	for i := range c.Pools {
		p := &c.Pools[i]
		switch {
		case p.Service == "":
			all = append(all, serviceRow{p})
		case p.Service != of:
			for j := range c.Services {
				if c.Services[j].Name == p.Service {
					all = append(all, serviceRow{&c.Services[j]})
				}
			}
		}
		of = p.Service
	}
	return all
}

// cellOf makes a cell of what is known of a service.
func (p serviceRow) cellOf(of *record.Cell) *record.Cell {
	c := &record.Cell{
		Settings: of.Settings, Replications: of.Replications, Requests: p.Requests, Latency: p.Latency, Wait: p.Wait, Hold: p.Hold,
		Arrivals: p.Arrivals, Throughput: p.Throughput, FailedRate: p.FailedRate, Levels: p.Levels,
	}
	if p.Curves.Failed != nil {
		c.FailedAfter = p.Curves.Failed.Summary()
	}
	return c
}

// verdictOf is what the checks of a cell say together, or those that select a service; "" if there are none.
func verdictOf(r *record.Result, cell int, service string) record.Status {
	checks := slices.DeleteFunc(slices.Clone(r.Checks), func(k record.Check) bool {
		if k.Cell != cell || k.Status == record.Off {
			return true
		}
		e, err := record.ParseCheck(k.Expr)
		return service != "" && (err != nil || e.Service() != service)
	})
	if len(checks) == 0 {
		return ""
	}
	return record.Verdict(checks)
}

// csvRow collects the fields of a row, or the names of its columns.
type csvRow struct {
	options   CSVOptions
	keys      []string // of the settings
	head      bool
	intervals bool
	pooler    bool
	stages    bool
	checked   bool
	service   string // that the row is about, "" for all
	checks    record.Status
	fields    []string
}

func (r *csvRow) put(name, value string) {
	if r.head {
		value = name
	}
	r.fields = append(r.fields, value)
}

func (r *csvRow) count(name string, n int64) { r.put(name, strconv.FormatInt(n, 10)) }

// shared puts a count that no service has for itself.
func (r *csvRow) shared(name string, n int64) {
	if r.service != "" {
		r.put(name, "")
		return
	}
	r.count(name, n)
}

// begin puts the settings, and whom the row is about.
func (r *csvRow) begin(c *record.Cell) {
	for _, key := range r.keys {
		v, _ := digest.Value(c.Settings, key)
		r.put(key, v)
	}
	if r.options.Services {
		r.put("service", cmp.Or(r.service, "(all)"))
	}
	r.count("replications", int64(c.Replications))
}

// verdict puts what the checks say, if there are any.
func (r *csvRow) verdict() {
	if r.checked {
		r.put("checks", string(r.checks))
	}
}

// plain puts a figure without its interval.
func (r *csvRow) plain(name string, f record.Float) {
	intervals := r.intervals
	r.intervals = false
	r.float(name, f)
	r.intervals = intervals
}

// highest is the maximum of a level in any replication.
func highest(l record.Level3) record.Float {
	if l.Most.Known {
		return l.Most
	}
	return l.Max
}

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

func (r *csvRow) summary(name string, s *record.Summary) { r.summaryOf(name, s, true) }

// summaryOf puts what is measured of a distribution, or if it is not, empty fields.
func (r *csvRow) summaryOf(name string, s *record.Summary, measured bool) {
	if measured {
		r.count(name+"_n", s.N)
	} else {
		r.put(name+"_n", "")
	}
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
	r.plain(name+"_max", highest(l))
	r.float(name+"_final", l.Final)
}

func (r *csvRow) cell(c *record.Cell) {
	r.begin(c)
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
	r.summaryOf("connect", &c.Connect, r.service == "")
	r.summaryOf("failed_after", &c.FailedAfter, r.service == "" || c.FailedAfter.N == c.Requests.Failed)
	r.level("size", c.Levels.Size)
	r.level("idle", c.Levels.Idle)
	r.level("in_use", c.Levels.InUse)
	r.level("waiting", c.Levels.Waiting)
	r.level("connecting", c.Levels.Opening)
	r.shared("server_opened", c.Server.Opened)
	r.shared("server_closed", c.Server.Closed)
	r.shared("server_refused", c.Server.Refused)
	r.shared("server_peak_open", c.Server.PeakOpen)
	r.float("server_core_utilisation_share", c.Server.CoreUtilisation)
	r.float("leaked", c.Leaked)
	r.shared("slow_acquires", c.SlowAcquires)
	r.verdict()
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
	r.summaryOf("pooler_wait", &p.Wait, r.service == "")
	r.summaryOf("pooler_connect", &p.Connect, r.service == "")
	r.shared("pooler_refused", p.Refused)
	r.shared("pooler_timeouts", p.Timeouts)
}

// split puts where the time of some requests went; of a cell that does not know, empty fields.
func (r *csvRow) split(group string, c *record.StageCell, of func(*record.StageCell) *record.StageSplit) {
	s := &record.StageSplit{}
	if c != nil && of(c) != nil {
		s = of(c)
	}
	name := "stages_" + group
	r.shared(name+"_n", s.N)
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
