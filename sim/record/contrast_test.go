package record

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// near compares floats as far as tables and works by hand go.
func near(margin float64) cmp.Option {
	return cmp.Options{cmpopts.EquateApprox(0, margin), cmpopts.EquateNaNs()}
}

func TestPaired(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name          string
		before, after []float64
		want          Contrast
	}{
		{
			// d = 1..5: mean 3, variance 5/2, standard error sqrt(1/2); t(0.975, 4) = 2.776 in every table. With 4 degrees of
			// freedom and u = t²/(1+t²/4), P(|T| > t) = 1 - 3/4 sqrt(u) (1 - u/12); here t² = 18.
			"five pairs", []float64{10, 20, 30, 40, 50}, []float64{11, 22, 33, 44, 55},
			Contrast{Paired, ExactFloat(30), ExactFloat(33), Float{3, 3 - 1.9632, 3 + 1.9632, true, true}, 0.013236, [2]int{5, 5}, Float{}, false},
		},
		{
			// With 1 degree of freedom P(|T| > t) = 1 - 2/π arctan t, here of t = 2/1; t(0.975, 1) = 12.706.
			"two pairs", []float64{0, 0}, []float64{1, 3},
			Contrast{Paired, ExactFloat(0), ExactFloat(2), Float{2, 2 - 12.7062, 2 + 12.7062, true, true}, 0.295167, [2]int{2, 2}, Float{}, false},
		},
		{
			"a pair that was not measured", []float64{0, 7, nan, 0}, []float64{1, nan, 9, 3},
			Contrast{Paired, ExactFloat(0), ExactFloat(2), Float{2, 2 - 12.7062, 2 + 12.7062, true, true}, 0.295167, [2]int{2, 2}, Float{}, false},
		},
		{
			"always the same difference", []float64{1, 5, 3}, []float64{3, 7, 5},
			Contrast{Paired, ExactFloat(3), ExactFloat(5), Float{2, 2, 2, true, true}, 0, [2]int{3, 3}, Float{}, false},
		},
		{
			"no difference at all", []float64{0.1, 0.3, 0.7}, []float64{0.1, 0.3, 0.7},
			Contrast{Paired, ExactFloat(1.1 / 3), ExactFloat(1.1 / 3), Float{0, 0, 0, true, true}, 1, [2]int{3, 3}, Float{}, false},
		},
		{
			"differences that cancel out", []float64{1, 2}, []float64{2, 1},
			Contrast{Paired, ExactFloat(1.5), ExactFloat(1.5), Float{0, -12.7062, 12.7062, true, true}, 1, [2]int{2, 2}, Float{}, false},
		},
	} {
		got, ok := paired(c.before, c.after)
		if !ok {
			t.Errorf("%s: no contrast", c.name)
		} else if diff := cmp.Diff(c.want, got, near(1e-4)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	for _, few := range [][2][]float64{{{1}, {2}}, {{1, nan}, {2, 3}}, {nil, nil}, {{math.MaxFloat64, 0}, {-math.MaxFloat64, 0}}} {
		if c, ok := paired(few[0], few[1]); ok {
			t.Errorf("%v: %+v, want no contrast", few, c)
		}
	}
}

func TestWelch(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after []float64
		want          Contrast
	}{
		{
			// Both means have variance 1, so the difference has standard error sqrt(2) and 2²/(1+1) = 2 degrees of freedom, with which
			// P(|T| > t) = 1 - t/sqrt(2+t²), here of t² = 9/2; t(0.975, 2) = 4.3027.
			"two and two", []float64{1, 3}, []float64{4, 6},
			Contrast{Welch, ExactFloat(2), ExactFloat(5), Float{3, 3 - 6.0849, 3 + 6.0849, true, true}, 0.167950, [2]int{2, 2}, Float{}, false},
		},
		{
			// One of them does not vary: what is left is the other's 1 degree of freedom.
			"only one varies", []float64{2, 2, 2}, []float64{3, 5},
			Contrast{Welch, ExactFloat(2), ExactFloat(4), Float{2, 2 - 12.7062, 2 + 12.7062, true, true}, 0.295167, [2]int{3, 2}, Float{}, false},
		},
		{
			"none varies", []float64{2, 2, 2}, []float64{3, 3},
			Contrast{Welch, ExactFloat(2), ExactFloat(3), Float{1, 1, 1, true, true}, 0, [2]int{3, 2}, Float{}, false},
		},
		{
			"equal and none varies", []float64{2, 2, 2}, []float64{2, 2},
			Contrast{Welch, ExactFloat(2), ExactFloat(2), Float{0, 0, 0, true, true}, 1, [2]int{3, 2}, Float{}, false},
		},
	} {
		got, ok := welch(c.before, c.after)
		if !ok {
			t.Errorf("%s: no contrast", c.name)
		} else if diff := cmp.Diff(c.want, got, near(1e-4)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if _, ok := welch([]float64{1}, []float64{1, 2}); ok {
		t.Error("a contrast with one value")
	}
}

// The three examples of the encyclopaedia's article on Welch's test, with the p that it gives for each.
func TestWelchOnPublishedExamples(t *testing.T) {
	for i, c := range []struct {
		before, after []float64
		p             float64
	}{
		{
			[]float64{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4},
			[]float64{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4}, 0.021,
		},
		{
			[]float64{17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8},
			[]float64{21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8}, 0.149,
		},
		{
			[]float64{19.8, 20.4, 19.6, 17.8, 18.5, 18.9, 18.3, 18.9, 19.5, 22.0},
			[]float64{28.2, 26.6, 20.1, 23.3, 25.2, 22.1, 17.7, 27.6, 20.6, 13.7, 23.2, 17.5, 20.6, 18.0, 23.9, 21.6, 24.3, 20.4, 24.0, 13.2}, 0.036,
		},
	} {
		got, ok := welch(c.before, c.after)
		if !ok || math.Abs(got.P-c.p) > 0.0005 {
			t.Errorf("example %d: p %v, want %v", i+1, got.P, c.p)
		}
	}
}

// A test rejects at 5 % when the interval at 95 % leaves out 0, and one way round is the mirror of the other.
func TestContrastProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1000, 1000), 2, 8)
		before, after := values.Draw(t, "before"), values.Draw(t, "after")
		for _, compare := range []func(b, a []float64) (Contrast, bool){paired, welch} {
			if n := min(len(before), len(after)); fmt.Sprintf("%p", compare) == fmt.Sprintf("%p", paired) {
				before, after = before[:n], after[:n]
			}
			c, ok := compare(before, after)
			back, _ := compare(after, before)
			if !ok {
				t.Fatal("no contrast")
			}
			if c.P < 0 || c.P > 1 {
				t.Fatalf("p is %v", c.P)
			}
			d := c.Difference
			if out := d.Lo > 0 || d.Hi < 0; out != (c.P < 0.05) && math.Abs(c.P-0.05) > 1e-6 {
				t.Fatalf("interval %v to %v, but p %v", d.Lo, d.Hi, c.P)
			}
			mirror := back
			mirror.Before, mirror.After = back.After, back.Before
			mirror.Difference = Float{-back.Difference.Value, -back.Difference.Hi, -back.Difference.Lo, true, true}
			mirror.N = [2]int{back.N[1], back.N[0]}
			if diff := cmp.Diff(c, mirror); diff != "" {
				t.Fatalf("the other way round is no mirror:\n%s", diff)
			}
		}
	})
}

