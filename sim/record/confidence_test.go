package record

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestQuantileOfT compares with tables of Student's t, and with its closed form for two degrees of freedom, which no table has
// so far out: t = (2p-1) / sqrt(2p(1-p)).
func TestQuantileOfT(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		df    int
		want  float64
	}{
		{0.05, 4, 2.776}, {0.001, 4, 8.610}, {0.001, 9, 4.781}, {0.001, 40, 3.551}, {0.0001, 120, 4.025},
	} {
		if got := quantileT(c.alpha, c.df); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("alpha %v, %d degrees: %v, want %v", c.alpha, c.df, got, c.want)
		}
	}
	for _, alpha := range []float64{0.05, 1e-3, 1e-5, 1e-7} {
		p := 1 - alpha/2
		if got, want := quantileT(alpha, 2), (2*p-1)/math.Sqrt(2*p*(1-p)); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("alpha %v, 2 degrees: %v, want %v", alpha, got, want)
		}
	}
}

// TestIntervalsAtFivePercentAreTheUsualOnes: with alpha 0.05 every figure is measured as it always is, but for the rule of three,
// which has -ln(0.05) = 2.996 in full.
func TestIntervalsAtFivePercentAreTheUsualOnes(t *testing.T) {
	c := Merge(nil, []string{""}, []*Run{requests(10, 0), requests(9, 5), requests(30, 1), requests(200, 2)})
	clean := Merge(nil, []string{""}, []*Run{requests(150, 0), requests(150, 0)})
	clean.FailedRate.Hi = 0
	for _, cell := range []*Cell{&c, &clean} {
		for _, name := range Compared {
			f, err := ParseFigure(name)
			if err != nil {
				t.Fatal(err)
			}
			got := f.MeasureAt(cell, 0.05)
			want := f.Measure(cell)
			if cell == &clean && name == "failed_rate" {
				want.Hi = 2.995732 / 300
			}
			if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-6, 1)); d != "" {
				t.Errorf("%s (-usual +at 0.05):\n%s", name, d)
			}
		}
	}
}

// TestIntervalsGrowAsTheyMissLess: values 10, 20, 30 have the mean 20 and the standard error 10/sqrt(3); with two degrees of
// freedom t is 4.3027 at 5 % and 31.599 at 0.1 % (table).
func TestIntervalsGrowAsTheyMissLess(t *testing.T) {
	base, d := PairedAt([]float64{11, 22, 33, 7, 8}, []float64{1, 2, 3, math.NaN()}, 0.05)
	half := 4.30265 * 10 / math.Sqrt(3)
	want := Float{Value: 20, Lo: 20 - half, Hi: 20 + half, Known: true, Interval: true}
	if diff := cmp.Diff(want, d, cmpopts.EquateApprox(0, 1e-3)); diff != "" || base != 2 {
		t.Errorf("mean of b %v, difference (-want +got):\n%s", base, diff)
	}
	_, d = PairedAt([]float64{10, 20, 30}, []float64{0, 0, 0}, 0.001)
	if got := d.Hi - d.Value; math.Abs(got-31.599*10/math.Sqrt(3)) > 0.01 {
		t.Errorf("half width %v at 0.1 %%", got)
	}
	if _, d := PairedAt([]float64{1}, []float64{2}, 0.05); d.Known {
		t.Errorf("one pair has no interval, have %+v", d)
	}
	if _, d := PairedAt([]float64{3, 3, 3}, []float64{2, 2, 2}, 1e-9); d.Lo != 1 || d.Hi != 1 {
		t.Errorf("equal differences are what they are, have %+v", d)
	}
}

// TestAVerdictNeedsMoreAtAStricterLevel: 100 requests and no failure are at 5 % good for less than 3 % of failures, at 0.1 % for
// less than 6.9 %.
func TestAVerdictNeedsMoreAtAStricterLevel(t *testing.T) {
	c := Merge(nil, []string{""}, []*Run{requests(50, 0), another(50, 0)})
	for _, k := range []struct {
		expr  string
		alpha float64
		want  Status
	}{
		{"failed_rate<3%", 0.05, Passed}, {"failed_rate<3%", 0.001, Inconclusive}, {"failed_rate<7%", 0.001, Passed},
		{"failed_rate>=7%", 0.001, FailedCheck}, {"p(99.9)<1s", 0.001, NotEvaluated},
	} {
		e, err := ParseCheck(k.expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.EvaluateAt(&c, k.alpha); got.Status != k.want {
			t.Errorf("%s at %v: %s (%v to %v), want %s", k.expr, k.alpha, got.Status, got.Lo, got.Hi, k.want)
		}
	}
	e, _ := ParseCheck("failed_rate<0.1%")
	if s := e.EvaluateValue(&c); s != Passed {
		t.Errorf("the value alone: %s", s)
	}
}
