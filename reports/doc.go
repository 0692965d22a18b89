// Package reports writes what a run found out: as text for a terminal, as Markdown, and for programs as JSON, CSV and
// HdrHistogram percentile files. Every report is a function of a finished record.Result; nothing but the writer is touched, and
// the only errors are those of the writer, and of values that a format cannot hold.
//
// In text and Markdown, figures have three significant digits and their unit. A dash stands for what was not measured, or not
// often enough for the percentile. Half the width of a 95 % interval across replications is written as ±. Latency is that of
// served requests; where some failed, the share that was served stands beside it, since a small latency of the few that got
// through says little.
package reports

import (
	"encoding/json"
	"io"

	"poolwise/sim/record"
)

// JSON writes the result in its schema (record.Schema), indented, with a newline at the end.
func JSON(w io.Writer, r *record.Result) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(complete(r))
}

// complete returns r with empty lists in the place of missing ones.
func complete(r *record.Result) *record.Result {
	c := *r
	c.Cells = append([]record.Cell{}, r.Cells...)
	c.Checks = append([]record.Check{}, r.Checks...)
	for i := range c.Cells {
		if c.Cells[i].Warnings == nil {
			c.Cells[i].Warnings = []string{}
		}
	}
	return &c
}
