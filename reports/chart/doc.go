// Package chart draws what a run found out, as SVG or PNG: throughput, failures and latency against a swept setting, or of
// settings and services by name, latency by percentile, where the time went, and the levels of pools over time. A chart is a
// function of a finished record.Result: equal results give equal bytes. Charts are 900 pixels wide and 600 high, lower with few
// rows and higher with many or if services have panels of their own, in colours (after Okabe and Ito) that the colour-blind can
// tell apart.
//
// Latency is that of served requests. Where requests failed, points are hollow, lines dashed, and the share that was served stands
// beside them. Checks of a figure that is drawn are dotted lines at their limits. An interval that its mark would hide is not drawn.
// The errors are an unknown format and a chart that the result has no figures for.
//
// SVG names its font, Liberation Sans, and those of the same widths; PNG has it drawn in.
package chart

import (
	"fmt"
	"strings"
	"unicode"

	"poolwise/reports/internal/digest"
	"poolwise/sim/record"
)

// Named is a chart and the name of the file for it.
type Named struct {
	Name  string
	Bytes []byte
}

// All draws the charts that a result deserves, in a format, svg or png: a sizing curve for each setting swept over numbers, rows
// for settings that are not numbers and for services, the percentiles of latencies and of waits if there are any, where the time
// went if that is known, and the levels over time, of the cells that tell most if there are many.
func All(r *record.Result, format string) ([]Named, error) {
	a := album{format: format, used: map[string]bool{}}
	var keys []string
	for _, key := range digest.Varying(r) {
		if digest.Lines(r, key) != nil {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		name := "sizing-curve"
		if len(keys) > 1 {
			name += "-" + fileName(key)
		}
		b, err := SizingCurve(r, key, format)
		if err := a.add(name, b, err); err != nil {
			return nil, err
		}
	}
	if deservesRows(r, len(keys) > 0) {
		name := "settings"
		if len(r.Cells) == 1 {
			name = "services"
		}
		b, err := Settings(r, format)
		if err := a.add(name, b, err); err != nil {
			return nil, err
		}
	}
	if err := a.percentiles(r); err != nil {
		return nil, err
	}
	if knowsStages(r) {
		b, err := WhereTheTimeWent(r, format)
		if err := a.add("stages", b, err); err != nil {
			return nil, err
		}
	}
	drawn := notable(r, mostLevels)
	for _, i := range drawn {
		if !hasLevels(&r.Cells[i].Curves.Levels) {
			continue
		}
		name := "levels"
		if label := fileName(digest.Label(r.Cells[i].Settings)); label != "" {
			name += "-" + label
		}
		o := newOvertime(r, &r.Cells[i])
		o.remark = leftOut(len(drawn), len(r.Cells))
		b, err := o.render(format)
		if err := a.add(name, b, err); err != nil {
			return nil, err
		}
	}
	return a.all, nil
}

// album collects charts.
type album struct {
	format string
	used   map[string]bool // names in small letters: some file systems take capitals for these
	all    []Named
}

// add adds a chart, unless it could not be drawn, by its name or, if that is taken, by that and a number.
func (a *album) add(name string, chart []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for base, n := name, 2; a.used[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	a.used[strings.ToLower(name)] = true
	a.all = append(a.all, Named{name + "." + a.format, chart})
	return nil
}

// percentiles adds the curves of latencies and of waits, if there are any.
func (a *album) percentiles(r *record.Result) error {
	if hasLatencies(r) {
		b, err := PercentileCurve(r, a.format)
		if err := a.add("percentiles", b, err); err != nil {
			return err
		}
	}
	if hasWaits(r) {
		b, err := WaitCurve(r, a.format)
		return a.add("percentiles-wait", b, err)
	}
	return nil
}

// fileName makes a text part of the name of a file, on any system.
func fileName(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._", r)
	})
	name := []rune(strings.Join(words, "-"))
	return strings.Trim(string(name[:min(len(name), 80)]), "-")
}

// mostLevels is of how many cells the levels over time are drawn.
const mostLevels = 12

// mostLines is how many lines can be told apart on one chart.
const mostLines = 8

// some returns at most so many of the numbers below n, the first and the last included, evenly chosen.
func some(n, most int) []int {
	var all []int
	for i := range min(n, most) {
		if n > most {
			i = i * (n - 1) / (most - 1)
		}
		all = append(all, i)
	}
	return all
}
