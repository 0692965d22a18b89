package digest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"poolwise/sim/record"
)

// Kind says what the values of a numeric setting are.
type Kind uint8

// The kinds of values.
const (
	Bare      Kind = iota // 8
	Span                  // 30s, in nanoseconds
	PerSecond             // 200/s
	Percent               // 5%
)

// ParseValue reads the value of a setting as a number, if it is one: 8, 30s, 200/s or 5%.
func ParseValue(s string) (v float64, k Kind, ok bool) {
	if d, err := time.ParseDuration(s); err == nil {
		return float64(d), Span, true
	}
	n, k := s, Bare
	if number, found := strings.CutSuffix(s, "/s"); found {
		n, k = number, PerSecond
	} else if number, found := strings.CutSuffix(s, "%"); found {
		n, k = number, Percent
	}
	v, err := strconv.ParseFloat(n, 64)
	return v, k, err == nil && finite(v)
}

func finite(v float64) bool { return v-v == 0 }

// Varying returns the keys of the settings that are not the same in all cells, in the order of the sweep.
func Varying(r *record.Result) []string {
	var keys []string
	for _, c := range r.Cells {
		for _, kv := range c.Settings {
			if !slices.Contains(keys, kv.Key) {
				keys = append(keys, kv.Key)
			}
		}
	}
	return slices.DeleteFunc(keys, func(key string) bool {
		first, _ := Value(r.Cells[0].Settings, key)
		return !slices.ContainsFunc(r.Cells, func(c record.Cell) bool {
			v, ok := Value(c.Settings, key)
			return v != first || !ok
		})
	})
}

// Value returns the value of a setting.
func Value(s record.Settings, key string) (string, bool) {
	for _, kv := range s {
		if kv.Key == key {
			return kv.Value, true
		}
	}
	return "", false
}

// Point is one cell of a sweep.
type Point struct {
	Cell  *record.Cell
	Value float64 // of the swept setting
	Label string  // as it was written
}

// Clean is Cell.Clean.
func (p Point) Clean() bool { return p.Cell.Clean() }

// Open reports whether the load is the same at every point, since requests arrive whether or not earlier ones have ended: then
// throughput says nothing of a setting.
func (l *Line) Open() bool {
	return !slices.ContainsFunc(l.Points, func(p Point) bool { return !p.Cell.Arrivals.Known })
}

// IsLoad reports whether the setting is how much is asked for, and not how it is served: a rate, or a number of clients.
func (l *Line) IsLoad() bool {
	return l.Kind == PerSecond || strings.HasSuffix(l.Key, "workload.clients")
}

// IsLabel reports whether a key of the settings is the name of an axis whose values are labels: paths in a scenario have a point.
func IsLabel(key string) bool { return !strings.Contains(key, ".") }

// OKShare is the share of the requests that ended which were served.
func OKShare(q record.Requests) float64 {
	if q.OK+q.Failed == 0 {
		return 0
	}
	return float64(q.OK) / float64(q.OK+q.Failed)
}

// Line is a sweep over one setting, all others being equal: points in ascending order of it.
type Line struct {
	Key    string
	Kind   Kind
	Others record.Settings // those that are equal along the line and differ between lines
	Points []Point
}

// Lines splits the cells into lines along a setting; there are none unless its value is a number in every cell, of one kind,
// with at least two values on some line.
func Lines(r *record.Result, key string) []Line {
	varying := Varying(r)
	if !slices.Contains(varying, key) {
		return nil
	}
	var lines []Line
	for i := range r.Cells {
		c := &r.Cells[i]
		text, _ := Value(c.Settings, key)
		v, kind, ok := ParseValue(text)
		if !ok || len(lines) > 0 && kind != lines[0].Kind {
			return nil
		}
		var others record.Settings
		for _, kv := range c.Settings {
			if kv.Key != key && slices.Contains(varying, kv.Key) {
				others = append(others, kv)
			}
		}
		at := slices.IndexFunc(lines, func(l Line) bool { return slices.Equal(l.Others, others) })
		if at < 0 {
			at = len(lines)
			lines = append(lines, Line{Key: key, Kind: kind, Others: others})
		}
		lines[at].Points = append(lines[at].Points, Point{c, v, Printable(text)})
	}
	long := false
	for _, l := range lines {
		slices.SortStableFunc(l.Points, func(a, b Point) int { return cmp.Compare(a.Value, b.Value) })
		long = long || l.Points[0].Value != l.Points[len(l.Points)-1].Value
	}
	if !long {
		return nil
	}
	return lines
}

