package dist

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"poolwise/sim"
)

const ms = time.Millisecond

func ptr[T any](v T) *T { return &v }

func lognormal2(l Lognormal) Distribution { return Distribution{Lognormal: &l} }

// cases are distributions with the distribution function that they must have, in milliseconds, and their mean where there is one.
var cases = []struct {
	name string
	d    Distribution
	cdf  func(x float64) float64
	mean float64
}{
	{"uniform", Distribution{Uniform: &Uniform{Min: 2 * ms, Max: 12 * ms}}, distuv.Uniform{Min: 2, Max: 12}.CDF, 7},
	{"exponential", Distribution{Exponential: &Exponential{Mean: 5 * ms}}, distuv.Exponential{Rate: 0.2}.CDF, 5},
	{"lognormal/mu sigma", lognormal2(Lognormal{Mu: ptr(math.Log(0.005)), Sigma: ptr(0.8)}),
		distuv.LogNormal{Mu: math.Log(5), Sigma: 0.8}.CDF, 5 * math.Exp(0.32)},
	{"lognormal/mean cv", lognormal2(Lognormal{Mean: ptr(5 * ms), CV: ptr(2.0)}),
		distuv.LogNormal{Mu: math.Log(5) - math.Log(5)/2, Sigma: math.Sqrt(math.Log(5))}.CDF, 5},
	{"lognormal/p50 p99", lognormal2(Lognormal{P50: ptr(5 * ms), P99: ptr(40 * ms)}),
		distuv.LogNormal{Mu: math.Log(5), Sigma: math.Log(8) / distuv.UnitNormal.Quantile(0.99)}.CDF, math.NaN()},
	{"lognormal/p50 mean", lognormal2(Lognormal{P50: ptr(150 * ms), Mean: ptr(300 * ms)}),
		distuv.LogNormal{Mu: math.Log(150), Sigma: math.Sqrt(2 * math.Ln2)}.CDF, 300},
	{"gamma/shape 4", Distribution{Gamma: &Gamma{Shape: 4, Mean: ptr(20 * ms)}}, distuv.Gamma{Alpha: 4, Beta: 0.2}.CDF, 20},
	{"gamma/shape 0.3", Distribution{Gamma: &Gamma{Shape: 0.3, Scale: ptr(1000 * time.Second)}}, distuv.Gamma{Alpha: 0.3, Beta: 1e-6}.CDF, 300e3},
	{"gamma/shape 1", Distribution{Gamma: &Gamma{Shape: 1, Scale: ptr(10 * ms)}}, distuv.Exponential{Rate: 0.1}.CDF, 10},
	{"weibull/shape 0.5", Distribution{Weibull: &Weibull{Shape: 0.5, Scale: 5 * ms}}, distuv.Weibull{K: 0.5, Lambda: 5}.CDF, 10},
	{"weibull/shape 3", Distribution{Weibull: &Weibull{Shape: 3, Scale: 5 * ms}}, distuv.Weibull{K: 3, Lambda: 5}.CDF,
		distuv.Weibull{K: 3, Lambda: 5}.Mean()},
	{"pareto", Distribution{Pareto: &Pareto{Min: 2 * ms, Shape: 2.5}}, distuv.Pareto{Xm: 2, Alpha: 2.5}.CDF, 2 * 2.5 / 1.5},
	{"pareto/bounded", Distribution{Pareto: &Pareto{Min: 2 * ms, Shape: 1.2, Max: ptr(50 * ms)}}, func(x float64) float64 {
		whole := distuv.Pareto{Xm: 2, Alpha: 1.2}
		return min(whole.CDF(x)/whole.CDF(50), 1)
	}, 1.2 / 0.2 * (2 - 50*math.Pow(2.0/50, 1.2)) / (1 - math.Pow(2.0/50, 1.2))},
	{"mixture", Distribution{Mixture: []Component{
		{3, Distribution{Exponential: &Exponential{Mean: 5 * ms}}}, {1, Distribution{Uniform: &Uniform{Min: 40 * ms, Max: 60 * ms}}},
	}}, func(x float64) float64 {
		return 0.75*distuv.Exponential{Rate: 0.2}.CDF(x) + 0.25*distuv.Uniform{Min: 40, Max: 60}.CDF(x)
	}, 0.75*5 + 0.25*50},
}

