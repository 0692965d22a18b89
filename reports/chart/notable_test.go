package chart

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"poolwise/sim/record"
)

// judgedAs is a result with one check for each cell.
func judgedAs(all ...record.Status) *record.Result {
	r := &record.Result{Cells: make([]record.Cell, len(all))}
	for i, s := range all {
		r.Cells[i].Requests.OK = 1
		r.Checks = append(r.Checks, record.Check{Expr: "p(99)<1s", Cell: i, Status: s})
	}
	return r
}

// TestNotable: of nine sizes, the ends, the one to use and those next to a change of the verdict come first.
func TestNotable(t *testing.T) {
	f, i, p := record.FailedCheck, record.Inconclusive, record.Passed
	r := judgedAs(f, f, f, f, i, p, f, f, f)
	for most, want := range map[int][]int{
		9: {0, 1, 2, 3, 4, 5, 6, 7, 8},
		8: {0, 1, 2, 3, 4, 5, 6, 8}, // six that matter; then twice the middle of the widest gap
		7: {0, 1, 3, 4, 5, 6, 8},
		3: {0, 5, 8}, // the one to use
		2: {0, 8},
	} {
		if got := notable(r, most); !slices.Equal(got, want) {
			t.Errorf("at most %d: %v, want %v", most, got, want)
		}
	}
	// A warning decides nothing.
	for k := range r.Checks {
		r.Checks[k].Level = record.LevelWarning
	}
	if got := notable(r, 3); !slices.Equal(got, []int{0, 4, 8}) {
		t.Errorf("with warnings only: %v", got)
	}
}

func TestNotableAreSomeInOrder(t *testing.T) {
	statuses := rapid.SampledFrom([]record.Status{record.Passed, record.FailedCheck, record.Inconclusive, record.NotEvaluated})
	rapid.Check(t, func(t *rapid.T) {
		r := judgedAs(rapid.SliceOfN(statuses, 1, 60).Draw(t, "statuses")...)
		most := rapid.IntRange(2, 30).Draw(t, "most")
		got := notable(r, most)
		if len(got) != min(most, len(r.Cells)) || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("%v of %d, at most %d", got, len(r.Cells), most)
		}
		if got[0] != 0 || got[len(got)-1] != len(r.Cells)-1 {
			t.Fatalf("the ends are not among %v of %d", got, len(r.Cells))
		}
	})
}
