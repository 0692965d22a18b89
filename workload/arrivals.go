package workload

import (
	"math"
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
)

// source gives the instants of arrival, in order. The draws that belong to arrival n are those of number n of a stream.
type source interface {
	next() (at sim.Time, ok bool)
}

// newSource compiles valid arrivals; stream gives the stream of a purpose, common that of one that a whole service has.
func newSource(a *Arrivals, stream, common func(purpose string) sim.Stream) source {
	var base source
	switch {
	case a.Poisson != nil:
		base = &flow{gaps: stream("arrivals"), ahead: []stretch{endless(*a.Poisson, PoissonSpacing)}}
	case a.Constant != nil:
		base = &flow{ahead: []stretch{endless(*a.Constant, ConstantSpacing)}, first: a.part.share()}
	case len(a.Phases) > 0:
		f := &flow{gaps: stream("arrivals"), first: a.part.share()}
		for i := range a.Phases {
			f.ahead = append(f.ahead, a.Phases[i].stretch())
		}
		base = f
	case a.Modulated != nil:
		base = &flow{gaps: stream("arrivals"), states: newStates(a.Modulated, common("states"))}
	case a.Trace != nil:
		base = a.part.dealt(&replay{a.Trace.Times})
	}
	if a.Bursts == nil || a.Bursts.Count != nil && *a.Bursts.Count == 0 {
		return base
	}
	bursts := &volleys{size: a.Bursts.Size, every: a.Bursts.Every, at: sim.Time(a.Bursts.Offset), left: math.MaxInt64}
	if a.Bursts.Count != nil {
		bursts.left = *a.Bursts.Count
	}
	if base == nil {
		return a.part.dealt(bursts)
	}
	return newMerged(base, a.part.dealt(bursts))
}

// stretch is a time in which the rate is a straight line. Its mass is the integral of the rate, the expected number of
// arrivals.
type stretch struct {
	length  time.Duration
	from    float64 // rate at its beginning, arrivals a second
	gap     float64 // its inverse: nanoseconds from one arrival to the next
	slope   float64 // change of the rate a second
	mass    float64
	spacing Spacing
}

func newStretch(length time.Duration, from, to dist.Rate, spacing Spacing) stretch {
	a, b, seconds := from.PerSecond(), to.PerSecond(), float64(length)/1e9
	s := stretch{length: length, from: a, gap: 1e9 / a, mass: float64((a + b) / 2 * seconds), spacing: spacing}
	if a != b {
		s.slope = (b - a) / seconds
	}
	return s
}

func endless(rate dist.Rate, spacing Spacing) stretch {
	r := rate.PerSecond()
	return stretch{length: dist.Max, from: r, gap: 1e9 / r, mass: math.Inf(1), spacing: spacing}
}

func (p *Phase) stretch() stretch {
	switch {
	case p.For == nil:
		return endless(p.Rate, p.Spacing)
	case p.To == nil:
		return newStretch(*p.For, p.Rate, p.Rate, p.Spacing)
	}
	return newStretch(*p.For, p.Rate, *p.To, p.Spacing)
}

// after returns how long after the beginning of the stretch the integral of the rate reaches mass.
func (s *stretch) after(mass float64) time.Duration {
	nanos := 0.0
	switch {
	case s.slope == 0:
		nanos = float64(mass * s.gap)
	case mass > 0: // the root of from*t + slope*t*t/2 = mass, in the form in which nothing cancels
		root := float64(s.from*s.from) + float64(2*s.slope*mass)
		nanos = 2e9 * mass / (s.from + math.Sqrt(max(root, 0)))
	}
	if nanos < float64(s.length) {
		return time.Duration(nanos + 0.5)
	}
	return s.length
}

// flow is arrivals at a rate that is made of stretches. Measured in mass, a Poisson process of any rate has exponential gaps
// of mean 1, and one of constant spacing has gaps of exactly 1.
type flow struct {
	gaps   sim.Stream
	first  float64   // mass before the first arrival of constant spacing
	ahead  []stretch // what follows
	states *states   // what follows after that, nil for nothing
	now    stretch
	began  sim.Time // of now
	used   float64  // mass of now up to the last arrival
	last   sim.Time
	n      int64
}

