package reports

import (
	"fmt"
	"strings"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// precision says how a run for a precision ended, in a sentence or two; none of a run with a number of replications.
func precision(r *record.Result) []string {
	var wanted float64
	var short []*record.Cell // which had all the replications that were allowed
	cells := 0
	for i := range r.Cells {
		if s := r.Cells[i].Stopped; s != nil {
			cells++
			wanted = s.Wanted
			if s.By == record.ByMaximum {
				short = append(short, &r.Cells[i])
			}
		}
	}
	target := "the precision of " + digest.Share(wanted)
	switch {
	case cells == 0:
		return nil
	case len(short) == 0 && cells == 1:
		return []string{"Replications went on until " + target + " was reached."}
	case len(short) == 0:
		return []string{"Replications went on until " + target + " was reached, at every setting."}
	}
	var where []string
	for _, c := range short[:min(len(short), 3)] {
		s := c.Stopped.Figure
		if p := c.Stopped.Precision; p.Known {
			s += " ±" + digest.Share(p.Value)
		} else {
			s += " not measured"
		}
		where = append(where, s+at(c))
	}
	if more := len(short) - len(where); more > 0 {
		where = append(where, fmt.Sprintf("%d more", more))
	}
	s := "The most replications that were allowed ended the run before " + target + " was reached"
	if len(short) < cells {
		s = fmt.Sprintf("At %d of %d settings the most replications that were allowed ended the run before %s was reached", len(short), cells, target)
	}
	return []string{s + ": " + strings.Join(where, "; ") + "."}
}
