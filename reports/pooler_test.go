package reports

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"poolwise/sim/record"
)

// TestTextShowsThePooler: a cell with a pooler has a row in a table of its own; what never happened has no column.
func TestTextShowsThePooler(t *testing.T) {
	level := func(mean, highest float64) record.Level3 {
		return record.Level3{Mean: record.ExactFloat(mean), Max: record.ExactFloat(highest), Final: record.ExactFloat(0)}
	}
	with := func(timeouts int64) *record.PoolerCell {
		return &record.PoolerCell{
			Clients: level(490, 500), Levels: record.Levels{Size: level(28, 30), InUse: level(25, 30), Waiting: level(190, 470)},
			Wait:     record.Summary{N: 9, P50: record.Exact(30 * time.Millisecond), P99: record.Exact(200 * time.Millisecond), Max: record.Exact(time.Second)},
			Timeouts: timeouts,
		}
	}
	cell := func(mode string, p *record.PoolerCell) record.Cell {
		return record.Cell{Settings: record.Settings{{Key: "pooler", Value: mode}}, Replications: 1, Pooler: p}
	}
	text := func(cells ...record.Cell) string {
		var b bytes.Buffer
		if err := Text(&b, &record.Result{Cells: cells}, Options{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := text(cell("none", nil), cell("small", with(7)))
	_, after, found := strings.Cut(got, "Pooler\n")
	if !found {
		t.Fatalf("no table of the pooler in\n%s", got)
	}
	table, _, _ := strings.Cut(after, "\n\n")
	lines := strings.Split(table, "\n")
	row := strings.Fields(lines[len(lines)-1])
	want := "small 490 / 500 190 / 470 28 / 30 25 / 30 30.0 ms 200 ms 1.00 s 7"
	if strings.Join(row, " ") != want || len(lines) != 3 || !strings.Contains(lines[1], "timed out") || strings.Contains(lines[1], "refused") {
		t.Errorf("the table is\n%s\nwant the row %q, and no column of refusals", table, want)
	}
	if got := text(cell("none", nil)); strings.Contains(got, "Pooler") {
		t.Errorf("a table of a pooler that is not there:\n%s", got)
	}
}
