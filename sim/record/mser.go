package record

import (
	"math"
	"time"

	"poolwise/sim"
)

// WarmUp is the Sink that finds out how long a run takes to forget how it began, by the rule MSER-5 (White, Cobb and Spratt
// 2000): the latencies of successful requests, in the order in which they end, are averaged in batches of five, and the cut is
// where the standard error of the mean of what remains is least. Beyond 65536 batches neighbours are joined, so that its
// memory is bounded.
type WarmUp struct {
	size  int // values in a batch
	batch []batch
	open  batch
	n     int // values in open
}

type batch struct {
	mean float64
	end  sim.Time // when its last value came
}

const (
	mserBatch  = 5
	maxBatches = 1 << 16
)

// Wants reports whether facts of a kind say how long a warm-up is.
func (w *WarmUp) Wants(k FactKind) bool { return k == RequestEnded }

// Note implements Sink.
func (w *WarmUp) Note(f Fact) {
	if f.Kind != RequestEnded || f.Outcome != OK {
		return
	}
	if w.size == 0 {
		w.size = mserBatch
	}
	w.open.mean += float64(f.Took)
	w.open.end = f.At
	w.n++
	if w.n < w.size {
		return
	}
	w.open.mean /= float64(w.size)
	w.batch = append(w.batch, w.open)
	w.open, w.n = batch{}, 0
	if len(w.batch) == maxBatches {
		for i := range maxBatches / 2 {
			a, b := w.batch[2*i], w.batch[2*i+1]
			w.batch[i] = batch{mean: (a.mean + b.mean) / 2, end: b.end}
		}
		w.batch = w.batch[:maxBatches/2]
		w.size *= 2
	}
}

// Cut returns the time at which the warm-up ends, in the first half of the run. late reports that the rule would have put it in
// the second half, where it cannot be trusted, and that what follows the cut in the first half still changes: the run is too short, or
// does not settle. (Rare long latencies alone put the cut of a run without any trend in the second half, after the last of them.)
// Without at least ten batches there is no cut and it is late.
func (w *WarmUp) Cut() (at sim.Time, late bool) {
	m := len(w.batch)
	if m < 10 {
		return 0, true
	}
	// From the back: sum and sum of squares of batches d..m-1, taken about the last mean to keep the digits. least is the least
	// standard error so far, and cut where it was; early is the same for the first half.
	shift := w.batch[m-1].mean
	var sum, squares float64
	least, leastEarly := math.Inf(1), math.Inf(1)
	cut, early := m, 0
	for d := m - 1; d >= 0; d-- {
		x := w.batch[d].mean - shift
		sum += x
		squares += float64(x * x)
		k := float64(m - d)
		if k < mserBatch {
			continue // the standard error of so few is no estimate
		}
		se := (squares - float64(sum*sum)/k) / float64(k*k)
		if se <= least {
			least, cut = se, d
		}
		if d <= m/2 && se <= leastEarly {
			leastEarly, early = se, d
		}
	}
	if early > 0 {
		at = w.batch[early-1].end + sim.Time(time.Nanosecond)
	}
	return at, cut > m/2 && !w.settles(early)
}

// settles reports whether the latencies from a batch on do not change from the first half of them to the second, at 5 %: by the means of
// ten groups of batches, each long enough to have forgotten the one before.
func (w *WarmUp) settles(from int) bool {
	const groups, t = 10, 2.306 // Student's, of 8 degrees of freedom
	n := (len(w.batch) - from) / groups
	if n < 2 {
		return false
	}
	var mean [groups]float64
	for g := range mean {
		for i := range n {
			mean[g] += w.batch[from+g*n+i].mean / float64(n)
		}
	}
	a, va := moments(mean[:groups/2])
	b, vb := moments(mean[groups/2:])
	d := a - b
	return float64(d*d) <= float64(t*t)*(va+vb)/(groups/2)
}
