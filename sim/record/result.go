package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Schema names the form of Result in JSON.
const Schema = "poolwise.result/v1"

// Result is what a run found out, complete: reports are functions of it. In JSON, times are integer nanoseconds and nothing
// depends on the machine, the day or the number of processors.
type Result struct {
	Schema   string   `json:"schema"`
	Scenario Scenario `json:"scenario"`
	Cells    []Cell   `json:"cells"` // one for each point of the sweep, in its order
	Checks   []Check  `json:"checks"`
	Verdict  Status   `json:"verdict"`
}

// Scenario says what was run.
type Scenario struct {
	Name     string `json:"name"`
	About    string `json:"-"`
	Hash     string `json:"hash"` // of everything that decides the result, overrides included
	Seed     uint64 `json:"seed"`
	Estimate string `json:"estimate"` // terminating or steady
}

// Cell is the result of one setting, over all its replications.
type Cell struct {
	Settings     Settings     `json:"settings"`
	Replications int          `json:"replications"`
	Stopped      *Stopped     `json:"stopped,omitempty"` // of a run for a precision
	Requests     Requests     `json:"requests"`
	Latency      Summary      `json:"latency"`           // of successful requests, from the intended arrival
	Wait         Summary      `json:"wait"`              // from acquire to grant, successful acquires
	Connect      Summary      `json:"connect"`           // of successful connects
	Hold         Summary      `json:"hold"`              // from grant to return
	FailedAfter  Summary      `json:"failed_after"`      // latency of failed requests: never mixed with the others
	Arrivals     Float        `json:"arrivals,omitzero"` // requests per second that arrive, of open workloads, while they do
	Throughput   Float        `json:"throughput"`        // successful requests per second
	FailedRate   Float        `json:"failed_rate"`       // failed / all requests
	Makespan     Duration     `json:"makespan"`          // from the start to the end of the last request
	Levels       Levels       `json:"levels"`
	Server       ServerStats  `json:"server"`
	Leaked       Float        `json:"leaked"` // slots lost for ever, per replication
	SlowAcquires int64        `json:"slow_acquires,omitempty"`
	PoolNotes    Counts       `json:"pool_notes,omitzero"` // what the pools noted about themselves: rejected returns, leaked session state
	Leaks        []LeakCell   `json:"leaks,omitempty"`     // services whose pools lose slots
	Diagnoses    []Diagnosis  `json:"diagnoses,omitempty"`
	Timeouts     Timeouts     `json:"acquire_timeouts,omitzero"` // acquires that timed out, those that were followed by a retry included
	Offered      []Offered    `json:"offered,omitempty"`         // what open workloads ask of cores and connections
	Budget       *Budget      `json:"budget,omitempty"`          // of the server's connections, by the scenario
	Warnings     []string     `json:"warnings"`
	Pools        []PoolCell   `json:"pools,omitempty"`    // with several pools: each of them
	Services     []PoolCell   `json:"services,omitempty"` // the totals of services with several instances
	Pooler       *PoolerCell  `json:"pooler,omitempty"`
	Stages       *StageCell   `json:"stages,omitempty"`  // where the time went, if somebody asked
	Servers      []ServerCell `json:"servers,omitempty"` // with several servers: each of them
	Actions      []ActionCell `json:"actions,omitempty"` // what the actions of the scenario did

	Samples Samples `json:"samples,omitempty"` // with replications: what comparisons need
	Each    []Cell  `json:"-"`                 // with replications: each of them, without intervals and curves

	Curves Curves `json:"-"` // what charts draw
}

// Stopped says what ended the replications of a cell that was run for a precision, and how exact its figures are by then: half
// the width of Student's interval at 95 % of their values in the replications, as a share of the mean of these.
type Stopped struct {
	By        string  `json:"by"`        // precision or maximum
	Wanted    float64 `json:"wanted"`    // precision
	Figure    string  `json:"figure"`    // the least exact of those that had to be
	Precision Float   `json:"precision"` // of that figure; null if it was not measured
}

// What ends the replications of a cell.
const (
	ByPrecision = "precision" // all figures are exact enough
	ByMaximum   = "maximum"   // there were as many replications as were allowed
)

// PoolCell is the part of a cell that belongs to one pool, or to those of a service.
type PoolCell struct {
	Name        string   `json:"name"`
	Service     string   `json:"service,omitempty"`   // of a pool: its service, if that has several
	Instances   int      `json:"instances,omitempty"` // of a service
	PoolOf      string   `json:"pool_of,omitempty"`   // whose pool it uses if it has none of its own: of the levels, only waiting is known
	Requests    Requests `json:"requests"`
	Latency     Summary  `json:"latency"`
	Wait        Summary  `json:"wait"`
	Hold        Summary  `json:"hold"`
	FailedAfter Summary  `json:"failed_after,omitzero"`
	Timeouts    Timeouts `json:"acquire_timeouts,omitzero"`
	Arrivals    Float    `json:"arrivals,omitzero"`
	Throughput  Float    `json:"throughput"`
	FailedRate  Float    `json:"failed_rate"`
	Levels      Levels   `json:"levels"`

	Curves Curves `json:"-"` // of services, and of pools that are in none, if there are not more than MaxCourses; without levels
}

