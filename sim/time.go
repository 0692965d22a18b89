package sim

import (
	"math"
	"time"
)

// Time is an instant of simulated time, in nanoseconds from the start of the run. It is never negative.
type Time int64

// Forever is later than every event: the horizon of a run that ends when nothing is left to do.
const Forever Time = math.MaxInt64

// Add returns t+d; past the end of time it is Forever.
func (t Time) Add(d time.Duration) Time {
	if u := t + Time(d); u >= t || d < 0 {
		return u
	}
	return Forever
}

// Sub returns t-u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// String prints t as a duration, 1.5s.
func (t Time) String() string {
	if t == Forever {
		return "forever"
	}
	return time.Duration(t).String()
}
