package record

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Method is how a figure of two cells was compared.
type Method string

// The methods.
const (
	Paired     Method = "paired" // Student's t of the differences, replication by replication: both had the same luck
	Welch      Method = "welch"  // Welch's t (1947) of two independent samples, which may vary differently
	NoTest     Method = "none"   // one value each: a difference, but nothing to tell it from luck
	Unmeasured Method = "unmeasured"
)

// Contrast is what lies between a figure of two cells.
type Contrast struct {
	Method     Method
	Before     Float // mean of the replications that were compared, so that the difference is that of the two
	After      Float
	Difference Float   // after less before, with an interval at 95 % if there was a test
	P          float64 // of a test: how likely it is to see at least so large a difference where there is none
	N          [2]int  // replications that were compared, before and after
	Relative   Float   // the difference as a share of before; of times on a logarithmic scale, see Figure.Contrast
	Log        bool    // that scale was used, also for P
}

// Contrast compares a figure of two cells: pair by pair if their replications had the same seeds, otherwise by Welch's test.
// Replications in which it was not measured are left out. All values are taken to the nine digits of a saved result, so that
// such a one gives what the result gave that it was saved from.
//
// Times that are all above 0 are tested by their logarithms: they vary in proportion to their size, and cannot fall by more than all
// of it. Relative is then the ratio of the geometric means, less 1.
func (f Figure) Contrast(before, after *Cell, sameSeeds bool) Contrast {
	c := f.contrast(before, after, sameSeeds)
	if b := math.Abs(c.Before.Value); c.Difference.Known && b > 0 {
		d := c.Difference
		c.Relative = Float{Value: d.Value / b, Lo: d.Lo / b, Hi: d.Hi / b, Known: true, Interval: d.Interval}
	}
	if f.Unit() == unitDuration && c.Difference.Lo < c.Difference.Hi {
		c.logarithmic(logs(digits(f.Sample(before))), logs(digits(f.Sample(after))))
	}
	return c
}

// logarithmic takes the relative difference and P from the logarithms of the samples, if there are any.
func (c *Contrast) logarithmic(before, after []float64) {
	if before == nil || after == nil {
		return
	}
	compare := paired
	if c.Method == Welch {
		compare = welch
		before, after = finite(before), finite(after)
	}
	l, ok := compare(before, after)
	d := l.Difference
	ratio := Float{Value: math.Expm1(d.Value), Lo: math.Expm1(d.Lo), Hi: math.Expm1(d.Hi), Known: true, Interval: true}
	if ok && isFinite(ratio.Hi) && isFinite(math.Expm1(-d.Lo)) { // and so the other way round
		c.Relative, c.P, c.Log = ratio, l.P, true
	}
}

// logs returns the logarithms of a sample, nil unless all of what was measured is above 0.
func logs(v []float64) []float64 {
	if slices.ContainsFunc(v, func(x float64) bool { return x <= 0 }) {
		return nil
	}
	l := make([]float64, len(v))
	for i, x := range v {
		l[i] = math.Log(x)
	}
	return l
}

func (f Figure) contrast(before, after *Cell, sameSeeds bool) Contrast {
	b, a := digits(f.Sample(before)), digits(f.Sample(after))
	if sameSeeds && len(a) == len(b) {
		if c, ok := paired(b, a); ok {
			return c
		}
	}
	if c, ok := welch(finite(b), finite(a)); ok {
		return c
	}
	c := Contrast{Method: Unmeasured, Before: point(f.measure(before)), After: point(f.measure(after))}
	if c.Before.Known {
		c.N[0] = 1
	}
	if c.After.Known {
		c.N[1] = 1
	}
	if c.Before.Known && c.After.Known {
		c.Method, c.Difference = NoTest, ExactFloat(c.After.Value-c.Before.Value)
	}
	return c
}

// point is a figure without its interval, to nine digits.
func point(f Float) Float {
	if v := nineDigits(f.Value); f.Known && isFinite(v) {
		return ExactFloat(v)
	}
	return Float{}
}

func digits(v []float64) []float64 {
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = nineDigits(x)
	}
	return d
}

func finite(v []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return !isFinite(x) })
}

func isFinite(x float64) bool { return x-x == 0 }

// paired compares two samples of one length; there must be two pairs at least.
func paired(before, after []float64) (Contrast, bool) {
	var b, a, d []float64
	for i := range after {
		if x := after[i] - before[i]; isFinite(x) {
			b, a, d = append(b, before[i]), append(a, after[i]), append(d, x)
		}
	}
	if len(d) < 2 {
		return Contrast{}, false
	}
	mean, variance := moments(d)
	before1, _ := moments(b)
	after1, _ := moments(a)
	c := Contrast{Method: Paired, Before: ExactFloat(before1), After: ExactFloat(after1), N: [2]int{len(d), len(d)}}
	return c, c.test(mean, math.Sqrt(variance/float64(len(d))), float64(len(d)-1))
}

// welch compares two independent samples of two values at least.
func welch(before, after []float64) (Contrast, bool) {
	if len(before) < 2 || len(after) < 2 {
		return Contrast{}, false
	}
	mb, vb := moments(before)
	ma, va := moments(after)
	nb, na := float64(len(before)), float64(len(after))
	b, a := vb/nb, va/na
	// Welch and Satterthwaite's degrees of freedom.
	df := nb - 1
	if sum := a + b; sum > 0 {
		sa, sb := a/sum, b/sum
		df = 1 / (float64(sa*sa)/(na-1) + float64(sb*sb)/(nb-1))
	}
	c := Contrast{Method: Welch, Before: ExactFloat(mb), After: ExactFloat(ma), N: [2]int{len(before), len(after)}}
	return c, c.test(ma-mb, math.Sqrt(a+b), df)
}

// test sets the difference and its interval from its standard error, and how likely it is by chance. Without any variance there is
// no chance: the difference is what it is.
func (c *Contrast) test(diff, se, df float64) (ok bool) {
	if !isFinite(diff) || !isFinite(se) || !isFinite(c.Before.Value) || !isFinite(c.After.Value) {
		return false
	}
	t := distuv.StudentsT{Sigma: 1, Nu: df}
	half := 0.0
	switch {
	case se > 0:
		half = float64(t.Quantile(0.975) * se)
		c.P = min(2*t.CDF(-math.Abs(diff/se)), 1)
	case diff == 0:
		c.P = 1
	}
	c.Difference = Float{Value: diff, Lo: diff - half, Hi: diff + half, Known: true, Interval: true}
	return isFinite(half)
}

// moments returns the mean and the variance of a sample of two values at least.
func moments(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x - v[0] // so that equal values have exactly their mean, and no variance
	}
	mean = v[0] + mean/float64(len(v))
	for _, x := range v {
		d := x - mean
		variance += float64(d*d) / float64(len(v)-1)
	}
	return mean, variance
}

// Holm returns the values of p corrected for their number as Holm (1979) does: the chance of one false alarm or more among all
// whose corrected p is at most 5 % is at most 5 %, however they depend on each other.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	corrected := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(float64(len(p)-rank)*p[i], 1))
		corrected[i] = least
	}
	return corrected
}
