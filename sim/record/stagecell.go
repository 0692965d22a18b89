package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"time"
)

// StageRun is where the time of the requests of one replication went.
type StageRun struct {
	All, Slowest, Failed StageSum      // of the served requests, of the slowest of them, and of those that failed
	From                 time.Duration // the least latency of the slowest
	Exemplars            []ExemplarRun
}

// StageSum is the time that some requests spent at each stage.
type StageSum struct {
	N       int64
	Latency Total // of all of them
	Spent   [NumStages]Total
}

// Total is a sum of durations, in 128 bits.
type Total struct{ hi, lo uint64 }

func (t *Total) add(o Total) {
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, o.lo, 0)
	t.hi += o.hi + carry
}

func (t *Total) addDuration(d time.Duration) {
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, uint64(d), 0)
	t.hi += carry
}

// Duration returns the sum, at most the longest duration.
func (t Total) Duration() time.Duration {
	if t.hi > 0 || t.lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(t.lo)
}

// mean returns t / n, rounded down.
func (t Total) mean(n int64) time.Duration {
	q, _ := bits.Div64(t.hi, t.lo, uint64(n))
	return time.Duration(q)
}

func (t Total) float() float64 { return float64(float64(t.hi)*0x1p64) + float64(t.lo) }

func (s *StageSum) add(latency time.Duration, spent *[NumStages]time.Duration) {
	s.N++
	s.Latency.addDuration(latency)
	for i, d := range spent {
		if d > 0 {
			s.Spent[i].addDuration(d)
		}
	}
}

func (s *StageSum) merge(o *StageSum) {
	s.N += o.N
	s.Latency.add(o.Latency)
	for i := range o.Spent {
		s.Spent[i].add(o.Spent[i])
	}
}

// ExemplarRun is an Exemplar before its pool has a name.
type ExemplarRun struct {
	Exemplar
	pool int16
}

// Exemplar is the course of one request.
type Exemplar struct {
	Which   string        `json:"which"` // slowest, median, or the percentile of its latency: p99
	Pool    string        `json:"pool,omitempty"`
	Request int64         `json:"request"` // its number
	Arrived time.Duration `json:"arrived"` // from the start of the run
	Latency time.Duration `json:"latency"`
	Course  []StageSpan   `json:"course"`         // in order
	Rest    time.Duration `json:"rest,omitempty"` // what follows after the first 256 stretches
}

// Finish returns what was recorded. The slowest 1 % are as many, rounded up; but at most 10,000. The examples are the slowest
// request and, of a random sample of 1001 or of all if there are no more, with 100 or more the three at the lower end of the
// slowest 1 %, and the median.
func (s *Stages) Finish() *StageRun {
	r := &StageRun{All: s.all, Failed: s.failed}
	slowest := s.slowest.highestFirst()
	slowest = slowest[:min((s.all.N+99)/100, int64(len(slowest)))]
	for _, k := range slowest {
		p := &s.splits[k.at]
		r.Slowest.add(p.latency, &p.spent)
		r.From = p.latency
	}
	if !s.lines || len(slowest) == 0 {
		return r
	}
	r.keep("slowest", &s.worst)
	slices.SortFunc(s.courses, func(a, b courseRun) int {
		return cmp.Or(cmp.Compare(a.latency, b.latency), cmp.Compare(a.began, b.began), cmp.Compare(a.pool, b.pool), cmp.Compare(a.number, b.number))
	})
	if s.all.N >= 100 {
		s.around(r, len(slowest))
	}
	r.keep("median", &s.courses[(len(s.courses)-1)/2])
	return r
}

// around makes three of the least slow of the n slowest requests examples, if they are in the sample.
func (s *Stages) around(r *StageRun, n int) {
	name := percentileName(100 * (1 - float64(n)/float64(s.all.N)))
	first, _ := slices.BinarySearchFunc(s.courses, r.From, func(c courseRun, d time.Duration) int { return cmp.Compare(c.latency, d) })
	for i := first; i < len(s.courses) && len(r.Exemplars) < 4; i++ {
		r.keep(name, &s.courses[i])
	}
}

// percentileName writes p, to one decimal: p99.
func percentileName(p float64) string {
	return "p" + strconv.FormatFloat(math.Round(p*10)/10, 'f', -1, 64)
}

// keep makes a request an example, unless it is one already.
func (r *StageRun) keep(which string, k *courseRun) {
	e := ExemplarRun{pool: k.pool, Exemplar: Exemplar{
		Which: which, Request: k.number, Arrived: time.Duration(k.began), Latency: k.latency, Course: k.line, Rest: k.latency,
	}}
	for _, o := range r.Exemplars {
		if o.pool == e.pool && o.Request == e.Request && o.Arrived == e.Arrived {
			return
		}
	}
	for _, span := range k.line {
		e.Rest -= span.For
	}
	r.Exemplars = append(r.Exemplars, e)
}