// draw returns n samples, each of a number of its own.
func draw(d Distribution, n int) []time.Duration {
	s, stream := d.Sampler(), sim.NewStream(1, "test")
	out := make([]time.Duration, n)
	for i := range out {
		r := stream.At(int64(i))
		out[i] = s.Sample(&r)
	}
	return out
}

// TestGoodnessOfFit compares 100000 samples with the distribution function by the test of Kolmogorov and Smirnov, at a level
// of 0.1 %: sqrt(n)*D stays below 1.949 with probability 0.999. The seed is fixed, so the test either always fails or never.
func TestGoodnessOfFit(t *testing.T) {
	const n = 100_000
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.d.Validate(func(path, message string) { t.Fatalf("%s: %s", path, message) })
			samples := draw(c.d, n)
			slices.Sort(samples)
			d := 0.0
			for i, s := range samples {
				f := c.cdf(float64(s) / 1e6)
				d = max(d, f-float64(i)/n, float64(i+1)/n-f)
			}
			if k := math.Sqrt(n) * d; k > 1.949 {
				t.Errorf("sqrt(n)*D = %.3f", k)
			}
		})
	}
}

func TestMean(t *testing.T) {
	const n = 400_000
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mean, ok := c.d.Mean()
			if !ok {
				t.Fatal("no mean")
			}
			if !math.IsNaN(c.mean) && math.Abs(float64(mean)/1e6-c.mean) > 1e-6 { // a nanosecond
				t.Errorf("mean %v, want %vms", mean, c.mean)
			}
			sum, squares := 0.0, 0.0
			for _, s := range draw(c.d, n) {
				sum += float64(s)
				squares += float64(s) * float64(s)
			}
			se := math.Sqrt((squares/n-sum/n*sum/n)/n) + 1
			if math.Abs(sum/n-float64(mean)) > 4*se {
				t.Errorf("mean %v, the samples have %v +- %v", mean, time.Duration(sum/n), time.Duration(se))
			}
		})
	}
	for name, d := range map[string]Distribution{
		"pareto of shape 1": {Pareto: &Pareto{Min: ms, Shape: 1}},
		"cut":               {Exponential: &Exponential{Mean: ms}, AtMost: ptr(2 * ms)},
		"mixture of them":   {Mixture: []Component{{1, Distribution{Pareto: &Pareto{Min: ms, Shape: 0.5}}}}},
	} {
		if m, ok := d.Mean(); ok {
			t.Errorf("%s: mean %v, want none", name, m)
		}
	}
	for name, c := range map[string]struct {
		d    Distribution
		want time.Duration
	}{
		"zero":           {Distribution{}, 0},
		"constant":       {Fixed(7 * ms), 7 * ms},
		"cut constant":   {Distribution{Constant: ptr(7 * ms), AtMost: ptr(5 * ms)}, 5 * ms},
		"empirical":      {Distribution{Empirical: &Empirical{Samples: []time.Duration{1, 2, 6}}}, 3},
		"pareto, 1":      {Distribution{Pareto: &Pareto{Min: time.Second, Shape: 1, Max: ptr(2 * time.Second)}}, 1386294361}, // 2 ln 2 s
		"pareto, narrow": {Distribution{Pareto: &Pareto{Min: ms, Shape: 3, Max: ptr(ms)}}, ms},
	} {
		if m, ok := c.d.Mean(); !ok || m != c.want {
			t.Errorf("%s: mean %v %v, want %v", name, m, ok, c.want)
		}
	}
}

