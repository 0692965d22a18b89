package reports

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"poolwise/sim/record"
)

// SizeJSON writes which size to use in its schema (record.SizingSchema), indented, with a newline at the end:
//
//	{schema, scenario: {name, hash, seed, estimate}, key,
//	 verdict, use, basis,                                 passed, failed or inconclusive; the size or null; checks or knee
//	 below, above, closest: {size, check},                neighbours that miss a check; the nearest if all do; null for none
//	 undecided, alike, unsettled: [n],                    sizes
//	 refused_from, knee: {size, best, fastest, ...},
//	 indifference, figures, search, confidence, guard,    how it was found, and what is promised
//	 sizes: [{size, verdict, relation, checks,            of those that were run; checks as in a result
//	          versus: [{figure, base, difference, relative, verdict}],
//	          cell}],                                     as a cell of poolwise.result/v1
//	 usl, instances, erlang_c, warnings}
//
// Times are in nanoseconds, shares from 0 to 1; numbers have nine digits, and those that are unknown are null.
func SizeJSON(w io.Writer, s *record.Sizing) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	c := *s
	c.Sizes = slices.Clone(s.Sizes)
	for i := range c.Sizes {
		z := &c.Sizes[i]
		if z.Cell.Warnings == nil {
			z.Cell.Warnings = []string{}
		}
		z.Versus = slices.Clone(z.Versus)
		for j := range z.Versus {
			v := &z.Versus[j]
			if f, err := record.ParseFigure(v.Figure); err == nil && f.Unit() == "ns" {
				for _, x := range []*record.Float{&v.Base, &v.Difference} {
					x.Value, x.Lo, x.Hi = math.Round(x.Value), math.Round(x.Lo), math.Round(x.Hi)
				}
			}
		}
	}
	return e.Encode(&c)
}

// SizeCSV writes one row for each size that was run. The columns are
//
//	size, relation, verdict                  relation and verdict as in JSON
//	missed                                   the checks that are missed or undecided, separated by semicolons
//	FIGURE_change, ..._change_lo, ..._hi     for each figure: the difference from the size to use, as a share of its figure
//
// and then those of CSV, with the setting and the intervals at 95 %. An unknown number is an empty field.
func SizeCSV(w io.Writer, s *record.Sizing) error {
	r := s.Result()
	keys := []string{s.Key}
	var rows [][]string
	head := csvRow{keys: keys, head: true, intervals: true}
	sizeFields(&head, s, &record.Sized{})
	head.cell(&record.Cell{})
	rows = append(rows, head.fields)
	for i := range s.Sizes {
		row := csvRow{keys: keys, intervals: true}
		sizeFields(&row, s, &s.Sizes[i])
		row.cell(&r.Cells[i])
		rows = append(rows, row.fields)
	}
	c := csv.NewWriter(w)
	if err := c.WriteAll(rows); err != nil {
		return err
	}
	return c.Error()
}

func sizeFields(row *csvRow, s *record.Sizing, z *record.Sized) {
	row.put("size", strconv.Itoa(z.Size))
	row.put("relation", string(z.Relation))
	row.put("verdict", string(z.Verdict))
	var missed []string
	for _, k := range z.Checks {
		if k.Status != record.Passed {
			missed = append(missed, k.Expr)
		}
	}
	row.put("missed", strings.Join(missed, "; "))
	for _, figure := range s.Figures {
		var change record.Float
		for _, v := range z.Versus {
			if v.Figure == figure {
				change = v.Relative
			}
		}
		row.float(figure+"_change", change)
	}
}

// SizeJUnit writes the checks of the size to use as JUnit XML, or, if there is none, those of all sizes that were run.
func SizeJUnit(w io.Writer, s *record.Sizing, file string) error { return JUnit(w, judged(s), file) }

// SizeAnnotations writes which size to use as a workflow command of GitHub Actions, an error if there is none, beside the checks
// that have not passed.
func SizeAnnotations(w io.Writer, s *record.Sizing, file string) error {
	b := bufio.NewWriter(w)
	annotateChecks(b, judged(s), file)
	for _, text := range sizeWarnings(s) {
		annotate(b, "warning", file, 0, titleOf(s.Scenario), text)
	}
	command := "notice"
	if s.Use == nil {
		command = "error"
	}
	annotate(b, command, file, 0, titleOf(s.Scenario)+" sized", strings.Join(SizeHeadline(s), "\n"))
	return b.Flush()
}

// judged returns the result whose checks are what a size has to answer for: that of the size to use, or else all of them.
func judged(s *record.Sizing) *record.Result {
	if s.Use == nil {
		return s.Result()
	}
	one := *s
	one.Sizes = []record.Sized{*s.Of(*s.Use)}
	return one.Result()
}