func (f *flow) next() (sim.Time, bool) {
	r := f.gaps.At(f.n)
	f.n++
	gap := 1.0
	if f.now.spacing == PoissonSpacing {
		gap = -dist.Log(r.Unit())
	}
	for f.used+gap >= f.now.mass {
		gap = max(gap-(f.now.mass-f.used), 0)
		spacing := f.now.spacing
		if !f.begin() {
			return 0, false
		}
		if f.now.spacing != spacing { // what is left of a gap of the other kind means nothing here
			gap = f.first
			if spacing == ConstantSpacing {
				gap = -dist.Log(r.Unit())
			}
		}
	}
	f.used += gap
	f.last = max(f.last, f.began.Add(f.now.after(f.used)))
	return f.last, f.last != sim.Forever
}

// begin goes on to the next stretch and reports whether there is one.
func (f *flow) begin() bool {
	f.began, f.used = f.began.Add(f.now.length), 0
	switch {
	case len(f.ahead) > 0:
		f.now, f.ahead = f.ahead[0], f.ahead[1:]
	case f.states != nil:
		f.now = f.states.next()
	default:
		f.now = stretch{spacing: f.now.spacing}
		return false
	}
	return f.began != sim.Forever
}

// states is the chain of a modulated process.
type states struct {
	rates  []dist.Rate
	stays  []sim.Sampler
	stream sim.Stream // 0: the first state; n: the n-th stay
	draws  sim.Rand   // of the present one
	n      int64
	i      int
}

func newStates(m *Modulated, stream sim.Stream) *states {
	s := &states{stream: stream}
	sum := 0.0
	for _, st := range m.States {
		s.rates = append(s.rates, st.Rate)
		s.stays = append(s.stays, dist.Distribution{Exponential: &dist.Exponential{Mean: st.MeanStay}}.Sampler())
		sum += float64(st.MeanStay)
	}
	if m.Stationary { // what is left of a stay is as long as a whole one: an exponential time has no memory
		s.draws = stream.At(0)
		u := float64(s.draws.Unit() * sum)
		for s.i < len(m.States)-1 && u >= float64(m.States[s.i].MeanStay) {
			u -= float64(m.States[s.i].MeanStay)
			s.i++
		}
	}
	return s
}

func (s *states) next() stretch {
	s.n++
	s.draws = s.stream.At(s.n)
	rate := s.rates[s.i]
	st := newStretch(s.stays[s.i].Sample(&s.draws), rate, rate, PoissonSpacing)
	s.i = (s.i + 1) % len(s.rates)
	return st
}

// volleys are bursts.
type volleys struct {
	size  int
	every time.Duration
	at    sim.Time // of the next
	fired int      // of it
	left  int64
}

func (v *volleys) next() (sim.Time, bool) {
	if v.fired == v.size {
		v.fired = 0
		v.at = v.at.Add(v.every)
		v.left--
	}
	if v.left == 0 || v.at == sim.Forever {
		return 0, false
	}
	v.fired++
	return v.at, true
}

// replay is arrivals at given times.
type replay struct{ times []sim.Time }

func (r *replay) next() (sim.Time, bool) {
	if len(r.times) == 0 {
		return 0, false
	}
	at := r.times[0]
	r.times = r.times[1:]
	return at, true
}

// merged is the arrivals of two sources.
type merged struct {
	of [2]source
	at [2]sim.Time // the next of each, Forever if there is none
}

func newMerged(a, b source) *merged {
	m := &merged{of: [2]source{a, b}}
	m.fetch(0)
	m.fetch(1)
	return m
}

func (m *merged) fetch(i int) {
	at, ok := m.of[i].next()
	if !ok {
		at = sim.Forever
	}
	m.at[i] = at
}

func (m *merged) next() (sim.Time, bool) {
	i := 0
	if m.at[1] < m.at[0] {
		i = 1
	}
	at := m.at[i]
	if at == sim.Forever {
		return 0, false
	}
	m.fetch(i)
	return at, true
}
