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

// series samples levels into bins that get longer as the run does: those of all pools and, if there are several courses, of each.
type series struct {
	names   []string
	bin     time.Duration
	next    sim.Time     // end of the open bin
	courses []openCourse // the first is that of all pools
	min     [][]int64
}

// openCourse is what a series has of some pools.
type openCourse struct {
	levels []*Level
	mean   [][]float64
	max    [][]int64
	open   Ends // of the open bin
	ended  []Ends
}

func newSeries(names []string, levels []*Level) *series {
	s := &series{names: names, bin: time.Millisecond, courses: []openCourse{newCourse(levels, 0)}}
	s.next = sim.Time(s.bin)
	s.min = make([][]int64, len(levels))
	for i := range s.min {
		s.min[i] = make([]int64, 0, maxBins)
	}
	return s
}

// newCourse begins a course whose levels were 0 for some bins.
func newCourse(levels []*Level, bins int) openCourse {
	c := openCourse{levels: levels, mean: make([][]float64, len(levels)), max: make([][]int64, len(levels)), ended: make([]Ends, bins, maxBins)}
	for i := range levels {
		c.mean[i], c.max[i] = make([]float64, bins, maxBins), make([]int64, bins, maxBins)
	}
	return c
}

// add begins another course.
func (s *series) add(levels []*Level) { s.courses = append(s.courses, newCourse(levels, s.bins())) }

// bins is how many are closed.
func (s *series) bins() int { return len(s.courses[0].ended) }

// upTo closes the bins that end at or before at.
func (s *series) upTo(at sim.Time) {
	for s.next <= at {
		for i := range s.courses {
			c := &s.courses[i]
			for j, l := range c.levels {
				mean, lowest, highest := l.closeBin(s.next, s.bin)
				c.mean[j], c.max[j] = append(c.mean[j], mean), append(c.max[j], highest)
				if i == 0 {
					s.min[j] = append(s.min[j], lowest)
				}
			}
			c.ended, c.open = append(c.ended, c.open), Ends{}
		}
		if s.bins() == maxBins {
			s.halve()
		}
		s.next = s.next.Add(s.bin)
		if s.next == sim.Forever {
			return
		}
	}
}

func (s *series) halve() {
	const half = maxBins / 2
	s.bin *= 2
	for i := range s.courses {
		c := &s.courses[i]
		for j := range half {
			for l := range c.levels {
				c.mean[l][j] = (c.mean[l][2*j] + c.mean[l][2*j+1]) / 2
				c.max[l][j] = max(c.max[l][2*j], c.max[l][2*j+1])
			}
			c.ended[j] = Ends{c.ended[2*j].OK + c.ended[2*j+1].OK, c.ended[2*j].Failed + c.ended[2*j+1].Failed}
		}
		for l := range c.levels {
			c.mean[l], c.max[l] = c.mean[l][:half], c.max[l][:half]
		}
		c.ended = c.ended[:half]
	}
	for i := range s.min {
		for j := range half {
			s.min[i][j] = min(s.min[i][2*j], s.min[i][2*j+1])
		}
		s.min[i] = s.min[i][:half]
	}
}

// result returns what was sampled up to the end of the run, the open bin included. The levels take no more changes.
func (s *series) result(end sim.Time) Series {
	r := Series{Bin: s.bin, End: time.Duration(end), Names: s.names}
	length := end.Sub(s.next.Add(-s.bin))
	for i := range s.courses {
		c := &s.courses[i]
		if length > 0 || s.courses[0].open != (Ends{}) {
			for j, l := range c.levels {
				mean, _, highest := l.closeBin(end, max(length, 1))
				if length == 0 {
					mean = float64(l.value)
				}
				c.mean[j], c.max[j] = append(c.mean[j], mean), append(c.max[j], highest)
			}
			c.ended = append(c.ended, c.open)
		}
		r.Services = append(r.Services, Course{Mean: c.mean, Max: c.max, Ended: c.ended})
	}
	r.Course, r.Services = r.Services[0], r.Services[1:]
	return r
}
