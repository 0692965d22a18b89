package record

import (
	"testing"
	"time"
)

// disturbedCourse makes a series of a minute in bins of a second, of which the first ten are before a disturbance of five: 100 requests end in
// each, and then as many fail and wait as is given.
func disturbedCourse(failed, waiting func(second int) int) *Series {
	s := &Series{Bin: time.Second, End: time.Minute}
	s.Mean = make([][]float64, seriesWaiting+1)
	for b := range 60 {
		bad, wait := 0, 0
		if b >= 10 {
			bad, wait = failed(b), waiting(b)
		}
		s.Ended = append(s.Ended, Ends{OK: int64(100 - bad), Failed: int64(bad)})
		for l := range s.Mean {
			s.Mean[l] = append(s.Mean[l], float64(wait))
		}
	}
	return s
}

func TestRecovery(t *testing.T) {
	never := func(int) int { return 0 }
	until := func(end, n int) func(int) int {
		return func(b int) int {
			if b < end {
				return n
			}
			return 0
		}
	}
	for name, c := range map[string]struct {
		failed, waiting             func(int) int
		harmed, recovered, persists bool
		after                       time.Duration
	}{
		"no harm":           {never, never, false, true, false, 0},
		"failures for 12 s": {until(27, 80), never, true, true, false, 12 * time.Second},
		"a queue for 5 s":   {never, until(20, 50), true, true, false, 5 * time.Second},
		"failures for ever": {until(60, 80), never, true, false, true, 45 * time.Second},
		"a queue for ever":  {never, until(60, 50), true, false, true, 45 * time.Second},
		"over at once":      {until(15, 80), never, true, true, false, 0},
		"neither":           {until(60, 3), never, false, false, false, 0},
	} {
		r, ok := disturbedCourse(c.failed, c.waiting).Recovery(10*time.Second, 15*time.Second)
		if !ok || r.Harmed != c.harmed || r.Recovered != c.recovered || r.Persists != c.persists || r.After != c.after || r.UntilTheEnd != 45*time.Second {
			t.Errorf("%s: %+v, %v", name, r, ok)
		}
	}
	for name, span := range map[string][2]time.Duration{"nothing before": {0, 15 * time.Second}, "nothing after": {10 * time.Second, 55 * time.Second}} {
		if r, ok := disturbedCourse(never, never).Recovery(span[0], span[1]); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
