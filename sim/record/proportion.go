package record

import "math"

// mergeFailedRate estimates the share of failed requests. With replications it has an interval: Student's t of the shares of
// the replications. Where failures are few, which makes t too narrow or, without any, nothing at all, it is at least the
// interval of a proportion.
func mergeFailedRate(parts [][]*Part) Float {
	var ended, failed int64
	f := acrossFloat(len(parts), func(i int) (float64, bool) {
		var e, bad int64
		for _, p := range parts[i] {
			e += p.Requests.OK + p.Requests.Failed
			bad += p.Requests.Failed
		}
		ended += e
		failed += bad
		return float64(bad) / float64(e), e > 0
	})
	if !f.Known {
		return f
	}
	f.Value = float64(failed) / float64(ended)
	if !f.Interval {
		f.Lo, f.Hi = f.Value, f.Value
		return f
	}
	if min(failed, ended-failed) < fewFailures {
		lo, hi := proportion(failed, ended)
		f.Lo, f.Hi = min(f.Lo, lo), max(f.Hi, hi)
	}
	f.Lo, f.Hi = min(f.Lo, f.Value), min(max(f.Hi, f.Value), 1)
	return f
}

// Exact reports whether all replications came to the same, to the nanosecond: then nothing was left to chance, and what they agree in
// has no interval.
func (c *Cell) Exact() bool {
	for i := range c.Each {
		a, b := &c.Each[0], &c.Each[i]
		if a.Requests != b.Requests || a.Makespan != b.Makespan || a.Latency != b.Latency || a.FailedAfter != b.FailedAfter || a.Wait != b.Wait {
			return false
		}
	}
	return len(c.Each) > 1 && c.Makespan.Value > 0
}

// exact takes the interval off a share that is the same in all replications.
func (f *Float) exact() {
	if f.Known {
		f.Lo, f.Hi = f.Value, f.Value
	}
}

// Clean reports whether requests were served and none failed, or so few that nobody can tell them from none: less than one in a
// thousand, and no more than 5 (against none elsewhere, they are chance with p = 2/2^5 = 0.06) or in so few of the replications that
// the interval of their share begins at 0. Some may be unfinished at the end of the run.
func (c *Cell) Clean() bool {
	q := c.Requests
	switch {
	case q.OK == 0:
		return false
	case q.Failed == 0:
		return true
	}
	return q.Failed < q.OK/1000 && (q.Failed <= 5 || c.FailedRate.Interval && c.FailedRate.Lo == 0)
}

// fewFailures is below how many failures (or successes) the distribution of their share is too lopsided for Student's t alone.
const fewFailures = 30

// proportion returns the interval at 95 % of the probability of an event that happened k times in n trials: Wilson's (1927); if
// it never or always happened, the rule of three, 3/n away from that.
func proportion(k, n int64) (lo, hi float64) {
	x, m := float64(k), float64(n)
	switch k {
	case 0:
		return 0, min(3/m, 1)
	case n:
		return max(1-3/m, 0), 1
	}
	const z = 1.959963984540054
	p := x / m
	centre := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(float64(p*(1-p))/m+z*z/(4*m*m))
	return max(centre-half, 0), min(centre+half, 1)
}