// StageCell is where the time of requests went, in one setting.
type StageCell struct {
	All       StageSplit  `json:"all"`             // of the served requests
	Slowest   StageSplit  `json:"slowest"`         // of the slowest 1 % of them in each replication, rounded up; at most 10,000
	Failed    *StageSplit `json:"failed,omitzero"` // of those that failed, if there are any
	Exemplars []Exemplar  `json:"exemplars"`       // of the first replication
}

// StageSplit divides the latency of some requests by stage.
type StageSplit struct {
	N       int64      `json:"n"`
	From    Duration   `json:"from,omitzero"` // the least latency among the slowest
	Latency Duration   `json:"latency"`       // the mean
	Stages  StageParts `json:"stages"`
}

// StageParts has a part for each stage.
type StageParts [NumStages]StagePart

// StagePart is what one stage has of a latency.
type StagePart struct {
	Mean  Duration `json:"mean"`
	Share float64  `json:"share"` // of the latency, 0 to 1
}

// mergeStages makes the part of a cell that says where the time went, nil if a replication does not know.
func mergeStages(pools []string, runs []*Run) *StageCell {
	for _, r := range runs {
		if r.Stages == nil {
			return nil
		}
	}
	c := &StageCell{
		All:       mergeSplit(len(runs), func(i int) *StageSum { return &runs[i].Stages.All }),
		Slowest:   mergeSplit(len(runs), func(i int) *StageSum { return &runs[i].Stages.Slowest }),
		Exemplars: []Exemplar{},
	}
	if c.Slowest.N > 0 {
		from := acrossFloat(len(runs), func(i int) (float64, bool) {
			return float64(runs[i].Stages.From), runs[i].Stages.Slowest.N > 0
		})
		c.Slowest.From = from.duration()
	}
	if f := mergeSplit(len(runs), func(i int) *StageSum { return &runs[i].Stages.Failed }); f.N > 0 {
		c.Failed = &f
	}
	for _, e := range runs[0].Stages.Exemplars {
		if len(pools) > 1 {
			e.Pool = pools[e.pool]
		}
		c.Exemplars = append(c.Exemplars, e.Exemplar)
	}
	return c
}

// mergeSplit divides the time of the requests of n replications: means are those of all requests together, with the interval of
// the replications' own.
func mergeSplit(n int, of func(int) *StageSum) StageSplit {
	var all StageSum
	for i := range n {
		all.merge(of(i))
	}
	s := StageSplit{N: all.N}
	if all.N == 0 {
		return s
	}
	mean := func(total func(*StageSum) Total) Duration {
		d := Exact(total(&all).mean(all.N))
		each := acrossFloat(n, func(i int) (float64, bool) {
			o := of(i)
			return total(o).float() / float64(max(o.N, 1)), o.N > 0
		}).duration()
		if each.Interval {
			d.Lo, d.Hi, d.Interval = min(each.Lo, d.Value), max(each.Hi, d.Value), true
		}
		return d
	}
	s.Latency = mean(func(s *StageSum) Total { return s.Latency })
	for i := range s.Stages {
		s.Stages[i].Mean = mean(func(s *StageSum) Total { return s.Spent[i] })
		if all.Latency != (Total{}) {
			s.Stages[i].Share = all.Spent[i].float() / all.Latency.float()
		}
	}
	return s
}

// duration returns a number of nanoseconds as a duration.
func (f Float) duration() Duration {
	round := func(x float64) time.Duration { return time.Duration(math.Round(x)) }
	return Duration{Value: round(f.Value), Lo: round(f.Lo), Hi: round(f.Hi), Known: f.Known, Interval: f.Interval}
}

// MarshalText writes the name of the stage.
func (s Stage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *Stage) UnmarshalText(text []byte) error {
	for i, name := range stageNames {
		if name == string(text) {
			*s = Stage(i)
			return nil
		}
	}
	return fmt.Errorf("unknown stage %.40q", text)
}

// MarshalJSON writes an object with the stages in their order.
func (p StageParts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range p {
		if i > 0 {
			b = append(b, ',')
		}
		mean, err := p[i].Mean.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b = fmt.Appendf(b, `%q:{"mean":%s,"share":`, Stage(i).String(), mean)
		b = append(appendFloat(b, p[i].Share), '}')
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *StageParts) UnmarshalJSON(b []byte) error {
	var parts map[Stage]StagePart
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&parts); err != nil {
		return err
	}
	*p = StageParts{}
	for i, part := range parts {
		p[i] = part
	}
	return nil
}

// validate reports what cannot be.
func (c *StageCell) validate() error {
	if c == nil {
		return nil
	}
	for _, s := range []*StageSplit{&c.All, &c.Slowest, c.Failed} {
		if s == nil {
			continue
		}
		if s.N < 0 {
			return errors.New("want no negative count")
		}
		for i, p := range s.Stages {
			if p.Share < 0 || p.Share > 1 {
				return fmt.Errorf("%v: want a share of 0 to 1, have %v", Stage(i), p.Share)
			}
		}
	}
	for _, e := range c.Exemplars {
		if e.Latency < 0 || e.Rest < 0 || slices.ContainsFunc(e.Course, func(s StageSpan) bool { return s.For < 0 }) {
			return errors.New("exemplars: want no negative time")
		}
	}
	return nil
}