// TestQuantiles checks the percentiles that a lognormal is given by.
func TestQuantiles(t *testing.T) {
	for _, c := range []struct {
		l    Lognormal
		want map[float64]time.Duration
		mean time.Duration // 0: not given
	}{
		{Lognormal{P50: ptr(5 * ms), P90: ptr(20 * ms)}, map[float64]time.Duration{0.5: 5 * ms, 0.9: 20 * ms}, 0},
		{Lognormal{P95: ptr(30 * ms), P99: ptr(90 * ms)}, map[float64]time.Duration{0.95: 30 * ms, 0.99: 90 * ms}, 0},
		{Lognormal{Mean: ptr(10 * ms), P99: ptr(40 * ms)}, map[float64]time.Duration{0.99: 40 * ms}, 10 * ms},
		{Lognormal{Mean: ptr(10 * ms), P95: ptr(4 * ms)}, map[float64]time.Duration{0.95: 4 * ms}, 10 * ms}, // below the mean
		{Lognormal{P50: ptr(5 * ms), P99: ptr(5 * ms)}, map[float64]time.Duration{0.5: 5 * ms, 0.99: 5 * ms}, 5 * ms},
	} {
		mu, sigma, err := c.l.parameters()
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range c.want {
			got := math.Exp(mu + sigma*distuv.UnitNormal.Quantile(p))
			if math.Abs(got/float64(want)-1) > 1e-12 {
				t.Errorf("%+v: p%v = %v, want %v", c.l, 100*p, time.Duration(got), want)
			}
		}
		if got := math.Exp(mu + sigma*sigma/2); c.mean > 0 && math.Abs(got/float64(c.mean)-1) > 1e-12 {
			t.Errorf("%+v: mean %v, want %v", c.l, time.Duration(got), c.mean)
		}
	}
	// Of the two lognormals with this mean and percentile the one of smaller sigma: by hand, z - sqrt(z^2 - 2 ln 4).
	if _, sigma, _ := (&Lognormal{Mean: ptr(10 * ms), P99: ptr(40 * ms)}).parameters(); math.Abs(sigma-0.70175) > 1e-4 {
		t.Errorf("sigma %v", sigma)
	}
}

// TestDraws pins how many draws a sample takes: by it the draws of one number stay where they are.
func TestDraws(t *testing.T) {
	want := map[string]uint64{"mixture": 2}
	for _, c := range append(cases, struct {
		name string
		d    Distribution
		cdf  func(float64) float64
		mean float64
	}{name: "empirical", d: Distribution{Empirical: &Empirical{Samples: []time.Duration{1, 2, 3}}}}) {
		if strings.HasPrefix(c.name, "gamma") {
			continue // by rejection
		}
		n := want[c.name]
		if n == 0 {
			n = 1
		}
		r := sim.NewStream(1, "draws").At(3)
		after := r
		for range n {
			after.Bits()
		}
		if c.d.Sampler().Sample(&r); r != after {
			t.Errorf("%s: not %d draws", c.name, n)
		}
	}
	r := sim.NewStream(1, "draws").At(3)
	if before := r; Fixed(ms).Sampler().Sample(&r) != ms || r != before {
		t.Error("a constant takes a draw")
	}
}

func TestCut(t *testing.T) {
	d := Distribution{Exponential: &Exponential{Mean: 5 * ms}}
	plain := draw(d, 10000)
	d.AtMost = ptr(8 * ms)
	for i, s := range draw(d, 10000) {
		if s != min(plain[i], 8*ms) {
			t.Fatalf("sample %d is %v, uncut %v", i, s, plain[i])
		}
	}
}