// Requests counts requests, summed over the replications. Total = OK + Failed + Unfinished.
type Requests struct {
	Total      int64  `json:"total"`
	OK         int64  `json:"ok"`
	Failed     int64  `json:"failed"`
	Unfinished int64  `json:"unfinished,omitempty"` // still going on at the horizon
	Retries    int64  `json:"retries,omitempty"`
	Outcomes   Counts `json:"outcomes"` // of the failed ones
}

// Counts maps outcomes to numbers; in JSON and reports in the order of Outcome, without the zeros.
type Counts [NumOutcomes]int64

// Summary describes a distribution of durations.
type Summary struct {
	N    int64    `json:"n"`
	Mean Duration `json:"mean"`
	Min  Duration `json:"min"`
	Max  Duration `json:"max"`
	P50  Duration `json:"p50"`
	P90  Duration `json:"p90"`
	P95  Duration `json:"p95"`
	P99  Duration `json:"p99"`
	P999 Duration `json:"p999"`
}

// Levels are time-weighted numbers of things.
type Levels struct {
	Size    Level3 `json:"size"`
	Idle    Level3 `json:"idle"`
	InUse   Level3 `json:"in_use"`
	Waiting Level3 `json:"waiting"`
	Opening Level3 `json:"connecting"`
}

// Level3 is the mean over time, the maximum and the last value (the mean over replications of the last two), and the highest value
// in any replication.
type Level3 struct {
	Mean  Float `json:"mean"`
	Max   Float `json:"max"`
	Final Float `json:"final"`
	Most  Float `json:"most,omitzero"`
}

// ServerStats are the server's own figures: counts summed over the replications, the peak the highest.
type ServerStats struct {
	Opened          int64 `json:"opened"`
	Closed          int64 `json:"closed"`
	Refused         int64 `json:"refused"`
	PeakOpen        int64 `json:"peak_open"`
	IdleEnded       int64 `json:"idle_in_transaction_ended,omitempty"` // sessions that it ended for an idle transaction
	CoreUtilisation Float `json:"core_utilisation"`                    // busy core time / (cores x time), 0..1; unknown without a limit of cores
}

// Setting is one overridden value of a cell.
type Setting struct {
	Key   string // dotted path: pool.max
	Value string // as written: 8, 30s
}

// Settings are those of a cell, in the order of the sweep.
type Settings []Setting

// String lists the settings as key=value.
func (s Settings) String() string {
	parts := make([]string, len(s))
	for i, kv := range s {
		parts[i] = kv.Key + "=" + kv.Value
	}
	return strings.Join(parts, " ")
}

// Duration is an estimated duration: a value, with an interval at 95 % if there were replications to take it from. The zero
// value is unknown: not estimable from the samples.
type Duration struct {
	Value, Lo, Hi time.Duration
	Known         bool // there is a value
	Interval      bool // Lo and Hi count
}

// Float is an estimated number, as Duration.
type Float struct {
	Value, Lo, Hi float64
	Known         bool
	Interval      bool
}

// Status is the outcome of a check and of all of them together.
type Status string

// The verdicts. The verdict of a run without checks is Passed.
const (
	Passed       Status = "passed"
	FailedCheck  Status = "failed"
	Inconclusive Status = "inconclusive"  // the interval straddles the limit
	NotEvaluated Status = "not_evaluated" // there was nothing to measure; counts as failed
	Off          Status = "off"           // its level says that it is not to be evaluated, or it has no baseline yet
)

// Check is one expectation of the scenario and what came of it.
type Check struct {
	Expr     string   `json:"expr"`
	Cell     int      `json:"cell"`               // index into Result.Cells
	Settings Settings `json:"settings,omitempty"` // of that cell
	Status   Status   `json:"status"`
	Value    float64  `json:"value"` // in the unit of the expression: nanoseconds, a share or a count
	Lo       float64  `json:"lo"`
	Hi       float64  `json:"hi"`
	Unit     string   `json:"unit"`              // ns, ratio, count, per_second
	Baseline Float    `json:"baseline,omitzero"` // the figure of the baseline, if it was judged against one
	Why      string   `json:"why,omitempty"`     // it is off, or was not evaluated, beyond there being nothing to measure
	Level    string   `json:"level,omitempty"`   // error if it is not given, warning or off
	Line     int      `json:"-"`                 // where it stands in the scenario file; 0 if not in a file
}

