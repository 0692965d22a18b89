package server

import (
	"fmt"
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
)

// QuerySpec is a query as a scenario has it: a service time (5ms, {exponential: {mean: 5ms}}), which is one cpu phase, or a
// list of phases: {phases: [{io: 20ms}, {cpu: {exponential: {mean: 8ms}}}]}.
type QuerySpec struct {
	Service dist.Distribution `yaml:",inline" doc:"the service time of one cpu phase"`
	Phases  []Phase           `yaml:"phases" doc:"what the query does, in order; instead of a service time"`
}

// Phase is a part of a query; exactly one of CPU, IO and Lock is set.
type Phase struct {
	CPU    *dist.Distribution `yaml:"cpu" doc:"time on a core, beside the wait for one"`
	IO     *dist.Distribution `yaml:"io" doc:"time without a core: a disk, a lock"`
	Lock   string             `yaml:"lock" doc:"name of a table; the query locks a row of it, when nobody else has it locked, to the end of its transaction, or to its own end without one"`
	Rows   *int               `yaml:"rows" doc:"count, at least 1, default 1; rows of the table, of which lock takes any one"`
	Chance *dist.Probability  `yaml:"chance" doc:"probability that the phase takes place at all; default 1"`
}

// UnmarshalText reads a bare duration.
func (q *QuerySpec) UnmarshalText(text []byte) error {
	q.Phases = nil
	return q.Service.UnmarshalText(text)
}

// Validate reports every mistake in q.
func (q *QuerySpec) Validate(bad func(path, message string)) {
	q.Service.Validate(bad)
	if q.Phases == nil {
		return
	}
	if !q.Service.IsZero() {
		bad("phases", "want phases or one service time, have both")
	}
	if len(q.Phases) == 0 {
		bad("phases", "want at least one phase, such as {cpu: 5ms}")
	}
	for i, p := range q.Phases {
		bad := under(bad, fmt.Sprintf("phases[%d]", i))
		set := 0
		if p.CPU != nil {
			set++
			p.CPU.Validate(under(bad, "cpu"))
		}
		if p.IO != nil {
			set++
			p.IO.Validate(under(bad, "io"))
		}
		if p.Lock != "" {
			set++
		}
		if set != 1 {
			bad("", "want one of cpu, io and lock")
		}
		switch {
		case p.Rows != nil && *p.Rows < 1:
			bad("rows", fmt.Sprintf("want 1 or more, have %d", *p.Rows))
		case p.Rows != nil && p.Lock == "":
			bad("rows", "are those of the table of a lock")
		}
		if p.Chance != nil {
			p.Chance.Validate(under(bad, "chance"))
		}
	}
}

// Query is a compiled query, for servers of one Sim and with the same TimerOverhead. It is never changed by a run.
type Query struct {
	phases  []phase
	draws   bool // it takes random draws
	control control
}

func (q *Query) add(p phase) {
	q.phases = append(q.phases, p)
	q.draws = q.draws || p.sampler != nil || p.chance < 1 || p.rows > 1
}

type phase struct {
	latency
	cpu    bool
	chance float64 // 1 takes no draw
	table  uint64  // not 0: it locks one of its rows
	rows   int
}

// Compile compiles q, which must be valid, for servers of sm with the options o.
func (q *QuerySpec) Compile(sm *sim.Sim, o *Options) *Query {
	c := &Query{}
	if q.Phases == nil {
		c.add(phase{latency: newLatency(sm, q.Service, o.TimerOverhead), cpu: true, chance: 1})
	}
	for _, p := range q.Phases {
		ph := phase{cpu: p.CPU != nil, chance: 1}
		if p.Rows != nil {
			ph.rows = *p.Rows
		}
		if p.Chance != nil {
			ph.chance = float64(*p.Chance)
		}
		switch {
		case p.CPU != nil:
			ph.latency = newLatency(sm, *p.CPU, o.TimerOverhead)
		case p.IO != nil:
			ph.latency = newLatency(sm, *p.IO, o.TimerOverhead)
		default:
			ph.table = tableOf(p.Lock)
		}
		c.add(ph)
	}
	return c
}

// Compile compiles q, which must be valid, for this server.
func (s *Server) Compile(q *QuerySpec) *Query { return q.Compile(s.sim, &s.opts) }

// latency is a compiled distribution: drawn, or always the same, then with a timer lane of its own.
type latency struct {
	sampler  sim.Sampler // nil if it is constant
	constant time.Duration
	lane     bool
	delay    sim.Delay     // with a lane: of constant and overhead together
	overhead time.Duration // of the timer, for a time that is not 0
}

func newLatency(sm *sim.Sim, d dist.Distribution, overhead time.Duration) latency {
	return compileLatency(sm, d.Sampler(), overhead)
}

func compileLatency(sm *sim.Sim, s sim.Sampler, overhead time.Duration) latency {
	l := latency{sampler: s, overhead: overhead}
	if c, ok := s.(dist.Constant); ok {
		l.sampler, l.constant = nil, time.Duration(c)
		if c > 0 {
			l.lane, l.delay = true, sm.Delay(plus(l.constant, overhead))
		}
	}
	return l
}

// none reports whether the latency is always 0.
func (l *latency) none() bool { return l.sampler == nil && l.constant == 0 }

// sample draws the time without the timer's overhead.
func (l *latency) sample(r *sim.Rand) time.Duration {
	if l.sampler == nil {
		return l.constant
	}
	return l.sampler.Sample(r)
}

// withOverhead adds the timer's overhead to a time that is not 0.
func (l *latency) withOverhead(d time.Duration) time.Duration {
	if d == 0 {
		return 0
	}
	return plus(d, l.overhead)
}

// sum is the time of two things one after the other.
type sum struct{ a, b sim.Sampler }

func (s sum) Sample(r *sim.Rand) time.Duration { return plus(s.a.Sample(r), s.b.Sample(r)) }

func newSum(a, b dist.Distribution) sim.Sampler {
	x, xFixed := a.IsFixed()
	y, yFixed := b.IsFixed()
	if xFixed && yFixed {
		return dist.Constant(plus(x, y))
	}
	return sum{a.Sampler(), b.Sampler()}
}

// plus adds durations that are not negative; past the end it is dist.Max.
func plus(a, b time.Duration) time.Duration {
	if c := a + b; c >= 0 {
		return c
	}
	return dist.Max
}
