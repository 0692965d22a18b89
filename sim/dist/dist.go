// Package dist has the distributions of durations. A Distribution is plain data, as written in a scenario file; Sampler
// compiles it. Everything is computed so that the same draws give the same nanoseconds on every processor: logarithm,
// exponential and normal quantile are our own (see Log), with every product rounded before it is added.
//
// Samples are whole nanoseconds, never negative, and at most Max. All kinds but gamma, mixture and empirical are sampled by
// inversion of one uniform draw, so that equal draws mean equally long (or short) times under every setting. Mistakes in a
// Distribution are reported by Validate, with the path of the field; Sampler panics on one that Validate would refuse.
package dist

import (
	"fmt"
	"math"
	"time"

	"poolwise/sim"
)

// Max is the longest duration that a sampler returns, about 292 years; longer ones are cut to it.
const Max = time.Duration(math.MaxInt64)

// Distribution is one of the distributions; exactly one field but AtMost is set. The zero value is a constant 0. In a
// scenario file a bare duration (20ms) is a constant.
type Distribution struct {
	Constant    *time.Duration `yaml:"constant" doc:"always this long"`
	Uniform     *Uniform       `yaml:"uniform" doc:"evenly spread between two bounds"`
	Exponential *Exponential   `yaml:"exponential" doc:"exponential, given by its mean"`
	Lognormal   *Lognormal     `yaml:"lognormal" doc:"lognormal: two of p50, p90, p95, p99, mean; or mean and cv; or mu and sigma"`
	Gamma       *Gamma         `yaml:"gamma" doc:"gamma: shape, and mean or scale"`
	Weibull     *Weibull       `yaml:"weibull" doc:"Weibull: shape and scale"`
	Pareto      *Pareto        `yaml:"pareto" doc:"Pareto: min and shape, with max bounded"`
	Mixture     []Component    `yaml:"mixture" doc:"one of several distributions, by weight"`
	Empirical   *Empirical     `yaml:"empirical" doc:"measured samples, each as likely as any other"`
	AtMost      *time.Duration `yaml:"at_most" doc:"longer values are cut to this; default no cut"`
}

// Uniform is evenly spread over [Min, Max].
type Uniform struct {
	Min time.Duration `yaml:"min" doc:"shortest; default 0"`
	Max time.Duration `yaml:"max" doc:"longest, not below min"`
}

// Exponential is the distribution of the time between independent arrivals.
type Exponential struct {
	Mean time.Duration `yaml:"mean" doc:"mean, above 0"`
}

// Lognormal is the distribution of exp(Mu + Sigma*Z), Z a standard normal. It is given by one of these pairs: Mu and
// Sigma; Mean and CV; or any two of P50, P90, P95, P99 and Mean. A percentile above the mean fits two lognormals; the one
// of smaller Sigma is taken.
type Lognormal struct {
	Mu    *float64       `yaml:"mu" doc:"mean of the logarithm of the time in seconds"`
	Sigma *float64       `yaml:"sigma" doc:"standard deviation of that logarithm, not negative"`
	P50   *time.Duration `yaml:"p50" doc:"median"`
	P90   *time.Duration `yaml:"p90" doc:"90th percentile"`
	P95   *time.Duration `yaml:"p95" doc:"95th percentile"`
	P99   *time.Duration `yaml:"p99" doc:"99th percentile"`
	Mean  *time.Duration `yaml:"mean" doc:"mean"`
	CV    *float64       `yaml:"cv" doc:"coefficient of variation: standard deviation over mean"`
}

// Gamma has the mean Shape*Scale and the coefficient of variation 1/sqrt(Shape); a whole Shape is the Erlang distribution.
type Gamma struct {
	Shape float64        `yaml:"shape" doc:"shape, above 0"`
	Mean  *time.Duration `yaml:"mean" doc:"mean; this or scale"`
	Scale *time.Duration `yaml:"scale" doc:"scale; this or mean"`
}