func TestHolm(t *testing.T) {
	for _, c := range []struct{ p, want []float64 }{
		{nil, nil},
		{[]float64{0.04}, []float64{0.04}},
		// 4 x 0.005; 3 x 0.01; 2 x 0.03; 1 x 0.04, which cannot be less than the one before it.
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.5, 0.6, 0}, []float64{1, 1, 0}},
		{[]float64{0.02, 0.02, 0.02}, []float64{0.06, 0.06, 0.06}},
	} {
		if diff := cmp.Diff(c.want, Holm(c.p), near(1e-12), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.p, diff)
		}
	}
}

// What is corrected is in the same order, never less than it was, and at most Bonferroni's; the least is exactly his.
func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "p")
		got := Holm(p)
		for i := range p {
			bonferroni := min(float64(len(p))*p[i], 1)
			if got[i] < p[i] || got[i] > bonferroni || p[i] == slices.Min(p) && got[i] != bonferroni {
				t.Fatalf("%v is corrected to %v among %d", p[i], got[i], len(p))
			}
			for j := range p {
				if p[i] < p[j] && got[i] > got[j] {
					t.Fatalf("%v and %v change their order: %v and %v", p[i], p[j], got[i], got[j])
				}
			}
		}
	})
}

// sampled is a cell with the latencies of its replications, one request each.
func sampled(latencies ...time.Duration) *Cell {
	var runs []*Run
	for _, d := range latencies {
		r := &Run{Parts: make([]Part, 1)}
		if d > 0 {
			r.Parts[0].Latency.Record(d)
		}
		runs = append(runs, r)
	}
	c := Merge(nil, []string{"pool"}, runs)
	c.KeepSamples(nil)
	return &c
}

