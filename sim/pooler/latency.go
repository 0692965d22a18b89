package pooler

import (
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
)

// latency is a compiled distribution: drawn, or always the same, then with a timer lane of its own.
type latency struct {
	sampler  sim.Sampler // nil if it is constant
	constant time.Duration
	lane     bool
	delay    sim.Delay
}

// nothing takes no time.
var nothing latency

func newLatency(sm *sim.Sim, d dist.Distribution) latency {
	c, fixed := d.IsFixed()
	switch {
	case !fixed:
		return latency{sampler: d.Sampler()}
	case c == 0:
		return nothing
	}
	return latency{constant: c, lane: true, delay: sm.Delay(c)}
}

// none reports whether the latency is always 0.
func (l *latency) none() bool { return l.sampler == nil && l.constant == 0 }

func (l *latency) sample(r *sim.Rand) time.Duration {
	if l.sampler == nil {
		return l.constant
	}
	return l.sampler.Sample(r)
}
