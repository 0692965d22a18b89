package reports

import (
	"bytes"
	"strings"
	"testing"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

func TestPrecisionIsTold(t *testing.T) {
	reached := &record.Stopped{By: record.ByPrecision, Wanted: 0.05, Figure: "p(99)", Precision: record.ExactFloat(0.04)}
	short := &record.Stopped{By: record.ByMaximum, Wanted: 0.05, Figure: "p(99)", Precision: record.ExactFloat(0.072)}
	never := &record.Stopped{By: record.ByMaximum, Wanted: 0.05, Figure: "avg{wait}"}
	for _, c := range []struct {
		stopped []*record.Stopped
		want    string
	}{
		{[]*record.Stopped{nil, nil}, ""},
		{[]*record.Stopped{reached}, "Replications went on until the precision of 5.0 % was reached."},
		{[]*record.Stopped{reached, reached}, "Replications went on until the precision of 5.0 % was reached, at every setting."},
		{[]*record.Stopped{never}, "The most replications that were allowed ended the run before the precision of 5.0 % was reached: avg{wait} not measured at pool.max=2."},
		{[]*record.Stopped{reached, short, reached}, "At 1 of 3 settings the most replications that were allowed ended the run before the precision of 5.0 % was reached: p(99) ±7.2 % at pool.max=4."},
		{[]*record.Stopped{short, short, short, never, reached}, "At 4 of 5 settings the most replications that were allowed ended the run before the precision of 5.0 % was reached: p(99) ±7.2 % at pool.max=2; p(99) ±7.2 % at pool.max=4; p(99) ±7.2 % at pool.max=8; 1 more."},
	} {
		r := reporttest.Result("precise", "", reporttest.Lab[:len(c.stopped)], 5)
		for i := range r.Cells {
			r.Cells[i].Stopped = c.stopped[i]
		}
		if got := strings.Join(precision(r), " "); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
		var b bytes.Buffer
		if err := Text(&b, r, Options{Width: 1000}); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("error %v, or the report does not say it", err)
		}
	}
}
