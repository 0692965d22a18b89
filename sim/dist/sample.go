package dist

import (
	"math"
	"time"

	"poolwise/sim"
)

// Constant is the distribution of one value. It takes no draw.
type Constant time.Duration

// Sample implements sim.Sampler.
func (c Constant) Sample(*sim.Rand) time.Duration { return time.Duration(c) }

// nanos rounds x nanoseconds to a duration within 0 and Max.
func nanos(x float64) time.Duration {
	switch {
	case x <= 0:
		return 0
	case x < 0x1p62:
		return time.Duration(float64(x) + 0.5)
	case x < 0x1p63:
		return time.Duration(x)
	}
	return Max
}

type cut struct {
	of     sim.Sampler
	atMost time.Duration
}

func (c cut) Sample(r *sim.Rand) time.Duration { return min(c.of.Sample(r), c.atMost) }

type uniform struct{ min, width float64 }

func (u *Uniform) sampler() sim.Sampler {
	if u.Min == u.Max {
		return Constant(u.Min)
	}
	return uniform{float64(u.Min), float64(u.Max - u.Min)}
}

func (u uniform) Sample(r *sim.Rand) time.Duration {
	return nanos(u.min + float64(u.width*r.Unit()))
}

// exponential is -mean*ln(U).
type exponential float64 // the mean in nanoseconds

func (e exponential) Sample(r *sim.Rand) time.Duration {
	return nanos(float64(e) * -Log(r.Unit()))
}

type lognormal struct{ mu, sigma float64 } // of the logarithm of nanoseconds

func (l lognormal) Sample(r *sim.Rand) time.Duration {
	return nanos(Exp(l.mu + float64(l.sigma*NormalQuantile(r.Unit()))))
}

// gamma is sampled by rejection from a normal (Marsaglia and Tsang, A simple method for generating gamma variables, 2000),
// about 1.05 rounds of two draws. A shape below 1 takes one draw more, to scale down the next higher shape.
type gamma struct {
	scale    float64
	d, c     float64
	invShape float64 // 0 for a shape of at least 1
}

func newGamma(shape, scale float64) gamma {
	g := gamma{scale: scale}
	if shape < 1 {
		g.invShape = 1 / shape
		shape++
	}
	g.d = shape - 1.0/3
	g.c = 1 / math.Sqrt(9*g.d)
	return g
}

func (g gamma) Sample(r *sim.Rand) time.Duration {
	for {
		x := NormalQuantile(r.Unit())
		u := r.Unit()
		v := 1 + float64(g.c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		if Log(u) < float64(0.5*x*x)+g.d-float64(g.d*v)+float64(g.d*Log(v)) {
			y := g.scale * g.d * v
			if g.invShape > 0 {
				y *= Exp(g.invShape * Log(r.Unit()))
			}
			return nanos(y)
		}
	}
}

type weibull struct{ scale, invShape float64 }

func (w weibull) Sample(r *sim.Rand) time.Duration {
	return nanos(w.scale * Exp(w.invShape*Log(-Log(r.Unit()))))
}

// pareto is min * V^(-1/shape) with V uniform in (tail, 1), where tail = (min/max)^shape, 0 without a bound.
type pareto struct{ min, negInvShape, tail, max float64 }

func newPareto(p *Pareto) sim.Sampler {
	s := pareto{min: float64(p.Min), negInvShape: -1 / p.Shape, max: math.Inf(1)}
	if p.Max != nil {
		if *p.Max == p.Min {
			return Constant(p.Min)
		}
		s.max = float64(*p.Max)
		s.tail = Exp(p.Shape * Log(s.min/s.max))
	}
	return s
}

func (p pareto) Sample(r *sim.Rand) time.Duration {
	v := p.tail + float64((1-p.tail)*r.Unit())
	return nanos(min(p.min*Exp(p.negInvShape*Log(v)), p.max))
}

// mixture picks a part with one draw and leaves the following ones to it.
type mixture struct {
	upTo []float64 // sum of the weights up to and with each part, over the sum of all; the last is 1
	of   []sim.Sampler
}

func newMixture(parts []Component) mixture {
	var m mixture
	total := 0.0
	for _, p := range parts {
		total += p.Weight
	}
	sum := 0.0
	for _, p := range parts {
		sum += p.Weight
		m.upTo = append(m.upTo, sum/total)
		m.of = append(m.of, p.Of.Sampler())
	}
	m.upTo[len(parts)-1] = 1
	return m
}

func (m mixture) Sample(r *sim.Rand) time.Duration {
	u := r.Unit()
	i := 0
	for u >= m.upTo[i] {
		i++
	}
	return m.of[i].Sample(r)
}

type empirical []time.Duration

func (e empirical) Sample(r *sim.Rand) time.Duration { return e[r.Below(len(e))] }
