package workload

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"poolwise/sim"
	"poolwise/sim/dist"
)

func sourceOf(a Arrivals, seed uint64) source {
	stream := func(purpose string) sim.Stream { return sim.NewStream(seed, purpose) }
	return newSource(&a, stream, stream)
}

// take returns up to n arrivals before end.
func take(s source, n int, end sim.Time) []sim.Time {
	var times []sim.Time
	for len(times) < n {
		at, ok := s.next()
		if !ok || at >= end {
			break
		}
		times = append(times, at)
	}
	return times
}

const second = sim.Time(time.Second)

// near fails unless got is within tolerance (absolute) of want.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, want %v within %v", what, got, want, tolerance)
	}
}

// counts returns how many of the times lie in each of n windows.
func counts(times []sim.Time, window time.Duration, n int) []float64 {
	c := make([]float64, n)
	for _, at := range times {
		if i := int(int64(at) / int64(window)); i < n {
			c[i]++
		}
	}
	return c
}

func meanAndVariance(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(x)-1)
}

// TestPoissonCounts holds poisson arrivals to what defines them: counts of disjoint windows have equal mean and variance and
// are not correlated, and gaps are exponential. All bounds are five standard errors.
func TestPoissonCounts(t *testing.T) {
	const rate, windows = 200.0, 20_000
	const perWindow = rate / 10
	times := take(sourceOf(Arrivals{Poisson: ptr(dist.Rate(rate))}, 1), math.MaxInt, windows/10*second)
	c := counts(times, 100*time.Millisecond, windows)
	mean, variance := meanAndVariance(c)
	near(t, "mean count", mean, perWindow, 5*math.Sqrt(perWindow/windows))
	near(t, "dispersion", variance/mean, 1, 5*math.Sqrt(2.0/windows))
	covariance := 0.0
	for i := range windows - 1 {
		covariance += (c[i] - mean) * (c[i+1] - mean)
	}
	near(t, "correlation of neighbours", covariance/variance/windows, 0, 5/math.Sqrt(windows))

	// Kolmogorov and Smirnov: the greatest distance of the gaps from exp(rate); 1.95/sqrt(n) is exceeded once in a thousand.
	var gaps []float64
	for i := range times[1:] {
		gaps = append(gaps, times[i+1].Sub(times[i]).Seconds())
	}
	slices.Sort(gaps)
	distance := 0.0
	for i, g := range gaps {
		f := 1 - math.Exp(-rate*g)
		distance = max(distance, math.Abs(f-float64(i)/float64(len(gaps))), math.Abs(f-float64(i+1)/float64(len(gaps))))
	}
	near(t, "distance from the exponential distribution", distance, 0, 1.95/math.Sqrt(float64(len(gaps))))
}

// TestConstantArrivals: the k-th of r a second comes at k/r, without any drift.
func TestConstantArrivals(t *testing.T) {
	for _, rate := range []float64{1, 3, 200, 1e6 / 7} {
		times := take(sourceOf(Arrivals{Constant: ptr(dist.Rate(rate))}, 1), 1_000_000, sim.Forever)
		for k, at := range times {
			if want := float64(k) / rate * 1e9; math.Abs(float64(at)-want) > 1 {
				t.Fatalf("arrival %d at %v/s comes at %d ns, want %v", k, rate, at, want)
			}
		}
	}
	at200 := take(sourceOf(Arrivals{Constant: ptr(dist.Rate(200))}, 1), math.MaxInt, second)
	if len(at200) != 200 || at200[199] != sim.Time(995*time.Millisecond) {
		t.Errorf("200/s for a second: %d arrivals, the last at %v", len(at200), at200[len(at200)-1])
	}
}