func TestFigureContrastChoosesItsMethod(t *testing.T) {
	avg, err := ParseFigure("avg")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		before, after *Cell
		same          bool
		want          Method
		n             [2]int
	}{
		{"same seeds", sampled(1, 2, 3), sampled(2, 3, 5), true, Paired, [2]int{3, 3}},
		{"other seeds", sampled(1, 2, 3), sampled(2, 3, 5), false, Welch, [2]int{3, 3}},
		{"more replications", sampled(1, 2, 3), sampled(2, 3), true, Welch, [2]int{3, 2}},
		{"hardly a pair", sampled(1, 2, 0, 4), sampled(2, 0, 3, 0), true, Welch, [2]int{3, 2}},
		{"one each", sampled(1), sampled(2), true, NoTest, [2]int{1, 1}},
		{"one before", sampled(1), sampled(2, 3), true, NoTest, [2]int{1, 1}},
		{"none before", sampled(0), sampled(2), true, Unmeasured, [2]int{0, 1}},
		{"none after", sampled(1, 2), sampled(0, 0), true, Unmeasured, [2]int{1, 0}},
	} {
		got := avg.Contrast(c.before, c.after, c.same)
		if got.Method != c.want || got.N != c.n {
			t.Errorf("%s: %s of %v, want %s of %v", c.name, got.Method, got.N, c.want, c.n)
		}
	}
}

// A check against a baseline is judged on all that the intervals allow if there are no pairs.
func TestEvaluateAgainstWithoutPairs(t *testing.T) {
	cell := func(value, lo, hi float64) *Cell {
		return &Cell{Throughput: Float{value, lo, hi, true, true}}
	}
	for _, c := range []struct {
		expr   string
		before *Cell
		want   Status
	}{
		{"throughput>=baseline", cell(80, 75, 85), Passed},
		{"throughput>=baseline", cell(90, 85, 95), Passed}, // 95 against at most 95
		{"throughput>=baseline", cell(90, 84, 96), Inconclusive},
		{"throughput>=baseline", cell(120, 106, 134), FailedCheck},
		{"throughput>=baseline*0.5", cell(180, 170, 190), Passed},
		{"throughput<=baseline*1.5", cell(80, 60, 100), Inconclusive}, // 105 against at least 90
		{"throughput<=baseline*1.5", cell(80, 70, 90), Passed},        // 105 against at least 105
	} {
		e, err := ParseCheck(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.EvaluateAgainst(cell(100, 95, 105), c.before); got.Status != c.want {
			t.Errorf("%s of %v: %s, want %s", c.expr, c.before.Throughput, got.Status, c.want)
		}
	}
}

// A run is never worse than itself, saved: the ninth digit of what is saved may be rounded up.
func TestARunMeetsItsOwnBaseline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cell{Throughput: ExactFloat(rapid.Float64Range(0, 1e4).Draw(t, "rate"))}
		if rapid.Bool().Draw(t, "replications") {
			c.Samples = Samples{{"throughput", rapid.SliceOfN(rapid.Float64Range(0, 1e4), 2, 4).Draw(t, "rates")}}
		}
		text, err := json.Marshal(&c)
		if err != nil {
			t.Fatal(err)
		}
		var saved Cell
		if err := json.Unmarshal(text, &saved); err != nil {
			t.Fatal(err)
		}
		for _, expr := range []string{"throughput>=baseline", "throughput<=baseline"} {
			e, err := ParseCheck(expr)
			if err != nil {
				t.Fatal(err)
			}
			for _, pair := range [][2]*Cell{{&c, &saved}, {&saved, &c}, {&c, &c}} {
				if got := e.EvaluateAgainst(pair[0], pair[1]); got.Status != Passed {
					t.Fatalf("%s: %s: %+v", expr, got.Status, got)
				}
			}
		}
	})
}

