package chart

import (
	"strings"
	"testing"
	"time"

	"poolwise/reports/internal/reporttest"
	"poolwise/sim/record"
)

func whereTheTimeWent(t *testing.T, r *record.Result) drawing {
	t.Helper()
	svg, err := WhereTheTimeWent(r, "svg")
	if err != nil {
		t.Fatal(err)
	}
	return read(t, svg)
}

// fill returns how many areas have the colour of a stage, the one in the legend included.
func (d drawing) fill(s record.Stage) (n int) {
	r, g, b, _ := stageInks[s].color.RGBA()
	const hex = "0123456789ABCDEF"
	colour := "fill:#"
	for _, v := range []uint32{r, g, b} {
		colour += string(hex[v>>12&15]) + string(hex[v>>8&15])
	}
	return d.count(colour)
}

func TestWhereTheTimeWentOfOneCell(t *testing.T) {
	d := whereTheTimeWent(t, reporttest.Staged(1))
	for _, want := range []string{
		"stages: where the time went", "all", "slowest", "failed", "152 ms", "200 ms", "50.0 ms", "0 %", "50 %", "100 %", "86 %", "97 %",
		"wait for a connection", "server queue", "running", "kept idle",
	} {
		if !d.has(want) {
			t.Errorf("no text %q in %v", want, d.texts)
		}
	}
	for stage, want := range map[record.Stage]int{
		record.StageWait: 4, record.StageQueue: 2, record.StageRunning: 3, record.StageKept: 2, record.StagePause: 0,
		record.StageConnect: 1, // it has too little for the legend
	} {
		if got := d.fill(stage); got != want {
			t.Errorf("%d areas of %v, want %d", got, stage, want)
		}
	}
	if d.where("all").x >= d.where("slowest").x || d.where("slowest").x >= d.where("failed").x {
		t.Error("the bars are not in order")
	}
}

// TestWhereTheTimeWentOfSeveral: cells that do not know are left out, of many some are shown, and labels do not overlap.
func TestWhereTheTimeWentOfSeveral(t *testing.T) {
	r := lab(1)
	for _, i := range []int{0, 2, 5} {
		r.Cells[i].Stages = reporttest.Staged(1).Cells[0].Stages
	}
	d := whereTheTimeWent(t, r)
	for _, s := range []string{"2", "8", "40", "pool.max"} {
		if !d.has(s) {
			t.Errorf("no text %q", s)
		}
	}
	for _, s := range []string{"4", "16", "20"} {
		if d.has(s) {
			t.Errorf("there is a text %q", s)
		}
	}

	r = lab(1)
	rows := r.Cells[:0]
	for i := range 40 {
		c := reporttest.Staged(1).Cells[0]
		c.Settings = reporttest.Set("pool.max", i+1)
		c.Stages.All.Latency = record.Exact(time.Duration(i+1) * 99 * time.Millisecond)
		rows = append(rows, c)
	}
	r.Cells = rows
	d = whereTheTimeWent(t, r)
	if !d.has("1") || !d.has("40") || d.has("2") || d.fill(record.StageQueue) != mostBarred+1 {
		t.Errorf("%d of 40 cells are shown", d.fill(record.StageQueue)-1)
	}
	remark := false
	for _, a := range d.texts {
		remark = remark || strings.Contains(a.s, "24 of 40 settings are left out")
		for _, b := range d.texts {
			if a.y == b.y && a.x < b.x && float64(labelInk.width(a.s)) > b.x-a.x {
				t.Errorf("%q and %q overlap", a.s, b.s)
			}
		}
	}
	if !remark {
		t.Error("nothing says that not all settings are shown")
	}
}

func TestWhereTheTimeWentIsNotKnown(t *testing.T) {
	if _, err := WhereTheTimeWent(lab(1), "svg"); err == nil || !strings.Contains(err.Error(), "does not say where the time went") {
		t.Error(err)
	}
	r := reporttest.Staged(1)
	all, err := All(r, "svg")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); !strings.Contains(got, "percentiles.svg percentiles-wait.svg stages.svg levels") {
		t.Errorf("charts %s", got)
	}
}