// TestConstantPhases: arrivals are where the integral of the rate reaches a whole number.
func TestConstantPhases(t *testing.T) {
	ms := func(v float64) sim.Time { return sim.Time(math.Round(v * 1e6)) }
	for _, c := range []struct {
		about  string
		phases []Phase
		want   []sim.Time
	}{
		{"a ramp from 0 to 8/s in 2 s has the integral 2t^2", []Phase{
			{For: ptr(2 * time.Second), To: ptr(dist.Rate(8)), Spacing: ConstantSpacing},
		}, []sim.Time{0, ms(1e3 * math.Sqrt(0.5)), ms(1e3), ms(1e3 * math.Sqrt(1.5)), ms(1e3 * math.Sqrt(2)), ms(1e3 * math.Sqrt(2.5)),
			ms(1e3 * math.Sqrt(3)), ms(1e3 * math.Sqrt(3.5))}},
		{"a ramp down to 0: 4t - t^2, so 2 - sqrt(4-k)", []Phase{
			{For: ptr(2 * time.Second), Rate: 4, To: ptr(dist.Rate(0)), Spacing: ConstantSpacing},
		}, []sim.Time{0, ms(1e3 * (2 - math.Sqrt(3))), ms(1e3 * (2 - math.Sqrt(2))), ms(1e3)}},
		{"half an arrival of one phase counts in the next; a pause does not", []Phase{
			{For: ptr(500 * time.Millisecond), Rate: 3, Spacing: ConstantSpacing},
			{For: ptr(10 * time.Second), Rate: 0, Spacing: ConstantSpacing},
			{For: ptr(time.Second), Rate: 1, Spacing: ConstantSpacing},
		}, []sim.Time{0, ms(1e3 / 3.0), ms(11e3)}},
		{"the end of a phase belongs to the next", []Phase{
			{For: ptr(time.Second), Rate: 2, Spacing: ConstantSpacing},
			{For: ptr(time.Second), Rate: 4, Spacing: ConstantSpacing},
		}, []sim.Time{0, ms(500), ms(1000), ms(1250), ms(1500), ms(1750)}},
		{"the last phase may go on for ever", []Phase{
			{For: ptr(time.Second), Rate: 1, Spacing: ConstantSpacing},
			{Rate: 2, Spacing: ConstantSpacing},
		}, []sim.Time{0, ms(1000), ms(1500), ms(2000), ms(2500), ms(3000), ms(3500), ms(4000), ms(4500)}},
	} {
		got := take(sourceOf(Arrivals{Phases: c.phases}, 1), 9, sim.Forever)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.about, d)
		}
	}
}

// TestPoissonPhases compares the counts of many runs with the integral of the rate, window by window.
func TestPoissonPhases(t *testing.T) {
	phases := []Phase{
		{For: ptr(10 * time.Second), Rate: 100, To: ptr(dist.Rate(300))},
		{For: ptr(5 * time.Second), Rate: 0},
		{For: ptr(5 * time.Second), Rate: 40, Spacing: ConstantSpacing},
		{For: ptr(10 * time.Second), Rate: 300, To: ptr(dist.Rate(0))},
	}
	const runs = 400
	sum := make([]float64, 30)
	for seed := range uint64(runs) {
		times := take(sourceOf(Arrivals{Phases: phases}, seed), math.MaxInt, sim.Forever)
		if !slices.IsSorted(times) || times[len(times)-1] >= 30*second {
			t.Fatal("arrivals go back or beyond the last phase")
		}
		for i, n := range counts(times, time.Second, 30) {
			sum[i] += n
		}
	}
	for i := range sum {
		x := float64(i)
		want := 0.0
		switch {
		case i < 10:
			want = 100 + 20*(x+0.5)
		case i < 15:
		case i < 20:
			want = 40
			near(t, "count of a second of constant spacing", sum[i]/runs, 40, 0)
		default:
			want = 300 - 30*(x-20+0.5)
		}
		near(t, "mean count", sum[i]/runs, want, 5*math.Sqrt(want/runs))
	}
}

