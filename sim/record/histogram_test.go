package record

import (
	"math"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestBucketsAreThoseOfHdrHistogram: the library puts the same values into the same buckets, and says the same of their bounds.
func TestBucketsAreThoseOfHdrHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h Histogram
		twin := hdrhistogram.New(1, 1<<62-1, 3)
		atRest := rapid.IntRange(0, 40).Draw(t, "values before a rest")
		for i := range rapid.IntRange(0, 40).Draw(t, "values") {
			if i == atRest {
				h.Rest()
			}
			d := rapid.Int64Range(0, 1<<rapid.IntRange(0, 62).Draw(t, "magnitude")-1).Draw(t, "value")
			h.Record(time.Duration(d))
			if err := twin.RecordValue(d); err != nil {
				t.Fatal(err)
			}
		}
		var want []Bar
		for _, b := range twin.Distribution() {
			if b.Count > 0 {
				want = append(want, Bar{time.Duration(b.To), b.Count})
			}
		}
		if d := cmp.Diff(want, h.bars()); d != "" {
			t.Fatalf("buckets (-library +ours):\n%s", d)
		}
	})
}

// TestBucketsAtTheEdges: around each power of two, and at the longest duration of all, a value is in its bucket and the next
// bucket begins right after it.
func TestBucketsAtTheEdges(t *testing.T) {
	check := func(d time.Duration) {
		i := int(bucket(d))
		if d > highest(i) || i > 0 && d <= highest(i-1) {
			t.Errorf("%d is in the bucket from %d to %d", d, highest(i-1)+1, highest(i))
		}
	}
	for shift := range 63 {
		for d := max(time.Duration(1)<<shift-2, 0); d <= 1<<shift+1; d++ {
			check(d)
		}
	}
	check(math.MaxInt64)
	var h Histogram
	h.Record(math.MaxInt64)
	defer func() {
		if recover() == nil {
			t.Error("a negative duration was counted beside the longest")
		}
	}()
	h.Record(-1)
}