func TestMatch(t *testing.T) {
	result := func(settings ...Settings) *Result {
		r := &Result{}
		for _, s := range settings {
			r.Cells = append(r.Cells, Cell{Settings: s})
		}
		return r
	}
	one := func(key, value string) Settings { return Settings{{key, value}} }
	ab, ba := Settings{{"a", "1"}, {"b", "2"}}, Settings{{"b", "2"}, {"a", "1"}}
	for _, c := range []struct {
		name                  string
		before, after         *Result
		pairs                 [][2]int
		onlyBefore, onlyAfter []int
	}{
		{"one each", result(one("a", "1")), result(one("b", "2")), [][2]int{{0, 0}}, nil, nil},
		{"other order", result(one("a", "1"), one("a", "2")), result(one("a", "2"), one("a", "1")), [][2]int{{1, 0}, {0, 1}}, nil, nil},
		{"keys in another order", result(ab, one("a", "1")), result(one("a", "1"), ba), [][2]int{{1, 0}, {0, 1}}, nil, nil},
		{"some", result(one("a", "1"), one("a", "2")), result(one("a", "2"), one("a", "3")), [][2]int{{1, 0}}, []int{0}, []int{1}},
		{"none", result(one("a", "1"), one("a", "2")), result(one("b", "1")), nil, []int{0, 1}, []int{0}},
		{"twice", result(one("a", "1"), one("a", "1")), result(one("a", "1"), one("a", "1"), one("a", "1")), [][2]int{{0, 0}, {1, 1}}, nil, []int{2}},
	} {
		pairs, onlyBefore, onlyAfter := Match(c.before, c.after)
		got, want := [3]any{pairs, onlyBefore, onlyAfter}, [3]any{c.pairs, c.onlyBefore, c.onlyAfter}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestJudgeAgainst(t *testing.T) {
	cell := func(settings Settings, rate float64) Cell {
		return Cell{Settings: settings, Throughput: ExactFloat(rate)}
	}
	s := func(v string) Settings { return Settings{{"pool.max", v}} }
	baseline := &Result{Cells: []Cell{cell(s("4"), 100), cell(s("8"), 100)}}
	r := &Result{Cells: []Cell{cell(s("8"), 96), cell(s("4"), 94), cell(s("2"), 200)}}
	for i := range r.Cells {
		r.Checks = append(r.Checks,
			Check{Expr: "throughput>=baseline*0.95", Cell: i, Settings: r.Cells[i].Settings, Status: NotEvaluated, Level: LevelWarning, Line: 7},
			Check{Expr: "throughput>=baseline*0.95", Cell: i, Status: Off, Level: LevelOff},
			Check{Expr: "throughput>10/s", Cell: i, Status: Inconclusive}, // which is left alone
		)
	}
	r.JudgeAgainst(r.Baseline(baseline))
	var got []Status
	for _, k := range r.Checks {
		got = append(got, k.Status)
	}
	want := []Status{Passed, Off, Inconclusive, FailedCheck, Off, Inconclusive, NotEvaluated, Off, Inconclusive}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if k := r.Checks[3]; k.Cell != 1 || k.Line != 7 || k.Level != LevelWarning || k.Value != 94 || k.Settings[0].Value != "4" {
		t.Errorf("it has lost its place: %+v", k)
	}
	if r.Verdict != Inconclusive {
		t.Errorf("verdict %s, want that of the checks of level error", r.Verdict)
	}
}

// TestTimesAreComparedByTheirLogarithms: from 100, 200 and 400 ms to a tenth, a fifth and a twentieth, the ratios are 1/10, 1/5 and 1/20
// and their geometric mean is 1/10. On the linear scale the interval of the difference goes below -100 %, which no time can fall by; of
// the logarithms the mean is -ln 10, the variance (ln 2)², the standard error ln 2/sqrt(3), and t(0.975, 2) = 4.3027.
func TestTimesAreComparedByTheirLogarithms(t *testing.T) {
	cell := func(name string, v ...float64) *Cell { return &Cell{Samples: Samples{{Figure: name, Values: v}}} }
	f, g := mustParseFigure(t, "p(99)"), mustParseFigure(t, "throughput")
	got := f.Contrast(cell("p(99)", 100, 200, 400), cell("p(99)", 10, 40, 20), true)
	half := 4.3027 * math.Ln2 / math.Sqrt(3)
	if r := got.Relative; !got.Log || math.Abs(r.Value+0.9) > 1e-9 || math.Abs(r.Lo-(0.1*math.Exp(-half)-1)) > 1e-4 || math.Abs(r.Hi-(0.1*math.Exp(half)-1)) > 1e-4 {
		t.Errorf("%+v", got)
	}
	if d := got.Difference; d.Lo/got.Before.Value > -1 {
		t.Errorf("the linear interval, %+v, does not go too far", d)
	}
	if got := g.Contrast(cell("throughput", 100, 200, 400), cell("throughput", 10, 40, 20), true); got.Log || got.Relative.Value != got.Difference.Value/got.Before.Value {
		t.Errorf("of a rate: %+v", got)
	}
	if got := f.Contrast(cell("p(99)", 100, 200, 400), cell("p(99)", 0, 40, 20), true); got.Log {
		t.Errorf("with a time of 0: %+v", got)
	}
}

func mustParseFigure(t *testing.T, name string) Figure {
	t.Helper()
	f, err := ParseFigure(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