// TestModulated holds the long-run rate of a modulated process to sum(rate*stay)/sum(stay), its counts to more dispersion than
// a Poisson process has, and a stationary beginning to the same rate in the first instant.
func TestModulated(t *testing.T) {
	m := Modulated{States: []ModulatedState{
		{Rate: 50, MeanStay: 2 * time.Second}, {Rate: 500, MeanStay: 200 * time.Millisecond}, {Rate: 0, MeanStay: time.Second},
	}}
	const want = (50*2 + 500*0.2) / (2 + 0.2 + 1)
	const n = 40_000
	c := counts(take(sourceOf(Arrivals{Modulated: &m}, 1), math.MaxInt, n*second), time.Second, n)
	mean, variance := meanAndVariance(c)
	// Neighbouring seconds are correlated: batches of a hundred are not, and their spread gives the standard error.
	var batches []float64
	for i := 0; i < n; i += 100 {
		b, _ := meanAndVariance(c[i : i+100])
		batches = append(batches, b)
	}
	_, spread := meanAndVariance(batches)
	near(t, "rate", mean, want, 5*math.Sqrt(spread/float64(len(batches))))
	if variance < 10*mean {
		t.Errorf("counts have variance %v at mean %v: these rates make it far larger", variance, mean)
	}

	const runs = 20_000
	first := func(stationary bool) float64 {
		m := m
		m.Stationary = stationary
		n := 0
		for seed := range uint64(runs) {
			n += len(take(sourceOf(Arrivals{Modulated: &m}, seed), math.MaxInt, second/1000))
		}
		return float64(n) / runs * 1000
	}
	near(t, "rate of the first millisecond", first(false), 50, 5*math.Sqrt(50.0*1000/runs)+1) // 1: states may change in it
	near(t, "rate of the first millisecond, stationary", first(true), want, 5*math.Sqrt((want+500*0.5)*1000/runs))
}

func TestBurstsAndTraces(t *testing.T) {
	b := Arrivals{
		Trace:  &Trace{Times: []sim.Time{1, 5, 5, 9}},
		Bursts: &Bursts{Size: 2, Every: 4, Offset: 1, Count: ptr(int64(3))},
	}
	if d := cmp.Diff([]sim.Time{1, 1, 1, 5, 5, 5, 5, 9, 9, 9}, take(sourceOf(b, 1), math.MaxInt, sim.Forever)); d != "" {
		t.Errorf("bursts over a trace (-want +got):\n%s", d)
	}
}

// TestSourcesEnd: what goes beyond the end of time is no arrival.
func TestSourcesEnd(t *testing.T) {
	for _, a := range []Arrivals{
		{Constant: ptr(dist.Rate(1e-9))},
		{Poisson: ptr(dist.Rate(1e-12))},
		{Bursts: &Bursts{Size: 1, Every: dist.Max / 2}},
		{Phases: []Phase{{For: ptr(dist.Max), Rate: 0}, {For: ptr(dist.Max), Rate: 1}}},
	} {
		if n := len(take(sourceOf(a, 1), 1000, sim.Forever)); n > 20 {
			t.Errorf("%+v: %d arrivals", a, n)
		}
	}
}

// TestSourcesGoForward tries random arrivals: times never go back, and a source that has ended stays so.
func TestSourcesGoForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawArrivals(t)
		s := sourceOf(a, rapid.Uint64().Draw(t, "seed"))
		times := take(s, 200, sim.Forever)
		if !slices.IsSorted(times) {
			t.Fatalf("%v", times)
		}
		if len(times) < 200 {
			if at, ok := s.next(); ok {
				t.Fatalf("ended, and then %v", at)
			}
		}
		var bad []string
		(&Options{Arrivals: &a, Request: []Step{call(dist.Fixed(1))}}).Validate(func(path, message string) {
			bad = append(bad, path+": "+message)
		})
		if len(bad) > 0 {
			t.Fatalf("%+v is drawn as valid: %v", a, bad)
		}
	})
}