// Curves hold what charts draw beyond the figures.
type Curves struct {
	Latency *Histogram // successful requests, all replications
	Wait    *Histogram
	Failed  *Histogram // failed requests
	Levels  Series     // of the first replication
}

// Series are levels over time in equal bins.
type Series struct {
	Bin      time.Duration // length of a bin; the last may be shorter
	End      time.Duration // of the run
	WarmUp   time.Duration // what arrived before it does not count in the figures
	Names    []string      // of the levels: size, idle, ...
	Course                 // of all pools together
	Services []Course      // if there are from 2 to MaxCourses of them: each
	Pooler   *Course       // of its server connections, nil without one
	Faults   []Fault       // of the servers
}

// Exact returns a known duration without an interval.
func Exact(d time.Duration) Duration { return Duration{Value: d, Lo: d, Hi: d, Known: true} }

// ExactFloat returns a known number without an interval.
func ExactFloat(f float64) Float { return Float{Value: f, Lo: f, Hi: f, Known: true} }

// MarshalJSON writes null, an integer, or {value, lo, hi}.
func (d Duration) MarshalJSON() ([]byte, error) {
	switch {
	case !d.Known:
		return []byte("null"), nil
	case !d.Interval:
		return strconv.AppendInt(nil, int64(d.Value), 10), nil
	}
	return fmt.Appendf(nil, `{"value":%d,"lo":%d,"hi":%d}`, d.Value, d.Lo, d.Hi), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Duration) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*d = Duration{}
		return nil
	}
	if len(b) > 0 && b[0] == '{' {
		var v struct{ Value, Lo, Hi time.Duration }
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		*d = Duration{Value: v.Value, Lo: v.Lo, Hi: v.Hi, Known: true, Interval: true}
		return nil
	}
	var v time.Duration
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*d = Exact(v)
	return nil
}

// MarshalJSON writes null, a number of at most nine significant digits, or {value, lo, hi}.
func (f Float) MarshalJSON() ([]byte, error) {
	switch {
	case !f.Known:
		return []byte("null"), nil
	case !f.Interval:
		return appendFloat(nil, f.Value), nil
	}
	b := append([]byte(nil), `{"value":`...)
	b = appendFloat(b, f.Value)
	b = append(b, `,"lo":`...)
	b = appendFloat(b, f.Lo)
	b = append(b, `,"hi":`...)
	b = appendFloat(b, f.Hi)
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Float) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*f = Float{}
		return nil
	}
	if len(b) > 0 && b[0] == '{' {
		var v struct{ Value, Lo, Hi float64 }
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		*f = Float{Value: v.Value, Lo: v.Lo, Hi: v.Hi, Known: true, Interval: true}
		return nil
	}
	var v float64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*f = ExactFloat(v)
	return nil
}

// nineDigits rounds f to nine significant digits: enough for any figure here, and the same on processors that differ in the last
// bit.
func nineDigits(f float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 9, 64), 64)
	return r
}

// appendFloat appends f with nine significant digits.
func appendFloat(b []byte, f float64) []byte {
	r := nineDigits(f)
	if r == math.Trunc(r) && math.Abs(r) < 1e15 {
		return strconv.AppendInt(b, int64(r), 10)
	}
	return strconv.AppendFloat(b, r, 'g', -1, 64)
}

// MarshalJSON writes an object whose keys are in order.
func (s Settings) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, kv := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		k, err := json.Marshal(kv.Key)
		if err != nil {
			return nil, err
		}
		v := []byte(kv.Value)
		if !isNumber(kv.Value) {
			if v, err = json.Marshal(kv.Value); err != nil {
				return nil, err
			}
		}
		b.Write(k)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Settings) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("settings: want an object, have %.20s", b)
	}
	*s = Settings{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return err
		}
		v, err := d.Token()
		if err != nil {
			return err
		}
		switch v.(type) {
		case string, json.Number:
		default:
			return fmt.Errorf("settings: want a text or a number for %.40q", k)
		}
		*s = append(*s, Setting{fmt.Sprint(k), fmt.Sprint(v)})
	}
	return nil
}

func isNumber(s string) bool {
	var n json.Number
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Unmarshal([]byte(s), &n) == nil
}

// MarshalJSON writes an object of the counts that are not zero, in the order of Outcome.
func (c Counts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for o, n := range c {
		if n == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%d", Outcome(o).String(), n)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Counts) UnmarshalJSON(b []byte) error {
	var m map[string]int64
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*c = Counts{}
	for name, n := range m {
		o, ok := OutcomeNamed(name)
		if !ok {
			return fmt.Errorf("unknown outcome %q", name)
		}
		c[o] = n
	}
	return nil
}
