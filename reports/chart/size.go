package chart

import (
	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// Size draws what is worth seeing of a search for a size, in a format, svg or png: the sizing curve with the size to use marked,
// the percentiles of latency and of waits, and the levels over time at the size to use.
func Size(s *record.Sizing, format string) ([]Named, error) {
	r := s.Result()
	var use []float64
	at := -1
	if s.Use != nil {
		use = append(use, float64(*s.Use))
		for i := range s.Sizes {
			if s.Sizes[i].Size == *s.Use {
				at = i
			}
		}
	}
	a := album{format: format, used: map[string]bool{}}
	if digest.Lines(r, s.Key) != nil {
		b, err := SizingCurve(r, s.Key, format, use...)
		if err := a.add("sizing-curve", b, err); err != nil {
			return nil, err
		}
	}
	if err := a.percentiles(r); err != nil {
		return nil, err
	}
	if at >= 0 && hasLevels(&r.Cells[at].Curves.Levels) {
		b, err := LevelsOverTime(r, at, format)
		if err := a.add("levels-"+fileName(digest.Label(r.Cells[at].Settings)), b, err); err != nil {
			return nil, err
		}
	}
	return a.all, nil
}
