package record

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// This file has intervals at other levels than 95 %. Who makes many statements and wants all of them to hold together needs
// intervals that miss less often each: alpha is the chance that one misses. With alpha = 0.05 they are those of Measure and
// Evaluate.

// MeasureAt is Measure with an interval that misses with the chance alpha.
func (f Figure) MeasureAt(c *Cell, alpha float64) Float {
	v := f.measure(c)
	if !v.Known {
		return v
	}
	if s := known(f.Sample(c)); len(s) > 1 {
		mean, half := studentTAt(s, alpha)
		v.Lo, v.Hi, v.Interval = min(v.Value, max(mean-half, 0)), max(v.Value, mean+half), true
	} else if v.Interval {
		// A percentile that no replication has samples enough for, but all of them together have.
		wider := quantileT(alpha, c.Replications-1) / quantileT(0.05, c.Replications-1)
		v.Lo, v.Hi = max(v.Value-float64(wider*(v.Value-v.Lo)), 0), v.Value+float64(wider*(v.Hi-v.Value))
	} else {
		v.Lo, v.Hi = v.Value, v.Value
		return v
	}
	if f.metric.name == "failed_rate" && !c.Exact() {
		f.widen(&v, c, alpha)
	}
	return v
}

// widen makes the interval of a share of failed requests at least that of a proportion where failures are few, as
// mergeFailedRate does.
func (f Figure) widen(v *Float, c *Cell, alpha float64) {
	if f.service != "" {
		c = c.service(f.service)
	}
	failed, ended := c.Requests.Failed, c.Requests.OK+c.Requests.Failed
	if min(failed, ended-failed) < fewFailures {
		lo, hi := proportionAt(failed, ended, alpha)
		v.Lo, v.Hi = min(v.Lo, lo), max(v.Hi, hi)
	}
	v.Hi = min(v.Hi, 1)
}

// proportionAt is proportion at another level: Wilson's interval, or the generalised rule of three.
func proportionAt(k, n int64, alpha float64) (lo, hi float64) {
	x, m := float64(k), float64(n)
	switch k {
	case 0:
		return 0, min(-math.Log(alpha)/m, 1)
	case n:
		return max(1+math.Log(alpha)/m, 0), 1
	}
	z := distuv.UnitNormal.Quantile(1 - alpha/2)
	p, zz := x/m, float64(z*z)
	centre := (p + zz/(2*m)) / (1 + zz/m)
	half := z / (1 + zz/m) * math.Sqrt(float64(p*(1-p))/m+zz/float64(4*m*m))
	return max(centre-half, 0), min(centre+half, 1)
}

// EvaluateAt is Evaluate with an interval that misses with the chance alpha.
func (e Expr) EvaluateAt(c *Cell, alpha float64) Check {
	k := Check{Expr: e.String(), Settings: c.Settings, Status: NotEvaluated, Unit: e.metric.unit}
	f := e.MeasureAt(c, alpha)
	if !f.Known || e.against {
		return k
	}
	k.Value, k.Lo, k.Hi = exactly(f.Value), exactly(f.Lo), exactly(f.Hi)
	k.Status = e.judge(f.Lo, f.Hi, e.limit)
	return k
}

// EvaluateValue judges the value alone, as if it had no interval.
func (e Expr) EvaluateValue(c *Cell) Status {
	f := e.measure(c)
	if !f.Known || e.against {
		return NotEvaluated
	}
	return e.judge(f.Value, f.Value, e.limit)
}

// PairedAt estimates the mean difference a - b of two samples, pair by pair, with an interval that misses with the chance alpha,
// and returns the mean of b beside it. What one sample has more than the other, and pairs of which one was not measured, are left
// out; without two pairs nothing is known.
func PairedAt(a, b []float64, alpha float64) (base float64, difference Float) {
	var d, of []float64
	for i := range min(len(a), len(b)) {
		if x := a[i] - b[i]; isFinite(x) {
			d, of = append(d, x), append(of, b[i])
		}
	}
	if len(d) < 2 {
		return 0, Float{}
	}
	base, _ = moments(of)
	return base, MeanAt(d, alpha)
}

// MeanAt estimates the mean of a sample with an interval that misses with the chance alpha; what was not measured is left out, and
// without two values nothing is known.
func MeanAt(sample []float64, alpha float64) Float {
	v := finite(sample)
	if len(v) < 2 {
		return Float{}
	}
	mean, half := studentTAt(v, alpha)
	return Float{Value: mean, Lo: mean - half, Hi: mean + half, Known: true, Interval: true}
}

// studentTAt returns the mean of two values or more and half the width of its interval.
func studentTAt(v []float64, alpha float64) (mean, half float64) {
	mean, variance := moments(v)
	if variance == 0 {
		return mean, 0
	}
	return mean, quantileT(alpha, len(v)-1) * math.Sqrt(variance/float64(len(v)))
}

// quantileT is the two-sided quantile of Student's t.
func quantileT(alpha float64, df int) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(df)}.Quantile(1 - alpha/2)
}

// Excess returns by how much a value misses the limit, as a share of the limit, or as it is if the limit is 0. The excess of a
// value that meets the limit is not above 0.
func (e Expr) Excess(v float64) float64 {
	x := v - e.limit
	switch e.op {
	case ">", ">=":
		x = -x
	case "==":
		x = math.Abs(x)
	case "!=":
		x = -math.Abs(x)
	}
	if e.limit != 0 {
		x /= math.Abs(e.limit)
	}
	return x
}
