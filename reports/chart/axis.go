package chart

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot/vg"

	"poolwise/reports/internal/digest"
)

// scale maps values to places. Values outside are put at its ends.
type scale struct {
	lo, hi   float64
	log      bool
	empty    bool    // there is nothing above 0 to show
	whole    bool    // ticks are at whole numbers
	parts    float64 // how many there are room for; 0 for five
	from, to vg.Length
}

// position returns where v is, 0 at lo and 1 at hi.
func (s scale) position(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		if v <= 0 {
			return 0
		}
		v, lo, hi = math.Log(v), math.Log(lo), math.Log(hi)
	}
	p := (v/2 - lo/2) / (hi/2 - lo/2) // halves do not overflow
	if math.IsNaN(p) {
		return 0
	}
	return min(max(p, 0), 1)
}

func (s scale) at(v float64) vg.Length {
	return s.from + (s.to-s.from)*vg.Length(s.position(v))
}

// tick is a labelled place on an axis.
type tick struct {
	v     float64
	label string
	minor bool // its label gives way to others
}

// upTo returns a scale for values that are not negative: from 0, or logarithmic if they differ by more than a factor. room
// is how much of it is left free at the top.
func upTo(values []float64, factor, room float64) scale {
	lo, hi := math.Inf(1), 0.0
	for _, v := range values {
		if v > 1e-150 && v < 1e150 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	switch {
	case hi == 0:
		return scale{hi: 1, empty: true}
	case hi/lo > factor:
		return scale{lo: lo / 1.5, hi: hi * math.Pow(hi/lo, room), log: true}
	}
	return scale{lo: 0, hi: hi * (1 + room)}
}

// ticks returns round values on the scale, labelled; 0 needs no unit.
func (s scale) ticks(label func(float64) string) []tick {
	var all []tick
	for _, v := range s.round() {
		if v == 0 {
			all = append(all, tick{v: v, label: "0"})
			continue
		}
		all = append(all, tick{v, label(v), s.log && !decade(v)})
	}
	return all
}

// decade reports whether v is a power of ten.
func decade(v float64) bool {
	e := math.Log10(v)
	return math.Abs(e-math.Round(e)) < 1e-9
}

func (s scale) round() []float64 {
	if s.log {
		return s.decades()
	}
	if s.empty {
		return []float64{0}
	}
	least := (s.hi - s.lo) / cmp.Or(s.parts, 5)
	if s.whole {
		least = max(least, 1)
	}
	step := math.Pow10(int(math.Floor(math.Log10(least))))
	for _, times := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if step < least {
			step *= times
		}
	}
	var all []float64
	for i := math.Ceil(s.lo / step); i*step <= s.hi && len(all) < 10; i++ {
		all = append(all, i*step)
	}
	return all
}

// decades returns powers of ten, with 2 and 5 times them if there are few.
func (s scale) decades() []float64 {
	first, last := math.Floor(math.Log10(s.lo)), math.Ceil(math.Log10(s.hi))
	times := []float64{1}
	if last-first <= 3 {
		times = []float64{1, 2, 5}
	}
	step := max(math.Ceil((last-first)/6), 1)
	var all []float64
	for e := first; e <= last; e += step {
		for _, t := range times {
			if v := t * math.Pow10(int(e)); v >= s.lo && v <= s.hi {
				all = append(all, v)
			}
		}
	}
	return all
}

// durations labels round values of a scale of nanoseconds, all in one unit unless it is logarithmic.
func (s scale) durations() []tick {
	if s.log {
		return s.ticks(func(v float64) string { return inUnit(v, v) })
	}
	unit, _ := digest.Axis(time.Duration(s.hi))
	ticks := scale{lo: s.lo / unit, hi: s.hi / unit, empty: s.empty}.ticks(func(v float64) string { return inUnit(v*unit, s.hi) })
	for i := range ticks {
		ticks[i].v *= unit
	}
	return ticks
}

// inUnit writes v nanoseconds, a round number, in the unit that suits a duration of like nanoseconds.
func inUnit(v, like float64) string {
	unit, name := digest.Axis(time.Duration(like))
	return trimmed(v/unit) + " " + name
}

// trimmed writes a round number without the noise of its last bits.
func trimmed(v float64) string {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 5, 64), 64)
	if math.Abs(r) >= 1e6 {
		return strconv.FormatFloat(r, 'g', -1, 64)
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// spread returns a scale on which the values of a setting, ascending, lie most evenly, linear or logarithmic, with some room at
// the ends.
func spread(values []float64) scale {
	first, last := values[0], values[len(values)-1]
	s := scale{lo: first, hi: last, log: first > 0 && uneven(values, math.Log) < uneven(values, identity)}
	to, back := identity, identity
	if s.log {
		to, back = math.Log, math.Exp
	}
	all := to(last) - to(first)
	// Half of the gap to the next value, within reason.
	room := func(gap float64) float64 { return min(max(gap/2, 0.02*all), 0.08*all) }
	s.lo = back(to(first) - room(to(values[1])-to(first)))
	s.hi = back(to(last) + room(to(last)-to(values[len(values)-2])))
	return s
}

func identity(v float64) float64 { return v }

// uneven is the coefficient of variation of the gaps between values after a transformation.
func uneven(values []float64, of func(float64) float64) float64 {
	mean := (of(values[len(values)-1]) - of(values[0])) / float64(len(values)-1)
	var sum float64
	for i := range len(values) - 1 {
		d := (of(values[i+1])-of(values[i]))/mean - 1
		sum += d * d
	}
	return sum
}
