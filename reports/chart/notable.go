package chart

import (
	"fmt"
	"slices"

	"poolwise/sim/record"
)

// standing is how a setting does: by its checks, or without any by whether requests fail.
type standing uint8

const (
	stands standing = iota // all checks pass
	open                   // some cannot be told, or were not evaluated
	misses                 // some fail
)

// judged are the checks of each cell that decide: those that are errors if they fail.
func judged(r *record.Result) [][]record.Check {
	all := make([][]record.Check, len(r.Cells))
	for _, k := range r.Checks {
		if k.Cell >= 0 && k.Cell < len(r.Cells) && k.Status != record.Off && k.Level != record.LevelWarning {
			all[k.Cell] = append(all[k.Cell], k)
		}
	}
	return all
}

func standingOf(checks []record.Check) standing {
	worst := stands
	for _, k := range checks {
		switch k.Status {
		case record.Passed:
		case record.FailedCheck:
			return misses
		default:
			worst = open
		}
	}
	return worst
}

// standings are those of all cells.
func standings(r *record.Result) []standing {
	all := make([]standing, len(r.Cells))
	for i, checks := range judged(r) {
		if len(checks) > 0 {
			all[i] = standingOf(checks)
		} else if !r.Cells[i].Clean() {
			all[i] = misses
		}
	}
	return all
}

// notable returns at most so many of the cells, in their order: the first and the last, the first that does well, those where a
// standing begins or ends, as long as there are not too many of them, and for the rest those in the middle of the widest gaps.
func notable(r *record.Result, most int) []int {
	n := len(r.Cells)
	if n <= most {
		return some(n, most)
	}
	all := standings(r)
	order := []int{0, n - 1}
	if good := slices.Index(all, stands); good >= 0 {
		order = append(order, good)
	}
	for i := 1; i < n; i++ {
		if all[i] != all[i-1] {
			order = append(order, i, i-1)
		}
	}
	var kept []int
	for _, i := range order {
		if len(kept) < max(most-most/4, 2) && !slices.Contains(kept, i) {
			kept = append(kept, i)
		}
	}
	slices.Sort(kept)
	for len(kept) < most {
		widest := 0
		for i := range len(kept) - 1 {
			if kept[i+1]-kept[i] > kept[widest+1]-kept[widest] {
				widest = i
			}
		}
		kept = slices.Insert(kept, widest+1, (kept[widest]+kept[widest+1])/2)
	}
	return kept
}

// leftOut says of how many settings there is no picture, and which these are not.
func leftOut(shown, all int) string {
	if shown >= all {
		return ""
	}
	return fmt.Sprintf(" For room, %d of %d settings are left out; kept are the ends and where checks or failures begin or end.", all-shown, all)
}
