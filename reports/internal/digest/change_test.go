package digest

import (
	"math"
	"testing"
)

func TestChanges(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Change(0.3149), "+31 %"},
		{Change(-0.001234), "-0.12 %"},
		{Change(1), "+100 %"},
		{Change(0.9949), "+99 %"},
		{Change(-0.9951), "-100 %"},
		{Change(98.999), "+9900 %"},
		{Change(1234), "×1235"},
		{Change(366_499), "×366k"},
		{Change(98.9), "+9890 %"},
		{Difference(12.5e6, "ns"), "+12.5 ms"},
		{Difference(-1310e6, "ns"), "-1.31 s"},
		{Difference(-0.25, "ns"), "-0.25 ns"},
		{Difference(0, "ns"), "0"},
		{Difference(0.005, "ratio"), "+0.50 pp"},
		{Difference(-3.14, "per_second"), "-3.14/s"},
		{Difference(12, "count"), "+12"},
		{InUnit(331e6, "ns"), "331 ms"},
		{InUnit(0.001, "ratio"), "0.10 %"},
		{InUnit(769, "per_second"), "769/s"},
		{InUnit(12, "count"), "12"},
		{InUnit(math.Inf(1), "ns"), "107000 d"},
		{P(0.0318), "0.032"},
		{P(0.0009), "<0.001"},
		{P(0), "<0.001"},
		{P(0.996), "1"},
		{P(1), "1"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
