package digest

import (
	"math"
	"strconv"
	"time"
)

// InUnit writes a figure in its unit (record.Figure.Unit): 331 ms, 0.10 %, 769/s, 12.
func InUnit(v float64, unit string) string {
	switch unit {
	case "ns":
		return Duration(nanoseconds(v))
	case "ratio":
		return Share(v)
	case "per_second":
		return Rate(v)
	}
	return Number(v)
}

// Difference writes a difference between two figures with its sign: +12.5 ms, -3.1/s, 0; that of two shares in percentage points:
// +0.50 pp.
func Difference(v float64, unit string) string {
	s := ""
	switch {
	case v == 0:
		return "0"
	case unit == "ratio":
		s = digits(v*100, 2) + " pp"
	case unit == "ns" && math.Abs(v) < 1: // means of whole nanoseconds
		s = digits(v, 2) + " ns"
	default:
		s = InUnit(v, unit)
	}
	if v > 0 {
		s = "+" + s
	}
	return s
}

// Change writes a relative difference in percent with two significant digits: +31 %, -0.12 %; from 100 times on as a multiple: ×367.
func Change(share float64) string {
	if share >= 99 {
		return "×" + amount(math.Round(share+1), 3)
	}
	p := share * 100
	s := digits(p, 2)
	if math.Abs(p) >= 99.5 {
		s = amount(math.Round(p), 3)
	}
	if p > 0 {
		s = "+" + s
	}
	return s + " %"
}

// P writes the p of a test with two significant digits: 0.032, <0.001.
func P(p float64) string {
	switch {
	case p < 0.001:
		return "<0.001"
	case p > 0.99:
		return strconv.FormatFloat(p, 'f', 0, 64)
	}
	return digits(p, 2)
}

// nanoseconds returns v as a duration, as far as there are such.
func nanoseconds(v float64) time.Duration {
	const most = math.MaxInt64 - 1023 // a float, too
	return time.Duration(math.Round(min(max(v, -most), most)))
}
