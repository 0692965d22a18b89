package dist

import (
	"time"
)

// Mean returns the mean of d, which must be valid; false if it is infinite or, with AtMost, not known in closed form.
func (d Distribution) Mean() (time.Duration, bool) {
	m, ok := d.mean()
	if !ok {
		return 0, false
	}
	return nanos(m), true
}

// mean is Mean in nanoseconds.
func (d *Distribution) mean() (float64, bool) {
	if d.AtMost != nil {
		c, fixed := d.IsFixed()
		return float64(c), fixed
	}
	switch {
	case d.Constant != nil:
		return float64(*d.Constant), true
	case d.Uniform != nil:
		return (float64(d.Uniform.Min) + float64(d.Uniform.Max)) / 2, true
	case d.Exponential != nil:
		return float64(d.Exponential.Mean), true
	case d.Lognormal != nil:
		mu, sigma, err := d.Lognormal.parameters()
		return Exp(mu + float64(0.5*sigma*sigma)), err == nil
	case d.Gamma != nil:
		return d.Gamma.Shape * d.Gamma.scale(), true
	case d.Weibull != nil:
		return float64(d.Weibull.Scale) * Exp(logGamma(1+1/d.Weibull.Shape)), true
	case d.Pareto != nil:
		return d.Pareto.mean()
	case d.Mixture != nil:
		sum, weights := 0.0, 0.0
		for i := range d.Mixture {
			m, ok := d.Mixture[i].Of.mean()
			if !ok {
				return 0, false
			}
			sum += float64(d.Mixture[i].Weight * m)
			weights += d.Mixture[i].Weight
		}
		return sum / weights, true
	case d.Empirical != nil:
		sum := 0.0
		for _, s := range d.Empirical.Samples {
			sum += float64(s)
		}
		return sum / float64(len(d.Empirical.Samples)), len(d.Empirical.Samples) > 0
	}
	return 0, true
}

func (p *Pareto) mean() (float64, bool) {
	a, low := p.Shape, float64(p.Min)
	switch {
	case p.Max == nil:
		return low * a / (a - 1), a > 1
	case *p.Max == p.Min:
		return low, true
	}
	high := float64(*p.Max)
	if a == 1 {
		return low / (1 - low/high) * Log(high/low), true
	}
	tail := Exp(a * Log(low/high))
	return a / (a - 1) * (low - float64(high*tail)) / (1 - tail), true
}

// logGamma returns the logarithm of the gamma function of x >= 1 by Stirling's series, beyond 10 good to 1e-13.
func logGamma(x float64) float64 {
	product := 1.0
	for x < 10 {
		product *= x
		x++
	}
	z := 1 / (x * x)
	series := 1.0/1260 - float64(z*(1.0/1680))
	series = 1.0/360 - float64(z*series)
	series = (1.0/12 - float64(z*series)) / x
	return float64((x-0.5)*Log(x)) - x + 0.91893853320467274178 + series - Log(product)
}