// Region says what a stretch of a line is like.
type Region uint8

// The regions.
const (
	Below    Region = iota // before the flat region: less throughput
	Flat                   // no request fails, with the best throughput or within 5 % of it
	Beyond                 // after the flat region, without failures: less throughput
	Failing                // requests fail
	Refusing               // requests fail, and the server refuses connections
	Unclear                // there is nothing to compare with
)

// Tolerance is how far below the best a throughput may be to count as flat, in percent.
const Tolerance = 5

// Best returns the point without failures with the highest throughput, the first of equals; -1 if there is none.
func (l *Line) Best() int {
	best := -1
	for i, p := range l.Points {
		if p.Clean() && p.Cell.Throughput.Known && (best < 0 || p.Cell.Throughput.Value > l.Points[best].Cell.Throughput.Value) {
			best = i
		}
	}
	return best
}

// Flat returns the first and the last point of the flat region around the best; -1, -1 if there is none.
func (l *Line) Flat() (first, last int) {
	best := l.Best()
	if best < 0 {
		return -1, -1
	}
	flat := func(i int) bool {
		t := l.Points[i].Cell.Throughput
		return l.Points[i].Clean() && t.Known && t.Value >= (100-Tolerance)/100.0*l.Points[best].Cell.Throughput.Value
	}
	for first = best; first > 0 && flat(first-1); first-- {
	}
	for last = best; last < len(l.Points)-1 && flat(last+1); last++ {
	}
	return first, last
}

// Regions returns the region of each point.
func (l *Line) Regions() []Region {
	first, last := l.Flat()
	regions := make([]Region, len(l.Points))
	for i, p := range l.Points {
		q := p.Cell.Requests
		switch {
		case first >= 0 && i >= first && i <= last:
			regions[i] = Flat
		case q.Failed > 0 && p.Cell.Server.Refused > 0:
			regions[i] = Refusing
		case first >= 0 && i < first && (p.Cell.Throughput.Known || q.Failed > 0):
			regions[i] = Below
		case q.Failed > 0:
			regions[i] = Failing
		case first >= 0 && p.Cell.Throughput.Known:
			regions[i] = Beyond
		default:
			regions[i] = Unclear
		}
	}
	return regions
}

// Name returns the words for a region of the line, which may lie after the flat one.
func (l *Line) Name(r Region, after bool) string {
	switch r {
	case Below:
		if l.IsSize() {
			return "too small"
		}
		return "less throughput"
	case Flat:
		return "flat"
	case Beyond:
		return "less throughput"
	case Failing:
		return "requests fail"
	case Refusing:
		if after && l.IsSize() {
			return "past the server's limit"
		}
		return "the server refuses"
	}
	return ""
}

// IsSize reports whether the setting is the size of a pool, so that a low value can be called too small.
func (l *Line) IsSize() bool {
	path := strings.Split(l.Key, ".")
	return slices.Contains(path, "pool") && slices.Contains(sizes, path[len(path)-1]) || l.Key == "pooler.default_pool_size"
}

// sizes are the names of the option for the size, in the pools there are.
var sizes = []string{
	"max", "size", "max_size", "max_total", "max_connections", "max_conns", "max_open", "max_open_conns", "pool_size", "maximum_pool_size",
}
