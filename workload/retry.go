package workload

import (
	"time"

	"poolwise/sim"
	"poolwise/sim/dist"
	"poolwise/sim/record"
)

// retries is a compiled Retry.
type retries struct {
	pauses []time.Duration // after each attempt but the last
	jitter float64
	on     [record.NumOutcomes]bool
}

func newRetries(o *Retry) *retries {
	r := &retries{jitter: float64(o.Jitter)}
	factor, longest := valueOr(o.Factor, 2), valueOr(o.MaxBackoff, dist.Max)
	pause := float64(o.Backoff)
	for range o.Attempts - 1 {
		d := longest
		if pause < float64(longest) {
			d = time.Duration(pause)
		}
		r.pauses = append(r.pauses, d)
		pause *= factor
	}
	for _, f := range o.On {
		r.on[f] = true
	}
	if o.On == nil {
		for o := range record.NumOutcomes {
			r.on[o] = mayRetry(o)
		}
	}
	return r
}

// pause draws the pause after an attempt.
func (r *retries) pause(attempt uint8, draw *sim.Rand) time.Duration {
	d := r.pauses[attempt]
	if r.jitter > 0 {
		d = time.Duration(float64(d) * (1 - float64(r.jitter*draw.Unit())))
	}
	return d
}
