// Package digest has what reports and charts share: figures in the units people read, and what the cells of a sweep say
// together. Everything is a function of the result; nothing is guessed that is not in it.
package digest

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"poolwise/sim/record"
)

// Dash stands for a figure that there is none of.
const Dash = "–"

// unit is a unit of time, used for durations below its limit.
type unit struct {
	name  string
	of    time.Duration
	below time.Duration
}

var units = []unit{
	{"ns", time.Nanosecond, time.Microsecond},
	{"µs", time.Microsecond, time.Millisecond},
	{"ms", time.Millisecond, time.Second},
	{"s", time.Second, 10 * time.Minute},
	{"min", time.Minute, 10 * time.Hour},
	{"h", time.Hour, 10 * 24 * time.Hour},
	{"d", 24 * time.Hour, math.MaxInt64},
}

// IsUnit reports whether a word is the unit of the number before it.
func IsUnit(word string) bool {
	return word == "%" || slices.ContainsFunc(units, func(u unit) bool { return u.name == word })
}

// unitOf returns the unit in which d, to three digits, is written.
func unitOf(d time.Duration) unit {
	a := math.Abs(float64(d))
	for _, u := range units {
		if a < float64(u.below)*0.9995 { // 999.6 ms is 1.00 s
			return u
		}
	}
	return units[len(units)-1]
}

// in returns d in the unit.
func (u unit) in(d time.Duration) float64 { return float64(d) / float64(u.of) }

// Duration writes d with three significant digits: 331 ms, 1.31 s, 12.5 µs.
func Duration(d time.Duration) string {
	u := unitOf(d)
	switch {
	case d == 0:
		return "0"
	case u.of == time.Nanosecond:
		return strconv.FormatInt(int64(d), 10) + " ns"
	}
	return digits(u.in(d), 3) + " " + u.name
}

// Margin writes half the width of the interval of a duration, in the duration's unit unless it dwarfs the duration; if the interval is
// lopsided, all of it: 0.532..1.52 s.
func Margin(d record.Duration) string {
	half := max(d.Hi-d.Value, d.Value-d.Lo)
	if negligible(float64(half), float64(d.Value)) {
		return "±0"
	}
	u := unitOf(d.Value)
	if lopsided(float64(d.Lo), float64(d.Value), float64(d.Hi)) {
		u = unitOf(d.Hi)
		return digits(u.in(d.Lo), 3) + ".." + digits(u.in(d.Hi), 3) + " " + u.name
	}
	if half > 10*d.Value {
		u = unitOf(half)
	}
	return "±" + digits(u.in(half), 2) + " " + u.name
}

// lopsided reports whether an interval is so much longer on one side of the value, and so wide, that half of it says little.
func lopsided(lo, v, hi float64) bool {
	longer, shorter := max(hi-v, v-lo), min(hi-v, v-lo)
	return longer > 2*shorter && longer > 0.1*v
}

// Axis returns the unit of an axis up to d: how many nanoseconds it has, and its name.
func Axis(d time.Duration) (nanoseconds float64, name string) {
	u := unitOf(d)
	return float64(u.of), u.name
}

// Rate writes a number per second with three significant digits: 769/s, 12.8k/s.
func Rate(perSecond float64) string { return amount(perSecond, 3) + "/s" }

// RateMargin writes half the width of the interval of a rate.
func RateMargin(f record.Float) string {
	if negligible(halfWidth(f), f.Value) {
		return "±0"
	}
	return "±" + amount(halfWidth(f), 2) + "/s"
}

// Number writes a number with three significant digits, a whole one below 10,000 exactly.
func Number(v float64) string { return amount(v, 3) }

// Level writes a number of things that varies in time: as Number, but below 1 with two decimals at most.
func Level(v float64) string {
	switch {
	case v > 0 && v < 0.005:
		return "<0.01"
	case v > 0 && v < 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return Number(v)
}

// LevelMargin writes half the width of the interval of a level.
func LevelMargin(f record.Float) string {
	half := halfWidth(f)
	if half > 0 && half < 0.0995 {
		return "±" + strconv.FormatFloat(max(half, 0.01), 'f', 2, 64)
	}
	return "±" + amount(half, 2)
}

// negligible reports whether half the width of an interval vanishes beside three digits of the value: it is then written as 0.
func negligible(half, value float64) bool { return half == 0 || half < math.Abs(value)*1e-5 }

func halfWidth(f record.Float) float64 { return max(f.Hi-f.Value, f.Value-f.Lo) }

// amount writes a number, thousands as k, millions as M, and so on.
func amount(v float64, significant int) string {
	if v == math.Trunc(v) && math.Abs(v) < 10_000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if math.Abs(v) < 9995 {
		return digits(v, significant)
	}
	for _, suffix := range []string{"k", "M", "G"} {
		if v /= 1000; math.Abs(v) < 999.5 {
			return digits(v, significant) + suffix
		}
	}
	return strconv.FormatFloat(v*1e9, 'g', significant, 64)
}

// digits writes v with so many significant digits, and without an exponent unless it is very small.
func digits(v float64, significant int) string {
	if v == 0 {
		return "0"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', significant-1, 64), 64)
	if err != nil || math.IsInf(rounded, 0) || math.IsNaN(rounded) {
		return strconv.FormatFloat(v, 'g', significant, 64)
	}
	_, exponent, _ := strings.Cut(strconv.FormatFloat(rounded, 'e', -1, 64), "e")
	magnitude, _ := strconv.Atoi(exponent)
	if magnitude < -6 {
		return strconv.FormatFloat(rounded, 'g', -1, 64)
	}
	return strconv.FormatFloat(rounded, 'f', max(significant-1-magnitude, 0), 64)
}

// Share writes a share in percent with two significant digits. It says 0 % and 100 % only of exactly that.
func Share(s float64) string {
	p := s * 100
	switch {
	case p == 0 || p == 100:
		return digits(p, 3) + " %"
	case p > 99.9 && p < 100:
		return ">99.9 %"
	case p > 99 && p < 100:
		return digits(math.Floor(p*10)/10, 3) + " %"
	case p > 0 && p < 0.001:
		return "<0.001 %"
	case p > 100:
		return digits(p, 3) + " %"
	}
	return digits(p, 2) + " %"
}

// ShareMargin writes half the width of the interval of a share, or all of it if it is lopsided: 0..0.31 %.
func ShareMargin(f record.Float) string {
	if negligible(halfWidth(f), f.Value) {
		return "±0"
	}
	if lopsided(f.Lo, f.Value, f.Hi) {
		return digits(f.Lo*100, 2) + ".." + digits(f.Hi*100, 2) + " %"
	}
	return "±" + digits(halfWidth(f)*100, 2) + " %"
}

// Count writes a number of things, with commas from 10,000 on.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n < 10_000 {
		return s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Plural writes a number of things with the word for them.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Label names a cell by its settings: pool.max=8, server.cores=4.
func Label(s record.Settings) string {
	parts := make([]string, len(s))
	for i, kv := range s {
		parts[i] = Printable(kv.Key) + "=" + Printable(kv.Value)
	}
	return strings.Join(parts, ", ")
}

// Printable makes a text from a scenario fit on a line: what cannot be seen becomes a space.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}
