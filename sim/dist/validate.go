package dist

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// kinds returns the fields of d that are set, AtMost aside.
func (d *Distribution) kinds() []kind {
	var set []kind
	add := func(isSet bool, name string, validate func(bad func(path, message string))) {
		if isSet {
			set = append(set, kind{name, validate})
		}
	}
	add(d.Constant != nil, "constant", func(bad func(string, string)) { notNegative(bad, "", *d.Constant) })
	add(d.Uniform != nil, "uniform", d.Uniform.validate)
	add(d.Exponential != nil, "exponential", d.Exponential.validate)
	add(d.Lognormal != nil, "lognormal", d.Lognormal.validate)
	add(d.Gamma != nil, "gamma", d.Gamma.validate)
	add(d.Weibull != nil, "weibull", d.Weibull.validate)
	add(d.Pareto != nil, "pareto", d.Pareto.validate)
	add(d.Mixture != nil, "mixture", func(bad func(string, string)) { validateMixture(d.Mixture, bad) })
	add(d.Empirical != nil, "empirical", d.Empirical.validate)
	return set
}

type kind struct {
	name     string
	validate func(bad func(path, message string))
}

// Validate reports every mistake in d: the path of the field below d and what is wrong with it.
func (d Distribution) Validate(bad func(path, message string)) {
	set := d.kinds()
	var names []string
	for _, k := range set {
		names = append(names, k.name)
		k.validate(under(bad, k.name))
	}
	if len(set) > 1 {
		bad("", "want one distribution, have "+strings.Join(names, " and "))
	}
	if d.AtMost != nil {
		positive(bad, "at_most", *d.AtMost)
		if len(set) == 0 {
			bad("at_most", "there is no distribution to cut")
		}
	}
}

func (e *Exponential) validate(bad func(path, message string)) { positive(bad, "mean", e.Mean) }

func (w *Weibull) validate(bad func(path, message string)) {
	positiveFloat(bad, "shape", w.Shape)
	positive(bad, "scale", w.Scale)
}

func (u *Uniform) validate(bad func(path, message string)) {
	notNegative(bad, "min", u.Min)
	if u.Max < u.Min {
		bad("max", fmt.Sprintf("want at least min (%v), have %v", u.Min, u.Max))
	}
}

func (l *Lognormal) validate(bad func(path, message string)) {
	before := 0
	count := func(path, message string) { before++; bad(path, message) }
	for _, f := range l.durations() {
		if f.value != nil {
			positive(count, f.name, *f.value)
		}
	}
	if l.CV != nil {
		positiveFloat(count, "cv", *l.CV)
	}
	if l.Sigma != nil && !(*l.Sigma >= 0 && *l.Sigma <= maxSigma) {
		count("sigma", fmt.Sprintf("want a number from 0 to %v, have %v", maxSigma, *l.Sigma))
	}
	if l.Mu != nil && !(math.Abs(*l.Mu) <= maxMu) {
		count("mu", fmt.Sprintf("want a number from -%v to %v, have %v", maxMu, maxMu, *l.Mu))
	}
	if before > 0 {
		return
	}
	if _, _, err := l.parameters(); err != nil {
		bad("", err.Error())
	}
}

func (g *Gamma) validate(bad func(path, message string)) {
	positiveFloat(bad, "shape", g.Shape)
	switch {
	case (g.Mean == nil) == (g.Scale == nil):
		bad("", "want one of mean and scale beside shape")
	case g.Mean != nil:
		positive(bad, "mean", *g.Mean)
	default:
		positive(bad, "scale", *g.Scale)
	}
}

func (p *Pareto) validate(bad func(path, message string)) {
	positive(bad, "min", p.Min)
	positiveFloat(bad, "shape", p.Shape)
	if p.Max != nil && *p.Max < p.Min {
		bad("max", fmt.Sprintf("want at least min (%v), have %v", p.Min, *p.Max))
	}
}

func validateMixture(parts []Component, bad func(path, message string)) {
	if len(parts) == 0 {
		bad("", "want at least one part, such as [{weight: 1, of: 5ms}]")
	}
	for i, p := range parts {
		bad := under(bad, fmt.Sprintf("[%d]", i))
		positiveFloat(bad, "weight", p.Weight)
		p.Of.Validate(under(bad, "of"))
	}
}

