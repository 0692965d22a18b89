package reports

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// HGRM writes the latency of a cell's served requests as HdrHistogram's percentile output, in milliseconds, which its plotter
// and others read. It is an error if the cell has no histogram: one that was read from JSON has none.
func HGRM(w io.Writer, c *record.Cell) error {
	h := c.Curves.Latency
	if h == nil {
		return errors.New("percentiles: the result has figures only, no histogram of latencies; run it again")
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	const ms = 1e6
	for _, s := range digest.Percentiles(h, 5) {
		fmt.Fprintf(b, "%12.3f %2.12f %10d", float64(s.Value)/ms, s.Percentile/100, s.Count)
		if s.Percentile < 100 {
			fmt.Fprintf(b, " %14.2f", 100/(100-s.Percentile))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", float64(h.Mean())/ms, deviation(h)/ms)
	fmt.Fprintf(b, "#[Max     = %12.3f, Total count    = %12d]\n", float64(h.Max())/ms, h.N())
	return b.Flush()
}

// deviation returns the standard deviation in nanoseconds.
func deviation(h *record.Histogram) float64 {
	var sum float64
	var below int64
	for _, bar := range h.Cumulative() {
		d := float64(bar.Value - h.Mean())
		sum += float64(float64(bar.Count-below) * d * d)
		below = bar.Count
	}
	return math.Sqrt(sum / float64(max(h.N(), 1)))
}
