package record

import (
	"math/bits"
	"time"

	"poolwise/sim"
)

// Level is a number that changes in time, such as the size of a pool: it knows its mean over time, its maximum and its
// present value. The zero value is 0 from the start.
type Level struct {
	value  int64
	max    int64
	since  sim.Time
	areaHi uint64 // value x time, 128 bits, up to since
	areaLo uint64

	fromHi uint64 // the area when the warm-up ended
	fromLo uint64

	binMax int64 // since the last bin was closed
	binMin int64
	binHi  uint64
	binLo  uint64
}

// Add changes the level by d at time at, which is not before the last change.
func (l *Level) Add(at sim.Time, d int64) {
	l.advance(at)
	l.value += d
	if d < 0 {
		l.binMin = min(l.binMin, l.value)
		return
	}
	l.max = max(l.max, l.value)
	l.binMax = max(l.binMax, l.value)
}

func (l *Level) advance(at sim.Time) {
	if at == l.since {
		return
	}
	hi, lo := bits.Mul64(uint64(l.value), uint64(at-l.since))
	var carry uint64
	l.areaLo, carry = bits.Add64(l.areaLo, lo, 0)
	l.areaHi += hi + carry
	l.since = at
}

// restart makes mean and maximum count from at on.
func (l *Level) restart(at sim.Time) {
	l.advance(at)
	l.fromHi, l.fromLo, l.max = l.areaHi, l.areaLo, l.value
}

// mean returns the mean from time from, when the level was new or restarted, to time to.
func (l *Level) mean(from, to sim.Time) float64 {
	l.advance(to)
	if to <= from {
		return float64(l.value)
	}
	return span(l.areaHi, l.areaLo, l.fromHi, l.fromLo) / float64(to-from)
}

// level3 describes the level from time from, when it was new or restarted, to time to.
func (l *Level) level3(from, to sim.Time) Level3 {
	return Level3{Mean: ExactFloat(l.mean(from, to)), Max: ExactFloat(float64(l.max)), Final: ExactFloat(float64(l.value))}
}

// span returns the difference of two areas.
func span(hi, lo, fromHi, fromLo uint64) float64 {
	lo, borrow := bits.Sub64(lo, fromLo, 0)
	hi -= fromHi + borrow
	return float64(float64(hi)*0x1p64) + float64(lo)
}

// closeBin returns mean, minimum and maximum since the last call and starts the next bin.
func (l *Level) closeBin(at sim.Time, length time.Duration) (mean float64, lowest, highest int64) {
	l.advance(at)
	mean = span(l.areaHi, l.areaLo, l.binHi, l.binLo) / float64(length)
	lowest, highest = l.binMin, l.binMax
	l.binHi, l.binLo, l.binMin, l.binMax = l.areaHi, l.areaLo, l.value, l.value
	return mean, lowest, highest
}

// maxBins is how many bins a series has at the most; when they are full, pairs are merged and the bin doubles.
const maxBins = 512

// series samples levels into bins that get longer as the run does.
type series struct {
	levels []*Level
	names  []string
	bin    time.Duration
	next   sim.Time // end of the open bin
	mean   [][]float64
	min    [][]int64
	max    [][]int64
}

func newSeries(names []string, levels []*Level) *series {
	s := &series{levels: levels, names: names, bin: time.Millisecond}
	s.next = sim.Time(s.bin)
	s.mean, s.min, s.max = make([][]float64, len(levels)), make([][]int64, len(levels)), make([][]int64, len(levels))
	for i := range levels {
		s.mean[i], s.min[i], s.max[i] = make([]float64, 0, maxBins), make([]int64, 0, maxBins), make([]int64, 0, maxBins)
	}
	return s
}

// upTo closes the bins that end at or before at.
func (s *series) upTo(at sim.Time) {
	for s.next <= at {
		for i, l := range s.levels {
			mean, lowest, highest := l.closeBin(s.next, s.bin)
			s.mean[i], s.min[i], s.max[i] = append(s.mean[i], mean), append(s.min[i], lowest), append(s.max[i], highest)
		}
		if len(s.mean[0]) == maxBins {
			s.halve()
		}
		s.next = s.next.Add(s.bin)
		if s.next == sim.Forever {
			return
		}
	}
}

func (s *series) halve() {
	s.bin *= 2
	for i := range s.levels {
		for j := range maxBins / 2 {
			s.mean[i][j] = (s.mean[i][2*j] + s.mean[i][2*j+1]) / 2
			s.min[i][j] = min(s.min[i][2*j], s.min[i][2*j+1])
			s.max[i][j] = max(s.max[i][2*j], s.max[i][2*j+1])
		}
		s.mean[i], s.min[i], s.max[i] = s.mean[i][:maxBins/2], s.min[i][:maxBins/2], s.max[i][:maxBins/2]
	}
}

func (s *series) result() Series {
	return Series{Bin: s.bin, Names: s.names, Mean: s.mean, Max: s.max}
}