// Weibull has P(X > x) = exp(-(x/Scale)^Shape).
type Weibull struct {
	Shape float64       `yaml:"shape" doc:"shape, above 0; below 1 the tail is heavy"`
	Scale time.Duration `yaml:"scale" doc:"scale: 63.2 % of the values are below it"`
}

// Pareto has P(X > x) = (Min/x)^Shape from Min on. With Max it is the bounded Pareto distribution: the same, given that X
// is at most Max.
type Pareto struct {
	Min   time.Duration  `yaml:"min" doc:"shortest, above 0"`
	Shape float64        `yaml:"shape" doc:"tail index, above 0; up to 1 the mean is infinite"`
	Max   *time.Duration `yaml:"max" doc:"longest; default no bound"`
}

// Component is one part of a mixture.
type Component struct {
	Weight float64      `yaml:"weight" doc:"share of this part relative to the sum of all weights, above 0"`
	Of     Distribution `yaml:"of" doc:"its distribution"`
}

// Empirical is a set of measured samples. Sampling picks one of them, each with the same probability. Where they stand in a
// file, whoever reads the scenario reads them into Samples before Sampler is called; this package opens no files.
type Empirical struct {
	File    string          `yaml:"file" doc:"CSV file with one sample a line; this or samples"`
	Column  string          `yaml:"column" doc:"name or number (from 1) of the column; default the first"`
	Unit    string          `yaml:"unit" doc:"unit of bare numbers in the file: ns, us, ms or s"`
	Samples []time.Duration `yaml:"samples" doc:"the samples themselves"`
}

// Fixed returns the distribution of one value.
func Fixed(d time.Duration) Distribution { return Distribution{Constant: &d} }

// IsZero reports whether nothing is set in d: it is a constant 0.
func (d Distribution) IsZero() bool { return len(d.kinds()) == 0 && d.AtMost == nil }

// IsFixed reports whether d, which must be valid, has only one value, and which.
func (d Distribution) IsFixed() (time.Duration, bool) {
	if c, ok := d.Sampler().(Constant); ok {
		return time.Duration(c), true
	}
	return 0, false
}

// UnmarshalText reads a bare duration such as 20ms.
func (d *Distribution) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = Fixed(v)
	return nil
}

// ParseDuration reads a duration that is not negative and has a unit, in the form of time.ParseDuration: 20ms, 1m30s.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("want a duration with its unit, such as 20ms or 1m30s, have %q", s)
	case s[len(s)-1] == '0': // time.ParseDuration takes a bare 0
		return 0, fmt.Errorf("want a duration with its unit, such as 0s or 20ms, have %q", s)
	case d < 0:
		return 0, fmt.Errorf("want a duration that is not negative, have %q", s)
	}
	return d, nil
}

// Sampler compiles d, which must be valid.
func (d Distribution) Sampler() sim.Sampler {
	s := d.uncut()
	if d.AtMost == nil {
		return s
	}
	if c, ok := s.(Constant); ok {
		return min(c, Constant(*d.AtMost))
	}
	return cut{s, *d.AtMost}
}

func (d Distribution) uncut() sim.Sampler {
	switch {
	case d.Constant != nil:
		return Constant(*d.Constant)
	case d.Uniform != nil:
		return d.Uniform.sampler()
	case d.Exponential != nil:
		return exponential(d.Exponential.Mean)
	case d.Lognormal != nil:
		mu, sigma, err := d.Lognormal.parameters()
		if err != nil {
			panic("dist: lognormal: " + err.Error())
		}
		return lognormal{mu, sigma}
	case d.Gamma != nil:
		return newGamma(d.Gamma.Shape, d.Gamma.scale())
	case d.Weibull != nil:
		return weibull{float64(d.Weibull.Scale), 1 / d.Weibull.Shape}
	case d.Pareto != nil:
		return newPareto(d.Pareto)
	case d.Mixture != nil:
		return newMixture(d.Mixture)
	case d.Empirical != nil:
		if len(d.Empirical.Samples) == 0 {
			panic("dist: the samples of an empirical distribution were not read")
		}
		return empirical(d.Empirical.Samples)
	}
	return Constant(0)
}
