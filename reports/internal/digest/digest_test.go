package digest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

func TestHumanFigures(t *testing.T) {
	float := func(v, half float64) record.Float {
		return record.Float{Value: v, Lo: v - half, Hi: v + half, Known: true, Interval: true}
	}
	for _, c := range []struct{ got, want string }{
		{Duration(0), "0"},
		{Duration(17), "17 ns"},
		{Duration(999), "999 ns"},
		{Duration(1000), "1.00 µs"},
		{Duration(12_500), "12.5 µs"},
		{Duration(331 * time.Millisecond), "331 ms"},
		{Duration(999_400 * time.Microsecond), "999 ms"},
		{Duration(999_600 * time.Microsecond), "1.00 s"},
		{Duration(1310 * time.Millisecond), "1.31 s"},
		{Duration(9996 * time.Microsecond), "10.0 ms"},
		{Duration(90 * time.Second), "90.0 s"},
		{Duration(599_800 * time.Millisecond), "10.0 min"},
		{Duration(30 * time.Hour), "30.0 h"},
		{Duration(1<<63 - 1), "107000 d"},
		{Duration(-5 * time.Millisecond), "-5.00 ms"},
		{Margin(record.Duration{Value: 331e6, Lo: 329e6, Hi: 335e6}), "±4.0 ms"}, // the longer half
		{Margin(record.Duration{Value: 331e6, Lo: 331e6, Hi: 331e6}), "±0"},
		{Margin(record.Duration{Value: 331e6, Lo: 310e6, Hi: 372e6}), "±41 ms"}, // not quite twice as long on one side
		{Margin(record.Duration{Value: 331e6, Lo: 311e6, Hi: 372e6}), "311..372 ms"},
		{Margin(record.Duration{Value: 1516e6, Lo: 532e6, Hi: 1516e6}), "0.532..1.52 s"},
		{Margin(record.Duration{Value: 331e6, Lo: 0, Hi: 1_331e6}), "0..1.33 s"},
		{Rate(769.2), "769/s"},
		{Rate(1280.4), "1280/s"},
		{Rate(9999), "9999/s"},
		{Rate(9996.5), "10.0k/s"},
		{Rate(12_834), "12.8k/s"},
		{Rate(999_600), "1.00M/s"},
		{Rate(5e6), "5.00M/s"},
		{Rate(0.0191), "0.0191/s"},
		{RateMargin(float(600, 17.6)), "±18/s"},
		{Number(3.976), "3.98"},
		{Number(0.5), "0.500"},
		{Number(4), "4"},
		{Number(2e15), "2e+15"},
		{Level(0.0388), "0.04"},
		{Level(0.998), "1.00"},
		{Level(0.0001), "<0.01"},
		{Level(96.04), "96.0"},
		{LevelMargin(float(4, 0.0012)), "±0.01"},
		{LevelMargin(float(4, 0.123)), "±0.12"},
		{LevelMargin(float(4, 0)), "±0"},
		{Share(0), "0 %"},
		{Share(1), "100 %"},
		{Share(0.3825), "38 %"},
		{Share(0.0123), "1.2 %"},
		{Share(0.99999), ">99.9 %"},
		{Share(0.9987), "99.8 %"}, // never rounded up towards 100 %
		{Share(0.993), "99.3 %"},
		{Share(1e-9), "<0.001 %"},
		{ShareMargin(float(0.5, 0.012)), "±1.2 %"},
		{ShareMargin(record.Float{Value: 0, Hi: 0.0031}), "0..0.31 %"},
		{ShareMargin(float(0.5, 1e-9)), "±0"}, // beside three digits of the value
		{RateMargin(float(1234, 2.8e-14)), "±0"},
		{Margin(record.Duration{Hi: 10 * time.Millisecond, Known: true, Interval: true}), "0..10.0 ms"}, // not of 0 ns
		{Count(9999), "9999"},
		{Count(12_345), "12,345"},
		{Count(1_234_567), "1,234,567"},
		{Plural(1, "pool", "pools"), "1 pool"},
		{Plural(0, "pool", "pools"), "0 pools"},
		{Printable("a\nb\x1b[1m"), "a b [1m"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// What is written is within half a unit of the third digit of the value.
func TestDurationIsRoundedRight(t *testing.T) {
	of := map[string]float64{}
	for _, u := range units {
		of[u.name] = float64(u.of)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Uint64Range(1, 1<<uint(rapid.IntRange(0, 62).Draw(t, "bits"))).Draw(t, "d"))
		number, unit, _ := strings.Cut(Duration(d), " ")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || of[unit] == 0 {
			t.Fatalf("%q", Duration(d))
		}
		if diff := v*of[unit] - float64(d); max(diff, -diff) > 0.005001*float64(d) {
			t.Fatalf("%d ns is written as %s", d, Duration(d))
		}
	})
}

func TestParseValue(t *testing.T) {
	for _, c := range []struct {
		in   string
		v    float64
		kind Kind
		ok   bool
	}{
		{"8", 8, Bare, true}, {"0.5", 0.5, Bare, true}, {"30s", 30e9, Span, true}, {"200/s", 200, PerSecond, true}, {"5%", 5, Percent, true},
		{"sqlx", 0, Bare, false}, {"", 0, Bare, false}, {"NaN", 0, Bare, false}, {"Inf/s", 0, PerSecond, false},
	} {
		v, kind, ok := ParseValue(c.in)
		if ok != c.ok || ok && (v != c.v || kind != c.kind) {
			t.Errorf("%q: %v, %v, %v", c.in, v, kind, ok)
		}
	}
}

// line makes a sweep of pool.max from triples of throughput, failed and refused.
func line(points ...[3]int64) Line {
	l := Line{Key: "pool.max"}
	for i, p := range points {
		c := &record.Cell{
			Throughput: record.ExactFloat(float64(p[0])),
			Requests:   record.Requests{Total: 100, OK: 100 - p[1], Failed: p[1]},
			Server:     record.ServerStats{Refused: p[2]},
		}
		l.Points = append(l.Points, Point{Cell: c, Value: float64(i), Label: strconv.Itoa(i)})
	}
	return l
}

func TestRegions(t *testing.T) {
	for name, c := range map[string]struct {
		line Line
		want []Region
	}{
		"the lab":                    {line([3]int64{305}, [3]int64{600}, [3]int64{589}, [3]int64{512, 62, 247}), []Region{Below, Flat, Flat, Refusing}},
		"too small fails by timeout": {line([3]int64{305, 50, 0}, [3]int64{600}, [3]int64{600}), []Region{Below, Flat, Flat}},
		"slower when large":          {line([3]int64{305}, [3]int64{600}, [3]int64{500}), []Region{Below, Flat, Beyond}},
		"flat is one stretch":        {line([3]int64{590}, [3]int64{500}, [3]int64{600}, [3]int64{570}), []Region{Below, Below, Flat, Flat}},
		"5 % is flat, more is not":   {line([3]int64{1000}, [3]int64{950}, [3]int64{949}), []Region{Flat, Flat, Beyond}},
		"fast failures are not best": {line([3]int64{600}, [3]int64{900, 50, 0}), []Region{Flat, Failing}},
		"nothing works":              {line([3]int64{0, 100, 100}, [3]int64{0, 100, 0}), []Region{Refusing, Failing}},
	} {
		if got := c.line.Regions(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	cell := func(s ...string) record.Cell {
		var c record.Cell
		for i := 0; i < len(s); i += 2 {
			c.Settings = append(c.Settings, record.Setting{Key: s[i], Value: s[i+1]})
		}
		return c
	}
	r := &record.Result{Cells: []record.Cell{
		cell("pool.max", "8", "cores", "4", "seed", "1"), cell("pool.max", "2", "cores", "4", "seed", "1"),
		cell("pool.max", "10", "cores", "8", "seed", "1"),
	}}
	lines := Lines(r, "pool.max")
	if len(lines) != 2 || lines[0].Points[0].Label != "2" || lines[0].Points[1].Label != "8" || Label(lines[1].Others) != "cores=8" {
		t.Errorf("lines %+v", lines)
	}
	if Lines(r, "seed") != nil || Lines(r, "cores") != nil || Lines(r, "none") != nil {
		t.Error("lines along a setting that is not swept")
	}
	r.Cells = append(r.Cells, cell("pool.max", "many", "cores", "8", "seed", "1"))
	if Lines(r, "pool.max") != nil {
		t.Error("lines along a setting that is not always a number")
	}
}

// Of any values, each step is true, and the last is at 100 % and the greatest value.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1e12), 1, 200).Draw(t, "values")
		h := new(record.Histogram)
		for _, v := range values {
			h.Record(time.Duration(v))
		}
		slices.Sort(values)
		steps := Percentiles(h, 5)
		for i, s := range steps {
			if s.Percentile > 100*float64(s.Count)/float64(len(values)) {
				t.Fatalf("%+v of %d", s, len(values))
			}
			if exact := values[s.Count-1]; s.Value < time.Duration(exact) || float64(s.Value) > 1.001*float64(exact) {
				t.Fatalf("%+v: the value of that rank is %d", s, exact)
			}
			if i > 0 && s.Percentile < steps[i-1].Percentile {
				t.Fatalf("%+v after %+v", s, steps[i-1])
			}
		}
		last := steps[len(steps)-1]
		if want := (Step{100, time.Duration(values[len(values)-1]), int64(len(values))}); last != want {
			t.Fatalf("last %+v, want %+v", last, want)
		}
	})
}

func TestAnyResultHasRegions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := reporttest.Any().Draw(t, "result")
		for _, key := range Varying(r) {
			n := 0
			for _, l := range Lines(r, key) {
				n += len(l.Points)
				if len(l.Regions()) != len(l.Points) {
					t.Fatal("a point without a region")
				}
			}
			if n != 0 && n != len(r.Cells) {
				t.Fatalf("%d points for %d cells", n, len(r.Cells))
			}
		}
	})
}
