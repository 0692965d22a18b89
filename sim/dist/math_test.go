package dist

import (
	"math"
	"testing"
)

// ulps returns how many units in the last place of want lie between got and want.
func ulps(got, want float64) float64 {
	if got == want || got != got && want != want {
		return 0
	}
	next := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
	return math.Abs(got-want) / next
}

// grid calls f for numbers spread over [lo, hi], evenly and, for a positive lo, evenly in their logarithm too.
func grid(lo, hi float64, n int, f func(x float64)) {
	for i := 0; i <= n; i++ {
		t := float64(i) / float64(n)
		f(lo + t*(hi-lo))
		if lo > 0 {
			f(lo * math.Pow(hi/lo, t))
		}
	}
}

func TestLog(t *testing.T) {
	worst := 0.0
	check := func(x float64) {
		if u := ulps(Log(x), math.Log(x)); u > worst {
			worst = u
			if u > 2 {
				t.Errorf("Log(%v) = %v, math.Log has %v: %.1f ulp off", x, Log(x), math.Log(x), u)
			}
		}
	}
	grid(0.5, 2, 1e5, check)
	grid(1e-300, 1e300, 1e5, check)
	grid(1-1e-9, 1+1e-9, 1e4, check)
	grid(0x1p-1074, 0x1p-1023, 1e4, func(x float64) { // subnormal numbers, at which math.Log of amd64 is wrong
		if got, want := Log(x), math.Log(x*0x1p200)-200*math.Ln2; ulps(got, want) > 2 {
			t.Errorf("Log(%v) = %v, want %v", x, got, want)
		}
	})
	for _, x := range []float64{0x1p-53, 1 - 0x1p-53, 1, 1 + 0x1p-52, math.Sqrt2, math.Sqrt2 / 2, math.MaxFloat64,
		math.Inf(1), 0, -1, math.Inf(-1), math.NaN()} {
		check(x)
	}
	t.Logf("worst: %.2f ulp", worst)
}

func TestExp(t *testing.T) {
	worst := 0.0
	check := func(x float64) {
		if u := ulps(Exp(x), math.Exp(x)); u > worst {
			worst = u
			if u > 2 {
				t.Errorf("Exp(%v) = %v, math.Exp has %v: %.1f ulp off", x, Exp(x), math.Exp(x), u)
			}
		}
	}
	grid(-1, 1, 1e5, check)
	grid(-708, 709.78, 1e5, check)
	grid(-746, -708, 1e4, check) // subnormal results
	for _, x := range []float64{0, 1e-300, -1e-300, 0x1p-54, 709.79, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN()} {
		check(x)
	}
	t.Logf("worst: %.2f ulp", worst)
}

func TestNormalQuantile(t *testing.T) {
	check := func(p float64) {
		x := NormalQuantile(p)
		// The distribution function of math.Erfc, in the tail where it does not cancel.
		back, want := 0.5*math.Erfc(-x/math.Sqrt2), p
		if p > 0.5 {
			back, want = 0.5*math.Erfc(x/math.Sqrt2), 1-p
		}
		// A relative error e of x gives one of about x*x*e in the tail; e is 1e-15, 4 units in the last place, and Erfc has its own.
		if tolerance := 1e-15 * (1 + x*x); math.Abs(back-want) > tolerance*want {
			t.Errorf("NormalQuantile(%v) = %v, which has probability %v", p, x, back)
		}
	}
	grid(0x1p-53, 1-0x1p-53, 1e5, check)
	grid(0x1p-53, 1e-3, 1e4, check)
	for _, p := range []float64{0.5, 0.075, 0.925, 1e-12, 1 - 1e-12} {
		check(p)
	}
	for _, c := range []struct{ p, want float64 }{ // of any table
		{0.90, 1.2815515655446004}, {0.95, 1.6448536269514722}, {0.99, 2.3263478740408408}, {0.5, 0},
	} {
		if got := NormalQuantile(c.p); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("NormalQuantile(%v) = %v, want %v", c.p, got, c.want)
		}
	}
}

func BenchmarkLog(b *testing.B) {
	x, sum := 0.3, 0.0
	for b.Loop() {
		sum += Log(x)
		x += 1e-9
	}
	_ = sum
}

func BenchmarkExp(b *testing.B) {
	x, sum := 0.3, 0.0
	for b.Loop() {
		sum += Exp(x)
		x += 1e-9
	}
	_ = sum
}

func BenchmarkNormalQuantile(b *testing.B) {
	x, sum := 0.01, 0.0
	for b.Loop() {
		sum += NormalQuantile(x)
		x += 1e-9
	}
	_ = sum
}