// TestNarrow: distributions without width have one value, and are known to.
func TestNarrow(t *testing.T) {
	for _, d := range []Distribution{{}, Fixed(0), {Uniform: &Uniform{Min: ms, Max: ms}}, {Pareto: &Pareto{Min: ms, Shape: 2, Max: ptr(ms)}}} {
		want, ok := d.IsFixed()
		if got := draw(d, 1)[0]; !ok || got != want || want != 0 && want != ms {
			t.Errorf("%+v: fixed %v at %v, sampled %v", d, ok, want, got)
		}
	}
	if _, ok := (Distribution{Exponential: &Exponential{Mean: ms}}).IsFixed(); ok {
		t.Error("an exponential distribution is fixed")
	}
	if !(Distribution{}).IsZero() || Fixed(0).IsZero() || (Distribution{AtMost: ptr(ms)}).IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestEmpirical(t *testing.T) {
	count := map[time.Duration]int{}
	for _, s := range draw(Distribution{Empirical: &Empirical{Samples: []time.Duration{1, 5, 5, 9}}}, 40000) {
		count[s]++
	}
	for s, want := range map[time.Duration]float64{1: 10000, 5: 20000, 9: 10000} { // within 4 standard deviations
		if math.Abs(float64(count[s])-want) > 4*math.Sqrt(want) {
			t.Errorf("%d was drawn %d times of 40000", s, count[s])
		}
	}
	if len(count) != 3 {
		t.Errorf("drawn: %v", count)
	}
}

// TestExtremes: whatever valid parameters there are, a sample is within 0 and Max.
func TestExtremes(t *testing.T) {
	for _, d := range []Distribution{
		{Exponential: &Exponential{Mean: Max}},
		{Exponential: &Exponential{Mean: 1}},
		{Uniform: &Uniform{Max: Max}},
		lognormal2(Lognormal{Mu: ptr(maxMu), Sigma: ptr(maxSigma)}),
		lognormal2(Lognormal{Mu: ptr(-maxMu), Sigma: ptr(maxSigma)}),
		{Gamma: &Gamma{Shape: 1e9, Mean: ptr(Max)}},
		{Gamma: &Gamma{Shape: 1e-9, Mean: ptr(Max)}},
		{Gamma: &Gamma{Shape: 1e-3, Scale: ptr(time.Duration(1))}},
		{Weibull: &Weibull{Shape: 1e-9, Scale: Max}},
		{Weibull: &Weibull{Shape: 1e9, Scale: 1}},
		{Pareto: &Pareto{Min: Max, Shape: 1e-9}},
		{Pareto: &Pareto{Min: 1, Shape: 1e9, Max: ptr(Max)}},
		{Pareto: &Pareto{Min: 1, Shape: 1e-9, Max: ptr(Max)}},
	} {
		d.Validate(func(path, message string) { t.Errorf("%s: %s", path, message) })
		for _, s := range draw(d, 2000) {
			if s < 0 {
				t.Fatalf("%+v: %v", d, s)
			}
		}
		if m, ok := d.Mean(); ok && m < 0 {
			t.Errorf("%+v: mean %v", d, m)
		}
	}
	for x, want := range map[float64]time.Duration{-1: 0, 0.4: 0, 0.5: 1, 1e18 + 0.25: 1e18, 0x1p62: 1 << 62, 0x1p63: Max, math.Inf(1): Max} {
		if got := nanos(x); got != want {
			t.Errorf("nanos(%v) = %d, want %d", x, got, want)
		}
	}
	if got := nanos(math.NaN()); got != Max {
		t.Errorf("nanos(NaN) = %d", got)
	}
}

// TestSameBits pins the samples to the bit, by a hash: they are part of the promise that a run is the same on every machine. The
// values have no other reason than that they must not differ between processors, nor change unnoticed between versions.
func TestSameBits(t *testing.T) {
	h := fnv.New64a()
	for _, c := range cases {
		for _, s := range draw(c.d, 1000) {
			binary.Write(h, binary.LittleEndian, int64(s))
		}
	}
	if got, want := fmt.Sprintf("%016x", h.Sum64()), "19ab244979d3fa58"; got != want {
		t.Errorf("the samples hash to %s, want %s", got, want)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		d    Distribution
		want string // paths, in order
	}{
		{Distribution{}, ""},
		{Fixed(0), ""},
		{Fixed(-1), "constant"},
		{Distribution{Constant: ptr(ms), Exponential: &Exponential{Mean: ms}}, "-"},
		{Distribution{Uniform: &Uniform{Min: -1, Max: -2}}, "uniform.min uniform.max"},
		{Distribution{Exponential: &Exponential{}}, "exponential.mean"},
		{Distribution{Gamma: &Gamma{Shape: math.NaN(), Mean: ptr(ms), Scale: ptr(ms)}}, "gamma.shape gamma"},
		{Distribution{Gamma: &Gamma{Shape: 1}}, "gamma"},
		{Distribution{Gamma: &Gamma{Shape: 1, Mean: ptr(-ms)}}, "gamma.mean"},
		{Distribution{Gamma: &Gamma{Shape: 1, Scale: ptr(-ms)}}, "gamma.scale"},
		{Distribution{Weibull: &Weibull{}}, "weibull.shape weibull.scale"},
		{Distribution{Pareto: &Pareto{Max: ptr(-ms)}}, "pareto.min pareto.shape pareto.max"},
		{Distribution{Pareto: &Pareto{Min: 2 * ms, Shape: math.Inf(1), Max: ptr(ms)}}, "pareto.shape pareto.max"},
		{Distribution{Mixture: []Component{}}, "mixture"},
		{Distribution{Mixture: []Component{{0, Fixed(-1)}, {1, Distribution{Uniform: &Uniform{Max: -1}}}}},
			"mixture[0].weight mixture[0].of.constant mixture[1].of.uniform.max"},
		{Distribution{Empirical: &Empirical{}}, "empirical"},
		{Distribution{Empirical: &Empirical{Column: "1", Unit: "min"}}, "empirical empirical.unit"},
		{Distribution{Empirical: &Empirical{File: "a.csv", Unit: "m"}}, "empirical.unit"},
		{Distribution{Empirical: &Empirical{Samples: []time.Duration{1, -1}, Column: "x"}}, "empirical.column empirical.samples[1]"},
		{Distribution{AtMost: ptr(ms)}, "at_most"},
		{Distribution{Constant: ptr(ms), AtMost: ptr(-ms)}, "at_most"},
		{lognormal2(Lognormal{}), "lognormal"},
		{lognormal2(Lognormal{P50: ptr(ms)}), "lognormal"},
		{lognormal2(Lognormal{P50: ptr(ms), P90: ptr(2 * ms), P99: ptr(3 * ms)}), "lognormal"},
		{lognormal2(Lognormal{Mu: ptr(0.0)}), "lognormal"},
		{lognormal2(Lognormal{Mu: ptr(0.0), Sigma: ptr(1.0), Mean: ptr(ms)}), "lognormal"},
		{lognormal2(Lognormal{CV: ptr(1.0), P50: ptr(ms)}), "lognormal"},
		{lognormal2(Lognormal{P50: ptr(-ms), P90: ptr(time.Duration(0))}), "lognormal.p50 lognormal.p90"},
		{lognormal2(Lognormal{P50: ptr(2 * ms), P90: ptr(ms)}), "lognormal"},     // falling
		{lognormal2(Lognormal{P50: ptr(2 * ms), Mean: ptr(ms)}), "lognormal"},    // the mean is never below the median
		{lognormal2(Lognormal{P99: ptr(1000 * ms), Mean: ptr(ms)}), "lognormal"}, // at most 15 times the mean
		{lognormal2(Lognormal{Mu: ptr(math.NaN()), Sigma: ptr(-1.0)}), "lognormal.sigma lognormal.mu"},
		{lognormal2(Lognormal{Mean: ptr(ms), CV: ptr(math.Inf(1))}), "lognormal.cv"},
	} {
		var paths []string
		c.d.Validate(func(path, message string) {
			if path == "" {
				path = "-"
			}
			paths = append(paths, path)
			if message == "" {
				t.Errorf("%s: no message", path)
			}
		})
		if got := strings.Join(paths, " "); got != c.want {
			t.Errorf("%+v: mistakes at %q, want %q", c.d, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"20ms": 20 * ms, "1m30s": 90 * time.Second, "0s": 0, "1.5ms": 1500 * time.Microsecond, "7ns": 7, "2us": 2000, "-0s": 0,
		"": -1, "0": -1, "20": -1, "-5ms": -1, "5 ms": -1, "5m s": -1, "x": -1, "NaN": -1, "1d": -1, "+0": -1, "300000h": time.Duration(300000) * time.Hour, "9999999h": -1,
	} {
		var d Distribution
		err := d.UnmarshalText([]byte(text))
		if got, fixed := d.IsFixed(); err == nil && (!fixed || got != want) || (err != nil) != (want < 0) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]float64{
		"200/s": 200, "12/m": 0.2, "12/min": 0.2, "3/h": 3.0 / 3600, "0.5/ms": 500, "1 / s": 1, "0/s": 0, "1e3/s": 1000,
		"": -1, "200": -1, "/s": -1, "200/": -1, "200/d": -1, "-1/s": -1, "NaN/s": -1, "Inf/s": -1, "0x10/s": -1, "1_0/s": -1, "1e10/s": -1, "1/s/s": -1,
	} {
		var r Rate
		if err := r.UnmarshalText([]byte(text)); (err != nil) != (want < 0) || err == nil && r.PerSecond() != want {
			t.Errorf("%q: %v, %v; want %v", text, r, err, want)
		}
	}
	if s := Rate(0.25).String(); s != "0.25/s" {
		t.Errorf("0.25/s prints as %s", s)
	}
	for r, want := range map[Rate]time.Duration{200: 5 * ms, 0.2: 5 * time.Second, 0: Max, 1e-300: Max, 3: 333333333} {
		if got := r.Interval(); got != want {
			t.Errorf("%v: one in %v, want %v", r, got, want)
		}
	}
	for text, want := range map[string]float64{
		"0.1": 0.1, "10%": 0.1, "0": 0, "1": 1, "100%": 1, "0 %": 0, "1e-3": 0.001,
		"": -1, "%": -1, "1.1": -1, "101%": -1, "-0.1": -1, "NaN": -1, "inf": -1, "0x1p-2": -1, "10%%": -1,
	} {
		var p Probability
		if err := p.UnmarshalText([]byte(text)); (err != nil) != (want < 0) || err == nil && float64(p) != want {
			t.Errorf("%q: %v, %v; want %v", text, p, err, want)
		}
	}
	for _, p := range []Probability{-0.1, 1.1, Probability(math.NaN())} {
		n := 0
		if p.Validate(func(string, string) { n++ }); n != 1 {
			t.Errorf("%v passes as a probability", p)
		}
	}
}

// FuzzText: any text gives an error or a value within its bounds, and what is not a duration is none here.
func FuzzText(f *testing.F) {
	for _, s := range []string{"20ms", "0", "-1s", "200/s", "12/m", "10%", "0.1", "NaN", "1e999/s", "µs", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil {
			if want, err := time.ParseDuration(s); err != nil || d != want || d < 0 {
				t.Errorf("%q: %v, package time has %v, %v", s, d, want, err)
			}
			if last := s[len(s)-1]; last >= '0' && last <= '9' {
				t.Errorf("%q has no unit", s)
			}
		}
		var r Rate
		if r.UnmarshalText([]byte(s)) == nil && (!(r >= 0 && r <= 1e9) || r.Interval() <= 0) {
			t.Errorf("%q: %v", s, r)
		}
		var p Probability
		if p.UnmarshalText([]byte(s)) == nil && !(p >= 0 && p <= 1) {
			t.Errorf("%q: %v", s, p)
		}
	})
}

func BenchmarkSample(b *testing.B) {
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			s, stream := c.d.Sampler(), sim.NewStream(1, "bench")
			i := int64(0)
			var r sim.Rand
			b.ReportAllocs()
			for b.Loop() {
				r = stream.At(i)
				s.Sample(&r)
				i++
			}
		})
	}
}
