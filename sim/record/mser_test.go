package record

import (
	"math"
	"testing"
	"time"

	"poolwise/sim"
)

// feed gives the rule n latencies, one a second, and between them failures, which do not count.
func feed(n int, latency func(i int) float64) *WarmUp {
	w := new(WarmUp)
	for i := range n {
		w.Note(Fact{Kind: RequestEnded, At: sim.Time(i) * 1e9, Took: time.Duration(latency(i))})
		w.Note(Fact{Kind: RequestEnded, At: sim.Time(i) * 1e9, Took: 1e15, Outcome: Failed})
	}
	return w
}

// noise is uniform in 0..1000 and the same in every run.
func noise(i int) float64 {
	r := sim.NewStream(1, "noise").At(int64(i))
	return 1000 * r.Unit()
}

func TestWarmUpFindsAStep(t *testing.T) {
	w := feed(10_000, func(i int) float64 {
		if i < 1000 {
			return 1e6 + noise(i)
		}
		return noise(i)
	})
	at, late := w.Cut()
	// The step ends with the 1000th value, at 999 s; a batch or two of noise may go with it.
	if sec := at.Sub(0).Seconds(); late || sec < 999 || sec > 1030 {
		t.Errorf("cut at %v, late %v", at, late)
	}
}

func TestWarmUpFindsADecay(t *testing.T) {
	w := feed(10_000, func(i int) float64 { return 1e5*math.Exp(-float64(i)/200) + noise(i) })
	at, late := w.Cut()
	// After 7 time constants the transient is 91, a third of the noise's deviation of 289; after 3 it is 17 times as much.
	if sec := at.Sub(0).Seconds(); late || sec < 600 || sec > 2500 {
		t.Errorf("cut at %v, late %v", at, late)
	}
}

func TestWarmUpLeavesAStationarySeriesAlone(t *testing.T) {
	at, late := feed(10_000, noise).Cut()
	if late || at.Sub(0).Seconds() > 500 {
		t.Errorf("cut at %v, late %v", at, late)
	}
}

func TestWarmUpDoesNotTrustATrend(t *testing.T) {
	at, late := feed(10_000, func(i int) float64 { return float64(i) * 100 }).Cut()
	if !late {
		t.Error("a series that only grows was found to settle")
	}
	if at.Sub(0).Seconds() > 5001 {
		t.Errorf("cut at %v: want half of the run to be left", at)
	}
	if _, late := feed(30, noise).Cut(); !late {
		t.Error("six batches were thought to be enough")
	}
}

func TestWarmUpMemoryIsBounded(t *testing.T) {
	w := feed(2_000_000, func(i int) float64 { return 500 + noise(i) })
	if len(w.batch) >= maxBatches || w.size <= mserBatch {
		t.Errorf("%d batches of %d", len(w.batch), w.size)
	}
}

// One latency in fifty is a thousand times as long: there is no trend, and nothing to forget, but the least standard error is often where
// none of the long ones is left.
func TestWarmUpTakesRareLongLatenciesForNoTrend(t *testing.T) {
	const runs = 200
	lateOnes := 0
	for seed := range uint64(runs) {
		stream := sim.NewStream(seed, "rare")
		_, late := feed(2000, func(i int) float64 {
			r := stream.At(int64(i))
			if r.Unit() < 0.02 {
				return 1e6
			}
			return 1000
		}).Cut()
		if late {
			lateOnes++
		}
	}
	if lateOnes > runs/10 {
		t.Errorf("%d of %d runs were said not to settle", lateOnes, runs)
	}
}
