package dist

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Rate is a number of events per second. In text it is a count over a unit: 200/s, 12/m, 3/h, 0.5/ms.
type Rate float64

var rateUnits = []struct {
	name    string
	seconds float64
}{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"min", 60}, {"h", 3600}}

// UnmarshalText reads a rate.
func (r *Rate) UnmarshalText(text []byte) error {
	count, unit, ok := strings.Cut(string(text), "/")
	n, err := parseDecimal(strings.TrimSpace(count))
	if ok && err == nil && n >= 0 {
		for _, u := range rateUnits {
			if u.name == strings.TrimSpace(unit) {
				if v := n / u.seconds; v <= 1e9 {
					*r = Rate(v)
					return nil
				}
				return fmt.Errorf("want a rate of at most 1e9/s, have %q", text)
			}
		}
	}
	return fmt.Errorf("want a rate such as 200/s, 12/m or 3/h, have %q", text)
}

// String prints r as a rate per second.
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'g', -1, 64) + "/s" }

// PerSecond returns the events per second.
func (r Rate) PerSecond() float64 { return float64(r) }

// Interval returns the mean time between two events, Max for a rate of 0.
func (r Rate) Interval() time.Duration {
	if r <= 0 {
		return Max
	}
	return nanos(1e9 / float64(r))
}

// Probability is a number within 0 and 1. In text it is that number, or a percentage: 0.1, 10%.
type Probability float64

// UnmarshalText reads a probability.
func (p *Probability) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(string(text), "%")
	v, err := parseDecimal(strings.TrimSpace(number))
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("want a probability such as 0.1 or 10%%, have %q", text)
	}
	*p = Probability(v)
	return nil
}

// Validate reports a value outside 0 and 1.
func (p Probability) Validate(bad func(path, message string)) {
	if !(p >= 0 && p <= 1) {
		bad("", fmt.Sprintf("want a probability within 0 and 1, have %v", float64(p)))
	}
}

// parseDecimal reads a finite number in decimal notation.
func parseDecimal(s string) (float64, error) {
	if strings.ContainsAny(s, "xX_pP") {
		return 0, strconv.ErrSyntax
	}
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (math.IsInf(v, 0) || math.IsNaN(v)) {
		err = strconv.ErrRange
	}
	return v, err
}
