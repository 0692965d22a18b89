package reports

import (
	"strings"
	"testing"

	"poolwise/sim/record"
)

// TestAllConnectionsTaken: a pool without a connection to spare, beside which requests go unserved, is named although what is measured of
// those who gave up in the middle does not say how many connections it would need.
func TestAllConnectionsTaken(t *testing.T) {
	cell := func(busy, served float64) *record.Cell {
		return &record.Cell{Arrivals: record.ExactFloat(897), Throughput: record.ExactFloat(served), Offered: []record.Offered{{
			Of: record.OfConnections, Service: "api", Have: 30, Busy: record.ExactFloat(busy), Load: record.Float{Value: 31, Lo: 29, Hi: 33, Known: true},
		}}}
	}
	const want = "All connections of the pool of api are taken all the time, and of 897 requests a second that arrive 667 are served; "
	if says := overload(cell(1, 667)); len(says) != 1 || !strings.HasPrefix(says[0], want) {
		t.Errorf("%q, want %q", says, want)
	}
	for name, c := range map[string]*record.Cell{"connections to spare": cell(0.9, 667), "all is served": cell(1, 890)} {
		if says := overload(c); says != nil {
			t.Errorf("%s: %q", name, says)
		}
	}
}