func (e *Empirical) validate(bad func(path, message string)) {
	switch {
	case e.File == "" && len(e.Samples) == 0:
		bad("", "want a file or a list of samples")
	case e.File == "" && e.Column != "":
		bad("column", "there is no file")
	case e.File == "" && e.Unit != "":
		bad("unit", "there is no file")
	}
	switch e.Unit {
	case "", "ns", "us", "ms", "s":
	default:
		bad("unit", fmt.Sprintf("want ns, us, ms or s, have %q", e.Unit))
	}
	for i, d := range e.Samples {
		notNegative(bad, fmt.Sprintf("samples[%d]", i), d)
	}
}

// Bounds of a lognormal's parameters: beyond them every sample would be 0 or Max.
const (
	maxMu    = 100.0
	maxSigma = 20.0
)

type namedDuration struct {
	name  string
	value *time.Duration
	z     float64 // the standard normal quantile, NaN for the mean
}

func (l *Lognormal) durations() [5]namedDuration {
	return [5]namedDuration{
		{"p50", l.P50, 0},
		{"p90", l.P90, NormalQuantile(0.90)},
		{"p95", l.P95, NormalQuantile(0.95)},
		{"p99", l.P99, NormalQuantile(0.99)},
		{"mean", l.Mean, math.NaN()},
	}
}

// parameters returns mu and sigma of the logarithm of nanoseconds, or what is wrong with the figures together.
func (l *Lognormal) parameters() (mu, sigma float64, err error) {
	var set []namedDuration
	for _, f := range l.durations() {
		if f.value != nil {
			set = append(set, f)
		}
	}
	log := func(f namedDuration) float64 { return Log(float64(*f.value)) }
	switch {
	case l.Mu != nil && l.Sigma != nil && l.CV == nil && len(set) == 0:
		return *l.Mu + Log(1e9), *l.Sigma, nil
	case l.Mu != nil || l.Sigma != nil || l.CV != nil && (l.Mean == nil || len(set) != 1) || l.CV == nil && len(set) != 2:
		return 0, 0, errors.New("want two of p50, p90, p95, p99 and mean; or mean and cv; or mu and sigma")
	case l.CV != nil:
		sigma = math.Sqrt(Log(1 + float64(*l.CV**l.CV)))
		return log(set[0]) - float64(0.5*sigma*sigma), sigma, nil
	}
	a, b := set[0], set[1] // in rising order of percentile; the mean is last
	if b.name != "mean" {
		sigma = (log(b) - log(a)) / (b.z - a.z)
		if sigma < 0 {
			return 0, 0, fmt.Errorf("%s (%v) is above %s (%v)", a.name, *a.value, b.name, *b.value)
		}
	} else {
		// ln a = mu + z sigma and ln mean = mu + sigma^2/2, so sigma^2/2 - z sigma + (ln a - ln mean) = 0.
		root := float64(a.z*a.z) - float64(2*(log(a)-log(b)))
		switch {
		case root < 0 && a.z == 0:
			return 0, 0, fmt.Errorf("the mean (%v) of a lognormal is not below its p50 (%v)", *b.value, *a.value)
		case root < 0:
			return 0, 0, fmt.Errorf("no lognormal of mean %v has its %s at %v: at most %.4g times the mean", *b.value, a.name, *a.value, Exp(a.z*a.z/2))
		}
		root = math.Sqrt(root)
		if sigma = a.z - root; sigma < 0 {
			sigma = a.z + root
		}
	}
	return log(a) - float64(a.z*sigma), sigma, nil
}

func (g *Gamma) scale() float64 {
	if g.Mean != nil {
		return float64(*g.Mean) / g.Shape
	}
	return float64(*g.Scale)
}

// under returns a bad for what lies below path.
func under(bad func(path, message string), path string) func(string, string) {
	return func(p, message string) {
		if p != "" && p[0] != '[' {
			p = "." + p
		}
		bad(path+p, message)
	}
}

func positive(bad func(path, message string), path string, d time.Duration) {
	if d <= 0 {
		bad(path, fmt.Sprintf("want a duration above 0, have %v", d))
	}
}

func notNegative(bad func(path, message string), path string, d time.Duration) {
	if d < 0 {
		bad(path, fmt.Sprintf("want a duration that is not negative, have %v", d))
	}
}

func positiveFloat(bad func(path, message string), path string, x float64) {
	if !(x > 0 && x <= 1e9) {
		bad(path, fmt.Sprintf("want a number above 0 and at most 1e9, have %v", x))
	}
}
