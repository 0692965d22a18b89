package record

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histogram counts durations from 0 to 146 years in buckets of three significant digits, so its size does not depend on how
// many there are; it keeps the count, the sum, the least and the greatest exactly. Merging is exact: the merge of two
// histograms is the histogram of all their values. The zero value is empty.
type Histogram struct {
	hdr    *hdrhistogram.Histogram // nil until the first value
	n      int64
	sumHi  uint64 // the sum has 128 bits
	sumLo  uint64
	lo, hi time.Duration
}

// highest is the longest duration that is counted, about 146 years; longer ones are counted as this long.
const highest = 1<<62 - 1

// Record counts d; a negative one is a bug of the caller.
func (h *Histogram) Record(d time.Duration) {
	if h.hdr == nil {
		h.hdr = hdrhistogram.New(1, highest, 3)
		h.lo = d
	}
	if d < 0 || h.hdr.RecordValue(min(int64(d), highest)) != nil {
		panic(fmt.Sprintf("record: duration %d cannot be counted", d))
	}
	h.n++
	h.lo, h.hi = min(h.lo, d), max(h.hi, d)
	var carry uint64
	h.sumLo, carry = bits.Add64(h.sumLo, uint64(d), 0)
	h.sumHi += carry
}

// Merge adds all values of o.
func (h *Histogram) Merge(o *Histogram) {
	if o.n == 0 {
		return
	}
	if h.hdr == nil {
		h.hdr = hdrhistogram.New(1, highest, 3)
		h.lo = o.lo
	}
	h.hdr.Merge(o.hdr)
	h.n += o.n
	h.lo, h.hi = min(h.lo, o.lo), max(h.hi, o.hi)
	var carry uint64
	h.sumLo, carry = bits.Add64(h.sumLo, o.sumLo, 0)
	h.sumHi += o.sumHi + carry
}

// N returns how many values there are.
func (h *Histogram) N() int64 { return h.n }

// Min returns the least value, 0 if there is none.
func (h *Histogram) Min() time.Duration { return h.lo }

// Max returns the greatest value, 0 if there is none.
func (h *Histogram) Max() time.Duration { return h.hi }

// Mean returns the mean, rounded down; 0 if there is no value.
func (h *Histogram) Mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	q, _ := bits.Div64(h.sumHi, h.sumLo, uint64(h.n))
	return time.Duration(q)
}

// At returns the value at percentile p (0..100): at least that share of the values is equal or less, to three significant
// digits. It is 0 if there is no value.
func (h *Histogram) At(p float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := max(math.Ceil(float64(p/100*float64(h.n))-1e-9), 1) // 1e-9 for the error of p/100
	// The library rounds p/100 x n to the nearest rank, where the definition takes the next higher one.
	return min(max(time.Duration(h.hdr.ValueAtQuantile(100*rank/float64(h.n))), h.lo), h.hi)
}

// Estimable reports whether the sample is large enough for percentile p to be more than its greatest value: at least one
// value is expected beyond it.
func (h *Histogram) Estimable(p float64) bool {
	return float64(float64(h.n)*(100-p)) >= 99.999999 // 100, less the error of 100-p
}

// Bar is a step of the cumulative distribution.
type Bar struct {
	Value time.Duration
	Count int64 // values equal or less
}

// Cumulative returns the steps of the cumulative distribution, ascending.
func (h *Histogram) Cumulative() []Bar {
	if h.n == 0 {
		return nil
	}
	var bars []Bar
	var below int64
	for _, b := range h.hdr.Distribution() {
		if b.Count == 0 {
			continue
		}
		below += b.Count
		bars = append(bars, Bar{min(max(time.Duration(b.To), h.lo), h.hi), below})
	}
	return bars
}

// Summary returns the figures of the histogram; a percentile that the number of values cannot support is unknown.
func (h *Histogram) Summary() Summary {
	s := Summary{N: h.n}
	if h.n == 0 {
		return s
	}
	s.Mean, s.Min, s.Max = Exact(h.Mean()), Exact(h.lo), Exact(h.hi)
	for _, q := range s.percentiles() {
		if h.Estimable(q.p) {
			*q.to = Exact(h.At(q.p))
		}
	}
	return s
}

type percentile struct {
	p  float64
	to *Duration
}

// percentiles lists the percentiles that a summary has.
func (s *Summary) percentiles() [5]percentile {
	return [5]percentile{{50, &s.P50}, {90, &s.P90}, {95, &s.P95}, {99, &s.P99}, {99.9, &s.P999}}
}
