package record

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations in the buckets that HdrHistogram (Tene) has for three significant digits, so its size does not
// depend on how many there are; it keeps the count, the sum, the least and the greatest exactly. Merging is exact: the merge
// of two histograms is the histogram of all their values. The zero value is empty.
type Histogram struct {
	counts []int64 // by bucket, while values are recorded; nil when they are at rest
	rest   []Bar   // at rest: the buckets that are not empty, ascending
	n      int64
	sumHi  uint64 // the sum has 128 bits
	sumLo  uint64
	lo, hi time.Duration
}

// Bar is a bucket, or with counts from the first bucket on a step of the cumulative distribution.
type Bar struct {
	Value time.Duration // the highest of the bucket
	Count int64
}

// half is how many buckets there are from each power of two to the next; below 2*half each nanosecond has its own.
const (
	half     = 1 << halfBits
	halfBits = 10
)

// bucket returns the index of the bucket of d. The buckets of [half<<w, 2*half<<w) are 1<<w wide and follow each other from
// index (w+1)*half on.
func bucket(d time.Duration) uint {
	w := uint(bits.Len64(uint64(d)|(2*half-1))) - (halfBits + 1)
	return w<<halfBits + uint(d)>>w
}

// highest returns the highest value of a bucket.
func highest(bucket int) time.Duration {
	w := max(bucket>>halfBits, 1) - 1
	return time.Duration(bucket-w<<halfBits+1)<<w - 1
}

// Record counts d; a negative one is a bug of the caller.
func (h *Histogram) Record(d time.Duration) {
	i := bucket(d)
	if i >= uint(len(h.counts)) {
		h.reach(d)
	}
	h.counts[i]++
	if h.n == 0 {
		h.lo = d
	}
	h.n++
	h.lo, h.hi = min(h.lo, d), max(h.hi, d)
	h.addToSum(0, uint64(d))
}

func (h *Histogram) addToSum(hi, lo uint64) {
	var carry uint64
	h.sumLo, carry = bits.Add64(h.sumLo, lo, 0)
	h.sumHi += hi + carry
}

// reach makes room for all up to the power of two above d.
func (h *Histogram) reach(d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("record: duration %d cannot be counted", d))
	}
	counts := make([]int64, (bucket(d)>>halfBits+1)<<halfBits)
	copy(counts, h.counts)
	h.counts = counts
	rest := h.rest
	h.rest = nil
	for _, b := range rest {
		i := bucket(b.Value)
		if i >= uint(len(h.counts)) {
			h.reach(b.Value)
		}
		h.counts[i] += b.Count
	}
}

// Rest gives back the room for recording and keeps only the buckets that are not empty. Record may be called again.
func (h *Histogram) Rest() {
	if h.counts != nil {
		h.rest, h.counts = h.bars(), nil
	}
}

// bars returns the buckets that are not empty, ascending.
func (h *Histogram) bars() []Bar {
	if h.counts == nil {
		return h.rest
	}
	var bars []Bar
	for i, n := range h.counts {
		if n > 0 {
			bars = append(bars, Bar{highest(i), n})
		}
	}
	return bars
}

// Merge adds all values of o and lays h to rest.
func (h *Histogram) Merge(o *Histogram) {
	if o.n == 0 {
		return
	}
	a, b := h.bars(), o.bars()
	all := make([]Bar, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Value < b[0].Value:
			all, a = append(all, a[0]), a[1:]
		case a[0].Value > b[0].Value:
			all, b = append(all, b[0]), b[1:]
		default:
			all = append(all, Bar{a[0].Value, a[0].Count + b[0].Count})
			a, b = a[1:], b[1:]
		}
	}
	h.rest, h.counts = append(append(all, a...), b...), nil
	if h.n == 0 {
		h.lo = o.lo
	}
	h.n += o.n
	h.lo, h.hi = min(h.lo, o.lo), max(h.hi, o.hi)
	h.addToSum(o.sumHi, o.sumLo)
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

// At returns the value at percentile p (0..100), the least that at least that share of the values does not exceed, to three
// significant digits. It is 0 if there is no value.
func (h *Histogram) At(p float64) time.Duration {
	rank := int64(math.Ceil(float64(p/100*float64(h.n)) - 1e-9)) // 1e-9 for the error of p/100
	var below int64
	for _, b := range h.bars() {
		below += b.Count
		if below >= rank {
			return h.inside(b.Value)
		}
	}
	return h.hi
}

// inside keeps the value of a bucket among those that were recorded.
func (h *Histogram) inside(d time.Duration) time.Duration { return min(max(d, h.lo), h.hi) }

// Estimable reports whether the sample is large enough for percentile p to be more than its greatest value: at least one
// value is expected beyond it.
func (h *Histogram) Estimable(p float64) bool {
	return float64(float64(h.n)*(100-p)) >= 99.999999 // 100, less the error of 100-p
}

// Cumulative returns the steps of the cumulative distribution, ascending: how many values are equal or less.
func (h *Histogram) Cumulative() []Bar {
	var steps []Bar
	var below int64
	for _, b := range h.bars() {
		below += b.Count
		steps = append(steps, Bar{h.inside(b.Value), below})
	}
	return steps
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
