package digest

import (
	"math"
	"time"

	"poolwise/sim/record"
)

// Step is a point of a percentile curve: so many values, which are at least Percentile of them, are at most Value.
type Step struct {
	Percentile float64 // 0..100
	Value      time.Duration
	Count      int64
}

// Percentiles returns the curve of a histogram, ticks points for each halving of the distance to 100 %, the last at 100 %: the
// steps of HdrHistogram's percentile output.
func Percentiles(h *record.Histogram, ticks int) []Step {
	if h == nil || h.N() == 0 {
		return nil
	}
	n := float64(h.N())
	var steps []Step
	var p float64
	for _, bar := range h.Cumulative() {
		for reached := 100 * float64(bar.Count) / n; p <= reached; {
			steps = append(steps, Step{p, bar.Value, bar.Count})
			if bar.Count == h.N() {
				break
			}
			_, halvings := math.Frexp(100 / (100 - p)) // p is a short binary fraction: this is exact
			p += 100 / (float64(ticks) * math.Ldexp(1, halvings))
		}
	}
	return append(steps, Step{100, h.Max(), h.N()})
}
