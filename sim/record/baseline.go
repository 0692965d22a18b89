package record

import (
	"cmp"
	"slices"
	"strings"
)

// The levels of checks. A check without a level has level error.
const (
	LevelError   = "error"   // the run has failed if it does
	LevelWarning = "warning" // somebody should look at it
	LevelOff     = "off"     // it is kept, and not evaluated
)

// Match pairs the cells of two results that have the same settings, in whatever order they stand; of several with the same the
// first with the first. Two results of one cell each are a pair whatever their settings. The pairs are in the order of after;
// the cells that are left over are listed, too, all by their index.
func Match(before, after *Result) (pairs [][2]int, onlyBefore, onlyAfter []int) {
	if len(before.Cells) == 1 && len(after.Cells) == 1 {
		return [][2]int{{0, 0}}, nil, nil
	}
	at := map[string][]int{}
	for i := range before.Cells {
		key := before.Cells[i].Settings.key()
		at[key] = append(at[key], i)
	}
	taken := make([]bool, len(before.Cells))
	for i := range after.Cells {
		key := after.Cells[i].Settings.key()
		if same := at[key]; len(same) > 0 {
			pairs = append(pairs, [2]int{same[0], i})
			taken[same[0]] = true
			at[key] = same[1:]
		} else {
			onlyAfter = append(onlyAfter, i)
		}
	}
	for i, paired := range taken {
		if !paired {
			onlyBefore = append(onlyBefore, i)
		}
	}
	return pairs, onlyBefore, onlyAfter
}

// key is the same for the same settings in any order.
func (s Settings) key() string {
	sorted := slices.SortedStableFunc(slices.Values(s), func(a, b Setting) int { return cmp.Compare(a.Key, b.Key) })
	var b strings.Builder
	for _, kv := range sorted {
		b.WriteString(kv.Key + "\x00" + kv.Value + "\x00")
	}
	return b.String()
}

// JudgeAgainst evaluates the checks of r once more, now those against a baseline, too. baseline returns the cell that the cell
// of an index is to be compared with, nil if there is none.
func (r *Result) JudgeAgainst(baseline func(cell int) *Cell) {
	for i, k := range r.Checks {
		e, err := ParseCheck(k.Expr)
		if err != nil || !e.Against() || k.Level == LevelOff {
			continue
		}
		got := e.EvaluateAgainst(&r.Cells[k.Cell], baseline(k.Cell))
		got.Cell, got.Settings, got.Level, got.Line = k.Cell, k.Settings, k.Level, k.Line
		r.Checks[i] = got
	}
	r.Verdict = Verdict(r.Checks)
}

// WithoutBaseline turns the checks against a baseline off: there is none yet.
func (r *Result) WithoutBaseline() {
	for i, k := range r.Checks {
		if e, err := ParseCheck(k.Expr); err == nil && e.Against() && k.Level != LevelOff {
			r.Checks[i].Status, r.Checks[i].Why = Off, noneYet
		}
	}
	r.Verdict = Verdict(r.Checks)
}

// Baseline returns the cell of a baseline for each cell of r, as JudgeAgainst takes it.
func (r *Result) Baseline(baseline *Result) func(cell int) *Cell {
	pairs, _, _ := Match(baseline, r)
	of := make([]*Cell, len(r.Cells))
	for _, p := range pairs {
		of[p[1]] = &baseline.Cells[p[0]]
	}
	return func(cell int) *Cell { return of[cell] }
}
