package workload

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"poolwise/sim"
)

// ParseTrace reads arrival times: one a line, in rising order, as a duration (1.5s) or in seconds (1.5). What follows a comma is
// another column and is not looked at. Empty lines and lines that begin with # are skipped, and so is a first line that begins
// with a letter, the names of the columns. The error names the line.
func ParseTrace(text []byte) ([]sim.Time, error) {
	var times []sim.Time
	for n, line := range bytes.Split(text, []byte("\n")) {
		field, _, _ := bytes.Cut(line, []byte(","))
		field = bytes.TrimSpace(field)
		if len(field) == 0 && len(bytes.TrimSpace(line)) == 0 || bytes.HasPrefix(field, []byte("#")) {
			continue
		}
		if n == 0 && len(field) > 0 && (field[0]|0x20 >= 'a' && field[0]|0x20 <= 'z') {
			continue
		}
		at, err := parseOffset(string(field))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if k := len(times); k > 0 && at < times[k-1] {
			return nil, fmt.Errorf("line %d: want times in rising order, have %v after %v", n+1, at, times[k-1])
		}
		times = append(times, at)
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("there are no times in it")
	}
	return times, nil
}

func parseOffset(s string) (sim.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return sim.Time(d), nil
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil && v >= 0 && v < math.MaxInt64/1e9 {
		return sim.Time(float64(v*1e9) + 0.5), nil
	}
	return 0, fmt.Errorf("want a time such as 1.5s, or 1.5 for seconds, have %q", s)
}