// drawArrivals draws valid arrivals.
func drawArrivals(t *rapid.T) Arrivals {
	rates := rapid.Map(rapid.Float64Range(0.01, 1e5), func(f float64) dist.Rate { return dist.Rate(f) })
	some := rapid.Map(rapid.Int64Range(1, int64(5*time.Second)), func(n int64) time.Duration { return time.Duration(n) })
	spacings := rapid.SampledFrom([]Spacing{PoissonSpacing, ConstantSpacing})
	maybe := func() dist.Rate {
		if rapid.IntRange(0, 3).Draw(t, "silent") == 0 {
			return 0
		}
		return rates.Draw(t, "rate")
	}
	var a Arrivals
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		a.Poisson = ptr(rates.Draw(t, "rate"))
	case 1:
		a.Constant = ptr(rates.Draw(t, "rate"))
	case 2:
		for range rapid.IntRange(0, 4).Draw(t, "phases") {
			p := Phase{For: ptr(some.Draw(t, "for")), Rate: maybe(), Spacing: spacings.Draw(t, "spacing")}
			if rapid.Bool().Draw(t, "ramp") {
				p.To = ptr(maybe())
			}
			a.Phases = append(a.Phases, p)
		}
		a.Phases = append(a.Phases, Phase{For: ptr(some.Draw(t, "for")), Rate: rates.Draw(t, "rate"), Spacing: spacings.Draw(t, "spacing")})
		if rapid.Bool().Draw(t, "forever") {
			a.Phases[len(a.Phases)-1].For = nil
		}
	case 3:
		m := &Modulated{Stationary: rapid.Bool().Draw(t, "stationary")}
		for range rapid.IntRange(1, 3).Draw(t, "states") {
			m.States = append(m.States, ModulatedState{Rate: maybe(), MeanStay: some.Draw(t, "stay")})
		}
		m.States = append(m.States, ModulatedState{Rate: rates.Draw(t, "rate"), MeanStay: time.Second})
		a.Modulated = m
	case 4:
		times := rapid.SliceOfN(rapid.Int64Range(0, 1e9), 1, 20).Draw(t, "times")
		slices.Sort(times)
		tr := &Trace{}
		for _, at := range times {
			tr.Times = append(tr.Times, sim.Time(at))
		}
		a.Trace = tr
	}
	if a.Poisson == nil && a.Constant == nil && a.Phases == nil && a.Modulated == nil && a.Trace == nil || rapid.IntRange(0, 3).Draw(t, "bursts") == 0 {
		b := &Bursts{Size: rapid.IntRange(1, 9).Draw(t, "size"), Every: some.Draw(t, "every"), Offset: some.Draw(t, "offset")}
		if rapid.Bool().Draw(t, "counted") {
			b.Count = ptr(rapid.Int64Range(1, 9).Draw(t, "count"))
		}
		a.Bursts = b
	}
	return a
}

func TestParseTrace(t *testing.T) {
	got, err := ParseTrace([]byte("offset,user\n0\n# a pause\n\n1.5, 17\n 1500ms ,\r\n2s\n2.000000001\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]sim.Time{0, 3 * second / 2, 3 * second / 2, 2 * second, 2*second + 1}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for text, want := range map[string]string{
		"1\nx\n":   `line 2: want a time such as 1.5s, or 1.5 for seconds, have "x"`,
		"1\n,2\n":  `line 2: want a time such as 1.5s, or 1.5 for seconds, have ""`,
		"1\n-1s\n": `line 2: want a time such as 1.5s, or 1.5 for seconds, have "-1s"`,
		"2\n1\n":   `line 2: want times in rising order, have 1s after 2s`,
		"1e300":    `line 1: want a time such as 1.5s, or 1.5 for seconds, have "1e300"`,
		"NaN\n":    `there are no times in it`,
		"":         `there are no times in it`,
	} {
		if _, err := ParseTrace([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}
